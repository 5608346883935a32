// The page of runs, end to end: plays scenarios, opens their pages from the disk, and holds what they show against the tables.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";
import { ms, readTable } from "./csv.js";
import { clusterRow, nodeStates, podStates, readRun } from "./expected.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-page-"));
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(place, { recursive: true, force: true });
});

/** @param {string} scenario @param {string} name */
function play(scenario, name) {
  const dir = join(place, name);
  execFileSync(binary, ["-q", "run", scenario, "--out", dir], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return dir;
}

/** Numbers that are the same each time. @param {number} seed */
function numbersFrom(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** @param {import("playwright-core").Page} page @param {string} text */
async function choose(page, text) {
  await page.evaluate(() => { if (document.activeElement instanceof HTMLElement) document.activeElement.blur(); });
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.locator("#found button").first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#story").waitFor();
}

/** Whether all times that a story shows stand in a table. @param {import("playwright-core").Page} page @param {string} dir */
async function storyTimes(page, dir) {
  const known = new Set();
  for (const file of ["pods", "readiness", "nodes", "taints", "faults", "workloads", "timers", "causes", "events", "services"]) {
    for (const row of readTable(dir, `${file}.csv`)) {
      for (const [column, cell] of Object.entries(row)) if (column.endsWith("_s")) known.add(ms(cell));
    }
  }
  // A grace of silence ends by a sum: the last sign of life and the length of the grace.
  for (const row of readTable(dir, "timers.csv")) known.add(ms(row.set_s) + ms(row.length_s));
  // Refusals that are folded into one row say there when the last one was.
  for (const { what } of readTable(dir, "causes.csv")) {
    const [, minutes, seconds] = / the last at (\d+)m([\d.]+)s,/.exec(what) ?? [];
    if (seconds) known.add(Math.round((Number(minutes) * 60 + Number(seconds)) * 1000));
  }
  known.add(Math.round(JSON.parse(readFileSync(join(dir, "summary.json"), "utf8")).duration_s * 1000));
  const times = await page.locator("#story button.time").evaluateAll((buttons) => buttons.map((button) => Number(button.getAttribute("data-ms"))));
  for (const time of times) assert.ok(known.has(time), `${time} ms stands in no table`);
  return times.length;
}

for (const [scenario, story] of /** @type {const} */ ([["zone-outage", "ts-user-mongo"], ["drain-and-upgrade", "db-2"], ["year-of-failures", "node/rack-3-7"]])) {
  describe(scenario, () => {
    /** @type {string} */
    let dir;
    /** @type {Awaited<ReturnType<typeof open>>} */
    let opened;
    before(async () => {
      dir = play(`scenarios/${scenario}.yaml`, scenario);
      opened = await open(browser, join(dir, "report.html"));
    });
    after(() => opened.page.context().close());

    test("shows at fifty instants what the tables say", async () => {
      const { page } = opened;
      const run = readRun(dir);
      const end = Number(await page.locator("#scrubber").getAttribute("max"));
      const draw = numbersFrom(14);
      const changes = [...run.pods.flatMap((pod) => [pod.deletion, pod.started, pod.gone]), ...run.nodes.map((row) => row.at)].filter((at) => at >= 0);
      for (let turn = 0; turn < 50; turn++) {
        // Every other one at a change itself, where being one row off shows.
        const time = turn % 2 === 0 ? draw(end) : changes[draw(changes.length)];
        await page.locator("#scrubber").fill(String(time));
        const shown = await page.evaluate(() => ({ pods: globalThis.kubesquall.pods(), nodes: globalThis.kubesquall.nodes(), time: globalThis.kubesquall.time(), text: document.getElementById("pod-counts")?.textContent }));
        assert.equal(shown.time, time);
        const pods = podStates(run, time);
        assert.deepEqual(shown.pods, pods, `pods at ${time} ms`);
        assert.deepEqual(shown.nodes, nodeStates(run, time), `nodes at ${time} ms`);
        const row = clusterRow(run, time);
        const count = (/** @type {number[]} */ ...states) => String(pods.filter((state) => states.includes(state)).length);
        assert.deepEqual([count(1), count(1, 2), count(3, 4), count(5)], [row?.pods_ready, row?.pods_running, row?.pods_pending, row?.pods_terminating], `cluster.csv at ${time} ms`);
        const ready = Number(/([\d\u202f]+) Ready/.exec(shown.text ?? "")?.[1].replaceAll("\u202f", "") ?? 0);
        assert.equal(ready, Number(count(1)));
      }
    });

    test("finds events, and goes to their moment", async () => {
      const { page } = opened;
      const events = readTable(dir, "events.csv");
      const wanted = events[Math.floor(events.length / 2)];
      await page.locator("#event-search").fill(wanted.reason);
      const found = events.filter((event) => [event.reason, event.message, event.name, event.node, event.namespace].some((text) => text.toLowerCase().includes(wanted.reason.toLowerCase())));
      const note = (await page.locator("#events .grid-note").textContent())?.replaceAll("\u202f", "");
      assert.ok(note?.startsWith(String(found.length)), `${note}, not ${found.length}`);
      await page.locator("#events .grid-rows button.time").first().click();
      assert.equal(await page.evaluate(() => globalThis.kubesquall.time()), ms(found[0].time_s));
      await page.locator("#event-search").fill("");
    });

    test("leads from the event of a typed line or a fault to its bar", async () => {
      const { page } = opened;
      const wanted = readTable(dir, "events.csv").find((event) => event.kind === "Kubectl" || event.kind === "Fault");
      assert.ok(wanted);
      await page.locator("#event-search").fill(wanted.name);
      await page.locator("#events .grid-rows button.link").first().click();
      assert.equal(await page.evaluate(() => globalThis.kubesquall.time()), ms(wanted.time_s));
      const shown = (await page.locator("#bar-detail").textContent()) ?? "";
      const fault = readTable(dir, "faults.csv").find((row) => row.name === wanted.name);
      assert.ok(shown.includes(fault ? fault.kind : wanted.name), shown);
      await page.locator("#event-search").fill("");
    });

    test("tells a story whose times stand in the tables", async () => {
      const { page } = opened;
      await choose(page, story);
      assert.ok((await storyTimes(page, dir)) > 0);
      await page.locator("#story .steps button.time").first().click();
      await page.keyboard.press("Escape");
      assert.ok(await page.locator("#story").isHidden());
    });

    test("counts what was missing as the summary does", async () => {
      const costs = await opened.page.evaluate(() => globalThis.kubesquall.costs());
      assert.ok(costs.length > 0);
      for (const { key, unready, counted, parts } of costs) {
        // Times of tables are whole milliseconds, the summary's are not.
        assert.ok(Math.abs(unready - counted) < 1000 + unready * 1e-4, `${key}: ${counted} ms, not ${unready} ms`);
        assert.ok(parts.slice(1).reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) > 0.98 * unready - 1000, key);
      }
    });

    test("says how long replacements took as disruptions.csv does", async () => {
      const taken = readTable(dir, "disruptions.csv").filter((row) => row.taken_away === "true");
      const text = (await opened.page.locator("#replacements-text").textContent())?.replaceAll("\u202f", "") ?? "";
      const over = taken.filter((row) => row.replacement_ready_s !== "").length;
      assert.ok(text.includes(`${over} of ${taken.length} pod`), text);
    });

    test("counts down to nothing that nobody would do", async () => {
      const { page } = opened;
      // Pods that outlived their grace: their kubelet was not there to end them.
      const late = readTable(dir, "timers.csv").find((row) => row.timer === "termination-grace" && !(ms(row.ended_s) <= ms(row.due_s) + 2000));
      if (!late) return;
      await page.evaluate((time) => globalThis.kubesquall.seek(time), ms(late.set_s) + 1);
      const lines = await page.locator("#countdowns li").allTextContents();
      assert.ok(lines.some((line) => / Terminating: /.test(line)), lines.join("\n"));
    });

    test("plays, selects a span, turns dark", async () => {
      const { page } = opened;
      await page.locator("#timeline").scrollIntoViewIfNeeded();
      await page.locator("#scrubber").fill("0");
      await page.locator("#play").click();
      await page.waitForFunction(() => globalThis.kubesquall.time() > 0);
      await page.locator("#play").click();
      const box = await page.locator("#lanes .lane-plot canvas").first().boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + box.width * 0.25, box.y + 4);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 4, { steps: 4 });
      await page.mouse.up();
      const end = Number(await page.locator("#scrubber").getAttribute("max"));
      const [from, to] = await page.evaluate(() => globalThis.kubesquall.span());
      assert.ok(Math.abs(from - end * 0.25) < end * 0.01 && Math.abs(to - end * 0.5) < end * 0.01, `${from} to ${to}`);
      await page.locator("#zoom-out").click();
      await page.locator("#theme").click();
      assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
      await page.emulateMedia({ media: "print" });
      await page.locator("html[data-theme=light]").waitFor();
      await page.emulateMedia({ media: "screen" });
      await page.locator("html[data-theme=dark]").waitFor();
      await page.locator("#theme").click();
    });

    test("is heard by keys alone", async () => {
      const { page } = opened;
      const time = () => page.evaluate(() => globalThis.kubesquall.time());
      await page.locator("#scrubber").focus();
      await page.keyboard.press("Home");
      assert.equal(await time(), 0);
      await page.keyboard.press("ArrowRight");
      const step = await time();
      await page.keyboard.press("Shift+ArrowRight");
      assert.ok(step > 0 && (await time()) > 2 * step);
      await page.keyboard.press("End");
      assert.equal(await time(), Number(await page.locator("#scrubber").getAttribute("max")));
      await page.keyboard.press("[");
      await page.keyboard.press("[");
      const before = await time();
      await page.keyboard.press("]");
      assert.ok((await time()) > before);
      await page.locator("#lanes canvas[tabindex]").first().focus();
      const bars = await page.locator("#bar-text").textContent();
      assert.match(bars ?? "", /^\d+ of \d+: /);
      await page.keyboard.press("Enter");
      assert.ok(await page.locator("#bar-detail").isVisible());
      await page.locator(".tiles canvas").first().focus();
      await page.keyboard.press("ArrowRight");
      assert.notEqual(await page.locator("#tile-text").textContent(), "");
      await page.keyboard.press("Enter");
      assert.ok(await page.locator("#story").isVisible());
      await page.keyboard.press("Escape");
    });

    test("tells a story of each kind of object, with times that stand in the tables", async () => {
      const { page } = opened;
      /** @type {Map<string, string>} */
      const kinds = new Map();
      for (const { what } of readTable(dir, "causes.csv")) {
        const [, key, kind] = /^(([a-z]+)\/\S*)/.exec(what) ?? [];
        if (key) kinds.set(kind, key);
      }
      assert.equal(kinds.has("service"), readTable(dir, "services.csv").length > 0);
      for (const kind of ["node", "pod"]) assert.ok(kinds.has(kind), `causes.csv tells of no ${kind}`);
      for (const key of kinds.values()) {
        await choose(page, key);
        assert.equal(await page.locator("#story-title").textContent(), key.replace("/", " "));
        await storyTimes(page, dir);
        await page.keyboard.press("Escape");
      }
    });

    test("leaves no comma alone behind a link", async () => {
      const { page } = opened;
      await choose(page, story);
      const alone = await page.evaluate(() => [...document.querySelectorAll(".verdict button, #story .fact button, #story .told button")].map((button) => button.nextSibling?.textContent ?? "").filter((text) => /^[,.;:]/.test(text)));
      assert.deepEqual(alone, []);
      assert.equal(await page.locator("button button").count(), 0);
      await page.keyboard.press("Escape");
    });

    test("prints no page that is empty, and says what is not on the paper", async () => {
      const { page } = opened;
      await page.emulateMedia({ media: null });
      const pages = ((await page.pdf({ format: "A4" })).toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g) ?? []).length;
      assert.ok(pages > 4 && pages < 24, `${pages} pages`);
      const more = page.locator("#all-workloads");
      if ((await more.count()) === 0) return;
      await page.emulateMedia({ media: "print" });
      assert.ok(await more.isVisible());
      await page.emulateMedia({ media: "screen" });
    });

    test("finds what is of the kind that was typed first", async () => {
      const { page } = opened;
      const what = readTable(dir, "causes.csv").map((row) => row.what).find((text) => text.startsWith("node/"));
      const name = /^node\/(\S+)/.exec(what ?? "")?.[1] ?? "";
      await choose(page, `node ${name.slice(0, -1)}`);
      assert.match((await page.locator("#story-title").textContent()) ?? "", /^node /);
      await page.keyboard.press("Escape");
    });

    test("is no larger than 3.1 MB", () => {
      assert.ok(statSync(join(dir, "report.html")).size <= 3_100_000);
    });

    test("says nothing to the console and asks for nothing", () => {
      assert.deepEqual(opened.said, []);
      assert.equal(opened.asked.length, 1);
    });
  });
}

