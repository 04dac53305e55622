/**
 * Opens the page in headless Chromium and checks that it is alive.
 *
 *   node e2e/page.mjs --url http://127.0.0.1:9000/ [--screenshot PATH] [--expect-avatars N] [--expect-chat TEXT]
 *                     [--expect-login-uri URI] [--region NAME] [--width 1440] [--height 900] [--theme light|dark]
 *                     [--chromium /usr/bin/chromium] [--timeout SECONDS]
 *
 * Checks, each by waiting for its condition: the socket is live; the login URI is shown (the given one, or that of
 * `api/info`); figures have arrived; the map has drawn at least N avatars and its canvas is not blank; the chat shows a
 * line that contains TEXT. The page must not log an error, break its security policy or miss a file. Exit status 0 or 1.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values: options } = parseArgs({
  options: {
    url: { type: "string" },
    screenshot: { type: "string" },
    "expect-avatars": { type: "string" },
    "expect-chat": { type: "string" },
    "expect-login-uri": { type: "string" },
    region: { type: "string" },
    width: { type: "string", default: "1440" },
    height: { type: "string", default: "900" },
    theme: { type: "string", default: "light" },
    chromium: { type: "string", default: process.env.CHROMIUM ?? "/usr/bin/chromium" },
    timeout: { type: "string", default: "30" },
  },
});
if (options.url === undefined) {
  console.error("page test: --url is missing");
  process.exit(1);
}

/** Colours that a canvas with land, water and markers has at the very least; an empty one has one. */
const CANVAS_COLOURS_MIN = 8;
const problems = [];
let step = "starting the browser";

const profile = await mkdtemp(join(tmpdir(), "throng-page-"));
let browser;
try {
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: options.chromium,
    headless: true,
    chromiumSandbox: false,
    viewport: { width: Number(options.width), height: Number(options.height) },
    colorScheme: options.theme === "dark" ? "dark" : "light",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  await check(browser.pages()[0] ?? (await browser.newPage()));
} catch (error) {
  problems.push(`while ${step}: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  await browser?.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
}

if (problems.length > 0) {
  for (const problem of problems) {
    console.error(`page test: ${problem}`);
  }
  process.exit(1);
}

async function check(page) {
  page.setDefaultTimeout(Number(options.timeout) * 1_000);
  page.on("console", (message) => {
    if (message.type() === "error") {
      problems.push(`the console has an error: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`a script failed: ${error.message}`));
  page.on("response", (response) => {
    if (response.status() >= 400) {
      problems.push(`${response.url()} answered with status ${response.status()}`);
    }
  });

  try {
    await walkThrough(page);
  } finally {
    // A failure is best understood from what the page looked like.
    if (options.screenshot !== undefined) {
      await page.screenshot({ path: options.screenshot });
    }
  }
}

async function walkThrough(page) {
  step = "loading the page";
  await page.goto(options.url);

  step = "waiting for the socket to be live";
  await page.waitForSelector('html[data-link="live"]');
  await page.getByText("Live", { exact: true }).waitFor();

  step = "waiting for the login URI";
  const expectedUri = options["expect-login-uri"] ?? (await page.evaluate(async () => (await (await fetch("api/info")).json()).login_uri));
  await page.waitForFunction((uri) => document.getElementById("login-uri")?.textContent === uri, expectedUri);

  step = "waiting for figures";
  await page.waitForSelector("#figures:not(.outdated)");
  await page.waitForFunction(() => /\d/.test(document.querySelector("#figure-uptime .figure-value")?.textContent ?? ""));

  if (options.region !== undefined) {
    step = `choosing the region "${options.region}"`;
    await page.locator("#regions button", { hasText: options.region }).click();
    await page.waitForFunction((name) => document.getElementById("map")?.dataset.region?.includes(name), options.region);
  }

  const avatars = Number(options["expect-avatars"] ?? 0);
  step = `waiting for ${avatars} avatars on the map`;
  await page.waitForFunction((count) => Number(document.getElementById("map")?.dataset.avatars) >= count, avatars);

  step = "waiting for the map to be painted";
  await page.waitForFunction((coloursMin) => {
    const canvas = document.getElementById("map");
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const colours = new Set();
    for (let index = 0; index < pixels.length && colours.size < coloursMin; index += 97) {
      colours.add(pixels[index]);
    }
    return colours.size >= coloursMin;
  }, CANVAS_COLOURS_MIN);

  const text = options["expect-chat"];
  if (text !== undefined) {
    step = `waiting for the chat line "${text}"`;
    await page.locator("#chat-log li", { hasText: text }).first().waitFor();
  }

  const shown = await page.evaluate(() => document.getElementById("map")?.dataset.avatars);
  console.log(`page test: live at ${expectedUri}, ${shown} avatars on the map`);
}
