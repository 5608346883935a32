// Reads the tables of a run's directory, for tests: nothing here is of the page.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** @param {string} dir @param {string} file @returns {Record<string, string>[]} */
export function readTable(dir, file) {
  const [header, ...rows] = parse(readFileSync(join(dir, file), "utf8"));
  return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])));
}

/** @param {string} text */
function parse(text) {
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; ; at++) {
        if (text[at] !== '"') cell += text[at];
        else if (text[at + 1] === '"') cell += text[at++];
        else break;
      }
      at++;
    } else {
      const end = at;
      while (at < text.length && text[at] !== "," && text[at] !== "\n") at++;
      cell = text.slice(end, at);
    }
    row.push(cell);
    if (text[at] !== ",") {
      rows.push(row);
      row = [];
    }
    at++;
  }
  return rows;
}

/** Milliseconds of a cell of seconds; NaN of an empty one. @param {string} cell */
export function ms(cell) {
  return cell === "" ? NaN : Math.round(Number(cell) * 1000);
}
