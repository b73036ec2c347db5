// What was changed of a search while it went on, and what a trial has done workload by workload.
import {h, fill, button} from "./html.js";
import {get, send} from "./api.js";
import {server} from "./page.js";
import {number, bytes, duration, date, age} from "./format.js";
import {plainTable} from "./table.js";
import {finite, seconds, shown, valueText} from "./experiment_data.js";
import {open, attempt, sizeOf} from "./experiment_actions.js";

const MOST = 500;
const when = time => time ? h("time", {title: date(time)}, age(seconds(time))) : "–";

/** The tab: each change with when it came, newest first. */
export function history(e) {
  const place = h("div"), told = h("p", {class: "quiet told"});
  let known = -1;

  async function load() {
    try {
      const {changes, total} = await get(`${e.path}/changes`, {limit: MOST});
      if (total === known)
        return;
      known = total;
      told.textContent = total > changes.length ? `The first ${number(changes.length)} of ${number(total)}.` : "";
      fill(place, plainTable("Changes of the search", [
        {title: "Change", kind: "number", cell: c => number(c.id)}, {title: "When", cell: c => when(c.time)},
        {title: "What", cell: c => h("code", null, typeof c.what === "string" ? c.what : valueText(c.what))}],
      [...changes].reverse(), "Nothing was changed of this search: it is as its file says. regimen experiment set, try and trial stop change one that runs."));
    } catch (error) {
      fill(place, h("p", {class: "quiet"}, error.status === 404 ? "The master of this search is of an older version: it keeps no changes." : error.message));
    }
  }

  load();
  return {element: h("div", null, place, told), update: load, close() {}};
}

const metricsOf = m => h("span", {class: "pairs"}, Object.entries(m ?? {}).map(([name, v]) => h("span", {class: "pair"}, h("span", {class: "quiet"}, `${name} `), number(finite(v) ?? v))));

function noteOf(path, trial, refresh) {
  const field = h("textarea", {class: "note-text short", "aria-label": "Note", value: trial.note ?? "", disabled: server.read_only});
  return h("form", {on: {submit: async event => {
    event.preventDefault();
    await attempt("The note is kept.", () => send("PATCH", path, {note: field.value}));
    refresh();
  }}}, field, server.read_only ? null : h("div", {class: "buttons"}, h("button", {type: "submit"}, "Save the note")));
}

/** The dialog of a trial: its values, its note, its workloads, validations and checkpoints. */
export async function showTrial(e, trial, refresh) {
  const path = `/api/v1/masters/${e.master}/trials/${trial.id}`, place = h("div", {class: "trial-parts"}), note = h("div");
  open(`Trial ${trial.number}`, close => h("div", null,
    h("p", null, h("span", {class: `state ${trial.state}`}, trial.state), " ", trial.message ? h("span", {class: "is-bad"}, trial.message) : null),
    h("div", {class: "pairs"}, [...(trial.values ?? new Map())].map(([name, v]) => h("span", {class: "pair"}, h("span", {class: "quiet"}, `${name} `), shown(v)))),
    note, place, h("div", {class: "buttons"},
      !server.read_only && trial.state === "ACTIVE" ? button("Stop: it validates, saves and counts", async () => {
        await attempt(`Trial ${trial.number} ends after its step.`, () => send("POST", `${path}/stop`));
        close();
        refresh();
      }) : null, button("Close", close))));
  try {
    const [row, steps, validations, checkpoints] = await Promise.all([get(path), get(`${path}/steps`, {limit: MOST}), get(`${path}/validations`, {limit: MOST}), get(`${path}/checkpoints`, {limit: MOST})]);
    const part = (title, answer, key, columns) => [h("h3", null, `${title} (${number(answer.total)})`), plainTable(title, columns, answer[key], "none yet"),
      answer.total > answer[key].length ? h("p", {class: "quiet"}, `The first ${number(answer[key].length)}.`) : null];
    const time = s => s.end_time && s.start_time ? duration(seconds(s.end_time) - seconds(s.start_time)) : "–";
    fill(note, h("h3", null, "Note"), noteOf(path, row, refresh));
    fill(place,
      part("Workloads", steps, "steps", [{title: "Step", kind: "number", cell: s => number(s.id)}, {title: "State", cell: s => s.state}, {title: "Batches", kind: "number", cell: s => number(s.batches)}, {title: "Began", cell: s => when(s.start_time)}, {title: "Took", kind: "number", cell: time}, {title: "Metrics", cell: s => metricsOf(s.metrics)}]),
      part("Validations", validations, "validations", [{title: "Step", kind: "number", cell: v => number(v.step_id)}, {title: "Batches", kind: "number", cell: v => number(v.batches)}, {title: e.metric(), kind: "number", cell: v => number(finite(v.metric) ?? v.metric)}, {title: "Took", kind: "number", cell: time}, {title: "Metrics", cell: v => metricsOf(v.metrics)}]),
      part("Checkpoints", checkpoints, "checkpoints", [{title: "Folder", cell: c => h("code", null, c.folder)}, {title: "Batches", kind: "number", cell: c => number(c.batches)}, {title: "State", cell: c => c.state}, {title: "Size", kind: "number", cell: c => bytes(sizeOf(c))}, {title: "Saved", cell: c => when(c.end_time)}]));
  } catch (error) {
    fill(place, h("p", {class: "is-bad"}, error.message));
  }
}
