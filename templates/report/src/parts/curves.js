import {brief, choice, h, toggle} from '../base/dom.js';
import {duration, number} from '../base/format.js';
import {seriesColour, trialColour} from '../base/theme.js';
import {panel, resetButton} from '../charts/panel.js';
import {XyChart} from '../charts/xy.js';

const ALL = 100000, MOST_RUNNING = 32, MOST_CHOSEN = 200;

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
export class CurvesPanel {
  /** @param {{selection: import('../base/selection.js').Selection|null, title?: string, many: 'metrics'|'trials'|'runs'}} options */
  constructor({selection, title = 'Learning curves', many}) {
    Object.assign(this, {selection, title, many, isFirst: true, version: -1, run: null});
    this.view = {chosen: new Set(), x: 'step', isLog: false, smoothing: 0, top: 20};
    this.redraw = () => this.draw();
    this.chart = new XyChart({label: title, height: 320, selection, tip: (series, i) => this.tip(series, i),
      pick: (row, event) => row >= 0 && selection?.click(row, event, this.chart), nothing: 'No values of this metric yet'});
    this.metrics = h('div', {class: 'chips', role: 'group', 'aria-label': 'Metrics'});
    this.key = h('ul', {class: 'legend', hidden: true});
    this.element = panel({title, wide: true, surface: this.chart.surface, actions: [resetButton(this.chart)], body: h('div', null, this.metrics, this.key, this.chart.element),
      data: () => this.data(), controls: this.controls()});
    selection?.listeners.add(() => this.follow());
  }

  controls() {
    const set = (name, value) => {
      this.view[name] = value;
      this.draw();
    };
    const top = choice('How many trials', [['10', 'Best 10'], ['20', 'Best 20'], ['50', 'Best 50'], [String(ALL), 'All trials']], '20', (value) => set('top', Number(value)));
    top.hidden = this.many !== 'trials';
    const slider = h('input', {type: 'range', min: 0, max: 0.98, step: 0.02, value: 0, 'aria-label': 'Smoothing', on: {input: () => set('smoothing', Number(slider.value))}});
    return [top, choice('Axis', [['step', 'Step'], ['time', 'Time']], 'step', (value) => set('x', value)),
      toggle('log', false, (on) => set('isLog', on), 'Logarithmic values'), h('label', {class: 'slider'}, 'Smooth', slider)];
  }

  follow() {
    if (this.version === this.selection.version) return this.chart.surface.requestOver();
    this.version = this.selection.version;
    if (this.run) this.chart.surface.prepare(this.redraw);
  }

  update(run) {
    this.run = run;
    this.names = [...new Set(run.curves.map((curve) => curve.metric))];
    this.lastAttempt = Math.max(1, ...run.curves.map((curve) => curve.attempt));
    this.start = Math.min(...run.curves.map(startOf).filter(Number.isFinite));
    if (this.isFirst && this.names.length) {
      this.view.chosen = firstMetrics(run, this.names, this.many);
      this.isFirst = false;
    }
    this.drawChips();
    this.drawKey();
    this.chart.surface.prepare(this.redraw);
    return run.curves.length > 0;
  }

  drawChips() {
    const dot = (metric) => this.many === 'metrics' && h('span', {class: 'dot', style: {background: seriesColour(this.place(metric))}});
    this.metrics.replaceChildren(...this.names.map((metric) => toggle([dot(metric), brief(metric, 32)], this.view.chosen.has(metric), (on) => this.choose(metric, on))));
    this.metrics.hidden = this.names.length < 2;
  }

  /** Of many trials one metric is shown at a time. */
  choose(metric, isOn) {
    const {chosen} = this.view;
    if (this.many === 'trials') chosen.clear();
    if (isOn || this.many === 'trials') chosen.add(metric);
    else chosen.delete(metric);
    if (this.many === 'trials') this.drawChips();
    this.draw();
  }

  /** Which colour is which run. */
  drawKey() {
    if (this.many !== 'runs') return;
    const names = new Map(this.run.curves.map((curve) => [curve.runIndex, curve.runName]));
    this.key.hidden = false;
    this.key.replaceChildren(...[...names].map(([index, name]) => h('li', null, h('span', {class: 'dot', style: {background: seriesColour(index)}}), name)));
  }

  place(metric) {
    return Math.max(0, this.names.indexOf(metric));
  }

  shown() {
    const curves = this.run.curves.filter((curve) => this.view.chosen.has(curve.metric));
    if (this.many !== 'trials' || this.view.top >= ALL) return curves;
    const wanted = this.wantedTrials();
    return wanted.size ? curves.filter((curve) => wanted.has(curve.trial)) : curves;
  }

