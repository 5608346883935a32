// The page of two runs: both timelines under one scrubber, where they went apart and why, whose fate changed.

import { loadSummary, loadTable, noTable, numbers } from "./data.js";
import { breakable, byId, el, fill, named } from "./dom.js";
import { clock, count, counted, exactly, inPairs, lasting, shortName } from "./format.js";
import { begin, listenToTheme } from "./shell.js";
import { createView } from "./view.js";
import { listenToBar, listenToLinks } from "./scrubber.js";
import { lastAt, workloadsOf } from "./model.js";
import { envelope, evictionTimes, faultBars, kubectlBars } from "./lanes.js";
import { areaLane, barLane, evictionLane, leading, showLanes } from "./timeline.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./lanes.js").Steps} Steps */
/** @typedef {import("./timeline.js").Lane} Lane */

/** The runs, in the order in which they were named: how tables and lanes call them. */
const SIDES = /** @type {const} */ (["first", "second"]);

/** Rows of tables that are shown before somebody asks for all. */
const ROWS_SHOWN = 12;

/** Tables of each run that the page has. */
const PARTS = /** @type {const} */ (["faults", "transcript", "cluster", "workloads", "disruptions"]);

/**
 * @typedef {object} Side
 * @property {"first" | "second"} name
 * @property {number} end
 * @property {Record<typeof PARTS[number], Table>} tables
 * @property {import("./model.js").Workloads} workloads
 */

/** What is compared at an instant: columns of cluster.csv, and their words. */
const AT_INSTANT = /** @type {const} */ ([
  ["nodes_ready", "Nodes Ready"], ["nodes_unknown", "Nodes Unknown"], ["nodes_not_ready", "Nodes Ready=False"], ["nodes_unschedulable", "Nodes cordoned"],
  ["pods_ready", "Pods Ready"], ["pods_running", "Pods Running"], ["pods_pending", "Pods Pending"], ["pods_unscheduled", "of these without a node"], ["pods_terminating", "Pods Terminating"],
  ["evictions", "Evicted so far"], ["preemptions", "Preempted so far"], ["refusals", "Evictions refused so far"],
]);

/** A number with its sign. @param {number} difference @param {(size: number) => string} [text] */
function signed(difference, text = count) {
  return difference === 0 ? "" : `${difference > 0 ? "+" : "−"}${text(Math.abs(difference))}`;
}

/** @param {number | null | undefined} seconds */
function inWords(seconds) {
  return seconds === null || seconds === undefined ? "–" : lasting(seconds * 1000);
}

/** How a metric is written: what counts seconds as a length of time. @param {string} metric @returns {(value: number) => string} */
function writer(metric) {
  return metric.endsWith("_s") ? (value) => lasting(value * 1000) : count;
}

/** A table with a head. @param {string[]} heads @param {(Node | string | false)[][]} rows @param {number} [from] From which column on numbers stand @param {number} [to] */
function tableOf(heads, rows, from = 1, to = heads.length) {
  const side = (/** @type {number} */ at) => (at >= from && at < to ? "right" : "");
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: side(at) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", { class: side(at) }, cell))))));
}

/** The first rows of a table, and a button for the others. @param {HTMLElement} box @param {number} length @param {(shown: number) => HTMLElement} draw */
function cutTable(box, length, draw) {
  const all = el("div", { class: "scrolls" });
  const build = (/** @type {number} */ shown) => fill(all, draw(shown));
  build(ROWS_SHOWN);
  box.append(all);
  if (length <= ROWS_SHOWN) return;
  const button = el("button", { class: "quiet", onclick: () => { build(length); button.remove(); } }, `Show all ${count(length)}; these are the first ${ROWS_SHOWN}`);
  box.append(button);
}

/** A value over time, up to the end of its run. @param {Table} table @param {string} name @param {number} end @returns {Steps} */
function stepsOf(table, name, end) {
  return { times: Float64Array.from([...numbers(table, "time_s"), end]), values: Float64Array.from([...numbers(table, name), 0]) };
}

/**
 * A value of both runs, one line over the other: the first broad and pale, the second thin and dashed, so that where both are the same both
 * are seen. Of each pixel the lowest value, so that what is short stays visible.
 * @param {string} name @param {string} hint @param {[Steps | null, Steps | null]} pair @param {number} most @param {number[]} ends @param {number} height
 * @returns {Lane}
 */
