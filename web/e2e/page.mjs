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

import { parseArgs } from "node:util";
import { check, OPTIONS, waitForMap } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    ...OPTIONS,
    "expect-avatars": { type: "string" },
    "expect-chat": { type: "string" },
    "expect-login-uri": { type: "string" },
    region: { type: "string" },
  },
});
await check(options, walkThrough);

async function walkThrough(page, step) {
  step("loading the page");
  await page.goto(options.url);

  step("waiting for the socket to be live");
  await page.waitForSelector('html[data-link="live"]');
  await page.getByText("Live", { exact: true }).waitFor();

  step("waiting for the login URI");
  const expectedUri = options["expect-login-uri"] ?? (await page.evaluate(async () => (await (await fetch("api/info")).json()).login_uri));
  await page.waitForFunction((uri) => document.getElementById("login-uri")?.textContent === uri, expectedUri);

  step("waiting for figures");
  await page.waitForSelector("#figures:not(.outdated)");
  await page.waitForFunction(() => /\d/.test(document.querySelector("#figure-uptime .figure-value")?.textContent ?? ""));

  if (options.region !== undefined) {
    step(`choosing the region "${options.region}"`);
    await page.locator("#regions button", { hasText: options.region }).click();
    await page.waitForFunction((name) => document.getElementById("map")?.dataset.region?.includes(name), options.region);
  }

  const avatars = Number(options["expect-avatars"] ?? 0);
  await waitForMap(page, avatars, step);

  const text = options["expect-chat"];
  if (text !== undefined) {
    step(`waiting for the chat line "${text}"`);
    await page.locator("#chat-log li", { hasText: text }).first().waitFor();
  }

  const shown = await page.evaluate(() => document.getElementById("map")?.dataset.avatars);
  console.log(`page test: live at ${expectedUri}, ${shown} avatars on the map`);
}