  /** The best trials, those that run, and those that the reader chose. */
  wantedTrials() {
    const {trials} = this.run, {selection} = this;
    const running = [...trials.state.keys()].filter((row) => trials.state[row] === 'running').slice(0, MOST_RUNNING);
    const chosen = selection.count <= MOST_CHOSEN ? selection.rows() : [];
    return new Set([...trials.ranked().slice(0, this.view.top), ...running, ...chosen].map((row) => trials.number[row]));
  }

  /** Attempts of one run share their start; trials and runs have their own. */
  timesOf(curve) {
    const start = this.many === 'metrics' ? this.start : startOf(curve);
    return curve.time.map((time) => (time == null ? null : time - start));
  }

  style(curve) {
    if (this.many === 'runs') return {colour: seriesColour(curve.runIndex), dash: curve.metric === [...this.view.chosen][0] ? [] : [5, 3]};
    if (this.many === 'metrics') {
      const isOld = curve.attempt < this.lastAttempt;
      return {colour: seriesColour(this.place(curve.metric)), alpha: isOld ? 0.55 : 1, dash: isOld ? [5, 3] : []};
    }
    const {selection} = this, row = this.run.trials.row.get(curve.trial) ?? -1, isFaded = row < 0 || selection.isFaded(row);
    return {row, colour: trialColour(curve.trial ?? 0), alpha: isFaded ? 0.14 : 0.9, width: selection.mask[row] ? 2.2 : 1.3, isSilent: isFaded};
  }

  /** The curve; when it is smoothed, also its values as they are, faint. */
  seriesOf(curve) {
    const look = this.style(curve), xs = this.view.x === 'time' && curve.time ? this.timesOf(curve) : curve.step;
    const line = {name: this.nameOf(curve), kind: 'line', xs, ys: smooth(curve.value, this.view.smoothing), curve, ...look};
    const ghost = {...line, ys: curve.value, alpha: (look.alpha ?? 1) * 0.25, width: 1, isSilent: true, isGhost: true};
    return this.view.smoothing && !look.isSilent ? [ghost, line] : [line];
  }

  nameOf(curve) {
    if (this.many === 'runs') return `${curve.runName} · ${curve.metric}`;
    if (this.many === 'trials') return `Trial ${curve.trial}`;
    return this.lastAttempt > 1 ? `${curve.metric} · attempt ${curve.attempt}` : curve.metric;
  }

  tip(series, i) {
    const {curve} = series, lines = [[this.many === 'trials' ? curve.metric : 'value', number(curve.value[i], 6)], ['step', number(curve.step[i])]];
    if (this.view.smoothing) lines.splice(1, 0, ['smoothed', number(series.ys[i], 6)]);
    if (curve.time?.[i] != null) lines.push(['after', duration(this.timesOf(curve)[i])]);
    if (curve.lowest != null) lines.push(['lowest, highest', range(curve)]);
    return {title: series.name, lines, colour: series.colour};
  }

  draw() {
    const curves = this.shown(), label = [...this.view.chosen].join(', '), rank = (series) => (series.width ?? 1) + (series.alpha ?? 1);
    this.chart.show({x: this.view.x === 'step' ? {label: 'step', kind: 'linear', isWhole: true} : {label: 'time since start', kind: 'elapsed'},
      y: {label, kind: this.view.isLog ? 'log' : 'linear'}, series: curves.flatMap((curve) => this.seriesOf(curve)).sort((a, b) => rank(a) - rank(b))});
    const notFinite = curves.reduce((sum, curve) => sum + curve.notFinite, 0), words = curves.slice(0, 3).map((curve) => `${this.nameOf(curve)}: last ${number(curve.last)}`);
    this.element.note(notFinite ? `${number(notFinite)} values are not finite and leave a gap.` : '');
    this.chart.surface.setLabel(`${this.title}: ${label || 'no metric'}, ${curves.length} curves. ${words.join('; ')}. Arrow keys walk along a curve.`);
  }

  data() {
    return {head: ['Curve', 'Metric', 'Values', 'First', 'Last', 'Lowest to highest', 'Not finite'],
      rows: this.shown().map((curve) => [this.nameOf(curve), curve.metric, number(curve.count), number(curve.first), number(curve.last), range(curve), number(curve.notFinite)])};
  }
}

/** "0.12 to 2.3" */
export const range = ({lowest, highest}) => (lowest === highest ? number(lowest, 6) : `${number(lowest, 6)} to ${number(highest, 6)}`);

const startOf = (curve) => curve.time?.find((time) => time != null) ?? NaN;
const lastWord = (metric) => metric.toLowerCase().split(/[^a-z0-9]+/).pop();

/** The metric that ranks the run, with those that end alike: train and validation together. */
export function firstMetrics(run, names, many) {
  const main = [run.objectives[0]?.metric, run.best?.metric].find((metric) => names.includes(metric)) ?? names[0];
  if (many === 'trials') return new Set([main]);
  return new Set([main, ...names.filter((metric) => lastWord(metric) === lastWord(main))].slice(0, 6));
}
