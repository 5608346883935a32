// The cluster as the tables have it, and its state at any instant.
//
// An instant is not replayed from the start or from a checkpoint: each pod's milestones and each node's changes lie in columns, so that the
// state of all is one pass over the typed arrays of those that ever change (milliseconds for 150,000 pods), forwards and backwards alike.

import { numbers, texts, truths } from "./data.js";

/** @typedef {import("./data.js").Table} Table */

/** What a pod is at an instant. The order is that of the legend. */
export const POD = /** @type {const} */ ({ ABSENT: 0, READY: 1, NOT_READY: 2, STARTING: 3, UNSCHEDULED: 4, TERMINATING: 5, SUCCEEDED: 6, FAILED: 7 });

/** Their names, by number. */
export const POD_STATES = ["Absent", "Ready", "Running, not Ready", "Pending on its node", "Pending, no node", "Terminating", "Succeeded", "Failed"];

/** What a node's condition Ready is at an instant. */
export const NODE = /** @type {const} */ ({ ABSENT: 0, TRUE: 1, FALSE: 2, UNKNOWN: 3 });

/** As nodes.csv has them, by number. */
export const NODE_STATES = ["Absent", "True", "False", "Unknown"];

/**
 * @typedef {object} Pods
 * @property {number} count
 * @property {(pod: number) => string} key `pod/namespace/name`
 * @property {(pod: number) => string} workloadKey
 * @property {(pod: number) => string} cause Why it was deleted
 * @property {(pod: number) => boolean} takenAway
 * @property {Int32Array} node -1 for one that was never bound
 * @property {Int32Array} workload
 * @property {Float64Array} created Milliseconds; Infinity is never, here and below
 * @property {Float64Array} scheduled
 * @property {Float64Array} started
 * @property {Float64Array} ready
 * @property {Float64Array} deletion
 * @property {Float64Array} finished
 * @property {Float64Array} gone
 * @property {Uint8Array} failed Whether it ended as Failed
 * @property {Int32Array} flips Where a pod's rows of readiness begin, and behind the last pod their number
 * @property {Float64Array} flipAt
 * @property {Uint8Array} flipReady
 * @property {Int32Array} slot Its place in its node's tile
 * @property {Int32Array} restless Those that are not the same all the time
 */

/**
 * @typedef {object} Nodes
 * @property {number} count
 * @property {string[]} names
 * @property {string[]} zones
 * @property {string[]} pools
 * @property {Int32Array} offsets Where a node's changes begin, and behind the last node their number
 * @property {Float64Array} at
 * @property {Uint8Array} ready
 * @property {Uint8Array} cordoned
 * @property {(change: number) => string} taints
 * @property {Int32Array} slots Places that its tile needs
 * @property {Map<string, number>} byName
 * @property {Outage[][]} outages The faults that hit it
 */

/**
 * @typedef {object} Outage A fault that acts on a node
 * @property {string} name
 * @property {string} kind
 * @property {string} effect What became of what it hit, in words
 * @property {string} stops What does nothing meanwhile: `machine`, `kubelet`, `link`, or empty
 * @property {number} began
 * @property {number} ended When it acts no longer: one that ends a machine at once, until that is there again or its node is gone
 * @property {number} row
 */

/**
 * @typedef {object} Workloads
 * @property {string[]} keys `deployment/namespace/name`
 * @property {Map<string, number>} byKey
 * @property {Int32Array} offsets
 * @property {Float64Array} at
 * @property {Float64Array} desired
 * @property {Float64Array} ready
 * @property {Float64Array} missing
 */

/**
 * @typedef {object} Model
 * @property {number} end Length of the run in milliseconds
 * @property {Pods} pods
 * @property {Nodes} nodes
 * @property {Workloads} workloads
 */

/** @param {Float64Array} times */
function orNever(times) {
  return times.map((time) => (Number.isNaN(time) ? Infinity : time));
}

