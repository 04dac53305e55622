/**
 * Assembles the public page: one link to the server, one grid that it fills, and the panels that show it.
 *
 * Data flows one way: link → grid → panels. Nothing on the page sends anything to the server.
 */

import "./style.css";
import { part } from "./dom";
import { attachGestures } from "./map/gestures";
import { RegionMap } from "./map/map";
import { RegionObjects } from "./map/objects";
import { Reliefs } from "./map/relief";
import { RegionSwitcher } from "./map/switcher";
import { Grid } from "./model/grid";
import type { Region } from "./model/region";
import { Link } from "./net/link";
import { parseHello, type Hello, type MapObjects, type ServerMessage } from "./net/protocol";
import { ChatPanel } from "./panels/chat";
import { ConnectPanel } from "./panels/connect";
import { attachDetail } from "./panels/detail";
import { FiguresPanel } from "./panels/figures";
import { PeoplePanel } from "./panels/people";
import { StatusPanel } from "./panels/status";
import { attachTabs } from "./panels/tabs";
import { attachTheme } from "./theme";
import { formatCount } from "./format";

/** Everything that is not the large map is brought up to date this often. */
const SLOW_MS = 500;
/** Users build: grounds and objects of the maps are fetched anew this often. */
const MAP_MS = 60_000;
/** Following a person from the list zooms in at least this far. */
const FOLLOW_ZOOM = 3;

let grid: Grid | undefined;
let shown: Region | undefined;
/** True once the reader has chosen a region; until then the page looks for one with people in it. */
let choseRegion = false;

const connect = new ConnectPanel();
const figures = new FiguresPanel();
const chat = new ChatPanel();
const people = new PeoplePanel((person) => {
  choseRegion = true;
  showRegion(person.region);
  pick(person.id);
  if (map.viewport.zoom < FOLLOW_ZOOM) {
    map.viewport.zoomBy(FOLLOW_ZOOM / map.viewport.zoom);
  }
  // On a phone the list is below the map.
  map.canvas.scrollIntoView({ block: "nearest" });
});
const reliefs = new Reliefs(() => map.invalidate());
const objects = new RegionObjects(() => map.invalidate());
const map = new RegionMap(part("map", HTMLCanvasElement), reliefs, objects);
const switcher = new RegionSwitcher(part("regions", HTMLElement), reliefs, (region) => {
  choseRegion = true;
  showRegion(region);
});
const refreshMapControls = attachGestures(
  map,
  {
    closer: part("zoom-closer", HTMLButtonElement),
    farther: part("zoom-farther", HTMLButtonElement),
    whole: part("zoom-whole", HTMLButtonElement),
  },
  pick,
);
const status = new StatusPanel(() => link.retryNow());
const link = new Link(() => new WebSocket(liveUrl()), {
  onState(state) {
    status.setState(state);
    figures.setCurrent(state.kind === "live");
  },
  onMessage,
  onPositions(positions) {
    grid?.applyPositions(positions, performance.now());
    map.invalidate();
  },
});

for (const list of document.querySelectorAll<HTMLElement>('[role="tablist"]')) {
  attachTabs(list);
}
attachDetail(part("detail", HTMLButtonElement), onSlow);
part("unfollow", HTMLButtonElement).addEventListener("click", () => {
  pick(undefined);
  map.canvas.focus();
});
attachTheme(part("theme", HTMLButtonElement), () => map.themeChanged());
window.addEventListener("online", () => link.retryNow());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) {
    link.retryNow();
  }
});
link.start();
void greet();
requestAnimationFrame(onFrame);
setInterval(onSlow, SLOW_MS);
setInterval(() => {
  // A hidden page asks for nothing.
  if (!document.hidden) {
    reliefs.refresh();
    objects.refresh();
  }
}, MAP_MS);

/** Learns the login URI by plain HTTP too, so that it is there even where a proxy breaks WebSockets. */
async function greet(): Promise<void> {
  try {
    const response = await fetch("api/info");
    if (response.ok && grid === undefined) {
      introduce(parseHello(await response.json()));
    }
  } catch (error) {
    console.warn(`No answer from api/info: ${String(error)}`);
  }
}

