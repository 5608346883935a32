// What `tune` recommends: for each workload its value, what it saves, what comes next, and the patch.

import { byId, el, fill, named } from "./dom.js";
import { spread } from "./figures.js";
import { copyable } from "./listing.js";
import { forest } from "./plots.js";

/** Workloads that are open before somebody asks for more. */
const OPEN = 4;

/** `deployment/shop/web` as kubectl and a document name it. @param {string} workload */
function partsOf(workload) {
  const [kind, namespace, name] = workload.split("/");
  return { kind, namespace, name };
}

/** The lines of patch.sh that change a workload. @param {string[]} lines @param {string} workload */
function linesOf(lines, workload) {
  const { kind, namespace, name } = partsOf(workload);
  return lines.filter((line) => line.startsWith(`kubectl patch ${kind} ${name} -n ${namespace} `) || line.startsWith(`# ${workload} `));
}

/** The documents of patch.yaml with the workload they change. @param {string} text @returns {{workload: string, text: string}[]} */
export function documentsOf(text) {
  return text.split(/^---\n/m).slice(1).flatMap((document) => {
    // What is said in words stands between documents, too.
    const body = document.split("\n").filter((line) => !line.startsWith("#")).join("\n");
    try {
      const { kind, metadata } = JSON.parse(body);
      return [{ workload: `${kind.toLowerCase()}/${metadata.namespace}/${metadata.name}`, text: body.trimEnd() }];
    } catch {
      return [];
    }
  });
}

/** @param {import("./variants.js").Study} study */
export function showChoices(study) {
  const { summary, data } = study;
  const body = byId("choices-body");
  const { tuning, confirmation } = summary;
  const lines = data.patch_sh.split("\n").filter((/** @type {string} */ line) => line !== "" && line !== "#!/bin/sh" && line !== "set -e");
  const documents = documentsOf(data.patch_yaml);
  const workloads = /** @type {any[]} */ (tuning.workloads);
  const known = new Set(workloads.flatMap(({ workload }) => linesOf(lines, workload)));
  const rest = lines.filter((/** @type {string} */ line) => !known.has(line));
  const restDocuments = documents.filter(({ workload }) => !workloads.some((choice) => choice.workload === workload));
  const pays = ["pays", "slight", "meets"].includes(confirmation?.verdict);
  const warning = confirmation && !pays && el("p", { class: "tone-bad strong" }, confirmation.requirements ? "New seeds do not say that this pays and keeps what is required: read the verdict before you apply a patch." : "New seeds do not say that this pays: read the verdict before you apply a patch.");
  const isSlight = tuning.kept_as_slight || workloads.some((choice) => choice.is_slight);
  const nothing = !confirmation && el("p", {}, tuning.requirements === "nobodyMeets" ? "Nothing is recommended: no variant is told to meet what is required." : `Nothing is to be changed: nothing is told to be cheaper than what is there${isSlight ? " by enough to be worth a change" : ""}. What the values would cost stands below.`);
  fill(body, warning || "", nothing || "",
    tuning.requirements === "nobodyMeets" ? "" : others(tuning),
    rest.length > 0 && confirmation ? el("div", {}, el("h3", {}, workloads.length > 0 ? "Besides the workloads" : "What to change"), patches(rest, restDocuments)) : "",
    workloads.map((choice, at) => card(study, choice, linesOf(lines, choice.workload), documents.filter(({ workload }) => workload === choice.workload), at < OPEN)));
}

/** The values of what is no workload's own. @param {any} tuning */
function others(tuning) {
  if (tuning.others.length === 0) return "";
  return el("p", {}, el("span", { class: "strong" }, named(tuning.others.map((/** @type {[string, string]} */ [axis, value]) => `${axis}=${value}`).join(", "))), tuning.changes_others ? "" : ", as it is", tuning.alike_others.length > 0 ? el("span", { class: "muted" }, `; cannot be told from: ${tuning.alike_others.join("; ")}`) : "");
}

/** @param {string[]} lines @param {{text: string}[]} documents */
function patches(lines, documents) {
  return el("div", { class: "beside patches" },
    el("div", {}, copyable("As kubectl lines", lines.join("\n"))),
    documents.length > 0 ? el("details", {}, el("summary", {}, "As YAML"), copyable("As YAML", documents.map(({ text }) => `---\n${text}\n`).join(""))) : "");
}

/**
 * @param {import("./variants.js").Study} study @param {any} choice @param {string[]} lines @param {{text: string}[]} documents @param {boolean} isOpen
 */
function card(study, choice, lines, documents, isOpen) {
  const changes = choice.recommended !== choice.today;
  const together = study.summary.tuning.together.some((/** @type {any} */ of) => of.workloads.includes(choice.workload));
  const verdict = changes ? `tolerationSeconds ${choice.today} → ${choice.recommended}` : `stays at ${choice.today}`;
  const why = !changes && choice.best !== choice.today ? (choice.is_slight ? `${choice.best} costs less, but too little to be worth a change` : `the data cannot tell ${choice.best} from ${choice.today}${choice.rests_on_unseen ? ": what it would save rests on failures that no run shows" : ""}`) : together ? "none of these workloads shows alone that it pays; together they do" : "";
  const ranged = choice.values.map((/** @type {any} */ of) => {
    const marks = [of.value === choice.recommended && changes && "recommended", of.value === choice.today && "today", of.value === choice.best && of.value !== choice.recommended && "cheapest seen", of.ruled_out && "ruled out", of.runs && `set aside after ${of.runs} runs`].filter(Boolean);
    return { label: of.value, interval: of.cost, mark: marks.join(", "), isOut: of.ruled_out, isStrong: of.value === choice.recommended };
  });
  const facts = [
    ["cheapest seen", `${choice.best}, at ${spread(choice.cost)}`],
    ["against today", choice.best === choice.today ? "is today's" : spread(choice.against_today)],
    ["runner-up", choice.runner_up ?? "-"],
    ["cannot be told from", choice.alike.length > 0 ? choice.alike.join(" ") : "-"],
  ];
  return el("details", { class: "choice", open: isOpen },
    el("summary", {}, named(choice.workload, "strong"), " ", el("span", { class: changes ? "choice-changes" : "muted" }, verdict)),
    why ? el("p", { class: "muted" }, why) : "",
    el("div", { class: "beside" },
      el("div", {}, forest("cost of the workload in a run, with its interval; the line is today's", ranged, choice.cost_today.mean, undefined, 3)),
      el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, named(value))]))),
    changes && lines.length > 0 ? patches(lines, documents) : "");
}
