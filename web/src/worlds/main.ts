/**
 * The operator's page: all instances with their costs, and the map of the chosen one.
 *
 * Its address is the operator's, where the browser asks for a token when it opens the page. The map that is open stands behind the `#` of
 * the address. Requests: `api.ts`; changes of worlds and their confirmation: `orders.ts`.
 */

import "../style.css";
import "./worlds.css";
import { part, textElement } from "../dom";
import { formatCount, formatMs } from "../format";
import { attachGestures } from "../map/gestures";
import { RegionMap } from "../map/map";
import { RegionObjects } from "../map/objects";
import { Reliefs } from "../map/relief";
import { parseHello } from "../net/protocol";
import { attachTheme } from "../theme";
import { fetchMap, fetchPositions, fetchWorlds, Refusal, sendOrder, type Present, type World } from "./api";
import { AssetsPanel, fetchAssets } from "./assets";
import { BackupsPanel, fetchBackups } from "./backups";
import { InventoryPanel } from "./inventory";
import { ArchivesPanel, fetchArchiveJobs, fetchJobs } from "./jobs";
import { OrderDialog } from "./orders";
import { isActive, isSuspended, shortId, totals } from "./ranking";
import { fetchEdits, fetchRegions, RegionsPanel } from "./regions";
import { formatDilation, formatShare, stateText, WorldTable } from "./table";
import { Watcher } from "./watcher";

/** Time between two requests for all worlds. The server's figures are a second old at most, and the answer may list thousands. */
const WORLDS_MS = 2_000;
/** Time between two requests for all regions. */
const REGIONS_MS = 2_000;
/** Time between two requests for backups and jobs. */
const BACKUPS_MS = 5_000;
/** Time between two requests for loads and saves of archives. */
const ARCHIVES_MS = 2_000;
/** Time between two requests for assets. Each looks for all that are in quarantine. */
const ASSETS_MS = 30_000;
/** Time between two requests for the ground and the objects of the map. */
const MAP_MS = 60_000;
/** Names beside the map. */
const PRESENT_MAX = 100;

const root = document.documentElement;
let worlds: readonly World[] | undefined;
let chosen: string | undefined;
let watcher: Watcher | undefined;
let wakeUp: (() => void) | undefined;

const orders = new OrderDialog(sendOrder, (order, world) => {
  if (order === "end" && world.id === chosen) {
    location.hash = "";
  }
  // The list is asked for at once.
  wakeUp?.();
});
const regionsPanel = new RegionsPanel();
const backupsPanel = new BackupsPanel();
const archivesPanel = new ArchivesPanel();
const assetsPanel = new AssetsPanel();
new InventoryPanel();
const table = new WorldTable({
  onChoose(world) {
    location.hash = world.id === chosen ? "" : world.id;
  },
  onOrder: (order, world) => orders.open(order, world),
});
const reliefs = new Reliefs(
  () => map.invalidate(),
  () => `v1/worlds/${chosen ?? ""}/map/heights`,
);
const objects = new RegionObjects(
  () => map.invalidate(),
  () => `v1/worlds/${chosen ?? ""}/map/objects`,
);
const map = new RegionMap(part("map", HTMLCanvasElement), reliefs, objects);
const refreshMapControls = attachGestures(
  map,
  {
    closer: part("zoom-closer", HTMLButtonElement),
    farther: part("zoom-farther", HTMLButtonElement),
    whole: part("zoom-whole", HTMLButtonElement),
  },
  (id) => map.followAvatar(id),
);

attachTheme(part("theme", HTMLButtonElement), () => map.themeChanged());
part("map-close", HTMLButtonElement).addEventListener("click", () => {
  const closed = chosen;
  location.hash = "";
  // Back to the row from which it was opened: on a phone the map stands above the table.
  table.focusRow(closed);
});
part("map-resume", HTMLButtonElement).addEventListener("click", () => {
  const world = chosenWorld();
  if (world !== undefined) {
    orders.open("resume", world);
  }
});
window.addEventListener("hashchange", openChosen);
openChosen();
requestAnimationFrame(onFrame);
void linkToPublicPage();
void watchWorlds();
watchParts();
setInterval(refreshMap, MAP_MS);

