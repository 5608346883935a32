// Tables of the run, out of the page's data blocks: base64 of gzip of columns. Decoded when they are first asked for.
//
// A block is: the header's length (4 bytes, little end first), the header (JSON: rows, columns), then each column. Whole numbers are
// LEB128; times and numbers are zigzag differences to the one before (plus 1 where a cell can be empty: 0 is nothing). Texts are a list of
// words (JSON), the different texts (each as how many words and which), and for each row which text; what is new is 0, what was before has
// its number plus 1. A word that is a pod's name, or ends with one behind a slash, is a number (or what stands before the name, and a
// number): how much further down the table of pods the name stands than the one before.

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {"text" | "time" | "maybe_time" | "number" | "maybe_number" | "truth"} cells
 * @property {Float64Array | Int32Array | Uint8Array} values Times in milliseconds; NaN is nothing; of texts, entries of the dictionary
 * @property {string[]} texts The dictionary; empty for other columns
 */

/**
 * @typedef {object} Table
 * @property {number} rows
 * @property {Column[]} columns
 */

/** @typedef {{bytes: Uint8Array, at: number}} Cursor */

/** @param {Cursor} cursor */
function varint(cursor) {
  const { bytes } = cursor;
  let byte = bytes[cursor.at++];
  if (byte < 128) return byte;
  let value = byte & 127;
  let factor = 128;
  do {
    byte = bytes[cursor.at++];
    value += (byte & 127) * factor;
    factor *= 128;
  } while (byte >= 128);
  return value;
}

/** @param {number} code */
function unzigzag(code) {
  return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
}

/** @param {Cursor} cursor @param {number} rows */
function always(cursor, rows) {
  const values = new Float64Array(rows);
  let last = 0;
  for (let row = 0; row < rows; row++) {
    last += unzigzag(varint(cursor));
    values[row] = last;
  }
  return values;
}

/** @param {Cursor} cursor @param {number} rows */
function sometimes(cursor, rows) {
  const values = new Float64Array(rows);
  let last = 0;
  for (let row = 0; row < rows; row++) {
    const code = varint(cursor);
    if (code === 0) {
      values[row] = NaN;
    } else {
      last += unzigzag(code - 1);
      values[row] = last;
    }
  }
  return values;
}

/** @param {Cursor} cursor @param {number} rows */
function entries(cursor, rows) {
  const values = new Int32Array(rows);
  let next = 0;
  for (let row = 0; row < rows; row++) {
    const code = varint(cursor);
    values[row] = code === 0 ? next++ : code - 1;
  }
  return values;
}

/** @param {string[]} words @param {Cursor} cursor @param {number} end */
function textsOf(words, cursor, end) {
  const texts = [];
  let next = 0;
  const word = () => {
    const code = varint(cursor);
    return words[code === 0 ? next++ : code - 1];
  };
  while (cursor.at < end) {
    const count = varint(cursor);
    let text = word();
    for (let more = 1; more < count; more++) text += ` ${word()}`;
    texts.push(text);
  }
  return texts;
}

/** @typedef {string | number | [string, number]} Word */

/** @param {Word[]} words @param {string[]} names @returns {string[]} */
function spelled(words, names) {
  let at = 0;
  return words.map((word) => {
    if (typeof word === "string") return word;
    const [before, further] = typeof word === "number" ? ["", word] : word;
    at += further;
    return before + names[at];
  });
}

/**
 * @param {Uint8Array} bytes
 * @param {string[]} [names] The different names in the table of pods, which words of other tables may refer to
 * @returns {Table}
 */
export function decodeTable(bytes, names = []) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerEnd = 4 + view.getUint32(0, true);
  const utf8 = new TextDecoder();
  const header = JSON.parse(utf8.decode(bytes.subarray(4, headerEnd)));
  /** @type {Column[]} */
  const columns = [];
  let at = headerEnd;
  for (const { name, cells, words, texts: length, values } of header.columns) {
    const texts = words === 0 ? [] : textsOf(spelled(JSON.parse(utf8.decode(bytes.subarray(at, at + words))), names), { bytes, at: at + words }, at + words + length);
    columns.push({ name, cells, texts, values: valuesOf(cells, { bytes, at: at + words + length }, header.rows) });
    at += words + length + values;
  }
  return { rows: header.rows, columns };
}

