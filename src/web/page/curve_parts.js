// What thinned curves lack: every point of a part that is zoomed into, every point of all for a table.
import {get} from "./api.js";

const MOST = 10000; // points of a curve in one answer

const joined = (a, b) => a && b ? [...a, ...b] : null;

/** Every point of curves: [{id, metric}, ...] -> Map of "metric id" -> {steps, values, times}, run by run and piece by piece. */
export async function wholeCurves(wanted) {
  const all = new Map();
  for (const id of new Set(wanted.map(w => w.id))) {
    let metrics = wanted.filter(w => w.id === id).map(w => w.metric);
    for (let skip = 0; metrics.length > 0; skip += MOST) {
      const {runs} = await get("/api/v1/curves", {runs: id, metrics: metrics.join(","), points: MOST, whole: 1, skip}), more = [];
      for (const c of runs[0]?.curves ?? []) {
        const key = `${c.metric} ${id}`, old = all.get(key);
        all.set(key, {steps: joined(old?.steps ?? [], c.steps), values: joined(old?.values ?? [], c.values), times: joined(old ? old.times : [], c.times)});
        if (c.steps.length > 0 && skip + c.steps.length < c.within)
          more.push(c.metric);
      }
      metrics = more;
    }
  }
  return all;
}

/** The steps that a zoom of `ends` shows, the ones just outside among them; xs: what a curve's points stand at. */
export function stepsOf(curve, xs, ends) {
  if (!ends || !xs || xs.length === 0)
    return null;
  let from = 0, to = xs.length - 1;
  while (from + 1 < xs.length && xs[from + 1] <= ends[0])
    from++;
  while (to > from && xs[to - 1] >= ends[1])
    to--;
  return [curve.steps[from], curve.steps[to]];
}

/**
 * Parts of curves with as many points as are drawn of a whole one. of(curve, id, xs, ends): the curve with what is known between
 * the ends; need([{curve, id, xs, ends}]): Promise of whether something came.
 */
export function makeParts(points) {
  const held = new Map(); // "metric id" -> {steps: "a..b", total, part}
  const key = (c, id) => `${c.metric} ${id}`;

  function of(curve, id, xs, ends) {
    const part = held.get(key(curve, id)), range = stepsOf(curve, xs, ends);
    if (!part || !range || part.steps !== range.join(".."))
      return curve;
    const first = curve.steps.findIndex(v => v >= range[0]), end = curve.steps.findIndex(v => v > range[1]), last = end < 0 ? curve.steps.length : end;
    const both = name => curve[name] && part.part[name] ? [...curve[name].slice(0, first), ...part.part[name], ...curve[name].slice(last)] : null;
    return {...curve, steps: both("steps"), values: both("values"), times: both("times")};
  }

  async function ask(id, range, curves) {
    const {runs} = await get("/api/v1/curves", {runs: id, metrics: curves.map(c => c.metric).join(","), points, after: range[0] > 0 ? range[0] - 1 : null, until: range[1]});
    for (const part of runs[0]?.curves ?? []) {
      const curve = curves.find(c => c.metric === part.metric);
      if (curve && part.steps.length > 0)
        held.set(key(curve, id), {steps: range.join(".."), total: curve.total, part});
    }
  }

  async function need(list) {
    const groups = new Map();
    for (const {curve, id, xs, ends} of list) {
      const range = curve.total > curve.steps.length ? stepsOf(curve, xs, ends) : null, have = held.get(key(curve, id));
      if (!range || have && have.steps === range.join("..") && have.total === curve.total)
        continue;
      const name = `${id} ${range.join("..")}`;
      groups.has(name) || groups.set(name, {id, range, curves: []});
      groups.get(name).curves.push(curve);
    }
    await Promise.all([...groups.values()].map(g => ask(g.id, g.range, g.curves)));
    return groups.size > 0;
  }
  return {of, need};
}
