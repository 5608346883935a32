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

/**
 * @param {Table} table
 * @param {Model} model
 */
export function timersOf(table, model) {
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
  const isToleration = Uint8Array.from({ length: table.rows }, (_, row) => (timer(row) === "toleration" ? 1 : 0));
  const nodes = Int32Array.from({ length: table.rows }, (_, row) => model.nodes.byName.get(node(row)) ?? -1);
  const key = (/** @type {number} */ row) => (namespace(row) === "" ? `node/${name(row)}` : `pod/${namespace(row)}/${name(row)}`);
  /** @type {(row: number) => Timer} */
  const read = (row) => ({ row, timer: timer(row), key: key(row), set: set[row], due: due[row], ended: ended[row], end: end(row), length: length[row], taint: taint(row), by: by(row) });
  /** The tolerations on each node, in order of their begin. @type {number[][]} */
  const onNode = Array.from({ length: model.nodes.count }, () => []);
  for (let row = 0; row < table.rows; row++) if (isToleration[row] && nodes[row] >= 0) onNode[nodes[row]].push(row);
  const sets = Float64Array.from(set).sort();
  /** @type {Map<string, number[]> | undefined} */
  let byKey;
  return {
    rows: table.rows,
    read,
    /** When the next pod of a node is evicted, if nothing changes; Infinity if none is. @param {number} of @param {number} time */
    dueOf(of, time) {
      let least = Infinity;
      for (const row of onNode[of]) if (set[row] <= time && time < Math.min(ended[row], due[row]) && due[row] < least) least = due[row];
      return least;
    },
    /** Rows of what runs at an instant. @param {number} time */
    running(time) {
      /** @type {number[]} */
      const found = [];
      if (lastAt(sets, 0, sets.length, time) < 0) return found;
      for (let row = 0; row < table.rows; row++) if (set[row] <= time && time < Math.min(ended[row], Math.max(due[row], set[row]))) found.push(row);
      return found;
    },
    /** The timers of an object. @param {string} of */
    about(of) {
      if (!byKey) {
        byKey = new Map();
        for (let row = 0; row < table.rows; row++) {
          const rows = byKey.get(key(row));
          if (rows) rows.push(row);
          else byKey.set(key(row), [row]);
        }
      }
      return (byKey.get(of) ?? []).map(read);
    },
    node: (/** @type {number} */ row) => node(row),
  };
}

/** @typedef {ReturnType<typeof timersOf>} Timers */
