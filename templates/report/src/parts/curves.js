import {choice, h, toggle} from '../base/dom.js';
import {duration, number} from '../base/format.js';
import {hashText, seriesColour, trialColour} from '../base/theme.js';
import {panel, resetButton} from '../charts/panel.js';
import {XyChart} from '../charts/xy.js';

/** Moving average without the bias of its first values. @param {(number|null)[]} values @param {number} weight 0 to 1 */
export function smooth(values, weight) {
  if (!weight) return values;
  let sum = 0, share = 0;
  return values.map((value) => {
    if (value == null || !Number.isFinite(value)) return null;
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}

/** Learning curves: of the metrics of one run, of the trials of an ensemble, or of several runs. */
export function curvesPanel({selection, title = 'Learning curves', many = 'metrics', wide = true}) {
  const view = {chosen: new Set(), x: 'step', isLog: false, smoothing: 0, top: 20};
  let run = null, isFirst = true;
  const reset = resetButton(() => chart.setZoom(null));
  const chart = new XyChart({label: title, height: 320, tip, selection, zoomed: (is) => { reset.hidden = !is; },
    pick: (row, event) => row >= 0 && selection?.click(row, event, chart), nothing: 'No values of this metric yet'});
  const metrics = h('div', {class: 'chips', role: 'group', 'aria-label': 'Metrics'});
  const top = choice('How many trials', [['10', 'Best 10'], ['20', 'Best 20'], ['50', 'Best 50'], ['100000', 'All trials']], '20',
    (value) => { view.top = Number(value); draw(); });
  const slider = h('input', {type: 'range', min: 0, max: 0.98, step: 0.02, value: 0, 'aria-label': 'Smoothing',
    on: {input: () => { view.smoothing = Number(slider.value); draw(); }}});
  const element = panel({title, wide, surface: chart.surface, actions: [reset], body: h('div', null, metrics, chart.element), data,
    controls: [top, choice('Axis', [['step', 'Step'], ['time', 'Time']], 'step', (value) => { view.x = value; draw(); }),
      toggle('log', false, (on) => { view.isLog = on; draw(); }, 'Logarithmic values'), h('label', {class: 'slider'}, 'Smooth', slider)]});
  let version = -1;
  selection?.listeners.add(() => {
    if (run && version !== selection.version) version = selection.version, chart.surface.prepare(draw);
    else chart.surface.requestOver();
  });

  function shown() {
    const curves = run.curves.filter((curve) => view.chosen.has(curve.metric));
    if (many !== 'trials') return curves;
    const wanted = new Set(run.trials.ranked().slice(0, view.top).map((row) => run.trials.number[row]));
    if (selection.count <= 200) for (const row of selection.rows()) wanted.add(run.trials.number[row]);
    for (const row of running(run.trials)) wanted.add(run.trials.number[row]);
    const isBounded = view.top < 1000 && wanted.size > 0;
    return isBounded ? curves.filter((curve) => wanted.has(curve.trial) || !run.trials.row.has(curve.trial)) : curves;
  }

  function xsOf(curve) {
    if (view.x === 'step' || !curve.time) return curve.step;
    const start = curve.start ?? curve.time.find((time) => time != null) ?? 0;
    return curve.time.map((time) => (time == null ? null : time - start));
  }

  function style(curve) {
    if (many === 'runs') return {colour: seriesColour(curve.runIndex), alpha: 1, dash: curve.metric === [...view.chosen][0] ? [] : [5, 3]};
    if (many === 'metrics') return {colour: seriesColour(place(curve.metric)), alpha: curve.attempt < run.lastAttempt ? 0.55 : 1, dash: curve.attempt < run.lastAttempt ? [5, 3] : []};
    const row = run.trials.row.get(curve.trial) ?? -1, isFaded = row < 0 || selection.isFaded(row);
    return {row, colour: trialColour(curve.trial ?? 0), alpha: isFaded ? 0.14 : 0.9, width: selection.mask[row] ? 2.2 : 1.3, isSilent: isFaded};
  }

  const place = (metric) => Math.max(0, run.metrics.indexOf(metric));

  function seriesOf(curve) {
    const look = style(curve), xs = xsOf(curve), line = {name: nameOf(curve), kind: 'line', xs, ys: smooth(curve.value, view.smoothing), curve, ...look};
    const ghost = {...line, ys: curve.value, alpha: look.alpha * 0.25, width: 1, isSilent: true, isGhost: true};
    return view.smoothing && !look.isSilent ? [ghost, line] : [line];
  }

  function nameOf(curve) {
    if (many === 'runs') return `${curve.runName} · ${curve.metric}`;
    if (many === 'trials') return `Trial ${curve.trial}`;
    return run.lastAttempt > 1 ? `${curve.metric} · attempt ${curve.attempt}` : curve.metric;
  }

  function tip(series, i) {
    const {curve} = series, colour = series.colour;
    const lines = [[many === 'trials' ? curve.metric : 'value', number(curve.value[i], 6)], ['step', number(curve.step[i])]];
    if (view.smoothing) lines.splice(1, 0, ['smoothed', number(series.ys[i], 6)]);
    if (curve.time?.[i] != null) lines.push(['after', duration(curve.time[i] - (curve.start ?? curve.time[0]))]);
    if (curve.best != null) lines.push(['best', number(curve.best, 6)]);
    return {title: series.name, lines, colour};
  }

  function draw() {
    const curves = shown(), series = curves.flatMap(seriesOf).sort((a, b) => (a.width ?? 1) - (b.width ?? 1) || (a.alpha ?? 1) - (b.alpha ?? 1));
    const label = [...view.chosen].join(', ');
    chart.show({x: view.x === 'step' ? {label: 'step', kind: 'linear'} : {label: 'time since start', kind: 'elapsed'},
      y: {label, kind: view.isLog ? 'log' : 'linear'}, series});
    const notFinite = curves.reduce((sum, curve) => sum + curve.notFinite, 0);
    element.note(notFinite ? `${number(notFinite)} values are not finite and leave a gap.` : '');
    chart.surface.setLabel(`${title}: ${label || 'no metric'}, ${curves.length} curves. ${curves.slice(0, 3).map((curve) => `${nameOf(curve)}: last ${number(curve.last)}`).join('; ')}. Arrow keys walk along a curve.`);
  }

  function drawChips() {
    metrics.replaceChildren(...run.metrics.map((metric) => toggle(many !== 'metrics' ? metric : [h('span', {class: 'dot', style: {background: seriesColour(place(metric))}}), metric],
      view.chosen.has(metric), (on) => {
        if (many === 'trials') view.chosen.clear();
        if (on || many === 'trials') view.chosen.add(metric);
        else view.chosen.delete(metric);
        if (many === 'trials') drawChips();
        draw();
      })));
    metrics.hidden = run.metrics.length < 2 && many === 'trials';
  }

  function data() {
    return {head: ['Curve', 'Metric', 'Values', 'First', 'Last', 'Best', 'Not finite'],
      rows: shown().map((curve) => [nameOf(curve), curve.metric, number(curve.count), number(curve.first), number(curve.last), number(curve.best), number(curve.notFinite)])};
  }

  return {element, update: (next) => {
    run = next;
    run.metrics = [...new Set(run.curves.map((curve) => curve.metric))];
    run.lastAttempt = Math.max(1, ...run.curves.map((curve) => curve.attempt));
    if (isFirst && run.metrics.length) view.chosen = firstMetrics(run, many), isFirst = false;
    top.hidden = many !== 'trials';
    drawChips();
    chart.surface.prepare(draw);
    return run.curves.length > 0;
  }};
}

const MOST_RUNNING = 32;
const running = (trials) => [...trials.state.keys()].filter((row) => trials.state[row] === 'running').slice(0, MOST_RUNNING);

/** The metric that ranks the run, with those that end alike: train and validation together. */
function firstMetrics(run, many) {
  const main = [run.objectives[0]?.metric, run.best?.metric].find((metric) => run.metrics.includes(metric)) ?? run.metrics[0];
  if (many === 'trials') return new Set([main]);
  const ending = main.toLowerCase().split(/[^a-z0-9]+/).pop();
  return new Set([main, ...run.metrics.filter((metric) => metric.toLowerCase().split(/[^a-z0-9]+/).pop() === ending)].slice(0, 6));
}
