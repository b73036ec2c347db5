// Several runs beside one another: learning curves, metrics, configurations, what they took of the machine.
import {h, s, fill, button, cut, fresh} from "./html.js";
import {address} from "./api.js";
import {watch, single, paced} from "./live.js";
import {setQuery, go, trouble} from "./page.js";
import {colourOf} from "./names.js";
import {makeData} from "./compare_data.js";
import {curvesTab, readCurves, writeCurves} from "./compare_curves.js";
import {metricsTab, configTab, systemTab} from "./compare_tables.js";

const MOST = 100, WATCHED = 40;
const TABS = [["curves", "Curves"], ["metrics", "Metrics"], ["config", "Configuration"], ["system", "System"]];
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

const count = n => `${n} ${n === 1 ? "run" : "runs"}`;

const swatch = c => s("svg", {class: "swatch", width: 12, height: 12, "aria-hidden": "true"}, s("rect", {width: 12, height: 12, rx: 3, fill: c}));

function readIds(query) {
  return [...new Set((query.get("runs") ?? "").split(","))].filter(id => /^[0-9a-f]{16}$/.test(id)).slice(0, MOST);
}

export async function show(main, {query}) {
  let made = await begin(main, query), turn = 0, closed = false;
  return {
    async update(next) {
      if (made.ids.join() === readIds(next).join()) {
        made.update(next);
        return;
      }
      const mine = ++turn; // another comparison: from the beginning
      made.close();
      try {
        const other = await begin(main, next);
        closed || mine !== turn ? other.close() : made = other;
      } catch (error) {
        fill(main, trouble(error));
      }
    },
    close() {
      closed = true;
      made.close();
    },
  };
}

async function begin(main, query) {
  const ids = readIds(query);
  document.title = `Compare ${count(ids.length)} – Regimen`;
  if (ids.length === 0) {
    fill(main, h("section", {class: "trouble"}, h("h2", null, "No runs to compare"), h("p", null, "Select two or more in ", h("a", {href: "/"}, "the table of runs"), ".")));
    return {ids, update() {}, close() {}};
  }
  const data = makeData(ids), hidden = new Set((query.get("hide") ?? "").split(",").filter(Boolean));
  await data.look();
  return comparison(main, ids, data, hidden, query);
}

