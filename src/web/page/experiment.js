// An experiment: what stands above, what can be done, and its tabs. Only what the open tab shows is asked for.
import {h, fill, button, fresh} from "./html.js";
import {watch, single, connection} from "./live.js";
import {server, say, setQuery, trouble} from "./page.js";
import {number, short, duration, percent, age, date} from "./format.js";
import {experiment, finite, seconds, OVER} from "./experiment_data.js";
import {act, fitting, titles, setLabel, elapsed} from "./experiment_actions.js";
import {overview, hyperparameters, timeline, search} from "./experiment_pictures.js";
import {trials, checkpoints, configuration} from "./experiment_lists.js";
import {history} from "./experiment_history.js";

// name, what it needs to be asked for (in this order), how it is made: make(e, context) -> {element, update(), close()}
const TABS = [
  ["overview", "Overview", ["loadConfig", "loadTrials", "loadValidations"], overview],
  ["trials", "Trials", ["loadConfig", "loadTrials"], trials],
  ["hyperparameters", "Hyperparameters", ["loadConfig", "loadTrials", "loadImportance"], hyperparameters],
  ["timeline", "Timeline", ["loadConfig", "loadTrials", "loadRuns", "loadQueue"], timeline],
  ["search", "Search", ["loadConfig", "loadTrials", "loadSearch", "loadEvents"], search],
  ["checkpoints", "Checkpoints", [], checkpoints],
  ["history", "History", [], history],
  ["config", "Config", ["loadConfig"], configuration],
];

// ---- what stands above ------------------------------------------------------------------------------

/** Seconds until it is done, if it goes on as it went; null: nothing to go by. */
function left(row) {
  const gone = elapsed(row);
  return row.state === "ACTIVE" && connection.state === "heard" && row.progress > 0.02 && row.progress < 1 && gone !== null ? gone * (1 - row.progress) / row.progress : null;
}

/** What stopping early saves, as the master counts it: of a search that is over in its row. */
function saved(e) {
  const [length, of, unit] = e.over() ? [e.row.saved, e.row.saved_of, e.row.saved_unit] : [e.search?.saved, e.search?.saved_of, e.search?.unit];
  return length > 0 && of > 0 ? {length, unit, share: length / of} : null;
}

