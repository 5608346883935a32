// The panel that tells an object's story, and the search that finds objects.

import { byId, el, fill, named } from "./dom.js";
import { clock, count, lasting, seconds } from "./format.js";
import { objectLink, sentenceNodes, timeLink } from "./grid.js";
import { chain, clause } from "./story.js";
import { tell } from "./told.js";

/** @typedef {import("./story.js").Teller} Teller */
/** @typedef {import("./view.js").View} View */

/** Steps that are shown before somebody asks for all. */
const STEPS_SHOWN = 60;

/** @param {import("./recovery.js").Term[]} terms */
function sumTable(terms) {
  const rows = terms.map((term) => el("tr", {},
    el("th", { scope: "row" }, term.name),
    el("td", { class: "right" }, term.to === term.from ? "" : `${seconds(term.to - term.from)} s`),
    el("td", { class: "right" }, term.isTold ? timeLink(term.to) : el("span", { class: "muted", title: "a sum: no table has this instant" }, clock(term.to))),
    el("td", {}, sentenceNodes(term.why))));
  const [first, last] = [terms[0].from, terms[terms.length - 1].to];
  return el("table", { class: "sum" },
    el("thead", {}, el("tr", {}, ["", "takes", "until", ""].map((head) => el("th", { scope: "col", class: head === "takes" || head === "until" ? "right" : "" }, head)))),
    el("tbody", {}, rows),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "together"), el("td", { class: "right" }, `${seconds(last - first)} s`), el("td", { class: "right" }, lasting(last - first)), el("td", {}, "from ", timeLink(first)))));
}

/** Characters of a cause: a fault that hits a thousand nodes names them all, and their own stories say which. */
const CAUSE_MAX = 300;

/** @param {import("./story.js").Part[]} parts */
function shortened(parts) {
  return parts.map((part) => (typeof part === "string" && part.length > CAUSE_MAX ? `${part.slice(0, CAUSE_MAX)} …` : part));
}

/** @param {Teller} teller @param {import("./story.js").Step} step */
function stepItem(teller, step) {
  const { causes } = teller;
  const above = step.row < 0 ? [] : chain(causes, step.row);
  const item = el("li", {}, timeLink(step.at), " ", el("span", { class: "told" }, sentenceNodes(step.parts)));
  if (above.length > 0) {
    const line = (/** @type {number} */ row) => el("p", { class: "because" }, el("span", { class: "muted" }, "because "), timeLink(causes.at(row)), " ", sentenceNodes(shortened(clause(causes, row))));
    item.append(line(above[0]));
    if (above.length > 1) {
      const rest = el("div", { hidden: true }, above.slice(1).map(line));
      item.append(el("button", { class: "quiet why", "aria-expanded": "false", onclick: (/** @type {Event} */ event) => {
        rest.hidden = !rest.hidden;
        const button = /** @type {HTMLElement} */ (event.currentTarget);
        button.setAttribute("aria-expanded", String(!rest.hidden));
      } }, `and that because … (${above.length - 1})`), rest);
    }
  }
  return item;
}

/**
 * @param {Teller} teller @param {View} view
 */
export function showStories(teller, view) {
  const panel = byId("story");
  const body = byId("story-body");
  /** @type {Element | null} */
  let cameFrom = null;
  const show = () => {
    const key = view.chosen;
    const isHidden = panel.hidden;
    panel.hidden = key === "";
    if (document.body.classList.toggle("with-story", key !== "") === isHidden) dispatchEvent(new Event("resize"));
    if (key === "") return;
    const story = tell(teller, key);
    const [kind, ...rest] = key.split("/");
    fill(byId("story-title"), el("span", { class: "muted" }, `${kind} `), named(rest.join("/")));
    const steps = el("ol", { class: "steps" }, story.steps.slice(0, STEPS_SHOWN).map((step) => stepItem(teller, step)));
    fill(body,
      story.facts.map((fact) => el("p", { class: "fact" }, sentenceNodes(fact))),
      story.sums.map(({ title, terms }) => [el("h3", {}, title), el("div", { class: "scrolls" }, sumTable(terms))]),
      el("h3", {}, "What happened"),
      story.steps.length === 0 ? el("p", { class: "muted" }, "No more of it is told in causes.csv.") : steps,
      story.steps.length > STEPS_SHOWN && el("button", { class: "quiet", onclick: (/** @type {Event} */ event) => {
        fill(steps, story.steps.map((step) => stepItem(teller, step)));
        /** @type {HTMLElement} */ (event.currentTarget).remove();
      } }, `Show all ${count(story.steps.length)} steps; these are the first ${STEPS_SHOWN}`));
    body.scrollTop = 0;
  };
  view.on("chosen", () => {
    if (panel.hidden) cameFrom = document.activeElement;
    show();
    if (!panel.hidden) panel.focus({ preventScroll: true });
    else focusAgain(cameFrom);
  });
  byId("story-close").addEventListener("click", () => view.choose(""));
  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") view.choose(""); });
}

/**
 * Puts the focus back to where a story was opened; what was found by a search is hidden by then, and the scrubber takes its place.
 * @param {Element | null} cameFrom
 */
function focusAgain(cameFrom) {
  const isShown = cameFrom instanceof HTMLElement && cameFrom !== document.body && cameFrom.getClientRects().length > 0;
  (isShown ? cameFrom : byId("scrubber")).focus({ preventScroll: true });
}

/** Objects that a search shows at once. */
const FOUND_MAX = 12;

/**
 * @param {string[]} keys All that has a story @param {View} view
 */
export function showSearch(keys, view) {
  const input = /** @type {HTMLInputElement} */ (byId("search"));
  const list = byId("found");
  const lower = keys.map((key) => key.toLowerCase());
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    if (words.length === 0) return;
    /** @type {string[][]} */
    const found = [[], [], []];
    let total = 0;
    for (let at = 0; at < keys.length; at++) {
      if (!words.every((word) => lower[at].includes(word))) continue;
      total++;
      // A whole name comes first, then what is of the kind that was typed.
      const rank = words.some((word) => lower[at].endsWith(`/${word}`)) ? 0 : words.some((word) => lower[at].startsWith(`${word}/`)) ? 1 : 2;
      if (found[rank].length < FOUND_MAX) found[rank].push(keys[at]);
    }
    const shown = found.flat().slice(0, FOUND_MAX);
    fill(list, shown.map((key) => el("li", {}, objectLink(key))), el("li", { class: "muted" }, total > shown.length ? `${count(shown.length)} of ${count(total)}; type more to narrow it down` : total === 0 ? "Nothing is called so" : `${count(total)} in all`));
  };
  input.addEventListener("input", search);
  input.addEventListener("focus", () => {
    // What an earlier search has left gives way to the first letter of the next one.
    input.select();
    search();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      list.hidden = true;
      input.blur();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      const first = list.querySelector("button");
      if (event.key === "Enter") first?.click();
      else first?.focus();
      event.preventDefault();
    }
  });
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "ArrowDown") buttons[Math.min(buttons.length - 1, at + 1)]?.focus();
    else if (event.key === "ArrowUp") (at <= 0 ? input : buttons[at - 1]).focus();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", () => { list.hidden = true; });
  document.addEventListener("pointerdown", (event) => {
    if (event.target instanceof Element && !event.target.closest(".search")) list.hidden = true;
  });
}
