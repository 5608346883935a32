// Stories: the life of an object in sentences. A sentence is a list of parts: text, times (`at`) and objects (`key`), so that whoever shows
// it can make links of the last two. Every time stands in one of the tables.

import { numbers, texts } from "./data.js";
import { NOTHING_COMES, lossesOf } from "./fates.js";
import { count, counted, exactly, lasting } from "./format.js";
import { NODE, NODE_STATES, outageAt, shortages } from "./model.js";
import { WORDS } from "./words.js";

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
 * @property {import("./fates.js").Fates} fates
 * @property {import("./timers.js").Timers} timers
 * @property {Causes} causes
 * @property {Notes} notes
 * @property {Map<string, number[]>} podsByKey
 * @property {(workload: number) => Int32Array} members
 */

/** @typedef {import("./fates.js").Fate} Fate */
/** @typedef {ReturnType<typeof causesOf>} Causes */
/** @typedef {ReturnType<typeof notesOf>} Notes */

/**
 * The events about objects.
 * @param {Table} table events.csv
 */
export function notesOf(table) {
  const at = numbers(table, "time_s");
  const of = Object.fromEntries(["kind", "namespace", "name", "reason", "message"].map((name) => [name, texts(table, name)]));
  /** @type {Map<string, number[]> | undefined} */
  let byObject;
  const key = (/** @type {number} */ row) => `${of.kind(row).toLowerCase()}/${of.namespace(row)}/${of.name(row)}`;
  const indexed = () => {
    if (byObject) return byObject;
    byObject = new Map();
    for (let row = 0; row < table.rows; row++) {
      const rows = byObject.get(key(row));
      if (rows) rows.push(row);
      else byObject.set(key(row), [row]);
    }
    return byObject;
  };
  return {
    /** All that events are about. */
    objects: () => [...indexed().keys()],
    /** The events of an object with one of these reasons, in order. @param {string} object As `job/default/report` @param {string[]} reasons */
    about(object, ...reasons) {
      return (indexed().get(object) ?? []).filter((row) => reasons.includes(of.reason(row))).map((row) => ({ at: at[row], reason: of.reason(row), message: of.message(row) }));
    },
  };
}

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
  /** @type {number[]} */
  const refusals = [];
  for (let row = 0; row < table.rows; row++) {
    if (what(row).includes(" eviction refused ")) refusals.push(row);
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
    /** The rows of evictions that budgets refused. */
    refusals: () => refusals,
    about: (/** @type {string} */ key) => byObject.get(key) ?? [],
    /** The row that a row follows from, or -1. @param {number} row */
    causeOf: (row) => (Number.isNaN(cause[row]) ? -1 : rowOf(cause[row])),
  };
}

/** The object that a row of causes.csv is about: whose schedule it is that something begins by, or what it begins with; empty for the timeline's own. @param {string} what */
export function objectOf(what) {
  const schedule = what.indexOf(": the schedule of ");
  if (schedule >= 0) return what.slice(schedule + ": the schedule of ".length);
  const word = what.split(" ", 1)[0];
  return word.includes("/") && !word.endsWith(":") ? word : "";
}

/** Machines and pods of a fault that are named; the rest is counted. */
const HIT_MAX = 3;

/** What the timeline or a component did of its own; a fault that hits a thousand nodes names them all, and their own stories say which. @param {string} what */
function action(what) {
  if (!what.startsWith("scenario: ")) return what;
  const told = what.slice("scenario: ".length);
  const ending = [" begins", " ends"].find((end) => told.endsWith(end)) ?? "";
  const [fault, hit] = split(told.slice(0, told.length - ending.length), " of ");
  const names = hit.split(", ");
  if (hit === "" || fault.includes(" ") || names.length <= HIT_MAX + 1) return told;
  return `${fault} of ${names.slice(0, HIT_MAX).join(", ")} and ${names.length - HIT_MAX} more${ending}`;
}

/** A text before and behind the first of these separators; nothing behind it if there is none. @param {string} text @param {string} separator */
function split(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** @typedef {{row: string, says: string, no_news?: string}} Form */

/** What ended a pod, in words. @param {string} by */
function endedBy(by) {
  return /** @type {Record<string, string>} */ (WORDS.deletions)[by] ?? `Deleted (${by})`;
}

/** Of what the scheduler says, what stands in the way, without what it says of preemption. @param {string} message */
function obstacle(message) {
  return split(message, " preemption: ")[0].replace(/ no new claims to deallocate,$/, "").replace(/[., ]+$/, "");
}

/**
 * A template as pairs of what stands as it is and the name behind it.
 * @param {string} template
 * @returns {[string, string?][]}
 */
function pieces(template) {
  return (template.match(/[^}]*\}|[^}]+$/g) ?? []).map((piece) => {
    const at = piece.indexOf("{");
    return at >= 0 && piece.endsWith("}") ? [piece.slice(0, at), piece.slice(at + 1, -1)] : [piece];
  });
}

