/**
 * Opens the operator's page of worlds in headless Chromium and checks it.
 *
 *   node e2e/worlds.mjs --url http://127.0.0.1:9009/worlds --token TOKEN --world NAME --expect-avatars N [--expect-worlds N]
 *                       [--expect-owner NAME] [--public-uri URI] [--suspended NAME --ended NAME --order-token TOKEN]
 *                       [--screenshot PATH] [--width 1440] [--height 900] [--theme light|dark] [--chromium PATH] [--timeout SECONDS]
 *
 * Checks, each by waiting for its condition: the browser is asked for a token; the table has N worlds with owners, short ids and ages,
 * sorted by cost and then by name; costs are in view; a click on the row of the world NAME opens its map with its avatars, one of them
 * moves, and the address leads to it again; closing it closes it. With a token for orders, the suspended world is asked nothing until
 * it is resumed, a wrong token is refused in words, and the last world ends after a confirmation and not before. The assets are counted, and the inventory of the owner
 * NAME is a tree of folders. See `browser.mjs` for
 * what every page must keep to. Exit status 0 or 1.
 */

import { parseArgs } from "node:util";
import { check, expectAccessible, expectFits, OPTIONS, waitForMap } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    ...OPTIONS,
    token: { type: "string" },
    world: { type: "string" },
    suspended: { type: "string" },
    ended: { type: "string" },
    "order-token": { type: "string" },
    "public-uri": { type: "string" },
    "expect-owner": { type: "string" },
    "expect-worlds": { type: "string", default: "1" },
    "expect-avatars": { type: "string", default: "1" },
  },
});
const credentials = { username: "operator", password: options.token ?? "" };
await check({ ...options, "refused-path": "/resume" }, walkThrough, options.token === undefined ? {} : { httpCredentials: credentials });

/** The row of a world. */
function rowOf(page, name) {
  return page.locator("#worlds tr", { has: page.getByText(name, { exact: true }) }).first();
}

async function walkThrough(page, step) {
  step("loading the page");
  await page.goto(options.url);

  step("waiting for the worlds");
  await page.waitForSelector('html[data-link="live"]');
  const n = Number(options["expect-worlds"]);
  await page.waitForFunction((count) => document.querySelectorAll("#worlds tr").length === count, n);
  await page.waitForFunction((count) => document.querySelector("#total-worlds .figure-value")?.textContent === String(count), n);
  await expectFits(page, step);
  await expectAccessible(page, step);
  if (options["public-uri"] !== undefined) {
    step("looking for the way to the public page");
    await page.waitForFunction((uri) => document.getElementById("public-link").href === uri, options["public-uri"]);
    await page.locator("#public-link").waitFor({ state: "visible" });
  }
  await checkTable(page, step);
  const people = await checkMap(page, step);
  await checkContent(page, step);
  if (options["order-token"] !== undefined) {
    await checkResume(page, step);
    await checkEnd(page, step);
  }
  await expectFits(page, step);
  console.log(`page test: ${n} worlds, and ${people} in ${options.world}, ${options.width} px`);
}

async function checkTable(page, step) {
  step("looking at the order of the worlds");
  const rows = page.locator("#worlds tr");
  const costs = await rows.evaluateAll((all) => all.map((row) => Number(row.dataset.cost || -1)));
  if (costs.some((cost, index) => index > 0 && cost > costs[index - 1])) {
    throw new Error(`the dearest do not come first: ${costs}`);
  }

  step("looking for the costs");
  const { right } = await page.evaluate(() => document.querySelector(".worlds-card").getBoundingClientRect().toJSON());
  for (const cell of ["users", "cost", "load", "age", "owner", "state"]) {
    const box = await rows.first().locator(`.cell-${cell}`).boundingBox();
    if (box === null || box.x < 0 || box.x + box.width > right) {
      throw new Error(`the cell "${cell}" is not in view: ${JSON.stringify(box)}`);
    }
  }

  step("sorting by name");
  if (await page.locator("#worlds-sort").isVisible()) {
    await page.locator("#worlds-sort").selectOption("name");
  } else {
    await page.locator('th[data-column="name"] button').click();
  }
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll(".world-open")].map((open) => open.textContent);
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return document.querySelector('th[data-column="name"]').getAttribute("aria-sort") === "ascending" && names.every((name, index) => index === 0 || compare(names[index - 1], name) <= 0);
  });

  step("finding a world by its name");
  await page.locator("#worlds-search").fill(options.world);
  await page.waitForFunction((name) => [...document.querySelectorAll(".world-open")].every((open) => open.textContent === name), options.world);
  const row = rows.first();
  const id = await row.locator(".world-id").textContent();
  if (!/^[0-9a-f]{8}$/.test(id) || !(await row.getAttribute("data-world")).startsWith(id)) {
    throw new Error(`"${id}" is not the short id of the world`);
  }
  for (const [cell, form] of [["age", /^\d+ (s|min|h|d)$/], ["state", /^Active, \d+ (s|min|h|d)$/], ["load", /^[\d.]+ %$/]]) {
    const text = await row.locator(`.cell-${cell}`).textContent();
    if (!form.test(text)) {
      throw new Error(`${cell}: ${text}`);
    }
  }
  if (options["expect-owner"] !== undefined) {
    await row.locator(".cell-owner", { hasText: options["expect-owner"] }).waitFor();
  }
}

