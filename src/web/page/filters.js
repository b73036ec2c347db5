// Filters as chips, "optimizer.learning_rate > 0.01", and the form that makes and changes one.
import {h, fill, button, labelled, choice, fresh} from "./html.js";
import {BASIC_KEYS, titleOf} from "./columns.js";

const OPERATORS = [["=", "="], ["!=", "≠"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["~", "contains"]];
const VALUES = {
  state: ["running", "finished", "stopped", "damaged", "failed", "paused", "stopping", "canceled"], // the last three are of searches alone
};

/** "config.model.type = gcn" -> {key, op, value}; null where it is no filter. */
export function parse(text) {
  const found = /^(\S+)\s+(!=|<=|>=|=|<|>|~)\s*(.*)$/.exec(text);
  return found ? {key: found[1], op: found[2], value: found[3]} : null;
}

const print = f => `${f.key} ${f.op} ${f.value}`;
const words = f => `${f.key.includes(".") ? titleOf(f.key) : f.key} ${OPERATORS.find(([op]) => op === f.op)?.[1] ?? f.op} ${f.value}`;

/**
 * where: texts. keys(): Promise of [{key, kind}]. onChange(where).
 * Returns {element, set(where), add()}.
 */
export function filters(where, keys, onChange) {
  const chips = h("div", {class: "chips"}), place = h("div"), element = h("div", {class: "filters"}, chips, place);
  let all = null;

  function draw() {
    const made = where.map((text, i) => {
      const f = parse(text), said = f ? words(f) : text;
      return h("span", {class: "chip filter", role: "listitem"},
        button(said, () => open(i), {class: "plain", title: `Change: ${text}`}),
        button("×", () => change(where.filter((_, n) => n !== i)), {class: "plain", "aria-label": `Take away the filter ${said}`}));
    });
    fill(chips, made.length > 0 ? h("div", {class: "chips", role: "list", "aria-label": "Filters"}, made) : null, button("+ Filter", () => open(-1), {class: "plain", "aria-label": "Add a filter", "aria-expanded": String(place.firstChild !== null)}));
  }

  function change(next) {
    where = next;
    close();
    onChange(where);
  }

  function close() {
    fill(place);
    draw();
  }

  /** The form: of filter i, or of a new one (-1). */
  function open(i) {
    const f = i >= 0 ? parse(where[i]) : null, names = h("datalist", {id: fresh("keys")}), values = h("datalist", {id: fresh("values")});
    const key = h("input", {required: true, list: names.id, value: f?.key ?? "", placeholder: "config.optimizer.learning_rate", autocomplete: "off", spellcheck: "false", size: 30,
      on: {input: () => { key.setCustomValidity(""); suggest(); }}});
    const op = choice(OPERATORS, f?.op ?? "=", () => {}, {"aria-label": "Comparison"});
    const value = h("input", {value: f?.value ?? "", list: values.id, "aria-label": "Value", placeholder: "value", autocomplete: "off", required: true, size: 14});
    const suggest = () => fill(values, (VALUES[key.value] ?? []).map(v => h("option", {value: v})));
    const complete = () => { // the end of a key is enough where only one has it
      const wanted = key.value.trim(), known = [...BASIC_KEYS, ...(all ?? []).map(k => k.key)];
      const ends = known.includes(wanted) ? [wanted] : known.filter(k => k.endsWith(`.${wanted}`));
      return ends.length === 1 ? ends[0] : all === null ? wanted : null;
    };
    const form = h("form", {class: "sheet", "aria-label": f ? "Change the filter" : "Add a filter", on: {
      submit: async e => {
        e.preventDefault();
        all ??= await keys().catch(() => null);
        const known = complete();
        if (known === null) {
          key.setCustomValidity("No run has this key, or several end with it: choose one of those offered.");
          key.reportValidity();
          return;
        }
        const made = print({key: known, op: op.value, value: value.value.trim()});
        change(i >= 0 ? where.map((text, n) => n === i ? made : text) : where.includes(made) ? where : [...where, made]);
        element.querySelector('[aria-label="Add a filter"]')?.focus();
      },
      keydown: e => {
        if (e.key === "Escape") {
          close();
          element.querySelector('[aria-label="Add a filter"]')?.focus();
        }
      }}},
      labelled("Key", key), op, value, h("button", {type: "submit", class: "main"}, f ? "Change" : "Add"), button("Cancel", close), names, values);
    fill(place, form);
    draw();
    suggest();
    key.focus();
    keys().then(found => {
      all = found;
      fill(names, [...BASIC_KEYS, ...found.map(k => k.key).filter(k => !BASIC_KEYS.includes(k))].map(k => h("option", {value: k})));
    }, () => {});
  }

  draw();
  return {element, set(next) { where = next; close(); }};
}
