// The log of a run: its end, followed while the run writes; older lines as one scrolls up; the lines with some text.
// Only some thousand lines are ever on the page: what is added at one end is taken away at the other.
import {h, fill, labelled, choice, button, download} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number, bytes} from "./format.js";
import {say, trouble} from "./page.js";
import {late, marked} from "./run_parts.js";

const MOST = 4000, PIECE = 500, READ = 96 * 1024, WHOLE = 64 * 1024 * 1024;
const LINE = /^(\d{4}-\d\d-\d\d[T ][\d:.]+Z?)(\s+)(trace|debug|info|warning|warn|error|fatal)\b(.*)$/is;

/** One line as it is read, control characters as terminals show them (^[): the time quiet, a warning or an error heavier, with its word and a bar beside it. */
function drawLine(text, find) {
  const seen = text.replace(/[\u0000-\u0008\u000b-\u001f]/g, c => c === "\r" ? "" : `^${String.fromCharCode(64 + c.charCodeAt(0))}`);
  const parts = LINE.exec(seen);
  if (!parts)
    return h("div", {class: "l"}, seen === "" ? "\u200b" : marked(seen, find));
  const level = parts[3].toLowerCase(), kind = /error|fatal/.test(level) ? "bad" : /warn/.test(level) ? "warn" : "";
  return h("div", {class: `l ${kind}`}, h("span", {class: "quiet"}, marked(parts[1], find)), parts[2],
    h("span", {class: "level"}, marked(parts[3], find)), marked(parts[4], find));
}

/**
 * The lines on the page, in pieces of the file one after another. A piece may begin or end within a line: `lead` is the end
 * of a line that began before it, `tail` the beginning of one that goes on behind it. Such a line is drawn once, in the
 * piece where it begins (`joined`), or at the end of the file as far as it is written.
 */
function makeLines(box, find, size) {
  let pieces = [], count = 0;
  const last = () => pieces[pieces.length - 1];

  function make({offset, next, text}, whole) {
    const lines = text.split("\n"), piece = {offset, next, lead: "", joined: false, element: h("div"), open: null};
    if (!whole && lines.length > 1)
      piece.lead = lines.shift() + "\n";
    piece.tail = lines.pop();
    piece.lines = lines;
    count += lines.length;
    return piece;
  }

  /** The line that is not ended yet, where nothing of the file comes behind it. */
  function drawTail(piece) {
    piece.open?.remove();
    piece.open = piece.tail !== "" && piece.next >= size() ? drawLine(piece.tail, find()) : null;
    if (piece.open)
      piece.element.append(piece.open);
  }

  function draw(piece) {
    piece.open = null;
    fill(piece.element, piece.lines.map(text => drawLine(text, find())));
    drawTail(piece);
  }

  function add(piece, lines) {
    piece.lines.push(...lines);
    count += lines.length;
    piece.open?.remove();
    piece.element.append(...lines.map(text => drawLine(text, find())));
  }

  /** The line across the end of `piece` and the beginning of the next. */
  function join(piece, lead) {
    if (piece.tail === "")
      return;
    const text = (piece.tail + lead).replace(/\n$/, "");
    piece.tail = "";
    piece.joined = true;
    add(piece, [text]);
  }

  function drop(piece) {
    count -= piece.lines.length;
    piece.element.remove();
    pieces.splice(pieces.indexOf(piece), 1);
  }

  return {
    clear() {
      pieces = [];
      count = 0;
      fill(box);
    },
    first: () => pieces[0],
    last,
    count: () => count,
    redraw: () => pieces.forEach(draw),
    /** Where in the file the first line in sight begins. */
    place() {
      const top = box.getBoundingClientRect().top, bytesOf = text => new TextEncoder().encode(text).length;
      const piece = pieces.find(p => p.element.getBoundingClientRect().bottom > top), lines = piece ? [...piece.element.children] : [];
      const above = lines.findIndex(l => l.getBoundingClientRect().bottom > top + 1);
      return piece ? piece.offset + bytesOf(piece.lead) + piece.lines.slice(0, Math.max(0, above)).reduce((sum, l) => sum + bytesOf(l) + 1, 0) : 0;
    },
    /** Behind all others; whole: the first begins with a line. */
    append(answer, whole) {
      const end = last();
      if (end && end.lines.length < PIECE && !end.joined) {
        const lines = (end.tail + answer.text).split("\n");
        end.tail = lines.pop();
        end.next = answer.next;
        add(end, lines);
        drawTail(end);
      } else {
        const piece = make(answer, end ? end.tail === "" && !end.joined : whole || answer.offset === 0);
        if (end)
          join(end, piece.lead);
        pieces.push(piece);
        draw(piece);
        box.append(piece.element);
      }
      while (pieces.length > 1 && count - pieces[0].lines.length >= MOST)
        drop(pieces[0]);
    },
    /** Before all others. */
    prepend(answer) {
      const piece = make(answer, answer.offset === 0);
      draw(piece);
      join(piece, pieces[0].lead);
      pieces.unshift(piece);
      box.prepend(piece.element);
      while (pieces.length > 1 && count - last().lines.length >= MOST)
        drop(last());
    },
  };
}

