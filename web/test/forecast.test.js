// The page of a forecast, end to end: what it shows is held against the terminal's text, forecast.json and the patches.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-forecast-"));
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(place, { recursive: true, force: true });
});

/** Two zones of two nodes, a service of one pod, and one of two whose budget spares none. @param {string} name Of the first service */
function cluster(name) {
  const node = (/** @type {number} */ at) => ({ apiVersion: "v1", kind: "Node", metadata: { name: `node-${at}`, labels: { "kubernetes.io/hostname": `node-${at}`, "topology.kubernetes.io/zone": "ab"[at % 2] } }, status: { allocatable: { cpu: "2", memory: "8Gi", pods: "110" } } });
  const served = (/** @type {string} */ name, /** @type {number} */ replicas) => [
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: "shop" }, spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "i" }] } } } },
    { apiVersion: "v1", kind: "Service", metadata: { name, namespace: "shop" }, spec: { selector: { app: name }, ports: [{ port: 80 }] } },
  ];
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "tight", namespace: "shop" }, spec: { minAvailable: 2, selector: { matchLabels: { app: "tight" } } } };
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: [...[0, 1, 2, 3].map(node), ...served(name, 1), ...served("tight", 2), budget] });
}

describe("a forecast", () => {
  /** @type {any} */
  let forecast;
  /** @type {string} */
  let text;
  const dir = join(place, "out");
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    const file = join(place, "shop.json");
    writeFileSync(file, cluster("lonely"));
    text = execFileSync(binary, ["forecast", file, "--years", "6", "--out", dir], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    forecast = JSON.parse(readFileSync(join(dir, "forecast.json"), "utf8"));
    opened = await open(browser, join(dir, "report.html"));
  });

  test("has the verdict of the terminal, and its figures in tiles", async () => {
    const said = await opened.page.locator(".verdict .said").evaluateAll((all) => all.map((said) => [...said.querySelectorAll("bdi")].map((part) => part.textContent)));
    assert.deepEqual(said.flat(), text.trimEnd().split("\n").map((line) => line.trim()));
    const tiles = await opened.page.locator(".figure").allTextContents();
    const lost = /([\d.,]+) \[[^\]]+\] min (?:a year in all|of lost traffic)/.exec(text)?.[1];
    assert.ok(tiles[0].includes(`${lost} min`), `${tiles[0]} without ${lost}`);
    assert.ok(tiles.some((tile) => tile.startsWith("findings") && tile.includes(String(forecast.findings.length))));
  });

  test("has each finding with whom, at what price, and its patch", async () => {
    const cards = opened.page.locator("#findings-body > details.choice");
    assert.ok(forecast.findings.length >= 2);
    assert.equal(await cards.count(), forecast.findings.length);
    for (const [at, finding] of forecast.findings.entries()) {
      const shown = (await cards.nth(at).textContent()) ?? "";
      for (const wanted of [finding.finding, finding.words, ...finding.units]) assert.ok(shown.includes(wanted), `${wanted} in ${shown}`);
      const lines = await cards.nth(at).locator('pre[aria-label="As kubectl lines"]').textContent();
      assert.equal(lines, readFileSync(join(dir, finding.patch), "utf8"));
      const spread = await cards.nth(at).locator(".range-strong .range-spread").textContent();
      assert.ok(text.includes(`saves ${spread} of`), `${spread} is what the terminal says`);
    }
    const fixes = forecast.findings.map((/** @type {any} */ of) => of.fix).sort();
    assert.ok(fixes.includes("budgetLoosen") && fixes.some((/** @type {string} */ fix) => fix.startsWith("replicas")), fixes.join());
  });

  test("lists everybody and every incident as forecast.json does", async () => {
    const rows = (/** @type {string} */ label) => opened.page.locator(`table[aria-label="${label}"] tbody tr`).evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
    const units = await rows("Services and workloads");
    assert.deepEqual(units.map((row) => row[0]), forecast.units.map((/** @type {any} */ of) => of.unit));
    const more = opened.page.locator("#incidents button", { hasText: "Show all" });
    if (await more.count() > 0) await more.click();
    const incidents = await rows("Incidents");
    assert.equal(incidents.length, forecast.incidents.length);
    for (const [at, row] of incidents.entries()) {
      assert.ok(row[0].startsWith(forecast.incidents[at].label));
      assert.equal(row[1], forecast.incidents[at].kind);
    }
    await opened.page.locator("#kind").selectOption("zoneLost");
    assert.equal((await rows("Incidents")).length, 2);
    const assumed = await rows("Assumptions");
    assert.deepEqual(assumed.map((row) => row[2]), forecast.stands_on.assumed.map((/** @type {any} */ of) => of.change));
  });

  test("plays the worst incident of a finding as a run that costs the same", async () => {
    const finding = forecast.findings.find((/** @type {any} */ of) => of.worst !== null);
    const line = (await opened.page.locator('pre[aria-label="In the directory of this page"]').first().textContent()) ?? "";
    const run = join(place, "played");
    execFileSync("sh", ["-c", `${line.replace("kubesquall", `"${binary}"`)} --out '${run}'`], { cwd: dir, stdio: "ignore" });
    const { metrics } = JSON.parse(readFileSync(join(run, "summary.json"), "utf8"));
    const incident = forecast.incidents.find((/** @type {any} */ of) => of.incident === finding.worst.incident);
    assert.ok(Math.abs(metrics.lost_traffic_s / 60 - incident.lost_min) < 1e-6, `${metrics.lost_traffic_s / 60} ${incident.lost_min}`);
    assert.ok(incident.lost_min > 0 || finding.worst.cost_min > 0);
  });

  test("says how to make the same again", async () => {
    const command = (await opened.page.locator('pre[aria-label="The command"]').textContent()) ?? "";
    const [, ...argv] = command.replace(/ again$/, ` ${join(place, "again")}`).split(" ");
    execFileSync(binary, argv, { stdio: "ignore" });
    for (const name of ["forecast.json", "report.html", "charts/incidents.svg"]) {
      assert.equal(readFileSync(join(place, "again", name), "utf8"), readFileSync(join(dir, name), "utf8"), name);
    }
  });

  test("is dark, small, quiet and by itself", async () => {
    const { page, said, asked } = opened;
    await page.locator("#theme").click();
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(100);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `the page is ${wide} px wide on a phone`);
    assert.equal(await page.locator("img").count(), 0);
    assert.deepEqual(said, []);
    assert.equal(asked.length, 1);
  });
});
