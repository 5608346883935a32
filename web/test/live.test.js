// Pages that play, end to end: the simulator in the page gives the native run, and other values give what the program gives with them.
// The binary has the feature `live`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-live-"));
/** The simulator as it is shipped; a quick build of it is neither small nor fast. */
const isShipped = process.env.KUBESQUALL_LIVE_QUICK === undefined;
const BYTES_MAX = 8_000_000;
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

/** A directory whose page plays. @param {string} scenario @param {string} name */
function live(scenario, name) {
  const dir = play(scenario, name);
  execFileSync(binary, ["-q", "report", dir, "--live"], { stdio: ["ignore", "ignore", "inherit"] });
  return dir;
}

/** @param {string} dir */
const summaryOf = (dir) => JSON.parse(readFileSync(join(dir, "summary.json"), "utf8"));

/** Opens the page and waits until it plays, or says that it does not. @param {string} file */
async function openLive(file) {
  const opened = await open(browser, file);
  await opened.page.waitForSelector("html[data-live]", { timeout: 120_000 });
  return opened;
}

/** Waits until the page has played with these values. @param {import("playwright-core").Page} page @param {string} sets */
async function played(page, sets) {
  await page.waitForFunction((wanted) => document.documentElement.dataset.replayed === wanted, sets, { timeout: 120_000 });
}

describe("the page of zone-outage plays", () => {
  /** @type {string} */
  let dir;
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    dir = live("scenarios/zone-outage.yaml", "zone-outage");
    opened = await openLive(join(dir, "report.html"));
  });
  after(() => opened.page.context().close());

  test("its own play has the digest of the native run", async () => {
    const told = execFileSync("sh", ["-c", '"$1" -v run scenarios/zone-outage.yaml --no-charts --out "$2" 2>&1 >/dev/null', "sh", binary, join(place, "told")], { cwd: root, encoding: "utf8" });
    const digest = /digest ([0-9a-f]{16})/.exec(told)?.[1];
    assert.ok(digest);
    const status = await opened.page.textContent("#whatif-status");
    assert.equal(await opened.page.getAttribute("html", "data-live"), "plays", status ?? "");
    assert.ok(status?.includes(digest), status ?? "");
  });

  test("says nothing and asks nobody for anything", () => {
    assert.deepEqual(opened.said, []);
    assert.deepEqual(opened.asked.filter((url) => !url.startsWith("file:") && !url.startsWith("blob:") && !url.startsWith("data:")), []);
  });

  test("another toleration gives the figures of the program with that toleration", async () => {
    const { page } = opened;
    const field = page.locator(`.knob[data-path="${TOLERATION}"] input[type="number"]`);
    await field.fill("60");
    await field.blur();
    await played(page, `${TOLERATION}=60`);
    const expected = summaryOf(play("scenarios/zone-outage.yaml", "60s", "--set", `${TOLERATION}=60`)).metrics;
    const shown = await page.evaluate(() => globalThis.kubesquall.replayed().summary.metrics);
    assert.deepEqual(shown, expected);
    const evicted = await page.textContent('#whatif-figures [data-label="Pods evicted"] strong');
    assert.ok(evicted?.endsWith(String(expected.evictions)), evicted ?? "");
    assert.ok((await page.textContent("#whatif-actions pre"))?.includes(`--set ${TOLERATION}=60`));
  });

  test("both runs stand under one scrubber", async () => {
    const { page } = opened;
    const both = await page.evaluate(() => {
      globalThis.kubesquall.seek(9 * 60_000);
      return globalThis.kubesquall.whatIf();
    });
    // After nine minutes, those that tolerate for one have been evicted, and the others wait for their five.
    assert.equal(both[0].evictions, 0);
    assert.ok(both[1].evictions > 0);
    assert.ok(await page.locator(".lane-name", { hasText: "Pods Ready" }).count() > 0);
  });

  test("replicas, which no path of the scenario's own reaches, can be turned, and the saved scenario says so", async () => {
    const { page } = opened;
    await page.click("#whatif-reset");
    await played(page, "");
    const set = 'objects["deployment/default/ts-travel-service"].spec.replicas';
    assert.ok(await page.evaluate((path) => globalThis.kubesquall.turn(path, 4), set));
    await played(page, `${set}=4`);
    const expected = summaryOf(play("scenarios/zone-outage.yaml", "four", "--set", `${set}=4`)).metrics;
    assert.deepEqual(await page.evaluate(() => globalThis.kubesquall.replayed().summary.metrics), expected);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#whatif-save")]);
    const file = join(place, "saved.yaml");
    await download.saveAs(file);
    assert.deepEqual(summaryOf(play(file, "saved")).metrics, expected);
  });

  test("what the scenario cannot be is said, and the page goes on", async () => {
    const { page } = opened;
    await page.click("#whatif-reset");
    await played(page, "");
    await page.evaluate(() => globalThis.kubesquall.turn("spec.cluster.nodePools[1].count", 600_000));
    await played(page, "refused");
    assert.match((await page.textContent("#whatif-status")) ?? "", /too_many|nodes/);
    await page.click("#whatif-reset");
    await played(page, "");
    assert.equal(await page.locator("#whatif-result").isVisible(), false);
  });

  test("a change is shown within a tenth of a second", { skip: !isShipped }, async () => {
    const { page } = opened;
    const times = [];
    for (const seconds of [30, 90, 120, 200, 240, 400]) {
      await page.evaluate(([path, value]) => globalThis.kubesquall.turn(path, value), /** @type {[string, number]} */ ([TOLERATION, seconds]));
      await played(page, `${TOLERATION}=${seconds}`);
      times.push(Number(await page.getAttribute("html", "data-replay-ms")));
    }
    process.stdout.write(`replays of zone-outage in the page: ${times.join(", ")} ms\n`);
    times.sort((a, b) => a - b);
    assert.ok(times[0] <= 100, `${times.join(", ")} ms`);
  });
});

