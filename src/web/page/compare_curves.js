// Learning curves of several runs: a card a metric, drawn when it comes into sight.
import {h, fill, button, labelled, choice} from "./html.js";
import {single} from "./live.js";
import {number, duration} from "./format.js";
import {lineChart} from "./chart.js";
import {bySplit} from "./compare_data.js";
import {makeParts, wholeCurves} from "./curve_parts.js";

const DASHES = {valid: "", test: "7 3", train: "2 2.5"};
const X = {step: {label: "step", of: c => c.steps, format: null}, epoch: {label: "epoch", of: c => c.epochs, format: null}, time: {label: "time", of: c => c.times, format: duration}};

/** Settings of the address: what the cards are made of. */
export function readCurves(q) {
  const ends = (q.get("zoom") ?? "").split("..").map(parseFloat), smooth = Number(q.get("smooth"));
  return {
    x: X[q.get("x")] ? q.get("x") : "step", logx: q.get("logx") === "1", logy: q.get("logy") === "1", smooth: Number.isFinite(smooth) ? Math.min(0.99, Math.max(0, smooth)) : 0,
    apart: q.get("split") === "apart", linked: q.get("linked") !== "0", zoom: ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null,
    open: q.get("open") === null ? null : q.get("open").split(",").filter(Boolean),
  };
}

export const writeCurves = v => ({x: v.x === "step" ? null : v.x, logx: v.logx ? 1 : null, logy: v.logy ? 1 : null, smooth: v.smooth || null, split: v.apart ? "apart" : null,
  linked: v.linked ? null : 0, zoom: v.zoom && v.linked ? v.zoom.map(a => +a.toPrecision(7)).join("..") : null, open: v.open === null ? null : v.open.join(",") || "none"});

/** Cards there can be: [{key, metrics: [names], runs: how many have any}], what most runs share first. */
function cardsOf(data, apart) {
  const all = new Map();
  for (const m of data.metrics.values()) {
    const key = apart ? m.metric : m.name;
    if (!all.has(key))
      all.set(key, {key, metrics: [], runs: 0, name: m.name, split: apart ? m.split : ""});
    const card = all.get(key);
    card.metrics.push(m);
    card.runs = Math.max(card.runs, m.runs);
  }
  const setting = c => /learning_rate|gradient_norm|momentum|scale$/.test(c.name);
  for (const card of all.values())
    card.metrics.sort((a, b) => bySplit(a.split, b.split));
  return [...all.values()].sort((a, b) => setting(a) - setting(b) || b.runs - a.runs || a.name.localeCompare(b.name) || bySplit(a.split, b.split));
}

/** Those that are open when nobody has said: of most runs, results before settings, six at most. */
function firstOpen(cards, runs) {
  const most = cards.filter(c => c.runs * 2 >= runs && !/learning_rate|gradient_norm|momentum/.test(c.name));
  return (most.length > 0 ? most : cards).slice(0, 6).map(c => c.key);
}

/**
 * page: {data, view, runs() -> shown runs [{id, name, colour}], keep(): into the address, trouble(error)}.
 * Returns {element, draw(), changed() -> Promise, close()}.
 */
