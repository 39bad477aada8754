import {brief, fill, h, toggle} from '../base/dom.js';
import {duration, number, when} from '../base/format.js';
import {seriesColour} from '../base/theme.js';
import {panel, scrollArea} from '../charts/panel.js';
import {CurvesPanel, range} from './curves.js';
import {diffLines} from './diff.js';
import {statePill} from './headline.js';

/** Several runs side by side: figures, curves over each other, and what differs in their specs. */
export class ComparePage {
  constructor() {
    this.facts = scrollArea('Runs side by side');
    this.specs = h('div');
    this.curves = new CurvesPanel({selection: null, title: 'Curves', many: 'runs'});
    this.isAsWritten = false;
    this.specPanel = panel({title: 'Spec: what differs', wide: true, body: this.specs, controls: [toggle('As written', false, (on) => { this.isAsWritten = on; this.showSpecs(); }, 'The texts of the specs, line by line')]});
    this.element = h('div', {class: 'sections compare'}, h('section', {class: 'section'}, h('h2', null, 'Comparison'),
      h('div', {class: 'panels'}, panel({title: 'Side by side', wide: true, body: this.facts}), this.curves.element, this.specPanel)));
  }

  /** @param {import('../base/model.js').Run[]} runs @param {ReturnType<typeof import('../base/model.js').readView>} view that has them */
  update(runs, view) {
    this.runs = runs;
    this.differences = differencesOf(runs, view);
    fill(this.facts, this.table());
    const curves = runs.flatMap((run, runIndex) => curvesOf(run).map((curve) => ({...curve, runIndex, runName: run.run})));
    this.curves.element.hidden = !this.curves.update({...runs[0], curves, objectives: runs[0].objectives});
    this.showSpecs();
  }

  table() {
    const {runs} = this;
    const head = runs.map((run, i) => h('th', {scope: 'col'}, h('span', {class: 'dot', style: {background: seriesColour(i)}}), run.run));
    const rows = [...plainRows(runs), ...versionRows(runs), ...metricRows(runs)].map(([name, values]) => {
      const differs = new Set(values.map((value) => (value instanceof Node ? value.textContent : value))).size > 1;
      return h('tr', {class: differs ? 'differs' : null}, h('th', {scope: 'row'}, name), values.map((value) => h('td', null, value)));
    });
    return h('table', {class: 'plain compare-table'}, h('thead', null, h('tr', null, h('td', null), head)), h('tbody', null, rows));
  }

  showSpecs() {
    fill(this.specs, this.isAsWritten ? this.texts() : this.fields());
  }

  /** The resolved specs: what was overridden counts, and what was left to a default. */
  fields() {
    if (!this.differences.length) return h('p', {class: 'note'}, 'All fields of the specs are equal.');
    const head = this.runs.map((run, i) => h('th', {scope: 'col'}, h('span', {class: 'dot', style: {background: seriesColour(i)}}), run.run));
    const rows = this.differences.map(({key, values}) => h('tr', null, h('th', {scope: 'row'}, h('code', null, key)), values.map((value) => h('td', null, h('code', {title: fieldText(value)}, brief(fieldText(value), 200))))));
    return scrollArea('Fields of the specs that differ',
      h('table', {class: 'plain compare-table'}, h('thead', null, h('tr', null, h('td', null), head)), h('tbody', null, rows)));
  }

  texts() {
    const [first, ...others] = this.runs;
    return others.map((other) => {
      const lines = diffLines(first.spec, other.spec);
      return h('div', null, h('h4', null, `${first.run} → ${other.run}`), lines.length
        ? h('pre', {class: 'code', tabindex: '0', role: 'group', 'aria-label': `Spec of ${first.run} against ${other.run}`}, lines.map(({kind, text}) => h('span', {class: `line ${kind}`}, `${{added: '+', removed: '-', same: ' ', gap: '⋯'}[kind]} ${text}\n`)))
        : h('p', {class: 'note'}, 'The texts are equal. Values may come from --set.'));
    });
  }
}

/** Rows of the document for these runs, which may be some of its runs. */
function differencesOf(runs, view) {
  const places = runs.map((run) => view.runs.indexOf(run));
  const rows = view.specDifferences.map(({key, values}) => ({key, values: places.map((place) => values[place] ?? null)}));
  return rows.filter(({values}) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
}

const fieldText = (value) => (value === null ? '–' : value === '' ? '""' : typeof value === 'string' ? value : JSON.stringify(value));

/** Of an ensemble, only the best trial's curves. */
function curvesOf(run) {
  const last = Math.max(...run.curves.map((curve) => curve.attempt));
  if (!run.trials) return run.curves.filter((curve) => curve.attempt === last);
  const best = run.trials.number[run.trials.ranked()[0]];
  return run.curves.filter((curve) => curve.trial === best);
}

function plainRows(runs) {
  const row = (name, value) => [name, runs.map(value)];
  return [row('State', (run) => statePill(run.phase)), ...(runs.some((run) => run.isEnsemble) ? [row('Best', (run) => (run.best?.value == null ? '–' : `${run.best.metric ?? ''} ${number(run.best.value, 6)}`))] : []),
    row('Nodes × ranks', (run) => `${number(run.nodes)} × ${number(run.ranks)}`), row('Time', (run) => duration((run.ended ?? NaN) - (run.started ?? NaN))),
    row('Node-hours', (run) => number(run.accounting?.node_hours)), row('Created', (run) => when(run.created)), row('Commit', (run) => String(run.provenance?.commit ?? '–').slice(0, 12)),
    row('Step time', (run) => duration(meanStep(run))), row('Why it ended', (run) => run.reason || '–')];
}

/** Versions that differ. */
function versionRows(runs) {
  const of = (run, name) => String(run.provenance?.versions?.[name] ?? '–');
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.provenance?.versions ?? {})))];
  return names.filter((name) => new Set(runs.map((run) => of(run, name))).size > 1).map((name) => [`${name} version`, runs.map((run) => of(run, name))]);
}

function meanStep(run) {
  const ranks = run.steps?.team === '' ? [] : run.steps?.ranks ?? [];  // without a team, no step is known
  return ranks.length ? ranks.reduce((sum, rank) => sum + (rank.step_s ?? 0), 0) / ranks.length : null;
}

function metricRows(runs) {
  const names = [...new Set(runs.flatMap((run) => curvesOf(run).map((curve) => curve.metric)))].slice(0, 40);
  const of = (run, metric) => curvesOf(run).filter((curve) => curve.metric === metric).pop();
  return names.map((metric) => [`${metric}: last (lowest to highest)`, runs.map((run) => {
    const curve = of(run, metric);
    return curve ? `${number(curve.last ?? NaN, 6)} (${range(curve)})` : '–';
  })]);
}
