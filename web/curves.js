// Curves, drawn by uPlot: pods in trouble over the timeline's axis, and shares of recoveries by their length.

import { numbers } from "./data.js";
import { byId, colors, el, fill } from "./dom.js";
import { clock, count, lasting, tickLabel, tickStep } from "./format.js";
import { lastAt } from "./model.js";

/** @typedef {import("./view.js").View} View */

/**
 * Pods in trouble, under the same scrubber as the lanes.
 * @param {import("./data.js").Table} table cluster.csv @param {View} view
 */
export function showPodCurve(table, view) {
  const box = byId("curves");
  const times = numbers(table, "time_s");
  const series = podSeries(table);
  if (times.length === 0 || !series.some(({ values }) => values.some((value) => value > 0))) {
    fill(box, el("p", { class: "muted" }, "No pod was ever in trouble."));
    return;
  }
  /** @type {any} */
  let plot = null;
  // The last state holds to the end.
  const x = [...times, view.end];
  const data = [x, ...series.map(({ values }) => [...values, values[values.length - 1]])];
  const gutter = () => Math.max(36, byId("ruler").getBoundingClientRect().left - box.getBoundingClientRect().left);
  const head = el("div", { class: "curve-head" });
  // What holds at the instant, where no pointer asks for another.
  const showInstant = (/** @type {any} */ of) => {
    of.setLegend({ idx: Math.max(0, lastAt(x, 0, x.length, view.time)) }, false);
  };
  const build = () => {
    plot?.destroy();
    const color = colors();
    const left = gutter();
    plot = new uPlot({
      width: box.clientWidth, height: 130, ms: 1, padding: [8, 0, 0, 0],
      legend: { show: true, live: true },
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      scales: { x: { time: false, range: () => [view.from, view.to] }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(1, most * 1.08)] } },
      axes: podAxes(view, color, box.clientWidth, left),
      series: [
        { label: "since", value: (/** @type {any} */ _, /** @type {number | null} */ time) => (time === null ? "–" : clock(time)) },
        ...series.map(({ label, tint, dash, width }) => ({ label, stroke: color(tint), width, dash, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }), value: (/** @type {any} */ _, /** @type {number | null} */ pods) => (pods === null ? "–" : count(pods)) })),
      ],
      hooks: {
        draw: [(/** @type {any} */ of) => moveHead(of, head, view)],
        setCursor: [(/** @type {any} */ of) => { if (of.cursor.left < 0) showInstant(of); }],
        setSelect: [(/** @type {any} */ of) => zoomToSelected(of, view)],
      },
    }, data, box);
    plot.over.append(head);
    moveHead(plot, head, view);
    showInstant(plot);
    plot.over.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      view.seek(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
    });
  };
  build();
  view.on("span", () => plot.setScale("x", { min: view.from, max: view.to }));
  view.on("time", () => {
    moveHead(plot, head, view);
    if (!(plot.cursor.left >= 0)) showInstant(plot);
  });
  view.on("theme", build);
  addEventListener("resize", build);
}

/** @param {import("./data.js").Table} table cluster.csv */
function podSeries(table) {
  const of = (/** @type {string} */ name) => numbers(table, name);
  const running = of("pods_running");
  const ready = of("pods_ready");
  // Where they coincide, the narrower lie on the wider ones, and let them be seen.
  return [
    { label: "Running, not Ready", tint: "pod-not-ready", values: running.map((value, row) => value - ready[row]), dash: [], width: 4 },
    { label: "Pending", tint: "pod-unscheduled", values: of("pods_pending"), dash: [9, 7], width: 2.5 },
    { label: "Terminating", tint: "pod-terminating", values: of("pods_terminating"), dash: [2, 3], width: 1.25 },
  ];
}

/** Time below, pods at the left. @param {View} view @param {(name: string) => string} color @param {number} width @param {number} left */
function podAxes(view, color, width, left) {
  const axis = { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, font: `11px ${color("font")}` };
  return [
    { ...axis, size: 22, splits: () => axisSplits(view, width - left), values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((time) => tickLabel(time, at.length > 1 ? at[1] - at[0] : view.end)) },
    { ...axis, size: left, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map(count), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000] },
  ];
}

/** What a drag across a plot of time does: it selects that span. @param {any} of @param {View} view */
function zoomToSelected(of, view) {
  if (of.select.width < 4) return;
  view.zoom(of.posToVal(of.select.left, "x"), of.posToVal(of.select.left + of.select.width, "x"));
  of.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}

/** @param {View} view @param {number} width */
function axisSplits(view, width) {
  const step = tickStep(view.to - view.from, Math.max(2, width / 76));
  const found = [];
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) if (((view.to - time) / (view.to - view.from)) * width > 18 || found.length === 0) found.push(time);
  return found;
}

/** The instant, above the curves: drawing them again for it would cost as much as their points. @param {any} plot @param {HTMLElement} head @param {View} view */
function moveHead(plot, head, view) {
  head.hidden = view.time < view.from || view.time > view.to;
  head.style.transform = `translateX(${plot.valToPos(view.time, "x")}px)`;
}

/**
 * The share of recoveries that were over within a time.
 * @param {HTMLElement} box @param {number[]} lengths In milliseconds @param {number} open How many were not over by the end @param {View} view
 */
export function showShares(box, lengths, open, view) {
  const all = lengths.length + open;
  const sorted = Float64Array.from(lengths).sort();
  const data = [[0, ...sorted], [0, ...sorted.map((_, at) => ((at + 1) / all) * 100)]];
  /** @type {any} */
  let plot = null;
  const build = () => {
    plot?.destroy();
    const color = colors();
    plot = new uPlot({
      width: Math.min(560, box.clientWidth), height: 190, ms: 1, padding: [8, 34, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false, range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, most || 1] }, y: { range: [0, 100] } },
      axes: [
        { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, font: `11px ${color("font")}`, size: 22, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((time) => lasting(time)), splits: (/** @type {any} */ of) => shareSplits(of.scales.x.max ?? 1) },
        { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, font: `11px ${color("font")}`, size: 44, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((share) => `${share} %`) },
      ],
      series: [
        { label: "within", value: (/** @type {any} */ _, /** @type {number | null} */ time) => (time === null ? "–" : lasting(time)) },
        { label: "of recoveries", stroke: color("pod-ready"), width: 1.5, points: { show: sorted.length < 60, size: 4 }, paths: uPlot.paths.stepped({ align: 1 }), value: (/** @type {any} */ _, /** @type {number | null} */ share) => (share === null ? "–" : `${share.toFixed(1)} %`) },
      ],
    }, data, box);
  };
  build();
  view.on("theme", build);
  addEventListener("resize", build);
}

/** @param {number} most */
function shareSplits(most) {
  const step = tickStep(most, 6);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}
