// Stories: the life of an object in sentences. A sentence is a list of parts: text, times (`at`) and objects (`key`), so that whoever shows
// it can make links of the last two. Every time stands in one of the tables.

import { numbers, texts } from "./data.js";
import { lossesOf, lostAt } from "./fates.js";
import { counted, lasting } from "./format.js";
import { NODE, NODE_STATES, outageAt, shortages } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {string | {at: number} | {key: string}} Part */

/**
 * @typedef {object} Step
 * @property {number} at
 * @property {Part[]} parts
 * @property {number} row Its row of causes.csv, from which its chain is walked; -1 if it has none
 */

/**
 * @typedef {object} Term A term of the timer arithmetic
 * @property {string} name
 * @property {number} from
 * @property {number} to
 * @property {Part[]} why
 */

/**
 * @typedef {object} Story
 * @property {string} key
 * @property {Part[][]} facts
 * @property {{title: string, terms: Term[]}[]} sums
 * @property {Step[]} steps
 */

/**
 * @typedef {object} Teller What stories are made from
 * @property {Model} model
 * @property {Record<string, Table>} tables
 * @property {any} summary
 * @property {Int32Array} replaced
 * @property {Int32Array} predecessor The pod that each one came for
 * @property {import("./timers.js").Timers} timers
 * @property {Causes} causes
 * @property {Map<string, number[]>} podsByKey
 * @property {(workload: number) => Int32Array} members
 */

/** @typedef {ReturnType<typeof causesOf>} Causes */

/**
 * The rows of causes.csv by object.
 * @param {Table} table
 */
export function causesOf(table) {
  const effect = numbers(table, "effect_id");
  const cause = numbers(table, "cause_id");
  const at = numbers(table, "time_s");
  const what = texts(table, "what");
  /** @type {Map<string, number[]>} */
  const byObject = new Map();
  for (let row = 0; row < table.rows; row++) {
    const key = objectOf(what(row));
    if (key === "") continue;
    const rows = byObject.get(key);
    if (rows) rows.push(row);
    else byObject.set(key, [row]);
  }
  const rowOf = (/** @type {number} */ id) => {
    let [low, high] = [0, table.rows];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (effect[middle] < id) low = middle + 1;
      else high = middle;
    }
    return effect[low] === id ? low : -1;
  };
  return {
    at: (/** @type {number} */ row) => at[row],
    what,
    objects: byObject,
    about: (/** @type {string} */ key) => byObject.get(key) ?? [],
    /** The row that a row follows from, or -1. @param {number} row */
    causeOf: (row) => (Number.isNaN(cause[row]) ? -1 : rowOf(cause[row])),
  };
}

/** The object that a row of causes.csv begins with; empty for the timeline's own. @param {string} what */
export function objectOf(what) {
  const word = what.split(" ", 1)[0];
  return word.includes("/") && !word.endsWith(":") ? word : "";
}

/** What ended pods, in words; others stand as the API names them. */
const DELETIONS = new Map([
  ["TaintManagerEviction", "Evicted by the taint eviction controller"],
  ["EvictionByEvictionAPI", "Evicted through the eviction API, as drains do"],
  ["DeletionByPodGC", "Deleted by the pod garbage collector, as its node is gone"],
  ["PreemptionByScheduler", "Preempted by the scheduler for a pod of higher priority"],
  ["TerminationByKubelet", "Ended by its kubelet"],
  ["NodePressure", "Evicted by its kubelet for lack of resources"],
]);

/**
 * A row of causes.csv as a sentence about its object; empty if it says nothing to people.
 * @param {string} what
 * @returns {Part[]}
 */
export function sentence(what) {
  const key = objectOf(what);
  if (key === "") return [what.replace(/^scenario: /, "")];
  const rest = what.slice(key.length + 1);
  const deletion = /^marked for deletion \((.*)\)$/.exec(rest);
  if (deletion) return [DELETIONS.get(deletion[1]) ?? `Deleted (${deletion[1]})`];
  const bound = /^bound to (\S+)$/.exec(rest);
  if (bound) return ["Bound to ", { key: `node/${bound[1]}` }, " by the scheduler"];
  const condition = /^conditions changed, Ready=(\w+)$/.exec(rest);
  if (condition) return [`Its condition Ready became ${condition[1]}`];
  if (/^[+-]\S+:/.test(rest)) return [rest.split(" ").map((taint) => `${taint[0] === "+" ? "tainted" : "rid of"} ${taint.slice(1)}`).join(", ").replace(/^./, (letter) => letter.toUpperCase())];
  const endpoints = /^has (\d+) ready endpoints$/.exec(rest);
  if (endpoints) return [`Has ${counted(Number(endpoints[1]), "ready endpoint")}`];
  switch (rest) {
    case "conditions changed": return [];
    case "Ready=True": return ["Ready"];
    case "Ready=False": return ["No longer Ready"];
    case "is Running": return ["Its containers run"];
    case "is Failed": return ["Ended as Failed"];
    case "is Succeeded": return ["Ended as Succeeded"];
    case "gone": return ["Its object left the API"];
    default: return [rest.replace(/^./, (letter) => letter.toUpperCase())];
  }
}

