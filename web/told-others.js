// The stories of services, budgets and Jobs, and what containers waited for. `explain` says the same (src/inspect/story/), and of budgets and
// containers a little less.

import { numbers, texts } from "./data.js";
import { counted, lasting } from "./format.js";
import { behind, captured, longest, objectOf, stepsOf } from "./story.js";

/** @typedef {import("./story.js").Part} Part */
/** @typedef {import("./story.js").Causes} Causes */
/** @typedef {import("./story.js").Story} Story */
/** @typedef {import("./story.js").Teller} Teller */

/** Things that are told one by one. */
const OTHERS_TOLD = 12;

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
  const more = facts.length - OTHERS_TOLD;
  return more > 0 ? [...facts.slice(0, OTHERS_TOLD), [`and of ${counted(more, "more pod")}, in causes.csv`]] : facts;
}

/** When a budget allowed how many disruptions. @param {Teller} teller @param {string} key @returns {Story} */
export function budgetStory(teller, key) {
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
  const long = [...closed].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, OTHERS_TOLD).sort((a, b) => a.from - b.from);
  for (const { from, to } of long) facts.push(["No disruption from ", { at: from }, " to ", { at: to }, to >= model.end ? ", the end of the run" : "", ` (${lasting(to - from)})`]);
  if (closed.length > long.length) facts.push([`and ${counted(closed.length - long.length, "shorter stretch", "shorter stretches")}`]);
  facts.push(...refusalsBy(causes, key));
  return { key, facts, sums: [], steps: stepsOf(teller, key) };
}

/** @param {Teller} teller @param {string} key @returns {Story} */
export function serviceStory(teller, key) {
  const outcome = (teller.summary.services ?? []).find((/** @type {any} */ of) => `service/${of.namespace}/${of.name}` === key);
  /** @type {Part[][]} */
  const facts = [];
  if (outcome) {
    facts.push([
      ...(outcome.without_targets_s > 0 ? ["Without any target for ", { lasting: outcome.without_targets_s * 1000 }, "; "] : ["Never without a target; "]),
      ...(outcome.lost_traffic_s > 0 ? ["it lost as much traffic as comes to it in ", { lasting: outcome.lost_traffic_s * 1000 }] : ["it lost no traffic"]),
    ]);
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
    return longest(stretches.filter(({ from, to }) => to > from), end, "services.csv", ({ from, to }) => [`${what} from `, { at: from }, ...(to >= end ? [" to the end of the run"] : [" to ", { at: to }])]);
  };
  return [...facts("Without any target", (row) => targets[row] === 0), ...facts("Requests went to machines that were down", (row) => dead[row] > 0)];
}

/** What became of a Job: its pods are to end, and being Ready is no aim of theirs. @param {Teller} teller @param {string} key @param {number[]} members @returns {Part[][]} */
export function jobFacts({ model, summary, notes, record }, key, members) {
  const { pods, workloads } = model;
  const workload = workloads.byKey.get(key) ?? 0;
  // Nobody waits for one that is deleted: what it wanted until then.
  const wanted = workloads.desired.slice(workloads.offsets[workload], workloads.offsets[workload + 1]).findLast((of) => of > 0) ?? 0;
  const isOpen = (/** @type {number} */ pod) => !Number.isFinite(pods.gone[pod]) && !Number.isFinite(pods.finished[pod]);
  const inPhase = (/** @type {string} */ phase) => members.filter((pod) => record.phase(pod) === phase);
  const failed = inPhase("Failed");
  const isIt = (/** @type {any} */ of) => `job/${of.namespace}/${of.name}` === key;
  const before = (summary.jobs_failed_before ?? []).find(isIt);
  const now = (summary.failed_jobs ?? []).find(isIt);
  const told = now && notes.about(key, now.reason)[0];
  /** @type {Part[][]} */
  const facts = [[`${counted(wanted, "completion")} wanted; of its pods ${inPhase("Succeeded").length} succeeded, ${failed.length} failed, ${members.filter(isOpen).length} go on at the end`]];
  if (before) facts.push([`It had failed when the run began: ${before.reason}`]);
  else if (now) facts.push([`It failed: ${now.reason}`, ...(told ? [", told at ", { at: told.at }, `: ${told.message.replace(/\.+$/, "")}`] : [])]);
  for (const pod of failed.slice(0, OTHERS_TOLD)) {
    const at = pods.finished[pod];
    facts.push([{ key: pods.key(pod) }, ...(at === 0 && record.isInitial(pod) ? [" had failed when the run began"] : Number.isFinite(at) ? [" failed at ", { at }] : [" failed"])]);
  }
  if (failed.length > OTHERS_TOLD) facts.push([`and ${failed.length - OTHERS_TOLD} more, in pods.csv`]);
  if (members.length > 0 && members.every(record.isInitial) && !members.some(isOpen)) facts.push(["It made no pod during the run: it had ended, or was suspended, when that began"]);
  return facts;
}

/** What a pod's containers waited for: an image that was not pulled, or the end of a back-off after they had ended too often. @param {Teller} teller @param {number} pod @param {string} key @returns {Part[][]} */
export function containerFacts({ model, causes }, pod, key) {
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
