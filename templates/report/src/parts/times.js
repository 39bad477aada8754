import {bytes, duration, number, when} from '../base/format.js';
import {extent, lastTime} from '../base/model.js';
import {seriesColour, stateColour, stateStyle, theme} from '../base/theme.js';
import {legend} from './bars.js';
import {h} from '../base/dom.js';
import {panel, resetButton} from '../charts/panel.js';
import {Timeline} from '../charts/timeline.js';
import {trialTip} from './scatter.js';

const MOST_LANES = 96;

/** Where and when each trial ran. */
export function trialTimelinePanel({selection}) {
  const chart = new Timeline({label: 'Timeline', selection, pick: (row, event) => selection.click(row, event, chart)});
  let run = null, version = -1, now = null;
  const key = h('div');
  const element = panel({title: 'Timeline of trials', wide: true, surface: chart.surface, body: h('div', null, key, chart.element), actions: [resetButton(chart)], data});
  selection.listeners.add(() => {
    if (version !== selection.version) version = selection.version, chart.surface.request();
    else chart.surface.requestOver();
  });

  function data() {
    const {trials} = run;
    return {head: ['Trial', 'State', 'Place', 'Started', 'Ended', 'Time'], rows: [...trials.number.keys()].filter((row) => trials.started[row] != null)
      .map((row) => [String(trials.number[row]), trials.state[row], trials.place[row], when(trials.started[row]), when(trials.ended[row]), duration((trials.ended[row] ?? NaN) - trials.started[row])])};
  }

  return {element, update: (next, view) => {
    run = next;
    now = lastTime(run, view.made) ?? extent(run.trials.ended, run.trials.started)?.[1];
    chart.surface.prepare(draw);
    return run.trials.started.some((time) => time != null);
  }};

  function draw() {
    const {trials} = run, rows = [...trials.number.keys()].filter((row) => trials.started[row] != null);
    const {lanes, laneOf} = lanesOf(trials, rows, now);
    const bars = rows.map((row) => ({lane: laneOf.get(row), from: trials.started[row], to: trials.ended[row] ?? now, row, colour: () => stateColour(trials.state[row]),
      title: `Trial ${trials.number[row]}`, text: String(trials.number[row]),
      lines: () => [['place', trials.place[row] || 'unknown'], ['started', when(trials.started[row])], ...trialTip(trials, row).lines.slice(0, 3)]}));
    chart.show(lanes, bars, [extent(trials.started)[0], extent(trials.ended, trials.started, [now])[1]]);
    key.replaceChildren(legend([...new Set(rows.map((row) => trials.state[row]))].map((name) => ({name, colour: `s-${stateStyle(name).colour}`}))));
    chart.surface.setLabel(`Timeline of ${number(rows.length)} trials on ${lanes.length} lanes. Arrow keys walk over trials, Enter selects.`);
    element.note(`Coloured by state. Drag to zoom.${lanes.length >= MOST_LANES ? ' Places are grouped by host.' : ''}`);
  }
}

/** One lane a place, more where trials overlap; by host when there are too many. */
function lanesOf(trials, rows, now) {
  const places = new Set(rows.map((row) => trials.place[row]));
  const name = places.size > MOST_LANES ? (row) => trials.place[row].split(':')[0] : (row) => trials.place[row];
  const order = [...new Set(rows.map(name))].sort((a, b) => a.localeCompare(b, 'en', {numeric: true}));
  const open = new Map(order.map((place) => [place, []])), of = new Map();
  for (const row of [...rows].sort((a, b) => trials.started[a] - trials.started[b])) {
    const free = open.get(name(row));
    let at = free.findIndex((until) => until <= trials.started[row] + 1e-3);
    if (at < 0) at = free.length < 16 ? free.push(0) - 1 : 15;
    free[at] = trials.ended[row] ?? now;
    of.set(row, [name(row), at]);
  }
  const first = new Map(), lanes = [];
  for (const place of order) {
    first.set(place, lanes.length);
    open.get(place).forEach((_, i) => lanes.push(i ? '' : place || 'unknown'));
  }
  return {lanes, laneOf: new Map([...of].map(([row, [place, at]]) => [row, first.get(place) + at]))};
}

