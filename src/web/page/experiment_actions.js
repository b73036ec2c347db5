// What can be done to an experiment: a dialog each, and every result or error said.
import {h, fill, button, labelled, fresh} from "./html.js";
import {get, send} from "./api.js";
import {say, go} from "./page.js";
import {number, bytes, duration, age} from "./format.js";
import {all, count, seconds, shown, trialText, OVER} from "./experiment_data.js";

/** A dialog of our own: body(close) -> elements. Escape closes it; `closed` is called however it went. */
export function open(title, body, closed) {
  const heading = fresh("dialog");
  const close = () => {
    dialog.close();
    dialog.remove();
    closed?.();
  };
  const dialog = h("dialog", {"aria-labelledby": heading, on: {cancel: event => { event.preventDefault(); close(); }}}, h("h2", {id: heading}, title));
  fill(dialog, h("h2", {id: heading}, title), body(close, dialog));
  document.body.append(dialog);
  dialog.showModal();
  return close;
}

/** A dialog that does something: the error stays in it. act() -> Promise; then the dialog is closed. */
function form(title, body, action, act, kind = "main") {
  const message = h("div", {class: "message", role: "alert"});
  open(title, close => {
    const doer = h("button", {type: "submit", class: kind}, action);
    return h("form", {on: {submit: async event => {
      event.preventDefault();
      doer.disabled = true;
      fill(message);
      try {
        await act(close);
        close();
      } catch (error) {
        fill(message, h("p", {class: "is-bad"}, error.message));
      } finally {
        doer.disabled = false;
      }
    }}}, body, message, h("div", {class: "buttons"}, button("Cancel", close), doer));
  });
}

const paths = e => ({master: `/api/v1/masters/${e.master}`, experiment: e.path});

/** Says what became of it; errors too. */
export async function attempt(what, work) {
  try {
    const answer = await work();
    say(what);
    return answer;
  } catch (error) {
    say(error.message, "error");
    return null;
  }
}

// ---- states -------------------------------------------------------------------------------------

const CHANGES = {
  pause: ["Pause", "Each trial ends its workload, saves, and gives its slots back.", "is being paused"],
  activate: ["Activate", null, "goes on"],
  cancel: ["Cancel", "Each trial ends its workload and saves; then the experiment is over, and cannot be activated again.", "is being cancelled"],
  kill: ["Kill", "The processes of its trials are ended at once. What was not checkpointed is lost, and the experiment is over.", "is being killed"],
  archive: ["Archive", null, "is archived: lists leave it out"],
  unarchive: ["Unarchive", null, "is in lists again"],
};

/** Which fit the state. */
export function fitting(row) {
  if (!row)
    return [];
  if (OVER.includes(row.state))
    return ["fork", "continue", row.archived ? "unarchive" : "archive", "collect", "delete"];
  const running = {ACTIVE: ["pause", "cancel", "kill"], PAUSED: ["activate", "cancel", "kill"], STOPPING_KILLED: []}[row.state] ?? ["kill"];
  return [...running, "fork", "continue", "settings"];
}

export const titles = {
  ...Object.fromEntries(Object.entries(CHANGES).map(([key, [title]]) => [key, title])),
  fork: "Fork…", continue: "Continue a trial…", collect: "Collect checkpoints…", delete: "Delete…", settings: "Settings…",
};

export function act(e, key, refresh) {
  const doing = {fork, continue: () => continueTrial(e, null), collect: () => collect(e, refresh), delete: () => remove(e), settings: () => settings(e, refresh)};
  if (key === "fork")
    return fork(e);
  return doing[key] ? doing[key]() : change(e, key, refresh);
}

async function change(e, key, refresh) {
  const [title, warning, done] = CHANGES[key], told = `Experiment ${e.id} ${done}.`;
  const work = () => send("POST", `${paths(e).experiment}/${key}`);
  if (key === "cancel" || key === "kill")
    form(`${title} experiment ${e.id}?`, h("p", null, warning), title, async () => { await work(); say(told); refresh(); }, "danger");
  else if (await attempt(told, work))
    refresh();
}

// ---- settings -------------------------------------------------------------------------------------

