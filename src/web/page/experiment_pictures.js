// The tabs of an experiment that are drawn: what is chosen there stands in the address.
import {h, fill, button, choice, labelled} from "./html.js";
import {get} from "./api.js";
import {plainTable, table} from "./table.js";
import {lineChart, colour, dash} from "./chart.js";
import {number, percent, date} from "./format.js";
import {finite, front, metricOf, sample, seconds, trialText} from "./experiment_data.js";
import {bestChart, parallelChart, scatterChart, sliceChart, heatChart, importanceChart, frontChart, timelineChart, bracketChart, bracketsOf, tick, axesOf, within, toneLegend} from "./search_charts.js";

const closing = list => () => list.forEach(chart => chart.close());
const empty = (...parts) => h("p", {class: "empty"}, parts);
const toggle = (text, on, change) => labelled(text, h("input", {type: "checkbox", checked: on, on: {change: event => change(event.target.checked)}}));

// ---- overview -------------------------------------------------------------------------------------

export function overview(e, context) {
  const query = context.query(), look = {x: query.get("x") === "batches" ? "batches" : "time", log: query.get("log") === "1"};
  let top = Number(query.get("top") ?? 6) || 6, metric = query.get("metric") ?? "", offered = "";
  const steps = new Map(); // id of a trial -> {batches, rows}: asked again only when it has gone on
  const best = bestChart(e, look, context.open), charts = [best];
  const picker = h("select", {on: {change: () => { metric = picker.value; context.setQuery({metric}); curves(); }}});
  const note = h("p", {class: "quiet"}), curve = lineChart({title: "Learning curves of the best trials", height: 320, series: [], x: {label: "batches", format: tick}, y: {scale: look.log ? "log" : "linear"}});
  charts.push(curve);
  const fronts = e.objectives.length > 1 ? e.objectives.slice(1).map((_, i) => frontChart(e, () => front(e), i + 1, context.open)) : [];
  charts.push(...fronts);

  /** valid.* of the validations that are here already, train.* of workloads, which are asked for a trial at a time. */
  function names() {
    const found = new Set([...e.validations.slice(0, 50), ...e.validations.slice(-50)].flatMap(v => Object.keys(v.metrics ?? {}).map(k => k.startsWith("valid.") ? k : `valid.${k}`)));
    const valid = [...found].sort();
    const trained = [...steps.values()].flatMap(s => Object.keys(s.rows[s.rows.length - 1]?.metrics ?? {}));
    return [...valid, ...new Set((trained.length > 0 ? trained : valid.map(n => n.slice(6))).map(n => `train.${n}`))];
  }

  function offer() {
    const list = names(), wanted = e.metric().startsWith("valid.") ? e.metric() : `valid.${e.metric()}`;
    if (metric === "" || list.length > 0 && !list.includes(metric))
      metric = list.includes(wanted) ? wanted : list[0] ?? "";
    if (list.join() === offered && picker.value === metric)
      return;
    offered = list.join();
    fill(picker, list.map(name => h("option", {value: name, selected: name === metric}, name)));
  }

  async function stepsOf(trial) {
    const kept = steps.get(trial.id);
    if (kept?.batches === trial.batches)
      return kept.rows;
    const answer = await get(`/api/v1/masters/${e.master}/trials/${trial.id}/steps`, {limit: 5000});
    steps.set(trial.id, {batches: trial.batches, rows: answer.steps, cut: answer.total > answer.steps.length});
    return answer.steps;
  }

  let turn = 0;
  async function curves() {
    const mine = ++turn, chosen = e.ranked.slice(0, top), byTrial = new Map();
    offer();
    for (const v of e.validations) {
      if (!byTrial.has(v.number))
        byTrial.set(v.number, []);
      byTrial.get(v.number).push(v);
    }
    const of = (rows, name) => ({xs: rows.map(r => r.batches), ys: rows.map(r => metricOf(r.metrics, name))});
    const valid = metric.startsWith("valid."), series = [];
    for (const [i, trial] of chosen.entries()) {
      let rows = byTrial.get(trial.number) ?? [];
      if (!valid) {
        try {
          rows = (await stepsOf(trial)).map(r => ({batches: r.batches, metrics: {[metric]: r.metrics?.[metric.slice(6)]}}));
        } catch (error) {
          note.textContent = error.message;
          return;
        }
        if (mine !== turn || e.closed)
          return;
      }
      series.push({name: `trial ${trial.number}: ${trialText(e, trial)}`, colour: colour(i), dash: dash(i), points: true, ...of(rows, metric), trial: trial.number});
    }
    for (const id of steps.keys()) // of trials that are not shown any more
      if (!chosen.some(t => t.id === id))
        steps.delete(id);
    offer();
    const others = valid ? e.ranked.slice(top) : [], drawn = sample(others, 150).list;
    const cutOff = chosen.filter(t => !valid && steps.get(t.id)?.cut).length;
    curve.update({series, y: {...(look.log ? {scale: "log"} : {}), label: metric}, behind: drawn.map(t => of(byTrial.get(t.number) ?? [], metric))});
    note.textContent = [chosen.length === 0 ? "No trial has been validated yet." : `A dot is a ${valid ? "validation" : "workload"}; a curve that ends early is of a trial that was stopped, or has not gone on yet`,
      valid && others.length > 0 ? `in grey ${drawn.length < others.length ? `${number(drawn.length)} of ` : ""}the ${number(others.length)} other trials` : "", cutOff > 0 ? "only the first 5,000 workloads of a trial are drawn" : ""].filter(t => t).join("; ") + (chosen.length > 0 ? "." : "");
  }
  curves();
  const bar = h("div", {class: "bar"}, labelled("Over", choice([["time", "time"], ["batches", "batches of all trials"]], look.x, v => { look.x = v; context.setQuery({x: v === "time" ? null : v}); best.update({}); })),
    toggle("Logarithmic metric", look.log, on => { look.log = on; context.setQuery({log: on ? 1 : null}); best.update({}); curve.update({y: {scale: on ? "log" : "linear"}}); curves(); }));
  return {
    element: h("div", {class: "stack"}, bar, best.element, h("div", {class: "bar"}, labelled("The best", choice([3, 6, 10, 20].map(n => [String(n), `${n} trials`]), String(top), v => { top = Number(v); context.setQuery({top: v === "6" ? null : v}); curves(); })), labelled("Metric", picker)),
      curve.element, note, fronts.map(chart => chart.element)),
    update() { best.update({}); fronts.forEach(chart => chart.update({})); return curves(); },
    close() { turn++; closing(charts)(); },
  };
}

