// A table of any length: the rows in sight are asked for and drawn, the others are room. Sorting and
// filtering are the server's, so 10,000 rows cost what thirty do. Lines are kept from one drawing to the
// next: what has the focus keeps it while the rows around it change.
import {h, fill, fresh} from "./html.js";

const ROW = 36, PIECE = 50, BEYOND = 10, KEPT = 40, WIDTH = {number: 120, text: 150};

/**
 * options: {
 *   label,                         what the table is called, for screen readers
 *   columns: [{key, title, kind: "text"|"number", sortable, width (px), cell(row) -> Node or text, help, link: false (no link around the first cell)}],
 *   fetch(offset, limit, signal) -> Promise of {total, rows},
 *   rowKey(row), rowLabel(row), href(row) -> address or null (Enter or a click on the row's link goes there),
 *   selected: Set of keys or null (no boxes), onSelect(), selectable(row) (default: all), most: how many at once, onMost(),
 *   sort: {key, order}, onSort({key, order}), onAll() (Ctrl+A), onKey(event, row) (other keys on the row),
 *   drawn(key): whether the row is drawn elsewhere, onPoint(key or null): the pointer is over it,
 *   onMove(key, before: key or null) (a heading was dragged), onWidth(key, px) (its edge was),
 *   onError(error), onRows(total), empty: text, Node or function that makes one, when there is nothing
 * }
 * Returns {element, reload() -> Promise, setColumns(columns), setSort(sort), redraw(), top(), focus(), total(), close()}.
 */
