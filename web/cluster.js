// The cluster at the instant: a tile a node, a cell a pod, by zone and pool.
//
// Tiles shrink as nodes become many. Where a cell is a few pixels, tiles are written into a picture directly; where not even a tile has
// room, each zone and pool is one bar of its counts: all of it, never a part.

import { byId, colors, el, fill, named, sized, visible } from "./dom.js";
import { clock, count, countdown, counted } from "./format.js";
import { NODE, NODE_STATES, POD, POD_STATES, grouped, nodeChangeAt, outageAt, podStates } from "./model.js";
import { shortWorkloads } from "./lanes.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./view.js").View} View */

/** How large things are: a cell with its gap, what stands above the cells, the gap between tiles. In CSS pixels. */
const SIZES = [
  { cell: 12, head: 17, pad: 4, gap: 8, shapes: true, wide: 96 },
  { cell: 8, head: 15, pad: 3, gap: 6, shapes: true, wide: 74 },
  { cell: 6, head: 3, pad: 2, gap: 4, shapes: true, wide: 0 },
  { cell: 4, head: 2, pad: 1, gap: 3, shapes: false, wide: 0 },
  { cell: 3, head: 2, pad: 1, gap: 2, shapes: false, wide: 0 },
  { cell: 2, head: 2, pad: 1, gap: 2, shapes: false, wide: 0 },
  { cell: 1, head: 1, pad: 0, gap: 1, shapes: false, wide: 0 },
];

/** Pixels that the tiles of all may take together. */
const ROOM_MAX = 1_050_000;

/** Workloads that have a color of their own; the others share one. */
const TINTED = 6;

/**
 * @typedef {object} Group
 * @property {string} zone
 * @property {string} pool
 * @property {number[]} nodes
 * @property {HTMLCanvasElement} canvas
 * @property {HTMLElement} text
 * @property {number} columns Tiles in a row
 * @property {ImageData} [image] What its picture is made in, kept from one instant to the next
 */

/** The order of names that people expect: worker-2 before worker-10. */
const byNumber = new Intl.Collator("en", { numeric: true });

