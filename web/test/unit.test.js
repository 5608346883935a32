// The logic of the modules, without a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { stacksOf } from "../agreement.js";
import { decodeTable } from "../data.js";
import { documentsOf } from "../choices.js";
import { axisOf, figure, spread, ticks } from "../figures.js";
import { argument, clock, count, countdown, exactly, lasting, tickLabel, tickStep } from "../format.js";
import { arrivalBars, envelope, nodeSteps, procedureBars, stacked } from "../lanes.js";
import { NODE, POD, buildModel, lastAt, nodeAt, podAt, shortages } from "../model.js";
import { fatesOf, lossesOf, phaseTimes, sharedTimes } from "../fates.js";
import { withOutages } from "../recovery.js";
import { causesOf, chain, clause, objectOf } from "../story.js";
import { visible } from "../dom.js";

/** A table as the page decodes it. @param {Record<string, [string, (string | number | boolean | null)[]]>} columns @returns {import("../data.js").Table} */
function table(columns) {
  const made = Object.entries(columns).map(([name, [cells, values]]) => {
    if (cells === "text") {
      const texts = [...new Set(values.map(String))];
      return { name, cells, texts, values: Int32Array.from(values, (value) => texts.indexOf(String(value))) };
    }
    if (cells === "truth") return { name, cells, texts: [], values: Uint8Array.from(values, Number) };
    return { name, cells, texts: [], values: Float64Array.from(values, (value) => (value === null ? NaN : Number(value))) };
  });
  return { rows: made[0]?.values.length ?? 0, columns: /** @type {any} */ (made) };
}

const none = () => table({});

test("times are cut, never rounded up", () => {
  for (const [ms, text] of /** @type {const} */ ([[0, "0:00.0"], [643_399, "10:43.4"], [643_349, "10:43.3"], [3_723_400, "1:02:03.4"], [31_535_999_949, "364d 23:59:59.9"], [-5, "0:00.0"]])) assert.equal(clock(ms), text);
});

test("lengths are said in the two largest units", () => {
  for (const [ms, text] of /** @type {const} */ ([[16, "0.016 s"], [12_345, "12.3 s"], [300_000, "5 min"], [1_292_555, "21 min 33 s"], [17_880_000, "4 h 58 min"], [273_600_000, "3 d 4 h"], [Infinity, "–"]])) assert.equal(lasting(ms), text);
});

test("lengths on tiles are as exact as in the verdict", () => {
  for (const [ms, text] of /** @type {const} */ ([[536_461, "8 min 56 s"], [10_943_147, "3 h 2 min 23 s"], [86_400_000, "1 d"], [400, "0.4 s"], [12_600, "13 s"], [59_700, "1 min"]])) assert.equal(exactly(ms), text);
});

test("figures of studies are as the terminal has them", () => {
  // Exact ties go to the even digit; -0.004 is nothing, and has no sign.
  for (const [value, text] of /** @type {const} */ ([[7.125, "7.12"], [7.375, "7.38"], [-7.125, "-7.12"], [2.675, "2.67"], [100.5, "100"], [101.5, "102"], [99.999, "100.00"], [-0.004, "0.00"], [1_189_957.4, "1189957"]])) assert.equal(figure(value), text);
  assert.equal(spread({ mean: 12.3, low: 0, high: null, widened: true }), "12.30 [0, ?]*");
  assert.equal(spread({ mean: null, low: null, high: null, widened: null }), "-");
});

test("ticks are round and hold the range", () => {
  assert.deepEqual(ticks(0, 70, 7), [0, 10, 20, 30, 40, 50, 60, 70]);
  assert.deepEqual(ticks(41_000, 66_000, 4), [40_000, 50_000, 60_000, 70_000]);
  assert.deepEqual(ticks(3, 3, 5).length > 1, true);
});

