// What predictions rest on: the explanations that `regimen explain --keep` left, one at a time, as a graph, bars and tables.
import {h, s, fill, fresh, labelled, choice} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number} from "./format.js";
import {colour} from "./chart.js";
import {sized, bars} from "./chart_more.js";
import {plainTable} from "./table.js";
import {noteOf} from "./run_parts.js";

const d3 = globalThis.d3;
const DRAWN = 150, BARS = 25; // edges of the picture, features with a bar
const FOR = colour(0), AGAINST = colour(1);

const four = v => v === null || v === undefined ? "–" : number(+v.toPrecision(4));
const nodeName = n => n.name ?? "?";
const featureName = f => `${f.set ? `${f.set}.` : ""}${f.feature ?? "?"} ${f.column ?? ""}${f.item === null ? "" : ` of ${f.item}`}`;

/** The edges as a graph whose nodes find their places by themselves: the same each time. */
function graphPicture(e, edges) {
  const used = new Set(edges.flatMap(l => [l.from, l.to])), sets = [...new Set(e.nodes.map(n => n.set))];
  const nodes = e.nodes.map((n, i) => ({...n, i})).filter(n => used.has(n.i) || n.asked), at = new Map(nodes.map(n => [n.i, n]));
  const most = Math.max(...edges.map(l => Math.abs(l.score ?? 0)), 1e-30), links = edges.map(l => ({...l, source: at.get(l.from), target: at.get(l.to)}));
  const heard = e.method === "attention", id = fresh("arrow"), pairs = new Set(edges.map(l => `${l.from}-${l.to}`));

  /** Beside the edge that runs the other way, if there is one. */
  function ends(l) {
    const dx = l.target.px - l.source.px, dy = l.target.py - l.source.py, length = Math.hypot(dx, dy) || 1, aside = pairs.has(`${l.to}-${l.from}`) ? 4 : 0;
    return {x1: l.source.px - aside * dy / length, y1: l.source.py + aside * dx / length, x2: l.target.px - aside * dy / length, y2: l.target.py + aside * dx / length};
  }

  function place(width, height) {
    for (const n of nodes)
      Object.assign(n, {x: undefined, y: undefined, vx: undefined, vy: undefined, fx: n.asked ? 0 : undefined, fy: n.asked ? 0 : undefined});
    d3.forceSimulation(nodes).force("link", d3.forceLink(links).distance(55).strength(0.6)).force("charge", d3.forceManyBody().strength(-140)).force("x", d3.forceX().strength(0.06)).force("y", d3.forceY().strength(0.09)).stop().tick(250);
    const [x0, x1] = d3.extent(nodes, n => n.x), [y0, y1] = d3.extent(nodes, n => n.y);
    const x = d3.scaleLinear().domain(x1 - x0 > 1 ? [x0, x1] : [x0 - 1, x1 + 1]).range([36, width - 36]), y = d3.scaleLinear().domain(y1 - y0 > 1 ? [y0, y1] : [y0 - 1, y1 + 1]).range([24, height - 24]);
    for (const n of nodes)
      Object.assign(n, {px: x(n.x), py: y(n.y)});
  }

  return sized("Edges", (width, svg) => {
    const height = Math.max(240, Math.min(520, width * 0.7)), many = nodes.length > 40;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    if (nodes.length === 0)
      return s("text", {x: 12, y: 30, class: "word"}, "no edge has a score");
    place(width, height);
    return [s("defs", null, [["for", FOR], ["against", AGAINST]].map(([key, fill]) => s("marker", {id: `${id}-${key}`, viewBox: "0 0 8 8", refX: 14, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto"}, s("path", {d: "M0,0L8,4L0,8Z", fill})))),
      links.map(l => {
        const key = (l.score ?? 0) >= 0 ? "for" : "against";
        return s("line", {class: "explained-edge", "data-edge": `${l.from}-${l.to}`, "data-score": l.score, ...ends(l), stroke: key === "for" ? FOR : AGAINST,
          "stroke-width": 0.75 + 5.25 * Math.abs(l.score ?? 0) / most, "stroke-dasharray": key === "for" ? null : "5 3", "stroke-opacity": 0.8, "marker-end": `url(#${id}-${key})`},
        s("title", null, `${l.set}: ${nodeName(l.source)} to ${nodeName(l.target)}, ${heard ? "weight" : "score"} ${four(l.score)}`));
      }),
      nodes.map(n => s("g", {class: "explained-node", transform: `translate(${n.px},${n.py})`}, s("circle", {r: n.asked ? 8 : 5, fill: colour(2 + sets.indexOf(n.set)), stroke: n.asked ? "currentColor" : "none", "stroke-width": 2}),
        !many || n.asked ? s("text", {class: "word", y: -9, "text-anchor": "middle"}, nodeName(n)) : null, s("title", null, `${n.set} ${nodeName(n)}${n.asked ? ": asked about" : ""}`)))];
  }, () => [["edge set", "from", "to", "score"], ...e.edges.map(l => [l.set, nodeName(e.nodes[l.from]), nodeName(e.nodes[l.to]), l.score])]);
}

export async function open(panel, run, query) {
  const note = h("div"), which = h("span", {class: "bar-part"}), facts = h("dl", {class: "facts"}), told = h("p", {class: "quiet told"}), pictures = h("div", {class: "cards"}), tables = h("div"), body = h("div", null, facts, told, pictures, tables);
  let answer = null, charts = [], turn = 0, name = query.get("name");

  function factsOf(e) {
    const rows = [["Prediction", `item ${number(e.item)} of ${e.part}`], e.node === null ? null : ["Node", String(e.node)], e.class === null ? null : ["Class", e.class], [e.class === null ? "Value" : "Logit", four(e.value)],
      e.nothing === null ? null : ["Of nothing", four(e.nothing)], ["Output", e.output], ["Method", e.method], ["Weights", `${e.weights ?? "?"}, run at step ${number(e.step)}`]];
    return rows.filter(r => r).map(([title, value]) => h("div", null, h("dt", null, title), h("dd", null, value)));
  }

  function toldOf(e, edges) {
    const cut = (shown, of, what) => of > shown ? `${number(shown)} of ${number(of)} ${what} that have a score` : "";
    const parts = [cut(e.edges.length, e.edge_total, "edges"), edges.length < e.edges.length ? `the heaviest ${number(edges.length)} are drawn` : "", cut(e.features.length, e.feature_total, "features"), e.features.length > BARS ? `the heaviest ${BARS} have a bar` : ""].filter(Boolean);
    const more = e.edges.length < e.edge_total || e.features.length < e.feature_total;
    return `${e.method === "attention" ? "What is heard more is thicker." : "Thicker is heavier; solid speaks for the prediction, dashed against it."}${parts.length > 0 ? ` Cut: ${parts.join("; ")}${more ? " (regimen explain --top N --keep keeps more)" : ""}.` : ""}`;
  }

  function draw() {
    const e = answer.explanation;
    for (const c of charts)
      c.close();
    charts = [];
    fill(which, answer.names.length > 0 ? labelled("Explanation", choice([...(answer.name === null ? [["", "choose one"]] : answer.names.includes(answer.name) ? [] : [[answer.name, answer.name]]), ...answer.names.map(t => [t, t])], answer.name ?? "", v => {
      name = v;
      run.setQuery({name});
      ask().catch(() => { /* what is shown stays */ });
    })) : null, answer.total > answer.names.length ? h("span", {class: "quiet"}, `${number(answer.names.length)} of ${number(answer.total)} are listed`) : null);
    body.hidden = !e;
    if (!e)
      return;
    const edges = [...e.edges].sort((a, b) => Math.abs(b.score ?? 0) - Math.abs(a.score ?? 0)).slice(0, DRAWN), features = e.features.slice(0, BARS);
    fill(facts, factsOf(e));
    told.textContent = toldOf(e, edges);
    charts.push(graphPicture(e, edges));
    if (features.length > 0)
      charts.push(bars({title: "Features", label: "score", items: features.map((f, i) => ({id: i, name: featureName(f), whole: featureName(f), colour: f.score >= 0 ? FOR : AGAINST, value: f.score ?? 0, deviation: null, runs: 1})), missing: 0}));
    fill(pictures, charts.map(c => c.element));
    const score = {key: "score", title: "Score", kind: "number", first: "desc", value: r => r.score, cell: r => four(r.score)};
    fill(tables, h("h3", null, "Edges"), plainTable("Edges", [{key: "set", title: "Edge set", value: l => l.set, cell: l => l.set}, {key: "from", title: "From", value: l => nodeName(e.nodes[l.from]), cell: l => nodeName(e.nodes[l.from])},
      {key: "to", title: "To", value: l => nodeName(e.nodes[l.to]), cell: l => nodeName(e.nodes[l.to])}, score], e.edges, "No edge has a score, or edges are not explained."),
    h("h3", null, "Features"), plainTable("Features", [{key: "of", title: "Of", value: f => `${f.set}.${f.feature}`, cell: f => `${f.set ? `${f.set}.` : ""}${f.feature}`}, {key: "item", title: "Item", value: f => f.item, cell: f => f.item ?? "all"},
      {key: "column", title: "Column", kind: "number", value: f => f.column, cell: f => String(f.column)}, score], e.features, "No feature has a score, or features are not explained."));
  }

  async function ask() {
    const mine = ++turn, now = await get(`${run.path}/explanations`, {name});
    if (mine !== turn || JSON.stringify(now) === JSON.stringify(answer))
      return;
    answer = now;
    fill(note, noteOf(answer), !answer.explanation && !answer.damage ? h("p", {class: "quiet"}, answer.names.length > 0 ? "There is no explanation of that name any more." : "No explanation is kept any more.") : null);
    draw();
  }

  await ask();
  fill(panel, h("div", {class: "bar"}, which), note, body);
  return {
    changed: single(() => ask().catch(() => { /* what is shown stays */ })),
    update(q) {
      name = q.get("name");
      ask().catch(() => { /* what is shown stays */ });
    },
    close() {
      turn++;
      for (const c of charts)
        c.close();
    },
  };
}