/**
 * Positions of items in groups: where each group begins, and the items in order of their groups, stable.
 * @param {Int32Array} groupOf -1 for an item of no group
 * @param {number} groups
 */
export function grouped(groupOf, groups) {
  const offsets = new Int32Array(groups + 1);
  for (const group of groupOf) if (group >= 0) offsets[group + 1]++;
  for (let group = 0; group < groups; group++) offsets[group + 1] += offsets[group];
  const order = new Int32Array(offsets[groups]);
  const next = offsets.slice();
  groupOf.forEach((group, item) => {
    if (group >= 0) order[next[group]++] = item;
  });
  return { offsets, order };
}

/**
 * Numbers for texts in order of their first appearance.
 * @param {number} rows
 * @param {(row: number) => string} text
 */
function numbered(rows, text) {
  /** @type {Map<string, number>} */
  const byName = new Map();
  const of = new Int32Array(rows);
  for (let row = 0; row < rows; row++) {
    const name = text(row);
    let number = byName.get(name);
    if (number === undefined) {
      number = byName.size;
      byName.set(name, number);
    }
    of[row] = number;
  }
  return { byName, of };
}

/**
 * @param {Record<string, Table>} tables
 * @param {number} end
 * @returns {Model}
 */
export function buildModel(tables, end) {
  const workloads = workloadsOf(tables.workloads, tables.pods);
  const nodes = nodesOf(tables.nodes, tables.inventory, tables.faults, end);
  const pods = podsOf(tables.pods, tables.readiness, nodes, workloads);
  placePods(pods, nodes);
  pods.restless = Int32Array.from(Array.from({ length: pods.count }, (_, pod) => pod).filter((pod) => isRestless(pods, pod)));
  return { end, pods, nodes, workloads };
}

/** @param {Table} table @param {string} kind @param {string} name */
function keyOf(table, kind, name) {
  const kinds = texts(table, kind);
  const namespaces = texts(table, "namespace");
  const names = texts(table, name);
  return (/** @type {number} */ row) => `${kinds(row).toLowerCase()}/${namespaces(row)}/${names(row)}`;
}

/** @param {Table} table @param {Table} pods @returns {Workloads} */
export function workloadsOf(table, pods) {
  const { byName, of } = numbered(table.rows, keyOf(table, "kind", "name"));
  const changed = byName.size;
  // Those of kinds that are not modelled have pods and no row.
  const podKey = keyOf(pods, "workload_kind", "workload_name");
  for (let pod = 0; pod < pods.rows; pod++) {
    const key = podKey(pod);
    if (!byName.has(key)) byName.set(key, byName.size);
  }
  const { offsets, order } = grouped(of, Math.max(changed, byName.size));
  const pick = (/** @type {string} */ name) => {
    const all = numbers(table, name);
    return Float64Array.from(order, (row) => all[row]);
  };
  const [desired, ready] = ["desired", "ready"].map(pick);
  // Results of earlier versions say no more than the status.
  const missing = pick("missing").map((of, row) => (Number.isNaN(of) ? Math.max(0, desired[row] - ready[row]) : of));
  return { keys: [...byName.keys()], byKey: byName, offsets, at: pick("time_s"), desired, ready, missing };
}

