// Tables that are searched: events, nodes at the instant, and what had no effect.

import { cellText, column, numbers, texts } from "./data.js";
import { byId, el, fill, named, visible } from "./dom.js";
import { DAY, count, countdown, shortName } from "./format.js";
import { createGrid, objectLink, timeLink } from "./grid.js";
import { NODE, NODE_STATES, POD, nodeAt, nodeChangeAt, outageAt, silentOutageAt } from "./model.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./view.js").View} View */

/** Kinds of whose objects pods.csv and others know the workload behind them. */
const KIND_KEYS = new Map([["Pod", "pod"], ["Node", "node"]]);

/** @param {Table} table @param {string} name */
function choices(table, name) {
  return [...(column(table, name)?.texts ?? [])].sort();
}

/** @param {string} label @param {string[]} options @param {() => void} changed */
function choice(label, options, changed) {
  return el("select", { "aria-label": label, onchange: changed }, el("option", { value: "" }, `${label}: all`), options.map((option) => el("option", { value: option }, option || "(none)")));
}

/**
 * @param {Table} table events.csv @param {Set<string>} known What has a story @param {View} view
 * @param {Pick<ReturnType<typeof import("./timeline.js").showTimeline>, "barOf" | "show">} timeline
 */
export function showEvents(table, known, view, timeline) {
  const at = numbers(table, "time_s");
  const of = Object.fromEntries(["component", "type", "reason", "kind", "namespace", "name", "node", "message"].map((name) => [name, texts(table, name)]));
  const keyOf = (/** @type {number} */ row) => `${KIND_KEYS.get(of.kind(row)) ?? of.kind(row).toLowerCase()}/${of.namespace(row) ? `${of.namespace(row)}/` : ""}${of.name(row)}`;
  const objectCell = (/** @type {number} */ row) => {
    const text = `${of.kind(row)} ${of.name(row)}`;
    if (known.has(keyOf(row))) return objectLink(keyOf(row), text);
    const bar = of.kind(row) === "Kubectl" || of.kind(row) === "Fault" ? timeline.barOf(of.name(row), at[row]) : undefined;
    return bar ? el("button", { class: "link", title: bar.label, onclick: () => timeline.show(bar) }, named(text)) : named(text);
  };
  const grid = createGrid("Events", [
    { name: "Time", title: "when it reached the API server", width: view.end >= DAY ? "118px" : "76px", right: true, cell: (row) => timeLink(at[row]) },
    { name: "Type", title: "Normal or Warning", width: "66px", cell: (row) => (of.type(row) === "Warning" ? el("span", { class: "tone-bad" }, "Warning") : of.type(row)) },
    { name: "Reason", title: "the API's reason", width: "minmax(110px, 1fr)", cell: (row) => named(of.reason(row)) },
    { name: "Object", title: "what it is about", width: "minmax(150px, 2fr)", cell: objectCell },
    { name: "Message", title: "the text", width: "minmax(220px, 4fr)", cell: (row) => { const text = named(of.message(row)); text.title = visible(of.message(row)); return text; } },
    { name: "From", title: "source.component", width: "minmax(90px, 1fr)", cell: (row) => named(of.component(row)) },
  ]);
  let query = "";
  const refresh = () => {
    query = input.value.toLowerCase();
    const wanted = { kind: kind.value, reason: reason.value, type: type.value };
    const rows = [];
    for (let row = 0; row < table.rows; row++) {
      if (wanted.kind && of.kind(row) !== wanted.kind) continue;
      if (wanted.reason && of.reason(row) !== wanted.reason) continue;
      if (wanted.type && of.type(row) !== wanted.type) continue;
      if (spanOnly.checked && (at[row] < view.from || at[row] > view.to)) continue;
      if (query && ![of.reason(row), of.message(row), of.name(row), of.node(row), of.namespace(row)].some((text) => text.toLowerCase().includes(query))) continue;
      rows.push(row);
    }
    grid.show(rows, table.rows);
  };
  const input = el("input", { type: "search", placeholder: "Reason, object, message …", "aria-label": "Search events", id: "event-search", oninput: refresh, spellcheck: "false" });
  const kind = choice("Kind", choices(table, "kind"), refresh);
  const reason = choice("Reason", choices(table, "reason"), refresh);
  const type = choice("Type", choices(table, "type"), refresh);
  const spanOnly = el("input", { type: "checkbox", id: "span-only", onchange: refresh });
  fill(byId("events-body"), el("div", { class: "filters" }, input, kind, reason, type, el("label", { for: "span-only" }, spanOnly, " of the chosen span")), grid.element);
  view.on("span", () => { if (spanOnly.checked) refresh(); });
  refresh();
}

