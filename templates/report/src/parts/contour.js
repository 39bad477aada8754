import {contours} from 'd3-contour';
import {choice, fill, h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {extent, parameterAxis, positions} from '../base/model.js';
import {ramp, theme} from '../base/theme.js';
import {interpolate} from '../charts/contour_grid.js';
import {panel, resetButton} from '../charts/panel.js';
import {pointSeries, TrialChart} from './scatter.js';

const SIZE = 48, LEVELS = 10, MANY = 500;

/** The objective over two parameters. */
export class ContourPanel {
  constructor({selection}) {
    Object.assign(this, {selection, names: [null, null], field: null});
    this.redraw = () => this.draw();
    this.chart = new TrialChart({selection, label: 'Contour', height: 320, background: (context) => this.drawBands(context)});
    this.choosers = ['Horizontal parameter', 'Vertical parameter'].map((label, i) => choice(label, [], '', (value) => {
      this.names[i] = value;
      this.draw();
    }));
    this.element = panel({title: 'Contour', surface: this.chart.surface, body: this.chart.element, controls: this.choosers, actions: [resetButton(this.chart)], data: () => this.data()});
  }

  update(run) {
    this.trials = this.chart.trials = run.trials;
    const able = run.trials.parameters.filter((parameter) => parameter.varies).map(({name}) => name);
    if (able.length < 2) return false;
    const weighty = [...run.importance].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)).map((each) => String(each.parameter)).filter((name) => able.includes(name));
    const order = [...new Set([...weighty, ...able])];
    this.names = this.names.map((name, i) => (able.includes(name) ? name : order[i]));
    this.choosers.forEach((chooser, i) => {
      fill(chooser, able.map((name) => h('option', {value: name}, name)));
      chooser.value = this.names[i];
    });
    this.chart.surface.prepare(this.redraw);
    return true;
  }

  get parameters() {
    return this.names.map((name) => this.trials.parameters.find((parameter) => parameter.name === name));
  }

  draw() {
    const {trials, selection} = this, [x, y] = this.parameters, values = trials.values, xs = positions(x), ys = positions(y);
    const rows = [...values.keys()].filter((row) => values[row] != null && !Number.isNaN(xs[row]) && !Number.isNaN(ys[row]));
    this.field = {rows, xs: rows.map((row) => xs[row]), ys: rows.map((row) => ys[row]), bands: null};
    const points = pointSeries('trial', trials, selection, rows, this.field.xs, this.field.ys), isMany = rows.length > MANY;
    const colour = (i) => (selection.mask[rows[i]] && selection.count <= MANY ? points.colour(i) : theme().text);
    this.chart.show({x: parameterAxis(x), y: parameterAxis(y), series: [{...points, colour, size: isMany ? 2 : 4, alpha: selection.count ? 1 : 0.45}]});
    const name = trials.objectives[0]?.name ?? 'the objective';
    this.chart.surface.setLabel(`Contour of ${name} over ${x.name} and ${y.name}, ${rows.length} trials. Arrow keys walk over trials, Enter selects.`);
    this.element.note(`${name}, smoothed between trials; ranks from worst (faint) to best (strong).`);
  }

  /** Bands in the unit square of the axes. */
  bandsOf({x, y}) {
    const {field} = this, goodness = this.trials.goodness(), [u, v] = [unit(x), unit(y)];
    const grid = interpolate(field.xs.map(u), field.ys.map(v), field.rows.map((row) => goodness[row]), SIZE), range = extent(grid);
    if (!range) return [];
    const levels = Array.from({length: LEVELS}, (_, i) => range[0] + (range[1] - range[0]) * i / LEVELS);
    return contours().size([SIZE, SIZE]).thresholds(levels)(Array.from(grid, (value) => (Number.isNaN(value) ? -1 : value)));
  }

  /** Computed once, from the axes without zoom. */
  drawBands(context) {
    const {field, chart} = this;
    if (!field || field.rows.length < 4 || chart.zoom) return;
    field.bands ??= this.bandsOf(chart.scale);
    context.globalAlpha = 0.55;
    field.bands.forEach((band, i) => fillBand(context, band, ramp(0.08 + 0.84 * i / LEVELS), chart.box));
    context.globalAlpha = 1;
  }

  data() {
    const {trials} = this, parameters = this.parameters;
    return {head: ['Trial', ...this.names, trials.objectives[0]?.name ?? 'value'],
      rows: trials.ranked().map((row) => [String(trials.number[row]), ...parameters.map(({values}) => anything(values[row])), number(trials.values[row], 6)])};
  }
}

function unit({project, scale}) {
  const [a, b] = scale.range();
  return (value) => (project(value) - a) / (b - a);
}

function fillBand(context, band, colour, {left, right, top, bottom}) {
  context.fillStyle = colour;
  context.beginPath();
  for (const ring of band.coordinates.flat()) {
    ring.forEach(([x, y], i) => context[i ? 'lineTo' : 'moveTo'](left + x / SIZE * (right - left), bottom - y / SIZE * (bottom - top)));
    context.closePath();
  }
  context.fill('evenodd');
}
