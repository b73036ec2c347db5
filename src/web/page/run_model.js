// A picture of the model: its layers from the inputs to the output, what each has and costs; its tensors; its sums.
import {h, s, fill, labelled} from "./html.js";
import {get} from "./api.js";
import {number, short, percent} from "./format.js";
import {figure, colour} from "./chart.js";
import {plainTable} from "./table.js";
import {late, marked, noteOf} from "./run_parts.js";

const STEP = 58, BOX = 40, LANE = 12, WIDE = 276, BAR = 110;

/** "inputs: {source: [250, 4]}" and whatever else a batch was: "source 250×4". */
function batchOf(batch) {
  const text = (key, v) => Array.isArray(v) ? `${key} ${v.join("×")}` : v !== null && typeof v === "object" ? Object.entries(v).map(([k, w]) => text(k, w)).join(", ")
    : `${typeof v === "number" ? number(v) : v} ${key}`;
  return batch !== null && typeof batch === "object" ? Object.entries(batch).map(([key, v]) => text(key, v)).join(", ") : null;
}

/**
 * Rows of the picture: layers in the order they are computed, as they came; an input that is no layer stands before its
 * first reader. A model that does not say what it reads has a batch above.
 */
function rowsOf(model) {
  const layers = model.layers ?? [], names = new Set(layers.map(l => l.name)), out = [], done = new Set();
  for (const layer of layers) {
    for (const name of layer.inputs ?? [])
      if (!names.has(name) && !done.has(name)) {
        done.add(name);
        out.push({name, input: true, inputs: [], about: "input"});
      }
    out.push(layer);
  }
  const batch = batchOf(model.flops?.batch);
  if (done.size === 0 && batch && out.length > 0) {
    const name = "\u0000batch"; // no layer's
    out[0] = {...out[0], inputs: [name, ...out[0].inputs ?? []]};
    out.unshift({name, title: "a batch", input: true, inputs: [], about: batch});
  }
  return out;
}

/** The lane of each source whose reader does not stand right below it: sources whose ways overlap have different ones. */
function lanes(rows) {
  const place = new Map(rows.map((r, i) => [r.name, i])), ways = new Map();
  rows.forEach((r, i) => {
    for (const name of r.inputs ?? []) {
      const from = place.get(name), mutual = from === i + 1 && (rows[from].inputs ?? []).includes(r.name); // an arrow with two heads
      if (from === undefined || from === i - 1 || from === i || mutual)
        continue;
      const way = ways.get(from) ?? {from, to: [], first: from, last: from};
      way.to.push(i);
      way.first = Math.min(way.first, i);
      way.last = Math.max(way.last, i);
      ways.set(from, way);
    }
  });
  const ends = [];
  for (const way of [...ways.values()].sort((a, b) => a.first - b.first)) {
    let lane = ends.findIndex(end => end < way.first);
    if (lane < 0)
      lane = ends.length;
    ends[lane] = way.last;
    way.lane = lane;
  }
  return {ways: [...ways.values()], count: ends.length};
}

const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function picture(model) {
  const rows = rowsOf(model), {ways, count} = lanes(rows), kinds = [...new Set(rows.filter(r => !r.input).map(r => r.kind))];
  const place = new Map(rows.map((r, i) => [r.name, i])), read = new Set(rows.flatMap((r, i) => (r.inputs ?? []).filter(name => place.get(name) < i || place.get(name) === i + 1 && (rows[i + 1].inputs ?? []).includes(r.name)))), gutter = 14 + count * LANE, top = 30;
  const flops = rows.reduce((sum, r) => sum + (r.flops ?? 0), 0), parameters = Math.max(1, model.parameters ?? 0);
  const columns = [gutter + WIDE + 24, gutter + WIDE + 24 + BAR + 90], width = columns[1] + (flops > 0 ? BAR + 80 : 0) + 10, height = top + rows.length * STEP + 6;
  const y = i => top + i * STEP, middle = gutter + WIDE / 2;
  const bar = (x, i, share, text, tint) => [s("rect", {class: "bar-back", x, y: y(i) + 22, width: BAR, height: 7, rx: 3.5}),
    s("rect", {x, y: y(i) + 22, width: Math.max(share > 0 ? 2 : 0, share * BAR), height: 7, rx: 3.5, fill: tint}),
    s("text", {class: "word", x, y: y(i) + 15}, text), s("text", {class: "word", x: x + BAR + 6, y: y(i) + 29}, percent(share, share < 0.1 ? 1 : 0))];
  const head = (x, at) => s("path", {class: "arrow-head", d: `M${x},${at}l-4,-6h8z`});
  const boxes = rows.map((r, i) => {
    const shapes = (r.tensors ?? []).filter(t => t.shape?.length > 0).map(t => t.shape.join("×")), tint = r.input ? "none" : colour(kinds.indexOf(r.kind));
    const straight = (r.inputs ?? []).includes(rows[i - 1]?.name), mutual = straight && (rows[i - 1].inputs ?? []).includes(r.name);
    return s("g", {"data-layer": r.name}, s("title", null, r.input ? `${r.title ?? r.name}: ${r.about}` : `${r.name}: ${r.kind}, ${number(r.parameters ?? 0)} parameters${r.inputs?.length ? `, of ${r.inputs.join(", ")}` : ""}`),
      straight ? [s("path", {class: "way", d: `M${middle},${y(i - 1) + BOX + (mutual ? 6 : 0)}V${y(i) - 6}`}), head(middle, y(i)),
        mutual ? s("path", {class: "arrow-head", d: `M${middle},${y(i - 1) + BOX}l-4,6h8z`}) : null] : null,
      s("rect", {class: r.input ? "box input" : "box", x: gutter, y: y(i), width: WIDE, height: BOX, rx: r.input ? 20 : 6}),
      r.input ? null : s("rect", {x: gutter, y: y(i), width: 5, height: BOX, rx: 2.5, fill: tint}),
      s("text", {class: "name", x: gutter + 16, y: y(i) + 17}, cut(r.title ?? r.name, 36)),
      s("text", {class: "word", x: gutter + 16, y: y(i) + 33}, cut(r.input ? r.about : [r.kind, shapes.join(", "), read.has(r.name) ? null : "→ output"].filter(t => t).join(" · "), 42)),
      r.input ? null : bar(columns[0], i, (r.parameters ?? 0) / parameters, short(r.parameters ?? 0), "#3b78e7"),
      r.input || flops === 0 || r.flops === null || r.flops === undefined ? null : bar(columns[1], i, r.flops / flops, `${short(r.flops)}FLOP`, "#e8710a"));
  });
  const round = ways.map(w => {
    const x = gutter - 10 - w.lane * LANE, out = y(w.from) + BOX / 2 + 6;
    return [w.to.map(i => {
      const into = y(i) + BOX / 2 - 6;
      return [s("path", {class: i < w.from ? "way back" : "way", d: `M${gutter},${out}H${x + 5}Q${x},${out} ${x},${out + (into > out ? 5 : -5)}V${into + (into > out ? -5 : 5)}Q${x},${into} ${x + 5},${into}H${gutter - 6}`}),
        s("path", {class: "arrow-head", d: `M${gutter},${into}l-6,-4v8z`})];
    })];
  });
  const svg = s("svg", {class: "plot model", role: "img", "aria-label": `Layers of the model: ${rows.length}. The table of tensors tells the same.`, viewBox: `0 0 ${width} ${height}`, width, height},
    s("text", {class: "word label", x: columns[0], y: 16}, "parameters"), flops > 0 ? s("text", {class: "word label", x: columns[1], y: 16}, "operations of a step") : null, round, boxes);
  svg.style.width = `${width}px`;
  const element = figure("Layers", svg, () => [["layer", "kind", "inputs", "parameters", "flops"], ...(model.layers ?? []).map(l => [l.name, l.kind, (l.inputs ?? []).join(" "), l.parameters, l.flops ?? null])]);
  const room = h("div", {class: "scroller-model", tabindex: 0, role: "region", "aria-label": "Picture of the layers"});
  svg.replaceWith(room);
  room.append(svg);
  return element;
}

