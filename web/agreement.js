// The run beside what was seen of the real cluster: how many facts agree, both over time, and each that does not.

import { column, numbers, texts } from "./data.js";
import { byId, colors, el, fill, named, sized } from "./dom.js";
import { DAY, clock, count, counted, lasting } from "./format.js";
import { createGrid, objectLink, timeLink } from "./grid.js";

/** @typedef {import("./data.js").Table} Table */
/** @typedef {import("./view.js").View} View */

/** Verdicts in the order in which they are stacked, the color of each, and what it means. @type {[string, string, string][]} */
const VERDICTS = [
  ["same", "good", "the same, within the bounds of the evidence"],
  ["other time", "phase-1", "at another time"],
  ["missing", "missing", "missing in the run"],
  ["extra", "pod-terminating", "extra in the run"],
];

/** Height of a lane, and width of a bar in it, in pixels. */
const LANE = 46;
const BAR = 3;

/** Facts that are of nodes. */
const OF_NODES = new Set(["NodeReady", "NodeTaint", "NodeUnschedulable"]);

/** A share to the tenth of a percent; one below all never looks like all. @param {number | null | undefined} share */
function percent(share) {
  return typeof share === "number" ? `${Math.min(Math.round(share * 1000), share < 1 ? 999 : 1000) / 10} %` : "–";
}

/**
 * What bars a lane has within a span: how many facts of each verdict were seen and played.
 * @param {{seen: Float64Array, played: Float64Array, verdict: Int8Array}} facts @param {number[]} rows @param {number} from @param {number} to @param {number} bars
 */
export function stacksOf({ seen, played, verdict }, rows, from, to, bars) {
  const stacks = [seen, played].map(() => Array.from({ length: bars }, () => VERDICTS.map(() => 0)));
  for (const row of rows) {
    [seen[row], played[row]].forEach((at, side) => {
      if (!(at >= from && at <= to)) return;
      stacks[side][Math.min(bars - 1, Math.floor(((at - from) / (to - from)) * bars))][verdict[row]]++;
    });
  }
  const most = Math.max(1, ...stacks.flat().map((stack) => stack.reduce((sum, facts) => sum + facts, 0)));
  return { seen: stacks[0], played: stacks[1], most };
}

/**
 * @param {Table} table agreement.csv @param {any} summary @param {Set<string>} known What has a story @param {View} view
 */
export function showAgreement(table, summary, known, view) {
  const found = summary.agreement;
  if (!found) return;
  byId("agreement").hidden = false;
  const name = texts(table, "verdict");
  const verdict = Int8Array.from({ length: table.rows }, (_, row) => VERDICTS.findIndex(([of]) => of === name(row)));
  const facts = { seen: numbers(table, "observed_s"), played: numbers(table, "played_s"), verdict };
  const shown = lanes(table, found, facts, view);
  const apart = disagreements(table, facts, known, view);
  fill(byId("agreement-body"),
    el("p", {}, `The run agrees with what was seen in ${percent(found.score)} of ${counted(found.same + found.other_time + found.missing + found.extra, "fact")}, within a minute in ${percent(found.near_score)}. A fact agrees if the run has it within the bounds that the evidence leaves.`),
    kindTable(found), remarks(found).map((text) => el("p", { class: "muted" }, text)),
    el("p", { class: "legend" }, VERDICTS.map(([of, tint, meaning]) => el("span", { class: `key verdict-key-${tint}`, title: of }, meaning)), el("span", { class: "muted" }, "above the line what was seen, below it what was played")),
    shown.element, apart.elements);
  // Their sizes are known once they are in the document.
  shown.draw();
  apart.refresh();
}

