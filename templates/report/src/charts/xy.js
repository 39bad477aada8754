import {hideTip, showTip} from './tooltip.js';
import {drawAxes, inverse, projection, scaleOf} from './axes.js';
import {drawSeries, emphasise, layout} from './xy_draw.js';
import {followKeys, followPointer} from './xy_pointer.js';
import {Surface} from './surface.js';
import {extent} from '../base/model.js';
import {theme} from '../base/theme.js';

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {'line'|'step'|'points'} kind
 * @property {ArrayLike<number>} xs
 * @property {ArrayLike<number>} ys
 * @property {number} [row] of the trial @property {ArrayLike<number>} [rows] of each point's trial
 * @property {string|((i: number) => string)} colour @property {number} [width] @property {number} [alpha]
 * @property {number[]} [dash] @property {number} [size] @property {boolean} [isSilent] nothing to hover
 * @property {(i: number) => boolean} [isFaded] of a point
 */

/** Lines and points over two axes: hover, pick, zoom, brush; by pointer and by keys. */
export class XyChart {
  /**
   * @param {object} options
   * @param {string} options.label @param {number} options.height
   * @param {(series: Series, i: number) => {title: string, lines: any[], colour?: string}} options.tip
   * @param {(row: number, event: Event) => void} [options.pick] a click on a point or a line
   * @param {(mask: (series: Series, i: number) => boolean) => void} [options.brush] a dragged box; without it a drag zooms
   * @param {import('../base/selection.js').Selection|null} [options.selection]
   * @param {(isZoomed: boolean) => void} [options.zoomed]
   */
  constructor(options) {
    this.options = options;
    this.series = [];
    this.x = {label: '', kind: 'linear'};
    this.y = {label: '', kind: 'linear'};
    this.zoom = null;
    this.found = null;
    this.dragged = null;
    this.surface = new Surface({height: options.height, label: options.label, draw: (c) => this.draw(c), drawOver: (c) => this.drawOver(c)});
    this.element = this.surface.element;
    followPointer(this);
    followKeys(this);
  }

  /** @param {{x: any, y: any, series: Series[], domain?: any}} content zoom stays while the axes stay */
  show({x, y, series, domain}) {
    const isSame = ['label', 'kind'].every((key) => x[key] === this.x[key] && y[key] === this.y[key]);
    if (!isSame) this.setZoom(null);
    Object.assign(this, {x, y, series, domain});
    this.found = null;
    this.surface.request();
  }

  get box() {
    const {width, height} = this.surface;
    return {left: 58, top: 22, right: Math.max(80, width - 14), bottom: height - 38};
  }

  setZoom(zoom) {
    const changed = Boolean(zoom) !== Boolean(this.zoom);
    this.zoom = zoom;
    if (changed) this.options.zoomed?.(Boolean(zoom));
    this.surface.request();
  }

  scales() {
    const box = this.box, visible = this.series.filter((series) => !series.isGhost);
    const xs = this.zoom?.x ?? this.domain?.x ?? extent(...visible.map((series) => series.xs));
    const ys = this.zoom?.y ?? this.domain?.y ?? extent(...visible.map((series) => this.positive(series.ys, this.y)));
    const positive = (span, axis, lists) => (axis.kind === 'log' && span && span[0] <= 0 ? extent(...lists.map((list) => this.positive(list, axis))) : span);
    const x = scaleOf(this.x, positive(xs, this.x, visible.map((series) => series.xs)), [box.left, box.right], Boolean(this.zoom?.x));
    const y = scaleOf(this.y, ys, [box.bottom, box.top], Boolean(this.zoom?.y));
    return {x: {axis: this.x, scale: x, project: projection(this.x, x), invert: inverse(this.x, x)},
      y: {axis: this.y, scale: y, project: projection(this.y, y), invert: inverse(this.y, y)}};
  }

  /** A log axis has no place for what is not positive. */
  positive(values, axis) {
    return axis.kind === 'log' ? Array.prototype.filter.call(values, (value) => value > 0) : values;
  }

