// Cards over any runs or groups: lines, bars, dots over two keys, parallel coordinates. A card is drawn and its values are asked
// for when it comes into sight; which cards there are stands in the address, or follows from what most runs have.
import {h, fill, button, labelled, choice, fresh} from "./html.js";
import {single} from "./live.js";
import {number, duration, percent} from "./format.js";
import {lineChart} from "./chart.js";
import {bars} from "./chart_more.js";
import {parallelChart, scatterChart, toneLegend} from "./search_charts.js";
import {readCurves, writeCurves} from "./compare_curves.js";
import {bySplit} from "./compare_data.js";
import {runSource, groupSource} from "./board_data.js";
import {asSearch, bestMetric, valueOf} from "./rows_search.js";
import {colourOf, dashesOf, shortNames} from "./names.js";

const ROWS = 500; // of the table that a card takes at most
const X = {step: {label: "step", of: c => c.steps, format: null}, epoch: {label: "epoch", of: c => c.epochs, format: null}, time: {label: "time", of: c => c.times, format: duration}};
const TYPES = [["line", "Lines"], ["bars", "Bars"], ["scatter", "Scatter"], ["parallel", "Parallel coordinates"]];
const HELP = {line: "metrics with commas between, also computed: train.loss / valid.loss", bars: "a key: best, metric.valid.loss", scatter: "two keys: config.optimizer.learning_rate, best",
  parallel: "keys, the last one ranks: config.optimizer.learning_rate, config.model.hidden, best"};
const PLACEHOLDER = {line: "valid.loss, train.loss", bars: "best", scatter: "config.optimizer.learning_rate, best", parallel: "config.optimizer.learning_rate, best"};
const SETTING = /learning_rate|gradient_norm|momentum|scale$/;

/** "line:valid.loss,train.loss" -> {type, keys, text}; null: it is no card. */
export function readCard(text) {
  const [, type, rest] = /^(\w+):(.*)$/s.exec(text) ?? [], keys = (rest ?? "").split(",").map(k => k.trim()).filter(Boolean);
  return TYPES.some(([t]) => t === type) && keys.length > (type === "scatter" ? 1 : 0) ? {type, keys, text: `${type}:${keys.join(",")}`} : null;
}

const titleOf = c => {
  const short = key => key.replace(/^(metric|config)\./, "");
  if (c.type === "line") {
    const ends = new Set(c.keys.map(k => /^[\w.@:%]+$/.test(k) ? k.slice(k.indexOf(".") + 1) : k));
    return ends.size === 1 && c.keys.length > 1 ? [...ends][0] : c.keys.join(", ");
  }
  return c.type === "scatter" ? `${short(c.keys[1])} over ${short(c.keys[0])}` : c.type === "parallel" ? `${c.keys.slice(0, -1).map(short).join(", ")} → ${short(c.keys.at(-1))}` : short(c.keys[0]);
};

export function readBoard(q) {
  const cards = q.getAll("card").map(readCard).filter(c => c);
  return {...readCurves(q), band: q.get("band") === "range" ? "range" : q.get("band") === "none" ? "none" : "deviation", cards: q.has("card") ? cards : null};
}

export function writeBoard(look) {
  const {open, split, ...curves} = writeCurves(look);
  return {...curves, band: look.band === "deviation" ? null : look.band, card: look.cards === null ? null : look.cards.length > 0 ? look.cards.map(c => c.text) : "none"};
}

/** Cards where nobody has said: the metrics that most have, results before settings; then what the best came to. */
function firstCards(source, many, hasBest) {
  const named = new Map();
  for (const m of source.metrics.values())
    named.set(m.name, [...(named.get(m.name) ?? []), m]);
  const most = Math.max(0, ...[...source.metrics.values()].map(m => m.runs));
  const all = [...named].map(([name, list]) => ({name, list: list.sort((a, b) => bySplit(a.split, b.split)), runs: Math.max(...list.map(m => m.runs)), valid: list.some(m => m.split !== "train")}));
  const wanted = all.filter(m => m.runs * 2 >= most && !SETTING.test(m.name)).sort((a, b) => b.valid - a.valid || b.runs - a.runs || a.name.localeCompare(b.name)).slice(0, many && hasBest ? 5 : 6);
  return [...wanted.map(m => readCard(`line:${m.list.filter(s => ["valid", "train"].includes(s.split) || m.list.length === 1).map(s => s.metric).join(",") || m.list[0].metric}`)),
    many && hasBest ? readCard("bars:best") : null].filter(c => c);
}

