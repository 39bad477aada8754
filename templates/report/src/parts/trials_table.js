import {brief, fill, h, icon, toggle} from '../base/dom.js';
import {anything, duration, number, when} from '../base/format.js';
import {stateStyle, trialColour} from '../base/theme.js';
import {panel} from '../charts/panel.js';
import {readFilter} from './filter.js';
import {Grid} from './grid.js';

/** The table of trials: only what differs between them, unless the reader asks for all. */
export function trialsTable({selection}) {
  let trials = null, words = '', areAll = false, areChosen = false;
  const grid = new Grid({label: 'Trials', selection, pick: (row, event) => selection.click(row, event, grid)});
  const count = h('span', {class: 'count', role: 'status'});
  const search = h('input', {type: 'search', placeholder: 'Filter: failed  lr<0.01  optimizer=adam', 'aria-label': 'Filter trials',
    class: 'search', on: {input: () => { words = search.value; show(); }}});
  const onlyChosen = toggle('Selected only', false, (on) => { areChosen = on; show(); });
  const choose = h('button', {type: 'button', class: 'quiet', title: 'Select all rows of the table', on: {click: () => selection.setRows(grid.rows, grid)}}, 'Select these');
  const element = panel({title: 'Trials', wide: true, body: grid.element,
    controls: [search, count, toggle('All columns', false, (on) => { areAll = on; show(); }), onlyChosen, choose]});
  let version = -1;
  selection.listeners.add(() => {
    if (areChosen && version !== selection.version) show();
    version = selection.version;
  });

  function show() {
    const columns = columnsOf(trials, areAll), filter = readFilter(words, columnsOf(trials, true));
    const rows = [...trials.number.keys()].filter((row) => filter.test(row) && (!areChosen || selection.mask[row]));
    grid.show(columns, rows);
    fill(count, filter.problem || `${number(rows.length)} of ${number(trials.count)}`);
  }

  return {element, update: (run) => {
    if (!trials && run.trials.count) grid.sort = {key: 'rank', isDown: false};
    trials = run.trials;
    show();
    return trials.count > 0;
  }};
}

/** @returns {import('./grid.js').Column[]} */
function columnsOf(trials, areAll) {
  const all = [numberColumn(trials), stateColumn(trials), plainColumn('rank', 'Rank', trials.rank),
    ...trials.objectives.map((objective, i) => plainColumn(`value ${i}`, objective.name, objective.values)),
    ...trials.parameters.map((parameter) => ({...plainColumn(`parameter ${parameter.name}`, parameter.name, parameter.values), varies: parameter.varies})),
    timeColumn(trials), plainColumn('started', 'Started', trials.started, when), plainColumn('attempts', 'Attempts', trials.attempts),
    plainColumn('repeat', 'Repeat', trials.repeat), plainColumn('parent', 'Parent', trials.parent), plainColumn('origin', 'Origin', trials.origin),
    plainColumn('place', 'Place', trials.place), plainColumn('reason', 'Reason', trials.reason)];
  return all.filter((column) => areAll || column.varies !== false);
}

/** @returns {any} */
function plainColumn(key, title, values, words = anything) {
  const first = values.find((value) => value != null && value !== '');
  const varies = values.some((value) => (value ?? '') !== (values[0] ?? ''));
  return {key, title, isNumeric: typeof first === 'number', varies: key === 'rank' || key.startsWith('value') || varies,
    value: (row) => values[row] === '' ? null : values[row], text: (row) => words(values[row]), full: (row) => fullText(values[row])};
}

const fullText = (value) => (value == null ? null : String(value));

function numberColumn(trials) {
  return {key: 'number', title: 'Trial', isNumeric: false, value: (row) => trials.number[row], text: (row) => String(trials.number[row]),
    cell: (row) => h('span', {class: 'trial'}, h('span', {class: 'dot', style: {background: trialColour(trials.number[row])}}), trials.number[row])};
}

function stateColumn(trials) {
  return {key: 'state', title: 'State', isNumeric: false, value: (row) => trials.state[row], text: (row) => trials.state[row],
    varies: true, cell: (row) => stateMark(trials.state[row])};
}

/** A state as icon and word. */
export function stateMark(state) {
  const {icon: name, colour} = stateStyle(state);
  return h('span', {class: `state ${colour}`}, icon(name), brief(state || 'unknown', 30));
}

function timeColumn(trials) {
  const value = (row) => (trials.started[row] != null && trials.ended[row] != null ? trials.ended[row] - trials.started[row] : null);
  return {key: 'time', title: 'Time', isNumeric: true, value, text: (row) => duration(value(row))};
}
