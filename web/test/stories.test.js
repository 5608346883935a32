// The stories of the page against those of `explain`: what that says, the page says, too, in the same words.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open } from "./browser.js";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const binary = process.env.KUBESQUALL ?? join(root, "target/release/kubesquall");
const place = mkdtempSync(join(tmpdir(), "kubesquall-stories-"));
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser.close();
  rmSync(place, { recursive: true, force: true });
});

/** A part of a sentence as text, of either side. @param {any} part */
function told(part) {
  if (typeof part === "string") return part;
  const at = part.at ?? (part.at_s === undefined ? undefined : Math.round(part.at_s * 1000));
  const lasting = part.lasting ?? (part.lasting_s === undefined ? undefined : Math.round(part.lasting_s * 1000));
  return at !== undefined ? `<at ${at}>` : lasting !== undefined ? `<lasting ${Math.round(lasting)}>` : `<${part.key ?? part.object}>`;
}

/** @param {any[]} sentence */
const words = (sentence) => sentence.map(told).join("");

/** What a story of `explain` says. @param {any} story */
function asExplained({ facts, sums, steps }) {
  return {
    facts: facts.map(words),
    sums: sums.map((/** @type {any} */ { title, terms }) => [title, ...terms.map((/** @type {any} */ { name, takes_s, until_s, why }) => `${name}: ${Math.round(takes_s * 1000)}, until ${until_s === null ? "" : Math.round(until_s * 1000)}, ${words(why)}`)]),
    steps: steps.map((/** @type {any} */ { at_s, says }) => `${Math.round(at_s * 1000)} ${words(says)}`),
  };
}

/** What a story of the page says. @param {any} story */
function asShown({ facts, sums, steps }) {
  return {
    facts: facts.map(words),
    sums: sums.map((/** @type {any} */ { title, terms }) => [title, ...terms.map((/** @type {any} */ { name, from, to, isTold, why }) => `${name}: ${to - from}, until ${isTold ? to : ""}, ${words(why)}`)]),
    steps: steps.map((/** @type {any} */ { at, parts }) => `${at} ${words(parts)}`),
  };
}

/** Those of some kind that have most to tell, and at most so many. @param {string[]} keys @param {string} kind @param {number} most */
function some(keys, kind, most) {
  const own = keys.filter((key) => key.startsWith(`${kind}/`));
  const step = Math.max(1, Math.floor(own.length / most));
  return own.filter((_, at) => at % step === 0).slice(0, most);
}

const SCENARIOS = (process.env.STORIES ?? "aks-disk-failover,autoscaled-shop,dedicated-nodes,drain-and-upgrade,spot-nodes,total-loss,why-pending,zone-outage").split(",");
const MOST = Number(process.env.STORIES_MOST ?? 8);

for (const scenario of SCENARIOS) {
  test(`${scenario}: what explain tells, the page tells, too`, async () => {
    const dir = join(place, scenario);
    execFileSync(binary, ["-q", "run", `scenarios/${scenario}.yaml`, "--out", dir], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    const { page, said } = await open(browser, join(dir, "report.html"));
    const keys = await page.evaluate(() => globalThis.kubesquall.keys());
    const kinds = [...new Set(keys.map((/** @type {string} */ key) => key.slice(0, key.indexOf("/"))))];
    // Who changed is told first; most pods of a large cluster never do.
    const chosen = kinds.flatMap((kind) => some(keys, String(kind), MOST));
    assert.ok(chosen.length > 0);
    /** @type {string[]} */
    const differ = [];
    let compared = 0;
    for (const key of chosen) {
      /** @type {string} */
      let text;
      try {
        text = execFileSync(binary, ["explain", dir, key, "-o", "json"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
      } catch {
        // Nothing happened to it, and it has no table.
        continue;
      }
      compared++;
      const expected = asExplained(JSON.parse(text));
      const shown = asShown(await page.evaluate((of) => globalThis.kubesquall.story(of), key));
      // A budget's steps are all there on the page.
      for (const fact of expected.facts) if (!shown.facts.includes(fact) && !fact.startsWith("Below is when ")) differ.push(`${key}: the page does not say: ${fact}\n  but: ${shown.facts.join("\n    ")}`);
      if (JSON.stringify(expected.sums) !== JSON.stringify(shown.sums)) differ.push(`${key}: sums differ:\n${JSON.stringify(expected.sums, null, 1)}\n${JSON.stringify(shown.sums, null, 1)}`);
      for (const step of expected.steps) if (!shown.steps.includes(step)) differ.push(`${key}: the page lacks the step: ${step}\n  of ${shown.steps.filter((one) => one.split(" ", 1)[0] === step.split(" ", 1)[0]).join("\n     ")}`);
    }
    assert.deepEqual(said, []);
    assert.deepEqual(differ.slice(0, 12), []);
    assert.ok(compared >= chosen.length / 2, `${compared} of ${chosen.length}`);
    await page.context().close();
  });
}