function pairLane(name, hint, pair, most, ends, height) {
  const top = Math.max(1, most);
  const missing = pair.map((steps) => steps && { times: steps.times, values: steps.values.map((value) => top - value) });
  return {
    name, hint, height,
    draw(context, width, view, color) {
      const columns = Math.max(1, Math.floor(width));
      missing.forEach((steps, side) => {
        if (!steps) return;
        const values = envelope(steps, view.from, view.to, columns);
        const last = Math.min(columns, Math.ceil(((ends[side] - view.from) / (view.to - view.from)) * columns));
        context.beginPath();
        context.strokeStyle = color(side === 0 ? "workload-0" : "workload-1");
        context.lineWidth = side === 0 ? 3.5 : 1.5;
        context.globalAlpha = side === 0 ? 0.55 : 1;
        context.setLineDash(side === 0 ? [] : [6, 3]);
        for (let x = 0; x < last; x++) {
          const y = 4 + (values[x] / top) * (height - 8);
          if (x === 0) context.moveTo(0, y);
          else context.lineTo(x, y);
          context.lineTo(x + 1, y);
        }
        context.stroke();
      });
      context.globalAlpha = 1;
      context.setLineDash([]);
    },
    now(time) {
      return pair.map((steps, side) => {
        if (!steps || time > ends[side]) return "–";
        const row = lastAt(steps.times, 0, steps.times.length - 1, time);
        return row < 0 ? "–" : count(steps.values[row]);
      }).join(" | ");
    },
  };
}

/** Ready replicas of a workload. @param {Side} side @param {string} key @returns {Steps | null} */
function readyOf(side, key) {
  const { workloads } = side;
  const workload = workloads.byKey.get(key);
  if (workload === undefined) return null;
  const [from, to] = [workloads.offsets[workload], workloads.offsets[workload + 1]];
  return { times: Float64Array.from([...workloads.at.subarray(from, to), side.end]), values: Float64Array.from([...workloads.ready.subarray(from, to), 0]) };
}

/** The most that a workload wanted or had in either run. @param {Side[]} sides @param {string} key */
function mostOf(sides, key) {
  let most = 0;
  for (const { workloads } of sides) {
    const workload = workloads.byKey.get(key);
    if (workload === undefined) continue;
    for (let row = workloads.offsets[workload]; row < workloads.offsets[workload + 1]; row++) most = Math.max(most, workloads.desired[row], workloads.ready[row]);
  }
  return most;
}

/** The lanes of both runs, each kind of the first above that of the second. @param {Side[]} sides */
function lanesOfBoth(sides) {
  /** @type {Lane[]} */
  const lanes = [];
  const both = (/** @type {(side: Side) => Lane | null} */ make) => {
    for (const side of sides) {
      const lane = make(side);
      if (lane) lanes.push(lane);
    }
  };
  const bars = (/** @type {string} */ name, /** @type {string} */ hint, /** @type {string} */ tint, /** @type {(side: Side) => import("./lanes.js").Bar[]} */ of) => both((side) => {
    const found = of(side);
    return found.length > 0 ? barLane(`${name}, ${side.name}`, `${hint}, in the ${side.name} run`, found, tint, side.end) : null;
  });
  const areas = (/** @type {string} */ name, /** @type {string} */ hint, /** @type {string} */ tint, /** @type {string[]} */ columns) => {
    const steps = sides.map(({ tables, end }) => {
      const of = columns.map((column) => stepsOf(tables.cluster, column, end));
      return { times: of[0].times, values: of[0].values.map((_, row) => of.reduce((sum, { values }) => sum + values[row], 0)) };
    });
    const most = steps.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
    if (most > 0) sides.forEach((side, at) => lanes.push(areaLane(`${name}, ${side.name}`, `${hint}, in the ${side.name} run`, steps[at], tint, 22, most)));
  };
  bars("Faults", "what broke, and on which machines", "fault", ({ tables, end }) => faultBars(tables.faults, end).machines);
  bars("Control plane", "processes that were out", "process", ({ tables, end }) => faultBars(tables.faults, end).processes);
  bars("kubectl", "lines that operators and procedures typed", "command", ({ tables, end }) => kubectlBars(tables.transcript, end));
  areas("Nodes not Ready", "nodes whose condition Ready is False or Unknown", "nodes-down", ["nodes_unknown", "nodes_not_ready"]);
  both((side) => {
    const times = evictionTimes(side.tables.disruptions);
    return times.length > 0 ? evictionLane(`Pods taken away, ${side.name}`, times) : null;
  });
  areas("Pods Pending", "pods that wait for a node, an image or their start", "pod-unscheduled", ["pods_pending"]);
  const ready = sides.map(({ tables, end }) => stepsOf(tables.cluster, "pods_ready", end));
  const most = ready.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
  lanes.push(pairLane("Pods Ready", "pods of the whole cluster that are Ready: first run | second run", [ready[0], ready[1]], most, sides.map(({ end }) => end), 54));
  return lanes;
}

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

/** What one run has at an instant, by column; nothing after its end. @param {Side} side @param {number} time */
function instantOf(side, time) {
  const { cluster } = side.tables;
  const row = time > side.end ? -1 : lastAt(numbers(cluster, "time_s"), 0, cluster.rows, time);
  return Object.fromEntries(AT_INSTANT.map(([name]) => [name, row < 0 ? null : numbers(cluster, name)[row]]));
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
    fill(byId("instant-body"), tableOf(["", "first", "second", "change"], AT_INSTANT.map(([name, words]) => {
      const [one, other] = [before[name], after[name]];
      return [words, text(one), text(other), one === null || other === null ? "" : signed(other - one)];
    })));
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
  return { name, end: Math.round(duration * 1000), tables, workloads: workloadsOf(tables.workloads, noTable()) };
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
