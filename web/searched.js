// What a search of ranges predicts along each range, and where it has played.

import { byId, el, fill } from "./dom.js";
import { spread } from "./figures.js";
import { band, drawn } from "./plots.js";

/**
 * The rows of surrogate.csv along each range, in the order of its values.
 * @param {any} summary @param {{columns: string[], rows: any[][]}} surrogate
 */
export function slicesAsCurves(summary, { columns, rows }) {
  const { axes, levels } = summary.study;
  const at = (/** @type {string} */ name) => columns.indexOf(name);
  const best = new Map((summary.search.best?.values ?? "").split(", ").map((/** @type {string} */ of) => of.split("=")));
  return summary.search.ranges.map((/** @type {any} */ { name }) => {
    const labels = levels[axes.indexOf(name)];
    const points = rows.filter((row) => row[at("along")] === name).map((row, level) => ({
      label: labels[level],
      place: row[at("place")],
      predicted: row[at("predicted")],
      low: row[at("predicted_low")],
      high: row[at("predicted_high")],
      observed: row[at("observed")],
      isBest: labels[level] === best.get(name),
    }));
    const others = [...best].filter(([axis]) => axis !== name).map(([axis, value]) => `${axis}=${value}`);
    return { name, points, others };
  });
}

/** @param {import("./variants.js").Study} study */
export function showSearched({ summary, data }) {
  const { search } = summary;
  const body = byId("searched-body");
  fill(body,
    el("p", {}, `${search.played} of ${search.points.toLocaleString("en")} points were played. What lies between is predicted: the band is its 95 % interval, dots are what the runs say.`),
    search.best ? el("p", {}, "Lowest prediction of what was played: ", el("span", { class: "strong" }, search.best.values), ` ${spread(search.best.difference)} a run against the baseline. The search picked it by the same runs: what it saves is what new seeds say.`) : "",
    slicesAsCurves(summary, data.surrogate).map((/** @type {any} */ { name, points, others }) => {
      const box = el("div", {});
      const title = others.length > 0 ? `${name}, with ${others.join(", ")}` : name;
      requestAnimationFrame(() => drawn(box, (width) => band(points, title, "cost a run more than the baseline", width)));
      return box;
    }));
}
