// Pictures of a search: each draws what its experiment (experiment_data.js) holds, tells what it leaves out,
// and names the trial under the pointer, or under the arrow keys, with its hyperparameters.
import {h, s, fill} from "./html.js";
import {figure, drawAxis} from "./chart.js";
import {number, short, duration, percent} from "./format.js";
import {TONES, closeRange, sample, seconds, trialFacts} from "./experiment_data.js";

const d3 = globalThis.d3;
const LEFT = 68, RIGHT = 16, TOP = 24, BOTTOM = 40;
const MOST = {lines: 400, grey: 100, dots: 2000, slice: 500, rung: 600, bars: 4000, rows: 128};

const clamp = (v, low, high) => Math.max(low, Math.min(high, v));
const cut = (text, most) => text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
export const toneClass = trial => trial.tone >= 0 ? `tone${trial.tone}` : "tone-none";

// ---- the frame of a picture ---------------------------------------------------------------------

/**
 * options: {title, height, minWidth (px: it scrolls below), draw({svg, width, height}) -> {marks, find?, told?}, rows(), more: buttons, open(trial)}
 * A mark: {x, y, trial or null, head: text, facts() -> [[name, text]], path: what to trace when it is named}.
 */
function picture(options) {
  const svg = s("svg", {class: "plot", role: "img", tabindex: 0, "aria-label": `${options.title}; arrow keys name what is drawn`});
  const readout = h("div", {class: "readout", role: "status", "aria-live": "off", hidden: true});
  const told = h("p", {class: "quiet told"}), element = figure(options.title, svg, options.rows, options.more);
  const room = h("div", {class: "picture-room"});
  svg.replaceWith(room);
  room.append(svg);
  element.append(readout, told);
  let marks = [], find = null, at = -1, whole = 0, pointer = null, held = false, due = false; // held: a range is being drawn, so nothing may move under it

  function name(mark, traced = true) {
    const over = svg.querySelector(".over");
    readout.hidden = !mark;
    if (!over)
      return;
    fill(over, mark && traced && mark.path ? s("path", {class: "trace", d: mark.path}) : null,
      mark && !mark.box ? s("circle", {class: "ring", cx: mark.x, cy: mark.y, r: 6}) : null,
      mark?.box ? s("rect", {class: "ring", ...mark.box}) : null);
    svg.style.cursor = mark?.trial && options.open ? "pointer" : "";
    if (!mark)
      return;
    fill(readout, h("div", {class: "at"}, mark.head), mark.facts().map(([key, text]) =>
      h("div", {class: "value"}, h("span", {class: "name"}, key), h("b", null, text))));
    const left = mark.x - room.scrollLeft, width = element.clientWidth;
    readout.style.left = left > width / 2 ? "auto" : `${left + 26}px`;
    readout.style.right = left > width / 2 ? `${width - left + 10}px` : "auto";
    readout.style.top = `${room.offsetTop + clamp(mark.y - 20, 0, Math.max(0, options.height - 60))}px`;
  }

  function nearest(event) {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * whole / box.width, y = event.clientY - box.top;
    if (find)
      return find(x, y);
    let best = null, distance = 28 ** 2;
    for (const mark of marks) {
      const d = (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (d < distance)
        [best, distance] = [mark, d];
    }
    return best;
  }

  function draw() {
    const width = element.clientWidth - 30;
    if (width <= 0)
      return;
    whole = Math.max(width, options.minWidth?.() ?? 0);
    const height = typeof options.height === "function" ? options.height() : options.height;
    svg.setAttribute("viewBox", `0 0 ${whole} ${height}`);
    svg.setAttribute("height", height);
    svg.style.width = `${whole}px`;
    room.style.overflowX = whole > width ? "auto" : "";
    fill(svg);
    const made = options.draw({svg, width: whole, height}) ?? {};
    marks = made.marks ?? [];
    ({find = null} = made);
    svg.append(s("g", {class: "over"}));
    told.textContent = made.told ?? "";
    if (at >= marks.length)
      at = -1;
    name(pointer ? nearest(pointer) : at >= 0 ? marks[at] : null); // what was named is named again
  }

  function release() {
    held = false;
    if (due)
      setTimeout(() => { // behind what the drag itself does at its end
        due = false;
        draw();
      }, 50);
  }

  svg.addEventListener("pointermove", event => {
    pointer = event;
    name(nearest(event));
  });
  svg.addEventListener("pointerleave", () => {
    pointer = null;
    name(null);
  });
  svg.addEventListener("pointerdown", () => {
    held = true;
    for (const type of ["pointerup", "pointercancel"])
      window.addEventListener(type, release, {once: true});
  });
  svg.addEventListener("click", event => {
    const mark = nearest(event);
    if (mark?.trial && options.open)
      options.open(mark.trial);
  });
  svg.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step && marks.length > 0) {
      at = at < 0 ? (step > 0 ? 0 : marks.length - 1) : clamp(at + step * (event.altKey ? 10 : 1), 0, marks.length - 1);
      readout.setAttribute("aria-live", "polite");
      name(marks[at]);
    } else if (event.key === "Escape") {
      at = -1;
      name(null);
    } else if (event.key === "Enter" && marks[at]?.trial && options.open) {
      options.open(marks[at].trial);
    } else {
      return;
    }
    event.preventDefault();
  });
  svg.addEventListener("blur", () => {
    at = -1;
    readout.setAttribute("aria-live", "off");
    name(null);
  });
  let seen = 0;
  const sight = new ResizeObserver(() => {
    if (element.clientWidth !== seen) {
      seen = element.clientWidth;
      draw();
    }
  });
  sight.observe(element);
  return {
    element,
    update(changes) {
      Object.assign(options, changes);
      due = held;
      if (seen > 0 && !held)
        draw();
    },
    close() { sight.disconnect(); },
  };
}

