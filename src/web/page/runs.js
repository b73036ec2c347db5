// All runs and experiments there are, as a table and as cards beside it: searched, filtered, sorted and put together by the server.
// What is shown is in the address; what the reader did last time is kept where the address says nothing.
import {h, fill, button, cut, labelled, download, csv} from "./html.js";
import {get, send, address} from "./api.js";
import {number, age, date} from "./format.js";
import {watch, single, paced} from "./live.js";
import {server, setQuery, say} from "./page.js";
import {table} from "./table.js";
import {column, picker, BASIC_KEYS, DEFAULT} from "./columns.js";
import {filters} from "./filters.js";
import {board, readBoard, writeBoard} from "./board.js";
import {groupColumn} from "./groups.js";
import {colourOf} from "./names.js";
import {actionsFor, openActions} from "./run_actions.js";
import {viewsMenu, resolveView} from "./views.js";

const MOST = 100; // runs that one comparison takes
const BESIDE = {state: 104, best: 172}; // widths beside cards, so that the first columns are whole on a page 1,280 wide
const DRAWN = 10, MOST_DRAWN = {runs: 40, groups: 20}; // rows that the cards show when none is chosen, and at most
const FACES = [["table", "Table"], ["both", "Both"], ["cards", "Cards"]];
const GROUPINGS = [["", "no groups"], ["seeds", "seeds"], ["config.model.type", "model.type"], ["task", "task"], ["state", "state"], ["folder", "folder"]];
const KINDS = [["run", "Runs"], ["experiment", "Experiments"], ["trial", "Trials"]];
const FIRST_KINDS = "run,experiment", FIRST_SORT = {key: "modified", order: "desc"};
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

const stored = key => {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
};

function readState(query) {
  const last = [...query.keys()].length === 0 ? stored("runs.columns") : null; // a link says all, and shows everybody the same
  const columns = query.get("columns")?.split(",").filter(Boolean) ?? (Array.isArray(last) ? last : DEFAULT);
  return {
    q: query.get("q") ?? "",
    kind: query.get("kind") ?? (query.get("experiment") ? "trial" : FIRST_KINDS),
    where: query.getAll("where"),
    experiment: query.get("experiment"), // M:E: its trials alone
    archived: query.get("archived") === "1",
    sort: query.get("sort") ? {key: query.get("sort"), order: query.get("order") === "asc" ? "asc" : "desc"} : FIRST_SORT,
    columns: columns.filter(key => typeof key === "string"),
    selected: query.get("selected")?.split(",").filter(id => /^([0-9a-f]{16}|\d+:\d+)$/.test(id)).slice(0, MOST) ?? [],
    group: query.get("group") ?? "", // keys, or "seeds"
    within: /^[0-9a-f]{16}$/.test(query.get("within") ?? "") ? query.get("within") : null, // a group: its runs alone
    show: FACES.some(([key]) => key === query.get("show")) ? query.get("show") : null,
    view: query.get("view"),
  };
}

/** What the address says of it. */
function queryOf(state, selected, look) {
  const same = state.columns.join() === DEFAULT.join(), first = state.sort.key === FIRST_SORT.key && state.sort.order === FIRST_SORT.order;
  return {q: state.q, kind: state.kind === (state.experiment ? "trial" : FIRST_KINDS) ? null : state.kind, where: state.where, experiment: state.experiment,
    archived: state.archived ? "1" : null, sort: first ? null : state.sort.key, order: first ? null : state.sort.order, columns: same ? null : state.columns.join(","), selected: [...selected].join(","),
    group: state.group, within: state.within, show: state.show, ...writeBoard(look)};
}

const textOf = query => new URLSearchParams(Object.entries(query).flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).filter(v => v !== null && v !== undefined && v !== "").map(v => [key, v]))).toString();

/** Rows are groups, unless there are none or the runs of one are looked at. */
const isGrouped = state => Boolean(state.group) && !state.within;

/** What chooses the rows, of a table and of the curves of its groups. */
const chosenBy = state => ({q: state.q, kind: isGrouped(state) ? state.kind.split(",").filter(k => k !== "experiment").join(",") || "run" : state.kind, where: state.where, experiment: state.experiment,
  archived: state.archived ? 1 : null, group: state.group || null, within: state.within});

