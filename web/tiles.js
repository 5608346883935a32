// How nodes and their pods are drawn: as tiles, as a picture of a few pixels each, or as one bar.

import { visible } from "./dom.js";
import { countdown } from "./format.js";
import { NODE, NODE_STATES, POD, POD_STATES, nodeChangeAt, outageAt } from "./model.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./cluster.js").Group} Group */
/** @typedef {import("./cluster.js").Layout} Layout */

/** Workloads that have a color of their own; the others share one. */
export const TINTED = 6;

/**
 * @typedef {object} Scene What is drawn
 * @property {import("./model.js").Nodes} nodes
 * @property {import("./model.js").Pods} pods
 * @property {View} view
 * @property {{dueOf: (node: number, time: number) => number}} timers When the next pod of a node is evicted
 * @property {Uint8Array} states Of each pod, at the instant
 * @property {Int32Array[]} members Pods by node
 * @property {Uint8Array} touched Nodes whose tiles are to be drawn anew
 * @property {number[]} tintOf Colors of workloads
 * @property {{group: number, place: number, shows: boolean}} cursor Where keys are
 * @property {number} chosen The workload that is told of; -1 if none is
 */

/** Whether a pod of a state has a place on its node: one that was bound, and has not ended. @param {number} state */
export function isPlaced(state) {
  return state === POD.READY || state === POD.NOT_READY || state === POD.STARTING || state === POD.TERMINATING;
}

/** Names of the colors of pods by state. */
export const POD_TINTS = ["", "pod-ready", "pod-not-ready", "pod-starting", "pod-unscheduled", "pod-terminating", "pod-succeeded", "pod-failed"];

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

/** All nodes of a zone and pool as one bar. @param {Scene} scene @param {Group} group @param {(name: string) => string} color */
export function drawGroupBar({ nodes, view, members, states }, group, color) {
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
}

/** A tile a node, a shape a pod. @param {Scene} scene @param {Group} group @param {number} index @param {Layout} size @param {(name: string) => string} color */
export function drawTiles(scene, group, index, size, color) {
  const { pods, states, members, cursor, chosen, tintOf } = scene;
  const context = group.canvas.getContext("2d");
  if (!context) return;
  context.clearRect(0, 0, group.canvas.clientWidth, group.canvas.clientHeight);
  const tints = Array.from({ length: TINTED + 1 }, (_, tint) => color(`workload-${tint}`));
  context.textBaseline = "middle";
  group.nodes.forEach((node, at) => {
    const x = (at % group.columns) * (size.tileWidth + size.gap);
    const y = Math.floor(at / group.columns) * (size.tileHeight + size.gap);
    drawTile(scene, context, node, x, y, size, color);
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
}

/** @param {Scene} scene @param {CanvasRenderingContext2D} context @param {number} node @param {number} x @param {number} y @param {Layout} size @param {(name: string) => string} color */
function drawTile({ nodes, view, timers }, context, node, x, y, size, color) {
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
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {number} wide @param {string} fillColor */
function label(context, text, x, y, wide, fillColor) {
  let shown = text;
  // The end of a node's name says which it is.
  while (shown.length > 1 && context.measureText(shown).width > wide) shown = `…${shown.slice(shown.startsWith("…") ? 2 : 1)}`;
  context.fillStyle = fillColor;
  context.fillText(visible(shown), x, y);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {Layout} size @param {string} stroke */
function hatch(context, x, y, size, stroke) {
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
}

/** Tiles of a few pixels, written into a picture; those that are as they were are left. @param {Scene} scene @param {Group} group @param {number} index @param {Layout} size @param {(name: string) => string} color */
export function drawPicture({ nodes, pods, view, states, members, touched, cursor, chosen }, group, index, size, color) {
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
}
