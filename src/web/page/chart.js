// Learning curves and other lines: d3's scales and axes, SVG that can be kept. What is drawn can be read
// back from it: each axis says its scale as data-scale, data-domain and data-range, each line its name.
import {h, s, fill, button, cut, download, csv, fresh} from "./html.js";
import {number, bytes, duration} from "./format.js";
import {say} from "./say.js";

const d3 = globalThis.d3;
const LEFT = 62, RIGHT = 14, TOP = 22, BOTTOM = 38;
const READ = 16; // values that are read out at once
const MOST_LABELS = 14, LABEL = 12; // names at the ends of lines; pixels between two
const MARKS = 300; // circles and crosses of single values in one picture

/** Colours that tell ten things apart in both themes; then they begin again, dashed. */
const COLOURS = ["#3b78e7", "#e8710a", "#1e9e5a", "#d93a6a", "#8e5bd8", "#12939a", "#b5892b", "#e05fc0", "#6f8a1f", "#7b8794"];
export const colour = i => COLOURS[i % COLOURS.length];
export const dash = i => ["", "6 3", "2 3", "8 3 2 3"][Math.floor(i / COLOURS.length) % 4];

/** TensorBoard's smoothing: an exponential mean without the bias of its beginning. */
export function smooth(ys, weight) {
  if (!(weight > 0))
    return ys;
  let mean = 0, seen = 0;
  return ys.map(y => {
    if (y === null || !Number.isFinite(y))
      return y;
    mean = mean * weight + (1 - weight) * y;
    return mean / (1 - weight ** ++seen);
  });
}

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "paint-order", "stroke-linejoin", "font-family", "font-size", "text-anchor"];

