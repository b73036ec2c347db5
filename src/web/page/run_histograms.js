// Histograms of weights and gradients over the steps of a run.
import {h, fill, labelled, choice, button} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number} from "./format.js";
import {ridges} from "./chart_more.js";
import {trouble} from "./page.js";
import {late, noteOf, rest} from "./run_parts.js";

const PAGE = 24, PAUSE = 5000; // cards at once; a picture in sight is asked for again at most so often

export async function open(panel, run, query) {
  const path = `${run.path}/histograms`, cards = h("div", {class: "cards"}), told = h("span", {class: "quiet", role: "status"}), charts = new Map();
  const note = h("div"), again = rest(() => list().catch(() => { /* the next notice asks */ }));
  let tags = [], view, room = PAGE, closed = false, before = performance.now();
  const read = q => ({find: q.get("find") ?? "", kind: q.get("kind") ?? "all", mode: q.get("mode") === "overlay" ? "overlay" : "offset"});
  view = read(query);
  const field = h("input", {type: "search", size: 20, value: view.find, on: {input: e => later(e.target.value)}});
  const later = late(value => change({find: value}), 150);
  const kind = choice([["all", "all"], ["weight", "weights"], ["gradient", "gradients"]], view.kind, v => change({kind: v}));
  const mode = choice([["offset", "one behind the other"], ["overlay", "over each other"]], view.mode, v => change({mode: v}));
  const more = button("Show more", () => {
    room += PAGE;
    draw();
  });

  function change(changes) {
    Object.assign(view, changes);
    room = PAGE;
    run.setQuery({find: view.find || null, kind: view.kind === "all" ? null : view.kind, mode: view.mode === "offset" ? null : view.mode});
    draw();
  }

  async function list() {
    const answer = await get(path);
    if (closed)
      return;
    tags = answer.tags;
    fill(note, noteOf(answer));
    again.of(answer);
    draw();
  }

  async function load(card) {
    try {
      const answer = await get(path, {tag: card.tag});
      if (closed)
        return;
      card.known = true;
      fill(card.note, noteOf(answer));
      card.chart.update({steps: answer.steps, waiting: answer.more});
      if (answer.more)
        card.timer = setTimeout(() => load(card), 500);
    } catch (error) {
      if (!closed && !card.known)
        fill(card.note, trouble(error));
    }
  }

  // Only what comes into sight is asked for.
  const sight = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const card = charts.get(entry.target.dataset.tag);
      if (!card)
        continue;
      card.seen = entry.isIntersecting;
      if (card.seen && !card.asked) {
        card.asked = true;
        load(card);
      }
    }
  }, {rootMargin: "200px"});

  function make(tag) {
    const chart = ridges({title: tag, steps: [], mode: view.mode, waiting: true}), card = {tag, chart, timer: 0, seen: false, asked: false, known: false, note: h("div")};
    chart.element.dataset.tag = tag;
    chart.element.append(card.note);
    sight.observe(chart.element);
    charts.set(tag, card);
    return card;
  }

  function gone(card) {
    clearTimeout(card.timer);
    sight.unobserve(card.chart.element);
    card.chart.close();
    card.chart.element.remove();
    charts.delete(card.tag);
  }

  function draw() {
    kind.value = view.kind;
    mode.value = view.mode;
    const want = view.find.trim().toLowerCase(), all = tags.filter(t => (view.kind === "all" || t.kind === view.kind) && t.tag.toLowerCase().includes(want));
    const shown = all.slice(0, room);
    for (const card of [...charts.values()])
      shown.some(t => t.tag === card.tag) || gone(card);
    shown.forEach((t, i) => {
      const card = charts.get(t.tag) ?? make(t.tag);
      card.chart.update({mode: view.mode});
      if (cards.children[i] !== card.chart.element)
        cards.insertBefore(card.chart.element, cards.children[i] ?? null);
    });
    told.textContent = tags.length === 0 ? "No histogram is written: trainer.histograms: true keeps them." : all.length === 0 ? "No tag has this text." : `${number(shown.length)} of ${number(tags.length)} tags`;
    more.hidden = shown.length === all.length;
  }

  fill(panel, h("div", {class: "bar"}, labelled("Find", field), labelled("Of", kind), labelled("Steps", mode), told), note, cards, more);
  await list();
  return {
    changed: single(async () => {
      if (performance.now() - before < PAUSE)
        return;
      before = performance.now();
      try {
        await list();
      } catch {
        return; // what is shown stays
      }
      for (const card of [...charts.values()].filter(c => c.seen))
        await load(card);
    }),
    update(q) {
      view = read(q);
      field.value = view.find;
      draw();
    },
    close() {
      closed = true;
      later.stop();
      again.stop();
      sight.disconnect();
      for (const card of [...charts.values()])
        gone(card);
    },
  };
}
