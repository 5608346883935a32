// Where the time went: for each workload that ran short, what its recoveries were made of.

import { showShares } from "./curves.js";
import { byId, el, fill } from "./dom.js";
import { count, counted, lasting } from "./format.js";
import { NOTHING_COMES, PHASES, lossesOf, missingStretches, phaseTimes, sharedTimes } from "./fates.js";
import { objectLink } from "./grid.js";
import { shortWorkloads } from "./lanes.js";

/** @typedef {import("./story.js").Teller} Teller */

/** Workloads that are shown before somebody asks for all. */
const SHOWN = 15;

/**
 * @typedef {object} Cost
 * @property {string} key
 * @property {any} outcome
 * @property {number[]} parts Replica-milliseconds by phase
 * @property {number} unready Replica-milliseconds that the summary counts
 * @property {number} counted The same, counted here from the pods: tests hold the two together
 * @property {import("./fates.js").Loss[]} losses
 * @property {number[][]} each Milliseconds of each loss by phase
 */

/**
 * The costs of the workloads that ran short, the dearest first.
 * @param {Teller} teller
 * @returns {Cost[]}
 */
export function costsOf(teller) {
  const { model, summary, fates } = teller;
  const costs = shortWorkloads(model, summary).map(({ workload, key, outcome }) => {
    const losses = lossesOf(model, fates, teller.members(workload));
    const gaps = missingStretches(model, workload);
    const stretches = joined(gaps);
    const each = losses.map((loss) => phaseTimes(loss.pieces, stretches));
    const parts = sharedTimes(losses.flatMap((loss) => loss.pieces), gaps);
    return { key, outcome, parts, unready: outcome.unready_replica_s * 1000, counted: gaps.reduce((sum, gap) => sum + gap.missing * (gap.to - gap.from), 0), losses, each };
  });
  return costs.sort((a, b) => b.unready - a.unready || (a.key < b.key ? -1 : 1));
}

/** Stretches that follow each other as one. @param {{from: number, to: number}[]} gaps In order */
function joined(gaps) {
  /** @type {{from: number, to: number}[]} */
  const found = [];
  for (const { from, to } of gaps) {
    const last = found[found.length - 1];
    if (last && last.to === from) last.to = to;
    else found.push({ from, to });
  }
  return found;
}

/** The phases that count as unready: all but the first, in which nobody has noticed. @param {number[]} parts */
function told(parts) {
  return parts.slice(1).reduce((a, b) => a + b, 0);
}

/** @param {number[]} parts @param {number} rest @param {number} most */
function stackedBar(parts, rest, most) {
  const bar = el("div", { class: "stack", role: "img", "aria-label": [...PHASES.map(([name], phase) => (parts[phase] > 0 ? `${name} ${lasting(parts[phase])}` : "")), rest > 0 ? `other ${lasting(rest)}` : ""].filter(Boolean).join(", ") });
  [...parts, rest].forEach((part, phase) => {
    if (part <= 0) return;
    const piece = el("span", { class: `phase-${phase}`, title: `${PHASES[phase]?.[0] ?? "other"}: ${lasting(part)}` });
    piece.style.width = `${(part / most) * 100}%`;
    bar.append(piece);
  });
  return bar;
}

/**
 * @param {Teller} teller @param {import("./view.js").View} view
 * @returns {Cost[]}
 */