export function table(options) {
  let columns = options.columns, sort = options.sort, total = 0, turn = 0, pieces = new Map(), active = 0, activeKey = null;
  let anchor = null, base = null, asking = new AbortController(), later = 0, frame = 0, moving = null, bare = false;
  const lines = new Map(); // key -> {tr, text}: what stands in the table
  const body = h("tbody"), head = h("thead"), sizes = h("colgroup"), id = fresh("grid");
  const above = h("tr", {class: "room", "aria-hidden": "true"}, h("td")), below = h("tr", {class: "room", "aria-hidden": "true"}, h("td"));
  const grid = h("table", {class: "grid", role: "grid", tabindex: 0, "aria-label": options.label, "aria-multiselectable": options.selected ? "true" : null,
    on: {keydown: onKey, focus: () => mark()}}, sizes, head, body);
  const note = h("div", {class: "empty"});
  const scroller = h("div", {class: "scroller", on: {scroll: () => { frame ||= requestAnimationFrame(draw); }}}, grid, note);
  const row = i => pieces.get(Math.floor(i / PIECE))?.rows?.[i % PIECE];
  const width = c => c.width ?? WIDTH[c.kind ?? "text"];
  const selectable = r => options.selectable?.(r) ?? true;

  // ---- headings -------------------------------------------------------------------------------

  function drawSizes() {
    const box = options.selected ? 34 : 0;
    fill(sizes, box ? h("col", {style: {width: `${box}px`}}) : null,
      columns.map((c, n) => h("col", {style: {width: n === 0 ? "auto" : `${width(c)}px`}})));
    grid.style.minWidth = `${columns.reduce((sum, c) => sum + width(c), box)}px`;
  }

  function grip(c) {
    return h("span", {class: "grip", "aria-hidden": "true", on: {
      click: e => e.stopPropagation(),
      pointerdown: e => {
        e.preventDefault();
        const from = e.clientX, was = width(c), target = e.target;
        target.setPointerCapture(e.pointerId);
        target.onpointermove = m => {
          c.width = Math.max(60, Math.min(800, was + m.clientX - from));
          drawSizes();
        };
        target.onpointerup = target.onpointercancel = () => {
          target.onpointermove = target.onpointerup = target.onpointercancel = null;
          options.onWidth(c.key, c.width);
        };
      }}});
  }

  function heading(c, n) {
    const mine = sort?.key === c.key;
    const title = c.sortable === false ? h("span", {title: c.help ?? null}, c.title) : h("button", {type: "button", class: "plain", title: c.help ?? null, on: {click: () => {
      sort = {key: c.key, order: mine ? (sort.order === "asc" ? "desc" : "asc") : c.kind === "number" ? "desc" : "asc"};
      drawHead();
      options.onSort?.(sort);
      head.querySelector('[aria-sort] button')?.focus();
    }}}, c.title, h("span", {class: "arrow", "aria-hidden": "true"}, mine ? (sort.order === "asc" ? " ↑" : " ↓") : ""));
    const th = h("th", {scope: "col", class: c.kind === "number" ? "right" : null,
      "aria-sort": mine ? (sort.order === "asc" ? "ascending" : "descending") : null}, title, options.onWidth && n > 0 ? grip(c) : null);
    if (options.onMove && n > 0) {
      th.draggable = true;
      th.addEventListener("dragstart", e => {
        moving = c.key;
        e.dataTransfer.setData("text/plain", c.title);
        e.dataTransfer.effectAllowed = "move";
      });
      th.addEventListener("dragover", e => moving && moving !== c.key && (e.preventDefault(), th.classList.add("before")));
      th.addEventListener("dragleave", () => th.classList.remove("before"));
      th.addEventListener("dragend", () => { moving = null; });
      th.addEventListener("drop", e => {
        e.preventDefault();
        options.onMove(moving, c.key);
        moving = null;
      });
    }
    return th;
  }

  function drawHead() {
    fill(head, h("tr", {"aria-rowindex": 1}, options.selected ? h("th", {scope: "col", class: "box"}, h("span", {class: "hidden"}, "Selected")) : null, columns.map(heading)));
    for (const room of [above, below])
      room.firstChild.colSpan = columns.length + (options.selected ? 1 : 0);
  }

  // ---- rows -----------------------------------------------------------------------------------

  function waiting(i) {
    return h("tr", {class: "waiting", "aria-rowindex": i + 2}, h("td", {colspan: columns.length + (options.selected ? 1 : 0)}, "…"));
  }

  function make(r) {
    const href = options.href?.(r), boxed = options.selected && selectable(r);
    return h("tr", null,
      options.selected ? h("td", {class: "box"}, boxed ? h("input", {type: "checkbox", tabindex: -1, "aria-label": `Select ${options.rowLabel(r)}`}) : null) : null,
      columns.map((c, n) => {
        const content = c.cell(r);
        return h("td", {class: c.kind === "number" ? "right" : null}, n === 0 && href && c.link !== false ? h("a", {href, tabindex: -1}, content) : content);
      }));
  }

  /** The line of row i, made anew only when what it says has changed, or where it leads. */
  function line(i, used) {
    const r = row(i);
    if (!r)
      return waiting(i);
    const key = options.rowKey(r);
    const href = options.href?.(r);
    let kept = lines.get(key);
    if (!kept || used.has(key) || (kept.href !== href || kept.row !== r && kept.text !== JSON.stringify(r)) && !kept.tr.querySelector("form")) {
      kept = {tr: make(r), text: JSON.stringify(r), href};
      lines.set(key, kept);
    }
    kept.row = r;
    used.add(key);
    kept.tr.dataset.index = i;
    kept.tr.id = `${id}-${i}`;
    kept.tr.setAttribute("aria-rowindex", i + 2);
    return kept.tr;
  }

  /** Which row is meant, and which are chosen, in what stands there already. */
  function mark() {
    for (const tr of body.children) {
      if (tr.dataset.index === undefined)
        continue;
      const i = Number(tr.dataset.index), r = row(i);
      if (!r)
        continue;
      tr.classList.toggle("active", i === active);
      tr.classList.toggle("drawn", Boolean(options.drawn?.(options.rowKey(r))));
      if (!options.selected)
        continue;
      const on = options.selected.has(options.rowKey(r)), box = tr.querySelector("td.box input");
      tr.classList.toggle("chosen", on);
      tr.setAttribute("aria-selected", String(on));
      if (box)
        box.checked = on;
    }
    body.querySelector("tr.active") ? grid.setAttribute("aria-activedescendant", `${id}-${active}`) : grid.removeAttribute("aria-activedescendant");
  }

  /** What is wanted in the place of what is there, touching only what differs: an element that is moved loses the focus. */
  function arrange(wanted) {
    const stay = new Set(wanted), focused = body.contains(document.activeElement) ? document.activeElement : null;
    for (const tr of [...body.children])
      if (!stay.has(tr))
        tr.remove();
    let at = body.firstChild;
    for (const tr of wanted)
      if (tr === at)
        at = at.nextSibling;
      else
        body.insertBefore(tr, at);
    if (focused && document.activeElement !== focused)
      focused.isConnected ? focused.focus({preventScroll: true}) : grid.focus({preventScroll: true});
  }

  function sight() {
    return [Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND),
      Math.min(total, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND)];
  }

  function draw() {
    frame = 0;
    const [first, last] = sight(), used = new Set(), wanted = [];
    let missing = total === 0 && !pieces.has(0);
    for (let i = first; i < last; i++) {
      wanted.push(line(i, used));
      missing ||= !pieces.has(Math.floor(i / PIECE));
    }
    above.firstChild.style.height = `${first * ROW}px`;
    below.firstChild.style.height = `${(total - last) * ROW}px`;
    arrange([...(first > 0 ? [above] : []), ...wanted, ...(last < total ? [below] : [])]);
    for (const key of lines.keys())
      if (!used.has(key))
        lines.delete(key);
    mark();
    grid.setAttribute("aria-rowcount", total + 1);
    const empty = total === 0 && pieces.get(0)?.rows;
    if (Boolean(empty) !== bare) { // once, so that a button in it keeps the focus
      bare = Boolean(empty);
      fill(note, !bare ? null : typeof options.empty === "function" ? options.empty() : options.empty ?? "nothing");
    }
    if (missing) // who drags the bar past thousands asks for none of them
      later ||= setTimeout(want, 40);
  }

  async function ask(n, signal) {
    const mine = turn, piece = {rows: null};
    pieces.set(n, piece);
    try {
      const answer = await options.fetch(n * PIECE, PIECE, signal);
      if (mine !== turn)
        return;
      piece.rows = answer.rows;
      told(answer.total);
    } catch (error) {
      if (mine === turn)
        pieces.delete(n);
      if (error.name !== "AbortError")
        options.onError?.(error);
      return;
    }
    draw();
  }

  function want() {
    later = 0;
    const [first, last] = sight();
    for (let n = Math.floor(first / PIECE); n * PIECE < Math.max(1, last); n++)
      if (!pieces.has(n))
        ask(n, asking.signal);
    for (const n of pieces.keys()) // the oldest first: a Map keeps the order of its keys
      if (pieces.size > KEPT && (n * PIECE > last || (n + 1) * PIECE < first))
        pieces.delete(n);
  }

  function told(n) {
    total = n;
    options.onRows?.(n);
  }

  /** Ask again for what is in sight; what stands there stays until the answer has come. */
  async function reload() {
    const mine = ++turn, [low, high] = sight(), first = Math.floor(low / PIECE), last = Math.max(first, Math.floor(Math.max(0, high - 1) / PIECE)), got = new Map();
    asking.abort();
    asking = new AbortController();
    try {
      const {signal} = asking;
      const answers = await Promise.all(Array.from({length: last - first + 1}, (_, i) => options.fetch((first + i) * PIECE, PIECE, signal)));
      if (mine !== turn)
        return;
      answers.forEach((answer, i) => got.set(first + i, {rows: answer.rows}));
      told(answers[0].total);
    } catch (error) {
      if (error.name !== "AbortError" && mine === turn)
        options.onError?.(error);
      return;
    }
    pieces = got;
    active = Math.min(active, Math.max(0, total - 1));
    if (activeKey !== null && (!row(active) || options.rowKey(row(active)) !== activeKey)) // the row that was meant, where it is now
      for (const [n, piece] of pieces) {
        const i = piece.rows.findIndex(r => options.rowKey(r) === activeKey);
        if (i >= 0)
          active = n * PIECE + i;
      }
    draw();
  }

  // ---- choosing -------------------------------------------------------------------------------

  function put(key, on) {
    if (!on)
      options.selected.delete(key);
    else if (options.selected.has(key) || options.selected.size < (options.most ?? Infinity))
      options.selected.add(key);
    else
      return false;
    return true;
  }

  function chosen(all) {
    if (!all)
      options.onMost?.();
    options.onSelect?.();
    mark();
  }

  function toggle(i) {
    const r = row(i);
    if (!r || !selectable(r))
      return;
    const key = options.rowKey(r), on = !options.selected.has(key), all = put(key, on);
    anchor = i;
    base = new Set(options.selected);
    chosen(all);
  }

  /** All from the anchor to i, and what was chosen before; rows between that are not in memory are asked for. */
  async function extend(i) {
    anchor ??= active;
    base ??= new Set(options.selected);
    const from = Math.min(anchor, i), to = Math.max(anchor, i), rows = [];
    const end = Math.min(to, from + (options.most ?? 1000) * 2);
    for (let n = from; n <= end; n++)
      rows.push(row(n));
    if (rows.includes(undefined))
      try {
        rows.splice(0, rows.length, ...(await options.fetch(from, end - from + 1, asking.signal)).rows);
      } catch (error) {
        if (error.name !== "AbortError")
          options.onError?.(error);
        return;
      }
    options.selected.clear();
    for (const key of base)
      options.selected.add(key);
    chosen(rows.filter(r => selectable(r)).map(r => put(options.rowKey(r), true)).every(Boolean));
  }

  function point(i) {
    active = Math.max(0, Math.min(total - 1, i));
    activeKey = row(active) ? options.rowKey(row(active)) : null;
  }

  body.addEventListener("mousedown", e => e.shiftKey && options.selected && e.preventDefault()); // text is not what is being chosen
  body.addEventListener("click", e => {
    const tr = e.target.closest("tr[data-index]"), box = e.target.closest("td.box");
    if (!tr || e.defaultPrevented || !box && e.target.closest("a, button, input, form"))
      return;
    const i = Number(tr.dataset.index);
    if (options.selected && e.shiftKey)
      extend(i);
    else if (options.selected && (box || e.ctrlKey || e.metaKey))
      toggle(i);
    point(i);
    mark();
  });

  if (options.onPoint) {
    body.addEventListener("pointerover", e => {
      const r = row(Number(e.target.closest("tr[data-index]")?.dataset.index ?? -1));
      options.onPoint(r ? options.rowKey(r) : null);
    });
    body.addEventListener("pointerleave", () => options.onPoint(null));
  }

  function move(to, extended) {
    if (!extended)
      anchor = base = null;
    else
      anchor ??= active;
    point(to);
    const top = active * ROW, room = scroller.clientHeight - 2 * ROW;
    if (top < scroller.scrollTop)
      scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room)
      scroller.scrollTop = top - room;
    draw();
    if (extended && options.selected)
      extend(active);
  }

  function onKey(event) {
    if (event.target !== grid || event.altKey)
      return;
    const page = Math.max(1, Math.floor(scroller.clientHeight / ROW) - 2);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -total, End: total}[event.key];
    if (step !== undefined)
      move(active + step, event.shiftKey);
    else if (event.key === " " && options.selected)
      toggle(active);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey) && options.onAll)
      options.onAll();
    else if (event.key === "Enter" && row(active))
      body.querySelector("tr.active a")?.click();
    else if (event.ctrlKey || event.metaKey || !row(active) || !options.onKey?.(event, row(active), body.querySelector("tr.active")))
      return;
    event.preventDefault();
  }

  drawSizes();
  drawHead();
  let tall = -1;
  const watching = new ResizeObserver(() => {
    if (scroller.clientHeight !== tall) {
      tall = scroller.clientHeight;
      draw();
    }
  });
  watching.observe(scroller);
  return {
    element: scroller, reload,
    setColumns(made) { columns = made; lines.clear(); drawSizes(); drawHead(); draw(); },
    setSort(made) { sort = made; drawHead(); },
    redraw() { lines.clear(); draw(); },
    mark,
    top() { scroller.scrollTop = 0; active = 0; activeKey = anchor = base = null; bare = false; },
    focus() { grid.focus({preventScroll: true}); },
    total: () => total,
    close() { watching.disconnect(); asking.abort(); clearTimeout(later); turn++; },
  };
}