/** Users build. A hidden page asks for nothing. */
function refreshMap(): void {
  if (!document.hidden && chosen !== undefined) {
    reliefs.refresh();
    objects.refresh();
  }
}

async function linkToPublicPage(): Promise<void> {
  try {
    const hello = parseHello(await (await fetch("api/info")).json());
    const link = part("public-link", HTMLAnchorElement);
    link.href = hello.login_uri;
    link.hidden = false;
    document.title = `Worlds · ${hello.grid}`;
  } catch (error) {
    console.warn(`No answer from api/info: ${String(error)}`);
  }
}

async function watchWorlds(): Promise<void> {
  for (;;) {
    // A hidden page asks for nothing.
    if (!document.hidden) {
      try {
        worlds = await fetchWorlds();
        setLink("live", "Live");
        table.setWorlds(worlds);
        paintTotals(worlds);
        followChosen();
      } catch (error) {
        setLink("waiting", error instanceof Refusal ? error.message : "The server does not answer");
      }
    }
    await Promise.race([sleep(WORLDS_MS), new Promise<void>((done) => (wakeUp = done))]);
  }
}

/** Shows a part of the page for as long as the token has the scope for it. */
async function watchPart(path: string, period_ms: number, show: () => Promise<void>, hide: () => void): Promise<void> {
  for (;;) {
    if (!document.hidden) {
      try {
        await show();
      } catch (error) {
        if (error instanceof Refusal && error.status === 403) {
          hide();
          return;
        }
        // The list of worlds says that the server does not answer.
        console.warn(`No answer from ${path}: ${String(error)}`);
      }
    }
    await sleep(period_ms);
  }
}

function watchParts(): void {
  const showRegions = async (): Promise<void> => {
    const regions = await fetchRegions();
    regionsPanel.show(regions, await fetchEdits(regions));
  };
  const showBackups = async (): Promise<void> => backupsPanel.show(await fetchBackups(), await fetchJobs(), Date.now() / 1_000);
  const showArchives = async (): Promise<void> => archivesPanel.show(await fetchArchiveJobs(), Date.now() / 1_000);
  const showAssets = async (): Promise<void> => assetsPanel.show(await fetchAssets());
  void watchPart("v1/regions", REGIONS_MS, showRegions, () => regionsPanel.hide());
  void watchPart("v1/backups", BACKUPS_MS, showBackups, () => backupsPanel.hide());
  void watchPart("v1/archives/jobs", ARCHIVES_MS, showArchives, () => archivesPanel.hide());
  void watchPart("v1/assets", ASSETS_MS, showAssets, () => assetsPanel.hide());
}

function setLink(link: string, text: string): void {
  // Style sheet and tests read the state here.
  root.dataset["link"] = link;
  part("link-text", HTMLElement).textContent = text;
  part("figures", HTMLElement).classList.toggle("outdated", link !== "live");
}

function paintTotals(all: readonly World[]): void {
  const { worlds: count, active, users, npcs, cores, dearest_us, dilation } = totals(all);
  figure("worlds", formatCount(count), `${formatCount(active)} in memory`);
  figure("users", formatCount(users), "in all worlds");
  figure("npcs", formatCount(npcs), "in all worlds");
  const isMany = (cores ?? 0) >= 1;
  figure("cores", isMany ? formatMs(cores ?? Number.NaN) : formatShare(cores), isMany ? "cores, with all awake" : "of a core, with all awake");
  figure("dearest", `${formatMs(dearest_us ?? Number.NaN)} µs`, "a step of the dearest");
  figure("dilation", formatDilation(dilation), "slowest; 1.00 is real time");
}

function figure(name: string, value: string, detail: string): void {
  const element = part(`total-${name}`, HTMLElement);
  element.querySelector(".figure-value")!.textContent = value;
  element.querySelector(".figure-detail")!.textContent = detail;
}

function chosenWorld(): World | undefined {
  return worlds?.find(({ id }) => id === chosen);
}

/** Opens the map that the address names, or none. */
function openChosen(): void {
  stopWatching();
  chosen = /^#([0-9a-f-]{36})$/.exec(location.hash)?.[1];
  table.setChosen(chosen);
  const card = part("map-card", HTMLElement);
  card.hidden = chosen === undefined;
  // The picture of another world is not shown while this one's first answer is on its way.
  map.canvas.dataset["avatars"] = "0";
  delete map.canvas.dataset["region"];
  map.canvas.classList.add("unknown");
  paintPresent([]);
  if (chosen !== undefined) {
    setNotice("Waiting for the server…");
    followChosen();
    card.scrollIntoView({ block: "nearest" });
  }
}

