import {choice, h} from '../base/dom.js';
import {anything, duration, number} from '../base/format.js';
import {ramp, theme, trialColour} from '../base/theme.js';
import {parameterAxis, positions} from '../base/model.js';
import {panel, resetButton} from '../charts/panel.js';
import {XyChart} from '../charts/xy.js';

/** A chart of one point a trial; it follows and sets the selection. */
export function trialChart({selection, label, height, zoomed, background}) {
  const view = {trials: null};
  const chart = new XyChart({label, height, selection, zoomed, background, nothing: 'No values yet',
    tip: (series, i) => trialTip(view.trials, series.rows ? series.rows[i] : series.row),
    pick: (row, event) => selection.click(row, event, chart),
    brush: (isInside) => {
      const points = chart.series.find((series) => series.rows && !series.isSilent), rows = [];
      for (let i = 0; i < (points?.px?.length ?? 0); ++i) if (isInside(points, i)) rows.push(points.rows[i]);
      selection.setRows(rows, chart);
    }});
  let version = -1;
  selection.listeners.add(() => {
    if (version !== selection.version) version = selection.version, chart.surface.request();
    else chart.surface.requestOver();
  });
  return {chart, view};
}

/** What the pointer says about a trial. */
export function trialTip(trials, row) {
  const lines = trials.objectives.map((objective) => [objective.name, number(objective.values[row], 6)]);
  lines.push(['state', trials.state[row]]);
  if (trials.started[row] != null && trials.ended[row] != null) lines.push(['time', duration(trials.ended[row] - trials.started[row])]);
  const varying = trials.parameters.filter((parameter) => parameter.varies && parameter.values[row] != null);
  for (const {name, values} of varying.slice(0, 10)) lines.push([name, anything(values[row])]);
  return {title: `Trial ${trials.number[row]}`, lines, colour: trialColour(trials.number[row])};
}

/** Points of trials: chosen ones in their colours, the others by how good they are. */
export function pointSeries(name, trials, selection, rows, xs, ys) {
  const goodness = trials.goodness();
  const colour = (i) => {
    const row = rows[i];
    if (selection.mask[row] && selection.count <= 200) return trialColour(trials.number[row]);
    return Number.isNaN(goodness[row]) ? theme().idle : shade(goodness[row]);
  };
  return {name, kind: 'points', xs, ys, rows, colour, isFaded: (i) => selection.isFaded(rows[i]), size: rows.length > 3000 ? 3 : rows.length > 500 ? 4 : 7};
}

let shades = [], shadesOf = null;
function shade(goodness) {
  if (shadesOf !== theme()) shades = Array.from({length: 33}, (_, i) => ramp(i / 32)), shadesOf = theme();
  return shades[Math.round(goodness * 32)];
}

