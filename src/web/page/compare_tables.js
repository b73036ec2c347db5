// Of several runs: final and best metrics, what their configurations differ in, and what they took of the machine.
import {h, fill, button, cut, labelled, choice, download, csv} from "./html.js";
import {get} from "./api.js";
import {bytes, duration, number, short} from "./format.js";
import {lineChart} from "./chart.js";
import {plainTable} from "./table.js";
import {state} from "./columns.js";
import {bySplit} from "./compare_data.js";

const runCell = r => h("span", {class: "named"}, r.swatch(), h("a", {href: `/runs/${r.id}`}, cut(r.name)));

/** page: {data, runs(), all(), query() -> URLSearchParams, set(changes)} */
export function metricsTab(page) {
  const {data} = page, place = h("div"), told = h("p", {class: "quiet told"});
  const what = choice([["both", "best and last"], ["best", "best"], ["last", "last"]], page.query().get("values") ?? "both", v => {
    page.set({values: v === "both" ? null : v});
    draw();
  });
  const save = button("CSV", () => download("metrics.csv", "text/csv", csv([["id", "run", "state", ...columns().map(c => c.name)],
    ...page.runs().map(r => [r.id, r.name, r.state, ...columns().map(c => c.value(r))])])), {"aria-label": "Save the metrics as CSV"});

  function columns() {
    const show = what.value, metrics = [...data.metrics.values()].sort((a, b) => b.runs - a.runs || bySplit(a.split, b.split) || a.name.localeCompare(b.name));
    return metrics.flatMap(m => ["best", "last"].filter(k => (show === "both" || show === k) && (k === "last" || m.best)).map(kind => {
      const value = r => {
        const c = data.head(m.metric, r.id);
        return kind === "best" ? c?.best?.value ?? null : c?.values.at(-1) ?? null;
      };
      const all = page.runs().map(value).filter(v => v !== null && Number.isFinite(v)), top = m.up === null || all.length < 2 ? null : m.up ? Math.max(...all) : Math.min(...all);
      return {key: `${kind} ${m.metric}`, name: `${m.metric} ${kind}`, kind: "number", first: m.up ? "desc" : "asc", value, help: `${kind} value of ${m.metric}`,
        title: [m.metric, h("span", {class: "quiet"}, ` ${kind}`)],
        cell: r => {
          const v = value(r), step = kind === "best" ? data.head(m.metric, r.id)?.best?.step : null, won = v !== null && v === top;
          return h("span", {class: won ? "won" : null, title: step !== null && step !== undefined ? `at step ${number(step)}` : null}, won ? h("span", {role: "img", "aria-label": "best of all runs"}, "★ ") : null, number(v));
        }};
    }));
  }

  function draw() {
    const q = page.query(), sort = q.get("sort") ? {key: q.get("sort"), order: q.get("order") ?? "asc"} : null;
    const focused = place.contains(document.activeElement);
    fill(place, plainTable("Metrics of the runs", [
      {key: "name", title: "Run", value: r => r.name, cell: runCell}, {key: "state", title: "State", value: r => r.state, cell: state}, ...columns()],
    page.runs(), "No run is shown.", {sort, onSort: s => page.set({sort: s.key, order: s.order})}));
    if (focused)
      place.querySelector("[aria-sort] button, button")?.focus();
    told.textContent = "★ best of the runs shown; a best value is the best of all steps, its step is told where the pointer rests.";
  }

  draw();
  return {element: h("div", {class: "wide-table"}, h("div", {class: "bar"}, labelled("Values", what), save), told, place), draw, changed: draw, close() {}};
}