/** @param {Table} table @param {Table} inventory @param {Table} faults @param {number} end @returns {Nodes} */
function nodesOf(table, inventory, faults, end) {
  const { byName, of } = numbered(table.rows, texts(table, "node"));
  const names = [...byName.keys()];
  const { offsets, order } = grouped(of, names.length);
  const times = numbers(table, "time_s");
  const readyText = texts(table, "ready");
  const isCordoned = truths(table, "unschedulable");
  const taintText = texts(table, "taints");
  /** @type {Outage[][]} */
  const outages = names.map(() => []);
  const faultNode = texts(faults, "node");
  const faultObject = texts(faults, "object");
  const faultZone = texts(faults, "zone");
  const faultKind = texts(faults, "kind");
  const faultName = texts(faults, "name");
  const began = numbers(faults, "began_s");
  const faultEffect = texts(faults, "effect");
  const faultStops = texts(faults, "stops");
  const ended = orNever(numbers(faults, "ended_s"));
  const notReady = numbers(faults, "not_ready_s");
  const readyAgain = orNever(numbers(faults, "ready_s"));
  const at = Float64Array.from(order, (row) => times[row]);
  const ready = Uint8Array.from(order, (row) => NODE_STATES.indexOf(readyText(row)));
  /** Until when a fault acts on a node. @param {number} row @param {number} node */
  const actsUntil = (row, node) => {
    if (faultStops(row) !== "machine" || ended[row] > began[row]) return ended[row];
    for (let change = offsets[node]; change < offsets[node + 1]; change++) {
      if (at[change] >= began[row] && ready[change] === NODE.ABSENT) return Math.min(at[change], readyAgain[row]);
    }
    return Number.isNaN(notReady[row]) ? ended[row] : readyAgain[row];
  };
  const zones = names.map(() => "");
  const pools = names.map((name) => name.replace(/-?\d+$/, ""));
  for (let row = 0; row < faults.rows; row++) {
    const node = byName.get(faultNode(row));
    if (node === undefined) continue;
    zones[node] = faultZone(row);
    if (!faultObject(row).startsWith("node/")) continue;
    outages[node].push({ name: faultName(row), kind: faultKind(row), effect: faultEffect(row), stops: faultStops(row), began: began[row], ended: Math.min(actsUntil(row, node), end), row });
  }
  const inventoryNode = texts(inventory, "node");
  const zone = texts(inventory, "zone");
  const pool = texts(inventory, "pool");
  for (let row = 0; row < inventory.rows; row++) {
    const node = byName.get(inventoryNode(row));
    if (node === undefined) continue;
    zones[node] = zone(row);
    if (pool(row)) pools[node] = pool(row);
  }
  return {
    count: names.length, names, zones, pools, offsets, byName, outages,
    at, ready,
    cordoned: Uint8Array.from(order, (row) => (isCordoned(row) ? 1 : 0)),
    taints: (change) => taintText(order[change]),
    slots: new Int32Array(names.length),
  };
}

/** @param {Table} table @param {Table} readiness @param {Nodes} nodes @param {Workloads} workloads @returns {Pods} */
function podsOf(table, readiness, nodes, workloads) {
  const count = table.rows;
  const namespace = texts(table, "namespace");
  const name = texts(table, "name");
  const workloadKey = keyOf(table, "workload_kind", "workload_name");
  const nodeName = texts(table, "node");
  const phase = texts(table, "phase");
  const created = numbers(table, "created_s");
  const gone = orNever(numbers(table, "gone_s"));
  const keys = Array.from({ length: count }, (_, pod) => `pod/${namespace(pod)}/${name(pod)}`);
  const key = (/** @type {number} */ pod) => keys[pod];
  return {
    count, key, workloadKey, created, gone,
    cause: texts(table, "deletion_cause"),
    takenAway: truths(table, "taken_away"),
    node: Int32Array.from({ length: count }, (_, pod) => nodes.byName.get(nodeName(pod)) ?? -1),
    workload: Int32Array.from({ length: count }, (_, pod) => workloads.byKey.get(workloadKey(pod)) ?? -1),
    scheduled: orNever(numbers(table, "scheduled_s")),
    started: orNever(numbers(table, "started_s")),
    ready: orNever(numbers(table, "ready_s")),
    deletion: orNever(numbers(table, "deletion_s")),
    finished: orNever(numbers(table, "finished_s")),
    failed: Uint8Array.from({ length: count }, (_, pod) => (phase(pod) === "Failed" ? 1 : 0)),
    slot: new Int32Array(count).fill(-1),
    restless: new Int32Array(0),
    ...flipsOf(readiness, count, namespace, name, created, gone),
  };
}

