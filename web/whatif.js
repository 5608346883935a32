// What if: other values, the incident played again with them from its beginning, and both runs under one scrubber.

import { breakable, byId, el, fill } from "./dom.js";
import { argument, clock, count, counted, exactly, inPairs, lasting, shortName } from "./format.js";
import { noTable } from "./data.js";
import { workloadsOf } from "./model.js";
import { leading } from "./timeline.js";
import { copyable } from "./listing.js";
import { PARTS, cutTable, inWords, instantOf, instantTable, lanesOfBoth, mostOf, pairLane, readyOf, signed, tableOf, writer } from "./pairs.js";
import { backendNamed, loadLive } from "./live.js";
import { followServer } from "./follow.js";
import { setsOf, showKnobs } from "./knobs.js";

/** @typedef {import("./live.js").Replayed} Replayed */
/** @typedef {import("./live.js").Backend} Backend */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./pairs.js").Side} Side */
/** @typedef {{showInstead: (build: ((plots: import("./timeline.js").Plots) => void) | null) => void, rebuild: () => void}} Timeline */

/** @param {Replayed} replayed @param {string} name @param {string} called @returns {Side} */
function sideOf({ tables, summary }, name, called) {
  const all = /** @type {Side["tables"]} */ (Object.fromEntries(PARTS.map((part) => [part, tables[part] ?? noTable()])));
  return { name, called, end: Math.round(summary.duration_s * 1000), tables: all, workloads: workloadsOf(all.workloads, noTable()) };
}

/** `deployment/shop/web` @param {any} of A workload of a summary */
function keyOfWorkload(of) {
  return `${String(of.kind).toLowerCase()}/${of.namespace}/${of.name}`;
}

/** How many workloads had less than they wanted. @param {any} summary */
function ranShort(summary) {
  return (summary.workloads ?? []).filter((/** @type {any} */ of) => of.below_desired_s > 0 || of.ready < of.desired).length;
}

/** What is put beside each other first: what it is called, its value, and whether that is a length of time. Of all less is better. */
const HEADLINES = /** @type {[string, (summary: any) => number, boolean][]} */ ([
  ["Workloads that ran short", ranShort, false],
  ["Longest gap", (summary) => summary.metrics.longest_gap_s ?? 0, true],
  ["Replicas × time missing", (summary) => summary.metrics.unready_replica_s ?? 0, true],
  ["Lost traffic", (summary) => summary.metrics.lost_traffic_s ?? 0, true],
  ["Pods evicted", (summary) => summary.metrics.evictions ?? 0, false],
  ["Pods Pending at the end", (summary) => summary.metrics.pods_pending_end ?? 0, false],
]);

/** @param {any} before @param {any} after */
function showHeadlines(before, after) {
  const long = (/** @type {number} */ seconds) => (seconds > 0 ? exactly(seconds * 1000) : "none");
  fill(byId("whatif-figures"), HEADLINES.map(([label, of, isTime]) => {
    const [one, other] = [of(before), of(after)];
    const text = isTime ? long : count;
    const isSame = one === other;
    const tone = isSame ? "muted" : other < one ? "tone-good" : "tone-bad";
    return el("div", { class: "figure", "data-label": label }, el("span", { class: "figure-label" }, label),
      el("strong", {}, isSame ? inPairs(text(one)) : [el("span", { class: "side" }, inPairs(`${text(one)} →`)), " ", el("span", { class: "side" }, inPairs(text(other)))]),
      el("span", { class: tone }, isSame ? "as before" : `${signed(other - one, isTime ? (size) => lasting(size * 1000) : count)}`));
  }));
}

/** Workloads whose outcome is another, those that changed most first. @param {any} before @param {any} after */
function changedWorkloads(before, after) {
  const missing = (/** @type {any} */ summary) => new Map((summary.workloads ?? []).map((/** @type {any} */ of) => [keyOfWorkload(of), of.unready_replica_s]));
  const [one, other] = [missing(before), missing(after)];
  const keys = [...new Set([...one.keys(), ...other.keys()])];
  return keys.map((key) => ({ key, before: /** @type {number | undefined} */ (one.get(key)), after: /** @type {number | undefined} */ (other.get(key)) }))
    .filter((of) => of.before !== of.after)
    .sort((a, b) => Math.abs((b.after ?? 0) - (b.before ?? 0)) - Math.abs((a.after ?? 0) - (a.before ?? 0)) || (a.key < b.key ? -1 : 1));
}

