// The timeline: lanes over one axis, a ruler to scrub on, a span to select.

import { numbers } from "./data.js";
import { byId, colors, el, fill, named, sized } from "./dom.js";
import { clock, count, counted, lasting, tickLabel, tickStep } from "./format.js";
import { envelope, evictionTimes, faultBars, kubectlBars, missingShare, shortWorkloads, stacked, taintSteps } from "./lanes.js";
import { lastAt } from "./model.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./lanes.js").Bar} Bar */
/** @typedef {import("./lanes.js").Steps} Steps */
/** @typedef {(name: string) => string} Colors */

/**
 * @typedef {object} Lane
 * @property {string} name
 * @property {string} hint What it shows, in words
 * @property {string} [key] The object whose story it opens
 * @property {number} height
 * @property {(context: CanvasRenderingContext2D, width: number, view: View, color: Colors) => void} draw
 * @property {(x: number, y: number, width: number, view: View) => Bar | undefined} [hit]
 * @property {(time: number) => string} [now] Its value at an instant
 */

/** The order of lanes; others follow. */
const LANES = ["Faults", "Control plane", "Procedures", "kubectl"];

/** Rows of workloads that are shown before somebody asks for all. */
const WORKLOADS_SHOWN = 8;

/** @param {View} view @param {number} width */
function scaleOf(view, width) {
  const scale = width / (view.to - view.from);
  return (/** @type {number} */ time) => (time - view.from) * scale;
}

/**
 * @param {string} name @param {string} hint @param {Bar[]} bars @param {string} tint
 * @returns {Lane}
 */
function barLane(name, hint, bars, tint) {
  const { row, used } = stacked(bars, 6);
  const pitch = 18;
  return {
    name, hint, height: used * pitch + 4,
    draw(context, width, view, color) {
      const x = scaleOf(view, width);
      context.font = `11px ${color("font")}`;
      context.textBaseline = "middle";
      bars.forEach((bar, index) => {
        if (bar.to < view.from || bar.from > view.to) return;
        drawBar(context, bar, x(bar.from), x(bar.to), 2 + row[index] * pitch, pitch - 3, width, color, tint);
      });
    },
    hit(at, y, width, view) {
      const x = scaleOf(view, width);
      const place = Math.floor((y - 2) / pitch);
      return bars.findLast((bar, index) => row[index] === place && x(bar.from) - 4 <= at && at <= Math.max(x(bar.to), x(bar.from) + 3) + 4);
    },
  };
}

/**
 * @param {CanvasRenderingContext2D} context @param {Bar} bar @param {number} left @param {number} right @param {number} top
 * @param {number} height @param {number} width @param {Colors} color @param {string} tint
 */
function drawBar(context, bar, left, right, top, height, width, color, tint) {
  const from = Math.max(-4, left);
  const to = Math.min(width + 4, Math.max(right, left + 3));
  context.fillStyle = color(bar.bad ? "bad" : tint);
  context.beginPath();
  context.roundRect(from, top, to - from, height, 2);
  context.fill();
  const inside = to - from - 10;
  const wanted = context.measureText(bar.label).width;
  if (inside >= Math.min(wanted, 60)) {
    context.save();
    context.beginPath();
    context.rect(Math.max(from, 0), top, Math.min(to, width) - Math.max(from, 0) - 4, height);
    context.clip();
    context.fillStyle = color("on-bar");
    context.fillText(bar.label, Math.max(from, 0) + 5, top + height / 2 + 0.5);
    context.restore();
  }
  if (bar.bad) {
    context.fillStyle = color("on-bar");
    context.fillText("×", to - 9, top + height / 2);
  }
}

/**
 * A count over time as an area, to its own maximum.
 * @param {string} name @param {string} hint @param {Steps} steps @param {string} tint @param {number} height
 * @returns {Lane}
 */
function areaLane(name, hint, steps, tint, height) {
  const most = Math.max(1, steps.values.reduce((a, b) => Math.max(a, b), 0));
  return {
    name, hint: `${hint}; at most ${count(most)}`, height,
    draw(context, width, view, color) {
      const columns = Math.max(1, Math.floor(width));
      const values = envelope(steps, view.from, view.to, columns);
      context.fillStyle = color(tint);
      for (let x = 0; x < columns; x++) {
        if (values[x] <= 0) continue;
        const tall = Math.max(1.5, (values[x] / most) * (height - 4));
        context.fillRect(x, height - 1 - tall, 1.05, tall);
      }
    },
    now(time) {
      const row = lastAt(steps.times, 0, steps.times.length, time);
      return count(row < 0 ? 0 : steps.values[row]);
    },
  };
}