/**
 * The rows of readiness.csv by pod. Names come again (StatefulSets): a row belongs to the pod of its name that was there.
 * @param {Table} readiness @param {number} count @param {(pod: number) => string} namespace @param {(pod: number) => string} name
 * @param {Float64Array} created @param {Float64Array} gone
 */
function flipsOf(readiness, count, namespace, name, created, gone) {
  /** @type {Map<string, number | number[]>} */
  const named = new Map();
  for (let pod = 0; pod < count; pod++) {
    const before = named.get(name(pod));
    if (before === undefined) named.set(name(pod), pod);
    else if (typeof before === "number") named.set(name(pod), [before, pod]);
    else before.push(pod);
  }
  const times = numbers(readiness, "time_s");
  const rowNamespace = texts(readiness, "namespace");
  const rowName = texts(readiness, "name");
  const ready = texts(readiness, "ready");
  const podOf = new Int32Array(readiness.rows).fill(-1);
  for (let row = 0; row < readiness.rows; row++) {
    const found = named.get(rowName(row));
    if (found === undefined) continue;
    const isIt = (/** @type {number} */ pod) => namespace(pod) === rowNamespace(row) && created[pod] <= times[row] && times[row] <= gone[pod];
    if (typeof found === "number") podOf[row] = isIt(found) ? found : -1;
    else podOf[row] = found.find(isIt) ?? -1;
  }
  const { offsets, order } = grouped(podOf, count);
  return {
    flips: offsets,
    flipAt: Float64Array.from(order, (row) => times[row]),
    flipReady: Uint8Array.from(order, (row) => (ready(row) === "True" ? 1 : 0)),
  };
}

/**
 * Gives each pod a place in its node's tile that it keeps while it is there: the lowest that is free when it is bound.
 * @param {Pods} pods @param {Nodes} nodes
 */
function placePods(pods, nodes) {
  const { offsets, order } = grouped(pods.node, nodes.count);
  for (let node = 0; node < nodes.count; node++) {
    const mine = [...order.subarray(offsets[node], offsets[node + 1])];
    mine.sort((a, b) => pods.scheduled[a] - pods.scheduled[b] || a - b);
    /** @type {number[]} */
    const freeAt = [];
    for (const pod of mine) {
      const from = pods.scheduled[pod];
      let place = freeAt.findIndex((free) => free <= from);
      if (place < 0) place = freeAt.length;
      freeAt[place] = Math.min(pods.gone[pod], pods.finished[pod] < pods.deletion[pod] ? pods.finished[pod] : Infinity);
      pods.slot[pod] = place;
    }
    nodes.slots[node] = freeAt.length;
  }
}

/**
 * The last position in `[from, to)` whose time is not after `time`, or `from - 1`.
 * @param {ArrayLike<number>} times @param {number} from @param {number} to @param {number} time
 */
export function lastAt(times, from, to, time) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * What a pod is at an instant.
 * @param {Pods} pods @param {number} pod @param {number} time
 * @returns {number} One of `POD`
 */
export function podAt(pods, pod, time) {
  if (time < pods.created[pod] || time >= pods.gone[pod]) return POD.ABSENT;
  if (time >= pods.deletion[pod]) return POD.TERMINATING;
  if (time >= pods.finished[pod]) return pods.failed[pod] ? POD.FAILED : POD.SUCCEEDED;
  if (time < pods.scheduled[pod]) return POD.UNSCHEDULED;
  if (time < pods.started[pod]) return POD.STARTING;
  const from = pods.flips[pod];
  let flip = pods.flips[pod + 1] - 1;
  while (flip >= from && pods.flipAt[flip] > time) flip--;
  return flip >= from && pods.flipReady[flip] ? POD.READY : POD.NOT_READY;
}

