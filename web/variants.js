// The variants of a study: what they cost, what that is traded for, how long their gaps were.

import { breakable, byId, el, fill, named } from "./dom.js";
import { counted, lasting, tickStep } from "./format.js";
import { figure, records, rounded, spread } from "./figures.js";
import { listing } from "./listing.js";
import { drawn, forest, scatter, steps } from "./plots.js";

/** @typedef {import("./figures.js").Interval} Interval */
/** @typedef {{interval: Interval, difference: Interval, row: Record<string, any>}} Measured A metric of a variant */

/** Variants that are shown before somebody asks for all. */
const RANGES = 40;
/** Curves that can be told apart. */
const CURVES = 6;
/** Points beyond which only the named ones have their words beside them. */
const WORDED = 12;

/**
 * @typedef {object} Study
 * @property {any} summary
 * @property {any} data What the page has besides the summary
 * @property {number[]} shown Positions of the variants that the page has
 * @property {number} baseline
 * @property {number | null} best What is recommended, or costs least; null if workloads get values of their own, or nothing says which
 * @property {string} unit What the decisive metric counts
 * @property {(variant: number) => string} label `tolerationSeconds=30, grace=40s`
 * @property {(variant: number) => string} short Its values alone
 * @property {(variant: number, metric: string) => Measured | undefined} measured
 * @property {(variant: number) => string} out What rules it out; empty if nothing does
 */

/** @param {any} summary @param {any} data @returns {Study} */
export function readStudy(summary, data) {
  const axesOf = /** @type {string[]} */ (summary.study.axes);
  const values = new Map(/** @type {[number, string[]][]} */ (data.shown));
  /** @type {Map<string, Measured>} */
  const known = new Map();
  for (const row of records(data.metrics)) {
    const interval = { mean: row.mean, low: row.low, high: row.high, widened: row.widened };
    const difference = { mean: row.difference, low: row.difference_low, high: row.difference_high, widened: row.difference_widened };
    known.set(`${row.variant} ${row.metric}`, { interval, difference, row });
  }
  const measured = (/** @type {number} */ variant, /** @type {string} */ metric) => known.get(`${variant} ${metric}`);
  const isMixture = (summary.tuning?.workloads ?? []).some((/** @type {any} */ choice) => choice.recommended !== choice.today);
  return {
    summary,
    data,
    shown: [...values.keys()],
    baseline: summary.study.baseline,
    best: isMixture ? null : summary.recommendation?.best ?? null,
    unit: summary.judged_by ? `cost of a run: ${summary.judged_by.name}` : data.decisive === "cost" ? "cost of a run" : "unready replica-seconds of a run",
    label: (variant) => (values.get(variant) ?? []).map((value, at) => `${axesOf[at]}=${value}`).join(", "),
    short: (variant) => (values.get(variant) ?? []).join(" "),
    measured,
    out: (variant) => measured(variant, data.decisive)?.row.ruled_out ?? "",
  };
}

/** Runs of a variant that was not played on; null of others. @param {Study} study @param {number} variant @returns {number | null} */
function runsIfSetAside(study, variant) {
  const aside = (study.summary.study.selection?.set_aside ?? []).find((/** @type {any} */ of) => of.variant === variant);
  return aside ? aside.runs : null;
}

/** A name where no mark stands beside it. @param {Study} study @param {number} variant @param {string} name */
function withRuns(study, variant, name) {
  const runs = runsIfSetAside(study, variant);
  return runs === null ? name : `${name} (${runs} runs)`;
}

/** What marks a variant in every table and picture. @param {Study} study @param {number} variant */
function marksOf(study, variant) {
  const marks = [];
  if (variant === study.best) marks.push(study.summary.tuning ? "recommended" : "lowest");
  if (variant === study.baseline) marks.push("baseline");
  if (study.out(variant)) marks.push("ruled out");
  const runs = runsIfSetAside(study, variant);
  if (runs !== null) marks.push(`set aside after ${runs} runs`);
  return marks.join(", ");
}