/** Watches the chosen world while it is in memory. A suspended one is asked nothing: there is nothing new to be known of it. */
function followChosen(): void {
  if (chosen === undefined || worlds === undefined) {
    return;
  }
  const world = chosenWorld();
  const isResting = world !== undefined && isSuspended(world);
  part("map-resume", HTMLButtonElement).hidden = !isResting;
  part("map-title", HTMLElement).textContent = world?.name ?? "Map";
  part("map-about", HTMLElement).textContent = world === undefined ? "" : `${shortId(world)} · ${stateText(world)}`;
  part("map-trouble", HTMLElement).textContent = world?.trouble ?? "";
  part("map-trouble", HTMLElement).hidden = world?.trouble === undefined;
  if (world !== undefined && isActive(world)) {
    if (watcher === undefined) {
      startWatching(world.id);
    }
    return;
  }
  stopWatching();
  paintPresent([]);
  map.canvas.classList.add("unknown");
  setNotice(
    world === undefined ? "This world has ended." : isResting ? "Suspended: saved on the disk, out of memory." : `${stateText(world)}…`,
  );
}

function startWatching(id: string): void {
  const started = new Watcher(
    id,
    { map: fetchMap, positions: fetchPositions },
    {
      onOpen(region) {
        part("map-size", HTMLElement).textContent = `${region.info.size_m} × ${region.info.size_m} m`;
        reliefs.load([region]);
        objects.load([region]);
        map.canvas.classList.remove("unknown");
        map.showRegion(region);
      },
      onPresent: paintPresent,
      onPositions: () => map.invalidate(),
      onTrouble: setNotice,
    },
    { now: () => performance.now(), sleep },
  );
  watcher = started;
  void started.run().then(() => {
    // It has ended or left memory. The next list of worlds says which, and starts another watcher if need be.
    if (watcher === started) {
      watcher = undefined;
    }
  });
}

function stopWatching(): void {
  watcher?.stop();
  watcher = undefined;
}

function setNotice(text: string | undefined): void {
  const notice = part("map-notice", HTMLElement);
  notice.hidden = text === undefined;
  notice.textContent = text ?? "";
}

function paintPresent(present: readonly Present[]): void {
  const users = present.filter((one) => !one.npc);
  const npcs = present.length - users.length;
  const count = present.length === 0 ? "" : `${counted(users.length, "user")}, ${counted(npcs, "NPC")}`;
  part("map-count", HTMLElement).textContent = count;
  map.canvas.setAttribute("aria-label", `Map of ${part("map-title", HTMLElement).textContent}: ${count}`);
  const list = part("present", HTMLUListElement);
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["avatar"] : undefined;
  const shown = [...users, ...present.filter((one) => one.npc)].slice(0, PRESENT_MAX);
  list.replaceChildren(...shown.map(makePresent));
  // The list was replaced under the focus; its row gets it back.
  list.querySelector<HTMLElement>(`[data-avatar="${focused ?? ""}"]`)?.focus({ preventScroll: true });
  part("present-empty", HTMLElement).hidden = present.length > 0;
}

/** A row that follows its avatar on the map. */
function makePresent(one: Present): HTMLElement {
  const row = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset["avatar"] = String(one.id);
  button.setAttribute("aria-pressed", String(map.followedId === one.id));
  button.append(textElement("span", "person-name", one.name), textElement("span", "person-region", one.npc ? "NPC" : "user"));
  button.addEventListener("click", () => {
    map.followAvatar(map.followedId === one.id ? undefined : one.id);
    button.setAttribute("aria-pressed", String(map.followedId === one.id));
  });
  row.append(button);
  return row;
}

/** `1 user`, `2 users` */
function counted(n: number, what: string): string {
  return `${formatCount(n)} ${what}${n === 1 ? "" : "s"}`;
}

function onFrame(now: number): void {
  if (chosen !== undefined && map.paintIfNeeded(now)) {
    refreshMapControls();
  }
  requestAnimationFrame(onFrame);
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