/** @param {Column["cells"]} cells @param {Cursor} cursor @param {number} rows */
function valuesOf(cells, cursor, rows) {
  switch (cells) {
    case "text":
      return entries(cursor, rows);
    case "truth":
      return cursor.bytes.subarray(cursor.at, cursor.at + rows);
    case "time":
    case "number":
      return always(cursor, rows);
    case "maybe_time":
    case "maybe_number":
      return sometimes(cursor, rows);
  }
}

/**
 * A table without rows, in place of one that the directory does not have.
 * @returns {Table}
 */
export function noTable() {
  return { rows: 0, columns: [] };
}

/**
 * A column, or undefined if the table (of an older run) has none of the name.
 * @param {Table} table
 * @param {string} name
 */
export function column(table, name) {
  return table.columns.find((of) => of.name === name);
}

/**
 * The numbers or times of a column.
 * @param {Table} table
 * @param {string} name
 * @returns {Float64Array}
 */
export function numbers(table, name) {
  const found = column(table, name);
  return found && found.values instanceof Float64Array ? found.values : new Float64Array(table.rows).fill(NaN);
}

/**
 * The texts of a column, as a function of the row.
 * @param {Table} table
 * @param {string} name
 * @returns {(row: number) => string}
 */
export function texts(table, name) {
  const found = column(table, name);
  if (!found) return () => "";
  const { values, texts: dictionary } = found;
  return (row) => dictionary[values[row]];
}

/**
 * The truths of a column.
 * @param {Table} table
 * @param {string} name
 * @returns {(row: number) => boolean}
 */
export function truths(table, name) {
  const values = column(table, name)?.values;
  return (row) => values !== undefined && values[row] === 1;
}

/**
 * A cell as the CSV has it.
 * @param {Column} of
 * @param {number} row
 * @returns {string}
 */
export function cellText(of, row) {
  const value = of.values[row];
  switch (of.cells) {
    case "text":
      return of.texts[value];
    case "truth":
      return value === 1 ? "true" : "false";
    case "time":
    case "maybe_time":
      return Number.isNaN(value) ? "" : (value / 1000).toFixed(3);
    case "number":
    case "maybe_number":
      return Number.isNaN(value) ? "" : String(value);
  }
}

/**
 * @param {string} base64
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(base64) {
  const binary = atob(base64);
  const packed = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) packed[at] = binary.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @type {Map<string, Promise<Table>>} */
const loaded = new Map();

/**
 * A table by the name of its file without the ending; decoded once.
 * @param {string} name
 * @returns {Promise<Table>}
 */
export function loadTable(name) {
  const known = loaded.get(name);
  if (known) return known;
  const block = document.getElementById(`table-${name}`);
  const decoded = async (/** @type {Element} */ of) => {
    const bytes = await inflate((of.textContent ?? "").trim());
    return decodeTable(bytes, name === "pods" ? [] : column(await loadTable("pods"), "name")?.texts);
  };
  const table = block ? decoded(block) : Promise.resolve(noTable());
  block?.remove();
  loaded.set(name, table);
  return table;
}

/**
 * The run's summary.json.
 * @returns {Promise<any>}
 */
export async function loadSummary() {
  const block = document.getElementById("summary");
  return JSON.parse(new TextDecoder().decode(await inflate((block?.textContent ?? "").trim())));
}

/**
 * What a page of a study or a plan shows besides its summary.
 * @returns {Promise<any>}
 */
export async function loadData() {
  const block = document.getElementById("table-data");
  return JSON.parse(new TextDecoder().decode(await inflate((block?.textContent ?? "").trim())));
}