/** @param {Model} model @returns {{zone: string, pool: string, nodes: number[]}[]} */
export function groupsOf(model) {
  const { nodes } = model;
  /** @type {Map<string, {zone: string, pool: string, nodes: number[]}>} */
  const groups = new Map();
  for (let node = 0; node < nodes.count; node++) {
    const key = JSON.stringify([nodes.zones[node], nodes.pools[node]]);
    const group = groups.get(key) ?? { zone: nodes.zones[node], pool: nodes.pools[node], nodes: [] };
    group.nodes.push(node);
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort((a, b) => byNumber.compare(a.zone, b.zone) || byNumber.compare(a.pool, b.pool));
  for (const group of sorted) group.nodes.sort((a, b) => byNumber.compare(nodes.names[a], nodes.names[b]));
  return sorted;
}

/**
 * How tiles look: the largest size at which all have room; none if none has.
 * @param {Model} model @param {number} width
 */
export function layoutOf(model, width) {
  const places = Math.max(4, model.nodes.slots.reduce((a, b) => Math.max(a, b), 0));
  for (const size of SIZES) {
    const across = Math.max(2, Math.ceil(Math.sqrt(places * 1.7)), Math.floor((size.wide - 2 * size.pad) / size.cell));
    const down = Math.ceil(places / across);
    const tileWidth = Math.max(size.wide, across * size.cell + 2 * size.pad);
    const tileHeight = size.head + down * size.cell + 2 * size.pad;
    const area = model.nodes.count * (tileWidth + size.gap) * (tileHeight + size.gap);
    const fits = area <= Math.min(ROOM_MAX, width * 1100) && (size.cell > 8 ? model.nodes.count <= 60 : true);
    if (fits) return { ...size, across, tileWidth, tileHeight };
  }
  return null;
}

/** @typedef {NonNullable<ReturnType<typeof layoutOf>>} Layout */

/** Whether a pod of a state has a place on its node: one that was bound, and has not ended. @param {number} state */
function isPlaced(state) {
  return state === POD.READY || state === POD.NOT_READY || state === POD.STARTING || state === POD.TERMINATING;
}

/** Names of the colors of pods by state. */
const POD_TINTS = ["", "pod-ready", "pod-not-ready", "pod-starting", "pod-unscheduled", "pod-terminating", "pod-succeeded", "pod-failed"];

/** Names of the colors of tiles by state. */
const NODE_TINTS = ["node-absent", "node-true", "node-false", "node-unknown"];

/** @param {string} css A color of six hexadecimal digits @returns {number} As a picture has it */
function pixel(css) {
  const value = Number.parseInt(css.slice(1, 7), 16);
  return (255 << 24 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
}

/**
 * A cell: its color is the workload's, its shape the state.
 * @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} size @param {number} state
 * @param {string} color
 */
export function drawCell(context, x, y, size, state, color) {
  const side = size - (size > 6 ? 2 : 1);
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = size > 6 ? 1.5 : 1;
  switch (state) {
    case POD.READY:
      context.fillRect(x, y, side, side);
      return;
    case POD.NOT_READY:
      context.strokeRect(x + 0.75, y + 0.75, side - 1.5, side - 1.5);
      return;
    case POD.STARTING:
    case POD.UNSCHEDULED:
      context.beginPath();
      context.arc(x + side / 2, y + side / 2, side / 2 - 0.75, 0, 2 * Math.PI);
      context.stroke();
      return;
    case POD.TERMINATING:
      context.beginPath();
      context.moveTo(x + 0.75, y + 0.75);
      context.lineTo(x + side - 0.75, y + side - 0.75);
      context.moveTo(x + side - 0.75, y + 0.75);
      context.lineTo(x + 0.75, y + side - 0.75);
      context.stroke();
      return;
  }
}

/**
 * Builds the cluster's view.
 * @param {Model} model @param {any} summary @param {View} view
 * @param {{dueOf: (node: number, time: number) => number}} timers When the next pod of a node is evicted
 */
export function showCluster(model, summary, view, timers) {
  const { nodes, pods } = model;
  const instant = podStates(pods);
  const { states } = instant;
  /** Nodes whose tiles are to be drawn anew, and what each was when it was drawn. */
  const touched = new Uint8Array(nodes.count).fill(1);
  const drawn = new Int32Array(nodes.count).fill(-2);
  const box = byId("groups");
  const order = new Map(shortWorkloads(model, summary).map(({ workload }, rank) => [workload, rank]));
  const tintOf = Array.from(model.workloads.keys, (_, workload) => Math.min(order.get(workload) ?? TINTED, TINTED));
  let chosen = -1;
  /** @type {Layout | null} */
  let layout = null;
  let cursor = { group: 0, place: 0, shows: false };

  /** @type {Map<string, HTMLElement>} */
  const zones = new Map();
  /** @type {Group[]} */
  const groups = groupsOf(model).map(({ zone, pool, nodes: members }, index) => {
    const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `nodes of zone ${zone || "unknown"}, pool ${pool}; arrow keys go from node to node, Enter opens one` });
    const text = el("output", { class: "group-now" });
    const block = zones.get(zone) ?? el("section", { class: "zone" }, el("h3", {}, zone ? ["Zone ", named(zone)] : "No zone known"));
    if (!zones.has(zone)) box.append(block);
    zones.set(zone, block);
    block.append(el("div", { class: "group" }, el("h4", {}, named(pool)), text, el("div", { class: "tiles" }, canvas)));
    canvas.addEventListener("keydown", (event) => moveCursor(event, index));
    canvas.addEventListener("focus", () => { cursor = { group: index, place: Math.min(cursor.place, members.length - 1), shows: true }; draw(true); tell(); });
    canvas.addEventListener("blur", () => { cursor.shows = false; draw(true); });
    canvas.addEventListener("pointermove", (event) => hover(event, index));
    canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
    canvas.addEventListener("click", (event) => {
      const found = under(event, index);
      if (found) view.choose(found.pod >= 0 ? pods.key(found.pod) : `node/${nodes.names[found.node]}`);
    });
    return { zone, pool, nodes: members, canvas, text, columns: 1 };
  });

  /** Pods by node. */
  const { offsets, order: byNode } = grouped(pods.node, nodes.count);
  const members = Array.from({ length: nodes.count }, (_, node) => byNode.subarray(offsets[node], offsets[node + 1]));

  /** @param {PointerEvent | MouseEvent} event @param {number} index */
  const under = (event, index) => {
    const group = groups[index];
    if (!layout) return undefined;
    const area = group.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    const [column, row] = [Math.floor(x / (layout.tileWidth + layout.gap)), Math.floor(y / (layout.tileHeight + layout.gap))];
    const node = column < group.columns ? group.nodes[row * group.columns + column] : undefined;
    if (node === undefined) return undefined;
    const inX = x - column * (layout.tileWidth + layout.gap) - layout.pad;
    const inY = y - row * (layout.tileHeight + layout.gap) - layout.head - layout.pad;
    const place = inX >= 0 && inY >= 0 && inX < layout.across * layout.cell ? Math.floor(inY / layout.cell) * layout.across + Math.floor(inX / layout.cell) : -1;
    const pod = members[node].find((one) => pods.slot[one] === place && isPlaced(states[one]));
    return { node, pod: pod ?? -1 };
  };

  /** @param {number} node */
  const nodeText = (node) => {
    const change = nodeChangeAt(nodes, node, view.time);
    const state = change < 0 ? NODE.ABSENT : nodes.ready[change];
    const outage = outageAt(nodes, node, view.time);
    const here = POD_STATES.map(() => 0);
    for (const pod of members[node]) if (isPlaced(states[pod])) here[states[pod]]++;
    const taints = change < 0 ? "" : nodes.taints(change);
    return [
      `${nodes.names[node]}: ${state === NODE.ABSENT ? "not in the cluster" : `Ready=${NODE_STATES[state]}`}`,
      outage && `under ${outage.kind}${outage.effect ? ` (${outage.effect})` : ""} since ${clock(outage.began)}${state === NODE.TRUE ? ", not noticed yet" : ""}`,
      change >= 0 && nodes.cordoned[change] && state !== NODE.ABSENT && "cordoned",
      state !== NODE.ABSENT && taints,
      POD_STATES.map((name, one) => (one > 0 && here[one] > 0 ? `${count(here[one])} ${name}` : "")).filter(Boolean).join(", ") || "no pods",
    ].filter(Boolean).join("\n");
  };
  const tell = () => {
    const node = groups[cursor.group].nodes[cursor.place];
    byId("tile-text").textContent = node === undefined ? "" : visible(nodeText(node));
  };

  /** @param {KeyboardEvent} event @param {number} index */
  const moveCursor = (event, index) => {
    const group = groups[index];
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -group.columns, ArrowDown: group.columns };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (event.key === "Enter") {
      view.choose(`node/${nodes.names[group.nodes[cursor.place]]}`);
    } else if (step !== undefined) {
      cursor.place = Math.min(group.nodes.length - 1, Math.max(0, cursor.place + step));
      draw(true);
      tell();
    } else {
      return;
    }
    event.preventDefault();
  };

  /** @param {PointerEvent} event @param {number} index */
  const hover = (event, index) => {
    const tip = byId("tip");
    const found = under(event, index);
    tip.hidden = !found;
    if (!found) return;
    fill(tip, found.pod >= 0 && el("p", { class: "strong" }, named(pods.key(found.pod)), ` ${POD_STATES[states[found.pod]]}`), el("p", {}, nodeText(found.node)));
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${Math.max(4, left)}px, ${event.clientY + 16}px)`;
  };

  const counts = { all: instant.counts };
  const place = () => {
    layout = layoutOf(model, box.clientWidth);
    for (const group of groups) {
      const wide = group.canvas.parentElement?.clientWidth ?? 300;
      group.columns = layout ? Math.max(1, Math.floor((wide + layout.gap) / (layout.tileWidth + layout.gap))) : 1;
      const rows = Math.ceil(group.nodes.length / group.columns);
      sized(group.canvas, wide, layout ? rows * (layout.tileHeight + layout.gap) : 44);
    }
    byId("legend-cells").hidden = !(layout?.shapes ?? false);
    byId("legend-states").hidden = layout?.shapes ?? false;
    fill(byId("tile-note"), layout ? "" : `${counted(nodes.count, "node")} are more than tiles have room for: each bar is all nodes of its zone and pool.`);
  };

  const draw = (isAll = false) => {
    instant.seek(view.time, touched);
    for (let node = 0; node < nodes.count; node++) {
      const look = 2 * nodeChangeAt(nodes, node, view.time) + (outageAt(nodes, node, view.time) ? 1 : 0);
      if (isAll || look !== drawn[node]) touched[node] = 1;
      drawn[node] = look;
    }
    const color = colors();
    for (const [index, group] of groups.entries()) {
      if (!layout) drawBar(group, color);
      else if (layout.shapes) drawTiles(group, index, layout, color);
      else drawPicture(group, index, layout, color);
    }
    touched.fill(0);
    tellCounts();
  };
  let toldAt = 0;
  const tellCounts = () => {
    const now = performance.now();
    if (view.playing && now - toldAt < 100) return;
    toldAt = now;
    for (const group of groups) {
      let [present, ready, gone] = [0, 0, 0];
      for (const node of group.nodes) {
        const change = nodeChangeAt(nodes, node, view.time);
        const state = change < 0 ? NODE.ABSENT : nodes.ready[change];
        if (state !== NODE.ABSENT) present++;
        else if (change >= 0 && change > nodes.offsets[node]) gone++;
        if (state === NODE.TRUE) ready++;
      }
      group.text.textContent = `${count(ready)} of ${counted(present, "node")} Ready${gone > 0 ? `, ${count(gone)} gone` : ""}`;
      group.text.classList.toggle("tone-bad", ready < present || (present === 0 && gone > 0));
    }
    if (cursor.shows) tell();
  };

  /** @param {Group} group @param {(name: string) => string} color */
  const drawBar = (group, color) => {
    const context = group.canvas.getContext("2d");
    if (!context) return;
    const wide = group.canvas.clientWidth;
    const sums = NODE_STATES.map(() => 0);
    const here = POD_STATES.map(() => 0);
    for (const node of group.nodes) {
      const change = nodeChangeAt(nodes, node, view.time);
      sums[change < 0 ? NODE.ABSENT : nodes.ready[change]]++;
      for (const pod of members[node]) if (isPlaced(states[pod])) here[states[pod]]++;
    }
    context.clearRect(0, 0, wide, 44);
    for (const [values, top, tall, tints] of /** @type {[number[], number, number, string[]][]} */ ([[sums, 0, 14, NODE_TINTS], [here, 18, 22, POD_TINTS]])) {
      const all = Math.max(1, values.reduce((a, b) => a + b, 0));
      let x = 0;
      values.forEach((value, state) => {
        context.fillStyle = color(tints[state]);
        context.fillRect(x, top, (value / all) * wide, tall);
        x += (value / all) * wide;
      });
    }
  };

  /** @param {Group} group @param {number} index @param {Layout} size @param {(name: string) => string} color */
  const drawTiles = (group, index, size, color) => {
    const context = group.canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, group.canvas.clientWidth, group.canvas.clientHeight);
    const tints = Array.from({ length: TINTED + 1 }, (_, tint) => color(`workload-${tint}`));
    context.textBaseline = "middle";
    group.nodes.forEach((node, at) => {
      const x = (at % group.columns) * (size.tileWidth + size.gap);
      const y = Math.floor(at / group.columns) * (size.tileHeight + size.gap);
      drawTile(context, node, x, y, size, color);
      if (cursor.shows && cursor.group === index && cursor.place === at) {
        context.strokeStyle = color("focus");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, size.tileWidth - 2, size.tileHeight - 2);
      }
      for (const pod of members[node]) {
        const state = states[pod];
        if (!isPlaced(state)) continue;
        const slot = pods.slot[pod];
        const isFaded = chosen >= 0 && pods.workload[pod] !== chosen;
        const tint = chosen >= 0 && !isFaded ? color("focus") : tints[tintOf[pods.workload[pod]] ?? TINTED];
        context.globalAlpha = isFaded ? 0.25 : 1;
        drawCell(context, x + size.pad + (slot % size.across) * size.cell, y + size.head + size.pad + Math.floor(slot / size.across) * size.cell, size.cell, state, tint);
      }
      context.globalAlpha = 1;
    });
  };

  /** @param {CanvasRenderingContext2D} context @param {number} node @param {number} x @param {number} y @param {Layout} size @param {(name: string) => string} color */
  const drawTile = (context, node, x, y, size, color) => {
    const change = nodeChangeAt(nodes, node, view.time);
    const state = change < 0 ? NODE.ABSENT : nodes.ready[change];
    const outage = outageAt(nodes, node, view.time);
    const isCordoned = change >= 0 && nodes.cordoned[change] === 1;
    context.setLineDash(state === NODE.ABSENT ? [3, 3] : []);
    context.fillStyle = color(NODE_TINTS[state]);
    context.strokeStyle = color(state === NODE.TRUE ? "line" : `${NODE_TINTS[state]}-edge`);
    context.lineWidth = 1;
    if (state !== NODE.ABSENT) context.fillRect(x, y, size.tileWidth, size.tileHeight);
    context.strokeRect(x + 0.5, y + 0.5, size.tileWidth - 1, size.tileHeight - 1);
    context.setLineDash([]);
    if (outage) {
      context.fillStyle = color("fault");
      context.fillRect(x, y, size.tileWidth, 3);
    }
    if (state === NODE.ABSENT) {
      if (size.wide > 0) label(context, nodes.names[node], x + 5, y + 10, size.tileWidth - 8, color("faint"));
      return;
    }
    if (isCordoned) hatch(context, x, y, size, color("hatch"));
    if (size.wide === 0) return;
    const due = timers.dueOf(node, view.time);
    context.font = `10px ${color("font")}`;
    const [long, short] = Number.isFinite(due) ? [countdown(due - view.time), countdown(due - view.time)] : isCordoned ? ["cordoned", "⊘"] : state === NODE.TRUE ? ["", ""] : [NODE_STATES[state], state === NODE.UNKNOWN ? "?" : "!"];
    const room = size.tileWidth - 12;
    const isRoomy = context.measureText(nodes.names[node]).width + context.measureText(long).width + 6 <= room;
    const mark = isRoomy ? long : short;
    const wide = mark ? context.measureText(mark).width + 4 : 0;
    label(context, nodes.names[node], x + 5, y + 10, room - wide, color("text"));
    if (mark) label(context, mark, x + size.tileWidth - wide, y + 10, wide, color("text"));
  };

  /** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {number} wide @param {string} fillColor */
  const label = (context, text, x, y, wide, fillColor) => {
    let shown = text;
    // The end of a node's name says which it is.
    while (shown.length > 1 && context.measureText(shown).width > wide) shown = `…${shown.slice(shown.startsWith("…") ? 2 : 1)}`;
    context.fillStyle = fillColor;
    context.fillText(visible(shown), x, y);
  };

  /** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {Layout} size @param {string} stroke */
  const hatch = (context, x, y, size, stroke) => {
    context.save();
    context.beginPath();
    context.rect(x, y, size.tileWidth, size.tileHeight);
    context.clip();
    context.strokeStyle = stroke;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = -size.tileHeight; at < size.tileWidth; at += 6) {
      context.moveTo(x + at, y + size.tileHeight);
      context.lineTo(x + at + size.tileHeight, y);
    }
    context.stroke();
    context.restore();
  };

  /** @param {Group} group @param {number} index @param {Layout} size @param {(name: string) => string} color */
  const drawPicture = (group, index, size, color) => {
    const context = group.canvas.getContext("2d");
    if (!context) return;
    const ratio = group.canvas.width / Math.max(1, group.canvas.clientWidth);
    const scaled = (/** @type {number} */ value) => Math.round(value * ratio);
    if (!group.image || group.image.width !== group.canvas.width || group.image.height !== group.canvas.height) {
      group.image = context.createImageData(group.canvas.width, group.canvas.height);
      for (const node of group.nodes) touched[node] = 1;
    }
    const { image } = group;
    const out = new Uint32Array(image.data.buffer);
    const stride = image.width;
    const paint = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ wide, /** @type {number} */ tall, /** @type {number} */ value) => {
      for (let row = y; row < y + tall; row++) for (let at = row * stride + x, end = at + wide; at < end; at++) out[at] = value;
    };
    const podPixels = POD_TINTS.map((name) => (name ? pixel(color(name)) : 0));
    const nodePixels = NODE_TINTS.map((name) => pixel(color(name)));
    const [faultPixel, cordonPixel, focusPixel] = [pixel(color("fault")), pixel(color("hatch")), pixel(color("focus"))];
    const side = Math.max(1, scaled(size.cell) - (size.cell > 2 ? 1 : 0));
    const [wide, tall, pad, head, cell] = [scaled(size.tileWidth), scaled(size.tileHeight), scaled(size.pad), scaled(size.head), scaled(size.cell)];
    const [pitchX, pitchY] = [scaled(size.tileWidth + size.gap), scaled(size.tileHeight + size.gap)];
    group.nodes.forEach((node, at) => {
      if (touched[node] === 0) return;
      const x = (at % group.columns) * pitchX;
      const y = Math.floor(at / group.columns) * pitchY;
      const change = nodeChangeAt(nodes, node, view.time);
      const state = change < 0 ? NODE.ABSENT : nodes.ready[change];
      paint(x, y, wide, tall, nodePixels[state]);
      if (state === NODE.ABSENT) return;
      if (outageAt(nodes, node, view.time)) paint(x, y, wide, head, faultPixel);
      else if (change >= 0 && nodes.cordoned[change]) paint(x, y, wide, head, cordonPixel);
      const here = members[node];
      for (let one = 0; one < here.length; one++) {
        const pod = here[one];
        const podState = states[pod];
        if (!isPlaced(podState)) continue;
        const slot = pods.slot[pod];
        const value = chosen >= 0 && pods.workload[pod] === chosen ? focusPixel : podPixels[podState];
        const down = (slot / size.across) | 0;
        paint(x + pad + (slot - down * size.across) * cell, y + head + pad + down * cell, side, side, value);
      }
      if (cursor.shows && cursor.group === index && cursor.place === at) {
        paint(x, y, wide, 2, focusPixel);
        paint(x, y + tall - 2, wide, 2, focusPixel);
      }
    });
    context.putImageData(image, 0, 0);
  };

  showLegend(model, summary);
  view.on("time", () => draw());
  view.on("theme", () => {
    showLegend(model, summary);
    draw(true);
  });
  view.on("chosen", () => {
    chosen = model.workloads.byKey.get(view.chosen) ?? -1;
    draw(true);
  });
  addEventListener("resize", () => { place(); draw(true); });
  place();
  draw();
  return { states, counts, members };
}

/**
 * What colors and shapes mean.
 * @param {Model} model @param {any} summary
 */
function showLegend(model, summary) {
  const shapes = byId("legend-cells");
  const color = colors();
  const sample = (/** @type {number} */ state) => {
    const canvas = el("canvas", { "aria-hidden": "true" });
    drawCell(sized(canvas, 12, 12), 1, 1, 12, state, color("muted"));
    return canvas;
  };
  const states = [POD.READY, POD.NOT_READY, POD.STARTING, POD.TERMINATING];
  fill(shapes, el("span", {}, "pods: "), states.map((state) => el("span", { class: "key" }, sample(state), POD_STATES[state])),
    shortWorkloads(model, summary).slice(0, TINTED).map(({ key }, rank) => el("button", { class: `key link tint-${rank}`, "data-key": key }, named(key.slice(key.lastIndexOf("/") + 1)))),
    el("span", { class: `key tint-${TINTED}` }, "other workloads"));
  fill(byId("legend-states"), el("span", {}, "pods: "), states.map((state) => el("span", { class: `key swatch-${POD_TINTS[state]}` }, POD_STATES[state])));
}
