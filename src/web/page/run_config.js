// The configuration of a run: the text it was started with, and each value with whence it came.
import {h, fill, labelled, button, download} from "./html.js";
import {get} from "./api.js";
import {number} from "./format.js";
import {say} from "./page.js";
import {late, marked, noteOf} from "./run_parts.js";
import {plainTable} from "./table.js";

/** Keys, comments and values of a YAML line apart; what is not understood stays as it is. */
function drawYaml(text) {
  return text.replace(/\n$/, "").split("\n").map(line => {
    const [, lead, key, rest] = /^(\s*(?:- )*)([^\s#:"'][^:#]*:)(?=\s|$)(.*)$/.exec(line) ?? [null, "", "", line];
    const at = rest.search(/(^|\s)#/), value = at < 0 ? rest : rest.slice(0, at), comment = at < 0 ? "" : rest.slice(at);
    return [lead, key ? h("span", {class: "key"}, key) : "", value, comment ? h("span", {class: "quiet"}, comment) : "", "\n"];
  });
}

async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // only pages from this machine or over TLS may use the clipboard
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (!document.execCommand("copy"))
      return say("The text is selected: Ctrl+C copies it.");
  }
  say("The configuration is copied.");
}

export async function open(panel, run, query) {
  const answer = await get(`${run.path}/config`), {text, values} = answer;
  const yaml = h("pre", {class: "log yaml", tabindex: 0, role: "region", "aria-label": "Configuration as text"}, drawYaml(text));
  const list = h("div"), told = h("span", {class: "quiet", role: "status"});
  let find = query.get("find") ?? "";
  const field = h("input", {type: "search", value: find, size: 20, on: {input: e => later(e.target.value)}});
  const later = late(value => {
    find = value;
    run.setQuery({find: find || null});
    draw();
  }, 100);

  function draw() {
    const want = find.trim().toLowerCase(), shown = values.filter(v => [v.key, v.value, v.source].some(t => String(t ?? "").toLowerCase().includes(want)));
    told.textContent = want ? `${number(shown.length)} of ${number(values.length)} values` : `${number(values.length)} values`;
    fill(list, plainTable("Values of the configuration", [
      {title: "Key", cell: v => h("code", null, marked(v.key, want))},
      {title: "Value", cell: v => h("code", null, marked(String(v.value ?? "–"), want))},
      {title: "Source", cell: v => v.source ? h("span", {class: v.source.startsWith("--") ? "chip" : "quiet"}, marked(v.source, want)) : h("span", {class: "quiet"}, "not kept")},
    ], shown, "No value has this text."));
  }

  fill(panel, noteOf(answer), h("div", {class: "split wide-left"},
    h("section", null, h("div", {class: "bar"}, h("h2", null, "Values"), labelled("Find", field), told), list),
    h("section", null, h("div", {class: "bar"}, h("h2", null, "config.yaml"), h("span", {class: "spring"}), button("Copy", () => copy(text, yaml)),
      button("Download", () => download(`${run.row.name.replace(/[^\w.-]+/g, "_")}.yaml`, "application/yaml", text))), yaml)));
  draw();
  return {
    update(q) {
      field.value = find = q.get("find") ?? "";
      draw();
    },
    close: later.stop,
  };
}
