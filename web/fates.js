// What became of pods: who came for whom, as disruptions.csv has it, and where the time went until somebody was Ready again.

import { numbers, texts, truths } from "./data.js";
import { NODE, machineOutageAt, nodeAt } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */

/** The parts of a recovery, in their order; each with what it is. */
export const PHASES = /** @type {const} */ ([
  ["detect", "the machine is down, and its pods still count as Ready"],
  ["wait", "not Ready, until it is taken away: mostly the toleration"],
  ["return", "not Ready, until the same pod is Ready again: its node or its containers came back"],
  ["recreate", "taken away, until its controller has made another"],
  ["schedule", "until the scheduler has bound it"],
  ["dead node", "bound to a machine that was down, which nobody had noticed: until it is up, or the pod has ended"],
  ["attach volumes", "until its volumes are attached to its node: mostly until they are let go elsewhere"],
  ["notice volumes", "until its kubelet has noticed that they are attached, for which it looks ever more seldom"],
  ["pull and start", "until its containers run: images, start"],
  ["become Ready", "until its probes say so, and its containers stay up"],
  ["lost for good", "nothing makes it anew, as it had no controller: until the end of the run"],
]);

/** Columns of disruptions.csv with lengths, in their order, and the phase of each. */
const LENGTHS = /** @type {const} */ ([["detect_s", 0], ["wait_s", 1], ["recreate_s", 3], ["schedule_s", 4], ["dead_node_s", 5], ["attach_s", 6], ["mount_s", 7], ["start_s", 8], ["become_ready_s", 9]]);

/** The phases of what is lost for good, and of two milestones of a pod. */
const LOST = 10;
const START = 8;
const BECOME_READY = 9;

/** Why nothing is to come for a pod, by the outcomes of disruptions.csv; of the others something came, or is to come. */
export const NOTHING_COMES = new Map([
  ["scaled down", "its owner wanted fewer by then"],
  ["node is gone", "it belonged to its node, which is gone"],
  ["owner is gone", "its owner is gone"],
  ["job has ended", "its Job has ended"],
  ["no controller", "it has no controller that makes it anew"],
]);

/** @typedef {{phase: number, from: number, to: number}} Piece */

/**
 * @typedef {object} Fate A row of disruptions.csv
 * @property {number} pod
 * @property {number} replacement -1 if nothing came
 * @property {number} from When it stopped to serve, or when it was lost if it never served
 * @property {number} lost
 * @property {string} by
 * @property {boolean} takenAway
 * @property {string} outcome
 * @property {Piece[]} pieces What the time from then on was made of, in order
 */

/**
 * @typedef {object} Loss A pod that was not Ready, and what came of it
 * @property {number} pod
 * @property {Fate | null} fate Null if its owner did not lose it
 * @property {number} from When it was Ready no longer, or its machine was down
 * @property {number} to When it, or its replacement, was Ready; the end of the run if never
 * @property {Piece[]} pieces What that time was made of, in order
 */

/**
 * The rows of disruptions.csv by pod.
 * @param {Table} table @param {Model} model @param {Map<string, number[]>} podsByKey
 */
export function fatesOf(table, model, podsByKey) {
  const namespace = texts(table, "namespace");
  const podAmong = (/** @type {(row: number) => string} */ name, /** @type {Float64Array} */ created, /** @type {number} */ row) =>
    (name(row) === "" ? undefined : podsByKey.get(`pod/${namespace(row)}/${name(row)}`)?.find((pod) => model.pods.created[pod] === created[row])) ?? -1;
  const [name, created] = [texts(table, "name"), numbers(table, "created_s")];
  const [otherName, otherCreated] = [texts(table, "replacement"), numbers(table, "replacement_created_s")];
  const [stopped, lost] = [numbers(table, "stopped_s"), numbers(table, "lost_s")];
  const [by, outcome, takenAway] = [texts(table, "by"), texts(table, "outcome"), truths(table, "taken_away")];
  const lengths = LENGTHS.map(([column]) => numbers(table, column));
  /** The row of each pod, the pod that came for it, and the one that it came for. */
  const [rowOf, replaced, predecessor] = [0, 0, 0].map(() => new Int32Array(model.pods.count).fill(-1));
  const podOf = new Int32Array(table.rows).fill(-1);
  for (let row = 0; row < table.rows; row++) {
    const pod = podAmong(name, created, row);
    if (pod < 0) continue;
    podOf[row] = pod;
    rowOf[pod] = row;
    const other = podAmong(otherName, otherCreated, row);
    replaced[pod] = other;
    if (other >= 0) predecessor[other] = pod;
  }
  /** @type {(row: number) => Fate} */
  const read = (row) => {
    const from = Number.isNaN(stopped[row]) ? lost[row] : stopped[row];
    let last = from;
    /** @type {Piece[]} */
    const pieces = [];
    LENGTHS.forEach(([, phase], at) => {
      // A run of an older version has not all of them.
      const to = last + (lengths[at][row] || 0);
      if (to > last) pieces.push({ phase, from: last, to });
      last = to;
    });
    if (outcome(row) === "no controller" && model.end > last) pieces.push({ phase: LOST, from: last, to: model.end });
    return { pod: podOf[row], replacement: replaced[podOf[row]], from, lost: lost[row], by: by(row), takenAway: takenAway(row), outcome: outcome(row), pieces };
  };
  return {
    rows: table.rows,
    replaced,
    predecessor,
    read,
    /** What became of a pod's place; null if its owner did not lose it. @param {number} pod @returns {Fate | null} */
    of: (pod) => (pod < 0 || rowOf[pod] < 0 ? null : read(rowOf[pod])),
  };
}

