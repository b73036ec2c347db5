// Pictures other than lines: ridges of histograms over steps, heat maps.
import {h, s, fill} from "./html.js";
import {number, short} from "./format.js";
import {figure, drawAxis} from "./chart.js";

const d3 = globalThis.d3;

/** A figure that draws itself at each new width. draw(width, svg) -> what the svg holds; it sets its own height. */
export function sized(title, draw, rows, ...more) {
  const svg = s("svg", {class: "plot", role: "img", tabindex: 0, "aria-label": title}), element = figure(title, svg, rows, ...more);
  let width = 0;
  const again = () => {
    if (width > 0)
      fill(svg, draw(width, svg));
  };
  const sight = new ResizeObserver(() => {
    const style = getComputedStyle(element), now = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (now > 0 && Math.abs(now - width) > 0.5) {
      width = now;
      again();
    }
  });
  sight.observe(element);
  return {element, svg, again, width: () => width, close: () => sight.disconnect()};
}

/** Counts between `limits` shared out over `n` even pieces of [low, high]: pieces of every step then compare. */
function even({limits, counts, min, max}, low, high, n) {
  const out = new Array(n).fill(0), piece = (high - low) / n;
  for (let i = 0; i < counts.length; i++) {
    const a = Math.min(max, Math.max(limits[i] ?? min, min)), b = Math.max(a, Math.min(limits[i + 1] ?? max, max)), wide = b - a; // the outer limits may lie anywhere
    if (!(counts[i] > 0))
      continue;
    const first = Math.min(n - 1, Math.max(0, Math.floor((a - low) / piece)));
    if (!(wide > 0)) {
      out[first] += counts[i];
      continue;
    }
    for (let k = first; k < n && low + k * piece < b; k++)
      out[k] += counts[i] * Math.max(0, Math.min(b, low + (k + 1) * piece) - Math.max(a, low + k * piece)) / wide;
  }
  return out;
}

const PIECES = 60, MOST = 30, OLD = "#1f3f8c", NEW = "#9dbcff";

/**
 * Histograms over steps, one behind the other (newest in front) or over each other, as TensorBoard has them.
 * At most 30 of them, evenly spread with the first and the last: more than that is no picture.
 * options: {title, steps: [{step, min, max, limits, counts}], mode: "offset" | "overlay", waiting: true}; update(changes) takes new ones.
 */
