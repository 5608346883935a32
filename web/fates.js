// What became of pods: who replaced whom, and where the time went until somebody was Ready again.

import { texts } from "./data.js";
import { outageAt } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */

/** The parts of a recovery, in their order; each with what it is. */
export const PHASES = /** @type {const} */ ([
  ["detect", "the machine is down, and its pods still count as Ready"],
  ["wait", "not Ready, until it is taken away: mostly the toleration"],
  ["return", "not Ready, until the same pod is Ready again: its node or its containers came back"],
  ["recreate", "taken away, until its controller has made another"],
  ["schedule", "until the scheduler has bound it"],
  ["pull and start", "until its containers run: images, volumes, start"],
  ["become Ready", "until its probes say so"],
]);

/** @typedef {{phase: number, from: number, to: number}} Piece */

/**
 * @typedef {object} Loss A pod that was not Ready, and what came of it
 * @property {number} pod
 * @property {number} replacement -1 if nothing came, or if it came back itself
 * @property {number} from When it was Ready no longer
 * @property {number} lost When it was taken away; Infinity if it came back itself
 * @property {number} to When it, or its replacement, was Ready; the end of the run if never
 * @property {boolean} isOver Whether somebody was Ready again
 * @property {Piece[]} pieces What that time was made of, in order
 */

/**
 * The pod that came for each one that its owner lost: of each owner's pods the next one created after it, in order; a daemon's on its node.
 * @param {Table} table pods.csv @param {Model} model
 * @returns {Int32Array} -1 where nothing came, and for pods that nobody lost
 */
export function replacements(table, model) {
  const { pods } = model;
  const namespace = texts(table, "namespace");
  const kind = texts(table, "owner_kind");
  const name = texts(table, "owner_name");
  /** @type {Map<string, {lost: number[], gained: number[]}>} */
  const owners = new Map();
  for (let pod = 0; pod < pods.count; pod++) {
    const isLost = Number.isFinite(endedAt(model, pod));
    const isGained = pods.created[pod] > 0;
    if (!isLost && !isGained) continue;
    const owner = `${namespace(pod)}\n${kind(pod)}\n${name(pod) || pods.key(pod)}\n${kind(pod) === "DaemonSet" ? pods.node[pod] : ""}`;
    const of = owners.get(owner) ?? { lost: [], gained: [] };
    owners.set(owner, of);
    if (isLost) of.lost.push(pod);
    if (isGained) of.gained.push(pod);
  }
  const found = new Int32Array(pods.count).fill(-1);
  for (const { lost, gained } of owners.values()) {
    lost.sort((a, b) => endedAt(model, a) - endedAt(model, b) || a - b);
    gained.sort((a, b) => pods.created[a] - pods.created[b] || pods.ready[a] - pods.ready[b] || a - b);
    let next = 0;
    for (const pod of lost) {
      while (next < gained.length && pods.created[gained[next]] < endedAt(model, pod)) next++;
      if (next < gained.length) found[pod] = gained[next++];
    }
  }
  return found;
}

/**
 * When a pod was taken away; Infinity if it was not.
 * @param {Model} model @param {number} pod
 */
export function lostAt(model, pod) {
  return model.pods.takenAway(pod) ? endedAt(model, pod) : Infinity;
}

/**
 * When its owner lost a pod, for whatever reason: one that its kubelet ended is replaced before anybody deletes it.
 * @param {Model} model @param {number} pod
 */
function endedAt({ pods }, pod) {
  const isEnded = ["NodePressure", "TerminationByKubelet"].includes(pods.cause(pod));
  const at = Math.min(pods.deletion[pod], isEnded ? pods.finished[pod] : Infinity);
  return Number.isFinite(at) ? at : pods.gone[pod];
}

/**
 * Every loss of a workload's pods.
 * @param {Model} model @param {Int32Array} replaced @param {Int32Array} members Its pods
 * @returns {Loss[]}
 */
