// What a master knows of an experiment, asked for in pieces and kept while its page is open; and what
// follows from it: which hyperparameters vary and how, which trials are the best, who beats whom.
import {get} from "./api.js";
import {number} from "./format.js";
import {readYaml} from "./yaml.js";

const PIECE = 2000;
const KINDS = ["const", "categorical", "int", "double", "log"];
export const TONES = 7; // groups of equal size, 0 the worst, that colours tell apart
export const OVER = ["COMPLETED", "CANCELED", "ERROR"];

/** JSON of a master has "nan", "inf" and "-inf" as texts. */
export const finite = v => typeof v === "number" && Number.isFinite(v) ? v : null;
export const seconds = time => time === null || time === undefined ? null : Date.parse(time) / 1000;

/** A value as people read it, and as it stands in an experiment file. */
export function valueText(v) {
  if (Array.isArray(v))
    return `[${v.map(valueText).join(", ")}]`;
  if (v !== null && typeof v === "object")
    return `{${Object.entries(v).map(([k, w]) => `${k}: ${valueText(w)}`).join(", ")}}`;
  return String(v);
}

export const shown = v => typeof v === "number" ? number(v) : v === undefined ? "not set" : valueText(v);

/** All rows of a list, in pieces; `each` hears how many there are so far. `stopped()` ends it. */
export async function all(path, key, query = {}, {stopped = () => false, each = () => {}, piece = PIECE, most = Infinity} = {}) {
  const rows = [];
  let total = 0;
  for (;;) {
    const answer = await get(path, {...query, limit: Math.min(piece, most - rows.length), offset: rows.length + (query.offset ?? 0)});
    for (const row of answer[key])
      rows.push(row);
    ({total} = answer);
    each(rows.length, total);
    if (stopped() || answer[key].length === 0 || rows.length >= total - (query.offset ?? 0) || rows.length >= most)
      return {rows, total};
  }
}

// ---- the space --------------------------------------------------------------------------------

function flatten(out, value, name) {
  if (value !== null && typeof value === "object" && !Array.isArray(value))
    for (const [key, inner] of Object.entries(value))
      flatten(out, inner, name ? `${name}.${key}` : key);
  else
    out.set(name, value);
  return out;
}

function declared(out, node, name) {
  if (node === null || typeof node !== "object" || Array.isArray(node))
    return out;
  if (KINDS.includes(node.type)) {
    out.set(name, node);
    return out;
  }
  for (const [key, inner] of Object.entries(node))
    declared(out, inner, name ? `${name}.${key}` : key);
  return out;
}

/** What a trial has for a hyperparameter that is a map itself is one value, whatever is in it. */
function valuesOf(hyperparameters, names) {
  const values = flatten(new Map(), hyperparameters, "");
  for (const name of names)
    if (!values.has(name)) {
      const whole = name.split(".").reduce((v, key) => v?.[key], hyperparameters) ?? hyperparameters[name];
      if (whole !== undefined)
        values.set(name, whole);
    }
  return values;
}

export function kindOf(node, values) {
  if (node?.type === "categorical")
    return "choice";
  if (node?.type === "log")
    return "log";
  if (node?.type === "int" || node?.type === "double")
    return "linear";
  if (values.some(v => typeof v !== "number"))
    return "choice";
  const low = Math.min(...values.slice(0, 5000)), high = Math.max(...values.slice(0, 5000));
  return low > 0 && high / low >= 1000 ? "log" : "linear";
}

/** Hyperparameters that vary: {name, short, kind: "linear"|"log"|"choice", whole, choices: [text], of(trial) -> number, text or undefined}. */
function makeSpace(config, trials) {
  const nodes = declared(new Map(), config?.hyperparameters ?? {}, "");
  const names = new Set([...nodes.keys()].filter(name => nodes.get(name).type !== "const"));
  for (const trial of trials)
    trial.values = valuesOf(trial.hyperparameters ?? {}, nodes.keys());
  if (!config)
    for (const trial of trials)
      for (const name of trial.values.keys())
        names.add(name);
  return [...names].map(name => {
    const node = nodes.get(name), own = trials.map(t => t.values.get(name)).filter(v => v !== undefined && v !== null);
    const kind = kindOf(node, own), of = trial => {
      const v = trial.values.get(name);
      return v === undefined || v === null ? undefined : kind === "choice" ? valueText(v) : finite(v) ?? undefined;
    };
    const choices = kind === "choice" ? [...new Set([...(node?.vals ?? []).map(valueText), ...own.map(valueText)])] : [];
    return {name, kind, whole: node?.type === "int", choices, of, varies: new Set(trials.map(of).filter(v => v !== undefined)).size > 1};
  });
}

