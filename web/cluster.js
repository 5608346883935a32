// The cluster at the instant: a tile a node, a cell a pod, by zone and pool.
//
// Tiles shrink as nodes become many. Where a cell is a few pixels, tiles are written into a picture directly; where not even a tile has
// room, each zone and pool is one bar of its counts: all of it, never a part.

import { byId, colors, el, fill, named, sized, visible } from "./dom.js";
import { clock, count, counted } from "./format.js";
import { NODE, NODE_STATES, POD, POD_STATES, grouped, nodeChangeAt, outageAt, podStates } from "./model.js";
import { shortWorkloads } from "./lanes.js";
import { POD_TINTS, TINTED, drawGroupBar, drawCell, drawPicture, drawTiles, isPlaced } from "./tiles.js";

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

/** @typedef {import("./tiles.js").Scene} Scene */

/**
 * The canvases of all groups, by zone.
 * @param {Model} model @returns {Group[]}
 */
function groupBoxes(model) {
  /** @type {Map<string, HTMLElement>} */
  const zones = new Map();
  return groupsOf(model).map(({ zone, pool, nodes }) => {
    const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `nodes of zone ${zone || "unknown"}, pool ${pool}; arrow keys go from node to node, Enter opens one` });
    const text = el("output", { class: "group-now" });
    const block = zones.get(zone) ?? el("section", { class: "zone" }, el("h3", {}, zone ? ["Zone ", named(zone)] : "No zone known"));
    if (!zones.has(zone)) byId("groups").append(block);
    zones.set(zone, block);
    block.append(el("div", { class: "group" }, el("h4", {}, named(pool)), text, el("div", { class: "tiles" }, canvas)));
    return { zone, pool, nodes, canvas, text, columns: 1 };
  });
}

/**
 * What is drawn, and what changes it.
 * @param {Model} model @param {any} summary @param {View} view @param {Scene["timers"]} timers @param {Uint8Array} states
 * @returns {Scene}
 */
function sceneOf(model, summary, view, timers, states) {
  const { nodes, pods } = model;
  const rank = new Map(shortWorkloads(model, summary).map(({ workload }, at) => [workload, at]));
  const { offsets, order } = grouped(pods.node, nodes.count);
  return {
    nodes, pods, view, timers, states,
    members: Array.from({ length: nodes.count }, (_, node) => order.subarray(offsets[node], offsets[node + 1])),
    touched: new Uint8Array(nodes.count).fill(1),
    tintOf: Array.from(model.workloads.keys, (_, workload) => Math.min(rank.get(workload) ?? TINTED, TINTED)),
    cursor: { group: 0, place: 0, shows: false },
    chosen: -1,
  };
}

/**
 * The node under the pointer, and its pod there or -1.
 * @param {Scene} scene @param {Group} group @param {Layout | null} layout @param {PointerEvent | MouseEvent} event
 */
function under({ pods, states, members }, group, layout, event) {
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
}

/** What is to be said of a node at the instant. @param {Scene} scene @param {number} node */
function nodeText({ nodes, view, states, members }, node) {
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
}

