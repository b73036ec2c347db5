// What a model's scores are worth at every threshold: ROC, precision by recall, hits by k, of the last validation and test.
import {h, fill, labelled, choice} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number} from "./format.js";
import {lineChart, colour, dash} from "./chart.js";
import {plainTable} from "./table.js";
import {noteOf} from "./run_parts.js";

const four = v => v === null || v === undefined ? "–" : number(+v.toFixed(4));
const drawable = c => c.points.length > 1;

export async function open(panel, run, query) {
  const note = h("div"), which = h("span", {class: "bar-part"}), told = h("p", {class: "quiet told"}), pictures = h("div", {class: "cards"}), table = h("div"), body = h("div", null, told, table, pictures);
  let answer = null, charts = [], turn = 0, view;
  const read = q => ({split: q.get("split"), label: q.get("label")});
  view = read(query);

  /** What is asked for, else validation, else the first there is. */
  const chosen = () => {
    const splits = [...new Set(answer.outputs.map(o => o.split))], split = splits.includes(view.split) ? view.split : splits.includes("valid") ? "valid" : splits[0];
    const mine = answer.outputs.filter(o => o.split === split);
    return {splits, mine, output: mine.find(o => o.label === view.label) ?? mine[0]};
  };

  function change(changes) {
    Object.assign(view, changes);
    run.setQuery({split: view.split, label: view.label});
    draw();
  }

  const nameOf = c => c.name === null ? "all" : c.name;
  const lines = (curves, x, y) => curves.filter(drawable).map((c, i) => ({name: nameOf(c), colour: colour(i), dash: dash(i), xs: c.points.map(p => p[x]), ys: c.points.map(p => p[y]), points: false}));

  function draw() {
    const {splits, mine, output} = chosen();
    for (const c of charts)
      c.close();
    charts = [];
    body.hidden = !output;
    if (!output)
      return;
    const {curves, hits} = output, several = curves.length > 1;
    fill(which, splits.length > 1 ? labelled("Split", choice(splits.map(t => [t, t]), output.split, v => change({split: v}))) : h("span", {class: "chip"}, output.split),
      mine.length > 1 ? labelled("Output", choice(mine.map(o => [o.label, o.label]), output.label, v => change({label: v}))) : h("span", {class: "chip"}, output.label), h("span", {class: "quiet"}, ` at step ${number(output.step)}`));
    told.textContent = [output.left_out ? `Curves are left out: ${output.left_out}.` : "", several ? "Each class is held against the rest." : "",
      curves.some(drawable) ? "Areas are exact, of every threshold; the lines have at most 200 points." : ""].filter(Boolean).join(" ");
    if (curves.length > 0) {
      const share = lines(curves, 1, 2), precision = lines(curves, 2, 3);
      charts.push(lineChart({title: "ROC", height: 300, x: {label: "false positive rate"}, y: {label: "true positive rate", floor: 0}, series: share, behind: [{xs: [0, 1], ys: [0, 1]}], legend: several ? "always" : undefined}),
        lineChart({title: "Precision by recall", height: 300, x: {label: "recall"}, y: {label: "precision", floor: 0}, series: precision, legend: several ? "always" : undefined}));
    }
    if (hits && hits.points.length > 0)
      charts.push(lineChart({title: "Hits by k", height: 300, x: {label: "k", scale: hits.points.at(-1)[0] > 20 ? "log" : "linear"}, y: {label: "share of links", floor: 0}, series: [{name: "hits", colour: colour(0), dash: dash(0), xs: hits.points.map(p => p[0]), ys: hits.points.map(p => p[1]), step: true, points: false}]}));
    fill(table, plainTable("Areas under the curves", [{key: "name", title: several ? "Class" : "Of", value: nameOf, cell: nameOf},
      {key: "roc", title: "Area under ROC", kind: "number", first: "desc", value: c => c.roc_area, cell: c => four(c.roc_area)}, {key: "precision", title: "Average precision", kind: "number", first: "desc", value: c => c.average_precision, cell: c => four(c.average_precision)},
      {key: "positives", title: "Positives", kind: "number", first: "desc", value: c => c.positives, cell: c => number(c.positives)}, {key: "negatives", title: "Negatives", kind: "number", first: "desc", value: c => c.negatives, cell: c => number(c.negatives)}], curves, "No curve is kept of this output."),
    hits ? h("dl", {class: "facts"}, [["Links ranked", number(hits.links)], ["Mean reciprocal rank", four(hits.mean_reciprocal_rank)], ...[1, 3, 10, 50, 100].map(k => [k, hits.points.find(p => p[0] === k)]).filter(([, p]) => p).map(([k, p]) => [`Hits at ${k}`, four(p[1])])]
      .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))) : null);
    fill(pictures, charts.map(c => c.element));
  }

  async function ask() {
    const mine = ++turn, now = await get(`${run.path}/scores`);
    if (mine !== turn || JSON.stringify(now) === JSON.stringify(answer))
      return;
    answer = now;
    fill(note, noteOf(answer), answer.outputs.length === 0 && !answer.damage ? h("p", {class: "quiet"}, "No curve is kept yet.") : null);
    draw();
  }

  await ask();
  fill(panel, h("div", {class: "bar"}, which), note, body);
  return {
    changed: single(() => ask().catch(() => { /* what is shown stays */ })),
    update(q) {
      view = read(q);
      draw();
    },
    close() {
      turn++;
      for (const c of charts)
        c.close();
    },
  };
}
