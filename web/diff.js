// The page of two runs: both timelines under one scrubber, where they went apart and why, whose fate changed.

import { loadSummary, loadTable, noTable, numbers } from "./data.js";
import { breakable, byId, el, fill, named } from "./dom.js";
import { clock, count, counted, exactly, inPairs, shortName } from "./format.js";
import { begin, listenToTheme } from "./shell.js";
import { createView } from "./view.js";
import { listenToBar, listenToLinks } from "./scrubber.js";
import { lastAt, workloadsOf } from "./model.js";
import { leading, showLanes } from "./timeline.js";
import { PARTS, cutTable, inWords, instantOf, instantTable, lanesOfBoth, mostOf, pairLane, readyOf, signed, tableOf, writer } from "./pairs.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./pairs.js").Side} Side */

/** The runs, in the order in which they were named: how tables and lanes call them. */
const SIDES = /** @type {const} */ (["first", "second"]);

/** @param {Side[]} sides @param {any} diff @param {View} view */
function showBothTimelines(sides, diff, view) {
  const changed = diff.workloads.filter((/** @type {any} */ of) => sides.some(({ workloads }) => workloads.byKey.has(of.workload)));
  const ends = sides.map(({ end }) => end);
  let showsAll = false;
  const { rebuild } = showLanes(view, ({ add, list }) => {
    lanesOfBoth(sides).forEach(add);
    if (changed.length === 0) return;
    list.append(el("h3", { class: "lane-heading" }, `Ready replicas of ${counted(changed.length, "workload")} whose outcome changed, the most first`),
      el("p", { class: "legend" }, SIDES.map((side, at) => el("span", { class: `key line-key line-${at}` }, `${side} run`))));
    const { shown, button } = leading(changed, "first", showsAll, () => { showsAll = !showsAll; rebuild(); });
    for (const { workload } of shown) {
      add(pairLane(shortName(workload), `${workload}: ready replicas, first run | second run`, [readyOf(sides[0], workload), readyOf(sides[1], workload)], mostOf(sides, workload), ends, 34));
    }
    if (button) list.append(button);
  });
}

/** @param {Side[]} sides @param {View} view */
function showInstantOfBoth(sides, view) {
  let drawnAt = 0;
  const draw = () => {
    byId("instant-now").textContent = clock(view.time);
    const now = performance.now();
    if (view.playing && now - drawnAt < 120) return;
    drawnAt = now;
    const [before, after] = sides.map((side) => instantOf(side, view.time));
    const text = (/** @type {number | null} */ value) => (value === null ? "–" : count(value));
    fill(byId("instant-body"), instantTable(before, after, ["first", "second"]));
    const ready = [before, after].map((of) => text(of.pods_ready));
    byId("now-text").textContent = `${ready[0]} pods Ready | ${ready[1]}`;
  };
  view.on("time", draw);
  draw();
}

/** A row of a table, with a link to its instant. @param {string} run @param {any} happening @param {boolean} isClose Whether a tenth of a second does not tell it from that of the other run */
function happeningLine(run, happening, isClose) {
  return el("li", {}, el("span", { class: "side-name" }, `${run} run`), " ",
    happening ? el("button", { class: "time", "data-ms": Math.round(happening.at_s * 1000) }, isClose ? `${happening.at_s.toFixed(3)} s` : clock(happening.at_s * 1000)) : el("span", { class: "muted" }, "–"), " ",
    happening ? named(happening.what) : el("span", { class: "muted" }, "nothing of the kind while both runs last"));
}

/** Both rows at which runs went apart. @param {{before: any, after: any}} apart */
export function apartLines({ before, after }) {
  const isClose = Boolean(before && after && before.at_s !== after.at_s && clock(before.at_s * 1000) === clock(after.at_s * 1000));
  return el("ul", { class: "steps" }, happeningLine("first", before, isClose), happeningLine("second", after, isClose));
}