/**
 * A short table, all of it at once. columns as above; rows: any. A column with value(row) can be sorted by.
 * more: {sort: {key, order} or null, onSort(sort), lineClass(row)}
 */
export function plainTable(label, columns, rows, empty = "none", more = {}) {
  if (rows.length === 0)
    return h("p", {class: "quiet"}, empty);
  let sort = more.sort ?? null;
  const head = h("thead"), body = h("tbody");
  const draw = () => {
    const by = columns.find(c => c.value && c.key === sort?.key), sign = sort?.order === "desc" ? -1 : 1;
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
    const none = v => v === null || v === undefined || Number.isNaN(v);
    const shown = by ? rows.map(r => [by.value(r), r]).sort(([a], [b]) => none(a) || none(b) ? none(a) - none(b) : sign * order(a, b)).map(([, r]) => r) : rows;
    fill(head, h("tr", null, columns.map(c => {
      const mine = c === by;
      return h("th", {scope: "col", class: c.kind === "number" ? "right" : null, "aria-sort": mine ? (sign > 0 ? "ascending" : "descending") : null, title: c.help ?? null},
        !c.value ? c.title : h("button", {type: "button", class: "plain", on: {click: () => {
          sort = {key: c.key, order: mine ? (sign > 0 ? "desc" : "asc") : c.first ?? "asc"};
          draw();
          more.onSort?.(sort);
          head.querySelector("[aria-sort] button")?.focus();
        }}}, c.title, h("span", {class: "arrow", "aria-hidden": "true"}, mine ? (sign > 0 ? " ↑" : " ↓") : "")));
    })));
    fill(body, shown.map(r => h("tr", {class: more.lineClass?.(r) ?? null}, columns.map(c => h("td", {class: c.kind === "number" ? "right" : null}, c.cell(r))))));
  };
  draw();
  return h("div", {class: "scroll-x", tabindex: 0, role: "region", "aria-label": label}, h("table", {class: "plain-table", "aria-label": label}, head, body));
}
