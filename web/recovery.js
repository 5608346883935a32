// The arithmetic of a recovery, term by term: last heartbeat + grace + monitor pass + limiter + toleration + client rate limit + start = Ready
// again. Each term begins where the one before ends. `explain` says the same (src/inspect/story/arithmetic.rs).

import { numbers, texts } from "./data.js";
import { NOTHING_COMES } from "./fates.js";
import { NODE } from "./model.js";
import { causeWords, firstHalf, pieceOf } from "./story.js";

/** @typedef {import("./story.js").Part} Part */
/** @typedef {import("./story.js").Teller} Teller */
/** @typedef {import("./timers.js").Timer} Timer */

/**
 * @typedef {object} Term A part of a sum
 * @property {string} name
 * @property {number} from
 * @property {number} to
 * @property {boolean} isTold Whether a table has the instant at which it ends
 * @property {Part[]} why
 */

/** @typedef {{title: string, terms: Term[]}} Sum */

/** The process of the control plane that has to end a term, by the term's name. @type {Record<string, string>} */
const ENDED_BY = { "monitor pass": "controller-manager", limiter: "controller-manager", notice: "controller-manager", "client rate limit": "controller-manager", recreate: "controller-manager", schedule: "scheduler" };

/**
 * A term in parts: as long as the process that has to end it is down, its outage is to blame.
 * @param {{tables: Record<string, import("./data.js").Table>, model: {end: number}}} teller @param {Term} term
 * @returns {Term[]}
 */
export function withOutages({ tables, model }, term) {
  const process = ENDED_BY[term.name];
  if (process === undefined) return [term];
  const [kind, object] = [texts(tables.faults, "kind"), texts(tables.faults, "object")];
  const [began, ended] = [numbers(tables.faults, "began_s"), numbers(tables.faults, "ended_s")];
  /** @type {Term[]} */
  const parts = [];
  let last = term.from;
  for (let row = 0; row < tables.faults.rows; row++) {
    const to = Number.isNaN(ended[row]) ? model.end : ended[row];
    if (object(row) !== `process/kube-${process}` || to <= last || began[row] >= term.to) continue;
    if (began[row] > last) parts.push({ ...term, from: last, to: began[row] });
    last = Math.max(last, began[row]);
    parts.push({ name: `${process} down`, from: last, to: Math.min(to, term.to), isTold: true, why: [`nobody did it: ${kind(row)} of ${object(row)} from `, { at: began[row] }, " to ", Number.isNaN(ended[row]) ? "the end of the run" : { at: to }] });
    last = Math.min(to, term.to);
  }
  if (last < term.to || parts[parts.length - 1]?.name !== `${process} down`) parts.push({ ...term, from: last });
  return parts;
}

/** Terms that are laid end to end. @param {Teller} teller @param {number} begin */
function laid(teller, begin) {
  /** @type {Term[]} */
  const terms = [];
  let last = begin;
  return {
    terms,
    last: () => last,
    until(/** @type {string} */ name, /** @type {number} */ at, /** @type {Part[]} */ why) {
      const to = Math.max(at, last);
      // An outage that ends with the term has said it all.
      if (to === last && ENDED_BY[name] !== undefined && terms[terms.length - 1]?.name === `${ENDED_BY[name]} down`) return;
      terms.push(...withOutages(teller, { name, from: last, to, isTold: true, why }));
      last = to;
    },
    /** A term whose end is in no table. @param {string} name @param {number} takes @param {Part[]} why */
    lasting(name, takes, why) {
      terms.push({ name, from: last, to: last + takes, isTold: false, why });
      last += takes;
    },
  };
}

/** Who gives a toleration. @param {string} by */
const saidBy = (by) => (by === "spec" ? "of its own spec" : `by ${by}`);

/**
 * @typedef {object} Eviction What the eviction of a pod by a taint was made of
 * @property {string} node Its key
 * @property {number} tainted
 * @property {string} taint
 * @property {boolean} byController
 * @property {Timer | undefined} toleration
 * @property {number | undefined} notReady When the node was Ready no longer, if the taint came of that
 * @property {Timer | undefined} silence
 */

/**
 * What is known of an eviction by a taint.
 * @param {Teller} teller @param {number} pod
 * @returns {Eviction | undefined}
 */