function settings(e, refresh) {
  const description = h("input", {value: e.row.description ?? "", size: 50}), weight = h("input", {type: "number", step: "any", min: 0, value: e.row.weight});
  const priority = h("input", {type: "number", min: 1, max: 99, value: e.row.priority}), most = h("input", {type: "number", min: 0, value: e.row.max_slots});
  form(`Settings of experiment ${e.id}`, h("div", {class: "fields"}, labelled("Description", description), labelled("Weight (fair share)", weight),
    labelled("Priority (1 first, 99 last)", priority), labelled("Slots at most (0: all)", most)), "Save", async () => {
    await send("PATCH", paths(e).experiment, {description: description.value, weight: Number(weight.value), priority: Number(priority.value), max_slots: Number(most.value)});
    say(`Experiment ${e.id} is changed.`);
    refresh();
  });
}

export async function setLabel(e, label, on, refresh) {
  if (await attempt(on ? `Label '${label}' is added.` : `Label '${label}' is removed.`, () => send("PATCH", paths(e).experiment, {labels: {[label]: on ? true : null}})))
    refresh();
}

// ---- fork -------------------------------------------------------------------------------------------

/** Mistakes of a file, one a line: "digits:33:11: ..." -> {line, column, text} */
function mistakes(error) {
  const text = typeof error.details === "string" && error.details.trim() !== "" ? error.details : error.message;
  return text.split("\n").filter(line => line.trim() !== "").map(line => {
    const found = /^(.*?):(\d+):(?:(\d+):)? ?(.*)$/.exec(line);
    return found ? {line: Number(found[2]), column: Number(found[3] ?? 1), text: found[4]} : {line: 0, column: 0, text: line};
  });
}

function toLine(area, {line, column}) {
  const lines = area.value.split("\n"), start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  area.focus();
  area.setSelectionRange(start + Math.max(0, column - 1), start + (lines[line - 1] ?? "").length);
  area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(area).lineHeight || "18"));
}

export async function fork(e, text = null) {
  let config;
  try {
    config = await e.loadConfig();
  } catch (error) {
    say(error.message, "error");
    return;
  }
  const area = h("textarea", {value: text ?? config.text, spellcheck: "false", "aria-label": "Experiment file", autocomplete: "off"});
  const description = h("input", {value: e.row.description ?? "", size: 44}), paused = h("input", {type: "checkbox"});
  const message = h("div", {class: "message", role: "alert"});
  const tell = error => fill(message, h("ul", {class: "mistakes"}, mistakes(error).map(m => h("li", {class: "is-bad"},
    m.line > 0 ? [button(`line ${m.line}, column ${m.column}`, () => toLine(area, m), {class: "plain"}), " "] : null, m.text))));
  const check = () => send("POST", `${paths(e).master}/experiments`, {config: area.value, name: config.name, working_folder: e.row.working_folder, validate_only: true});
  open(`Fork of experiment ${e.id}`, close => {
    const start = h("button", {type: "submit", class: "main"}, "Start");
    return h("form", {on: {submit: async event => {
      event.preventDefault();
      start.disabled = true;
      fill(message, h("p", {class: "quiet"}, "Checking…"));
      try {
        await check();
        const made = await send("POST", `${paths(e).experiment}/fork`, {config: area.value, description: description.value, paused: paused.checked});
        close();
        say(`Experiment ${made.id} is a fork of ${e.id}.`);
        go(`/experiments/${e.master}/${made.id}`);
      } catch (error) {
        tell(error);
      } finally {
        start.disabled = false;
      }
    }}},
    h("p", {class: "quiet"}, "The merged file of this experiment. The fork begins anew: it takes over no trial."),
    h("div", {class: "bar"}, labelled("Description", description), labelled("Begin paused", paused)), area, message,
    h("div", {class: "buttons"}, button("Cancel", close), button("Check", async () => {
      fill(message, h("p", {class: "quiet"}, "Checking…"));
      try {
        await check();
        fill(message, h("p", {class: "is-good"}, "The file can be run."));
      } catch (error) {
        tell(error);
      }
    }), start));
  });
}

// ---- continue -----------------------------------------------------------------------------------------