/**
 * A row as a clause with its object, for chains: `node/worker-7: Tainted …`.
 * @param {Causes} causes @param {number} row
 * @returns {Part[]}
 */
export function clause(causes, row) {
  const what = causes.what(row);
  const key = objectOf(what);
  const parts = sentence(what);
  if (key === "") return parts;
  return [{ key }, ": ", ...(parts.length === 0 ? ["its conditions changed"] : parts)];
}

/**
 * The rows that a row follows from, the nearest first.
 * @param {Causes} causes @param {number} row
 */
export function chain(causes, row) {
  const found = [];
  for (let cause = causes.causeOf(row); cause >= 0; cause = causes.causeOf(cause)) found.push(cause);
  return found;
}

/** @param {Teller} teller @param {string} key @returns {Step[]} */
function stepsOf({ causes }, key) {
  /** @type {Step[]} */
  const steps = [];
  let last = "";
  for (const row of causes.about(key)) {
    const parts = sentence(causes.what(row));
    // An endpoint slice is written again with the same count for each change of a pod behind it.
    if (parts.length === 0 || (key.startsWith("service/") && causes.what(row) === last)) continue;
    last = causes.what(row);
    steps.push({ at: causes.at(row), parts, row });
  }
  return steps;
}

/**
 * The story of an object.
 * @param {Teller} teller @param {string} key
 * @returns {Story}
 */
