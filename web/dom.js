// Elements. Text of the run reaches the document through here alone: as text, never as markup.

/** Characters that would do something instead of being seen: those that turn the direction of writing, and control characters. */
const ACTIVE = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * A text in which such characters stand as `\u{202e}`, as the terminal shows them.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(ACTIVE, (active) => `\\u{${(/** @type {number} */ (active.codePointAt(0))).toString(16)}}`);
}

/** @typedef {Node | string | number | null | undefined | false} Leaf */
/** @typedef {Leaf | Leaf[] | Leaf[][]} Child */

/**
 * An element. `class`, `data-…`, `aria-…` and other attributes by name; `on…` are listeners.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  append(element, children);
  return element;
}

/**
 * @param {Node} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of /** @type {Leaf[]} */ (children.flat(2))) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
}

/**
 * Replaces what an element holds.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * A name that the user gave: kept apart from the direction of the text around it.
 * @param {string} text
 * @param {string} [className]
 */
export function named(text, className) {
  return el("bdi", { class: className }, text);
}

/**
 * A name that may be broken where its parts end, rather than in the middle of a word.
 * @param {string} text
 * @param {string} [className]
 */
export function breakable(text, className) {
  const parts = text.split(/(?<=[_/])/).flatMap((part, at) => (at === 0 ? [part] : [document.createElement("wbr"), part]));
  return el("bdi", { class: className }, parts);
}

/**
 * The element with this id, which the page's template has.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * A canvas as large as its box, sharp on every screen; gives its context, in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function sized(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no 2d canvas");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/**
 * The colors of the current theme, by the names that page.css gives them.
 * @returns {(name: string) => string}
 */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  /** @type {Map<string, string>} */
  const known = new Map();
  return (name) => {
    const seen = known.get(name);
    if (seen !== undefined) return seen;
    const value = style.getPropertyValue(`--${name}`).trim();
    known.set(name, value);
    return value;
  };
}