/** The variants by what they are compared by, the lowest first; those without runs last. @param {Study} study */
function byCost(study) {
  const mean = (/** @type {number} */ variant) => study.measured(variant, study.data.decisive)?.interval.mean ?? Infinity;
  return [...study.shown].sort((a, b) => mean(a) - mean(b) || a - b);
}

/** @param {Study} study */
export function showCosts(study) {
  const { summary } = study;
  const body = byId("costs-body");
  const order = summary.study.axes.length === 1 ? study.shown : byCost(study);
  const ranged = (/** @type {number} */ variant) => ({ label: study.label(variant), interval: intervalOf(study, variant), mark: marksOf(study, variant), isOut: Boolean(study.out(variant)), isStrong: variant === study.best });
  const chosen = order.length <= RANGES ? order : order.filter((variant, at) => at < RANGES || variant === study.baseline || variant === study.best);
  const reference = intervalOf(study, study.baseline).mean;
  const box = el("div");
  const show = (/** @type {number[]} */ variants) => fill(box, forest(`${study.unit}, with its interval; the line is the baseline`, variants.map(ranged), reference));
  show(chosen);
  const more = chosen.length < order.length && el("p", {}, el("button", { class: "quiet", onclick: (/** @type {Event} */ event) => {
    show(order);
    /** @type {HTMLElement} */ (event.currentTarget).remove();
  } }, `Show all ${order.length}; these are the ${RANGES} lowest, and what they are compared with`));
  const notes = (summary.notes ?? []).map((/** @type {string} */ note) => el("p", { class: "muted" }, note));
  fill(body, prices(study), aggregated(study), box, more || "", variantTable(study), notes);
}

/** @param {Study} study @param {number} variant @returns {Interval} */
function intervalOf(study, variant) {
  return study.measured(variant, study.data.decisive)?.interval ?? { mean: null, low: null, high: null, widened: false };
}

/** What has a price. @param {Study} study */
function prices({ summary }) {
  const priced = /** @type {[string, number][]} */ (summary.study.prices);
  if (priced.length === 0) return el("p", { class: "muted" }, "Nothing has a price: variants are compared by their unready replica-seconds, and none is called the cheapest.");
  return el("p", { class: "muted" }, "Cost = ", priced.map(([metric, price]) => `${rounded(price)} × ${metric}`).join(" + "), ".");
}

/** Of a study with more variants than the page has: what each value means for all that have it. @param {Study} study */
function aggregated({ data, shown, unit }) {
  if (data.levels.length === 0) return "";
  const number = (/** @type {number | null} */ value) => (value === null ? "-" : figure(value));
  return el("div", {},
    el("p", { class: "strong" }, `This page has ${counted(shown.length, "variant")} of ${counted(data.total, "variant")}: the cheapest, and those that the verdict speaks of. variants.csv has all.`),
    el("p", { class: "muted" }, `Each value by the mean ${unit} of all variants that have it:`),
    listing("Values of all variants", [
      { name: "axis", cell: (row) => named(row.axis), by: (row) => row.axis },
      { name: "value", cell: (row) => named(row.value), by: (row) => row.value },
      { name: "variants", right: true, cell: (row) => String(row.variants), by: (row) => row.variants },
      { name: "lowest", title: "of the variant that costs least", right: true, cell: (row) => number(row.least), by: (row) => row.least },
      { name: "median", title: "half of the variants cost less", right: true, cell: (row) => number(row.median), by: (row) => row.median },
    ], data.levels, { limit: 12 }));
}

