// What a run takes of the machine, and how fast it goes.
import {h, fill, labelled, choice} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {bytes, duration, number, percent, short} from "./format.js";
import {plainTable} from "./table.js";
import {lineChart, colour} from "./chart.js";
import {noteOf} from "./run_parts.js";

/** Cores busy between a line and the one before; null where the run was started again between them. */
function cores(points) {
  return points.map((p, i) => {
    const b = points[i - 1];
    if (!b || p.cpu_seconds === null || b.cpu_seconds === null || p.cpu_seconds < b.cpu_seconds || p.time <= b.time)
      return null;
    return (p.cpu_seconds - b.cpu_seconds) / (p.time - b.time);
  });
}

const column = key => points => points.map(p => p[key] ?? null);
const PICTURES = [
  {title: "Memory", label: "resident", of: column("rss"), format: bytes},
  {title: "Cores busy", label: "cores", of: cores},
  {title: "Items per second", label: "items/s", of: column("items_per_second"), format: short},
  {title: "Steps per second", label: "steps/s", of: column("steps_per_second"), format: short},
];

const share = (part, whole) => (whole > 0 ? percent(part / whole) : "");

/** Who makes the run's batches, what is under way, and who waits for whom; null: the run does. */
function inputOf(input) {
  if (!input)
    return null;
  const b = input.batches ?? {}, workers = input.workers ?? [];
  return h("section", {class: "card"}, h("h3", {}, "Input workers"),
    h("p", {}, `${input.state ?? ""}: ${number(b.given ?? 0)} batches given, ${number(b.waiting ?? 0)} wait for the trainer, ${number(b.under_way ?? 0)} are under way (${number(b.ahead ?? 0)} at most). ` +
      `The trainer waited ${share(input.trainer_waited, input.seconds)} of ${duration(input.seconds)}. ${number(b.again ?? 0)} were handed out again after a worker had gone.`),
    plainTable("Input workers", [{title: "Worker", cell: w => w.name}, {title: "State", cell: w => w.why ? `${w.state}: ${w.why}` : w.state},
      {title: "Threads", kind: "number", cell: w => number(w.threads)}, {title: "Batches", kind: "number", cell: w => number(w.made)},
      {title: "Under way", kind: "number", cell: w => number(w.under_way)}, {title: "Busy", kind: "number", cell: w => duration(w.busy)},
      {title: "Waited", kind: "number", cell: w => duration(w.waited)}, {title: "Sent", kind: "number", cell: w => bytes(w.bytes)}], workers, "no worker has joined"));
}

export async function open(panel, run, query) {
  let answer = await get(`${run.path}/system`), {points} = answer, over = query.get("x") === "step" ? "step" : "time";
  const charts = [], told = h("span", {class: "quiet"}), note = h("div"), input = h("div");
  const axis = choice([["time", "Time"], ["step", "Step"]], over, v => {
    over = v;
    run.setQuery({x: v === "step" ? "step" : null});
    draw();
  });

  function options(p, i) {
    const all = p.of(points), there = points.map((q, k) => k).filter(k => all[k] !== null && Number.isFinite(points[k][over === "step" ? "step" : "seconds"]));
    const xs = there.map(k => points[k][over === "step" ? "step" : "seconds"]), ys = there.map(k => all[k]);
    return {x: {label: over, format: over === "step" ? null : duration}, y: {label: p.label.replace("items", answer.items), format: p.format, floor: 0},
      series: [{name: p.title, colour: colour(i), dash: "", xs, ys, best: null}]};
  }

  function draw() {
    axis.value = over;
    const threads = points.at(-1)?.threads;
    told.textContent = threads ? `${number(threads)} ${threads === 1 ? "thread" : "threads"}; the highest memory was ${bytes(Math.max(...points.map(p => p.rss ?? 0)))}` : "";
    fill(note, noteOf(answer), answer.down_sampled ? h("p", {class: "quiet"}, `The run has told more often: ${number(points.length)} of its lines are shown, evenly spread.`) : null);
    fill(input, inputOf(answer.input));
    PICTURES.forEach((p, i) => {
      const has = p.of(points).some(v => v !== null);
      charts[i] ? charts[i].update(options(p, i)) : charts[i] = lineChart({title: p.title, ...options(p, i), height: 240});
      charts[i].element.hidden = !has && points.length > 2;
    });
  }

  draw();
  fill(panel, h("div", {class: "bar"}, labelled("Over", axis), told), note, input, h("div", {class: "cards"}, charts.map(c => c.element)));
  return {
    changed: single(async () => {
      try {
        answer = await get(`${run.path}/system`);
        ({points} = answer);
        draw();
      } catch {
        // what is shown stays
      }
    }),
    update(q) {
      over = q.get("x") === "step" ? "step" : "time";
      draw();
    },
    close() {
      charts.forEach(c => c.close());
    },
  };
}