export function configTab(page) {
  const place = h("div"), told = h("span", {class: "quiet", role: "status"});
  let answer = null, asked = "";
  const every = h("input", {type: "checkbox", checked: page.query().get("all") === "1", on: {change: e => {
    page.set({all: e.target.checked ? 1 : null});
    draw();
  }}});
  const find = h("input", {type: "search", size: 18, value: page.query().get("find") ?? "", on: {input: () => {
    page.set({find: find.value.trim()});
    draw();
  }}});
  const against = h("select", {on: {change: e => {
    page.set({against: e.target.value === answer.runs[0].id ? null : e.target.value});
    draw();
  }}});

  function shown() {
    const words = find.value.trim().toLowerCase(), runs = page.runs(), at = runs.map(r => answer.runs.findIndex(a => a.id === r.id));
    const rows = answer.keys.map(k => ({key: k.key, values: at.map(i => i < 0 ? null : k.values[i]), all: k.values}))
      .map(r => ({...r, differs: r.values.some(v => v !== r.values[0])})); // of the runs shown, not of those hidden
    return {runs, rows: rows.filter(r => (every.checked || r.differs) && (!words || `${r.key} ${r.values.join(" ")}`.toLowerCase().includes(words)))};
  }

  function draw() {
    if (!answer)
      return;
    const {runs, rows} = shown(), wanted = page.query().get("against"), base = Math.max(0, answer.runs.findIndex(r => r.id === wanted));
    fill(against, page.all().map(r => h("option", {value: r.id, selected: r.id === answer.runs[base].id}, r.name)));
    told.textContent = `${number(rows.length)} of ${number(answer.keys.length)} keys${every.checked ? "" : " differ"}`;
    const cell = (r, v) => {
      const other = v !== r.all[base];
      return h("span", {class: other ? "differs" : r.differs ? "" : "quiet", title: v}, other ? h("span", {role: "img", "aria-label": "differs:"}, "≠ ") : null, v ?? h("span", {class: "quiet"}, "not set"));
    };
    fill(place, plainTable("Configurations", [{title: "Key", cell: r => h("code", {class: r.differs ? "differs-key" : null}, r.key)},
      ...runs.map((run, i) => ({title: h("span", {class: "named"}, run.swatch(), cut(run.name)), cell: r => cell(r, r.values[i])}))], rows,
    answer.keys.length === 0 ? "These runs have no configuration." : find.value ? "Nothing has that in its key or values." : "The configurations of these runs are the same: show all keys to see them."));
  }

  const save = button("CSV", () => {
    const {runs, rows} = shown();
    download("configurations.csv", "text/csv", csv([["key", ...runs.map(r => r.name)], ...rows.map(r => [r.key, ...r.values])]));
  }, {"aria-label": "Save the configurations as CSV"});

  /** Of the runs that there are, once: one that was deleted takes no others with it. */
  async function ask() {
    const ids = page.all().map(r => r.id).join(",");
    if (ids === asked || ids === "")
      return;
    asked = ids;
    try {
      answer = await get("/api/v1/configs", {runs: ids});
      draw();
    } catch (error) {
      asked = "";
      if (!answer)
        fill(place, h("p", {class: "quiet"}, error.message));
    }
  }

  const load = ask();
  return {element: h("div", {class: "wide-table"}, h("div", {class: "bar"}, h("label", {class: "field"}, every, "All keys"), labelled("≠ against", against), labelled("Find", find), save, told), place), draw, changed: ask, load, close() {}};
}

// ---- system -------------------------------------------------------------------------------------

const MOST = 500; // points of one line

/** The lowest and highest of each piece stay. */
function thin(xs, ys) {
  if (xs.length <= MOST)
    return [xs, ys];
  const keep = new Set([0, xs.length - 1]), size = xs.length / (MOST / 2);
  for (let from = 0; from < xs.length; from += size) {
    let low = -1, high = -1;
    for (let i = Math.floor(from); i < Math.min(xs.length, Math.floor(from + size)); i++)
      if (ys[i] !== null) {
        low = low < 0 || ys[i] < ys[low] ? i : low;
        high = high < 0 || ys[i] > ys[high] ? i : high;
      }
    if (low >= 0)
      keep.add(low).add(high);
  }
  const at = [...keep].sort((a, b) => a - b);
  return [at.map(i => xs[i]), at.map(i => ys[i])];
}