export function showCosts(teller, view) {
  const body = byId("costs-body");
  const costs = costsOf(teller);
  if (costs.length === 0) {
    fill(body, el("p", {}, "No workload ran short."));
    return costs;
  }
  // Tables are in whole milliseconds: what is left over by that is nothing.
  const rests = costs.map((cost) => (cost.unready - told(cost.parts) > 1000 + cost.unready * 1e-4 ? cost.unready - told(cost.parts) : 0));
  const most = Math.max(1, ...costs.map((cost, at) => cost.parts[0] + told(cost.parts) + rests[at]));
  const all = costs.reduce((sum, cost) => sum + cost.unready, 0);
  const rest = rests.reduce((a, b) => a + b, 0);
  const used = PHASES.map((_, phase) => costs.some((cost) => cost.parts[phase] > 0));
  const legend = el("p", { class: "legend" }, PHASES.map(([name, title], phase) => used[phase] && el("span", { class: `key phase-key-${phase}`, title }, name)), rest > 0 && el("span", { class: `key phase-key-${PHASES.length}`, title: "missing while no pod of the table stood for it: nobody had made one" }, "other"));
  const list = el("div", { class: "stacks" });
  const fillList = (/** @type {number} */ limit) => {
    fill(list, costs.slice(0, limit).map((cost, at) => el("div", { class: "stack-row" }, objectLink(cost.key, cost.key.slice(cost.key.indexOf("/") + 1)), stackedBar(cost.parts, rests[at], most), el("span", { class: "right" }, lasting(cost.unready)))));
  };
  fillList(SHOWN);
  const more = costs.length > SHOWN && el("button", { class: "quiet", onclick: (/** @type {Event} */ event) => {
    fillList(costs.length);
    /** @type {HTMLElement} */ (event.currentTarget).remove();
  } }, `Show all ${count(costs.length)}; these are the ${SHOWN} dearest`);
  const shares = el("div", { class: "shares" });
  fill(body,
    el("p", { class: "muted" }, `Replicas that were wanted and not ready, times how long: ${lasting(all)} of ${counted(costs.length, "workload")}; of it ${((1 - rest / Math.max(1, all)) * 100).toFixed(1)} % is told below, by what the pods waited for. What is hatched in gray came before anybody noticed: that part is not counted as unready.`),
    legend, list, more || "", phaseTable(costs), el("h3", {}, "How long replacements took"), shares);
  showReplacements(shares, teller, view);
  return costs;
}

/** How long replacements took, of all rows of disruptions.csv whose pod was taken away. @param {HTMLElement} box @param {Teller} teller @param {import("./view.js").View} view */
function showReplacements(box, { model, fates }, view) {
  /** @type {number[]} */
  const lengths = [];
  let [taken, ended, none] = [0, 0, 0];
  for (let row = 0; row < fates.rows; row++) {
    const { takenAway, replacement, lost, outcome } = fates.read(row);
    if (!takenAway) continue;
    taken++;
    const ready = replacement < 0 ? Infinity : model.pods.ready[replacement];
    if (Number.isFinite(ready)) lengths.push(Math.max(0, ready - lost));
    else if (outcome === "replacement ended") ended++;
    else if (NOTHING_COMES.has(outcome)) none++;
  }
  if (taken === 0) {
    fill(box, el("p", { class: "muted" }, "No pod was taken away."));
    return;
  }
  const open = taken - lengths.length - ended - none;
  const rest = [
    open > 0 && `for ${count(open)} none was Ready by the end, so the curve ends below 100 %`,
    ended > 0 && `for ${count(ended)} the one that came ended before it was Ready`,
    none > 0 && `for ${count(none)} none is to come`,
  ].filter(Boolean);
  fill(box, el("p", { class: "muted", id: "replacements-text" }, `From when a pod was taken away to when the one that came for it was Ready: ${count(lengths.length)} of ${counted(taken, "pod")}${rest.map((text) => `; ${text}`).join("")}.`));
  if (lengths.length > 0) showShares(box, lengths, open, view);
}

/** @param {Cost[]} costs */
function phaseTable(costs) {
  const rows = PHASES.flatMap(([name, meaning], phase) => {
    const sum = costs.reduce((total, cost) => total + cost.parts[phase], 0);
    const each = costs.flatMap((cost) => cost.each).map((times) => times[phase]).filter((part) => part > 0).sort((a, b) => a - b);
    if (sum === 0) return [];
    return [el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "right" }, count(each.length)), el("td", { class: "right" }, lasting(each[Math.floor((each.length - 1) / 2)])), el("td", { class: "right" }, lasting(each[each.length - 1])), el("td", { class: "right" }, lasting(sum)), el("td", { class: "muted" }, meaning))];
  });
  return el("div", { class: "scrolls" }, el("table", { class: "phases" },
    el("thead", {}, el("tr", {}, ["phase", "pods", "median", "longest", "together", "what it is"].map((head, at) => el("th", { scope: "col", class: at > 0 && at < 5 ? "right" : "" }, head)))),
    el("tbody", {}, rows)));
}
