import {toggle} from '../base/dom.js';
import {number} from '../base/format.js';
import {extent} from '../base/model.js';
import {fences, outside} from './scatter.js';

/** From this ratio on, the smaller values of a linear axis lie on its bottom. */
const MOST_LINEAR = 100;

const isPositive = (value) => value > 0;

/** Whether the values are all positive and span more than two decades, without the few that a chart cuts off. */
export function needsLog(values) {
  const all = extent(values);
  if (!all || all[0] <= 0) return false;
  const [low, high] = fences(values) ?? all;
  return high > MOST_LINEAR * low;
}

/** Linear or logarithmic values: as they need it, until the reader presses the button. */
export class ValueScale {
  /** @param {() => void} changed */
  constructor(changed) {
    this.wanted = null;
    this.element = toggle('log', false, (isOn) => {
      this.wanted = isOn;
      changed();
    }, 'Logarithmic values');
  }

  /** Other values: what the reader wanted does not hold for them. */
  forget() {
    this.wanted = null;
  }

  /**
   * The axis for `values`, the range that it shows, and words about values that it does not show.
   * @param {(number|null)[]} values @returns {{kind: 'linear'|'log', range: [number, number]|null, missing: string}}
   */
  of(values) {
    this.element.disabled = !values.some(isPositive);
    const isLog = !this.element.disabled && (this.wanted ?? needsLog(values));
    this.element.setAttribute('aria-pressed', String(isLog));
    const shown = isLog ? values.filter(isPositive) : values, range = isLog ? logFences(shown) : fences(values);
    const cut = outside(shown, range), hidden = isLog ? values.filter((value) => value != null && value <= 0).length : 0;
    return {kind: isLog ? 'log' : 'linear', range,
      missing: (cut ? ` ${number(cut)} values lie outside the chart.` : '') + (hidden ? ` ${number(hidden)} values are not positive: a logarithmic axis has no place for them.` : '')};
  }
}

function logFences(values) {
  const powers = fences(values.map(Math.log10));
  return powers && [10 ** powers[0], 10 ** powers[1]];
}
