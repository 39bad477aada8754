import {brief, h} from '../base/dom.js';
import {bytes, duration, number, percent} from '../base/format.js';
import {panel, plainTable} from '../charts/panel.js';

/** A bar of parts. @param {{name: string, value: number, colour: string}[]} parts @param {number} total */
function stackedBar(parts, total, words = (value) => number(value)) {
  const shown = parts.filter((part) => part.value > 0);
  return h('div', {class: 'stack', role: 'img', 'aria-label': shown.map(({name, value}) => `${name} ${percent(value / total)}`).join(', ')},
    shown.map(({name, value, colour}) => h('span', {class: colour, title: `${name}: ${words(value)} (${percent(value / total)})`, style: {width: `${100 * value / total}%`}})));
}

export function legend(entries) {
  return h('ul', {class: 'legend'}, entries.map(({name, colour}) => h('li', null, h('span', {class: `box ${colour}`}), name)));
}

/** Importance of parameters, with the uncertainty of the estimate. */
export function importancePanel() {
  const body = h('div', {class: 'bars', tabindex: '0', role: 'group', 'aria-label': 'Parameters'});
  let run = null;
  const element = panel({title: 'Importance', body, note: 'Share of the variation of the objective that a parameter explains. The line is the uncertainty.',
    data: () => ({head: ['Parameter', 'Share', 'Low', 'High'], rows: run.importance.map((each) => [each.parameter, percent(each.share), percent(each.low), percent(each.high)])})});
  return {element, update: (next) => {
    run = next;
    const largest = Math.max(0.01, ...run.importance.map((each) => each.high ?? each.share ?? 0));
    const order = [...run.importance].sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
    body.replaceChildren(...order.map((each) => importanceBar(each, largest)));
    return run.importance.length > 0;
  }};
}

function importanceBar({parameter, share, low, high}, largest) {
  const at = (value) => `${100 * Math.max(0, value ?? 0) / largest}%`;
  const hasRange = low != null && high != null;
  return h('div', {class: 'bar-row'}, h('span', {class: 'bar-name', title: parameter}, parameter),
    h('span', {class: 'bar-track'}, h('span', {class: 'bar-fill', style: {width: at(share)}}),
      hasRange && h('span', {class: 'whisker', style: {left: at(low), width: `calc(${at(high)} - ${at(low)})`}})),
    h('span', {class: 'bar-value', title: hasRange ? `${percent(low)} to ${percent(high)}` : null}, percent(share)));
}

const STEP_PARTS = [['compute', 'compute_s', 'p-compute'], ['wait', 'wait_s', 'p-wait'], ['exchange', 'exchange_s', 'p-exchange'], ['input', 'input_s', 'p-input']];
const MOST_RANKS = 64;

/** Where the time of a step goes, by rank; stragglers marked. */
export function stepsPanel() {
  const body = h('div', {class: 'bars', tabindex: '0', role: 'group', 'aria-label': 'Ranks'});
  let run = null;
  const element = panel({title: 'Step time by rank', body: h('div', null, legend([...STEP_PARTS, ['other', '', 'p-idle']].map(([name, , colour]) => ({name, colour}))), body), data});

  function data() {
    return {head: ['Rank', 'Host', 'Step', ...STEP_PARTS.map(([name]) => name)],
      rows: (run.steps?.ranks ?? []).map((rank) => [String(rank.rank), rank.host ?? '', duration(rank.step_s), ...STEP_PARTS.map(([, key]) => duration(rank[key]))])};
  }

  return {element, update: (next) => {
    run = next;
    const ranks = (run.steps?.ranks ?? []).filter((rank) => rank && Number.isFinite(rank.step_s));
    if (!ranks.length) return false;
    const late = stragglers(ranks, run.steps), longest = ranks.reduce((most, rank) => Math.max(most, rank.step_s, knownOf(rank)), 1e-12);
    const shown = ranks.length > MOST_RANKS ? [...ranks].sort((a, b) => b.compute_s - a.compute_s).slice(0, MOST_RANKS) : ranks;
    body.replaceChildren(...shown.map((rank) => rankBar(rank, longest, late.has(rank))));
    const names = [...late].map((rank) => `rank ${rank.rank} (${rank.host ?? 'unknown host'})`);
    element.note([whatIsShown(run.steps), wayOf(run.steps),
      names.length ? `Slower than the others: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and more' : ''}.` : 'No rank is a straggler.',
      ranks.length > MOST_RANKS ? `The ${MOST_RANKS} ranks with the longest computation are shown.` : ''].join(' '));
    return true;
  }};
}

const withoutTeam = ({team}) => team === '';

function whatIsShown(steps) {
  return withoutTeam(steps) ? 'The program has no team, so these are times of the whole attempt. Exchange may run beside compute.'
    : `Mean of ${number(steps.steps)} steps of team ${steps.team ?? 'default'}.`;
}

