import {plain} from '../base/dom.js';
import {nextFrame} from '../base/frames.js';
import {theme} from '../base/theme.js';
import {drawAxes, inverse, projection, scaleOf} from './axes.js';
import {Surface, clipped} from './surface.js';
import {hideTip, showTip} from './tooltip.js';

const LANE = 20, LEFT = 120, TOP = 8, BOTTOM = 38;

/**
 * Bars over time in lanes.
 * @typedef {{lane: number, from: number, to: number, colour: () => string, row?: number, title: string, lines: any[]|(() => any[]), text?: string, isMark?: boolean}} Bar
 */
export class Timeline {
  /** @param {{label: string, selection?: any, pick?: (row: number, event: Event) => void, zoomed?: (is: boolean) => void, most?: number}} options */
  constructor(options) {
    this.options = options;
    this.bars = [];
    this.lanes = [];
    this.zoom = null;
    this.surface = new Surface({height: 120, label: options.label, draw: (c) => this.draw(c), drawOver: (c) => this.drawOver(c)});
    this.element = this.surface.element;
    this.follow();
  }

  /** @param {string[]} lanes @param {Bar[]} bars @param {[number, number]} span */
  show(lanes, bars, span) {
    Object.assign(this, {lanes, bars, span});
    this.laneHeight = Math.max(3, Math.min(LANE, (this.options.most ?? 420) / Math.max(1, lanes.length)));
    this.surface.setHeight(Math.round(TOP + BOTTOM + this.laneHeight * Math.max(1, lanes.length)));
    this.surface.request();
  }

  get box() {
    const {width, height} = this.surface;
    return {left: Math.min(LEFT, width * 0.25), right: width - 16, top: TOP, bottom: height - BOTTOM};
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.options.zoomed?.(Boolean(zoom));
    this.surface.request();
  }

  draw(context) {
    const box = this.box, axis = {label: '', kind: 'time'};
    const scale = scaleOf(axis, this.zoom ?? this.span, [box.left, box.right], true);
    this.x = {axis, scale, project: projection(axis, scale), invert: inverse(axis, scale)};
    const empty = {label: '', kind: 'category', categories: []};
    drawAxes(context, box, this.x, {axis: empty, scale: scaleOf(empty, null, [box.bottom, box.top]), project: () => 0});
    this.drawLanes(context, box);
    context.save();
    context.beginPath();
    context.rect(box.left, 0, box.right - box.left + 6, box.bottom);
    context.clip();
    const {selection} = this.options;
    for (const bar of this.bars) if (selection?.isFaded(bar.row)) this.drawBar(context, bar, 0.15);
    for (const bar of this.bars) if (!selection?.isFaded(bar.row)) this.drawBar(context, bar, 0.85);
    context.restore();
  }

  drawLanes(context, box) {
    const each = Math.ceil(13 / this.laneHeight);
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    this.lanes.forEach((lane, i) => {
      if (i % each) return;
      context.fillStyle = theme().muted;
      context.fillText(clipped(context, plain(lane), box.left - 14), box.left - 8, this.middle(i));
    });
  }

  middle(lane) {
    return TOP + this.laneHeight * (lane + 0.5);
  }

  area(bar) {
    const x0 = this.x.project(bar.from), x1 = this.x.project(bar.to), thick = Math.max(2, this.laneHeight - (this.laneHeight > 8 ? 5 : 1));
    return [x0, this.middle(bar.lane) - thick / 2, Math.max(2, x1 - x0), thick];
  }

  drawBar(context, bar, alpha) {
    const [x, y, width, height] = this.area(bar);
    context.globalAlpha = alpha;
    context.fillStyle = bar.colour();
    if (bar.isMark) {
      context.fillRect(x - 1, y - 1, 3, height + 2);
    } else {
      context.beginPath();
      context.roundRect(x, y, Math.max(1.5, width - (width > 4 ? 1 : 0)), height, height > 8 ? 3 : 0);
      context.fill();
    }
    context.globalAlpha = 1;
    if (bar.text && width > 34 && height > 10) {
      context.textAlign = 'left';
      context.fillStyle = theme().card;
      context.fillText(clipped(context, plain(bar.text), width - 10), x + 5, y + height / 2 + 0.5);
    }
  }

  drawOver(context) {
    const {selection} = this.options;
    if (!this.x) return;
    for (const bar of this.bars) {
      const isUnder = bar === this.found || (selection && selection.hovered >= 0 && bar.row === selection.hovered);
      if (!isUnder) continue;
      const [x, y, width, height] = this.area(bar);
      context.strokeStyle = theme().text;
      context.lineWidth = 1.5;
      context.strokeRect(x - 1, y - 1, width + 2, height + 2);
    }
    if (!this.dragged) return;
    context.fillStyle = theme().accent;
    context.globalAlpha = 0.15;
    context.fillRect(this.dragged[0], this.box.top, this.dragged[1] - this.dragged[0], this.box.bottom - this.box.top);
    context.globalAlpha = 1;
  }

  at(px, py) {
    let found = null;
    for (const bar of this.bars) {
      const [x, y, width, height] = this.area(bar);
      if (px >= x - 2 && px <= x + width + 2 && py >= y - 1 && py <= y + height + 1) found = bar;
    }
    return found;
  }

  point(bar, event) {
    this.found = bar;
    this.surface.requestOver();
    this.options.selection?.hover(bar?.row ?? -1);
    if (!bar) return hideTip();
    const area = this.element.getBoundingClientRect(), [x, y] = this.area(bar);
    showTip(bar.title, typeof bar.lines === 'function' ? bar.lines() : bar.lines, event?.clientX ?? area.left + x, event?.clientY ?? area.top + y, bar.colour());
  }

  follow() {
    const {element, surface} = this;
    let start = null, last = null;
    const hover = () => last && !start && this.x && this.point(this.at(...surface.place(last)), last);
    element.addEventListener('pointerdown', (event) => {
      start = event.button === 0 ? surface.place(event) : null;
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener('pointermove', (event) => {
      last = event;
      const [x] = surface.place(event);
      if (!start) return nextFrame(hover);
      if (Math.abs(x - start[0]) > 5) this.dragged = [start[0], x], surface.requestOver();
    });
    element.addEventListener('pointerup', (event) => {
      if (start && this.dragged) this.setZoom(this.dragged.map(this.x.invert).sort((a, b) => a - b));
      else if (start) this.options.pick?.(this.at(...start)?.row ?? -1, event);
      start = this.dragged = null;
    });
    element.addEventListener('pointerleave', () => { last = null; this.point(null); });
    element.addEventListener('dblclick', () => this.setZoom(null));
    element.addEventListener('keydown', (event) => this.key(event));
    element.addEventListener('blur', () => this.found && this.point(null));
  }

  key(event) {
    const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (by && this.bars.length) {
      event.preventDefault();
      const at = this.bars.indexOf(this.found);
      this.point(this.bars[(at + by + this.bars.length) % this.bars.length]);
    }
    if (event.key === 'Enter' && this.found) this.options.pick?.(this.found.row ?? -1, event);
    if (event.key === 'Escape') this.point(null);
  }
}
