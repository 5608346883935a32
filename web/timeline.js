// The timeline: lanes over one axis, a ruler to scrub on, a span to select.

import { byId, colors, el, fill, named, sized, visible } from "./dom.js";
import { clock, count, counted, lasting, tickLabel, tickStep } from "./format.js";
import { arrivalBars, envelope, evictionTimes, faultBars, kubectlBars, missingShare, nodeSteps, shortWorkloads, stacked, taintSteps } from "./lanes.js";
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
 * @property {(context: CanvasRenderingContext2D, width: number, view: View, color: Colors, cursor: Bar | undefined) => void} draw
 * @property {Bar[]} [bars] What it shows, in the order of time
 * @property {(x: number, y: number, width: number, view: View) => Bar | undefined} [hit]
 * @property {(time: number) => string} [now] Its value at an instant
 */

/** The order of lanes; others follow. */
const LANES = ["Faults", "Control plane", "Procedures", "kubectl", "Nodes come and go"];

/** A lane of no more bars has room for the names of all. */
const NAMED_MAX = 10;

/** Rows of workloads that are shown before somebody asks for all. */
const WORKLOADS_SHOWN = 8;

/** @param {View} view @param {number} width */
function scaleOf(view, width) {
  const scale = width / (view.to - view.from);
  return (/** @type {number} */ time) => (time - view.from) * scale;
}

/**
 * @param {string} name @param {string} hint @param {Bar[]} bars @param {string} tint @param {number} end
 * @returns {Lane}
 */
