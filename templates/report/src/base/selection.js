import {nextFrame} from './frames.js';

/** The trials that the reader chose: one selection for all charts and the table. Rows are places in the columns. */
export class Selection {
  constructor() {
    this.mask = new Uint8Array(0);
    this.count = 0;
    this.hovered = -1;
    this.version = 0;
    this.source = null;
    this.listeners = new Set();
    this.tell = () => { for (const listener of [...this.listeners]) listener(this); };
  }

  /** Takes over a newer table of trials: chosen numbers stay chosen. @param {number[]} numbers */
  adopt(numbers, before = []) {
    const chosen = new Set(before.filter((_, row) => this.mask[row]));
    const hovered = before[this.hovered];
    this.mask = Uint8Array.from(numbers, (number) => Number(chosen.has(number)));
    this.count = this.mask.reduce((sum, bit) => sum + bit, 0);
    this.hovered = hovered === undefined ? -1 : numbers.indexOf(hovered);
    this.changed();
  }

  /** @param {Uint8Array} mask @param {any} source who chose; may clear its brush when somebody else chooses */
  setMask(mask, source) {
    this.mask = mask;
    this.count = mask.reduce((sum, bit) => sum + bit, 0);
    this.source = source;
    this.changed();
  }

  setRows(rows, source) {
    const mask = new Uint8Array(this.mask.length);
    for (const row of rows) mask[row] = 1;
    this.setMask(mask, source);
  }

  /** One more or one less. */
  toggle(row, source) {
    if (row < 0) return;
    const mask = this.mask.slice();
    mask[row] = 1 - mask[row];
    this.setMask(mask, source);
  }

  /** A click: only this row, or with Ctrl or Shift one more or less. */
  click(row, event, source) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return this.toggle(row, source);
    const isAlone = this.count === 1 && this.mask[row];
    this.setRows(isAlone || row < 0 ? [] : [row], source);
  }

  clear(source = null) {
    this.setMask(new Uint8Array(this.mask.length), source);
  }

  hover(row) {
    if (row === this.hovered) return;
    this.hovered = row;
    nextFrame(this.tell);
  }

  rows(most = Infinity) {
    const rows = [];
    for (let row = 0; row < this.mask.length && rows.length < most; ++row) if (this.mask[row]) rows.push(row);
    return rows;
  }

  /** A row stands back while others are chosen. */
  isFaded(row) {
    return this.count > 0 && !this.mask[row];
  }

  changed() {
    ++this.version;
    nextFrame(this.tell);
  }
}