function sums(model) {
  const f = model.flops;
  const fixed = model.trainable === undefined || model.trainable === null ? 0 : model.parameters - model.trainable;
  return [["Parameters", number(model.parameters)], ["Trained", fixed > 0 ? `${number(model.trainable)} (${number(fixed)} are not)` : "all"], ["Layers", number((model.layers ?? []).length)],
    ["Memory of the weights", model.parameters ? `${short(model.parameters * 4)}B in 32 bits` : null],
    ["Forward pass", f?.forward ? `${short(f.forward)}FLOP` : null], ["Step of training", f?.step ? `${short(f.step)}FLOP` : null]].filter(([, v]) => v !== null)
    .map(([name, v]) => h("div", null, h("dt", null, name), h("dd", null, v)));
}

export async function open(panel, run, query) {
  const model = await get(`${run.path}/model`);
  if ((model.layers ?? []).length === 0) {
    fill(panel, noteOf(model) ?? h("p", {class: "quiet"}, "The run has not told its model: model.json is written when it begins to train."));
    return {};
  }
  const list = h("div"), told = h("span", {class: "quiet", role: "status"});
  const tensors = (model.layers ?? []).flatMap(l => (l.tensors ?? []).map(t => ({...t, layer: l.name, kind: l.kind})));
  let find = query.get("find") ?? "";
  const field = h("input", {type: "search", size: 20, value: find, on: {input: e => later(e.target.value)}});
  const later = late(value => {
    find = value;
    run.setQuery({find: find || null});
    draw();
  }, 100);

  function draw() {
    const want = find.trim().toLowerCase(), shown = tensors.filter(t => [t.name, t.layer, t.kind].some(v => String(v ?? "").toLowerCase().includes(want)));
    told.textContent = `${number(shown.length)} of ${number(tensors.length)} tensors, ${number(shown.reduce((sum, t) => sum + t.count, 0))} numbers`;
    fill(list, plainTable("Tensors of the model", [
      {title: "Tensor", cell: t => h("code", null, marked(t.name, want))},
      {title: "Layer", cell: t => marked(String(t.layer), want)},
      {title: "Kind", cell: t => marked(String(t.kind ?? "–"), want)},
      {title: "Shape", kind: "number", cell: t => (t.shape ?? []).join(" × ") || "one number"},
      {title: "Numbers", kind: "number", cell: t => number(t.count)},
      {title: "Share", kind: "number", cell: t => model.parameters > 0 ? percent(t.count / model.parameters, 1) : "–"},
      {title: "Trained", cell: t => t.trainable === false ? "no" : "yes"},
    ], shown, "No tensor has this text."));
  }

  const batch = batchOf(model.flops?.batch);
  fill(panel, h("dl", {class: "facts"}, sums(model)), batch ? h("p", {class: "quiet"}, `Operations are those of a step with a batch of ${batch}.`) : null, picture(model), h("div", {class: "bar after"}, h("h2", null, "Tensors"), labelled("Find", field), told), list);
  draw();
  return {
    update(q) {
      field.value = find = q.get("find") ?? "";
      draw();
    },
    close: later.stop,
  };
}
