// Saved views: the query of the page under a name, kept in the folder that is served.
import {h, fill, button} from "./html.js";
import {get, send, address} from "./api.js";
import {server, say, go, confirm} from "./page.js";

/** The query with what its view says, where it has one: what stands in the address itself comes first. */
export async function resolveView(query) {
  const name = query.get("view");
  if (!name)
    return query;
  try {
    const view = (await get("/api/v1/views")).views.find(v => v.name === name);
    if (!view) {
      say(`There is no view '${name}' any more.`, "error");
      return query;
    }
    const whole = new URLSearchParams(view.query), own = new Set(query.keys());
    for (const key of own)
      whole.delete(key);
    for (const [key, value] of query)
      whole.append(key, value);
    return whole;
  } catch (error) {
    say(error.message, "error");
    return query;
  }
}

let saving = Promise.resolve(), turn = 0; // views are sent in the order in which they were saved; the last answer counts

/** options: {current() -> name or null, query() -> text to be kept, open(name, query): what it is now; null: none} */
export function viewsMenu(options) {
  const place = h("span", {class: "menu-place"}), menu = h("button", {type: "button", "aria-expanded": "false", on: {click: () => place.querySelector(".sheet") ? close() : open()}}, "Views");

  function close() {
    place.querySelector(".sheet")?.remove();
    menu.setAttribute("aria-expanded", "false");
  }

  async function keep(name) {
    const query = options.query(), mine = ++turn, before = saving;
    try {
      await (saving = before.catch(() => {}).then(() => send("POST", "/api/v1/views", {name, query})));
      say(`The view '${name}' is kept.`);
      if (mine !== turn)
        return;
      options.open(name, query);
      close();
      menu.focus();
    } catch (error) {
      say(error.message, "error");
    }
  }

  async function remove(name) {
    if (!await confirm(`Remove the view '${name}'?`, h("p", null, "Its address then shows the first view."), "Remove"))
      return;
    try {
      const before = saving;
      await (saving = before.catch(() => {}).then(() => send("POST", "/api/v1/views", {name})));
      if (options.current() === name)
        options.open(null, null);
      close();
      open();
    } catch (error) {
      say(error.message, "error");
    }
  }

  async function open() {
    menu.setAttribute("aria-expanded", "true");
    const list = h("ul", {class: "menu-list"}), field = h("input", {maxlength: 100, required: true, size: 18, placeholder: "name", "aria-label": "Name of the view", value: options.current() ?? ""});
    const sheet = h("div", {class: "sheet menu", role: "group", "aria-label": "Views", on: {keydown: e => {
      if (e.key === "Escape") {
        close();
        menu.focus();
      }
    }}}, list, server.read_only ? null : h("form", {class: "inline", on: {submit: e => { e.preventDefault(); keep(field.value.trim()); }}}, field, h("button", {type: "submit"}, "Save this view")));
    place.append(sheet);
    try {
      const {views} = await get("/api/v1/views");
      if (!sheet.isConnected)
        return;
      fill(list, views.length === 0 ? h("li", {class: "quiet"}, "No view is kept yet.") : views.map(v => h("li", null,
        h("a", {href: address("/", {view: v.name}), "aria-current": v.name === options.current() ? "true" : null, on: {click: e => { e.preventDefault(); close(); go(address("/", {view: v.name})); }}}, v.name),
        server.read_only ? null : button("×", () => remove(v.name), {class: "plain", "aria-label": `Remove the view ${v.name}`}))));
    } catch (error) {
      fill(list, h("li", {class: "is-bad"}, error.message));
    }
    (list.querySelector("a") ?? field).focus?.();
  }

  place.append(menu);
  return {element: place};
}
