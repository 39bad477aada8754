import {fill, h, icon, plain} from './base/dom.js';
import {leavePage} from './base/lifetime.js';
import {readView} from './base/model.js';
import {address, embeddedDocument, fetchRuns, fetchView, followRun, isLive} from './base/read_page.js';
import {dark, setTheme, watchTheme} from './base/theme.js';
import {number, when} from './base/format.js';
import {ComparePage} from './parts/compare_page.js';
import {RunList} from './parts/run_list.js';
import {RunPage} from './parts/run_page.js';

const AGAIN_MS = 5000;

/** The page: a bar, and a run, a comparison or the list of runs below it. The part after # in the address says which. */
class App {
  constructor(root, view) {
    this.view = view;
    this.body = h('main', {id: 'content', tabindex: '-1'});
    this.chooser = h('div', {class: 'chooser'});
    this.status = h('span', {class: 'live-status', role: 'status'});
    const themeButton = h('button', {type: 'button', class: 'quiet icon-only', title: 'Light or dark', 'aria-label': 'Light or dark', on: {click: () => setTheme(dark() ? 'light' : 'dark')}}, icon('moon'));
    this.title = h('h1', null);
    fill(root, h('a', {class: 'skip', href: '#content', on: {click: (event) => { event.preventDefault(); this.body.focus(); }}}, 'Skip to content'),
      h('header', {class: 'bar'}, h('a', {class: 'brand', href: '#/', title: isLive() ? 'All runs' : 'Slipway'}, 'Slipway'), this.title, this.chooser, this.status, themeButton), this.body);
    this.end = () => {};
    this.visit = 0;
    addEventListener('hashchange', () => this.route());
  }

  /** @returns {{kind: string, ids: string[]}} */
  wanted() {
    const [, kind = '', ids = ''] = location.hash.split('/');
    return {kind, ids: ids.split(',').filter(Boolean).map(decodeURIComponent)};
  }

  route() {
    this.end();
    this.end = () => {};
    leavePage();
    const visit = ++this.visit;
    this.isHere = () => visit === this.visit;
    const {kind, ids} = this.wanted();
    this.page = null;
    if (isLive()) this.routeLive(kind, ids).catch((problem) => this.fail(problem));
    else if (kind === 'compare') this.showCompare(pick(this.view.runs, ids), this.view);
    else this.showRun(pick(this.view.runs, ids)[0] ?? this.view.runs[0], this.view);
  }

  async routeLive(kind, ids) {
    if (kind === 'run' && ids.length) return this.followOne(ids[0]);
    if (kind === 'compare' && ids.length) return this.followSeveral(ids);
    return this.followList();
  }

  async followList() {
    const list = new RunList({open: openRun, compare: (runs) => { location.hash = `#/compare/${runs.map(encodeURIComponent).join(',')}`; }});
    const isHere = this.isHere, rows = await fetchRuns();
    if (!isHere()) return;
    list.update(rows);
    this.setTitle('Runs');
    fill(this.chooser);
    fill(this.body, list.element);
    this.repeat(async () => list.update(await fetchRuns()));
  }

  async followOne(id) {
    const isHere = this.isHere;
    const show = (raw) => {
      if (!isHere()) return;
      const view = readView(raw);
      if (view.runs[0]) this.showRun(view.runs[0], view);
    };
    show(await fetchView([id]));
    if (!isHere()) return;
    this.setStatus('live');
    this.end = followRun(id, show, (isLost) => this.setStatus(isLost ? 'connection lost' : 'live'));
  }

  /** A browser opens few connections to one host: several runs are asked for again and again. */
  async followSeveral(ids) {
    const isHere = this.isHere;
    const show = async () => {
      const view = readView(await fetchView(ids));
      if (isHere()) this.showCompare(view.runs, view);
    };
    await show();
    if (isHere()) this.repeat(show);
  }

  /** Does `work` every few seconds while the page is seen. */
  repeat(work) {
    const timer = setInterval(() => !document.hidden && work().then(() => this.setStatus('live'), () => this.setStatus('connection lost')), AGAIN_MS);
    this.end = () => clearInterval(timer);
  }

  showRun(run, view) {
    if (!run) return this.fail(new Error('the document has no run'));
    if (!(this.page instanceof RunPage) || this.page.isEnsemble !== run.isEnsemble || this.page.run.run !== run.run) {
      this.page = new RunPage(run);
      fill(this.body, this.page.element);
    }
    this.page.update(run, view);
    this.setTitle(run.name, run.run);
    this.showChooser(run.run);
    if (!isLive()) this.setStatus(view.made ? `read ${when(view.made)}` : '');
  }

  showCompare(runs, view) {
    const chosen = runs.length ? runs : view.runs;
    if (!(this.page instanceof ComparePage)) {
      this.page = new ComparePage();
      fill(this.body, this.page.element);
    }
    this.page.update(chosen, view);
    this.setTitle(`${number(chosen.length)} runs`);
    this.showChooser('');
  }

  setTitle(words, id = '') {
    fill(this.title, words, id && id !== words ? h('small', null, id) : null);
    document.title = `${plain(words)} – Slipway`;
  }

  setStatus(words) {
    fill(this.status, words === 'live' ? h('span', {class: 'pulse'}) : null, words);
    this.status.classList.toggle('lost', words === 'connection lost');
  }

  /** Which run of the document, or all side by side. */
  showChooser(shown) {
    if (isLive()) return fill(this.chooser, h('a', {href: '#/'}, 'All runs'));
    const runs = this.view?.runs ?? [];
    if (runs.length < 2) return fill(this.chooser);
    const select = h('select', {'aria-label': 'Run', on: {change: () => { location.hash = select.value ? `#/run/${encodeURIComponent(select.value)}` : `#/compare/${runs.map((run) => encodeURIComponent(run.run)).join(',')}`; }}},
      h('option', {value: ''}, `Compare all ${runs.length} runs`), runs.map((run) => h('option', {value: run.run}, run.run)));
    select.value = shown;
    return fill(this.chooser, select);
  }

  fail(problem) {
    fill(this.body, h('p', {class: 'problem', role: 'alert'}, icon('cross'), ' ', `This page could not be shown: ${problem.message}`));
  }
}

/** The steps of a workflow are a page of their own. */
function openRun(run, kind) {
  if (kind === 'workflow') location.href = address('workflow', [['run', run]]);
  else location.hash = `#/run/${encodeURIComponent(run)}`;
}

const pick = (runs, ids) => ids.map((id) => runs.find((run) => run.run === id)).filter(Boolean);

async function start() {
  const root = document.getElementById('slipway-app');
  watchTheme();
  try {
    const raw = await embeddedDocument(), app = new App(root, raw ? readView(raw) : {made: null, runs: []});
    if (!raw && !isLive()) return app.fail(new Error('it holds no document'));
    if (!isLive() && app.view.runs.length > 1 && !location.hash) history.replaceState(null, '', `#/compare/${app.view.runs.map((run) => encodeURIComponent(run.run)).join(',')}`);
    app.route();
    performance.mark('slipway-ready');
    document.documentElement.classList.add('has-app');
    document.getElementById('slipway-summary')?.remove();
  } catch (problem) {
    root.append(h('p', {class: 'problem', role: 'alert'}, `The interactive page could not start: ${problem.message}`));
    throw problem;
  }
}

start();
