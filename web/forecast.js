// The page of a forecast.

import { loadData, loadSummary } from "./data.js";
import { byId, el, fill, named } from "./dom.js";
import { argument, count, counted, lasting } from "./format.js";
import { copyable, fillTiles, listing } from "./listing.js";
import { begin, listenToTheme, painted } from "./shell.js";
import { minutesSpread, minutesText, nameList, showFindings, showTogether, yearsText } from "./findings.js";

/** The parts of a recovery as forecast.json names them; each with its words, its color among those of a run's page, and what it is. */
const PARTS = /** @type {const} */ ([
  ["detect", "detect", 0, "the machine is down, and its pods still count as Ready"],
  ["wait", "wait", 1, "not Ready, until it is taken away or comes back: mostly the toleration"],
  ["recreate", "recreate", 3, "taken away, until its controller has made another"],
  ["schedule", "schedule", 4, "until the scheduler has bound it"],
  ["dead_node", "dead node", 5, "bound to a machine that was down, which nobody had noticed"],
  ["attach", "attach volumes", 6, "until its volumes are attached to its node: mostly until they are let go elsewhere"],
  ["mount", "notice volumes", 7, "until its kubelet has noticed that they are attached"],
  ["start", "pull and start", 8, "until its containers run: images, start"],
  ["become_ready", "become Ready", 9, "until its probes say so, and its containers stay up"],
]);

/** Colors that there are for kinds of failure. */
const TINTS = 7;

/** A bar of parts, as long as the share of the most. @param {{share: number, className?: string, tint?: number, title: string}[]} parts @param {number} width */
function bar(parts, width) {
  const box = el("div", { class: "stack mini", role: "img", "aria-label": parts.filter(({ share }) => share > 0).map(({ title }) => title).join(", ") });
  box.style.width = `${width}px`;
  for (const { share, className, tint, title } of parts) {
    if (share <= 0) continue;
    const piece = el("span", { class: className, title });
    if (tint !== undefined) piece.style.background = `var(--workload-${tint % TINTS})`;
    piece.style.width = `${100 * share}%`;
    box.append(piece);
  }
  return box;
}

/**
 * The columns in which a row has something to say.
 * @param {any[]} rows @param {(import("./listing.js").ListColumn & {isThere?: (row: any) => boolean})[]} columns
 */
function withContent(rows, columns) {
  return columns.filter(({ isThere }) => !isThere || rows.some(isThere));
}

/** @param {number} availability */
function percentText(availability) {
  return `${(100 * availability).toFixed(3)} %`;
}

/** What never comes back is in no other figure. @param {any} apart */
function apartLine(apart) {
  const pods = new Set(apart.units.flatMap((/** @type {any} */ unit) => unit.workloads)).size;
  const names = apart.units.map((/** @type {any} */ unit) => unit.unit);
  return el("p", { class: "tone-bad" }, `${counted(pods, "pod without a controller never comes", "pods without a controller never come")} back once lost: ${minutesSpread(apart.lost_min_per_year)} min a year more, in no other figure: `, nameList(names, "of them"));
}

/** @param {any} forecast */
function showUnits({ units, without_controller: apart }) {
  const body = byId("units-body");
  const faults = [...new Set(units.flatMap((/** @type {any} */ unit) => Object.keys(unit.lost_min_per_year_by_fault)))].sort();
  const sumOf = (/** @type {any} */ unit) => faults.reduce((sum, fault) => sum + (unit.lost_min_per_year_by_fault[fault] ?? 0), 0);
  const most = Math.max(1e-9, ...units.map(sumOf));
  const used = PARTS.filter(([key]) => units.some((/** @type {any} */ unit) => unit.share_by_phase[key] > 0));
  const byFault = (/** @type {any} */ unit) => {
    const sum = sumOf(unit);
    return bar(faults.map((fault, tint) => ({ share: (unit.lost_min_per_year_by_fault[fault] ?? 0) / Math.max(sum, 1e-9), tint, title: `${fault} ${minutesText(unit.lost_min_per_year_by_fault[fault] ?? 0)}` })), sum > 0 ? Math.max(2, (150 * sum) / most) : 0);
  };
  const byPhase = (/** @type {any} */ unit) => bar(PARTS.map(([key, name, at]) => ({ share: unit.share_by_phase[key] ?? 0, className: `phase-${at}`, title: `${name} ${Math.round(100 * (unit.share_by_phase[key] ?? 0))} %` })), 150);
  fill(body,
    el("p", { class: "muted" }, "Each service with the workloads behind it, and each workload that no service leads to; what costs most first. Kinds of failure were played by themselves, so that they need not add up to all of them together."),
    apart ? apartLine(apart) : "",
    faults.length > 0 ? el("p", { class: "legend" }, "Lost by: ", faults.map((fault, at) => el("span", { class: `key tint-${at % TINTS}` }, named(fault)))) : "",
    used.length > 0 ? el("p", { class: "legend" }, "What pods that were lost were missed for: ", used.map(([, name, at, meaning]) => el("span", { class: `key phase-key-${at}`, title: meaning }, name))) : "",
    listing("Services and workloads", withContent(units, [
      { name: "service or workload", cell: (unit) => named(unit.unit), by: (unit) => unit.unit },
      { name: "lost min a year", title: "lost traffic, with its interval", right: true, cell: (unit) => minutesSpread(unit.lost_min_per_year), by: (unit) => unit.lost_min_per_year.mean },
      { name: "waiting in vain", title: "planned work that waits in vain, minutes a year", right: true, isThere: (unit) => unit.blocked_min_per_year.mean > 0, cell: (unit) => minutesSpread(unit.blocked_min_per_year), by: (unit) => unit.blocked_min_per_year.mean },
      { name: "too few replicas", title: "minutes a year, with their interval", right: true, cell: (unit) => minutesSpread(unit.short_min_per_year), by: (unit) => unit.short_min_per_year.mean },
      { name: "available", right: true, cell: (unit) => percentText(unit.availability), by: (unit) => unit.availability },
      { name: "worst year", title: "of those played, minutes lost; plays that are shorter than a year count by the year", right: true, cell: (unit) => minutesText(unit.worst_year_min), by: (unit) => unit.worst_year_min },
      { name: "lost by", cell: byFault, by: sumOf },
      { name: "missed for", cell: byPhase, by: (unit) => unit.share_by_phase.wait ?? 0 },
      { name: "worst incident", cell: (unit) => (unit.worst ? [named(unit.worst.label), el("span", { class: "muted" }, ` ${minutesText(unit.worst.cost_min)}`)] : "none"), by: (unit) => unit.worst?.cost_min ?? 0 },
    ]), units, { limit: 20 }));
}