export function tell(teller, key) {
  const kind = key.slice(0, key.indexOf("/"));
  if (kind === "node") return nodeStory(teller, key);
  if (kind === "pod" && teller.podsByKey.has(key)) return podStory(teller, key);
  if (kind === "service") return serviceStory(teller, key);
  const workload = teller.model.workloads.byKey.get(key);
  if (workload !== undefined) return workloadStory(teller, key, workload);
  return { key, facts: [], sums: [], steps: stepsOf(teller, key) };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function podStory(teller, key) {
  const { model, replaced, predecessor } = teller;
  const { pods, nodes } = model;
  const facts = [];
  const sums = [];
  const summed = new Set();
  for (const pod of teller.podsByKey.get(key) ?? []) {
    /** @type {Part[]} */
    const fact = ["Of ", { key: pods.workloadKey(pod) }];
    fact.push(...(pods.created[pod] === 0 ? [", there when the run begins"] : [", created at ", { at: pods.created[pod] }]));
    if (pods.node[pod] >= 0) fact.push(", on ", { key: `node/${nodes.names[pods.node[pod]]}` });
    facts.push(fact);
    if (predecessor[pod] >= 0) facts.push(["It replaced ", { key: pods.key(predecessor[pod]) }, ", lost at ", { at: Math.min(pods.deletion[predecessor[pod]], pods.gone[predecessor[pod]]) }]);
    if (replaced[pod] >= 0) facts.push(["It was replaced by ", { key: pods.key(replaced[pod]) }, ...readyAgain(model, replaced[pod])]);
    else if (Number.isFinite(lostAt(model, pod))) facts.push(["Nothing came in its place by the end of the run"]);
    const prose = evictionProse(teller, pod);
    if (prose.length > 0) facts.push(prose);
    const lost = Number.isFinite(lostAt(model, pod)) ? pod : predecessor[pod];
    const terms = summed.has(lost) ? [] : recoveryTerms(teller, lost);
    summed.add(lost);
    if (terms.length > 0) sums.push({ title: terms[terms.length - 1].name === "become Ready" ? "From the failure to Ready again" : "From the failure on; nobody is Ready again", terms });
  }
  return { key, facts, sums, steps: stepsOf(teller, key) };
}

/** @param {Model} model @param {number} pod @returns {Part[]} */
function readyAgain(model, pod) {
  const ready = model.pods.ready[pod];
  return Number.isFinite(ready) ? [", Ready at ", { at: ready }] : [", which was never Ready"];
}

/**
 * The arithmetic of a recovery: each term begins where the one before ends.
 * @param {Teller} teller @param {number} pod The pod that was taken away
 * @returns {Term[]}
 */
export function recoveryTerms(teller, pod) {
  if (pod < 0 || !Number.isFinite(lostAt(teller.model, pod))) return [];
  const { model, replaced } = teller;
  const { pods, end } = model;
  const lost = lostAt(model, pod);
  const terms = pods.cause(pod) === "TaintManagerEviction" ? evictionTerms(teller, pod, lost) : [];
  const next = replaced[pod];
  if (next < 0) return [...terms, { name: "recreate", from: lost, to: end, why: ["nothing came in its place by the end of the run"] }];
  /** @type {[string, number, Part[]][]} */
  const rest = [
    ["recreate", pods.created[next], pods.key(next) === pods.key(pod) ? ["until its controller had made it again: the name was taken until ", { at: pods.gone[pod] }] : ["until its controller had made ", { key: pods.key(next) }]],
    ["schedule", pods.scheduled[next], ["until the scheduler had bound it", ...(pods.node[next] >= 0 ? [" to ", { key: `node/${model.nodes.names[pods.node[next]]}` }] : [])]],
    ["pull and start", pods.started[next], ["until its containers ran"]],
    ["become Ready", pods.ready[next], ["until its probes said so"]],
  ];
  let from = lost;
  for (const [name, at, why] of rest) {
    const isOver = Number.isFinite(at);
    const to = isOver ? Math.max(at, from) : end;
    terms.push({ name: isOver ? name : `${name}: not by the end`, from, to, why });
    if (!isOver) break;
    from = to;
  }
  return terms;
}

/**
 * From the last sign of life of the node to the eviction.
 * @param {Teller} teller @param {number} pod @param {number} lost
 * @returns {Term[]}
 */
function evictionTerms(teller, pod, lost) {
  const { model, timers } = teller;
  const { nodes, pods } = model;
  const node = pods.node[pod];
  if (node < 0) return [];
  const toleration = timers.about(pods.key(pod)).findLast((timer) => timer.timer === "toleration" && timer.end === "fired" && timer.ended <= lost);
  const tainted = toleration ? toleration.set : noExecuteAt(teller, nodes.names[node], lost);
  if (tainted === undefined) return [];
  const unknown = lastChangeTo(nodes, node, tainted);
  const outage = unknown === undefined ? undefined : outageAt(nodes, node, unknown - 1);
  const silence = unknown === undefined ? undefined : timers.about(`node/${nodes.names[node]}`).findLast((timer) => timer.timer === "node-monitor-grace" && timer.ended <= unknown);
  /** @type {Term[]} */
  const terms = [];
  if (silence && unknown !== undefined) {
    const graceEnd = Math.min(silence.set + silence.length, unknown);
    if (outage && outage.began > silence.set) terms.push({ name: "last heartbeat", from: silence.set, to: silence.set, why: ["the last sign of life of ", { key: `node/${nodes.names[node]}` }, "; ", outage.kind, " hit it at ", { at: outage.began }] });
    terms.push({ name: "grace", from: silence.set, to: graceEnd, why: [`${lasting(silence.length)} of silence are put up with (${silence.by || "--node-monitor-grace-period"})`] });
    terms.push({ name: "monitor pass", from: graceEnd, to: unknown, why: ["counted from the pass that saw that heartbeat, until the pass that finds the time is over and writes Ready=Unknown"] });
  } else if (unknown !== undefined) {
    const from = outage ? outage.began : unknown;
    terms.push({ name: "detect", from, to: unknown, why: [...(outage ? [`from ${outage.kind} `] : []), "until the node's condition Ready was no longer True: grace and monitor pass"] });
  }
  if (unknown !== undefined) terms.push({ name: "limiter", from: unknown, to: tainted, why: ["until the NoExecute taint: the node lifecycle controller takes one node of a zone after another"] });
  if (toleration) {
    terms.push({ name: "toleration", from: tainted, to: toleration.due, why: [`${lasting(toleration.length)} for ${toleration.taint}, by ${toleration.by}`] });
    terms.push({ name: "client rate limit", from: toleration.due, to: lost, why: ["until the deletion was through: workers and requests of the controller wait their turn"] });
  } else {
    terms.push({ name: "toleration and client rate limit", from: tainted, to: lost, why: ["until the taint eviction controller had deleted it"] });
  }
  return terms;
}

/**
 * Why a pod was evicted by a taint, in a sentence or two.
 * @param {Teller} teller @param {number} pod
 * @returns {Part[]}
 */
function evictionProse({ model, timers, tables }, pod) {
  const { pods, nodes } = model;
  const lost = lostAt(model, pod);
  const node = pods.node[pod];
  if (pods.cause(pod) !== "TaintManagerEviction" || !Number.isFinite(lost) || node < 0) return [];
  const name = nodes.names[node];
  const toleration = timers.about(pods.key(pod)).findLast((timer) => timer.timer === "toleration" && timer.ended <= lost);
  const tainted = toleration ? toleration.set : noExecuteAt({ tables }, name, lost);
  /** @type {Part[]} */
  const parts = ["Evicted at ", { at: lost }, " by the taint eviction controller"];
  if (tainted === undefined) return parts;
  parts.push(": ", { key: `node/${name}` }, ` had been tainted ${toleration?.taint || "NoExecute"} at `, { at: tainted });
  if (toleration) parts.push(`, and its toleration, by ${toleration.by}, lasts ${lasting(toleration.length)}`);
  const unknown = lastChangeTo(nodes, node, tainted);
  if (unknown === undefined) return [...parts, "."];
  const silence = timers.about(`node/${name}`).findLast((timer) => timer.timer === "node-monitor-grace" && timer.ended <= unknown);
  if (silence) return [...parts, ". The taint came because nothing had been heard of the node since ", { at: silence.set }, `, longer than ${silence.by || "the grace"} allows (${lasting(silence.length)}).`];
  return [...parts, ". The taint came because the node was not Ready from ", { at: unknown }, " on."];
}

/** When a node last got a NoExecute taint before an instant. @param {Pick<Teller, "tables">} teller @param {string} node @param {number} before */
function noExecuteAt({ tables }, node, before) {
  const at = numbers(tables.taints, "time_s");
  const name = texts(tables.taints, "node");
  const effect = texts(tables.taints, "effect");
  const change = texts(tables.taints, "change");
  let found;
  for (let row = 0; row < tables.taints.rows && at[row] <= before; row++) {
    if (effect(row) === "NoExecute" && change(row) === "added" && name(row) === node) found = at[row];
  }
  return found;
}

/** When a node last went from Ready to not Ready by an instant. @param {import("./model.js").Nodes} nodes @param {number} node @param {number} by */
function lastChangeTo(nodes, node, by) {
  let found;
  for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1] && nodes.at[change] <= by; change++) {
    if (nodes.ready[change] !== NODE.TRUE && nodes.ready[change - 1] === NODE.TRUE) found = nodes.at[change];
  }
  return found;
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function nodeStory(teller, key) {
  const { model } = teller;
  const { nodes, pods } = model;
  const name = key.slice(key.indexOf("/") + 1);
  const node = nodes.byName.get(name);
  if (node === undefined) return { key, facts: [], sums: [], steps: stepsOf(teller, key) };
  /** @type {Part[][]} */
  const facts = [[`Zone ${nodes.zones[node] || "–"}, pool ${nodes.pools[node]}`]];
  for (const outage of nodes.outages[node].slice(0, 20)) {
    facts.push([`${outage.kind} hit it from `, { at: outage.began }, " to ", { at: outage.ended }, outage.ended >= model.end ? ", the end of the run" : ""]);
  }
  if (nodes.outages[node].length > 20) facts.push([`and ${counted(nodes.outages[node].length - 20, "more fault")}, in faults.csv`]);
  const taken = [];
  for (let pod = 0; pod < pods.count; pod++) if (pods.node[pod] === node && Number.isFinite(lostAt(model, pod))) taken.push(pod);
  if (taken.length > 0) facts.push([`${counted(taken.length, "pod was", "pods were")} taken away from it: `, ...listed(taken.map((pod) => pods.key(pod)))]);
  const sums = nodes.outages[node].slice(0, 5).flatMap((outage) => {
    const terms = detectionTerms(teller, node, outage);
    return terms.length > 0 ? [{ title: "From the last sign of life to Ready=Unknown", terms }] : [];
  });
  const steps = [...stepsOf(teller, key), ...nodeSteps(teller, node)].sort((a, b) => a.at - b.at || b.row - a.row);
  return { key, facts, sums, steps: withoutRepeats(steps) };
}

