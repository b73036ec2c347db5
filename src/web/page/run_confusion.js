// What a classifier takes for what: the matrix of each validation, and the figures of each class.
import {h, fill, labelled, choice, button} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number, short, percent} from "./format.js";
import {heatMap} from "./chart_more.js";
import {stepSlider, numberOf, noteOf, rest} from "./run_parts.js";

const COLUMNS = [["class", "Class"], ["precision", "Precision"], ["recall", "Recall"], ["f1", "F1"], ["support", "Support"]];

export async function open(panel, run, query) {
  const path = `${run.path}/confusion`, sums = h("dl", {class: "facts"}), classes = h("div"), picture = h("div"), which = h("span", {class: "bar-part"}), note = h("div"), body = h("div");
  const again = rest(() => ask().catch(() => { /* the next notice asks */ }));
  let answer = null, chart = null, turn = 0, view;
  const read = q => ({split: q.get("split"), label: q.get("label"), step: numberOf(q, "step", null), show: q.get("show") === "counts" ? "counts" : "shares",
    sort: COLUMNS.some(([key]) => key === q.get("sort")) ? q.get("sort") : null, order: q.get("order") === "desc" ? "desc" : "asc"});
  view = read(query);
  const slider = stepSlider(step => change({step}, true));
  const show = choice([["shares", "shares of a row"], ["counts", "counts"]], view.show, v => change({show: v}, false));

  function change(changes, again) {
    Object.assign(view, changes);
    run.setQuery({split: view.split, label: view.label, step: view.step, show: view.show === "counts" ? "counts" : null, sort: view.sort, order: view.sort ? view.order : null});
    again ? ask().catch(() => { /* what is shown stays */ }) : draw();
  }

  async function ask() {
    const mine = ++turn, now = await get(path, {split: view.split, label: view.label, step: view.step});
    if (mine !== turn)
      return;
    answer = now;
    again.of(answer);
    fill(note, noteOf(answer), answer.counts.length === 0 && !answer.more && !answer.damage ? h("p", {class: "quiet"}, "No confusion matrix is written: validations of classification tasks count one.") : null);
    bar.hidden = body.hidden = answer.counts.length === 0;
    slider.set(answer.steps, view.step);
    if (!body.hidden)
      draw();
  }

  function options() {
    const {counts} = answer, names = answer.classes.map(String), sum = counts.map(row => row.reduce((a, b) => a + b, 0)), most = Math.max(1, ...counts.map(row => Math.max(...row)));
    const share = (i, j) => sum[i] > 0 ? counts[i][j] / sum[i] : 0;
    return {rows: names, columns: names, rowTitle: "label", columnTitle: "prediction", values: counts,
      weight: (i, j) => view.show === "shares" ? share(i, j) : Math.sqrt(counts[i][j] / most),
      text: (i, j) => counts[i][j] === 0 ? "" : view.show === "counts" ? short(counts[i][j]) : (share(i, j) * 100).toFixed(share(i, j) < 0.0995 ? 1 : 0),
      kind: (i, j) => i === j ? "hit" : "miss",
      say: (i, j) => `${names[i]} ${i === j ? "recognized" : `taken for ${names[j]}`}: ${number(counts[i][j])} of ${number(sum[i])} (${percent(share(i, j), 1)})`};
  }

  function drawClasses() {
    const rows = [...answer.per_class], sign = view.order === "desc" ? -1 : 1;
    if (view.sort)
      rows.sort((a, b) => {
        const x = a[view.sort], y = b[view.sort];
        return x === null || y === null ? (x === null) - (y === null) : sign * (x < y ? -1 : x > y ? 1 : 0);
      });
    const head = COLUMNS.map(([key, title], i) => {
      const mine = view.sort === key;
      return h("th", {scope: "col", class: i > 0 ? "right" : null, "aria-sort": mine ? (view.order === "asc" ? "ascending" : "descending") : null},
        button([title, h("span", {"aria-hidden": "true", class: "arrow"}, mine ? (view.order === "asc" ? " ↑" : " ↓") : "")],
          () => change({sort: key, order: mine && view.order === "asc" ? "desc" : "asc"}, false), {class: "plain", data: {key}}));
    });
    const focused = classes.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const share = v => v === null || v === undefined ? "–" : h("span", {class: "meter"}, number(+v.toFixed(4)), h("span", {class: "meter-bar", "aria-hidden": "true", style: {width: `${Math.round(v * 40)}px`}}));
    fill(classes, h("table", {class: "plain-table", "aria-label": "Figures of each class"}, h("thead", null, h("tr", null, head)),
      h("tbody", null, rows.map(r => h("tr", null, h("th", {scope: "row", class: "row-head"}, String(r.class)), h("td", {class: "right"}, share(r.precision)),
        h("td", {class: "right"}, share(r.recall)), h("td", {class: "right"}, share(r.f1)), h("td", {class: "right"}, number(r.support)))))));
    if (focused)
      classes.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  function draw() {
    show.value = view.show;
    const labels = answer.labels ?? [];
    fill(which, labels.length > 1 ? labelled("Label", choice(labels.map(t => [t, t]), answer.label, v => change({label: v, step: null}, true))) : null,
      answer.splits.length > 1 ? labelled("Split", choice(answer.splits.map(t => [t, t]), answer.split, v => change({split: v, step: null}, true))) : h("span", {class: "chip"}, answer.split));
    const all = answer.counts.flat().reduce((a, b) => a + b, 0), right = answer.counts.reduce((a, row, i) => a + row[i], 0);
    const mean = key => {
      const has = answer.per_class.map(c => c[key]).filter(v => v !== null && v !== undefined);
      return has.length > 0 ? number(+(has.reduce((a, b) => a + b, 0) / has.length).toFixed(4)) : "–";
    };
    fill(sums, [["Right", `${number(right)} of ${number(all)}`], ["Accuracy", all > 0 ? number(+(right / all).toFixed(4)) : "–"], ["Mean precision", mean("precision")], ["Mean recall", mean("recall")], ["Mean F1", mean("f1")]]
      .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
    if (chart)
      chart.update(options());
    else
      fill(picture, (chart = heatMap({title: "Confusion", ...options()})).element);
    drawClasses();
    split.classList.toggle("one", answer.classes.length > 20);
  }

  const split = h("div", {class: "split wide-left"}, picture, h("section", {class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Figures of each class"}, classes));
  const bar = h("div", {class: "bar"}, which, slider.element, labelled("Cells show", show));
  fill(body, sums, split);
  await ask();
  fill(panel, bar, note, body);
  return {
    changed: single(() => view.step === null ? ask().catch(() => { /* what is shown stays */ }) : undefined),
    update(q) {
      view = read(q);
      ask().catch(() => { /* what is shown stays */ });
    },
    close() {
      turn++;
      again.stop();
      chart?.close();
    },
  };
}