export async function continueTrial(e, trial) {
  try {
    await e.loadConfig();
    if (e.trials.length === 0)
      await e.loadTrials();
  } catch (error) {
    say(error.message, "error");
    return;
  }
  const which = h("input", {type: "number", min: 1, required: true, value: trial?.number ?? e.row.best_trial?.number ?? 1});
  const told = h("p", {class: "quiet"}), length = e.config.read?.searcher?.max_length;
  const unitThere = length && typeof length === "object" ? Object.keys(length)[0] : "steps";
  const amount = h("input", {type: "number", min: 1, required: true, value: typeof length === "number" ? length : length?.[unitThere] ?? e.config.read?.searcher?.max_steps ?? 10});
  const unit = h("select", null, ["steps", "batches", "records", "epochs"].map(u => h("option", {value: u, selected: u === unitThere}, u)));
  const description = h("input", {size: 44, value: ""}), paused = h("input", {type: "checkbox"});
  const look = () => {
    const found = e.byNumber.get(Number(which.value));
    told.textContent = found ? `${trialText(e, found)}; ${e.metric()} ${shown(found.best ?? "none")}, ${number(found.batches)} batches` : "There is no such trial.";
  };
  which.addEventListener("input", look);
  look();
  form("Continue a trial", h("div", {class: "fields"}, h("p", {class: "quiet"}, "A new experiment of one trial, with this one's hyperparameters and from its last checkpoint."),
    labelled("Trial", which), told, h("div", {class: "bar"}, labelled("How much more to train", amount), labelled("Unit", unit)),
    labelled("Description", description), labelled("Begin paused", paused)), "Start", async () => {
    const found = e.byNumber.get(Number(which.value));
    if (!found)
      throw new Error("There is no such trial.");
    const body = {max_length: {[unit.value]: Number(amount.value)}, paused: paused.checked};
    if (description.value !== "")
      body.description = description.value;
    const made = await send("POST", `${paths(e).master}/trials/${found.id}/continue`, body);
    say(`Experiment ${made.id} continues trial ${found.number}.`);
    go(`/experiments/${e.master}/${made.id}`);
  });
}

export function killTrial(e, trial, refresh) {
  form(`Kill trial ${trial.number}?`, h("p", null, "Its process is ended, and the trial with that. The search goes on without it."), "Kill", async () => {
    await send("POST", `${paths(e).master}/trials/${trial.id}/kill`);
    say(`Trial ${trial.number} is killed.`);
    refresh();
  }, "danger");
}

// ---- what is removed ------------------------------------------------------------------------------------

export const sizeOf = checkpoint => Object.values(checkpoint.resources ?? {}).reduce((sum, v) => sum + (typeof v === "number" ? v : 0), 0);

async function keptCheckpoints(e) {
  const {rows} = await all(`${paths(e).experiment}/checkpoints`, "checkpoints");
  const there = rows.filter(c => c.state === "COMPLETED");
  return {count: there.length, bytes: there.reduce((sum, c) => sum + sizeOf(c), 0), rows: there};
}

async function remove(e) {
  let kept, where;
  try {
    [kept, where] = await Promise.all([keptCheckpoints(e), get(`${paths(e).master}/master`)]);
  } catch (error) {
    say(error.message, "error");
    return;
  }
  const best = e.row.best_trial;
  form(`Delete experiment ${e.id} (${e.row.name})?`, h("div", null, h("p", null, "This removes, and nothing brings it back:"), h("ul", null,
    h("li", null, "the folder ", h("code", null, `${where.folder}/${e.id}`), ", with the run folders and logs of its ", count(e.row.trials, "trial")),
    h("li", null, kept.count === 0 ? "no checkpoint: none is there" : `${count(kept.count, "checkpoint")}, ${bytes(kept.bytes)}`),
    h("li", null, "its rows in the master's database: trials, validations, events"),
    best ? h("li", null, `so also the best trial, ${best.number}, with ${e.row.metric} ${number(best.best_metric)}`) : null),
  h("p", {class: "quiet"}, "Experiments that were forked from it stay.")), "Delete", async () => {
    await send("DELETE", paths(e).experiment);
    say(`Experiment ${e.id} is deleted.`);
    go("/");
  }, "danger");
}

