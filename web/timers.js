// Waits with a deadline, out of timers.csv: what counts down at an instant.

import { numbers, texts } from "./data.js";
import { lastAt } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */

/**
 * @typedef {object} Timer
 * @property {number} row
 * @property {string} timer
 * @property {string} key `pod/namespace/name` or `node/name`
 * @property {number} set
 * @property {number} due
 * @property {number} ended Infinity if the run ended before
 * @property {string} end
 * @property {number} length
 * @property {string} taint
 * @property {string} by
 */

/** Kinds of timers as numbers; others are -1. */
export const TIMERS = ["toleration", "termination-grace", "node-monitor-grace"];

/**
 * @param {Table} table timers.csv
 * @param {Table} faults faults.csv
 * @param {Model} model
 */
export function timersOf(table, faults, model) {
  const set = numbers(table, "set_s");
  const due = numbers(table, "due_s");
  const ended = numbers(table, "ended_s").map((time) => (Number.isNaN(time) ? Infinity : time));
  const length = numbers(table, "length_s");
  const timer = texts(table, "timer");
  const namespace = texts(table, "namespace");
  const name = texts(table, "name");
  const node = texts(table, "node");
  const end = texts(table, "end");
  const taint = texts(table, "taint");
  const by = texts(table, "by");
  const kinds = Int8Array.from({ length: table.rows }, (_, row) => TIMERS.indexOf(timer(row)));
  const nodes = Int32Array.from({ length: table.rows }, (_, row) => model.nodes.byName.get(node(row)) ?? -1);
  const key = (/** @type {number} */ row) => (namespace(row) === "" ? `node/${name(row)}` : `pod/${namespace(row)}/${name(row)}`);
  /** @type {(row: number) => Timer} */
  const read = (row) => ({ row, timer: timer(row), key: key(row), set: set[row], due: due[row], ended: ended[row], end: end(row), length: length[row], taint: taint(row), by: by(row) });
  /** The tolerations on each node, in order of their begin. @type {number[][]} */
  const onNode = Array.from({ length: model.nodes.count }, () => []);
  for (let row = 0; row < table.rows; row++) if (kinds[row] === 0 && nodes[row] >= 0) onNode[nodes[row]].push(row);
  const sets = Float64Array.from(set).sort();
  const isOut = outagesOf(faults, "process/kube-controller-manager");
  /** @type {((of: string) => number[]) | undefined} */
  let rowsAbout;
  return {
    rows: table.rows,
    read,
    /** When the next pod of a node is evicted, if nothing changes; Infinity if none is. @param {number} of @param {number} time */
    dueOf(of, time) {
      let least = Infinity;
      if (isOut(time)) return least;
      for (const row of onNode[of]) if (set[row] <= time && time < Math.min(ended[row], due[row]) && due[row] < least) least = due[row];
      return least;
    },
    /** Whether kube-controller-manager is out at an instant: nobody looks at nodes then, and nobody evicts. */
    isControllerOut: isOut,
    /** Rows of what runs at an instant; of pods that are to end, until they have ended. @param {number} time */
    running(time) {
      /** @type {number[]} */
      const found = [];
      if (lastAt(sets, 0, sets.length, time) < 0) return found;
      for (let row = 0; row < table.rows; row++) if (set[row] <= time && time < (kinds[row] === 1 ? ended[row] : Math.min(ended[row], Math.max(due[row], set[row])))) found.push(row);
      return found;
    },
    /** Position in `TIMERS`, or -1. @param {number} row */
    kind: (row) => kinds[row],
    /** @param {number} row */
    due: (row) => due[row],
    /** @param {number} row */
    ended: (row) => ended[row],
    key,
    /** -1 for one that no table knows. @param {number} row */
    nodeOf: (row) => nodes[row],
    /** The timers of an object. @param {string} of */
    about(of) {
      rowsAbout ??= rowsByKey(table.rows, key);
      return rowsAbout(of).map(read);
    },
  };
}

/** The rows of each key. @param {number} rows @param {(row: number) => string} key @returns {(of: string) => number[]} */
function rowsByKey(rows, key) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (let row = 0; row < rows; row++) {
    const known = found.get(key(row));
    if (known) known.push(row);
    else found.set(key(row), [row]);
  }
  return (of) => found.get(of) ?? [];
}

/** Whether a process is out at an instant. @param {Table} faults @param {string} process As `process/NAME` @returns {(time: number) => boolean} */
function outagesOf(faults, process) {
  const object = texts(faults, "object");
  const began = numbers(faults, "began_s");
  const ended = numbers(faults, "ended_s");
  const rows = Array.from({ length: faults.rows }, (_, row) => row).filter((row) => object(row) === process);
  return (time) => rows.some((row) => began[row] <= time && !(ended[row] <= time));
}

/** @typedef {ReturnType<typeof timersOf>} Timers */