// ---- hyperparameters ---------------------------------------------------------------------------------

/** "name|low|high" or 'name|=["a","b"]' of the address. */
function readBrushes(query) {
  const brushes = new Map();
  for (const text of query.getAll("b")) {
    const at = text.indexOf("|"), key = text.slice(0, at), rest = text.slice(at + 1);
    try {
      if (rest.startsWith("=")) {
        brushes.set(key, {choices: new Set(JSON.parse(rest.slice(1)).map(String))});
      } else {
        const [low, high] = rest.split("|").map((v, i) => v === "" ? [-Infinity, Infinity][i] : Number(v));
        if (!Number.isNaN(low) && !Number.isNaN(high))
          brushes.set(key, {low, high});
      }
    } catch { /* not of ours: no range */ }
  }
  return brushes;
}

const writeBrushes = brushes => [...brushes].map(([key, b]) => b.choices ? `${key}|=${JSON.stringify([...b.choices])}`
  : `${key}|${Number.isFinite(b.low) ? +b.low.toPrecision(6) : ""}|${Number.isFinite(b.high) ? +b.high.toPrecision(6) : ""}`);

export function hyperparameters(e, context) {
  const query = context.query(), axes = axesOf(e), keys = axes.filter(a => !a.isMetric && a.key !== "batches").map(a => a.key);
  if (keys.length === 0)
    return {element: empty("Nothing varies in this experiment yet: ", e.space.length === 0 ? "its file has no hyperparameters." : "all of its trials have the same values."), update: context.again, close() {}};
  const pick = (name, otherwise) => axes.some(a => a.key === query.get(name)) ? query.get(name) : otherwise;
  const chosen = query.getAll("axis").filter(k => keys.includes(k));
  const look = {axes: chosen.length > 0 ? chosen : keys.slice(0, 9), brushes: readBrushes(query), log: query.get("log") === "1", onBrush: brush};
  const scatterLook = {x: pick("x", keys[0]), y: pick("y", keys[1] ?? "metric"), log: look.log}, heatLook = {x: pick("hx", keys[0]), y: pick("hy", keys[1] ?? "batches"), what: query.get("of") ?? "best"};
  const parallel = parallelChart(e, look, context.open), scatter = scatterChart(e, scatterLook, context.open), heat = heatChart(e, heatLook), importance = importanceChart(e);
  const slices = e.varied.slice(0, 12).map(hyper => sliceChart(e, hyper, look, context.open)), charts = [parallel, scatter, heat, importance, ...slices];
  const list = h("div"), ranges = h("div", {class: "ranges"}), legend = h("div"), legend2 = h("div"), shownAxes = h("div", {class: "bar"});

  function brush(key, b) {
    b ? look.brushes.set(key, b) : look.brushes.delete(key);
    context.setQuery({b: writeBrushes(look.brushes)});
    parallel.update({});
    drawRanges();
    drawList();
  }

  /** The same by keyboard: a range or the choices of each axis. */
  function drawRanges() {
    const focused = document.activeElement?.dataset?.field;
    fill(ranges, axesOf(e).filter(a => a.isMetric || look.axes.includes(a.key)).map(axis => {
      const b = look.brushes.get(axis.key);
      if (axis.kind === "choice")
        return h("fieldset", null, h("legend", {title: axis.key}, axis.title), h("div", {class: "choices"}, axis.choices.map(c => labelled(c, h("input", {type: "checkbox", data: {field: `${axis.key} ${c}`}, checked: !b || b.choices?.has(c) === true, on: {change: event => {
          const set = new Set(b?.choices ?? axis.choices);
          event.target.checked ? set.add(c) : set.delete(c);
          brush(axis.key, set.size === axis.choices.length ? null : {choices: set});
        }}})))));
      const field = (end, word) => h("input", {type: "number", step: "any", "aria-label": `${axis.title}: ${word}`, placeholder: word, data: {field: `${axis.key} ${end}`},
        value: b && Number.isFinite(b[end]) ? +b[end].toPrecision(6) : "", on: {change: event => {
          const next = {low: -Infinity, high: Infinity, ...b, [end]: event.target.value === "" ? {low: -Infinity, high: Infinity}[end] : Number(event.target.value)};
          brush(axis.key, next.low === -Infinity && next.high === Infinity ? null : next);
        }}});
      return h("fieldset", null, h("legend", {title: axis.key}, axis.title), field("low", "least"), field("high", "most"));
    }));
    if (focused)
      [...ranges.querySelectorAll("[data-field]")].find(el => el.dataset.field === focused)?.focus();
  }

  function drawList() {
    const all = axesOf(e), found = e.ranked.filter(t => within(t, all, look.brushes));
    const columns = [{title: "Trial", kind: "number", cell: t => e.runHref(t) ? h("a", {href: e.runHref(t)}, t.number) : t.number}, {title: "State", cell: t => h("span", {class: `state ${t.state}`}, t.state)},
      {title: e.metric(), kind: "number", cell: t => number(t.best)}, ...all.filter(a => look.axes.includes(a.key)).map(a => ({title: a.title, kind: a.kind === "choice" ? "text" : "number", cell: t => a.kind === "choice" ? a.of(t) ?? "not set" : number(a.of(t))}))];
    fill(list, h("h3", null, look.brushes.size > 0 ? `${number(found.length)} of ${number(e.ranked.length)} trials are within the ranges` : `${number(found.length)} trials have a metric`,
      look.brushes.size > 0 ? button("All ranges away", () => { look.brushes.clear(); brush("", null); }, {class: "plain"}) : null),
    plainTable("Trials within the ranges", columns, found.slice(0, 20), "No trial is within all of them."), found.length > 20 ? h("p", {class: "quiet"}, `The best 20; the tab Trials has all.`) : null);
  }

  const pickers = (target, chart, names, withMetric) => names.map(([word, field, inQuery]) => labelled(word, choice(axesOf(e).filter(a => withMetric || !a.isMetric).map(a => [a.key, a.title]), target[field], v => { target[field] = v; context.setQuery({[inQuery]: v}); chart.update({}); })));
  const drawLegend = () => { fill(legend, toneLegend(e)); fill(legend2, toneLegend(e)); };
  fill(shownAxes, h("span", {class: "quiet"}, "Axes"), keys.slice(0, 40).map(key => toggle(axes.find(a => a.key === key).title, look.axes.includes(key), on => {
    look.axes = keys.filter(k => k === key ? on : look.axes.includes(k));
    if (!on)
      look.brushes.delete(key);
    context.setQuery({axis: look.axes.length === Math.min(9, keys.length) && keys.slice(0, 9).every(k => look.axes.includes(k)) ? null : look.axes, b: writeBrushes(look.brushes)});
    parallel.update({});
    drawRanges();
    drawList();
  })));
  function update() {
    drawLegend();
    charts.forEach(chart => chart.update({}));
    if (!ranges.contains(document.activeElement))
      drawRanges();
    drawList();
  }
  drawLegend();
  drawRanges();
  drawList();
  return {
    element: h("div", {class: "stack"}, h("div", {class: "bar"}, legend, h("span", {class: "spring"}), toggle("Logarithmic metric", look.log, on => { look.log = scatterLook.log = on; context.setQuery({log: on ? 1 : null}); update(); })),
      keys.length > 2 ? shownAxes : null, parallel.element, h("p", {class: "quiet"}, "Draw along an axis to keep a range of it; a click beside the range takes it away."),
      h("details", null, h("summary", null, "Ranges as numbers"), ranges), list,
      h("div", {class: "cards two"}, h("div", null, h("div", {class: "bar"}, pickers(scatterLook, scatter, [["Across", "x", "x"], ["Up", "y", "y"]], true)), scatter.element),
        h("div", null, h("div", {class: "bar"}, pickers(heatLook, heat, [["Across", "x", "hx"], ["Up", "y", "hy"]], false), labelled("Of", choice([["best", "the best"], ["mean", "the mean"], ["count", "how many"]], heatLook.what, v => { heatLook.what = v; context.setQuery({of: v === "best" ? null : v}); heat.update({}); }))), heat.element)),
      h("h2", null, "Importance"), importance.element, h("h2", null, `Each hyperparameter and ${e.metric()}`), legend2, h("div", {class: "cards"}, slices.map(chart => chart.element)),
      e.varied.length > 12 ? h("p", {class: "quiet"}, `The ${slices.length} most important of ${e.varied.length}.`) : null),
    update, close: closing(charts),
  };
}