const ask = (state, more, signal) => get(isGrouped(state) && !more.describe ? "/api/v1/groups" : "/api/v1/runs", {
  ...chosenBy(state), ...(more.describe ? {group: null, within: null} : {}), sort: state.sort.key, order: state.sort.order,
  columns: [...new Set([...state.columns, state.sort.key, ...(more.also ?? [])])].filter(key => isGrouped(state) ? !["name", "state", "best", "modified", "kind"].includes(key) : !BASIC_KEYS.includes(key)).join(","), ...more, also: null}, signal);

const href = r => r.kind === "experiment" ? `/experiments/${r.master}/${r.experiment}` : `/runs/${r.id}`;

function nameCell(r) {
  return h("span", {class: "named"}, r.kind === "experiment" ? null : h("span", {class: "run-colour", style: {borderColor: colourOf(r.id), backgroundColor: colourOf(r.id)}, "aria-hidden": "true"}),
    r.note ? h("span", {class: "quiet", title: r.note, role: "img", "aria-label": "has a note"}, "✎") : null, h("a", {href: href(r), tabindex: -1}, cut(r.name)),
    r.kind === "run" ? null : h("span", {class: "chip"}, r.kind === "experiment" ? `search ${r.experiment}` : r.kind),
    r.kind === "experiment" && r.trials !== null ? h("span", {class: "quiet"}, `${number(r.trials)} ${r.trials === 1 ? "trial" : "trials"}`) : null,
    r.archived ? h("span", {class: "chip"}, "archived") : null,
    (r.state === "damaged" || r.state === "failed") && r.reason ? h("span", {class: "reason", title: r.reason}, r.reason) : null);
}

/** Tags, and the place to change them. onTag(tag): a tag was clicked; onSaved(): the server has new ones. */
function tagsCell(r, onTag, onSaved) {
  const cell = h("span", {class: "tags"});
  const may = !server.read_only && r.kind !== "experiment";

  function show() {
    fill(cell, (r.tags ?? []).map(tag => button(tag, () => onTag(tag), {class: "chip", tabindex: -1, title: `Only runs with the tag ${tag}`})),
      may ? button(r.tags?.length ? "✎" : "+ tag", edit, {class: "plain edit", tabindex: -1, "aria-label": `Change the tags of ${r.name}`, title: "Change the tags (T)"}) : null);
  }

  function edit() {
    const before = (r.tags ?? []).join(", ");
    const input = h("input", {value: before, "aria-label": `Tags of ${r.name}, with commas between`, title: "Enter keeps, Escape leaves as it was"});
    let done = false;
    const end = async keep => {
      if (done)
        return;
      done = true;
      const grid = cell.closest("table"), mine = cell.contains(document.activeElement);
      const tags = [...new Set(input.value.split(",").map(t => t.trim()).filter(Boolean))];
      if (keep && tags.join(", ") !== before)
        try {
          await send("PATCH", `/api/v1/runs/${r.id}`, {tags});
          r.tags = tags;
          onSaved();
        } catch (error) {
          say(`The tags of ${r.name} are not changed: ${error.message}`, "error");
        }
      show();
      if (mine)
        grid?.focus({preventScroll: true});
    };
    fill(cell, h("form", {on: {submit: e => { e.preventDefault(); end(true); }}}, input));
    input.addEventListener("keydown", e => {
      e.stopPropagation();
      if (e.key === "Escape")
        end(false);
    });
    input.addEventListener("blur", () => end(true));
    input.focus();
    input.setSelectionRange(before.length, before.length);
  }

  show();
  return cell;
}

/** What stands in an empty table. missing: which searches are not here, and why. */
function nothing(state, clear, missing) {
  if (state.q || state.where.length > 0 || state.kind !== FIRST_KINDS || state.experiment)
    return h("div", null, h("p", null, "Nothing matches."), button("Show all runs", clear));
  const folders = server.folders ?? [];
  return h("div", null, h("h2", null, missing ? "No runs" : "No runs yet"), missing ? h("p", null, `Not all is here: ${missing}.`) : null,
    h("p", null, folders.length > 0 ? ["The server reads ", folders.map((f, i) => [i > 0 ? ", " : "", h("code", null, f)]), ` and the folders in ${folders.length > 1 ? "them" : "it"}. `] : null,
      "A run appears here as soon as it begins:"),
    h("pre", {class: "log"}, `regimen run configs/cora_gcn.yaml --run-dir ${(folders[0] ?? "runs").replace(/\/$/, "")}/first`));
}