export function ridges(options) {
  const thin = steps => steps.length <= MOST ? steps : Array.from({length: MOST}, (_, i) => steps[Math.round(i * (steps.length - 1) / (MOST - 1))]);
  let o = {mode: "offset", ...options}, all = o.steps, at = null, place = null, drawn = null;
  o.steps = thin(all);
  const readout = h("p", {class: "told", role: "status", "aria-live": "off"}, "\u00a0");
  const chart = sized(o.title, draw, rows);
  chart.element.append(readout);

  function rows() {
    return [["step", "from", "to", "count"], ...all.flatMap(t => t.counts.map((c, i) => [t.step, t.limits[i], t.limits[i + 1], c]))];
  }

  function draw(whole, svg) {
    const left = 10, right = 62, top = 12, bottom = 26, width = whole - left - right, height = 236 - top - bottom, n = o.steps.length;
    svg.setAttribute("viewBox", `0 0 ${whole} 236`);
    svg.setAttribute("height", 236);
    if (n === 0)
      return s("text", {x: 12, y: 30, class: "word"}, o.waiting ? "reading…" : "no histogram yet");
    const ends = o.steps.filter(t => Number.isFinite(t.min) && Number.isFinite(t.max));
    let low = Math.min(...ends.map(t => t.min)), high = Math.max(...ends.map(t => t.max));
    if (ends.length === 0)
      return s("text", {x: 12, y: 30, class: "word"}, "no finite number");
    if (!(high > low))
      [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    const ridge = o.steps.map(t => even(t, low, high, PIECES)), most = Math.max(...ridge.map(r => Math.max(...r))) || 1;
    const offset = o.mode === "offset" && n > 1, tall = offset ? height * 0.45 : height, gap = offset ? (height - tall) / (n - 1) : 0;
    const x = d3.scaleLinear().domain([low, high]).range([0, width]), middle = i => x(low + (i + 0.5) * (high - low) / PIECES);
    const base = k => (offset ? tall + k * gap : height), tint = d3.interpolateRgb(OLD, NEW), axis = s("g", {transform: `translate(0,${height})`});
    drawAxis(axis, x, "x", {width, height: 0, ticks: Math.max(2, width / 80)});
    const area = k => d3.area().x((_, i) => middle(i)).y0(base(k)).y1(v => base(k) - v / most * tall)(ridge[k]);
    const line = k => d3.line().x((_, i) => middle(i)).y(v => base(k) - v / most * tall)(ridge[k]);
    const shapes = o.steps.map((t, k) => s("path", {class: offset ? "ridge" : "ridge-line", d: offset ? area(k) : line(k), "data-step": t.step,
      fill: offset ? tint(n > 1 ? k / (n - 1) : 1) : "none", stroke: offset ? null : tint(n > 1 ? k / (n - 1) : 1)}));
    const every = Math.max(1, Math.ceil(n / (offset ? Math.max(1, Math.min(7, (height - tall) / 13)) : 1)));
    const words = offset ? o.steps.map((t, k) => (n - 1 - k) % every === 0 ? s("text", {class: "word", x: width + 8, y: base(k) + 4}, short(t.step)) : null) : null;
    const over = s("g", {class: "over"}), catcher = s("rect", {width, height: height + 4, fill: "none", "pointer-events": "all"});
    drawn = {x, over, base, ridge, line, gap, tall, height, n, low, high, offset};
    catcher.onpointermove = catcher.onpointerdown = e => {
      const box = svg.getBoundingClientRect(), px = e.clientX - box.left - left, py = e.clientY - box.top - top;
      show(offset ? Math.max(0, Math.min(n - 1, Math.round((py + tall * 0.15 - tall) / (gap || 1)))) : n - 1, x.invert(px));
    };
    catcher.onpointerleave = () => show(null);
    const g = s("g", {transform: `translate(${left},${top})`}, axis, shapes, words, over, catcher);
    queueMicrotask(() => show(at === null ? null : Math.min(at, n - 1), place));
    return [g, s("text", {class: "word label", x: whole - 4, y: 10, "text-anchor": "end"}, "step")];
  }

  function show(k, value) {
    at = k;
    place = value;
    const t = o.steps[k];
    if (k === null || !t || !drawn) {
      drawn && fill(drawn.over);
      const last = o.steps.at(-1);
      readout.textContent = last ? `step ${number(last.step)}: ${number(last.min)} to ${number(last.max)}${all.length > o.steps.length ? `; ${o.steps.length} of ${all.length} steps are drawn` : ""}` : "\u00a0";
      return;
    }
    const {x, over, base, line, low, high, ridge} = drawn, piece = (high - low) / PIECES;
    const i = Math.max(0, Math.min(PIECES - 1, Math.floor(((value ?? (low + high) / 2) - low) / piece)));
    fill(over, s("path", {class: "ridge-chosen", d: line(k)}), s("line", {class: "ridge-foot", x1: x(low), x2: x(high), y1: base(k), y2: base(k)}),
      s("line", {class: "cross", x1: x(low + (i + 0.5) * piece), x2: x(low + (i + 0.5) * piece), y1: 0, y2: base(k)}));
    readout.textContent = `step ${number(t.step)}: about ${short(Math.round(ridge[k][i]))} between ${number(+(low + i * piece).toPrecision(3))} and ${number(+(low + (i + 1) * piece).toPrecision(3))}; all lie between ${number(t.min)} and ${number(t.max)}`;
  }

  chart.svg.addEventListener("keydown", event => {
    const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === "Escape")
      return show(null);
    if (!by || !drawn || o.steps.length === 0)
      return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    const {low, high} = drawn, piece = (high - low) / PIECES;
    show(at === null ? o.steps.length - 1 : Math.max(0, Math.min(o.steps.length - 1, at + by[0])),
      Math.max(low, Math.min(high - piece / 2, (place ?? (low + high) / 2) + by[1] * piece)));
  });
  chart.svg.addEventListener("blur", () => {
    readout.setAttribute("aria-live", "off");
    show(null);
  });
  return {
    element: chart.element,
    update(changes) {
      o = {...o, ...changes};
      if (changes.steps) {
        all = changes.steps;
        o.steps = thin(all);
      }
      chart.again();
    },
    close: chart.close,
  };
}