async function collect(e, refresh) {
  let would, kept;
  try {
    [would, kept] = await Promise.all([send("POST", `${paths(e).experiment}/collect`, {preview: true}), keptCheckpoints(e)]);
  } catch (error) {
    say(error.message, "error");
    return;
  }
  const going = new Set(would.checkpoints.map(c => `${c.trial_id} ${c.step_id}`)), gone = kept.rows.filter(c => going.has(`${c.trial_id} ${c.step_id}`));
  const policy = h("p", {class: "quiet"}, `Its policy keeps the ${e.row.save_experiment_best} best of the experiment, and of each trial the ${e.row.save_trial_best} best and the ${e.row.save_trial_latest} latest.`);
  if (would.removed === 0) {
    open("Collect checkpoints", close => h("div", null, policy, h("p", null, `Nothing would be removed: all ${number(would.kept)} are kept.`), h("div", {class: "buttons"}, button("Close", close))));
    return;
  }
  form("Collect checkpoints?", h("div", null, policy, h("p", null, `${count(would.removed, "checkpoint")} would be removed, ${bytes(gone.reduce((sum, c) => sum + sizeOf(c), 0))}; ${number(would.kept)} stay.`),
    h("ul", {class: "short-list"}, gone.slice(0, 20).map(c => h("li", null, `trial ${c.number} at ${number(c.batches)} batches, ${bytes(sizeOf(c))}`)), gone.length > 20 ? h("li", null, `and ${number(gone.length - 20)} more`) : null)),
  "Remove", async () => {
    const done = await send("POST", `${paths(e).experiment}/collect`, {preview: false});
    say(`${count(done.removed, "checkpoint")} removed.`);
    refresh();
  }, "danger");
}

export function removeCheckpoint(e, checkpoint, refresh) {
  form("Delete this checkpoint?", h("p", null, `The files of ${checkpoint.folder} (trial ${checkpoint.number}, ${number(checkpoint.batches)} batches, ${bytes(sizeOf(checkpoint))}) are removed. The trial cannot be continued from it any more.`),
    "Delete", async () => {
      await send("DELETE", `${paths(e).master}/checkpoints/${checkpoint.uuid}`);
      say("The checkpoint is deleted.");
      refresh();
    }, "danger");
}

// ---- logs -----------------------------------------------------------------------------------------------

/** The log of a trial, followed while its dialog is open. */
export function showLog(e, trial) {
  const MOST = 2 ** 20, path = `${paths(e).master}/trials/${trial.id}/logs`;
  const text = h("pre", {class: "log", tabindex: 0, "aria-label": `Log of trial ${trial.number}`}), note = h("p", {class: "quiet"}, "Asking…");
  let next = null, timer = 0, over = false;
  const ask = async () => {
    try {
      const answer = await get(path, next === null ? {tail: 1000} : {offset: next});
      const foot = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
      const whole = (text.textContent + answer.text.replace(/\x1b\[[0-9;]*m/g, "")).slice(-MOST);
      if (answer.text !== "" || next === null)
        text.textContent = whole;
      note.textContent = answer.size === 0 ? "It has printed nothing." : `${bytes(answer.size)}${next === null && answer.offset > 0 ? ", of which the last 1,000 lines are shown" : ""}${answer.over ? "" : "; followed"}`;
      if (foot || next === null)
        text.scrollTop = text.scrollHeight;
      ({next} = answer);
      over = over || answer.over && answer.text === "";
      if (!over)
        timer = setTimeout(ask, answer.text.length > 0 ? 300 : 2000);
    } catch (error) {
      note.textContent = error.message;
    }
  };
  open(`Log of trial ${trial.number}`, close => h("div", null, note, text, h("div", {class: "buttons"}, button("Close", close))), () => {
    clearTimeout(timer);
    over = true;
  });
  ask();
}

export const elapsed = row => {
  const from = seconds(row.start_time), to = row.end_time ? seconds(row.end_time) : Date.now() / 1000;
  return from === null ? null : to - from;
};
export const started = row => row.start_time ? age(seconds(row.start_time)) : "–";
export {duration};