/** Assets, and the inventory of an account. */
async function checkContent(page, step) {
  step("looking for the assets");
  await page.locator("#scrub-state", { hasText: "this pass" }).waitFor();
  if (options["expect-owner"] === undefined) {
    return;
  }
  step(`opening the inventory of ${options["expect-owner"]}`);
  await page.locator("#inventory-name").fill(options["expect-owner"]);
  await page.locator("#inventory-name").press("Enter");
  await page.locator("#inventory-state", { hasText: `${options["expect-owner"]} has ` }).waitFor();
  await page.locator("#inventory details[open] li", { hasText: "Clothing" }).first().waitFor();
  await expectFits(page, step);
  await expectAccessible(page, step);
}

async function checkMap(page, step) {
  const avatars = Number(options["expect-avatars"]);
  step(`opening the map of ${options.world}`);
  // Any part of the row opens it.
  await rowOf(page, options.world).locator(".cell-age").click();
  await page.waitForFunction((name) => document.getElementById("map")?.dataset.region === name, options.world);
  await waitForMap(page, avatars, step);
  await page.locator("#map-notice").waitFor({ state: "hidden" });
  const people = await page.locator("#present li").count();
  if (people < avatars) {
    throw new Error(`${people} are listed beside the map`);
  }
  await expectFits(page, step);
  await expectAccessible(page, step);

  step("waiting for an avatar to move");
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
      throw new Error("no avatar moves on the map");
    }
    await page.waitForTimeout(200);
  }

  step("coming back by the address");
  await page.reload();
  await page.waitForFunction((name) => document.getElementById("map")?.dataset.region === name, options.world);
  await waitForMap(page, avatars, step);
  if (options.screenshot !== undefined) {
    // With all worlds, and the map beside them.
    await page.screenshot({ path: options.screenshot.replace(/\.png$/, "-map.png") });
  }

  step("closing the map");
  await page.locator("#map-close").click();
  await page.locator("#map-card").waitFor({ state: "hidden" });
  return people;
}

/** A suspended world is asked nothing; it is resumed with a token, and its map opens by itself. */
async function checkResume(page, step) {
  const row = rowOf(page, options.suspended);
  step(`opening ${options.suspended}, which is suspended`);
  const asked = [];
  const note = (request) => request.url().includes("/map") && asked.push(request.url());
  page.on("request", note);
  await row.locator(".cell-state", { hasText: "Suspended" }).waitFor();
  await row.locator(".world-open").click();
  await page.locator("#map-notice", { hasText: "Suspended" }).waitFor();
  // The list of worlds has been asked for twice meanwhile: as long as a world in memory would have been asked for its map.
  for (let n = 0; n < 2; n += 1) {
    await page.waitForResponse((response) => response.url().endsWith("/v1/worlds"));
  }
  page.off("request", note);
  if (asked.length > 0) {
    throw new Error(`a suspended world was asked: ${asked[0]}`);
  }

  step("resuming it without a token that is one");
  await page.locator("#map-resume").click();
  await expectAccessible(page, step);
  await page.locator("#order-confirm").click();
  await page.locator("#order-trouble", { hasText: "Enter a token" }).waitFor();
  await page.locator("#order-token").fill("no-token-of-this-server");
  // The server's refusal is wanted here.
  const allowed = page.waitForResponse((response) => response.url().endsWith("/resume") && response.status() === 401);
  await page.locator("#order-token").press("Enter");
  await allowed;
  await page.locator("#order-trouble", { hasText: "token" }).waitFor();

  step("resuming it");
  await page.locator("#order-token").fill(options["order-token"]);
  await page.locator("#order-token").press("Enter");
  await page.locator("#order").waitFor({ state: "hidden" });
  await row.locator(".cell-state", { hasText: "Active" }).waitFor();
  await page.waitForFunction((name) => document.getElementById("map")?.dataset.region === name, options.suspended);
  await page.locator("#map-close").click();
}

/** A world ends after a confirmation and not before; the token is known by now. */
async function checkEnd(page, step) {
  const row = rowOf(page, options.ended);
  step(`ending ${options.ended}, and thinking better of it`);
  await row.getByRole("button", { name: /^End / }).click();
  await page.locator("#order-title", { hasText: options.ended }).waitFor();
  await page.locator("#order-token-row").waitFor({ state: "hidden" });
  await page.keyboard.press("Escape");
  await page.locator("#order").waitFor({ state: "hidden" });
  await page.waitForResponse((response) => response.url().endsWith("/v1/worlds"));
  await row.waitFor();

  step(`ending ${options.ended}`);
  await row.getByRole("button", { name: /^End / }).click();
  await page.locator("#order-confirm").click();
  await page.locator("#order").waitFor({ state: "hidden" });
  await row.waitFor({ state: "detached" });
}
