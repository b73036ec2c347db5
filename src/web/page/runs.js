// All runs and experiments there are: searched, filtered and sorted by the server, chosen for comparison here.
// What is shown is in the address; what the reader did last time is kept where the address says nothing.
import {h, fill, button, cut, download, csv} from "./html.js";
import {get, send, address} from "./api.js";
import {number, age, date} from "./format.js";
import {watch, single, paced} from "./live.js";
import {server, setQuery, say} from "./page.js";
import {table} from "./table.js";
import {column, picker, BASIC_KEYS, DEFAULT} from "./columns.js";
import {filters} from "./filters.js";

const MOST = 100; // runs that one comparison takes
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
    selected: query.get("selected")?.split(",").filter(id => /^[0-9a-f]{16}$/.test(id)).slice(0, MOST) ?? [],
  };
}

function writeState(state, selected) {
  const same = state.columns.join() === DEFAULT.join(), first = state.sort.key === FIRST_SORT.key && state.sort.order === FIRST_SORT.order;
  setQuery({q: state.q, kind: state.kind === (state.experiment ? "trial" : FIRST_KINDS) ? null : state.kind, where: state.where, experiment: state.experiment,
    archived: state.archived ? "1" : null, sort: first ? null : state.sort.key, order: first ? null : state.sort.order, columns: same ? null : state.columns.join(","), selected: [...selected].join(",")});
}

const ask = (state, more, signal) => get("/api/v1/runs", {
  q: state.q, kind: state.kind, where: state.where, experiment: state.experiment, archived: state.archived ? 1 : null, sort: state.sort.key, order: state.sort.order,
  columns: [...new Set([...state.columns, state.sort.key])].filter(key => !BASIC_KEYS.includes(key)).join(","), ...more}, signal);

const href = r => r.kind === "experiment" ? `/experiments/${r.master}/${r.experiment}` : `/runs/${r.id}`;

