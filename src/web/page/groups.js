// Cells of a table whose rows are groups of runs.
import {h, cut} from "./html.js";
import {number} from "./format.js";
import {ago} from "./columns.js";
import {colourOf} from "./names.js";

/** Mean ± deviation of so many runs. */
export function spread(v) {
  if (v === null || v === undefined)
    return "–";
  if (typeof v !== "object")
    return cut(v);
  if (v.texts !== undefined)
    return h("span", {class: "quiet"}, `${number(v.texts)} values`);
  const says = `${number(v.runs)} runs, ${number(v.low)} to ${number(v.high)}`;
  return h("span", {title: says}, number(v.mean), v.deviation === null ? null : h("span", {class: "quiet"}, v.deviation === 0 ? "" : ` ± ${Number(v.deviation.toPrecision(2))}`));
}

const states = r => h("span", {class: "group-states"}, Object.entries(r.states).map(([name, n]) => h("span", {class: `state ${name}`, title: `${number(n)} ${name}`}, number(n), h("span", {class: "hidden"}, ` ${name}`))));

/** The column of runs (as columns.js has it) for groups. href: where the name leads. */
export function groupColumn(key, column, href) {
  const cell = {
    name: r => h("span", {class: "named"}, h("span", {class: "run-colour", style: {borderColor: colourOf(r.id), backgroundColor: colourOf(r.id)}, "aria-hidden": "true"}),
      h("a", {href, tabindex: -1}, cut(r.name)), h("span", {class: "chip", title: `${number(r.runs)} runs`}, number(r.runs))),
    state: states,
    best: r => r.best ? h("span", {class: "metric"}, h("span", {class: "quiet"}, r.best.metric), spread(r.best.value)) : "–",
    modified: r => ago(r.modified),
    started: r => ago(r.values?.started?.high), // the newest, as of what changed
    kind: () => "group",
  }[key] ?? (r => spread(r.values?.[key]));
  return {...column, key, cell};
}
