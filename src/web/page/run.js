// The page of one run: what stands above it, and a tab for each kind of thing the run has kept.
import {h, fill, button, fresh} from "./html.js";
import {get, send} from "./api.js";
import {watch, single, connection} from "./live.js";
import {number, percent, duration, age, date} from "./format.js";
import {editRun, openActions} from "./run_actions.js";
import {server, say, setQuery, trouble, go, afterwards} from "./page.js";

// key in the address, title, module: open(panel, run, query) returns {changed()?, update(query)?, close()?}; has: what the
// server counts of it, absent: what is said where it counts none.
const TABS = [
  {key: "curves", title: "Curves", load: () => import("./run_curves.js")},
  {key: "log", title: "Log", load: () => import("./run_log.js"), has: "logs", absent: "it has written no log yet"},
  {key: "config", title: "Config", load: () => import("./run_config.js")},
  {key: "model", title: "Model", load: () => import("./run_model.js"), has: "model",
    absent: "model.json is written when a run begins to train; older runs lack it"},
  {key: "histograms", title: "Histograms", load: () => import("./run_histograms.js"), has: "histograms",
    absent: "trainer.histograms: true keeps those of weights and gradients"},
  {key: "samples", title: "Samples", load: () => import("./run_samples.js"), has: "samples",
    absent: "translations with task.samples: N keep N sentences of each validation"},
  {key: "confusion", title: "Confusion", load: () => import("./run_confusion.js"), has: "confusion",
    absent: "validations of classification tasks count one"},
  {key: "scores", title: "Thresholds", load: () => import("./run_scores.js"), has: "scores",
    absent: "validations of links, of 0/1 labels and of at most 20 classes keep their curves"},
  {key: "explanations", title: "Explanations", load: () => import("./run_explanations.js"), has: "explanations",
    absent: "regimen explain RUN --item N --keep keeps what a prediction of a graph network rests on"},
  {key: "checkpoints", title: "Checkpoints", load: () => import("./run_files.js").then(m => ({open: m.openCheckpoints})),
    has: "checkpoints", absent: "none is saved yet"},
  {key: "exports", title: "Exports", load: () => import("./run_files.js").then(m => ({open: m.openExports})), has: "exports",
    absent: "the configuration's export: or regimen export writes them"},
  {key: "profile", title: "Profile", load: () => import("./run_profile.js"), has: "profile",
    absent: "regimen run --profile records some steps op by op"},
  {key: "system", title: "System", load: () => import("./run_system.js"), has: "system",
    absent: "system.jsonl is written while a run trains; older runs lack it"},
];

/** What changes seldom is drawn only when it has changed: nothing that is being read or selected is taken away. */
function part(element, draw) {
  let before = null;
  return value => {
    const now = JSON.stringify(value);
    if (now !== before)
      fill(element, draw(value));
    before = now;
  };
}

function fact(name, value, title) {
  return value === null || value === undefined || value === "–" ? null
    : h("div", {title: title ?? null}, h("dt", null, name), h("dd", null, value));
}

// ---- tags -------------------------------------------------------------------------------------

function tagField(run, element) {
  let tags = [];

  function rest() {
    fill(element, tags.map(t => h("span", {class: "chip"}, t)),
      server.read_only ? null : button(tags.length > 0 ? "Edit tags" : "Add tags", edit, {class: "plain"}));
  }

  function edit() {
    const field = h("input", {type: "text", value: tags.join(", "), "aria-label": "Tags, with commas between them", size: 36, maxlength: 1000});
    const leave = () => {
      rest();
      element.querySelector("button")?.focus();
    };
    const form = h("form", {class: "bar tags", on: {
      submit: async event => {
        event.preventDefault();
        const wanted = [...new Set(field.value.split(",").map(t => t.trim()).filter(t => t !== ""))];
        try {
          await send("PATCH", run.path, {tags: wanted});
          tags = wanted;
          leave();
        } catch (error) {
          say(error.message, "error");
        }
      },
      keydown: event => {
        if (event.key === "Escape")
          leave();
      }}}, field, h("button", {type: "submit"}, "Save"), button("Cancel", leave));
    fill(element, form);
    field.focus();
  }

  return now => {
    if (JSON.stringify(now) === JSON.stringify(tags) && element.firstChild)
      return;
    tags = now;
    if (!element.querySelector("form"))
      rest();
  };
}