/** Values in the order of the trials, with the best so far. */
export function historyPanel({selection}) {
  const reset = resetButton(() => chart.setZoom(null));
  const {chart, view} = trialChart({selection, label: 'History', height: 280, zoomed: (is) => { reset.hidden = !is; }});
  let run = null, objective = 0, isByTime = false;
  const which = choice('Objective', [], '', (value) => { objective = Number(value); draw(); });
  const element = panel({title: 'History', surface: chart.surface, body: chart.element, data, actions: [reset],
    controls: [which, choice('Axis', [['number', 'By trial'], ['time', 'By time']], 'number', (value) => { isByTime = value === 'time'; draw(); })]});

  function bestSoFar(xs, rows) {
    const {trials} = run, values = trials.objectives[objective].values, order = [...rows.keys()].sort((a, b) => xs[a] - xs[b]);
    const line = {xs: [], ys: []};
    let best = null;
    for (const i of order) {
      const value = values[rows[i]];
      if (best === null || trials.isBetter(value, best, objective)) best = value;
      line.xs.push(xs[i]);
      line.ys.push(best);
    }
    return line;
  }

  function draw() {
    const {trials} = run, values = trials.objectives[objective]?.values ?? [];
    const rows = [...values.keys()].filter((row) => values[row] != null && (!isByTime || trials.ended[row] != null));
    const xs = rows.map((row) => (isByTime ? trials.ended[row] : trials.number[row]));
    const series = rows.length ? [pointSeries('value', trials, selection, rows, xs, rows.map((row) => values[row])),
      {name: 'best so far', kind: 'step', ...bestSoFar(xs, rows), colour: theme().bad, width: 1.8, isSilent: true}] : [];
    chart.show({x: isByTime ? {label: 'end of the trial', kind: 'time'} : {label: 'trial', kind: 'linear'},
      y: {label: trials.objectives[objective]?.name ?? 'value', kind: 'linear'}, series, domain: inner(values)});
    const best = trials.ranked(objective)[0];
    chart.surface.setLabel(`History of ${rows.length} trials with a value.${best === undefined ? '' : ` Best: trial ${trials.number[best]}, ${number(values[best], 6)}.`} Arrow keys walk over trials, Enter selects.`);
    element.note(outside(values) ? `${number(outside(values))} values lie outside the chart; zoom out with the minus key.` : 'The line is the best value so far. Drag to select, Alt+drag to zoom.');
  }

  /** Far outliers would flatten the rest. */
  function inner(values) {
    const range = fences(values);
    return range ? {y: range} : undefined;
  }

  const outside = (values) => {
    const range = fences(values);
    return range ? values.filter((value) => value != null && (value < range[0] || value > range[1])).length : 0;
  };

  function data() {
    const {trials} = run, values = trials.objectives[objective]?.values ?? [];
    return {head: ['Trial', 'State', trials.objectives[objective]?.name ?? 'value'], rows: trials.number.map((trial, row) => [String(trial), trials.state[row], number(values[row], 6)])};
  }

  return {element, chart, update: (next) => {
    run = next;
    view.trials = run.trials;
    which.replaceChildren(...run.trials.objectives.map(({name}, i) => h('option', {value: i}, name)));
    which.value = String(objective);
    which.hidden = run.trials.objectives.length < 2;
    chart.surface.prepare(draw);
    return run.trials.count > 0;
  }};
}

/** Quartile fences, when they cut off at most a tenth and save more than half of the height. @returns {[number, number]|null} */
export function fences(values) {
  const sorted = values.filter((value) => value != null).sort((a, b) => a - b), count = sorted.length;
  if (count < 20) return null;
  const q1 = sorted[Math.floor(count / 4)], q3 = sorted[Math.floor(count * 3 / 4)], room = 3 * (q3 - q1);
  const low = Math.max(sorted[0], q1 - room), high = Math.min(sorted[count - 1], q3 + room);
  const cut = sorted.filter((value) => value < low || value > high).length;
  return cut > 0 && cut <= count / 10 && high - low < (sorted[count - 1] - sorted[0]) / 2 ? [low, high] : null;
}

const MOST_SLICES = 24;