/** "learning_rate" of "optimizer.learning_rate", unless two end like that. */
export function shorten(space) {
  for (const hyper of space) {
    const parts = hyper.name.split(".");
    let n = 1;
    const end = () => parts.slice(-n).join(".");
    while (n < parts.length && (space.some(o => o !== hyper && (o.name === end() || o.name.endsWith(`.${end()}`))) || ["initial", "type", "value"].includes(end())))
      n++;
    hyper.short = end();
  }
}

/** [{name, smaller}] */
function objectivesOf(row, config) {
  const aims = config?.searcher?.metrics?.filter?.(m => m?.at_most === undefined && m?.at_least === undefined);
  if (aims)
    return aims.map((m, i) => ({name: i === 0 ? row.metric : String(m.name), smaller: m.smaller_is_better !== false}));
  const named = config?.searcher?.metric, smaller = config?.searcher?.smaller_is_better;
  const names = Array.isArray(named) ? named.map(n => typeof n === "object" ? n?.name ?? n?.metric : n) : [row.metric];
  return names.map((name, i) => ({
    name: String(name),
    smaller: i === 0 ? row.smaller_is_better : Array.isArray(smaller) ? smaller[i] !== false : smaller !== false,
  }));
}

/** "valid.accuracy" stands under this name, or as "accuracy". */
export const metricOf = (metrics, name) => metrics ? finite(metrics[name] ?? (name.startsWith("valid.") ? metrics[name.slice(6)] : undefined)) : null;

// ---- ranks ------------------------------------------------------------------------------------

/** Best first; ties by number. Trials get rank (from 0; -1: no metric) and tone. */
export function rank(trials, smaller) {
  const sign = smaller ? 1 : -1, measured = trials.filter(t => t.best !== null);
  measured.sort((a, b) => sign * (a.best - b.best) || a.number - b.number);
  for (const trial of trials)
    trial.rank = trial.tone = -1;
  let first = 0;
  measured.forEach((trial, i) => {
    if (trial.best !== measured[first].best)
      first = i;
    trial.rank = i;
    trial.tone = TONES - 1 - Math.floor(first * TONES / measured.length);
  });
  const bounds = [];
  for (let i = 0; i <= TONES && measured.length > 0; i++)
    bounds.push(measured[Math.floor((measured.length - 1) * (TONES - i) / TONES)].best);
  return {ranked: measured, bounds};
}

/** Of trials (the best first): `most` at most, the best half of it and of the others every k-th. {list, every} */
export function sample(ranked, most) {
  if (ranked.length <= most)
    return {list: ranked, every: 1};
  const head = Math.floor(most / 2), every = Math.ceil((ranked.length - head) / (most - head));
  return {list: ranked.filter((_, i) => i < head || (i - head) % every === 0), every};
}

/** Where numbers go without those that are far off at the bad end: {low, high, off: how many}. */
export function closeRange(values, smaller, log) {
  const sorted = values.filter(v => v !== null && Number.isFinite(v) && (!log || v > 0)).sort((a, b) => a - b);
  if (sorted.length === 0)
    return {low: log ? 0.1 : 0, high: 1, off: 0};
  let low = sorted[0], high = sorted[sorted.length - 1];
  if (!log && sorted.length >= 8) {
    const at = share => sorted[Math.round((sorted.length - 1) * share)], width = at(0.8) - at(0.2);
    if (smaller)
      high = Math.min(high, at(0.8) + 3 * width || high);
    else
      low = Math.max(low, at(0.2) - 3 * width || low);
  }
  if (low === high) {
    const room = Math.abs(low) * 0.1 || 1;
    low = log ? low / 1.5 : low - room;
    high = log ? high * 1.5 : high + room;
  }
  return {low, high, off: sorted.filter(v => v < low || v > high).length};
}

// ---- the experiment ---------------------------------------------------------------------------

/**
 * {path, row, config: {text, name, read}, trials, space, varied, objectives, ranked, bounds, validations, ...}.
 * Each load*() asks again; what is asked for and how often is the page's to decide.
 */
