// The pages of a study and a plan, end to end: what they show is held against the terminal's text, summary.json and the tables.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";
import { readTable } from "./csv.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-study-"));
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(place, { recursive: true, force: true });
});

/** Plays something; gives its directory and what the terminal says. @param {string} verb @param {string} file @param {string} name @param {string[]} more */
function play(verb, file, name, more = []) {
  const dir = join(place, name);
  const text = execFileSync(binary, [verb, file, "--out", dir, ...more], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return { dir, text, summary: JSON.parse(readFileSync(join(dir, "summary.json"), "utf8")) };
}

/** @param {string} name @param {unknown} spec @param {string} kind */
function write(name, spec, kind) {
  const file = join(place, `${name}.yaml`);
  writeFileSync(file, JSON.stringify({ apiVersion: "kubesquall.sim/v1alpha1", kind, metadata: { name }, spec }));
  return file;
}

/** The cells of a table as they are shown. @param {import("playwright-core").Page} page @param {string} label @returns {Promise<string[][]>} */
function cells(page, label) {
  return page.locator(`table[aria-label="${label}"] tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
}

/** The sentences of the verdict, each with its details. @param {import("playwright-core").Page} page */
function sentences(page) {
  return page.locator(".verdict .said").evaluateAll((all) => all.map((said) => [...said.querySelectorAll("bdi")].map((part) => part.textContent)));
}

/** The page in the dark, and on a phone. @param {import("playwright-core").Page} page */
async function darkAndSmall(page) {
  await page.locator("#theme").click();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.locator("#theme").click();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(100);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} px wide on a phone`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** The numbers of a text such as `12.30 [11.80, 12.90]*`. @param {string} text */
const numbersOf = (text) => (text.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);

/** Whether what is shown is a number of a table, rounded. @param {number} shown @param {string} cell */
function isRounded(shown, cell) {
  return Math.abs(shown - Number(cell)) <= (Math.abs(Number(cell)) >= 100 ? 0.5 : 0.005) + 1e-9;
}

describe("a study", () => {
  /** @type {ReturnType<typeof play>} */
  let played;
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    const file = write("small", {
      scenario: join(root, "scenarios/studies/shop-year.yaml"), replications: 12, baseline: { tolerationSeconds: 300 },
      vary: [{ name: "tolerationSeconds", tolerationSeconds: { workloads: ["deployment/shop/*"], values: [0, 60, 300] } }],
      cost: { unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60 },
    }, "Study");
    played = play("tune", file, "tuned");
    opened = await open(browser, join(played.dir, "report.html"));
  });
  after(() => opened.page.context().close());

  test("says what the summary and the terminal say", async () => {
    const { summary, text } = played;
    assert.deepEqual(await sentences(opened.page), summary.verdict.map((/** @type {any} */ of) => [of.text, ...of.details].map((text) => text.replaceAll("`", ""))));
    const own = /^(Recommended: tolerationSeconds|It stands on)/;
    for (const { text: said } of summary.verdict) if (!own.test(said)) assert.ok(text.includes(`${said}\n`), said);
  });

  test("has the figures of the terminal, and those are of variants.csv", async () => {
    const rows = await cells(opened.page, "Variants");
    const table = readTable(played.dir, "variants.csv");
    assert.equal(rows.length, 3);
    for (const [at, row] of rows.entries()) {
      const line = played.text.split("\n").find((of) => of.startsWith(` ${row[0].match(/=(\d+)/)?.[1]} `));
      const flat = line?.replace(/ +/g, " ").trim();
      assert.ok(flat?.endsWith(row.slice(1).join(" ")), `${flat}, not ${row.join(" ")}`);
      for (const [of, metric] of ["unready_replica_s", "evictions", "needless_evictions", "longest_gap_s", "cost"].entries()) {
        const found = table.find((cell) => cell.variant === String(at) && cell.metric === metric);
        const shown = numbersOf(row[of + 1]);
        assert.ok(found && isRounded(shown[0], found.mean) && (shown.length < 3 || (isRounded(shown[1], found.low) && isRounded(shown[2], found.high))), `${metric} ${row[of + 1]}`);
      }
    }
    const metrics = await cells(opened.page, "Metrics");
    assert.equal(metrics.length, table.length / 3);
    const shown = await opened.page.locator("#variant").inputValue();
    for (const row of metrics) {
      const found = table.find((of) => of.variant === shown && of.metric === row[0]);
      assert.ok(found && isRounded(numbersOf(row[2])[0], found.mean) && isRounded(numbersOf(row[3])[0], found.p50) && isRounded(numbersOf(row[4])[0], found.p90) && isRounded(numbersOf(row[5])[0], found.max), row.join(" "));
    }
  });

  test("shows for each workload its values, and the patch that the files have", async () => {
    const { page } = opened;
    const tuning = readTable(played.dir, "tuning.csv");
    const cards = page.locator(".choice");
    const workloads = [...new Set(tuning.map((row) => row.workload))];
    assert.equal(await cards.count(), workloads.length);
    const shell = readFileSync(join(played.dir, "patch.sh"), "utf8");
    for (const [at, workload] of workloads.entries()) {
      const card = cards.nth(at);
      assert.ok((await card.locator("summary").first().textContent())?.startsWith(workload));
      const rows = tuning.filter((row) => row.workload === workload);
      const spreads = await card.locator(".range-spread").allTextContents();
      assert.equal(spreads.length, rows.length);
      spreads.forEach((shown, of) => assert.ok(isRounded(numbersOf(shown)[0], rows[of].cost), `${shown}, not ${rows[of].cost}`));
      if (rows[0].recommended === rows[0].today) continue;
      const line = await card.locator("pre").first().textContent();
      assert.ok(shell.includes(`${line}\n`) && line?.startsWith("kubectl patch "), line ?? "");
      const [kind, namespace, name] = workload.split("/");
      assert.ok(line?.includes(` ${kind} ${name} -n ${namespace} `));
      const document = JSON.parse((await card.locator("details pre").textContent())?.replace(/^---\n/, "") ?? "");
      assert.equal(document.metadata.name, name);
    }
    assert.ok((await page.locator(".choice pre").count()) > 0, "something is recommended");
    await page.locator(".choice button", { hasText: "Copy" }).first().click();
    await page.locator(".choice [role=status]", { hasText: /copied|selected/ }).first().waitFor();
  });

  test("draws steps as runs.csv has them, and sorts", async () => {
    const { page } = opened;
    const recoveries = await page.evaluate(() => globalThis.kubesquall.study.data.recoveries);
    const runs = readTable(played.dir, "runs.csv");
    for (const { variant, seconds } of recoveries) {
      const gaps = runs.filter((row) => row.variant === String(variant)).map((row) => Number(row.longest_gap_s)).sort((a, b) => a - b);
      assert.deepEqual(seconds, gaps);
    }
    assert.ok((await page.locator("#recoveries svg path").count()) > 0 && (await page.locator("#trade-off svg circle").count()) === 3);
    const sort = page.locator("table[aria-label=Variants] button.sort", { hasText: /^cost$/ });
    await sort.click();
    const means = async () => (await cells(page, "Variants")).map((row) => numbersOf(row[5])[0]);
    assert.deepEqual(await means(), [...(await means())].sort((a, b) => a - b));
    await sort.click();
    assert.deepEqual(await means(), [...(await means())].sort((a, b) => b - a));
    const [first] = await page.locator("#metrics-body td.right").allTextContents();
    await page.locator("#variant").selectOption("2");
    assert.notEqual((await page.locator("#metrics-body td.right").allTextContents())[0], first);
  });

  test("is dark, small, quiet and by itself", async () => {
    await darkAndSmall(opened.page);
    assert.deepEqual(opened.said, []);
    assert.equal(opened.asked.length, 1);
    assert.ok(statSync(join(played.dir, "report.html")).size < 3e6);
  });
});

test("a part of a study says that it recommends nothing", async () => {
  const { dir } = play("sweep", join(place, "small.yaml"), "part", ["--shard", "1/6"]);
  const { page, said } = await open(browser, join(dir, "report.html"));
  const first = page.locator(".verdict li").first();
  assert.match((await first.textContent()) ?? "", /part 1\/6 .* recommends nothing/);
  assert.equal(await first.getAttribute("class"), "tone-bad");
  assert.equal(await page.locator("#choices").count(), 0);
  assert.deepEqual(said, []);
  await page.context().close();
});

describe("a plan", () => {
  /** @type {ReturnType<typeof play>} */
  let played;
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    played = play("plan", join(root, "scenarios/studies/plan-zone-loss.yaml"), "planned", ["--blast-radius"]);
    opened = await open(browser, join(played.dir, "report.html"));
  });
  after(() => opened.page.context().close());

  test("says what the summary and the terminal say", async () => {
    const { summary, text } = played;
    assert.deepEqual(await sentences(opened.page), summary.verdict.map((/** @type {any} */ of) => [of.text, ...of.details].map((text) => text.replaceAll("`", ""))));
    const own = /^(Not tried|By how much a workload may grow was not asked)/;
    for (const { text: said } of summary.verdict) if (!own.test(said)) assert.ok(text.includes(`${said}\n`), said);
    const tile = opened.page.locator(".figure").first();
    assert.equal(await tile.locator("strong").textContent(), String(summary.answer.counts.worker));
  });

  test("has the matrix of the terminal, and plays as cases.csv has them", async () => {
    const { page } = opened;
    const { dir, text, summary } = played;
    const matrix = page.locator("table.matrix");
    const counts = (await matrix.locator("thead th").allTextContents()).slice(1).map((of) => Number.parseInt(of, 10));
    const rows = await matrix.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    assert.deepEqual(rows.map((row) => row[0]), ["calm", ...summary.survive]);
    for (const [at, count] of counts.entries()) {
      const line = text.split("\n").find((of) => of.trimStart().startsWith(`${count}  `));
      // Behind the cases the terminal has the placements.
      const found = line?.trim().split(/ {2,}/).slice(1, 1 + rows.length);
      assert.deepEqual(found, rows.map((row) => row[at + 1]), `${count} nodes`);
    }
    const cases = readTable(dir, "cases.csv").filter((row) => row.worker === "4" && row.case === "zone");
    await matrix.locator("tbody tr").nth(1).locator("button").nth(counts.indexOf(4)).click();
    const plays = await cells(page, "Plays");
    assert.deepEqual(plays.map((row) => row[0]), cases.map((row) => row.lost));
    for (const [at, row] of plays.entries()) {
      assert.equal(row[1].startsWith("yes"), cases[at].survived === "true");
      assert.ok(isRounded(Number(row[5]), cases[at].unready_replica_s) || Number(row[5]) === Math.round(Number(cases[at].unready_replica_s)));
      assert.equal(Number(row[6]) * 1000, Number(cases[at].free_cpu_milli));
      assert.ok(row[2].includes(cases[at].object));
    }
  });

  test("ranks losses as blast-radius.csv does", async () => {
    const { page } = opened;
    const table = readTable(played.dir, "blast-radius.csv");
    await page.locator("#blasts button", { hasText: "Show all" }).click();
    const rows = await cells(page, "Losses");
    assert.deepEqual(rows.map((row) => [row[0], row[1], row[5], row[6]]), table.map((row) => [row.lost, row.kind, row.pending, row.stuck]));
    for (const [at, row] of rows.entries()) assert.ok(Math.abs(Number(row[3]) - Number(table[at].unready_replica_s)) <= 0.5);
  });

  test("is dark, small, quiet and by itself", async () => {
    await darkAndSmall(opened.page);
    assert.deepEqual(opened.said, []);
    assert.equal(opened.asked.length, 1);
  });
});

test("names that are hostile do no harm", async () => {
  const axis = "</script><img>";
  const scenario = join(place, "tiny.yaml");
  writeFileSync(scenario, JSON.stringify({
    apiVersion: "kubesquall.sim/v1alpha1", kind: "Scenario", metadata: { name: "tiny" },
    spec: { duration: "10m", cluster: { nodePools: [{ name: "n", count: 2, template: { metadata: { labels: { "topology.kubernetes.io/zone": "z" } }, status: { allocatable: { cpu: "2", memory: "4Gi", pods: "10" } } } }] } },
  }));
  const file = write("hostile", { scenario, replications: 2, vary: [{ name: axis, path: "spec.controlPlane.kubeControllerManager.node-monitor-grace-period", values: ["40s", "50s"] }] }, "Study");
  const { dir } = play("sweep", file, "hostile");
  const { page, said, asked } = await open(browser, join(dir, "report.html"));
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "hostile · kubesquall");
  assert.match((await page.locator("#costs").textContent()) ?? "", /<img>/);
  assert.deepEqual(said, []);
  assert.equal(asked.length, 1);
  await page.context().close();
});
