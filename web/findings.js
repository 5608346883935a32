// What a forecast would change: each finding with its cost, what the change saves, whom, at what price, and the patch.

import { byId, el, fill, named } from "./dom.js";
import { counted } from "./format.js";
import { copyable } from "./listing.js";
import { forest } from "./plots.js";

/** @typedef {import("./figures.js").Interval} Interval */

/** Findings that are open before somebody asks for more. */
const OPEN = 3;

/** Names of those hurt that a finding shows at once. */
const NAMES = 6;

/** A whole number with commas, as the verdict has them. @param {number} value */
function grouped(value) {
  return `${value < 0 ? "-" : ""}${Math.abs(value).toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",")}`;
}

/** Minutes as the verdict has them: one decimal below ten. @param {number} value */
function few(value) {
  if (Math.abs(value) < 10) return (Math.abs(value) < 0.05 ? 0 : value).toFixed(1);
  return grouped(Math.round(value));
}

/** @param {number} value */
export function minutesText(value) {
  return `${few(value)} min`;
}

/** A mean with its interval, as the verdict has it: `2,917 [2,761, 3,073]`. @param {Interval} interval */
export function minutesSpread({ mean, low, high }) {
  if (mean === null) return "unknown";
  if (low === null || high === null) return few(mean);
  return `${few(mean)} [${few(low)}, ${few(high)}]`;
}