/** One small chart a parameter: its values against the objective. */
export function slicesPanel({selection}) {
  const board = h('div', {class: 'slices'}), charts = new Map();
  let run = null, objective = 0;
  const which = choice('Objective', [], '', (value) => { objective = Number(value); draw(); });
  const element = panel({title: 'Slices', wide: true, body: board, controls: [which], note: 'Each parameter against the objective. Drag to select trials.', data});

  function chartOf(name) {
    if (!charts.has(name)) charts.set(name, trialChart({selection, label: `Slice of ${name}`, height: 210}));
    return charts.get(name);
  }

  function draw() {
    const elements = run.trials.parameters.filter((parameter) => parameter.varies).slice(0, MOST_SLICES).map((parameter) => {
      const {chart, view} = chartOf(parameter.name);
      view.trials = run.trials;
      chart.surface.prepare(() => slice(chart, parameter));
      return chart.element;
    });
    if (board.children.length !== elements.length || elements.some((each, i) => board.children[i] !== each)) board.replaceChildren(...elements);
  }

  function slice(chart, parameter) {
    const {trials} = run, values = trials.objectives[objective]?.values ?? [], xs = positions(parameter), range = fences(values);
    const rows = [...values.keys()].filter((row) => values[row] != null && !Number.isNaN(xs[row]));
    chart.show({x: parameterAxis(parameter), y: {label: trials.objectives[objective]?.name ?? '', kind: 'linear'}, domain: range ? {y: range} : undefined,
      series: [pointSeries(parameter.name, trials, selection, rows, rows.map((row) => xs[row] + jitter(parameter, row)), rows.map((row) => values[row]))]});
  }

  /** Categories are spread a little, so that equal values do not hide each other. */
  const jitter = (parameter, row) => (parameter.isNumeric ? 0 : ((row * 0.618034) % 1 - 0.5) * 0.5);

  function data() {
    const {trials} = run, parameters = trials.parameters.filter((parameter) => parameter.varies);
    return {head: ['Trial', ...trials.objectives.map(({name}) => name), ...parameters.map(({name}) => name)],
      rows: trials.ranked(objective).map((row) => [String(trials.number[row]), ...trials.objectives.map(({values}) => number(values[row], 6)), ...parameters.map(({values}) => anything(values[row]))])};
  }

  return {element, update: (next) => {
    run = next;
    which.replaceChildren(...run.trials.objectives.map(({name}, i) => h('option', {value: i}, name)));
    which.value = String(objective);
    which.hidden = run.trials.objectives.length < 2;
    draw();
    return run.trials.parameters.some((parameter) => parameter.varies);
  }};
}

/** Two objectives against each other, with the front. */
export function paretoPanel({selection}) {
  const reset = resetButton(() => chart.setZoom(null));
  const {chart, view} = trialChart({selection, label: 'Pareto front', height: 320, zoomed: (is) => { reset.hidden = !is; }});
  const axes = [0, 1];
  let run = null;
  const chooser = (i, label) => choice(label, [], '', (value) => { axes[i] = Number(value); draw(); });
  const choosers = [chooser(0, 'Horizontal objective'), chooser(1, 'Vertical objective')];
  const element = panel({title: 'Pareto front', surface: chart.surface, body: chart.element, controls: choosers, actions: [reset], data,
    note: 'Trials on the line are not dominated: no other trial is better in every objective.'});

  function draw() {
    const {trials} = run, [x, y] = axes.map((i) => trials.objectives[i]);
    const rows = [...trials.number.keys()].filter((row) => x.values[row] != null && y.values[row] != null);
    const front = run.pareto.map((number) => trials.row.get(number)).filter((row) => row !== undefined && x.values[row] != null && y.values[row] != null)
      .sort((a, b) => x.values[a] - x.values[b]);
    const at = (list) => ({xs: list.map((row) => x.values[row]), ys: list.map((row) => y.values[row])});
    const all = pointSeries('trial', trials, selection, rows, at(rows).xs, at(rows).ys);
    chart.show({x: {label: x.name, kind: 'linear'}, y: {label: y.name, kind: 'linear'}, series: [all,
      ...(trials.objectives.length === 2 ? [{name: 'front', kind: 'line', ...at(front), colour: theme().bad, width: 1.5, isSilent: true}] : []),
      {name: 'on the front', kind: 'points', ...at(front), rows: front, colour: (i) => trialColour(trials.number[front[i]]), size: 9, isFaded: (i) => selection.isFaded(front[i]), isSilent: true}]});
    chart.surface.setLabel(`Pareto front of ${x.name} and ${y.name}: ${front.length} trials. Arrow keys walk over trials, Enter selects.`);
  }

  function data() {
    return {head: ['Trial', ...run.trials.objectives.map(({name}) => name)],
      rows: run.pareto.map((number_) => [String(number_), ...run.trials.objectives.map(({values}) => number(values[run.trials.row.get(number_)], 6))])};
  }

  return {element, update: (next) => {
    run = next;
    view.trials = run.trials;
    if (run.trials.objectives.length < 2) return false;
    choosers.forEach((each, i) => {
      each.replaceChildren(...run.trials.objectives.map(({name}, k) => h('option', {value: k}, name)));
      each.value = String(axes[i]);
      each.hidden = run.trials.objectives.length < 3;
    });
    chart.surface.prepare(draw);
    return true;
  }};
}
