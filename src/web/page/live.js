// What changes while the page is open. The server tells that something has changed (a topic and its
// version), never what: the page asks again for what it shows. One stream a page, none while it is hidden.
import {get, onAnswer} from "./api.js";

const watchers = new Map(); // topic -> Set of callbacks
const UNHEARD = 2000, REFUSED = 15000; // milliseconds until it is asked again; at once when somebody comes back to the tab
let stream = null, topics = "", timer = 0, broken = false, tell = () => {};

/**
 * What became of the last thing that was asked: "heard", "unheard", "refused" (this browser is not let in), "" before the first;
 * and when what is shown was true (milliseconds).
 */
export const connection = {state: "", since: 0};

function note(state) {
  const before = connection.state;
  if (state === "heard" || before === "heard")
    connection.since = Date.now();
  connection.state = state;
  if (state === before)
    return;
  tell(connection);
  document.dispatchEvent(new Event("connection"));
  clearTimeout(asking);
  if (state !== "heard") {
    askAgain();
  } else if (before !== "") { // what happened meanwhile
    soon();
    for (const topic of watchers.keys())
      again(topic);
  }
}
onAnswer(note);

/** Whether anybody answers, for a stream that broke does not tell why. */
const probe = single(async () => {
  try {
    await get("/api/v1/page");
  } catch {
    // it was noted
  }
});

let asking = 0;
function askAgain() {
  asking = setTimeout(async () => {
    if (!document.hidden)
      await probe();
    if (connection.state !== "heard")
      askAgain();
  }, connection.state === "refused" ? REFUSED : UNHEARD);
}

function again(topic) {
  for (const callback of watchers.get(topic) ?? [])
    callback(topic);
}

function connect() {
  timer = 0;
  const wanted = document.hidden ? "" : [...watchers.keys()].sort().join(",");
  if (wanted === topics && (wanted === "" || stream?.readyState !== EventSource.CLOSED))
    return;
  stream?.close();
  stream = null;
  topics = wanted;
  if (wanted === "")
    return;
  const mine = stream = new EventSource(`/api/v1/events?topics=${encodeURIComponent(wanted)}`);
  mine.addEventListener("open", () => {
    if (connection.state === "heard" && broken) // it broke and nothing was asked: what happened meanwhile
      for (const topic of watchers.keys())
        again(topic);
    broken = false;
    note("heard");
  });
  mine.addEventListener("changed", event => again(JSON.parse(event.data).topic));
  mine.addEventListener("error", () => {
    broken = true;
    if (mine === stream) {
      probe();
      if (mine.readyState === EventSource.CLOSED)
        setTimeout(() => connection.state === "heard" && soon(), 5000);
    }
  });
}

function soon() {
  timer ||= setTimeout(connect, 50);
}

// A page that is left stays in the browser's memory for the way back, with its stream open: six of them, and the
// browser has no connection to this server left. So the stream ends at once, not soon: timers stand still then.
function leave() {
  clearTimeout(timer);
  timer = 0;
  stream?.close();
  stream = null;
  topics = "";
}

function comeBack() {
  if (connection.state !== "heard")
    probe(); // the address was perhaps opened in another tab
  soon();
  for (const topic of watchers.keys())
    again(topic);
}

document.addEventListener("visibilitychange", () => document.hidden ? leave() : comeBack());
window.addEventListener("pagehide", leave);
window.addEventListener("pageshow", event => event.persisted && comeBack());

/** callback() whenever the topic has changed, until the function that is returned is called. */
export function watch(topic, callback) {
  if (!watchers.has(topic))
    watchers.set(topic, new Set());
  watchers.get(topic).add(callback);
  soon();
  return () => {
    const set = watchers.get(topic);
    set?.delete(callback);
    if (set?.size === 0)
      watchers.delete(topic);
    soon();
  };
}

/** Called with `connection` whenever its state has changed. */
export function onConnection(callback) {
  tell = callback;
}

/** One call at a time of an asynchronous function: what is asked meanwhile happens once more at its end. */
export function single(work) {
  let running = false, wanted = false;
  return async () => {
    wanted = true;
    if (running)
      return;
    running = true;
    try {
      while (wanted) {
        wanted = false;
        await work();
      }
    } finally {
      running = false;
    }
  };
}

/** At once, and where calls follow fast the last of them a little later: browsers refuse addresses that change 200 times in 30 s. flush(), stop(). */
export function paced(work, milliseconds = 250) {
  let last = 0, timer = 0;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    last = performance.now();
    work();
  };
  const call = () => {
    const left = last + milliseconds - performance.now();
    if (left <= 0)
      now();
    else
      timer ||= setTimeout(now, left);
  };
  call.flush = () => timer && now(); // before the page is left
  call.stop = () => clearTimeout(timer);
  return call;
}
