// The bar that moves the instant, the keys that do the same, and links to instants.

import { byId, el, fill } from "./dom.js";
import { clock, lasting } from "./format.js";

/** @typedef {import("./view.js").View} View */

/**
 * The bar with the scrubber: play, speed, steps from change to change.
 * @param {View} view @param {() => Float64Array} changes The instants at which something changes, in order
 */
export function listenToBar(view, changes) {
  const scrubber = /** @type {HTMLInputElement} */ (byId("scrubber"));
  const play = byId("play");
  const speed = /** @type {HTMLSelectElement} */ (byId("speed"));
  scrubber.max = String(view.end);
  const whole = view.end / 20_000;
  const speeds = [1, 10, 60, 600, 3600, 86_400].filter((times) => times < whole * 20);
  fill(speed, el("option", { value: whole, selected: true }, "all in 20 s"), speeds.map((times) => el("option", { value: times }, times < 60 ? `${times}×` : `${lasting(times * 1000)}/s`)));
  const show = () => {
    scrubber.value = String(view.time);
    scrubber.setAttribute("aria-valuetext", clock(view.time));
    byId("now").textContent = clock(view.time);
  };
  let last = 0;
  const frame = (/** @type {number} */ now) => {
    if (!view.playing) return;
    const next = view.time + (now - last) * Number(speed.value);
    last = now;
    view.seek(next);
    if (next >= view.end) stop();
    else requestAnimationFrame(frame);
  };
  const stop = () => {
    view.playing = false;
    play.textContent = "▶";
    play.setAttribute("aria-label", "Play");
    view.changed("time");
  };
  const start = () => {
    if (view.time >= view.end) view.seek(view.from);
    view.playing = true;
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause");
    last = performance.now();
    requestAnimationFrame(frame);
  };
  const toggle = () => (view.playing ? stop() : start());
  play.addEventListener("click", toggle);
  scrubber.addEventListener("input", () => view.seek(Number(scrubber.value)));
  const step = changeSteps(view, changes);
  byId("before").addEventListener("click", () => step(-1));
  byId("after").addEventListener("click", () => step(1));
  view.on("time", show);
  listenToKeys(view, toggle, step);
  show();
}

/** Goes to the change before or after the instant. @param {View} view @param {() => Float64Array} changes In order, asked for once */
function changeSteps(view, changes) {
  /** @type {Float64Array | undefined} */
  let times;
  return (/** @type {1 | -1} */ direction) => {
    times ??= changes();
    const next = direction > 0 ? times.find((time) => time > view.time) : times.findLast((time) => time < view.time);
    if (next !== undefined) view.seek(next);
  };
}

/** @param {View} view @param {() => void} toggle @param {(direction: 1 | -1) => void} step */
function listenToKeys(view, toggle, step) {
  const scrubber = byId("scrubber");
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target !== scrubber && (target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const isFree = target === scrubber || target === document.body || target.closest("#plots") !== null;
    const span = view.to - view.from;
    switch (event.key) {
      case "/": document.getElementById("search")?.focus(); break;
      case "[": step(-1); break;
      case "]": step(1); break;
      case "+": case "=": view.zoom(view.time - span / 4, view.time + span / 4); break;
      case "-": view.zoom(view.from - span / 2, view.to + span / 2); break;
      case "0": view.zoom(0, view.end); break;
      case "Escape": view.choose(""); return;
      case " ": if (!isFree) return; toggle(); break;
      case "ArrowLeft": case "ArrowRight": {
        if (!isFree) return;
        const by = span / (event.shiftKey ? 20 : 400);
        view.seek(view.time + (event.key === "ArrowLeft" ? -by : by));
        break;
      }
      case "Home": if (!isFree) return; view.seek(view.from); break;
      case "End": if (!isFree) return; view.seek(view.to); break;
      default: return;
    }
    event.preventDefault();
  });
}

/** Links anywhere: times move the scrubber, objects open their story. @param {View} view */
export function listenToLinks(view) {
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const time = event.target.closest("[data-ms]");
    if (time instanceof HTMLElement) view.seek(Number(time.dataset.ms));
    const object = event.target.closest("[data-key]");
    if (object instanceof HTMLElement && object.dataset.key) view.choose(object.dataset.key);
  });
}
