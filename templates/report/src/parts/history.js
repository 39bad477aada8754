import {choice} from '../base/dom.js';
import {number} from '../base/format.js';
import {theme} from '../base/theme.js';
import {panel, resetButton} from '../charts/panel.js';
import {ObjectiveChoice, pointSeries, TrialChart} from './scatter.js';
import {ValueScale} from './value_scale.js';

/** Values in the order of the trials, with the best so far. */
export class HistoryPanel {
  constructor({selection}) {
    Object.assign(this, {selection, isByTime: false});
    this.redraw = () => this.draw();
    this.chart = new TrialChart({selection, label: 'History', height: 280});
    this.scale = new ValueScale(this.redraw);
    this.objective = new ObjectiveChoice('Objective', 0, () => {
      this.scale.forget();
      this.draw();
    });
    const axis = choice('Axis', [['number', 'By trial'], ['time', 'By time']], 'number', (value) => {
      this.isByTime = value === 'time';
      this.draw();
    });
    this.element = panel({title: 'History', surface: this.chart.surface, body: this.chart.element, data: () => this.data(), actions: [resetButton(this.chart)], controls: [this.objective.element, axis, this.scale.element]});
  }

  update({trials}) {
    this.trials = this.chart.trials = trials;
    this.objective.show(trials);
    this.chart.surface.prepare(this.redraw);
    return trials.count > 0;
  }

  draw() {
    const {trials} = this, {name, values} = this.objective.of(trials), {kind, range, missing} = this.scale.of(values);
    const rows = [...values.keys()].filter((row) => values[row] != null && (!this.isByTime || trials.ended[row] != null));
    const xs = rows.map((row) => (this.isByTime ? trials.ended[row] : trials.number[row]));
    const series = rows.length ? [pointSeries('value', trials, this.selection, rows, xs, rows.map((row) => values[row])),
      {name: 'best so far', kind: 'step', ...this.bestSoFar(xs, rows, values), colour: theme().bad, width: 1.8, isSilent: true}] : [];
    this.chart.show({x: this.isByTime ? {label: 'end of the trial', kind: 'time'} : {label: 'trial', kind: 'linear', isWhole: true}, y: {label: name, kind},
      series, domain: range ? {y: range} : undefined});
    this.describe(rows.length, values, kind, missing);
  }

  describe(count, values, kind, missing) {
    const best = this.trials.ranked(this.objective.index)[0], words = best === undefined ? '' : ` Best: trial ${this.trials.number[best]}, ${number(values[best], 6)}.`;
    this.chart.surface.setLabel(`History of ${count} trials with a value, on a ${kind === 'log' ? 'logarithmic' : 'linear'} axis.${words} Arrow keys walk over trials, Enter selects.`);
    this.element.note(`The line is the best value so far. Drag to select, Alt+drag to zoom.${missing}`);
  }

  bestSoFar(xs, rows, values) {
    const order = [...rows.keys()].sort((a, b) => xs[a] - xs[b]), line = {xs: [], ys: []};
    let best = null;
    for (const i of order) {
      const value = values[rows[i]];
      if (best === null || this.trials.isBetter(value, best, this.objective.index)) best = value;
      line.xs.push(xs[i]);
      line.ys.push(best);
    }
    return line;
  }

  data() {
    const {trials} = this, {name, values} = this.objective.of(trials);
    return {head: ['Trial', 'State', name], rows: trials.number.map((trial, row) => [String(trial), trials.state[row], number(values[row], 6)])};
  }
}
