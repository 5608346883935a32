// A table of any number of rows: only those in sight are in the document, and it always says how many there are.

import { el, fill, named } from "./dom.js";
import { clock, count, inPairs, lasting } from "./format.js";

/**
 * @typedef {object} GridColumn
 * @property {string} name
 * @property {string} title What it means
 * @property {string} width As CSS has it
 * @property {boolean} [right] Whether it is set to the right, as numbers are
 * @property {(row: number) => Node | string} cell
 */

/** Height of a row in pixels, as page.css has it. */
const ROW = 26;

/** Rows that are printed: paper is not for looking things up. */
const PRINTED = 30;

/**
 * @param {string} label @param {GridColumn[]} columns
 */
export function createGrid(label, columns) {
  const body = el("div", { class: "grid-rows", role: "rowgroup" });
  const space = el("div", { class: "grid-space" }, body);
  const template = columns.map((column) => column.width).join(" ");
  const head = el("div", { class: "grid-row grid-head", role: "row" }, columns.map((column) => el("span", { role: "columnheader", class: column.right ? "right" : "", title: column.title }, column.name)));
  head.style.gridTemplateColumns = template;
  const view = el("div", { class: "grid-view", tabindex: "0" }, head, space);
  const note = el("p", { class: "muted grid-note", "aria-live": "polite" });
  const element = el("div", { class: "grid", role: "table", "aria-label": label }, view, note);
  /** @type {ArrayLike<number>} */
  let rows = [];
  let total = 0;
  const print = matchMedia("print");
  let isPrinting = false;
  const draw = () => {
    const isPrint = isPrinting || print.matches;
    // The height first: how much of it is in sight follows from it.
    space.style.height = `${(isPrint ? Math.min(rows.length, PRINTED) : rows.length) * ROW}px`;
    const first = isPrint ? 0 : Math.max(0, Math.floor(view.scrollTop / ROW) - 4);
    const last = Math.min(rows.length, isPrint ? PRINTED : first + Math.ceil(view.clientHeight / ROW) + 8);
    const shown = rows.length === total ? `${count(total)} in all` : `${count(rows.length)} of ${count(total)}`;
    note.textContent = isPrint && last < rows.length ? `${shown}; the first ${last} are printed` : shown;
    body.style.transform = `translateY(${first * ROW}px)`;
    fill(body, Array.from({ length: Math.max(0, last - first) }, (_, at) => {
      const row = rows[first + at];
      const line = el("div", { class: "grid-row", role: "row", "aria-rowindex": first + at + 2 }, columns.map((column) => el("span", { role: "cell", class: column.right ? "right" : "" }, column.cell(row))));
      line.style.gridTemplateColumns = template;
      return line;
    }));
  };
  view.addEventListener("scroll", draw, { passive: true });
  print.addEventListener("change", draw);
  // What is printed at once is laid out before the other event comes.
  for (const [event, is] of /** @type {const} */ ([["beforeprint", true], ["afterprint", false]])) addEventListener(event, () => { isPrinting = is; draw(); });
  return {
    element,
    /** @param {ArrayLike<number>} shown @param {number} all */
    show(shown, all) {
      rows = shown;
      total = all;
      view.scrollTop = 0;
      element.setAttribute("aria-rowcount", String(rows.length + 1));
      draw();
    },
    /** Brings a row to sight. @param {number} at Its position */
    reveal(at) {
      view.scrollTop = Math.max(0, at * ROW - view.clientHeight / 3);
      draw();
    },
    draw,
  };
}

/** A time that moves the scrubber. @param {number} ms */
export function timeLink(ms) {
  return el("button", { class: "time", "data-ms": ms, title: `${(ms / 1000).toFixed(3)} s: go there` }, clock(ms));
}

/** An object that opens its story. @param {string} key @param {string} [text] */
export function objectLink(key, text = key) {
  return el("button", { class: "link", "data-key": key, title: key }, named(text));
}

/**
 * Parts of a sentence, with links.
 * @param {import("./story.js").Part[]} parts
 */
export function sentenceNodes(parts) {
  return unbroken(parts.map((part) => {
    if (typeof part === "string") return named(part);
    if ("lasting" in part) return named(inPairs(lasting(part.lasting)));
    return "at" in part ? timeLink(part.at) : objectLink(part.key);
  }));
}

/** A mark that ends what stands before it. */
const MARK = /^[,.;:)]+/;

/**
 * Keeps the mark behind a link on its line: a link is a button, behind which browsers break lines, so that it takes the mark in.
 * @param {Node[]} nodes
 * @returns {Node[]}
 */
export function unbroken(nodes) {
  /** @type {Node[]} */
  const kept = [];
  for (const node of nodes) {
    const before = kept[kept.length - 1];
    const text = node.textContent ?? "";
    const mark = node instanceof HTMLButtonElement ? undefined : MARK.exec(text)?.[0];
    if (mark === undefined || !(before instanceof HTMLButtonElement) || before.querySelector(".closing") !== null) {
      kept.push(node);
      continue;
    }
    before.append(el("span", { class: "closing" }, mark));
    const rest = text.slice(mark.length);
    if (rest !== "") kept.push(node instanceof Text ? document.createTextNode(rest) : named(rest));
  }
  return kept;
}