/**
 * @param {Table} table not-modelled.csv
 */
export function showNotModelled(table) {
  const body = byId("not-modelled-body");
  if (table.rows === 0) {
    fill(body, el("p", {}, "Every field of the input had an effect, or is known to have none."));
    return;
  }
  const widths = /** @type {Record<string, string>} */ ({ file: "minmax(170px, 2fr)", line: "64px", object: "minmax(150px, 2fr)", path: "minmax(150px, 2fr)", value: "minmax(120px, 2fr)", count: "64px" });
  const isNumber = (/** @type {string} */ cells) => cells === "number" || cells === "maybe_number";
  const grid = createGrid("What had no effect", table.columns.map((of) => ({
    name: of.name, title: of.name, width: widths[of.name] ?? "1fr", right: isNumber(of.cells),
    cell: (row) => { const text = named(cellText(of, row)); text.title = visible(cellText(of, row)); return text; },
  })));
  const refresh = () => {
    const query = input.value.toLowerCase();
    const rows = [];
    for (let row = 0; row < table.rows; row++) if (!query || table.columns.some((of) => cellText(of, row).toLowerCase().includes(query))) rows.push(row);
    grid.show(rows, table.rows);
  };
  const input = el("input", { type: "search", placeholder: "File, object, field …", "aria-label": "Search what had no effect", oninput: refresh, spellcheck: "false" });
  fill(body, el("p", { class: "muted" }, "Fields and kinds of the input that this simulation knows and does not model, each at its place. What they would have changed is not in the results."), el("div", { class: "filters" }, input), grid.element);
  refresh();
}

/**
 * Every node as a row: what the tiles show, for those who do not see them.
 * @param {import("./model.js").Model} model @param {View} view @param {{states: Uint8Array, members: Int32Array[]}} shown
 */
export function showNodeTable(model, view, shown) {
  const details = /** @type {HTMLDetailsElement} */ (byId("node-table"));
  const { nodes } = model;
  const changeOf = (/** @type {number} */ node) => nodeChangeAt(nodes, node, view.time);
  const stateOf = (/** @type {number} */ node) => (changeOf(node) < 0 ? NODE.ABSENT : nodes.ready[changeOf(node)]);
  const podsOf = (/** @type {number} */ node, /** @type {number[]} */ states) => count(shown.members[node].filter((pod) => states.includes(shown.states[pod])).length);
  const grid = createGrid("Nodes at the instant", [
    { name: "Node", title: "its name", width: "minmax(120px, 2fr)", cell: (node) => objectLink(`node/${nodes.names[node]}`, nodes.names[node]) },
    { name: "Zone", title: "its zone", width: "minmax(60px, 1fr)", cell: (node) => named(nodes.zones[node]) },
    { name: "Pool", title: "its pool", width: "minmax(70px, 1fr)", cell: (node) => named(nodes.pools[node]) },
    { name: "Ready", title: "its condition", width: "80px", cell: (node) => NODE_STATES[stateOf(node)] },
    { name: "Fault", title: "the fault that it is under", width: "minmax(70px, 1fr)", cell: (node) => outageAt(nodes, node, view.time)?.kind ?? "" },
    { name: "Cordoned", title: "whether it is unschedulable", width: "80px", cell: (node) => (changeOf(node) >= 0 && nodes.cordoned[changeOf(node)] ? "yes" : "") },
    { name: "Ready pods", title: "", width: "84px", right: true, cell: (node) => podsOf(node, [POD.READY]) },
    { name: "Other pods", title: "not Ready, starting or terminating", width: "84px", right: true, cell: (node) => podsOf(node, [POD.NOT_READY, POD.STARTING, POD.TERMINATING]) },
    { name: "Taints", title: "as nodes.csv has them", width: "minmax(120px, 3fr)", cell: (node) => named(stateOf(node) === NODE.ABSENT ? "" : nodes.taints(changeOf(node))) },
  ]);
  const order = [...nodes.names.keys()].sort((a, b) => new Intl.Collator("en", { numeric: true }).compare(nodes.names[a], nodes.names[b]));
  details.lastElementChild?.append(grid.element);
  details.addEventListener("toggle", () => grid.show(order, nodes.count));
  view.on("time", () => { if (details.open && !view.playing) grid.draw(); });
}

