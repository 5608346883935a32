// The page of a plan: what survives with how many nodes, what is left, what is worst to lose.

import { loadData, loadSummary } from "./data.js";
import { byId, el, fill, named } from "./dom.js";
import { argument, counted, lasting } from "./format.js";
import { cellsOf, records } from "./figures.js";
import { copyable, fillTiles, listing } from "./listing.js";
import { begin, listenToTheme, painted } from "./shell.js";

/** Counts that are shown before somebody asks for all. */
const COLUMNS = 12;
const GIB = 2 ** 30;

/** @typedef {Record<string, any>} Play A row of cases.csv; `<pool>` are its counts */

/**
 * @typedef {object} PlanModel
 * @property {any} summary
 * @property {string[]} pools
 * @property {string[]} cases `calm`, then those of the plan
 * @property {any[]} tried Rows of plan.csv
 * @property {number} answer Position of the first that survives; -1 if none does
 * @property {(tried: number, name: string) => Play[]} playsOf Those of a case that the page lists one by one
 * @property {(tried: number, name: string) => Cell} cellOf What came of a case, by all of its plays
 */

/** @typedef {{plays: number, failed_plays: number, beyond_help: number, placements: number, failed_placements: number}} Cell */

/** @param {any} summary @param {any} data @returns {PlanModel} */
function readPlan(summary, data) {
  /** @type {Map<string, Play[]>} */
  const plays = new Map();
  for (const play of records(data.plays)) {
    const id = JSON.stringify([play["<pool>"], play.case]);
    plays.set(id, [...(plays.get(id) ?? []), play]);
  }
  const tried = records(data.tried);
  /** @type {Map<string, Cell>} */
  const cells = new Map(records(data.cells).map((of) => [JSON.stringify([of["<pool>"], of.case]), /** @type {any} */ (of)]));
  return {
    summary,
    pools: summary.pools.map((/** @type {any} */ pool) => pool.name),
    cases: ["calm", ...summary.survive],
    tried,
    answer: tried.findIndex((of) => of.verdict === "survives"),
    playsOf: (at, name) => plays.get(JSON.stringify([tried[at]["<pool>"], name])) ?? [],
    cellOf: (at, name) => cells.get(JSON.stringify([tried[at]["<pool>"], name])) ?? { plays: 0, failed_plays: 0, beyond_help: 0, placements: 0, failed_placements: 0 },
  };
}

/** Pods that no number of nodes helps. @param {Play} play */
function beyondHelp(play) {
  return play.stuck + play.lost_for_good + play.waited_beyond_help + play.refused;
}

/**
 * What became of a case with some counts, in the words of the terminal.
 * @param {PlanModel} plan @param {number} at @param {string} name
 * @returns {{text: string, state: "survived" | "but" | "failed" | "none"}}
 */
export function cellTextOf(plan, at, name) {
  const of = plan.tried[at];
  if (of.verdict === "ruled out") return { text: "ruled out", state: "none" };
  const { plays, failed_plays: failed, beyond_help: pods, placements, failed_placements: unlucky } = plan.cellOf(at, name);
  if (plays === 0) return { text: "-", state: "none" };
  if (failed === 0) {
    return pods === 0 ? { text: "survives", state: "survived" } : { text: `survives but for ${pods}`, state: "but" };
  }
  if (of.placements > 1) return { text: `fails in ${unlucky} of ${placements}`, state: "failed" };
  // A count that does not do is left at its first play that fails: the last case that has plays.
  const last = plan.cases.filter((other) => plan.cellOf(at, other).plays > 0).pop();
  if (of.cut_short && name === last) return { text: "fails, stopped at the first", state: "failed" };
  return { text: plays === 1 ? "fails" : `fails ${failed} of ${plays}`, state: "failed" };
}

/** @param {PlanModel} plan @param {number} at */
function countsText(plan, at) {
  return plan.tried[at]["<pool>"].join(" + ");
}

