// The stories of pods, workloads and nodes. `explain` says the same (src/inspect/story/), in the same words.

import { numbers, texts } from "./data.js";
import { NOTHING_COMES } from "./fates.js";
import { counted } from "./format.js";
import { NODE, NODE_STATES, shortages } from "./model.js";
import { replacements } from "./record.js";
import { detections, endingOf, recoveryOf } from "./recovery.js";
import { budgetStory, containerFacts, jobFacts, serviceStory } from "./told-others.js";
import { byWhom, causeWords, clause, firstHalf, hadBeenReady, listedKeys, longest, objectOf, obstacle, pieceOf, rootOf, rowAt, sentence, stepsOf } from "./story.js";

/** @typedef {import("./story.js").Part} Part */
/** @typedef {import("./story.js").Step} Step */
/** @typedef {import("./story.js").Story} Story */
/** @typedef {import("./story.js").Teller} Teller */

/**
 * The story of an object.
 * @param {Teller} teller @param {string} key
 * @returns {Story}
 */
export function tell(teller, key) {
  const story = storyOf(teller, key);
  return { ...story, facts: [...story.facts, ...trapFacts(teller, key)] };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function storyOf(teller, key) {
  const kind = key.slice(0, key.indexOf("/"));
  if (kind === "node") return nodeStory(teller, key);
  if (kind === "pod" && teller.podsByKey.has(key)) return podStory(teller, key);
  if (kind === "service") return serviceStory(teller, key);
  if (kind === "poddisruptionbudget") return budgetStory(teller, key);
  const workload = teller.model.workloads.byKey.get(key);
  if (workload !== undefined) return workloadStory(teller, key, workload);
  return { key, facts: [], sums: [], steps: stepsOf(teller, key) };
}

/** The traps that decided about an object, or about its pods. @param {Teller} teller @param {string} key @returns {Part[][]} */
function trapFacts({ summary, tables, podsByKey, record, model: { pods } }, key) {
  const [trapName, object] = tables.traps === undefined ? [() => "", () => ""] : [texts(tables.traps, "trap"), texts(tables.traps, "object")];
  const all = Array.from({ length: tables.traps?.rows ?? 0 }, (_, row) => row);
  const isOf = (/** @type {number} */ pod) => pods.workloadKey(pod) === key || record.owner(pod) === key || record.node(pod) === key;
  return (summary.traps ?? []).flatMap((/** @type {any} */ { trap, text, see, objects }) => {
    const decided = all.filter((row) => trapName(row) === trap).map(object);
    if (String(text).split(/[ ,:]/).includes(key)) return [[`A known trap, ${trap}: ${text} (${see})`]];
    if ([...(objects ?? []), ...decided].includes(key)) return [[`A known trap, ${trap}, decided about it, too: ${text} (${see})`]];
    const count = decided.filter((one) => podsByKey.get(one)?.some(isOf)).length;
    return count > 0 ? [[`A known trap, ${trap}, decided about ${counted(count, "pod")} of it: ${text} (${see})`]] : [];
  });
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function podStory(teller, key) {
  const { record, fates, model: { pods, end } } = teller;
  const positions = teller.podsByKey.get(key) ?? [];
  const owners = new Set(positions.map(record.owner));
  const replaced = replacements(teller, Array.from({ length: pods.count }, (_, pod) => pod).filter((pod) => owners.has(record.owner(pod))));
  const predecessor = new Map([...replaced].map(([lost, next]) => [next, lost]));
  /** @type {Part[][]} */
  const facts = [];
  const sums = [];
  const steps = podSteps(teller, key);
  for (const pod of positions) {
    facts.push(whose(teller, pod));
    const before = predecessor.get(pod);
    if (before !== undefined) facts.push(["It came for ", { key: pods.key(before) }, ...(Number.isFinite(record.ended(before)) ? [", lost at ", { at: record.ended(before) }] : [])]);
    facts.push(...pendingFacts(teller, pod));
    steps.push(...firstTry(teller, pod), ...attachments(teller, pod));
    facts.push(...containersOf(teller, pod), ...containerFacts(teller, pod, key));
    const ending = endingOf(teller, pod);
    const next = replaced.get(pod);
    if (ending) {
      facts.push(record.cause(pod) === "TaintManagerEviction" ? ending : [...ending, ...byWhom(teller.causes, rowAt(teller.causes, key, record.ended(pod)))]);
      if (next !== undefined) facts.push(["It was replaced by ", { key: pods.key(next) }, ...(Number.isFinite(pods.ready[next]) ? [", Ready at ", { at: pods.ready[next] }] : Number.isFinite(record.ended(next)) ? [", which was lost, too, at ", { at: record.ended(next) }] : end > pods.created[next] ? [", which was not Ready by the end of the run"] : [])]);
      else if (fates.of(pod)) facts.push([nothingComes(teller, pod)]);
    }
    const sum = pods.takenAway(pod) || next !== undefined ? recoveryOf(teller, pod, replaced) : undefined;
    if (sum) sums.push(sum);
  }
  return { key, facts, sums, steps: steps.sort((a, b) => a.at - b.at) };
}

/** Whose a pod is, and where. @param {Teller} teller @param {number} pod @returns {Part[]} */
function whose({ record, model: { pods } }, pod) {
  const workload = pods.workloadKey(pod);
  return [
    ...(workload.startsWith("pod/") ? ["A pod without a controller"] : ["Of ", { key: workload }]),
    ...(record.isInitial(pod) ? [", there when the run begins"] : [", created at ", { at: pods.created[pod] }]),
    ...(record.node(pod) === "" ? [] : [", on ", { key: record.node(pod) }]),
    ...(record.phase(pod) === "" || Number.isFinite(pods.gone[pod]) ? [] : [`, ${record.phase(pod)} at the end`]),
  ];
}

/** Why nothing came, or is to come, in the place of a pod. @param {Teller} teller @param {number} pod */
function nothingComes({ fates }, pod) {
  const why = NOTHING_COMES.get(fates.of(pod)?.outcome ?? "");
  return why === undefined ? "Nothing came in its place by the end of the run" : `Nothing is to come in its place: ${why}`;
}

/** What a pod's containers have suffered. @param {Teller} teller @param {number} pod @returns {Part[][]} */
function containersOf({ notes, record, model: { pods } }, pod) {
  const last = notes.about(pods.key(pod), "BackOff", "Failed", "OOMKilling").at(-1);
  const restarts = record.restarts(pod);
  if (restarts === 0 && (!last || Number.isFinite(pods.ready[pod]))) return [];
  return [[`Its containers had ${counted(restarts, "restart")}`, ...(last ? ["; last at ", { at: last.at }, `: ${last.message.replace(/\.+$/, "")}`] : [])]];
}

/** What the attach/detach controller told of a pod's volumes. @param {Teller} teller @param {number} pod @returns {Step[]} */
function attachments({ notes, record, model: { pods, end } }, pod) {
  if (record.isInitial(pod) || !Number.isFinite(pods.scheduled[pod])) return [];
  const over = Number.isFinite(pods.gone[pod]) ? pods.gone[pod] : Math.min(pods.finished[pod], end);
  const told = notes.about(pods.key(pod), "FailedAttachVolume", "SuccessfulAttachVolume").filter(({ at }) => pods.scheduled[pod] <= at && at <= over);
  return told.map(({ at, reason, message }) => ({ at, parts: [`${reason}: ${message.replace(/[. ]+$/, "")}`], row: -1 }));
}

/** What its causes say of a pod, and what readiness.csv says of it besides. @param {Teller} teller @param {string} key @returns {Step[]} */
function podSteps(teller, key) {
  const { model, causes } = teller;
  const { pods } = model;
  const told = stepsOf(teller, key);
  const known = new Set(told.map((step) => step.at));
  const ready = new Set(told.filter((step) => causes.what(step.row).endsWith(" Ready=True")).map((step) => step.at));
  for (const pod of teller.podsByKey.get(key) ?? []) {
    let was = false;
    for (let flip = pods.flips[pod]; flip < pods.flips[pod + 1]; flip++) {
      const at = pods.flipAt[flip];
      const is = pods.flipReady[flip] === 1;
      const isTold = at <= 0 || is === was || (is ? ready : known).has(at);
      if (!isTold) told.push({ at, parts: [is ? "Ready" : "No longer Ready"], row: -1 });
      was = is;
    }
  }
  return told;
}

/** A message of the scheduler that a pod finds no node, with its time. @typedef {{at: number, message: string}} Try */

/** When the scheduler found no node for a pod. @param {Teller} teller @param {number} pod @returns {Try[]} */
function triesOf({ notes, record, model: { pods, end } }, pod) {
  const over = Number.isFinite(pods.scheduled[pod]) ? pods.scheduled[pod] : Math.min(record.ended(pod), end);
  return notes.about(pods.key(pod), "FailedScheduling").filter(({ at }) => pods.created[pod] <= at && at <= over);
}

/** What is told of a pod's wait for a node; nothing if it got one at once. @param {Teller} teller @param {number} pod @returns {Part[][]} */
function pendingFacts(teller, pod) {
  const { causes, record, model: { pods, end } } = teller;
  const tries = triesOf(teller, pod);
  const isBound = Number.isFinite(pods.scheduled[pod]);
  if (tries.length === 0 && (isBound || pods.node[pod] >= 0)) return [];
  const until = isBound ? pods.scheduled[pod] : record.ended(pod);
  const over = Math.min(until, end);
  /** @type {Try | undefined} */
  let last = tries.at(-1);
  // What causes.csv says, where no event does, as of scheduling gates.
  for (const row of last ? [] : causes.about(pods.key(pod))) {
    const said = / PodScheduled=False \((?:.*?)\): (.*)$/s.exec(causes.what(row));
    if (causes.at(row) >= pods.created[pod] && said) last = { at: causes.at(row), message: said[1] };
  }
  const first = tries.length > 0 && last && obstacle(tries[0].message) !== obstacle(last.message) ? tries[0] : undefined;
  /** @type {Part[]} */
  const said = ["Pending without a node from ", { at: pods.created[pod] }, ...(Number.isFinite(until) ? [" to ", { at: until }] : [" to the end of the run"]), " (", { lasting: over - pods.created[pod] }, ")"];
  if (record.isInitial(pod) && pods.created[pod] === 0) said.push(", as it was when the run began");
  if (!last) said.push("; no scheduler has tried to place it");
  else {
    if (first) said.push("; what the scheduler said first, at ", { at: first.at }, `: ${obstacle(first.message)}; and last, at `);
    else said.push("; what the scheduler said last, at ");
    said.push({ at: last.at }, `: ${obstacle(last.message)}`);
  }
  const message = obstacle(last?.message ?? "");
  const helps = REMEDIES.filter(([reason]) => message.includes(reason)).map(([, remedy]) => remedy);
  const next = isBound ? gotGoing(teller, pod, last?.at) : helps.length > 0 ? [`What would help: ${helps.join("; ")}`] : undefined;
  return next ? [said, next] : [said];
}

/** What the scheduler says stands in the way, and what would remove it. @type {[string, string][]} */
const REMEDIES = [
  ["Insufficient ", "smaller requests, or a node with that much more free"],
  ["Too many pods", "a node that takes more pods"],
  ["untolerated taint", "a toleration for the taint, or a node without it"],
  ["node(s) were unschedulable", "`kubectl uncordon` of the nodes that are cordoned"],
  ["match Pod's node affinity/selector", "a node with the labels that its node selector or affinity asks for"],
  ["scheduler-enforced node affinity", "a node that the scheduler's `addedAffinity` asks for"],
  ["match pod affinity rules", "room where the pods are that it has to be with"],
  ["anti-affinity rules", "a place without the pods that it may not be with, or a rule that is only preferred"],
  ["missing required label", "nodes with the label of its spread constraint's topologyKey"],
  ["topology spread constraints", "room where fewer of its pods are, a greater maxSkew, or `ScheduleAnyway`"],
  ["free ports", "a node on which its host port is free, or no host port"],
  [" not found", "the claim that it names"],
  ["unbound immediate PersistentVolumeClaims", "a volume, or a class with a provisioner, for its claim"],
  ["available persistent volumes to bind", "a volume that fits its claim, or a class with a provisioner"],
  ["PersistentVolume's node affinity", "room on a node that its volume can be reached from"],
  ["available volume zone", "room in the zone of its volume"],
  ["exceed max volume count", "a node that takes another volume"],
  ["no available disk", "the end of the pod that has its disk"],
  ["ReadWriteOncePod", "the end of the pod that has its volume, or a volume that several may use"],
  ["non-existent pv", "the volume that its claim is bound to"],
  ["no nodes available", "a node"],
  ["scheduling gates", "that whoever set its scheduling gates takes them away"],
];

/** The condition is written within this time of the try. */
const TOLD_WITHIN = 5000;

/** The scheduler's first failed try, where no row of causes.csv tells of it. @param {Teller} teller @param {number} pod @returns {Step[]} */
function firstTry(teller, pod) {
  const { causes, model: { pods } } = teller;
  const first = triesOf(teller, pod)[0];
  if (!first) return [];
  const isTold = causes.about(pods.key(pod)).some((row) => pods.created[pod] <= causes.at(row) && causes.at(row) <= first.at + TOLD_WITHIN && causes.what(row).includes(" PodScheduled=False ("));
  return isTold ? [] : [{ at: first.at, parts: [`No node takes it: ${obstacle(first.message)}`], row: -1 }];
}

/** What the binding of a pod that had waited follows from. @param {Teller} teller @param {number} pod @param {number | undefined} lastTry @returns {Part[] | undefined} */
function gotGoing({ causes, model: { pods, nodes } }, pod, lastTry) {
  const key = pods.key(pod);
  const row = causes.about(key).find((one) => causes.at(one) === pods.scheduled[pod] && causes.what(one).includes(" bound to "));
  if (row === undefined) return undefined;
  const cause = causes.causeOf(row);
  if (cause >= 0 && objectOf(causes.what(cause)) !== key) return ["It got a node because at ", { at: causes.at(cause) }, ": ", ...clause(causes, cause)];
  // It was tried again by the clock: what is new is the node.
  const node = pods.node[pod];
  if (node < 0) return undefined;
  let since = -1;
  for (let change = nodes.offsets[node]; change < nodes.offsets[node + 1]; change++) {
    const isFirst = change === nodes.offsets[node];
    const isFit = nodes.ready[change] === NODE.TRUE && (isFirst || nodes.cordoned[change] === 0);
    const wasFit = isFirst ? nodes.at[change] === 0 : nodes.ready[change - 1] === NODE.TRUE && nodes.cordoned[change - 1] === 0;
    if (isFit && !wasFit && nodes.at[change] <= pods.scheduled[pod] && nodes.at[change] >= (lastTry ?? 0)) since = nodes.at[change];
  }
  return since < 0 ? undefined : ["It got a node when it was tried again: ", { key: `node/${nodes.names[node]}` }, " was there since ", { at: since }];
}

/** How the effect of a fault ends that takes machines for good. */
const FOR_GOOD = " for good";

/** Faults and detections of a node that are told. */
const HITS_TOLD = 12;
const SUMS_TOLD = 3;

/** @param {Teller} teller @param {string} key @returns {Story} */
function nodeStory(teller, key) {
  const { causes, tables, model: { nodes, pods, end } } = teller;
  const node = nodes.byName.get(key.slice(key.indexOf("/") + 1));
  if (node === undefined) return { key, facts: [], sums: [], steps: stepsOf(teller, key) };
  const [kind, effect, object] = ["kind", "effect", "object"].map((column) => texts(tables.faults, column));
  const [began, ended] = [numbers(tables.faults, "began_s"), numbers(tables.faults, "ended_s")];
  const hits = Array.from({ length: tables.faults.rows }, (_, row) => row).filter((row) => object(row) === key);
  /** @type {Part[][]} */
  const facts = [[`Zone ${nodes.zones[node] || "–"}, pool ${nodes.pools[node]}`]];
  if (hits.length > HITS_TOLD) facts.push([`${counted(hits.length, "fault")} hit it`]);
  const told = (/** @type {number} */ row) => /** @type {Part[]} */ ([`${kind(row)} hit it at `, { at: began[row] }, ...hitEnd(effect(row), began[row], ended[row])]);
  facts.push(...longest(hits.map((row) => ({ row, from: began[row], to: Number.isNaN(ended[row]) ? end : ended[row] })), Infinity, "faults.csv", ({ row }) => told(row)));
  facts.push(...spells(teller, node));
  const taken = Array.from({ length: pods.count }, (_, pod) => pod).filter((pod) => pods.node[pod] === node && pods.takenAway(pod));
  if (taken.length > 0) facts.push([`${counted(taken.length, "pod was", "pods were")} taken away from it: `, ...listedKeys(taken.map((pod) => pods.key(pod)))]);
  const steps = stepsOf(teller, key).map((step) => (causes.what(step.row) === `${key} deleted` ? { ...step, parts: [...step.parts, ...byCloud(teller, key, step.at)] } : step));
  const all = [...steps, ...conditionSteps(teller, node)].sort((a, b) => a.at - b.at || b.row - a.row);
  return { key, facts, sums: detections(teller, node).slice(0, SUMS_TOLD), steps: withoutRepeats(all) };
}

/** Until when a fault lasted. What takes a machine for good ends with it, and not when all is well again. @param {string} effect @param {number} began @param {number} ended @returns {Part[]} */
function hitEnd(effect, began, ended) {
  if (Number.isNaN(ended)) return [", to the end of the run"];
  if (effect.endsWith(FOR_GOOD)) return ended > began ? ["; its machine was gone for good at ", { at: ended }] : ["; its machine was gone for good"];
  // What is over at once leaves a machine that is gone, or that is on its way back.
  return ended > began ? [", until ", { at: ended }] : [];
}

/** That the cloud node lifecycle controller removed a node at an instant, if it told so. @param {Teller} teller @param {string} key @param {number} at @returns {Part[]} */
function byCloud({ notes }, key, at) {
  const isTold = notes.about(key, "DeletingNode").some((event) => event.at === at);
  return isTold ? [" by the cloud node lifecycle controller, as the cloud no longer has its machine"] : [];
}

/** Who removed a node at an instant. @param {Teller} teller @param {string} key @param {number} at @returns {Part[]} */
function byRemover(teller, key, at) {
  const { causes } = teller;
  const cloud = byCloud(teller, key, at);
  const row = causes.about(key).find((one) => causes.at(one) === at && causes.what(one).endsWith(" deleted"));
  return cloud.length > 0 || row === undefined ? cloud : byWhom(causes, row);
}

/** The times in which a node was not Ready, or was not there. @param {Teller} teller @param {number} node @returns {Part[][]} */
function spells(teller, node) {
  const { model: { nodes, end } } = teller;
  const key = `node/${nodes.names[node]}`;
  const isAbsent = (/** @type {number} */ change) => nodes.ready[change] === NODE.ABSENT;
  const begin = (/** @type {number} */ change) => /** @type {Part[]} */ ([isAbsent(change) ? "Not there from " : `Not Ready (${NODE_STATES[nodes.ready[change]]}) from `, { at: nodes.at[change] }]);
  /** @type {{from: number, to: number, says: Part[]}[]} */
  const found = [];
  let since = -1;
  // Whether the object that is there has been Ready.
  let wasReady = false;
  for (let change = nodes.offsets[node]; change < nodes.offsets[node + 1]; change++) {
    const isReady = nodes.ready[change] === NODE.TRUE;
    const again = wasReady ? ", Ready again at " : ", first Ready at ";
    wasReady = isReady || (wasReady && !isAbsent(change));
    if (since < 0) {
      if (!isReady) since = change;
      continue;
    }
    const isTurn = isReady || isAbsent(since) !== isAbsent(change);
    if (!isTurn) continue;
    const until = isAbsent(since) && !isAbsent(change) ? " until it registered at " : isReady ? again : " until its object was deleted at ";
    found.push({ from: nodes.at[since], to: nodes.at[change], says: [...begin(since), until, { at: nodes.at[change] }, ...(isAbsent(change) ? byRemover(teller, key, nodes.at[change]) : [])] });
    since = isReady ? -1 : change;
  }
  const said = longest(found, Infinity, "nodes.csv", ({ says }) => says);
  if (since < 0 || (nodes.at[since] >= end && found.length > 0)) return said;
  const isNews = isAbsent(since) && found.at(-1)?.to !== nodes.at[since] && nodes.at[since] > 0;
  return [...said, [...begin(since), " to the end of the run", ...(isNews ? [": deleted", ...byRemover(teller, key, nodes.at[since])] : [])]];
}

/** What nodes.csv knows and causes.csv does not say in words. @param {Teller} teller @param {number} node @returns {Step[]} */
function conditionSteps({ model: { nodes } }, node) {
  /** @type {Step[]} */
  const steps = [];
  for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1]; change++) {
    // The end of the object is told in words.
    if (nodes.ready[change] === nodes.ready[change - 1] || nodes.ready[change] === NODE.ABSENT) continue;
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

/** Pods of which a workload's story tells what their containers waited for. */
const WAITS_TOLD = 6;

/** @param {Teller} teller @param {string} key @param {number} workload @returns {Story} */
function workloadStory(teller, key, workload) {
  const { record, model: { pods } } = teller;
  const isMember = (/** @type {number} */ pod) => pods.workloadKey(pod) === key || record.owner(pod) === key;
  const members = Array.from({ length: pods.count }, (_, pod) => pod).filter(isMember);
  const replaced = replacements(teller, members);
  const steps = [...stepsOf(teller, key), ...losses(teller, members, replaced)];
  if (key.startsWith("job/")) return { key, facts: jobFacts(teller, key, members), sums: [], steps: steps.sort((a, b) => a.at - b.at) };
  const facts = [...shortageFacts(teller, key, workload), ...withoutNodes(teller, members), ...waitedFacts(teller, members), ...heldUpFacts(teller, members), ...refusedFacts(teller, key)];
  const waits = members.map((pod) => ({ pod, told: containerFacts(teller, pod, pods.key(pod)) })).filter(({ told }) => told.length > 0);
  for (const { pod, told } of waits.slice(0, WAITS_TOLD)) for (const fact of told) facts.push([{ key: pods.key(pod) }, ": ", ...fact]);
  steps.push(...returns(teller, members));
  let slowest;
  for (const pod of members) {
    const sum = pods.takenAway(pod) ? recoveryOf(teller, pod, replaced) : undefined;
    if (sum && (!slowest || togetherOf(sum) >= togetherOf(slowest))) slowest = sum;
  }
  const sums = slowest ? [{ title: `Its longest recovery. ${slowest.title}`, terms: slowest.terms }] : [];
  return { key, facts, sums, steps: steps.sort((a, b) => a.at - b.at) };
}

/** How long a sum is. @param {import("./recovery.js").Sum} sum */
function togetherOf({ terms }) {
  return terms.length === 0 ? 0 : terms[terms.length - 1].to - terms[0].from;
}

/** When a workload was short. @param {Teller} teller @param {string} key @param {number} workload @returns {Part[][]} */
function shortageFacts({ model, summary }, key, workload) {
  const { workloads, end } = model;
  const outcome = (summary.workloads ?? []).find((/** @type {any} */ of) => `${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}` === key);
  const gaps = shortages(model, workload);
  const together = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const desired = workloads.desired[workloads.offsets[workload + 1] - 1] ?? 0;
  /** @type {Part[]} */
  const first = [`${outcome?.ready ?? 0} of ${outcome?.desired ?? desired} ready at the end`, ...(gaps.length > 1 ? [`; short ${gaps.length} times, for `, { lasting: together }, " in all"] : [])];
  const told = (/** @type {typeof gaps[number]} */ { missing, from }) => /** @type {Part[]} */ ([`Short of up to ${missing} from `, { at: from }]);
  const over = gaps.filter(({ to }) => to < end);
  const open = gaps.filter(({ to }) => to >= end);
  return [
    first,
    ...(gaps.length === 0 ? [["It was never short"]] : []),
    ...longest(over, Infinity, "workloads.csv", (gap) => [...told(gap), " to ", { at: gap.to }, " (", { lasting: gap.to - gap.from }, "), whole again then"]),
    ...open.map((gap) => [...told(gap), " to the end of the run (", { lasting: end - gap.from }, "): not whole again"]),
  ];
}

/** That the API server lets a workload make no more of the pods that it wants at the end. @param {Teller} teller @param {string} key @returns {Part[][]} */
function refusedFacts({ summary }, key) {
  const it = (summary.refused_workloads ?? []).find((/** @type {any} */ of) => `${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}` === key);
  return it ? [["At the end it wants more pods than the API server lets it make, for ", { lasting: Math.round(it.refused_s * 1000) }, `: ${String(it.message).replace(/\.+$/, "")}`]] : [];
}

/** A workload's pods that have no node at the end, by what they lack. @param {Teller} teller @param {number[]} members @returns {Part[][]} */
function withoutNodes(teller, members) {
  const { record, model: { pods } } = teller;
  const waiting = members.filter((pod) => pods.node[pod] < 0 && !Number.isFinite(record.ended(pod)));
  if (waiting.length === 0) return [];
  return [[`${counted(waiting.length, "pod has", "pods have")} no node at the end: `, ...listedKeys(waiting.map((pod) => pods.key(pod)))], ...pendingFacts(teller, waiting[0])];
}

/** A workload's pods that have a node, and had to wait for it. @param {Teller} teller @param {number[]} members @returns {Part[][]} */
function waitedFacts(teller, members) {
  const { model: { pods } } = teller;
  const wait = (/** @type {number} */ pod) => pods.scheduled[pod] - pods.created[pod];
  const waited = members.filter((pod) => Number.isFinite(pods.scheduled[pod]) && triesOf(teller, pod).length > 0).sort((a, b) => wait(b) - wait(a));
  if (waited.length === 0) return [];
  return [[`${counted(waited.length, "pod")} had to wait for a node, the longest first: `, ...listedKeys(waited.map((pod) => pods.key(pod)))], ...pendingFacts(teller, waited[0])];
}

/** What a row says that a container waits for. @param {string} what */
function waitsFor(what) {
  const verb = [" waits: ", ", its containers wait: "].find((words) => what.includes(words));
  return verb === undefined ? undefined : what.slice(what.indexOf(verb) + verb.length);
}

/** The pods of a workload by name, in the order of the names. @param {Teller} teller @param {number[]} members */
function namesOf({ model: { pods } }, members) {
  return [...new Set(members.map((pod) => pods.key(pod)))].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

/** What containers of a workload's pods waited for, as often as a row says so. @param {Teller} teller @param {number[]} members @returns {Part[][]} */
function heldUpFacts(teller, members) {
  const { causes } = teller;
  /** @type {Map<string, {from: number, to: number, pods: Set<string>}>} */
  const found = new Map();
  for (const name of namesOf(teller, members)) {
    for (const row of causes.about(name)) {
      const what = waitsFor(causes.what(row));
      if (what === undefined) continue;
      const at = causes.at(row);
      const spell = found.get(what) ?? { from: at, to: at, pods: new Set() };
      found.set(what, { from: Math.min(spell.from, at), to: Math.max(spell.to, at), pods: spell.pods.add(name) });
    }
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([what, { from, to, pods }]) => [`Containers of ${counted(pods.size, "pod")} waited, ${what}, from `, { at: from }, ...(to > from ? [", last told at ", { at: to }] : []), ": ", ...listedKeys([...pods].sort())]);
}

/** The pods that a workload lost, those of one fate together: what ended them, how, where, and where the chain begins. @param {Teller} teller @param {number[]} members @param {Map<number, number>} replaced @returns {Step[]} */
function losses(teller, members, replaced) {
  const { causes, record, model: { pods } } = teller;
  /** @type {Map<string, number[]>} */
  const fates = new Map();
  for (const pod of members) {
    const at = record.ended(pod);
    if (!Number.isFinite(at)) continue;
    // One that ended by itself did what it was there for; one that was deleted ends well, too, if its containers do.
    if (record.phase(pod) === "Succeeded" && !pods.takenAway(pod) && !Number.isFinite(pods.deletion[pod])) continue;
    const row = rowAt(causes, pods.key(pod), at);
    const fate = [record.cause(pod), pods.takenAway(pod), row < 0 ? -1 : rootOf(causes, row), record.node(pod)].join("\n");
    fates.set(fate, [...(fates.get(fate) ?? []), pod]);
  }
  return [...fates.values()].map((lost) => lossOf(teller, lost, replaced));
}

/** @param {Teller} teller @param {number[]} lost Pods of one fate @param {Map<number, number>} replaced @returns {Step} */
function lossOf(teller, lost, replaced) {
  const { causes, fates, record, model: { pods } } = teller;
  lost.sort((a, b) => record.ended(a) - record.ended(b));
  const [first, last] = [lost[0], lost[lost.length - 1]];
  const at = record.ended(first);
  const [done, why] = firstHalf(causeWords(record.cause(first), pods.takenAway(first)));
  const came = lost.flatMap((pod) => (replaced.has(pod) ? [{ lost: pod, next: /** @type {number} */ (replaced.get(pod)) }] : []));
  const missing = lost.filter((pod) => !replaced.has(pod) && fates.of(pod) && !NOTHING_COMES.has(fates.of(pod)?.outcome ?? "")).length;
  /** @type {Part[]} */
  const parts = [
    ...listedKeys(lost.map((pod) => pods.key(pod))), ...(record.node(first) === "" ? [] : [" on ", { key: record.node(first) }]), `: ${done}`,
    ...(record.ended(last) > at ? [", the last at ", { at: record.ended(last) }] : []), why, ...inTheirPlace(teller, lost.length, came, missing),
  ];
  return { at, parts, row: rowAt(causes, pods.key(first), at) };
}

/** What came for so many lost pods, and how long each part of that took; for how many it is still to come. @param {Teller} teller @param {number} lost @param {{lost: number, next: number}[]} came @param {number} missing @returns {Part[]} */
function inTheirPlace({ fates, record, model: { pods } }, lost, came, missing) {
  if (came.length === 0) return missing > 0 ? ["; nothing came in its place"] : [];
  const next = came.map((pair) => pair.next);
  /** @type {Part[]} */
  const said = [lost === 1 ? "; in its place " : "; in their place ", ...listedKeys(next.map((pod) => pods.key(pod))), missing > 0 ? `; for ${missing} nothing came` : ""];
  const ready = next.map((pod) => pods.ready[pod]).filter(Number.isFinite);
  if (ready.length === 0) return [...said, next.every((pod) => Number.isFinite(record.ended(pod))) ? ", lost before it was Ready" : ", not Ready by the end"];
  said.push(ready.length === next.length ? ", Ready at " : ", not all of them Ready, the last at ", { at: Math.max(...ready) });
  const most = (/** @type {number[]} */ lengths) => Math.max(0, ...lengths.filter(Number.isFinite));
  const pieces = (/** @type {number} */ pod, /** @type {number[]} */ phases) => {
    const fate = fates.of(pod);
    return fate ? phases.reduce((sum, phase) => sum + pieceOf(fate, phase), 0) : 0;
  };
  const volumes = most(came.map((pair) => pieces(pair.lost, [6, 7])));
  said.push(next.length === 1 ? " (schedule " : " (at the longest: schedule ", { lasting: most(next.map((pod) => pods.scheduled[pod] - pods.created[pod])) });
  if (volumes > 0) said.push(", attach and notice volumes ", { lasting: volumes });
  said.push(", pull and start ", { lasting: most(came.map((pair) => Math.max(0, pods.started[pair.next] - pods.scheduled[pair.next] - pieces(pair.lost, [5, 6, 7])))) });
  said.push(", become Ready ", { lasting: most(next.map((pod) => Math.max(0, pods.ready[pod] - pods.started[pod]))) }, ")");
  return said;
}

/** Pods that were not Ready for a time and came back by themselves, or did not, those with one root together: by what brought them back. @param {Teller} teller @param {number[]} members @returns {Step[]} */
function returns(teller, members) {
  const { causes } = teller;
  /** @type {Map<string, {lost: number, back: number, row: number, from: number, to: number, pods: string[]}>} */
  const found = new Map();
  /** @type {Map<number, {row: number, pods: string[]}>} */
  const stay = new Map();
  for (const name of namesOf(teller, members)) {
    let began = -1;
    for (const row of causes.about(name)) {
      const what = causes.what(row);
      if (what.endsWith(" created") || what.endsWith(" gone") || what.includes(" marked for deletion")) began = -1;
      else if ((what.endsWith(" Ready=False") || waitsFor(what) !== undefined) && hadBeenReady(causes, row)) began = began < 0 ? row : began;
      else if (what.endsWith(" Ready=True") && began >= 0) {
        const [lost, back] = [rootOf(causes, began), rootOf(causes, row)];
        const spell = found.get(`${lost}/${back}`) ?? { lost, back, row: began, from: causes.at(began), to: causes.at(row), pods: [] };
        spell.from = Math.min(spell.from, causes.at(began));
        spell.to = Math.max(spell.to, causes.at(row));
        spell.pods.push(name);
        found.set(`${lost}/${back}`, spell);
        began = -1;
      }
    }
    if (began < 0) continue;
    const root = rootOf(causes, began);
    const known = stay.get(root);
    stay.set(root, { row: known ? Math.min(known.row, began) : began, pods: [...(known?.pods ?? []), name] });
  }
  const stays = [...stay.values()].map(({ row, pods }) => ({ at: causes.at(row), parts: [...listedKeys(pods), ": not Ready, and not back by the end of the run"], row }));
  const backs = [...found.values()].map(({ lost, back, row, from, to, pods }) => ({ at: from, parts: [...listedKeys(pods), ": not Ready, and back ", ...broughtBack(teller, lost, back, to)], row }));
  return [...backs, ...stays];
}

/** What brought pods back. @param {Teller} teller @param {number} lost @param {number} back @param {number} to @returns {Part[]} */
function broughtBack({ causes }, lost, back, to) {
  if (back === lost || objectOf(causes.what(back)) !== "") return ["by itself at ", { at: to }];
  const action = sentence(causes, back).join("");
  const fault = action.endsWith(" ends") ? action.slice(0, -" ends".length) : "";
  return ["at ", { at: to }, fault ? `, after the end of ${fault} at ` : `, because of ${action} at `, { at: causes.at(back) }];
}