export function evictionOf({ model, timers, tables, record }, pod) {
  const { pods, nodes } = model;
  const lost = pods.deletion[pod];
  const node = pods.node[pod];
  if (!Number.isFinite(lost) || record.cause(pod) !== "TaintManagerEviction" || node < 0) return undefined;
  const toleration = timers.about(pods.key(pod)).findLast((timer) => timer.timer === "toleration" && timer.end === "fired" && timer.ended <= lost);
  const by = toleration ? toleration.set : lost;
  const at = numbers(tables.taints, "time_s");
  const [name, key, effect, change, who] = ["node", "key", "effect", "change", "by"].map((column) => texts(tables.taints, column));
  let taint = -1;
  for (let row = 0; row < tables.taints.rows && at[row] <= by; row++) if (name(row) === nodes.names[node] && effect(row) === "NoExecute" && change(row) !== "removed") taint = row;
  if (taint < 0) return undefined;
  const byController = who(taint) === "node-controller";
  const notReady = byController ? lastTurn(nodes, node, at[taint]) : undefined;
  const silences = notReady === undefined ? [] : timers.about(`node/${nodes.names[node]}`);
  const silence = silences.findLast((timer) => timer.timer === "node-monitor-grace" && timer.end === "fired" && timer.ended <= Number(notReady));
  // An older silence tells nothing of this one.
  const isOfIt = silence && Number(notReady) - silence.ended < 1000;
  return { node: `node/${nodes.names[node]}`, tainted: at[taint], taint: `${key(taint)}:${effect(taint)}`, byController, toleration, notReady, silence: isOfIt ? silence : undefined };
}

/** When a node last went from Ready to not Ready by an instant. @param {import("./model.js").Nodes} nodes @param {number} node @param {number} by */
function lastTurn(nodes, node, by) {
  let found;
  for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1] && nodes.at[change] <= by; change++) {
    if (nodes.ready[change] !== NODE.TRUE && nodes.ready[change - 1] === NODE.TRUE) found = nodes.at[change];
  }
  return found;
}

/** Why a pod was evicted by a taint, in a sentence or two. @param {Eviction} eviction @param {number} lost @returns {Part[]} */
export function evictionProse({ node, tainted, taint, toleration, notReady, silence }, lost) {
  /** @type {Part[]} */
  const said = ["Evicted at ", { at: lost }, " by the taint eviction controller: ", { key: node }, ` had been tainted ${taint} at `, { at: tainted }];
  if (toleration) said.push(`, and its toleration, ${saidBy(toleration.by)}, lasts `, { lasting: toleration.length });
  else said.push(", which it does not tolerate");
  if (silence) said.push(". The taint came because nothing had been heard of the node since ", { at: silence.set }, `, longer than ${silence.by || "the grace"} allows (`, { lasting: silence.length }, ")");
  else if (notReady !== undefined) said.push(". The taint came because the node was not Ready from ", { at: notReady }, " on");
  return said;
}

/** From the last sign of life of a node to Ready=Unknown. @param {ReturnType<typeof laid>} terms @param {Timer} silence @param {number} unknown @param {string} node */
function detection(terms, silence, unknown, node) {
  terms.until("last heartbeat", silence.set, ["the last sign of life of ", { key: node }]);
  /** @type {Part[]} */
  const putUp = [{ lasting: silence.length }, ` of silence are put up with (${silence.by})`];
  // What was last heard before the run has no time in it.
  if (silence.set + silence.length <= unknown) {
    terms.lasting("grace", silence.length, putUp);
    terms.until("monitor pass", unknown, ["counted from the pass that saw that heartbeat, until the pass that finds the time is over and writes Ready=Unknown"]);
  } else terms.until("grace and monitor pass", unknown, putUp);
}

/** From the last sign of life of the node to the eviction. @param {Teller} teller @param {Eviction} eviction @param {number} lost */
function evictionTerms(teller, { node, tainted, taint, byController, toleration, notReady, silence }, lost) {
  const terms = laid(teller, silence?.set ?? notReady ?? tainted);
  if (silence && notReady !== undefined) detection(terms, silence, notReady, node);
  if (byController) terms.until("limiter", tainted, ["until the NoExecute taint: the node lifecycle controller takes one node of a zone after another"]);
  else terms.until("taint", tainted, [{ key: node }, ` is tainted ${taint}`]);
  if (toleration) {
    if (toleration.set > tainted) terms.until("notice", toleration.set, ["until the taint eviction controller counts: it has seen the taint, or has begun anew"]);
    terms.until("toleration", toleration.due, [{ lasting: toleration.length }, ` for ${toleration.taint}, ${saidBy(toleration.by)}`]);
  }
  terms.until("client rate limit", lost, ["until the deletion was through: workers and requests of the controller wait their turn"]);
  return terms;
}