/** @param {PlanModel} plan */
function showMatrix(plan) {
  const body = byId("matrix-body");
  const box = el("div", { class: "scrolls" });
  const detail = el("div", { id: "plays", class: "detail", role: "region", "aria-label": "Plays of a case", "aria-live": "polite", hidden: true });
  const draw = (/** @type {number} */ from) => {
    const shown = plan.tried.map((_, at) => at).slice(from);
    const head = el("tr", {}, el("th", { scope: "col" }, `nodes of ${plan.pools.join(" + ")}`), shown.map((at) => el("th", { scope: "col", class: at === plan.answer ? "answer" : "" }, countsText(plan, at), at === plan.answer ? el("span", { class: "range-mark" }, " the answer") : "")));
    const line = (/** @type {string} */ name) => el("tr", {}, el("th", { scope: "row" }, named(name)), shown.map((at) => {
      const { text, state } = cellTextOf(plan, at, name);
      return el("td", { class: `cell cell-${state}${at === plan.answer ? " answer" : ""}` }, state === "none" ? text : el("button", { class: "cell-button", "aria-label": `${countsText(plan, at)}, ${name}: ${text}`, onclick: () => showPlays(plan, detail, at, name) }, text));
    }));
    fill(box, el("table", { class: "matrix", "aria-label": "Cases by counts of nodes" }, el("thead", {}, head), el("tbody", {}, plan.cases.map(line))));
    // On a narrow screen the answer comes first, too.
    const answer = /** @type {HTMLElement | null} */ (box.querySelector("th.answer"));
    if (answer) box.scrollLeft = answer.offsetLeft + answer.offsetWidth / 2 - box.clientWidth / 2;
  };
  const from = Math.max(0, Math.min(plan.tried.length - COLUMNS, plan.answer < 0 ? Infinity : Math.max(0, plan.answer - COLUMNS / 2)));
  const more = from > 0 || plan.tried.length > COLUMNS;
  const ruled = plan.tried.flatMap((of, at) => (of.verdict === "ruled out" ? [el("li", {}, `${countsText(plan, at)} ruled out: `, named(of.why))] : []));
  fill(body, el("p", { class: "muted" }, "Press a cell for its plays. What comes after the answer tells whether more nodes do as well."),
    box,
    from > 0 && more ? el("p", {}, el("button", { class: "quiet", onclick: (/** @type {Event} */ event) => { draw(0); /** @type {HTMLElement} */ (event.currentTarget).remove(); } }, `Show all ${plan.tried.length}`)) : "",
    ruled.length > 0 ? el("details", {}, el("summary", {}, `${ruled.length} ruled out`), el("ul", { class: "plain" }, ruled)) : "",
    detail);
  draw(from);
}

/** @param {PlanModel} plan @param {HTMLElement} box @param {number} at @param {string} name */
function showPlays(plan, box, at, name) {
  const plays = plan.playsOf(at, name);
  const { plays: all } = plan.cellOf(at, name);
  const left = all - plays.length;
  box.hidden = false;
  fill(box, el("h3", {}, `${countsText(plan, at)} of ${plan.pools.join(" + ")}, `, named(name), `: ${cellTextOf(plan, at, name).text}`),
    plan.tried[at].placements > 1 ? el("p", { class: "muted" }, `Of ${plan.tried[at].placements} placements these counts survive ${plan.tried[at].survived_placements}.`) : "",
    left > 0 ? el("p", { class: "muted" }, `${plays.length} of its ${all} plays are listed here; `, el("code", {}, "cases.csv"), ` has the other ${left}.`) : "",
    listing("Plays", [
      { name: "lost", cell: (play) => [named(play.lost), play.alike > 1 ? el("span", { class: "muted" }, ` stands for ${play.alike} alike`) : ""], by: (play) => play.lost },
      { name: "survived", cell: (play) => (play.survived ? "yes" : el("span", { class: "tone-bad" }, `no: ${counted(play.shortfalls, "shortfall")}`)), by: (play) => Number(play.survived) },
      { name: "first shortfall", cell: (play) => (play.kind === "" ? "" : [el("span", { class: "strong" }, `${play.kind} `), named(play.object), el("div", { class: "muted" }, named(play.why))]), by: (play) => play.object },
      { name: "beyond help", title: "pods that no number of nodes helps: hanging, lost for good, refused, or waiting for the end of the case", right: true, cell: (play) => String(beyondHelp(play)), by: beyondHelp },
      { name: "waited", title: "pods that had to wait for a node", right: true, cell: (play) => (play.waited === 0 ? "0" : `${play.waited}, up to ${lasting(play.longest_wait_s * 1000)}`), by: (play) => play.waited },
      { name: "unready replica-s", right: true, cell: (play) => play.unready_replica_s.toFixed(0), by: (play) => play.unready_replica_s },
      { name: "free CPU", title: "the least that was left", right: true, cell: (play) => String(play.free_cpu_milli / 1000), by: (play) => play.free_cpu_milli },
      { name: "free GiB", title: "of memory at that instant", right: true, cell: (play) => (play.free_memory / GIB).toFixed(1), by: (play) => play.free_memory },
      { name: "free places", title: "for pods at that instant", right: true, cell: (play) => String(play.free_pods), by: (play) => play.free_pods },
      { name: "placement", title: "the draw of where pods go; plan --placement plays it alone", right: true, cell: (play) => String(play.placement), by: (play) => play.placement },
    ], plays, { limit: 40 }));
  box.scrollIntoView({ block: "nearest" });
}

