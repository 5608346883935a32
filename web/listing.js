// Tables that sort by their columns, tiles of figures, and text to copy.

import { append, el, fill } from "./dom.js";

/**
 * @typedef {object} ListColumn
 * @property {string} name
 * @property {string} [title] What it means
 * @property {boolean} [right] Whether it is set to the right, as numbers are
 * @property {(row: any) => Node | string | (Node | string)[]} cell
 * @property {(row: any) => string | number | null} by What it sorts by; null comes last
 */

const names = new Intl.Collator("en", { numeric: true });

/** @param {string | number | null} a @param {string | number | null} b @param {number} sign */
function compare(a, b, sign) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * names.compare(String(a), String(b));
}

/**
 * A table; its headings sort it. The first column names the row.
 * @param {string} label @param {ListColumn[]} columns @param {any[]} rows
 * @param {{limit?: number, rowClass?: (row: any) => string}} [options]
 */
export function listing(label, columns, rows, { limit = Infinity, rowClass = () => "" } = {}) {
  let shown = rows;
  let all = rows.length <= limit;
  const body = el("tbody");
  const head = el("tr");
  const note = el("p", { class: "muted" });
  /** @type {{at: number, sign: number} | null} */
  let order = null;
  const draw = () => {
    fill(body, (all ? shown : shown.slice(0, limit)).map((row) => el("tr", { class: rowClass(row) }, columns.map((column, at) => el(at === 0 ? "th" : "td", at === 0 ? { scope: "row" } : { class: column.right ? "right" : "" }, column.cell(row))))));
    fill(note, all ? "" : [`${limit} of ${rows.length}. `, el("button", { class: "quiet", onclick: () => { all = true; draw(); } }, "Show all")]);
    note.hidden = all;
  };
  const sort = (/** @type {number} */ at) => {
    order = { at, sign: order?.at === at ? -order.sign : 1 };
    const { sign } = order;
    shown = [...rows].sort((a, b) => compare(columns[at].by(a), columns[at].by(b), sign));
    [...head.children].forEach((cell, of) => {
      if (of === at) cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    draw();
  };
  append(head, columns.map((column, at) => el("th", { scope: "col", class: column.right ? "right" : "" }, el("button", { class: "sort", title: column.title, onclick: () => sort(at) }, column.name))));
  draw();
  return el("div", {}, el("div", { class: "scrolls" }, el("table", { class: "listing", "aria-label": label }, el("thead", {}, head), body)), note);
}

/**
 * Text to copy: it can be selected, and a button copies it where the browser allows that.
 * @param {string} label @param {string} text @param {string} [action] What the button says
 */
export function copyable(label, text, action = "Copy") {
  const said = el("span", { class: "muted", role: "status" });
  const pre = el("pre", { tabindex: "0", "aria-label": label }, text);
  const select = () => {
    const range = document.createRange();
    range.selectNodeContents(pre);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "copied";
    } catch {
      // A page from a disk may not be allowed to.
      select();
      said.textContent = document.execCommand("copy") ? "copied" : "selected: press Ctrl+C";
    }
  };
  return el("div", { class: "copyable" }, pre, el("p", {}, el("button", { class: "quiet", onclick: copy }, action), " ", said));
}

/**
 * Tiles under the verdict.
 * @param {HTMLElement} box @param {{label: string, value: string, note?: string, isBad?: boolean}[]} tiles
 */
export function fillTiles(box, tiles) {
  fill(box, tiles.map(({ label, value, note, isBad }) => el("div", { class: isBad ? "figure figure-bad" : "figure" }, el("span", { class: "figure-label" }, label), el("strong", {}, value), note ? el("span", { class: "muted" }, note) : "")));
}
