/** Reads `slipway.view/1`. Every member may be missing or null: what the charts get is complete. */

const list = (value) => (Array.isArray(value) ? value.filter((item) => item != null) : []);
const column = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (value == null ? '' : String(value));
const finite = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null);

/** @param {any} raw a document @returns {{made: number|null, runs: Run[], specDifferences: {key: string, values: any[]}[]}} */
export function readView(raw) {
  return {made: finite(raw?.made), runs: list(raw?.runs).map(readRun), specDifferences: list(raw?.spec_differences).map((row) => ({key: text(row.key), values: column(row.values)}))};
}

/** @typedef {ReturnType<typeof readRun>} Run */
function readRun(raw) {
  const run = {
    raw, run: text(raw.run) || 'run', folder: text(raw.folder), name: text(raw.name) || text(raw.run), engine: text(raw.engine),
    isEnsemble: raw.kind === 'ensemble', nodes: finite(raw.nodes), ranks: finite(raw.ranks),
    description: text(raw.description), tags: list(raw.tags).map(text), phase: text(raw.phase) || 'unknown',
    created: finite(raw.created), started: finite(raw.started), ended: finite(raw.ended), attempt: finite(raw.attempt),
    reason: text(raw.reason), cause: raw.cause ?? null, progress: raw.progress ?? {}, best: raw.best ?? null,
    phases: list(raw.phases), attempts: list(raw.attempts), datasets: list(raw.datasets),
    checkpoints: list(raw.checkpoints), steps: raw.steps ?? null, objectives: list(raw.objectives),
    space: list(raw.space), scheduler: text(raw.scheduler), sampler: text(raw.sampler),
    importance: list(raw.importance), pareto: list(raw.pareto), selection: raw.selection ?? null,
    failures: list(raw.failures), events: list(raw.events), eventsLeftOut: finite(raw.events_left_out) ?? 0,
    accounting: raw.accounting ?? null, gpus: list(raw.gpus), provenance: raw.provenance ?? null, spec: text(raw.spec),
    warnings: list(raw.warnings).map(text), curves: list(raw.curves).map(readCurve).filter((curve) => curve.step.length),
    trials: /** @type {Trials|null} */ (null),
  };
  if (run.isEnsemble) run.trials = new Trials(raw.trials ?? {}, run);
  return run;
}

function readCurve(raw) {
  const value = column(raw.value);
  const step = column(raw.step).length === value.length ? raw.step : value.map((_, i) => i);
  const time = column(raw.time).length === value.length ? raw.time : null;
  return {metric: text(raw.metric), trial: finite(raw.trial), attempt: finite(raw.attempt) ?? 1, count: finite(raw.count) ?? value.length,
    notFinite: finite(raw.not_finite) ?? 0, first: value[0], last: value.at(-1), lowest: finite(raw.lowest), highest: finite(raw.highest), step, value, time};
}

/** The trials of an ensemble, as columns by row. */
export class Trials {
  constructor(raw, run) {
    this.number = column(raw.number).map((number, row) => finite(number) ?? row);
    this.count = this.number.length;
    this.row = new Map(this.number.map((number, row) => [number, row]));
    const whole = (name, otherwise) => fitted(raw[name], this.count, otherwise);
    this.state = whole('state', '').map(text);
    this.rank = whole('rank', null);
    this.started = whole('started', null);
    this.ended = whole('ended', null);
    this.attempts = whole('attempts', null);
    this.repeat = whole('repeat', null);
    this.parent = whole('parent', null);
    this.origin = whole('origin', '');
    this.place = whole('place', '').map(text);
    this.reason = whole('reason', '').map(text);
    this.objectives = objectivesOf(raw, run, this.count);
    this.parameters = parametersOf(raw, run, this.count);
    this.made = new Map();
  }

  /** Computes once. */
  once(key, make) {
    if (!this.made.has(key)) this.made.set(key, make());
    return this.made.get(key);
  }

  /** The values that rank the trials. */
  get values() {
    return this.objectives[0]?.values ?? [];
  }

  /** Whether `a` is better than `b` for an objective. */
  isBetter(a, b, objective = 0) {
    return this.objectives[objective]?.isMaximized ? a > b : a < b;
  }

