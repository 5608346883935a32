// What the reader looks at: the instant, the span, what is chosen. Whoever draws listens.

/** @typedef {"time" | "span" | "theme" | "chosen"} Change */

/**
 * @typedef {object} View
 * @property {number} end
 * @property {number} time The instant, in milliseconds
 * @property {number} from The span's begin
 * @property {number} to The span's end
 * @property {boolean} playing
 * @property {string} chosen The key of the object whose story is open; empty if none is
 * @property {(what: Change, listener: () => void) => void} on
 * @property {(time: number) => void} seek
 * @property {(from: number, to: number) => void} zoom
 * @property {(key: string) => void} choose
 * @property {(what: Change) => void} changed
 */

/** No span is shorter, in milliseconds. */
export const SPAN_MIN = 200;

/**
 * @param {number} end
 * @returns {View}
 */
export function createView(end) {
  /** @type {Map<Change, (() => void)[]>} */
  const listeners = new Map();
  /** @type {View} */
  const view = {
    end, time: 0, from: 0, to: end, playing: false, chosen: "",
    on(what, listener) {
      listeners.set(what, [...(listeners.get(what) ?? []), listener]);
    },
    changed(what) {
      for (const listener of listeners.get(what) ?? []) listener();
    },
    seek(time) {
      view.time = Math.min(end, Math.max(0, Math.round(time)));
      if (view.time < view.from || view.time > view.to) {
        const half = (view.to - view.from) / 2;
        view.zoom(view.time - half, view.time + half);
      }
      view.changed("time");
    },
    zoom(from, to) {
      const span = Math.min(end, Math.max(SPAN_MIN, to - from));
      view.from = Math.min(Math.max(0, from), end - span);
      view.to = view.from + span;
      view.changed("span");
    },
    choose(key) {
      view.chosen = key;
      view.changed("chosen");
    },
  };
  return view;
}