test("values that span decades lie by their order of magnitude", () => {
  assert.equal(axisOf([1, 50, 0], 6).isEven, true);
  assert.equal(axisOf([-1, 1, 500], 6).isEven, true);
  assert.equal(axisOf([0, 0], 6).isEven, true);
  const { marks, place, isEven } = axisOf([0, 2, 500], 6);
  assert.deepEqual([marks, isEven, place(0)], [[0, 1, 10, 100, 1000], false, 0]);
  assert.ok(place(20) - place(2) > 0.3 * place(500) && place(2) > 0.1 * place(500));
});

test("documents of a patch are told by their workloads, words left out", () => {
  const document = (/** @type {string} */ name) => JSON.stringify({ kind: "Deployment", metadata: { name, namespace: "shop" } });
  const found = documentsOf(`# start kube-controller-manager\n---\n${document("web")}\n# job/shop/x cannot be changed\n---\n${document("cart")}\n`);
  assert.deepEqual(found.map(({ workload }) => workload), ["deployment/shop/web", "deployment/shop/cart"]);
});

test("counts and countdowns", () => {
  assert.equal(count(150_000), "150\u202f000");
  assert.equal(count(0), "0");
  assert.equal(countdown(252_001), "4:13");
  assert.equal(countdown(1), "0:01");
});

test("axes have round steps, and no more ticks than there is room for", () => {
  assert.equal(tickStep(2_400_000, 10), 300_000);
  assert.equal(tickLabel(300_000, 300_000), "5:00");
  for (const span of [200, 60_000, 86_400_000, 31_536_000_000]) assert.ok(span / tickStep(span, 8) <= 8);
});

test("blocks are decoded as the program writes them", () => {
  const header = JSON.stringify({ rows: 3, columns: [{ name: "t", cells: "maybe_time", words: 0, texts: 0, values: 4 }, { name: "x", cells: "text", words: 14, texts: 6, values: 3 }] });
  const bytes = [header.length, 0, 0, 0, ...Buffer.from(header), 0, 0xd1, 0x0f, 2, ...Buffer.from('["a","is","b"]'), 3, 0, 0, 0, 1, 3, 0, 0, 1];
  const { rows, columns } = decodeTable(Uint8Array.from(bytes));
  assert.equal(rows, 3);
  assert.deepEqual([...columns[0].values], [NaN, 1000, 999]);
  assert.deepEqual([...columns[1].values].map((entry) => columns[1].texts[entry]), ["a is b", "b", "a is b"]);
});

test("words that are names of pods stand in the table of pods", () => {
  const words = '[2,["pod/x/",-1],"created",0]';
  const header = JSON.stringify({ rows: 2, columns: [{ name: "x", cells: "text", words: words.length, texts: 6, values: 2 }] });
  const bytes = [header.length, 0, 0, 0, ...Buffer.from(header), ...Buffer.from(words), 2, 0, 0, 2, 0, 0, 0, 0];
  const { columns } = decodeTable(Uint8Array.from(bytes), ["a-0", "b-0", "c-0"]);
  assert.deepEqual(columns[0].texts, ["c-0 pod/x/b-0", "created b-0"]);
});