/** @typedef {ReturnType<typeof fatesOf>} Fates */

/**
 * Every loss of a workload's pods.
 * @param {Model} model @param {Fates} fates @param {Int32Array} members Its pods
 * @returns {Loss[]}
 */
export function lossesOf(model, fates, members) {
  /** @type {Loss[]} */
  const losses = [];
  for (const pod of members) {
    const fate = fates.of(pod);
    if (fates.predecessor[pod] < 0) losses.push(...firstWait(model, pod));
    for (const [from, to] of unreadyStretches(model, pod, fate ? fate.from : Infinity)) losses.push(returnedLoss(model, pod, from, to));
    if (fate) losses.push({ pod, fate, from: fate.from, to: fate.pieces.at(-1)?.to ?? fate.from, pieces: fate.pieces });
  }
  return losses;
}

/**
 * When a pod that had been Ready was not, by the time it was Ready again, ended, or stopped to serve for good.
 * @param {Model} model @param {number} pod @param {number} stopped
 * @returns {[from: number, to: number][]}
 */
function unreadyStretches({ pods, end }, pod, stopped) {
  const over = Math.min(pods.deletion[pod], pods.finished[pod], pods.gone[pod], stopped, end);
  /** @type {[number, number][]} */
  const found = [];
  let since = -1;
  let wasReady = false;
  for (let flip = pods.flips[pod]; flip < pods.flips[pod + 1]; flip++) {
    const at = pods.flipAt[flip];
    if (at >= over) break;
    if (pods.flipReady[flip]) {
      if (wasReady && since >= 0) found.push([since, at]);
      since = -1;
      wasReady = true;
    } else if (wasReady && since < 0) {
      since = at;
    }
  }
  if (since >= 0) found.push([since, over]);
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
  for (const [phase, milestone] of [[4, pods.scheduled[pod]], [START, pods.started[pod]], [BECOME_READY, over]]) {
    const to = Math.max(last, Math.min(milestone, over));
    if (to > last) pieces.push({ phase, from: last, to });
    last = to;
  }
  return [{ pod, fate: null, from: pods.created[pod], to: over, pieces }];
}

/**
 * A pod that came back itself: before it was not Ready its machine may have been down for a while.
 * @param {Model} model @param {number} pod @param {number} from @param {number} to @returns {Loss}
 */
function returnedLoss({ pods, nodes }, pod, from, to) {
  const node = pods.node[pod];
  // A kubelet that says itself that its node is not Ready is there.
  const outage = node < 0 || nodeAt(nodes, node, from) !== NODE.UNKNOWN ? undefined : machineOutageAt(nodes, node, from - 1);
  let ready = 0;
  for (let flip = pods.flips[pod]; flip < pods.flips[pod + 1] && pods.flipAt[flip] < from; flip++) if (pods.flipReady[flip]) ready = pods.flipAt[flip];
  const down = outage ? Math.max(outage.began, ready) : from;
  /** @type {Piece[]} */
  const unnoticed = down < from ? [{ phase: 0, from: down, to: from }] : [];
  return { pod, fate: null, from: down, to, pieces: [...unnoticed, { phase: 2, from, to }] };
}

/**
 * Stretches in which a workload had fewer ready pods than wanted, whatever its status said by then.
 * @param {Model} model @param {number} workload
 * @returns {{from: number, to: number, missing: number}[]} One for each count that is missing
 */
export function missingStretches({ workloads, end }, workload) {
  const found = [];
  let [missing, since] = [0, 0];
  for (let row = workloads.offsets[workload]; row < workloads.offsets[workload + 1]; row++) {
    const at = workloads.at[row];
    if (workloads.missing[row] === missing) continue;
    if (missing > 0 && at > since) found.push({ from: since, to: at, missing });
    [missing, since] = [workloads.missing[row], at];
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
