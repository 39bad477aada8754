import {announce} from '../base/dom.js';
import {nextFrame} from '../base/frames.js';
import {rowOf} from './xy.js';

const isInside = (box, x, y) => x >= box.left - 6 && x <= box.right + 6 && y >= box.top - 6 && y <= box.bottom + 6;

/** Hover, click, drag, double click. @param {import('./xy.js').XyChart} chart */
export function followPointer(chart) {
  const {surface, element} = chart;
  let start = null, last = null;
  const hover = () => last && !chart.dragged && chart.point(chart.nearest(...last.place), last.window);
  element.addEventListener('pointerdown', (event) => {
    const place = surface.place(event);
    if (event.button !== 0 || !isInside(chart.box, ...place)) return;
    start = {place, isZoom: event.altKey};
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', (event) => {
    const place = surface.place(event);
    last = {place, window: [event.clientX, event.clientY]};
    if (!start) return nextFrame(hover);
    if (!chart.dragged && Math.hypot(place[0] - start.place[0], place[1] - start.place[1]) < 5) return;
    drag(chart, start, place);
  });
  element.addEventListener('pointerup', (event) => {
    if (!start) return;
    const area = chart.dragged;
    if (area) chart.endDrag(area);
    else click(chart, surface.place(event), event);
    start = chart.dragged = null;
    surface.requestOver();
  });
  element.addEventListener('pointercancel', () => { start = chart.dragged = null; });
  element.addEventListener('pointerleave', () => { last = null; chart.point(null); });
  element.addEventListener('dblclick', () => chart.setZoom(null));
}

function drag(chart, start, place) {
  const box = chart.box;
  const within = (value, low, high) => Math.max(low, Math.min(high, value));
  chart.dragged = [...start.place, within(place[0], box.left, box.right), within(place[1], box.top, box.bottom)];
  chart.dragged.isZoom = start.isZoom;
  chart.point(null);
  if (chart.brushes) nextFrame(chart.brushNow ??= () => chart.dragged && chart.endDrag(chart.dragged));
  chart.surface.requestOver();
}

function click(chart, place, event) {
  const found = chart.nearest(...place);
  chart.options.pick?.(found ? rowOf(found) : -1, event);
}

/** Arrows walk over the points, Enter picks, Escape leaves, plus and minus zoom. @param {import('./xy.js').XyChart} chart */
export function followKeys(chart) {
  const actions = {
    ArrowRight: () => walk(chart, 1), ArrowLeft: () => walk(chart, -1),
    ArrowDown: () => change(chart, 1), ArrowUp: () => change(chart, -1),
    Enter: (event) => chart.found && chart.options.pick?.(rowOf(chart.found), event),
    ' ': (event) => chart.found && chart.options.pick?.(rowOf(chart.found), event),
    Escape: () => (chart.found ? chart.point(null) : chart.setZoom(null)),
    '+': () => zoom(chart, 0.6), '=': () => zoom(chart, 0.6), '-': () => zoom(chart, 1 / 0.6), 0: () => chart.setZoom(null),
  };
  chart.element.addEventListener('keydown', (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    action(event);
  });
  chart.element.addEventListener('blur', () => chart.found && chart.point(null));
}

function walk(chart, by) {
  const series = chart.found?.series ?? chart.series.find((each) => !each.isSilent && each.px?.length);
  if (!series) return;
  const order = [...series.px.keys()].filter((i) => !Number.isNaN(series.px[i])).sort((a, b) => series.px[a] - series.px[b] || a - b);
  const at = chart.found ? order.indexOf(chart.found.i) + by : by > 0 ? 0 : order.length - 1;
  say(chart, {series, i: order[Math.max(0, Math.min(order.length - 1, at))]});
}

function change(chart, by) {
  const open = chart.series.filter((each) => !each.isSilent && each.px?.length);
  if (!open.length) return;
  const series = open[(open.indexOf(chart.found?.series) + by + open.length) % open.length];
  say(chart, {series, i: Math.min(chart.found?.i ?? 0, series.px.length - 1)});
}

function say(chart, found) {
  const tip = chart.point(found);
  if (tip) announce([tip.title, ...tip.lines.map((line) => line.join(' '))].join(', '));
}

function zoom(chart, factor) {
  const {x} = chart.scale, box = chart.box, middle = chart.found ? chart.found.series.px[chart.found.i] : (box.left + box.right) / 2;
  const span = [x.invert(middle - (middle - box.left) * factor), x.invert(middle + (box.right - middle) * factor)];
  chart.setZoom({x: span, y: chart.zoom?.y});
}