/** Cores between a line and the one before; none where the run was started again between them. */
const busy = p => p.map((b, i) => {
  const a = p[i - 1];
  return !a || a.cpu_seconds === null || b.cpu_seconds === null || b.cpu_seconds < a.cpu_seconds || b.time <= a.time ? null : (b.cpu_seconds - a.cpu_seconds) / (b.time - a.time);
});
const column = key => p => p.map(one => one[key] ?? null);
const PICTURES = [
  {title: "Memory", of: column("rss"), format: bytes}, {title: "Items per second", of: column("items_per_second"), format: short},
  {title: "Steps per second", of: column("steps_per_second"), format: short}, {title: "Cores busy", of: busy, format: number},
];

export function systemTab(page) {
  const kept = new Map(), charts = [], told = h("span", {class: "quiet", role: "status"}), cards = h("div", {class: "cards"}); // id -> points, or null where there are none
  const sparse = new Set(), unasked = new Set(); // ids: of whose lines not all are here; which could not be asked
  let closed = false, last = 0;
  const over = choice([["time", "Time"], ["step", "Step"]], page.query().get("over") === "step" ? "step" : "time", v => {
    page.set({over: v === "step" ? "step" : null});
    draw();
  });

  function draw() {
    const time = over.value === "time";
    PICTURES.forEach((p, n) => {
      const all = () => page.runs().filter(r => kept.get(r.id)).map(r => {
        const points = kept.get(r.id), of = p.of(points), from = of[0] === null ? 1 : 0; // the first line has none before it
        return {name: r.name, run: r.id, colour: r.colour, dash: "", xs: points.slice(from).map(q => time ? q.seconds : q.step), ys: of.slice(from), best: null};
      });
      const series = all().map(l => {
        const [xs, ys] = thin(l.xs, l.ys);
        return {...l, xs, ys};
      });
      const options = {series, whole: async () => all(), legend: false, height: 250, x: {label: over.value, format: time ? duration : null}, y: {format: p.format, floor: 0}};
      charts[n] ? charts[n].update(options) : cards.append((charts[n] = lineChart({title: p.title, ...options})).element);
    });
    const none = page.runs().filter(r => kept.get(r.id) === null).length, asked = [...kept.keys()].length;
    told.textContent = [asked + unasked.size < page.all().length ? `asked ${number(asked)} of ${number(page.all().length)} runs` : "", none > 0 ? `${number(none)} runs have no system.jsonl: they are older, or kept none` : "",
      sparse.size > 0 ? `${number(sparse.size)} have told more often: their lines are evenly spread` : "",
      unasked.size > 0 ? `${number(unasked.size)} could not be asked: the server did not answer` : ""].filter(Boolean).join("; ");
    page.emphasise?.();
  }

  /** Four at a time; of what is not running, once. */
  async function ask(ids) {
    const left = [...ids];
    await Promise.all(Array.from({length: 4}, async () => {
      for (let id; !closed && (id = left.shift()) !== undefined;)
        try {
          const answer = await get(`/api/v1/runs/${id}/system`);
          kept.set(id, answer.points ?? null);
          unasked.delete(id);
          answer.down_sampled ? sparse.add(id) : sparse.delete(id);
          if (kept.get(id)?.length === 0)
            kept.set(id, null);
        } catch (error) {
          error.status === 404 ? unasked.delete(id) : unasked.add(id); // one that was deleted leaves the list soon
        }
    }));
    last = Date.now();
    if (!closed)
      draw();
  }

  draw();
  const load = ask(page.all().map(r => r.id));
  return {
    element: h("div", null, h("h2", {class: "hidden"}, "What the runs take of the machine"), h("div", {class: "bar"}, labelled("Over", over), told), cards), draw, load,
    async changed() {
      if (Date.now() - last > 5000)
        await ask(page.all().filter(r => r.state === "running").map(r => r.id));
    },
    close() {
      closed = true;
      charts.forEach(c => c.close());
    },
  };
}