const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

/**
 * A heat map: a cell a row and column, with its number where there is room.
 * options: {title, rows: [names], columns: [names], rowTitle, columnTitle, values[row][column], weight(row, column) -> 0..1 (its
 *   colour), text(row, column) -> what stands in it, say(row, column) -> what is said of it, kind(row, column) -> class}
 */
export function heatMap(options) {
  let o = options, here = null, cell = 0, left = 0, above = 0;
  const readout = h("p", {class: "told", role: "status", "aria-live": "off"}, "\u00a0");
  const chart = sized(o.title, draw, () => [[`${o.rowTitle} \\ ${o.columnTitle}`, ...o.columns], ...o.rows.map((name, i) => [name, ...o.values[i]])]);
  const room = h("div", {class: "scroll-x"});
  chart.svg.replaceWith(room);
  room.append(chart.svg);
  chart.element.append(readout);

  function draw(whole, svg) {
    const n = o.rows.length, m = o.columns.length, longest = Math.min(22, Math.max(1, ...o.rows.map(t => t.length)));
    left = 26 + longest * 6.4;
    const widest = Math.min(22, Math.max(1, ...o.columns.map(t => t.length)));
    cell = Math.max(9, Math.min(76, (whole - left - 8) / m));
    const upright = widest * 6.6 > cell - 4, type = Math.min(11, Math.max(8, cell - 1)), words = cell >= 30;
    above = 22 + (upright ? widest * type * 0.62 + 6 : 14);
    const wide = Math.ceil(left + cell * m + 8), high = Math.ceil(above + cell * n + 6);
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    svg.setAttribute("height", high);
    svg.style.width = `${wide}px`;
    const cells = [];
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        const w = o.weight(i, j), text = words ? o.text(i, j) : "";
        if (w > 0)
          cells.push(s("rect", {class: `cell ${o.kind?.(i, j) ?? ""}`, x: left + j * cell, y: above + i * cell, width: cell - (cell > 14 ? 1 : 0.4), height: cell - (cell > 14 ? 1 : 0.4),
            "fill-opacity": (words ? 0.07 + w * 0.43 : 0.15 + w * 0.85).toFixed(3)}));
        if (text !== "")
          cells.push(s("text", {class: "word cell-word", x: left + (j + 0.5) * cell, y: above + (i + 0.5) * cell + 4, "text-anchor": "middle"}, text));
      }
    const over = s("g", {class: "over"});
    svg.onpointermove = svg.onpointerdown = e => {
      const box = svg.getBoundingClientRect(), j = Math.floor((e.clientX - box.left - left) / cell), i = Math.floor((e.clientY - box.top - above) / cell);
      show(i >= 0 && i < n && j >= 0 && j < m ? [i, j] : null);
    };
    svg.onpointerleave = () => show(null);
    queueMicrotask(() => show(here && here[0] < n && here[1] < m ? here : null));
    return [s("rect", {class: "cells", x: left, y: above, width: cell * m, height: cell * n}), cells,
      o.rows.map((t, i) => s("text", {class: "word", x: left - 6, y: above + (i + 0.5) * cell + type * 0.36, "text-anchor": "end", style: {fontSize: `${type}px`}}, cut(t, 22), s("title", null, t))),
      o.columns.map((t, j) => upright
        ? s("text", {class: "word", transform: `translate(${left + (j + 0.5) * cell + type * 0.36},${above - 6}) rotate(-90)`, style: {fontSize: `${type}px`}}, cut(t, 22), s("title", null, t))
        : s("text", {class: "word", x: left + (j + 0.5) * cell, y: above - 7, "text-anchor": "middle", style: {fontSize: `${type}px`}}, t)),
      s("text", {class: "word label", x: left, y: 12}, `${o.columnTitle} →`),
      s("text", {class: "word label", transform: `translate(12,${above + 4}) rotate(-90)`, "text-anchor": "end"}, `← ${o.rowTitle}`), over];
  }

  function show(where) {
    here = where;
    const over = chart.svg.querySelector(".over");
    if (!over)
      return;
    if (!where) {
      fill(over);
      readout.textContent = "\u00a0";
      return;
    }
    const [i, j] = where;
    fill(over, s("rect", {class: "cell-chosen", x: left + j * cell - 0.5, y: above + i * cell - 0.5, width: cell, height: cell}));
    readout.textContent = o.say(i, j);
  }

  chart.svg.addEventListener("keydown", event => {
    const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === "Escape")
      return show(null);
    if (!by)
      return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    show(here === null ? [0, 0] : [Math.max(0, Math.min(o.rows.length - 1, here[0] + by[0])), Math.max(0, Math.min(o.columns.length - 1, here[1] + by[1]))]);
  });
  chart.svg.addEventListener("blur", () => {
    readout.setAttribute("aria-live", "off");
    show(null);
  });
  return {
    element: chart.element,
    update(changes) {
      o = {...o, ...changes};
      chart.again();
    },
    close: chart.close,
  };
}