/**
 * The texts that stand for the names of a pattern, each as short as what follows allows; none if the text has another form.
 * @param {string} pattern @param {string} text
 * @returns {Map<string, string> | undefined}
 */
function captured(pattern, text) {
  const parts = pieces(pattern);
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @type {string | undefined} */
  let open;
  let rest = text;
  for (const [index, [literal, name]] of parts.entries()) {
    const isLast = index + 1 === parts.length && name === undefined;
    const at = open === undefined ? (rest.startsWith(literal) ? 0 : -1) : isLast ? (rest.endsWith(literal) ? rest.length - literal.length : -1) : rest.indexOf(literal);
    if (at < 0) return undefined;
    if (open !== undefined) found.set(open, rest.slice(0, at));
    rest = rest.slice(at + literal.length);
    open = name;
  }
  if (open === undefined) return rest === "" ? found : undefined;
  return found.set(open, rest);
}

/** What stands behind the object of a row. @param {string} what */
const behind = (what) => what.slice(objectOf(what).length).trimStart();

/**
 * Whether a row about readiness tells what was not so before.
 * @param {Causes} causes @param {number} row
 */
function isNews(causes, row) {
  const what = causes.what(row);
  const about = causes.about(objectOf(what));
  const earlier = about.slice(0, about.indexOf(row)).map((of) => causes.what(of));
  const status = /^conditions changed, Ready=(.*)$/.exec(behind(what));
  // Nodes are Ready when the run begins, unless told otherwise.
  if (status) return (split(earlier.findLast((of) => of.includes(", Ready=")) ?? ", Ready=True", ", Ready=")[1]) !== status[1];
  // A pod that has just been bound is told not to be Ready, too. One that was there at t=0 has no row of its creation, and may have been Ready.
  const begin = earlier.findLastIndex((of) => of.endsWith(" created"));
  return begin < 0 || earlier.slice(begin + 1).some((of) => of.endsWith(" Ready=True"));
}

/** @param {string} text */
const capitalized = (text) => text.replace(/^./u, (letter) => letter.toUpperCase());

/**
 * A row of causes.csv as a sentence about its object; empty if it says nothing to people.
 * @param {Causes} causes @param {number} row
 * @returns {Part[]}
 */
export function sentence(causes, row) {
  const what = causes.what(row);
  const key = objectOf(what);
  if (key === "" || !what.startsWith(key)) return [action(what)];
  const rest = behind(what);
  if (/^[+-]/.test(rest)) return [capitalized(rest.split(" ").map((word) => `${WORDS.taint[/** @type {"+" | "-"} */ (word[0])]} ${word.slice(1)}`).join(", "))];
  for (const form of /** @type {Form[]} */ (WORDS.forms)) {
    const texts = captured(form.row, rest);
    if (texts) return filled(form.no_news === undefined || isNews(causes, row) ? form.says : form.no_news, texts);
  }
  return rest === "" ? [] : [capitalized(rest)];
}

/** What a template says with these texts. @param {string} template @param {Map<string, string>} texts @returns {Part[]} */
function filled(template, texts) {
  /** @type {Part[]} */
  const parts = [];
  const add = (/** @type {string} */ text) => {
    if (typeof parts[parts.length - 1] === "string") parts[parts.length - 1] += text;
    else if (text !== "") parts.push(text);
  };
  for (const [literal, told] of pieces(template)) {
    add(literal);
    if (told === undefined) continue;
    const [, kind, name] = /** @type {RegExpExecArray} */ (/^(?:(.*)[:/])?([^:/]*)$/.exec(told));
    const text = texts.get(name) ?? "";
    if (kind === "object:node") parts.push({ key: `node/${text}` });
    else if (kind === "key") parts.push({ key: text });
    else add(kind === "deletion" ? endedBy(text) : kind === "obstacle" ? obstacle(text) : text);
  }
  return parts;
}

/**
 * A row as a clause with its object, for chains: `node/worker-7: Tainted …`.
 * @param {Causes} causes @param {number} row
 * @returns {Part[]}
 */
