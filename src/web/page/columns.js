// The columns of the table of runs: what each shows, and the panel that adds, removes and orders them.
import {h, fill, button, cut, labelled} from "./html.js";
import {number, short as brief, age, date, percent} from "./format.js";

const ROOM = 20; // letters of progress that the column has room for beside its bar
const short = key => key.replace(/^(config|metric)\./, "");

/** Text that tells how long ago; refresh() of the page keeps it true. */
export const ago = time => time === null || time === undefined ? "–" : h("time", {data: {time}, title: date(time)}, age(time));

export const state = r => {
  const chip = h("span", {class: `state ${r.state}`, title: r.reason ?? null}, r.state), failed = r.failed_trials ?? 0;
  return failed === 0 ? chip : h("span", {class: "stated"}, chip, h("span", {class: "reason", title: `${number(failed)} of ${number(r.trials)} trials ended with an error`}, `${number(failed)} failed`));
};

function progress(r) {
  const of = (name, v, n, print) => v === null || v === undefined ? null : `${name} ${n ? `${print(v)}/${print(n)}` : print(v)}`;
  const say = print => [of("step", r.step, r.steps, print), of("epoch", r.epoch, r.epochs, print)].filter(Boolean), words = say(number);
  const text = words.length === 0 ? "–" : words.at(-1).length <= ROOM ? words.at(-1) : say(brief).at(-1); // all of it is the title
  const part = r.progress === null || r.progress === undefined ? null
    : h("progress", {max: 1, value: r.progress, "aria-label": `${percent(r.progress)} done`, title: percent(r.progress, 1)});
  return h("span", {class: "progress", title: words.join(", ")}, part, h("span", null, text));
}

const best = r => r.best ? h("span", {class: "metric", title: `${r.best.metric}${r.best.step === null || r.best.step === undefined ? "" : ` at step ${number(r.best.step)}`}`},
  h("span", {class: "quiet"}, r.best.metric), number(r.best.value)) : "–";

const text = key => ({cell: r => r[key] ? cut(r[key]) : "–"});
const figure = key => ({kind: "number", cell: r => number(r[key])});

/** What rows have of themselves; all else is under config. and metric. */
const BASIC = [
  {key: "state", title: "State", width: 118, cell: state},
  {key: "task", title: "Task", width: 162, ...text("task")},
  {key: "model", title: "Model", width: 104, ...text("model")},
  {key: "best", title: "Best", kind: "number", width: 205, cell: best, help: "The best value of the metric that chooses checkpoints"},
  {key: "progress", title: "Progress", kind: "number", width: 186, cell: progress},
  {key: "modified", title: "Changed", kind: "number", width: 106, cell: r => ago(r.modified), help: "When the run last wrote anything"},
  {key: "tags", title: "Tags", width: 140},
  {key: "started", title: "Started", kind: "number", width: 106, cell: r => ago(r.started)},
  {key: "step", title: "Step", width: 90, ...figure("step")},
  {key: "epoch", title: "Epoch", width: 80, ...figure("epoch")},
  {key: "best_step", title: "Best step", kind: "number", width: 100, cell: r => number(r.best?.step)},
  {key: "folder", title: "Folder", width: 150, ...text("folder")},
  {key: "description", title: "Description", width: 220, ...text("description")},
  {key: "kind", title: "Kind", width: 100, ...text("kind")},
  {key: "trial", title: "Trial", width: 80, ...figure("trial")},
];

export const BASIC_KEYS = ["name", ...BASIC.map(c => c.key)];
export const DEFAULT = ["state", "best", "progress", "modified", "task", "model", "tags"];

/** A column by its key. kinds: Map of key -> "number" | "text" as the server describes them; tags: the cell of tags. */
export function column(key, kinds, tags) {
  const known = BASIC.find(c => c.key === key);
  if (known)
    return {...known, cell: key === "tags" ? tags : known.cell};
  const kind = kinds.get(key) ?? (key.startsWith("metric.") ? "number" : "text"), title = short(key);
  return {key, kind, title, help: key, width: Math.max(kind === "number" ? 110 : 130, Math.min(240, 34 + title.length * 7.5)),
    cell: r => typeof r.values?.[key] === "number" ? number(r.values[key]) : r.values?.[key] ? cut(r.values[key]) : "–"};
}

export const titleOf = key => BASIC.find(c => c.key === key)?.title ?? (key === "name" ? "Name" : short(key));

/**
 * The panel: what is shown, in its order, and below what there is. keys(): Promise of [{key, kind, runs}].
 * onChange(keys shown). Returns {element, set(keys shown)}.
 */
export function picker(shown, keys, onChange) {
  const mine = h("ol", {class: "shown", "aria-label": "Columns shown"}), others = h("div", {class: "others"});
  const search = h("input", {type: "search", placeholder: "learning_rate, accuracy …", on: {input: () => list()}});
  let described = [];

  function change(next, focus) {
    shown = next;
    draw();
    onChange(shown);
    element.querySelector(`[data-focus="${CSS.escape(focus)}"]:not(:disabled)`)?.focus();
  }

  function draw() {
    const swap = (i, j) => shown.map((k, n) => n === i ? shown[j] : n === j ? shown[i] : k);
    fill(mine, shown.map((key, i) => h("li", null, h("span", {class: "title", title: key}, titleOf(key)),
      button("↑", () => change(swap(i, i - 1), `up ${key}`), {class: "plain", disabled: i === 0, "aria-label": `Move ${titleOf(key)} to the front`, data: {focus: `up ${key}`}}),
      button("↓", () => change(swap(i, i + 1), `down ${key}`), {class: "plain", disabled: i === shown.length - 1, "aria-label": `Move ${titleOf(key)} to the back`, data: {focus: `down ${key}`}}),
      button("×", () => change(shown.filter(k => k !== key), ""), {class: "plain", "aria-label": `Take ${titleOf(key)} away`}))));
    list();
  }

  function list() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), all = [...BASIC.map(c => ({key: c.key})), ...described];
    const found = all.filter(c => words.every(w => `${c.key} ${titleOf(c.key)}`.toLowerCase().includes(w)));
    fill(others, found.slice(0, 200).map(c => h("label", null,
      h("input", {type: "checkbox", checked: shown.includes(c.key), data: {focus: `box ${c.key}`}, on: {change: e =>
        change(e.target.checked ? [...shown, c.key] : shown.filter(k => k !== c.key), `box ${c.key}`)}}),
      h("span", {class: "title", title: c.key}, c.key), c.runs === undefined ? null : h("span", {class: "quiet"}, `${number(c.runs)} runs`))),
      found.length > 200 ? h("p", {class: "quiet"}, `and ${number(found.length - 200)} more: search for them`) : found.length === 0 ? h("p", {class: "quiet"}, "No column is called that.") : null);
  }

  const element = h("section", {class: "sheet columns", "aria-label": "Columns"},
    h("div", null, h("h2", null, "Shown"), mine, button("As at first", () => change([...DEFAULT], ""), {class: "plain"})),
    h("div", null, h("h2", null, "All there are"), labelled("Search", search), others));
  draw();
  keys().then(all => {
    described = all.filter(c => !BASIC_KEYS.includes(c.key));
    list();
  }, error => others.append(h("p", {class: "quiet"}, error.message)));
  return {element, set(next) { shown = next; draw(); }, focus() { search.focus(); }};
}