export function experiment(master, id) {
  const path = `/api/v1/masters/${master}/experiments/${id}`;
  const e = {
    master, id, path, row: null, config: null, trials: [], byNumber: new Map(), space: [], varied: [], objectives: [],
    ranked: [], bounds: [], validations: [], runs: [], events: [], search: null, queue: [],
    importance: null, importanceNote: null, runIds: new Map(), closed: false,
  };
  const options = {stopped: () => e.closed};

  e.over = () => OVER.includes(e.row?.state);
  e.smaller = () => e.row?.smaller_is_better !== false;
  e.metric = () => e.row?.metric ?? "metric";
  e.runHref = trial => e.runIds.has(trial.number) ? `/runs/${e.runIds.get(trial.number)}` : null;

  e.loadRow = async () => {
    e.row = await get(path);
    return e.row;
  };
  e.loadConfig = async () => {
    if (!e.config) {
      const answer = await get(`${path}/config`);
      e.config = {text: answer.config, name: answer.name, read: readYaml(answer.config)};
    }
    return e.config;
  };
  e.loadTrials = async each => {
    const {rows} = await all(`${path}/trials`, "trials", {}, {...options, each});
    for (const t of rows) {
      t.best = finite(t.best_metric);
      t.latest = finite(t.metric);
    }
    e.trials = rows;
    e.byNumber = new Map(rows.map(t => [t.number, t]));
    e.space = makeSpace(e.config?.read, rows);
    shorten(e.space);
    e.objectives = objectivesOf(e.row, e.config?.read);
    e.arrange();
  };
  /** Ranks, and which hyperparameters vary, the most important first. */
  e.arrange = () => {
    Object.assign(e, rank(e.trials, e.smaller()));
    const share = hyper => e.importance?.importance.find(i => i.name === hyper.name)?.value ?? -1;
    e.varied = e.space.filter(hyper => hyper.varies).sort((a, b) => share(b) - share(a));
  };
  e.loadValidations = async each => {
    const {rows} = await all(`${path}/validations`, "validations", {}, {...options, each});
    for (const v of rows) {
      v.value = finite(v.metric);
      v.time = seconds(v.end_time);
    }
    e.validations = rows;
    const newest = new Map(); // by trial
    for (const v of rows)
      newest.set(v.number, v);
    e.newest = newest;
  };
  e.loadRuns = async each => {
    const {rows} = await all(`${path}/runs`, "runs", {}, {...options, each});
    e.runs = rows;
  };
  /** Only what has come since. */
  e.loadEvents = async each => {
    const {rows} = await all(`${path}/events`, "events", {offset: e.events.length}, {...options, each, piece: 5000});
    e.events = [...e.events, ...rows];
  };
  /** The master tells it while the search goes on. */
  e.loadSearch = async () => {
    if (!["ACTIVE", "PAUSED"].includes(e.row?.state))
      return;
    try {
      e.search = await get(`${path}/search`);
    } catch { // it has ended meanwhile
      e.search = null;
    }
  };
  e.loadImportance = async () => {
    try {
      e.importance = await get(`${path}/importance`);
      e.importanceNote = e.importance.importance?.length > 0 ? null : e.importance.note ?? "Not known yet.";
      e.arrange();
    } catch (error) {
      e.importance = null;
      e.importanceNote = error.message;
    }
  };
  e.loadQueue = async () => {
    const {rows} = await all(`/api/v1/masters/${master}/queue`, "queue", {}, {...options, most: 10000});
    e.queue = rows.filter(q => q.experiment_id === Number(id));
  };
  /** Run folders of trials by the number of the folder, as far as they are found: names are what people call them. */
  e.loadRunIds = async () => {
    const {rows} = await all("/api/v1/runs", "rows", {kind: "trial", experiment: `${master}:${id}`, archived: 1, sort: "name", order: "asc"}, {...options, piece: 1000});
    e.runIds = new Map(rows.filter(row => row.kind === "trial" && row.trial !== null).map(row => [row.trial, row.id]));
  };
  e.close = () => { e.closed = true; };
  return e;
}

/** "1 trial", "2 trials" */
export const count = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

/** A trial in some lines: what hovering over it tells. */
export function trialFacts(e, trial) {
  return [
    ...(e.objectives.length > 0 ? [[e.metric(), trial.best === null ? "none yet" : number(trial.best)]] : []),
    ...(trial.batches === undefined ? [] : [["batches", number(trial.batches)]]),
    ...(e.varied.length > 0 ? e.varied : e.space).slice(0, 12).map(hyper => [hyper.short, shown(hyper.of(trial))]),
  ];
}

/** "lr 0.006, hidden [256]" */
export const trialText = (e, trial) => (e.varied.length > 0 ? e.varied : e.space).slice(0, 6).map(hyper => `${hyper.short} ${shown(hyper.of(trial))}`).join(", ");

/** Trials that no other is at least as good as in all objectives and better in one, by their newest validations. */
export function front(e) {
  const points = [];
  for (const trial of e.trials) {
    const metrics = e.newest?.get(trial.number)?.metrics;
    if (trial.latest === null) // no number, or a bound is broken
      continue;
    const at = e.objectives.map((o, i) => metricOf(metrics, o.name) ?? (i === 0 ? trial.latest : null));
    if (at.every(v => v !== null))
      points.push({trial, at, keys: at.map((v, i) => e.objectives[i].smaller ? v : -v)});
  }
  points.sort((a, b) => a.keys[0] - b.keys[0] || a.keys[1] - b.keys[1]);
  const best = [];
  for (const p of points)
    if (!best.some(b => b.keys.every((v, i) => v <= p.keys[i]) && b.keys.some((v, i) => v < p.keys[i])))
      best.push(p);
  return {points, best};
}