// ---- timeline -----------------------------------------------------------------------------------------

export function timeline(e, context) {
  const given = (context.query().get("zoom") ?? "").split(",").map(Number);
  const look = {zoom: given.length === 2 && given.every(Number.isFinite) && given[0] < given[1] ? given : null, onZoom(zoom) {
    look.zoom = zoom;
    context.setQuery({zoom: zoom ? zoom.map(v => +v.toPrecision(6)).join(",") : null});
    whole.hidden = !zoom;
    chart.update({});
  }};
  const chart = timelineChart(e, look, context.open), whole = button("Whole", () => look.onZoom(null), {hidden: !look.zoom});
  const fields = ["from", "to"].map((word, i) => h("input", {type: "number", class: "short", min: 0, step: "any", placeholder: i === 0 ? "0" : "end", on: {change: () => {
    const [a, b] = fields.map(f => f.value === "" ? null : Number(f.value)), end = seconds(e.row.end_time) ?? Date.now() / 1000;
    look.onZoom(a === null && b === null ? null : [a ?? 0, Math.max((a ?? 0) + 1e-3, b ?? end - seconds(e.row.start_time))]);
  }}}));
  const legend = h("div"), waiting = h("div"), restarted = h("div");

  function drawRest() {
    const again = e.trials.filter(t => t.restarts > 0 || t.message).slice(0, 50);
    fill(legend, toneLegend(e));
    fill(waiting, h("h2", null, "Waiting"), e.queue.length === 0 ? h("p", {class: "quiet"}, e.over() ? "The experiment is over." : "No trial of it waits.")
      : plainTable("Trials that wait", [{title: "Trial", kind: "number", cell: q => q.number}, {title: "Reason", cell: q => q.reason}], e.queue.slice(0, 50)),
    e.queue.length > 50 ? h("p", {class: "quiet"}, `and ${number(e.queue.length - 50)} more`) : null);
    fill(restarted, again.length === 0 ? null : [h("h2", null, "Restarts and failures"), plainTable("Restarts and failures", [{title: "Trial", kind: "number", cell: t => t.number}, {title: "State", cell: t => h("span", {class: `state ${t.state}`}, t.state)},
      {title: "Restarts", kind: "number", cell: t => number(t.restarts)}, {title: "Reason", cell: t => t.message ?? ""}], again)]);
  }
  drawRest();
  return {
    element: h("div", {class: "stack"}, h("div", {class: "bar"}, legend, h("span", {class: "spring"}), labelled("From (s)", fields[0]), labelled("to (s)", fields[1]), whole), chart.element, waiting, restarted),
    update() { chart.update({}); drawRest(); }, close: () => chart.close(),
  };
}