  /** Rows with a value, best first. */
  ranked(objective = 0) {
    return this.once(`ranked ${objective}`, () => this.rankRows(objective));
  }

  rankRows(objective) {
    const values = this.objectives[objective]?.values ?? [];
    const rows = [...values.keys()].filter((row) => values[row] != null);
    const sign = this.objectives[objective]?.isMaximized ? -1 : 1;
    return rows.sort((a, b) => sign * (values[a] - values[b]));
  }

  /** 0 (bad) to 1 (good) by rank, NaN without a value. @returns {Float64Array} */
  goodness(objective = 0) {
    return this.once(`goodness ${objective}`, () => this.shares(objective));
  }

  shares(objective) {
    const rows = this.ranked(objective);
    const share = new Float64Array(this.count).fill(NaN);
    rows.forEach((row, place) => { share[row] = rows.length > 1 ? 1 - place / (rows.length - 1) : 1; });
    return share;
  }
}

function fitted(values, count, otherwise) {
  const given = column(values);
  return Array.from({length: count}, (_, row) => given[row] ?? otherwise);
}

function objectivesOf(raw, run, count) {
  const given = column(raw.value);
  const described = run.objectives.length ? run.objectives : given.map((_, i) => ({metric: `objective ${i + 1}`}));
  return described.map((objective, i) => ({
    name: text(objective.name) || text(objective.metric) || `objective ${i + 1}`, metric: text(objective.metric),
    isMaximized: objective.goal === 'maximize', values: fitted(given[i], count, null).map(finite),
  }));
}

/**
 * @typedef {object} Parameter
 * @property {string} name @property {any[]} values @property {boolean} isNumeric @property {boolean} isLog
 * @property {any[]} categories of a parameter that is not numeric @property {boolean} varies
 */
function parametersOf(raw, run, count) {
  const columns = raw.parameters ?? {};
  const space = new Map(run.space.map((each) => [text(each.name), each]));
  const names = [...new Set([...space.keys(), ...Object.keys(columns)])].filter((name) => Array.isArray(columns[name]));
  return names.map((name) => parameterOf(name, fitted(columns[name], count, null), space.get(name)));
}

function parameterOf(name, values, described) {
  const present = values.filter((value) => value != null);
  const isListed = ['choice', 'ordinal'].includes(described?.kind);
  const isNumeric = !isListed && present.length > 0 && present.every((value) => typeof value === 'number');
  const distinct = new Set(present);
  const listed = list(described?.values).filter((value) => distinct.has(value));
  const categories = isNumeric ? [] : [...new Set([...listed, ...distinct])];
  const isLog = isNumeric && /log/.test(text(described?.kind)) && present.every((value) => value > 0);
  const varies = distinct.size > 1 || (distinct.size === 1 && present.length < values.length);
  return {name, values, isNumeric, isLog, canLog: isNumeric && present.every((value) => value > 0), categories, varies};
}

/** Numbers to draw: the value, or the place among the categories; NaN where there is none. @param {Parameter} parameter */
export function positions(parameter) {
  if (parameter.isNumeric) return Float64Array.from(parameter.values, (value) => value ?? NaN);
  const place = new Map(parameter.categories.map((category, i) => [category, i]));
  return Float64Array.from(parameter.values, (value) => place.get(value) ?? NaN);
}

/** The axis of a parameter. @param {Parameter} parameter */
export function parameterAxis(parameter) {
  return parameter.isNumeric ? {label: parameter.name, kind: parameter.isLog ? 'log' : 'linear'}
    : {label: parameter.name, kind: 'category', categories: parameter.categories.map(String)};
}

/** Until when something of a run lasts whose end is not known: its end, its last sign of life, else `made`. @param {Run} run */
export function lastTime(run, made) {
  return run.ended ?? run.phases.at(-1)?.to ?? made;
}

/** Smallest and largest finite number; null when there is none. @returns {[number, number]|null} */
export function extent(...lists) {
  let low = Infinity, high = -Infinity;
  for (const values of lists) {
    for (let i = 0; i < values.length; ++i) {
      const value = values[i];
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}
