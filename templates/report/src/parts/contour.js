import {contours} from 'd3-contour';
import {choice, h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {extent, parameterAxis, positions} from '../base/model.js';
import {ramp, theme} from '../base/theme.js';
import {interpolate} from '../charts/contour_grid.js';
import {panel, resetButton} from '../charts/panel.js';
import {pointSeries, TrialChart} from './scatter.js';

const SIZE = 48, LEVELS = 10;

/** The objective over two parameters. */
export function contourPanel({selection}) {
  const reset = resetButton(() => chart.setZoom(null));
  const chart = new TrialChart({selection, label: 'Contour', height: 320, zoomed: (is) => { reset.hidden = !is; }, background: (c, owner) => shapes(c, owner)});
  let run = null, names = [null, null], field = null;
  const chooser = (i, label) => choice(label, [], '', (value) => { names[i] = value; draw(); });
  const choosers = [chooser(0, 'Horizontal parameter'), chooser(1, 'Vertical parameter')];
  const element = panel({title: 'Contour', surface: chart.surface, body: chart.element, controls: choosers, actions: [reset], data});

  function draw() {
    const {trials} = run, [x, y] = names.map((name) => trials.parameters.find((parameter) => parameter.name === name));
    const values = trials.values, xs = positions(x), ys = positions(y);
    const rows = [...values.keys()].filter((row) => values[row] != null && !Number.isNaN(xs[row]) && !Number.isNaN(ys[row]));
    const at = (list) => rows.map((row) => list[row]);
    field = {rows, xs: at(xs), ys: at(ys), goodness: trials.goodness(), made: null};
    const points = pointSeries('trial', trials, selection, rows, field.xs, field.ys);
    chart.show({x: parameterAxis(x), y: parameterAxis(y), series: [{...points, colour: (i) => (selection.mask[rows[i]] ? points.colour(i) : theme().text), size: rows.length > 500 ? 2 : 4, alpha: selection.count ? 1 : 0.45}]});
    chart.surface.setLabel(`Contour of ${trials.objectives[0]?.name ?? 'the objective'} over ${x.name} and ${y.name}, ${rows.length} trials. Arrow keys walk over trials, Enter selects.`);
    element.note(`${trials.objectives[0]?.name ?? 'Objective'}, smoothed between trials; ranks from worst (faint) to best (strong).`);
  }

  /** Bands in the unit square of the axes; made once, drawn at each zoom. */
  function bands(scale) {
    const [u, v] = [unit(scale.x), unit(scale.y)];
    const us = field.xs.map(u), vs = field.ys.map(v), goodness = field.rows.map((row) => field.goodness[row]);
    const grid = interpolate(us, vs, goodness, SIZE), range = extent(grid);
    if (!range) return [];
    const levels = Array.from({length: LEVELS}, (_, i) => range[0] + (range[1] - range[0]) * i / LEVELS);
    return contours().size([SIZE, SIZE]).thresholds(levels)(Array.from(grid, (value) => (Number.isNaN(value) ? -1 : value)));
  }

  function unit({project, scale}) {
    const [a, b] = scale.range();
    return (value) => (project(value) - a) / (b - a);
  }

  function shapes(context, owner) {
    if (!field || field.rows.length < 4 || owner.zoom) return;
    field.made ??= bands(owner.scale);
    const {left, right, top, bottom} = owner.box;
    field.made.forEach((band, i) => {
      context.fillStyle = ramp(0.08 + 0.84 * i / LEVELS);
      context.globalAlpha = 0.55;
      context.beginPath();
      for (const ring of band.coordinates.flat()) {
        ring.forEach(([x, y], k) => context[k ? 'lineTo' : 'moveTo'](left + x / SIZE * (right - left), bottom - y / SIZE * (bottom - top)));
        context.closePath();
      }
      context.fill('evenodd');
    });
    context.globalAlpha = 1;
  }

  function data() {
    return {head: ['Trial', ...names, run.trials.objectives[0]?.name ?? 'value'], rows: run.trials.ranked().map((row) => [String(run.trials.number[row]),
      ...names.map((name) => anything(run.trials.parameters.find((parameter) => parameter.name === name).values[row])), number(run.trials.values[row], 6)])};
  }

  return {element, update: (next) => {
    run = next;
    chart.trials = run.trials;
    const able = run.trials.parameters.filter((parameter) => parameter.varies).map(({name}) => name);
    if (able.length < 2) return false;
    const weighty = [...run.importance].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)).map((each) => String(each.parameter)).filter((name) => able.includes(name));
    const order = [...new Set([...weighty, ...able])];
    names = names.map((name, i) => (able.includes(name) ? name : order[i]));
    choosers.forEach((each, i) => {
      each.replaceChildren(...able.map((name) => h('option', {value: name}, name)));
      each.value = names[i];
    });
    chart.surface.prepare(draw);
    return true;
  }};
}
