// The page of a run: reads the tables, builds the views, listens to keys.

import { loadSummary, loadTable, numbers } from "./data.js";
import { byId, el, fill } from "./dom.js";
import { clock, count, counted, exactly, inPairs, lasting } from "./format.js";
import { begin, listenToTheme, painted } from "./shell.js";
import { createView } from "./view.js";
import { listenToBar, listenToLinks } from "./scrubber.js";
import { POD, POD_STATES, buildModel, nodeAt, nodeChangeAt, podAt } from "./model.js";
import { fatesOf } from "./fates.js";
import { timersOf } from "./timers.js";
import { procedureBars, podsByWorkload } from "./lanes.js";
import { causesOf, notesOf } from "./story.js";
import { recordOf } from "./record.js";
import { tell } from "./told.js";
import { objectLink, unbroken } from "./grid.js";
import { showPodCurve } from "./curves.js";
import { showTimeline } from "./timeline.js";
import { showCluster } from "./cluster.js";
import { showSearch, showStories } from "./stories.js";
import { showCosts } from "./costs.js";
import { showAgreement } from "./agreement.js";
import { startWhatIf } from "./whatif.js";
import { showCountdowns, showEvents, showNodeTable, showNotModelled } from "./tables.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./model.js").Model} Model */

/** Tables that what is first seen needs; the others are decoded when their turn comes. */
const FIRST = ["pods", "readiness", "nodes", "inventory", "faults", "taints", "workloads", "cluster", "transcript", "timers", "disruptions"];

/** What a gap is of a workload: an objective may ask for less than is wanted. @param {any} workload */
function minReadyOf(workload) {
  return workload.objective === null || workload.objective === undefined ? "wanted" : "its objective's minReady";
}

/** What tells the two longest times apart. */
const GAP_TITLE = "The longest time on end in which a workload had fewer ready pods than it has to have: its objective's minReady, and where it has no objective all that are wanted. The longest shortage in the verdict counts against what is wanted, whatever an objective allows.";

/** Who had less than it wanted for longest, if an objective did not mind. @param {any[]} workloads @param {boolean} isAllowed */
function shorter(workloads, isAllowed) {
  const who = workloads.reduce((most, of) => ((of.longest_short_s ?? 0) > (most?.longest_short_s ?? 0) ? of : most), null);
  return who && isAllowed ? `${who.name}, whose objective allows it, had fewer than wanted for` : "the longest with fewer than wanted:";
}

/** What lost traffic is counted in. @param {number} services @param {boolean} isLost */
function trafficOf(services, isLost) {
  if (services === 0) return "there is no service that could lose any";
  if (services === 1) return isLost ? "of all that comes to the one service" : "of the one service";
  return isLost ? `of all that comes to a service; the sum over ${count(services)} services` : `of ${count(services)} services`;
}

