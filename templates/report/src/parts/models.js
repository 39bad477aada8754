import {brief, fill, h} from '../base/dom.js';
import {anything, number} from '../base/format.js';
import {trialColour} from '../base/theme.js';
import {panel, plainTable, scrollArea} from '../charts/panel.js';
import {member} from './records.js';

const FACTS = [['method', 'Method'], ['by', 'By'], ['metric', 'Metric'], ['score', 'Score'], ['best_single', 'Best single'], ['average', 'Plain average'], ['records', 'Records'], ['candidates', 'Candidates']];

/** The model ensemble that was chosen: its score and its members (ensemble.json). */
export function modelsPanel({selection}) {
  const body = h('div');
  let run = null;
  const choose = () => selection.setRows(membersOf(run).flatMap(trialsOf).map((number_) => run.trials.row.get(number_)).filter((row) => row !== undefined), 'models');
  const element = panel({title: 'Model selection', body, actions: [h('button', {type: 'button', class: 'quiet', on: {click: choose}}, 'Select members')]});
  return {element, update: (next) => {
    run = next;
    if (!run.selection || typeof run.selection !== 'object' || !Object.keys(run.selection).length) return false;
    const facts = FACTS.filter(([key]) => run.selection[key] != null).map(([key, words]) => [h('dt', null, words), h('dd', null, member(run.selection[key]))]);
    fill(body, h('dl', {class: 'pairs'}, facts), membersTable(run));
    return true;
  }};
}

const membersOf = (run) => (Array.isArray(run.selection.members) ? run.selection.members.filter((each) => each && typeof each === 'object') : []);
const trialsOf = (each) => (Array.isArray(each.trials) ? each.trials : [each.trial]).filter((trial) => typeof trial === 'number');

function membersTable(run) {
  const rows = membersOf(run).map((each) => [h('span', null, trialsOf(each).slice(0, 8).map((trial) => h('span', {class: 'trial'}, h('span', {class: 'dot', style: {background: trialColour(trial)}}), trial, ' '))),
    number(each.weight), number(each.objective), each.parameters ? brief(Object.entries(each.parameters).map(([name, value]) => `${name} ${anything(value)}`).join(', '), 120) : '–']);
  return rows.length > 0 && scrollArea('Members', plainTable(['Trial', 'Weight', 'Objective', 'Parameters'], rows));
}