/** Every variant, as the terminal has it. @param {Study} study */
function variantTable(study) {
  const { summary, data } = study;
  const metrics = /** @type {[string, string][]} */ ([["unready_replica_s", "unready replica-s"], ["evictions", "evictions"], ["needless_evictions", "needless"], ["longest_gap_s", "longest gap s"]]);
  const judged = summary.judged_by;
  const priced = data.decisive === "cost" || judged ? [...metrics, /** @type {[string, string]} */ (["cost", "cost"])] : metrics;
  if (judged) priced.push([judged.metric, `cost: ${judged.name}`]);
  const required = /** @type {any[]} */ (summary.requirements ?? []);
  const keptOf = (/** @type {any} */ one, /** @type {number} */ variant) => one.kept.find((/** @type {any} */ of) => of.variant === variant);
  const of = (/** @type {number} */ variant, /** @type {string} */ metric) => study.measured(variant, metric);
  const columnOf = (/** @type {[string, string]} */ [metric, name]) => ({ name, title: metric, right: true, cell: (/** @type {number} */ variant) => spread(of(variant, metric)?.interval ?? { mean: null, low: null, high: null, widened: false }), by: (/** @type {number} */ variant) => of(variant, metric)?.interval.mean ?? null });
  const lengths = /** @type {number[] | undefined} */ (summary.study.lengths_s);
  const compares = (/** @type {number} */ variant) => !lengths?.length || lengths[variant] === lengths[study.baseline];
  const against = (/** @type {number} */ variant) => {
    if (variant === study.baseline) return "is the baseline";
    if (!compares(variant)) return "lasts otherwise";
    const found = of(variant, data.decisive)?.difference;
    return found ? spread(found) : "-";
  };
  return listing("Variants", [
    { name: "variant", cell: (variant) => [named(study.label(variant)), " ", el("span", { class: "range-mark" }, marksOf(study, variant))], by: (variant) => variant },
    ...priced.map(columnOf),
    { name: data.decisive === "cost" || judged ? "against the baseline" : "unready against the baseline", title: "the difference, run by run", right: true, cell: against, by: (variant) => of(variant, data.decisive)?.difference.mean ?? null },
    ...required.map((one) => ({ name: one.label, title: one.requires, right: true, cell: (/** @type {number} */ variant) => { const kept = keptOf(one, variant); return `${kept.kept} of ${kept.n}: ${kept.standing}`; }, by: (/** @type {number} */ variant) => keptOf(one, variant).kept / Math.max(1, keptOf(one, variant).n) })),
  ], study.shown, { limit: RANGES, rowClass: (variant) => (study.out(variant) ? "out" : variant === study.best ? "best" : "") });
}

/** @param {Study} study */
export function showTradeOff(study) {
  const { summary } = study;
  const body = byId("trade-off-body");
  // As the verdict has it: lost traffic where that has a price.
  // Results of before do not say what their front goes by.
  const isTraffic = summary.front_by ? summary.front_by[0] === "lost_traffic_s" : summary.study.prices.some((/** @type {[string, number]} */ [metric, price]) => metric === "lost_traffic_s" && price > 0);
  const metric = isTraffic && study.measured(study.baseline, "lost_traffic_s") ? "lost_traffic_s" : "unready_replica_s";
  const front = /** @type {number[]} */ (summary.front ?? []);
  const xTitle = metric === "lost_traffic_s" ? "seconds of lost traffic" : "unready replica-seconds";
  const mean = (/** @type {number} */ variant, /** @type {string} */ of) => study.measured(variant, of)?.interval.mean;
  const points = study.shown.flatMap((variant) => {
    const [x, y] = [mean(variant, metric), mean(variant, "needless_evictions")];
    if (x === null || y === null || x === undefined || y === undefined) return [];
    const isNamed = study.shown.length <= WORDED || front.includes(variant) || variant === study.best || variant === study.baseline;
    const tint = variant === study.best ? "good" : variant === study.baseline ? "text" : front.includes(variant) ? "workload-0" : "faint";
    return [{ label: withRuns(study, variant, study.short(variant)), x, y, isNamed, tint, isOut: Boolean(study.out(variant)) }];
  });
  if (points.length === 0) {
    fill(body, el("p", { class: "muted" }, "No variant has a run yet."));
    return;
  }
  const box = el("div", { class: "picture" });
  const names = front.filter((variant) => study.shown.includes(variant));
  fill(body,
    el("p", { class: "muted" }, `What is short or lost against what is moved for nothing, both a run, on average: further down and to the left is better. ${names.length > 0 ? `Not told to be beaten in both: ${counted(names.length, "variant")}.` : ""}`),
    box,
    el("p", { class: "legend" }, [["workload-0", "not told to be beaten"], ["faint", "beaten"], ["text", "baseline"], ...(study.best === null ? [] : [["good", summary.tuning ? "recommended" : "lowest cost"]])].map(([tint, text]) => keyOf(tint, text))));
  drawn(box, (width) => scatter(points, xTitle, "needless evictions", width));
}

