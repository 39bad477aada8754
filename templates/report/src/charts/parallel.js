import {h} from '../base/dom.js';
import {anything} from '../base/format.js';
import {nextFrame} from '../base/frames.js';
import {printing, theme, trialColour} from '../base/theme.js';
import {projection, scaleOf, ticksOf} from './axes.js';
import {LinePainter, shades, shuffled, strokeLine, styleOf} from './parallel_draw.js';
import {ParallelAxes} from './parallel_axes.js';
import {Surface, clipped} from './surface.js';
import {hideTip, showTip} from './tooltip.js';
import {extent} from '../base/model.js';

const TOP = 44, BOTTOM = 40, SIDE = 52, MOST_SORTED = 1500;

/**
 * Parallel coordinates. Three layers: all lines in grey, drawn once; the chosen lines; brushes and the line under the
 * pointer. A brush draws only the second again.
 *
 * @typedef {{name: string, axis: import('./axes.js').Axis, values: Float64Array, raw: any[], brush: [number, number]|null}} Dimension
 */
export class Parallel {
  /** @param {{height: number, label: string, selection: any, moved: () => void}} options */
  constructor(options) {
    this.options = options;
    this.selection = options.selection;
    this.dimensions = [];
    this.front = h('canvas', {'aria-hidden': 'true'});
    this.surface = new Surface({height: options.height, label: options.label, draw: (c) => this.draw(c), drawOver: (c) => this.drawOver(c),
      caption: (c) => this.axes.draw(c)});
    this.surface.base.after(this.front);
    this.element = this.surface.element;
    this.back = new LinePainter(this.surface.base);
    this.ahead = new LinePainter(this.front);
    this.axes = new ParallelAxes(this);
    this.version = -1;
    this.selection.listeners.add(() => this.follow());
    this.brushNow = () => this.choose();
  }

  /** @param {any} trials @param {Dimension[]} dimensions */
  show(trials, dimensions) {
    if (this.trials?.count !== trials.count) this.order = shuffled(trials.count);
    Object.assign(this, {trials, dimensions, goodness: trials.goodness()});
    this.surface.request();
  }

  get box() {
    return {left: SIDE, right: this.surface.width - SIDE, top: TOP, bottom: this.surface.height - BOTTOM};
  }

  /** Where the lines of rows without a value pass. */
  get nowhere() {
    return this.surface.height - 14;
  }

  place() {
    const {left, right, top, bottom} = this.box, last = Math.max(1, this.dimensions.length - 1);
    this.xs = this.dimensions.map((_, i) => left + (right - left) * i / last);
    this.scales = this.dimensions.map(({axis, values}) => scaleOf(axis, extent(values), [bottom, top]));
    this.ys = this.dimensions.map(({axis, values}, i) => {
      const project = projection(axis, this.scales[i]);
      return Float32Array.from(values, (value) => (Number.isNaN(value) ? this.nowhere : project(value)));
    });
  }

  draw(context) {
    if (!this.trials || !this.dimensions.length) return;
    this.colours = shades();
    this.place();
    this.fitFront();
    const colour = theme().idle, alpha = this.trials.count > 2000 ? 0.08 : this.trials.count > 200 ? 0.16 : 0.3;
    const one = (row) => strokeLine(context, this.xs, this.ys, row, colour, 1, alpha);
    printing() ? this.back.all(this.order, one) : this.back.start(this.order, one);
    this.drawFront();
    this.axes.place();
  }

  fitFront() {
    const {base} = this.surface;
    if (this.front.width === base.width && this.front.height === base.height) return;
    Object.assign(this.front, {width: base.width, height: base.height});
    Object.assign(this.front.style, {width: base.style.width, height: base.style.height});
  }

  drawFront() {
    const context = this.surface.cleared(this.front), {selection} = this;
    this.version = selection.version;
    this.surface.base.style.opacity = selection.count ? '1' : '0';
    const rows = this.inOrder(selection.count ? this.order.filter((row) => selection.mask[row]) : this.order);
    const one = (row) => strokeLine(context, this.xs, this.ys, row, ...styleOf(this, row));
    printing() ? this.ahead.all(rows, one) : this.ahead.start(rows, one);
  }

  /** The best lines last, on top of the others; of very many a random order, since they appear bit by bit. */
  inOrder(rows) {
    if (rows.length > MOST_SORTED) return rows;
    const place = (row) => (Number.isNaN(this.goodness[row]) ? -1 : this.goodness[row]);
    return [...rows].sort((a, b) => place(a) - place(b));
  }

