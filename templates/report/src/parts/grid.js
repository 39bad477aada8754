import {announce, brief, fill, h} from '../base/dom.js';
import {nextFrame} from '../base/frames.js';
import {whileOpen} from '../base/lifetime.js';

const ROW = 28, ROOM = 8, PRINTED = 40;

/**
 * A table of any length: only visible rows are elements.
 * @typedef {{key: string, title: string, isNumeric: boolean, value: (row: number) => any, text: (row: number) => string, full?: (row: number) => string,
 *            cell?: (row: number) => Node}} Column
 */
export class Grid {
  /** @param {{label: string, height?: number, selection?: any, pick: (row: number, event: Event) => void, sorted?: () => void}} options */
  constructor(options) {
    this.options = options;
    this.columns = [];
    this.rows = [];
    this.sort = {key: null, isDown: false};
    this.current = 0;
    this.head = h('thead');
    this.body = h('tbody');
    this.table = h('table', {class: 'grid', 'aria-label': options.label, 'aria-multiselectable': 'true', role: 'grid'}, this.head, this.body);
    this.rest = h('p', {class: 'note on-paper'});
    this.element = h('div', {class: 'grid-scroll', on: {scroll: () => nextFrame(this.paintNow)}}, this.table, this.rest);
    this.element.style.maxHeight = `${options.height ?? 420}px`;
    this.paintNow = () => this.paint();
    this.body.addEventListener('keydown', (event) => this.key(event));
    this.body.addEventListener('pointerover', (event) => options.selection?.hover(this.rowOf(event)));
    this.body.addEventListener('pointerleave', () => options.selection?.hover(-1));
    this.body.addEventListener('click', (event) => this.rowOf(event) >= 0 && options.pick(this.rowOf(event), event));
    options.selection?.listeners.add(() => this.restyle());
    whileOpen('beforeprint', () => this.print());
    whileOpen('afterprint', this.paintNow);
    new ResizeObserver(this.paintNow).observe(this.element);
  }

  rowOf(event) {
    return Number(event.target.closest?.('tr')?.dataset.row ?? -1);
  }

  /** @param {Column[]} columns @param {number[]} rows in their usual order */
  show(columns, rows) {
    this.columns = columns;
    this.given = rows;
    this.arrange();
    this.drawHead();
  }

  arrange() {
    const column = this.columns.find((each) => each.key === this.sort.key);
    this.rows = column ? sorted(this.given, column, this.sort.isDown) : this.given;
    this.table.setAttribute('aria-rowcount', String(this.rows.length + 1));
    this.paint();
  }

  drawHead() {
    fill(this.head, h('tr', {'aria-rowindex': '1'}, this.columns.map((column) => this.headCell(column))));
  }

  headCell(column) {
    const isSorted = column.key === this.sort.key, direction = this.sort.isDown ? 'descending' : 'ascending';
    return h('th', {scope: 'col', class: column.isNumeric ? 'num' : null, 'aria-sort': isSorted ? direction : null},
      h('button', {type: 'button', title: column.title, on: {click: () => this.sortBy(column)}}, brief(column.title, 28),
        h('span', {class: 'arrow', 'aria-hidden': 'true'}, isSorted ? (this.sort.isDown ? '▾' : '▴') : '')));
  }

  sortBy(column) {
    const isSame = this.sort.key === column.key;
    this.sort = isSame && this.sort.isDown ? {key: null, isDown: false} : {key: column.key, isDown: isSame};
    this.arrange();
    this.drawHead();
    [...this.head.querySelectorAll('button')][this.columns.indexOf(column)]?.focus();
    announce(this.sort.key ? `Sorted by ${column.title}, ${this.sort.isDown ? 'descending' : 'ascending'}` : 'Usual order');
  }

  /** @param {number} [most] draws that many rows from the first: for paper */
  paint(most) {
    const top = Number.isInteger(most) ? 0 : Math.max(0, Math.floor(this.element.scrollTop / ROW) - ROOM);
    const visible = Number.isInteger(most) ? most : Math.ceil((this.element.clientHeight || 420) / ROW) + 2 * ROOM;
    const bottom = Math.min(this.rows.length, top + visible);
    const shown = [top, bottom, this.rows, this.columns, this.current];
    if (this.shown?.every((each, i) => each === shown[i])) return this.restyle();
    this.shown = shown;
    const focused = this.body.contains(document.activeElement);
    const lines = [];
    for (let at = top; at < bottom; ++at) lines.push(this.line(at));
    fill(this.body, spacer(top, this.columns.length), lines, spacer(this.rows.length - bottom, this.columns.length));
    if (focused) this.body.querySelector('[tabindex="0"]')?.focus({preventScroll: true});
  }

  /** Paper takes the first rows, and says so. */
  print() {
    fill(this.rest, this.rows.length > PRINTED ? `The first ${PRINTED} of ${this.rows.length} rows.` : null);
    this.paint(PRINTED);
  }

  line(at) {
    const row = this.rows[at];
    return h('tr', {'data-row': row, 'aria-rowindex': at + 2, 'aria-selected': String(Boolean(this.options.selection?.mask[row])), class: this.classesOf(row),
      tabindex: at === Math.min(this.current, this.rows.length - 1) ? '0' : '-1'},
    this.columns.map((column) => h('td', {class: column.isNumeric ? 'num' : null, title: column.full?.(row)},
      column.cell ? column.cell(row) : brief(column.text(row), 60))));
  }

  /** Marks what is chosen, without new elements. */
  restyle() {
    for (const line of this.body.children) {
      const row = Number(line.dataset.row ?? -1);
      if (row < 0) continue;
      const classes = this.classesOf(row);
      if (line.className !== classes) line.className = classes;
      line.setAttribute('aria-selected', String(Boolean(this.options.selection?.mask[row])));
    }
    return undefined;
  }

  classesOf(row) {
    const {selection} = this.options;
    return [selection?.mask[row] && 'chosen', selection?.hovered === row && 'under', selection?.isFaded(row) && 'faded'].filter(Boolean).join(' ');
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const by = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key];
    if (by !== undefined) {
      event.preventDefault();
      this.go(this.at(event) + by);
    } else if (event.key === ' ' || event.key === 'Enter') {
      event.preventDefault();
      if (this.rowOf(event) >= 0) this.options.pick(this.rowOf(event), event.key === ' ' ? {ctrlKey: true} : event);
    }
  }

  at(event) {
    return Number(event.target.closest('tr')?.getAttribute('aria-rowindex') ?? 2) - 2;
  }

  /** Moves the focus to a row and shows it. */
  go(at) {
    this.current = Math.max(0, Math.min(this.rows.length - 1, at));
    const top = this.current * ROW, view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + 2 * ROW > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * ROW - view.clientHeight;
    this.paint();
    this.body.querySelector('[tabindex="0"]')?.focus({preventScroll: true});
  }
}

function spacer(rows, columns) {
  if (rows <= 0) return null;
  const cell = h('td', {colspan: Math.max(1, columns)});
  cell.style.height = `${rows * ROW}px`;
  return h('tr', {class: 'spacer', 'aria-hidden': 'true'}, cell);
}

/** Rows without a value come last in both directions. */
export function sorted(rows, column, isDown) {
  const values = new Map(rows.map((row) => [row, column.value(row)]));
  const rank = (value) => (value == null || Number.isNaN(value) ? 1 : 0);
  const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true}));
  return [...rows].sort((a, b) => {
    const x = values.get(a), y = values.get(b);
    return rank(x) - rank(y) || (rank(x) ? 0 : compare(x, y) * (isDown ? -1 : 1)) || a - b;
  });
}