/** @param {any} before @param {any} after @param {ReturnType<typeof changedWorkloads>} changed */
function showChanges(before, after, changed) {
  const box = byId("whatif-changes");
  fill(box);
  const broken = (after.expectations ?? []).filter((/** @type {any} */ of) => !of.holds);
  if (broken.length > 0) box.append(el("p", { class: "tone-bad" }, `Not as expected with these values: ${broken.map((/** @type {any} */ of) => `${of.metric} ${of.op} ${of.value}, found ${of.found ?? "nothing"}`).join("; ")}`));
  const verdict = el("details", {}, el("summary", {}, "Verdict with these values"), el("ul", { class: "verdict" }, (after.verdict ?? []).map((/** @type {any} */ of) => el("li", { class: `tone-${of.tone}` }, el("span", { class: "mark", "aria-hidden": "true" }), el("span", { class: "said" }, el("bdi", {}, of.text))))));
  const workloads = el("details", {}, el("summary", {}, `${counted(changed.length, "workload")} whose outcome changed`));
  const seconds = (/** @type {number | undefined} */ value) => inWords(value ?? null);
  cutTable(workloads, changed.length, (shown) => tableOf(["workload: replicas × time missing", "before", "after", "change"], changed.slice(0, shown).map((of) => [breakable(of.key), seconds(of.before), seconds(of.after), of.before === undefined || of.after === undefined ? "" : signed(of.after - of.before, (size) => lasting(size * 1000))])));
  const names = Object.keys(after.metrics).filter((name) => after.metrics[name] !== before.metrics[name]);
  const metrics = el("details", {}, el("summary", {}, `${counted(names.length, "figure")} that differ`));
  cutTable(metrics, names.length, (shown) => tableOf(["", "before", "after", "change"], names.slice(0, shown).map((name) => {
    const [one, other] = [before.metrics[name], after.metrics[name]];
    return [el("code", {}, breakable(name)), one === undefined ? "–" : writer(name)(one), writer(name)(other), one === undefined ? "" : signed(other - one, writer(name))];
  })));
  box.append(...[verdict, changed.length > 0 && workloads, names.length > 0 && metrics].filter((part) => part !== false));
}

/** The lanes of both runs in place of those of the one. @param {Timeline} timeline @param {Side[]} sides @param {string[]} changed */
function showBoth(timeline, sides, changed) {
  let showsAll = false;
  timeline.showInstead(({ add, list }) => {
    lanesOfBoth(sides).forEach(add);
    if (changed.length === 0) return;
    list.append(el("h3", { class: "lane-heading" }, `Ready replicas of ${counted(changed.length, "workload")} whose outcome changed, the most first`),
      el("p", { class: "legend" }, sides.map((side, at) => el("span", { class: `key line-key line-${at}` }, side.called))));
    const { shown, button } = leading(changed, "first", showsAll, () => { showsAll = !showsAll; timeline.rebuild(); });
    for (const key of shown) add(pairLane(shortName(key), `${key}: ready replicas, as it was | with these values`, [readyOf(sides[0], key), readyOf(sides[1], key)], mostOf(sides, key), sides.map(({ end }) => end), 34));
    if (button) list.append(button);
  });
}

/** Lets the reader save a text. @param {string} name @param {string} text */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Opens a page in another tab. @param {string} text */
function openPage(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  open(url, "_blank", "noopener");
}

/** What goes with the values that are set. @param {Backend} backend @param {string[]} sets @param {any} summary @param {(error: unknown) => void} failed */
function showActions(backend, sets, summary, failed) {
  const act = (/** @type {() => Promise<void>} */ action) => () => { action().catch(failed); };
  const flags = sets.map((set) => `--set ${argument(set)}`).join(" \\\n  ");
  fill(byId("whatif-actions"),
    copyable("The same run on the command line", `kubesquall run scenario.lock.yaml \\\n  ${flags}`, "Copy as --set"),
    el("p", {},
      el("button", { id: "whatif-save", onclick: act(async () => save(`${String(summary.scenario).replace(/[^\w.-]+/g, "-")}-what-if.yaml`, await backend.lockFile(sets))) }, "Save as scenario"), " ",
      el("button", { id: "whatif-open", onclick: act(async () => openPage(await backend.page(sets))) }, "Open as a page of its own")));
}

/**
 * The section with what can be turned. Where the page's own play is not the run's, it stays a picture and says so.
 * @param {View} view @param {Timeline} timeline @param {any} own The page's summary
 */