/**
 * How a node's failure was found.
 * @param {Teller} teller @param {number} node @param {import("./model.js").Outage} outage
 * @returns {Term[]}
 */
function detectionTerms({ model, timers }, node, outage) {
  const { nodes } = model;
  const key = `node/${nodes.names[node]}`;
  for (const timer of timers.about(key)) {
    if (timer.timer !== "node-monitor-grace" || timer.ended < outage.began || timer.set > outage.ended || !Number.isFinite(timer.ended)) continue;
    const graceEnd = Math.min(timer.set + timer.length, timer.ended);
    return [
      { name: "grace", from: timer.set, to: graceEnd, why: [`last sign of life at `, { at: timer.set }, `; ${lasting(timer.length)} of silence are put up with (${timer.by})`] },
      { name: "monitor pass", from: graceEnd, to: timer.ended, why: ["until the pass of the monitor that found it"] },
    ];
  }
  return [];
}

/** What nodes.csv knows and causes.csv does not say in words. @param {Teller} teller @param {number} node @returns {Step[]} */
function nodeSteps({ model }, node) {
  const { nodes } = model;
  /** @type {Step[]} */
  const steps = [];
  for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1]; change++) {
    if (nodes.ready[change] === nodes.ready[change - 1]) continue;
    steps.push({ at: nodes.at[change], parts: [`Its condition Ready became ${NODE_STATES[nodes.ready[change]]}`], row: -1 });
  }
  return steps;
}

