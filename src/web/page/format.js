// Numbers and times as people read them.

/** Four digits, and an exponent only where it helps. */
export function number(v) {
  if (v === null || v === undefined || typeof v !== "number")
    return v === null || v === undefined ? "–" : String(v);
  if (!Number.isFinite(v))
    return Number.isNaN(v) ? "NaN" : v > 0 ? "∞" : "−∞";
  if (Number.isInteger(v) && Math.abs(v) < 1e15)
    return v.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(v);
  const text = size >= 1e6 || size < 1e-4 ? v.toExponential(3) : size >= 1000 ? v.toFixed(1) : v.toPrecision(4);
  return text.replace("-", "−").replace("e+", "e");
}

/** Three digits, never an exponent. */
const three = v => Math.abs(v) >= 999.5 ? String(Math.round(v)) : v.toPrecision(3);

/** 1,234,567 -> 1.23 M */
export function short(v) {
  if (v === null || v === undefined)
    return "–";
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(v) >= size)
      return `${three(v / size)} ${unit}`;
  return number(v);
}

export function bytes(v) {
  if (v === null || v === undefined)
    return "–";
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (v >= size)
      return `${three(v / size)} ${unit}`;
  return `${v} B`;
}

/** 3700 -> 1 h 1 min */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds))
    return "–";
  const t = Math.round(seconds);
  if (seconds < 10)
    return `${seconds.toPrecision(2)} s`;
  if (t < 60)
    return `${t} s`;
  if (t < 3600)
    return `${Math.floor(t / 60)} min ${t % 60} s`;
  if (t < 86400)
    return `${Math.floor(t / 3600)} h ${Math.floor(t / 60) % 60} min`;
  return `${Math.floor(t / 86400)} d ${Math.floor(t / 3600) % 24} h`;
}

/** Seconds since 1970 -> "3 min ago". */
export function age(time) {
  if (time === null || time === undefined)
    return "–";
  const t = Math.max(0, Date.now() / 1000 - time);
  if (t < 5)
    return "now";
  if (t < 60)
    return `${Math.floor(t)} s ago`;
  if (t < 3600)
    return `${Math.floor(t / 60)} min ago`;
  if (t < 86400)
    return `${Math.floor(t / 3600)} h ago`;
  return `${Math.floor(t / 86400)} d ago`;
}

/** Seconds since 1970, or a master's text, in the reader's zone. */
export function date(time) {
  if (time === null || time === undefined)
    return "–";
  const d = new Date(typeof time === "number" ? time * 1000 : time);
  const two = v => String(v).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function percent(v, digits = 0) {
  return v === null || v === undefined ? "–" : `${(v * 100).toFixed(digits)} %`;
}
