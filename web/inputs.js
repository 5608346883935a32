// What the records leave open that a study's inputs were fitted to.

import { byId, el, fill, named } from "./dom.js";
import { counted } from "./format.js";
import { spread } from "./figures.js";
import { listing } from "./listing.js";

/** @typedef {{interval: import("./figures.js").Interval, runs: number | null, records: number, told: boolean}} Uncertain */

/** Which share of both variances is the records', in words. @param {Uncertain} of */
function shareOf({ runs, records, told }) {
  if (!told) return "not told";
  if (runs === null) return "-";
  const all = runs * runs + records * records;
  return all > 0 ? `${Math.round((records * records * 100) / all)} %` : "-";
}

/** @param {import("./variants.js").Study} study */
export function showInputs({ summary, shown, label, baseline }) {
  const { input_uncertainty: found, study } = summary;
  const { processes, count, replications } = study.inputs;
  const isShown = new Set(shown);
  const rows = /** @type {any[]} */ (found.variants).filter((of) => isShown.has(of.variant));
  const what = found.metric === "cost" ? "cost of a run" : "unready replica-seconds of a run";
  const lower = found.metric === "cost" ? "cheaper with" : "lower with";
  const difference = (/** @type {any} */ of) => (of.difference ? spread(of.difference.interval) : of.variant === baseline ? "is the baseline" : "-");
  fill(byId("inputs-body"),
    el("ul", {}, processes.map((/** @type {any} */ of) => el("li", {}, named(of.process), `: ${counted(of.failures, "failure")} ${of.by_node ? "on" : "in"} ${counted(of.units, of.by_node ? "node" : "row")}; ${of.fitted} of ${counted(of.drawn, "draw")} fitted, in `, named(of.file)))),
    el("p", { class: "muted" }, `Intervals allow for chance of the runs and for what these records leave open: every variant was played with ${counted(count, "input")} that were fitted to records drawn anew, ${counted(replications, "run")} each. inputs.csv has all metrics.`),
    listing("What the records leave open", [
      { name: "variant", cell: (row) => named(label(row.variant)), by: (row) => row.variant },
      { name: what, title: "in an interval that allows for both", right: true, cell: (row) => spread(row.figure.interval), by: (row) => row.figure.interval.mean },
      { name: "the records' share", title: "the share of both variances that is the records'", right: true, cell: (row) => shareOf(row.figure), by: (row) => row.figure.records },
      { name: "against the baseline", title: "in an interval that allows for both", right: true, cell: difference, by: (row) => row.difference?.interval.mean ?? null },
      { name: "the records' share of it", title: "the share of both variances of the difference that is the records'", right: true, cell: (row) => (row.difference ? shareOf(row.difference) : "-"), by: (row) => row.difference?.records ?? null },
      { name: lower, title: "inputs with which it is below the baseline, noise of their runs taken out", right: true, cell: (row) => (!row.difference ? "-" : row.difference.told ? `${row.lower_with} of ${row.inputs}` : "not told"), by: (row) => (row.difference?.told ? row.lower_with : null) },
    ], rows, { limit: 40 }));
}