/** A word for a shell. @param {string} text */
function shellWord(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The line that plays an incident as a run of its own; none of a scenario that the user has. @param {any} incident */
export function playLine(incident) {
  if (!incident || !(incident.set?.length > 0)) return null;
  return ["kubesquall run scenario.lock.yaml", ...incident.set.map((/** @type {string} */ set) => `--set ${shellWord(set)}`)].join(" \\\n  ");
}

/** Names, of which some are shown at once. @param {string[]} names @param {string} all */
export function nameList(names, all) {
  const list = (/** @type {string[]} */ shown) => shown.flatMap((name, at) => [at > 0 ? ", " : "", named(name)]);
  if (names.length <= NAMES) return list(names);
  return [el("details", {}, el("summary", {}, list(names.slice(0, NAMES - 1)), ` and ${names.length - NAMES + 1} more ${all}`), el("p", {}, list(names.slice(NAMES - 1))))];
}

/** `1.2 -> 3.4 a year`, where the two differ. @param {[number, number]} pair */
function change([before, after]) {
  return before === after ? null : `${few(before)} → ${few(after)} a year`;
}

/** @param {any} data The forecast and its patches */
export function showFindings({ forecast, patches }) {
  const body = byId("findings-body");
  const words = new Map(forecast.fixes.map((/** @type {any} */ of) => [of.fix, of.words]));
  const { findings, dropped, unhelped } = forecast;
  const tried = dropped.map((/** @type {any} */ of) => el("li", {}, `${words.get(of.fix) ?? of.fix}: `, el("span", { class: "muted" }, of.workloads > 0 ? `tried on ${counted(of.workloads, "workload")}; ` : "", of.why)));
  fill(body,
    forecast.units.length === 0 && !forecast.without_controller ? el("p", {}, "There is nobody whom anything could hurt.") : findings.length === 0 ? el("p", {}, forecast.plays_left_out > 0 ? "Not known: it was ended before changes could be tried, or confirmed." : "Nothing was found that a change would mend.") : el("p", { class: "muted" }, "Each change was made and played on the same failures and incidents; minutes a year, with intervals of 95 %. What it costs and saves are lost traffic and planned work that waits in vain, together. " + yearsText(forecast)),
    findings.map((/** @type {any} */ finding, /** @type {number} */ at) => card(finding, forecast.incidents, patches[finding.patch], words, at < OPEN)),
    unhelped.length > 0 ? showUnhelped(unhelped, words) : "",
    tried.length > 0 ? el("details", { id: "dropped" }, el("summary", {}, `${counted(tried.length, "change")} tried and not recommended`), el("ul", { class: "plain" }, tried)) : "");
}

/** Which years the figures are of. @param {any} forecast */
export function yearsText({ years }) {
  const same = `All figures of a year are of the same ${counted(years.played, "play")}`;
  return years.chosen_by > 0 ? `${same}; changes were chosen by ${counted(years.chosen_by, "other", "others")}.` : `${same}.`;
}

/** Incidents against which nothing that was tried helps. @param {any[]} unhelped @param {Map<string, string>} words */
function showUnhelped(unhelped, words) {
  const list = (/** @type {string[]} */ fixes) => fixes.map((fix) => words.get(fix) ?? fix).join("; ");
  const what = (/** @type {any} */ of) => (of.tried.length > 0 ? `of what was tried on it (${list(of.tried)}) nothing helps${of.untried ? `. Not tried on it: ${list(of.untried)}` : ""}` : "no change makes a difference there");
  const row = (/** @type {any} */ of) => el("li", {}, named(of.label), ` costs ${counted(of.hurt, "service or workload", "services and workloads")} ${minutesText(of.cost_min)}: `, el("span", { class: "muted" }, what(of)));
  return el("details", { id: "unhelped", open: true }, el("summary", {}, "Nothing that was tried on it helps against ", named(unhelped[0].label), unhelped.length > 1 ? ` and ${counted(unhelped.length - 1, "incident more", "incidents more")}` : ""), el("ul", { class: "plain" }, unhelped.map(row)));
}

/** Whether a mean can be told from nothing. @param {Interval} interval */
function isTold({ low, high }) {
  return low !== null && high !== null && (low > 0 || high < 0);
}

/** What another change saved of the cost of how many. The years by which changes are chosen are others than those of all other figures. @param {number} share @param {number} units */
function shareText(share, units) {
  return share >= 0.005 ? `which saved ${Math.round(100 * share)} % of the cost of ${units} of them in the years by which changes were chosen` : `which helps ${units} of them in single incidents`;
}

/** @param {any} finding @param {any[]} incidents @param {[string, string] | undefined} patch @param {Map<string, string>} words @param {boolean} isOpen */
function card(finding, incidents, patch, words, isOpen) {
  const { cost_min_per_year: cost, saved_min_per_year: saved, worst, alternatives } = finding;
  const line = playLine(incidents.find((/** @type {any} */ of) => of.incident === worst?.incident));
  const { others } = saved;
  const rows = [
    { label: "it costs, as it is", interval: cost },
    { label: "the change saves", interval: saved.cost, isStrong: true },
    ...(isTold(others) ? [{ label: "and saves everybody else", interval: others, isOut: others.mean < 0 }] : []),
  ];
  const facts = [
    ["worst spared", worst ? `${worst.label}: ${minutesText(worst.cost_min)} → ${minutesText(finding.worst_after_min)}` : null],
    ["it takes", finding.takes ?? "nothing"],
    ["evictions", change(saved.evictions_per_year)],
    ["needless ones", change(saved.needless_evictions_per_year)],
    ["drains that wait in vain", change(saved.blocked_per_year)],
    ["helps, too", alternatives.map((/** @type {any} */ of) => `${words.get(of.fix) ?? of.fix}, ${shareText(of.share, of.units)}`).join("; ") || null],
    ["in no sum", finding.is_apart ? "what never comes back is told apart from what everybody else costs" : null],
    ["proof", finding.is_confirmed ? "played by itself in years that had no part in choosing it" : "not confirmed in new years: the budget was used up"],
  ].filter(([, value]) => value !== null);
  return el("details", { class: "choice", open: isOpen },
    el("summary", {}, `${finding.rank}. `, named(finding.finding, "strong"), " ", el("span", { class: "choice-changes" }, finding.words)),
    el("div", { class: "beside" },
      el("div", {}, forest("minutes a year", rows, null, minutesSpread, 3)),
      el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, named(/** @type {string} */ (value)))]))),
    el("p", {}, el("span", { class: "muted" }, "Who: "), nameList(finding.units, "services and workloads")),
    finding.by_hand ? el("p", {}, el("strong", {}, "By hand: "), finding.by_hand) : "",
    patch ? el("div", { class: "beside patches" },
      finding.by_hand ? "" : el("div", {}, copyable("As kubectl lines", patch[0])),
      patch[1] ? el("details", {}, el("summary", {}, "As YAML"), copyable("As YAML", patch[1])) : "") : "",
    line ? el("details", {}, el("summary", {}, `Its story: ${worst.label}, as a run with a page of its own`), copyable("In the directory of this page", line)) : "");
}

/** The changes one after the other. @param {any} forecast */
export function showTogether(forecast) {
  const { together, fixes, cost_min_per_year: before } = forecast;
  const words = new Map(fixes.map((/** @type {any} */ of) => [of.fix, of.words]));
  const body = byId("together-body");
  if (together.length === 0) {
    fill(body, el("p", { class: "muted" }, "There is nothing to put together."));
    return;
  }
  const rows = [{ label: "as it is", interval: before }, ...together.map((/** @type {any} */ step) => ({ label: `+ ${words.get(step.fix) ?? step.fix}`, mark: step.takes ? `for ${step.takes} in all` : "", interval: step.cost, isStrong: true }))];
  fill(body,
    el("p", { class: "muted" }, "The changes one after the other, the most saving for what it takes first, as long as the next one still gains; what everything costs then, lost traffic and planned work that waits in vain. " + yearsText(forecast)),
    forest("minutes a year of all services and workloads", rows, before.mean, minutesSpread));
}
