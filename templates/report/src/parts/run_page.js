import {fill, h} from '../base/dom.js';
import {number} from '../base/format.js';
import {whileOpen} from '../base/lifetime.js';
import {Selection} from '../base/selection.js';
import {trialColour} from '../base/theme.js';
import {accountingPanel, importancePanel, stepsPanel} from './bars.js';
import {ContourPanel} from './contour.js';
import {CurvesPanel} from './curves.js';
import {headline} from './headline.js';
import {HistoryPanel} from './history.js';
import {modelsPanel} from './models.js';
import {ParallelPanel} from './parallel_panel.js';
import {ParetoPanel} from './pareto.js';
import {attemptsPanel, checkpointsPanel, datasetsPanel, eventsPanel, failuresPanel, provenancePanel, spacePanel, specPanel} from './records.js';
import {SlicesPanel} from './slices.js';
import {phasesPanel, trialTimelinePanel} from './times.js';
import {trialsTable} from './trials_table.js';

const of = (Panel) => (tools) => new Panel(tools);

/** [title, makers of panels] of each section. */
const ENSEMBLE = [
  ['Overview', [of(HistoryPanel), importancePanel]], ['Trials', [trialsTable]], ['Failures', [failuresPanel]],
  ['Parallel coordinates', [of(ParallelPanel)]], ['Learning curves', [(tools) => new CurvesPanel({...tools, many: 'trials'})]],
  ['Parameters', [of(ContourPanel), of(ParetoPanel), of(SlicesPanel)]], ['Model selection', [modelsPanel]], ['Timeline', [trialTimelinePanel]],
  ['Accounting', [accountingPanel]], ['Phases', [phasesPanel, attemptsPanel, datasetsPanel]], ['Events', [eventsPanel]], ['Spec', [spacePanel, specPanel]], ['Provenance', [provenancePanel]],
];
const SINGLE = [
  ['Learning curves', [() => new CurvesPanel({selection: null, many: 'metrics'})]], ['Failures', [failuresPanel]],
  ['Time', [stepsPanel, accountingPanel, phasesPanel]], ['Attempts', [attemptsPanel, checkpointsPanel, datasetsPanel]],
  ['Events', [eventsPanel]], ['Spec', [specPanel]], ['Provenance', [provenancePanel]],
];

/** The page of one run. It is updated in place: selection, zoom, filters and scroll position stay. */
export class RunPage {
  constructor(run) {
    this.isEnsemble = run.isEnsemble;
    this.selection = new Selection();
    this.numbers = [];
    this.top = headline();
    this.sections = (run.isEnsemble ? ENSEMBLE : SINGLE).map(([title, makers]) => this.section(title, makers));
    this.links = h('nav', {class: 'contents', 'aria-label': 'Contents'});
    this.chosen = this.isEnsemble ? selectionBar(this.selection, () => this.run) : null;
    this.element = h('div', {class: 'run-page'}, this.links, h('div', {class: 'sections'}, this.top.element, this.sections.map(({element}) => element), this.chosen));
    this.watchSections();
  }

  section(title, makers) {
    const id = `s-${title.toLowerCase().replaceAll(' ', '-')}`, panels = makers.map((make) => make({selection: this.selection}));
    const element = h('section', {class: 'section', id, 'aria-labelledby': `${id}-title`}, h('h2', {id: `${id}-title`}, title), h('div', {class: 'panels'}, panels.map((panel) => panel.element)));
    return {id, title, element, panels};
  }

  /** @param {import('../base/model.js').Run} run */
  update(run, view) {
    this.run = run;
    if (run.trials) {
      const before = this.numbers;
      this.numbers = run.trials.number;
      this.selection.adopt(this.numbers, before);
    }
    this.top.update(run, view);
    for (const section of this.sections) section.isShown = this.updateSection(section, run, view);
    this.showLinks();
  }

  updateSection({element, panels}, run, view) {
    const shown = panels.map((panel) => {
      panel.element.hidden = !panel.update(run, view);
      return !panel.element.hidden;
    });
    spread(panels.map((panel) => panel.element).filter((each) => !each.hidden));
    element.hidden = !shown.some(Boolean);
    element.classList.toggle('single-panel', shown.filter(Boolean).length === 1);
    return !element.hidden;
  }

  showLinks() {
    const shown = this.sections.filter((section) => section.isShown);
    const key = shown.map(({id}) => id).join();
    if (key === this.shownLinks) return;
    this.shownLinks = key;
    fill(this.links, shown.map(({id, title, element}) => h('a', {href: `#${id}`, 'data-id': id, on: {click: (event) => {
      event.preventDefault();
      element.scrollIntoView({behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
      element.querySelector('h2').setAttribute('tabindex', '-1');
      element.querySelector('h2').focus({preventScroll: true});
    }}}, title)));
  }

  /** Marks the section that is being read. */
  watchSections() {
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.target.dataset.isRead = String(entry.isIntersecting);
      const read = this.sections.find(({element}) => element.dataset.isRead === 'true' && !element.hidden);
      for (const link of this.links.children) link.setAttribute('aria-current', String(link.dataset.id === read?.id));
    }, {rootMargin: '-80px 0px -60% 0px'});
    for (const {element} of this.sections) watcher.observe(element);
  }
}

/** A panel of half the width that stands alone in its row takes the whole row. */
function spread(elements) {
  let isLeft = true;
  elements.forEach((element, i) => {
    if (element.classList.contains('wide')) return void (isLeft = true);
    const next = elements[i + 1];
    element.classList.toggle('alone', isLeft && (!next || next.classList.contains('wide')));
    isLeft = !isLeft;
  });
}

/** What is selected, on every part of the page. */
function selectionBar(selection, run) {
  const words = h('span', {role: 'status'}), chips = h('span', {class: 'chosen-trials'});
  const bar = h('div', {class: 'selection-bar', hidden: true}, words, chips, h('button', {type: 'button', class: 'quiet', on: {click: () => selection.clear(null)}}, 'Clear selection'));
  let version = -1;
  selection.listeners.add(() => {
    if (version === selection.version) return;
    version = selection.version;
    const {trials} = run();
    bar.hidden = selection.count === 0;
    fill(words, `${number(selection.count)} of ${number(trials.count)} trials selected`);
    const best = selection.rows().sort((a, b) => (trials.rank[a] ?? Infinity) - (trials.rank[b] ?? Infinity)).slice(0, 8);
    fill(chips, best.map((row) => h('span', {class: 'trial'}, h('span', {class: 'dot', style: {background: trialColour(trials.number[row])}}), trials.number[row])));
  });
  whileOpen('keydown', (event) => {
    if (event.key === 'Escape' && !bar.hidden && !event.defaultPrevented) selection.clear(null);
  });
  return bar;
}
