/**
 * Opens the page in headless Chromium and checks that it is alive.
 *
 *   node e2e/page.mjs --url http://127.0.0.1:9000/ [--screenshot PATH] [--expect-avatars N] [--expect-chat TEXT]
 *                     [--expect-login-uri URI] [--expect-worlds-uri URI] [--expect-boxes N] [--expect-portals N] [--region NAME] [--width 1440]
 *                     [--height 900] [--theme light|dark] [--chromium /usr/bin/chromium] [--timeout SECONDS]
 *
 * Checks, each by waiting for its condition: the socket is live; the login URI is shown (the given one, or that of `api/info`), and the
 * operator's link to the page of worlds, if one is expected; figures have arrived, in visitors' words until the switch is used, and their
 * course survives a reload; the map has drawn at least N avatars, the expected boxes and portals, and its canvas is not blank; an avatar is
 * named under the pointer and followed by a click; the list of people is searched and followed by keyboard, with few rows in the document;
 * on a phone the map comes first and the instructions are folded; the chat shows a line that contains TEXT. See `browser.mjs` for what
 * every page must keep to. Exit status 0 or 1.
 */

import { parseArgs } from "node:util";
import { check, expectAccessible, expectFits, OPTIONS, waitForMap } from "./browser.mjs";

const { values: options } = parseArgs({
  options: {
    ...OPTIONS,
    "expect-avatars": { type: "string" },
    "expect-chat": { type: "string" },
    "expect-login-uri": { type: "string" },
    "expect-worlds-uri": { type: "string" },
    "expect-boxes": { type: "string" },
    "expect-portals": { type: "string" },
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

  if (options["expect-worlds-uri"] !== undefined) {
    step("looking for the way to the page of worlds");
    await page.waitForFunction((uri) => document.getElementById("worlds-link").href === uri, options["expect-worlds-uri"]);
    await page.locator("#worlds-link").waitFor({ state: "visible" });
  }

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

  for (const what of ["boxes", "portals"]) {
    const count = options[`expect-${what}`];
    if (count !== undefined) {
      step(`waiting for ${count} ${what} on the map`);
      await page.waitForFunction(([name, n]) => document.getElementById("map")?.dataset[name] === n, [what, count]);
    }
  }

  const text = options["expect-chat"];
  if (text !== undefined) {
    step(`waiting for the chat line "${text}"`);
    await page.locator(".chat-line", { hasText: text }).first().waitFor();
  }

  await expectFits(page, step);
  await expectAccessible(page, step);
  await checkLayout(page, step);
  if (avatars > 0) {
    await followOnMap(page, step);
    await followFromList(page, step);
  }
  await checkFigures(page, step);
  await expectFits(page, step);

  const shown = await page.evaluate(() => document.getElementById("map")?.dataset.avatars);
  console.log(`page test: live at ${expectedUri}, ${shown} avatars on the map, ${options.width} px`);
}

/** The instructions stand beside the map, or folded below it, where a link of the first sentence unfolds them. */
async function checkLayout(page, step) {
  step("looking at the order of the parts");
  const { map, connect, isOpen, width } = await page.evaluate(() => ({
    map: document.getElementById("map").getBoundingClientRect().toJSON(),
    connect: document.getElementById("connect").getBoundingClientRect().toJSON(),
    isOpen: document.getElementById("connect").open,
    width: window.innerWidth,
  }));
  if (isOpen !== width >= 960) {
    throw new Error(`at ${width} px the instructions are ${isOpen ? "open" : "folded"}`);
  }
  if (width >= 960 ? connect.left < map.right : connect.top < map.bottom) {
    throw new Error(`at ${width} px the instructions are at ${JSON.stringify(connect)} and the map at ${JSON.stringify(map)}`);
  }
  if (!isOpen) {
    step("unfolding the instructions");
    await page.locator(".intro a").click();
    await page.locator("#login-uri").waitFor({ state: "visible" });
    await page.locator("#connect summary").click();
  }
}

/** Moves over the map until an avatar is under the pointer, which names it; a click follows it. */
async function followOnMap(page, step) {
  step("looking for an avatar under the pointer");
  await page.locator("#map").scrollIntoViewIfNeeded();
  const box = await page.locator("#map").boundingBox();
  const deadline = Date.now() + Number(options.timeout) * 1_000;
  const next = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  for (let n = 0; ; n += 1) {
    if (Date.now() > deadline) {
      throw new Error("no avatar is found by moving over the map");
    }
    // Spots of a spiral from the middle on, where visitors arrive.
    const [angle, away] = [n * 2.4, (Math.sqrt(n % 900) / 30) * (box.width / 2)];
    await page.mouse.move(box.x + box.width / 2 + Math.cos(angle) * away, box.y + box.height / 2 + Math.sin(angle) * away);
    await next();
    const name = await page.evaluate(() => document.getElementById("map").dataset.pointed);
    if (name !== "") {
      await page.mouse.down();
      await page.mouse.up();
      await next();
      const following = await page.locator("#unfollow").textContent();
      // It may have walked on between the two.
      if (following?.startsWith("Following")) {
        break;
      }
    }
  }
  step("letting go of the avatar");
  await page.locator("#unfollow").click();
  await page.locator("#unfollow").waitFor({ state: "hidden" });
  await page.locator("#zoom-whole").click({ force: true });
}

/** Finds the last person of the list by name, and follows them with the keyboard alone. */
async function followFromList(page, step) {
  step("opening the list of people");
  await page.locator("#tab-people").click();
  await page.locator(".person").first().waitFor();
  const { count, rows } = await page.evaluate(() => ({
    count: Number(document.getElementById("people-count").textContent.replaceAll(",", "")),
    rows: document.querySelectorAll(".person").length,
  }));
  if (rows > Math.min(count, 60)) {
    throw new Error(`${rows} rows are in the document`);
  }
  step("choosing the last person with the keyboard");
  await page.locator("#people-list").focus();
  await page.keyboard.press("End");
  await page.waitForFunction((n) => document.getElementById("people-list").getAttribute("aria-activedescendant") === `person-${n - 1}`, count);
  const name = await page.locator(`#person-${count - 1} .person-name`).textContent();
  await page.keyboard.press("Enter");
  await page.locator("#unfollow", { hasText: name }).waitFor();

  step(`searching for ${name}`);
  await page.locator("#people-search").fill(name.toUpperCase());
  await page.waitForFunction((wanted) => document.querySelector(".person-name")?.textContent === wanted, name);
  await page.locator("#people-search").fill("no such person");
  await page.locator("#people-note", { hasText: "no person with this name" }).waitFor();
  await page.locator("#people-search").fill("");
  await page.locator("#unfollow").click();
}

/** Visitors' words by default, engineers' figures behind a switch; a reload keeps the choice and the course of the figures. */
async function checkFigures(page, step) {
  step("switching to figures for engineers");
  await page.locator("#figure-people").waitFor({ state: "visible" });
  await page.locator("#figure-tick").waitFor({ state: "hidden" });
  await page.locator("#detail").click();
  await page.locator("#figure-tick").waitFor({ state: "visible" });
  await page.locator("#figure-people").waitFor({ state: "hidden" });
  await page.waitForFunction(() => Number(document.getElementById("figures").dataset.history) >= 3);
  const before = await page.evaluate(() => Number(document.getElementById("figures").dataset.history));

  step("reloading");
  // The first course after a reload is the server's; without one it would begin with a single second.
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      const history = document.getElementById("figures")?.dataset.history;
      if (history !== undefined) {
        window.firstHistory = Number(history);
        window.firstPeople = document.querySelector("#figure-people .figure-value").textContent;
        observer.disconnect();
      }
    });
    observer.observe(document, { subtree: true, childList: true, attributes: true });
  });
  await page.reload();
  await page.waitForFunction(() => window.firstHistory !== undefined);
  const after = await page.evaluate(() => window.firstHistory);
  if (after < before) {
    throw new Error(`a reload shows ${after} s of figures, ${before} s were shown before`);
  }
  const people = await page.evaluate(() => window.firstPeople);
  if (!/^[\d,]+$/.test(people)) {
    throw new Error(`a reload shows "${people}" people until the next figures arrive`);
  }
  await page.locator("#figure-tick").waitFor({ state: "visible" });
  await page.locator("#detail").click();
  await page.locator("#figure-people").waitFor({ state: "visible" });
}
