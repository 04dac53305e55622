/**
 * The operator's page: all instances with what they cost, and the map of the one that is chosen.
 *
 * Its address is the operator's, whose browser was asked for a token when it opened the page. It only looks: it sends nothing that
 * changes anything. Which map is open stands behind the `#` of its address.
 */

import "../style.css";
import "./worlds.css";
import { part, textElement } from "../dom";
import { formatCount, formatMs } from "../format";
import { attachGestures } from "../map/gestures";
import { RegionMap } from "../map/map";
import { Reliefs } from "../map/relief";
import { attachTheme } from "../theme";
import { fetchMap, fetchPositions, fetchWorlds, Refusal, type Present, type World } from "./api";
import { totals } from "./ranking";
import { formatShare, WorldTable } from "./table";
import { Watcher } from "./watcher";

/** Between two questions for all worlds; they are answered a second late at most, and there may be thousands. */
const WORLDS_MS = 2_000;
/** Names beside the map. */
const PRESENT_MAX = 100;

const root = document.documentElement;
let worlds: readonly World[] = [];
let chosen: string | undefined;
let watcher: Watcher | undefined;

const table = new WorldTable((world) => {
  location.hash = world.id === chosen ? "" : world.id;
});
const reliefs = new Reliefs(
  () => map.invalidate(),
  () => `v1/worlds/${chosen ?? ""}/map/heights`,
);
const map = new RegionMap(part("map", HTMLCanvasElement), reliefs);
const refreshMapControls = attachGestures(
  map,
  {
    closer: part("zoom-closer", HTMLButtonElement),
    farther: part("zoom-farther", HTMLButtonElement),
    whole: part("zoom-whole", HTMLButtonElement),
  },
  (id) => map.follow(id),
);

attachTheme(part("theme", HTMLButtonElement), () => map.themeChanged());
part("map-close", HTMLButtonElement).addEventListener("click", () => (location.hash = ""));
window.addEventListener("hashchange", openChosen);
openChosen();
requestAnimationFrame(onFrame);
void watchWorlds();

async function watchWorlds(): Promise<void> {
  for (;;) {
    // A page that nobody sees asks for nothing.
    if (!document.hidden) {
      try {
        worlds = await fetchWorlds();
        setLink("live", "Live");
        table.setWorlds(worlds);
        paintTotals();
      } catch (error) {
        setLink("waiting", error instanceof Refusal ? error.message : "The server does not answer");
      }
    }
    await sleep(WORLDS_MS);
  }
}

function setLink(link: string, text: string): void {
  // Style sheet and tests read the state here.
  root.dataset["link"] = link;
  part("link-text", HTMLElement).textContent = text;
  part("figures", HTMLElement).classList.toggle("outdated", link !== "live");
}

function paintTotals(): void {
  const all = totals(worlds);
  figure("worlds", formatCount(all.worlds), "there are");
  figure("users", formatCount(all.users), "in them");
  figure("npcs", formatCount(all.npcs), "live in them");
  const cores = all.cores ?? Number.NaN;
  if (cores >= 1) {
    figure("cores", formatMs(cores), "cores, while all are awake");
  } else {
    figure("cores", formatShare(all.cores), "of a core, while all are awake");
  }
  figure("dearest", `${formatMs(all.dearest_us ?? Number.NaN)} µs`, "a step of the dearest");
  figure("dilation", (all.dilation ?? Number.NaN).toFixed(2).replace("NaN", "–"), "of the slowest; 1.00 is real time");
}

function figure(name: string, value: string, detail: string): void {
  const element = part(`total-${name}`, HTMLElement);
  element.querySelector(".figure-value")!.textContent = value;
  element.querySelector(".figure-detail")!.textContent = detail;
}

/** Opens the map that the address names, or none. */
function openChosen(): void {
  watcher?.stop();
  watcher = undefined;
  chosen = /^#([0-9a-f-]{36})$/.exec(location.hash)?.[1];
  table.setChosen(chosen);
  part("map-card", HTMLElement).hidden = chosen === undefined;
  // Of another world: not drawn until this one's first answer is here.
  map.canvas.dataset["avatars"] = "0";
  delete map.canvas.dataset["region"];
  if (chosen === undefined) {
    return;
  }
  setNotice("Waiting for the server…");
  watcher = new Watcher(
    chosen,
    { map: fetchMap, positions: fetchPositions },
    {
      onOpen(region) {
        part("map-title", HTMLElement).textContent = region.info.name;
        part("map-size", HTMLElement).textContent = `${region.info.size_m} × ${region.info.size_m} m`;
        reliefs.load([region]);
        map.show(region);
      },
      onPresent: paintPresent,
      onPositions: () => map.invalidate(),
      onTrouble: setNotice,
    },
    { now: () => performance.now(), sleep },
  );
  void watcher.run();
}

function setNotice(text: string | undefined): void {
  const notice = part("map-notice", HTMLElement);
  notice.hidden = text === undefined;
  notice.textContent = text ?? "";
}

function paintPresent(present: readonly Present[]): void {
  const users = present.filter((one) => !one.npc);
  const npcs = present.length - users.length;
  const count = `${counted(users.length, "user")}, ${counted(npcs, "NPC")}`;
  part("map-count", HTMLElement).textContent = count;
  map.canvas.setAttribute("aria-label", `Map of ${part("map-title", HTMLElement).textContent}: ${count}`);
  const list = part("present", HTMLUListElement);
  const shown = [...users, ...present.filter((one) => one.npc)].slice(0, PRESENT_MAX);
  list.replaceChildren(
    ...shown.map((one) => {
      const row = document.createElement("li");
      row.dataset["npc"] = String(one.npc);
      row.append(textElement("span", "person-name", one.name), textElement("span", "person-region", one.npc ? "NPC" : "user"));
      return row;
    }),
  );
  part("present-empty", HTMLElement).hidden = present.length > 0;
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
