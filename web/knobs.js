// What can be turned: a slider and a field for a number, a choice for a name. Nothing is shown that the scenario does not have.

import { append, el, fill, named } from "./dom.js";
import { count } from "./format.js";

/**
 * @typedef {object} Knob
 * @property {string} group
 * @property {string} label
 * @property {string} path What `--set` takes before the `=`
 * @property {"number" | "choice"} kind
 * @property {any} value As the run has it
 * @property {number} min
 * @property {number} max
 * @property {number} step
 * @property {string} suffix What stands behind the number in what is set
 * @property {string} unit
 * @property {string[]} options
 */

/** The groups, in their order, and whether they are open at first. */
const GROUPS = /** @type {const} */ ([["eviction", "When pods are evicted", true], ["faults", "What breaks", true], ["nodes", "Nodes", true], ["replicas", "Replicas", false], ["budgets", "Disruption budgets", false], ["latencies", "How long things take", false]]);

/** Of a group with more only so many are shown before somebody asks. */
const KNOBS_SHOWN = 8;

/** A number as it is set, without what is too fine to be meant. @param {number} value */
function plain(value) {
  return String(Number(value.toFixed(3)));
}

/**
 * What `--set` takes for knobs that have been turned, in the order of the knobs.
 * @param {Knob[]} knobs @param {Map<Knob, any>} turned
 */
export function setsOf(knobs, turned) {
  return knobs.filter((knob) => turned.has(knob)).map((knob) => `${knob.path}=${knob.kind === "number" ? plain(turned.get(knob)) + knob.suffix : turned.get(knob)}`);
}

/** The knobs of a group, those of what ran short first. @param {Knob[]} knobs @param {string} group @param {string[]} worst Workloads, the worst first */
function ofGroup(knobs, group, worst) {
  const found = knobs.filter((knob) => knob.group === group);
  if (group !== "replicas") return found;
  const rank = new Map(worst.map((key, at) => [key, at]));
  return found.map((knob, at) => ({ knob, at })).sort((a, b) => (rank.get(a.knob.label) ?? Infinity) - (rank.get(b.knob.label) ?? Infinity) || a.at - b.at).map(({ knob }) => knob);
}

/**
 * One knob. @param {Knob} knob @param {(value: any) => void} turn
 * @returns {{row: HTMLElement, show: (value: any) => void}}
 */
function rowOf(knob, turn) {
  const back = el("button", { class: "quiet knob-back", title: "As the run has it", hidden: true, onclick: () => turn(knob.value) }, `was ${knob.kind === "number" ? plain(knob.value) : knob.value}`);
  const label = el("span", { class: "knob-label", title: knob.path }, named(knob.label));
  if (knob.kind === "choice") {
    const choice = el("select", { "aria-label": knob.label, onchange: () => turn(choice.value) }, knob.options.map((option) => el("option", { value: option, selected: option === knob.value }, option)));
    const show = (/** @type {any} */ value) => { choice.value = value; back.hidden = value === knob.value; row.classList.toggle("knob-turned", value !== knob.value); };
    const row = el("div", { class: "knob", "data-path": knob.path }, label, el("span", {}), choice, back);
    return { row, show };
  }
  // A slider goes by whole steps of a size that a hand can hit; the field takes anything.
  const step = Math.max(knob.step, knob.max - knob.min > 400 ? 10 * knob.step : knob.step);
  const slider = el("input", { type: "range", min: knob.min, max: knob.max, step: knob.step, value: knob.value, "aria-label": knob.label });
  const field = el("input", { type: "number", min: knob.min, step: "any", value: plain(knob.value), "aria-label": `${knob.label}, ${knob.unit}`, class: "knob-field" });
  slider.addEventListener("input", () => turn(Math.abs(Number(slider.value) - knob.value) < step / 2 ? knob.value : Math.round(Number(slider.value) / step) * step));
  field.addEventListener("change", () => { if (field.value !== "" && field.checkValidity()) turn(Number(field.value)); });
  const show = (/** @type {any} */ value) => {
    slider.value = String(value);
    if (document.activeElement !== field || Number(field.value) !== value) field.value = plain(value);
    back.hidden = value === knob.value;
    row.classList.toggle("knob-turned", value !== knob.value);
  };
  const unit = knob.suffix || (knob.unit === "seconds" ? "s" : knob.unit);
  const row = el("div", { class: "knob", "data-path": knob.path }, label, slider, el("span", { class: "knob-value" }, field, " ", el("span", { class: "muted" }, unit)), back);
  return { row, show };
}

/**
 * The controls of a scenario.
 * @param {HTMLElement} box @param {Knob[]} knobs @param {string[]} worst Workloads, the worst first @param {(turned: Map<Knob, any>) => void} changed
 */
export function showKnobs(box, knobs, worst, changed) {
  /** @type {Map<Knob, any>} */
  const turned = new Map();
  /** @type {Map<Knob, (value: any) => void>} */
  const shown = new Map();
  const turn = (/** @type {Knob} */ knob, /** @type {any} */ value) => {
    if (value === knob.value) turned.delete(knob);
    else turned.set(knob, value);
    shown.get(knob)?.(value);
    changed(turned);
  };
  const rows = (/** @type {Knob[]} */ some) => some.map((knob) => {
    const { row, show } = rowOf(knob, (value) => turn(knob, value));
    shown.set(knob, show);
    if (turned.has(knob)) show(turned.get(knob));
    return row;
  });
  fill(box);
  for (const [group, title, isOpen] of GROUPS) {
    const mine = ofGroup(knobs, group, worst);
    if (mine.length === 0) continue;
    const list = el("div", { class: "knobs-list" });
    const build = (/** @type {Knob[]} */ some) => fill(list, rows(some));
    const details = el("details", { class: "knobs-group", "data-group": group, open: isOpen }, el("summary", {}, `${title} `, el("span", { class: "muted" }, count(mine.length))));
    if (mine.length > KNOBS_SHOWN) {
      const search = el("input", { type: "search", placeholder: "Find …", "aria-label": `Find in: ${title}`, spellcheck: false, autocomplete: "off" });
      search.addEventListener("input", () => build(mine.filter((knob) => knob.label.includes(search.value.trim())).slice(0, search.value.trim() === "" ? KNOBS_SHOWN : 40)));
      append(details, [el("p", { class: "filters" }, search, el("span", { class: "muted" }, `the first ${KNOBS_SHOWN} of ${count(mine.length)}`))]);
    }
    build(mine.slice(0, KNOBS_SHOWN));
    append(details, [list]);
    box.append(details);
  }
  return {
    /** Turns all back. */
    reset() {
      const was = [...turned.keys()];
      turned.clear();
      for (const knob of was) shown.get(knob)?.(knob.value);
      changed(turned);
    },
    /** Turns one, by its path. @param {string} path @param {any} value */
    turn(path, value) {
      const knob = knobs.find((of) => of.path === path);
      if (knob) turn(knob, value);
      return knob !== undefined;
    },
  };
}
