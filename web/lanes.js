// What the timeline's lanes show, out of the tables: bars, counts and shortages. Nothing here draws.

import { numbers, texts, truths } from "./data.js";
import { grouped } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */

/**
 * @typedef {object} Bar
 * @property {number} from
 * @property {number} to
 * @property {string} label
 * @property {string} title
 * @property {boolean} bad Whether it failed
 * @property {boolean} open Whether it lasts to the end of the run, unfinished
 * @property {string[]} lines What it printed, or whom it hit
 * @property {string[]} objects Keys of what it is about
 */

/** @typedef {{times: Float64Array, values: Float64Array}} Steps A value from each time on */

/**
 * A bar for each fault, with all that it hits; those of the control plane's processes apart.
 * @param {Table} table @param {number} end
 */
export function faultBars(table, end) {
  const name = texts(table, "name");
  const kind = texts(table, "kind");
  const object = texts(table, "object");
  const began = numbers(table, "began_s");
  const ended = numbers(table, "ended_s");
  /** @type {Map<string, Bar>} */
  const machines = new Map();
  /** @type {Map<string, Bar>} */
  const processes = new Map();
  for (let row = 0; row < table.rows; row++) {
    const bars = object(row).startsWith("process/") ? processes : machines;
    const key = `${name(row)}@${began[row]}`;
    const to = Number.isNaN(ended[row]) ? end : ended[row];
    const bar = bars.get(key) ?? { from: began[row], to, label: "", title: kind(row), bad: false, open: false, lines: [], objects: [] };
    bar.to = Math.max(bar.to, to);
    bar.open ||= Number.isNaN(ended[row]);
    bar.objects.push(object(row));
    bars.set(key, bar);
  }
  for (const bar of [...machines.values(), ...processes.values()]) {
    const names = bar.objects.map((key) => key.slice(key.lastIndexOf("/") + 1));
    bar.label = `${bar.title}: ${names.slice(0, 12).join(", ")}${names.length > 12 ? ` and ${names.length - 12} more` : ""}`;
  }
  return { machines: [...machines.values()], processes: [...processes.values()] };
}

/**
 * A bar for each line of kubectl.
 * @param {Table} table @param {number} end
 * @returns {Bar[]}
 */
export function kubectlBars(table, end) {
  const at = numbers(table, "at_s");
  const done = numbers(table, "done_s");
  const exit = numbers(table, "exit");
  const command = texts(table, "command");
  const stdout = texts(table, "stdout");
  const stderr = texts(table, "stderr");
  return Array.from({ length: table.rows }, (_, row) => {
    const open = Number.isNaN(done[row]);
    const label = `kubectl ${command(row)}`;
    const verdict = open ? "had not ended when the run did" : `exit status ${exit[row]}`;
    const lines = [...stderr(row).split("\n"), ...stdout(row).split("\n")].filter((line) => line !== "");
    return { from: at[row], to: open ? end : done[row], label, title: `${label}\n${verdict}`, bad: exit[row] > 0, open, lines, objects: [] };
  });
}

/**
 * A bar for each procedure: from the event that says it began to the one that says it ended.
 * @param {Table} events @param {number} end
 * @returns {Bar[]}
 */
export function procedureBars(events, end) {
  const at = numbers(events, "time_s");
  const kind = texts(events, "kind");
  const name = texts(events, "name");
  const reason = texts(events, "reason");
  const message = texts(events, "message");
  /** @type {Map<string, Bar>} */
  const open = new Map();
  /** @type {Bar[]} */
  const bars = [];
  for (let row = 0; row < events.rows; row++) {
    const [, what, phase] = /^(\w+)(Began|Ended|Failed)$/.exec(reason(row)) ?? [];
    if (what === undefined || kind(row) === "Fault") continue;
    const key = `${what}/${kind(row)}/${name(row)}`;
    if (phase === "Began") {
      const bar = { from: at[row], to: end, label: `${what} ${name(row)}`, title: message(row), bad: false, open: true, lines: [message(row)], objects: [] };
      open.set(key, bar);
      bars.push(bar);
      continue;
    }
    const bar = open.get(key);
    if (!bar) continue;
    bar.to = at[row];
    bar.open = false;
    bar.bad = phase === "Failed";
    bar.lines.push(message(row));
    open.delete(key);
  }
  return bars;
}

/**
 * How many nodes bear taints that were put on them in the run, by effect.
 * @param {Table} table
 * @returns {{effect: string, steps: Steps}[]}
 */