/** @param {any} found */
function kindTable(found) {
  const row = (/** @type {any} */ of, /** @type {string} */ what) => el("tr", {}, el("th", { scope: "row" }, what), [of.same, of.other_time, of.missing, of.extra, of.not_seen].map((facts) => el("td", { class: "right" }, count(facts))), el("td", { class: "right" }, percent(of.score)), el("td", { class: "right" }, percent(of.near_score)));
  const heads = [["facts", ""], ["same", "within the bounds of the evidence"], ["other time", "in both, outside of these bounds"], ["missing", "seen, not in the run"], ["extra", "in the run, and the evidence would tell of it"], ["not told of", "in the run, and the evidence cannot know of it: not counted"], ["agree", "same, of all that are the same, at another time, missing or extra"], ["within a minute", "the same or at most a minute outside of the bounds, of all: by so much plays of one incident differ"]];
  return el("div", { class: "scrolls" }, el("table", { class: "kinds" },
    el("thead", {}, el("tr", {}, heads.map(([head, title], at) => el("th", { scope: "col", title, class: at > 0 ? "right" : "" }, head)))),
    el("tbody", {}, found.kinds.map((/** @type {any} */ of) => row(of, of.what)), row(found, "all"))));
}

/** @param {any} found */
function remarks(found) {
  const { before, after } = found.left_out;
  const strange = found.unknown.reduce((/** @type {number} */ sum, /** @type {any} */ of) => sum + of.facts, 0);
  const names = found.unknown.slice(0, 5).map((/** @type {any} */ of) => of.what).join(", ");
  return [
    before > 0 ? `${counted(before, "fact")} may be from before t=0: left out.` : "",
    after > 0 ? `${counted(after, "fact")} may be from after the end: left out.` : "",
    strange > 0 ? `${counted(strange, "fact")} of what the scenario does not have, and so missing: ${names}${found.unknown.length > 5 ? ` and ${found.unknown.length - 5} more` : ""}. Of another cluster?` : "",
  ].filter(Boolean);
}

/**
 * A lane for each kind of fact, under the scrubber of the page.
 * @param {Table} table @param {any} found @param {{seen: Float64Array, played: Float64Array, verdict: Int8Array}} facts @param {View} view
 */
