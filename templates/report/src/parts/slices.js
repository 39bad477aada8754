import {h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {parameterAxis, positions} from '../base/model.js';
import {panel} from '../charts/panel.js';
import {ObjectiveChoice, pointSeries, TrialChart} from './scatter.js';
import {ValueScale} from './value_scale.js';

const MOST_SLICES = 24, NOTE = 'Each parameter against the objective. Drag to select trials.';

/** One small chart a parameter: its values against the objective. */
export class SlicesPanel {
  constructor({selection}) {
    Object.assign(this, {selection, charts: new Map()});
    this.board = h('div', {class: 'slices'});
    this.scale = new ValueScale(() => this.draw());
    this.objective = new ObjectiveChoice('Objective', 0, () => {
      this.scale.forget();
      this.draw();
    });
    this.element = panel({title: 'Slices', wide: true, body: this.board, controls: [this.objective.element, this.scale.element], data: () => this.data(),
      note: NOTE});
  }

  update({trials}) {
    this.trials = trials;
    this.parameters = trials.parameters.filter((parameter) => parameter.varies);
    this.objective.show(trials);
    this.draw();
    return this.parameters.length > 0;
  }

  chartOf(name) {
    if (!this.charts.has(name)) this.charts.set(name, new TrialChart({selection: this.selection, label: `Slice of ${name}`, height: 210}));
    return this.charts.get(name);
  }

  draw() {
    const elements = this.parameters.slice(0, MOST_SLICES).map((parameter) => {
      const chart = this.chartOf(parameter.name);
      chart.trials = this.trials;
      chart.surface.prepare(() => this.drawSlice(chart, parameter));
      return chart.element;
    });
    const isSame = this.board.children.length === elements.length && elements.every((each, i) => this.board.children[i] === each);
    if (!isSame) this.board.replaceChildren(...elements);
  }

  drawSlice(chart, parameter) {
    const {name, values} = this.objective.of(this.trials), xs = positions(parameter), {kind, range, missing} = this.scale.of(values);
    this.element.note(NOTE + missing);
    const rows = [...values.keys()].filter((row) => values[row] != null && !Number.isNaN(xs[row]));
    chart.show({x: parameterAxis(parameter), y: {label: name, kind}, domain: range ? {y: range} : undefined,
      series: [pointSeries(parameter.name, this.trials, this.selection, rows, rows.map((row) => xs[row] + jitter(parameter, row)), rows.map((row) => values[row]))]});
  }

  data() {
    const {trials, parameters} = this;
    return {head: ['Trial', ...trials.objectives.map(({name}) => name), ...parameters.map(({name}) => name)],
      rows: trials.ranked(this.objective.index).map((row) => [String(trials.number[row]), ...trials.objectives.map(({values}) => number(values[row], 6)),
        ...parameters.map(({values}) => anything(values[row]))])};
  }
}

/** Categories are spread a little, so that equal values do not hide each other. */
const jitter = (parameter, row) => (parameter.isNumeric ? 0 : ((row * 0.618034) % 1 - 0.5) * 0.5);
