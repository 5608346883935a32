// What runs beside the page and holds the simulator: WebAssembly, made of `live/`. It takes the module and the run's lock file once, then
// questions, and answers one after the other.

/** @type {WebAssembly.Module | undefined} */
let simulator;
/** @type {any} */
let calls;
let scenario = "";
let duration = "";
let isWarmed = false;

/** @param {string} base64 @returns {Promise<ArrayBuffer>} */
async function unpacked(base64) {
  const binary = atob(base64);
  const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** What the module was linked with and never calls: it draws no charts here. @param {WebAssembly.Module} module */
function missing(module) {
  /** @type {Record<string, Record<string, () => never>>} */
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => { throw new Error(`the simulator wants ${name} of a browser`); };
  }
  return imports;
}

/** Asks it something: the answer's bytes. @param {string} what @param {string} text @returns {Uint8Array} */
function ask(what, text) {
  const bytes = new TextEncoder().encode(text);
  const place = calls.input(bytes.length);
  new Uint8Array(calls.memory.buffer, place, bytes.length).set(bytes);
  const said = () => new Uint8Array(calls.memory.buffer, calls.output(), calls.output_length()).slice();
  let isDone;
  try {
    isDone = calls[what]();
  } catch (error) {
    // A panic: what it said before stands where answers stand, and the memory is no good any more.
    const why = new TextDecoder().decode(said()) || String(error);
    calls = undefined;
    throw new Error(`the simulator stopped, which is a bug: ${why}`);
  }
  if (!isDone) throw new Error(new TextDecoder().decode(said()));
  return said();
}

async function begin() {
  calls = (await WebAssembly.instantiate(/** @type {WebAssembly.Module} */ (simulator), missing(/** @type {WebAssembly.Module} */ (simulator)))).exports;
  ask("open", scenario);
}

/** For so long, in milliseconds, plays that nobody has asked for make the browser compile well what plays need. */
const WARMING = 2500;

/** Plays as with another value, until the browser has seen enough of it; who asks for something waits for one play at most. @param {number} until */
function warm(until) {
  if (calls === undefined || performance.now() > until) return;
  try {
    // What it is now, so that nothing is another, and all is worked out.
    ask("replay", `spec.duration=${duration}`);
  } catch {
    return;
  }
  setTimeout(() => warm(until), 0);
}

onmessage = async ({ data }) => {
  try {
    if (data.simulator !== undefined) {
      scenario = new TextDecoder().decode(await unpacked(data.scenario));
      duration = /^ {2}duration: "?([^"\n]+)/m.exec(scenario)?.[1] ?? "";
      simulator = await WebAssembly.compile(await unpacked(data.simulator));
    }
    if (calls === undefined) await begin();
    const bytes = data.what === undefined ? new Uint8Array() : ask(data.what, data.text);
    postMessage({ id: data.id, bytes }, { transfer: [bytes.buffer] });
    if (!isWarmed && data.what === "replay") {
      isWarmed = true;
      setTimeout(() => warm(performance.now() + WARMING), 0);
    }
  } catch (error) {
    postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
};
