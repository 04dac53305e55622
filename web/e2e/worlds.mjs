/**
 * Opens the operator's page of worlds in headless Chromium and checks it.
 *
 *   node e2e/worlds.mjs --url http://127.0.0.1:9009/worlds --token TOKEN --world NAME --expect-avatars N [--expect-worlds N]
 *                       [--screenshot PATH] [--width 1440] [--height 900] [--theme light|dark] [--chromium PATH] [--timeout SECONDS]
 *
 * Checks, each by waiting for its condition: the browser is asked for a token; the table has N worlds, the dearest first, with
 * totals; choosing the world NAME opens its map with its avatars, somebody on it moves, and the address leads to it again; closing it
 * closes it. Exit status 0 or 1.
 */

import { parseArgs } from "node:util";
import { check, OPTIONS, waitForMap } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    ...OPTIONS,
    token: { type: "string" },
    world: { type: "string" },
    "expect-worlds": { type: "string", default: "1" },
    "expect-avatars": { type: "string", default: "1" },
  },
});
const credentials = { username: "operator", password: options.token ?? "" };
await check(options, walkThrough, options.token === undefined ? {} : { httpCredentials: credentials });

async function walkThrough(page, step) {
  step("loading the page");
  await page.goto(options.url);

  step("waiting for the worlds");
  await page.waitForSelector('html[data-link="live"]');
  const rows = page.locator("#worlds tr");
  const n = Number(options["expect-worlds"]);
  await page.waitForFunction((count) => document.querySelectorAll("#worlds tr").length === count, n);
  await page.waitForFunction((count) => document.querySelector("#total-worlds .figure-value")?.textContent === String(count), n);

  step("looking at the order of the worlds");
  const costs = await rows.evaluateAll((all) => all.map((row) => Number(row.dataset.cost || -1)));
  if (costs.some((cost, index) => index > 0 && cost > costs[index - 1])) {
    throw new Error(`the dearest do not come first: ${costs}`);
  }

  step("finding a world by its name");
  await page.locator("#worlds-search").fill(options.world);
  await page.waitForFunction((name) => [...document.querySelectorAll("#worlds th")].every((row) => row.textContent === name), options.world);

  step(`opening the map of ${options.world}`);
  await rows.locator("button").first().click();
  await page.waitForFunction((name) => document.getElementById("map")?.dataset.region === name, options.world);
  await waitForMap(page, Number(options["expect-avatars"]), step);
  await page.locator("#map-notice").waitFor({ state: "hidden" });
  const people = await page.locator("#present li").count();
  if (people < Number(options["expect-avatars"])) {
    throw new Error(`${people} are listed beside the map`);
  }

  step("waiting for somebody to move");
  const picture = () =>
    page.evaluate(() => {
      const canvas = document.getElementById("map");
      const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      return pixels.reduce((sum, pixel, index) => (Math.imul(sum, 31) + (pixel ^ index)) | 0, 0);
    });
  const before = await picture();
  const deadline = Date.now() + Number(options.timeout) * 1_000;
  while ((await picture()) === before) {
    if (Date.now() > deadline) {
      throw new Error("nobody moves on the map");
    }
    await page.waitForTimeout(200);
  }

  step("coming back by the address");
  await page.reload();
  await page.waitForFunction((name) => document.getElementById("map")?.dataset.region === name, options.world);
  await waitForMap(page, Number(options["expect-avatars"]), step);
  if (options.screenshot !== undefined) {
    // With all worlds, and the map beside them.
    await page.screenshot({ path: options.screenshot.replace(/\.png$/, "-map.png") });
  }

  step("closing the map");
  await page.locator("#map-close").click();
  await page.locator("#map-card").waitFor({ state: "hidden" });
  console.log(`page test: ${n} worlds, and ${people} in ${options.world}`);
}