/** @param {any} diff */
function showApart(diff) {
  const box = byId("apart-body");
  const { divergence } = diff;
  if (!divergence) {
    fill(box, el("p", {}, diff.alike ? "They never did: the runs came out alike." : "They never did while both lasted: the same happened in both."));
    return;
  }
  const link = (/** @type {number} */ at) => el("button", { class: "time", "data-ms": Math.round(at * 1000) }, clock(at * 1000));
  const { first, by_more: more, why } = divergence;
  fill(box,
    el("p", {}, "At ", link(first.at_s), ", because of ", named(why.text), typeof why.at_s === "number" && [" at ", link(why.at_s)], "."),
    apartLines(first),
    more && more.at_s > first.at_s && [el("p", {}, "By more than a second from ", link(more.at_s), " on:"), apartLines(more)]);
}

/** @param {any} diff */
function showSides(diff) {
  fill(byId("sides"), diff.runs.map((/** @type {any} */ run, /** @type {number} */ at) => el("p", {}, el("span", { class: `key line-key line-${at}` }, `${SIDES[at]} run`), " ",
    named(run.dir, "strong"), el("span", { class: "muted" }, `: ${run.scenario}, seed ${run.seed}, ${inWords(run.duration_s)}`), run.overrides.map((/** @type {string} */ change) => [" ", el("code", {}, named(change))]).flat())));
  const tile = (/** @type {string} */ label, /** @type {[number, number]} */ [one, other], /** @type {(value: number) => string} */ text, /** @type {(value: number) => string} */ change) => el("div", { class: "figure" },
    el("span", { class: "figure-label" }, label), el("strong", {}, one === other ? inPairs(text(one)) : [el("span", { class: "side" }, inPairs(`${text(one)} →`)), " ", el("span", { class: "side" }, inPairs(text(other)))]), el("span", { class: "muted" }, one === other ? "in both" : signed(other - one, change)));
  // As exact as the sentences of a run's own page; the change is written as the tables below have it.
  const long = (/** @type {number} */ value) => (value > 0 ? exactly(value * 1000) : "none");
  fill(byId("figures"), diff.headlines.map((/** @type {any} */ of) => (of.metric.endsWith("_s") ? tile(of.label, of.values, long, inWords) : tile(of.label, of.values, count, count))));
}

/** @param {any} diff */
function showFates(diff) {
  const box = byId("fates-body");
  const workloads = diff.workloads.filter((/** @type {any} */ of) => of.worse_s !== null);
  fill(box);
  if (workloads.length === 0) box.append(el("p", { class: "muted" }, "No workload that both runs have came out another way."));
  else {
    const notes = (/** @type {any} */ of) => of.notes.join(", ");
    cutTable(box, workloads.length, (shown) => tableOf(["workload", "short in the first", "in the second", "change", ""], workloads.slice(0, shown).map((/** @type {any} */ of) => [
      breakable(of.workload), inWords(of.short_s[0]), inWords(of.short_s[1]), signed(of.short_s[1] - of.short_s[0], inWords), named(notes(of))]), 1, 4));
  }
  const services = diff.services.filter((/** @type {any} */ of) => of.worse_s !== null && of.worse_s !== 0);
  if (services.length === 0) return;
  const lost = (/** @type {any} */ of) => of.numbers.find((/** @type {any} */ number) => number.metric === "lost_traffic_s");
  box.append(el("h3", {}, "Lost traffic of services"));
  cutTable(box, services.length, (shown) => tableOf(["service", "in the first", "in the second", "change"], services.slice(0, shown).map((/** @type {any} */ of) => [
    breakable(of.service), inWords(lost(of).before), inWords(lost(of).after), signed(of.worse_s, inWords)])));
}