// ---- with what it is compared -----------------------------------------------------------------

function compareDialog(run) {
  const chosen = new Set(), list = h("div", {class: "pick"}), id = fresh("find");
  let turn = 0;
  const ask = async text => {
    const mine = ++turn;
    try {
      const answer = await get("/api/v1/runs", {kind: "run,trial", q: text, limit: 30});
      if (mine !== turn)
        return;
      const rows = answer.rows.filter(r => r.id !== run.id && r.kind !== "experiment");
      fill(list, rows.map(r => h("label", {class: "choice"}, h("input", {type: "checkbox", checked: chosen.has(r.id), on: {change: e => {
        e.target.checked ? chosen.add(r.id) : chosen.delete(r.id);
        done.disabled = chosen.size === 0;
      }}}), h("span", {class: "name"}, r.name), h("span", {class: "quiet"}, r.best ? `${r.best.metric} ${number(r.best.value)}` : r.state))),
        rows.length === 0 ? h("p", {class: "quiet"}, "No other run has this in its name, task, model, tags or description.") : null,
        answer.total > rows.length + 1 ? h("p", {class: "quiet"}, `The ${number(rows.length)} newest of ${number(answer.total)}: type to find others.`) : null);
    } catch (error) {
      fill(list, trouble(error));
    }
  };
  const close = () => {
    dialog.close();
    dialog.remove();
  };
  const done = h("button", {type: "submit", class: "main", disabled: true}, "Compare");
  const dialog = h("dialog", {"aria-label": "Compare with other runs", on: {cancel: e => { e.preventDefault(); close(); }}},
    h("form", {on: {submit: e => {
      e.preventDefault();
      close();
      go(`/compare?runs=${[run.id, ...chosen].join(",")}`);
    }}}, h("h2", null, `Compare ${run.row.name} with`), h("div", {class: "field"}, h("label", {for: id}, "Find"),
      h("input", {id, type: "search", on: {input: e => ask(e.target.value)}})), list,
      h("div", {class: "buttons"}, button("Cancel", close), done)));
  document.body.append(dialog);
  dialog.showModal();
  ask("");
}

// ---- the head ---------------------------------------------------------------------------------

function progressOf(r) {
  if (r.progress === null || r.progress === undefined)
    return null;
  const left = r.state === "running" && r.heard && r.seconds_left !== null && r.seconds_left !== undefined ? `${duration(r.seconds_left)} left` : null;
  const then = left ? date(Date.now() / 1000 + r.seconds_left) : "", ends = left ? ` · ends about ${then.slice(0, 10) === date(Date.now() / 1000).slice(0, 10) ? then.slice(11, 16) : then.slice(5, 16)}` : "";
  return h("div", {class: "progress"}, h("progress", {max: 1, value: r.progress, "aria-label": "Progress"}),
    h("span", null, h("b", null, percent(r.progress, r.progress < 0.1 ? 1 : 0)), left ? ` · ${left}` : "", h("span", {class: "quiet"}, ends)));
}

/** What the weights that are kept come to on test data: each set's metrics, the loss behind the others. */
function tests(final) {
  return Object.entries(final ?? {}).filter(([split]) => /^test/.test(split)).flatMap(([split, metrics]) =>
    Object.entries(metrics ?? {}).sort(([a], [b]) => (a === "loss") - (b === "loss")).slice(0, 6).map(([name, v]) =>
      fact(`${split === "test" ? "Test" : split} ${name}`, h("b", null, number(v)))));
}