/** @param {Float64Array} times @returns {Lane} */
function evictionLane(times) {
  const height = 30;
  return {
    name: "Pods taken away", hint: "evicted, preempted or killed: each at its instant", height,
    draw(context, width, view, color) {
      const bin = 3;
      const bins = new Float64Array(Math.ceil(width / bin));
      const scale = width / (view.to - view.from) / bin;
      for (const time of times) {
        const place = Math.floor((time - view.from) * scale);
        if (place >= 0 && place < bins.length) bins[place]++;
      }
      const most = Math.max(1, ...bins);
      context.fillStyle = color("evicted");
      bins.forEach((value, place) => {
        const tall = value > 0 ? Math.max(3, (value / most) * (height - 4)) : 0;
        context.fillRect(place * bin, height - 1 - tall, bin - 0.5, tall);
      });
    },
    now: (time) => count(lastAt(times, 0, times.length, time) + 1),
  };
}

/**
 * Ready of wanted: a pale band of what is wanted, the missing share on top of it.
 * @param {Model} model @param {number} workload @param {string} key
 * @returns {Lane}
 */
function workloadLane(model, workload, key) {
  const { workloads } = model;
  const steps = missingShare(model, workload);
  const height = 18;
  return {
    name: key, key, hint: "ready replicas; what is missing hangs from the top", height,
    draw(context, width, view, color) {
      const columns = Math.max(1, Math.floor(width));
      const missing = envelope(steps, view.from, view.to, columns);
      context.fillStyle = color("ready-band");
      context.fillRect(0, 3, width, height - 5);
      context.fillStyle = color("missing");
      for (let x = 0; x < columns; x++) {
        if (missing[x] > 0) context.fillRect(x, 3, 1.05, Math.max(2, missing[x] * (height - 5)));
      }
    },
    now(time) {
      const from = workloads.offsets[workload];
      const row = lastAt(workloads.at, from, workloads.offsets[workload + 1], time);
      return row < from ? "–" : `${count(workloads.ready[row])}/${count(workloads.desired[row])}`;
    },
  };
}

/**
 * @param {Record<string, import("./data.js").Table>} tables @param {Model} model
 * @returns {Lane[]}
 */
function lanesOf(tables, model) {
  const { machines, processes } = faultBars(tables.faults, model.end);
  const commands = kubectlBars(tables.transcript, model.end);
  const times = numbers(tables.cluster, "time_s");
  const of = (/** @type {string} */ name) => ({ times, values: numbers(tables.cluster, name) });
  const lanes = [];
  if (machines.length > 0) lanes.push(barLane("Faults", "what broke, and on which machines", machines, "fault"));
  if (processes.length > 0) lanes.push(barLane("Control plane", "processes that were out", processes, "process"));
  if (commands.length > 0) lanes.push(barLane("kubectl", "lines that operators and procedures typed; choose one to see what it printed", commands, "command"));
  const unknown = of("nodes_unknown");
  const notReady = of("nodes_not_ready");
  const down = { times, values: unknown.values.map((value, row) => value + notReady.values[row]) };
  if (down.values.some((value) => value > 0)) {
    lanes.push(areaLane("Nodes not Ready", "nodes whose condition Ready is False or Unknown", down, "nodes-down", 22));
  }
  for (const { effect, steps } of taintSteps(tables.taints).filter((taint) => taint.steps.values.some((value) => value > 0))) {
    lanes.push(areaLane(`Tainted ${effect}`, "nodes with such a taint that the run put on them", steps, effect === "NoExecute" ? "taint-b" : "taint-a", 22));
  }
  const evictions = evictionTimes(tables.disruptions);
  if (evictions.length > 0) lanes.push(evictionLane(evictions));
  return lanes;
}

/**
 * @param {HTMLCanvasElement} canvas @param {number} width @param {View} view @param {Colors} color
 */
function drawRuler(canvas, width, view, color) {
  const height = 24;
  const context = sized(canvas, width, height);
  const step = tickStep(view.to - view.from, Math.max(2, width / 76));
  const x = scaleOf(view, width);
  context.font = `11px ${color("font")}`;
  context.fillStyle = color("muted");
  context.textBaseline = "top";
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const at = Math.round(x(time)) + 0.5;
    context.fillRect(at - 0.5, height - 6, 1, 6);
    const label = tickLabel(time, step);
    const wide = context.measureText(label).width;
    context.fillText(label, Math.min(Math.max(0, at - wide / 2), width - wide), 3);
  }
}