describe("containers and budgets", () => {
  /** @type {string} */
  let dir;
  /** @type {Awaited<ReturnType<typeof open>>} */
  let opened;
  before(async () => {
    dir = play("web/test/containers.yaml", "containers");
    opened = await open(browser, join(dir, "report.html"));
    // What finds objects comes last.
    await opened.page.waitForFunction(() => globalThis.kubesquall?.costs !== undefined);
    await opened.page.waitForTimeout(300);
  });

  test("stories tell of images that are not pulled and of containers that end too often", async () => {
    const { page } = opened;
    const facts = async (/** @type {string} */ name) => {
      await choose(page, name);
      return page.locator("#story .fact").allTextContents();
    };
    const waits = readTable(dir, "causes.csv").filter(({ what }) => / waits: \S*Image\S* \(web:2\)$/.test(what));
    const pods = new Set(waits.map(({ what }) => what.split(" ")[0]));
    const web = (await facts("deployment/shop/web")).filter((fact) => /Its image web:2 was not pulled/.test(fact));
    assert.deepEqual(new Set(web.map((fact) => fact.split(": ")[0])), pods);
    const looper = await facts("deployment/shop/looper");
    assert.ok(looper.some((fact) => /CrashLoopBackOff: its container app had to wait \d+ times .* and still does at the end; it ended by itself: Error, exit code 1$/.test(fact)), looper.join("\n"));
    await storyTimes(page, dir);
  });

  test("budgets are found, those of no pod as well, and tell when they allowed nothing", async () => {
    const { page } = opened;
    await choose(page, "budget idle");
    assert.match((await page.locator("#story").textContent()) ?? "", /It covers no pod/);
    await choose(page, "poddisruptionbudget/shop/web");
    const rows = readTable(dir, "causes.csv").filter(({ what }) => what.startsWith("poddisruptionbudget/shop/web allows "));
    const changes = rows.filter(({ what }, at) => rows[at - 1]?.what !== what);
    assert.equal(await page.locator("#story .steps > li").count(), changes.length);
    const closed = changes.filter(({ what }) => what.endsWith(" allows 0")).length;
    assert.equal((await page.locator("#story .fact").allTextContents()).filter((fact) => fact.startsWith("No disruption from ")).length, closed);
    await storyTimes(page, dir);
  });

  test("a machine that went off and on again has a bar as long as it was away", async () => {
    const { page } = opened;
    const row = readTable(dir, "faults.csv").find(({ kind }) => kind === "Reboot");
    await choose(page, "node/worker-0");
    const fact = (await page.locator("#story .fact").allTextContents()).find((text) => text.startsWith("Reboot hit it"));
    assert.match(fact ?? "", / at 15:00\.0, until 16:/);
    await page.locator('#lanes canvas[aria-label^="Faults"]').focus();
    await page.keyboard.press("End");
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    assert.match((await page.locator("#bar-detail").textContent()) ?? "", /^15:00\.0 – 16:/);
    assert.ok(Number(row?.began_s) === 900);
    await opened.page.context().close();
  });
});

