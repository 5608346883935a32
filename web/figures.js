// Figures of studies and plans, as the terminal prints them.

/** @typedef {{columns: string[], rows: any[][]}} Plain Rows of a CSV */
/** @typedef {{mean: number | null, low: number | null, high: number | null, widened: boolean | null}} Interval An end that is not known is null */

/**
 * A column of a table: its cells.
 * @param {Plain} table @param {string} name
 * @returns {any[]}
 */
export function cellsOf(table, name) {
  const at = table.columns.indexOf(name);
  return table.rows.map((row) => row[at]);
}

/**
 * Rows as objects.
 * @param {Plain} table
 * @returns {Record<string, any>[]}
 */
export function records(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((name, at) => [name, row[at]])));
}

/**
 * With so many decimals, exact ties to the even digit: `toFixed` has them away from zero.
 * @param {number} value @param {0 | 2} digits
 */
function fixed(value, digits) {
  const scaled = Math.abs(value) * 10 ** digits;
  // A tie has few binary digits, so that the product is exact.
  const isTie = Number.isInteger(value * 8) && scaled % 1 === 0.5;
  if (!isTie) return value.toFixed(digits);
  const floor = Math.floor(scaled);
  const even = (floor % 2 === 0 ? floor : floor + 1) / 10 ** digits;
  return `${value < 0 && even !== 0 ? "-" : ""}${even.toFixed(digits)}`;
}

/**
 * A number as the tables of the terminal have it: two decimals below a hundred, none from there on.
 * @param {number} value
 */
export function figure(value) {
  // What is rounded to nothing has no sign.
  const told = Math.abs(value) < 0.005 ? 0 : value;
  return Math.abs(told) >= 100 ? fixed(told, 0) : fixed(told, 2);
}

/**
 * A mean with its interval: `12.30 [11.80, 12.90]`; `*` allows for runs that nobody has seen, `?` is an end that is not known.
 * @param {Interval} of
 */
export function spread({ mean, low, high, widened }) {
  if (mean === null || mean === undefined) return "-";
  const short = (/** @type {number} */ value) => (value === 0 ? "0" : figure(value));
  const end = (/** @type {number | null} */ value) => (value === null || value === undefined ? "?" : short(value));
  return `${short(mean)} [${end(low)}, ${end(high)}]${widened ? "*" : ""}`;
}

/**
 * A number on an axis or in a sentence: grouped, and as exact as its size asks for.
 * @param {number} value
 */
export function rounded(value) {
  const size = Math.abs(value);
  const text = size >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3).replace(/\.?0+$/, "");
  return text.replace(/\B(?=(\d{3})+$)/g, size >= 10_000 ? "\u202f" : "");
}

/**
 * Round numbers from the first below to the last above, no more than `most` steps.
 * @param {number} low @param {number} high @param {number} most
 */
export function ticks(low, high, most) {
  const span = high - low || Math.abs(high) || 1;
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((of) => of * power >= raw * (1 - 1e-9)) ?? 10) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil((low + span) / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/**
 * How values lie on an axis: evenly, or, where they span two orders of magnitude and would lie in a corner, by these, with a place for zero.
 * The charts of a study have the same rule.
 * @param {number[]} values @param {number} most How many even marks there may be
 * @returns {{marks: number[], place: (value: number) => number, isEven: boolean}}
 */
export function axisOf(values, most) {
  const low = Math.min(...values.filter((value) => value > 0));
  const high = Math.max(...values);
  if (values.some((value) => value < 0) || !(high >= 100 * low)) return { marks: ticks(Math.min(...values), high, most), place: (value) => value, isEven: true };
  const marks = [0];
  for (let mark = 10 ** Math.ceil(Math.log10(low / 2)); marks[marks.length - 1] < high; mark *= 10) marks.push(mark);
  return { marks, place: (value) => Math.log10(1 + value / low), isEven: false };
}
