/** Numbers, times and sizes as a reader wants them. Null and non-finite values are a dash or their name. */

const NONE = '–';

const formats = new Map();

/** With commas; a format is costly to make. */
function grouped(value, decimals = 0) {
  if (!formats.has(decimals)) formats.set(decimals, new Intl.NumberFormat('en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals}));
  return formats.get(decimals).format(value);
}

const isMissing = (value) => value == null || value === '';

/** Four significant digits: 0.1234, 12,345, 1.2e-5. @param {any} value @returns {string} */
export function number(value, digits = 4) {
  if (isMissing(value)) return NONE;
  if (typeof value !== 'number') return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e12) return grouped(value);
  if (size >= 1e7 || size < 1e-3) return exponent(value, digits);
  if (size >= 10 ** digits) return grouped(Math.round(value));
  return trim(value.toPrecision(digits));
}

function exponent(value, digits) {
  const [mantissa, power] = value.toExponential(Math.max(0, digits - 1)).split('e');
  return `${trim(mantissa)}e${Number(power)}`;
}

function trim(text) {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** @param {any} value a number, a text or a boolean */
export function anything(value) {
  return typeof value === 'boolean' ? String(value) : number(value);
}

/** 0.42 s, 12 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. @param {number|null} seconds */
export function duration(seconds) {
  if (isMissing(seconds) || !Number.isFinite(seconds)) return NONE;
  const s = Math.max(0, seconds);
  if (s === 0) return '0 s';
  if (s < 1e-3) return `${number(s * 1e6, 3)} µs`;
  if (s < 1) return `${number(s * 1e3, 3)} ms`;
  if (s < 60) return `${number(s, s < 10 ? 2 : 3)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  if (whole < 86400) return pair(Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min');
  return pair(Math.floor(whole / 86400), 'd', Math.floor((whole % 86400) / 3600), 'h');
}

function pair(large, unit, small, smallUnit) {
  return small ? `${large} ${unit} ${small} ${smallUnit}` : `${large} ${unit}`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number|null} count */
export function bytes(count) {
  if (isMissing(count)) return NONE;
  let size = count, unit = 0;
  while (Math.abs(size) >= 1024 && unit < UNITS.length - 1) size /= 1024, ++unit;
  return `${number(size, 3)} ${UNITS[unit]}`;
}

/** @param {number|null} share 0 to 1 */
export function percent(share, digits = 1) {
  return isMissing(share) || !Number.isFinite(share) ? NONE : `${(share * 100).toFixed(digits)} %`;
}

const two = (value) => String(value).padStart(2, '0');

/** Local date and time. @param {number|null} seconds since 1970 */
export function when(seconds) {
  if (isMissing(seconds) || !Number.isFinite(seconds)) return NONE;
  const t = new Date(seconds * 1000);
  if (Number.isNaN(t.getTime())) return NONE;
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(seconds)}`;
}

/** Local time of day. @param {number} seconds since 1970 */
export function clock(seconds) {
  const t = new Date(seconds * 1000);
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

/** "1 trial", "12 trials". */
export function plural(count, word) {
  return `${number(count)} ${word}${count === 1 ? '' : 's'}`;
}

/** The parts of an interval, from a step of an axis: how many decimals tell its ticks apart. */
export function tickText(value, step) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return exponent(value, 3).replace('-', '−').replace('e−', 'e-');
  const decimals = Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9)));
  return grouped(value, decimals);
}