test("names that are hostile do no harm", async () => {
  const title = '</script><img src=x onerror="document.title=1">\u202eabc=cmd()';
  const long = "a".repeat(253);
  const scenario = join(place, "hostile.yaml");
  writeFileSync(scenario, JSON.stringify({
    apiVersion: "kubesquall.sim/v1alpha1", kind: "Scenario", metadata: { name: "hostile" },
    spec: { duration: "10m", cluster: { nodePools: [{ name: "n", count: 2, template: { metadata: { labels: { "topology.kubernetes.io/zone": "z" } }, status: { allocatable: { cpu: "2", memory: "4Gi", pods: "10" } } } }] }, timeline: [{ at: "1m", kubectl: `annotate node n-0 note='${title}' zz.example.com/${long.slice(0, 63)}='${long}'` }, { at: "2m", kubectl: "cordon n-1" }, { at: "3m", kubectl: "delete pod '</text><script>alert(1)</script>\u001b[2J\u202e&'" }] },
  }));
  const dir = play(scenario, "hostile");
  const { page, said, asked } = await open(browser, join(dir, "report.html"));
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "hostile · kubesquall");
  const row = page.locator("#lanes .lane-plot canvas").first();
  await row.click({ position: { x: 3 + ((await row.boundingBox())?.width ?? 0) / 10, y: 10 } });
  assert.match((await page.locator("#bar-detail").textContent()) ?? "", /<img src=x/);
  for (const file of readdirSync(join(dir, "charts"))) {
    const text = readFileSync(join(dir, "charts", file), "utf8");
    const found = await page.evaluate((svg) => {
      const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
      return { broken: parsed.querySelector("parsererror")?.textContent, scripts: parsed.querySelectorAll("script, img").length };
    }, text);
    assert.deepEqual(found, { broken: undefined, scripts: 0 }, file);
  }
  // What would turn the direction of writing is seen instead.
  const shown = await page.evaluate(() => [...document.querySelectorAll("body *:not(script)")].map((element) => [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent).join("") + [...element.attributes].map(({ value }) => value).join("")).join(""));
  assert.doesNotMatch(shown, /[\u202a-\u202e\u2066-\u2069\u001b]/);
  assert.match(shown, /\\u\{202e\}/);
  await page.setViewportSize({ width: 390, height: 844 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} px wide on a phone`);
  assert.deepEqual(said, []);
  assert.equal(asked.length, 1);
  await page.context().close();
});
