import {theme} from '../base/theme.js';

/** Pixels of each point; NaN for what has no place. */
export function layout(series, {x, y}) {
  const count = series.xs.length;
  series.px = new Float32Array(count);
  series.py = new Float32Array(count);
  const isLogY = typeof y.scale.base === 'function', isLogX = typeof x.scale.base === 'function';
  for (let i = 0; i < count; ++i) {
    const vx = series.xs[i], vy = series.ys[i];
    const isThere = vx != null && vy != null && Number.isFinite(vx) && Number.isFinite(vy) && !(isLogY && vy <= 0) && !(isLogX && vx <= 0);
    series.px[i] = isThere ? x.project(vx) : NaN;
    series.py[i] = isThere ? y.project(vy) : NaN;
  }
}

/** @param {CanvasRenderingContext2D} context @param {import('./xy.js').Series} series */
export function drawSeries(context, series) {
  context.globalAlpha = series.alpha ?? 1;
  context.setLineDash(series.dash ?? []);
  if (series.kind === 'points') drawPoints(context, series);
  else drawLine(context, series, series.width ?? 1.5);
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function colourOf(series, i) {
  return typeof series.colour === 'function' ? series.colour(i) : series.colour;
}

function drawLine(context, series, width) {
  const {px, py} = series;
  context.strokeStyle = colourOf(series, 0);
  context.lineWidth = width;
  context.lineJoin = 'round';
  context.beginPath();
  let isOpen = false, isAlone = false, last = 0;
  for (let i = 0; i < px.length; ++i) {
    if (Number.isNaN(px[i])) {
      if (isAlone) dot(context, series, last);
      isOpen = isAlone = false;
      continue;
    }
    if (!isOpen) context.moveTo(px[i], py[i]);
    else if (series.kind === 'step') context.lineTo(px[i], py[last]), context.lineTo(px[i], py[i]);
    else context.lineTo(px[i], py[i]);
    isAlone = !isOpen;
    isOpen = true;
    last = i;
  }
  context.stroke();
  if (isAlone) dot(context, series, last);
}

/** One value between two gaps. */
function dot(context, series, i) {
  context.fillStyle = colourOf(series, i);
  context.fillRect(series.px[i] - 1.5, series.py[i] - 1.5, 3, 3);
}

/** Points that stand back first, as small squares: fast for ten thousand. */
function drawPoints(context, series) {
  const {px, py} = series, size = series.size ?? 5, isMany = px.length > 1500;
  if (series.isFaded) {
    context.fillStyle = theme().idle;
    context.globalAlpha = 0.25;
    for (let i = 0; i < px.length; ++i) if (series.isFaded(i)) context.fillRect(px[i] - 1.5, py[i] - 1.5, 3, 3);
  }
  context.globalAlpha = series.alpha ?? (isMany ? 0.7 : 0.9);
  let colour = null;
  for (let i = 0; i < px.length; ++i) {
    if (Number.isNaN(px[i]) || series.isFaded?.(i)) continue;
    const own = colourOf(series, i);
    if (own !== colour) context.fillStyle = colour = own;
    if (isMany) context.fillRect(px[i] - size / 2, py[i] - size / 2, size, size);
    else disc(context, px[i], py[i], size / 2);
  }
}

function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** What is under the pointer, here or in another chart. */
export function emphasise(context, chart, row) {
  if (row >= 0) {
    for (const series of chart.series) {
      if (!series.px) continue;
      if (series.row === row && series.kind !== 'points' && !series.isSilent) drawLine(context, series, 3);
      if (series.rows) emphasisePoints(context, series, row);
    }
  }
  if (chart.found) ring(context, chart.found.series, chart.found.i);
}

function emphasisePoints(context, series, row) {
  for (let i = 0; i < series.px.length; ++i) if (series.rows[i] === row) ring(context, series, i);
}

function ring(context, series, i) {
  if (!series.px || Number.isNaN(series.px[i])) return;
  context.fillStyle = colourOf(series, i);
  disc(context, series.px[i], series.py[i], 4.5);
  context.strokeStyle = theme().text;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(series.px[i], series.py[i], 6, 0, 2 * Math.PI);
  context.stroke();
}