/** How many nodes of a group are there, and Ready. @param {Scene} scene @param {Group} group */
function tellGroup({ nodes, view }, group) {
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

/** Gives all groups the width that there is; how large tiles are then, or null if they have no room. @param {Model} model @param {Group[]} groups */
function laidOut(model, groups) {
  const layout = layoutOf(model, byId("groups").clientWidth);
  for (const group of groups) {
    const wide = group.canvas.parentElement?.clientWidth ?? 300;
    group.columns = layout ? Math.max(1, Math.floor((wide + layout.gap) / (layout.tileWidth + layout.gap))) : 1;
    const rows = Math.ceil(group.nodes.length / group.columns);
    sized(group.canvas, wide, layout ? rows * (layout.tileHeight + layout.gap) : 44);
  }
  byId("legend-cells").hidden = !(layout?.shapes ?? false);
  byId("legend-states").hidden = layout?.shapes ?? false;
  fill(byId("tile-note"), layout ? "" : `${counted(model.nodes.count, "node")} are more than tiles have room for: each bar is all nodes of its zone and pool.`);
  return layout;
}

/**
 * Keys and pointer on the tiles of a group.
 * @param {Scene} scene @param {Group} group @param {number} index
 * @param {{layout: () => Layout | null, draw: () => void, tell: () => void}} does
 */
function listenToTiles(scene, group, index, { layout, draw, tell }) {
  const { nodes, pods, states, view, cursor } = scene;
  const { canvas } = group;
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -group.columns, ArrowDown: group.columns };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (event.key === "Enter") {
      view.choose(`node/${nodes.names[group.nodes[cursor.place]]}`);
    } else if (step !== undefined) {
      cursor.place = Math.min(group.nodes.length - 1, Math.max(0, cursor.place + step));
      draw();
      tell();
    } else {
      return;
    }
    event.preventDefault();
  });
  canvas.addEventListener("focus", () => {
    Object.assign(cursor, { group: index, place: Math.min(cursor.place, group.nodes.length - 1), shows: true });
    draw();
    tell();
  });
  canvas.addEventListener("blur", () => { cursor.shows = false; draw(); });
  canvas.addEventListener("pointermove", (event) => {
    const tip = byId("tip");
    const found = under(scene, group, layout(), event);
    tip.hidden = !found;
    if (!found) return;
    fill(tip, found.pod >= 0 && el("p", { class: "strong" }, named(pods.key(found.pod)), ` ${POD_STATES[states[found.pod]]}`), el("p", {}, nodeText(scene, found.node)));
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${Math.max(4, left)}px, ${event.clientY + 16}px)`;
  });
  canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  canvas.addEventListener("click", (event) => {
    const found = under(scene, group, layout(), event);
    if (found) view.choose(found.pod >= 0 ? pods.key(found.pod) : `node/${nodes.names[found.node]}`);
  });
}

/**
 * Builds the cluster's view.
 * @param {Model} model @param {any} summary @param {View} view
 * @param {Scene["timers"]} timers
 */
export function showCluster(model, summary, view, timers) {
  const { nodes } = model;
  const instant = podStates(model.pods);
  const { states } = instant;
  const scene = sceneOf(model, summary, view, timers, states);
  const { touched, cursor } = scene;
  /** What each node was when its tile was drawn. */
  const drawn = new Int32Array(nodes.count).fill(-2);
  const groups = groupBoxes(model);
  /** @type {Layout | null} */
  let layout = null;
  const tell = () => {
    const node = groups[cursor.group].nodes[cursor.place];
    byId("tile-text").textContent = node === undefined ? "" : visible(nodeText(scene, node));
  };
  let toldAt = 0;
  const tellCounts = () => {
    const now = performance.now();
    if (view.playing && now - toldAt < 100) return;
    toldAt = now;
    groups.forEach((group) => tellGroup(scene, group));
    if (cursor.shows) tell();
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
      if (!layout) drawGroupBar(scene, group, color);
      else if (layout.shapes) drawTiles(scene, group, index, layout, color);
      else drawPicture(scene, group, index, layout, color);
    }
    touched.fill(0);
    tellCounts();
  };
  const drawAll = () => draw(true);
  groups.forEach((group, index) => listenToTiles(scene, group, index, { layout: () => layout, draw: drawAll, tell }));
  showLegend(model, summary);
  view.on("time", () => draw());
  view.on("theme", () => {
    showLegend(model, summary);
    drawAll();
  });
  view.on("chosen", () => {
    scene.chosen = model.workloads.byKey.get(view.chosen) ?? -1;
    drawAll();
  });
  const place = () => { layout = laidOut(model, groups); };
  addEventListener("resize", () => { place(); drawAll(); });
  place();
  draw();
  return { states, counts: { all: instant.counts }, members: scene.members };
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
