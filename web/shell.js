// What every page has, whatever it shows: its theme, and what is said if it cannot be built.

import { byId, el, fill, visible } from "./dom.js";

/** Light or dark: as the reader's system has it, until the button is pressed; light on paper. @param {() => void} changed Told of each change */
export function listenToTheme(changed) {
  const button = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  let chosen = dark.matches;
  let isPrinting = false;
  const set = (/** @type {boolean} */ wanted) => {
    chosen = wanted;
    // Paper is light.
    const isDark = chosen && !isPrinting && !print.matches;
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.textContent = isDark ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(isDark));
    changed();
  };
  set(dark.matches);
  dark.addEventListener("change", () => set(dark.matches));
  print.addEventListener("change", () => set(chosen));
  for (const [event, is] of /** @type {const} */ ([["beforeprint", true], ["afterprint", false]])) addEventListener(event, () => { isPrinting = is; set(chosen); });
  button.addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
}

/** Lets the browser paint what is there. */
export function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
  });
}

/** What sentences have between backticks is set as code, as what is typed is elsewhere on a page. */
function setCode() {
  for (const said of document.querySelectorAll(".verdict bdi")) {
    const parts = (said.textContent ?? "").split(/`([^`]+)`/);
    if (parts.length > 1) fill(said, parts.map((part, at) => (at % 2 === 1 ? el("code", {}, part) : part)));
  }
}

/** Builds a page; says so where it cannot be built. @param {() => Promise<void>} start */
export function begin(start) {
  setCode();
  start().then(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }).catch((error) => {
    const problem = byId("problem");
    problem.hidden = false;
    problem.textContent = `This page could not be built: ${visible(error instanceof Error ? error.message : String(error))}. The same facts are in the CSV files beside it.`;
    throw error;
  });
}
