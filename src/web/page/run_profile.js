// Where the time of a run's recorded steps went: by op, by layer, and what stood beside the steps.
import {h, fill, choice, labelled} from "./html.js";
import {get} from "./api.js";
import {number, short, percent, bytes} from "./format.js";
import {plainTable} from "./table.js";

/** Rows that have the same key as one. */
function sums(rows, key) {
  const all = new Map();
  for (const r of rows) {
    const name = key(r), one = all.get(name) ?? {name, calls: 0, seconds: 0, flops: 0, bytes: 0};
    all.set(name, {name, calls: one.calls + r.calls, seconds: one.seconds + r.seconds, flops: one.flops + r.flops, bytes: one.bytes + r.bytes});
  }
  return [...all.values()].sort((a, b) => b.seconds - a.seconds);
}

const share = part => h("span", {class: "meter"}, h("span", {class: "meter-bar", style: {width: `${Math.round(70 * Math.min(1, part))}px`}}), percent(part, 1));

export async function open(panel, run, query) {
  const place = h("div"), told = h("p", {class: "quiet told"});
  let answer = null, by = query.get("by") === "layer" ? "layer" : query.get("by") === "both" ? "both" : "op";

  function draw() {
    const ops = answer.rows.filter(r => r.kind === "op"), beside = answer.rows.filter(r => r.kind !== "op"), all = ops.reduce((sum, r) => sum + r.seconds, 0), steps = Math.max(1, answer.steps);
    const keys = {op: r => r.name, layer: r => r.scope ?? "no layer", both: r => `${r.scope ?? "no layer"} · ${r.name}`};
    const rate = (n, s) => n > 0 && s > 0 ? short(n / s) : "–";
    fill(place, plainTable("Time of ops", [{key: "name", title: {op: "Op", layer: "Layer", both: "Layer and op"}[by], value: r => r.name, cell: r => h("code", null, r.name)},
      {key: "ms", title: "ms a step", kind: "number", first: "desc", value: r => r.seconds, cell: r => number(1e3 * r.seconds / steps)}, {key: "share", title: "Share", kind: "number", first: "desc", value: r => r.seconds, cell: r => share(r.seconds / (all || 1))},
      {key: "calls", title: "Calls a step", kind: "number", first: "desc", value: r => r.calls, cell: r => number(+(r.calls / steps).toPrecision(4))},
      {key: "flops", title: "FLOP/s", kind: "number", first: "desc", value: r => r.flops / r.seconds, cell: r => rate(r.flops, r.seconds)}, {key: "bytes", title: "Bytes/s", kind: "number", first: "desc", value: r => r.bytes / r.seconds, cell: r => r.bytes > 0 ? `${bytes(r.bytes / r.seconds)}/s` : "–"}],
    sums(ops, keys[by]).slice(0, 300), "No op was recorded."),
    beside.length > 0 ? [h("h3", null, "Beside ops"), plainTable("Beside ops", [{title: "What", cell: r => r.name}, {title: "Kind", cell: r => r.kind}, {title: "Calls", kind: "number", cell: r => number(r.calls)}, {title: "ms in all", kind: "number", cell: r => number(1e3 * r.seconds)}], beside.slice(0, 100))] : null);
    told.textContent = [answer.steps > 0 ? `${number(answer.steps)} recorded steps` : "", answer.dropped > 0 ? `${number(answer.dropped)} events were not kept (trainer.profile.max_events)` : "", answer.total > answer.rows.length ? `the longest ${number(answer.rows.length)} of ${number(answer.total)} rows` : "",
      answer.damage ?? "", "profile.json opens in ui.perfetto.dev"].filter(Boolean).join("; ");
  }

  fill(panel, h("div", {class: "bar"}, labelled("By", choice([["op", "op"], ["layer", "layer"], ["both", "layer and op"]], by, v => {
    by = v;
    run.setQuery({by: v === "op" ? null : v});
    draw();
  })), told), place);
  answer = await get(`${run.path}/profile`);
  draw();
  return {close() {}};
}
