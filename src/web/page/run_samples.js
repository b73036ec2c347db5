// Sentences that a translator is shown at each validation: what it makes of them, beside what was wanted.
import {h, s, fill, labelled, choice, button, download, csv} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number} from "./format.js";
import {colour} from "./chart.js";
import {stepSlider, numberOf, late, marked, noteOf, rest} from "./run_parts.js";

const WORDS = 400; // longer texts are compared by which words they have, not by order

const wordsOf = text => (text ?? "").split(/\s+/).filter(w => w !== "");

/** Which words of each are in the longest common row of words of both: [Set of places in a, Set of places in b]. */
function common(a, b) {
  const inA = new Set(), inB = new Set();
  if (a.length > WORDS || b.length > WORDS) {
    const all = [new Set(a), new Set(b)];
    a.forEach((w, i) => all[1].has(w) && inA.add(i));
    b.forEach((w, i) => all[0].has(w) && inB.add(i));
    return [inA, inB];
  }
  const wide = b.length + 1, best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * wide + j] = a[i] === b[j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
  for (let i = 0, j = 0; i < a.length && j < b.length;)
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) {
      i++;
    } else {
      j++;
    }
  return [inA, inB];
}

/** Words next to each other that differ are one mark. */
function drawWords(words, same, tag, find) {
  const out = [];
  for (let i = 0; i < words.length;) {
    let end = i;
    while (end < words.length && same.has(end) === same.has(i))
      end++;
    const text = words.slice(i, end).join(" ");
    out.push(same.has(i) ? marked(text, find) : h(tag, null, marked(text, find)), " ");
    i = end;
  }
  return out;
}

const two = v => number(typeof v === "number" ? +v.toFixed(2) : v);

/** A score over the steps, the chosen step marked. */
function curve(name, values, chosen, tint) {
  const has = values.filter(v => v !== null), low = Math.min(...has), high = Math.max(...has), n = values.length, W = 110, H = 26;
  const x = i => n > 1 ? 3 + i / (n - 1) * (W - 6) : W / 2, y = v => high > low ? H - 4 - (v - low) / (high - low) * (H - 8) : H / 2;
  let d = "", pen = false;
  values.forEach((v, i) => {
    if (v !== null)
      d += `${pen ? "L" : "M"}${x(i).toFixed(1)},${y(v).toFixed(1)}`;
    pen = v !== null;
  });
  return h("span", {class: "score"}, h("span", {class: "quiet"}, name), h("b", null, two(values[chosen])),
    s("svg", {width: W, height: H, role: "img", "aria-label": `${name} over the steps: from ${two(has[0])} to ${two(has.at(-1))}, best ${two(high)}`},
      s("path", {d, fill: "none", stroke: tint, "stroke-width": 1.6}),
      values[chosen] === null ? null : s("circle", {cx: x(chosen), cy: y(values[chosen]), r: 3, fill: tint})));
}

