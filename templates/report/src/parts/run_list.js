import {fill, h} from '../base/dom.js';
import {duration, number, percent, when} from '../base/format.js';
import {hasEnded} from './headline.js';
import {Grid} from './grid.js';
import {readFilter} from './filter.js';
import {stateMark} from './trials_table.js';
import {panel} from '../charts/panel.js';
import {Selection} from '../base/selection.js';

/** All runs of a folder: search, filter, sort, open, compare. */
export class RunList {
  /** @param {{open: (run: string, kind: string) => void, compare: (runs: string[]) => void}} actions */
  constructor({open, compare}) {
    this.rows = [];
    this.state = '';
    this.words = '';
    this.selection = new Selection();
    this.grid = new Grid({label: 'Runs', height: 720, selection: this.selection, pick: (row, event) => {
      const isChoice = event.ctrlKey || event.metaKey || event.shiftKey || event.target?.closest?.('.choose');
      isChoice ? this.selection.toggle(row, this) : open(this.rows[row].run, this.rows[row].kind);
    }});
    this.search = h('input', {type: 'search', class: 'search', placeholder: 'Filter: name, tag, state=failed', 'aria-label': 'Filter runs', on: {input: () => { this.words = this.search.value; this.show(); }}});
    this.states = h('div', {class: 'chips', role: 'group', 'aria-label': 'States'});
    this.count = h('span', {class: 'count', role: 'status'});
    this.button = h('button', {type: 'button', class: 'primary', disabled: true, on: {click: () => compare(this.selection.rows(8).map((row) => this.rows[row].run))}}, 'Compare');
    this.selection.listeners.add(() => {
      this.button.disabled = this.selection.count < 2;
      this.button.textContent = this.selection.count > 1 ? `Compare ${Math.min(8, this.selection.count)} runs` : 'Compare';
    });
    this.element = h('div', {class: 'sections'}, h('section', {class: 'section single-panel'}, h('h2', null, 'Runs'), h('div', {class: 'panels'},
      panel({title: 'All runs', wide: true, body: h('div', null, this.states, this.grid.element), controls: [this.search, this.count, this.button], note: 'Click to open. Tick two or more to compare.'}))));
  }

  /** @param {any[]} rows of api/runs */
  update(rows) {
    const before = this.rows.map((row) => row.run);
    this.rows = rows.filter((row) => row && row.run != null);
    const names = this.rows.map((row) => row.run);
    this.selection.adopt(names, before);
    if (this.grid.sort.key === null && !before.length) this.grid.sort = {key: 'created', isDown: true};
    this.showStates();
    this.show();
  }

  showStates() {
    const counts = new Map();
    for (const {phase} of this.rows) counts.set(phase, (counts.get(phase) ?? 0) + 1);
    const chip = (state, words) => h('button', {type: 'button', class: 'toggle', 'aria-pressed': String(this.state === state), on: {click: () => { this.state = state; this.showStates(); this.show(); }}}, words);
    fill(this.states, chip('', `all ${number(this.rows.length)}`), [...counts].map(([state, count]) => chip(state, `${state} ${number(count)}`)));
  }

  show() {
    const columns = this.columns(), filter = readFilter(this.words, columns);
    const rows = [...this.rows.keys()].filter((row) => (!this.state || this.rows[row].phase === this.state) && filter.test(row));
    this.grid.show(columns, rows);
    fill(this.count, filter.problem || `${number(rows.length)} of ${number(this.rows.length)}`);
  }

  /** @returns {import('./grid.js').Column[]} */
  columns() {
    const at = (row) => this.rows[row];
    const column = (key, title, value, words = (v) => (v == null ? '' : String(v)), more = {}) => ({key, title, isNumeric: false, value: (row) => value(at(row)), text: (row) => words(value(at(row))), ...more});
    return [
      column('choose', 'Compare', () => null, () => '', {cell: (row) => h('span', {class: 'choose', title: 'Select for a comparison'}, '')}),
      column('run', 'Run', (each) => each.run, undefined, {cell: (row) => h('span', {class: 'link'}, at(row).run)}),
      column('name', 'Name', (each) => each.name), column('state', 'State', (each) => each.phase, undefined, {cell: (row) => stateMark(at(row).phase)}),
      column('kind', 'Kind', (each) => each.kind), column('best', 'Best', (each) => each.best?.value, (value) => number(value, 5), {isNumeric: true}),
      column('metric', 'Metric', (each) => each.best?.metric), ...(this.rows.some(lastValues) ? [column('last', 'Last values', lastValues)] : []),
      column('progress', 'Progress', progressOf, undefined, {isNumeric: true, text: (row) => progressText(at(row))}),
      column('left', 'Time left', (each) => (hasEnded(each.phase) ? null : each.progress?.left_s), duration, {isNumeric: true}),
      column('time', 'Time', (each) => (each.ended != null && each.started != null ? each.ended - each.started : null), duration, {isNumeric: true}),
      column('nodes', 'Nodes', (each) => each.nodes, number, {isNumeric: true}), column('tag', 'Tags', (each) => (each.tags?.length ? each.tags.join(' ') : null)),
      column('created', 'Created', (each) => each.created, when),
    ];
  }
}

/** A share, or what a run without a known end has done. */
const shareOf = ({progress}) => (progress?.total ? Math.min(1, progress.done / progress.total) : null);
const progressOf = (each) => shareOf(each) ?? each.progress?.done ?? null;

function progressText(each) {
  const share = shareOf(each);
  if (share !== null) return percent(share, 0);
  return each.progress?.done == null ? '' : `${number(each.progress.done)} ${each.progress.unit ?? ''}`;
}

/** Of a single run: "loss 0.42, accuracy 0.88". */
function lastValues({metrics}) {
  const values = Object.entries(metrics ?? {}).slice(0, 8).map(([name, value]) => `${name} ${number(value ?? NaN)}`);
  return values.length ? values.join(', ') : null;
}
