// What several tabs of a run's page need.
import {h, button, fresh} from "./html.js";
import {number} from "./format.js";

/**
 * A slider over the steps there are, which follows the newest while it stands there.
 * onchange(step or null: the newest). Returns {element, set(steps, chosen or null), step()}.
 */
export function stepSlider(onchange) {
  const id = fresh("step"), out = h("output", {for: id, class: "step-value"});
  const field = h("input", {type: "range", id, min: 0, max: 0, step: 1, on: {input: () => pick(+field.value)}});
  const one = (by, name, sign) => button(sign, () => pick(Math.max(0, Math.min(steps.length - 1, +field.value + by))), {class: "plain", "aria-label": name});
  const before = one(-1, "Step before", "‹"), after = one(1, "Next step", "›");
  const element = h("div", {class: "field steps"}, h("label", {for: id}, "Step"), before, field, after, out);
  let steps = [], newest = true;

  function tell() {
    const i = +field.value, text = steps.length > 0 ? number(steps[i]) : "–";
    out.textContent = `${text}${newest && steps.length > 1 ? " (newest)" : ""}`;
    field.setAttribute("aria-valuetext", `step ${text}, ${i + 1} of ${steps.length}`);
    before.disabled = i <= 0;
    after.disabled = i >= steps.length - 1;
  }

  function pick(i) {
    field.value = i;
    newest = i === steps.length - 1;
    tell();
    onchange(newest ? null : steps[i]);
  }

  return {
    element,
    step: () => steps[+field.value],
    index: () => +field.value,
    set(now, chosen) {
      steps = now;
      newest = chosen === null || chosen === undefined || !now.includes(chosen);
      field.max = Math.max(0, now.length - 1);
      field.value = newest ? now.length - 1 : now.indexOf(chosen);
      element.hidden = now.length === 0;
      field.disabled = now.length < 2;
      tell();
    },
  };
}

/** A number of the address, or what holds without it. */
export function numberOf(query, key, otherwise) {
  const text = query.get(key), v = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(v) ? v : otherwise;
}

/** The last of the calls that come within some time of one another. */
export function late(work, milliseconds = 200) {
  let timer = 0;
  const call = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
  call.stop = () => clearTimeout(timer);
  return call;
}

/** Text with every place of `find` marked (any case). */
export function marked(text, find) {
  if (!find)
    return text;
  const out = [], low = text.toLowerCase(), want = find.toLowerCase();
  if (low.length !== text.length) // a letter whose small form is longer: places would not fit
    return text;
  let from = 0;
  for (let at = low.indexOf(want); at >= 0; at = low.indexOf(want, from)) {
    out.push(text.slice(from, at), h("mark", null, text.slice(at, at + want.length)));
    from = at + want.length;
  }
  out.push(text.slice(from));
  return out;
}

/** What of the answer could not be read, or is still being read; null where it is whole. */
export function noteOf(answer) {
  const text = [answer.damage ? `Not all of it can be read: ${answer.damage}` : null, answer.more ? "The server is still reading; the rest comes in a moment." : null].filter(t => t);
  return text.length > 0 ? h("p", {class: answer.damage ? "warned" : "quiet"}, text.join(" ")) : null;
}

/** Ask again soon while the server has told only a part. Returns {of(answer), stop()}. */
export function rest(ask) {
  let timer = 0;
  return {
    of(answer) {
      clearTimeout(timer);
      if (answer.more)
        timer = setTimeout(ask, 500);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}
