// What the timeline's lanes show, out of the tables: bars, counts and shortages. Nothing here draws.

import { numbers, texts, truths } from "./data.js";
import { count, counted } from "./format.js";
import { NODE, grouped } from "./model.js";

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
 * @property {string} [name] Of a fault, as events have it; of a line of kubectl, the line
 */

/** @typedef {{times: Float64Array, values: Float64Array}} Steps A value from each time on */

/**
 * A bar for each fault, with all that it hits; those of the control plane's processes apart.
 * @param {Table} table @param {number} end @param {import("./model.js").Nodes} [nodes] Which know how long a machine was away that came back by itself
 */
export function faultBars(table, end, nodes) {
  const name = texts(table, "name");
  const kind = texts(table, "kind");
  const effect = texts(table, "effect");
  const object = texts(table, "object");
  const began = numbers(table, "began_s");
  const ended = Float64Array.from(numbers(table, "ended_s"));
  for (const outage of nodes?.outages.flat() ?? []) if (ended[outage.row] === began[outage.row]) ended[outage.row] = outage.ended;
  /** @type {Map<string, Bar>} */
  const machines = new Map();
  /** @type {Map<string, Bar>} */
  const processes = new Map();
  for (let row = 0; row < table.rows; row++) {
    const bars = object(row).startsWith("process/") ? processes : machines;
    const key = `${name(row)}@${began[row]}`;
    const to = Number.isNaN(ended[row]) ? end : ended[row];
    const bar = bars.get(key) ?? { from: began[row], to, label: "", title: `${kind(row)}${effect(row) ? `: what it hit ${effect(row)}` : ""}`, bad: false, open: false, lines: [], objects: [], name: name(row) };
    bar.to = Math.max(bar.to, to);
    bar.open ||= Number.isNaN(ended[row]);
    bar.objects.push(object(row));
    bars.set(key, bar);
  }
  for (const bar of [...machines.values(), ...processes.values()]) {
    const names = bar.objects.map((key) => key.slice(key.lastIndexOf("/") + 1));
    bar.label = `${bar.title.split(":", 1)[0]}${names.length > 1 ? ` of ${count(names.length)}` : ""}: ${names.slice(0, 12).join(", ")}${names.length > 12 ? ` and ${count(names.length - 12)} more` : ""}`;
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
    const isRequest = /^(POST|PUT|PATCH|DELETE) \//.test(command(row));
    const title = isRequest ? command(row) : `kubectl ${command(row)}`;
    const verdict = open ? "had not ended when the run did" : `exit status ${exit[row]}`;
    const lines = [...stderr(row).split("\n"), ...stdout(row).split("\n")].filter((line) => line !== "");
    return { from: at[row], to: open ? end : done[row], label: command(row), title: `${title}\n${verdict}`, bad: exit[row] > 0, open, lines, objects: [], name: command(row) };
  });
}

/** What is done by a plan: the reasons of the events with which it begins and ends, and the words for it. */
const PROCEDURES = [
  { began: "RollingUpgradeBegan", ended: ["RollingUpgradeEnded", "RollingUpgradeFailed"], words: "upgrade of pool" },
  { began: "RebootRequired", ended: ["RebootsEnded"], words: "reboots of pool" },
  { began: "RebootLockAcquired", ended: ["NodeRebooted", "RebootGivenUp", "RebootLockLost"], words: "reboot of" },
  { began: "NodeRepairBegan", ended: ["NodeRepaired"], words: "repair of" },
];

/** Reasons of events that stand for themselves: pools that grow and shrink. */
const POOL_CHANGES = ["AddNodes", "ScaledUpGroup", "ScaleUpTimedOut", "ScaleDownFailed"];

/**
 * A bar for each procedure, from the event that says it began to the one that says it ended, and for what makes pools grow and shrink.
 * @param {Table} events @param {number} end
 * @returns {Bar[]}
 */
