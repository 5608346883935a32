// What stories need of pods besides the model: who owned them, what ended them, and who came for whom.

import { numbers, texts, truths } from "./data.js";
import { objectOf } from "./story.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./story.js").Causes} Causes */

/** What a kubelet ends is over for its owner before anybody deletes it. */
const BY_KUBELET = ["NodePressure", "TerminationByKubelet"];

/**
 * @param {Record<string, Table>} tables @param {Model} model @param {Causes} causes
 */
export function recordOf(tables, model, causes) {
  const { pods, nodes } = model;
  const [ownerKind, ownerName, namespace, phase] = ["owner_kind", "owner_name", "namespace", "phase"].map((column) => texts(tables.pods, column));
  const isInitial = truths(tables.pods, "initial");
  const restarts = numbers(tables.pods, "restarts");
  /** @type {Map<number, string>} */
  const causeOf = new Map();
  /** What deleted or ended a pod, as causes.csv says: who comes too late to delete it writes into pods.csv, too. @param {number} pod */
  const cause = (pod) => {
    const known = causeOf.get(pod);
    if (known !== undefined) return known;
    const told = pods.cause(pod);
    const rows = Number.isFinite(pods.deletion[pod]) && !BY_KUBELET.includes(told) ? causes.about(pods.key(pod)).filter((row) => causes.at(row) === pods.deletion[pod]) : [];
    const marked = rows.map((row) => / marked for deletion \((.+)\)$/.exec(causes.what(row))?.[1]).find(Boolean);
    causeOf.set(pod, marked ?? told);
    return marked ?? told;
  };
  return {
    isInitial: (/** @type {number} */ pod) => isInitial(pod),
    restarts: (/** @type {number} */ pod) => restarts[pod],
    phase: (/** @type {number} */ pod) => phase(pod),
    owner: (/** @type {number} */ pod) => `${ownerKind(pod).toLowerCase()}/${namespace(pod)}/${ownerName(pod)}`,
    cause,
    /** When it was over for its owner; Infinity if it was not. @param {number} pod */
    ended(pod) {
      const first = Math.min(pods.deletion[pod], BY_KUBELET.includes(cause(pod)) ? pods.finished[pod] : Infinity);
      return Number.isFinite(first) ? first : pods.gone[pod];
    },
    /** The node that it was bound to, as a key; empty if it never was. @param {number} pod */
    node: (pod) => (pods.node[pod] < 0 ? "" : `node/${nodes.names[pods.node[pod]]}`),
    /** Whether a pod that was there at t=0 was not Ready then. @param {number} pod */
    wasUnready: (pod) => isInitial(pod) && pods.ready[pod] !== 0,
  };
}

/** @typedef {ReturnType<typeof recordOf>} PodRecord */

/**
 * The pod that came for each one of a family that its owner lost or gave up: of pods that were lost as disruptions.csv has it, of those that
 * their controller itself ended by what the creation of the other follows from.
 * @param {import("./story.js").Teller} teller @param {number[]} family
 * @returns {Map<number, number>}
 */
export function replacements(teller, family) {
  const { fates, record } = teller;
  /** @type {Map<number, number>} */
  const found = new Map();
  for (const pod of family) if (fates.replaced[pod] >= 0) found.set(pod, fates.replaced[pod]);
  const came = new Set(found.values());
  for (const pod of family) {
    if (record.isInitial(pod) || came.has(pod)) continue;
    const before = forerunner(teller, pod);
    if (before !== undefined && fates.of(before) === null && !found.has(before)) found.set(before, pod);
  }
  return found;
}

/**
 * Whether another pod may come in the place of one: its controller misses it from then on. One that has done its work is missed by nobody.
 * @param {import("./story.js").Teller} teller @param {number} before @param {number} pod @param {number} at
 */
function isMissed({ record, model: { pods } }, before, pod, at) {
  const [owner, finished] = [record.owner(pod), pods.finished[before]];
  const hasSucceeded = record.phase(before) === "Succeeded" && Number.isFinite(finished) && !(pods.deletion[before] <= finished);
  // What comes for a pod of a StatefulSet has its name, of a DaemonSet its node.
  const isItsPlace = owner.startsWith("statefulset/") ? pods.key(before) === pods.key(pod) : owner.startsWith("daemonset/") ? pods.node[before] === pods.node[pod] : !owner.startsWith("/");
  return record.owner(before) === owner && isItsPlace && !hasSucceeded && record.ended(before) <= at;
}

/** The pod whose end a pod's creation follows from: what it follows from is no earlier than that. @param {import("./story.js").Teller} teller @param {number} pod */
function forerunner(teller, pod) {
  const { causes, podsByKey, model: { pods } } = teller;
  const created = causes.about(pods.key(pod)).find((row) => causes.at(row) === pods.created[pod] && causes.what(row).endsWith(" created"));
  for (let row = created === undefined ? -1 : causes.causeOf(created); row >= 0; row = causes.causeOf(row)) {
    const key = objectOf(causes.what(row));
    if (!key.startsWith("pod/")) continue;
    const before = (podsByKey.get(key) ?? []).findLast((other) => pods.created[other] < pods.created[pod] && pods.created[other] <= causes.at(row));
    if (before !== undefined && isMissed(teller, before, pod, causes.at(row))) return before;
  }
  return undefined;
}