// ---- search -------------------------------------------------------------------------------------------

export function search(e, context) {
  const look = {log: context.query().get("log") === "1"}, facts = h("dl", {class: "facts"}), plan = h("pre", {class: "plan-text"}), note = h("p", {class: "quiet"}), legend = h("div"), place = h("div", {class: "stack"});
  let charts = [], shapes = "", found = bracketsOf(e), count = h("span", {class: "quiet"});
  const kept = e.config?.read?.searcher ?? {};

  const ranking = {trained: "was trained", validated: "was validated", checkpointed: "was saved", exited: "gave up", invalid: "cannot be", closed: "is done"};
  const events = table({
    label: "Events of the search", sort: null, selected: null, empty: "Nothing has happened yet.", rowKey: v => String(v.id), rowLabel: v => `trial ${v.trial} ${v.kind}`,
    columns: [{key: "kind", title: "Event", kind: "text", width: 200, sortable: false, cell: v => `trial ${v.trial} ${ranking[v.kind] ?? v.kind}`}, {key: "length", title: "Length", kind: "number", width: 100, sortable: false, cell: v => v.length > 0 ? number(v.length) : ""},
      {key: "metrics", title: e.objectives.map(o => o.name).join(", "), kind: "number", width: 220, sortable: false, cell: v => v.metrics ? v.metrics.map(m => number(finite(m) ?? m)).join(", ") : ""},
      {key: "time", title: "When", kind: "text", width: 180, sortable: false, cell: v => date(v.time)}, {key: "id", title: "Number", kind: "number", width: 90, sortable: false, cell: v => v.id}],
    fetch: async (offset, limit) => ({total: e.events.length, rows: e.events.slice(Math.max(0, e.events.length - offset - limit), e.events.length - offset).reverse()}), // the newest first
  });
  events.element.classList.add("low");

  function drawPlan() {
    const fact = (key, ...value) => h("div", null, h("dt", null, key), h("dd", null, value));
    const sampler = kept.sampler ? typeof kept.sampler === "object" ? kept.sampler.type : kept.sampler : "random";
    fill(facts, fact("method", e.search?.name ?? kept.name ?? "–"), fact("sampler", sampler), fact("progress", percent(e.search?.progress ?? e.row.progress)), fact("trials made", number(e.search?.trials ?? e.row.trials)),
      kept.max_trials ? fact("trials planned", number(kept.max_trials)) : null, e.search ? fact("length at most", `${number(e.search.max_length)} ${e.search.unit}`) : null, e.search ? fact("saved by stopping early", `${number(e.search.saved)} ${e.search.unit}`) : null);
    plan.hidden = !e.search?.plan;
    plan.textContent = e.search?.plan?.trim() ?? "";
    count.textContent = ` ${number(e.events.length)}, the newest first`;
    fill(legend, toneLegend(e));
  }

  function drawBrackets() {
    found = bracketsOf(e);
    const lengths = Math.max(0, ...found.brackets.map(b => b.rungs.length)), now = found.brackets.map(b => `${b.number}:${b.rungs.map(r => r.length)}`).join(";");
    const drawable = found.brackets.length > 0 && lengths > 1 && lengths <= 24;
    note.textContent = drawable ? "A column is a rung: its trials by the metric they had there. Those that went on are filled, and a line leads to the next rung." + (found.brackets[0]?.reached ? " The plan is told while a search runs; afterwards this is what became of it." : "")
      : found.seen === 0 ? "No trial has been validated yet." : lengths > 24 ? `Trials were validated at ${lengths} lengths: too many for rungs. Overview has their curves.` : "All trials have the same length: this method has no rungs.";
    if (!drawable || now !== shapes) {
      closing(charts)();
      charts = drawable ? found.brackets.slice(0, 12).map((b, i) => bracketChart(e, () => found.brackets[i] ?? b, `Bracket ${b.number}: ${number(b.trials)} trials`, look, context.open)) : [];
      fill(place, charts.map(chart => chart.element), found.brackets.length > 12 && drawable ? h("p", {class: "quiet"}, `12 of ${found.brackets.length} brackets`) : null);
      shapes = drawable ? now : "";
    } else {
      charts.forEach(chart => chart.update({}));
    }
  }
  drawPlan();
  drawBrackets();
  events.reload();
  return {
    element: h("div", {class: "stack"}, facts, plan, h("h2", null, "Rungs"), h("div", {class: "bar"}, legend, h("span", {class: "spring"}), toggle("Logarithmic metric", look.log, on => { look.log = on; context.setQuery({log: on ? 1 : null}); charts.forEach(chart => chart.update({})); })), note, place, h("h2", null, "Events", count), events.element),
    update() { drawPlan(); drawBrackets(); return events.reload(); },
    close() { closing(charts)(); events.close(); },
  };
}
