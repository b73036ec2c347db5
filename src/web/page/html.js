// Elements out of data. Text becomes text nodes and attributes become attributes: there is no other way
// from data to the page, so no name of a run can be markup.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = {value: 1, checked: 1, disabled: 1, indeterminate: 1, selected: 1}; // what a field holds now

function set(element, key, value) {
  if (value === null || value === undefined || value === false && !(key in PROPERTIES))
    return;
  if (key === "on")
    for (const [type, listener] of Object.entries(value))
      element.addEventListener(type, listener);
  else if (key === "style")
    Object.assign(element.style, value);
  else if (key === "data")
    Object.assign(element.dataset, value);
  else if (key in PROPERTIES)
    element[key] = value;
  else
    element.setAttribute(key, value === true ? "" : String(value));
}

function make(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {}))
    set(element, key, value);
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
}

/** h("a", {href: "/runs/1", on: {click: f}}, "text", other) */
export function h(tag, attributes, ...children) {
  return make(document.createElement(tag), attributes, children);
}

/** The same in a picture. */
export function s(tag, attributes, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

/** Instead of all that is in the element. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

let last = 0;
/** An id that nothing else on the page has, for labels. */
export function fresh(prefix) {
  return `${prefix}-${++last}`;
}

/** A text that is cut in the middle where it has no room: names differ at their ends. The whole of it is its title. */
export function cut(text, attributes) {
  const whole = String(text);
  let at = whole.length - 14;
  if (at < 10)
    return h("span", {class: "cut", title: whole, ...attributes}, h("span", null, whole));
  if (/[\uDC00-\uDFFF]/.test(whole[at])) // not between the halves of one character
    at--;
  return h("span", {class: "cut", title: whole, ...attributes}, h("span", null, whole.slice(0, at)), h("span", {class: "tail"}, whole.slice(at)));
}

/** A field with its label. */
export function labelled(text, field, attributes) {
  field.id ||= fresh("field");
  return h("div", {class: "field", ...attributes}, h("label", {for: field.id}, text), field);
}

/** options: [[value, text], ...] */
export function choice(options, value, onchange, attributes) {
  return h("select", {on: {change: e => onchange(e.target.value)}, ...attributes},
    options.map(([v, text]) => h("option", {value: v, selected: v === value}, text)));
}

export function button(text, onclick, attributes) {
  return h("button", {type: "button", on: {click: onclick}, ...attributes}, text);
}

/** A file of the reader's own: what is shown, kept. */
export function download(name, type, text) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** rows: arrays of texts and numbers; as RFC 4180 has them. A text that a spreadsheet would take for a formula gets a quote. */
export function csv(rows) {
  const cell = v => {
    let text = v === null || v === undefined ? "" : String(v);
    if (typeof v === "string" && /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text))
      text = "'" + text;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