/** The picture as a file of its own: what style sheets say of it is written into it. */
export function savePicture(svg, name) {
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  for (let i = 0; i < from.length; i++) {
    const style = getComputedStyle(from[i]);
    for (const key of KEPT)
      to[i].setAttribute(key, style.getPropertyValue(key));
  }
  for (const gone of copy.querySelectorAll(".over, .brush"))
    gone.remove();
  const {width, height} = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(s("rect", {width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor}));
  download(`${name.replace(/[^\w.-]+/g, "_")}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

/** A picture with its title and the buttons that keep it. rows(): what its CSV has, or a promise of it. */
export function figure(title, svg, rows, ...more) {
  async function save(event) {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    try {
      download(`${title.replace(/[^\w.-]+/g, "_")}.csv`, "text/csv", csv(await rows()));
    } catch (error) {
      say(`${title} is not saved: ${error.message}`, "error");
    }
    pressed.disabled = false;
  }
  return h("figure", {class: "chart"}, h("figcaption", null, h("h3", null, title), h("span", {class: "spring"}), more,
    button("SVG", () => savePicture(svg, title), {class: "plain", "aria-label": `Save ${title} as SVG`}),
    rows ? button("CSV", save, {class: "plain", "aria-label": `Save ${title} as CSV`}) : null),
    svg);
}

function makeScale(kind, domain, range) {
  if (kind === "log")
    return d3.scaleLog().domain(domain).range(range);
  return (kind === "time" ? d3.scaleTime() : d3.scaleLinear()).domain(domain).range(range);
}

const NOISE = 1e-6; // what 32-bit numbers may differ by that are meant to be one, as a part of them

/** The lowest and highest of the values that have a place; what is (nearly) one value gets room around it. */
function extent(values, log, nearly = 1e-9) {
  let low = Infinity, high = -Infinity;
  for (const v of values)
    if (v !== null && Number.isFinite(v) && (!log || v > 0)) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  if (low > high)
    return log ? [0.1, 1] : [0, 1];
  if (high - low <= nearly * Math.max(Math.abs(low), Math.abs(high)))
    return log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  return [low, high];
}

/** Where nine tenths of the values lie, as TensorBoard leaves outliers out, with a tenth of room. */
function middle(values, log) {
  const sorted = Float64Array.from(values.filter(v => v !== null && Number.isFinite(v) && (!log || v > 0))).sort();
  if (sorted.length < 10)
    return extent(values, log, NOISE);
  const [low, high] = extent([d3.quantile(sorted, 0.05), d3.quantile(sorted, 0.95)], log, NOISE), room = log ? (high / low) ** 0.1 : (high - low) * 0.1;
  return log ? [Math.max(low / room, sorted[0]), Math.min(high * room, sorted[sorted.length - 1])]
    : [Math.max(low - room, sorted[0]), Math.min(high + room, sorted[sorted.length - 1])];
}

// ---- axes -------------------------------------------------------------------------------------

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 2592000];

const EVEN = 0.7; // decades below which a logarithmic axis has even ticks

/** Places of ticks: whole minutes and hours of durations, powers of two of bytes, 1, 2 and 5 of logarithmic axes. */
function places(scale, count, {log, format}) {
  const [low, high] = scale.domain().map(Number), want = (high - low) / count;
  if (log) {
    const decades = Math.log10(high / low);
    if (decades < EVEN)
      return d3.ticks(low, high, count);
    const every = Math.max(1, Math.ceil(decades / count)), digits = decades > count / 2 ? [1] : decades > count / 3.5 ? [1, 3] : [1, 2, 5], out = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
      for (const d of e % every === 0 ? digits : [])
        if (d * 10 ** e >= low && d * 10 ** e <= high)
          out.push(+`${d}e${e}`);
    return out.length > 1 ? out : d3.ticks(low, high, count);
  }
  const step = format === duration ? (want < 1 ? null : SECONDS.find(v => v >= want)) : format === bytes && want >= 1 ? 2 ** Math.ceil(Math.log2(want)) : null;
  return step ? d3.range(Math.ceil(low / step) * step, high + step * 1e-6, step) : null;
}

/** The words of ticks: short for large and tiny numbers, with as many digits as tell them apart. */
function words(scale, count, {log, format}) {
  if (format)
    return v => format(v).replace(/(\d)\.0+(?=\s|$)/, "$1").replace(/ 0 (s|min|h)$/, "");
  const most = Math.max(...scale.domain().map(v => Math.abs(Number(v)))), plain = text => text.replace("e+", "e").replace("-", "−");
  const [low, high] = scale.domain().map(Number);
  if (log && Math.log10(high / low) >= EVEN)
    return v => plain(d3.format(v >= 1e6 || v < 1e-4 ? "~e" : "~r")(+v.toPrecision(6)));
  const kind = most >= 1e5 ? "~s" : most > 0 && most < 1e-3 ? "~e" : undefined, text = d3.scaleLinear().domain([low, high]).tickFormat(count, kind);
  return v => v === 0 ? "0" : plain(text(v));
}

/** An axis with room for its words; again into the same group is what has changed. `left`: how much room is left of it. */
export function drawAxis(g, scale, side, {width, height, label, format, log, ticks, left}) {
  const count = ticks ?? (side === "x" ? Math.max(3, width / 90) : Math.max(3, height / 42)), time = !log && scale.domain()[0] instanceof Date;
  const axis = (side === "x" ? d3.axisBottom : d3.axisLeft)(scale).ticks(count);
  if (time) {
    format && axis.tickFormat(format);
  } else {
    axis.tickValues(places(scale, count, {log, format})).tickFormat(words(scale, count, {log, format}));
  }
  const at = d3.select(g).attr("class", `axis ${side}`).attr("data-scale", log ? "log" : "linear")
    .attr("data-domain", JSON.stringify(scale.domain().map(Number))).attr("data-range", JSON.stringify(scale.range()));
  at.select(".label").remove();
  at.call(axis.tickSize(side === "x" ? -height : -width).tickPadding(7));
  at.select(".domain").remove();
  if (label)
    at.append("text").attr("class", "label").attr("text-anchor", side === "x" ? "end" : "start")
      .attr("x", side === "x" ? width : -(left ?? LEFT) + 4).attr("y", side === "x" ? 33 : -11).text(label);
}

/** Room that the words of an upright axis take, in eights of pixels, so that it seldom changes. */
function roomOf(scale, height, {log, format}) {
  const count = Math.max(3, height / 42), text = words(scale, count, {log, format});
  const longest = Math.max(...(places(scale, count, {log, format}) ?? scale.ticks(count)).map(v => text(v).length), 3);
  return Math.min(120, Math.max(40, Math.ceil((longest * 6.4 + 14) / 8) * 8));
}

// ---- lines ------------------------------------------------------------------------------------

/** Hundredths of a pixel, by way of whole numbers: four times as fast to print as fractions, and a third as long. */
const HUNDREDTHS = Array.from({length: 100}, (_, i) => i === 0 ? "" : i < 10 ? `.0${i}` : i % 10 === 0 ? `.${i / 10}` : `.${i}`);
const pixel = v => {
  const n = Math.round(v * 100), size = Math.abs(n);
  return (n < 0 ? "-" : "") + Math.trunc(size / 100) + HUNDREDTHS[size % 100];
};

/** A scale as a sum and a product where it is one: what d3 keeps general costs more than the line. */
function quick(scale, kind) {
  const [a, b] = scale.domain().map(Number), [from, to] = scale.range();
  if (kind === "log") {
    const low = Math.log(a), k = (to - from) / (Math.log(b) - low);
    return v => from + (Math.log(v) - low) * k;
  }
  const k = (to - from) / (b - a);
  return v => from + (v - a) * k;
}

const nearest = (xs, v) => {
  let i = d3.bisectLeft(xs, v);
  if (i > 0 && (i === xs.length || v - xs[i - 1] < xs[i] - v))
    i--;
  return i;
};

const swatch = l => s("svg", {class: "swatch", width: 18, height: 8, "aria-hidden": "true"},
  s("line", {x1: 0, x2: 18, y1: 4, y2: 4, stroke: l.colour, "stroke-width": 3, "stroke-dasharray": l.dash || null}));

/**
 * Lines over one axis.
 * options: {title, height (280), x: {label, scale: "linear"|"log"|"time", format}, y: {label, scale, format, floor: lowest end at most},
 *   series: [{name, colour, dash, xs, ys (null: no number, marked at the foot), best: {x, y} or null, step: true (stairs), points: true (a dot each) or false (none, ever),
 *     faint: true (behind the others), band: {low, high} (values around ys), label: what stands at its end}],
 *   whole: () => Promise of the series with every point, for the CSV, where `series` have not all,
 *   behind: [{xs, ys}] in grey, without names; the axes are not made for them,
 *   smoothing: 0..0.999, calm: true (outliers of y lie outside), zoom: [from, to] of x or null, onZoom([from, to] or null),
 *   hidden: Set of names, legend: false | "always" (of one line too), onHover(x or null)}
 * A drag (mouse or finger) zooms, a tap or the pointer above reads values, as the arrow keys do; + and - zoom too.
 * Returns {element, update(changes), point(x or null) (a line there, as of another picture's pointer), close()}.
 */
export function lineChart(options) {
  let o = {height: 280, smoothing: 0, zoom: null, hidden: new Set(), x: {}, y: {}, series: [], ...options}, x, y, lines = [], at = null, level = null, own = true, left = LEFT, right = RIGHT, drag = null;
  const svg = s("svg", {class: "plot", role: "img", tabindex: 0, "aria-label": o.title, "aria-description": "Arrow keys read values, plus and minus zoom, Escape shows all"});
  const readout = h("div", {class: "readout", role: "status", "aria-live": "off", hidden: true}), legend = h("div", {class: "legend"}), told = h("p", {class: "quiet told"});
  const reset = button("Whole", () => zoomTo(null), {class: "plain", "aria-label": `Show all of ${o.title}`});
  const element = figure(o.title, svg, rows, reset);
  element.append(readout, told, legend);
  const clip = fresh("clip"), room = s("rect", {x: -7, y: -5}), axisX = s("g"), axisY = s("g"), drawn = s("g", {"clip-path": `url(#${clip})`}), feet = s("g"), labels = s("g"), over = s("g", {class: "over"});
  const overlay = s("rect", {class: "overlay", fill: "none", "pointer-events": "all"}), selection = s("rect", {class: "selection", y: 0, visibility: "hidden"});
  const whole = s("g", null, axisX, axisY, drawn, feet, labels, s("g", {class: "brush"}, overlay, selection), over);
  svg.append(s("defs", null, s("clipPath", {id: clip}, room)), whole);

  async function rows() {
    const out = [["series", o.x.label ?? "x", o.y.label ?? "y"]];
    for (const l of o.whole ? await o.whole() : o.series)
      l.xs.forEach((v, i) => out.push([l.name, v, l.ys[i]]));
    return out;
  }

  function zoomTo(domain) {
    o.zoom = domain;
    o.onZoom?.(domain);
    draw();
  }

  const within = v => !o.zoom || (v >= o.zoom[0] && v <= o.zoom[1]);
  const has = (l, ys, i) => ys[i] !== null && Number.isFinite(ys[i]) && (o.y.scale !== "log" || ys[i] > 0) && (o.x.scale !== "log" || l.xs[i] > 0);

  function prepare(whole, height) {
    const logX = o.x.scale === "log", logY = o.y.scale === "log";
    let lost = 0, none = 0, outside = 0;
    lines = o.series.filter(l => !o.hidden.has(l.name)).map(l => ({...l, smoothed: smooth(l.ys, o.smoothing)}));
    const seen = [];
    for (const l of lines)
      for (let i = 0; i < l.xs.length; i++) {
        const v = l.ys[i], number = v !== null && Number.isFinite(v);
        none += !number && within(l.xs[i]);
        lost += (logX && !(l.xs[i] > 0)) || (logY && number && !(v > 0));
        if (within(l.xs[i])) {
          seen.push(l.smoothed[i]);
          if (l.band)
            seen.push(l.band.low[i], l.band.high[i]);
        }
      }
    const [low, high] = o.calm ? middle(seen, logY) : extent(seen, logY, NOISE), space = logY ? 0 : (high - low) * 0.05;
    if (o.calm)
      outside = seen.filter(v => v !== null && (v < low - space || v > high + space)).length;
    y = makeScale(o.y.scale, [o.y.floor === undefined || logY ? low - space : Math.min(o.y.floor, low - space), high + space], [height, 0]);
    left = roomOf(y, height, {log: logY, format: o.y.format});
    const labelled = lines.filter(l => l.label && l.xs.length > 0), longest = Math.max(0, ...labelled.map(l => l.label.length));
    right = whole >= 300 && labelled.length <= MOST_LABELS && longest > 0 ? Math.min(140, whole * 0.28, 12 + longest * 6.3) : RIGHT;
    const width = Math.max(120, whole - left - right);
    x = makeScale(o.x.scale, o.zoom ?? extent(lines.flatMap(l => l.xs), logX), [0, width]);
    told.textContent = [lost > 0 ? `${number(lost)} values that are not above 0 have no place on a logarithmic axis` : null,
      none > 0 ? `${number(none)} values are not finite numbers (× at the foot)` : null,
      outside > 0 ? `${number(outside)} values lie outside` : null].filter(t => t).join("; ");
    return width;
  }

  /** The line through the values that have a place, broken where one has none. */
  function path(l, ys) {
    const atX = quick(x, o.x.scale), atY = quick(y, o.y.scale);
    let d = "", pen = false, before = "";
    for (let i = 0; i < l.xs.length; i++) {
      if (!has(l, ys, i)) {
        pen = false;
        continue;
      }
      const px = pixel(atX(l.xs[i])), py = pixel(atY(ys[i]));
      d += !pen ? `M${px},${py}` : l.step ? `L${px},${before}L${px},${py}` : `L${px},${py}`;
      pen = true;
      before = py;
    }
    return d;
  }

  /** What lies between the values around a line. */
  function bandOf(l) {
    const atX = quick(x, o.x.scale), atY = quick(y, o.y.scale), up = [], down = [];
    for (let i = 0; i < l.xs.length; i++)
      if (has(l, l.band.low, i) && has(l, l.band.high, i)) {
        const px = pixel(atX(l.xs[i]));
        up.push(`${px},${pixel(atY(l.band.high[i]))}`);
        down.push(`${px},${pixel(atY(l.band.low[i]))}`);
      }
    return up.length > 1 ? s("path", {class: "band", d: `M${up.join("L")}L${down.reverse().join("L")}Z`, fill: l.colour, "data-band": l.name, "data-run": l.run ?? null}) : null;
  }

  /** Names at the ends of lines, moved apart where they would lie over one another. */
  function drawLabels(width, height) {
    if (right <= RIGHT) {
      fill(labels);
      return;
    }
    const most = Math.floor((right - 12) / 6.3), places = lines.filter(l => l.label).map(l => {
      let i = l.xs.length - 1;
      while (i >= 0 && !(within(l.xs[i]) && has(l, l.smoothed, i)))
        i--;
      return i < 0 ? null : {l, x: Math.min(width, x(l.xs[i])), y: Math.max(0, Math.min(height, y(l.smoothed[i])))};
    }).filter(p => p).sort((a, b) => a.y - b.y);
    places.forEach((p, i) => { p.at = Math.max(p.y, i > 0 ? places[i - 1].at + LABEL : 0); });
    for (let i = places.length - 1, low = height + 4; i >= 0; i--, low -= LABEL)
      places[i].at = Math.min(places[i].at, low);
    fill(labels, places.map(p => s("text", {class: "line-label", x: width + 7, y: p.at + 4, style: {fill: `color-mix(in oklab, ${p.l.colour} 72%, var(--text))`}, "data-label": p.l.name},
      p.l.label.length > most ? `${p.l.label.slice(0, most - 1)}…` : p.l.label, s("title", null, p.l.name))));
  }

  /** Circles where a line cannot show a value: one without neighbours, and all where there are few. */
  function pointsOf(l, width) {
    if (l.points === false)
      return [];
    const out = [], few = l.points === true || lines.length <= 6 && l.xs.filter(within).length * 14 < width;
    for (let i = 0; i < l.xs.length && out.length < MARKS; i++) {
      if (!has(l, l.smoothed, i) || !within(l.xs[i]))
        continue;
      const alone = !(i > 0 && has(l, l.smoothed, i - 1)) && !(i + 1 < l.xs.length && has(l, l.smoothed, i + 1));
      if (alone || few)
        out.push(s("circle", {class: "point", cx: x(l.xs[i]), cy: y(l.smoothed[i]), r: alone ? 3 : 2.2, fill: l.colour}));
    }
    return out;
  }

  /** Crosses at the foot where a value is no finite number. */
  function crossesOf(l, height) {
    const out = [];
    for (let i = 0; i < l.xs.length && out.length < MARKS; i++)
      if ((l.ys[i] === null || !Number.isFinite(l.ys[i])) && within(l.xs[i]) && (o.x.scale !== "log" || l.xs[i] > 0))
        out.push(s("path", {class: "gap", d: `M${x(l.xs[i]) - 3},${height - 8}l6,6m0,-6l-6,6`, stroke: l.colour, fill: "none"}));
    return out;
  }

  function draw() {
    const style = getComputedStyle(element), wide = (element.clientWidth || 600) - (parseFloat(style.paddingLeft) || 0) - (parseFloat(style.paddingRight) || 0);
    const top = o.y.label ? TOP : 10, height = o.height - top - BOTTOM, width = prepare(wide, height);
    svg.setAttribute("viewBox", `0 0 ${wide} ${o.height}`);
    svg.setAttribute("height", o.height);
    whole.setAttribute("transform", `translate(${left},${top})`);
    axisX.setAttribute("transform", `translate(0,${height})`);
    for (const [rect, more] of [[room, 14], [overlay, 0]]) {
      rect.setAttribute("width", width + more);
      rect.setAttribute("height", height + (more > 0 ? 10 : 0));
    }
    selection.setAttribute("height", height);
    fill(drawn, (o.behind ?? []).map(l => s("path", {class: "behind", d: path(l, l.ys), fill: "none"})), lines.map(l => l.band ? bandOf(l) : null), [...lines].sort((a, b) => Boolean(b.faint) - Boolean(a.faint)).flatMap(l => [
      o.smoothing > 0 ? s("path", {class: "line faint", d: path(l, l.ys), stroke: l.colour, fill: "none"}) : null,
      s("path", {class: l.faint ? "line soft" : "line", d: path(l, l.smoothed), stroke: l.colour, fill: "none", "stroke-dasharray": l.dash || null, "data-series": l.name, "data-run": l.run ?? null}),
      pointsOf(l, width),
      l.best && Number.isFinite(y(l.best.y)) && Number.isFinite(x(l.best.x)) ? s("circle", {class: "best", cx: x(l.best.x), cy: y(l.best.y), r: 4.5, stroke: l.colour, "data-best": l.name},
        s("title", null, `best of ${l.name}: ${number(l.best.y)} at ${number(l.best.x)}`)) : null]));
    fill(feet, lines.map(l => crossesOf(l, height)),
      lines.every(l => l.xs.length === 0) ? s("text", {class: "word", x: width / 2, y: height / 2, "text-anchor": "middle"}, o.series.length > 0 && lines.length === 0 ? "all lines are hidden" : "no values") : null);
    drawAxis(axisX, x, "x", {width, height, label: o.x.label, format: o.x.format, log: o.x.scale === "log"});
    drawAxis(axisY, y, "y", {width, height, label: o.y.label, format: o.y.format, log: o.y.scale === "log", left});
    drawLabels(width, height);
    reset.hidden = !o.zoom;
    drawLegend();
    mark();
  }

  // ---- pointer and keys ----

  const place = event => Math.max(x.range()[0], Math.min(x.range()[1], event.clientX - svg.getBoundingClientRect().left - left));

  function showDrag() {
    const on = drag !== null && Math.abs(drag.to - drag.from) > 5;
    selection.setAttribute("visibility", on ? "visible" : "hidden");
    if (on) {
      selection.setAttribute("x", Math.min(drag.from, drag.to));
      selection.setAttribute("width", Math.abs(drag.to - drag.from));
    }
    return on;
  }

  function endDrag() {
    drag = null;
    showDrag();
  }

  overlay.addEventListener("pointerdown", event => {
    if (event.button !== 0 || !event.isPrimary)
      return;
    overlay.setPointerCapture(event.pointerId);
    drag = {from: place(event), to: place(event)};
  });
  overlay.addEventListener("pointermove", event => {
    if (drag) {
      drag.to = place(event);
      showDrag();
    }
    hover(x.invert(place(event)), event);
  });
  overlay.addEventListener("pointerup", event => {
    if (drag && showDrag()) {
      const ends = [drag.from, drag.to].sort((a, b) => a - b).map(v => +x.invert(v));
      endDrag();
      zoomTo(ends);
    } else {
      endDrag();
      hover(x.invert(place(event)), event);
    }
  });
  overlay.addEventListener("pointercancel", endDrag); // a finger that scrolls the page
  overlay.addEventListener("pointerleave", event => event.pointerType === "mouse" && !drag && hover(null));
  overlay.addEventListener("dblclick", () => zoomTo(null));

  function hover(v, event) {
    at = v === null ? null : +v;
    level = event ? event.clientY - overlay.getBoundingClientRect().top : null;
    own = true;
    o.onHover?.(at);
    mark();
  }

  /** The line nearest to the pointer stands out. */
  function emphasise(meant) {
    for (const line of drawn.querySelectorAll("path.line[data-series]"))
      line.classList.toggle("meant", meant !== null && line.dataset.series === meant.name);
  }

  /** Whether a line has a value there: its end is not read out far behind it. */
  function reaches(l, i) {
    const last = l.xs.length - 1, gap = i === 0 ? l.xs[1] - l.xs[0] : l.xs[i] - l.xs[i - 1];
    return at >= l.xs[0] && at <= l.xs[last] || Math.abs(at - l.xs[i]) <= gap || Math.abs(x(at) - x(l.xs[i])) <= 12;
  }

  function mark() {
    readout.hidden = true;
    emphasise(null);
    const near = at === null ? [] : lines.filter(l => l.xs.length > 0).map(l => ({l, i: nearest(l.xs, at)}));
    if (near.length === 0) {
      fill(over);
      return;
    }
    const here = near.reduce((a, b) => Math.abs(a.l.xs[a.i] - at) <= Math.abs(b.l.xs[b.i] - at) ? a : b), where = here.l.xs[here.i];
    if (!within(where) || !Number.isFinite(x(where))) {
      fill(over);
      return;
    }
    const rows = near.filter(({l, i}) => l.ys[i] !== null && reaches(l, i)).sort((a, b) => b.l.smoothed[b.i] - a.l.smoothed[a.i]);
    fill(over, s("line", {class: "cross", x1: x(where), x2: x(where), y1: 0, y2: y.range()[0]}),
      rows.map(({l, i}) => has(l, l.smoothed, i) && within(l.xs[i]) ? s("circle", {cx: x(l.xs[i]), cy: y(l.smoothed[i]), r: 3.5, fill: l.colour}) : null));
    if (!own)
      return;
    const text = v => (o.y.format ?? number)(v), meant = level === null || rows.length < 2 ? null
      : rows.reduce((a, b) => Math.abs(y(a.l.smoothed[a.i]) - level) <= Math.abs(y(b.l.smoothed[b.i]) - level) ? a : b);
    emphasise(meant?.l ?? null);
    const first = Math.max(0, Math.min(rows.length - READ, rows.indexOf(meant) - READ / 2)), last = first + READ; // around the one that is meant
    fill(readout, h("div", {class: "at"}, `${o.x.label ?? "x"} ${o.x.format ? o.x.format(where) : number(where)}`),
      first > 0 ? h("div", {class: "quiet"}, `${first} above`) : null,
      rows.slice(first, last).map(row => h("div", {class: row === meant ? "value meant" : "value"}, swatch(row.l), cut(row.l.name, {class: "cut name"}),
        h("b", null, text(row.l.smoothed[row.i])), o.smoothing > 0 ? h("span", {class: "quiet"}, text(row.l.ys[row.i])) : null)),
      rows.length > last ? h("div", {class: "quiet"}, `${rows.length - last} below`) : null);
    const px = x(where) + left, wide = element.clientWidth;
    readout.style.left = px > wide / 2 ? "auto" : `${px + 28}px`;
    readout.style.right = px > wide / 2 ? `${wide - px}px` : "auto";
    readout.style.top = `${svg.getBoundingClientRect().top - element.getBoundingClientRect().top + 8}px`;
    readout.hidden = false;
  }

  function drawLegend() {
    if (o.legend === false || o.series.length < (o.legend === "always" ? 1 : 2)) {
      fill(legend);
      return;
    }
    const focused = [...legend.children].indexOf(document.activeElement);
    fill(legend, o.series.map(l => button([swatch(l), l.name], () => {
      o.hidden.has(l.name) ? o.hidden.delete(l.name) : o.hidden.add(l.name);
      draw();
    }, {class: "plain", "aria-pressed": String(!o.hidden.has(l.name)), title: "Show or hide"})));
    legend.children[focused]?.focus();
  }

  /** Half as much or twice as much around what is read, or around the middle. */
  function zoomBy(factor) {
    const [a, b] = x.range(), all = extent(lines.flatMap(l => l.xs), o.x.scale === "log");
    const about = at === null ? (a + b) / 2 : x(at), ends = [about - (about - a) * factor, about + (b - about) * factor].map(v => +x.invert(v));
    const next = [Math.max(ends[0], all[0]), Math.min(ends[1], all[1])];
    zoomTo(next[0] <= all[0] && next[1] >= all[1] || !(next[1] > next[0]) ? null : next);
  }

  svg.addEventListener("keydown", event => {
    const longest = lines.reduce((a, b) => a && a.xs.length >= b.xs.length ? a : b, null), key = event.key;
    if (!longest?.xs.length || event.ctrlKey || event.metaKey || !["ArrowLeft", "ArrowRight", "Home", "End", "Escape", "+", "=", "-"].includes(key))
      return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    if (key === "Escape")
      return at === null ? zoomTo(null) : hover(null);
    if (key === "-" || key === "+" || key === "=")
      return zoomBy(key === "-" ? 2 : 0.5);
    const first = o.zoom ? d3.bisectLeft(longest.xs, o.zoom[0]) : 0, last = o.zoom ? d3.bisectRight(longest.xs, o.zoom[1]) - 1 : longest.xs.length - 1;
    const by = (key === "ArrowRight" ? 1 : -1) * (event.altKey || event.shiftKey ? 10 : 1);
    const i = key === "Home" ? first : key === "End" ? last : at === null ? (by > 0 ? first : last) : nearest(longest.xs, at) + by;
    hover(longest.xs[Math.max(first, Math.min(last, i))]);
  });
  svg.addEventListener("blur", () => {
    readout.setAttribute("aria-live", "off");
    hover(null);
  });
  let seen = 0;
  const sight = new ResizeObserver(() => {
    if (element.clientWidth !== seen && element.clientWidth > 0) {
      seen = element.clientWidth;
      draw();
    }
  });
  sight.observe(element);
  return {
    element,
    update(changes) {
      o = {...o, ...changes};
      draw();
    },
    point(v) {
      at = v;
      own = false;
      mark();
    },
    close() { sight.disconnect(); },
  };
}