export function clause(causes, row) {
  const what = causes.what(row);
  const key = objectOf(what);
  const parts = sentence(causes, row);
  if (key === "" || !what.startsWith(key)) return parts;
  return [{ key }, ": ", ...(parts.length === 0 ? ["Its conditions changed"] : parts)];
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
    const parts = sentence(causes, row);
    // An endpoint slice, and the status of a budget, are written again with the same count for each change of a pod behind them.
    if (parts.length === 0 || (/^(service|poddisruptionbudget)\//.test(key) && causes.what(row) === last)) continue;
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
  if (kind === "poddisruptionbudget") return budgetStory(teller, key);
  const workload = teller.model.workloads.byKey.get(key);
  if (workload !== undefined) return workloadStory(teller, key, workload);
  return { key, facts: [], sums: [], steps: stepsOf(teller, key) };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function podStory(teller, key) {
  const { model, fates } = teller;
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
    const before = fates.of(fates.predecessor[pod]);
    if (before) facts.push(["It replaced ", { key: pods.key(before.pod) }, ", lost at ", { at: before.lost }]);
    facts.push(...waitFacts(teller, pod, key));
    const fate = fates.of(pod);
    if (fate) facts.push(lossProse(teller, fate), cameFor(teller, fate));
    const first = firstOf(teller, fate ?? before);
    if (!first || summed.has(first.pod)) continue;
    summed.add(first.pod);
    const { terms, isOver, last } = recoveryTerms(teller, first);
    if (terms.length > 0) sums.push({ title: isOver ? "From the failure to Ready again" : NOTHING_COMES.has(last.outcome) ? `From the failure to its end; ${NOTHING_COMES.get(last.outcome)}` : "From the failure on; nobody is Ready again", terms });
  }
  return { key, facts, sums, steps: podSteps(teller, key) };
}

/** Where a chain of replacements that ended before they were Ready begins. @param {Teller} teller @param {Fate | null} fate */
function firstOf({ fates }, fate) {
  let first = fate;
  for (;;) {
    const before = first && fates.of(fates.predecessor[first.pod]);
    if (!before || before.outcome !== "replacement ended") return first;
    first = before;
  }
}

/** Restarts from which on a workload's story tells of them, and pods of which it tells what they waited for. */
const RESTARTS_TOLD = 3;
const WAITS_TOLD = 6;

/** What a pod waited for on its own account: a node, or that its containers stay up. @param {Teller} teller @param {number} pod @param {string} key @param {boolean} isBrief Whether only what is long or often is told @returns {Part[][]} */
function waitFacts(teller, pod, key, isBrief = false) {
  const { model, notes, tables } = teller;
  const { pods, end } = model;
  /** @type {Part[][]} */
  const facts = [];
  const over = Math.min(pods.scheduled[pod], pods.deletion[pod], pods.gone[pod], end);
  if (over - pods.created[pod] >= (isBrief ? 60_000 : 1000)) {
    const said = notes.about(key, "FailedScheduling").findLast(({ at }) => pods.created[pod] <= at && at <= over);
    facts.push(["Without a node from ", { at: pods.created[pod] }, " to ", { at: over }, over >= end ? ", the end of the run" : "", ` (${lasting(over - pods.created[pod])})`, ...(said ? ["; the scheduler said last, at ", { at: said.at }, `: ${said.message.split(". ")[0]}`] : [])]);
  }
  facts.push(...containerFacts(teller, pod, key));
  const restarts = numbers(tables.pods, "restarts")[pod];
  if (restarts >= (isBrief ? RESTARTS_TOLD : 1)) {
    const said = notes.about(key, "BackOff").findLast(({ at }) => pods.created[pod] <= at && at <= pods.gone[pod]);
    facts.push([`Its containers were started anew ${counted(restarts, "time")}`, Number.isFinite(pods.ready[pod]) ? "" : ", and it never was Ready", ...(said ? ["; its kubelet said last, at ", { at: said.at }, `: ${said.message.replace(/ in pod .*$/, "")}`] : [])]);
  }
  return facts;
}

/** What a pod's containers waited for: an image that was not pulled, or the end of a back-off after they had ended too often. @param {Teller} teller @param {number} pod @param {string} key @returns {Part[][]} */
function containerFacts({ model, causes }, pod, key) {
  const { pods, end } = model;
  const over = Math.min(pods.deletion[pod], pods.finished[pod], pods.gone[pod], end);
  const own = causes.about(key).filter((row) => pods.created[pod] <= causes.at(row) && causes.at(row) <= over);
  const waits = own.flatMap((row) => {
    const found = /(?:^waits|, its containers wait): (\S+) \((.*)\)$/.exec(behind(causes.what(row)));
    return found ? [{ row, at: causes.at(row), reason: found[1], subject: found[2] }] : [];
  });
  /** @type {Part[][]} */
  const facts = [];
  for (const image of new Set(waits.filter(({ reason }) => reason !== "CrashLoopBackOff").map(({ subject }) => subject))) {
    const of = waits.filter(({ subject, reason }) => subject === image && reason !== "CrashLoopBackOff");
    const last = of[of.length - 1];
    // The kubelet tells that it waits anew for as long as it does; then its containers run.
    const next = own.find((row) => causes.at(row) > last.at && /^(is Running$|Ready=True$)/.test(behind(causes.what(row))));
    const to = next === undefined ? over : causes.at(next);
    facts.push([`Its image ${image} was not pulled (${last.reason}) from `, { at: of[0].at }, " to ", { at: to }, to >= end ? ", the end of the run" : "", ` (${lasting(to - of[0].at)})`]);
  }
  const loops = waits.filter(({ reason }) => reason === "CrashLoopBackOff");
  if (loops.length > 0) {
    const ended = own.findLast((row) => / container that /.test(behind(causes.what(row))));
    const last = loops[loops.length - 1];
    const isOver = own.some((row) => row > last.row && behind(causes.what(row)) === "Ready=True");
    facts.push([`CrashLoopBackOff: its container ${last.subject} had to wait ${counted(loops.length, "time")} before it was started again, first at `, { at: loops[0].at }, ", last at ", { at: last.at }, isOver || over < end ? "" : ", and still does at the end", ...(ended === undefined ? [] : ["; it ", behind(causes.what(ended)).replace(/^had an? (init )?container that /, "")])]);
  }
  return facts;
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
  return told.sort((a, b) => a.at - b.at);
}

/** What came in a lost pod's place. @param {Teller} teller @param {Fate} fate @returns {Part[]} */
function cameFor({ model }, { replacement, outcome }) {
  if (replacement < 0) return [NOTHING_COMES.has(outcome) ? `Nothing is to come in its place: ${NOTHING_COMES.get(outcome)}` : "Nothing came in its place by the end of the run"];
  const { pods } = model;
  const ready = pods.ready[replacement];
  return ["It was replaced by ", { key: pods.key(replacement) }, ...(Number.isFinite(ready) ? [", Ready at ", { at: ready }] : outcome === "replacement ended" ? [", which ended at ", { at: leftAt(model, replacement) }, " before it was Ready"] : [", which is not Ready by the end of the run"])];
}

/** When a pod no longer counted for its owner. @param {Model} model @param {number} pod */
function leftAt({ pods, end }, pod) {
  return Math.min(pods.deletion[pod], pods.finished[pod], pods.gone[pod], end);
}

/**
 * The arithmetic of a recovery, along replacements that ended before they were Ready: each term begins where the one before ends.
 * @param {Teller} teller @param {Fate} first
 * @returns {{terms: Term[], isOver: boolean, last: Fate}}
 */
export function recoveryTerms(teller, first) {
  const { model, fates } = teller;
  /** @type {Term[]} */
  const terms = [];
  let last = first;
  for (;;) {
    const told = last.by === "TaintManagerEviction" ? evictionTerms(teller, last.pod, last.lost) : [];
    terms.push(...(told.length > 0 ? told : lossTerms(teller, last)));
    if (NOTHING_COMES.has(last.outcome)) break;
    terms.push(...replacementTerms(teller, last));
    const next = last.outcome === "replacement ended" ? fates.of(last.replacement) : null;
    if (!next) break;
    last = next;
  }
  const blamed = terms.flatMap((term) => withOutages(teller, term));
  return { terms: blamed, isOver: last.replacement >= 0 && Number.isFinite(model.pods.ready[last.replacement]), last };
}

/** The process of the control plane that has to end a term, by the term's name. @type {Record<string, string>} */
const ENDED_BY = { "monitor pass": "controller-manager", limiter: "controller-manager", notice: "controller-manager", "client rate limit": "controller-manager", recreate: "controller-manager", schedule: "scheduler" };

/**
 * A term in parts: as long as the process that has to end it is down, its outage is to blame.
 * @param {{tables: Record<string, Table>, model: {end: number}}} teller @param {Term} term
 * @returns {Term[]}
 */
export function withOutages({ tables, model }, term) {
  const process = ENDED_BY[term.name.split(":", 1)[0]];
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
    parts.push({ name: `${process} down`, from: last, to: Math.min(to, term.to), why: [`nobody did it: ${kind(row)} of ${object(row)} from `, { at: began[row] }, " to ", Number.isNaN(ended[row]) ? "the end of the run" : { at: to }] });
    last = Math.min(to, term.to);
  }
  if (last < term.to || parts.length === 0) parts.push({ ...term, from: last });
  return parts;
}

/** From when a pod stopped to serve until its owner lost it. @param {Teller} teller @param {Fate} fate @returns {Term[]} */
function lossTerms({ model }, { pod, from, lost, by, pieces }) {
  const { pods, nodes } = model;
  const down = pieces.find((piece) => piece.phase === 0);
  // Lengths are rounded by themselves: the row of readiness.csv that is meant has the time.
  const flips = [...pods.flipAt.subarray(pods.flips[pod], pods.flips[pod + 1])];
  const noticed = down ? Math.min(lost, flips.find((at) => Math.abs(at - down.to) <= 2) ?? lost) : from;
  /** @type {Term[]} */
  const terms = [];
  if (down) terms.push({ name: "detect", from, to: noticed, why: [...(pods.node[pod] >= 0 ? [{ key: `node/${nodes.names[pods.node[pod]]}` }, " was down"] : ["its machine was down"]), ", and it still counted as Ready"] });
  if (lost > noticed) terms.push({ name: "wait", from: noticed, to: lost, why: [`not Ready, until it ${by === "Failed" ? "failed" : `was ${endedBy(by).replace(/^./, (letter) => letter.toLowerCase())}`}`] });
  return terms;
}

/** From when a pod was lost until the one that came for it was Ready, or had ended. @param {Teller} teller @param {Fate} fate @returns {Term[]} */
function replacementTerms({ model }, { pod, replacement: next, lost, outcome, pieces }) {
  const { pods, nodes, end } = model;
  if (next < 0) return [{ name: "recreate: not by the end", from: lost, to: end, why: ["nothing came in its place by the end of the run"] }];
  const until = Number.isFinite(pods.ready[next]) ? pods.ready[next] : leftAt(model, next);
  const node = pods.node[next] >= 0 ? [{ key: `node/${nodes.names[pods.node[next]]}` }] : [];
  const dead = pieces.find((piece) => piece.phase === 5);
  /** @type {[string, number, Part[]][]} */
  const rest = [
    ["recreate", pods.created[next], pods.key(next) === pods.key(pod) ? ["until its controller had made it again: the name was taken until ", { at: pods.gone[pod] }] : ["until its controller had made ", { key: pods.key(next) }]],
    ["schedule", pods.scheduled[next], ["until the scheduler had bound it", ...(node.length > 0 ? [" to ", ...node] : [])]],
    ...(dead ? [/** @type {[string, number, Part[]]} */ (["dead node", Math.abs(dead.to - until) <= 2 ? until : dead.to, [...node, " was down, which nobody had noticed"]])] : []),
    ["pull and start", pods.started[next], ["until its containers ran"]],
    ["become Ready", pods.ready[next], ["until its probes said so"]],
  ];
  /** @type {Term[]} */
  const terms = [];
  let from = lost;
  for (const [name, at, why] of rest) {
    const isOver = at <= until && !(name === "dead node" && at === until);
    const to = isOver ? Math.max(at, from) : Math.max(until, from);
    terms.push({ name: isOver ? name : outcome === "replacement ended" ? `${name}: it ended first` : `${name}: not by the end`, from, to, why });
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
  const tainted = noExecuteAt(teller, nodes.names[node], toleration ? toleration.set : lost) ?? toleration?.set;
  if (tainted === undefined) return [];
  const unknown = isOfSilence(toleration) ? lastChangeTo(nodes, node, tainted) : undefined;
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
    if (toleration.set > tainted) terms.push({ name: "notice", from: tainted, to: toleration.set, why: ["until the taint eviction controller counts: it has seen the taint, or has begun anew"] });
    terms.push({ name: "toleration", from: toleration.set, to: toleration.due, why: [`${lasting(toleration.length)} for ${toleration.taint}, by ${toleration.by}`] });
    terms.push({ name: "client rate limit", from: toleration.due, to: lost, why: ["until the deletion was through: workers and requests of the controller wait their turn"] });
  } else {
    terms.push({ name: "toleration and client rate limit", from: tainted, to: lost, why: ["until the taint eviction controller had deleted it"] });
  }
  return terms;
}

/**
 * What took a pod away, and why, in a sentence or two.
 * @param {Teller} teller @param {Fate} fate
 * @returns {Part[]}
 */
function lossProse(teller, fate) {
  const { model, causes } = teller;
  const { pod, lost, by } = fate;
  if (by === "TaintManagerEviction" && model.pods.node[pod] >= 0) return evictionProse(teller, fate);
  /** @type {Part[]} */
  const parts = [{ at: lost }, `: ${endedBy(by)}`];
  const row = lossRow(causes, model.pods.key(pod), lost);
  const above = row < 0 ? [] : chain(causes, row);
  if (above.length > 0) parts.push(". It follows from ", { at: causes.at(above[0]) }, " ", ...clause(causes, above[0]));
  const root = above[above.length - 1];
  if (above.length > 1) parts.push(", and in the end from ", { at: causes.at(root) }, " ", ...clause(causes, root));
  return parts;
}

/** The row of causes.csv that says how a pod was lost; -1 if none does. @param {Causes} causes @param {string} key @param {number} lost */
function lossRow(causes, key, lost) {
  const rows = causes.about(key).filter((row) => causes.at(row) === lost);
  return rows.find((row) => causes.what(row).includes(" marked for deletion ")) ?? rows.find((row) => / is (Failed|Succeeded)$/.test(causes.what(row))) ?? rows[0] ?? -1;
}

/**
 * Why a pod was evicted by a taint.
 * @param {Teller} teller @param {Fate} fate
 * @returns {Part[]}
 */
function evictionProse({ model, timers, tables }, { pod, lost }) {
  const { pods, nodes } = model;
  const node = pods.node[pod];
  const name = nodes.names[node];
  const toleration = timers.about(pods.key(pod)).findLast((timer) => timer.timer === "toleration" && timer.ended <= lost);
  const tainted = noExecuteAt({ tables }, name, toleration ? toleration.set : lost) ?? toleration?.set;
  /** @type {Part[]} */
  const parts = ["Evicted at ", { at: lost }, " by the taint eviction controller"];
  if (tainted === undefined) return parts;
  parts.push(": ", { key: `node/${name}` }, ` had been tainted ${toleration?.taint || "NoExecute"} at `, { at: tainted });
  if (toleration) parts.push(`, and its toleration, by ${toleration.by}, lasts ${lasting(toleration.length)}`);
  const unknown = isOfSilence(toleration) ? lastChangeTo(nodes, node, tainted) : undefined;
  if (unknown === undefined) return [...parts, "."];
  const silence = timers.about(`node/${name}`).findLast((timer) => timer.timer === "node-monitor-grace" && timer.ended <= unknown);
  if (silence) return [...parts, ". The taint came because nothing had been heard of the node since ", { at: silence.set }, `, longer than ${silence.by || "the grace"} allows (${lasting(silence.length)}).`];
  return [...parts, ". The taint came because the node was not Ready from ", { at: unknown }, " on."];
}

/** Whether a pod was evicted for a taint by which the node lifecycle controller marks a node that is not Ready. @param {import("./timers.js").Timer | undefined} toleration */
function isOfSilence(toleration) {
  return toleration === undefined || /^node\.kubernetes\.io\/(unreachable|not-ready):/.test(toleration.taint);
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
    facts.push([`${outage.kind} hit it${outage.effect ? ` (it ${outage.effect})` : ""} `, ...(outage.ended > outage.began ? ["from ", { at: outage.began }, " to ", { at: outage.ended }, outage.ended >= model.end ? ", the end of the run" : ""] : ["at ", { at: outage.began }])]);
  }
  if (nodes.outages[node].length > 20) facts.push([`and ${counted(nodes.outages[node].length - 20, "more fault")}, in faults.csv`]);
  const taken = [];
  for (let pod = 0; pod < pods.count; pod++) if (pods.node[pod] === node && teller.fates.of(pod)?.takenAway) taken.push(pod);
  if (taken.length > 0) facts.push([`${counted(taken.length, "pod was", "pods were")} taken away from it: `, ...listed(taken.map((pod) => pods.key(pod)))]);
  const sums = nodes.outages[node].slice(0, 5).flatMap((outage) => {
    const terms = detectionTerms(teller, node, outage);
    return terms.length > 0 ? [{ title: "From the last sign of life to Ready=Unknown", terms }] : [];
  });
  const steps = [...stepsOf(teller, key), ...conditionSteps(teller, node)].sort((a, b) => a.at - b.at || b.row - a.row);
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
function conditionSteps({ model }, node) {
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
  const { model, fates } = teller;
  const { pods } = model;
  const members = teller.members(workload);
  const facts = key.startsWith("job/") ? jobFacts(teller, key, members) : shortageFacts(teller, key, workload);
  let told = 0;
  for (const pod of members) {
    const waits = told < WAITS_TOLD ? waitFacts(teller, pod, pods.key(pod), true) : [];
    for (const wait of waits) facts.push([{ key: pods.key(pod) }, ": ", ...wait]);
    if (waits.length > 0) told++;
  }
  facts.push(["Its pods: ", ...listed([...new Set([...members].map((pod) => pods.key(pod)))])]);
  /** @type {Step[]} */
  const steps = stepsOf(teller, key);
  /** @type {{length: number, terms: Term[]}} */
  let longest = { length: -1, terms: [] };
  for (const { pod, fate, from, to, pieces } of lossesOf(model, fates, members)) {
    if (fate) {
      steps.push({ at: fate.lost, parts: [{ key: pods.key(pod) }, `: ${endedBy(fate.by)}`, ...(from < fate.lost ? ["; it had served until ", { at: from }] : []), ". ", ...cameFor(teller, fate)], row: lossRow(teller.causes, pods.key(pod), fate.lost) });
      if (NOTHING_COMES.has(fate.outcome) || firstOf(teller, fate) !== fate) continue;
      const { terms } = recoveryTerms(teller, fate);
      const length = terms.length > 0 ? terms[terms.length - 1].to - terms[0].from : -1;
      if (length > longest.length) longest = { length, terms };
    } else if (pieces.some((piece) => piece.phase === 2)) {
      const since = pieces[pieces.length - 1].from;
      const row = teller.causes.about(pods.key(pod)).find((one) => teller.causes.at(one) === since) ?? -1;
      steps.push({ at: since, parts: [{ key: pods.key(pod) }, " was not Ready until ", ...(to < model.end ? [{ at: to }] : ["the end"])], row });
    }
  }
  steps.sort((a, b) => a.at - b.at);
  return { key, facts, sums: longest.terms.length > 0 ? [{ title: "Its longest recovery, from the failure on", terms: longest.terms }] : [], steps };
}

/** Stretches of time that are told one by one. */
const STRETCHES_TOLD = 12;

/**
 * Stretches in their order; of many the longest, what is not over at the end, and how many there are besides.
 * @template {{from: number, to: number}} T
 * @param {T[]} stretches @param {number} end @param {string} table @param {(stretch: T) => Part[]} told
 * @returns {Part[][]}
 */
export function longest(stretches, end, table, told) {
  const open = stretches.filter(({ to }) => to >= end);
  const over = stretches.filter(({ to }) => to < end);
  const shown = [...over].sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from).slice(0, STRETCHES_TOLD).sort((a, b) => a.from - b.from);
  const more = over.length - shown.length;
  return [...shown.map(told), ...(more > 0 ? [[`and ${counted(more, "time")} more, none of them longer, in ${table}`]] : []), ...open.map(told)];
}