/** @param {any} forecast */
function showIncidents({ incidents, left_out: left, plays_left_out: unplayed }) {
  const body = byId("incidents-body");
  const kinds = [...new Set(incidents.map((/** @type {any} */ row) => row.kind))].sort();
  const box = el("div");
  const show = (/** @type {string} */ kind) => {
    const rows = incidents.filter((/** @type {any} */ row) => kind === "" || row.kind === kind);
    fill(box, listing("Incidents", withContent(rows, [
      { name: "incident", cell: (row) => [named(row.label), row.alike > 1 ? el("span", { class: "muted" }, ` stands for ${count(row.alike)} alike`) : ""], by: (row) => row.label },
      { name: "kind", cell: (row) => row.kind, by: (row) => row.kind },
      { name: "lost", title: "minutes of all services and workloads together", right: true, cell: (row) => minutesText(row.lost_min), by: (row) => row.lost_min },
      { name: "hurt", title: "services and workloads that lose anything", right: true, cell: (row) => count(row.hurt), by: (row) => row.hurt },
      { name: "most", cell: (row) => (row.worst ? [named(row.worst), el("span", { class: "muted" }, ` ${minutesText(row.worst_min)}`)] : ""), by: (row) => row.worst_min },
      { name: "evicted", title: "pods", right: true, cell: (row) => count(row.evictions), by: (row) => row.evictions },
      { name: "no node", isThere: (row) => row.unscheduled > 0, title: "pods without a node at the end", right: true, cell: (row) => count(row.unscheduled), by: (row) => row.unscheduled },
      { name: "lost for good", isThere: (row) => row.pods_lost > 0, title: "pods that nothing makes anew", right: true, cell: (row) => count(row.pods_lost), by: (row) => row.pods_lost },
      { name: "planned work", isThere: (row) => row.is_blocked, cell: (row) => (row.is_blocked ? el("span", { class: "tone-bad" }, "waits in vain") : ""), by: (row) => Number(row.is_blocked) },
      { name: "a year", isThere: (row) => row.per_year > 0, title: "how often planned work comes", right: true, cell: (row) => (row.per_year > 0 ? count(row.per_year) : ""), by: (row) => row.per_year },
    ]), rows, { limit: 20 }));
  };
  const select = el("select", { id: "kind", "aria-label": "Kind of incident", onchange: () => show(select.value) }, el("option", { value: "" }, `all ${count(incidents.length)}`), kinds.map((kind) => el("option", { value: kind }, kind)));
  fill(body,
    el("p", { class: "muted" }, "One at a time, each from the same settled state; the worst first."),
    unplayed > 0 ? el("p", { class: "tone-bad" }, `At least ${counted(unplayed, "play")} left out: what was not played is not known.`) : "",
    left.length > 0 ? el("ul", { class: "plain" }, left.map((/** @type {string} */ of) => el("li", { class: "tone-bad" }, named(of)))) : "",
    el("div", { class: "filters" }, select), box);
  show("");
}