/** Rows in the order of the table, all of them: in pieces, so that the server never makes one answer of 10,000. {saved: how many, missing: what is not among them} */
async function saveAll(state, told, signal) {
  const grouped = isGrouped(state), keys = ["name", ...state.columns], seen = new Set(), spreads = key => grouped && !["name", "state", "modified", "started", "kind"].includes(key), time = (r, key) => r[key] ?? r.values?.[key]?.high;
  const rows = [["id", grouped ? "runs" : "kind", ...keys.flatMap(k => [...(k === "best" ? ["best metric"] : []), k, ...(spreads(k) ? [`${k} deviation`] : [])])]];
  const both = v => v === null || v === undefined ? [null, null] : typeof v !== "object" ? [v, null] : v.texts !== undefined ? [`${v.texts} values`, null] : [v.mean, v.deviation];
  const value = (r, key) => grouped && key === "best" ? [r.best?.metric, ...both(r.best?.value)] : spreads(key) ? both(r.values?.[key]) : grouped && key === "state" ? Object.entries(r.states).map(([s, n]) => `${n} ${s}`).join(", ")
    : key === "best" ? [r.best?.metric, r.best?.value] : key === "best_step" ? r.best?.step : key === "tags" ? (r.tags ?? []).join(" ")
    : key === "modified" || key === "started" ? (time(r, key) ? date(time(r, key)) : null) : BASIC_KEYS.includes(key) ? r[key] : r.values?.[key];
  let total = 1, missing = null;
  for (let offset = 0; offset < total; offset += 1000) {
    const answer = await ask(state, {offset, limit: 1000}, signal);
    total = answer.total;
    missing = answer.missing ?? missing;
    for (const r of answer.rows)
      if (!seen.has(r.id)) { // one that moved while it was asked for is there once
        seen.add(r.id);
        rows.push([r.id, grouped ? r.runs : r.kind, ...keys.flatMap(key => value(r, key))]);
      }
    told(seen.size, total);
  }
  download("runs.csv", "text/csv", csv(rows));
  return {saved: seen.size, missing};
}