  follow() {
    if (this.selection.source !== this) this.forgetBrushes();
    if (!this.surface.isNear || !this.xs) return this.surface.request();
    if (this.version !== this.selection.version) this.drawFront();
    this.surface.requestOver();
  }

  forgetBrushes() {
    if (!this.dimensions.some((dimension) => dimension.brush)) return;
    for (const dimension of this.dimensions) dimension.brush = null;
    this.options.moved?.();
  }

  drawOver(context) {
    if (!this.xs) return;
    this.dimensions.forEach((dimension, i) => this.drawAxis(context, dimension, i));
    const row = this.selection.hovered;
    if (row >= 0 && row < this.trials.count) strokeLine(context, this.xs, this.ys, row, trialColour(this.trials.number[row]), 3, 1);
    context.globalAlpha = 1;
  }

  drawAxis(context, {axis, brush, values}, i) {
    const x = Math.round(this.xs[i]) + 0.5, {top, bottom} = this.box, isLast = i === this.dimensions.length - 1 && i > 0;
    context.strokeStyle = theme().muted;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    const room = isLast ? SIDE - 8 : Math.max(26, (this.xs[1] ?? 200) - this.xs[0] - 14);
    this.drawTicks(context, axis, i, x, room, isLast);
    if (values.some(Number.isNaN)) this.word(context, 'none', x, this.nowhere, isLast, room);
    if (brush) this.drawBrush(context, x, brush, i);
  }

  drawTicks(context, axis, i, x, room, isLast) {
    const project = projection(axis, this.scales[i]);
    let free = Infinity;
    for (const [value, words] of ticksOf(axis, this.scales[i], 6).sort((a, b) => a[0] - b[0])) {
      const y = project(value);
      if (y > this.box.bottom + 1 || y < this.box.top - 1 || y > free - 14) continue;
      free = y;
      this.word(context, words, x, y, isLast, room);
    }
  }

  /** A word with a halo beside an axis. */
  word(context, words, x, y, isLast, room) {
    const text = clipped(context, words, room);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.lineWidth = 3;
    context.lineJoin = 'round';
    context.strokeStyle = theme().card;
    context.strokeText(text, x + 5, y);
    context.fillStyle = theme().text;
    context.fillText(text, x + 5, y);
  }

  drawBrush(context, x, [low, high], i) {
    const project = projection(this.dimensions[i].axis, this.scales[i]), y0 = project(high), y1 = project(low);
    context.fillStyle = theme().accent;
    context.globalAlpha = 0.25;
    context.fillRect(x - 9, y0, 18, y1 - y0);
    context.globalAlpha = 1;
    context.strokeStyle = theme().accent;
    context.lineWidth = 1.5;
    context.strokeRect(x - 9, y0, 18, y1 - y0);
  }

  /** Applies the brushes of all axes. */
  choose() {
    const brushed = this.dimensions.filter((dimension) => dimension.brush);
    if (!brushed.length) return this.selection.clear(this);
    const mask = new Uint8Array(this.trials.count).fill(1);
    for (const {values, brush: [low, high]} of brushed) {
      for (let row = 0; row < mask.length; ++row) if (!(values[row] >= low && values[row] <= high)) mask[row] = 0;
    }
    this.selection.setMask(mask, this);
    this.options.moved?.();
  }

  setBrush(i, brush) {
    this.dimensions[i].brush = brush;
    nextFrame(this.brushNow);
    this.surface.requestOver();
  }

  /** The line nearest to a place, among those that do not stand back. */
  nearest(px, py) {
    const right = this.xs.findIndex((x) => x >= px);
    if (right < 0 || !this.xs.length) return -1;
    const i = Math.max(1, right), share = (px - this.xs[i - 1]) / (this.xs[i] - this.xs[i - 1]);
    let best = 8, found = -1;
    for (let row = 0; row < this.trials.count; ++row) {
      if (this.selection.isFaded(row)) continue;
      const y = this.ys[i - 1][row] * (1 - share) + this.ys[i]?.[row] * share, distance = Math.abs(y - py);
      if (distance < best) best = distance, found = row;
    }
    return found;
  }

  point(row, event) {
    this.selection.hover(row);
    if (row < 0) return hideTip();
    showTip(`Trial ${this.trials.number[row]}`, this.dimensions.map(({name, raw}) => [name, anything(raw[row])]),
      event.clientX, event.clientY, trialColour(this.trials.number[row]));
  }
}
