// Pictures of studies: intervals on one axis, points in a plane, steps of shares.

import { append, colors, el, fill, named } from "./dom.js";
import { axisOf, rounded, spread, ticks } from "./figures.js";

/** @typedef {import("./figures.js").Interval} Interval */
/** @typedef {{label: string, interval: Interval, mark?: string, isOut?: boolean, isStrong?: boolean}} Ranged */

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, unknown>} attributes @param {...(Node | string)} children */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(3)}%`;

/**
 * Means with their intervals, one below the other on one axis: nothing joins them, as what stands between two values is not known.
 * @param {string} axis What the axis counts @param {Ranged[]} rows @param {number | null} reference Where a line stands, such as today's cost
 * @param {(interval: Interval) => string} text How an interval is written @param {number} count About how many marks the axis has room for
 */
export function forest(axis, rows, reference, text = spread, count = 5) {
  const values = rows.flatMap(({ interval: { mean, low, high } }) => [mean, low, high]).filter((value) => value !== null && value !== undefined);
  if (reference !== null) values.push(reference);
  const known = /** @type {number[]} */ (values);
  const least = Math.min(0, ...known);
  const most = Math.max(...known, least);
  // What costs hardly less is told apart only on an axis that does not begin at nothing.
  const from = least === 0 && Math.min(...known) > 0.5 * most ? Math.min(...known) - 0.1 * (most - Math.min(...known) || most) : least;
  const marks = ticks(Math.max(least, from), most, count);
  const [low, high] = [marks[0], marks[marks.length - 1]];
  const at = (/** @type {number} */ value) => (value - low) / (high - low || 1);
  const grid = () => marks.map((value) => placed(el("i", { class: "range-grid" }), at(value)));
  const line = (/** @type {Ranged} */ { label, interval, mark, isOut, isStrong }) => {
    const track = el("div", { class: "range-track", "aria-hidden": "true" }, grid());
    if (reference !== null) track.append(placed(el("i", { class: "range-reference" }), at(reference)));
    if (interval.mean !== null && interval.mean !== undefined) {
      const [from_, to] = [at(interval.low ?? interval.mean), at(interval.high ?? interval.mean)];
      const bar = placed(el("i", { class: interval.low === null || interval.high === null ? "range-bar range-open" : "range-bar" }), from_);
      bar.style.width = percent(Math.max(0, to - from_));
      track.append(bar, placed(el("i", { class: "range-dot" }), at(interval.mean)));
    }
    return el("div", { class: `range${isOut ? " range-out" : ""}${isStrong ? " range-strong" : ""}`, role: "listitem" }, el("span", { class: "range-label" }, named(label), mark ? el("span", { class: "range-mark" }, ` ${mark}`) : ""), track, el("span", { class: "range-spread" }, text(interval)));
  };
  // Each mark has a line; where their numbers are long only every second is written.
  const isLong = count < 5 && marks.map(rounded).join("").length > 12;
  const written = marks.filter((_, index) => !isLong || index % 2 === 0);
  const scale = el("div", { class: "range-scale", "aria-hidden": "true" }, written.map((value) => placed(el("span", {}, rounded(value)), at(value))));
  return el("div", { class: "forest" }, el("div", { role: "list" }, rows.map(line)), el("div", { class: "range" }, el("span", {}), scale, el("span", {})), el("p", { class: "axis-title" }, axis, low > 0 ? "; the axis does not begin at 0" : ""));
}

/** @template {HTMLElement} T @param {T} element @param {number} share */
function placed(element, share) {
  element.style.left = percent(share);
  return element;
}

/** @typedef {{width: number, height: number, left: number, bottom: number, top: number, right: number}} Frame */

/** @typedef {{marks: number[], title: string, text?: (value: number) => string, place?: (value: number) => number}} Axis */

/**
 * Axes with their ticks and titles; gives what maps values to places.
 * @param {SVGElement} picture @param {Frame} frame @param {Axis} x @param {Axis} y
 */
function axes(picture, { width, height, left, bottom, top, right }, x, y) {
  const color = colors();
  const scale = (/** @type {Axis} */ { marks, place = (value) => value }, /** @type {number} */ from, /** @type {number} */ to) => {
    const [first, last] = [place(marks[0]), place(marks[marks.length - 1])];
    return (/** @type {number} */ value) => from + ((place(value) - first) / (last - first || 1)) * (to - from);
  };
  const toX = scale(x, left, width - right);
  const toY = scale(y, height - bottom, top);
  const text = { fill: color("muted"), "font-size": 11 };
  for (const value of x.marks) append(picture, [svg("line", { x1: toX(value), x2: toX(value), y1: top, y2: height - bottom, stroke: color("line") }), svg("text", { ...text, x: toX(value), y: height - bottom + 15, "text-anchor": "middle" }, (x.text ?? rounded)(value))]);
  for (const value of y.marks) append(picture, [svg("line", { x1: left, x2: width - right, y1: toY(value), y2: toY(value), stroke: color("line") }), svg("text", { ...text, x: left - 6, y: toY(value) + 4, "text-anchor": "end" }, (y.text ?? rounded)(value))]);
  append(picture, [svg("text", { ...text, x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, x.title), svg("text", { ...text, x: left, y: 11 }, y.title)]);
  return { toX, toY };
}

/** Draws a picture as wide as its box, again whenever that or the theme changes. @param {HTMLElement} box @param {(width: number) => Element} draw */
export function drawn(box, draw) {
  let last = 0;
  const again = () => {
    const width = Math.max(280, Math.floor(box.clientWidth));
    last = width;
    fill(box, draw(width));
  };
  again();
  addEventListener("resize", () => { if (Math.floor(box.clientWidth) !== last) again(); });
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** @typedef {{label: string, x: number, y: number, isNamed: boolean, tint: string, isOut: boolean}} Point */

/**
 * Points in a plane. Only those that matter have their names beside them, and only where there is room: the others say theirs when pointed at.
 * @param {Point[]} points @param {string} xTitle @param {string} yTitle @param {number} width
 */
export function scatter(points, xTitle, yTitle, width) {
  const height = Math.min(420, Math.max(260, Math.round(width * 0.5)));
  const frame = { width, height, left: 56, bottom: 36, top: 22, right: 34 };
  const color = colors();
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${yTitle} against ${xTitle}` });
  const axis = (/** @type {number[]} */ values, /** @type {string} */ title) => {
    const { isEven, ...of } = axisOf(values, width < 500 ? 4 : 6);
    return { ...of, title: isEven ? title : `${title} (by order of magnitude)` };
  };
  const { toX, toY } = axes(picture, frame, axis(points.map(({ x }) => x), xTitle), axis(points.map(({ y }) => y), yTitle));
  /** @type {{left: number, right: number, top: number, bottom: number}[]} */
  const taken = points.map(({ x, y }) => ({ left: toX(x) - 5, right: toX(x) + 5, top: toY(y) - 5, bottom: toY(y) + 5 }));
  const isFree = (/** @type {{left: number, right: number, top: number, bottom: number}} */ box) => box.left > frame.left && box.right < width && box.top > 14 && box.bottom < height - frame.bottom && !taken.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
  for (const { label, x, y, tint, isOut } of points) {
    const mark = isOut ? svg("path", { d: `M${toX(x) - 4} ${toY(y) - 4}l8 8m0-8l-8 8`, stroke: color("bad"), "stroke-width": 1.5 }) : svg("circle", { cx: toX(x), cy: toY(y), r: 4.5, fill: color(tint), stroke: color("paper") });
    mark.append(svg("title", {}, `${label}: ${rounded(x)}, ${rounded(y)}`));
    picture.append(mark);
  }
  for (const { label, x, y } of points.filter((point) => point.isNamed)) {
    const wide = label.length * 6.2;
    const tries = [[8, 4, "start"], [-8, 4, "end"], [0, -9, "middle"], [0, 18, "middle"]];
    for (const [dx, dy, anchor] of /** @type {[number, number, string][]} */ (tries)) {
      const left = toX(x) + dx - (anchor === "start" ? 0 : anchor === "end" ? wide : wide / 2);
      const box = { left, right: left + wide, top: toY(y) + dy - 11, bottom: toY(y) + dy + 2 };
      if (!isFree(box)) continue;
      taken.push(box);
      picture.append(svg("text", { x: toX(x) + dx, y: toY(y) + dy, "text-anchor": anchor, "font-size": 11, fill: color("text") }, label));
      break;
    }
  }
  return picture;
}

