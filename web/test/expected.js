// What a run's tables say of an instant, by the words of docs/results.md: the yardstick of the page, and none of its code.

import { ms, readTable } from "./csv.js";

/** The states of pods as the page numbers them. */
const [ABSENT, READY, NOT_READY, STARTING, UNSCHEDULED, TERMINATING, SUCCEEDED, FAILED] = [0, 1, 2, 3, 4, 5, 6, 7];

/** @param {string} dir */
export function readRun(dir) {
  const pods = readTable(dir, "pods.csv").map((row) => ({
    name: `${row.namespace}/${row.name}`, node: row.node, phase: row.phase,
    created: ms(row.created_s), scheduled: ms(row.scheduled_s), started: ms(row.started_s), deletion: ms(row.deletion_s), finished: ms(row.finished_s), gone: ms(row.gone_s),
  }));
  /** @type {Map<string, {at: number, ready: boolean}[]>} */
  const readiness = new Map();
  for (const row of readTable(dir, "readiness.csv")) {
    const name = `${row.namespace}/${row.name}`;
    if (!readiness.has(name)) readiness.set(name, []);
    readiness.get(name)?.push({ at: ms(row.time_s), ready: row.ready === "True" });
  }
  const nodes = readTable(dir, "nodes.csv").map((row) => ({ ...row, at: ms(row.time_s) }));
  const cluster = readTable(dir, "cluster.csv").map((row) => ({ ...row, at: ms(row.time_s) }));
  return { pods, readiness, nodes, cluster };
}

/** @typedef {ReturnType<typeof readRun>} Run */

/** @param {Run} run @param {number} time @returns {number[]} */
export function podStates(run, time) {
  const by = (/** @type {number} */ at) => at <= time;
  return run.pods.map((pod) => {
    if (!by(pod.created) || by(pod.gone)) return ABSENT;
    if (by(pod.deletion)) return TERMINATING;
    if (by(pod.finished)) return pod.phase === "Failed" ? FAILED : SUCCEEDED;
    if (!by(pod.scheduled)) return UNSCHEDULED;
    if (!by(pod.started)) return STARTING;
    const changes = run.readiness.get(pod.name)?.filter((change) => pod.created <= change.at && by(change.at)) ?? [];
    return changes.length > 0 && changes[changes.length - 1].ready ? READY : NOT_READY;
  });
}

/** @param {Run} run @param {number} time */
export function nodeStates(run, time) {
  /** @type {Record<string, {ready: number, cordoned: boolean, taints: string}>} */
  const states = {};
  for (const row of run.nodes) {
    states[row.node] ??= { ready: 0, cordoned: false, taints: "" };
    if (row.at <= time) states[row.node] = { ready: ["Absent", "True", "False", "Unknown"].indexOf(row.ready), cordoned: row.unschedulable === "true", taints: row.taints };
  }
  return states;
}

/** The row of cluster.csv that holds at an instant. @param {Run} run @param {number} time */
export function clusterRow(run, time) {
  return run.cluster.findLast((row) => row.at <= time);
}