/** Two nodes and pods whose lives cover each state. */
function model() {
  return buildModel({
    pods: table({
      namespace: ["text", ["a", "a", "a", "a"]], name: ["text", ["x-0", "x-0", "y", "z"]], owner_kind: ["text", ["StatefulSet", "StatefulSet", "", "Job"]], owner_name: ["text", ["x", "x", "", "z"]],
      workload_kind: ["text", ["StatefulSet", "StatefulSet", "Pod", "Job"]], workload_name: ["text", ["x", "x", "y", "z"]],
      node: ["text", ["n1", "n2", "", "n2"]], phase: ["text", ["Failed", "Running", "Pending", "Failed"]], deletion_cause: ["text", ["TaintManagerEviction", "", "", ""]], taken_away: ["truth", [true, false, false, false]],
      created_s: ["time", [0, 700, 100, 100]], scheduled_s: ["maybe_time", [0, 710, null, 110]], started_s: ["maybe_time", [0, 720, null, 120]], ready_s: ["maybe_time", [0, 750, null, null]],
      deletion_s: ["maybe_time", [500, null, null, null]], finished_s: ["maybe_time", [690, null, null, 300]], gone_s: ["maybe_time", [700, null, null, null]],
    }),
    readiness: table({ time_s: ["time", [0, 200, 750]], namespace: ["text", ["a", "a", "a"]], name: ["text", ["x-0", "x-0", "x-0"]], ready: ["text", ["True", "False", "True"]] }),
    nodes: table({ time_s: ["time", [0, 0, 180, 600]], node: ["text", ["n1", "n2", "n1", "n1"]], ready: ["text", ["True", "True", "Unknown", "Absent"]], unschedulable: ["truth", [false, false, false, false]], taints: ["text", ["", "", "", ""]] }),
    faults: table({ name: ["text", ["Crash@0"]], kind: ["text", ["Crash"]], object: ["text", ["node/n1"]], node: ["text", ["n1"]], zone: ["text", ["a"]], began_s: ["time", [130]], ended_s: ["maybe_time", [null]] }),
    inventory: none(),
    workloads: table({ time_s: ["time", [0, 200, 750]], namespace: ["text", ["a", "a", "a"]], kind: ["text", ["StatefulSet", "StatefulSet", "StatefulSet"]], name: ["text", ["x", "x", "x"]], desired: ["number", [1, 1, 1]], ready: ["number", [1, 0, 1]], missing: ["number", [0, 1, 0]] }),
  }, 1000);
}

test("a pod's state follows its milestones, and names that come again are other pods", () => {
  const { pods } = model();
  const at = (/** @type {number} */ pod, /** @type {number[]} */ ...times) => times.map((time) => podAt(pods, pod, time));
  assert.deepEqual(at(0, 0, 199, 200, 500, 699, 700), [POD.READY, POD.READY, POD.NOT_READY, POD.TERMINATING, POD.TERMINATING, POD.ABSENT]);
  assert.deepEqual(at(1, 699, 700, 710, 720, 750), [POD.ABSENT, POD.UNSCHEDULED, POD.STARTING, POD.NOT_READY, POD.READY]);
  assert.deepEqual(at(2, 99, 100, 1000), [POD.ABSENT, POD.UNSCHEDULED, POD.UNSCHEDULED]);
  assert.deepEqual(at(3, 120, 300), [POD.NOT_READY, POD.FAILED]);
});

test("a node is what its last change says", () => {
  const { nodes } = model();
  assert.deepEqual([0, 179, 180, 600].map((time) => nodeAt(nodes, 0, time)), [NODE.TRUE, NODE.TRUE, NODE.UNKNOWN, NODE.ABSENT]);
  assert.deepEqual([nodes.zones[0], nodes.pools[0]], ["a", "n"]);
});

/** disruptions.csv of the model: one pod of a StatefulSet came again, one without a controller did not. */
function fates() {
  const made = model();
  const lengths = Object.fromEntries(Object.entries({ detect_s: [70, 0], wait_s: [300, 0], recreate_s: [200, 0], schedule_s: [10, 0], dead_node_s: [4, 0], attach_s: [2, 0], mount_s: [1, 0], start_s: [3, 0], become_ready_s: [30, 0] }).map(([name, values]) => [name, /** @type {[string, number[]]} */ (["time", values])]));
  const rows = table({
    namespace: ["text", ["a", "a"]], name: ["text", ["x-0", "y"]], created_s: ["time", [0, 100]], stopped_s: ["maybe_time", [130, null]], lost_s: ["time", [500, 900]], by: ["text", ["TaintManagerEviction", "Kubectl"]],
    taken_away: ["truth", [true, false]], outcome: ["text", ["replaced", "no controller"]], replacement: ["text", ["x-0", ""]], replacement_created_s: ["maybe_time", [700, null]], ...lengths,
  });
  const byKey = new Map([["pod/a/x-0", [0, 1]], ["pod/a/y", [2]], ["pod/a/z", [3]]]);
  return { made, found: fatesOf(rows, made, byKey) };
}

