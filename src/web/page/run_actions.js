// What can be done to runs and searches: one by one from their pages, several at once from the table.
import {h, fill, button, labelled} from "./html.js";
import {get, send} from "./api.js";
import {server, say} from "./page.js";
import {number} from "./format.js";

const path = id => id.includes(":") ? `/api/v1/masters/${id.split(":")[0]}/experiments/${id.split(":")[1]}` : `/api/v1/runs/${id}`;
const isSearch = id => id.includes(":");

// key: title, what is told before, whether it cannot be taken back, to runs, to searches
const ACTIONS = {
  archive: ["Archive", "Lists leave them out; nothing is removed.", false, id => send("PATCH", path(id), {archived: true}), id => send("POST", `${path(id)}/archive`)],
  unarchive: ["Unarchive", "Lists have them again.", false, id => send("PATCH", path(id), {archived: false}), id => send("POST", `${path(id)}/unarchive`)],
  pause: ["Pause", "Each trial ends its workload, saves, and gives its slots back.", false, null, id => send("POST", `${path(id)}/pause`)],
  activate: ["Activate", "They go on.", false, null, id => send("POST", `${path(id)}/activate`)],
  stop: ["Stop", "Runs save and end, and the same command goes on with them. Searches are cancelled: trials save, and the search is over.", true, id => send("POST", `${path(id)}/stop`), id => send("POST", `${path(id)}/cancel`)],
  kill: ["Kill", "The processes of trials are ended at once; what was not checkpointed is lost.", true, null, id => send("POST", `${path(id)}/kill`)],
  delete: ["Delete", "Their folders are removed, checkpoints and logs with them. This cannot be taken back.", true, id => send("DELETE", path(id)), id => send("DELETE", path(id))],
};

/** Which there are for these ids: those that fit any of them. */
export function actionsFor(ids, grouped) {
  const runs = ids.some(id => !isSearch(id)), searches = ids.some(isSearch);
  return server.read_only || grouped ? [] : Object.keys(ACTIONS).filter(key => runs && ACTIONS[key][3] || searches && ACTIONS[key][4]);
}

/** A dialog: what is to be done, to how many, and what became of each. done(ids that are no more): something has changed. */
export function openActions(ids, keys, done) {
  let key = keys[0];
  const told = h("p", {class: "quiet"}), list = h("ul", {class: "mistakes", role: "alert"}), doer = h("button", {type: "submit", class: "main"});
  const fits = () => ids.filter(id => isSearch(id) ? ACTIONS[key][4] : ACTIONS[key][3]);
  const choices = h("div", {class: "choices-row", role: "radiogroup", "aria-label": "What is to be done"}, keys.map(k => h("label", null,
    h("input", {type: "radio", name: "action", value: k, checked: k === key, on: {change: () => { key = k; settle(); }}}), ACTIONS[k][0])));

  function settle() {
    const [title, words, risky] = ACTIONS[key], n = fits().length;
    told.textContent = `${words}${n < ids.length ? ` It is for ${number(n)} of the ${number(ids.length)}.` : ""}`;
    doer.textContent = `${title} ${number(n)}`;
    doer.className = risky ? "danger" : "main";
  }

  async function work() {
    const failed = [], gone = [];
    let n = 0;
    doer.disabled = true;
    fill(list);
    for (const id of fits()) {
      try {
        await ACTIONS[key][isSearch(id) ? 4 : 3](id);
        n++;
        if (key === "delete")
          gone.push(id);
      } catch (error) {
        failed.push([id, error.message]);
      }
      doer.textContent = `${number(n + failed.length)} of ${number(fits().length)}`;
    }
    doer.disabled = false;
    done(gone);
    if (failed.length === 0) {
      say(`${ACTIONS[key][0]}: ${number(n)} done.`);
      return close();
    }
    settle();
    return fill(list, n > 0 ? h("li", {class: "quiet"}, `${number(n)} done.`) : null, failed.slice(0, 20).map(([id, text]) => h("li", {class: "is-bad"}, `${id}: ${text}`)), failed.length > 20 ? h("li", null, `and ${number(failed.length - 20)} more`) : null);
  }

  function close() {
    dialog.close();
    dialog.remove();
  }

  const dialog = h("dialog", {"aria-label": "Actions", on: {cancel: e => { e.preventDefault(); close(); }}},
    h("form", {on: {submit: e => { e.preventDefault(); work(); }}}, h("h2", null, `Do to ${number(ids.length)} selected`), choices, told, list,
      h("div", {class: "buttons"}, button("Cancel", close), doer)));
  settle();
  document.body.append(dialog);
  dialog.showModal();
}

/** The title and the note of a run, in one dialog. */
export async function editRun(run, done) {
  let note;
  try {
    ({note} = await get(`${run.path}/note`));
  } catch (error) {
    say(error.message, "error");
    return;
  }
  const title = h("input", {value: run.row.name === run.row.folder_name ? "" : run.row.name, maxlength: 200, size: 40, placeholder: run.row.folder_name});
  const text = h("textarea", {class: "note-text", maxlength: 60000, "aria-label": "Note", value: note}), message = h("p", {class: "is-bad", role: "alert"});
  const close = () => {
    dialog.close();
    dialog.remove();
  };
  const dialog = h("dialog", {"aria-label": "Name and note", on: {cancel: e => { e.preventDefault(); close(); }}}, h("form", {on: {submit: async e => {
    e.preventDefault();
    try {
      await send("PATCH", run.path, {title: title.value.trim() === run.row.folder_name ? "" : title.value.trim(), note: text.value});
      close();
      done();
    } catch (error) {
      message.textContent = error.message;
    }
  }}}, h("h2", null, `Name and note of ${run.row.folder_name}`), labelled("Name", title, {title: "The page's name for it; the folder keeps its own"}), h("p", {class: "quiet"}, "The folder keeps its own name. The note is Markdown, kept as note.md in the run folder and shown as it is written."), text, message,
  h("div", {class: "buttons"}, button("Cancel", close), h("button", {type: "submit", class: "main"}, "Save"))));
  document.body.append(dialog);
  dialog.showModal();
}
