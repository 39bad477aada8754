/** Colours: the theme's from the style sheet, trials' from their numbers. */

const NAMES = ['ground', 'card', 'line', 'text', 'muted', 'faint', 'accent', 'good', 'bad', 'warn', 'live', 'idle'];
let colours = {}, isDark = false, isPrinting = false;
const cache = new Map();

/** The current colours of the style sheet. @returns {Record<string, string>} */
export const theme = () => colours;
export const dark = () => isDark;
export const printing = () => isPrinting;

/** 'light', 'dark' or null: as the system says. */
export function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  readTheme();
}

function readTheme() {
  const chosen = document.documentElement.dataset.theme;
  isDark = !isPrinting && (chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.classList.toggle('dark', isDark);
  const style = getComputedStyle(document.documentElement);
  colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  cache.clear();
  dispatchEvent(new Event('slipway-theme'));
}

/** Follows the system and the printer; paper is always light. */
export function watchTheme() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', readTheme);
  addEventListener('beforeprint', () => {
    isPrinting = true;
    readTheme();
    dispatchEvent(new Event('slipway-print'));
  });
  addEventListener('afterprint', () => { isPrinting = false; readTheme(); });
  readTheme();
}

/** A well-spread hash of an integer. */
function mix(value) {
  let x = (value + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

/** The colour of a trial: always the same for a number. @param {number} trial */
export function trialColour(trial) {
  if (!cache.has(trial)) {
    const bits = mix(trial);
    cache.set(trial, hue((bits % 360), 0.13 + ((bits >> 10) % 3) * 0.025, ((bits >> 14) % 3 - 1) * 0.06));
  }
  return cache.get(trial);
}

/** Series that are not trials: metrics, runs, parts. Distinct in the order of `index`. */
const HUES = [255, 50, 155, 330, 95, 200, 20, 295, 125, 230];
export function seriesColour(index) {
  return hue(HUES[index % HUES.length], 0.15, index >= HUES.length ? -0.08 : 0);
}

function hue(angle, chroma, shift) {
  return oklch((isDark ? 0.76 : 0.56) + shift, chroma, angle);
}

/** OKLCH to rgb(), clipped. */
function oklch(lightness, chroma, degrees) {
  const a = chroma * Math.cos(degrees * Math.PI / 180), b = chroma * Math.sin(degrees * Math.PI / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  const byte = (x) => Math.round(255 * Math.max(0, Math.min(1, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)));
  return `rgb(${linear.map(byte).join(',')})`;
}

/** From bad (0) to good (1): stands out more the better it is, in both themes. @param {number} share */
export function ramp(share) {
  const x = Math.max(0, Math.min(1, share));
  return isDark ? oklch(0.42 + 0.46 * x, 0.05 + 0.11 * x, 285 - 185 * x) : oklch(0.86 - 0.46 * x, 0.06 + 0.1 * x, 190 + 80 * x);
}

/** [icon, colour name, word] of a phase or a state of a trial. */
const STATES = {
  succeeded: ['check', 'good'], complete: ['check', 'good'], running: ['play', 'live'], staging: ['down', 'live'],
  claimed: ['play', 'live'], queued: ['clock', 'idle'], waiting: ['clock', 'idle'], created: ['clock', 'idle'],
  paused: ['clock', 'idle'], pruned: ['stop', 'warn'], failed: ['cross', 'bad'], lost: ['question', 'bad'],
  cancelled: ['dash', 'idle'],
};
export function stateStyle(state) {
  const [icon, colour] = STATES[state] ?? ['question', 'idle'];
  return {icon, colour};
}
export const stateColour = (state) => colours[stateStyle(state).colour];