export function barLane(name, hint, bars, tint, end) {
  const { row, used } = stacked(bars, 6, bars.length <= NAMED_MAX ? end / 7 : 0);
  const pitch = 18;
  const sorted = [...bars.keys()].sort((a, b) => bars[a].from - bars[b].from || a - b);
  /** Where the next bar of the same row begins. */
  const free = new Float64Array(bars.length).fill(Infinity);
  /** @type {Map<number, number>} */
  const last = new Map();
  for (const index of sorted) {
    const before = last.get(row[index]);
    if (before !== undefined) free[before] = bars[index].from;
    last.set(row[index], index);
  }
  return {
    name, hint, height: used * pitch + 4, bars: sorted.map((index) => bars[index]),
    draw(context, width, view, color, cursor) {
      const x = scaleOf(view, width);
      context.font = `11px ${color("font")}`;
      context.textBaseline = "middle";
      bars.forEach((bar, index) => {
        if (bar.to < view.from || bar.from > view.to) return;
        drawBar(context, bar, x(bar.from), x(bar.to), 2 + row[index] * pitch, pitch - 3, Math.min(width, x(free[index]) - 6), color, tint);
        if (bar !== cursor) return;
        context.strokeStyle = color("focus");
        context.lineWidth = 2;
        context.strokeRect(Math.max(1, x(bar.from) - 1), 1 + row[index] * pitch, Math.min(width - 1, Math.max(x(bar.to), x(bar.from) + 3) + 1) - Math.max(1, x(bar.from) - 1), pitch - 1);
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
 * A bar, its label in it or, where it is too short for that, beside it as far as there is room.
 * @param {CanvasRenderingContext2D} context @param {Bar} bar @param {number} left @param {number} right @param {number} top
 * @param {number} height @param {number} room Up to where it is free beside it @param {Colors} color @param {string} tint
 */
function drawBar(context, bar, left, right, top, height, room, color, tint) {
  const wide = context.canvas.clientWidth;
  const from = Math.max(-4, left);
  const to = Math.min(wide + 4, Math.max(right, left + 3));
  context.fillStyle = color(bar.bad ? "bad" : tint);
  context.beginPath();
  context.roundRect(from, top, to - from, height, 2);
  context.fill();
  const wanted = context.measureText(bar.label).width;
  const isInside = to - from - 10 >= Math.min(wanted, 60);
  if (isInside) {
    context.fillStyle = color("on-bar");
    context.fillText(cut(context, visible(bar.label), Math.min(to, wide) - Math.max(from, 0) - (bar.bad ? 18 : 10)), Math.max(from, 0) + 5, top + height / 2 + 0.5);
  } else if (room - to - 5 >= Math.min(wanted, 40)) {
    context.fillStyle = color("text");
    context.fillText(cut(context, visible(bar.label), room - to - 5), Math.max(to, 0) + 4, top + height / 2 + 0.5);
  }
  if (bar.bad && to - from > 12) {
    context.fillStyle = color("on-bar");
    context.fillText("×", to - 9, top + height / 2);
  }
}

/** As much of a text as there is room for. @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
function cut(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${text.slice(0, low)}…`;
}

/**
 * How many nodes are Ready: pale from below; above them those that are not, and those that are gone.
 * @param {import("./data.js").Table} table cluster.csv
 * @returns {Lane | null} None if all are there and Ready all the time
 */
function nodeLane(table) {
  const { times, ready, all, down, gone, absent, most } = nodeSteps(table);
  if (!down.some((value) => value > 0) && !absent.some((value) => value > 0)) return null;
  const height = 26;
  return {
    name: "Nodes Ready", hint: "nodes whose condition Ready is True, of all that there are; orange: False or Unknown; gray: gone", height,
    draw(context, width, view, color) {
      const columns = Math.max(1, Math.floor(width));
      const tall = height - 5;
      const [notReady, left, missing] = [down, gone, absent].map((values) => envelope({ times, values }, view.from, view.to, columns));
      const pixels = (/** @type {number} */ value) => (value > 0 ? Math.max(2, (value / most) * tall) : 0);
      context.fillStyle = color("ready-band");
      context.fillRect(0, 3, width, tall);
      for (let x = 0; x < columns; x++) {
        const [out, were, bad] = [pixels(missing[x]), pixels(left[x]), pixels(notReady[x])];
        context.fillStyle = color("paper");
        if (out > 0) context.fillRect(x, 3, 1.05, out);
        context.fillStyle = color("node-absent-edge");
        if (were > 0) context.fillRect(x, 3 + out - were, 1.05, were);
        context.fillStyle = color("nodes-down");
        if (bad > 0) context.fillRect(x, 3 + Math.min(out, tall - bad), 1.05, bad);
      }
    },
    now(time) {
      const row = lastAt(times, 0, times.length, time);
      return row < 0 ? "–" : `${count(ready[row])}/${count(all[row])}`;
    },
  };
}

/**
 * A count over time as an area, to its own maximum.
 * @param {string} name @param {string} hint @param {Steps} steps @param {string} tint @param {number} height
 * @param {number} [top] What fills the lane, if it is not the maximum
 * @returns {Lane}
 */
export function areaLane(name, hint, steps, tint, height, top) {
  const own = steps.values.reduce((a, b) => Math.max(a, b), 0);
  const most = Math.max(1, top ?? own);
  return {
    name, hint: `${hint}; at most ${count(own)}`, height,
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

/** @param {string} name @param {Float64Array} times @returns {Lane} */
export function evictionLane(name, times) {
  const height = 30;
  return {
    name, hint: "evicted, preempted or killed: each at its instant", height,
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
  const { machines, processes } = faultBars(tables.faults, model.end, model.nodes);
  const commands = kubectlBars(tables.transcript, model.end);
  const lanes = [];
  if (machines.length > 0) lanes.push(barLane("Faults", "what broke, and on which machines", machines, "fault", model.end));
  if (processes.length > 0) lanes.push(barLane("Control plane", "processes that were out", processes, "process", model.end));
  if (commands.length > 0) lanes.push(barLane("kubectl", "lines that operators and procedures typed; choose one to see what it printed", commands, "command", model.end));
  const arrivals = arrivalBars(model);
  if (arrivals.length > 0) lanes.push(barLane("Nodes come and go", "Node objects that were made and deleted", arrivals, "process", model.end));
  const nodes = nodeLane(tables.cluster);
  if (nodes) lanes.push(nodes);
  for (const { effect, steps } of taintSteps(tables.taints).filter((taint) => taint.steps.values.some((value) => value > 0))) {
    lanes.push(areaLane(`Tainted ${effect}`, "nodes with such a taint that the run put on them", steps, effect === "NoExecute" ? "taint-b" : "taint-a", 22));
  }
  const evictions = evictionTimes(tables.disruptions);
  if (evictions.length > 0) lanes.push(evictionLane("Pods taken away", evictions));
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
  let free = -Infinity;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const at = Math.round(x(time)) + 0.5;
    context.fillRect(at - 0.5, height - 6, 1, 6);
    const label = tickLabel(time, step);
    const wide = context.measureText(label).width;
    const place = Math.min(Math.max(0, at - wide / 2), width - wide);
    if (place < free) continue;
    free = place + wide + 8;
    context.fillText(label, place, 3);
  }
}

/**
 * @typedef {object} Plots
 * @property {(lane: Lane) => void} add
 * @property {HTMLElement} list Where lanes stand; for headings and buttons between them
 */

/** @typedef {{lane: Lane | null, at: number}} Cursor The bar that keys have come to */

/**
 * Bars by keys alone.
 * @param {HTMLCanvasElement} canvas @param {Lane} lane
 * @param {{view: View, cursor: Cursor, draw: () => void, show: (bar: Bar) => void}} does
 */
function listenToBars(canvas, lane, { view, cursor, draw, show }) {
  const bars = lane.bars ?? [];
  const tell = () => {
    const bar = bars[cursor.at];
    if (bar.from > view.to || bar.to < view.from) view.zoom(bar.from - (view.to - view.from) / 2, bar.from + (view.to - view.from) / 2);
    else draw();
    byId("bar-text").textContent = visible(`${cursor.at + 1} of ${bars.length}: ${clock(bar.from)} ${bar.label}`);
  };
  canvas.addEventListener("focus", () => {
    if (!canvas.matches(":focus-visible")) return;
    const next = bars.findIndex((bar) => bar.to >= view.from);
    Object.assign(cursor, { lane, at: Math.max(0, next) });
    tell();
  });
  canvas.addEventListener("blur", () => {
    cursor.lane = null;
    byId("bar-text").textContent = "";
    draw();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step !== undefined) {
      cursor.at = Math.min(bars.length - 1, Math.max(0, cursor.at + step));
      tell();
    } else if (event.key === "Enter") {
      show(bars[cursor.at]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

/** What a bar stands for. @param {Bar} bar */
function showBar(bar) {
  const box = byId("bar-detail");
  fill(box,
    el("p", {}, el("button", { class: "time", "data-ms": bar.from }, clock(bar.from)), " – ", el("button", { class: "time", "data-ms": bar.to }, clock(bar.to)), bar.open ? " (to the end of the run)" : ` (${lasting(bar.to - bar.from)})`),
    el("p", { class: "strong" }, named(bar.title.split("\n")[0])),
    bar.title.includes("\n") && el("p", { class: bar.bad ? "tone-bad" : "muted" }, bar.title.split("\n")[1]),
    bar.objects.length > 0 && el("p", { class: "objects" }, bar.objects.slice(0, 60).map((key) => el("button", { class: "link", "data-key": key }, named(key))), bar.objects.length > 60 && `and ${count(bar.objects.length - 60)} more, in faults.csv`),
    bar.lines.length > 0 && el("pre", { tabindex: "0" }, bar.lines.join("\n")));
  box.hidden = false;
}

/** Puts the playhead to a place of the plots, if it is one. @param {HTMLElement} head @param {number} x @param {number} width */
function moveTo(head, x, width) {
  head.style.transform = `translateX(${x}px)`;
  head.hidden = x < -1 || x > width + 1;
}

/** Draws anew when the span, the theme or the width has changed. @param {View} view @param {() => void} draw */
function drawAgain(view, draw) {
  view.on("span", draw);
  view.on("theme", draw);
  addEventListener("resize", draw);
  byId("zoom-out").addEventListener("click", () => view.zoom(0, view.end));
}

/** Which span is shown. @param {View} view */
function tellSpan(view) {
  const whole = view.from <= 0 && view.to >= view.end;
  byId("span-text").textContent = whole ? `the whole run, ${lasting(view.end)}` : `${clock(view.from)} to ${clock(view.to)}`;
  /** @type {HTMLButtonElement} */ (byId("zoom-out")).disabled = whole;
}

/** What a lane is drawn on; bars can be reached by keys. @param {Lane} lane */
function laneCanvas(lane) {
  return lane.bars
    ? el("canvas", { tabindex: "0", role: "img", "aria-label": `${lane.name}: ${counted(lane.bars.length, "bar")}; arrow keys go from one to the next, Enter shows one`, "aria-describedby": "bar-text" })
    : el("canvas", { "aria-hidden": "true" });
}

/** What stands beside a lane: its name, which leads to its story if it has one. @param {Lane} lane */
function laneLabel(lane) {
  return lane.key
    ? el("button", { class: "lane-name link", "data-key": lane.key, title: `${lane.key}: ${lane.hint}` }, named(lane.name.slice(lane.name.lastIndexOf("/") + 1)))
    : el("span", { class: "lane-name", title: lane.hint }, lane.name);
}

/**
 * Lanes under one ruler, one selection and one playhead.
 * @param {View} view @param {(plots: Plots) => void} build Adds the lanes
 */
export function showLanes(view, build) {
  const list = byId("lanes");
  const ruler = /** @type {HTMLCanvasElement} */ (byId("ruler"));
  const head = byId("playhead");
  /** @type {{lane: Lane, canvas: HTMLCanvasElement, now: HTMLElement}[]} */
  let rows = [];

  /** @type {Cursor} */
  const cursor = { lane: null, at: 0 };
  const add = (/** @type {Lane} */ lane) => {
    const canvas = laneCanvas(lane);
    if (lane.bars) listenToBars(canvas, lane, { view, cursor, draw, show });
    const now = el("output", { class: "lane-now" });
    list.append(el("div", { class: "lane" }, el("div", { class: "lane-label" }, laneLabel(lane), now), el("div", { class: "lane-plot" }, canvas)));
    rows.push({ lane, canvas, now });
  };
  const fillList = () => {
    fill(list);
    rows = [];
    build({ add, list });
    byId("lane-count").textContent = counted(rows.length, "lane");
  };
  // Asked of the document only when it may have changed: asking makes it lay itself out.
  let wide = 600;
  const width = () => wide;
  const draw = () => {
    const color = colors();
    wide = ruler.parentElement?.clientWidth ?? 600;
    drawRuler(ruler, wide, view, color);
    for (const { lane, canvas } of rows) lane.draw(sized(canvas, wide, lane.height), wide, view, color, cursor.lane === lane ? lane.bars?.[cursor.at] : undefined);
    tellSpan(view);
    move();
  };
  const move = () => {
    moveTo(head, scaleOf(view, width())(view.time), width());
    for (const { lane, now } of rows) if (lane.now) now.textContent = lane.now(view.time);
  };

  /** Goes to a bar and shows what it says. @param {Bar} bar */
  const show = (bar) => {
    view.seek(bar.from);
    showBar(bar);
    byId("bar-detail").scrollIntoView({ block: "nearest" });
  };
  listenToPointer(byId("plots"), { view, width, selection: byId("selection"), hover: byId("hover"), rows: () => rows, detail: showBar });
  listenToRuler(ruler, view, width);
  fillList();
  view.on("time", move);
  drawAgain(view, draw);
  draw();
  return {
    show,
    /** The lanes that there are. */
    lanes: () => rows.map(({ lane }) => lane),
    /** Builds the lanes anew. */
    rebuild() {
      fillList();
      draw();
    },
  };
}

/**
 * The first of several rows, and a button that shows all, or the first ones again.
 * @template T
 * @param {T[]} all @param {string} which What the first ones are: the worst, say @param {boolean} showsAll @param {() => void} toggle
 * @returns {{shown: T[], button: HTMLElement | false}}
 */
export function leading(all, which, showsAll, toggle) {
  const label = showsAll ? `Show the ${which} ${WORKLOADS_SHOWN} only` : `Show all ${count(all.length)}; these are the ${which} ${WORKLOADS_SHOWN}`;
  const button = all.length > WORKLOADS_SHOWN && el("button", { class: "quiet", id: "all-workloads", onclick: toggle }, label);
  return { shown: all.slice(0, showsAll ? all.length : WORKLOADS_SHOWN), button };
}

/**
 * Builds the timeline of a run.
 * @param {Record<string, import("./data.js").Table>} tables @param {Model} model @param {any} summary @param {View} view
 */
export function showTimeline(tables, model, summary, view) {
  const short = shortWorkloads(model, summary);
  let showsAll = false;
  /** @type {Bar[]} */
  let procedures = [];
  /** @type {((plots: Plots) => void) | null} */
  let instead = null;
  const { show, lanes: shownLanes, rebuild } = showLanes(view, ({ add, list }) => {
    if (instead) {
      instead({ add, list });
      return;
    }
    const lanes = lanesOf(tables, model);
    if (procedures.length > 0) lanes.push(barLane("Procedures", "what operators and their automata did by a plan: upgrades and reboots of pools, autoscaling", procedures, "procedure", model.end));
    const rank = (/** @type {Lane} */ lane) => (LANES.includes(lane.name) ? LANES.indexOf(lane.name) : LANES.length);
    lanes.sort((a, b) => rank(a) - rank(b));
    lanes.forEach(add);
    if (short.length > 0) {
      list.append(el("h3", { class: "lane-heading" }, `Ready replicas of ${short.length === 1 ? "the workload" : `the ${count(short.length)} workloads`} that ran short, the worst first`));
    }
    const { shown, button } = leading(short, "worst", showsAll, () => { showsAll = !showsAll; rebuild(); });
    shown.forEach(({ workload, key }) => add(workloadLane(model, workload, key)));
    if (button) list.append(button);
  });
  const nameable = shownLanes().flatMap((lane) => (lane.bars ?? []).filter((bar) => bar.name !== undefined));
  return {
    show,
    /** The bar of a fault or of a line of kubectl that an event at an instant is about. @param {string} name @param {number} at */
    barOf: (name, at) => nameable.find((bar) => bar.name === name && bar.from <= at && at <= bar.to + 1000),
    rebuild,
    /** Shows other lanes in place of the run's, or these again. @param {((plots: Plots) => void) | null} build */
    showInstead(build) {
      instead = build;
      rebuild();
    },
    /** Procedures are read from the events, which come later. @param {Bar[]} bars */
    addProcedures(bars) {
      if (bars.length === 0) return;
      procedures = bars;
      rebuild();
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
      hover.textContent = bar ? visible(`${clock(timeAt(x))}  ${bar.label}`) : clock(timeAt(x));
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
