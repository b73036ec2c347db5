// Learning curves of one run: a picture a metric, with the splits that have it.
import {h, fill, labelled, choice} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {lineChart, colour} from "./chart.js";
import {duration, number} from "./format.js";
import {numberOf, late} from "./run_parts.js";
import {makeParts, wholeCurves} from "./curve_parts.js";

const POINTS = 1000;
const ORDER = ["train", "valid", "test"];

// Whichever the run is chosen by, then losses, then the others by name; a rate last: it is a setting and no result.
function rank(name, best) {
  return name === best ? 0 : /^loss$/.test(name) ? 1 : /loss|entropy|error|perplexity/.test(name) ? 2 : /learning_rate/.test(name) ? 4 : 3;
}

/**
 * The curves of one run, kept up to date with what came after. The newest step may be half written when it is asked for
 * (train before valid), so it is asked for again.
 */
function makeStore(id) {
  let curves = new Map(), top = null, damage = null, more = false, total = 0;

  /** What the server says of the log itself. more: it has not read all of it, but further than the last time. */
  function note(run) {
    const now = run.curves.reduce((sum, c) => sum + c.total, 0);
    damage = run.damage ?? null;
    more = run.more === true && now > total;
    total = now;
  }

  /** Returns whether all must be asked for again: the run went back to an earlier step, or so much came that it is to be thinned out. */
  function join(run) {
    let again = false;
    for (const c of run.curves) {
      const old = curves.get(c.metric);
      again ||= c.steps.length === 0 && c.total !== (old?.total ?? 0); // of an earlier step: what the best weights came to on test data
      if (!old) {
        curves.set(c.metric, c);
      } else if (c.steps.length > 0) {
        const first = old.steps.findIndex(s => s >= top), n = first < 0 ? old.steps.length : first;
        const both = key => old[key] && c[key] ? [...old[key].slice(0, n), ...c[key]] : null;
        curves.set(c.metric, {...c, steps: both("steps"), values: both("values"), times: both("times"), best: c.best ?? old.best});
        again ||= n + c.steps.length > 2 * POINTS;
      }
    }
    const high = Math.max(...run.curves.map(c => c.steps.at(-1) ?? -Infinity));
    again ||= high < top; // the newest step is always among the answers unless it is void now
    top = Math.max(top, high);
    return again;
  }

  async function ask() {
    if (top !== null) {
      const {runs} = await get("/api/v1/curves", {runs: id, points: POINTS, after: top - 1});
      if (runs.length > 0)
        note(runs[0]);
      if (runs.length > 0 && !join(runs[0]))
        return curves;
    }
    const {runs} = await get("/api/v1/curves", {runs: id, points: POINTS});
    if (runs.length > 0)
      note(runs[0]);
    curves = new Map((runs[0]?.curves ?? []).map(c => [c.metric, c]));
    const high = Math.max(...[...curves.values()].map(c => c.steps.at(-1) ?? -Infinity));
    top = Number.isFinite(high) ? high : null;
    return curves;
  }
  return {ask, forget() { top = null; }, damage: () => damage, more: () => more};
}

