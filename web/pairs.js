// Two runs side by side: their lanes above each other, their lines over each other, what both have at an instant, and tables of changes.

import { numbers } from "./data.js";
import { el, fill } from "./dom.js";
import { count, lasting } from "./format.js";
import { lastAt } from "./model.js";
import { envelope, evictionTimes, faultBars, kubectlBars } from "./lanes.js";
import { areaLane, barLane, evictionLane } from "./timeline.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./lanes.js").Steps} Steps */
/** @typedef {import("./timeline.js").Lane} Lane */

/** Rows of tables that are shown before somebody asks for all. */
const ROWS_SHOWN = 12;

/** Tables of each run that the page has. */
export const PARTS = /** @type {const} */ (["faults", "transcript", "cluster", "workloads", "disruptions"]);

/**
 * @typedef {object} Side
 * @property {string} name How its lanes are called apart: `first`
 * @property {string} called `the first run`
 * @property {number} end
 * @property {Record<typeof PARTS[number], Table>} tables
 * @property {import("./model.js").Workloads} workloads
 */

/** What is compared at an instant: columns of cluster.csv, and their words. */
export const AT_INSTANT = /** @type {const} */ ([
  ["nodes_ready", "Nodes Ready"], ["nodes_unknown", "Nodes Unknown"], ["nodes_not_ready", "Nodes Ready=False"], ["nodes_unschedulable", "Nodes cordoned"],
  ["pods_ready", "Pods Ready"], ["pods_running", "Pods Running"], ["pods_pending", "Pods Pending"], ["pods_unscheduled", "of these without a node"], ["pods_terminating", "Pods Terminating"],
  ["evictions", "Evicted so far"], ["preemptions", "Preempted so far"], ["refusals", "Evictions refused so far"],
]);

/** A number with its sign. @param {number} difference @param {(size: number) => string} [text] */
export function signed(difference, text = count) {
  return difference === 0 ? "" : `${difference > 0 ? "+" : "−"}${text(Math.abs(difference))}`;
}

/** @param {number | null | undefined} seconds */
export function inWords(seconds) {
  return seconds === null || seconds === undefined ? "–" : lasting(seconds * 1000);
}

/** How a metric is written: what counts seconds as a length of time. @param {string} metric @returns {(value: number) => string} */
export function writer(metric) {
  return metric.endsWith("_s") ? (value) => lasting(value * 1000) : count;
}

/** A table with a head. @param {string[]} heads @param {(Node | string | false)[][]} rows @param {number} [from] From which column on numbers stand @param {number} [to] */
export function tableOf(heads, rows, from = 1, to = heads.length) {
  const side = (/** @type {number} */ at) => (at >= from && at < to ? "right" : "");
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: side(at) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", { class: side(at) }, cell))))));
}

/** The first rows of a table, and a button for the others. @param {HTMLElement} box @param {number} length @param {(shown: number) => HTMLElement} draw */
export function cutTable(box, length, draw) {
  const all = el("div", { class: "scrolls" });
  const build = (/** @type {number} */ shown) => fill(all, draw(shown));
  build(ROWS_SHOWN);
  box.append(all);
  if (length <= ROWS_SHOWN) return;
  const button = el("button", { class: "quiet", onclick: () => { build(length); button.remove(); } }, `Show all ${count(length)}; these are the first ${ROWS_SHOWN}`);
  box.append(button);
}

/** A value over time, up to the end of its run. @param {Table} table @param {string} name @param {number} end @returns {Steps} */
export function columnSteps(table, name, end) {
  return { times: Float64Array.from([...numbers(table, "time_s"), end]), values: Float64Array.from([...numbers(table, name), 0]) };
}

/**
 * A value of both runs, one line over the other: the first broad and pale, the second thin and dashed, so that where both are the same both
 * are seen. Of each pixel the lowest value, so that what is short stays visible.
 * @param {string} name @param {string} hint @param {[Steps | null, Steps | null]} pair @param {number} most @param {number[]} ends @param {number} height
 * @returns {Lane}
 */
export function pairLane(name, hint, pair, most, ends, height) {
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
export function readyOf(side, key) {
  const { workloads } = side;
  const workload = workloads.byKey.get(key);
  if (workload === undefined) return null;
  const [from, to] = [workloads.offsets[workload], workloads.offsets[workload + 1]];
  return { times: Float64Array.from([...workloads.at.subarray(from, to), side.end]), values: Float64Array.from([...workloads.ready.subarray(from, to), 0]) };
}

/** The most that a workload wanted or had in either run. @param {Side[]} sides @param {string} key */
export function mostOf(sides, key) {
  let most = 0;
  for (const { workloads } of sides) {
    const workload = workloads.byKey.get(key);
    if (workload === undefined) continue;
    for (let row = workloads.offsets[workload]; row < workloads.offsets[workload + 1]; row++) most = Math.max(most, workloads.desired[row], workloads.ready[row]);
  }
  return most;
}

/** The lanes of both runs, each kind of the first above that of the second. @param {Side[]} sides */
export function lanesOfBoth(sides) {
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
    return found.length > 0 ? barLane(`${name}, ${side.name}`, `${hint}, in ${side.called}`, found, tint, side.end) : null;
  });
  const areas = (/** @type {string} */ name, /** @type {string} */ hint, /** @type {string} */ tint, /** @type {string[]} */ columns) => {
    const steps = sides.map(({ tables, end }) => {
      const of = columns.map((column) => columnSteps(tables.cluster, column, end));
      return { times: of[0].times, values: of[0].values.map((_, row) => of.reduce((sum, { values }) => sum + values[row], 0)) };
    });
    const most = steps.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
    if (most > 0) sides.forEach((side, at) => lanes.push(areaLane(`${name}, ${side.name}`, `${hint}, in ${side.called}`, steps[at], tint, 22, most)));
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
  const ready = sides.map(({ tables, end }) => columnSteps(tables.cluster, "pods_ready", end));
  const most = ready.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
  lanes.push(pairLane("Pods Ready", `pods of the whole cluster that are Ready: ${sides[0].called} | ${sides[1].called}`, [ready[0], ready[1]], most, sides.map(({ end }) => end), 54));
  return lanes;
}

/** What one run has at an instant, by column; nothing after its end. @param {Side} side @param {number} time */
export function instantOf(side, time) {
  const { cluster } = side.tables;
  const row = time > side.end ? -1 : lastAt(numbers(cluster, "time_s"), 0, cluster.rows, time);
  return Object.fromEntries(AT_INSTANT.map(([name]) => [name, row < 0 ? null : numbers(cluster, name)[row]]));
}

/** Both at an instant, and the change from one to the other. @param {Record<string, number | null>} before @param {Record<string, number | null>} after @param {string[]} heads */
export function instantTable(before, after, heads) {
  const text = (/** @type {number | null} */ value) => (value === null ? "–" : count(value));
  return tableOf(["", ...heads, "change"], AT_INSTANT.map(([name, words]) => {
    const [one, other] = [before[name], after[name]];
    return [words, text(one), text(other), one === null || other === null ? "" : signed(other - one)];
  }));
}