function lanes(table, found, facts, view) {
  const fact = texts(table, "fact");
  /** @type {Map<string, number[]>} */
  const rows = new Map(found.kinds.map((/** @type {any} */ of) => [of.fact, []]));
  for (let row = 0; row < table.rows; row++) if (facts.verdict[row] >= 0) rows.get(fact(row))?.push(row);
  const drawn = found.kinds.filter((/** @type {any} */ of) => of.score !== null).map((/** @type {any} */ of) => {
    const canvas = el("canvas", { role: "img", "aria-label": `${of.what}: ${count(of.same)} the same, ${count(of.other_time)} at another time, ${count(of.missing)} missing, ${count(of.extra)} extra` });
    const plot = el("div", { class: "lane-plot" }, canvas);
    canvas.addEventListener("click", (event) => {
      const { left, width } = canvas.getBoundingClientRect();
      view.seek(view.from + ((event.clientX - left) / width) * (view.to - view.from));
    });
    const draw = () => drawLane(canvas, plot.clientWidth, stacksOf(facts, rows.get(of.fact) ?? [], view.from, view.to, Math.max(1, Math.floor(plot.clientWidth / BAR))), view);
    return { element: el("div", { class: "lane" }, el("div", { class: "lane-label" }, el("span", { class: "lane-name" }, of.what), el("span", { class: "lane-now" }, percent(of.score))), plot), draw };
  });
  const draw = () => drawn.forEach((/** @type {{draw: () => void}} */ lane) => lane.draw());
  for (const what of /** @type {const} */ (["span", "time", "theme"])) view.on(what, draw);
  addEventListener("resize", draw);
  return { element: el("div", { class: "plots" }, drawn.map((/** @type {{element: Element}} */ lane) => lane.element)), draw };
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {ReturnType<typeof stacksOf>} stacks @param {View} view */
function drawLane(canvas, width, { seen, played, most }, view) {
  const context = sized(canvas, Math.max(1, width), LANE);
  const color = colors();
  const middle = LANE / 2;
  const half = middle - 3;
  [seen, played].forEach((bars, side) => {
    const sign = side === 0 ? -1 : 1;
    bars.forEach((stack, bar) => {
      let below = 0;
      stack.forEach((facts, at) => {
        if (facts === 0) return;
        const [low, high] = [below, below + facts].map((sum) => (sum / most) * half);
        // One fact among thousands is seen all the same.
        const tall = Math.max(2, high - low);
        context.fillStyle = color(VERDICTS[at][1]);
        context.fillRect(bar * BAR, sign < 0 ? middle - low - tall : middle + low, BAR, tall);
        below += facts;
      });
    });
  });
  context.fillStyle = color("faint");
  context.fillRect(0, middle - 0.5, width, 1);
  if (view.time < view.from || view.time > view.to) return;
  context.fillStyle = color("focus");
  context.fillRect(((view.time - view.from) / (view.to - view.from)) * width - 0.5, 0, 1, LANE);
}

/**
 * Each fact in which they do not agree; all of them on demand.
 * @param {Table} table @param {{seen: Float64Array, played: Float64Array, verdict: Int8Array}} facts @param {Set<string>} known @param {View} view
 */
function disagreements(table, facts, known, view) {
  const of = Object.fromEntries(["verdict", "fact", "namespace", "name", "value", "played_name", "sources", "note"].map((name) => [name, texts(table, name)]));
  const off = numbers(table, "off_s");
  const time = (/** @type {number} */ at) => (Number.isNaN(at) ? "" : at < 0 || at > view.end ? `${at < 0 ? "-" : ""}${clock(Math.abs(at))}` : timeLink(at));
  const objectCell = (/** @type {number} */ row) => {
    const name = of.played_name(row) || of.name(row);
    const key = OF_NODES.has(of.fact(row)) ? `node/${name}` : `pod/${of.namespace(row)}/${name}`;
    return known.has(key) ? objectLink(key, of.name(row)) : named(of.name(row));
  };
  const offCell = (/** @type {number} */ row) => (off[row] === 0 || Number.isNaN(off[row]) ? "" : `${lasting(Math.abs(off[row]))} too ${off[row] < 0 ? "early" : "late"}`);
  const width = view.end >= DAY ? "118px" : "76px";
  const grid = createGrid("What was seen and what was played", [
    { name: "Seen", title: "when it was seen: the best guess", width, right: true, cell: (row) => time(facts.seen[row]) },
    { name: "Played", title: "when the run has it", width, right: true, cell: (row) => time(facts.played[row]) },
    { name: "", title: "how far outside of the bounds of the evidence the run has it", width: "118px", cell: offCell },
    { name: "Verdict", title: "same, other time, missing or extra", width: "84px", cell: (row) => el("span", { class: of.verdict(row) === "same" ? "" : "tone-bad" }, of.verdict(row)) },
    { name: "Fact", title: "its kind", width: "120px", cell: (row) => of.fact(row) },
    { name: "Object", title: "node or pod, as it was seen; its story is that of the run's", width: "minmax(150px, 2fr)", cell: objectCell },
    { name: "Value", title: "what it changed to", width: "minmax(120px, 2fr)", cell: (row) => named(of.value(row)) },
    { name: "From", title: "the records that say it", width: "minmax(90px, 1fr)", cell: (row) => named(of.note(row) || of.sources(row)) },
  ]);
  const options = (/** @type {string} */ name) => [...(column(table, name)?.texts ?? [])].sort();
  const choice = (/** @type {string} */ label, /** @type {string[]} */ values) => el("select", { "aria-label": label, onchange: () => refresh() }, el("option", { value: "" }, `${label}: all`), values.map((value) => el("option", { value }, value)));
  const refresh = () => {
    const rows = [];
    for (let row = 0; row < table.rows; row++) {
      if (!all.checked && of.verdict(row) === "same") continue;
      if (fact.value && of.fact(row) !== fact.value) continue;
      if (verdict.value && of.verdict(row) !== verdict.value) continue;
      rows.push(row);
    }
    grid.show(rows, table.rows);
  };
  const [fact, verdict] = [choice("Fact", options("fact")), choice("Verdict", options("verdict").filter((value) => value !== "same"))];
  const all = el("input", { type: "checkbox", id: "agreement-all", onchange: () => refresh() });
  return { elements: [el("h3", {}, "What does not agree"), el("div", { class: "filters" }, fact, verdict, el("label", { for: "agreement-all" }, all, " those that agree, too")), grid.element], refresh };
}