/** Who adds up its tensors; '' where they lie in CPU memory. */
function wayOf({way, without_direct: why}) {
  if (!way || way === 'cpu' || way === 'none') return '';
  return `GPU memory is exchanged by way ${way}${why ? `: ${why}` : ''}.`;
}

/** Ranks that compute (or read) clearly longer than the median, of two than the other: the others wait for them. Without a team these waits are in the exchange. */
function stragglers(ranks, steps) {
  const own = (rank) => (withoutTeam(steps) ? (rank.step_s ?? 0) - (rank.exchange_s ?? 0) : (rank.compute_s ?? 0) + (rank.input_s ?? 0));
  const sorted = ranks.map(own).sort((a, b) => a - b), median = sorted[Math.floor((sorted.length - 1) / 2)];
  return new Set(ranks.filter((rank) => ranks.length > 1 && own(rank) > 1.15 * median && own(rank) - median > 0.02 * (rank.step_s ?? 0)));
}

const knownOf = (rank) => STEP_PARTS.reduce((sum, [, key]) => sum + (rank[key] ?? 0), 0);

function rankBar(rank, longest, isLate) {
  const parts = STEP_PARTS.map(([name, key, colour]) => ({name, colour, value: rank[key] ?? 0}));
  const known = knownOf(rank);
  parts.push({name: 'other', colour: 'p-idle', value: Math.max(0, rank.step_s - known)});
  const total = Math.max(rank.step_s, known), bar = stackedBar(parts, total || 1, duration);
  bar.style.width = `${100 * total / longest}%`;
  return h('div', {class: isLate ? 'bar-row rank late' : 'bar-row rank'},
    h('span', {class: 'bar-name', title: rank.host}, isLate && h('span', {class: 'badge warn'}, 'straggler'), ` ${rank.rank}`, h('small', null, ` ${brief(rank.host ?? '', 30)}`)),
    h('span', {class: 'bar-track plain'}, bar), h('span', {class: 'bar-value'}, duration(rank.step_s)));
}

const energy = (joules) => (joules == null ? 'not measured' : `${number(joules / 3.6e6)} kWh`);

/** The GPU in whose time the fewest kernels ran, as `watch` numbers it; nothing where only one is known. */
function leastBusyGpu(gpus) {
  const known = gpus.filter((gpu) => Number.isFinite(gpu.mean_utilisation));
  if (known.length < 2) return [];
  const least = known.reduce((one, other) => (other.mean_utilisation < one.mean_utilisation ? other : one));
  const place = gpus.filter((gpu) => gpu.host === least.host).indexOf(least);
  return [['Least busy GPU', `${percent(least.mean_utilisation)}, gpu ${place}${least.host ? ` of ${least.host}` : ''}`]];
}

/** Where every node-second went. */
export function accountingPanel() {
  const body = h('div');
  const element = panel({title: 'Accounting', body});
  return {element, update: (run) => {
    const parts = (run.accounting?.parts ?? []).filter((part) => part && Number.isFinite(part.node_seconds));
    if (!parts.length) return false;
    const sum = parts.reduce((total, part) => total + part.node_seconds, 0), all = run.accounting.node_seconds || sum || 1;
    const coloured = parts.map((part) => ({name: String(part.part), value: part.node_seconds, colour: `p-${/^[a-z]+$/.test(part.part) ? part.part : 'idle'}`}));
    const rows = coloured.map(({name, value, colour}) => [h('span', null, h('span', {class: `box ${colour}`}), ' ', name), duration(value), percent(value / all)]);
    const {accounting} = run;
    const facts = [...(accounting.queue_s ? [['In the queue', duration(accounting.queue_s)]] : []), ['Node-hours', number(accounting.node_hours)], ['Core-hours', number(accounting.core_hours)], ['GPU-hours', number(accounting.gpu_hours)],
      ['CPU energy', energy(accounting.cpu_energy_j)], ['GPU energy', energy(accounting.gpu_energy_j)],
      ...(accounting.gpu_memory_peak_bytes == null ? [] : [['GPU memory, at most', bytes(accounting.gpu_memory_peak_bytes)]]),
      ...(accounting.gpu_utilisation == null ? [] : [['GPU utilisation', percent(accounting.gpu_utilisation)]]), ...leastBusyGpu(run.gpus)];
    body.replaceChildren(h('dl', {class: 'facts'}, facts.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value)))),
      stackedBar(coloured, all, duration), plainTable(['Part', 'Node time', 'Share'], [...rows, [h('strong', null, 'sum'), duration(sum), percent(sum / all)]]));
    element.note(accounting.advice ?? '');
    return true;
  }};
}