/** Warnings of a run, the first of them. */
function warningsOf(w) {
  if (!(w?.count > 0))
    return null;
  const first = w.first ?? [];
  return h("details", {class: "warnings"}, h("summary", null, `${number(w.count)} ${w.count === 1 ? "warning" : "warnings"}`),
    h("ul", null, first.map(text => h("li", null, text))), w.count > first.length ? h("p", {class: "quiet"}, `and ${number(w.count - first.length)} more: see the log`) : null);
}

const IN_HEAD = 2; // metrics of test data; the others are behind "More"

/** What it has come to: the best by which it chose, and test data. */
const resultsOf = (r, all = false) => [
  r.best ? fact(`Best ${r.best.metric}`, [h("b", null, number(r.best.value)),
    r.best.step === null || r.best.step === undefined ? null : h("span", {class: "quiet"}, ` at step ${number(r.best.step)}`)]) : null,
  tests(r.result?.final).slice(all ? IN_HEAD : 0, all ? undefined : IN_HEAD)];

function factsOf(r) {
  const of = (v, all) => v === null || v === undefined ? null : all ? `${number(v)} of ${number(all)}` : number(v);
  return [
    fact("Step", of(r.step, r.steps)), r.epoch || r.epochs ? fact("Epoch", of(r.epoch, r.epochs)) : null,
    fact("Rate", r.rate === null || r.rate === undefined ? null : `${number(+r.rate.toPrecision(3))} steps/s`),
    fact("Trained for", duration(r.elapsed)),
    r.modified ? fact("Last written", age(r.modified), date(r.modified)) : null];
}

function environmentOf({task, model, env}) {
  const known = {task: "Task", model: "Model", host: "Host", threads: "Threads", seed: "Seed", isa: "Instruction set", version: "Version", compiler: "Compiler"};
  const all = {task, model, ...env}, keys = [...Object.keys(known), ...Object.keys(all).filter(k => !known[k])].filter(k => all[k] !== null && all[k] !== undefined && all[k] !== "");
  const text = v => v !== null && typeof v === "object" ? JSON.stringify(v) : String(v);
  return keys.map(k => h("span", {class: "pair"}, h("span", {class: "quiet"}, `${known[k] ?? k} `), text(all[k])));
}