function nameCell(r) {
  return h("span", {class: "named"}, h("a", {href: href(r), tabindex: -1}, cut(r.name)),
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

/** What stands in an empty table. */
function nothing(state, clear) {
  if (state.q || state.where.length > 0 || state.kind !== FIRST_KINDS || state.experiment)
    return h("div", null, h("p", null, "Nothing matches."), button("Show all runs", clear));
  const folders = server.folders ?? [];
  return h("div", null, h("h2", null, "No runs yet"),
    h("p", null, folders.length > 0 ? ["The server reads ", folders.map((f, i) => [i > 0 ? ", " : "", h("code", null, f)]), ` and the folders in ${folders.length > 1 ? "them" : "it"}. `] : null,
      "A run appears here as soon as it begins:"),
    h("pre", {class: "log"}, `regimen run configs/cora_gcn.yaml --run-dir ${(folders[0] ?? "runs").replace(/\/$/, "")}/first`));
}

/** Rows in the order of the table, all of them: in pieces, so that the server never makes one answer of 10,000. */
async function saveAll(state, told, signal) {
  const keys = ["name", ...state.columns], rows = [["id", "kind", ...keys.flatMap(k => k === "best" ? ["best metric", "best"] : k)]], seen = new Set();
  const value = (r, key) => key === "best" ? [r.best?.metric, r.best?.value] : key === "best_step" ? r.best?.step : key === "tags" ? (r.tags ?? []).join(" ")
    : key === "modified" || key === "started" ? (r[key] ? date(r[key]) : null) : BASIC_KEYS.includes(key) ? r[key] : r.values?.[key];
  let total = 1;
  for (let offset = 0; offset < total; offset += 1000) {
    const answer = await ask(state, {offset, limit: 1000}, signal);
    total = answer.total;
    for (const r of answer.rows)
      if (!seen.has(r.id)) { // one that moved while it was asked for is there once
        seen.add(r.id);
        rows.push([r.id, r.kind, ...keys.flatMap(key => value(r, key))]);
      }
    told(seen.size, total);
  }
  download("runs.csv", "text/csv", csv(rows));
  return seen.size;
}

export async function show(main, {query}) {
  document.title = "Runs – Regimen";
  let state = readState(query), typing = 0, closed = false, kinds = new Map(), described = null, saving = null, widths = stored("runs.widths") ?? {}, wrong = "";
  const selected = new Set(state.selected), count = h("span", {role: "status", class: "quiet"}), chosen = h("div", {class: "chosen-bar"});
  const keys = () => described ??= ask(state, {kind: "all", q: null, where: [], offset: 0, limit: 1, describe: 1}).then(a => a.columns ?? [], error => { described = null; throw error; });

  const columns = () => [{key: "name", title: "Name", width: innerWidth < 640 ? 190 : 240, link: false, cell: nameCell},
    ...state.columns.map(key => ({...column(key, kinds, tags), ...(widths[key] ? {width: widths[key]} : {})}))];
  const tags = r => tagsCell(r, tag => filter([...state.where.filter(w => w !== `tags ~ ${tag}`), `tags ~ ${tag}`]), () => list.reload());

  const write = paced(() => writeState(state, selected));

  // ---- what the reader asks for -----------------------------------------------------------------

  function again(fromTop = true) {
    write();
    if (fromTop)
      list.top();
    return list.reload();
  }

  function filter(where) {
    state.where = where;
    chips.set(where);
    again();
  }

  function clear() {
    state = {...state, q: "", where: [], kind: FIRST_KINDS, experiment: null, archived: false};
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
      const n = await saveAll(state, (have, total) => { count.textContent = `CSV: ${number(have)} of ${number(total)} rows`; }, saving.signal);
      say(`runs.csv has ${number(n)} rows.`);
    } catch (error) {
      if (error.name !== "AbortError")
        say(error.message, "error");
    }
    saving = null;
    csvButton.textContent = "CSV";
    tell(list.total());
  }

  // ---- what stands there --------------------------------------------------------------------------

  const search = h("input", {type: "search", placeholder: "name, task, model, tag, state …", "aria-label": "Search the runs", title: "Search (/)", on: {input: () => {
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
  const within = h("span", {class: "chip filter", hidden: true});
  const folded = h("div", {class: "folded"}, h("fieldset", {class: "kinds"}, h("legend", {class: "hidden"}, "Kinds of rows"),
    kindBoxes.map(box => h("label", null, box, box.words)), h("label", {title: "Searches that were archived, too"}, archived, "Archived")), within, chips.element);
  const tools = h("div", {class: "bar tools"}, count, h("span", {class: "spring"}), chosen, columnsButton, csvButton);

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
    fold.textContent = state.where.length > 0 ? `Filters (${state.where.length})` : "Filters";
  }

  function choose() {
    const n = selected.size;
    fill(chosen, n === 0 ? null : [h("span", null, `${n} selected`),
      n > 1 ? h("a", {class: "button main", href: address("/compare", {runs: [...selected].join(",")})}, `Compare ${n} runs`) : h("span", {class: "quiet"}, "one more to compare"),
      button("Clear", () => { selected.clear(); choose(); list.mark(); list.focus(); }, {"aria-label": "Select none"})],
      button("Select all", all, {"aria-label": `Select all runs that match, at most ${MOST}`, title: `All that match, at most ${MOST} (Ctrl+A in the table)`}));
    write();
  }

  function tell(total) {
    count.classList.toggle("wrong", wrong !== "");
    if (!saving)
      count.textContent = wrong || `${number(total)} ${total === 1 ? "row" : "rows"}`;
  }

  const list = table({
    label: "Runs and experiments", columns: columns(), rowKey: r => r.id, rowLabel: r => r.name, href,
    fetch: async (offset, limit, signal) => {
      const answer = await ask(state, {offset, limit}, signal);
      wrong = "";
      reading(answer);
      return answer;
    },
    selected, most: MOST, onMost: most, onSelect: choose, selectable: r => r.kind !== "experiment", onAll: all,
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
    empty: () => nothing(state, clear),
  });

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
    await list.reload();
    await pause(1000);
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

  fill(main, h("div", {class: "runs-page", on: {click: e => e.target.closest("a") && write.flush()}}, h("h1", {class: "hidden"}, "Runs"), h("div", {class: "bar search"}, search, fold, folded), tools, list.element));
  settle();
  choose();
  if (state.columns.some(key => !BASIC_KEYS.includes(key)))
    learn();
  await list.reload();
  return {
    update(query) {
      state = readState(query);
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
      list.reload();
    },
    close() {
      closed = true;
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
