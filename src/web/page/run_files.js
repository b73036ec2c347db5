// What a run leaves on disk: checkpoints and exports.
import {h, fill} from "./html.js";
import {get} from "./api.js";
import {single} from "./live.js";
import {number, bytes, age, date} from "./format.js";
import {plainTable} from "./table.js";
import {noteOf} from "./run_parts.js";

function live(panel, ask, draw) {
  let known = "";
  const look = async () => {
    const answer = await ask(), now = JSON.stringify(answer);
    if (now !== known)
      fill(panel, draw(answer));
    known = now;
  };
  return look().then(() => ({changed: single(() => look().catch(() => { /* what is shown stays */ }))}));
}

const when = time => h("span", {title: age(time)}, date(time));

export function openCheckpoints(panel, run) {
  return live(panel, () => get(`${run.path}/checkpoints`), answer => {
    const {checkpoints} = answer, total = answer.total ?? checkpoints.length;
    const all = checkpoints.reduce((sum, c) => sum + c.bytes, 0);
    const marks = c => [c.newest ? "newest" : null, c.best ? "best" : null, c.kept ? "kept" : null].filter(m => m);
    return [
      noteOf(answer),
      h("p", {class: "quiet"}, total > checkpoints.length ? `The newest ${number(checkpoints.length)} of ${number(total)} checkpoints, ${bytes(all)}. `
        : `${number(total)} ${total === 1 ? "checkpoint" : "checkpoints"}, ${bytes(all)} in all. `,
        "regimen train goes on from the newest; regimen predict and export take the best where there is one."),
      plainTable("Checkpoints", [
        {title: "Step", kind: "number", cell: c => number(c.step)},
        {title: "Which", cell: c => marks(c).map(m => [h("span", {class: `chip ${m}`}, m), " "])},
        {title: "Size", kind: "number", cell: c => bytes(c.bytes)},
        {title: "Saved", cell: c => when(c.time)},
        {title: "Files", cell: c => h("details", null, h("summary", null, `${number(c.files.length)} files`),
          h("ul", {class: "files"}, c.files.map(f => h("li", null, h("code", null, f.name), " ", h("span", {class: "quiet"}, bytes(f.bytes))))))},
      ], [...checkpoints].sort((a, b) => b.step - a.step), "No checkpoint is saved yet.")];
  });
}

export function openExports(panel, run) {
  return live(panel, () => get(`${run.path}/exports`), answer => [noteOf(answer),
    plainTable("Exports", [
      {title: "File", cell: e => h("a", {href: `${run.path}/exports/${e.number}`, download: e.name.split("/").pop()}, e.name)},
      {title: "Size", kind: "number", cell: e => bytes(e.bytes)},
      {title: "Written", cell: e => when(e.time)},
    ], answer.exports, "Nothing is exported yet."),
    answer.exports.length > 0 ? h("p", {class: "quiet"}, "A link downloads its file.") : null]);
}
