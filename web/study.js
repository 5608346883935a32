// The page of a study.

import { loadData, loadSummary } from "./data.js";
import { byId, el, fill, named } from "./dom.js";
import { argument } from "./format.js";
import { spread } from "./figures.js";
import { copyable, fillTiles } from "./listing.js";
import { begin, listenToTheme, painted } from "./shell.js";
import { readStudy, showCosts, showMetrics, showRecoveries, showTradeOff } from "./variants.js";
import { showChoices } from "./choices.js";
import { showSearched } from "./searched.js";
import { showInputs } from "./inputs.js";

/** A probability, however small. @param {number} value */
function chance(value) {
  if (value === 0) return "0";
  return value >= 0.01 ? value.toFixed(3) : value.toExponential(2);
}

/** @param {import("./variants.js").Study} study */
function showTiles({ summary, data, baseline, best, label, measured }) {
  const { recommendation, confirmation, tuning } = summary;
  const isPart = summary.study.shard.count > 1;
  const none = { mean: null, low: null, high: null, widened: false };
  const tiles = [];
  if (tuning) {
    const changes = tuning.workloads.filter((/** @type {any} */ of) => of.recommended !== of.today).length + Number(tuning.changes_others);
    tiles.push({ label: "to be changed", value: String(changes), note: tuning.workloads.length > 0 ? `of ${tuning.workloads.length} workloads${tuning.others.length > 0 ? " and the rest" : ""}` : "the cluster as a whole" });
    if (confirmation) tiles.push({ label: `a run, on ${confirmation.n} new seeds`, value: spread(confirmation.difference).replace(/ \[.*/, ""), note: spread(confirmation.difference).replace(/^\S+ /, "against today "), isBad: !["pays", "slight", "meets"].includes(confirmation.verdict) });
  } else if (recommendation && !isPart) {
    tiles.push({ label: summary.judged_by ? `lowest cost: ${summary.judged_by.name}` : "lowest cost", value: best === null ? "-" : label(best), note: spread(recommendation.cost) });
    tiles.push({ label: "against the baseline", value: best === baseline ? "is the baseline" : spread(recommendation.against_baseline).replace(/ \[.*/, ""), note: best === baseline ? "" : spread(recommendation.against_baseline).replace(/^\S+ /, "") });
  }
  const today = spread(measured(baseline, data.decisive)?.interval ?? none);
  tiles.push({ label: summary.judged_by ? `the baseline costs: ${summary.judged_by.name}` : data.decisive === "cost" ? "the baseline costs" : "unready replica-s of the baseline", value: today.replace(/ \[.*/, ""), note: `${today.replace(/^\S+ /, "")} ${label(baseline)}` });
  const front = (summary.front ?? []).length;
  const required = /** @type {any[]} */ (summary.requirements ?? []);
  if (required.length > 0) {
    const meets = data.total - new Set(required.flatMap((one) => one.kept.filter((/** @type {any} */ of) => of.standing !== "meets").map((/** @type {any} */ of) => of.variant))).size;
    tiles.push({ label: "told to meet what is required", value: String(meets), note: `of ${data.total} variants`, isBad: meets === 0 });
  }
  const rare = summary.rare_events?.[baseline];
  if (rare) {
    const { event } = summary.study.rare;
    const what = `${event.metric} ${event.side === "above" ? "above" : "below"} ${event.threshold}`;
    tiles.push({ label: "a run of the baseline has it", value: rare.is_told ? chance(rare.probability.mean) : "not told", note: `${what}: ${rare.is_told ? `${chance(rare.probability.low)} to ${chance(rare.probability.high)}` : `at most ${chance(rare.probability.high)}`}`, isBad: !rare.is_told });
  } else {
    tiles.push({ label: "not told to be beaten", value: String(front), note: `of ${data.total} variants` });
  }
  fillTiles(byId("figures"), tiles);
}

/** What is too small a saving if nothing is said. */
const LEAST_SAVING = 0.01;

/** What was asked, to be typed again. @param {any} summary */
export function commandOf(summary) {
  const { shard, allows_undone: allowsUndone, precision, selection, indifference, file, rare, cost_by: costBy } = summary.study;
  const parts = ["kubesquall", summary.tuning ? "tune" : "sweep", argument(file ?? "STUDY.yaml")];
  if (shard.count > 1) parts.push("--shard", `${shard.index}/${shard.count}`);
  if (precision) parts.push("--precision", String(precision.goal));
  if (selection) parts.push("--contenders");
  if ((indifference ?? LEAST_SAVING) !== LEAST_SAVING) parts.push("--indifference", String(indifference));
  for (const [figure, share] of Object.entries(costBy ?? {})) parts.push("--cost-by", `${figure}:${Number((Number(share) * 100).toFixed(9))}%`);
  if (rare?.is_asked) parts.push("--rare", argument(`${rare.event.metric}${rare.event.side === "above" ? ">" : "<"}${rare.event.threshold}`));
  if (allowsUndone) parts.push("--allow-undone");
  return [...parts, "--out", "again"].join(" ");
}

async function start() {
  listenToTheme(() => {});
  await painted();
  const [summary, data] = await Promise.all([loadSummary(), loadData()]);
  const study = readStudy(summary, data);
  showTiles(study);
  showCosts(study);
  if (summary.input_uncertainty) showInputs(study);
  if (summary.tuning) showChoices(study);
  if (summary.search) showSearched(study);
  showTradeOff(study);
  showRecoveries(study);
  showMetrics(study);
  const { first_seed: seed, fingerprint, is_antithetic: mirrored, study: name, file } = summary.study;
  fill(byId("again-body"),
    el("p", {}, "The same study, of the same scenario and manifests, gives the same bytes", ...(file ? [":"] : ["; ", el("code", {}, "STUDY.yaml"), " stands for the file that names itself ", named(name), ":"])),
    copyable("The command", commandOf(summary)),
    el("p", { class: "muted" }, `Seeds from ${seed} on${mirrored ? ", each second run mirroring the one before it" : ""}; fingerprint ${fingerprint}.`));
  globalThis.kubesquall = { study };
}

begin(start);