export async function startWhatIf(view, timeline, own) {
  const section = document.getElementById("whatif");
  if (!section) return;
  const { dataset } = document.documentElement;
  const status = byId("whatif-status");
  const stays = (/** @type {string} */ why) => {
    status.textContent = `${why} This page stays a picture.`;
    status.className = "tone-bad";
    dataset.live = "picture";
  };
  status.textContent = "Getting the simulator ready …";
  /** @type {Backend} */
  let backend;
  /** @type {Replayed} */
  let first;
  const { digest, knobs } = await loadLive();
  try {
    backend = await backendNamed(section.dataset.backend ?? "");
    first = await backend.replay([]);
  } catch (error) {
    stays(`The simulator does not play here: ${error instanceof Error ? error.message : String(error)}.`);
    return;
  }
  if (first.digest !== digest || JSON.stringify(first.summary.metrics) !== JSON.stringify(own.metrics)) {
    stays(`Played here, the scenario gives another run (digest ${first.digest}) than this page shows (${digest}).`);
    return;
  }
  if (section.dataset.backend === "server") followServer(view);
  const plays = `Played again here, it is the same run: digest ${digest}.`;
  const idle = () => { status.className = "muted"; status.textContent = `${plays} Turn something, and the incident is played from its beginning.`; };
  const before = sideOf(first, "before", "the run as it was");
  /** @type {Side[]} */
  let sides = [];
  const showInstant = () => {
    byId("whatif-now").textContent = clock(view.time);
    if (sides.length === 2) fill(byId("whatif-instant"), instantTable(instantOf(sides[0], view.time), instantOf(sides[1], view.time), ["as it was", "with these values"]));
  };
  view.on("time", showInstant);
  /** @type {Replayed | null} */
  let shown = null;
  const show = (/** @type {string[]} */ sets, /** @type {Replayed | null} */ replayed) => {
    shown = replayed;
    byId("whatif-result").hidden = replayed === null;
    byId("pods-in-trouble").hidden = replayed !== null;
    if (replayed === null) {
      sides = [];
      timeline.showInstead(null);
      idle();
      return;
    }
    const changed = changedWorkloads(first.summary, replayed.summary);
    sides = [before, sideOf(replayed, "after", "the run with these values")];
    showHeadlines(first.summary, replayed.summary);
    showChanges(first.summary, replayed.summary, changed);
    showInstant();
    showBoth(timeline, sides, changed.map(({ key }) => key));
    showActions(backend, sets, first.summary, failed);
    status.className = "muted";
    status.textContent = `Played with ${counted(sets.length, "other value")}. The timeline shows both runs; the cluster, stories and events below are those of the run as it was.`;
  };
  const failed = (/** @type {unknown} */ error) => {
    status.className = "tone-bad";
    status.textContent = error instanceof Error ? error.message : String(error);
  };
  const queue = lastOnly(backend, show, failed);
  const reset = /** @type {HTMLButtonElement} */ (byId("whatif-reset"));
  const { reset: turnBack, turn } = showKnobs(byId("whatif-knobs"), knobs, (own.workloads ?? []).map(keyOfWorkload), (turned) => {
    const sets = setsOf(knobs, turned);
    reset.disabled = sets.length === 0;
    queue(sets);
  });
  reset.addEventListener("click", turnBack);
  byId("whatif-controls").hidden = false;
  idle();
  Object.assign(globalThis.kubesquall, { turn, replayed: () => shown, whatIf: () => (sides.length === 2 ? sides.map((side) => instantOf(side, view.time)) : null) });
  dataset.live = "plays";
}

/**
 * Plays what was asked for last: who drags a slider asks for more than can be played, and waits for none but the last.
 * @param {Backend} backend @param {(sets: string[], replayed: Replayed | null) => void} show @param {(error: unknown) => void} failed
 */
function lastOnly(backend, show, failed) {
  /** @type {string[] | null} */
  let next = null;
  let isPlaying = false;
  const play = async () => {
    isPlaying = true;
    while (next !== null) {
      const sets = next;
      next = null;
      const began = performance.now();
      try {
        const replayed = sets.length === 0 ? null : await backend.replay(sets);
        if (next === null) show(sets, replayed);
        const { dataset } = document.documentElement;
        dataset.replayMs = String(Math.round(performance.now() - began));
        dataset.replayed = sets.join("\n");
      } catch (error) {
        if (next === null) failed(error);
        document.documentElement.dataset.replayed = "refused";
      }
    }
    isPlaying = false;
  };
  return (/** @type {string[]} */ sets) => {
    next = sets;
    if (!isPlaying) void play();
  };
}