/**
 * Builds the timeline; gives what draws it anew.
 * @param {Record<string, import("./data.js").Table>} tables @param {Model} model @param {any} summary @param {View} view
 */
export function showTimeline(tables, model, summary, view) {
  const list = byId("lanes");
  const ruler = /** @type {HTMLCanvasElement} */ (byId("ruler"));
  const head = byId("playhead");
  const selection = byId("selection");
  const hover = byId("hover");
  const plots = byId("plots");
  const short = shortWorkloads(model, summary);
  /** @type {{lane: Lane, canvas: HTMLCanvasElement, now: HTMLElement}[]} */
  let rows = [];
  let showsAll = false;
  /** @type {Bar[]} */
  let procedures = [];

  const addLane = (/** @type {Lane} */ lane) => {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const now = el("output", { class: "lane-now" });
    const label = lane.key
      ? el("button", { class: "lane-name link", "data-key": lane.key, title: `${lane.key}: ${lane.hint}` }, named(lane.name.slice(lane.name.lastIndexOf("/") + 1)))
      : el("span", { class: "lane-name", title: lane.hint }, lane.name);
    list.append(el("div", { class: "lane" }, el("div", { class: "lane-label" }, label, now), el("div", { class: "lane-plot" }, canvas)));
    rows.push({ lane, canvas, now });
  };
  const build = () => {
    fill(list);
    rows = [];
    const lanes = lanesOf(tables, model);
    if (procedures.length > 0) lanes.push(barLane("Procedures", "what operators and their automata did by a plan: upgrades and reboots of pools, autoscaling", procedures, "procedure"));
    const rank = (/** @type {Lane} */ lane) => (LANES.includes(lane.name) ? LANES.indexOf(lane.name) : LANES.length);
    lanes.sort((a, b) => rank(a) - rank(b));
    lanes.forEach(addLane);
    if (short.length > 0) {
      list.append(el("h3", { class: "lane-heading" }, `Ready replicas of ${short.length === 1 ? "the workload" : `the ${count(short.length)} workloads`} that ran short, the worst first`));
    }
    short.slice(0, showsAll ? short.length : WORKLOADS_SHOWN).forEach(({ workload, key }) => addLane(workloadLane(model, workload, key)));
    byId("lane-count").textContent = counted(rows.length, "lane");
    if (short.length > WORKLOADS_SHOWN) {
      const label = showsAll ? `Show the worst ${WORKLOADS_SHOWN} only` : `Show all ${count(short.length)}; these are the worst ${WORKLOADS_SHOWN}`;
      list.append(el("button", { class: "quiet", id: "all-workloads", onclick: () => { showsAll = !showsAll; build(); draw(); } }, label));
    }
  };
  // Asked of the document only when it may have changed: asking makes it lay itself out.
  let wide = 600;
  const width = () => wide;
  const draw = () => {
    const color = colors();
    wide = ruler.parentElement?.clientWidth ?? 600;
    drawRuler(ruler, wide, view, color);
    for (const { lane, canvas } of rows) lane.draw(sized(canvas, wide, lane.height), wide, view, color);
    const whole = view.from <= 0 && view.to >= view.end;
    byId("span-text").textContent = whole ? `the whole run, ${lasting(view.end)}` : `${clock(view.from)} to ${clock(view.to)}`;
    /** @type {HTMLButtonElement} */ (byId("zoom-out")).disabled = whole;
    move();
  };
  const move = () => {
    const x = scaleOf(view, width())(view.time);
    head.style.transform = `translateX(${x}px)`;
    head.hidden = x < -1 || x > width() + 1;
    for (const { lane, now } of rows) if (lane.now) now.textContent = lane.now(view.time);
  };

  const detail = (/** @type {Bar} */ bar) => {
    const box = byId("bar-detail");
    fill(box,
      el("p", {}, el("button", { class: "time", "data-ms": bar.from }, clock(bar.from)), " – ", el("button", { class: "time", "data-ms": bar.to }, clock(bar.to)), bar.open ? " (to the end of the run)" : ` (${lasting(bar.to - bar.from)})`),
      el("p", { class: "strong" }, named(bar.title.split("\n")[0])),
      bar.title.includes("\n") && el("p", { class: bar.bad ? "tone-bad" : "muted" }, bar.title.split("\n")[1]),
      bar.objects.length > 0 && el("p", { class: "objects" }, bar.objects.slice(0, 60).map((key) => el("button", { class: "link", "data-key": key }, named(key))), bar.objects.length > 60 && `and ${count(bar.objects.length - 60)} more, in faults.csv`),
      bar.lines.length > 0 && el("pre", { tabindex: "0" }, bar.lines.join("\n")));
    box.hidden = false;
  };
  listenToPointer(plots, { view, width, selection, hover, rows: () => rows, detail });
  listenToRuler(ruler, view, width);
  build();
  view.on("time", move);
  view.on("span", draw);
  view.on("theme", draw);
  addEventListener("resize", draw);
  byId("zoom-out").addEventListener("click", () => view.zoom(0, view.end));
  draw();
  return {
    /** Procedures are read from the events, which come later. @param {Bar[]} bars */
    addProcedures(bars) {
      if (bars.length === 0) return;
      procedures = bars;
      build();
      draw();
    },
  };
}