/** @param {any} forecast */
function showStands(forecast) {
  const { stands_on: of, years, plays, left_out: left } = forecast;
  const body = byId("stands-body");
  const objects = Object.entries(of.objects).map(([kind, number]) => `${count(/** @type {number} */ (number))} ${kind}`).join(", ");
  fill(body,
    el("p", {}, `${objects}; ${counted(of.zones, "zone")}. ${counted(plays, "play")}; of ${lasting(years.length_d * 86_400_000)} each are those of random failures. ${yearsText(forecast)}`),
    of.unread.length > 0 ? el("p", { class: "tone-bad" }, "Not read: ", named(of.unread.join(", "))) : "",
    of.unscheduled > 0 ? el("p", { class: "tone-bad" }, `${counted(of.unscheduled, "pod has", "pods have")} no node before anything happens.`) : "",
    of.down.length > 0 ? el("p", { class: "tone-bad" }, "Not serving before anything happens, so that nothing is counted there: ", nameList(of.down, "")) : "",
    left.length > 0 ? listing("Not played", [{ name: "not played", cell: (row) => named(row), by: (row) => row }], left, { limit: 40 }) : "",
    of.not_played ? [el("p", { class: "tone-bad" }, "The usual failures are not played, as ", el("code", {}, named(forecast.asked.rates ?? "--rates")), " names what happens at random. Left out:"), el("ul", { class: "plain" }, of.not_played.map((/** @type {string} */ row) => el("li", { class: "tone-bad" }, named(row))))] : "",
    of.assumed.length > 0 ? listing("Assumptions", [
      { name: "assumed", cell: (row) => [named(row.text), row.count > 1 ? el("span", { class: "muted" }, ` (${count(row.count)})`) : ""], by: (row) => row.text },
      { name: "what it changes", cell: (row) => named(row.effect), by: (row) => row.effect },
      { name: "what says otherwise", cell: (row) => el("code", {}, named(row.change)), by: (row) => row.change },
    ], of.assumed, { limit: 40 }) : el("p", {}, "Nothing had to be assumed."));
}

/** What changes bring where there are not several to put together. @param {any} finding @param {boolean} isCut Whether not all was played */
function ofOne(finding, isCut) {
  if (!finding) return { label: "changes that help", value: isCut ? "not known" : "none" };
  const saved = minutesSpread(finding.saved_min_per_year.cost);
  return { label: "the change saves", value: `${saved.replace(/ \[.*/, "")} min`, note: `${saved.replace(/^\S+ ?/, "")} of ${minutesSpread(finding.cost_min_per_year)} a year` };
}

/** @param {any} forecast */
function showForecastTiles({ cost_min_per_year: cost, lost_min_per_year: lost, blocked_min_per_year: blocked, metrics, findings, together, units, plays_left_out: leftOut }) {
  const last = together[together.length - 1];
  const worst = units[0];
  const before = minutesSpread(cost);
  const parts = blocked.mean > 0 ? `: ${minutesText(lost.mean)} lost, ${minutesText(blocked.mean)} of waiting` : "";
  const isCut = leftOut > 0;
  const tiles = [
    { label: blocked.mean > 0 ? "lost traffic and waiting in vain a year" : "lost traffic a year, in all", value: `${before.replace(/ \[.*/, "")} min`, note: before.replace(/^\S+ ?/, "") + parts, isBad: cost.mean >= 1 },
    last ? { label: "with all changes", value: `${minutesSpread(last.cost).replace(/ \[.*/, "")} min`, note: minutesSpread(last.cost).replace(/^\S+ ?/, "") } : ofOne(findings[0], isCut),
    { label: "findings", value: count(findings.length), note: findings.length > 0 ? `the first: ${findings[0].words}` : "" },
    { label: "planned work waits in vain", value: metrics.blocked_per_year === null ? "not known" : `${count(Math.round(metrics.blocked_per_year))} a year`, isBad: metrics.blocked_per_year > 0 },
  ];
  if (worst) tiles.push({ label: "least available", value: percentText(worst.availability), note: worst.unit, isBad: worst.availability < 0.999 });
  fillTiles(byId("figures"), tiles);
}

/** What was asked, to be typed again. @param {any} forecast */
export function commandOf({ asked, seed }) {
  const parts = ["kubesquall", "forecast", ...asked.inputs.map(argument)];
  for (const set of asked.set) parts.push("--set", argument(set));
  if (asked.catalog) parts.push("--catalog", argument(asked.catalog));
  if (asked.rates) parts.push("--rates", argument(asked.rates));
  if (asked.precision) parts.push("--precision", String(asked.precision));
  if (asked.plays !== null) parts.push("--plays", String(asked.plays));
  return [...parts, "--years", String(asked.years), "--seed", String(seed), "--out", "again"].join(" ");
}

async function start() {
  listenToTheme(() => {});
  await painted();
  const [, data] = await Promise.all([loadSummary(), loadData()]);
  const { forecast } = data;
  showForecastTiles(forecast);
  showFindings(data);
  showTogether(forecast);
  showUnits(forecast);
  showIncidents(forecast);
  showStands(forecast);
  const isCut = forecast.is_stopped === true;
  fill(byId("again-body"),
    el("p", {}, isCut ? "This forecast was stopped by time, so that the same command may play more or less:" : "The same input gives the same bytes:"),
    copyable("The command", commandOf(forecast)));
  globalThis.kubesquall = { forecast };
}

begin(start);