export function taintSteps(table) {
  const at = numbers(table, "time_s");
  const node = texts(table, "node");
  const effect = texts(table, "effect");
  const change = texts(table, "change");
  const key = texts(table, "key");
  /** @type {Map<string, {on: Map<string, Set<string>>, times: number[], values: number[]}>} */
  const effects = new Map();
  for (let row = 0; row < table.rows; row++) {
    if (change(row) === "present" || change(row) === "modified") continue;
    const of = effects.get(effect(row)) ?? { on: new Map(), times: [0], values: [0] };
    effects.set(effect(row), of);
    const taints = of.on.get(node(row)) ?? new Set();
    if (change(row) === "added") of.on.set(node(row), taints.add(key(row)));
    else if (taints.delete(key(row)) && taints.size === 0) of.on.delete(node(row));
    of.times.push(at[row]);
    of.values.push(of.on.size);
  }
  return [...effects].map(([name, { times, values }]) => ({ effect: name, steps: { times: Float64Array.from(times), values: Float64Array.from(values) } }));
}

/**
 * When pods were evicted, preempted or killed, in order.
 * @param {Table} table disruptions.csv
 */
export function evictionTimes(table) {
  const takenAway = truths(table, "taken_away");
  return numbers(table, "lost_s").filter((_, row) => takenAway(row)).sort();
}

/**
 * A workload's missing share as steps: (wanted − ready) of wanted.
 * @param {Model} model @param {number} workload
 * @returns {Steps}
 */
export function missingShare(model, workload) {
  const { workloads } = model;
  const from = workloads.offsets[workload];
  const to = workloads.offsets[workload + 1];
  const values = new Float64Array(to - from);
  for (let row = from; row < to; row++) {
    const desired = workloads.desired[row];
    values[row - from] = desired > 0 ? Math.max(0, desired - workloads.ready[row]) / desired : 0;
  }
  return { times: workloads.at.subarray(from, to), values };
}

/**
 * The largest value in each of `width` equal parts of a span, so that what is short stays visible however long the span is.
 * @param {Steps} steps @param {number} from @param {number} to @param {number} width
 */
export function envelope(steps, from, to, width) {
  const { times, values } = steps;
  const most = new Float64Array(width);
  const scale = width / (to - from);
  for (let row = 0; row < times.length; row++) {
    const until = row + 1 < times.length ? times[row + 1] : Infinity;
    const value = values[row];
    if (value <= 0 || until < from || times[row] > to) continue;
    const first = Math.max(0, Math.floor((times[row] - from) * scale));
    // What lasts no time at all is no state.
    if (until === times[row]) continue;
    const last = Math.min(width - 1, Math.ceil((until - from) * scale) - 1);
    for (let x = first; x <= Math.max(first, last) && x < width; x++) if (value > most[x]) most[x] = value;
  }
  return most;
}

/**
 * Rows for bars so that none covers another; at most `rows`, and those that find no room share the last one.
 * @param {Bar[]} bars @param {number} rows
 * @returns {{row: Int32Array, used: number}}
 */
export function stacked(bars, rows) {
  const order = Int32Array.from(bars.keys()).sort((a, b) => bars[a].from - bars[b].from || a - b);
  const row = new Int32Array(bars.length);
  /** @type {number[]} */
  const freeAt = [];
  for (const index of order) {
    let place = freeAt.findIndex((free) => free <= bars[index].from);
    if (place < 0) place = freeAt.length < rows ? freeAt.length : rows - 1;
    freeAt[place] = Math.max(freeAt[place] ?? 0, bars[index].to);
    row[index] = place;
  }
  return { row, used: Math.max(1, freeAt.length) };
}

/**
 * Workloads that were ever short, the worst first as summary.json has them.
 * @param {Model} model @param {any} summary
 * @returns {{workload: number, key: string, outcome: any}[]}
 */
export function shortWorkloads(model, summary) {
  const found = [];
  for (const outcome of summary.workloads ?? []) {
    const key = `${String(outcome.kind).toLowerCase()}/${outcome.namespace}/${outcome.name}`;
    const workload = model.workloads.byKey.get(key);
    if (workload !== undefined && (outcome.below_desired_s > 0 || outcome.ready < outcome.desired)) found.push({ workload, key, outcome });
  }
  return found;
}

/**
 * The pods of each workload, in order of the table.
 * @param {Model} model
 */
export function podsByWorkload(model) {
  return grouped(model.pods.workload, model.workloads.keys.length);
}