/**
 * options: {look: readBoard(), keep(): the look into the address, rows(columns, limit) -> Promise of {rows, total}, keys() -> Promise of the
 *   columns there are, measured(): the same of the rows that match, href(row), go(href)}.
 * show(rows drawn, groups: null or the query that chooses them) -> Promise, when the cards in sight have their values.
 */
export function board(options) {
  const {look} = options, cards = new Map(), sighted = new Set(); // text -> {card, place, chart, dirty, zoom, e}
  let wrong = "";
  const grid = h("div", {class: "cards board-cards"}), told = h("p", {class: "quiet told", role: "status"}), sheet = h("div");
  let source = null, drawn = [], key = "", groups = null, rows = [], total = 0, closed = false, frame = 0, turn = 0;
  const sight = new IntersectionObserver(entries => {
    for (const e of entries)
      e.isIntersecting ? sighted.add(e.target.dataset.card) : sighted.delete(e.target.dataset.card);
    sync();
  }, {rootMargin: "200px 0px"});

  // ---- settings ----

  const weight = h("output"), slider = h("input", {type: "range", min: 0, max: 0.99, step: 0.01, on: {input: e => change({smooth: +e.target.value})}});
  const tick = (text, name, title) => {
    const field = h("input", {type: "checkbox", on: {change: e => change({[name]: e.target.checked})}});
    return {field, name, element: h("label", {class: "field", title}, field, text)};
  };
  const ticks = [tick("Log x", "logx"), tick("Log y", "logy"), tick("Zoom all", "linked", "A zoom of one card is a zoom of all")];
  const over = choice(Object.keys(X).map(k => [k, k]), "step", v => change({x: v, zoom: null}));
  const spread = choice([["deviation", "± deviation"], ["range", "lowest to highest"], ["none", "none"]], "deviation", v => change({band: v}));
  const spreadField = labelled("Band", spread), overField = labelled("Over", over);
  const settings = h("div", {class: "bar folded settings"}, labelled("Smoothing", slider), weight, overField, spreadField, ticks.map(t => t.element));
  const fold = button("Settings", () => fold.setAttribute("aria-expanded", String(settings.classList.toggle("open"))), {class: "fold always", "aria-expanded": "false"});
  const first = button("First cards", () => setCards(null), {class: "plain", title: "The cards that follow from what the runs have"});
  const head = h("div", {class: "bar board-head"}, h("h2", {class: "hidden"}, "Cards"), told, h("span", {class: "spring"}), first, fold, button("+ Card", () => edit(null), {"aria-label": "Add a card"}));

  function settle() {
    slider.value = look.smooth;
    weight.textContent = look.smooth.toFixed(2);
    over.value = look.x;
    spread.value = look.band;
    spreadField.hidden = !groups;
    overField.hidden = Boolean(groups);
    first.hidden = look.cards === null;
    for (const t of ticks)
      t.field.checked = look[t.name];
  }

  function change(changes) {
    Object.assign(look, changes);
    options.keep();
    settle();
    for (const entry of cards.values())
      entry.dirty = true;
    soon();
    sync();
  }

  // ---- which cards ----

  const shown = () => look.cards ?? (source ? firstCards(source, drawn.length > 1, drawn.some(r => r.best)) : []);

  function setCards(next) {
    look.cards = next;
    options.keep();
    settle();
    layout();
    sync();
  }

  /** The form: of a card, or of a new one (null). */
  function edit(card) {
    const names = h("datalist", {id: fresh("keys")}), help = h("span", {class: "quiet"});
    const kind = choice(TYPES, card?.type ?? "line", () => settleKind(), {"aria-label": "Kind of card"});
    const what = h("input", {required: true, size: 44, value: card?.keys.join(", ") ?? "", list: names.id, autocomplete: "off", spellcheck: "false", on: {input: () => {
      what.setCustomValidity("");
      suggest();
    }}});
    let all = [];
    const settleKind = () => { what.placeholder = PLACEHOLDER[kind.value]; help.textContent = HELP[kind.value]; suggest(); };
    const suggest = () => { // the last of a list is completed
      const before = what.value.includes(",") ? `${what.value.slice(0, what.value.lastIndexOf(",") + 1)} ` : "";
      const found = kind.value === "line" ? all.filter(k => k.startsWith("metric.")).map(k => k.slice(7)) : ["best", "step", "progress", ...all];
      fill(names, found.slice(0, 300).map(k => h("option", {value: before + k})));
    };
    const done = () => {
      fill(sheet);
      head.querySelector('[aria-label="Add a card"]').focus();
    };
    const form = h("form", {class: "sheet", "aria-label": card ? "Change the card" : "Add a card", on: {submit: e => {
      e.preventDefault();
      const made = readCard(`${kind.value}:${what.value}`);
      if (!made) {
        what.setCustomValidity(`${PLACEHOLDER[kind.value]}: ${HELP[kind.value]}`);
        what.reportValidity();
        return;
      }
      const now = shown();
      done();
      setCards(card ? now.map(c => c.text === card.text ? made : c) : now.some(c => c.text === made.text) ? now : [made, ...now]);
    }, keydown: e => e.key === "Escape" && done()}},
    kind, labelled("What", what), h("button", {type: "submit", class: "main"}, card ? "Change" : "Add"), button("Cancel", done), help, names);
    fill(sheet, form);
    settleKind();
    what.focus();
    options.keys().then(found => {
      all = found.map(k => k.key);
      suggest();
    }, () => {});
  }

  /** Cards in their order; those that are there are kept as they are. */
  function layout() {
    const wanted = shown();
    for (const [text, entry] of cards)
      if (!wanted.some(c => c.text === text)) {
        sight.unobserve(entry.place);
        entry.chart?.close();
        entry.place.remove();
        cards.delete(text);
        sighted.delete(text);
      }
    wanted.forEach((card, i) => {
      if (!cards.has(card.text)) {
        const place = h("div", {class: `card-place ${card.type}`, data: {card: card.text}});
        cards.set(card.text, {place, card, chart: null, zoom: null, dirty: true, e: null, brushes: new Map()});
        sight.observe(place);
      }
      const entry = cards.get(card.text);
      if (grid.children[i] !== entry.place)
        grid.insertBefore(entry.place, grid.children[i] ?? null);
    });
    if (wanted.length === 0)
      fill(told, source ? "No card: add one, or take the first cards." : "");
  }

  // ---- lines ----

  const zoomOf = entry => look.linked ? look.zoom : entry.zoom;

  function seriesOf(card, zoom) {
    const dashes = dashesOf(drawn.map(r => r.id)), out = [], x = groups ? X.step : X[look.x], names = shortNames(drawn.map(r => r.name)), strong = card.keys.some(k => !k.startsWith("train."));
    drawn.forEach((r, n) => {
      for (const metric of card.keys) {
        const c = source.curve(metric, r.id, zoom, look.x), xs = c && x.of(c), faint = strong && metric.startsWith("train.");
        if (!xs || xs.length === 0)
          continue;
        const spreads = c.band && look.band !== "none" && !faint ? look.band === "range" ? {low: c.band.low, high: c.band.high}
          : {low: c.values.map((v, i) => v === null || c.band.deviation[i] === null ? v : v - c.band.deviation[i]), high: c.values.map((v, i) => v === null || c.band.deviation[i] === null ? v : v + c.band.deviation[i])} : null;
        const at = c.best ? c.steps.indexOf(c.best.step) : -1;
        out.push({name: card.keys.length > 1 ? `${names[n]} · ${/^[\w.@:%]+$/.test(metric) ? metric.split(".")[0] : metric}` : names[n], run: r.id, colour: colourOf(r.id), dash: dashes.get(r.id),
          faint, points: faint || c.band ? false : undefined, label: faint ? null : names[n], band: spreads, xs, ys: c.values, best: c.best && c.best.value !== null && !faint && at >= 0 ? {x: xs[at], y: c.best.value} : null});
      }
    });
    const labelled = new Set(); // a run is named once
    for (const l of out)
      l.label = l.label !== null && !labelled.has(l.run) ? labelled.add(l.run) && l.label : null;
    return out;
  }

  function drawLines(entry) {
    const zoom = zoomOf(entry), series = seriesOf(entry.card, zoom), x = groups ? X.step : X[look.x];
    const values = {series, smoothing: look.smooth, zoom, legend: false, height: 270, x: {label: x.label, scale: look.logx ? "log" : "linear", format: x.format}, y: {scale: look.logy ? "log" : "linear"},
      whole: async () => {
        const find = await source.whole(entry.card.keys, drawn.map(r => r.id)), names = shortNames(drawn.map(r => r.name));
        return drawn.flatMap((r, n) => entry.card.keys.map(k => ({k, c: find(k, r.id)})).filter(w => w.c && x.of(w.c)).map(({k, c}) => ({name: entry.card.keys.length > 1 ? `${names[n]} · ${k}` : names[n], xs: x.of(c), ys: c.values})));
      }};
    if (entry.chart)
      return entry.chart.update(values);
    entry.chart = lineChart({title: titleOf(entry.card), ...values, onZoom: to => {
      entry.zoom = to;
      if (look.linked)
        return change({zoom: to});
      entry.dirty = true;
      return sync();
    }, onHover: at => {
      for (const [text, other] of cards)
        if (other !== entry && other.card.type === "line" && other.chart && sighted.has(text))
          other.chart.point(at);
    }});
    return put(entry);
  }

  // ---- the others ----

  const columnsOf = card => card.type === "line" ? [] : card.keys;

  function drawRows(entry) {
    const {card} = entry, open = t => { const to = options.href(t.row); to && options.go(to); };
    if (card.type === "bars") {
      const names = shortNames(drawn.map(r => r.name)), mine = drawn.map(r => rows.find(o => o.id === r.id) ?? r);
      const key = card.keys[0], named = key === "best" ? bestMetric(mine) : null, title = named ? `Best ${named}` : titleOf(card);
      const items = mine.map((r, i) => {
        const v = key === "best" ? r.best?.value : r.values?.[key] ?? r[key];
        return {id: r.id, name: names[i], whole: r.name, colour: colourOf(r.id), value: valueOf(r, key, named), deviation: v?.deviation ?? null, runs: v?.runs ?? null};
      }).filter(b => typeof b.value === "number" && Number.isFinite(b.value));
      const values = {items, missing: mine.length - items.length, label: named ? `best ${named}` : ""};
      if (entry.title === title)
        return entry.chart.update(values);
      entry.chart?.close(); // other rows chose by another metric
      entry.title = title;
      entry.chart = bars({title, ...values});
      return put(entry);
    }
    const metric = card.type === "parallel" ? card.keys.at(-1) : ["best", ...card.keys].find(k => card.keys.includes(k) && (k === "best" || k.startsWith("metric."))) ?? "best";
    const made = asSearch(rows, card.keys, metric);
    if (entry.e) {
      Object.assign(entry.e, made);
    } else {
      entry.e = made;
      const pictured = card.type === "parallel"
        ? parallelChart(entry.e, {title: titleOf(card), axes: card.keys.slice(0, -1), brushes: entry.brushes, log: look.logy, onBrush: (name, b) => {
          b ? entry.brushes.set(name, b) : entry.brushes.delete(name);
          entry.chart.update({});
        }}, open)
        : scatterChart(entry.e, {title: titleOf(card), height: 300, x: card.keys[0], y: card.keys[1], log: look.logy}, open);
      entry.chart = pictured;
      entry.legend = h("div");
      entry.left = h("p", {class: "quiet told"});
      pictured.element.append(entry.legend, entry.left);
      put(entry);
    }
    fill(entry.legend, toneLegend(entry.e));
    entry.left.textContent = [rows.length < total ? `the first ${number(rows.length)} of ${number(total)} rows of the table` : "", entry.e.ranked.length < rows.length ? `${number(rows.length - entry.e.ranked.length)} have no ${metric === "best" ? "best " : ""}${entry.e.metric()}` : ""].filter(Boolean).join("; ");
    return entry.chart.update({});
  }

  function put(entry) {
    const caption = entry.chart.element.querySelector("figcaption"), title = caption.querySelector("h3").textContent;
    caption.append(button("✎", () => edit(entry.card), {class: "plain", "aria-label": `Change the card ${title}`, title: "Change"}),
      button("×", () => setCards(shown().filter(c => c.text !== entry.card.text)), {class: "plain", "aria-label": `Take the card ${title} away`, title: "Take away"}));
    fill(entry.place, entry.chart.element);
  }

  function drawSighted() {
    frame = 0;
    for (const [text, entry] of cards)
      if (entry.dirty && sighted.has(text) && source) {
        if (entry.card.type === "line" ? entry.chart || entry.came : rows.length > 0 || entry.card.type === "bars") {
          entry.dirty = false;
          entry.card.type === "line" ? drawLines(entry) : drawRows(entry);
        }
      }
  }
  const soon = () => { frame ||= requestAnimationFrame(drawSighted); };

  // ---- asking ----

  function trouble(error) {
    wrong = error.message;
    tell();
  }

  function tell() {
    told.classList.toggle("wrong", wrong !== "");
    if (wrong !== "")
      fill(told, wrong);
    else if (cards.size > 0)
      fill(told, drawn.length === 0 ? "" : [`${number(drawn.length)} ${groups ? (drawn.length === 1 ? "group" : "groups, mean and spread") : drawn.length === 1 ? "run" : "runs"} drawn`, ...(source?.told() ?? [])].join("; "));
  }

  /** What the cards in sight lack. */
  const sync = single(async () => {
    if (!source || closed)
      return;
    const mine = turn, entries = [...sighted].map(text => cards.get(text)).filter(Boolean), lines = entries.filter(e => e.card.type === "line");
    const zooms = new Map(); // cards with one zoom are one question
    for (const e of lines) {
      const zoom = zoomOf(e), at = zoom?.join() ?? "";
      zooms.set(at, {zoom, list: [...(zooms.get(at)?.list ?? []), e]});
    }
    const columns = [...new Set(entries.flatMap(e => columnsOf(e.card)))];
    let pause = 0;
    try {
      await Promise.all([...[...zooms.values()].map(async ({zoom, list}) => {
        const came = await source.need([...new Set(list.flatMap(e => e.card.keys))], zoom, look.x);
        for (const e of list) {
          e.dirty ||= came || !e.came;
          e.came = true;
        }
        soon();
      }), columns.length > 0 ? options.rows(columns, ROWS).then(answer => {
        if (mine !== turn)
          return;
        const was = JSON.stringify(rows);
        ({rows, total} = answer);
        if (was !== JSON.stringify(rows))
          for (const e of entries)
            e.dirty ||= e.card.type !== "line";
      }) : null]);
      wrong = source.wrong ?? "";
    } catch (error) {
      trouble(error);
      pause = 3000; // the server may have ended
    }
    soon();
    tell();
    if (groups && source.more && !closed) // the server goes on where it stopped
      setTimeout(sync, pause);
  });

  async function show(next, by) {
    const mine = ++turn, now = JSON.stringify([by, next.map(r => r.id)]);
    drawn = next;
    groups = by;
    if (now !== key) {
      key = now;
      const made = by ? groupSource(next.map(r => r.id), by, options.measured) : next.length > 0 ? runSource(next.map(r => r.id)) : null;
      if (made)
        await made.look().catch(trouble);
      if (mine !== turn || closed)
        return;
      source = made;
      for (const entry of cards.values())
        entry.dirty = true;
    } else if (source) {
      await source.look().catch(trouble);
      if (mine !== turn || closed)
        return;
    }
    settle();
    const before = [...cards.keys()].join();
    if (look.cards === null || before === "")
      layout();
    if (!source) {
      for (const entry of cards.values())
        entry.chart?.update(entry.card.type === "line" ? {series: []} : {});
      fill(told, "No run is drawn.");
      return;
    }
    await sync();
  }

  settle();
  if (look.cards !== null)
    layout();
  return {
    element: h("section", {class: "board", "aria-label": "Cards"}, head, settings, sheet, grid), show,
    more: () => Boolean(source?.more),
    /** The look has changed from outside: another address. */
    reset() { settle(); layout(); sync(); },
    /** The lines of a run stand out; the others step back. */
    point(id) {
      for (const line of grid.querySelectorAll("[data-run]"))
        line.classList.toggle("dim", id !== null && line.dataset.run !== id);
    },
    close() {
      closed = true;
      sight.disconnect();
      cancelAnimationFrame(frame);
      for (const entry of cards.values())
        entry.chart?.close();
    },
  };
}
