import {brief, h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {parameterAxis, positions} from '../base/model.js';
import {Parallel} from '../charts/parallel.js';
import {panel} from '../charts/panel.js';
import {needsLog} from './value_scale.js';

const MOST_AXES = 12, AXIS_PX = 64;
const NOTE = 'Drag along an axis to select a range; click the range to remove it. Drag a name to move its axis.';

/** Parallel coordinates with the choice of axes, their scale and exact ranges. */
export class ParallelPanel {
  constructor({selection}) {
    Object.assign(this, {order: null, hidden: new Set(), logs: new Map(), ranges: new Map()});
    this.redraw = () => this.draw();
    this.chart = new Parallel({height: 380, label: 'Parallel coordinates', selection, moved: () => this.showRanges(), ordered: (names) => { this.order = names; }});
    this.form = h('div');
    this.element = panel({title: 'Parallel coordinates', wide: true, surface: this.chart.surface, body: h('div', {class: 'sideways'}, this.chart.element), note: NOTE, data: () => this.data(),
      controls: [h('details', {class: 'popover'}, h('summary', null, 'Axes and ranges'), this.form)],
      actions: [h('button', {type: 'button', class: 'quiet', on: {click: () => selection.clear(null)}}, 'Clear')]});
  }

  update({trials}) {
    this.trials = trials;
    this.chart.surface.prepare(this.redraw);
    return trials.count > 0 && trials.parameters.some((parameter) => parameter.varies);
  }

  draw() {
    const brushes = new Map(this.chart.dimensions.map((dimension) => [dimension.name, dimension.brush])), all = this.allDimensions();
    this.arrange(all);
    const shown = all.filter(({name}) => !this.hidden.has(name)).sort((a, b) => this.place(a.name) - this.place(b.name));
    for (const dimension of shown) dimension.brush = brushes.get(dimension.name) ?? null;
    this.chart.element.style.minWidth = `${AXIS_PX * shown.length}px`;
    this.chart.show(this.trials, shown);
    this.showForm(all);
    this.chart.surface.setLabel(`Parallel coordinates of ${number(this.trials.count)} trials over ${shown.map(({name}) => name).join(', ')}. Set ranges under Axes and ranges.`);
  }

  /** At first the parameters in their order, then the objectives; no more than fit. */
  arrange(all) {
    if (this.order) return;
    this.order = all.map(({name}) => name);
    if (all.length > MOST_AXES) for (const {name} of all.slice(MOST_AXES - 1, -1)) this.hidden.add(name);
  }

  place(name) {
    const at = this.order.indexOf(name);
    return at < 0 ? Infinity : at;
  }

  /** @returns {(import('../charts/parallel.js').Dimension & {canLog: boolean, isLog: boolean, isNumeric: boolean})[]} */
  allDimensions() {
    const objectives = this.trials.objectives.map(({name, values}) => ({name, isNumeric: true, isLog: needsLog(values), values, canLog: values.every((value) => value == null || value > 0)}));
    return [...this.trials.parameters.filter((parameter) => parameter.varies), ...objectives].map((parameter) => {
      const {name, values, canLog, isNumeric} = parameter, isLog = this.logs.get(name) ?? parameter.isLog;
      return {name, axis: parameterAxis({...parameter, isLog}), values: positions(parameter), raw: values, brush: null, canLog, isLog, isNumeric};
    });
  }

  showForm(all) {
    this.ranges.clear();
    const head = ['Axis', 'Log', 'From', 'To'].map((words) => h('th', {scope: 'col'}, words));
    this.form.replaceChildren(h('table', {class: 'plain'}, h('thead', null, h('tr', null, head)), h('tbody', null, all.map((dimension) => this.formRow(dimension)))));
    this.showRanges();
  }

  formRow({name, canLog, isLog, isNumeric}) {
    const isShown = !this.hidden.has(name);
    const show = checkbox(`Show ${name}`, isShown, (on) => (on ? this.hidden.delete(name) : this.hidden.add(name), this.draw()));
    const log = checkbox(`Logarithmic ${name}`, isLog, (on) => (this.logs.set(name, on), this.draw()), !canLog);
    const ends = ['from', 'to'].map((end) => h('input', {type: 'number', step: 'any', 'aria-label': `${name} ${end}`, disabled: !isShown, on: {change: () => this.setRange(name)}}));
    this.ranges.set(name, ends);
    return h('tr', null, h('td', null, h('label', null, show, brief(name, 32))), h('td', null, log),
      isNumeric ? ends.map((end) => h('td', null, end)) : h('td', {colspan: 2}, 'drag along the axis'));
  }

  setRange(name) {
    const [low, high] = this.ranges.get(name).map((input) => (input.value === '' ? null : Number(input.value)));
    const i = this.chart.dimensions.findIndex((dimension) => dimension.name === name);
    if (i >= 0) this.chart.setBrush(i, low === null && high === null ? null : [low ?? -Infinity, high ?? Infinity]);
  }

  showRanges() {
    for (const {name, brush} of this.chart.dimensions) {
      (this.ranges.get(name) ?? []).forEach((input, i) => {
        if (document.activeElement !== input) input.value = brush && Number.isFinite(brush[i]) ? String(Number(brush[i].toPrecision(4))) : '';
      });
    }
  }

  data() {
    const {dimensions} = this.chart;
    return {head: ['Trial', ...dimensions.map(({name}) => name)],
      rows: this.trials.ranked().map((row) => [String(this.trials.number[row]), ...dimensions.map(({raw}) => anything(raw[row]))])};
  }
}

function checkbox(label, checked, change, disabled = false) {
  return h('input', {type: 'checkbox', checked, disabled, 'aria-label': label, on: {change: (event) => change(event.target.checked)}});
}