export function curvesTab(page) {
  const {data} = page, charts = new Map(), sighted = new Set(); // key -> {place, chart, dirty, ...}; keys of cards in sight
  const parts = makeParts(data.points), grid = h("div", {class: "cards"}), more = h("div", {class: "more"}), told = h("p", {class: "quiet told", role: "status"});
  const {view} = page;
  let frame = 0;
  const sight = new IntersectionObserver(entries => {
    for (const e of entries)
      e.isIntersecting ? sighted.add(e.target.dataset.card) : sighted.delete(e.target.dataset.card);
    sync();
  }, {rootMargin: "300px 0px"});

  // ---- settings ----

  const weight = h("output", null), slider = h("input", {type: "range", min: 0, max: 0.99, step: 0.01, on: {input: e => change({smooth: +e.target.value})}});
  const tick = (text, key, title) => {
    const field = h("input", {type: "checkbox", on: {change: e => change({[key]: e.target.checked})}});
    return {field, key, element: h("label", {class: "field", title}, field, text)};
  };
  const ticks = [tick("Log x", "logx"), tick("Log y", "logy"), tick("Zoom all", "linked", "A zoom of one card is a zoom of all")];
  const axis = h("select", {on: {change: e => change({x: e.target.value, zoom: null})}});
  const splits = choice([["together", "together"], ["apart", "apart"]], "together", v => change({apart: v === "apart", open: null}));
  const settings = h("div", {class: "bar folded settings"}, labelled("Smoothing", slider), weight, labelled("Over", axis), labelled("Valid and train", splits), ticks.map(t => t.element));
  const fold = button("Settings", () => fold.setAttribute("aria-expanded", String(settings.classList.toggle("open"))), {class: "fold", "aria-expanded": "false"});

  function settle() {
    slider.value = view.smooth;
    weight.textContent = view.smooth.toFixed(2);
    splits.value = view.apart ? "apart" : "together";
    for (const t of ticks)
      t.field.checked = view[t.key];
    const epochs = [...data.heads.values()].some(c => c.epochs);
    fill(axis, [["step", "Step"], ...(epochs ? [["epoch", "Epoch"]] : []), ["time", "Time"]].map(([v, text]) => h("option", {value: v, selected: v === view.x}, text)));
  }

  function change(changes) {
    Object.assign(view, changes);
    page.keep();
    settle();
    layout();
    soon();
    refine();
  }

  // ---- cards ----

  const nameOf = (card, run, m) => card.metrics.length > 1 ? `${run.name} · ${m.split}` : run.name;

  /** Every curve of a card that is known, as f(run, metric, curve). */
  const each = (card, f) => page.runs().flatMap(run => card.metrics.flatMap(m => {
    const c = data.curve(m.metric, run.id);
    return c ? [f(run, m, c)] : [];
  }));

  const zoomOf = entry => view.linked ? view.zoom : entry.zoom;

  /** For the table of a card: every point, however many the picture has. */
  async function wholeOf(card) {
    const mine = each(card, (run, m) => ({run, m})), all = await wholeCurves(mine.map(({run, m}) => ({id: run.id, metric: m.metric})));
    return mine.map(({run, m}) => ({run, m, c: all.get(`${m.metric} ${run.id}`)})).filter(l => l.c)
      .map(({run, m, c}) => ({name: nameOf(card, run, m), xs: X[view.x].of(c), ys: c.values})).filter(l => l.xs);
  }

  /** Of cards in sight that are zoomed: the part, with as many points as a whole curve has. */
  const refine = single(async () => {
    const cards = [...sighted].map(key => charts.get(key)).filter(c => c?.chart && zoomOf(c)), {of} = X[view.x];
    try {
      if (await parts.need(cards.flatMap(entry => each(entry.card, (run, m, curve) => ({curve, id: run.id, xs: of(curve), ends: zoomOf(entry)})))))
        for (const entry of cards)
          entry.dirty = true;
      soon();
    } catch (error) {
      page.trouble(error);
    }
  });

  function seriesOf(card, zoom) {
    const out = [], {of} = X[view.x];
    let timeless = 0;
    for (const run of page.runs())
      for (const m of card.metrics) {
        const whole = data.curve(m.metric, run.id), c = whole && parts.of(whole, run.id, of(whole), zoom);
        if (!c)
          continue;
        const xs = of(c);
        if (!xs) {
          timeless++;
          continue;
        }
        const at = c.best ? c.steps.indexOf(c.best.step) : -1;
        out.push({name: nameOf(card, run, m), run: run.id, colour: run.colour, faint: m.split === "train" && card.metrics.length > 1, dash: card.metrics.length > 1 ? DASHES[m.split] ?? "4 2 1 2" : "",
          xs, ys: c.values, best: c.best && c.best.value !== null && (m.split !== "train" || card.metrics.length === 1) && (view.x === "step" || at >= 0) ? {x: view.x === "step" ? c.best.step : xs[at], y: c.best.value} : null});
      }
    return {series: out, timeless};
  }

  function drawCard(entry) {
    const {series, timeless} = seriesOf(entry.card, zoomOf(entry)), x = X[view.x];
    const options = {series, whole: () => wholeOf(entry.card), smoothing: view.smooth, zoom: zoomOf(entry), legend: false, height: 290,
      x: {label: x.label, scale: view.logx ? "log" : "linear", format: x.format}, y: {scale: view.logy ? "log" : "linear"}};
    entry.dirty = false;
    if (entry.chart) {
      entry.chart.update(options);
    } else {
      entry.chart = lineChart({title: entry.card.key, ...options, onZoom: zoom => {
        entry.zoom = zoom;
        if (view.linked)
          change({zoom});
        else
          refine();
      }, onHover: at => {
        for (const [key, other] of charts)
          if (other !== entry && other.chart && sighted.has(key))
            other.chart.point?.(at);
      }});
      const caption = entry.chart.element.querySelector("figcaption");
      caption.append(button("–", () => foldCard(entry.card.key), {class: "plain", "aria-label": `Fold ${entry.card.key}`, title: "Fold"}));
      entry.none = h("p", {class: "quiet told"});
      entry.chart.element.append(entry.none);
      fill(entry.place, entry.chart.element);
    }
    entry.none.textContent = timeless > 0 ? `${number(timeless)} curves have no ${x.label}s and are not here` : "";
    page.emphasise?.();
  }

  const opened = () => view.open ?? firstOpen(cardsOf(data, view.apart), data.runs.length);
  const foldCard = key => { change({open: opened().filter(k => k !== key)}); more.querySelector("button")?.focus(); };
  const openCard = key => { change({open: [...opened().filter(k => k !== "none"), key]}); grid.lastElementChild?.scrollIntoView({block: "nearest"}); };

  /** Cards in their order; those that are open are kept as they are. */
  function layout() {
    const all = cardsOf(data, view.apart), keys = opened(), wanted = all.filter(c => keys.includes(c.key)), rest = all.filter(c => !keys.includes(c.key));
    for (const [key, entry] of charts)
      if (!wanted.some(c => c.key === key)) {
        sight.unobserve(entry.place);
        entry.chart?.close();
        entry.place.remove();
        charts.delete(key);
        sighted.delete(key);
      }
    wanted.forEach((card, i) => {
      if (!charts.has(card.key)) {
        const place = h("div", {class: "card-place", data: {card: card.key}});
        charts.set(card.key, {place, card, chart: null, zoom: null, dirty: true});
        sight.observe(place);
      }
      const entry = charts.get(card.key);
      entry.card = card;
      entry.dirty = true;
      if (grid.children[i] !== entry.place)
        grid.insertBefore(entry.place, grid.children[i] ?? null);
    });
    more.hidden = rest.length === 0;
    fill(more, h("h2", null, "Folded"), h("div", {class: "chips"}, rest.map(c =>
      button([c.key, h("span", {class: "quiet"}, ` ${number(c.runs)} ${c.runs === 1 ? "run" : "runs"}`)], () => openCard(c.key), {class: "chip", "aria-label": `Show ${c.key}, which ${c.runs} runs have`}))));
    const long = [...data.heads.values()].some(c => c.total > data.points);
    fill(told, all.length === 0 ? "No metric is written yet: the first come with the first step that is told." : [
      !view.apart && all.some(c => c.metrics.length > 1) ? "valid ──  train ┄┄  ○ best" : "○ best",
      long ? `; curves of more than ${number(data.points)} points are thinned out (the highest and lowest of each piece stay; a part that is zoomed into has as many of its own, CSV every point)` : ""]);
  }

  function drawSighted() {
    frame = 0;
    for (const [key, entry] of charts)
      if (entry.dirty && sighted.has(key) && (entry.chart || entry.card.metrics.some(m => data.runs.some(r => data.curve(m.metric, r.id)))))
        drawCard(entry);
  }
  const soon = () => { frame ||= requestAnimationFrame(drawSighted); };

  /** Ask for what the cards in sight lack: new cards one by one, so that the first is there soon, what has grown at once. */
  async function sync() {
    soon();
    const cards = [...sighted].map(key => charts.get(key)).filter(Boolean), names = c => c.card.metrics.map(m => m.metric);
    const bare = cards.filter(c => !c.chart), parts = [...bare.map(names), cards.filter(c => c.chart).flatMap(names)];
    await Promise.all(parts.filter(metrics => metrics.length > 0).map(async metrics => {
      try {
        if (!await data.need(metrics))
          return;
        for (const entry of charts.values())
          entry.dirty ||= names(entry).some(name => metrics.includes(name));
        soon();
      } catch (error) {
        page.trouble(error);
      }
    }));
    refine();
  }

  settle();
  layout();
  const element = h("div", {class: "curves"}, h("h2", {class: "hidden"}, "Learning curves"), fold, settings, told, grid, more);
  return {
    element,
    draw() { settle(); layout(); soon(); refine(); },
    async changed() { layout(); await sync(); },
    close() {
      sight.disconnect();
      cancelAnimationFrame(frame);
      for (const entry of charts.values())
        entry.chart?.close();
    },
  };
}
