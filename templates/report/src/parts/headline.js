import {brief, copyButton, fill, h, icon} from '../base/dom.js';
import {duration, number, percent, plural, when} from '../base/format.js';
import {lastTime} from '../base/model.js';
import {stateStyle} from '../base/theme.js';
import {firstMetrics} from './curves.js';

const MOST_LAST = 4;
const ENDED = new Set(['succeeded', 'failed', 'cancelled', 'lost']);
export const hasEnded = (phase) => ENDED.has(phase);

/** State, best value, progress and time left in one line; then what identifies the run. */
export function headline() {
  const element = h('div', {class: 'headline'});
  return {element, update: (run, view) => {
    fill(element, h('div', {class: 'first-line'}, statePill(run.phase), ...(run.isEnsemble ? [bestFact(run)] : lastFacts(run)), progressFact(run), timeFact(run, view.made)), secondLine(run),
      run.reason && hasEnded(run.phase) && run.phase !== 'succeeded' && h('p', {class: 'reason'}, icon('cross'), run.cause?.kind && h('span', {class: 'badge warn'}, String(run.cause.kind).replaceAll('_', ' ')), h('span', null, run.reason)),
      run.warnings.length > 0 && h('details', {class: 'warnings'}, h('summary', null, `${plural(run.warnings.length, 'warning')} while reading`),
        h('ul', null, run.warnings.slice(0, 50).map((warning) => h('li', null, warning)))));
  }};
}

/** The phase as icon and word. */
export function statePill(phase) {
  const {icon: name, colour} = stateStyle(phase);
  return h('span', {class: `pill ${colour}`, 'data-phase': phase}, icon(name), brief(phase, 30));
}

function fact(label, value, more, title) {
  return h('div', {class: 'fact'}, h('span', {class: 'fact-label'}, label), h('span', {class: 'fact-value', title}, brief(value, 60)), more && h('span', {class: 'fact-more'}, brief(more, 60)));
}

function bestFact({best}) {
  if (!best || best.value == null) return fact('Best', '–');
  const where = [best.goal && (best.goal === 'maximize' ? 'highest' : 'lowest'), best.trial != null && `trial ${best.trial}`, best.step != null && `step ${number(best.step)}`].filter(Boolean).join(', ');
  return fact(`Best ${brief(best.metric ?? '', 40)}`, number(best.value, 5), where, String(best.value));
}

/** Of a single run: the last values of its first metrics. */
function lastFacts(run) {
  const last = new Map(run.curves.map((curve) => [curve.metric, curve.last])), names = [...last.keys()];
  const shown = [...new Set([...(names.length ? firstMetrics(run, names, 'metrics') : []), ...names])].slice(0, MOST_LAST);
  return shown.map((metric, i) => fact(brief(metric, 40), number(last.get(metric) ?? NaN), i === shown.length - 1 && names.length > shown.length ? `and ${names.length - shown.length} more` : '', String(last.get(metric))));
}

function progressFact({progress, phase}) {
  const {done, total, unit = 'steps'} = progress;
  if (done == null) return fact('Progress', '–');
  const share = total ? Math.min(1, done / total) : null;
  const bar = share === null ? null : h('span', {class: 'meter', role: 'progressbar', 'aria-label': 'Progress', 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.round(share * 100)},
    h('span', {class: hasEnded(phase) ? 'meter-fill still' : 'meter-fill', style: {width: `${share * 100}%`}}));
  return h('div', {class: share === null ? 'fact' : 'fact grow'}, h('span', {class: 'fact-label'}, 'Progress'), h('span', {class: 'fact-value'}, `${number(done)}${total ? ` of ${number(total)}` : ''} ${brief(unit, 20)}`),
    h('span', {class: 'fact-more'}, share === null ? '' : percent(share, 0)), bar);
}

function timeFact(run, made) {
  const start = run.started ?? run.created;
  const end = lastTime(run, null);
  if (hasEnded(run.phase)) return fact('Took', duration((end ?? NaN) - start), end && `${run.ended ? 'ended' : 'last sign'} ${when(end)}`);
  const left = run.progress.left_s;
  return fact('Time left', left == null ? 'unknown' : duration(left), start == null || made == null ? '' : `running for ${duration(made - start)}`);
}

function secondLine(run) {
  const size = [run.nodes != null && plural(run.nodes, 'node'), run.ranks != null && plural(run.ranks, 'rank')].filter(Boolean).join(' × ');
  const search = run.isEnsemble ? [run.sampler && `sampler ${run.sampler}`, run.scheduler && `scheduler ${run.scheduler}`] : [];
  const facts = [run.isEnsemble ? 'ensemble' : 'run', run.engine, size, ...search, run.attempt > 1 && `attempt ${run.attempt}`, run.created != null && `created ${when(run.created)}`].filter(Boolean);
  return h('div', {class: 'second-line'}, facts.map((each) => h('span', null, brief(each, 60))), run.tags.map((tag) => h('span', {class: 'tag'}, brief(tag, 40))),
    run.folder && h('span', {class: 'folder'}, h('code', null, run.folder), copyButton(run.folder, 'Copy path')), run.description && h('p', {class: 'description'}, run.description));
}