/**
 * A bar for each of some runs or groups, a dot where 0 is far from all; a group's deviation is a line across its end.
 * options: {title, label: what the values are, items: [{id, name, whole, colour, value, deviation, runs}], missing: how many have no value}
 */
export function bars(options) {
  const EACH = 24, TOP = 6, BOTTOM = 34;
  let o = options;
  const chart = sized(o.title, draw, () => [["name", o.label || o.title, "deviation", "runs"], ...o.items.map(b => [b.whole, b.value, b.deviation, b.runs])]);
  const told = h("p", {class: "told quiet"});
  chart.element.append(told);

  function draw(whole, svg) {
    const n = o.items.length, height = Math.max(1, n) * EACH, left = Math.min(whole * 0.4, 20 + Math.max(3, ...o.items.map(b => b.name.length)) * 6.6), right = 74, width = Math.max(60, whole - left - right);
    svg.setAttribute("viewBox", `0 0 ${whole} ${height + TOP + BOTTOM}`);
    svg.setAttribute("height", height + TOP + BOTTOM);
    told.textContent = o.missing > 0 ? `${number(o.missing)} have no ${o.label || o.title}` : "";
    if (n === 0)
      return s("text", {class: "word", x: whole / 2, y: 20, "text-anchor": "middle"}, "no values");
    const ends = o.items.flatMap(b => [b.value - (b.deviation ?? 0), b.value + (b.deviation ?? 0)]), low = Math.min(...ends), high = Math.max(...ends);
    const far = low > 0 && low > high * 0.5; // values that are near one another: dots, for a bar begins at 0
    const x = d3.scaleLinear().domain([far ? low - (high - low || high) * 0.25 : Math.min(0, low), Math.max(0, high)]).nice(4).range([0, width]), axis = s("g", {transform: `translate(${left},${TOP + height})`});
    drawAxis(axis, x, "x", {width, height, label: "", ticks: Math.max(2, width / 90)});
    const zero = Math.max(0, x(Math.max(x.domain()[0], Math.min(0, x.domain()[1]))));
    return [axis, o.items.map((b, i) => {
      const y = TOP + i * EACH, from = Math.min(zero, x(b.value)), to = Math.max(zero, x(b.value)), most = Math.max(3, Math.floor((left - 12) / 6.6)), end = x(b.value + (b.deviation ?? 0));
      return s("g", {class: "bar-row", "data-bar": b.whole, "data-value": b.value},
        s("text", {class: "row-name", x: left - 8, y: y + 16, "text-anchor": "end"}, cut(b.name, most), s("title", null, b.whole)),
        far ? s("circle", {cx: left + x(b.value), cy: y + EACH / 2, r: 5, fill: b.colour}) : s("rect", {x: left + from, y: y + 4, width: Math.max(1, to - from), height: EACH - 8, rx: 2, fill: b.colour}),
        b.deviation ? s("path", {class: "whisker", d: `M${left + x(b.value - b.deviation)},${y + EACH / 2}H${left + end}m0,-4v8M${left + x(b.value - b.deviation)},${y + EACH / 2 - 4}v8`}) : null,
        s("text", {class: "row-name", x: left + Math.max(to, b.deviation ? end : 0, far ? x(b.value) + 4 : 0) + 6, y: y + 16}, number(b.value), s("title", null, b.deviation ? `${number(b.value)} ± ${number(b.deviation)}, ${number(b.runs)} runs` : number(b.value))));
    })];
  }
  return {
    element: chart.element,
    update(changes) {
      o = {...o, ...changes};
      chart.again();
    },
    close: chart.close,
  };
}
