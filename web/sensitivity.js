// The page of a sensitivity analysis: whether the answer turns round, what each input does, and where it was asked.

import { loadData, loadSummary } from "./data.js";
import { byId, el, fill, named } from "./dom.js";
import { argument } from "./format.js";
import { figure, records, spread } from "./figures.js";
import { copyable, fillTiles, listing } from "./listing.js";
import { begin, listenToTheme, painted } from "./shell.js";

/** @typedef {Record<string, any>} Effect A row of sensitivity.csv */
/** @typedef {Record<string, any>} Stop A row of points.csv; `<input>` are its values */

/** @param {any} of Mean, low and high of a row, whose columns begin with this name @param {string} name */
function intervalOf(of, name) {
  return spread({ mean: of[name], low: of[`${name}_low`], high: of[`${name}_high`], widened: null });
}

/** @param {any} summary */
function showSensitivityTiles(summary) {
  const { points, as_it_is: asItIs } = summary;
  fillTiles(byId("figures"), [
    { label: "points where the answer turns round", value: `${points.turned} of ${points.played}`, note: `told to turn round at ${points.turned_told}`, isBad: points.turned_told > 0 },
    { label: "it saves, as it is", value: spread(asItIs.saving), note: summary.variant },
    { label: "the baseline costs", value: spread(asItIs.cost), note: summary.baseline },
  ]);
}

/** @param {Effect[]} rows */
function effectsTable(rows) {
  return listing("Effects", [
    { name: "input", cell: (row) => [named(row.input, "strong"), el("div", { class: "muted" }, named(row.of))], by: (row) => row.input },
    { name: "from", cell: (row) => named(row.from), by: (row) => row.from },
    { name: "to", cell: (row) => named(row.to), by: (row) => row.to },
    { name: "μ", title: "by how much the figure rises as the input goes from one end to the other, on average of all places", right: true, cell: (row) => intervalOf(row, "mu"), by: (row) => row.mu },
    { name: "μ*", title: "the mean size of the effect, whatever its direction", right: true, cell: (row) => figure(row.mu_star), by: (row) => row.mu_star },
    { name: "σ", title: "how much the effect differs from place to place", right: true, cell: (row) => figure(row.sigma), by: (row) => row.sigma },
    { name: "noise", title: "what μ* would be on average of chance alone", right: true, cell: (row) => (row.noise === null ? "?" : figure(row.noise)), by: (row) => row.noise ?? 0 },
    { name: "told", cell: (row) => (row.told ? "yes" : el("span", { class: "muted" }, "no")), by: (row) => Number(row.told) },
    { name: "turns the answer", title: "steps in which it moves, all others staying, that turn round who is cheaper", right: true, cell: (row) => `${row.turned} of ${row.steps}`, by: (row) => row.turned },
  ], rows, { limit: 40 });
}

/** @param {any} summary @param {Effect[]} effects */
function showEffects(summary, effects) {
  const of = (/** @type {string} */ wanted) => effects.filter((row) => row.figure === wanted);
  fill(byId("effects-body"),
    el("ul", { class: "plain muted" }, summary.notes.map((/** @type {string} */ note) => el("li", {}, note))),
    el("h3", {}, "On what ", named(summary.variant), " saves against ", named(summary.baseline)),
    effectsTable(of("saving")),
    el("h3", {}, "On what ", named(summary.baseline), " costs"),
    effectsTable(of("cost")));
}

/** @param {any} summary @param {Stop[]} stops */
function showStops(summary, stops) {
  const inputs = summary.inputs.map((/** @type {any} */ input) => input.name);
  const value = (/** @type {string} */ name, /** @type {number} */ at) => ({ name, cell: (/** @type {Stop} */ row) => named(row["<input>"][at], row.moved === name ? "strong" : undefined), by: (/** @type {Stop} */ row) => row["<input>"][at] });
  fill(byId("points-body"),
    el("p", { class: "muted" }, "The scenario as it is, then each stop of each trajectory; what has moved stands out."),
    listing("Points", [
      { name: "trajectory", cell: (row) => (row.trajectory === null ? "" : String(row.trajectory)), by: (row) => row.trajectory ?? -1 },
      ...inputs.map(value),
      { name: "baseline costs", right: true, cell: (row) => intervalOf(row, "cost"), by: (row) => row.cost },
      { name: "the other costs", right: true, cell: (row) => intervalOf(row, "variant_cost"), by: (row) => row.variant_cost },
      { name: "saves", title: "run by run; the interval holds at all points at once", right: true, cell: (row) => intervalOf(row, "saving"), by: (row) => row.saving },
      { name: "cheaper", cell: (row) => (row.told ? row.cheaper : el("span", { class: "muted" }, `${row.cheaper}, not told`)), by: (row) => row.cheaper },
    ], stops, { limit: 40 }));
}

/** What was asked, to be typed again. @param {any} summary */
function sensitivityCommandOf(summary) {
  const parts = ["kubesquall", "sensitivity", argument(summary.file ?? "STUDY.yaml"), "--trajectories", String(summary.trajectories), "--replications", String(summary.replications)];
  if (summary.asked) parts.push("--variant", argument(summary.asked));
  return [...parts, "--out", "again"].join(" ");
}

async function start() {
  listenToTheme(() => {});
  await painted();
  const [summary, data] = await Promise.all([loadSummary(), loadData()]);
  showSensitivityTiles(summary);
  showEffects(summary, records(data.effects));
  showStops(summary, records(data.points));
  fill(byId("again-body"),
    el("p", {}, "The same study, of the same scenario and manifests, gives the same bytes:"),
    copyable("The command", sensitivityCommandOf(summary)));
  globalThis.kubesquall = { summary };
}

begin(start);