function makeHead(run) {
  const title = h("h1"), state = h("span"), about = h("span", {class: "about"}), tags = h("span", {class: "tags"}), progress = h("span"), results = h("dl", {class: "facts inline results"}), others = h("dl", {class: "facts inline"}),
    facts = h("dl", {class: "facts inline"}), warned = h("div"), env = h("div", {class: "pairs"}), warning = h("div"), links = h("span"), note = h("pre", {class: "note"});
  const drawName = part(title, name => [h("span", {title: name}, name)]), drawState = part(state, r => h("span", {class: `state ${r.state}`}, r.heard || r.state !== "running" ? r.state : "was running"));
  const drawAbout = part(about, text => text || null), drawTags = tagField(run, tags), drawProgress = part(progress, progressOf);
  const drawOthers = part(others, r => [resultsOf(r, true), r.started ? fact("Started", date(r.started).slice(0, 16), age(r.started)) : null]), drawResults = part(results, r => resultsOf(r)), drawNote = part(note, text => text || null);
  const drawFacts = part(facts, factsOf), drawWarned = part(warned, warningsOf), drawEnv = part(env, environmentOf);
  const drawWarning = part(warning, r => r.failed ? h("section", {class: "trouble"}, h("h2", null, "This run failed"), h("p", null, r.failed))
    : r.text ? h("section", {class: "trouble"}, h("h2", null, r.state === "damaged" ? "This run is damaged" : "Not all of this run can be read"),
    h("p", null, r.text), h("p", {class: "quiet"}, "What can be read of it is shown; the rest is left out.")) : null);
  const drawLinks = part(links, r => r.experiment ? h(r.master ? "a" : "span", r.master ? {href: `/experiments/${r.master}/${r.experiment}`} : null, `Trial ${r.trial ?? ""} of experiment ${r.experiment}`) : null);
  const doing = h("span", {class: "doing"});
  const drawDoing = part(doing, ({state: now, archived, trial}) => server.read_only ? null : [
    button("Edit…", () => editRun(run, () => run.look()), {"aria-label": "Name and note", title: "Name and note"}),
    button("Actions …", () => openActions([run.id], [archived ? "unarchive" : "archive", ...(trial ? [] : now === "running" ? ["stop"] : ["delete"])], gone => gone.length > 0 ? go("/") : run.look()))]);
  const more = h("details", {class: "environment"}, h("summary", null, "More"), h("div", null, others, env));
  let noted = ""; // the row has the beginning of the note; a longer one is asked for

  async function drawWholeNote(r) {
    if ((r.note ?? "") === noted)
      return;
    noted = r.note ?? "";
    drawNote(r.note && r.note.length >= 150 ? (await get(`${run.path}/note`).catch(() => ({note: r.note}))).note : r.note ?? "");
  }

  const element = h("header", {class: "run-head"},
    h("div", {class: "bar first"}, title, state, results, links, h("span", {class: "spring"}), button("Compare with…", () => compareDialog(run)), doing),
    h("div", {class: "bar second"}, progress, facts, about, tags, more), warning, warned, note);
  return {element, draw(r) {
    drawName(r.name);
    const heard = connection.state === "heard";
    drawState({state: r.state, heard});
    drawAbout(r.description);
    drawTags(r.tags ?? []);
    drawWarning({state: r.state, failed: r.state === "failed" ? r.result?.reason ?? r.reason ?? "It ended by an error." : null, text: r.damage ?? (r.state === "damaged" ? r.reason ?? "Its files cannot be read." : null)});
    drawLinks({experiment: r.experiment, master: r.master, trial: r.trial});
    drawProgress({state: r.state, heard, progress: r.progress, seconds_left: r.seconds_left});
    drawOthers({best: null, result: r.result, started: r.started, modified: r.modified});
    drawResults({best: r.best, result: r.result});
    drawDoing({state: r.state, archived: r.archived, trial: r.kind === "trial"});
    drawWholeNote(r);
    drawFacts({...r, minute: Math.floor(Date.now() / 10000)});
    drawWarned(r.result?.warnings ?? null);
    drawEnv({task: r.task, model: r.model, env: r.env ?? {}});
  }};
}

// ---- tabs -------------------------------------------------------------------------------------