export async function open(panel, run, query) {
  let file = query.get("file") ?? "log", find = query.get("find") ?? "", at = query.get("at"), follow = at === null, size = 0, files = [], closed = false, waiting = 0, queue = Promise.resolve();
  const path = `${run.path}/logs`;
  const box = h("div", {class: "log lines", tabindex: 0, role: "region", "aria-label": "Lines of the log"});
  const lines = makeLines(box, () => find, () => size);
  const results = h("div", {class: "log lines", tabindex: 0, role: "region", "aria-label": "Lines with the text"}), told = h("span", {class: "quiet", role: "status"});
  const following = h("input", {type: "checkbox", checked: follow, on: {change: e => e.target.checked ? toEnd() : keepPlace()}});
  const field = h("input", {type: "search", value: find, size: 24, on: {input: e => lateSearch(e.target.value)}});
  const which = h("span");

  const sayWhere = () => {
    if (closed || !results.hidden)
      return;
    const a = lines.first(), b = lines.last();
    told.textContent = !a || size === 0 ? "" : a.offset === 0 && b.next >= size ? `${number(lines.count())} lines, ${bytes(size)}`
      : `${number(lines.count())} lines shown of ${bytes(size)}; others come as you scroll`;
  };

  function keepPlace() {
    follow = false;
    following.checked = false;
    latePlace();
  }

  const latePlace = late(() => follow || closed || box.hidden || run.setQuery({at: String(lines.place())}), 300);

  async function read(query) {
    const answer = await get(path, {file, ...query});
    size = answer.size;
    files = answer.files ?? [file];
    return answer;
  }

  /** One at a time: reading at one end while the other is read would mix them up. What the reader asked for waits its turn. */
  function alone(work, must) {
    if (waiting > 0 && !must)
      return queue;
    waiting++;
    return queue = queue.then(async () => {
      try {
        closed || await work();
      } catch (error) {
        closed || say(error.message, "error");
      }
      waiting--;
      sayWhere();
    });
  }

  async function start() {
    const answer = at === null ? await read({tail: PIECE}) : await read({offset: at, limit: READ});
    lines.clear();
    if (answer.text !== "" || answer.size > 0)
      lines.append(answer, true);
    fill(which, files.length > 1 ? labelled("File", choice(files.map(f => [f, f === "log" ? "of the run" : f === "trial" ? "of the trial's process" : f]), file, v => {
      file = v;
      at = null;
      run.setQuery({file: v === "log" ? null : v, at: null});
      following.checked = follow = true;
      alone(start, true).then(() => find !== "" && search());
    })) : null);
    if (size === 0)
      fill(box, h("p", {class: "quiet"}, "The log is empty."));
    box.scrollTop = at === null ? box.scrollHeight : 0;
  }

  async function toEnd() {
    follow = true;
    following.checked = true;
    at = null;
    run.setQuery({at: null});
    showLines();
    await alone(start, true);
  }

  async function newer() {
    const end = lines.last();
    if (!end)
      return start();
    for (let i = 0; i < 8 && !closed; i++) { // a burst of lines waits for the next notice
      const from = lines.last().next, answer = await read({offset: from, limit: READ});
      if (answer.size < from)
        return start(); // another file of that name
      if (answer.next <= from)
        break;
      lines.append(answer, false);
      if (follow)
        box.scrollTop = box.scrollHeight;
      if (!follow || answer.next >= answer.size)
        break;
    }
  }

  async function older() {
    const first = lines.first();
    if (!first || first.offset === 0)
      return;
    const offset = Math.max(0, first.offset - READ), answer = await read({offset, limit: first.offset - offset});
    const before = box.scrollHeight - box.scrollTop;
    lines.prepend(answer);
    box.scrollTop = box.scrollHeight - before;
  }

  box.addEventListener("scroll", () => {
    if (waiting > 0 || closed)
      return;
    const below = box.scrollHeight - box.clientHeight - box.scrollTop;
    if (follow && below > 40)
      keepPlace();
    else if (!follow)
      latePlace();
    if (box.scrollTop < 200)
      alone(older);
    else if (below < 200 && lines.last() && lines.last().next < size)
      alone(async () => {
        const top = box.scrollTop, high = box.scrollHeight, first = lines.first();
        await newer();
        if (lines.first() !== first) // what was above is gone: the lines in sight stay where they are
          box.scrollTop = Math.max(0, top - (high - box.scrollHeight));
      });
  });

  // ---- the lines with some text ----

  // A live log is searched on from where the last search ended; another text or file begins anew.
  let total = 0, searched = 0, turn = 0, searching = false;

  function showLines() {
    turn++;
    searching = false;
    results.hidden = true;
    box.hidden = false;
  }

  function search() {
    run.setQuery({find: find || null});
    showLines();
    if (find === "") {
      lines.redraw();
      sayWhere();
      return undefined;
    }
    total = searched = 0;
    return searchOn();
  }

  async function searchOn() {
    const mine = turn;
    searching = true;
    try {
      do {
        const answer = await read({q: find, offset: searched});
        if (mine !== turn || closed)
          return;
        if (answer.size < searched) // another file of that name
          total = searched = 0;
        if (!take(answer))
          break;
      } while (searched < size);
    } catch (error) {
      if (mine === turn && !closed)
        fill(results, trouble(error));
    } finally {
      if (mine === turn)
        searching = false;
    }
  }

  /** Returns whether it led on. */
  function take(answer) {
    const more = answer.lines ?? [], on = answer.next > searched;
    if (total === 0)
      fill(results, more.length > 0 ? null : h("p", {class: "quiet"}, "No line has it."));
    total += more.length;
    searched = answer.next;
    results.append(...more.map(drawFound));
    while (results.childElementCount > MOST)
      results.firstElementChild.remove();
    results.hidden = false;
    box.hidden = true;
    sayFound();
    return on;
  }

  function drawFound({offset, line, cut}) {
    const element = drawLine(cut ? `${line}…` : line, find);
    element.prepend(button("↪", () => showAt(offset), {class: "plain jump", "aria-label": "Show the lines around", title: "Show the lines around"}));
    return element;
  }

  function sayFound() {
    told.textContent = `${number(total)} ${total === 1 ? "line" : "lines"} with "${find}"${total > MOST ? `, the last ${number(MOST)} shown` : ""}${searched < size ? `, in the first ${bytes(searched)} of ${bytes(size)}` : ""}`;
  }

  const lateSearch = late(text => {
    find = text;
    search();
  });

  async function showAt(offset) {
    at = String(Math.max(0, offset));
    follow = following.checked = false;
    run.setQuery({at});
    showLines();
    await alone(start, true);
    await alone(older, true);
    const line = box.querySelector("mark")?.closest(".l");
    line?.scrollIntoView({block: "center"});
  }

  async function keepFile() {
    const parts = [];
    let from = Math.max(0, size - WHOLE);
    if (from > 0)
      say(`The log has ${bytes(size)}: its last ${bytes(WHOLE)} are kept. The whole is in the run's folder.`);
    try {
      for (;;) {
        const answer = await get(path, {file, offset: from, limit: 1024 * 1024});
        parts.push(answer.text);
        if (answer.next <= from || answer.next >= answer.size)
          break;
        from = answer.next;
      }
      download(`${run.row.name.replace(/[^\w.-]+/g, "_")}.${file}.txt`, "text/plain", parts.join(""));
    } catch (error) {
      say(error.message, "error");
    }
  }

  results.hidden = true;
  fill(panel, h("div", {class: "bar"}, h("label", {class: "field"}, following, "Follow"), labelled("Find", field), which, told, h("span", {class: "spring"}),
    button("Download", keepFile)), box, results);
  await start();
  sayWhere();
  if (find !== "")
    await search();
  return {
    changed: single(async () => {
      if (closed || waiting > 0)
        return;
      if (!results.hidden)
        await (searching ? undefined : searchOn());
      else if (follow)
        await alone(newer);
      else
        await alone(() => read({offset: lines.last()?.next ?? 0, limit: 1}));
    }),
    update(q) {
      const now = q.get("find") ?? "";
      if (now !== find) {
        field.value = find = now;
        search();
      }
    },
    close() {
      closed = true;
      lateSearch.stop();
      latePlace.stop();
    },
  };
}