function head(e, refresh) {
  const name = h("h1"), state = h("span"), description = h("p", {class: "lead"}), labels = h("div", {class: "labels"}), actions = h("div", {class: "bar actions", role: "group", "aria-label": "What can be done"});
  const facts = h("dl", {class: "facts"}), message = h("div"), note = h("pre", {class: "note"}), moved = h("progress", {max: 1, "aria-label": "Progress"});
  const element = h("header", {class: "experiment-head"}, h("div", {class: "bar"}, name, state), h("div", {class: "bar about"}, description, labels), message, note, actions, facts);
  let shownLabels = null, shownActions = null;

  function drawLabels(row) {
    const wanted = JSON.stringify(row.labels);
    if (wanted === shownLabels)
      return;
    shownLabels = wanted;
    const field = h("input", {placeholder: "label", size: 12, "aria-label": "New label", maxlength: 255});
    fill(labels, row.labels.map(label => h("span", {class: "chip"}, label, server.read_only ? null
      : button("×", () => setLabel(e, label, false, refresh), {class: "plain", "aria-label": `Remove the label ${label}`}))),
    server.read_only ? null : h("form", {class: "inline", on: {submit: event => {
      event.preventDefault();
      if (field.value.trim() !== "")
        setLabel(e, field.value.trim(), true, refresh);
    }}}, field, h("button", {type: "submit", class: "plain"}, "Add label")));
  }

  function drawActions(row) {
    const wanted = fitting(row).join();
    actions.hidden = server.read_only;
    if (wanted === shownActions)
      return;
    shownActions = wanted;
    fill(actions, fitting(row).map(key => button(titles[key], () => act(e, key, refresh), {class: key === "delete" || key === "kill" ? "risky" : null})));
  }

  function update() {
    const {row} = e, best = row.best_trial, rest = left(row), gone = elapsed(row), spare = saved(e);
    document.title = `${row.name} · experiment ${row.id} · Regimen`;
    name.textContent = row.name;
    fill(state, h("span", {class: `state ${row.state}`}, row.state), row.trials_by_state?.ERROR > 0 ? [" ", h("span", {class: "is-bad"}, `${number(row.trials_by_state.ERROR)} of ${number(row.trials)} trials failed`)] : null,
      row.archived ? [" ", h("span", {class: "chip"}, "archived")] : null);
    description.textContent = row.description && row.description !== row.name ? row.description : "";
    note.textContent = row.note ?? "";
    note.hidden = !row.note;
    moved.value = row.progress ?? 0;
    drawLabels(row);
    drawActions(row);
    fill(message, row.message ? h("p", {class: "is-bad"}, row.message) : null);
    const bestHref = best ? e.runHref(best) : null;
    const fact = (key, ...value) => h("div", null, h("dt", null, key), h("dd", null, value));
    fill(facts, fact("progress", moved, ` ${percent(row.progress)}`),
      fact(`best ${row.metric}`, best ? [number(finite(best.best_metric) ?? best.best_metric), h("span", {class: "quiet"}, " trial "), bestHref ? h("a", {href: bestHref}, best.number) : best.number] : "–"),
      fact("trials", number(row.trials), h("span", {class: "quiet"}, Object.keys(row.trials_by_state ?? {}).length > 1 || row.state !== "COMPLETED" ? `: ${Object.entries(row.trials_by_state ?? {}).map(([s, n]) => `${number(n)} ${s.toLowerCase()}`).join(", ")}` : "")),
      fact("batches", number(row.batches)), OVER.includes(row.state) ? null : fact("running now", number(row.running)),
      OVER.includes(row.state) ? fact("began", h("time", {title: date(row.start_time)}, age(seconds(row.start_time)))) : null,
      fact(OVER.includes(row.state) ? "took" : "began before", h("span", {title: `${date(row.start_time)} to ${row.end_time ? date(row.end_time) : "now"}`}, duration(gone))),
      rest !== null ? fact("left, about", duration(rest)) : null,
      spare !== null ? fact("saved by stopping early", percent(spare.share), h("span", {class: "quiet"}, ` or ${short(spare.length)} ${spare.unit}`)) : null,
      row.parent_id !== null ? fact("from", h("a", {href: `/experiments/${e.master}/${row.parent_id}`}, `experiment ${row.parent_id}`)) : null);
  }
  return {element, update};
}

// ---- the page ---------------------------------------------------------------------------------------

