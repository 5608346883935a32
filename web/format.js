// Times, lengths and numbers as people read them. Times are milliseconds since t=0 everywhere in these modules, as the CSVs have three decimals.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** From this length of a run on, moments have days. */
export const DAY = 24 * HOUR;

/**
 * A moment: `10:43.4`, `1:02:03.4`, `12d 03:04:05.6`; rounded to tenths, as `explain` has it: `10m43.4s`, `12d03h04m05.6s`.
 * @param {number} ms
 * @returns {string}
 */
export function clock(ms) {
  const tenths = Math.round(Math.max(0, ms) / 100);
  const seconds = Math.floor(tenths / 10);
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  const tail = `${String(seconds % 60).padStart(2, "0")}.${tenths % 10}`;
  if (days > 0) return `${days}d ${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}:${tail}`;
  if (hours > 0) return `${hours}:${String(minutes).padStart(2, "0")}:${tail}`;
  return `${minutes}:${tail}`;
}

/**
 * A moment on an axis, without tenths unless the step needs them.
 * @param {number} ms
 * @param {number} step
 * @returns {string}
 */
export function tickLabel(ms, step) {
  if (step >= DAY) return `${Math.round(ms / DAY)}d`;
  const text = clock(ms);
  return step >= 1000 ? text.slice(0, -2) : text;
}

/**
 * Steps of an axis: the smallest that leaves no more ticks than `most`.
 * @param {number} span
 * @param {number} most
 * @returns {number}
 */
export function tickStep(span, most) {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY, 90 * DAY, 180 * DAY, 365 * DAY];
  return steps.find((step) => span / step <= most) ?? Math.ceil(span / most / (365 * DAY)) * 365 * DAY;
}

/**
 * A length of time in words, rounded: `0.016 s`, `12.3 s`, `21 min 33 s`, `4 h 58 min`, `3 d 4 h`.
 * @param {number} ms
 * @returns {string}
 */
export function lasting(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1000) return `${trim((ms / 1000).toFixed(3))} s`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${trim((tenths / 10).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair(seconds, 60, "min", "s");
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 24 * 60) return pair(minutes, 60, "h", "min");
  return pair(Math.round(ms / HOUR), 24, "d", "h");
}

/**
 * A length of time in whole seconds, as the verdict has it: `8 min 56 s`, `3 h 2 min 23 s`; below one second `0.4 s`.
 * @param {number} ms
 * @returns {string}
 */
export function exactly(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return lasting(ms < 1000 ? ms : seconds * 1000);
  const parts = [[Math.floor(seconds / 86_400), "d"], [Math.floor(seconds / 3600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"], [seconds % 60, "s"]];
  return parts.filter(([units]) => units !== 0).map(([units, name]) => `${units} ${name}`).join(" ");
}

/**
 * A length whose numbers stay on the line of their units.
 * @param {string} text
 * @returns {string}
 */
export function inPairs(text) {
  return text.replace(/(\d) (?=[a-z])/g, "$1\u00a0");
}

/** @param {number} units @param {number} big @param {string} bigName @param {string} smallName */
function pair(units, big, bigName, smallName) {
  const rest = units % big;
  return rest === 0 ? `${Math.floor(units / big)} ${bigName}` : `${Math.floor(units / big)} ${bigName} ${rest} ${smallName}`;
}

/** @param {string} text */
function trim(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Seconds as the CSVs have them.
 * @param {number} ms
 * @returns {string}
 */
export function seconds(ms) {
  return (ms / 1000).toFixed(3);
}

/**
 * A count with thin spaces between thousands.
 * @param {number} number
 * @returns {string}
 */
export function count(number) {
  const text = Number.isInteger(number) ? String(number) : number.toFixed(Math.abs(number) < 10 ? 2 : Math.abs(number) < 1000 ? 1 : 0);
  const [whole, part] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return part === undefined ? spaced : `${spaced}.${part}`;
}

/**
 * `1 node`, `3 nodes`.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 * @returns {string}
 */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * The last part of an object's key: `pod/default/web-1` is `web-1`.
 * @param {string} key
 * @returns {string}
 */
export function shortName(key) {
  return key.slice(key.lastIndexOf("/") + 1);
}

/**
 * What is left of a wait: `4:12`; the last second counts as one until it is over.
 * @param {number} ms
 * @returns {string}
 */
export function countdown(ms) {
  const left = Math.ceil(ms / 1000);
  if (left >= 3600) return `${Math.floor(left / 3600)}:${String(Math.floor(left / 60) % 60).padStart(2, "0")}:${String(left % 60).padStart(2, "0")}`;
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

/**
 * An argument as a shell takes it.
 * @param {string} text
 * @returns {string}
 */
export function argument(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
