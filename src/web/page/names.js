// What tells runs apart at a glance: a colour of their own and the part of their names that differs.

/** Lightness, chroma and hue (OKLCH) as #rrggbb: what SVG files and old programs read as well. */
function hex(l, c, hue) {
  const a = c * Math.cos(hue * Math.PI / 180), b = c * Math.sin(hue * Math.PI / 180);
  const [p, q, r] = [l + 0.3963377774 * a + 0.2158037573 * b, l - 0.1055613458 * a - 0.0638541728 * b, l - 0.0894841775 * a - 1.291485548 * b].map(v => v ** 3);
  const linear = [4.0767416621 * p - 3.3077115913 * q + 0.2309699292 * r, -1.2684380046 * p + 2.6097574011 * q - 0.3413193965 * r, -0.0041960863 * p - 0.7034186147 * q + 1.707614701 * r];
  return `#${linear.map(v => Math.round(255 * (v <= 0.0031308 ? Math.max(0, 12.92 * v) : Math.min(1, 1.055 * v ** (1 / 2.4) - 0.055))).toString(16).padStart(2, "0")).join("")}`;
}

const known = new Map();

/** The colour of an id: the same on every page, in every picture, and over restarts. */
export function colourOf(id) {
  if (!known.has(id)) {
    let n = 2166136261; // FNV-1a, its bits then mixed
    for (const c of String(id))
      n = Math.imul(n ^ c.charCodeAt(0), 16777619);
    n = Math.imul(n ^ n >>> 15, 2246822519);
    n = (n ^ n >>> 13) >>> 0;
    const l = [0.5, 0.62, 0.71][n % 3], c = [0.17, 0.11][Math.floor(n / 3) % 2], hue = Math.floor(n / 6) % 360;
    known.set(id, {hex: hex(l, c, hue), l, hue});
  }
  return known.get(id).hex;
}

const DASHES = ["", "6 2.5", "2 2", "9 3 2 3"];

/** Dashes by id, for lines of one picture whose colours are near one another: ids in their order, the first has none. */
export function dashesOf(ids) {
  const near = (a, b) => Math.abs(a.l - b.l) < 0.15 && Math.min(Math.abs(a.hue - b.hue), 360 - Math.abs(a.hue - b.hue)) < 28, dashes = new Map();
  for (const id of ids) {
    colourOf(id);
    dashes.set(id, DASHES[[...dashes.keys()].filter(other => near(known.get(id), known.get(other))).length % DASHES.length]);
  }
  return dashes;
}

/** The names without the beginning that all of them share, at the end of a word of it: [{name}] keeps its order. */
export function shortNames(names) {
  if (new Set(names).size < 2)
    return [...names];
  let same = names.reduce((a, b) => {
    let n = 0;
    while (n < a.length && a[n] === b[n])
      n++;
    return a.slice(0, n);
  });
  const end = Math.max(...["-", "_", "/", ".", " ", "="].map(c => same.lastIndexOf(c)));
  same = same.slice(0, end + 1);
  return same.length < 3 ? [...names] : names.map(name => name.length > same.length ? `…${name.slice(same.length)}` : name);
}

// What names of metrics tell, as the server has it (curves.c): the last of these words, the first group of which are better the smaller they are.
const TELLING = /^.*(?:(loss|error|entropy|perplexity|mae|mse|divergence|brier|coherence|condition_number|bits_per_byte|self_clustering|(?<![a-z0-9])ter(?![a-z0-9]))|rate|norm|scale|seconds|epsilon|count|accuracy|precision|recall|correlation|rank|(?<![a-z0-9])(?:weight|f1|auc|r2|top|hits|mrr|map|ndcg|match|bleu|chrf)(?![a-z0-9]))/is;

/** Whether less of a metric ("valid.loss") is better, by its name without the names that somebody gave its split, class or layer. */
export const isSmaller = metric => TELLING.exec(metric.slice(metric.indexOf(".") + 1).replace(/((precision|recall)_for_|_norm\.).*$/s, "$1"))?.[1] !== undefined;