/** @param {Step[]} steps */
function withoutRepeats(steps) {
  const said = new Set();
  return steps.filter((step) => {
    const text = JSON.stringify([step.at, step.parts]);
    return !said.has(text) && said.add(text);
  });
}

/** @param {string[]} keys @returns {Part[]} */
function listed(keys) {
  const shown = keys.slice(0, 12).flatMap((key, index) => (index === 0 ? [{ key }] : [", ", { key }]));
  return keys.length > 12 ? [...shown, ` and ${counted(keys.length - 12, "more pod")}`] : shown;
}

/** @param {Teller} teller @param {string} key @param {number} workload @returns {Story} */
function workloadStory(teller, key, workload) {
  const { model, summary } = teller;
  const { pods } = model;
  const outcome = (summary.workloads ?? []).find((/** @type {any} */ of) => `${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  const gaps = shortages(model.workloads, workload, model.end);
  if (outcome) facts.push([`${outcome.ready} of ${outcome.desired} ready at the end, at least ${outcome.ready_min}; short for ${lasting(outcome.below_desired_s * 1000)} in all`]);
  if (gaps.length === 0) facts.push(["It was never short"]);
  for (const gap of gaps.slice(0, 12)) facts.push([`Short of up to ${gap.missing} from `, { at: gap.from }, " to ", { at: gap.to }, ` (${lasting(gap.to - gap.from)})`]);
  if (gaps.length > 12) facts.push([`and ${counted(gaps.length - 12, "more stretch", "more stretches")}, in workloads.csv`]);
  const members = teller.members(workload);
  facts.push([`Its pods: `, ...listed([...new Set([...members].map((pod) => pods.key(pod)))])]);
  /** @type {Step[]} */
  const steps = stepsOf(teller, key);
  for (const loss of lossesOf(model, teller.replaced, members)) {
    const row = teller.causes.about(pods.key(loss.pod)).find((one) => teller.causes.at(one) === (Number.isFinite(loss.lost) ? loss.lost : loss.from)) ?? -1;
    /** @type {Part[]} */
    const parts = [{ key: pods.key(loss.pod) }];
    if (!Number.isFinite(loss.lost)) parts.push(" was not Ready until ", ...(loss.isOver ? [{ at: loss.to }] : ["the end"]));
    else parts.push(`: ${DELETIONS.get(pods.cause(loss.pod)) ?? pods.cause(loss.pod)} at `, { at: loss.lost }, ...(loss.replacement >= 0 ? ["; ", { key: pods.key(loss.replacement) }, ...readyAgain(model, loss.replacement).map((part) => (part === ", Ready at " ? " Ready at " : part))] : ["; nothing came in its place"]));
    steps.push({ at: loss.from, parts, row });
  }
  steps.sort((a, b) => a.at - b.at);
  const first = lossesOf(model, teller.replaced, members).filter((loss) => Number.isFinite(loss.lost)).sort((a, b) => b.to - b.from - (a.to - a.from))[0];
  const terms = first ? recoveryTerms(teller, first.pod) : [];
  return { key, facts, sums: terms.length > 0 ? [{ title: "Its longest recovery, from the failure on", terms }] : [], steps };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function serviceStory(teller, key) {
  const outcome = (teller.summary.services ?? []).find((/** @type {any} */ of) => `service/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  if (outcome) {
    facts.push([`Without any target for ${lasting(outcome.without_targets_s * 1000)}; traffic lost: ${lasting(outcome.lost_traffic_s * 1000)} worth of all its requests, of which some went to machines that were down for ${lasting(outcome.dead_targets_s * 1000)}`]);
  }
  return { key, facts, sums: [], steps: stepsOf(teller, key) };
}
