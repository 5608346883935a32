// What plays the run again: the simulator in the page, or who has served the page. Whoever asks sees no difference.

import { decodeTable, inflate } from "./data.js";

/** @typedef {import("./data.js").Table} Table */

/**
 * @typedef {object} Replayed
 * @property {string} digest
 * @property {any} summary Of summary.json what is compared
 * @property {Record<string, Table>} tables
 */

/**
 * @typedef {object} Backend
 * @property {(sets: string[]) => Promise<Replayed>} replay Plays the incident from its beginning with these values, as `--set` takes them
 * @property {(sets: string[]) => Promise<string>} lockFile The scenario with these values
 * @property {(sets: string[]) => Promise<string>} page The page of the run with these values
 */

/** What a question is called in the module, and to a server. */
/** @typedef {"replay" | "lock_file" | "page"} Question */

/** The text of a block of the page, which is needed once. @param {string} name */
function takeBlock(name) {
  const block = document.getElementById(`table-${name}`);
  const text = (block?.textContent ?? "").trim();
  block?.remove();
  return text;
}

/** What can be turned, and the digest that the run has. @returns {Promise<{digest: string, knobs: any[]}>} */
export async function loadLive() {
  return JSON.parse(new TextDecoder().decode(await inflate(takeBlock("live"))));
}

/** An answer as it comes: the length of a header, the header, the tables. @param {Uint8Array} bytes @returns {Replayed} */
export function decodeReplay(bytes) {
  const headerEnd = 4 + new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const { digest, summary, tables: blocks } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, headerEnd)));
  /** @type {Record<string, Table>} */
  const tables = {};
  let at = headerEnd;
  for (const [name, length] of blocks) {
    tables[name] = decodeTable(bytes.subarray(at, at + length));
    at += length;
  }
  return { digest, summary, tables };
}

/** @param {(what: Question, sets: string[]) => Promise<Uint8Array>} ask @returns {Backend} */
function backendOf(ask) {
  const text = async (/** @type {Question} */ what, /** @type {string[]} */ sets) => new TextDecoder().decode(await ask(what, sets));
  return {
    replay: async (sets) => decodeReplay(await ask("replay", sets)),
    lockFile: (sets) => text("lock_file", sets),
    page: (sets) => text("page", sets),
  };
}

/** The simulator in the page, in a thread of its own. @returns {Promise<Backend>} */
async function workerBackend() {
  const code = await inflate(takeBlock("worker"));
  const worker = new Worker(URL.createObjectURL(new Blob([/** @type {BlobPart} */ (code)], { type: "text/javascript" })));
  /** @type {Map<number, {resolve: (bytes: Uint8Array) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data: { id, bytes, error } }) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(bytes);
    else asked?.reject(new Error(error));
  };
  worker.onerror = (event) => {
    for (const { reject } of waiting.values()) reject(new Error(event.message || "the browser starts no worker for this page"));
    waiting.clear();
  };
  const send = (/** @type {object} */ message) => new Promise((/** @type {(bytes: Uint8Array) => void} */ resolve, reject) => {
    last++;
    waiting.set(last, { resolve, reject });
    worker.postMessage({ id: last, ...message });
  });
  await send({ simulator: takeBlock("simulator"), scenario: takeBlock("scenario") });
  // A line each, as they have none of their own.
  return backendOf((what, sets) => send({ what, text: sets.join("\n") }));
}

/** Who has served the page. @returns {Backend} */
function serverBackend() {
  return backendOf(async (what, sets) => {
    const answer = await fetch("/kubesquall/v1/replay", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ set: sets, give: what }) });
    if (!answer.ok) throw new Error((await answer.text()) || `the server answers ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  });
}

/** What plays this page's run again. @param {string} name As the page has it */
export function backendNamed(name) {
  return name === "server" ? Promise.resolve(serverBackend()) : workerBackend();
}