test("who came for whom is what the table says, even where a name comes again", () => {
  const { found } = fates();
  assert.deepEqual([...found.replaced], [1, -1, -1, -1]);
  assert.deepEqual([...found.predecessor], [-1, 0, -1, -1]);
  assert.equal(found.of(1), null);
  assert.deepEqual([found.of(0)?.outcome, found.of(2)?.outcome], ["replaced", "no controller"]);
  assert.deepEqual(found.of(2)?.pieces, [{ phase: 10, from: 900, to: 1000 }]);
});

test("a loss is made of its phases", () => {
  const { made, found } = fates();
  const [loss, ...rest] = lossesOf(made, found, Int32Array.from([0, 1]));
  assert.equal(rest.length, 0);
  assert.deepEqual([loss.from, loss.fate?.lost, loss.to], [130, 500, 750]);
  assert.deepEqual(lossesOf(made, found, Int32Array.from([3])).map(({ pieces }) => pieces), [[{ phase: 4, from: 100, to: 110 }, { phase: 8, from: 110, to: 120 }, { phase: 9, from: 120, to: 300 }]]);
  assert.deepEqual(phaseTimes(loss.pieces, [{ from: 0, to: 1000 }]), [70, 300, 0, 200, 10, 4, 2, 1, 3, 30, 0]);
  assert.deepEqual(phaseTimes(loss.pieces, [{ from: 100, to: 250 }, { from: 490, to: 510 }]), [70, 60, 0, 10, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(sharedTimes([{ phase: 1, from: 0, to: 100 }, { phase: 2, from: 50, to: 100 }], [{ from: 20, to: 100, missing: 1 }]), [0, 55, 25, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(shortages(made, 0, Int32Array.from([0, 1])), [{ from: 200, to: 750, missing: 1 }]);
});

test("what is short stays visible however long the span is", () => {
  const steps = { times: Float64Array.from([0, 500, 501, 900]), values: Float64Array.from([0, 3, 0, 1]) };
  const values = envelope(steps, 0, 1_000_000, 10);
  assert.deepEqual([...values], [3, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual([...envelope(steps, 400, 600, 4)], [0, 0, 3, 0]);
});

test("bars do not cover each other while there are rows", () => {
  const bar = (/** @type {number} */ from, /** @type {number} */ to) => ({ from, to, label: "", title: "", bad: false, open: false, lines: [], objects: [] });
  assert.deepEqual([...stacked([bar(0, 10), bar(5, 20), bar(10, 12), bar(11, 30)], 3).row], [0, 1, 0, 2]);
  assert.deepEqual([...stacked([bar(0, 10), bar(1, 10), bar(2, 10)], 2).row], [0, 1, 1]);
});

test("a procedure ends when it ends, and pools that grow and shrink are told", () => {
  const rows = /** @type {const} */ ([
    [10, "Node", "spot-6", "NodeRepairBegan", "Normal"], [20, "Fault", "node", "AddNodes", "Normal"], [30, "Node", "spot-6", "NodeRepaired", "Normal"], [40, "NodePool", "spot", "RebootRequired", "Normal"],
    [50, "Node", "small-5", "ScaleDown", "Normal"], [60, "Pod", "a-1", "ScaleDown", "Normal"], [70, "Node", "small-5", "ScaleDown", "Normal"], [80, "NodePool", "spot", "RebootsEnded", "Warning"], [90, "NodePool", "w", "RollingUpgradeBegan", "Normal"],
  ]);
  const column = (/** @type {number} */ at) => rows.map((row) => row[at]);
  const bars = procedureBars(table({ time_s: ["time", column(0)], kind: ["text", column(1)], name: ["text", column(2)], reason: ["text", column(3)], message: ["text", column(3)], type: ["text", column(4)] }), 100);
  assert.deepEqual(bars.map(({ from, to, open, bad }) => [from, to, open, bad]), [[10, 30, false, false], [20, 20, false, false], [40, 80, false, true], [50, 70, false, false], [90, 100, true, false]]);
});

test("nodes that come and go are counted, those gone apart from those to come", () => {
  const made = buildModel({
    ...Object.fromEntries(["pods", "readiness", "faults", "inventory", "workloads"].map((name) => [name, none()])),
    nodes: table({ time_s: ["time", [0, 0, 500, 500, 900]], node: ["text", ["a", "b", "b", "a", "c"]], ready: ["text", ["True", "True", "Absent", "Unknown", "True"]], unschedulable: ["truth", [false, false, false, false, false]], taints: ["text", ["", "", "", "", ""]] }),
  }, 1000);
  assert.deepEqual(arrivalBars(made).map(({ from, label }) => [from, label]), [[500, "b leaves"], [900, "c joins"]]);
  const { all, gone, absent, most } = nodeSteps(table({ time_s: ["time", [0, 500, 900]], nodes_ready: ["number", [2, 0, 3]], nodes_not_ready: ["number", [0, 0, 0]], nodes_unknown: ["number", [0, 1, 1]] }));
  assert.deepEqual([[...all], [...gone], [...absent], most], [[2, 1, 4], [0, 1, 0], [2, 3, 0], 4]);
});

test("the last change is found by halves", () => {
  const times = Float64Array.from([0, 5, 5, 9]);
  assert.deepEqual([-1, 0, 4, 5, 8, 9, 99].map((time) => lastAt(times, 0, 4, time)), [-1, 0, 0, 2, 2, 3, 3]);
});

test("chains end at what began of itself", () => {
  const causes = causesOf(table({
    effect_id: ["number", [1, 3, 7]], time_s: ["time", [1, 2, 3]], cause_id: ["maybe_number", [null, 1, 3]],
    what: ["text", ["scenario: Crash of n1 begins", "node/n1 conditions changed, Ready=Unknown", "node/n1 +node.kubernetes.io/unreachable:NoExecute"]],
  }));
  assert.deepEqual(chain(causes, 2), [1, 0]);
  assert.deepEqual(causes.about("node/n1"), [1, 2]);
  assert.equal(objectOf("scenario: kubectl drain a/b"), "");
  assert.equal(objectOf("cronjob-controller: the schedule of cronjob/a/b"), "cronjob/a/b");
});

test("rows say the same here and to explain", () => {
  /** @type {[string, (string | {object: string})[]][]} */
  const expected = JSON.parse(readFileSync(new URL("sentences.json", import.meta.url), "utf8"));
  const all = expected.map((_, at) => at);
  const causes = causesOf(table({ effect_id: ["number", all], time_s: ["time", all], cause_id: ["maybe_number", all.map(() => null)], what: ["text", expected.map(([what]) => what)] }));
  for (const [at, [what, said]] of expected.entries()) {
    // Neighbouring texts are one.
    const parts = clause(causes, at).reduce((/** @type {(string | {object: string})[]} */ done, part) => {
      const told = typeof part === "string" ? part : { object: /** @type {{key: string}} */ (part).key };
      const last = done[done.length - 1];
      return typeof told === "string" && typeof last === "string" ? [...done.slice(0, -1), last + told] : [...done, told];
    }, []);
    assert.deepEqual(parts, said, what);
  }
});

test("what turns the direction of writing is seen", () => {
  assert.equal(visible("a\u202eb\u0007\n\u2069"), "a\\u{202e}b\\u{7}\n\\u{2069}");
  assert.equal(argument("scenarios/a.yaml"), "scenarios/a.yaml");
  assert.equal(argument("it's mine.yaml"), "'it'\\''s mine.yaml'");
});

/** How the three kinds of color blindness see linear red, green and blue (Machado, Oliveira and Fernandes, 2009, severity 1). */
const SIGHTS = /** @type {const} */ ({
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
});

/** A color in OKLab, as a sight has it. @param {string} hex @param {readonly (readonly number[])[]} sight */
function seen(hex, sight) {
  const linear = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = sight.map((row) => Math.min(1, Math.max(0, row[0] * linear[0] + row[1] * linear[1] + row[2] * linear[2])));
  const [l, m, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b, 0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

test("colors that mean different things look different to everybody, light and dark", () => {
  const css = readFileSync(new URL("../page.css", import.meta.url), "utf8");
  const themes = [...css.matchAll(/:root[^{]*\{([^}]*--paper[^}]*)\}/g)].slice(0, 2).map(([, body]) => Object.fromEntries([...body.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value])));
  assert.equal(themes.length, 2);
  const sets = [["pod-ready", "pod-not-ready", "pod-starting", "pod-terminating"], ["node-true", "node-false", "node-unknown"], [1, 2, 3, 4, 8, 9, 10].map((phase) => `phase-${phase}`), ["ready-band", "missing"], ["fault", "node-true"], ["text", "paper"]];
  for (const [theme, colors] of themes.entries()) {
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
      for (const set of sets) {
        set.forEach((one, at) => set.slice(at + 1).forEach((other) => {
          const [a, b] = [seen(colors[one], matrix), seen(colors[other], matrix)];
          const distance = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
          assert.ok(distance > 0.06, `${one} and ${other} are ${distance.toFixed(3)} apart (${sight}, theme ${theme})`);
        }));
      }
    }
  }
});

test("text stands out from the paper", () => {
  const css = readFileSync(new URL("../page.css", import.meta.url), "utf8");
  const luminance = (/** @type {string} */ hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)).reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  for (const [, body] of [...css.matchAll(/:root[^{]*\{([^}]*--paper[^}]*)\}/g)].slice(0, 2)) {
    const color = Object.fromEntries([...body.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
    for (const text of ["text", "muted", "link", "bad"]) {
      for (const paper of ["paper", "raised"]) {
        const [a, b] = [luminance(color[text]), luminance(color[paper])].sort((x, y) => y - x);
        assert.ok((a + 0.05) / (b + 0.05) >= 4.5, `${text} on ${paper}`);
      }
    }
  }
});

test("a term that a process had to end is its outage's as long as that lasts", () => {
  const faults = table({
    kind: ["text", ["ControlPlaneOutage", "ControlPlaneOutage", "Crash"]], object: ["text", ["process/kube-scheduler", "process/kube-controller-manager", "node/n"]],
    began_s: ["number", [10, 40, 0]], ended_s: ["number", [20, null, 90]],
  });
  const parts = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ to) => withOutages({ tables: { faults }, model: { end: 100 } }, { name, from, to, isTold: true, why: [] }).map((term) => [term.name, term.from, term.to]);
  assert.deepEqual(parts("schedule", 5, 30), [["schedule", 5, 10], ["scheduler down", 10, 20], ["schedule", 20, 30]]);
  assert.deepEqual(parts("schedule", 12, 18), [["scheduler down", 12, 18]]);
  assert.deepEqual(parts("recreate", 30, 100), [["recreate", 30, 40], ["controller-manager down", 40, 100]]);
  assert.deepEqual(parts("limiter", 20, 30), [["limiter", 20, 30]]);
  assert.deepEqual(parts("toleration", 5, 30), [["toleration", 5, 30]]);
  assert.deepEqual(parts("schedule", 7, 7), [["schedule", 7, 7]]);
});

test("bars of what was seen and played hold each fact of the span once, by its verdict", () => {
  const facts = { seen: Float64Array.of(0, 50, 100, NaN, 900), played: Float64Array.of(1, 70, NaN, 40, 900), verdict: Int8Array.of(0, 1, 2, 3, 0) };
  const { seen, played, most } = stacksOf(facts, [0, 1, 2, 3, 4], 0, 100, 2);
  assert.deepEqual(seen, [[1, 0, 0, 0], [0, 1, 1, 0]]);
  assert.deepEqual(played, [[1, 0, 0, 1], [0, 1, 0, 0]]);
  assert.equal(most, 2);
});
