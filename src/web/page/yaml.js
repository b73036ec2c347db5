// Experiment files as a master prints them (merged, one mapping or sequence a line, flow collections on one
// line): what a page wants to know of the space and the searcher. The library is what reads them for real;
// what is beyond this comes out as null, and the page goes by the trials' values alone.

const PLAIN = {"": null, "~": null, null: null, true: true, false: false};

function scalar(text) {
  if (text in PLAIN)
    return PLAIN[text];
  return /^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text.replaceAll("_", "")) : text;
}

/** One value of a line, from `at` on: {value, at}. */
function flow(text, at, inside) {
  const skip = () => { while (text[at] === " ") at++; };
  skip();
  if (text[at] === "[" || text[at] === "{") {
    const close = text[at] === "[" ? "]" : "}", list = [], map = {};
    for (at++; ; at++) {
      skip();
      if (text[at] === close)
        break;
      let item = flow(text, at, true);
      ({at} = item);
      skip();
      if (close === "}") {
        if (text[at] !== ":")
          throw new Error("no ':'");
        const value = flow(text, at + 1, true);
        ({at} = value);
        map[item.value] = value.value;
      } else {
        list.push(item.value);
      }
      skip();
      if (text[at] === close)
        break;
      if (text[at] !== ",")
        throw new Error("no ','");
    }
    return {value: close === "]" ? list : map, at: at + 1};
  }
  if (text[at] === '"') {
    const found = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(at));
    if (!found)
      throw new Error("no end of a text");
    let value = found[0].slice(1, -1);
    try {
      value = JSON.parse(found[0]);
    } catch { /* an escape that JSON has not: as it stands */ }
    return {value, at: at + found[0].length};
  }
  if (text[at] === "'") {
    const found = /^'(?:[^']|'')*'/.exec(text.slice(at));
    if (!found)
      throw new Error("no end of a text");
    return {value: found[0].slice(1, -1).replaceAll("''", "'"), at: at + found[0].length};
  }
  const found = (inside ? /^[^,\]}:]*(?::(?! )[^,\]}:]*)*/ : /^.*/).exec(text.slice(at))[0];
  return {value: scalar(found.replace(/ #.*$/, "").trim()), at: at + found.length};
}

const value = text => flow(text, 0, false).value;

function block(lines, from, indent) {
  const list = [], map = {};
  let i = from;
  while (i < lines.length && lines[i].indent === indent) {
    let {text} = lines[i];
    if (text.startsWith("- ")) { // what follows the dash stands two further in
      lines[i] = {indent: indent + 2, text: text.slice(2).trimStart()};
      const key = /^("[^"]*"|'[^']*'|[^\s"'[{][^:]*):( |$)/.test(lines[i].text);
      const inner = key ? block(lines, i, indent + 2) : {value: value(lines[i].text), next: i + 1};
      list.push(inner.value);
      i = inner.next;
      continue;
    }
    const found = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'[{#](?:[^:]|:(?! |$))*):(?: (.*))?$/.exec(text);
    if (!found)
      throw new Error(`no key in '${text}'`);
    const key = String(value(found[1]) ?? found[1]), rest = (found[2] ?? "").trim();
    i++;
    if (/^[|>][+-]?\d*$/.test(rest)) {
      const parts = [];
      for (; i < lines.length && lines[i].indent > indent; i++)
        parts.push(lines[i].text);
      map[key] = parts.join("\n");
    } else if (rest === "" && i < lines.length && (lines[i].indent > indent || lines[i].indent === indent && lines[i].text.startsWith("- "))) {
      const inner = block(lines, i, lines[i].indent);
      map[key] = inner.value;
      i = inner.next;
    } else {
      map[key] = value(rest);
    }
  }
  if (i < lines.length && lines[i].indent > indent)
    throw new Error(`'${lines[i].text}' stands too far in`);
  return {value: list.length > 0 ? list : map, next: i};
}

/** The file as objects, arrays, texts and numbers; null: it is beyond this. */
export function readYaml(text) {
  const lines = text.split("\n").filter(line => !/^\s*(#.*)?$/.test(line))
    .map(line => ({indent: /^ */.exec(line)[0].length, text: line.trim()}));
  try {
    return lines.length > 0 ? block(lines, 0, lines[0].indent).value : {};
  } catch {
    return null;
  }
}