/** @param {any} summary @param {Model} model */
function showFigures(summary, model) {
  const { metrics } = summary;
  const workloads = summary.workloads ?? [];
  const short = workloads.filter((/** @type {any} */ of) => of.below_desired_s > 0 || of.ready < of.desired).length;
  const shortEnd = metrics.workloads_below_desired_end ?? 0;
  const lost = metrics.pods_lost ?? 0;
  const figure = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ detail, /** @type {boolean} */ isBad, /** @type {string | undefined} */ title = undefined) => el("div", { class: `figure${isBad ? " figure-bad" : ""}`, title }, el("span", { class: "figure-label" }, label), el("strong", {}, inPairs(value)), el("span", { class: "muted" }, detail));
  const worst = workloads.reduce((/** @type {any} */ most, /** @type {any} */ of) => ((of.longest_gap_s ?? 0) > (most?.longest_gap_s ?? 0) ? of : most), null);
  const longest = Math.max(metrics.longest_gap_s ?? 0, 0) * 1000;
  const shortest = Math.max(metrics.longest_short_s ?? 0, 0) * 1000;
  const there = model.pods.gone.reduce((sum, gone) => sum + (gone > model.end ? 1 : 0), 0);
  const isOther = Math.round(shortest / 1000) !== Math.round(longest / 1000);
  fill(byId("figures"),
    figure("Workloads that ran short", count(short), `of ${count(workloads.length)}; ${shortEnd > 0 ? `${count(shortEnd)} still at the end` : "none at the end"}`, shortEnd > 0),
    figure("Longest gap", longest > 0 ? exactly(longest) : "none", `${longest > 0 && worst ? `of ${worst.name}: fewer ready pods than ${minReadyOf(worst)}` : "fewer ready pods than wanted, or than an objective's minReady"}${isOther ? `; ${shorter(workloads, shortest > longest)} ${exactly(shortest)}` : ""}`, false, GAP_TITLE),
    figure("Lost traffic", metrics.lost_traffic_s > 0 ? exactly(metrics.lost_traffic_s * 1000) : "none", trafficOf((summary.services ?? []).length, metrics.lost_traffic_s > 0), false),
    figure("Pods evicted", count(metrics.evictions ?? 0), `${count(metrics.needless_evictions ?? 0)} needlessly${lost > 0 ? `; ${count(lost)} lost for good` : ""}`, lost > 0),
    figure("Pods Pending at the end", count(metrics.pods_pending_end ?? 0), `${count(metrics.pods_unscheduled_end ?? 0)} without a node; of ${counted(there, "pod")} then`, (metrics.pods_pending_end ?? 0) > 0));
  const judged = workloads.filter((/** @type {any} */ of) => of.objective !== null && of.objective !== undefined && of.objective_met !== null);
  const missed = judged.filter((/** @type {any} */ of) => of.objective_met === false);
  const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(3)} %`;
  if (judged.length === 0) return;
  const sorted = [...missed, ...judged.filter((/** @type {any} */ of) => of.objective_met !== false)];
  fill(byId("objectives"), el("details", {}, el("summary", {}, `Objectives: ${count(missed.length)} of ${count(judged.length)} missed`),
    el("div", { class: "scrolls tall" }, el("table", {}, el("thead", {}, el("tr", {}, ["workload", "available", "objective", ""].map((head, at) => el("th", { scope: "col", class: at === 1 || at === 2 ? "right" : "" }, head)))),
      el("tbody", {}, sorted.map((/** @type {any} */ of) => el("tr", {}, el("td", {}, objectLink(`${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}`)), el("td", { class: "right" }, typeof of.availability === "number" ? percent(of.availability) : "–"), el("td", { class: "right" }, typeof of.objective === "number" ? percent(of.objective) : String(of.objective)), el("td", { class: of.objective_met === false ? "tone-bad" : "" }, of.objective_met === false ? "missed" : "met"))))))));
}

/** A name with its kind, as sentences have it. */
const NAMED = /([a-z]+\/[^\s,;:()]+)/;

/** Makes links of the objects that a sentence names. @param {Element} said @param {(key: string) => boolean} isKnown */
function linkNames(said, isKnown) {
  for (const node of [...said.childNodes]) {
    if (!(node instanceof Text) || !NAMED.test(node.data)) continue;
    node.replaceWith(...unbroken(node.data.split(NAMED).map((part) => (isKnown(part) ? objectLink(part) : document.createTextNode(part)))));
  }
}

/** Links the verdict's objects to their stories. @param {any} summary */
function linkVerdict(summary) {
  const items = document.querySelectorAll(".verdict li .said");
  (summary.verdict ?? []).forEach((/** @type {any} */ sentence, /** @type {number} */ at) => {
    const said = items[at]?.querySelector("bdi");
    const objects = new Set((sentence.objects ?? []).filter((/** @type {string} */ key) => key.includes("/")));
    if (!said || objects.size === 0) return;
    linkNames(said, (key) => objects.has(key));
    const rest = [...objects].filter((key) => !said.querySelector(`[data-key="${CSS.escape(key)}"]`));
    // A sentence that counts the others has named those that it means.
    if (rest.length > 0 && !/ and \d+ more/.test(sentence.text)) items[at].append(el("span", { class: "objects" }, el("span", { class: "muted" }, "also"), rest.map((key) => objectLink(key)), sentence.more > 0 && el("span", { class: "muted" }, `of ${count(objects.size + sentence.more)}`)));
  });
}

/** The instants at which a pod or a node changes, in order. @param {Model} model */
function changeTimes({ pods, nodes, end }) {
  return Float64Array.from(new Set([0, ...[nodes.at, pods.created, pods.scheduled, pods.started, pods.deletion, pods.finished, pods.gone, pods.flipAt, Float64Array.from(nodes.outages.flat().flatMap((outage) => [outage.began, outage.ended]))].flatMap((list) => [...list]).filter((time) => Number.isFinite(time) && time <= end)])).sort();
}

/**
 * What goes with the instant besides the tiles.
 * @param {Model} model @param {View} view @param {{states: Uint8Array, counts: {all: number[]}}} shown @param {() => void} countdowns
 */
function showInstant(model, view, shown, countdowns) {
  const { pods } = model;
  let drawnAt = 0;
  const draw = () => {
    const now = performance.now();
    if (view.playing && now - drawnAt < 120) return;
    drawnAt = now;
    const all = shown.counts.all;
    const text = POD_STATES.map((name, state) => (state !== POD.ABSENT && all[state] > 0 ? `${count(all[state])} ${name}` : "")).filter(Boolean).join(" · ");
    byId("pod-counts").textContent = `Pods: ${text || "none"}`;
    byId("now-text").textContent = `${counted(all[POD.READY], "pod")} Ready, ${count(all[POD.NOT_READY] + all[POD.STARTING] + all[POD.UNSCHEDULED])} not, ${count(all[POD.TERMINATING])} Terminating`;
    const waiting = [];
    for (let pod = 0; pod < pods.count && all[POD.UNSCHEDULED] > 0 && waiting.length < 24; pod++) if (shown.states[pod] === POD.UNSCHEDULED) waiting.push(pod);
    fill(byId("shelf"), waiting.length === 0 ? el("p", { class: "muted" }, "No pod waits for a node.") : el("p", { class: "objects" }, waiting.map((pod) => objectLink(pods.key(pod), pods.key(pod).slice(4))), all[POD.UNSCHEDULED] > waiting.length && el("span", { class: "muted" }, `and ${count(all[POD.UNSCHEDULED] - waiting.length)} more`)));
    countdowns();
  };
  view.on("time", draw);
  draw();
}

function showNodeLegend() {
  fill(byId("legend-nodes"), el("span", {}, "nodes: "), [["node-true", "Ready"], ["node-false", "Ready=False"], ["node-unknown", "Ready=Unknown"], ["node-absent", "not there"]].map(([tint, text]) => el("span", { class: `key swatch-${tint}` }, text)),
    el("span", { class: "key swatch-fault" }, "a fault acts on it"), el("span", { class: "key swatch-hatch" }, "cordoned"));
}

/** Kinds of objects without a table that events are about: those to which nothing happened are found by them, too. */
const TOLD = ["poddisruptionbudget/", "horizontalpodautoscaler/", "persistentvolumeclaim/", "cronjob/", "replicaset/"];

/** All that has a story. @param {Model} model */
function allKeys(model, /** @type {import("./story.js").Teller} */ { causes, notes, summary }) {
  const services = (summary.services ?? []).map((/** @type {any} */ of) => `service/${of.namespace}/${of.name}`);
  const pods = Array.from({ length: model.pods.count }, (_, pod) => model.pods.key(pod));
  const nodes = model.nodes.names.map((name) => `node/${name}`);
  const named = [...(summary.traps ?? []), ...(summary.verdict ?? [])].flatMap((/** @type {any} */ of) => of.objects ?? []).filter((/** @type {string} */ key) => /^poddisruptionbudget\/[^/]+\/[^/]+$/.test(key));
  const told = notes.objects().filter((key) => TOLD.some((kind) => key.startsWith(kind)));
  return [...new Set([...nodes, ...model.workloads.keys, ...services, ...causes.objects.keys(), ...named, ...told, ...pods])];
}

async function start() {
  const summary = await loadSummary();
  const loadedTables = await Promise.all(FIRST.map(loadTable));
  /** @type {Record<string, import("./data.js").Table>} */
  const tables = Object.fromEntries(FIRST.map((name, at) => [name, loadedTables[at]]));
  const end = Math.round(summary.duration_s * 1000);
  const view = createView(end);
  const model = buildModel(tables, end);
  const timers = timersOf(tables.timers, tables.faults, model);
  listenToTheme(() => view.changed("theme"));
  byId("duration").textContent = lasting(end);
  showFigures(summary, model);
  linkVerdict(summary);
  const timeline = showTimeline(tables, model, summary, view);
  showPodCurve(tables.cluster, view);
  showNodeLegend();
  const shown = showCluster(model, summary, view, timers);
  showInstant(model, view, shown, showCountdowns(timers, model, view));
  showNodeTable(model, view, shown);
  const showNow = () => { byId("cluster-now").textContent = clock(view.time); };
  view.on("time", showNow);
  showNow();
  listenToBar(view, () => changeTimes(model));
  listenToLinks(view);
  view.seek(firstFault(tables, end));
  hook(view, model);
  document.documentElement.dataset.shown = String(Math.round(performance.now()));
  // Paper has another width.
  matchMedia("print").addEventListener("change", () => dispatchEvent(new Event("resize")));
  await painted();
  const [causeTable, events, services, traps, notModelled, agreement] = await Promise.all(["causes", "events", "services", "traps", "not-modelled", "agreement"].map(loadTable));
  Object.assign(tables, { causes: causeTable, events, services, traps });
  timeline.addProcedures(procedureBars(events, end));
  const teller = tellerOf(tables, model, summary, timers);
  const costs = showCosts(teller, view);
  Object.assign(globalThis.kubesquall, { story: (/** @type {string} */ key) => tell(teller, key), costs: () => costs.map(({ key, unready, counted: found, parts }) => ({ key, unready, counted: found, parts })) });
  await painted();
  const keys = allKeys(model, teller);
  // Sentences name others, too, than those that they are about.
  const known = new Set(keys);
  for (const said of document.querySelectorAll(".verdict li .said > bdi")) linkNames(said, (key) => known.has(key));
  showEvents(events, known, view, timeline);
  showAgreement(agreement, summary, known, view);
  showNotModelled(notModelled);
  Object.assign(globalThis.kubesquall, { keys: () => keys });
  showStories(teller, view);
  showSearch(keys, view);
  // Nobody waits for it: until it is ready, the page is what it is without.
  void startWhatIf(view, timeline, summary);
}

/** Where the reader begins: just after the first fault, or at t=0. @param {Record<string, import("./data.js").Table>} tables @param {number} end */
function firstFault(tables, end) {
  const began = numbers(tables.faults, "began_s").filter((time) => time > 0);
  return began.length > 0 ? Math.min(end, Math.min(...began.subarray(0, 1))) : 0;
}

/** @param {Record<string, import("./data.js").Table>} tables @param {Model} model @param {any} summary @param {import("./timers.js").Timers} timers @returns {import("./story.js").Teller} */
function tellerOf(tables, model, summary, timers) {
  /** @type {Map<string, number[]>} */
  const podsByKey = new Map();
  for (let pod = 0; pod < model.pods.count; pod++) {
    const rows = podsByKey.get(model.pods.key(pod));
    if (rows) rows.push(pod);
    else podsByKey.set(model.pods.key(pod), [pod]);
  }
  const { offsets, order } = podsByWorkload(model);
  const causes = causesOf(tables.causes);
  const record = recordOf(tables, model, causes);
  for (let pod = 0; pod < model.pods.count; pod++) if (record.wasUnready(pod)) causes.unreadyAtStart.add(model.pods.key(pod));
  return { model, tables, summary, fates: fatesOf(tables.disruptions, model, podsByKey), timers, causes, record, notes: notesOf(tables.events), podsByKey, members: (workload) => order.subarray(offsets[workload], offsets[workload + 1]) };
}

/** For tests and those who embed the page: what the page takes the state at an instant to be. @param {View} view @param {Model} model */
function hook(view, model) {
  Object.assign(globalThis, {
    kubesquall: {
      seek: (/** @type {number} */ time) => view.seek(time),
      time: () => view.time,
      span: () => [view.from, view.to],
      nodes: () => Object.fromEntries(model.nodes.names.map((name, node) => {
        const change = nodeChangeAt(model.nodes, node, view.time);
        return [name, { ready: nodeAt(model.nodes, node, view.time), cordoned: change >= 0 && model.nodes.cordoned[change] === 1, taints: change < 0 ? "" : model.nodes.taints(change) }];
      })),
      pods: () => Array.from({ length: model.pods.count }, (_, pod) => podAt(model.pods, pod, view.time)),
    },
  });
}

begin(start);
