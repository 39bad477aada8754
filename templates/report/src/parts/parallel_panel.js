import {brief, h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {parameterAxis, positions} from '../base/model.js';
import {Parallel} from '../charts/parallel.js';
import {panel} from '../charts/panel.js';

const MOST_AXES = 12;

/** Parallel coordinates with the choice of axes, their scale and exact ranges. */
export function parallelPanel({selection}) {
  const view = {order: null, hidden: new Set(), logs: new Map()};
  const chart = new Parallel({height: 380, label: 'Parallel coordinates', selection, moved: () => showRanges(), ordered: (names) => { view.order = names; }});
  const axes = h('div', {class: 'axes-form'});
  const form = h('details', {class: 'popover'}, h('summary', null, 'Axes and ranges'), axes);
  let run = null, ranges = new Map();
  const element = panel({title: 'Parallel coordinates', wide: true, surface: chart.surface, body: chart.element, controls: [form],
    actions: [h('button', {type: 'button', class: 'quiet', on: {click: () => selection.clear(null)}}, 'Clear')],
    note: 'Drag along an axis to select a range; click the range to remove it. Drag a name to move its axis.', data});

  /** @returns {import('../charts/parallel.js').Dimension[]} */
  function allDimensions() {
    const {trials} = run, objectives = trials.objectives.map(({name, values}) => ({name, isNumeric: true, isLog: false, values,
      canLog: values.every((value) => value == null || value > 0), isObjective: true}));
    return [...trials.parameters.filter((parameter) => parameter.varies), ...objectives].map((parameter) => {
      const isLog = view.logs.get(parameter.name) ?? parameter.isLog;
      return {name: parameter.name, axis: parameterAxis({...parameter, isLog}), values: positions(parameter), raw: parameter.values, brush: null,
        canLog: parameter.canLog, isLog, isNumeric: parameter.isNumeric};
    });
  }

  function draw() {
    const before = new Map(chart.dimensions.map((dimension) => [dimension.name, dimension.brush])), all = allDimensions();
    if (all.length > MOST_AXES && !view.order) all.slice(MOST_AXES - 1, -1).forEach(({name}) => view.hidden.add(name));
    view.order ??= all.map(({name}) => name);
    const place = (name) => (view.order.includes(name) ? view.order.indexOf(name) : Infinity);
    const shown = all.filter(({name}) => !view.hidden.has(name)).sort((a, b) => place(a.name) - place(b.name));
    for (const dimension of shown) dimension.brush = before.get(dimension.name) ?? null;
    chart.show(run.trials, shown);
    showForm(all);
    chart.surface.setLabel(`Parallel coordinates of ${number(run.trials.count)} trials over ${shown.map(({name}) => name).join(', ')}. Set ranges under Axes and ranges.`);
  }

  function showForm(all) {
    ranges = new Map();
    axes.replaceChildren(h('table', {class: 'plain'}, h('thead', null, h('tr', null, ['Axis', 'Log', 'From', 'To'].map((head) => h('th', {scope: 'col'}, head)))),
      h('tbody', null, all.map(formRow))));
    showRanges();
  }

  function formRow(dimension) {
    const {name} = dimension, isShown = !view.hidden.has(name);
    const box = (checked, label, change, disabled = false) => h('input', {type: 'checkbox', checked, disabled, 'aria-label': label, on: {change: (event) => change(event.target.checked)}});
    const input = (label) => h('input', {type: 'number', step: 'any', 'aria-label': label, disabled: !isShown, on: {change: () => setRange(name)}});
    const [low, high] = [input(`${name} from`), input(`${name} to`)];
    ranges.set(name, [low, high]);
    return h('tr', null, h('td', null, h('label', null, box(isShown, `Show ${name}`, (on) => { on ? view.hidden.delete(name) : view.hidden.add(name); draw(); }), ' ', brief(name, 32))),
      h('td', null, box(dimension.isLog, `Logarithmic ${name}`, (on) => { view.logs.set(name, on); draw(); }, !dimension.canLog)),
      dimension.isNumeric ? [h('td', null, low), h('td', null, high)] : h('td', {colspan: 2}, 'drag along the axis'));
  }

  function setRange(name) {
    const [low, high] = ranges.get(name).map((input) => (input.value === '' ? null : Number(input.value)));
    const i = chart.dimensions.findIndex((dimension) => dimension.name === name);
    if (i >= 0) chart.setBrush(i, low === null && high === null ? null : [low ?? -Infinity, high ?? Infinity]);
  }

  function showRanges() {
    for (const {name, brush} of chart.dimensions) {
      const inputs = ranges.get(name) ?? [];
      inputs.forEach((input, i) => {
        if (document.activeElement !== input) input.value = brush && Number.isFinite(brush[i]) ? String(Number(brush[i].toPrecision(4))) : '';
      });
    }
  }

  function data() {
    return {head: ['Trial', ...chart.dimensions.map(({name}) => name)],
      rows: run.trials.ranked().map((row) => [String(run.trials.number[row]), ...chart.dimensions.map(({raw}) => anything(raw[row]))])};
  }

  return {element, chart, update: (next) => {
    run = next;
    chart.surface.prepare(draw);
    return run.trials.count > 0 && run.trials.parameters.some((parameter) => parameter.varies);
  }};
}
