// Requests to the page's own server, and nobody else.

export class Failure extends Error {
  constructor(status, code, message, details) {
    super(message);
    Object.assign(this, {status, code, details});
  }
}

let tell = () => {};

/** Called after each answer: "heard"; "unheard" (none came), "refused" (401: this browser is not let in). */
export function onAnswer(callback) {
  tell = callback;
}

async function ask(method, path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, {
      method, signal, credentials: "same-origin",
      headers: body === undefined ? {} : {"Content-Type": "application/json"},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError")
      throw error;
    tell("unheard");
    throw new Failure(0, "RGM_ERR_IO", "The server does not answer: regimen serve has ended, or cannot be reached.");
  }
  tell(answer.status === 401 ? "refused" : "heard");
  const text = await answer.text();
  let json = null;
  try {
    json = text === "" ? null : JSON.parse(text);
  } catch {
    throw new Failure(answer.status, "RGM_ERR_FORMAT", `The server's answer ${answer.status} is no JSON.`);
  }
  if (!answer.ok)
    throw new Failure(answer.status, json?.code, json?.message ?? `The server answers ${answer.status}.`, json?.details);
  return json;
}

/** query: {key: text | number | array (the key again for each) | null (left out)} */
export function address(path, query) {
  const pairs = [];
  for (const [key, value] of Object.entries(query ?? {}))
    for (const v of Array.isArray(value) ? value : [value])
      if (v !== null && v !== undefined && v !== "")
        pairs.push(`${encodeURIComponent(key)}=${encodeURIComponent(v)}`);
  return pairs.length > 0 ? `${path}?${pairs.join("&")}` : path;
}

export const get = (path, query, signal) => ask("GET", address(path, query), undefined, signal);
export const send = (method, path, body) => ask(method, path, body ?? {});
