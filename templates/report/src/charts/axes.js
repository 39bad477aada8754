import {scaleLinear, scaleLog, scaleTime} from 'd3-scale';
import {plain} from '../base/dom.js';
import {clock, duration, tickText} from '../base/format.js';
import {theme} from '../base/theme.js';
import {clipped} from './surface.js';

/**
 * @typedef {object} Axis
 * @property {string} label @property {'linear'|'log'|'time'|'elapsed'|'category'} kind @property {string[]} [categories] @property {boolean} [isWhole] has ticks at whole numbers only
 */

/** A d3 scale over `domain`, with room around it. @param {Axis} axis @param {[number, number]|null} domain */
export function scaleOf(axis, domain, range, isZoomed = false) {
  if (axis.kind === 'category') {
    return scaleLinear().domain(domain && isZoomed ? domain : [-0.5, Math.max(0, axis.categories.length - 1) + 0.5]).range(range);
  }
  let [low, high] = domain ?? [0, 1];
  const isLog = axis.kind === 'log' && low > 0;
  if (!isZoomed) [low, high] = roomy(low, high, isLog, axis.kind);
  if (axis.kind === 'time') return scaleTime().domain([low * 1000, high * 1000]).range(range);
  return (isLog ? scaleLog() : scaleLinear()).domain([low, high]).range(range);
}

function roomy(low, high, isLog, kind) {
  if (isLog) {
    const room = high > low ? (high / low) ** 0.03 : 1.5;
    return [low / room, high * room];
  }
  const room = high > low ? (high - low) * 0.03 : Math.abs(low) * 0.1 || 0.5;
  const isFlush = kind === 'elapsed' && low >= 0 && low < (high - low) * 0.2;
  return [isFlush ? 0 : low - room, high + room];
}

/** A function from a value to a pixel. */
export function projection(axis, scale) {
  return axis.kind === 'time' ? (value) => scale(value * 1000) : scale;
}

/** A function from a pixel to a value. */
export function inverse(axis, scale) {
  return axis.kind === 'time' ? (pixel) => scale.invert(pixel) / 1000 : (pixel) => scale.invert(pixel);
}

/** [value, text] of each tick. @param {Axis} axis */
export function ticksOf(axis, scale, most) {
  if (axis.kind === 'category') return axis.categories.map((category, i) => [i, plain(category)]);
  if (axis.kind === 'time') return timeTicks(scale, most);
  const isLog = typeof scale.base === 'function';
  if (isLog) return logTicks(scale, most);
  const values = axis.kind === 'elapsed' ? elapsedTicks(scale.domain(), most) : scale.ticks(most).filter((value) => !axis.isWhole || Number.isInteger(value));
  const step = values.length > 1 ? values[1] - values[0] : 1;
  return values.map((value) => [value, axis.kind === 'elapsed' ? duration(value) : tickText(value, step)]);
}

function timeTicks(scale, most) {
  const span = (scale.domain()[1] - scale.domain()[0]) / 1000;
  return scale.ticks(Math.max(2, Math.min(most, 6))).map((date) => [date / 1000, timeText(date, span)]);
}

function timeText(date, span) {
  const day = `${date.getMonth() + 1}-${String(date.getDate()).padStart(2, '0')}`;
  const time = clock(date / 1000);
  if (span < 8) return time + (date.getMilliseconds() / 1000).toFixed(3).slice(1).replace(/\.?0+$/, '');
  const isMidnight = span > 600 && time === '00:00:00';
  return span > 3 * 86400 || isMidnight ? day : span > 600 ? time.slice(0, 5) : time;
}

const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000];

function elapsedTicks([low, high], most) {
  const wanted = (high - low) / Math.max(1, most);
  if (wanted < 1) return scaleLinear().domain([low, high]).ticks(most);
  const step = SPANS.find((span) => span >= wanted) ?? Math.ceil(wanted / 864000) * 864000;
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) ticks.push(value);
  return ticks;
}

function logTicks(scale, most) {
  const [low, high] = scale.domain();
  const decades = Math.log10(high / low);
  if (decades < 1.2) {
    const values = scaleLinear().domain([low, high]).ticks(most).filter((value) => value > 0);
    return values.map((value) => [value, tickText(value, values[1] - values[0] || value)]);
  }
  const each = Math.max(1, Math.ceil(decades / most));
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high) + 1e-9; power += each) ticks.push([10 ** power, powerText(power)]);
  return ticks;
}

function powerText(power) {
  return power >= -3 && power <= 4 ? tickText(10 ** power, 10 ** Math.min(0, power)) : `1e${power}`;
}

/** Draws the name of an axis at (x, y), and how it runs; only the name is cut. */
function drawLabel(context, {axis, scale}, room, x, y) {
  const more = typeof scale.base === 'function' ? ' (log)' : '';
  context.fillStyle = theme().muted;
  context.fillText(clipped(context, plain(axis.label), room - context.measureText(more).width) + more, x, y);
}

/** Draws grid, ticks and labels. @param {{left: number, top: number, right: number, bottom: number}} box in pixels */
export function drawAxes(context, box, x, y) {
  context.lineWidth = 1;
  drawX(context, box, x);
  drawY(context, box, y);
  context.strokeStyle = theme().line;
  context.beginPath();
  context.moveTo(box.left, box.bottom + 0.5);
  context.lineTo(box.right, box.bottom + 0.5);
  context.stroke();
}

function drawX(context, box, shown) {
  const {axis, project, scale} = shown;
  const width = box.right - box.left;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  const room = axis.kind === 'category' ? width / Math.max(1, axis.categories.length) - 4 : 200;
  let free = -Infinity;
  for (const [value, words] of ticksOf(axis, scale, Math.max(2, Math.floor(width / 80)))) {
    const at = project(value), text = clipped(context, words, Math.max(room, 24)), half = context.measureText(text).width / 2;
    if (at < box.left - 1 || at > box.right + 1) continue;
    grid(context, at, box.top, at, box.bottom);
    const middle = Math.max(half + 2, Math.min(at, box.right + 12 - half));
    if (middle - half < free + 6) continue;
    free = middle + half;
    context.fillStyle = theme().muted;
    context.fillText(text, middle, box.bottom + 6);
  }
  context.textAlign = 'right';
  drawLabel(context, shown, width, box.right, box.bottom + 21);
}

function drawY(context, box, shown) {
  const {axis, project, scale} = shown;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  let free = Infinity;
  for (const [value, words] of ticksOf(axis, scale, Math.max(2, Math.floor((box.bottom - box.top) / 42)))) {
    const at = project(value);
    if (at < box.top - 1 || at > box.bottom + 1) continue;
    grid(context, box.left, at, box.right, at);
    if (at > free - 13) continue;
    free = at;
    context.fillStyle = theme().muted;
    context.fillText(clipped(context, words, box.left - 10), box.left - 7, at);
  }
  context.textAlign = 'left';
  context.textBaseline = 'top';
  drawLabel(context, shown, box.right, 2, 2);
}

function grid(context, x0, y0, x1, y1) {
  context.strokeStyle = theme().faint;
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}
