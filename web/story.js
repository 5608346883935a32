// What stories are made of: what causes and events say of an object, as sentences. A sentence is a list of parts: text, times (`at`), lengths
// (`lasting`, both in milliseconds) and objects (`key`), so that whoever shows it can make links. Every time stands in one of the tables.

import { numbers, texts } from "./data.js";
import { counted } from "./format.js";
import { WORDS } from "./words.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {string | {at: number} | {lasting: number} | {key: string}} Part */

/**
 * @typedef {object} Step
 * @property {number} at
 * @property {Part[]} parts
 * @property {number} row Its row of causes.csv, from which its chain is walked; -1 if it has none
 */

/**
 * @typedef {object} Story
 * @property {string} key
 * @property {Part[][]} facts
 * @property {import("./recovery.js").Sum[]} sums
 * @property {Step[]} steps
 */

/**
 * @typedef {object} Teller What stories are made from
 * @property {Model} model
 * @property {Record<string, Table>} tables
 * @property {any} summary
 * @property {import("./fates.js").Fates} fates
 * @property {import("./timers.js").Timers} timers
 * @property {import("./record.js").PodRecord} record
 * @property {Causes} causes
 * @property {Notes} notes
 * @property {Map<string, number[]>} podsByKey
 * @property {(workload: number) => Int32Array} members
 */

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
  const key = (/** @type {number} */ row) => [of.kind(row).toLowerCase(), ...(of.namespace(row) === "" ? [] : [of.namespace(row)]), of.name(row)].join("/");
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
    /** Pods that were there at t=0, and not Ready: whoever knows the pods says so. @type {Set<string>} */
    unreadyAtStart: new Set(),
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

/** The same, knowing whether it was taken away: what kills a pod in the place of an operator is a fault. @param {string} by @param {boolean} isTaken */
export function causeWords(by, isTaken) {
  return endedBy(by === "Kubectl" && isTaken ? "PodKill" : by);
}

/** What was done and why, between which stands when: `Deleted by the pod garbage collector` and `, as its node is gone`. @param {string} words @returns {[string, string]} */
export function firstHalf(words) {
  const at = words.indexOf(", as ");
  return at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at)];
}

/** How long a phase of a fate was. @param {import("./fates.js").Fate} fate @param {number} phase */
export function pieceOf(fate, phase) {
  const piece = fate.pieces.find((one) => one.phase === phase);
  return piece ? piece.to - piece.from : 0;
}

/** Of what the scheduler says, what stands in the way, without what it says of preemption. @param {string} message */
export function obstacle(message) {
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
export function captured(pattern, text) {
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
export const behind = (what) => what.slice(objectOf(what).length).trimStart();

/**
 * Whether a row about readiness tells what was not so before.
 * @param {Causes} causes @param {number} row
 */
function isNews(causes, row) {
  const what = causes.what(row);
  const key = objectOf(what);
  const about = causes.about(key);
  const earlier = about.slice(0, about.indexOf(row)).map((of) => causes.what(of));
  const status = /^conditions changed, Ready=(.*)$/.exec(behind(what));
  // Nodes are Ready when the run begins, unless told otherwise.
  if (status) return (split(earlier.findLast((of) => of.includes(", Ready=")) ?? ", Ready=True", ", Ready=")[1]) !== status[1];
  // A pod that has just been bound is told not to be Ready, too. One that was there at t=0 has no row of its creation, and may have been Ready.
  const begin = earlier.findLastIndex((of) => of.endsWith(" created"));
  return (begin < 0 && !causes.unreadyAtStart.has(key)) || earlier.slice(begin + 1).some((of) => of.endsWith(" Ready=True"));
}

/** Whether the pod of a row had been Ready before. @param {Causes} causes @param {number} row */
export function hadBeenReady(causes, row) {
  return isNews(causes, row);
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
export function stepsOf({ causes }, key) {
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

/** Objects that a list names. */
const LISTED_MAX = 6;

/** Objects by name: the first few, the rest by number. @param {string[]} keys @returns {Part[]} */
export function listedKeys(keys) {
  // One more by name takes no more room than its number.
  const shown = keys.length === LISTED_MAX + 1 ? keys.length : Math.min(keys.length, LISTED_MAX);
  const parts = keys.slice(0, shown).flatMap((key, index) => (index === 0 ? [{ key }] : [", ", { key }]));
  return keys.length > shown ? [...parts, ` and ${keys.length - shown} more`] : parts;
}

/** The first row of what happened to an object at an instant that people are told; -1 if there is none. @param {Causes} causes @param {string} key @param {number} at */
export function rowAt(causes, key, at) {
  return causes.about(key).find((row) => causes.at(row) === at && sentence(causes, row).length > 0) ?? -1;
}

/** Where the chain of a row begins. @param {Causes} causes @param {number} row */
export function rootOf(causes, row) {
  return chain(causes, row).at(-1) ?? row;
}

/** Who typed or did what a row follows from, as a clause; empty if an object did. @param {Causes} causes @param {number} row @returns {Part[]} */
export function byWhom(causes, row) {
  const root = row < 0 ? row : rootOf(causes, row);
  return root === row || objectOf(causes.what(root)) !== "" ? [] : [", because of ", ...clause(causes, root), " at ", { at: causes.at(root) }];
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