export async function show(main, {params: [master, id], query}) {
  const e = experiment(Number(master), Number(id)), panelId = fresh("panel");
  await e.loadRow();
  const bar = h("div", {class: "tabs", role: "tablist", "aria-label": "Parts of the experiment"}), status = h("p", {class: "quiet", role: "status"});
  const panel = h("div", {role: "tabpanel", id: panelId, tabindex: -1});
  let tab = null, made = null, turn = 0, again = 0, asked = 0, took = 0, linked = 0;

  const context = {
    query: () => new URLSearchParams(location.search), setQuery,
    refresh: () => refresh(), readOnly: () => server.read_only,
    open(trial) { // where a mark of a picture leads
      const href = e.runHref(trial);
      href ? import("./page.js").then(page => page.go(href)) : say(`The run folder of trial ${trial.number} is not among those that this server reads.`);
    },
  };
  const top = head(e, () => refresh());

  async function load(needs, mine) {
    for (const need of needs) {
      const what = {loadTrials: "trials", loadValidations: "validations", loadRuns: "runs", loadEvents: "events"}[need];
      await e[need]((done, total) => {
        if (mine === turn && !made && what && total > 2000)
          status.textContent = `Reading ${what}: ${number(done)} of ${number(total)}`;
      });
      if (mine !== turn || e.closed)
        return false;
    }
    status.textContent = "";
    return true;
  }

  async function draw(key, mine) {
    const [, title, needs, make] = TABS.find(([k]) => k === key) ?? TABS[0];
    try {
      if (!await load(needs, mine))
        return;
      made = make(e, context);
      fill(panel, h("h2", {class: "hidden"}, title), made.element);
    } catch (error) {
      if (mine === turn) {
        fill(panel, trouble(error));
        status.textContent = "";
      }
      if (!error.status && error.status !== 0)
        console.error(error);
    }
    top.update();
  }

  async function choose(key) {
    const found = TABS.find(([k]) => k === key) ?? TABS[0];
    if (tab === found[0]) // it is on its way, perhaps
      return;
    const mine = ++turn;
    tab = found[0];
    made?.close?.();
    made = null;
    fill(panel);
    for (const b of bar.children) {
      const on = b.dataset.tab === tab;
      b.setAttribute("aria-selected", String(on));
      b.tabIndex = on ? 0 : -1;
      if (on)
        panel.setAttribute("aria-labelledby", b.id);
    }
    await draw(tab, mine);
  }

  /** Trials' run folders, of which there are more from time to time; without them trials have no links. */
  const links = single(async () => {
    const had = e.runIds.size;
    if (had >= e.row.trials || Date.now() - linked < 10000 + 10 * e.row.trials)
      return;
    linked = Date.now();
    try {
      await e.loadRunIds();
    } catch {
      return;
    }
    if (!e.closed && e.runIds.size > had) {
      top.update();
      made?.update();
    }
  });

  const refresh = single(async () => {
    const wait = Math.max(1000, 8 * took) - (Date.now() - asked); // a large search is asked for less often
    if (wait > 0 && asked > 0)
      await new Promise(resolve => { again = setTimeout(resolve, wait); });
    if (e.closed || !tab)
      return;
    const begin = asked = Date.now(), mine = turn;
    try {
      const was = JSON.stringify(e.row), before = e.over();
      await e.loadRow();
      if (before && was === JSON.stringify(e.row) && made && tab !== "checkpoints" && tab !== "history") // nothing is left that could change
        return;
      top.update();
      const [, , needs] = TABS.find(([k]) => k === tab);
      if (!e.over() && !needs.includes("loadSearch"))
        await e.loadSearch();
      if (await load(needs.filter(n => n !== "loadConfig"), mine)) {
        made ? made.update() : await draw(tab, mine);
        top.update();
        links();
      }
    } catch (error) {
      if (error.status === 404) {
        e.closed = true;
        fill(main, trouble(error));
      } else if (error.status !== 0 && error.status !== 401) { // that nobody answers, or lets us in, stands above
        say(error.message, "error");
      }
    }
    took = Date.now() - begin;
  });

  fill(bar, TABS.map(([key, title]) => button(title, () => {
    setQuery({tab: key === "overview" ? null : key});
    choose(key);
  }, {role: "tab", id: fresh("tab"), "aria-controls": panelId, data: {tab: key}})));
  bar.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], list = [...bar.children];
    if (!step)
      return;
    const next = list[(list.indexOf(document.activeElement) + step + list.length) % list.length];
    next.focus();
    next.click();
    event.preventDefault();
  });

  fill(main, top.element, bar, status, panel);
  top.update();
  await choose(query.get("tab") ?? "overview");
  links();
  const unwatch = watch(`experiment:${master}:${id}`, refresh), redraw = () => e.closed || top.update();
  document.addEventListener("connection", redraw);
  if (!e.over())
    e.loadSearch().then(() => e.closed || top.update(), () => {}); // the next notice asks again
  return {
    update(query) { choose(query.get("tab") ?? "overview"); made?.setQuery?.(query); },
    close() {
      e.close();
      turn++;
      clearTimeout(again);
      unwatch();
      document.removeEventListener("connection", redraw);
      made?.close?.();
    },
  };
}

