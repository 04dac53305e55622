/**
 * Headless Chromium for the checks here: a page that logs an error, breaks its security policy or misses a file has failed, and so has
 * one that is wider than its window, or in which axe-core finds a barrier (contrast, names, roles, WCAG 2.2 A and AA).
 */

import { mkdtemp, rm } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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

/** Narrower windows are those of phones: touched, and with a scale of their own. */
const PHONE_PX_MAX = 600;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Colours that a canvas with land, water and markers has at the very least; an empty one has one. */
const CANVAS_COLOURS_MIN = 8;

/**
 * Opens a browser and walks through a page: `walk(page, step)` names each step before it is taken. Ends the process with status 1 if
 * anything is wrong. `context` is added to the browser's settings. Requests for `refused-path` may be refused for want of a token.
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
      reducedMotion: "reduce",
      ...(Number(options.width) < PHONE_PX_MAX ? { isMobile: true, hasTouch: true } : {}),
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
    const isWanted = options["refused-path"] !== undefined && message.location().url.endsWith(options["refused-path"]);
    if (message.type() === "error" && !isWanted) {
      problems.push(`the console has an error: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`a script failed: ${error.message}`));
  page.on("response", (response) => {
    // A browser without a token is asked for one, and shows it from then on.
    const isNavigation = response.request().isNavigationRequest();
    const asksForToken = response.status() === 401 && (isNavigation || response.url().endsWith(options["refused-path"] ?? "//"));
    if (response.status() >= 400 && !asksForToken) {
      problems.push(`${response.url()} answered with status ${response.status()}`);
    }
  });
}

/** Waits until the map has drawn at least `avatars` avatars, and its canvas is not blank. */
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

/** Fails when the document is wider than the window, or a part of it reaches beyond. Parts that scroll by themselves may. */
export async function expectFits(page, step) {
  step("measuring the width of the page");
  const wide = await page.evaluate(() => {
    const right = document.documentElement.clientWidth;
    const isScrolled = (element) => element.parentElement?.closest(".regions, .worlds-scroll, code, .chat") !== null;
    const isShown = (element) => element.checkVisibility() && element.closest(".visually-hidden, svg") === null;
    const all = [...document.body.querySelectorAll("*")].filter((element) => isShown(element) && !isScrolled(element));
    const beyond = all.filter((element) => element.getBoundingClientRect().right > right + 1);
    const names = beyond.map((element) => `${element.tagName.toLowerCase()}#${element.id}.${element.className}`);
    return document.scrollingElement.scrollWidth > right ? [`document (${document.scrollingElement.scrollWidth} px)`, ...names] : names;
  });
  if (wide.length > 0) {
    throw new Error(`wider than the window: ${wide.slice(0, 5).join(", ")}`);
  }
}

/** Fails on barriers for readers with other eyes, hands or devices. */
export async function expectAccessible(page, step) {
  step("looking for barriers");
  // Evaluated by the debugger: the page's security policy forbids it everything else, too.
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ target, any }) => `${target} (${any[0]?.message ?? ""})`)}`);
  });
  if (violations.length > 0) {
    throw new Error(`barriers: ${violations.join("; ")}`);
  }
}