/** What each kind of timer comes to, in the order of `TIMERS`, and what it is. */
const COUNTDOWNS = [["evicted at", "toleration"], ["killed by", "termination grace"], ["held to be lost at", "grace of the node monitor"]];

/** By how much later than its grace allows a pod ends where a kubelet is there, at most: in milliseconds. */
const LATE = 2000;

/** Why pods that are to end on a node do not, by what its fault stops. @type {Record<string, string>} */
const HANGING = { machine: "the machine is off, and no kubelet ends them", kubelet: "the kubelet stands still, and nobody ends them", link: "the node is cut off, and its kubelet is not told" };

/**
 * What counts down at an instant, and what would if somebody were there to act on it.
 * @param {import("./timers.js").Timers} timers @param {import("./model.js").Model} model @param {View} view
 */
export function showCountdowns(timers, model, view) {
  const box = byId("countdowns");
  const { nodes } = model;
  /** @typedef {{due: number, kind: number, node: number, rows: number[], why: string}} Group */
  const groupsAt = (/** @type {number} */ time) => {
    /** @type {Map<number, string>} */
    const hanging = new Map();
    /** @type {Map<string, Group>} */
    const groups = new Map();
    for (const row of timers.running(time)) {
      const [kind, node, due] = [timers.kind(row), timers.nodeOf(row), timers.due(row)];
      let why = "";
      // A kubelet that is there ends a pod in time, and one that shuts its node down is there for a while.
      if (kind === 1 && node >= 0 && timers.ended(row) > due + LATE) {
        why = hanging.get(node) ?? whyHanging(node, time);
        hanging.set(node, why);
      }
      if (kind === 1 && why === "" && due <= time) continue;
      const id = why ? `hang/${node}` : `${kind}/${node}/${Math.floor(due / 1000)}`;
      const group = groups.get(id) ?? { due, kind, node, rows: [], why };
      group.due = Math.min(group.due, due);
      group.rows.push(row);
      groups.set(id, group);
    }
    return [...groups.values()].sort((a, b) => Number(a.why !== "") - Number(b.why !== "") || a.due - b.due || a.node - b.node);
  };
  const whyHanging = (/** @type {number} */ node, /** @type {number} */ time) => {
    const outage = silentOutageAt(nodes, node, time);
    if (outage) return HANGING[outage.stops] ?? "";
    return nodeAt(nodes, node, time) === NODE.ABSENT ? "its node is gone" : "";
  };
  const line = (/** @type {Group} */ { due, kind, node, rows, why }) => {
    const who = rows.length === 1 ? objectLink(timers.key(rows[0]), shortName(timers.key(rows[0]))) : `${count(rows.length)} pods`;
    const where = kind === 2 || node < 0 ? "" : [" on ", objectLink(`node/${nodes.names[node]}`, nodes.names[node])];
    if (why) return el("li", {}, el("span", { class: "clock" }, "–"), " ", who, where, ` ${rows.length === 1 ? "is" : "are"} Terminating: ${why}`);
    const isHeldUp = kind !== 1 && timers.isControllerOut(view.time);
    return el("li", {}, el("span", { class: "clock" }, isHeldUp ? "–" : countdown(due - view.time)), " ", who, where, isHeldUp ? " would be " : " ", `${COUNTDOWNS[kind]?.[0] ?? "ends at"} `, timeLink(due), el("span", { class: "muted" }, ` (${COUNTDOWNS[kind]?.[1] ?? "timer"}${isHeldUp ? "; kube-controller-manager is out, and nobody acts on it" : ""})`));
  };
  return () => {
    const groups = groupsAt(view.time);
    fill(box, groups.length === 0 ? el("p", { class: "muted" }, timers.rows === 0 ? "No node was silent, no pod was to be evicted or ended in this run." : "Nothing at this instant.") : el("ul", { class: "plain" }, groups.slice(0, 8).map(line), groups.length > 8 && el("li", { class: "muted" }, `and ${count(groups.length - 8)} more`)));
  };
}
