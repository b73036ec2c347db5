// Tables of an experiment: its trials, its checkpoints, its file.
import {showTrial} from "./experiment_history.js";
import {h, button, choice, labelled, download, csv} from "./html.js";
import {get} from "./api.js";
import {table} from "./table.js";
import {say} from "./page.js";
import {number, bytes, age, date} from "./format.js";
import {count as many, seconds, shown} from "./experiment_data.js";
import {continueTrial, killTrial, removeCheckpoint, showLog, sizeOf} from "./experiment_actions.js";

const state = text => h("span", {class: `state ${text}`}, text);

// ---- trials -----------------------------------------------------------------------------------------

export function trials(e, context) {
  const query = context.query();
  let sort = {key: query.get("sort") ?? "best", order: query.get("order") ?? (e.smaller() ? "asc" : "desc")}, which = query.get("state") ?? "", words = query.get("q") ?? "", rows = [], hypers = "";

  const columns = () => {
    const none = text => text ?? "";
    return [
      {key: "number", title: "Trial", kind: "text", width: 110, of: t => t.number, cell: t => `trial ${t.number}`},
      {key: "state", title: "State", kind: "text", width: 130, of: t => t.state, cell: t => state(t.state)},
      {key: "best", title: "Best", help: `${e.metric()}, ${e.smaller() ? "smaller" : "larger"} is better`, kind: "number", width: 100, of: t => t.best, cell: t => t.rank === 0 ? h("b", null, number(t.best)) : number(t.best)},
      {key: "metric", title: "Latest", help: `${e.metric()} at the newest validation`, kind: "number", width: 100, of: t => t.latest, cell: t => number(t.latest)},
      {key: "batches", title: "Batches", kind: "number", width: 95, of: t => t.batches, cell: t => number(t.batches)},
      {key: "restarts", title: "Restarts", kind: "number", width: 95, of: t => t.restarts, cell: t => t.restarts > 0 ? number(t.restarts) : h("span", {class: "quiet"}, "0")},
      ...(e.varied.length > 0 ? e.varied : e.space).map(hyper => ({key: `h.${hyper.name}`, title: hyper.short, help: hyper.name, kind: hyper.kind === "choice" ? "text" : "number", width: Math.min(190, Math.max(105, 34 + 8 * hyper.short.length)), of: t => hyper.of(t), cell: t => shown(hyper.of(t))})),
      {key: "started", title: "Began", kind: "text", width: 115, of: t => seconds(t.start_time), cell: t => t.start_time ? h("time", {title: date(t.start_time)}, age(seconds(t.start_time))) : "–"},
      {key: "message", title: "Reason", kind: "text", width: 150, of: t => none(t.message), cell: t => h("span", {title: t.message}, t.message ?? (t.job ? `Slurm job ${t.job}` : ""))},
      {key: "do", title: "Actions", kind: "text", width: 250, sortable: false, cell: t => h("span", {class: "row-actions"}, button(t.note ? "Details ✎" : "Details", () => showTrial(e, t, context.refresh), {class: "plain", "aria-label": `Details of trial ${t.number}`, title: t.note || null}), button("Log", () => showLog(e, t), {class: "plain", "aria-label": `Log of trial ${t.number}`}),
        context.readOnly() ? null : button("Continue", () => continueTrial(e, t), {class: "plain", "aria-label": `Continue trial ${t.number}`}),
        !context.readOnly() && t.state === "ACTIVE" ? button("Kill", () => killTrial(e, t, context.refresh), {class: "plain", "aria-label": `Kill trial ${t.number}`}) : null)},
    ];
  };

  function arrange() {
    const column = columns().find(c => c.key === sort.key) ?? columns()[0], up = sort.order === "asc" ? 1 : -1, needle = words.toLowerCase();
    rows = e.trials.filter(t => (which === "" || t.state === which) && (needle === "" || `${t.number} ${t.state} ${t.message ?? ""} ${JSON.stringify(t.hyperparameters)}`.toLowerCase().includes(needle)));
    const missing = v => v === null || v === undefined || v === "";
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
    rows = rows.map(t => [column.of?.(t), t]).sort(([a, s], [b, t]) => missing(a) || missing(b) ? missing(a) - missing(b) || s.number - t.number : up * compare(a, b) || s.number - t.number).map(([, t]) => t);
    count.textContent = rows.length === e.trials.length ? many(rows.length, "trial") : `${number(rows.length)} of ${number(e.trials.length)} trials`;
  }

  const count = h("span", {class: "quiet", role: "status"});
  const field = h("input", {type: "search", value: words, placeholder: "number, value, reason", on: {input: () => {
    words = field.value;
    context.setQuery({q: words});
    again(true);
  }}});
  const states = choice([["", "all"], ...["ACTIVE", "COMPLETED", "CANCELED", "ERROR"].map(s => [s, s])], which, v => {
    which = v;
    context.setQuery({state: v});
    again(true);
  });
  const grid = table({
    label: "Trials", columns: columns(), sort, rowKey: t => String(t.id), rowLabel: t => `trial ${t.number}, ${t.state}, ${e.metric()} ${number(t.best)}`,
    href: t => e.runHref(t), selected: null, empty: "No trial is like that.",
    fetch: async (offset, limit) => ({total: rows.length, rows: rows.slice(offset, offset + limit)}),
    onSort: s => {
      sort = s;
      context.setQuery({sort: s.key, order: s.order});
      again(true);
    },
  });
  const save = () => download(`experiment-${e.id}-trials.csv`, "text/csv", csv([columns().filter(c => c.of).map(c => c.title), ...rows.map(t => columns().filter(c => c.of).map(c => c.of(t)))]));

  function again(top = false) {
    arrange();
    const now = e.varied.map(v => v.name).join();
    if (now !== hypers) {
      hypers = now;
      grid.setColumns(columns());
    }
    if (top)
      grid.top();
    return grid.reload();
  }
  hypers = e.varied.map(v => v.name).join();
  arrange();
  grid.reload();
  return {
    element: h("div", null, h("div", {class: "bar"}, labelled("State", states), labelled("Find", field), count, h("span", {class: "spring"}), button("CSV", save, {"aria-label": "Save the trials as CSV"})), grid.element),
    update: () => again(), close: () => grid.close(),
  };
}

