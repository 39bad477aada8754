import {ramp, theme, trialColour} from '../base/theme.js';

const SHADES = 24;
const FRAME_MS = 28;

/**
 * Draws thousands of lines a slice at a time, in a fixed random order: each frame shows a fair sample, and the
 * next slices complete it. The size of a slice follows how long frames take.
 */
export class LinePainter {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.context = canvas.getContext('2d');
    this.slice = 600;
    this.token = 0;
  }

  /** @param {number[]} rows @param {(row: number) => void} one draws a line */
  start(rows, one) {
    const token = ++this.token;
    let next = 0, before = performance.now();
    const step = () => {
      if (token !== this.token) return;
      const now = performance.now(), took = now - before;
      before = now;
      if (next) this.slice = Math.max(60, Math.min(4000, this.slice * (took > FRAME_MS ? 0.6 : 1.4)));
      const end = Math.min(rows.length, next + Math.round(this.slice));
      for (; next < end; ++next) one(rows[next]);
      if (next < rows.length) requestAnimationFrame(step);
    };
    step();
  }

  /** Draws everything now: for paper and pictures. */
  all(rows, one) {
    ++this.token;
    for (const row of rows) one(row);
  }
}

/** A fixed random order of 0..count-1. */
export function shuffled(count) {
  const order = Array.from({length: count}, (_, i) => i);
  let seed = 12345;
  for (let i = count - 1; i > 0; --i) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Colours by how good a trial is. */
export function shades() {
  return Array.from({length: SHADES}, (_, i) => ramp(i / (SHADES - 1)));
}

function shadeOf(colours, goodness) {
  return Number.isNaN(goodness) ? theme().idle : colours[Math.round(goodness * (SHADES - 1))];
}

/** One line over all axes. @param {Float32Array[]} ys by axis @param {number[]} xs */
export function strokeLine(context, xs, ys, row, colour, width, alpha) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.beginPath();
  context.moveTo(xs[0], ys[0][row]);
  for (let axis = 1; axis < xs.length; ++axis) context.lineTo(xs[axis], ys[axis][row]);
  context.stroke();
}

/** Selected trials: few in their own colours, many by how good they are. */
export function styleOf(chart, row) {
  const {selection, trials} = chart;
  if (selection.count > 0 && selection.count <= 12) return [trialColour(trials.number[row]), 2, 1];
  if (Number.isNaN(chart.goodness[row])) return [theme().idle, 1, 0.2];
  const shown = selection.count || trials.count;
  return [shadeOf(chart.colours, chart.goodness[row]), 1, shown > 3000 ? 0.35 : shown > 400 ? 0.55 : 0.8];
}
