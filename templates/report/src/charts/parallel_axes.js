import {announce, brief, fill, h} from '../base/dom.js';
import {nextFrame} from '../base/frames.js';
import {theme} from '../base/theme.js';
import {inverse} from './axes.js';

/** Names and pointer of parallel coordinates: drag along an axis to brush, drag a name to move its axis. */
export class ParallelAxes {
  /** @param {import('./parallel.js').Parallel} chart */
  constructor(chart) {
    this.chart = chart;
    this.names = h('div', {class: 'axis-names'});
    chart.element.append(this.names);
    this.brushed = null;
    this.follow();
  }

  /** Puts the names above their axes. */
  place() {
    const {chart} = this, names = chart.dimensions.map((dimension) => dimension.name).join('\n');
    if (names !== this.shown) {
      this.shown = names;
      fill(this.names, chart.dimensions.map((dimension, i) => this.name(dimension, i)));
    }
    const room = (chart.xs[1] ?? chart.surface.width) - chart.xs[0];
    [...this.names.children].forEach((name, i) => {
      name.style.left = `${chart.xs[i]}px`;
      const isTight = room < 64, toEdge = Math.min(chart.xs[i], chart.surface.width - chart.xs[i]);
      const wanted = isTight ? Math.max(40, 2 * room - 6) : room - 6;
      name.style.maxWidth = `${Math.min(wanted, 2 * toEdge)}px`;
      name.style.top = isTight && i % 2 ? '18px' : '2px';
    });
  }

  /** The names, for a picture of the chart. */
  draw(context) {
    const {chart} = this;
    if (!chart.xs) return;
    context.fillStyle = theme().text;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    chart.dimensions.forEach(({name}, i) => context.fillText(brief(name, 24), chart.xs[i], parseFloat(this.names.children[i].style.top) + 3));
  }

  name(dimension, i) {
    const words = `${dimension.name}: drag, or press an arrow key, to move this axis`;
    const button = h('button', {type: 'button', class: 'axis-name', title: words, 'aria-label': words, on: {
      keydown: (event) => {
        const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        this.move(i, i + by);
        this.names.children[Math.max(0, Math.min(i + by, this.names.children.length - 1))]?.focus();
      },
      pointerdown: (event) => this.startMove(event, i, button),
    }}, brief(dimension.name, 40));
    return button;
  }

  startMove(event, i, button) {
    event.stopPropagation();
    button.setPointerCapture(event.pointerId);
    const move = (now) => { button.style.left = `${this.chart.surface.place(now)[0]}px`; };
    button.addEventListener('pointermove', move);
    button.addEventListener('pointerup', (end) => {
      button.removeEventListener('pointermove', move);
      const x = this.chart.surface.place(end)[0];
      const distances = this.chart.xs.map((each) => Math.abs(each - x));
      this.move(i, distances.indexOf(Math.min(...distances)));
    }, {once: true});
  }

  move(from, to) {
    const {chart} = this, dimensions = chart.dimensions;
    if (to < 0 || to >= dimensions.length) return;
    const [moved] = dimensions.splice(from, 1);
    dimensions.splice(to, 0, moved);
    this.shown = null;
    chart.place();
    this.place();
    chart.surface.request();
    chart.options.ordered?.(dimensions.map((dimension) => dimension.name));
    if (from !== to) announce(`${moved.name} is axis ${to + 1} of ${dimensions.length}`);
  }

  axisAt(px) {
    const distances = this.chart.xs?.map((x) => Math.abs(x - px)) ?? [];
    const nearest = Math.min(...distances);
    return nearest < 14 ? distances.indexOf(nearest) : -1;
  }

  follow() {
    const {chart} = this, {element} = chart;
    let last = null;
    const hover = () => last && !this.brushed && chart.xs && chart.point(chart.nearest(...chart.surface.place(last)), last);
    element.addEventListener('pointerdown', (event) => this.startBrush(event));
    element.addEventListener('pointermove', (event) => {
      last = event;
      if (this.brushed) return this.brush(event);
      const [x, y] = chart.surface.place(event);
      element.style.cursor = this.axisAt(x) >= 0 && y > chart.box.top - 6 ? 'ns-resize' : '';
      nextFrame(this.hover = hover);
    });
    element.addEventListener('pointerup', (event) => this.endBrush(event));
    element.addEventListener('pointercancel', () => { this.brushed = null; });
    element.addEventListener('pointerleave', () => { last = null; chart.point(-1); });
    element.addEventListener('keydown', (event) => event.key === 'Escape' && chart.selection.clear(null));
  }

  startBrush(event) {
    const [x, y] = this.chart.surface.place(event), axis = this.axisAt(x);
    if (event.button !== 0 || !this.chart.xs) return;
    this.brushed = {axis, from: y, start: [x, y], isMoved: false};
    this.chart.element.setPointerCapture(event.pointerId);
    this.chart.point(-1);
  }

  brush(event) {
    const {chart, brushed} = this, {top, bottom} = chart.box, y = Math.max(top, Math.min(bottom, chart.surface.place(event)[1]));
    if (!brushed.isMoved && Math.abs(y - brushed.from) < 4) return;
    brushed.isMoved = true;
    if (brushed.axis < 0) return;
    const invert = inverse(chart.dimensions[brushed.axis].axis, chart.scales[brushed.axis]);
    const ends = [invert(Math.max(top, Math.min(bottom, brushed.from))), invert(y)];
    chart.setBrush(brushed.axis, [Math.min(...ends), Math.max(...ends)]);
  }

  endBrush(event) {
    const {chart, brushed} = this;
    this.brushed = null;
    if (!brushed || brushed.isMoved) return;
    if (brushed.axis >= 0 && chart.dimensions[brushed.axis].brush) return chart.setBrush(brushed.axis, null);
    chart.selection.click(chart.nearest(...brushed.start), event, null);
  }
}
