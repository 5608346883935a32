// How fast a page opens and scrubs: `node web/test/speed.js PAGE...` prints a line for each.

import { resolve } from "node:path";
import { statSync } from "node:fs";
import { launch, open } from "./browser.js";

for (const file of process.argv.slice(2)) {
  const browser = await launch();
  const { page } = await open(browser, resolve(file));
  const result = await page.evaluate(async () => {
    const { dataset } = document.documentElement;
    const end = Number(/** @type {HTMLInputElement} */ (document.getElementById("scrubber")).max);
    document.getElementById("cluster")?.scrollIntoView();
    const frames = 90;
    const began = performance.now();
    for (let frame = 0; frame < frames; frame++) {
      globalThis.kubesquall.seek((end * frame) / frames);
      await new Promise(requestAnimationFrame);
    }
    return { shown_ms: Number(dataset.shown), ready_ms: Number(dataset.ready), frames_per_s: Math.round((frames / (performance.now() - began)) * 10_000) / 10 };
  });
  process.stdout.write(`${file}: ${JSON.stringify({ megabytes: Math.round(statSync(file).size / 1e4) / 100, ...result })}\n`);
  await browser.close();
}