  draw(context) {
    const box = this.box;
    this.scale = this.scales();
    drawAxes(context, box, this.scale.x, this.scale.y);
    context.save();
    context.beginPath();
    context.rect(box.left - 4, box.top - 4, box.right - box.left + 8, box.bottom - box.top + 8);
    context.clip();
    this.options.background?.(context, this);
    for (const series of this.series) {
      layout(series, this.scale);
      drawSeries(context, series);
    }
    context.restore();
    if (!this.series.some((series) => series.xs.length)) this.drawNothing(context, box);
  }

  drawNothing(context, box) {
    context.fillStyle = theme().muted;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(this.options.nothing ?? 'No values yet', (box.left + box.right) / 2, (box.top + box.bottom) / 2);
  }

  drawOver(context) {
    if (!this.scale) return;
    const row = this.options.selection?.hovered ?? -1;
    emphasise(context, this, row);
    if (this.dragged) this.drawDrag(context);
  }

  drawDrag(context) {
    const box = this.box, [x0, y0, x1, y1] = this.dragged, isTall = this.isZoomOfX(this.dragged);
    context.fillStyle = theme().accent;
    context.strokeStyle = theme().accent;
    const area = isTall ? [x0, box.top, x1 - x0, box.bottom - box.top] : [x0, y0, x1 - x0, y1 - y0];
    context.globalAlpha = 0.14;
    context.fillRect(...area);
    context.globalAlpha = 1;
    context.strokeRect(...area);
  }

  /** A flat drag zooms along x only. */
  isZoomOfX([, y0, , y1]) {
    return !this.brushes && Math.abs(y1 - y0) < 24;
  }

  get brushes() {
    return Boolean(this.options.brush) && !this.dragged?.isZoom;
  }

  /** The nearest point within reach. @returns {{series: Series, i: number}|null} */
  nearest(px, py) {
    let best = 30 * 30, found = null;
    for (const series of this.series) {
      if (series.isSilent || !series.px) continue;
      for (let i = 0; i < series.px.length; ++i) {
        const dx = series.px[i] - px, dy = series.py[i] - py, distance = dx * dx + dy * dy;
        if (distance < best) best = distance, found = {series, i};
        const near = series.kind === 'line' && i > 0 ? besideSegment(series, i, px, py) : null;
        if (near && near.distance < best) best = near.distance, found = {series, i: near.i};
      }
    }
    return found;
  }

  /** @param {{series: Series, i: number}|null} found @param {[number, number]} [at] in the window */
  point(found, at) {
    this.found = found;
    this.surface.requestOver();
    this.options.selection?.hover(found ? rowOf(found) : -1);
    if (!found) return hideTip();
    const {title, lines, colour} = this.options.tip(found.series, found.i);
    const area = this.element.getBoundingClientRect();
    const [x, y] = at ?? [area.left + found.series.px[found.i], area.top + found.series.py[found.i]];
    showTip(title, lines, x, y, colour);
    return {title, lines};
  }

  endDrag(area) {
    const [x0, y0, x1, y1] = [Math.min(area[0], area[2]), Math.min(area[1], area[3]), Math.max(area[0], area[2]), Math.max(area[1], area[3])];
    if (this.brushes) {
      return this.options.brush((series, i) => series.px[i] >= x0 && series.px[i] <= x1 && series.py[i] >= y0 && series.py[i] <= y1);
    }
    const isFlat = Math.abs(area[3] - area[1]) < 24, {x, y} = this.scale;
    return this.setZoom({x: [x.invert(x0), x.invert(x1)], y: isFlat ? this.zoom?.y : [y.invert(y1), y.invert(y0)]});
  }
}

/** Between two points of a line: the distance to the line, and the nearer of the two. */
function besideSegment({px: xs, py: ys}, i, px, py) {
  const x0 = xs[i - 1], x1 = xs[i];
  if (!(x0 <= px && px <= x1) || x1 - x0 < 8) return null;
  const share = (px - x0) / (x1 - x0), y = ys[i - 1] + (ys[i] - ys[i - 1]) * share;
  return {distance: (y - py) ** 2, i: share < 0.5 ? i - 1 : i};
}

/** The trial of a point, or -1. */
export const rowOf = ({series, i}) => (series.rows ? series.rows[i] : series.row ?? -1);