export function procedureBars(events, end) {
  const at = numbers(events, "time_s");
  const [kind, name, reason, message, type] = ["kind", "name", "reason", "message", "type"].map((column) => texts(events, column));
  /** @type {Map<string, Bar>} */
  const open = new Map();
  /** @type {Bar[]} */
  const bars = [];
  const begin = (/** @type {number} */ row, /** @type {string} */ label, /** @type {string} */ key) => {
    const objects = kind(row) === "Node" ? [`node/${name(row)}`] : [];
    const bar = { from: at[row], to: key ? end : at[row], label, title: label, bad: !key && type(row) === "Warning", open: key !== "", lines: [message(row)], objects };
    if (key) open.set(key, bar);
    bars.push(bar);
  };
  const over = (/** @type {number} */ row, /** @type {string} */ key) => {
    const bar = open.get(key);
    if (!bar) return;
    Object.assign(bar, { to: at[row], open: false, bad: type(row) === "Warning" });
    bar.lines.push(message(row));
    open.delete(key);
  };
  for (let row = 0; row < events.rows; row++) {
    const what = reason(row);
    if (POOL_CHANGES.includes(what)) begin(row, message(row), "");
    // The autoscaler says both of a node under one reason.
    if (what === "ScaleDown" && kind(row) === "Node") {
      const key = `ScaleDown/${name(row)}`;
      if (open.has(key)) over(row, key);
      else begin(row, `scale-down of ${name(row)}`, key);
    }
    for (const { began, ended, words } of PROCEDURES) {
      const key = `${began}/${name(row)}`;
      if (what === began && !open.has(key)) begin(row, `${words} ${name(row)}`, key);
      else if (ended.includes(what)) over(row, key);
    }
  }
  return bars;
}

/**
 * A bar for nodes that join or leave one after the other.
 * @param {Model} model
 * @returns {Bar[]}
 */
export function arrivalBars({ nodes, end }) {
  /** @type {{at: number, joins: boolean, node: number}[]} */
  const changes = [];
  for (let node = 0; node < nodes.count; node++) {
    let was = NODE.ABSENT + 0;
    for (let change = nodes.offsets[node]; change < nodes.offsets[node + 1]; change++) {
      const is = nodes.ready[change];
      if (nodes.at[change] > 0 && (is === NODE.ABSENT) !== (was === NODE.ABSENT)) changes.push({ at: nodes.at[change], joins: is !== NODE.ABSENT, node });
      was = is;
    }
  }
  changes.sort((a, b) => a.at - b.at || a.node - b.node);
  /** @type {(Bar & {joins: boolean})[]} */
  const bars = [];
  for (const { at, joins, node } of changes) {
    let bar = bars.findLast((one) => one.joins === joins);
    if (!bar || at - bar.to > end / 100) {
      bar = { from: at, to: at, label: "", title: "", bad: false, open: false, lines: [], objects: [], joins };
      bars.push(bar);
    }
    bar.to = at;
    bar.objects.push(`node/${nodes.names[node]}`);
  }
  for (const bar of bars) {
    const names = bar.objects.map((key) => key.slice(5));
    bar.title = `${counted(names.length, "node")} ${bar.joins ? (names.length === 1 ? "joins" : "join") : names.length === 1 ? "leaves" : "leave"}`;
    bar.label = names.length === 1 ? bar.title.replace("1 node", names[0]) : `${bar.title}: ${names.slice(0, 12).join(", ")}${names.length > 12 ? ` and ${count(names.length - 12)} more` : ""}`;
  }
  return bars;
}

/**
 * How many nodes there are over time, and of them not Ready; of those that were there before, how many are gone.
 * @param {Table} table cluster.csv
 */
export function nodeSteps(table) {
  const times = numbers(table, "time_s");
  const [ready, bad, unknown] = ["nodes_ready", "nodes_not_ready", "nodes_unknown"].map((name) => numbers(table, name));
  const down = bad.map((value, row) => value + unknown[row]);
  const all = ready.map((value, row) => value + down[row]);
  let most = 0;
  const before = all.map((value) => (most = Math.max(most, value)));
  const gone = all.map((value, row) => before[row] - value);
  const absent = all.map((value) => most - value);
  return { times, ready, all, down, gone, absent, most };
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
 * @param {Bar[]} bars @param {number} rows @param {number} least For how long each takes its row, whatever its length: room for its name
 * @returns {{row: Int32Array, used: number}}
 */
export function stacked(bars, rows, least = 0) {
  const order = Int32Array.from(bars.keys()).sort((a, b) => bars[a].from - bars[b].from || a - b);
  const row = new Int32Array(bars.length);
  /** @type {number[]} */
  const freeAt = [];
  for (const index of order) {
    let place = freeAt.findIndex((free) => free <= bars[index].from);
    if (place < 0) place = freeAt.length < rows ? freeAt.length : rows - 1;
    freeAt[place] = Math.max(freeAt[place] ?? 0, bars[index].to, bars[index].from + least);
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
