import {h} from '../base/dom.js';
import {nextFrame} from '../base/frames.js';
import {whileOpen} from '../base/lifetime.js';
import {printing} from '../base/theme.js';

/**
 * Two canvases, one over the other: what is costly to draw, and what follows the pointer.
 * They are drawn at most once a frame, and only near the visible part of the page.
 */
export class Surface {
  /** @param {{height: number, label: string, draw: (c: CanvasRenderingContext2D) => void, drawOver?: (c: CanvasRenderingContext2D) => void}} options */
  constructor(options) {
    this.options = options;
    this.width = 0;
    this.height = options.height;
    this.isNear = false;
    this.base = h('canvas', {'aria-hidden': 'true'});
    this.over = h('canvas', {'aria-hidden': 'true', class: 'over'});
    this.element = h('div', {class: 'surface', tabindex: '0', role: 'application', 'aria-roledescription': 'chart',
      'aria-label': options.label}, this.base, this.over);
    this.element.style.height = `${this.height}px`;
    this.needsBase = this.needsOver = true;
    this.work = () => this.paint();
    new ResizeObserver(() => this.measure()).observe(this.element);
    new IntersectionObserver((entries) => this.near(entries[entries.length - 1].isIntersecting),
      {rootMargin: '150px'}).observe(this.element);
    whileOpen('slipway-theme', () => { this.measure(); this.request(); });
    whileOpen('slipway-print', () => this.print());
  }

  setHeight(height) {
    if (height === this.height) return;
    this.height = height;
    this.element.style.height = `${height}px`;
    this.fit();
  }

  setLabel(label) {
    this.element.setAttribute('aria-label', label);
  }

  near(isNear) {
    this.isNear = isNear;
    if (isNear) nextFrame(this.work);
  }

  /** Paper takes the picture as it is: nothing can be drawn after its layout. */
  measure() {
    if (!printing()) this.fit();
  }

  fit() {
    const width = Math.round(this.element.clientWidth), ratio = Math.min(2, devicePixelRatio || 1);
    if (!width || (width === this.width && this.base.height === Math.round(this.height * ratio))) return;
    this.width = width;
    this.ratio = ratio;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.height}px`;
    }
    this.request();
  }

  /** Draws all again in the next frame. */
  request() {
    this.needsBase = this.needsOver = true;
    nextFrame(this.work);
  }

  /** Calls `work` before the next drawing: what is far from the visible part waits. */
  prepare(work) {
    this.prepared = work;
    this.request();
  }

  /** Draws the upper canvas again. */
  requestOver() {
    this.needsOver = true;
    nextFrame(this.work);
  }

  paint() {
    if (!this.width || !this.isNear) return;
    const work = this.prepared;
    this.prepared = null;
    work?.();
    if (this.needsBase) this.options.draw(this.cleared(this.base));
    if (this.needsOver) this.options.drawOver?.(this.cleared(this.over));
    this.needsBase = this.needsOver = false;
  }

  /** Draws at once, on one canvas: a cleared canvas wipes out on paper what lies below it. */
  print() {
    this.isNear = true;
    this.work();
    const context = this.base.getContext('2d');
    if (this.width) this.layers(context, [...this.element.querySelectorAll('canvas')].slice(1));
  }

  layers(context, canvases) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    for (const canvas of canvases) if (canvas.width && canvas.style.opacity !== '0') context.drawImage(canvas, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.font = FONT;
    this.options.caption?.(context);
  }

  cleared(canvas) {
    const context = canvas.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    return context;
  }

  /** @param {PointerEvent|MouseEvent} event @returns {[number, number]} */
  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** All canvases on the card's colour, as a PNG. @returns {Promise<Blob|null>} */
  picture(colour) {
    const canvas = h('canvas');
    canvas.width = this.base.width;
    canvas.height = this.base.height;
    const context = canvas.getContext('2d');
    context.fillStyle = colour;
    context.fillRect(0, 0, canvas.width, canvas.height);
    this.layers(context, this.element.querySelectorAll('canvas'));
    return new Promise((done) => canvas.toBlob(done));
  }
}

const FONT = '11px Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** Text that fits `width`, with an ellipsis. */
export function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + '…' : '';
}