/** From when a pod stopped to serve until it was lost otherwise than by a taint. @param {Teller} teller @param {number} pod @param {number} lost */
function lossTerms(teller, pod, lost) {
  const { fates, record, model: { pods } } = teller;
  const fate = fates.of(pod);
  if (!fate || fate.from >= lost) return laid(teller, lost);
  const terms = laid(teller, fate.from);
  const down = pieceOf(fate, 0);
  if (down > 0) {
    const noticed = teller.causes.about(pods.key(pod)).map((row) => teller.causes.at(row)).find((at) => Math.abs(at - fate.from - down) <= 2) ?? lost;
    terms.until("detect", Math.min(noticed, lost), [...(record.node(pod) === "" ? ["its machine was down"] : [{ key: record.node(pod) }, " was down"]), ", and it still counted as Ready"]);
  }
  if (terms.last() < lost) {
    const cause = record.cause(pod);
    const ended = cause === "Failed" ? "failed" : `was ${causeWords(cause, pods.takenAway(pod)).replace(/^./u, (letter) => letter.toLowerCase())}`;
    terms.until("wait", lost, [`not Ready, until it ${ended}`]);
  }
  return terms;
}

/** Taints that DaemonSets tolerate, whatever their templates say. */
const TOLERATED = "node.kubernetes.io/";

/**
 * When the node of a DaemonSet's pod that was lost came to be rid of a taint, until which its DaemonSet may have wanted no other there.
 * @param {Teller} teller @param {number} pod @param {number} lost @param {number} next
 * @returns {{at: number, why: Part[]} | undefined}
 */
function ridOfTaint({ tables, record, model: { pods } }, pod, lost, next) {
  if (!record.owner(pod).startsWith("daemonset/") || record.node(pod) === "") return undefined;
  const at = numbers(tables.taints, "time_s");
  const [node, key, effect, change] = ["node", "key", "effect", "change"].map((column) => texts(tables.taints, column));
  for (let row = tables.taints.rows - 1; row >= 0; row--) {
    if (`node/${node(row)}` !== record.node(pod) || change(row) !== "removed" || effect(row) === "PreferNoSchedule" || key(row).startsWith(TOLERATED)) continue;
    if (at[row] < lost || at[row] > pods.created[next]) continue;
    return { at: at[row], why: ["a DaemonSet makes no pod for ", { key: record.node(pod) }, `, as long as that is tainted ${key(row)}:${effect(row)}`] };
  }
  return undefined;
}

/** What held up a pod that was bound, each with how long: in the order in which it does. @param {Teller} teller @param {number} of @param {number} next @returns {{name: string, takes: number, why: Part[]}[]} */
function heldUp({ fates, notes, record, model: { pods } }, of, next) {
  const fate = fates.of(of);
  if (!fate) return [];
  const since = Math.min(pods.scheduled[next], Math.max(pods.created[next], pods.scheduled[next]));
  const told = (/** @type {string} */ reason) => notes.about(pods.key(next), reason).find(({ at }) => at >= since);
  const [failed, attached] = ["FailedAttachVolume", "SuccessfulAttachVolume"].map(told);
  /** @type {{name: string, takes: number, why: Part[]}[]} */
  const all = [
    { name: "dead node", takes: pieceOf(fate, 5), why: [{ key: record.node(next) }, " was down, which nobody had noticed"] },
    { name: "attach volumes", takes: pieceOf(fate, 6), why: ["until its volumes were attached to ", { key: record.node(next) }, ...(failed ? ["; FailedAttachVolume at ", { at: failed.at }, `: ${failed.message.replace(/[. ]+$/, "")}`] : [])] },
    { name: "notice volumes", takes: pieceOf(fate, 7), why: ["until its kubelet noticed that they are attached, for which it looks ever more seldom", ...(attached ? ["; SuccessfulAttachVolume at ", { at: attached.at }] : [])] },
  ];
  return all.filter(({ takes }) => takes > 0);
}

