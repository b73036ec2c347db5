// The frame around every page: the way from an address to a page, what stands above it, messages.
import {h, fill, button} from "./html.js";
import {get} from "./api.js";
import {onConnection, connection} from "./live.js";
import {say} from "./say.js";
import {date} from "./format.js";

// d3 is for pages with pictures.
let d3 = null;
const pictured = load => () => {
  d3 ??= new Promise((resolve, reject) => document.head.append(
    h("script", {src: "/static/d3.min.js", on: {load: resolve, error: () => { d3 = null; reject(new Error("d3.min.js was not loaded")); }}})));
  return d3.then(load);
};

/** A part of the page that did not arrive stays away in this document, whatever the server does: browsers keep that. */
class Missing extends Error {}
const part = load => () => load().catch(error => {
  console.warn(error);
  throw new Missing("A part of this page was not loaded.");
});

// pattern, module: show(main, {params, query, context}) draws into `main` and returns {close(), update(query)?}.
const routes = [
  [/^\/$/, pictured(part(() => import("./runs.js")))],
  [/^\/compare$/, pictured(part(() => import("./compare.js")))],
  [/^\/runs\/([0-9a-f]{16})$/, pictured(part(() => import("./run.js")))],
  [/^\/experiments\/(\d+)\/(\d+)$/, pictured(part(() => import("./experiment.js")))],
  [/^\/cluster$/, part(() => import("./cluster.js"))],
];

const main = document.getElementById("main");
let shown = null, shownPath = "", turn = 0;

/** {version, read_only, masters, ...} of the server. */
export let server = {masters: [], read_only: true};

// ---- messages ---------------------------------------------------------------------------------

export {say};

/** What went wrong, where it was to be shown. */
export function trouble(error) {
  return h("section", {class: "trouble", role: "alert"}, h("h2", null,
    error.status === 401 ? "The session has ended" : error.status === 404 ? "Not found" : "This did not work"),
    h("p", null, error.status === 401
      ? "The server has drawn another token, or this browser has not been let in. Open the address that regimen serve has printed."
      : error.message),
    error instanceof Missing || error.part ? h("div", {class: "buttons"}, button("Load the page again", () => location.reload(), {class: "main"})) : null);
}

/** A question before something that cannot be taken back. body: elements; resolves to whether it is to be done. */
export function confirm(title, body, action, kind = "danger") {
  return new Promise(resolve => {
    const done = answer => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const dialog = h("dialog", {"aria-label": title, on: {cancel: e => { e.preventDefault(); done(false); }}},
      h("form", {on: {submit: e => { e.preventDefault(); done(true); }}},
        h("h2", null, title), body,
        h("div", {class: "buttons"}, button("Cancel", () => done(false)),
          h("button", {type: "submit", class: kind}, action))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// ---- addresses --------------------------------------------------------------------------------

const queryOf = () => new URLSearchParams(location.search);

/** Change some values of the address's query (null takes one away; an array is the key several times), without a new entry of history unless `push`. */
export function setQuery(changes, push = false) {
  const query = queryOf();
  for (const [key, value] of Object.entries(changes)) {
    query.delete(key);
    for (const v of Array.isArray(value) ? value : [value])
      if (v !== null && v !== undefined && v !== "")
        query.append(key, v);
  }
  const text = query.toString();
  history[push ? "pushState" : "replaceState"](null, "", location.pathname + (text ? `?${text}` : ""));
  return query;
}

/** Go to an address of this page. */
export function go(href) {
  history.pushState(null, "", href);
  show();
}

/** What is missing comes with the next document: at once where somebody answers, else when somebody does. */
export function afterwards() {
  document.addEventListener("connection", () => connection.state === "heard" && location.reload());
}

async function show() {
  const path = location.pathname, mine = ++turn;
  mark();
  if (path === shownPath && shown?.update) {
    shown.update(queryOf());
    return;
  }
  shown?.close?.();
  shown = null;
  shownPath = path;
  const [pattern, load] = routes.find(([p]) => p.test(path)) ?? [];
  document.title = "Regimen";
  fill(main);
  window.scrollTo(0, 0);
  if (!load) {
    fill(main, trouble({status: 404, message: `There is no page ${path}.`}));
    return;
  }
  try {
    const module = await load();
    const stage = h("div"); // what comes late of a page that was left is drawn where nobody sees it
    if (mine === turn)
      fill(main, stage);
    const made = await module.show(stage, {params: pattern.exec(path).slice(1), query: queryOf()});
    if (mine === turn)
      shown = made;
    else
      made?.close?.();
  } catch (error) {
    if (mine === turn)
      fill(main, trouble(error));
    if (error instanceof Missing)
      afterwards();
    else if (!error.status && error.status !== 0)
      console.error(error);
  }
}

document.addEventListener("click", event => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey ||
      event.altKey || link.target || link.hasAttribute("download") || link.origin !== location.origin ||
      link.pathname.startsWith("/api/") || link.pathname.startsWith("/static/") || link.getAttribute("href").startsWith("#"))
    return;
  event.preventDefault();
  go(link.href);
  main.focus({preventScroll: true});
});
window.addEventListener("popstate", show);

// ---- what stands above ------------------------------------------------------------------------

const dot = h("span", {class: "dot", role: "img", "aria-label": "not connected", title: "not connected"});

function mark() {
  for (const link of document.querySelectorAll("#top nav a"))
    link.pathname === location.pathname ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

function drawTop() {
  fill(document.getElementById("top"),
    h("a", {href: "/", class: "brand"}, h("img", {src: "/static/icon.svg", alt: "", width: 22, height: 22}), "Regimen"),
    h("nav", {"aria-label": "Pages"}, h("a", {href: "/"}, "Runs"), h("a", {href: "/cluster"}, "Cluster")),
    h("span", {class: "spring"}),
    h("span", {id: "reading", class: "quiet"}),
    server.read_only ? h("span", {class: "chip", title: "Nothing can be steered from this page"}, "read only") : null,
    dot, button("◐", toggleTheme, {class: "plain", "aria-label": "Dark or light", title: "Dark or light"}));
  mark();
}

/** Nobody is to take for the present what was true when the server was heard last. */
const lost = h("div", {id: "lost", role: "alert", hidden: true});
document.getElementById("top").after(lost);

onConnection(({state, since}) => {
  const heard = state === "heard";
  dot.classList.toggle("on", heard);
  dot.title = heard ? "live" : "The server is not heard; what is shown may be old";
  dot.setAttribute("aria-label", heard ? "live" : "not connected");
  document.documentElement.classList.toggle("lost", !heard);
  lost.hidden = heard || since === 0;
  fill(lost, lost.hidden ? null : [h("b", null, state === "refused" ? "This page is no longer let in." : "The server does not answer."),
    ` What is shown was true at ${date(since / 1000).slice(11)}. `,
    state === "refused" ? "Open the address that regimen serve has printed; this page then goes on." : "This page goes on by itself once regimen serve runs again."]);
});

function begin() {
  get("/api/v1/page").then(answer => {
    server = answer;
    drawTop();
    return show();
  }, error => {
    fill(main, trouble(error));
    const again = () => {
      if (connection.state !== "heard")
        return;
      document.removeEventListener("connection", again);
      begin();
    };
    document.addEventListener("connection", again);
  });
}

drawTop();
routes.find(([pattern]) => pattern.test(location.pathname))?.[1]().catch(() => {}); // while the answer is on its way
begin();