export async function show(main, {query}) {
  document.title = "Runs – Regimen";
  query = await resolveView(query);
  let state = readState(query), look = readBoard(query), typing = 0, updates = 0, closed = false, kinds = new Map(), described = null, saving = null, widths = stored("runs.widths") ?? {}, wrong = "", missing = null;
  const selected = new Set(state.selected), count = h("span", {role: "status", class: "quiet"}), chosen = h("div", {class: "chosen-bar"});
  const keys = () => described ??= ask(state, {kind: "all", q: null, where: [], offset: 0, limit: 1, describe: 1}).then(a => a.columns ?? [], error => { described = null; throw error; });

  /** For a moment rows are of the other kind, when groups come or go. */
  const fitting = c => ({...c, cell: r => (r.kind === "group") === isGrouped(state) ? c.cell(r) : "…"});
  const columns = () => [{key: "name", title: isGrouped(state) ? "Group" : "Name", width: innerWidth < 640 || face() === "both" ? 190 : 240, link: false, cell: isGrouped(state) ? r => groupColumn("name", null, inGroup(r)).cell(r) : nameCell},
    ...state.columns.map(key => ({...(isGrouped(state) ? groupColumn(key, column(key, kinds, tags)) : column(key, kinds, tags)), ...(face() === "both" && BESIDE[key] ? {width: BESIDE[key]} : {}), ...(widths[key] ? {width: widths[key]} : {})}))].map(fitting);
  const inGroup = r => { // the same table of its runs alone
    return `/?${textOf({...queryOf(state, new Set(), look), card: null, within: r.id})}`;
  };
  const tags = r => tagsCell(r, tag => filter([...state.where.filter(w => w !== `tags ~ ${tag}`), `tags ~ ${tag}`]), () => list.reload());

  let viewed = null; // the address of a view is its name, as long as nothing differs from it
  const write = paced(() => {
    const query = queryOf(state, selected, look), text = textOf(query);
    viewed ??= text;
    if (state.view && text !== viewed)
      state.view = null;
    setQuery(state.view ? {...Object.fromEntries(Object.keys(query).map(key => [key, null])), view: state.view} : {...query, view: null});
  });

  // ---- what the reader asks for -----------------------------------------------------------------

  function again(fromTop = true) {
    write();
    if (fromTop)
      list.top();
    return list.reload().then(redraw);
  }

  function filter(where) {
    state.where = where;
    chips.set(where);
    again();
  }

  function clear() {
    state = {...state, q: "", where: [], kind: FIRST_KINDS, experiment: null, archived: false, group: "", within: null};
    settle();
    again();
  }

  function setColumns(next) {
    state.columns = next;
    localStorage.setItem("runs.columns", JSON.stringify(next));
    panel?.set(next);
    list.setColumns(columns());
    again(false);
    if (next.some(key => !BASIC_KEYS.includes(key)))
      learn();
  }

  /** Which columns are numbers: known from the server, once. */
  const learn = () => keys().then(all => {
    if (closed || kinds.size > 0)
      return;
    kinds = new Map(all.map(c => [c.key, c.kind]));
    list.setColumns(columns());
  }, () => {});

  async function all() {
    try {
      const answer = await ask({...state, kind: state.kind.split(",").filter(k => k !== "experiment").join(",") || "run"}, {offset: 0, limit: MOST});
      for (const r of answer.rows)
        if (selected.size < MOST)
          selected.add(r.id);
      if (answer.total > MOST)
        most(`${number(answer.total)} runs match`);
      choose();
      list.mark();
    } catch (error) {
      say(error.message, "error");
    }
  }

  const most = why => say(`${why ? `${why}; ` : ""}${MOST} can be selected at once.`);

  async function save() {
    if (saving) {
      saving.abort();
      return;
    }
    saving = new AbortController();
    csvButton.textContent = "Stop";
    try {
      const {saved, missing: left} = await saveAll(state, (have, total) => { count.textContent = `CSV: ${number(have)} of ${number(total)} rows`; }, saving.signal);
      say(`runs.csv has ${number(saved)} rows${left ? `, and not all: ${left}` : ""}.`, left ? "error" : "note");
    } catch (error) {
      if (error.name !== "AbortError")
        say(error.message, "error");
    }
    saving = null;
    csvButton.textContent = "CSV";
    tell(list.total());
  }

  // ---- what stands there --------------------------------------------------------------------------

  const search = h("input", {type: "search", placeholder: "name, task, model, tag, state …", "aria-label": "Search the runs", title: "Words, each of which must be there; OR between alternatives; /regular expressions/ between slashes (key: /)", on: {input: () => {
    clearTimeout(typing);
    typing = setTimeout(() => { state.q = search.value.trim(); again(); }, 150);
  }}});
  const kindBoxes = KINDS.map(([kind, text]) => {
    const box = h("input", {type: "checkbox", on: {change: () => {
      const on = KINDS.filter((_, i) => kindBoxes[i].checked).map(([k]) => k);
      state.kind = on.length > 0 ? on.join(",") : kind; // never none of them
      settle();
      again();
    }}});
    return Object.assign(box, {kind, words: text});
  });
  const archived = h("input", {type: "checkbox", on: {change: () => {
    state.archived = archived.checked;
    if (state.archived && !state.kind.includes("experiment"))
      state.kind += ",experiment"; // what is asked for is to be seen
    settle();
    again();
  }}});
  const chips = filters(state.where, keys, filter);
  const csvButton = button("CSV", save, {title: "All rows that match, with the columns shown"});
  let panel = null;
  const columnsButton = button("Columns", () => {
    if (panel) {
      panel.element.remove();
      panel = null;
    } else {
      panel = picker(state.columns, keys, setColumns);
      tools.after(panel.element);
      panel.focus();
    }
    columnsButton.setAttribute("aria-expanded", String(panel !== null));
  }, {"aria-expanded": "false"});
  const fold = button("Filters", () => fold.setAttribute("aria-expanded", String(folded.classList.toggle("open"))), {class: "fold", "aria-expanded": "false"});
  const within = h("span", {class: "chip filter", hidden: true}), inside = h("span", {class: "chip filter", hidden: true});
  const grouping = h("select", {on: {change: () => {
    if (grouping.value === "…") {
      askGrouping();
      return;
    }
    groupBy(grouping.value);
  }}});

  function groupBy(key) {
    state.group = key;
    state.within = null;
    selected.clear();
    firstRows = [];
    settle();
    list.setColumns(columns());
    choose();
    again();
  }

  /** Any other key: typed, with those there are offered. */
  async function askGrouping() {
    settle();
    const names = h("datalist", {id: "group-keys"}), field = h("input", {list: "group-keys", required: true, size: 30, placeholder: "config.optimizer.learning_rate", "aria-label": "Keys to group by, with commas between"});
    const form = h("form", {class: "sheet", "aria-label": "Group by", on: {submit: e => {
      e.preventDefault();
      form.remove();
      groupBy(field.value.replace(/\s/g, ""));
    }, keydown: e => e.key === "Escape" && form.remove()}}, field, names, h("button", {type: "submit", class: "main"}, "Group"), button("Cancel", () => form.remove()));
    tools.after(form);
    field.focus();
    const all = await keys().catch(() => []);
    fill(names, [...BASIC_KEYS, ...all.map(k => k.key).filter(k => !BASIC_KEYS.includes(k))].map(k => h("option", {value: k})));
  }

  // ---- table, cards, or both ----

  const narrow = matchMedia("(max-width: 900px)");
  const face = () => { const wanted = state.show ?? (narrow.matches ? null : stored("runs.show")) ?? "both"; return narrow.matches && wanted === "both" ? "table" : wanted; };
  const faces = FACES.map(([key, text]) => button(text, () => {
    state.show = key;
    if (!narrow.matches)
      localStorage.setItem("runs.show", JSON.stringify(key));
    write();
    showFace();
    list.setColumns(columns());
    redraw();
  }, {class: "plain toggle", data: {face: key}}));

  function showFace() {
    workspace.dataset.face = face();
    for (const b of faces) {
      b.setAttribute("aria-pressed", String(b.dataset.face === face()));
      b.hidden = b.dataset.face === "both" && narrow.matches;
    }
  }
  const folded = h("div", {class: "folded"}, h("fieldset", {class: "kinds"}, h("legend", {class: "hidden"}, "Kinds of rows"),
    kindBoxes.map(box => h("label", null, box, box.words)), h("label", {title: "What was archived, too"}, archived, "Archived")), labelled("Group by", grouping), within, inside, chips.element);
  const views = viewsMenu({current: () => state.view, query: () => textOf(queryOf(state, selected, look)), open(name, query) { state.view = name; viewed = query; write(); }});
  const tools = h("div", {class: "bar tools"}, h("div", {class: "faces", role: "group", "aria-label": "What is shown"}, faces), count, h("span", {class: "spring"}), chosen, views.element, columnsButton, csvButton);

  function settle() {
    if (document.activeElement !== search)
      search.value = state.q;
    const on = state.kind === "all" ? KINDS.map(([k]) => k) : state.kind.split(",");
    for (const box of kindBoxes)
      box.checked = on.includes(box.kind);
    archived.checked = state.archived;
    chips.set(state.where);
    within.hidden = !state.experiment;
    if (state.experiment)
      fill(within, h("span", null, `trials of experiment ${state.experiment.split(":").pop()}`), button("×", () => {
        state.experiment = null;
        state.kind = FIRST_KINDS;
        settle();
        again();
      }, {class: "plain", "aria-label": "Show all runs, not only these trials"}));
    const others = GROUPINGS.some(([key]) => key === state.group) ? [] : [[state.group, state.group.replace(/(^|,)(config|metric)\./g, "$1")]];
    fill(grouping, [...GROUPINGS, ...others, ["…", "another key …"]].map(([key, text]) => h("option", {value: key, selected: key === state.group}, text)));
    inside.hidden = !state.within;
    if (state.within)
      fill(inside, h("span", null, "runs of one group"), button("×", () => {
        state.within = null;
        settle();
        list.setColumns(columns());
        again();
      }, {class: "plain", "aria-label": "Show all groups"}));
    fold.textContent = state.where.length > 0 ? `Filters (${state.where.length})` : "Filters";
  }

  function choose() {
    const n = selected.size, mine = [...selected].filter(id => !id.includes(":")), may = actionsFor([...selected], isGrouped(state));
    fill(chosen, n === 0 ? null : [h("span", null, `${n} selected`),
      isGrouped(state) ? null : mine.length > 1 ? h("a", {class: "button main", href: address("/compare", {runs: mine.join(",")})}, `Compare ${mine.length} runs`) : mine.length === 1 ? h("span", {class: "quiet"}, "one more to compare") : null,
      may.length > 0 ? button("Actions …", () => openActions([...selected], may, gone => {
        for (const id of gone)
          selected.delete(id);
        choose();
        again(false);
      }), {title: "Archive, stop, delete …"}) : null,
      button("Clear", () => { selected.clear(); choose(); list.mark(); list.focus(); }, {"aria-label": "Select none"})],
      isGrouped(state) ? null : button("Select all", all, {"aria-label": `Select all runs that match, at most ${MOST}`, title: `All that match, at most ${MOST} (Ctrl+A in the table)`}));
    write();
    redraw();
  }

  function tell(total) {
    count.classList.toggle("wrong", wrong !== "" || missing !== null);
    if (!saving)
      count.textContent = wrong || [isGrouped(state) ? `${number(total)} ${total === 1 ? "group" : "groups"}${runsInGroups > 0 ? ` of ${number(runsInGroups)} runs` : ""}` : `${number(total)} ${total === 1 ? "row" : "rows"}`, missing].filter(Boolean).join("; ");
  }

  // ---- what the cards show ------------------------------------------------------------------------

  let firstRows = [], runsInGroups = 0, ready = false;
  const seen = new Map(); // rows that were chosen, as they were seen last
  let early = null; // asked for beside the first rows
  const measured = () => ask({...state, group: "", within: null, kind: state.kind.split(",").filter(k => k !== "experiment").join(",") || "run"}, {offset: 0, limit: 1, describe: 1}).then(a => a.columns ?? []);
  const cards = board({
    look, keep: write, keys, measured: () => {
      const answer = early ?? measured();
      early = null;
      return answer;
    }, href: r => r.kind === "group" ? inGroup(r) : href(r), go: to => import("./page.js").then(page => page.go(to)),
    rows: (also, limit) => ask({...state, kind: state.kind.split(",").filter(k => k !== "experiment").join(",") || "run"}, {also, offset: 0, limit}),
  });

  /** Those that are chosen; else the first of the table. */
  function drawnRows() {
    const most = isGrouped(state) ? MOST_DRAWN.groups : MOST_DRAWN.runs, mine = [...selected].filter(id => !id.includes(":"));
    if (mine.length > 0)
      return mine.slice(0, most).map(id => seen.get(id) ?? {id, name: id.slice(0, 6)});
    return firstRows.filter(r => r.kind !== "experiment").slice(0, DRAWN);
  }

  const redraw = single(async () => {
    if (closed || !ready && selected.size === 0)
      return;
    const rows = drawnRows();
    drawnIds = new Set(rows.map(r => r.id));
    list.mark();
    if (face() === "table")
      return;
    if (rows.some(r => !seen.has(r.id))) { // from an address: their names are not here yet
      const found = await Promise.all(rows.filter(r => !seen.has(r.id)).map(r => isGrouped(state) ? null : get(`/api/v1/runs/${r.id}`).catch(() => null)));
      found.filter(r => r).forEach(r => seen.set(r.id, r));
    }
    await cards.show(drawnRows(), isGrouped(state) ? chosenBy(state) : null);
  });

  const list = table({
    label: "Runs and experiments", columns: columns(), rowKey: r => r.id, rowLabel: r => r.name, href,
    fetch: async (offset, limit, signal) => {
      const answer = await ask(state, {offset, limit}, signal);
      wrong = "";
      missing = answer.missing ?? null;
      reading(answer);
      runsInGroups = answer.runs ?? 0;
      if (offset === 0)
        firstRows = answer.rows;
      for (const r of answer.rows)
        seen.set(r.id, r);
      if (seen.size > 5000)
        for (const id of [...seen.keys()].slice(0, 2500))
          selected.has(id) || seen.delete(id);
      return answer;
    },
    selected, most: MOST, onMost: most, onSelect: choose, onAll: () => isGrouped(state) || all(), drawn: id => drawnIds.has(id), onPoint: id => cards.point(id !== null && drawnIds.has(id) ? id : null),
    sort: state.sort, onSort(sort) { state.sort = sort; again(); },
    onMove(key, before) {
      const rest = state.columns.filter(k => k !== key);
      rest.splice(rest.indexOf(before), 0, key);
      setColumns(rest);
    },
    onWidth(key, px) { widths = {...widths, [key]: px}; localStorage.setItem("runs.widths", JSON.stringify(widths)); },
    onKey(event, r, tr) {
      const change = event.key === "t" ? tr?.querySelector(".tags .edit") : null;
      change?.click();
      return Boolean(change);
    },
    onRows: tell, onError(error) { wrong = error.message; tell(0); },
    empty: () => nothing(state, clear, missing),
  });

  let drawnIds = new Set();
  const divider = h("div", {class: "divider", role: "separator", "aria-orientation": "vertical", "aria-label": "Room of the table", tabindex: 0, "aria-valuemin": 20, "aria-valuemax": 75, "aria-valuenow": stored("runs.split") ?? 42});
  const split = percent => {
    divider.setAttribute("aria-valuenow", String(Math.round(percent)));
    workspace.style.setProperty("--split", `${percent}%`);
    localStorage.setItem("runs.split", JSON.stringify(percent));
  };
  divider.addEventListener("pointerdown", e => {
    e.preventDefault();
    divider.setPointerCapture(e.pointerId);
    const box = workspace.getBoundingClientRect();
    divider.onpointermove = m => split(Math.max(20, Math.min(75, 100 * (m.clientX - box.left) / box.width)));
    divider.onpointerup = divider.onpointercancel = () => { divider.onpointermove = divider.onpointerup = divider.onpointercancel = null; };
  });
  divider.addEventListener("keydown", e => {
    const by = {ArrowLeft: -3, ArrowRight: 3}[e.key];
    if (by) {
      e.preventDefault();
      split(Math.max(20, Math.min(75, Number(divider.getAttribute("aria-valuenow")) + by)));
    }
  });
  const workspace = h("div", {class: "workspace"}, list.element, divider, cards.element);
  workspace.style.setProperty("--split", `${stored("runs.split") ?? 42}%`);

  let more = 0;
  function reading({found, read}) {
    const place = document.getElementById("reading"), behind = found > read;
    if (place)
      place.textContent = behind ? `reading ${number(read)} of ${number(found)} runs` : "";
    clearTimeout(more);
    if (behind) // the server tells nothing of a folder before it has been read
      more = setTimeout(() => !document.hidden && live(), 1000);
  }

  const live = single(async () => {
    if (closed)
      return;
    const begin = performance.now();
    await list.reload();
    await redraw();
    await pause(Math.max(drawnIds.size > 5 && face() !== "table" ? 4000 : 1000, Math.min(15000, 40 * (performance.now() - begin)))); // so that a page that is left open costs little
    if (cards.more())
      live();
  });
  const unwatch = watch("runs", live);
  const clock = setInterval(() => {
    for (const time of main.querySelectorAll("time[data-time]")) {
      const text = age(Number(time.dataset.time));
      if (time.textContent !== text)
        time.textContent = text;
    }
  }, 5000);
  const onKey = e => {
    if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) {
      e.preventDefault();
      search.focus();
    }
  };
  document.addEventListener("keydown", onKey);

  fill(main, h("div", {class: "runs-page", on: {click: e => e.target.closest("a") && write.flush()}}, h("h1", {class: "hidden"}, "Runs"), h("div", {class: "bar search"}, search, fold, folded), tools, workspace));
  settle();
  showFace();
  narrow.addEventListener("change", showFace);
  choose();
  if (state.columns.some(key => !BASIC_KEYS.includes(key)))
    learn();
  if (isGrouped(state) && face() !== "table") {
    early = measured();
    early.catch(() => {}); // who takes it hears of it
  }
  await list.reload();
  ready = true;
  redraw().then(() => cards.more() && live());
  return {
    async update(query) {
      const mine = ++updates;
      query = await resolveView(query);
      if (mine !== updates || closed)
        return;
      state = readState(query);
      Object.assign(look, readBoard(query));
      viewed = null;
      firstRows = [];
      cards.reset();
      showFace();
      selected.clear();
      for (const id of state.selected)
        selected.add(id);
      search.value = state.q;
      settle();
      choose();
      panel?.set(state.columns);
      list.setSort(state.sort);
      list.setColumns(columns());
      list.top();
      list.reload().then(redraw);
    },
    close() {
      closed = true;
      cards.close();
      narrow.removeEventListener("change", showFace);
      write.stop();
      unwatch();
      clearInterval(clock);
      clearTimeout(typing);
      clearTimeout(more);
      saving?.abort();
      list.close();
      document.removeEventListener("keydown", onKey);
      const place = document.getElementById("reading");
      if (place)
        place.textContent = "";
    },
  };
}