/** @param {any} diff */
function showInputs(diff) {
  const box = byId("inputs-body");
  const { settings, more, same, only_seed: onlySeed } = diff.inputs;
  fill(box);
  if (same) box.append(el("p", {}, "The inputs were the same: equal lock files, equal seeds."));
  if (onlySeed) box.append(el("p", {}, "The inputs were the same but for the seed."));
  if (settings.length > 0) {
    const value = (/** @type {string | null} */ text) => (text === null ? el("span", { class: "muted" }, "not there") : el("code", {}, named(text)));
    cutTable(box, settings.length, (shown) => tableOf(["setting", "first", "second"], settings.slice(0, shown).map((/** @type {any} */ of) => [
      named([of.object, of.path].filter(Boolean).join(" ")), value(of.before), value(of.after)]), 3));
  }
  if (more > 0) box.append(el("p", { class: "muted" }, `and ${count(more)} more`));
  for (const { kind, before, after } of diff.only) {
    [before, after].forEach((names, side) => {
      if (names.length === 0) return;
      box.append(el("details", {}, el("summary", {}, `Only the ${SIDES[side]} run has ${counted(names.length, kind === "kubectl" ? "line of kubectl" : kind, kind === "kubectl" ? "lines of kubectl" : `${kind}s`)}`),
        el("ul", { class: "plain" }, names.slice(0, 1000).map((/** @type {string} */ name) => el("li", {}, named(name))), names.length > 1000 && el("li", { class: "muted" }, `and ${count(names.length - 1000)} more`))));
    });
  }
}

/** @param {any} diff */
function showMetrics(diff) {
  const box = byId("metrics-body");
  if (diff.metrics.length === 0) {
    fill(box, el("p", { class: "muted" }, "None of the whole run."));
    return;
  }
  fill(box);
  const side = (/** @type {any} */ of, /** @type {number | null} */ value) => (value === null ? "–" : writer(of.metric)(value));
  cutTable(box, diff.metrics.length, (shown) => tableOf(["", "first", "second", "change"], diff.metrics.slice(0, shown).map((/** @type {any} */ of) => [
    el("code", {}, breakable(of.metric)), side(of, of.before), side(of, of.after), of.before === null || of.after === null ? "" : signed(of.after - of.before, writer(of.metric))])));
}

/** The instants at which something changes in either run. @param {Side[]} sides @param {number} end */
function changesOfBoth(sides, end) {
  const all = sides.flatMap(({ tables }) => [...numbers(tables.cluster, "time_s"), ...numbers(tables.faults, "began_s"), ...numbers(tables.faults, "ended_s")]);
  return Float64Array.from(new Set([0, ...all.filter((time) => time >= 0 && time <= end)])).sort();
}

/** @param {"first" | "second"} name @param {number} duration @returns {Promise<Side>} */
async function loadSide(name, duration) {
  const loaded = await Promise.all(PARTS.map((part) => loadTable(`${name}-${part}`)));
  const tables = /** @type {Side["tables"]} */ (Object.fromEntries(PARTS.map((part, at) => [part, loaded[at]])));
  return { name, called: `the ${name} run`, end: Math.round(duration * 1000), tables, workloads: workloadsOf(tables.workloads, noTable()) };
}

async function startDiff() {
  const diff = await loadSummary();
  const sides = await Promise.all(SIDES.map((name, at) => loadSide(name, diff.runs[at].duration_s)));
  const end = Math.max(...sides.map((side) => side.end));
  const view = createView(end);
  listenToTheme(() => view.changed("theme"));
  showSides(diff);
  showApart(diff);
  showBothTimelines(sides, diff, view);
  showInstantOfBoth(sides, view);
  showFates(diff);
  showInputs(diff);
  showMetrics(diff);
  listenToBar(view, () => changesOfBoth(sides, end));
  listenToLinks(view);
  const apart = diff.divergence?.by_more ?? diff.divergence?.first;
  view.seek(apart ? Math.round(apart.at_s * 1000) : 0);
  Object.assign(globalThis, { kubesquall: {
    seek: (/** @type {number} */ time) => view.seek(time),
    time: () => view.time,
    span: () => [view.from, view.to],
    at: () => sides.map((side) => instantOf(side, view.time)),
    ready: (/** @type {string} */ key) => sides.map((side) => {
      const steps = readyOf(side, key);
      return steps === null || view.time > side.end ? null : steps.values[lastAt(steps.times, 0, steps.times.length - 1, view.time)] ?? null;
    }),
  } });
  // Paper has another width.
  matchMedia("print").addEventListener("change", () => dispatchEvent(new Event("resize")));
}

begin(startDiff);
