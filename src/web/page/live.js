// What changes while the page is open. The server tells that something has changed (a topic and its
// version), never what: the page asks again for what it shows. One stream a page, none while it is hidden.

const watchers = new Map(); // topic -> Set of callbacks
let stream = null, topics = "", timer = 0, tell = () => {};

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
  let broken = false;
  const mine = stream = new EventSource(`/api/v1/events?topics=${encodeURIComponent(wanted)}`);
  mine.addEventListener("open", () => {
    tell(true);
    if (broken) // what happened meanwhile
      for (const topic of watchers.keys())
        again(topic);
    broken = false;
  });
  mine.addEventListener("changed", event => again(JSON.parse(event.data).topic));
  mine.addEventListener("error", () => {
    broken = true;
    if (mine === stream) {
      tell(false);
      if (mine.readyState === EventSource.CLOSED)
        setTimeout(soon, 5000);
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

/** Called with whether the server is heard. */
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