/** Phases, attempts, stage-in and checkpoints of a run on one time axis. */
export function phasesPanel() {
  const chart = new Timeline({label: 'Phases'});
  let shown = [];
  const element = panel({title: 'Phases and staging', wide: true, surface: chart.surface, body: chart.element, actions: [resetButton(chart)],
    data: () => ({head: ['What', 'Name', 'From', 'To', 'Time'], rows: shown.map((bar) => [bar.what, bar.title, when(bar.from), when(bar.isMark ? null : bar.to), bar.isMark ? '–' : duration(bar.to - bar.from)])})});
  return {element, update: (run, view) => {
    const now = lastTime(run, view.made);
    const groups = [phaseBars(run, now), attemptBars(run, now), datasetBars(run, now), checkpointBars(run)].filter((bars) => bars.length);
    const lanes = [], bars = [];
    for (const group of groups) {
      for (const bar of group) {
        let lane = lanes.indexOf(bar.laneName);
        if (lane < 0) lane = lanes.push(bar.laneName) - 1;
        bars.push({...bar, lane});
      }
    }
    shown = bars;
    const span = extent(bars.map((bar) => bar.from), bars.map((bar) => bar.to));
    if (!span) return false;
    const room = (span[1] - span[0]) * 0.01 || 1;
    chart.show(lanes, bars, [span[0] - room, span[1] + room]);
    chart.surface.setLabel(`Phases of the run: ${run.phases.map((each) => `${each.phase} ${duration((each.to ?? now) - each.from)}`).join(', ')}`);
    return true;
  }};
}

const lasting = (from, to, now) => [['from', when(from)], ['to', to == null ? 'not ended' : when(to)], ['time', duration((to ?? now) - from)]];
const isTime = (value) => typeof value === 'number' && Number.isFinite(value);

function phaseBars(run, now) {
  return run.phases.filter((each) => isTime(each.from)).map((each) => ({what: 'phase', laneName: 'phases', from: each.from, to: each.to ?? now ?? each.from, title: String(each.phase),
    text: String(each.phase), colour: () => phaseColour(each.phase), lines: [...lasting(each.from, each.to, now), ...(each.attempt ? [['attempt', number(each.attempt)]] : [])]}));
}

function phaseColour(phase) {
  const index = ['staging', 'running', 'queued', 'created'].indexOf(phase);
  return index >= 2 ? theme().idle : index >= 0 ? seriesColour(index === 0 ? 5 : 0) : stateColour(phase);
}

function attemptBars(run, now) {
  return run.attempts.filter((each) => isTime(each.started)).map((each) => ({what: 'attempt', laneName: 'attempts', from: each.started, to: each.ended ?? now ?? each.started,
    title: `Attempt ${each.number}`, text: `attempt ${each.number}`, colour: () => (each.reason ? theme().bad : theme().live),
    lines: [...lasting(each.started, each.ended, now), ...(each.reason ? [['ended', each.reason]] : [])]}));
}

function datasetBars(run, now) {
  return run.datasets.filter((each) => isTime(each.from)).map((each) => ({what: 'dataset', laneName: `data: ${each.name}`, from: each.from, to: each.to ?? now ?? each.from, title: `Dataset ${each.name}`,
    text: `${each.tier ?? ''} ${bytes(each.bytes)}`, colour: () => seriesColour(2), lines: [['tier', each.tier ?? ''], ['size', bytes(each.bytes)],
      ['rate', each.bytes && each.seconds ? `${bytes(each.bytes / each.seconds)}/s` : '–'], ...lasting(each.from, each.to, now), ...(each.found ? [['', 'was already there']] : [])]}));
}

function checkpointBars(run) {
  return run.checkpoints.filter((each) => isTime(each.time)).map((each) => ({what: 'checkpoint', laneName: 'checkpoints', from: each.time, to: each.time, isMark: true,
    title: `Checkpoint at step ${number(each.step)}`, colour: () => seriesColour(3), lines: [['size', bytes(each.bytes)], ['took', duration(each.seconds)], ['at', when(each.time)]]}));
}
