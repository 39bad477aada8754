import {choice, copyButton, fill, h, plain} from '../base/dom.js';
import {anything, bytes, clock, duration, number, when} from '../base/format.js';
import {panel, plainTable, scrollArea} from '../charts/panel.js';

const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** Lines of a log, without colours of a terminal. @param {any[]} lines */
function logText(lines) {
  return h('pre', {class: 'log', tabindex: '0', role: 'group', 'aria-label': 'Last log lines'}, lines.map((line) => plain(String(line).replace(ANSI, ''))).join('\n'));
}

/** Attempts of a run and how their ranks ended. */
export function attemptsPanel() {
  const body = h('div');
  const element = panel({title: 'Attempts', body});
  return {element, update: (run) => {
    const rows = run.attempts.map((each) => {
      const ranks = Array.isArray(each.ranks) ? each.ranks : [], bad = ranks.filter((rank) => rank.exit_code || rank.signal);
      return [number(each.number), when(each.started), duration((each.ended ?? NaN) - each.started), number(ranks.length),
        bad.length ? bad.slice(0, 3).map(rankEnd).join('; ') + (bad.length > 3 ? `; ${bad.length - 3} more` : '') : '–', each.reason || '–'];
    });
    fill(body, scrollArea('Attempts', plainTable(['Attempt', 'Started', 'Time', 'Ranks', 'Ranks that failed', 'Why it ended'], rows)));
    return rows.length > 0;
  }};
}

const rankEnd = (rank) => `rank ${rank.rank}${rank.host ? ` on ${rank.host}` : ''}: ${rank.signal ? `signal ${rank.signal}` : `exit code ${rank.exit_code}`}`;

/** Checkpoints and datasets as tables. */
export function checkpointsPanel() {
  const body = h('div');
  const element = panel({title: 'Checkpoints', body});
  return {element, update: (run) => {
    const rows = [...run.checkpoints].reverse().map((each) => [number(each.step), when(each.time), bytes(each.bytes), duration(each.seconds)]);
    fill(body, scrollArea('Checkpoints', plainTable(['Step', 'Written', 'Size', 'Took'], rows)));
    return rows.length > 0;
  }};
}

/** What the ensemble searches: each parameter with its bounds or its values. */
export function spacePanel() {
  const body = h('div');
  const element = panel({title: 'Search space', wide: true, body});
  return {element, update: (run) => {
    const rows = run.space.map((each) => [String(each.name), String(each.kind ?? '–'), domainText(each)]);
    fill(body, h('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Search space'}, plainTable(['Parameter', 'Kind', 'Domain'], rows)));
    return rows.length > 0;
  }};
}

const MOST_VALUES = 20;
function domainText({low, high, values}) {
  if (low != null && high != null) return `${number(low)} to ${number(high)}`;
  const given = Array.isArray(values) ? values : [];
  return given.slice(0, MOST_VALUES).map(String).join(', ') + (given.length > MOST_VALUES ? `, ${given.length - MOST_VALUES} more` : '') || '–';
}

export function datasetsPanel() {
  const body = h('div');
  const element = panel({title: 'Datasets', body});
  return {element, update: (run) => {
    const rows = run.datasets.map((each) => [each.name, each.tier ?? '–', bytes(each.bytes), each.found ? 'found' : duration(each.seconds),
      each.bytes && each.seconds ? `${bytes(each.bytes / each.seconds)}/s` : '–', each.directory ?? '–']);
    fill(body, scrollArea('Datasets', plainTable(['Dataset', 'Tier', 'Size', 'Stage-in', 'Rate', 'Folder'], rows)));
    return rows.length > 0;
  }};
}

function areOfOneDay(events) {
  return new Set(events.filter((each) => each.time != null).map((each) => new Date(each.time * 1000).toDateString())).size <= 1;
}

/** Events, newest first, filtered by words and kind. */
export function eventsPanel() {
  let run = null, words = '', kind = '';
  const body = scrollArea('Events');
  body.classList.add('tall');
  const search = h('input', {type: 'search', placeholder: 'Filter', class: 'search', 'aria-label': 'Filter events', on: {input: () => { words = search.value.toLowerCase(); draw(); }}});
  const kinds = choice('Kind of event', [['', 'All kinds']], '', (value) => { kind = value; draw(); });
  const count = h('span', {class: 'count', role: 'status'});
  const element = panel({title: 'Events', wide: true, body, controls: [search, kinds, count]});

  function draw() {
    const found = run.events.filter((each) => (!kind || String(each.event) === kind) && `${each.event} ${each.text}`.toLowerCase().includes(words)).reverse();
    const timeText = areOfOneDay(run.events) ? clock : when;
    const rows = found.map((each) => h('tr', null, h('td', {class: 'time', title: when(each.time)}, each.time == null ? '' : timeText(each.time)), h('td', {class: 'event'}, each.event ?? ''), h('td', null, each.text ?? '')));
    fill(body, h('table', {class: 'plain events'}, h('thead', null, h('tr', null, ['Time', 'Event', 'What happened'].map((head) => h('th', {scope: 'col'}, head)))), h('tbody', null, rows)));
    fill(count, `${number(found.length)} of ${number(run.events.length)}`);
  }

  return {element, update: (next) => {
    run = next;
    const names = [...new Set(run.events.map((each) => String(each.event)))].sort();
    fill(kinds, h('option', {value: ''}, 'All kinds'), names.map((name) => h('option', {value: name}, name)));
    kinds.value = names.includes(kind) ? kind : '';
    element.note(run.eventsLeftOut ? `${number(run.eventsLeftOut)} earlier events are not shown.` : '');
    draw();
    return run.events.length > 0;
  }};
}