/** @typedef {{label: string, place: number, predicted: number, low: number, high: number, observed: number | null, isBest: boolean}} Predicted */

/**
 * What is predicted between the ends of a range, with its interval, and what was played there.
 * @param {Predicted[]} points @param {string} xTitle @param {string} yTitle @param {number} width
 */
export function band(points, xTitle, yTitle, width) {
  const height = Math.min(360, Math.max(240, Math.round(width * 0.4)));
  const color = colors();
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${yTitle} by ${xTitle}` });
  const most = width < 500 ? 4 : 8;
  const last = points.length - 1;
  const marks = points.filter(({ place }, at) => at === 0 || at === last || (Math.floor(place * most) !== Math.floor(points[at - 1].place * most) && 1 - place > 0.8 / most)).map(({ place }) => place);
  const text = (/** @type {number} */ place) => points.find((of) => of.place === place)?.label ?? "";
  const values = points.flatMap(({ low, high, observed }) => (observed === null ? [low, high] : [low, high, observed]));
  const { toX, toY } = axes(picture, { width, height, left: 62, bottom: 36, top: 22, right: 34 }, { marks, title: xTitle, text }, { marks: ticks(Math.min(0, ...values), Math.max(0, ...values), 6), title: yTitle });
  const at = (/** @type {number} */ place, /** @type {number} */ value) => `${toX(place).toFixed(1)} ${toY(value).toFixed(1)}`;
  const path = (/** @type {string[]} */ places) => `M${places.join("L")}`;
  const edge = [...points.map(({ place, high }) => at(place, high)), ...points.map(({ place, low }) => at(place, low)).reverse()];
  picture.append(svg("path", { d: `${path(edge)}Z`, fill: color("workload-0"), "fill-opacity": 0.15 }));
  picture.append(svg("path", { d: path([at(0, 0), at(1, 0)]), stroke: color("muted"), "stroke-dasharray": "4 3" }));
  picture.append(svg("path", { d: path(points.map(({ place, predicted }) => at(place, predicted))), fill: "none", stroke: color("workload-0"), "stroke-width": 1.75 }));
  for (const { label, place, predicted, observed, isBest } of points) {
    if (observed === null) continue;
    const mark = svg("circle", { cx: toX(place), cy: toY(observed), r: isBest ? 6 : 4, fill: color("text"), stroke: color(isBest ? "bad" : "paper"), "stroke-width": isBest ? 3 : 1 });
    mark.append(svg("title", {}, `${label}: ${rounded(observed)} in its runs, ${rounded(predicted)} predicted`));
    picture.append(mark);
  }
  return picture;
}

/** @typedef {{at: number[], shares: number[], tint: string, dash: string}} Steps */

/**
 * Shares of runs within a length, as steps.
 * @param {Steps[]} curves @param {string} xTitle @param {(value: number) => string} text @param {number[]} marks Of the lengths @param {number} width
 */
export function steps(curves, xTitle, text, marks, width) {
  const height = Math.min(340, Math.max(240, Math.round(width * 0.4)));
  const color = colors();
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `share of runs by ${xTitle}` });
  const { toX, toY } = axes(picture, { width, height, left: 48, bottom: 36, top: 22, right: 24 }, { marks, title: xTitle, text }, { marks: [0, 0.25, 0.5, 0.75, 1], title: "of all runs", text: (share) => `${Math.round(share * 100)} %` });
  for (const { at, shares, tint, dash } of curves) {
    let path = `M${toX(Math.max(marks[0], 0)).toFixed(1)} ${toY(0).toFixed(1)}`;
    at.forEach((value, of) => { path += `H${toX(value).toFixed(1)}V${toY(shares[of]).toFixed(1)}`; });
    path += `H${toX(marks[marks.length - 1]).toFixed(1)}`;
    picture.append(svg("path", { d: path, fill: "none", stroke: color(tint), "stroke-width": 1.75, "stroke-dasharray": dash }));
  }
  return picture;
}