/** What is left at the tightest instant. @param {any} tightest */
function roomRows(tightest) {
  return [
    { name: "CPU", free: tightest.freeCpuMilli / 1000, all: tightest.cpuMilli / 1000, text: `${tightest.freeCpuMilli / 1000} of ${tightest.cpuMilli / 1000}` },
    { name: "memory", free: tightest.freeMemory, all: tightest.memory, text: `${(tightest.freeMemory / GIB).toFixed(1)} of ${(tightest.memory / GIB).toFixed(1)} GiB` },
    { name: "places for pods", free: tightest.freePods, all: tightest.pods, text: `${tightest.freePods} of ${tightest.pods}` },
  ];
}

/** @param {PlanModel} plan */
function showRoom({ summary }) {
  const body = byId("room-body");
  const { answer, headroom } = summary;
  if (!answer) {
    fill(body, el("p", { class: "muted" }, "Nothing survives, so nothing is left."));
    return;
  }
  const bars = answer.tightest && roomRows(answer.tightest).map(({ name, free, all, text }) => {
    const used = el("i", { class: "room-used" });
    used.style.width = `${all > 0 ? (100 * (all - free)) / all : 100}%`;
    return el("div", { class: "room-row" }, el("span", {}, name), el("div", { class: "room-bar", role: "img", "aria-label": `${name}: ${text} free` }, used), el("span", { class: "right" }, `${text} free`));
  });
  const grown = headroom.map((/** @type {any} */ of) => {
    const first = of.binding[0];
    return el("li", {}, named(of.workload, "strong"), ` may grow by ${of.more}, from ${of.replicas} to ${of.replicas + of.more}${of.placements > 1 ? `, in ${of.survived} of ${of.placements} placements` : ""}`, first ? [`; one more, and in ${first.case}, `, named(first.lost), ", ", named(first.shortfall.object), ` falls short${of.placements > 1 ? ` in placement ${first.placement}` : ""}: `, el("span", { class: "muted" }, named(first.shortfall.why))] : ", where the search ends");
  });
  fill(body,
    bars ? [el("p", { class: "muted" }, answer.tightest.case, ", ", named(answer.tightest.lost), `, ${lasting(answer.tightest.atSeconds * 1000)} after the start, where it is tightest; of the nodes that pods can go to:`), ...bars] : el("p", {}, "Pods could go to no node."),
    el("h3", {}, "What workloads may grow by"),
    grown.length > 0 ? el("ul", { class: "plain" }, grown) : el("p", { class: "muted" }, "Not asked: ", el("code", {}, "--headroom WORKLOAD"), " finds by how many replicas a workload may grow."));
}

/** @param {any} data */
function showBlasts(data) {
  const body = byId("blasts-body");
  if (!data.blasts) {
    fill(body, el("p", { class: "muted" }, "Not asked: ", el("code", {}, "--blast-radius"), " plays the loss of every node, pair and zone with the answer, and ranks them."));
    return;
  }
  const rows = records(data.blasts);
  const most = Math.max(1, ...cellsOf(data.blasts, "unready_replica_s"));
  fill(body, el("p", { class: "muted" }, "Each loss with the answer, or with the most nodes if nothing survives; ranked by missing ready pods times seconds."),
    listing("Losses", [
      { name: "lost", cell: (row) => named(row.lost), by: (row) => row.lost },
      { name: "kind", cell: (row) => named(row.kind), by: (row) => row.kind },
      { name: "alike", title: "for how many sets of nodes it stands", right: true, cell: (row) => String(row.alike), by: (row) => row.alike },
      { name: "unready replica-s", right: true, cell: (row) => { const bar = el("i", { class: "blast-bar" }); bar.style.width = `${(120 * row.unready_replica_s) / most}px`; return [bar, row.unready_replica_s.toFixed(0)]; }, by: (row) => row.unready_replica_s },
      { name: "workloads below", title: "those that fell below minReady", right: true, cell: (row) => String(row.workloads_below_min_ready), by: (row) => row.workloads_below_min_ready },
      { name: "pending", title: "pods left Pending", right: true, cell: (row) => String(row.pending), by: (row) => row.pending },
      { name: "stuck", title: "pods that hang on lost nodes", right: true, cell: (row) => String(row.stuck), by: (row) => row.stuck },
      { name: "waited", title: "pods that had to wait for a node", right: true, cell: (row) => (row.waited === 0 ? "0" : `${row.waited}, up to ${lasting(row.longest_wait_s * 1000)}`), by: (row) => row.waited },
    ], rows, { limit: 12 }));
}