/** Failures, grouped by what happened: the first error, the rank, the last log lines. */
export function failuresPanel({selection}) {
  const body = h('div', {class: 'failures'});
  const element = panel({title: 'Failures', wide: true, body});
  return {element, update: (run) => {
    fill(body, [...run.failures].sort((a, b) => (b.count ?? 1) - (a.count ?? 1)).map((failure, i) => failureEntry(failure, i === 0, run, selection)));
    return run.failures.length > 0;
  }};
}

function failureEntry(failure, isOpen, run, selection) {
  const {what, count = 1, trial, rank, host, lines} = failure, trials = Array.isArray(failure.trials) ? failure.trials : [];
  const where = [trial != null && run.isEnsemble && `trial ${trial}`, rank != null && `rank ${rank}`, host && `on ${host}`].filter(Boolean).join(', ');
  const choose = () => selection.setRows(trials.map((number) => run.trials.row.get(number)).filter((row) => row !== undefined), 'failures');
  return h('details', {open: isOpen, class: 'failure'},
    h('summary', null, h('span', {class: 'badge bad'}, count > 1 ? `${number(count)} ×` : 'once'), h('strong', null, what || 'unknown'), h('span', {class: 'where'}, where && `first seen: ${where}`)),
    run.trials && trials.length > 0 && h('p', {class: 'trial-list'}, 'Trials ', trials.slice(0, 20).join(', '), count > trials.length ? ' …' : '', ' ',
      h('button', {type: 'button', class: 'quiet', on: {click: choose}}, 'Select')),
    Array.isArray(lines) && lines.length > 0 ? logText(lines) : h('p', {class: 'note'}, 'No log lines were kept.'));
}

/** The spec as it was written. */
export function specPanel() {
  const body = h('div');
  const element = panel({title: 'Spec', wide: true, body});
  return {element, update: (run) => {
    fill(body, h('div', {class: 'code-box'}, h('div', {class: 'copy-corner'}, copyButton(run.spec)), h('pre', {class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Spec'}, run.spec)));
    return run.spec !== '';
  }};
}

const LABELS = {time: 'Recorded', is_dirty: 'Uncommitted changes', untracked: 'Untracked files'};
const labelOf = (key) => LABELS[key] ?? (key.charAt(0).toUpperCase() + key.slice(1)).replaceAll('_', ' ');
/** How known members are written; others by `member`. */
const TEXTS = {time: when, files: (files) => (Array.isArray(files) ? member(files.map(fileText)) : member(files))};
const fileText = (file) => `${file?.path ?? '?'} (${[bytes(file?.bytes), file?.crc32c && `CRC32C ${file.crc32c}`].filter(Boolean).join(', ')})`;

/** Code, versions, hosts: what is needed to repeat the run. Members that are not known yet are listed as they are. */
export function provenancePanel() {
  const body = h('div');
  const element = panel({title: 'Provenance and environment', wide: true, body});
  return {element, update: (run) => {
    const provenance = run.provenance;
    if (!provenance || !Object.keys(provenance).length) return false;
    const {diff, hosts, command, ...others} = provenance;
    fill(body, command && h('div', {class: 'command'}, h('code', null, commandText(command)), copyButton(commandText(command))),
      h('dl', {class: 'pairs'}, Object.entries(others).filter(([, value]) => value != null && value !== '').map(([key, value]) => [h('dt', null, labelOf(key)), h('dd', null, (TEXTS[key] ?? member)(value))])),
      Array.isArray(hosts) && hosts.length > 0 && hostsTable(hosts),
      diff && h('details', {class: 'data'}, h('summary', null, 'Diff of the program\'s repository'), diffText(String(diff))));
    return true;
  }};
}

const commandText = (command) => (Array.isArray(command) ? command.join(' ') : String(command));

const isObject = (value) => value !== null && typeof value === 'object';

/** A member of a document in words. @returns {string|Node} */
export function member(value) {
  if (Array.isArray(value)) return value.map(words).join(', ') || 'none';
  if (!isObject(value)) return typeof value === 'boolean' ? (value ? 'yes' : 'no') : anything(value);
  const entries = Object.entries(value), tags = entries.filter(([, each]) => !isObject(each));
  return h('div', null, h('span', {class: 'tags'}, tags.map(([name, each]) => h('span', {class: 'tag', title: String(each)}, `${name} ${each}`))),
    entries.filter(([, each]) => isObject(each)).map(([name, each]) =>
      h('details', {class: 'data'}, h('summary', null, `${name} (${number(Object.keys(each).length)})`), words(each))));
}

/** Of a member inside a member: "path a.txt bytes 12". */
function words(value) {
  if (Array.isArray(value)) return value.map(words).join(', ');
  return isObject(value) ? Object.entries(value).map(([name, each]) => `${name} ${words(each)}`).join(', ') : String(value);
}

function hostsTable(hosts) {
  return scrollArea('Hosts', plainTable(['Host', 'CPU', 'GPUs'], hosts.map((host) => [host.host ?? '–', host.cpu ?? '–',
    gpusText(host.gpus)])));
}

/** "4 × NVIDIA A100". */
function gpusText(gpus) {
  const counts = new Map();
  for (const gpu of Array.isArray(gpus) ? gpus : []) {
    const name = gpu && typeof gpu === 'object' ? gpu.name ?? JSON.stringify(gpu) : String(gpu);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(', ') || 'none';
}

function diffText(diff) {
  return h('pre', {class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Diff'}, diff.split('\n').map((line) =>
    h('span', {class: line.startsWith('+') ? 'line added' : line.startsWith('-') ? 'line removed' : line.startsWith('@@') ? 'line place' : 'line'}, line + '\n')));
}