/** @param {string} tint @param {string} text */
function keyOf(tint, text) {
  const dot = el("i", { class: "dot" });
  dot.style.background = `var(--${tint})`;
  return el("span", { class: "key" }, dot, text);
}

/** @typedef {{variants: number[], at: number[], shares: number[], runs: number}} Curve */

/** Curves of which some coincide are one, named together. @param {any[]} recoveries @returns {Curve[]} */
function curvesOf(recoveries) {
  /** @type {Map<string, Curve>} */
  const found = new Map();
  for (const { variant, runs, each, seconds } of recoveries) {
    if (runs === 0) continue;
    const id = JSON.stringify([runs, seconds]);
    const known = found.get(id);
    if (known) known.variants.push(variant);
    else found.set(id, { variants: [variant], runs, at: seconds, shares: seconds.map((/** @type {number} */ _, /** @type {number} */ at) => (runs - each * (seconds.length - 1 - at)) / runs) });
  }
  return [...found.values()];
}

/** @param {Study} study */
export function showRecoveries(study) {
  const body = byId("recoveries-body");
  const curves = curvesOf(study.data.recoveries);
  if (study.summary.study.rare) {
    fill(body, el("p", { class: "muted" }, "Runs have weights, as failures were drawn more often than they come: the share of runs with a gap is not that of all runs."));
    return;
  }
  if (curves.length === 0) {
    fill(body, el("p", { class: "muted" }, "No variant has a run yet."));
    return;
  }
  const most = Math.max(...curves.flatMap(({ at }) => at[at.length - 1]));
  if (most === 0) {
    fill(body, el("p", { class: "muted" }, "In no run of these was any workload short for a moment."));
    return;
  }
  const marksStep = tickStep(most * 1000, 6) / 1000;
  const marks = Array.from({ length: Math.ceil(most / marksStep) + 1 }, (_, at) => at * marksStep);
  const box = el("div", { class: "picture" });
  const legend = el("div", { class: "legend curves-legend" });
  const on = new Set(curves.slice(0, CURVES));
  const dashes = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];
  /** @type {() => void} */
  let again = () => {};
  const picture = (/** @type {number} */ width) => steps([...on].map((curve) => ({ at: curve.at, shares: curve.shares, tint: `workload-${curves.indexOf(curve) % 7}`, dash: dashes[curves.indexOf(curve) % dashes.length] })), width < 480 ? "longest time short of any workload, in a run" : "longest time for which any workload had less than it wanted, in a run", (seconds) => lasting(seconds * 1000), marks, width);
  const median = (/** @type {Curve} */ curve) => curve.at[Math.max(0, curve.shares.findIndex((share) => share >= 0.5))];
  fill(legend, curves.map((curve, at) => el("label", { class: "key" }, el("input", { type: "checkbox", checked: on.has(curve), onchange: (/** @type {Event} */ event) => {
    if (/** @type {HTMLInputElement} */ (event.currentTarget).checked) on.add(curve);
    else on.delete(curve);
    again();
  } }), keyOf(`workload-${at % 7}`, ""), named(curve.variants.map((variant) => withRuns(study, variant, study.label(variant))).join("; ")), el("span", { class: "muted" }, ` median ${lasting(median(curve) * 1000)}`))));
  const same = curves.length === 1 && study.data.recoveries.length > 1;
  const left = study.data.total - study.data.recoveries.length;
  fill(body,
    el("p", { class: "muted" }, same ? "All variants have the same curve: what is varied does not change the longest gaps." : "The share of runs in which no workload was short for longer. Curves that coincide are one.", left > 0 ? ` ${counted(left, "other variant")} ${left === 1 ? "has" : "have"} no curve here: runs.csv has every run.` : ""),
    box, legend);
  drawn(box, picture);
  again = () => fill(box, picture(Math.max(280, Math.floor(box.clientWidth))));
}