/** @param {PlanModel} plan */
function showPlanTiles({ summary, pools, cases, answer, tried, cellOf }) {
  const { answer: found } = summary;
  if (!found) {
    fillTiles(byId("figures"), [{ label: "nodes that survive", value: "none", note: `up to ${summary.pools.map((/** @type {any} */ pool) => `${pool.max} of ${pool.name}`).join(" and ")}`, isBad: true }, { label: "tried", value: String(tried.length) }]);
    return;
  }
  const now = summary.pools.map((/** @type {any} */ pool) => pool.now);
  const tiles = pools.map((name, at) => ({ label: `nodes of ${name}`, value: String(found.counts[name]), note: `the scenario has ${now[at]}` }));
  if (pools.length > 1) tiles.push({ label: "price", value: String(found.price), note: `${answer} before it, cheaper or as cheap with no more nodes` });
  const { played, survived, shareAtLeast } = found.placements;
  if (played > 1) tiles.push({ label: "placements survived", value: `${survived} of ${played}`, note: `at least ${Math.floor(1000 * shareAtLeast + 1e-6) / 10} % of all, at a confidence of 95 %` });
  const { lower, repacked } = summary.bounds;
  const told = (/** @type {any} */ bound) => `${pools.map((name) => bound.counts[name]).join(" + ")}${pools.length > 1 ? ` at ${bound.price}` : ""}`;
  // Before the least that was to be tried nothing was looked at.
  const isLeast = lower && summary.pools.every((/** @type {any} */ pool) => lower.counts[pool.name] === pool.min) && summary.pools.some((/** @type {any} */ pool) => pool.min > 0);
  if (lower) tiles.push({ label: "lower bound", value: isLeast ? "none" : told(lower), note: `${isLeast ? "what pods ask for does not rule out the least that was to be tried" : "by what pods ask for"}${repacked ? `; packed anew, ${told(repacked)} would do` : ""}` });
  if (found.tightest) {
    const least = roomRows(found.tightest).reduce((a, b) => (b.free / b.all < a.free / a.all ? b : a));
    tiles.push({ label: `least ${least.name} left`, value: `${((100 * least.free) / least.all).toFixed(0)} %`, note: `${least.text}, ${found.tightest.case}, ${found.tightest.lost}` });
  }
  const beyond = [["stuckOnLostNodesMax", "hang on lost nodes"], ["waitedBeyondHelpMax", "wait whatever the nodes"], ["refusedMax", "are refused"], ["lostForGoodMax", "are lost for good"]].filter(([field]) => found[field] > 0);
  fillTiles(byId("figures"), [...tiles, { label: "pods beyond help, at most", value: String(Math.max(0, ...cases.map((name) => cellOf(answer, name).beyond_help))), note: beyond.map(([field, words]) => `${found[field]} ${words}`).join(", ") || "none", isBad: beyond.length > 0 }]);
}

/** What was asked, to be typed again. @param {any} summary @param {any} data */
export function planCommandOf(summary, data) {
  const parts = ["kubesquall", "plan", argument(summary.file ?? "PLAN.yaml"), "--seed", String(summary.seed)];
  const { first, count } = summary.placements;
  if (count === 1) parts.push("--placement", String(first));
  else parts.push("--placements", String(count));
  for (const { workload } of summary.headroom) parts.push("--headroom", argument(workload));
  if (data.blasts) {
    const label = cellsOf(data.blasts, "kind").find((kind) => !["node", "pair", "zone"].includes(kind));
    parts.push(label ? `--blast-radius=${label}` : "--blast-radius");
  }
  return [...parts, "--out", "again"].join(" ");
}

async function start() {
  listenToTheme(() => {});
  await painted();
  const [summary, data] = await Promise.all([loadSummary(), loadData()]);
  const plan = readPlan(summary, data);
  showPlanTiles(plan);
  showMatrix(plan);
  showRoom(plan);
  showBlasts(data);
  fill(byId("again-body"),
    el("p", {}, "The same plan, of the same scenario and manifests, gives the same bytes", ...(summary.file ? [":"] : ["; ", el("code", {}, "PLAN.yaml"), " stands for the file that names itself ", named(summary.plan), ":"])),
    copyable("The command", planCommandOf(summary, data)),
    el("p", { class: "muted" }, summary.placements.count > 1
      ? ["Each placement draws anew to which of equal nodes pods go, and what follows; ", el("code", {}, "--placement N"), " plays one alone."]
      : "Each case was played once: another placement decides ties between nodes otherwise, and may answer otherwise."));
  globalThis.kubesquall = { plan, cell: (/** @type {number} */ at, /** @type {string} */ name) => cellTextOf(plan, at, name) };
}

begin(start);