export async function open(panel, run, query) {
  const list = h("ol", {class: "samples"}), told = h("span", {class: "quiet", role: "status"}), which = h("span");
  const note = h("div"), again = rest(() => ask().catch(() => { /* the next notice asks */ }));
  let all = [], known = "", view;
  const read = q => ({split: q.get("split"), step: numberOf(q, "step", null), find: q.get("find") ?? "", only: q.get("only") === "different"});
  view = read(query);
  const slider = stepSlider(step => change({step}));
  const field = h("input", {type: "search", size: 20, value: view.find, on: {input: e => later(e.target.value)}});
  const later = late(value => change({find: value.trim()}), 120);
  const only = h("input", {type: "checkbox", on: {change: e => change({only: e.target.checked})}});

  async function ask() {
    const answer = await get(`${run.path}/samples`), now = JSON.stringify(answer);
    again.of(answer);
    if (now === known)
      return;
    known = now;
    all = answer.steps;
    fill(note, noteOf(answer), (answer.total ?? all.length) > all.length ? h("p", {class: "quiet"}, `${number(all.length)} of ${number(answer.total)} validations are shown, evenly spread.`) : null);
    draw();
  }

  function change(changes) {
    Object.assign(view, changes);
    run.setQuery({split: view.split, step: view.step, find: view.find || null, only: view.only ? "different" : null});
    draw();
  }

  function rows() {
    const scores = [...new Set(all.flatMap(t => t.samples.flatMap(p => Object.keys(p.scores ?? {}))))];
    return [["step", "split", "source", "translation", "reference", ...scores],
      ...all.flatMap(t => t.samples.map(p => [t.step, t.split, p.source, p.translation, p.reference, ...scores.map(k => p.scores?.[k] ?? null)]))];
  }

  function draw() {
    only.checked = view.only;
    const splits = [...new Set(all.map(t => t.split))], split = splits.includes(view.split) ? view.split : splits[0];
    fill(which, splits.length > 1 ? labelled("Split", choice(splits.map(t => [t, t]), split, v => change({split: v, step: null}))) : null);
    const steps = all.filter(t => t.split === split);
    slider.set(steps.map(t => t.step), view.step);
    const at = slider.index(), now = steps[at];
    if (!now) {
      fill(list, h("li", {class: "quiet"}, "No sentence is told yet: task.samples: N tells N of each validation."));
      return;
    }
    // The same sentence of every step: by its place where the source there is the same, else by its source.
    const past = (sample, i) => steps.map(t => t.samples[i]?.source === sample.source ? t.samples[i] : t.samples.find(p => p.source === sample.source));
    const want = view.find.toLowerCase();
    let shown = 0, exact = 0;
    fill(list, now.samples.map((sample, i) => {
      const is = sample.translation === sample.reference;
      exact += is;
      if (want && ![sample.source, sample.translation, sample.reference].some(t => (t ?? "").toLowerCase().includes(want)) || view.only && is)
        return null;
      shown++;
      const a = wordsOf(sample.translation), b = wordsOf(sample.reference), [inA, inB] = common(a, b), history = past(sample, i);
      const names = Object.keys(sample.scores ?? {}), wrong = a.length - inA.size, missing = b.length - inB.size;
      return h("li", {class: "card sample"},
        h("dl", null,
          h("dt", null, "Source"), h("dd", null, marked(sample.source, view.find)),
          h("dt", null, "Translation"), h("dd", null, a.length > 0 ? drawWords(a, inA, "ins", view.find) : h("span", {class: "quiet"}, "(nothing)")),
          h("dt", null, "Reference"), h("dd", null, drawWords(b, inB, "del", view.find))),
        h("div", {class: "scores"}, h("span", {class: "quiet verdict"}, is ? "as the reference" : `${wrong} ${wrong === 1 ? "word" : "words"} not in the reference, ${missing} missing`),
          names.map((name, k) => curve(name, history.map(p => p?.scores?.[name] ?? null), at, colour(k)))));
    }));
    told.textContent = `${number(shown)} of ${number(now.samples.length)} sentences; ${number(exact)} as the reference`;
    if (shown === 0)
      fill(list, h("li", {class: "quiet"}, view.find ? "No sentence has this text." : "Every sentence is as its reference."));
  }

  fill(panel, h("div", {class: "bar"}, which, slider.element, labelled("Find", field), h("label", {class: "field"}, only, "Only differing"), told, h("span", {class: "spring"}),
    button("CSV", () => download(`${run.row.name.replace(/[^\w.-]+/g, "_")}.samples.csv`, "text/csv", csv(rows())), {class: "plain", "aria-label": "Save the sentences of all steps as CSV"})),
    h("p", {class: "quiet key-words"}, h("ins", null, "words"), " of a translation that the reference has not there; ", h("del", null, "words"), " of the reference that the translation lacks."), note, list);
  await ask();
  return {
    changed: single(() => ask().catch(() => { /* what is shown stays */ })),
    update(q) {
      view = read(q);
      field.value = view.find;
      draw();
    },
    close() {
      later.stop();
      again.stop();
    },
  };
}