function comparison(main, ids, data, hidden, query) {
  const view = readCurves(query);
  let closed = false, tab = null, key = "", pointed = null, told = "";
  const legend = h("ul", {class: "run-list", "aria-label": "Runs"}), panel = h("div", {role: "tabpanel", id: fresh("panel")}), status = h("span", {class: "quiet", role: "status"});

  /** Runs as the parts show them: names that are the same get the beginning of their id. */
  function all() {
    const named = new Map();
    for (const r of data.runs)
      named.set(r.name, (named.get(r.name) ?? 0) + 1);
    return ids.map(id => ({id, run: data.runs.find(r => r.id === id)})).filter(r => r.run).map(({id, run}) => {
      const c = colourOf(id);
      return {id, name: named.get(run.name) > 1 ? `${run.name} (${id.slice(0, 6)})` : run.name, state: run.state, damage: run.damage ?? null, colour: c, swatch: () => swatch(c)};
    });
  }

  const page = {
    data, view, all, runs: () => all().filter(r => !hidden.has(r.id)), query: () => new URLSearchParams(location.search),
    set: changes => setQuery(changes), keep: paced(() => setQuery(writeCurves(view))), emphasise, trouble: error => { told = error.message; tell(); },
  };

  // ---- the list of runs, which is the legend of all pictures ----

  /** The lines of the run that is pointed at in the list; the others step back. */
  function emphasise() {
    const mine = pointed === null ? null : all().find(r => r.id === pointed)?.name;
    for (const line of panel.querySelectorAll("path.line[data-series], circle[data-best]")) {
      const of = line.dataset.series ?? line.dataset.best;
      line.classList.toggle("dim", pointed !== null && of !== mine && !of.startsWith(`${mine} · `));
    }
  }

  function point(id) {
    pointed = id;
    emphasise();
  }

  function keepHidden() {
    setQuery({hide: [...hidden].join(",")});
    drawList();
    tab?.draw();
  }

  function remove(id) {
    const q = new URLSearchParams(location.search);
    q.set("runs", ids.filter(one => one !== id).join(","));
    q.set("hide", [...hidden].filter(one => one !== id).join(","));
    go(`/compare?${q}`);
  }

  let listed = "";
  function drawList() {
    const rows = all(), text = JSON.stringify([rows, [...hidden]]);
    if (text === listed)
      return;
    listed = text;
    const focused = document.activeElement?.closest?.(".run-list li")?.dataset.id, box = document.activeElement?.tagName === "INPUT";
    fill(legend, rows.map(r => h("li", {data: {id: r.id}, on: {pointerenter: () => point(r.id), pointerleave: () => point(null)}},
      h("input", {type: "checkbox", checked: !hidden.has(r.id), "aria-label": `Show ${r.name}`, on: {change: e => {
        e.target.checked ? hidden.delete(r.id) : hidden.add(r.id);
        keepHidden();
      }, focus: () => point(r.id), blur: () => point(null)}}),
      r.swatch(), h("a", {href: `/runs/${r.id}`}, cut(r.name)), h("span", {class: `state ${r.damage ? "damaged" : r.state}`, role: "img", title: r.damage ? `${r.state}: ${r.damage}` : r.state, "aria-label": r.damage ? `${r.state}, damaged` : r.state}),
      rows.length > 1 ? button("×", () => remove(r.id), {class: "plain", "aria-label": `Take ${r.name} out of the comparison`}) : null)));
    if (focused)
      legend.querySelector(`[data-id="${focused}"] ${box ? "input" : "a"}`)?.focus();
    summary.textContent = hidden.size > 0 ? `${rows.length - rows.filter(r => hidden.has(r.id)).length} of ${count(rows.length)}` : count(rows.length);
  }

  const summary = h("span", null), narrow = matchMedia("(max-width: 900px)");
  const side = h("details", {class: "side", open: !narrow.matches}, h("summary", null, summary),
    h("div", {class: "side-buttons"}, button("All", () => { hidden.clear(); keepHidden(); }, {class: "plain", "aria-label": "Show all runs"}),
      button("None", () => { for (const id of ids) hidden.add(id); keepHidden(); }, {class: "plain", "aria-label": "Hide all runs"}),
      h("a", {href: address("/", {selected: all().map(r => r.id).join(",")})}, "Change the selection")), legend);

  // ---- tabs ----

  const tabs = TABS.map(([name, text]) => h("button", {type: "button", role: "tab", id: fresh("tab"), data: {tab: name}, "aria-controls": panel.id, on: {click: () => open(name)}}, text));
  const list = h("div", {class: "tabs", role: "tablist", "aria-label": "What is compared", on: {keydown: e => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (by) {
      e.preventDefault();
      const next = (tabs.findIndex(b => b.dataset.tab === key) + by + tabs.length) % tabs.length;
      open(TABS[next][0]);
      tabs[next].focus();
    }
  }}}, tabs);

  function open(name) {
    if (name === key)
      return;
    tab?.close();
    key = name;
    setQuery({tab: name === "curves" ? null : name});
    for (const b of tabs) {
      b.setAttribute("aria-selected", String(b.dataset.tab === key));
      b.tabIndex = b.dataset.tab === key ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", tabs.find(b => b.dataset.tab === key).id);
    tab = {curves: curvesTab, metrics: metricsTab, config: configTab, system: systemTab}[key](page);
    fill(panel, tab.element);
  }

  // ---- live ----

  function tell() {
    const gone = ids.filter(id => !data.runs.some(r => r.id === id)).length;
    status.textContent = told || (data.more ? "The logs are long: more of them comes." : "") || (gone > 0 ? `${gone} of the runs asked for ${gone === 1 ? "is" : "are"} no more` : "");
  }

  const look = single(async () => {
    if (closed)
      return;
    try {
      await data.look();
      told = "";
      drawList();
      await tab.changed();
    } catch (error) {
      told = error.message; // what is shown stays
    }
    tell();
    await pause(data.runs.length > 20 ? 2000 : 700);
    if (data.more && told === "")
      look();
  });
  if (data.more)
    look();
  const live = data.runs.filter(r => r.state === "running").slice(0, WATCHED);
  const unwatch = [...live.map(r => watch(`run:${r.id}`, look)), ...(live.length > 0 || data.runs.length > 0 ? [watch("runs", resumed)] : [])];

  /** The list has changed: of our runs perhaps one was taken up again, which nobody watches. Looked at every ten seconds at most. */
  let looked = Date.now();
  function resumed() {
    if (Date.now() - looked > 10000) {
      looked = Date.now();
      look();
    }
  }

  fill(main, h("div", {class: "compare", on: {click: e => e.target.closest("a") && page.keep.flush()}}, side, h("div", {class: "compared"}, h("div", {class: "bar title"}, h("h1", null, `Compare ${count(data.runs.length)}`), status), list, panel)));
  drawList();
  tell();
  open(TABS.some(([name]) => name === query.get("tab")) ? query.get("tab") : "curves");
  return {
    ids,
    update(next) {
      hidden.clear();
      for (const id of (next.get("hide") ?? "").split(",").filter(Boolean))
        hidden.add(id);
      Object.assign(view, readCurves(next));
      drawList();
      const wanted = TABS.some(([name]) => name === next.get("tab")) ? next.get("tab") : "curves";
      wanted === key ? tab.draw() : open(wanted);
    },
    close() {
      closed = true;
      page.keep.stop();
      for (const stop of unwatch)
        stop();
      tab?.close();
    },
  };
}
