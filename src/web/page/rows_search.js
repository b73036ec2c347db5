// Rows of the table as the pictures of a search take them: values by key, a rank by one of them.
import {number} from "./format.js";
import {rank, kindOf, shorten} from "./experiment_data.js";
import {isSmaller} from "./names.js";

/** By which metric the first row with a best has chosen it: "best" of several rows is of those that chose by the same. */
export const bestMetric = rows => rows.find(r => r.best)?.best.metric ?? null;

/** The number or text of a row's key; of a group the mean. named: bestMetric(). */
export function valueOf(r, key, named) {
  const mean = v => v !== null && typeof v === "object" ? v.mean ?? undefined : v ?? undefined;
  if (key === "best")
    return r.best?.metric === named ? mean(r.best?.value) : undefined;
  if (key === "name")
    return r.name;
  return r.values && key in r.values ? mean(r.values[key]) : mean(r[key]);
}

/** keys: the axes; metric: the key that ranks, for the colours. */
export function asSearch(rows, keys, metric) {
  const best = bestMetric(rows), named = metric === "best" ? best ?? "best" : metric.replace(/^(metric|config)\./, ""), smaller = isSmaller(named);
  const trials = rows.map((row, i) => {
    const v = valueOf(row, metric, best);
    return {number: i + 1, id: row.id, row, title: row.name, state: row.state ?? `${number(row.runs)} runs`, best: typeof v === "number" && Number.isFinite(v) ? v : null};
  });
  const space = keys.filter(key => key !== metric).map(name => {
    const own = rows.map(r => valueOf(r, name, best)).filter(v => v !== undefined && v !== null), kind = own.length === 0 ? "linear" : kindOf(null, own);
    const of = t => {
      const v = valueOf(t.row, name, best);
      return v === undefined || v === null ? undefined : kind === "choice" ? String(v) : Number.isFinite(v) ? v : undefined;
    };
    return {name, key: name, kind, whole: own.every(Number.isInteger), choices: kind === "choice" ? [...new Set(own.map(String))].sort((a, b) => a.localeCompare(b, "en", {numeric: true})) : [], of};
  });
  shorten(space);
  const axes = [...space.map(s => ({...s, title: s.short})), {key: metric, title: named, kind: "linear", choices: [], of: t => t.best ?? undefined, isMetric: true}];
  return {axes, trials, space, varied: space, objectives: [{name: named, smaller}], smaller: () => smaller, metric: () => named, ...rank(trials, smaller)};
}