// ---- checkpoints ----------------------------------------------------------------------------------------

export function checkpoints(e, context) {
  let which = context.query().get("which") ?? "all";
  const count = h("span", {class: "quiet", role: "status"});
  const columns = [
    {key: "folder", title: "Folder", kind: "text", width: 220, sortable: false, cell: c => h("span", {class: "mono", title: c.uuid}, c.folder)},
    {key: "number", title: "Trial", kind: "number", width: 80, sortable: false, cell: c => c.number},
    {key: "batches", title: "Batches", kind: "number", width: 100, sortable: false, cell: c => number(c.batches)},
    {key: "metric", title: e.metric(), kind: "number", width: 190, sortable: false, cell: c => number(c.metric)},
    {key: "state", title: "State", kind: "text", width: 130, sortable: false, cell: c => state(c.state)},
    {key: "bytes", title: "Size", kind: "number", width: 130, sortable: false, cell: c => c.state === "DELETED" ? h("span", {class: "quiet"}, `was ${bytes(sizeOf(c))}`) : bytes(sizeOf(c))},
    {key: "time", title: "Saved", kind: "text", width: 120, sortable: false, cell: c => c.end_time ? h("time", {title: date(c.end_time)}, age(seconds(c.end_time))) : "–"},
    {key: "do", title: "Actions", kind: "text", width: 90, sortable: false, cell: c => context.readOnly() || c.state !== "COMPLETED" ? ""
      : button("Delete", () => removeCheckpoint(e, c, context.refresh), {class: "plain", "aria-label": `Delete the checkpoint of trial ${c.number} at ${c.batches} batches`})},
  ];
  const grid = table({
    label: "Checkpoints", columns, sort: null, rowKey: c => c.uuid, rowLabel: c => `trial ${c.number}, ${c.batches} batches, ${c.state}`, selected: null, empty: "No checkpoint has been saved.",
    fetch: async (offset, limit) => {
      const answer = await get(`${e.path}/checkpoints`, which === "all" ? {offset, limit} : {best: which});
      const total = answer.total ?? answer.checkpoints.length;
      count.textContent = which === "all" ? `${many(total, "checkpoint")}, by trial` : `the best ${number(total)} that are there`;
      return {total, rows: which === "all" ? answer.checkpoints : answer.checkpoints.slice(offset, offset + limit)};
    },
    onError: error => say(error.message, "error"),
  });
  grid.reload();
  return {
    element: h("div", null, h("div", {class: "bar"}, labelled("Show", choice([["all", "all"], ["10", "the best 10"], ["100", "the best 100"]], which, v => {
      which = v;
      context.setQuery({which: v === "all" ? null : v});
      grid.top();
      grid.reload();
    })), count), grid.element),
    update: () => grid.reload(), close: () => grid.close(),
  };
}

// ---- its file ---------------------------------------------------------------------------------------------

export function configuration(e) {
  return {
    element: h("div", null, h("div", {class: "bar"}, h("span", {class: "quiet"}, "The merged experiment file, as its trials had it."), h("span", {class: "spring"}),
      button("Copy", () => navigator.clipboard?.writeText(e.config.text).then(() => say("The file is copied."), () => say("The browser does not let the page copy.", "error")) ?? say("The browser does not let the page copy.", "error")),
      button("Save", () => download(`${e.config.name}.yaml`, "text/yaml", e.config.text))), h("pre", {class: "log yaml", tabindex: 0, "aria-label": "Experiment file"}, e.config.text)),
    update() {}, close() {},
  };
}

