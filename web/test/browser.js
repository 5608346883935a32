// Debian's Chromium without a network, for tests.

import { chromium } from "playwright-core";

/** What keeps Chromium from asking hosts of its vendor. */
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: QUIET });
}

/**
 * Opens a page from the disk; whatever it says or asks for is kept.
 * @param {import("playwright-core").Browser} browser @param {string} file @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const said = [];
  /** @type {string[]} */
  const asked = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]", { timeout: 120_000 });
  return { page, said, asked };
}