/** When a workload was short. @param {Teller} teller @param {string} key @param {number} workload @returns {Part[][]} */
function shortageFacts({ model, summary, members }, key, workload) {
  const outcome = (summary.workloads ?? []).find((/** @type {any} */ of) => `${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  const gaps = shortages(model, workload, members(workload));
  const often = gaps.length > 1 ? `${counted(gaps.length, "time")}, for` : "for";
  if (outcome) facts.push([`${outcome.ready} of ${outcome.desired} ready at the end, ${outcome.ready_min} at the fewest${gaps.length === 0 ? "" : `; short ${often} ${lasting(outcome.below_desired_s * 1000)} in all`}`]);
  if (outcome?.lost > 0) facts.push([`${counted(outcome.lost, "pod is", "pods are")} lost for good: nothing makes them anew`]);
  if (gaps.length === 0) facts.push(["It was never short"]);
  const told = (/** @type {typeof gaps[number]} */ gap) => [`Short of up to ${gap.missing} from `, { at: gap.from }, " to ", { at: gap.to }, gap.to >= model.end ? ", the end of the run" : "", ` (${lasting(gap.to - gap.from)})`];
  return [...facts, ...longest(gaps, model.end, "workloads.csv", told)];
}

/** What became of a Job: its pods are to end, and being Ready is no aim of theirs. @param {Teller} teller @param {string} key @param {Int32Array} members @returns {Part[][]} */
function jobFacts({ model, summary, notes }, key, members) {
  const { pods } = model;
  const failed = (summary.failed_jobs ?? []).find((/** @type {any} */ of) => `job/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  if (failed) facts.push([`Failed (${failed.reason}) at `, { at: Math.round(failed.failed_s * 1000) }]);
  for (const { at, message } of notes.about(key, "Completed")) facts.push(["Completed at ", { at }, `: ${message}`]);
  const ended = [...members].filter((pod) => Number.isFinite(pods.finished[pod]));
  const bad = ended.filter((pod) => pods.failed[pod] === 1);
  const first = bad.length > 0 ? pods.finished[bad[0]] : NaN;
  facts.push([`Of its ${counted(members.length, "pod")} ${counted(ended.length - bad.length, "has", "have")} Succeeded and ${count(bad.length)} Failed`, ...(first <= 0 ? [", before the run began"] : bad.length > 0 ? [", the first at ", { at: first }] : [])]);
  return facts;
}

/** What stands in a row before a moment. */
const LAST_AT = ", the last at ";

/** Milliseconds of a moment as rows of causes.csv have it: `1d2h10m5.792s`. @param {string} moment */
function msOf(moment) {
  const [, days, hours, minutes, seconds] = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?$/.exec(moment) ?? [];
  return Math.round((((Number(days ?? 0) * 24 + Number(hours ?? 0)) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * 1000);
}

/** Whose eviction a budget refused, and when. @param {Causes} causes @param {string} budget @returns {Part[][]} */
function refusalsBy(causes, budget) {
  /** @type {Part[][]} */
  const facts = [];
  for (const row of causes.refusals()) {
    const texts = captured("eviction refused{how} by {budget}", behind(causes.what(row)));
    if (texts?.get("budget") !== budget) continue;
    const how = (texts.get("how") ?? "").replace(/,$/, "");
    const [times, last] = how.split(LAST_AT);
    facts.push(["It refused the eviction of ", { key: objectOf(causes.what(row)) }, " at ", { at: causes.at(row) }, ...(how === "" ? [] : [`, and again:${times}`, ...(last ? [LAST_AT, { at: msOf(last) }] : [])])]);
  }
  const more = facts.length - STRETCHES_TOLD;
  return more > 0 ? [...facts.slice(0, STRETCHES_TOLD), [`and of ${counted(more, "more pod")}, in causes.csv`]] : facts;
}

/** When a budget allowed how many disruptions. @param {Teller} teller @param {string} key @returns {Story} */
function budgetStory(teller, key) {
  const { causes, notes, model } = teller;
  /** @type {{at: number, allowed: number}[]} */
  const changes = [];
  for (const row of causes.about(key)) {
    const allowed = /^allows (\d+)$/.exec(behind(causes.what(row)));
    if (allowed && changes[changes.length - 1]?.allowed !== Number(allowed[1])) changes.push({ at: causes.at(row), allowed: Number(allowed[1]) });
  }
  const closed = changes.flatMap(({ at, allowed }, index) => (allowed === 0 ? [{ from: at, to: changes[index + 1]?.at ?? model.end }] : []));
  /** @type {Part[][]} */
  const facts = [];
  const none = notes.about(key, "NoPods");
  if (none.length > 0) facts.push(["It covers no pod: ", none[none.length - 1].message, ", first at ", { at: none[0].at }]);
  if (changes.length > 0) facts.push([`It allowed ${counted(changes[changes.length - 1].allowed, "disruption")} at the end, ${closed.length === 0 ? "and never none since it was first counted" : `and none for ${lasting(closed.reduce((sum, { from, to }) => sum + to - from, 0))} in all: who asked then was refused`}`]);
  const long = [...closed].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, STRETCHES_TOLD).sort((a, b) => a.from - b.from);
  for (const { from, to } of long) facts.push(["No disruption from ", { at: from }, " to ", { at: to }, to >= model.end ? ", the end of the run" : "", ` (${lasting(to - from)})`]);
  if (closed.length > long.length) facts.push([`and ${counted(closed.length - long.length, "shorter stretch", "shorter stretches")}`]);
  facts.push(...refusalsBy(causes, key));
  return { key, facts, sums: [], steps: stepsOf(teller, key) };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
function serviceStory(teller, key) {
  const outcome = (teller.summary.services ?? []).find((/** @type {any} */ of) => `service/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  if (outcome) {
    const without = outcome.without_targets_s > 0 ? `Without any target for ${lasting(outcome.without_targets_s * 1000)}` : "Never without a target";
    facts.push([`${without}; it lost ${outcome.lost_traffic_s > 0 ? `as much traffic as comes to it in ${exactly(outcome.lost_traffic_s * 1000)}` : "no traffic"}`]);
  }
  facts.push(...targetFacts(teller, key));
  return { key, facts, sums: [], steps: stepsOf(teller, key) };
}

/** When a service had no target, and when requests went to machines that were down. @param {Teller} teller @param {string} key @returns {Part[][]} */
function targetFacts({ model: { end }, tables }, key) {
  const [at, targets, dead] = ["time_s", "targets", "dead_targets"].map((column) => numbers(tables.services, column));
  const [namespace, name] = [texts(tables.services, "namespace"), texts(tables.services, "name")];
  const own = Array.from({ length: tables.services.rows }, (_, row) => row).filter((row) => `service/${namespace(row)}/${name(row)}` === key);
  const facts = (/** @type {string} */ what, /** @type {(row: number) => boolean} */ holds) => {
    const stretches = own.flatMap((row, index) => (holds(row) && !(index > 0 && holds(own[index - 1])) ? [{ from: at[row], to: at[own.slice(index).find((other) => !holds(other)) ?? -1] ?? end }] : []));
    return longest(stretches.filter(({ from, to }) => to > from), end, "services.csv", ({ from, to }) => [`${what} from `, { at: from }, " to ", { at: to }, to >= end ? ", the end of the run" : "", ` (${lasting(to - from)})`]);
  };
  return [...facts("Without any target", (row) => targets[row] === 0), ...facts("Requests went to machines that were down", (row) => dead[row] > 0)];
}