const trialMark = (e, trial, x, y, more) => ({x, y, trial, head: `${trial.title ?? `trial ${trial.number}`} · ${trial.state}`, facts: () => trialFacts(e, trial), ...more});

// ---- axes ---------------------------------------------------------------------------------------

/** What can stand on an axis: {key, title, kind, choices, of(trial)}. */
export function axesOf(e) {
  return e.axes ?? [
    ...(e.varied.length > 0 ? e.varied : e.space).map(hyper => ({...hyper, key: hyper.name, title: hyper.short})),
    {key: "metric", title: e.metric(), kind: "linear", choices: [], of: t => t.best ?? undefined, isMetric: true},
    {key: "batches", title: "batches", kind: "linear", choices: [], whole: true, of: t => t.batches},
  ];
}

/** place(trial): where it stands, null: nowhere. Choices are spread by the trial's number, evenly (golden ratio). */
function scaleFor(e, axis, trials, range, logMetric) {
  if (axis.kind === "choice") {
    const n = Math.max(1, axis.choices.length), at = new Map(axis.choices.map((c, i) => [c, i]));
    const scale = d3.scaleLinear().domain([-0.5, n - 0.5]).range(range);
    return {scale, axis, place(trial) {
      const i = at.get(axis.of(trial));
      return i === undefined ? null : scale(i + 0.6 * (trial.number * 0.6180339887498949 % 1 - 0.5));
    }};
  }
  const values = trials.map(t => axis.of(t)).filter(v => v !== undefined && v !== null);
  const log = axis.kind === "log" || axis.isMetric && logMetric && values.every(v => v > 0);
  const near = axis.isMetric ? closeRange(values, e.smaller(), log) : closeRange(values, true, true);
  let [low, high] = axis.isMetric ? [near.low, near.high] : d3.extent(values.length > 0 ? values : [0, 1]);
  if (low === high)
    [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const scale = (log && low > 0 ? d3.scaleLog() : d3.scaleLinear()).domain([low, high]).range(range).clamp(axis.isMetric === true);
  return {scale, axis, log: log && low > 0, off: near.off, place(trial) {
    const v = axis.of(trial);
    return v === undefined || v === null || log && !(v > 0) ? null : scale(v);
  }};
}

/** Room at both ends, so that no mark stands on the frame. */
function padded(range, by = 8) {
  return range[0] < range[1] ? [range[0] + by, range[1] - by] : [range[0] - by, range[1] + by];
}

function drawScale(svg, {scale, axis, log}, side, {width, height, left = LEFT, top = TOP}) {
  const g = s("g", {transform: side === "x" ? `translate(${left},${top + height})` : `translate(${left},${top})`});
  svg.append(g);
  if (axis.kind !== "choice") {
    drawAxis(g, scale, side, {width, height, label: axis.title, log});
    return;
  }
  const every = Math.ceil(axis.choices.length * (side === "x" ? 46 : 16) / (side === "x" ? width : height));
  const each = Math.abs(scale(1) - scale(0)) * every;
  g.setAttribute("class", `axis ${side}`);
  axis.choices.forEach((c, i) => {
    if (i % every === 0)
      g.append(s("g", {class: "tick", transform: side === "x" ? `translate(${scale(i)},0)` : `translate(0,${scale(i)})`},
        s("line", side === "x" ? {y2: -height} : {x2: width}),
        s("text", side === "x" ? {y: 17, "text-anchor": "middle"} : {x: -7, dy: "0.32em", "text-anchor": "end"},
          cut(c, side === "x" ? Math.max(3, Math.floor(each / 6.2)) : 10), s("title", null, c))));
  });
  g.append(s("text", {class: "label", "text-anchor": side === "x" ? "end" : "start", x: side === "x" ? width : -left + 4, y: side === "x" ? 33 : -11}, axis.title));
}

/** What the colours mean. */
export function toneLegend(e) {
  if (e.bounds.length === 0)
    return h("span", null);
  const end = (at, word) => `${number(e.bounds[at])} ${word}`;
  return h("div", {class: "tones", role: "img", "aria-label": `Colour: ${e.metric()}, from ${end(0, "worst")} to ${end(TONES, "best")}; ${e.smaller() ? "smaller" : "larger"} is better`},
    h("span", {class: "quiet"}, `${e.metric()} (${e.smaller() ? "smaller" : "larger"} is better)`), h("span", null, end(0, "worst")),
    h("span", {class: "tone-bar", "aria-hidden": "true"}, Array.from({length: TONES}, (_, i) => h("i", {class: `tone${i}`, title: `${number(e.bounds[i])} to ${number(e.bounds[i + 1])}`}))),
    h("span", null, end(TONES, "best")));
}

const leftOut = (drawn, of, what) => drawn < of ? `${number(drawn)} of ${number(of)} ${what} drawn: the better half, and of the others every so many` : "";
/** Ticks of large numbers: 1.2k */
const tick = d3.format("~s");
export {tick};
const say = (...parts) => parts.filter(p => p).join("; ");

// ---- the best metric ------------------------------------------------------------------------------

/** Stairs of the best so far, each validation a point. look: {x: "time"|"batches", log} */
export function bestChart(e, look, open) {
  let points = [];

  function prepare() {
    const start = seconds(e.row.start_time) ?? 0, last = new Map();
    let done = 0, best = null;
    points = e.validations.filter(v => v.value !== null).sort((a, b) => a.time - b.time || a.number - b.number).map(v => {
      done += Math.max(0, v.batches - (last.get(v.number) ?? 0));
      last.set(v.number, Math.max(v.batches, last.get(v.number) ?? 0));
      const improves = best === null || (e.smaller() ? v.value < best : v.value > best);
      if (improves)
        best = v.value;
      return {v, x: look.x === "batches" ? done : v.time - start, y: v.value, best, improves};
    });
  }

  return picture({
    title: `Best ${e.metric()} over ${look.x === "batches" ? "all trials' batches" : "time"}`, height: 280, open,
    rows: () => [["seconds or batches", "trial", "batches of the trial", e.metric(), "best so far"], ...points.map(p => [p.x, p.v.number, p.v.batches, p.y, p.best])],
    draw({svg, width, height}) {
      prepare();
      const w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM;
      const near = closeRange(points.map(p => p.y), e.smaller(), look.log);
      const x = d3.scaleLinear().domain([0, Math.max(points.length > 0 ? points[points.length - 1].x : 0, 1e-3)]).range([0, w]);
      const log = look.log && near.low > 0, y = (log ? d3.scaleLog() : d3.scaleLinear()).domain([near.low, near.high]).range([ht - 6, 6]).clamp(true);
      const gx = s("g", {transform: `translate(${LEFT},${TOP + ht})`}), gy = s("g", {transform: `translate(${LEFT},${TOP})`});
      svg.append(gx, gy);
      drawAxis(gx, x, "x", {width: w, height: ht, label: look.x === "batches" ? "batches trained by all trials" : "since the search began", format: look.x === "batches" ? tick : duration});
      drawAxis(gy, y, "y", {width: w, height: ht, label: e.metric(), log});
      const every = Math.max(1, Math.ceil(points.length / MOST.dots));
      const drawn = points.filter((p, i) => p.improves || i % every === 0), steps = points.filter(p => p.improves);
      const g = s("g", {transform: `translate(${LEFT},${TOP})`});
      svg.append(g);
      for (const p of drawn)
        if (!(log && p.y <= 0))
          g.append(s("circle", {class: p.improves ? "improves" : "validation", cx: x(p.x), cy: y(p.y), r: p.improves ? 3.5 : 2.2, "data-trial": p.v.number}));
      if (steps.length > 0)
        g.prepend(s("path", {class: "line stairs", fill: "none", d: d3.line().x(p => x(p[0])).y(p => y(p[1])).curve(d3.curveStepAfter)(
          [...steps.map(p => [p.x, p.y]), [points[points.length - 1].x, steps[steps.length - 1].y]])}));
      const marks = drawn.map(p => {
        const trial = e.byNumber.get(p.v.number);
        return {x: LEFT + x(p.x), y: TOP + y(p.y), trial, head: `trial ${p.v.number}${p.improves ? " · the best so far" : ""}`,
          facts: () => [[`at ${short(p.v.batches)} batches`, number(p.y)], ...(trial ? trialFacts(e, trial).slice(2) : [])]};
      });
      return {marks, told: points.length === 0 ? "No trial has been validated yet." : say(drawn.length < points.length ? `${number(drawn.length)} of ${number(points.length)} validations drawn, all of the best among them` : "",
        near.off > 0 ? `${number(near.off)} far off are drawn at the edge` : "")};
    },
  });
}

// ---- parallel coordinates ---------------------------------------------------------------------------

/** brushes: Map of key -> {low, high} or {choices: Set}. Whether a trial is within all. */
export function within(trial, axes, brushes) {
  for (const axis of axes) {
    const b = brushes.get(axis.key);
    if (!b)
      continue;
    const v = axis.of(trial);
    if (v === undefined || v === null || (b.choices ? !b.choices.has(v) : v < b.low || v > b.high))
      return false;
  }
  return true;
}

/** look: {axes: [key], brushes: Map, onBrush(key, brush or null), log} */
export function parallelChart(e, look, open) {
  const ABOVE = 46, BELOW = 30;
  const mine = () => {
    const there = axesOf(e), chosen = look.axes.map(key => there.find(a => a.key === key)).filter(a => a);
    return [...chosen.filter(a => !a.isMetric), there.find(a => a.isMetric)];
  };

  let moving = false; // a brush is put where it was, by us: within another's event d3 has a source for it all the same

  function brushOf(at, drawn, height) {
    const brush = d3.brushY().extent([[-10, ABOVE - 6], [10, height - BELOW + 6]]).on("end", () => {
      const event = d3.event;
      if (moving || !event.sourceEvent)
        return;
      if (!event.selection) {
        look.onBrush(at.axis.key, null);
        return;
      }
      const [a, b] = event.selection;
      if (at.axis.kind === "choice") {
        const choices = at.axis.choices.filter((_, i) => at.scale(i) >= a && at.scale(i) <= b);
        look.onBrush(at.axis.key, choices.length > 0 ? {choices: new Set(choices)} : null);
      } else {
        look.onBrush(at.axis.key, {low: b >= height - BELOW ? -Infinity : at.scale.invert(b), high: a <= ABOVE ? Infinity : at.scale.invert(a)});
      }
    });
    const g = d3.select(drawn).call(brush), b = look.brushes.get(at.axis.key);
    if (!b)
      return;
    const ends = b.choices ? at.axis.choices.map((c, i) => b.choices.has(c) ? at.scale(i) : null).filter(v => v !== null)
      : [b.low, b.high].map(v => at.scale(clamp(v, ...at.scale.domain())));
    if (ends.length === 0)
      return;
    moving = true;
    g.call(brush.move, [Math.max(ABOVE - 6, Math.min(...ends) - (b.choices ? 10 : 0)), Math.min(height - BELOW + 6, Math.max(...ends) + (b.choices ? 10 : 1))]);
    moving = false;
  }

  return picture({
    title: look.title ?? "Parallel coordinates", height: 360, open, minWidth: () => 96 * mine().length,
    rows: () => [[e.axes ? "run" : "trial", "state", ...mine().map(a => a.title)], ...e.ranked.filter(t => within(t, axesOf(e), look.brushes)).map(t => [t.title ?? t.number, t.state, ...mine().map(a => a.of(t))])],
    draw({svg, width, height}) {
      const axes = mine(), step = (width - 110) / Math.max(1, axes.length - 1), all = axesOf(e);
      const scales = axes.map(axis => scaleFor(e, axis, e.ranked, [height - BELOW, ABOVE], look.log));
      const xs = axes.map((_, i) => 22 + step * i), bottom = height - 8;
      const inside = [], outside = [];
      for (const trial of e.ranked)
        (within(trial, all, look.brushes) ? inside : outside).push(trial);
      const chosen = sample(inside, MOST.lines), grey = sample(outside, MOST.grey);
      const points = trial => scales.map((at, i) => [xs[i], at.place(trial) ?? bottom]);
      const line = pts => `M${pts.map(p => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join("L")}`;
      const g = s("g", {class: `lines ${chosen.list.length > 200 ? "many" : chosen.list.length > 60 ? "some" : "few"}`}), marks = [];
      for (const trial of grey.list)
        g.append(s("path", {class: "pc outside", d: line(points(trial))}));
      for (let i = chosen.list.length - 1; i >= 0; i--) {
        const trial = chosen.list[i], pts = points(trial), d = line(pts);
        g.append(s("path", {class: `pc ${toneClass(trial)}${trial.rank === 0 ? " first" : ""}`, d, "data-trial": trial.number}));
        for (const p of pts)
          marks.push(trialMark(e, trial, p[0], p[1], {path: d}));
      }
      svg.append(g);
      axes.forEach((axis, i) => {
        const at = scales[i], upright = s("g", {transform: `translate(${xs[i]},0)`}), ticks = s("g", {class: "axis y"});
        ticks.append(s("line", {class: "upright", y1: ABOVE, y2: height - BELOW}));
        const label = (y, text) => ticks.append(s("line", {class: "upright", x2: 4, y1: y, y2: y}), s("text", {class: "halo", x: 7, y: y + 4}, cut(text, Math.max(4, Math.floor((step - 12) / 6.4)))));
        if (axis.kind === "choice") {
          const every = Math.ceil(axis.choices.length * 15 / (height - ABOVE - BELOW));
          axis.choices.forEach((c, k) => k % every === 0 ? label(at.scale(k), c) : null);
        } else {
          for (const tick of at.scale.ticks(at.log ? 5 : 6))
            if (!at.log || /^1/.test(tick.toExponential()) || at.scale.domain()[1] / at.scale.domain()[0] < 50)
              label(at.scale(tick), Math.abs(tick) >= 1e-3 && Math.abs(tick) < 1e5 || tick === 0 ? String(+tick.toPrecision(6)) : tick.toExponential().replace("e+", "e"));
        }
        if (chosen.list.some(trial => at.place(trial) === null))
          ticks.append(s("text", {class: "halo", x: 7, y: bottom + 4}, "not set"));
        ticks.append(s("text", {class: "label halo", x: i === 0 ? -18 : i === axes.length - 1 ? 30 : 0, y: i % 2 && step < 110 ? 32 : 18, "text-anchor": i === 0 ? "start" : i === axes.length - 1 ? "end" : "middle"},
          cut(axis.title, Math.max(8, Math.floor(step / (step < 110 ? 3.6 : 6.8)))), s("title", null, axis.key)));
        const brush = s("g", {class: "brush upright-brush"});
        upright.append(ticks, brush);
        svg.append(upright);
        brushOf(at, brush, height);
      });
      const off = scales[scales.length - 1].off ?? 0;
      return {marks: marks.reverse(), told: say(e.ranked.length === 0 ? e.axes ? "No run has this metric." : "No trial has a metric yet." : "", leftOut(chosen.list.length, inside.length, e.axes ? "runs" : "trials"),
        grey.list.length < outside.length ? `${number(grey.list.length)} of ${number(outside.length)} outside the ranges drawn in grey` : "",
        off > 0 ? `${number(off)} trials whose metric is far off are drawn at the edge` : "")};
    },
  });
}

// ---- dots over two axes -------------------------------------------------------------------------------

function dots(e, svg, x, y, trials, {left = LEFT, top = TOP, radius = 3.6}) {
  const marks = [], g = s("g", {transform: `translate(${left},${top})`});
  for (let i = trials.length - 1; i >= 0; i--) {
    const trial = trials[i], px = x.place(trial), py = y.place(trial);
    if (px === null || py === null)
      continue;
    g.append(s("circle", {class: `trial-dot ${toneClass(trial)}${trial.rank === 0 ? " first" : ""}`, cx: px.toFixed(1), cy: py.toFixed(1), r: trial.rank === 0 ? radius + 1.6 : radius, "data-trial": trial.number}));
    marks.push(trialMark(e, trial, left + px, top + py));
  }
  svg.append(g);
  return marks.reverse(); // keys begin with the best
}

/** look: {x: key, y: key, log} */
export function scatterChart(e, look, open) {
  const pick = key => axesOf(e).find(a => a.key === key) ?? axesOf(e)[0];
  return picture({
    title: look.title ?? "Scatter", height: look.height ?? 340, open,
    rows: () => [[e.axes ? "run" : "trial", "state", pick(look.x).title, pick(look.y).title, e.metric()], ...e.ranked.map(t => [t.title ?? t.number, t.state, pick(look.x).of(t), pick(look.y).of(t), t.best])],
    draw({svg, width, height}) {
      const w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM, chosen = sample(e.ranked, MOST.dots);
      const x = scaleFor(e, pick(look.x), e.ranked, padded([0, w]), look.log), y = scaleFor(e, pick(look.y), e.ranked, padded([ht, 0]), look.log);
      drawScale(svg, x, "x", {width: w, height: ht});
      drawScale(svg, y, "y", {width: w, height: ht});
      const marks = dots(e, svg, x, y, chosen.list, {});
      return {marks, told: say(e.ranked.length === 0 ? e.axes ? "No run has this metric." : "No trial has a metric yet." : "", leftOut(chosen.list.length, e.ranked.length, e.axes ? "runs" : "trials"),
        marks.length < chosen.list.length ? `${chosen.list.length - marks.length} have no value on one of the axes` : "")};
    },
  });
}

/** A hyperparameter and the metric. */
export function sliceChart(e, hyper, look, open) {
  return picture({
    title: hyper.name, height: 210, open,
    rows: () => [["trial", hyper.name, e.metric()], ...e.ranked.map(t => [t.number, hyper.of(t), t.best])],
    draw({svg, width, height}) {
      const axes = axesOf(e), w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM, chosen = sample(e.ranked, MOST.slice);
      const x = scaleFor(e, axes.find(a => a.key === hyper.name) ?? {...hyper, title: hyper.short}, e.ranked, padded([0, w]), false);
      const y = scaleFor(e, axes.find(a => a.isMetric), e.ranked, padded([ht, 0]), look.log);
      drawScale(svg, x, "x", {width: w, height: ht});
      drawScale(svg, y, "y", {width: w, height: ht});
      const marks = dots(e, svg, x, y, chosen.list, {radius: 3});
      return {marks, told: leftOut(chosen.list.length, e.ranked.length, "trials")};
    },
  });
}

/** look: {x: key, y: key, what: "best"|"mean"|"count"} */
export function heatChart(e, look) {
  const BINS = 8, pick = key => axesOf(e).filter(a => !a.isMetric).find(a => a.key === key) ?? axesOf(e)[0];
  let cells = [];

  function bins(axis, room) {
    if (axis.kind === "choice")
      return {count: axis.choices.length, of: t => axis.choices.indexOf(axis.of(t)), text: i => axis.choices[i],
        scale: scaleFor(e, axis, e.ranked, room)};
    const values = e.ranked.map(t => axis.of(t)).filter(v => v !== undefined && (axis.kind !== "log" || v > 0)), log = axis.kind === "log";
    const [low, high] = d3.extent(values.length > 0 ? values : [1, 2]), f = log ? Math.log : v => v, back = log ? Math.exp : v => v;
    const count = axis.whole && high - low < BINS ? high - low + 1 : low === high ? 1 : BINS;
    const width = axis.whole && high - low < BINS ? 1 : (f(high) - f(low)) / count || 1, from = axis.whole && high - low < BINS ? low - 0.5 : f(low);
    const scale = (log ? d3.scaleLog() : d3.scaleLinear()).domain(axis.whole && high - low < BINS ? [low - 0.5, high + 0.5] : low === high ? [low * 0.9, high * 1.1 || 1] : [low, high]).range(room);
    return {count, of: t => axis.of(t) === undefined || log && !(axis.of(t) > 0) ? -1 : clamp(Math.floor((f(axis.of(t)) - from) / width), 0, count - 1),
      text: i => axis.whole && width === 1 ? String(low + i) : `${number(back(from + width * i))} to ${number(back(from + width * (i + 1)))}`, scale: {scale, axis, log}};
  }

  return picture({
    title: "Heat map", height: 340,
    rows: () => [[pick(look.x).title, pick(look.y).title, look.what, "trials"], ...cells.map(c => [c.xText, c.yText, c.value, c.count])],
    draw({svg, width, height}) {
      const w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM, x = bins(pick(look.x), [0, w]), y = bins(pick(look.y), [ht, 0]), found = new Map();
      for (const trial of e.ranked) {
        const i = x.of(trial), j = y.of(trial);
        if (i < 0 || j < 0)
          continue;
        const cell = found.get(j * x.count + i) ?? {i, j, count: 0, sum: 0, best: trial.best, trial, xText: x.text(i), yText: y.text(j)};
        found.set(j * x.count + i, cell);
        cell.count++;
        cell.sum += trial.best;
      }
      cells = [...found.values()];
      for (const c of cells)
        c.value = look.what === "count" ? c.count : look.what === "mean" ? c.sum / c.count : c.best;
      const up = look.what === "count" || !e.smaller(), order = cells.map(c => c.value).sort((a, b) => up ? a - b : b - a);
      const cw = w / x.count, ch = ht / y.count, g = s("g", {transform: `translate(${LEFT},${TOP})`}), marks = [];
      drawScale(svg, x.scale, "x", {width: w, height: ht});
      drawScale(svg, y.scale, "y", {width: w, height: ht});
      for (const c of cells) {
        const tone = Math.min(TONES - 1, Math.floor(order.indexOf(c.value) * TONES / order.length));
        const box = {x: c.i * cw + 1, y: ht - (c.j + 1) * ch + 1, width: Math.max(1, cw - 2), height: Math.max(1, ch - 2)};
        g.append(s("rect", {class: `heat tone${tone}`, rx: 2, ...box}));
        if (cw > 44 && ch > 18)
          g.append(s("text", {class: `cell-text on${tone}`, x: box.x + box.width / 2, y: box.y + box.height / 2 + 4, "text-anchor": "middle"}, look.what === "count" ? String(c.count) : d3.format(".3~g")(c.value)));
        marks.push({x: LEFT + box.x + box.width / 2, y: TOP + box.y + box.height / 2, trial: null, box: {...box, x: box.x + LEFT, y: box.y + TOP},
          head: `${pick(look.x).title} ${c.xText}, ${pick(look.y).title} ${c.yText}`,
          facts: () => [["trials", number(c.count)], ["best", `${number(c.best)} (trial ${c.trial.number})`], ["mean", number(c.sum / c.count)]]});
      }
      svg.append(g);
      return {marks, find: (px, py) => marks.find(m => px >= m.box.x && px <= m.box.x + m.box.width && py >= m.box.y && py <= m.box.y + m.box.height) ?? null,
        told: say(e.ranked.length === 0 ? e.axes ? "No run has this metric." : "No trial has a metric yet." : "", "Groups of equal size by colour; an empty cell has no trial")};
    },
  });
}

// ---- importance -----------------------------------------------------------------------------------------

export function importanceChart(e) {
  const list = () => [...(e.importance?.importance ?? [])].filter(i => typeof i.value === "number").sort((a, b) => b.value - a.value).slice(0, 20);
  return picture({
    title: "Importance", height: () => Math.max(70, 30 + 26 * list().length),
    rows: () => [["hyperparameter", "share of the variance"], ...list().map(i => [i.name, i.value])],
    draw({svg, width}) {
      const name = Math.min(220, width * 0.42), room = width - name - 70, marks = [];
      list().forEach((item, i) => {
        const y = 10 + 26 * i, w = Math.max(1.5, room * clamp(item.value, 0, 1));
        svg.append(s("text", {class: "row-name", x: name - 8, y: y + 14, "text-anchor": "end"}, cut(e.space.find(hyper => hyper.name === item.name)?.short ?? item.name, Math.floor(name / 7)), s("title", null, item.name)),
          s("rect", {class: "track", x: name, y: y + 2, width: room, height: 16, rx: 3}), s("rect", {class: "importance", x: name, y: y + 2, width: w, height: 16, rx: 3}),
          s("text", {class: "row-name", x: name + w + 6, y: y + 14}, percent(item.value, 1)));
        marks.push({x: name + w, y: y + 10, trial: null, head: item.name, facts: () => [["share of the variance", percent(item.value, 1)]]});
      });
      const rest = 1 - d3.sum(list(), i => i.value);
      return {marks, told: e.importanceNote ?? say(`Share of the variance of ${e.importance.metric ?? e.metric()} that each explains alone (fANOVA), over ${number(e.importance.trials)} of ${number(e.importance.of)} trials after ${number(+e.importance.length.toPrecision(4))} ${e.importance.longest > 0 ? `of ${number(e.importance.longest)} ` : ""}${e.importance.unit}, the longest length that nearly all reached`,
        rest > 0.01 ? `${percent(rest)} is of combinations` : "", e.importance.trials < 10 * Math.max(1, list().length) ? "so few trials make it rough" : "")};
    },
  });
}

// ---- the front of several objectives ------------------------------------------------------------------------

/** points, best: of front(); the first objective and the one at `other`. */
export function frontChart(e, found, other, open) {
  return picture({
    title: `Pareto front: ${e.objectives[0].name} and ${e.objectives[other].name}`, height: 320, open,
    rows: () => [["trial", ...e.objectives.map(o => o.name), "on the front"], ...found().points.map(p => [p.trial.number, ...p.at, found().best.includes(p) ? "yes" : "no"])],
    draw({svg, width, height}) {
      const {points, best} = found(), w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM, on = new Set(best), marks = [];
      const range = k => { const r = closeRange(points.map(p => p.at[k]), e.objectives[k].smaller, false); return [r.low, r.high]; };
      const x = d3.scaleLinear().domain(range(0)).range([8, w - 8]).clamp(true), y = d3.scaleLinear().domain(range(other)).range([ht - 8, 8]).clamp(true);
      const gx = s("g", {transform: `translate(${LEFT},${TOP + ht})`}), gy = s("g", {transform: `translate(${LEFT},${TOP})`}), g = s("g", {transform: `translate(${LEFT},${TOP})`});
      svg.append(gx, gy, g);
      const way = o => `${o.name} (${o.smaller ? "smaller" : "larger"} is better)`;
      drawAxis(gx, x, "x", {width: w, height: ht, label: way(e.objectives[0])});
      drawAxis(gy, y, "y", {width: w, height: ht, label: way(e.objectives[other])});
      const drawn = [...points.filter(p => !on.has(p)).filter((_, i, a) => i % Math.ceil(a.length / MOST.dots) === 0), ...best];
      if (e.objectives.length === 2 && best.length > 1)
        g.append(s("path", {class: "line stairs", fill: "none", d: d3.line().x(p => x(p.at[0])).y(p => y(p.at[other])).curve(d3.curveStepAfter)([...best].sort((a, b) => a.at[0] - b.at[0]))}));
      for (const p of drawn) {
        g.append(s("circle", {class: on.has(p) ? "on-front" : "validation", cx: x(p.at[0]), cy: y(p.at[other]), r: on.has(p) ? 4.5 : 2.6, "data-trial": p.trial.number}));
        marks.push({x: LEFT + x(p.at[0]), y: TOP + y(p.at[other]), trial: p.trial, head: `trial ${p.trial.number}${on.has(p) ? " · on the front" : ""}`,
          facts: () => [...e.objectives.map((o, k) => [o.name, number(p.at[k])]), ...trialFacts(e, p.trial).slice(2)]});
      }
      return {marks, told: say(`${best.length} trials that no other beats in every objective, by their newest validations`, drawn.length < points.length ? `${number(drawn.length)} of ${number(points.length)} drawn` : "")};
    },
  });
}

// ---- timeline -----------------------------------------------------------------------------------------------

/** Where runs stood: [{run, row, start, end, open, turn}] and the rows' names. What held no slot has lanes of its own. */
function layRuns(e, now) {
  const begin = seconds(e.row.start_time) ?? 0, rows = new Map(), lanes = [], bars = [], turns = new Map();
  for (const run of [...e.runs].sort((a, b) => seconds(a.start_time) - seconds(b.start_time))) {
    const start = seconds(run.start_time) - begin, open = run.end_time === null, end = open ? now - begin : seconds(run.end_time) - begin;
    const turn = (turns.get(run.number) ?? 0) + 1, slots = String(run.slots ?? "").split(",").filter(v => v !== "");
    turns.set(run.number, turn);
    if (slots.length === 0) {
      let lane = lanes.findIndex(free => free <= start);
      lane = lane < 0 ? lanes.length : lane;
      lanes[lane] = end;
      slots.push(`lane ${lane + 1}`);
    }
    for (const slot of slots) {
      if (!rows.has(slot))
        rows.set(slot, {name: /^\d+$/.test(slot) ? `slot ${slot}` : slot, order: /^\d+$/.test(slot) ? Number(slot) : 1e6 + lanes.length});
      bars.push({run, slot, start, end: Math.max(end, start), open, turn});
    }
  }
  const order = [...rows].sort((a, b) => a[1].order - b[1].order).map(([slot]) => slot);
  return {bars, order, names: order.map(slot => rows.get(slot).name), turns};
}

/** look: {zoom: [from, to] in seconds or null, onZoom(zoom)} */
export function timelineChart(e, look, open) {
  const HIGH = 20, now = () => e.over() && e.row.end_time ? seconds(e.row.end_time) : Math.max(Date.now() / 1000, seconds(e.row.start_time) ?? 0);
  let laid = layRuns(e, now());
  const count = () => Math.min(MOST.rows, laid.order.length);
  return picture({
    title: "Slots over time", open, height: () => { laid = layRuns(e, now()); return TOP + BOTTOM + HIGH * Math.max(2, count()); },
    rows: () => [["slot", "trial", "turn of the trial", "from (s)", "to (s)"], ...laid.bars.map(b => [b.slot, b.run.number, b.turn, b.start, b.open ? null : b.end])],
    draw({svg, width, height}) {
      const w = width - LEFT - RIGHT, ht = height - TOP - BOTTOM, last = Math.max(...laid.bars.map(b => b.end), 1e-3), whole = [0, last];
      const x = d3.scaleLinear().domain(look.zoom ?? whole).range([0, w]), gx = s("g", {transform: `translate(${LEFT},${TOP + ht})`}), g = s("g", {transform: `translate(${LEFT},${TOP})`});
      svg.append(gx, g);
      drawAxis(gx, x, "x", {width: w, height: ht, label: "since the search began", format: duration});
      const row = new Map(laid.order.slice(0, MOST.rows).map((slot, i) => [slot, i]));
      laid.names.slice(0, MOST.rows).forEach((name, i) => g.append(s("rect", {class: "track", x: 0, y: i * HIGH + 2, width: w, height: HIGH - 4}),
        s("text", {class: "row-name", x: -8, y: i * HIGH + HIGH / 2 + 4, "text-anchor": "end"}, cut(name, 9))));
      const ends = row.size > 0 ? Array(row.size).fill(-Infinity) : [], marks = [];
      let merged = 0, held = 0;
      for (const b of laid.bars)
        held += row.has(b.slot) ? b.end - b.start : 0;
      for (const b of laid.bars) {
        const i = row.get(b.slot);
        if (i === undefined || b.end < x.domain()[0] || b.start > x.domain()[1])
          continue;
        const from = Math.max(0, x(b.start)), to = Math.min(w, Math.max(x(b.end), x(b.start) + 1.2));
        if (to <= ends[i] + 0.4 || marks.length >= MOST.bars) {
          merged++;
          continue;
        }
        ends[i] = to;
        const trial = e.byNumber.get(b.run.number), box = {x: from, y: i * HIGH + 2, width: Math.max(0.8, to - from - (to - from > 3 ? 0.7 : 0)), height: HIGH - 4};
        g.append(s("rect", {class: `held ${trial ? toneClass(trial) : "tone-none"}${b.open ? " open" : ""}`, ...box, "data-trial": b.run.number}));
        if (box.width > 26)
          g.append(s("text", {class: `bar-text on${trial && trial.tone >= 0 ? trial.tone : ""}`, x: from + 5, y: i * HIGH + HIGH / 2 + 4}, String(b.run.number)));
        const turns = laid.turns.get(b.run.number);
        marks.push({x: LEFT + from + box.width / 2, y: TOP + box.y + HIGH / 2, trial, box: {...box, x: box.x + LEFT, y: box.y + TOP}, head: `trial ${b.run.number}${b.open ? " · runs" : ""}`,
          facts: () => [["from", duration(b.start)], [b.open ? "for" : "held", duration(b.end - b.start)], ["turn", `${b.turn} of ${turns}`], ...(trial?.restarts > 0 ? [["restarts", number(trial.restarts)]] : []),
            ...(trial ? trialFacts(e, trial) : [])]});
      }
      const brush = s("g", {class: "brush", transform: `translate(${LEFT},${TOP})`});
      svg.append(brush);
      d3.select(brush).call(d3.brushX().extent([[0, 0], [w, ht]]).on("end", () => {
        const event = d3.event;
        if (event.sourceEvent && event.selection && event.selection[1] - event.selection[0] > 3)
          look.onZoom(event.selection.map(v => x.invert(v)));
      }));
      brush.addEventListener("dblclick", () => look.onZoom(null));
      return {marks, find: (px, py) => marks.find(m => px >= m.box.x - 1 && px <= m.box.x + m.box.width + 1 && py >= m.box.y - 2 && py <= m.box.y + m.box.height + 2) ?? null,
        told: say(laid.bars.length === 0 ? "No trial has run yet." : `Slots were in use for ${percent(Math.min(1, held / Math.max(1e-9, row.size * last)))} of the time`,
          merged > 0 ? `${number(merged)} bars that are too narrow, or stand behind others, are not drawn: zoom in by drawing over the time` : "zoom by drawing over the time, back by a double click",
          laid.order.length > MOST.rows ? `${laid.order.length - MOST.rows} more slots are not drawn` : "")};
    },
  });
}

// ---- brackets -------------------------------------------------------------------------------------------------

/** "bracket 1: 7 trials, 2 at a time, rungs at 111 (7), 333 (2) batches" */
export function readPlan(text) {
  const brackets = [];
  for (const line of (text ?? "").split("\n")) {
    const found = /^bracket (\d+): (\d+) trials(?:, (\d+) at a time)?, rungs at (.+) (\w+)$/.exec(line);
    if (found)
      brackets.push({number: Number(found[1]), trials: Number(found[2]), unit: found[5],
        rungs: [...found[4].matchAll(/(\d+) \((\d+)\)/g)].map(m => ({length: Number(m[1]), planned: Number(m[2])}))});
  }
  return brackets;
}

/** What has reached which rung: [{number, unit, rungs: [{length, planned|null, entries: [{trial, metric, next}]}], fresh}] */
export function bracketsOf(e) {
  const plan = readPlan(e.search?.plan), byTrial = new Map();
  for (const event of e.events)
    if (event.kind === "validated") {
      if (!byTrial.has(event.trial))
        byTrial.set(event.trial, new Map());
      const metric = event.metrics?.[0];
      byTrial.get(event.trial).set(event.length, typeof metric === "number" ? metric : null);
    }
  const unit = plan[0]?.unit ?? e.search?.unit ?? Object.keys(e.config?.read?.searcher?.max_length ?? {})[0] ?? "steps";
  const brackets = plan.map(b => ({number: b.number, unit: b.unit, trials: b.trials, rungs: b.rungs.map(r => ({...r, entries: []}))}));
  if (brackets.length === 0) {
    const firsts = new Map(), lengths = new Set();
    for (const at of byTrial.values()) {
      const own = [...at.keys()];
      const first = Math.min(...own);
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
      own.forEach(length => lengths.add(length));
    }
    const all = [...lengths].sort((a, b) => a - b);
    [...firsts].sort((a, b) => a[0] - b[0]).forEach(([first, trials], i) => brackets.push({number: i + 1, unit, trials, reached: true,
      rungs: all.filter(length => length >= first).map(length => ({length, planned: null, entries: []}))}));
  }
  for (const [trial, at] of byTrial) {
    const first = Math.min(...at.keys()), bracket = brackets.find(b => b.rungs[0]?.length === first) ?? brackets[0];
    bracket.rungs.forEach((rung, k) => {
      if (at.has(rung.length))
        rung.entries.push({trial, metric: at.get(rung.length), next: bracket.rungs.slice(k + 1).some(r => at.has(r.length))});
    });
  }
  return {brackets, seen: byTrial.size};
}

/** A column a rung, its trials as dots by metric; those that went on are filled, and a line leads to the next. */
export function bracketChart(e, bracket, title, look, open) {
  return picture({
    title, height: 310, open, minWidth: () => 90 + 150 * bracket().rungs.length,
    rows: () => [["rung", bracket().unit, "trial", e.metric(), "went on"], ...bracket().rungs.flatMap((r, k) => r.entries.map(n => [k + 1, r.length, n.trial, n.metric, n.next ? "yes" : "no"]))],
    draw({svg, width, height}) {
      const b = bracket(), ABOVE = 60, w = width - LEFT - RIGHT, ht = height - ABOVE - 16, each = w / b.rungs.length, marks = [], places = new Map();
      const near = closeRange(b.rungs.flatMap(r => r.entries.map(n => n.metric)), e.smaller(), look.log);
      const log = look.log && near.low > 0, y = (log ? d3.scaleLog() : d3.scaleLinear()).domain([near.low, near.high]).range([ht - 6, 6]).clamp(true), gy = s("g", {transform: `translate(${LEFT},${ABOVE})`});
      svg.append(gy);
      drawAxis(gy, y, "y", {width: w, height: ht, log});
      const g = s("g", {transform: `translate(${LEFT},${ABOVE})`}), lines = s("g"), told = [];
      svg.append(s("text", {class: "axis-name", x: 4, y: ABOVE - 11}, cut(e.metric(), 24)), g);
      g.append(lines);
      b.rungs.forEach((rung, k) => {
        const middle = each * (k + 0.5), went = rung.entries.filter(n => n.next).length, spread = Math.min(60, each * 0.5);
        if (k > 0)
          g.append(s("line", {class: "rung-edge", x1: each * k, x2: each * k, y1: -6, y2: ht}));
        svg.append(s("text", {class: "rung-name", x: LEFT + middle, y: 14, "text-anchor": "middle"}, `${short(rung.length)} ${rung.length === 1 ? {batches: "batch"}[b.unit] ?? b.unit.replace(/s$/, "") : b.unit}`),
          s("text", {class: "rung-count", x: LEFT + middle, y: 30, "text-anchor": "middle"},
            `${number(rung.entries.length)}${rung.planned !== null ? ` of ${number(rung.planned)}` : ""}${k + 1 < b.rungs.length ? `, ${number(went)} went on` : ""}`));
        const thin = (list, most) => list.filter((_, i) => i % Math.ceil(list.length / most) === 0);
        const keep = rung.entries.length > MOST.rung ? [...thin(rung.entries.filter(n => !n.next), MOST.rung / 2), ...thin(rung.entries.filter(n => n.next), MOST.rung / 2)] : rung.entries;
        if (keep.length < rung.entries.length)
          told.push(`${number(keep.length)} of ${number(rung.entries.length)} at ${short(rung.length)}`);
        for (const n of keep) {
          if (n.metric === null)
            continue;
          const trial = e.byNumber.get(n.trial), px = middle + spread * (n.trial * 0.6180339887498949 % 1 - 0.5), py = y(n.metric), before = places.get(n.trial);
          if (before)
            lines.append(s("line", {class: `promotion ${trial ? toneClass(trial) : "tone-none"}`, x1: before[0], y1: before[1], x2: px, y2: py}));
          places.set(n.trial, [px, py]);
          g.append(s("circle", {class: `rung-dot ${trial ? toneClass(trial) : "tone-none"}${n.next || k + 1 === b.rungs.length ? "" : " stays"}`, cx: px, cy: py, r: 3.6, "data-trial": n.trial}));
          marks.push({x: LEFT + px, y: ABOVE + py, trial, head: `trial ${n.trial} · ${n.next ? "went on" : k + 1 === b.rungs.length ? "at the top" : trial?.state === "ACTIVE" ? "waits here, or stops" : "stopped here"}`,
            facts: () => [[`after ${short(rung.length)} ${b.unit}`, number(n.metric)], ...(trial ? trialFacts(e, trial).slice(2) : [])]});
        }
      });
      return {marks, told: say(told.length > 0 ? `Drawn are ${told.join(", ")}, evenly` : "", near.off > 0 ? `${number(near.off)} far off are drawn at the edge` : "")};
    },
  });
}