/** @param {Pods} pods @param {number} pod */
function isRestless(pods, pod) {
  const ends = Math.min(pods.deletion[pod], pods.finished[pod], pods.gone[pod]);
  const begins = Math.max(pods.created[pod], pods.started[pod]);
  return begins > 0 || Number.isFinite(ends) || pods.flips[pod + 1] - pods.flips[pod] !== 1 || pods.flipAt[pods.flips[pod]] > 0;
}

/**
 * What pods are at an instant: an object that remembers the last answer, so that an instant costs as much as pods ever changed.
 * @param {Pods} pods
 */
export function podStates(pods) {
  const states = Uint8Array.from({ length: pods.count }, (_, pod) => podAt(pods, pod, 0));
  const counts = POD_STATES.map(() => 0);
  for (const state of states) counts[state]++;
  return {
    states,
    /** How many there are of each state. */
    counts,
    /** Goes to an instant, and marks the nodes on which something is another than before. @param {number} time @param {Uint8Array} touched */
    seek(time, touched) {
      const { restless, node } = pods;
      for (let at = 0; at < restless.length; at++) {
        const pod = restless[at];
        const state = podAt(pods, pod, time);
        if (state === states[pod]) continue;
        counts[states[pod]]--;
        counts[state]++;
        states[pod] = state;
        if (node[pod] >= 0) touched[node[pod]] = 1;
      }
    },
  };
}

/**
 * The change of a node that holds at an instant, or -1 before the first one.
 * @param {Nodes} nodes @param {number} node @param {number} time
 */
export function nodeChangeAt(nodes, node, time) {
  const change = lastAt(nodes.at, nodes.offsets[node], nodes.offsets[node + 1], time);
  return change < nodes.offsets[node] ? -1 : change;
}

/**
 * What a node's condition Ready is at an instant.
 * @param {Nodes} nodes @param {number} node @param {number} time
 * @returns {number} One of `NODE`
 */
export function nodeAt(nodes, node, time) {
  const change = nodeChangeAt(nodes, node, time);
  return change < 0 ? NODE.ABSENT : nodes.ready[change];
}

/**
 * The fault that a node's machine is under at an instant.
 * @param {Nodes} nodes @param {number} node @param {number} time
 */
export function outageAt(nodes, node, time) {
  const outages = nodes.outages[node];
  for (let at = 0; at < outages.length; at++) if (outages[at].began <= time && time < outages[at].ended) return outages[at];
  return undefined;
}

/**
 * The fault that has the machine itself down at an instant: what ran there serves nobody.
 * @param {Nodes} nodes @param {number} node @param {number} time
 */
export function machineOutageAt(nodes, node, time) {
  return nodes.outages[node].find((outage) => outage.stops === "machine" && outage.began <= time && time < outage.ended);
}

/**
 * The fault for which the control plane hears nothing of a node's kubelet, nor that of it, at an instant: nothing there is ended or begun.
 * @param {Nodes} nodes @param {number} node @param {number} time
 */
export function silentOutageAt(nodes, node, time) {
  return nodes.outages[node].find((outage) => outage.stops !== "" && outage.began <= time && time < outage.ended);
}

/**
 * Stretches in which a workload has fewer ready pods than it wants: by who was ready, as in the summary, not by the status that its
 * controller wrote later.
 * @param {Model} model @param {number} workload
 * @returns {{from: number, to: number, missing: number}[]} `missing`: most at once
 */
export function shortages({ workloads, end }, workload) {
  const found = [];
  let open = null;
  const until = workloads.offsets[workload + 1];
  for (let row = workloads.offsets[workload]; row < until; row++) {
    const [at, missing] = [workloads.at[row], workloads.missing[row]];
    if (row + 1 < until && workloads.at[row + 1] === at) continue;
    if (missing > 0 && open) open.missing = Math.max(open.missing, missing);
    else if (missing > 0) open = { from: at, to: end, missing };
    else if (open) {
      open.to = at;
      if (open.to > open.from) found.push(open);
      open = null;
    }
  }
  if (open) found.push(open);
  return found;
}
