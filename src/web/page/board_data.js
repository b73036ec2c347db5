// The curves of what the cards show: of runs each by itself, of groups as means with their spread.
import {get} from "./api.js";
import {makeData} from "./compare_data.js";
import {makeParts, wholeCurves} from "./curve_parts.js";

const FIRST_MS = 60; // that the server may read for the first answer: a part of the runs soon, all of them later

const isWord = text => /^[\w.@:%]+$/.test(text);

/** Whether it is a metric's own name, not something to compute: of sets and classes it may have any letters. */
const isName = (text, metrics) => isWord(text) || metrics.has(text);

/** As an expression. A metric that came later is not known yet. */
const expressionOf = (text, metrics) => isWord(text) || !metrics.has(text) && /[-+*/(){} ]/.test(text) ? text : `{${text}}`;

/**
 * A source: {metrics: Map of name -> {metric, split, name, runs}, look() -> Promise, need(names, zoom) -> Promise of whether anything
 * came, curve(name, id, zoom) -> {steps, values, times, epochs, best, band: {deviation, low, high, runs}} or undefined, more: whether
 * the server has not read all yet, wrong: what could not be computed, told(): what is left out, whole(names, ids): every point}.
 */
export function runSource(ids) {
  const data = makeData(ids), parts = makeParts(data.points), computed = new Map(); // "text id" -> {total, curve}
  const source = {metrics: data.metrics, more: false, points: data.points, heads: data.heads, runs: []};
  const totals = id => [...data.metrics.keys()].reduce((sum, m) => sum + (data.head(m, id)?.total ?? 0), 0);
  const of = (x, c) => x === "time" ? c.times : x === "epoch" ? c.epochs : c.steps;

  source.look = async () => {
    await data.look();
    Object.assign(source, {metrics: data.metrics, more: data.more, heads: data.heads, runs: data.runs});
  };

  /** What is computed comes whole, whenever one of the run's curves has grown. */
  async function compute(texts) {
    source.wrong = "";
    const came = await Promise.all(texts.map(async text => { // one by one: what is no expression keeps nothing else back
      const late = data.runs.filter(r => computed.get(`${text} ${r.id}`)?.total !== totals(r.id));
      if (late.length === 0)
        return false;
      try {
        const {runs} = await get("/api/v1/curves", {runs: late.map(r => r.id).join(","), metrics: "-", computed: text, points: data.points});
        for (const run of runs)
          computed.set(`${text} ${run.id}`, {total: totals(run.id), curve: run.curves.find(c => c.metric === text)});
        return true;
      } catch (error) {
        source.wrong = error.message;
        return false;
      }
    }));
    return came.some(Boolean);
  }

  source.need = async (names, zoom, x) => {
    const plain = names.filter(n => isName(n, data.metrics)), [a, b] = await Promise.all([data.need(plain), compute(names.filter(n => !plain.includes(n)))]);
    const zoomed = zoom ? data.runs.flatMap(r => plain.map(n => ({curve: data.curve(n, r.id), id: r.id, ends: zoom}))).filter(w => w.curve).map(w => ({...w, xs: of(x, w.curve)})) : [];
    const c = zoomed.length > 0 && await parts.need(zoomed);
    return a || b || c;
  };

  source.curve = (name, id, zoom, x) => {
    if (!isName(name, data.metrics))
      return computed.get(`${name} ${id}`)?.curve;
    const whole = data.curve(name, id);
    return whole && parts.of(whole, id, of(x, whole), zoom);
  };
  source.told = () => [];
  source.whole = async (names, all) => {
    const plain = names.filter(n => isName(n, data.metrics)), found = await wholeCurves(all.flatMap(id => plain.map(metric => ({id, metric}))));
    return (name, id) => plain.includes(name) ? found.get(`${name} ${id}`) : source.curve(name, id);
  };
  return source;
}

/** query: what chooses the groups; keys: Promise of the columns there are. */
export function groupSource(ids, query, keys) {
  const held = new Map(); // "zoom" -> Map of "metric id" -> curve
  const source = {metrics: new Map(), more: false, points: 200, heads: new Map(), runs: ids.map(id => ({id}))};
  let answers = new Map(), groups = new Map();
  const place = zoom => zoom ? `${Math.floor(zoom[0])}..${Math.ceil(zoom[1])}` : "";

  source.look = async () => {
    for (const c of source.metrics.size > 0 ? [] : await keys()) {
      const found = /^metric\.([^.]+)\.(.+)$/.exec(c.key);
      if (found)
        source.metrics.set(`${found[1]}.${found[2]}`, {metric: `${found[1]}.${found[2]}`, split: found[1], name: found[2], runs: c.runs});
    }
  };

  source.need = async (names, zoom) => {
    if (ids.length === 0 || names.length === 0)
      return false;
    const where = place(zoom), asked = `${where} ${names.join("\n")}`;
    source.wrong = "";
    const ask = some => get("/api/v1/bands", {...query, groups: ids.join(","), metric: some.map(n => expressionOf(n, source.metrics)), points: 200,
      within_ms: held.has(where) ? null : FIRST_MS, after: zoom ? Math.max(-1, Math.floor(zoom[0]) - 1) : null, until: zoom ? Math.max(0, Math.ceil(zoom[1])) : null});
    let answer, list = names;
    try {
      answer = await ask(list);
    } catch (error) {
      if (error.status !== 400)
        throw error;
      source.wrong = error.message; // what is no expression keeps nothing else back
      list = names.filter(n => isName(n, source.metrics));
      if (list.length === 0)
        return false;
      answer = await ask(list);
    }
    source.more = answer.groups.some(g => g.more);
    groups = new Map(answer.groups.map(g => [g.id, g]));
    const text = JSON.stringify(answer);
    if (answers.get(asked) === text)
      return false;
    answers = new Map([...answers].slice(-20)).set(asked, text);
    if (!held.has(where))
      held.set(where, new Map());
    for (const g of answer.groups)
      g.curves.forEach((c, i) => held.get(where).set(`${list[i]} ${g.id}`, {metric: list[i], steps: c.steps, values: c.mean, times: null, epochs: null, best: null, total: c.steps.length,
        band: {deviation: c.deviation, low: c.low, high: c.high, runs: c.runs}})); // in the order asked for
    while (held.size > 6)
      held.delete([...held.keys()].find(k => k !== "" && k !== where));
    return true;
  };
  source.curve = (name, id, zoom) => held.get(place(zoom))?.get(`${name} ${id}`) ?? held.get("")?.get(`${name} ${id}`);
  source.told = () => {
    const all = [...groups.values()], part = all.filter(g => g.runs < g.of), late = all.filter(g => g.more), bad = all.reduce((sum, g) => sum + g.damaged, 0);
    return [late.length > 0 ? `read so far: ${late.map(g => `${g.read} of ${g.runs}`).slice(0, 3).join(", ")} runs` : "",
      part.length > 0 ? `of ${part.length} large groups some of the runs, evenly spread (${part[0].runs} of ${part[0].of})` : "",
      bad > 0 ? `${bad} runs have a damaged log, and are in it as far as that is known` : ""].filter(Boolean);
  };
  source.whole = async () => (name, id) => source.curve(name, id);
  return source;
}
