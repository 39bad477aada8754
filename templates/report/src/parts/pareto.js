import {number} from '../base/format.js';
import {theme, trialColour} from '../base/theme.js';
import {panel, resetButton} from '../charts/panel.js';
import {ObjectiveChoice, pointSeries, TrialChart} from './scatter.js';

/** Two objectives against each other, with the trials of the front. */
export class ParetoPanel {
  constructor({selection}) {
    this.selection = selection;
    this.redraw = () => this.draw();
    this.chart = new TrialChart({selection, label: 'Pareto front', height: 320});
    this.axes = [new ObjectiveChoice('Horizontal objective', 0, this.redraw, 3), new ObjectiveChoice('Vertical objective', 1, this.redraw, 3)];
    this.element = panel({title: 'Pareto front', surface: this.chart.surface, body: this.chart.element, controls: this.axes.map(({element}) => element), actions: [resetButton(this.chart)],
      data: () => this.data(), note: 'No other trial is better in every objective than a trial on the front.'});
  }

  update(run) {
    this.run = run;
    this.chart.trials = run.trials;
    if (run.trials.objectives.length < 2) return false;
    for (const axis of this.axes) axis.show(run.trials);
    this.chart.surface.prepare(this.redraw);
    return true;
  }

  draw() {
    const {trials} = this.run, [x, y] = this.axes.map((axis) => axis.of(trials)), hasBoth = (row) => row !== undefined && x.values[row] != null && y.values[row] != null;
    const rows = [...trials.number.keys()].filter(hasBoth), at = (list) => ({xs: list.map((row) => x.values[row]), ys: list.map((row) => y.values[row])});
    const front = this.run.pareto.map((trial) => trials.row.get(trial)).filter(hasBoth).sort((a, b) => x.values[a] - x.values[b]);
    const line = {name: 'front', kind: 'line', ...at(front), colour: theme().bad, width: 1.5, isSilent: true};
    this.chart.show({x: {label: x.name, kind: 'linear'}, y: {label: y.name, kind: 'linear'}, series: [
      pointSeries('trial', trials, this.selection, rows, at(rows).xs, at(rows).ys), ...(trials.objectives.length === 2 ? [line] : []), this.frontPoints(front, at(front))]});
    this.chart.surface.setLabel(`Pareto front of ${x.name} and ${y.name}: ${front.length} trials. Arrow keys walk over trials, Enter selects.`);
  }

  frontPoints(front, places) {
    const {trials} = this.run;
    return {name: 'on the front', kind: 'points', ...places, rows: front, colour: (i) => trialColour(trials.number[front[i]]), size: 9,
      isFaded: (i) => this.selection.isFaded(front[i]), isSilent: true};
  }

  data() {
    const {trials, pareto} = this.run;
    return {head: ['Trial', ...trials.objectives.map(({name}) => name)],
      rows: pareto.map((trial) => [String(trial), ...trials.objectives.map(({values}) => number(values[trials.row.get(trial)], 6))])};
  }
}