export async function open(panel, run, query) {
  const store = makeStore(run.id), charts = new Map(), parts = makeParts(POINTS);
  const cards = h("div", {class: "cards"}), none = h("p", {class: "quiet"}), told = h("p", {class: "quiet told"}), wrong = h("div");
  let curves = await store.ask(), view, state = run.row.state, closed = false, further = 0;

  const range = text => {
    const ends = (text ?? "").split("..").map(parseFloat);
    return ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
  };
  const read = q => ({
    smooth: Math.min(0.99, Math.max(0, numberOf(q, "smooth", 0))), x: q.get("x") === "time" ? "time" : "step", logx: q.get("logx") === "1",
    log: q.getAll("log"), find: q.get("find") ?? "", calm: q.get("outliers") === "no", wide: q.get("wide") === "1",
    zoom: range(q.get("zoom")),
  });
  view = read(query);

  function keep() {
    run.setQuery({smooth: view.smooth || null, x: view.x === "time" ? "time" : null, logx: view.logx ? "1" : null, log: view.log,
      find: view.find || null, outliers: view.calm ? "no" : null, wide: view.wide ? "1" : null,
      zoom: view.zoom ? view.zoom.map(v => +v.toPrecision(7)).join("..") : null});
  }
  const keepLate = late(keep, 150);

  const weight = h("output", null), slider = h("input", {type: "range", min: 0, max: 0.99, step: 0.01, on: {input: e => {
    view.smooth = +e.target.value;
    change();
  }}});
  const axis = choice([["step", "Step"], ["time", "Time"]], view.x, v => {
    view.x = v;
    view.zoom = null;
    change();
  });
  const box = (text, key) => {
    const field = h("input", {type: "checkbox", on: {change: e => {
      view[key] = e.target.checked;
      change();
    }}});
    return {field, element: h("label", {class: "field"}, field, text)};
  };
  const logX = box("Logarithmic x", "logx"), calm = box("Leave out outliers", "calm"), wide = box("Wide", "wide");
  const find = h("input", {type: "search", size: 14, on: {input: e => {
    view.find = e.target.value.trim();
    change();
  }}});

  function change() {
    keepLate();
    draw();
    refine();
  }

  function curvesOf(name) {
    const mine = [...curves.values()].filter(c => c.name === name);
    return mine.sort((a, b) => (ORDER.indexOf(a.split) + 9) % 9 - (ORDER.indexOf(b.split) + 9) % 9 || (a.split < b.split ? -1 : 1));
  }

  const xsOf = c => view.x === "time" ? c.times ?? [] : c.steps;

  function seriesOf(name) {
    const mine = curvesOf(name);
    return mine.map(whole => {
      const c = parts.of(whole, run.id, xsOf(whole), view.zoom), xs = xsOf(c), i = ORDER.indexOf(c.split);
      const at = c.best ? c.steps.indexOf(c.best.step) : -1;
      return {name: c.split, colour: colour(i < 0 ? 3 + mine.indexOf(whole) : i), dash: "", faint: c.split === "train" && mine.length > 1, xs, ys: c.values,
        best: c.best && (view.x === "step" || at >= 0 && c.times) ? {x: view.x === "time" ? c.times[at] : c.best.step, y: c.best.value} : null};
    });
  }

  /** For the table of a card: every point, however many the picture has. */
  async function wholeOf(name) {
    const mine = curvesOf(name), all = await wholeCurves(mine.map(c => ({id: run.id, metric: c.metric})));
    return mine.map(c => ({name: c.split, c: all.get(`${c.metric} ${run.id}`)})).filter(l => l.c).map(({name: split, c}) => ({name: split, xs: xsOf(c), ys: c.values}));
  }

  /** What is zoomed into and thinned out is asked for with more points; what came is drawn. */
  const refine = single(async () => {
    if (!view.zoom || closed)
      return;
    try {
      if (await parts.need([...curves.values()].map(curve => ({curve, id: run.id, xs: xsOf(curve), ends: view.zoom}))) && !closed)
        draw();
    } catch {
      // the picture stays as it is
    }
  });

  function optionsOf(name) {
    const log = view.log.includes(name);
    return {series: seriesOf(name), whole: () => wholeOf(name), smoothing: view.smooth, zoom: view.zoom, calm: view.calm, height: view.wide ? 380 : 280,
      x: {label: view.x === "time" ? "time" : "step", scale: view.logx ? "log" : "linear", format: view.x === "time" ? duration : null},
      y: {scale: log ? "log" : "linear"}};
  }

  function makeChart(name) {
    const log = h("button", {type: "button", class: "plain toggle", on: {click: () => {
      view.log = view.log.includes(name) ? view.log.filter(n => n !== name) : [...view.log, name];
      change();
    }}}, "log y");
    const chart = lineChart({title: name, legend: "always", ...optionsOf(name), onZoom: zoom => {
      view.zoom = zoom;
      change();
    }, onHover: v => {
      for (const [other, picture] of charts)
        other !== name && picture.point(v);
    }});
    chart.element.querySelector("figcaption .spring").after(log);
    chart.element.dataset.metric = name;
    return {...chart, log};
  }

  function draw() {
    slider.value = view.smooth;
    weight.textContent = view.smooth.toFixed(2);
    axis.value = view.x;
    logX.field.checked = view.logx;
    calm.field.checked = view.calm;
    wide.field.checked = view.wide;
    if (find.value.trim() !== view.find)
      find.value = view.find;
    cards.classList.toggle("wide", view.wide);
    const best = run.row.best?.metric?.split(".").pop();
    const names = [...new Set([...curves.values()].map(c => c.name))].filter(n => n.toLowerCase().includes(view.find.toLowerCase()))
      .sort((a, b) => rank(a, best) - rank(b, best) || (a < b ? -1 : 1));
    for (const [name, chart] of charts)
      if (!names.includes(name)) {
        chart.close();
        chart.element.remove();
        charts.delete(name);
      }
    let before = null;
    for (const name of names) {
      const old = charts.get(name), chart = old ?? makeChart(name);
      charts.set(name, chart);
      if (old)
        chart.update(optionsOf(name));
      chart.log.setAttribute("aria-pressed", view.log.includes(name));
      chart.log.setAttribute("aria-label", `Logarithmic axis of ${name}`);
      const place = before ? before.nextSibling : cards.firstChild;
      if (place !== chart.element)
        cards.insertBefore(chart.element, place);
      before = chart.element;
    }
    const timeless = view.x === "time" && [...curves.values()].every(c => !c.times);
    none.textContent = curves.size === 0 ? "No metric is written yet: the first come with the first step that is told."
      : names.length === 0 ? `No metric has "${view.find}" in its name.`
        : timeless ? "This run keeps no times (system.jsonl): its curves can be shown over steps." : "";
    none.hidden = none.textContent === "";
    fill(wrong, store.damage() === null ? null : h("p", {class: "cut-short"}, h("b", null, "The curves are cut short: "), store.damage(),
      ". What stands behind cannot be trusted and is not shown; a run that goes on repairs its log."));
    const long = [...curves.values()].some(c => c.total > c.steps.length);
    told.textContent = store.more() ? "The log is long: more of it comes." : long
      ? `Curves of more than ${number(POINTS)} points are thinned out (the highest and lowest of each piece stay); a part that is zoomed into has its own ${number(POINTS)}, CSV every point.` : "";
    told.hidden = told.textContent === "";
  }

  fill(panel, h("div", {class: "bar"}, labelled("Smoothing", slider), weight, labelled("Over", axis), logX.element, calm.element, wide.element,
    labelled("Find", find)), wrong, none, cards, told);
  draw();
  refine();

  const look = single(async () => {
    if (state !== "running" && run.row.state === "running")
      store.forget(); // taken up again, perhaps from an earlier step
    state = run.row.state;
    try {
      curves = await store.ask();
      if (closed)
        return;
      draw();
      refine();
    } catch {
      // what is shown stays; the next notice asks again
    }
    goOn();
  });

  /** A log of which the server has read a part is asked for again, as long as that gets further. */
  function goOn() {
    clearTimeout(further);
    if (store.more() && !closed)
      further = setTimeout(look, 500);
  }
  goOn();
  return {
    changed: look,
    update(q) {
      view = read(q);
      draw();
      refine();
    },
    close() {
      closed = true;
      clearTimeout(further);
      keepLate.stop();
      for (const chart of charts.values())
        chart.close();
    },
  };
}
