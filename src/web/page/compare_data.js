// What a comparison knows of its runs: which metrics there are, and of those in sight the curves, kept up to
// date by asking only for what came after.
import {get} from "./api.js";

/** Points a curve: as many as a card can show, fewer where there are so many curves that nobody follows one. */
export const pointsFor = runs => runs <= 20 ? 1000 : Math.max(200, Math.round(20000 / runs));

/** Whether more of a metric is better, by where the best of its values lie; null: not to be told. */
function direction(curves) {
  let up = 0, down = 0;
  for (const c of curves) {
    const values = c.values.filter(v => v !== null);
    if (!c.best || values.length < 2)
      continue;
    const high = Math.max(...values), low = Math.min(...values);
    if (high > low) {
      up += c.best.value >= high;
      down += c.best.value <= low;
    }
  }
  return up === down ? null : up > down;
}

/**
 * ids: runs. Returns {look() -> Promise: the runs and metrics as they are now; runs, metrics: Map of name -> {metric, split, name, runs, up},
 * curve(metric, id), need(metrics) -> Promise of whether anything came, points}.
 */
export function makeData(ids) {
  const points = pointsFor(ids.length), held = new Map(), asked = new Set(); // "metric id" -> curve; those on their way
  let total = 0;
  const data = {runs: [], more: false, metrics: new Map(), points, heads: new Map(), curve: (metric, id) => held.get(`${metric} ${id}`)};

  /** First, last and best of every curve: little, and enough for all but the pictures. */
  data.look = async function () {
    const ask = () => get("/api/v1/curves", {runs: ids.join(","), points: 4});
    let answer;
    try {
      answer = await ask();
    } catch (error) {
      if (error.status !== 404)
        throw error;
      const there = await Promise.all(ids.map(id => get(`/api/v1/runs/${id}`).then(() => true, e => e.status !== 404)));
      ids = ids.filter((_, i) => there[i]); // one that was deleted takes no others with it
      answer = ids.length > 0 ? await ask() : {runs: []};
    }
    data.runs = answer.runs;
    const all = answer.runs.reduce((sum, run) => run.curves.reduce((n, c) => n + c.total, sum), 0);
    data.more = answer.runs.some(run => run.more) && all > total; // logs of which the server has read a part, and gets further
    total = all;
    data.heads = new Map();
    const found = new Map();
    for (const run of answer.runs)
      for (const c of run.curves) {
        data.heads.set(`${c.metric} ${run.id}`, c);
        if (!found.has(c.metric))
          found.set(c.metric, {metric: c.metric, split: c.split, name: c.name, curves: []});
        found.get(c.metric).curves.push(c);
      }
    data.metrics = new Map([...found].map(([key, m]) => [key, {...m, runs: m.curves.length, up: direction(m.curves), best: m.curves.some(c => c.best), curves: undefined}]));
  };

  data.head = (metric, id) => data.heads.get(`${metric} ${id}`);

  function join(c, id) {
    const key = `${c.metric} ${id}`, old = held.get(key);
    if (!old || c.steps.length === 0)
      return;
    const first = old.steps.findIndex(step => step >= c.steps[0]), n = first < 0 ? old.steps.length : first;
    const both = name => old[name] && c[name] ? [...old[name].slice(0, n), ...c[name]] : null;
    held.set(key, {...old, ...c, steps: both("steps"), values: both("values"), times: both("times"), epochs: both("epochs"), best: c.best ?? old.best});
  }

  /** One request for what `part` names; answers to one that is under way are waited for by who asked. */
  async function ask(part, more, take) {
    if (part.runs.size === 0)
      return;
    const keys = [...part.runs].flatMap(id => [...part.metrics].map(metric => `${metric} ${id}`));
    keys.forEach(key => asked.add(key));
    try {
      const answer = await get("/api/v1/curves", {runs: [...part.runs].join(","), metrics: [...part.metrics].join(","), points, ...more});
      for (const run of answer.runs)
        for (const c of run.curves)
          take(c, run.id);
    } finally {
      keys.forEach(key => asked.delete(key));
    }
  }

  /** Curves of these metrics, whole where they are not known, what came after where they have grown. */
  data.need = async function (metrics) {
    const whole = {runs: new Set(), metrics: new Set()}, grown = {runs: new Set(), metrics: new Set()};
    let after = Infinity;
    for (const run of data.runs)
      for (const metric of metrics) {
        const head = data.head(metric, run.id), mine = data.curve(metric, run.id);
        if (!head || asked.has(`${metric} ${run.id}`) || mine && mine.total === head.total && mine.steps.at(-1) === head.steps.at(-1))
          continue;
        const back = !mine || head.total < mine.total || head.steps.at(-1) < mine.steps.at(-1) || mine.steps.length > 2 * points;
        const to = back ? whole : grown;
        to.runs.add(run.id);
        to.metrics.add(metric);
        if (!back)
          after = Math.min(after, (mine.steps.at(-1) ?? 0) - 1); // the newest may have been half written
      }
    await Promise.all([ask(whole, {}, (c, id) => held.set(`${c.metric} ${id}`, c)), ask(grown, {after}, join)]);
    return whole.runs.size + grown.runs.size > 0;
  };
  return data;
}

const SPLITS = ["valid", "test", "train"];
/** Splits in the order people look for them. */
export const bySplit = (a, b) => (SPLITS.indexOf(a) + 9) % 9 - (SPLITS.indexOf(b) + 9) % 9 || a.localeCompare(b);