test("a page whose simulator gives another run stays a picture", async () => {
  const dir = live("scenarios/flapping-node.yaml", "flapping");
  const file = join(dir, "report.html");
  const { writeFileSync } = await import("node:fs");
  const { gunzipSync, gzipSync } = await import("node:zlib");
  const page = readFileSync(file, "utf8");
  const other = page.replace(/(id="table-scenario">)([^<]+)/, (_, head, packed) => head + gzipSync(gunzipSync(Buffer.from(packed, "base64")).toString().replace(/^  seed: .*$/m, "  seed: 4711")).toString("base64"));
  assert.notEqual(other, page);
  writeFileSync(file, other);
  const opened = await openLive(file);
  assert.equal(await opened.page.getAttribute("html", "data-live"), "picture");
  assert.match((await opened.page.textContent("#whatif-status")) ?? "", /another run.*stays a picture/s);
  assert.equal(await opened.page.locator("#whatif-controls").isVisible(), false);
  await opened.page.context().close();
});

test("the page of every shipped scenario is small enough, and plays", { skip: !isShipped, timeout: 900_000 }, async () => {
  for (const file of readdirSync(join(root, "scenarios")).filter((name) => name.endsWith(".yaml"))) {
    const dir = live(join("scenarios", file), file.replace(".yaml", "-page"));
    const page = join(dir, "report.html");
    assert.ok(statSync(page).size <= BYTES_MAX, `${file}: ${statSync(page).size} bytes`);
    const opened = await openLive(page);
    assert.equal(await opened.page.getAttribute("html", "data-live"), "plays", `${file}: ${await opened.page.textContent("#whatif-status")}`);
    process.stdout.write(`${file}: ${(statSync(page).size / 1e6).toFixed(2)} MB\n`);
    await opened.page.context().close();
    rmSync(dir, { recursive: true, force: true });
  }
});
