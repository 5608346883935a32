// The page of two runs, end to end: both are played, their page is opened from the disk and held against the tables of each.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";
import { ms, readTable } from "./csv.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-diff-"));
const file = join(place, "diff.html");
const TOLERATION = "spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(place, { recursive: true, force: true });
});

/** @param {string} scenario @param {string} name @param {string[]} settings */
function play(scenario, name, ...settings) {
  const dir = join(place, name);
  execFileSync(binary, ["-q", "run", scenario, "--no-charts", "--out", dir, ...settings], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return dir;
}

/** @param {string} one @param {string} other @returns {any} What `diff` says as JSON; its page is in `file` */
function compare(one, other) {
  return JSON.parse(execFileSync(binary, ["-q", "diff", one, other, "-o", "json", "--html", file], { cwd: root, encoding: "utf8" }));
}

/** The last row of a table that is not after an instant. @param {Record<string, string>[]} rows @param {number} time */
function rowAt(rows, time) {
  return rows.findLast((row) => ms(row.time_s) <= time);
}

describe("two runs with another toleration", () => {
  /** @type {string[]} */
  let dirs;
  /** @type {any} */
  let diff;
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    dirs = [play("scenarios/zone-outage.yaml", "300s"), play("scenarios/zone-outage.yaml", "60s", "--set", `${TOLERATION}=60`)];
    diff = compare(dirs[0], dirs[1]);
    opened = await open(browser, file);
  });
  after(() => opened.page.context().close());

  test("shows of both at each instant what their tables say", async () => {
    const { page } = opened;
    const clusters = dirs.map((dir) => readTable(dir, "cluster.csv"));
    const workloads = dirs.map((dir) => readTable(dir, "workloads.csv"));
    const key = diff.workloads[0].workload;
    const [kind, namespace, name] = key.split("/");
    const own = workloads.map((rows) => rows.filter((row) => row.kind.toLowerCase() === kind && row.namespace === namespace && row.name === name));
    const changes = clusters.flatMap((rows) => rows.map((row) => ms(row.time_s)));
    for (let turn = 0; turn < 50; turn++) {
      const time = turn % 2 === 0 ? Math.round((turn / 50) * 2_400_000) : changes[(turn * 97) % changes.length];
      await page.locator("#scrubber").fill(String(time));
      const [at, ready] = await page.evaluate((of) => [globalThis.kubesquall.at(), globalThis.kubesquall.ready(of)], key);
      for (const [side, rows] of clusters.entries()) {
        const row = rowAt(rows, time);
        for (const [column, value] of Object.entries(at[side])) assert.equal(String(value), row?.[column], `${column} of run ${side} at ${time} ms`);
        assert.equal(String(ready[side]), rowAt(own[side], time)?.ready, `${key} in run ${side} at ${time} ms`);
      }
      const cells = await page.locator("#instant-body tr", { hasText: "Pods Ready" }).locator("td").allTextContents();
      assert.deepEqual(cells.slice(1, 3), clusters.map((rows) => rowAt(rows, time)?.pods_ready));
    }
  });

  test("leads to where they went apart, and says why", async () => {
    const { page } = opened;
    await page.locator("#scrubber").fill("0");
    await page.locator("#apart button.time").first().click();
    assert.equal(await page.evaluate(() => globalThis.kubesquall.time()), Math.round(diff.divergence.first.at_s * 1000));
    assert.match((await page.locator("#apart").textContent()) ?? "", /because of the only setting that differs/);
    assert.match((await page.locator("#inputs").textContent()) ?? "", new RegExp(TOLERATION));
  });

  test("lists workloads in the order of diff", async () => {
    const named = await opened.page.locator("#fates-body table").first().locator("tbody tr td:first-child").allTextContents();
    assert.deepEqual(named, diff.workloads.filter((/** @type {any} */ of) => of.worse_s !== null).slice(0, named.length).map((/** @type {any} */ of) => of.workload));
  });

  test("turns dark, is heard by keys, fits a phone", async () => {
    const { page } = opened;
    await page.locator("#theme").click();
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    await page.locator("#scrubber").focus();
    await page.keyboard.press("Home");
    assert.equal(await page.evaluate(() => globalThis.kubesquall.time()), 0);
    await page.keyboard.press("]");
    assert.ok((await page.evaluate(() => globalThis.kubesquall.time())) > 0);
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `the page is ${wide} px wide on a phone`);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test("says nothing to the console and asks for nothing", () => {
    assert.deepEqual(opened.said, []);
    assert.equal(opened.asked.length, 1);
  });
});

test("runs of different lengths are compared while both last", async () => {
  const dirs = [play("scenarios/drain-and-upgrade.yaml", "whole"), play("scenarios/drain-and-upgrade.yaml", "half", "--until", "20m")];
  const diff = compare(dirs[0], dirs[1]);
  assert.equal(diff.divergence, null);
  const { page, said } = await open(browser, file);
  assert.equal(await page.locator("#scrubber").getAttribute("max"), String(40 * 60_000));
  await page.locator("#scrubber").fill(String(30 * 60_000));
  const [whole, half] = await page.evaluate(() => globalThis.kubesquall.at());
  assert.ok(whole.pods_ready > 0 && half.pods_ready === null);
  assert.match((await page.locator(".verdict").textContent()) ?? "", /not equally long/);
  assert.deepEqual(said, []);
  await page.context().close();
});

test("names that are hostile do no harm, and no file of others is replaced", async () => {
  const hostile = '</script><img src=x onerror="document.title=1">\u202eabc=cmd()';
  const scenario = (/** @type {string} */ note) => {
    const path = join(place, "hostile.yaml");
    writeFileSync(path, JSON.stringify({
      apiVersion: "kubesquall.sim/v1alpha1", kind: "Scenario", metadata: { name: "hostile" },
      spec: { duration: "10m", cluster: { nodePools: [{ name: "n", count: 2, template: { status: { allocatable: { cpu: "2", memory: "4Gi", pods: "10" } } } }] }, timeline: [{ at: "1m", kubectl: `annotate node n-0 note='${note}'` }] },
    }));
    return path;
  };
  const dirs = [play(scenario(hostile), "hostile-a"), play(scenario(`${hostile}x`), "hostile-b")];
  compare(dirs[0], dirs[1]);
  const { page, said, asked } = await open(browser, file);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "hostile · kubesquall");
  assert.match((await page.locator("#inputs").textContent()) ?? "", /<img src=x/);
  assert.deepEqual(said, []);
  assert.equal(asked.length, 1);
  await page.context().close();
  const mine = join(place, "mine.html");
  writeFileSync(mine, "<p>mine</p>");
  assert.throws(() => execFileSync(binary, ["-q", "diff", dirs[0], dirs[1], "--html", mine], { stdio: "ignore" }));
  assert.equal(readFileSync(mine, "utf8"), "<p>mine</p>");
  assert.ok(statSync(file).size < 3_000_000);
});
