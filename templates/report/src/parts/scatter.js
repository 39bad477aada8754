import {choice, fill, h} from '../base/dom.js';
import {anything, duration, number} from '../base/format.js';
import {ramp, theme, trialColour} from '../base/theme.js';
import {XyChart} from '../charts/xy.js';

/** A chart of one point a trial; it follows and sets the selection. */
export class TrialChart extends XyChart {
  /** @param {{selection: import('../base/selection.js').Selection, label: string, height: number, zoomed?: any, background?: any}} options */
  constructor(options) {
    const {selection} = options;
    super({...options, nothing: 'No values yet', tip: (series, i) => trialTip(this.trials, series.rows ? series.rows[i] : series.row),
      pick: (row, event) => selection.click(row, event, this), brush: (isInside) => selection.setRows(this.rowsWhere(isInside), this)});
    this.version = -1;
    selection.listeners.add(() => this.follow(selection));
  }

  rowsWhere(isInside) {
    const points = this.series.find((series) => series.rows && !series.isSilent), rows = [];
    for (let i = 0; i < (points?.px?.length ?? 0); ++i) if (isInside(points, i)) rows.push(points.rows[i]);
    return rows;
  }

  follow(selection) {
    if (this.version === selection.version) return this.surface.requestOver();
    this.version = selection.version;
    return this.surface.request();
  }
}

/** What the pointer says about a trial. */
export function trialTip(trials, row) {
  const lines = trials.objectives.map((objective) => [objective.name, number(objective.values[row], 6)]);
  lines.push(['state', trials.state[row]]);
  if (trials.started[row] != null && trials.ended[row] != null) lines.push(['time', duration(trials.ended[row] - trials.started[row])]);
  const varying = trials.parameters.filter((parameter) => parameter.varies && parameter.values[row] != null);
  for (const {name, values} of varying.slice(0, 10)) lines.push([name, anything(values[row])]);
  return {title: `Trial ${trials.number[row]}`, lines, colour: trialColour(trials.number[row])};
}

/** Points of trials: chosen ones in their colours, the others by how good they are. */
export function pointSeries(name, trials, selection, rows, xs, ys) {
  const goodness = trials.goodness();
  const colour = (i) => {
    const row = rows[i];
    if (selection.mask[row] && selection.count <= 200) return trialColour(trials.number[row]);
    return Number.isNaN(goodness[row]) ? theme().idle : shade(goodness[row]);
  };
  return {name, kind: 'points', xs, ys, rows, colour, isFaded: (i) => selection.isFaded(rows[i]), size: rows.length > 3000 ? 3 : rows.length > 500 ? 4 : 7};
}

let shades = [], shadesOf = null;
function shade(goodness) {
  if (shadesOf !== theme()) shades = Array.from({length: 33}, (_, i) => ramp(i / 32)), shadesOf = theme();
  return shades[Math.round(goodness * 32)];
}

/** Chooses an objective; hidden when there are fewer than `least`. */
export class ObjectiveChoice {
  /** @param {string} label @param {number} index @param {() => void} changed */
  constructor(label, index, changed, least = 2) {
    Object.assign(this, {index, least});
    this.element = choice(label, [], '', (value) => {
      this.index = Number(value);
      changed();
    });
  }

  show(trials) {
    fill(this.element, trials.objectives.map(({name}, i) => h('option', {value: i}, name)));
    this.element.value = String(this.index);
    this.element.hidden = trials.objectives.length < this.least;
  }

  /** @returns {{name: string, values: (number|null)[]}} */
  of(trials) {
    return trials.objectives[this.index] ?? {name: 'value', values: []};
  }
}

/** Quartile fences, when they cut off at most a tenth and save more than half of the height. @returns {[number, number]|null} */
export function fences(values) {
  const sorted = values.filter((value) => value != null).sort((a, b) => a - b), count = sorted.length;
  if (count < 20) return null;
  const q1 = sorted[Math.floor(count / 4)], q3 = sorted[Math.floor(count * 3 / 4)], room = 3 * (q3 - q1);
  const low = Math.max(sorted[0], q1 - room), high = Math.min(sorted[count - 1], q3 + room);
  const cut = sorted.filter((value) => value < low || value > high).length;
  return cut > 0 && cut <= count / 10 && high - low < (sorted[count - 1] - sorted[0]) / 2 ? [low, high] : null;
}

export const outside = (values, range) => (range ? values.filter((value) => value != null && (value < range[0] || value > range[1])).length : 0);