function onMessage(message: ServerMessage): void {
  switch (message.type) {
    case "hello":
      onHello(message);
      break;
    case "history":
      figures.begin(message);
      break;
    case "roster":
      grid?.applyRoster(message);
      people.invalidate();
      map.invalidate();
      break;
    case "chat": {
      const manyRegions = grid !== undefined && grid.regions.length > 1;
      chat.push(message, new Date(), manyRegions ? grid?.region(message.region)?.info.name : undefined);
      break;
    }
    case "figures":
      figures.push(message);
      break;
  }
}

function onHello(hello: Hello): void {
  introduce(hello);
  chat.setShown(hello.chat);
  const next = new Grid(hello);
  grid = next;
  reliefs.load(next.regions);
  objects.load(next.regions);
  switcher.setRegions(next.regions);
  people.setGrid(next);
  // After a reconnection the reader should find the region, and the view of it, that was there before.
  const region = next.regions.find((candidate) => candidate.info.id === shown?.info.id) ?? next.regions[0];
  if (region !== undefined) {
    showRegion(region);
  }
}

function introduce(hello: Hello): void {
  connect.showHello(hello);
  document.title = hello.grid;
  const worlds = part("worlds-link", HTMLAnchorElement);
  worlds.hidden = hello.worlds_uri === null;
  worlds.href = hello.worlds_uri ?? "";
}

function showRegion(region: Region): void {
  if (shown?.info.id !== region.info.id) {
    pick(undefined);
  }
  shown = region;
  map.showRegion(region);
  switcher.setChosen(region);
  onSlow();
}

function pick(id: number | undefined): void {
  map.followAvatar(id);
  people.setFollowed(id);
  paintFollowed();
}

/** The person in the middle of the map, with a way to let go. */
function paintFollowed(): void {
  const { followedId } = map;
  const button = part("unfollow", HTMLButtonElement);
  button.hidden = followedId === undefined;
  if (followedId !== undefined) {
    const isHere = shown?.track(followedId) !== undefined;
    const name = shown?.name(followedId) ?? "This person";
    button.textContent = isHere ? `Following ${name} ✕` : `${name} is not in this region ✕`;
    button.setAttribute("aria-label", `Stop following ${name}`);
  }
}

function onFrame(now: number): void {
  if (map.paintIfNeeded(now)) {
    refreshMapControls();
  }
  chat.flush();
  requestAnimationFrame(onFrame);
}

function onSlow(): void {
  status.refresh();
  people.refresh();
  if (grid === undefined || shown === undefined) {
    return;
  }
  if (!choseRegion && shown.rosterCount === 0) {
    const fuller = grid.regions.find((region) => region.rosterCount > 0);
    if (fuller !== undefined) {
      showRegion(fuller);
      return;
    }
  }
  switcher.paint(performance.now(), map.thumbnailColours);
  paintFollowed();
  const { name, size_m } = shown.info;
  const headcount = `${formatCount(shown.rosterCount)} ${shown.rosterCount === 1 ? "person" : "people"}`;
  part("map-title", HTMLElement).textContent = name;
  part("map-count", HTMLElement).textContent = `${headcount} here`;
  part("map-size", HTMLElement).textContent = sizeText(size_m, objects.of(shown));
  map.canvas.setAttribute("aria-label", `Map of ${name}, ${headcount}`);
}

/** `256 × 256 m · 500 boxes · 1 portal` */
function sizeText(size_m: number, known: MapObjects | undefined): string {
  const size = `${size_m} × ${size_m} m`;
  if (known === undefined) {
    return size;
  }
  const { boxCount, boxes, portals } = known;
  const drawn = boxes.length < boxCount ? ` (${formatCount(boxes.length)} drawn)` : "";
  return `${size} · ${formatCount(boxCount)} boxes${drawn} · ${formatCount(portals.length)} ${portals.length === 1 ? "portal" : "portals"}`;
}

/** `/live` beside this page, whatever path a proxy gave it. */
function liveUrl(): URL {
  const url = new URL("live", document.baseURI);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}
