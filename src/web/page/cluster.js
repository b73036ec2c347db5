// The masters that are known: their slots and what runs on them, who waits and why, who has which share.
import {h, fill, button} from "./html.js";
import {get, send} from "./api.js";
import {watch, single} from "./live.js";
import {server, say, trouble} from "./page.js";
import {plainTable} from "./table.js";
import {number, short, age, date, duration} from "./format.js";
import {all, seconds} from "./experiment_data.js";

const MOST = {queue: 200, slots: 512, running: 500};
const POLICIES = {fair_share: "fair share", round_robin: "round robin", priority: "priority"};

function card(id) {
  const path = `/api/v1/masters/${id}`, element = h("section", {class: "master", "aria-label": `Master ${id}`});
  const link = (experiment, ...text) => h("a", {href: `/experiments/${id}/${experiment}`}, text.length > 0 ? text : `experiment ${experiment}`);
  let names = new Map(), known = null;

  async function ask() {
    const master = await get(`${path}/master`);
    known ??= new Set((await get(`${path}/requests`)).requests.map(r => r.path)); // an older master has less
    const maybe = (name, query) => known.has(`/api/v1/${name}`) ? get(`${path}/${name}`, query) : null;
    const [queue, running, shares, slotList, experiments] = await Promise.all([
      get(`${path}/queue`, {limit: MOST.queue}), maybe("running", {limit: 5000}), maybe("shares", {limit: 200}), maybe("slots"),
      Promise.all(["ACTIVE", "PAUSED", "STOPPING_CANCELED", "STOPPING_COMPLETED", "STOPPING_ERROR", "STOPPING_KILLED"].map(state => all(`${path}/experiments`, "experiments", {state}, {most: 200})))]);
    return {master, queue, running, shares, slotList, experiments: experiments.flatMap(e => e.rows)};
  }

  /** Each slot as a cell: whose trial is on it. */
  async function drain(slot, drained) {
    try {
      await send("POST", `${path}/slots/${drained ? "drain" : "enable"}`, {slots: [slot]});
      draw(await ask());
    } catch (error) {
      say(error.message, "error");
    }
  }

  function slots(master, running, told) {
    const on = new Map(), states = new Map((told?.slots ?? []).map(s => [s.slot, s])), pools = new Set([...states.values()].map(s => s.pool)).size > 1;
    for (const r of running?.running ?? [])
      if (r.engine === "local")
        for (const slot of String(r.slots ?? "").split(",").filter(v => v !== ""))
          on.set(Number(slot), r);
    const cells = [...Array.from({length: Math.min(master.slots, MOST.slots)}, (_, i) => [`slot ${i}`, on.get(i)]),
      ...(master.devices ?? []).map((name, i) => [name, on.get(master.slots + i)])].map(([name, r], i) => { // devices stand behind the slots
      const told = i < Math.min(master.slots, MOST.slots) ? states.get(i) : null, drained = /^drain/.test(told?.state ?? "");
      return h("li", {class: `slot${r ? " taken" : ""}${drained ? " drained" : ""}`}, h("span", {class: "quiet"}, name, pools && told?.pool ? `, ${told.pool}` : "", told && !server.read_only ? button(drained ? "Enable" : "Drain", () => drain(i, !drained),
        {class: "plain", "aria-label": `${drained ? "Enable" : "Drain"} ${name}`, title: drained ? "It gets trials again" : "It gets no trial any more; one that runs there goes on to its end"}) : null),
        drained ? h("span", {class: "state stopped"}, told.state) : null,
        r ? [link(r.experiment_id, names.get(r.experiment_id) ?? `experiment ${r.experiment_id}`), h("span", null, `trial ${r.number}`), h("span", {class: "quiet"}, h("time", {title: date(r.start_time)}, `for ${duration(Math.max(0, Date.now() / 1000 - seconds(r.start_time)))}`), r.stops ? ", ends" : "")]
          : h("span", {class: "quiet"}, master.serves ? "free" : "–"));
    });
    return [h("ul", {class: "slots"}, cells), master.slots > MOST.slots ? h("p", {class: "quiet"}, `${number(master.slots - MOST.slots)} more slots are not drawn`) : null];
  }

  function shareTable({shares, experiments, master}) {
    const fair = master.scheduling === "fair_share", by = new Map((shares?.shares ?? []).map(s => [s.experiment_id, s]));
    const of = (e, key) => by.get(e.id)?.[key];
    const column = (title, key, cell) => ({title, kind: "number", cell: e => of(e, key) === undefined ? "–" : cell ? cell(of(e, key), e) : number(of(e, key))});
    return plainTable("Experiments that are not over", [
      {title: "Experiment", cell: e => link(e.id, names.get(e.id))}, {title: "State", cell: e => h("span", {class: `state ${e.state}`}, e.state)},
      {title: "Trials", kind: "number", cell: e => number(e.trials)},
      column("Slots a trial", "slots_per_trial", (v, e) => of(e, "ranks") > 1 ? `${number(v)}, ${number(of(e, "ranks"))} ranks` : number(v)), column("Holds", "held"), column("Waits for", "waits", v => short(v)), column("Demand", "demand", v => short(v)),
      ...(fair ? [column("Fair share", "share", (v, e) => v === null ? "–" : h("span", {class: "meter"}, h("span", {class: "meter-bar", style: {width: `${Math.round(60 * Math.min(1, v / Math.max(1, master.slots)))}px`}}), `${number(v)} of ${number(master.slots)}`)), column("Weight", "weight")] : [column("Priority", "priority")]),
      column("At most", "max_slots", v => v > 0 ? number(v) : "all"), {title: "Runs on", cell: e => of(e, "engine") === "local" ? (of(e, "slot_type") === "gpu" ? "devices here" : "slots here") : of(e, "engine") === "slurm" ? "Slurm" : of(e, "engine")},
    ], experiments, "No experiment is under way.");
  }

  function draw({master, queue, running, shares, slotList, experiments}) {
    names = new Map(experiments.map(e => [e.id, `${e.name} (${e.id})`]));
    const jobs = (running?.running ?? []).filter(r => r.engine !== "local"), loose = (running?.running ?? []).filter(r => r.engine === "local" && !r.slots);
    const fact = (key, ...value) => h("div", null, h("dt", null, key), h("dd", null, value));
    fill(element, h("h2", null, master.folder),
      master.serves ? null : h("div", {class: "notice"}, h("p", null, "No master is at work in this folder: nothing is started, and what is asked for is done when one is. Start one with"),
        h("pre", null, `regimen master --master ${/^[\w./-]+$/.test(master.folder) ? master.folder : `'${master.folder.replaceAll("'", "'\\''")}'`}`)),
      h("dl", {class: "facts"}, fact("state", h("span", {class: `state ${master.serves ? "running" : "stopped"}`}, master.serves ? "at work" : "not at work")),
        fact("slots in use", `${number(master.slots_taken)} of ${number(master.slots)}`), fact("threads a slot", number(master.threads_per_slot)), master.devices?.length > 0 ? fact("devices in use", `${number(master.devices_taken)} of ${number(master.devices.length)}`) : null, fact("processes", number(master.processes)),
        fact("slots go by", POLICIES[master.scheduling] ?? master.scheduling, master.preemption ? h("span", {class: "quiet"}, " with preemption") : null), fact("waiting", number(queue.total)), fact("version", master.version)),
      h("h3", null, "Slots"), slots(master, running, slotList), running === null ? h("p", {class: "quiet"}, "This master is of an older version: it does not tell what runs where.") : null,
      loose.length > 0 ? [h("h3", null, "Trials without slots"), plainTable("Trials without slots", [{title: "Experiment", cell: r => link(r.experiment_id, names.get(r.experiment_id) ?? r.experiment_id)}, {title: "Trial", kind: "number", cell: r => r.number}, {title: "Since", cell: r => age(seconds(r.start_time))}], loose.slice(0, MOST.running))] : null,
      jobs.length > 0 ? [h("h3", null, "Slurm's jobs"), plainTable("Slurm's jobs", [{title: "Job", kind: "number", cell: r => r.job || "not known yet"}, {title: "State", cell: r => [r.job_state ?? "–", r.job_reason ? h("span", {class: "quiet"}, ` ${r.job_reason}`) : null]}, {title: "Experiment", cell: r => link(r.experiment_id, names.get(r.experiment_id) ?? r.experiment_id)},
        {title: "Trial", kind: "number", cell: r => r.number}, {title: "Since", cell: r => r.start_time ? age(seconds(r.start_time)) : "–"}], jobs.slice(0, MOST.running)), jobs.length > MOST.running ? h("p", {class: "quiet"}, `and ${number(jobs.length - MOST.running)} more`) : null] : null,
      h("h3", null, "Shares"), shareTable({shares, experiments, master}),
      h("h3", null, "Queue"), plainTable("Trials that wait", [{title: "Place", kind: "number", cell: q => q.place}, {title: "Experiment", cell: q => link(q.experiment_id, names.get(q.experiment_id) ?? `experiment ${q.experiment_id}`)},
        {title: "Trial", kind: "number", cell: q => q.number}, {title: "Why it waits", cell: q => q.reason}], queue.queue.map((q, i) => ({...q, place: i + 1})), "No trial waits."),
      queue.total > queue.queue.length ? h("p", {class: "quiet"}, `The first ${number(queue.queue.length)} of ${number(queue.total)}.`) : null);
  }

  return {
    element,
    async refresh() {
      try {
        draw(await ask());
      } catch (error) {
        if (error.status !== 0 || !element.firstChild)
          fill(element, h("h2", null, `Master ${id}`), trouble(error));
      }
    },
  };
}

export async function show(main) {
  document.title = "Cluster · Regimen";
  const page = await get("/api/v1/page"), cards = page.masters.map(m => card(m.id)), stops = [];
  fill(main, h("h1", null, "Cluster"), page.masters.length === 0 ? h("div", {class: "notice"}, h("p", null, "There is no master's folder among those that this server reads (", server.folders?.join(", ") ?? "none", "). One comes about with the first search, and can be named:"),
    h("pre", null, "regimen experiment run configs/digits_search.yaml --master experiments\nregimen serve runs experiments")) : cards.map(c => c.element));
  await Promise.all(cards.map(c => c.refresh()));
  cards.forEach((c, i) => stops.push(watch(`queue:${page.masters[i].id}`, single(async () => {
    await c.refresh();
    await new Promise(resolve => setTimeout(resolve, 1000)); // what comes meanwhile is one more look
  }))));
  return {close() { stops.forEach(stop => stop()); }};
}