/**
 * Dragging on the ruler moves the instant.
 * @param {HTMLElement} ruler @param {View} view @param {() => number} width
 */
function listenToRuler(ruler, view, width) {
  const scrub = (/** @type {PointerEvent} */ event) => {
    const x = event.clientX - ruler.getBoundingClientRect().left;
    view.seek(Math.min(view.to, Math.max(view.from, view.from + (x / width()) * (view.to - view.from))));
  };
  ruler.addEventListener("pointerdown", (event) => {
    ruler.setPointerCapture(event.pointerId);
    scrub(event);
  });
  ruler.addEventListener("pointermove", (event) => {
    if (ruler.hasPointerCapture(event.pointerId)) scrub(event);
  });
}

/**
 * On the lanes: a click moves the instant and shows what is there, a drag selects a span.
 * @param {HTMLElement} plots
 * @param {{view: View, width: () => number, selection: HTMLElement, hover: HTMLElement, rows: () => {lane: Lane, canvas: HTMLCanvasElement}[], detail: (bar: Bar) => void}} parts
 */
function listenToPointer(plots, { view, width, selection, hover, rows, detail }) {
  /** @type {number | null} */
  let pressed = null;
  const left = () => byId("ruler").getBoundingClientRect().left;
  const inPlot = (/** @type {PointerEvent} */ event) => event.target instanceof HTMLCanvasElement && event.target.id !== "ruler" && event.target.closest(".lane-plot") !== null;
  const timeAt = (/** @type {number} */ x) => view.from + (Math.min(width(), Math.max(0, x)) / width()) * (view.to - view.from);
  const under = (/** @type {PointerEvent} */ event) => {
    const row = rows().find(({ canvas }) => canvas === event.target);
    if (!row) return undefined;
    const box = row.canvas.getBoundingClientRect();
    return row.lane.hit?.(event.clientX - box.left, event.clientY - box.top, width(), view);
  };
  plots.addEventListener("pointerdown", (event) => {
    if (!inPlot(event) || event.button !== 0) return;
    pressed = event.clientX - left();
    plots.setPointerCapture(event.pointerId);
  });
  plots.addEventListener("pointermove", (event) => {
    const x = event.clientX - left();
    if (pressed === null) {
      const bar = inPlot(event) ? under(event) : undefined;
      hover.hidden = !inPlot(event);
      hover.style.transform = `translateX(${Math.min(x + 8, width() - 220)}px)`;
      hover.textContent = bar ? `${clock(timeAt(x))}  ${bar.label}` : clock(timeAt(x));
      return;
    }
    const [from, to] = [Math.max(0, Math.min(pressed, x)), Math.min(width(), Math.max(pressed, x))];
    selection.hidden = to - from < 4;
    selection.style.transform = `translateX(${from}px)`;
    selection.style.width = `${to - from}px`;
  });
  plots.addEventListener("pointerleave", () => { hover.hidden = true; });
  plots.addEventListener("pointerup", (event) => {
    if (pressed === null) return;
    const [from, to] = [timeAt(Math.min(pressed, event.clientX - left())), timeAt(Math.max(pressed, event.clientX - left()))];
    const isSpan = !selection.hidden;
    pressed = null;
    selection.hidden = true;
    plots.releasePointerCapture(event.pointerId);
    if (isSpan) {
      view.zoom(from, to);
      return;
    }
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const row = rows().find(({ canvas }) => canvas === target);
    const box = row?.canvas.getBoundingClientRect();
    const bar = row && box ? row.lane.hit?.(event.clientX - box.left, event.clientY - box.top, width(), view) : undefined;
    view.seek(to);
    if (bar) detail(bar);
  });
  plots.addEventListener("pointercancel", () => { pressed = null; selection.hidden = true; });
}