export function lossesOf(model, replaced, members) {
  /** @type {Loss[]} */
  const losses = [];
  /** Pods that came for one that is told here. */
  const covered = new Set();
  for (const pod of members) {
    for (const [from, to, isLost] of unreadyStretches(model, replaced, pod)) {
      losses.push(isLost ? replacedLoss(model, replaced, pod, from, to) : returnedLoss(model, pod, from, to));
      if (isLost) covered.add(replaced[pod]);
    }
  }
  for (const pod of members) if (!covered.has(pod)) losses.push(...firstWait(model, pod));
  return losses;
}

/**
 * When a pod that had been Ready was not, by the time its owner lost it or it was Ready again. One that nobody took away counts as lost only
 * if another came for it: it may have been one too many.
 * @param {Model} model @param {Int32Array} replaced @param {number} pod
 * @returns {[from: number, to: number, isLost: boolean][]}
 */
function unreadyStretches(model, replaced, pod) {
  const { pods } = model;
  const gone = Math.min(pods.deletion[pod], pods.finished[pod]);
  const lost = model.pods.takenAway(pod) || replaced[pod] >= 0 ? endedAt(model, pod) : Infinity;
  /** @type {[number, number, boolean][]} */
  const found = [];
  let since = -1;
  let wasReady = false;
  for (let flip = pods.flips[pod]; flip < pods.flips[pod + 1]; flip++) {
    const at = pods.flipAt[flip];
    if (at >= gone) break;
    if (pods.flipReady[flip]) {
      if (wasReady && since >= 0) found.push([since, at, false]);
      since = -1;
      wasReady = true;
    } else if (wasReady && since < 0) {
      since = at;
    }
  }
  if (Number.isFinite(lost)) found.push([since >= 0 ? since : lost, lost, true]);
  else if (since >= 0) found.push([since, Math.min(gone, model.end), false]);
  return found;
}

/**
 * What a pod that came for none waited for until it was Ready.
 * @param {Model} model @param {number} pod
 * @returns {Loss[]}
 */
function firstWait({ pods, end }, pod) {
  const over = Math.min(pods.ready[pod], pods.deletion[pod], pods.finished[pod], pods.gone[pod], end);
  if (over <= pods.created[pod]) return [];
  const pieces = [];
  let last = pods.created[pod];
  for (const [phase, milestone] of [[4, pods.scheduled[pod]], [5, pods.started[pod]], [6, over]]) {
    const to = Math.max(last, Math.min(milestone, over));
    if (to > last) pieces.push({ phase, from: last, to });
    last = to;
  }
  return [{ pod, replacement: -1, from: pods.created[pod], lost: Infinity, to: over, isOver: over < end, pieces }];
}

/** The time in which a machine was down and nobody had noticed. @param {Model} model @param {number} pod @param {number} at @returns {Piece[]} */
function unnoticed(model, pod, at) {
  const node = model.pods.node[pod];
  const outage = node < 0 ? undefined : outageAt(model.nodes, node, at - 1);
  return outage ? [{ phase: 0, from: outage.began, to: at }] : [];
}

/** @param {Model} model @param {number} pod @param {number} from @param {number} to @returns {Loss} */
function returnedLoss(model, pod, from, to) {
  return { pod, replacement: -1, from, lost: Infinity, to, isOver: to < model.end, pieces: [...unnoticed(model, pod, from), { phase: 2, from, to }] };
}

/** @param {Model} model @param {Int32Array} replaced @param {number} pod @param {number} from @param {number} lost @returns {Loss} */
function replacedLoss(model, replaced, pod, from, lost) {
  const { pods, end } = model;
  const replacement = replaced[pod];
  const pieces = [...unnoticed(model, pod, from), { phase: 1, from, to: lost }];
  const milestones = replacement < 0 ? [] : [pods.created[replacement], pods.scheduled[replacement], pods.started[replacement], pods.ready[replacement]];
  let last = lost;
  for (let phase = 3; phase < PHASES.length && last < end; phase++) {
    const until = Math.max(last, Math.min(milestones[phase - 3] ?? Infinity, end));
    pieces.push({ phase, from: last, to: until });
    last = until;
  }
  return { pod, replacement, from, lost: lostAt(model, pod), to: last, isOver: last < end, pieces };
}