/** How a pod came for another; whether it was Ready. @param {Teller} teller @param {ReturnType<typeof laid>} terms @param {number} of @param {number} next */
function beganAnew(teller, terms, of, next) {
  const { record, model: { pods, end } } = teller;
  const over = Math.min(record.ended(next), end);
  const unlessLost = (/** @type {Part[]} */ why) => (Number.isFinite(record.ended(next)) ? [...why, "; it was lost before"] : why);
  const rid = ridOfTaint(teller, of, terms.last(), next);
  if (rid) terms.until("node tainted", rid.at, rid.why);
  /** @type {[string, number, Part[]][]} */
  const rest = [
    ["recreate", pods.created[next], pods.key(next) === pods.key(of) && Number.isFinite(pods.gone[of]) ? ["until its controller had made it again: the name was taken until ", { at: pods.gone[of] }] : ["until its controller had made ", { key: pods.key(next) }]],
    ["schedule", pods.scheduled[next], record.node(next) === "" ? ["until the scheduler had bound it"] : ["until the scheduler had bound it to ", { key: record.node(next) }]],
    ["pull and start", pods.started[next], ["until its containers ran"]],
    ["become Ready", pods.ready[next], ["until its probes said so"]],
  ];
  for (const [name, at, why] of rest) {
    for (const { name: part, takes, why: reason } of name === "pull and start" ? heldUp(teller, of, next) : []) {
      const isLast = !Number.isFinite(at) && terms.last() + takes >= over;
      terms.lasting(isLast ? `${part}: not done` : part, takes, isLast ? unlessLost(reason) : reason);
      if (isLast) return false;
    }
    if (!Number.isFinite(at)) {
      terms.until(`${name}: not done`, over, unlessLost(why));
      return false;
    }
    terms.until(name, at, why);
  }
  return true;
}

/**
 * From the failure to Ready again, by way of all that came and ended before they were; none for a pod that is not lost, or for which nothing is
 * to come.
 * @param {Teller} teller @param {number} pod @param {Map<number, number>} replaced Who came for whom
 * @returns {Sum | undefined}
 */
export function recoveryOf(teller, pod, replaced) {
  const { fates, record, model: { end } } = teller;
  const fate = fates.of(pod);
  const lost = fate ? fate.lost : record.ended(pod);
  if (!Number.isFinite(lost) || (!replaced.has(pod) && fate && NOTHING_COMES.has(fate.outcome))) return undefined;
  const eviction = evictionOf(teller, pod);
  const terms = eviction ? evictionTerms(teller, eviction, lost) : lossTerms(teller, pod, lost);
  if (!replaced.has(pod)) terms.until("recreate", end, ["nothing came in its place by the end of the run"]);
  let isOver = false;
  for (let of = pod, next = replaced.get(of); next !== undefined && !isOver; of = next, next = replaced.get(of)) isOver = beganAnew(teller, terms, of, next);
  const begin = eviction?.silence ? "From the last sign of life" : eviction?.notReady === undefined ? "From the taint" : "From the failure";
  const from = eviction ? begin : fate && fate.from < lost ? "From the failure" : "From its end";
  return { title: isOver ? `${from} to Ready again` : `${from} on; nobody is Ready again`, terms: terms.terms };
}

/** How a node's silence was found out, each time. @param {Teller} teller @param {number} node @returns {Sum[]} */
export function detections(teller, node) {
  const { timers, model: { nodes } } = teller;
  const key = `node/${nodes.names[node]}`;
  /** @type {Sum[]} */
  const sums = [];
  for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1]; change++) {
    if (nodes.ready[change - 1] !== NODE.TRUE || nodes.ready[change] !== NODE.UNKNOWN) continue;
    const unknown = nodes.at[change];
    const silence = timers.about(key).find((timer) => timer.timer === "node-monitor-grace" && timer.ended <= unknown && unknown - timer.ended < 1000);
    if (!silence) continue;
    const terms = laid(teller, silence.set);
    detection(terms, silence, unknown, key);
    sums.push({ title: "From the last sign of life to Ready=Unknown", terms: terms.terms });
  }
  return sums;
}

/** What ended a pod, in a sentence with its time; none if nothing has. @param {Teller} teller @param {number} pod @returns {Part[] | undefined} */
export function endingOf(teller, pod) {
  const { record, notes, model: { pods, nodes } } = teller;
  const lost = record.ended(pod);
  if (!Number.isFinite(lost)) return undefined;
  const eviction = evictionOf(teller, pod);
  if (eviction) return evictionProse(eviction, lost);
  const words = causeWords(record.cause(pod), pods.takenAway(pod));
  const [done, why] = firstHalf(words);
  /** @type {Part[]} */
  const said = [`${done} at `, { at: lost }, why];
  const node = pods.node[pod];
  if (record.cause(pod) === "DeletionByPodGC" && node >= 0) {
    let gone;
    for (let change = nodes.offsets[node] + 1; change < nodes.offsets[node + 1] && nodes.at[change] <= lost; change++) if (nodes.ready[change] === NODE.ABSENT && nodes.ready[change - 1] !== NODE.ABSENT) gone = nodes.at[change];
    if (gone !== undefined) said.push(": ", { key: record.node(pod) }, " was deleted at ", { at: gone });
  }
  const message = notes.about(pods.key(pod), "Evicted", "Preempted").findLast(({ at }) => at <= lost);
  if (message) said.push(`: ${message.message.replace(/\.+$/, "")}`);
  return said;
}