function makeTabs(run, chosen) {
  const list = h("div", {class: "tabs", role: "tablist", "aria-label": "What is shown of the run"}), absent = h("div");
  const panel = h("div", {role: "tabpanel", id: fresh("panel"), class: "run-panel"});
  let tabs = [], shown = null, key = "", turn = 0, known = "", query = null;

  const there = t => !t.has || Boolean(run.row.has?.[t.has]);

  async function open(wanted, focus) {
    const tab = tabs.find(t => t.key === wanted) ?? TABS.find(t => t.key === wanted) ?? tabs[0], mine = ++turn;
    shown?.close?.();
    shown = null;
    key = tab.key;
    mark(focus);
    if (!there(tab)) {
      fill(panel, h("p", {class: "quiet"}, `This run has no ${tab.title.toLowerCase()}: ${tab.absent}.`));
      return;
    }
    panel.style.minHeight = `${Math.min(panel.offsetHeight, innerHeight)}px`;
    const room = h("div");
    fill(panel, h("h2", {class: "hidden"}, tab.title), room);
    panel.setAttribute("aria-busy", "true");
    try {
      const module = await tab.load().catch(error => { throw Object.assign(error, {part: true}); });
      const made = await module.open(room, run, query);
      if (mine === turn)
        shown = made;
      else
        made?.close?.();
    } catch (error) {
      if (error.part) {
        error = Object.assign(new Error("A part of this page was not loaded."), {part: true, status: 0});
        afterwards();
      }
      if (mine === turn)
        fill(panel, trouble(error));
      if (error.status === undefined)
        console.error(error);
    }
    if (mine === turn) {
      panel.style.minHeight = "";
      panel.removeAttribute("aria-busy");
    }
  }

  function choose(wanted, focus) {
    if (wanted === key)
      return;
    const kept = new URLSearchParams(); // the place in a tab is that tab's own
    kept.set("tab", wanted);
    history.pushState(null, "", `${location.pathname}?${kept}`);
    query = kept;
    open(wanted, focus);
  }

  function mark(focus) {
    for (const b of list.children) {
      const on = b.dataset.key === key;
      b.setAttribute("aria-selected", on);
      b.tabIndex = on ? 0 : -1;
      if (on) {
        panel.setAttribute("aria-labelledby", b.id);
        if (focus)
          b.focus();
      }
    }
    if (![...list.children].some(b => b.tabIndex === 0) && list.firstChild)
      list.firstChild.tabIndex = 0;
  }

  function onKey(event) {
    const i = tabs.findIndex(t => t.key === event.target.dataset.key), n = tabs.length;
    const to = {ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1}[event.key];
    if (to === undefined || i < 0)
      return;
    event.preventDefault();
    choose(tabs[to].key, true);
  }

  function draw() {
    const now = TABS.filter(there), text = now.map(t => t.key).join();
    if (text === known)
      return;
    known = text;
    tabs = now;
    const had = list.contains(document.activeElement);
    fill(list, tabs.map(t => h("button", {type: "button", role: "tab", id: fresh("tab"), "aria-controls": panel.id, data: {key: t.key},
      on: {click: () => choose(t.key, false)}}, t.title)));
    const rest = TABS.filter(t => !there(t));
    fill(absent, rest.length > 0 ? h("details", {class: "absent quiet"}, h("summary", null, `Not kept by this run: ${rest.map(t => t.title.toLowerCase()).join(", ")}`),
      h("ul", null, rest.map(t => h("li", null, `${t.title}: ${t.absent}`)))) : null);
    mark(had);
  }

  list.addEventListener("keydown", onKey);
  query = chosen;
  draw();
  return {
    elements: [list, panel, absent],
    start: () => open(query.get("tab") ?? tabs[0].key, false),
    changed() {
      const was = TABS.find(t => t.key === key), empty = shown === null && was && !panel.hasAttribute("aria-busy");
      draw();
      empty && there(was) ? open(key, false) : shown?.changed?.();
    },
    update(now) {
      query = now;
      const wanted = now.get("tab") ?? tabs[0].key;
      wanted === key && shown?.update ? shown.update(now) : open(wanted, false);
    },
    close() {
      turn++;
      shown?.close?.();
    },
  };
}

export async function show(main, {params, query}) {
  const id = params[0], run = {id, path: `/api/v1/runs/${id}`, row: null, setQuery};
  run.row = await get(run.path);
  document.title = `${run.row.name} – Regimen`;
  run.look = () => look();
  const head = makeHead(run), tabs = makeTabs(run, query);
  head.draw(run.row);
  fill(main, head.element, tabs.elements);
  const look = single(async () => {
    try {
      run.row = await get(run.path);
    } catch (error) {
      if (error.status === 404)
        fill(head.element, trouble({status: 404, message: "The folder of this run is gone: it was deleted or moved."}));
      return; // otherwise it stands above that the server is not heard
    }
    head.draw(run.row);
    tabs.changed();
  });
  const redraw = () => head.draw(run.row);
  const unwatch = watch(`run:${id}`, look), clock = setInterval(() => document.hidden || redraw(), 10000);
  document.addEventListener("connection", redraw);
  tabs.start();
  return {
    update: tabs.update,
    close() {
      unwatch();
      clearInterval(clock);
      document.removeEventListener("connection", redraw);
      tabs.close();
    },
  };
}