/**
 * Stretches in which a workload had fewer ready pods than wanted, by its pods: what controllers write into workloads.csv lags behind, and
 * counts pods that are being deleted.
 * @param {Model} model @param {number} workload @param {Int32Array} members Its pods
 * @returns {{from: number, to: number, missing: number}[]} One for each count that is missing
 */
export function missingStretches(model, workload, members) {
  const { pods, workloads, end } = model;
  /** @type {[at: number, ready: number, desired: number][]} Changes of the counts */
  const changes = [];
  for (const pod of members) {
    const over = Math.min(pods.deletion[pod], pods.finished[pod], pods.gone[pod], end);
    let isReady = 0;
    for (let flip = pods.flips[pod]; flip < pods.flips[pod + 1] && pods.flipAt[flip] < over; flip++) {
      if (pods.flipReady[flip] === isReady) continue;
      isReady = pods.flipReady[flip];
      changes.push([pods.flipAt[flip], isReady === 1 ? 1 : -1, 0]);
    }
    if (isReady === 1 && over < end) changes.push([over, -1, 0]);
  }
  let desired = 0;
  for (let row = workloads.offsets[workload]; row < workloads.offsets[workload + 1]; row++) {
    if (workloads.desired[row] !== desired) changes.push([workloads.at[row], 0, workloads.desired[row] - desired]);
    desired = workloads.desired[row];
  }
  changes.sort((a, b) => a[0] - b[0]);
  const found = [];
  let [missing, since] = [0, 0];
  for (const [at, ready, wanted] of changes) {
    if (missing > 0 && at > since) found.push({ from: since, to: at, missing });
    missing += wanted - ready;
    since = at;
  }
  if (missing > 0 && end > since) found.push({ from: since, to: end, missing });
  return found;
}

/**
 * Milliseconds of each phase, as far as they lie in stretches in which the workload was short: a pod that nobody misses costs nothing. What
 * nobody has noticed is never in one and counts whole.
 * @param {Piece[]} pieces @param {{from: number, to: number}[]} gaps In order
 */
export function phaseTimes(pieces, gaps) {
  const times = PHASES.map(() => 0);
  for (const { phase, from, to } of pieces) {
    if (phase === 0) {
      times[0] += to - from;
      continue;
    }
    let [low, high] = [0, gaps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (gaps[middle].to <= from) low = middle + 1;
      else high = middle;
    }
    for (let gap = low; gap < gaps.length && gaps[gap].from < to; gap++) times[phase] += Math.min(to, gaps[gap].to) - Math.max(from, gaps[gap].from);
  }
  return times;
}

/**
 * Replica-milliseconds of each phase: where more pods wait than are missing, each has its share of what is missing. What nobody has noticed
 * counts whole.
 * @param {Piece[]} pieces @param {{from: number, to: number, missing: number}[]} gaps In order
 */
export function sharedTimes(pieces, gaps) {
  const times = PHASES.map(() => 0);
  /** @type {[at: number, phase: number, by: number][]} Changes of how many wait, by phase; of what is missing, as phase -1 */
  const changes = [];
  for (const { phase, from, to } of pieces) {
    if (phase === 0) times[0] += to - from;
    else changes.push([from, phase, 1], [to, phase, -1]);
  }
  for (const { from, to, missing } of gaps) changes.push([from, -1, missing], [to, -1, -missing]);
  changes.sort((a, b) => a[0] - b[0]);
  const waiting = PHASES.map(() => 0);
  let [all, missing, since] = [0, 0, 0];
  for (const [at, phase, by] of changes) {
    if (at > since && all > 0 && missing > 0) {
      const share = Math.min(1, missing / all) * (at - since);
      for (let one = 1; one < waiting.length; one++) times[one] += waiting[one] * share;
    }
    since = at;
    if (phase < 0) missing += by;
    else {
      waiting[phase] += by;
      all += by;
    }
  }
  return times;
}
