/** Headless Chromium for the checks here: a page that logs an error, breaks its security policy or misses a file has failed. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** Options that every check takes, for `parseArgs`. */
export const OPTIONS = {
  url: { type: "string" },
  screenshot: { type: "string" },
  width: { type: "string", default: "1440" },
  height: { type: "string", default: "900" },
  theme: { type: "string", default: "light" },
  chromium: { type: "string", default: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  timeout: { type: "string", default: "30" },
};

/** Colours that a canvas with land, water and markers has at the very least; an empty one has one. */
const CANVAS_COLOURS_MIN = 8;

/**
 * Opens a browser and walks through a page: `walk(page, step)` names each step before it is taken. Ends the process with status 1 if
 * anything is wrong. `context` is added to the browser's settings.
 */
export async function check(options, walk, context = {}) {
  if (options.url === undefined) {
    console.error("page test: --url is missing");
    process.exit(1);
  }
  const problems = [];
  let now = "starting the browser";
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
      ...context,
    });
    const page = browser.pages()[0] ?? (await browser.newPage());
    watch(page, options, problems);
    try {
      await walk(page, (step) => (now = step));
    } finally {
      // A failure is best understood from what the page looked like.
      if (options.screenshot !== undefined) {
        await page.screenshot({ path: options.screenshot });
      }
    }
  } catch (error) {
    problems.push(`while ${now}: ${error instanceof Error ? error.message : String(error)}`);
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
}

function watch(page, options, problems) {
  page.setDefaultTimeout(Number(options.timeout) * 1_000);
  page.on("console", (message) => {
    if (message.type() === "error") {
      problems.push(`the console has an error: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`a script failed: ${error.message}`));
  page.on("response", (response) => {
    // A browser without a token is asked for one, and shows it from then on.
    const asksForToken = response.status() === 401 && response.request().isNavigationRequest();
    if (response.status() >= 400 && !asksForToken) {
      problems.push(`${response.url()} answered with status ${response.status()}`);
    }
  });
}

/** Waits until the map has drawn at least so many avatars, and its canvas is not blank. */
export async function waitForMap(page, avatars, step) {
  step(`waiting for ${avatars} avatars on the map`);
  await page.waitForFunction((count) => Number(document.getElementById("map")?.dataset.avatars) >= count, avatars);
  step("waiting for the map to be painted");
  await page.waitForFunction((coloursMin) => {
    const canvas = document.getElementById("map");
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const colours = new Set();
    for (let index = 0; index < pixels.length && colours.size < coloursMin; index += 97) {
      colours.add(pixels[index]);
    }
    return colours.size >= coloursMin;
  }, CANVAS_COLOURS_MIN);
}