/** @param {Study} study */
export function showMetrics(study) {
  const { data } = study;
  const body = byId("metrics-body");
  const metricsOf = new Map(data.meanings.map((/** @type {any} */ of) => [of.name, of]));
  const box = el("div");
  const number = (/** @type {number | null} */ value) => (value === null || value === undefined ? "-" : figure(value));
  // Of what is nearly always there the missing part counts.
  const isShare = (/** @type {any} */ row) => row.metric.split(" ")[0] === "availability";
  const percent = (/** @type {number | null} */ value) => (value === null || value === undefined ? "?" : `${(value * 100).toFixed(4)} %`);
  const percents = (/** @type {any[]} */ [mean, low, high]) => `${percent(mean)} [${percent(low)}, ${percent(high)}]`;
  const one = (/** @type {any} */ row, /** @type {number | null} */ value) => (isShare(row) ? percent(value) : number(value));
  const show = (/** @type {number} */ variant) => {
    const rows = records(data.metrics).filter((row) => row.variant === variant);
    fill(box, listing("Metrics", [
      { name: "metric", cell: (row) => { const name = breakable(row.metric); name.title = metricsOf.get(row.metric)?.meaning ?? ""; return name; }, by: (row) => row.metric },
      { name: "unit", cell: (row) => metricsOf.get(row.metric)?.unit ?? "", by: (row) => metricsOf.get(row.metric)?.unit ?? "" },
      { name: "mean", title: "with its interval", right: true, cell: (row) => (isShare(row) ? percents([row.mean, row.low, row.high]) : spread(row)), by: (row) => row.mean },
      { name: "median", right: true, cell: (row) => one(row, row.p50), by: (row) => row.p50 },
      { name: "90 %", title: "90 % of the runs have no more", right: true, cell: (row) => one(row, row.p90), by: (row) => row.p90 },
      { name: "most", right: true, cell: (row) => one(row, row.max), by: (row) => row.max },
      { name: "against the baseline", title: "the difference, run by run", right: true, cell: (row) => (variant === study.baseline ? "is the baseline" : isShare(row) ? percents([row.difference, row.difference_low, row.difference_high]) : spread({ mean: row.difference, low: row.difference_low, high: row.difference_high, widened: row.difference_widened })), by: (row) => row.difference },
    ], rows));
  };
  const first = study.best ?? study.shown.find((variant) => variant !== study.baseline) ?? study.baseline;
  const select = el("select", { id: "variant", "aria-label": "Variant", onchange: () => show(Number(select.value)) }, study.shown.map((variant) => el("option", { value: variant, selected: variant === first }, `${study.label(variant)}${marksOf(study, variant) ? ` (${marksOf(study, variant)})` : ""}`)));
  const isWhole = data.metrics.rows.length >= study.shown.length * data.meanings.length;
  fill(body, el("div", { class: "filters" }, select), isWhole ? "" : el("p", { class: "muted" }, "Of so many variants this page has the metrics that are compared; variants.csv has all."), box);
  show(first);
}
