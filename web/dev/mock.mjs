/**
 * A stand-in for a server: two regions of made-up land, walkers, chat and figures, in the page's own protocol; and for the operator's
 * page (`/worlds.html`) instances, all of which look like the first region.
 *
 *   node dev/mock.mjs [--port 9100] [--avatars 200] [--no-chat] [--vite]
 *
 * It serves the built page (`web/dist`) under the security policy that a real server should send; with `--vite` it also
 * starts Vite's development server in front of it, so that edits show at once. The same seed walks the same ways.
 */

import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { WebSocketServer } from "ws";

const { values: options } = parseArgs({
  options: {
    port: { type: "string", default: "9100" },
    avatars: { type: "string", default: "200" },
    "no-chat": { type: "boolean", default: false },
    vite: { type: "boolean", default: false },
  },
});

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const HEIGHTS_SIDE = 128;
const POSITIONS_MS = 200;
const WALK_SPEED = 3.2;
const startedAt = Date.now();

/** A small generator of numbers in 0–1 with a fixed seed (mulberry32). */
let seed = 20_260_101;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
}

const regions = [
  { id: 1, name: "Plaza", x: 1000, y: 1000, size_m: 256, water_m: 20 },
  { id: 2, name: "Wide Fields", x: 1001, y: 1000, size_m: 512, water_m: 20 },
];

/** Hills and a bay around a flat square; `east` and `north` are shares of the side. */
function height(region, east, north) {
  const [x, y] = [east * 6 * region.id, north * 6 * region.id];
  const hills =
    6 * Math.sin(x * 1.1 + region.id) * Math.cos(y * 0.9) +
    3 * Math.sin(x * 2.3 + y * 1.7) +
    1.2 * Math.sin(x * 5.1 - y * 4.3) +
    0.5 * Math.cos(x * 9.7 + y * 11.3);
  const fromMiddle = Math.hypot(east - 0.5, north - 0.5);
  const mountain = 26 * Math.exp(-(((east - 0.22) / 0.13) ** 2) - ((north - 0.78) / 0.15) ** 2);
  const bay = -14 * Math.exp(-(((east - 0.95) / 0.28) ** 2) - ((north - 0.12) / 0.3) ** 2);
  const flat = Math.min(1, Math.max(0, (fromMiddle - 0.13) / 0.1));
  return 22.5 + (2.5 + hills + mountain + bay) * flat * flat * (3 - 2 * flat);
}

function heights(region) {
  const buffer = Buffer.alloc(HEIGHTS_SIDE * HEIGHTS_SIDE * 4);
  for (let row = 0; row < HEIGHTS_SIDE; row += 1) {
    for (let column = 0; column < HEIGHTS_SIDE; column += 1) {
      const sample = height(region, (column + 0.5) / HEIGHTS_SIDE, (row + 0.5) / HEIGHTS_SIDE);
      buffer.writeFloatLE(sample, (row * HEIGHTS_SIDE + column) * 4);
    }
  }
  return buffer;
}

const FIRST = ["Ada", "Bela", "Caro", "Dien", "Edda", "Finn", "Gita", "Hugo", "Ines", "Jori", "Kaja", "Levi", "Mira", "Nuno"];
const LAST = ["Ashdown", "Birk", "Calloway", "Dunmore", "Elling", "Farrow", "Greve", "Holm", "Ivers", "Juno", "Kestrel"];

const walkers = Array.from({ length: Number(options.avatars) }, (_, index) => {
  const region = regions[index % 4 === 3 ? 1 : 0];
  const round = Math.floor(index / (FIRST.length * LAST.length));
  const name = `${FIRST[index % FIRST.length]} ${LAST[index % LAST.length]}${round === 0 ? "" : round + 1}`;
  return { id: 1_000 + index, name, region, ...dryPlace(region), yaw: random() * 2 * Math.PI, speed: 0, pause_s: random() * 6, leg_m: 0 };
});

function dryPlace(region) {
  for (;;) {
    // The sum of three makes a crowd that is dense in the middle.
    const east = (random() + random() + random()) / 3;
    const north = (random() + random() + random()) / 3;
    if (height(region, east, north) > region.water_m + 0.5) {
      return { x: east * region.size_m, y: north * region.size_m };
    }
  }
}

function walk(walker, seconds) {
  if (walker.leg_m <= 0) {
    walker.speed = 0;
    walker.pause_s -= seconds;
    if (walker.pause_s <= 0) {
      walker.leg_m = 20 + random() * 40;
      walker.pause_s = 2 + random() * 8;
      walker.yaw += (random() - 0.5) * 3;
    }
    return;
  }
  const { size_m, water_m } = walker.region;
  const step = WALK_SPEED * seconds;
  const x = walker.x + Math.cos(walker.yaw) * step;
  const y = walker.y + Math.sin(walker.yaw) * step;
  const inside = x > 2 && y > 2 && x < size_m - 2 && y < size_m - 2;
  if (inside && height(walker.region, x / size_m, y / size_m) > water_m) {
    Object.assign(walker, { x, y, speed: WALK_SPEED, leg_m: walker.leg_m - step });
  } else {
    walker.yaw += 2.2;
  }
}

function positions(region) {
  const here = walkers.filter((walker) => walker.region === region);
  const buffer = Buffer.alloc(9 + here.length * 10);
  buffer.writeUInt8(1, 0);
  buffer.writeUInt32LE(region.id, 1);
  buffer.writeUInt32LE(here.length, 5);
  for (const [index, { id, x, y, yaw, speed }] of here.entries()) {
    const offset = 9 + index * 10;
    const turns = yaw / (2 * Math.PI);
    buffer.writeUInt32LE(id, offset);
    buffer.writeUInt16LE(Math.round((x / region.size_m) * 65_535), offset + 4);
    buffer.writeUInt16LE(Math.round((y / region.size_m) * 65_535), offset + 6);
    buffer.writeUInt8(Math.floor((turns - Math.floor(turns)) * 256) & 255, offset + 8);
    buffer.writeUInt8(Math.min(255, Math.round(speed * 10)), offset + 9);
  }
  return buffer;
}

const roster = (region) => ({
  type: "roster",
  region: region.id,
  avatars: walkers.filter((walker) => walker.region === region).map(({ id, name }) => ({ id, name })),
});

const hello = (host) => ({
  type: "hello",
  grid: "Throng (mock)",
  login_uri: `http://${host}/`,
  chat: !options["no-chat"],
  worlds_uri: `http://${host}/worlds.html`,
  regions,
});

function figures() {
  const n = walkers.length;
  return {
    type: "figures",
    clients: n,
    tick_ms_max: 0.4 + n * 0.004 * (1 + random()),
    tick_ms_mean: 0.2 + n * 0.002 * (1 + random() * 0.3),
    packets_in_per_s: n * (11 + random()),
    packets_out_per_s: n * (14 + 3 * random()),
    bytes_out_per_s: n * (9_000 + 2_500 * random()),
    dilation: 1 - (random() < 0.1 ? random() * 0.04 : 0),
    uptime_s: (Date.now() - startedAt) / 1_000,
  };
}

/** Ten minutes of figures, with a rush hour in the middle. */
function history() {
  const rows = Array.from({ length: 600 }, (_, index) => {
    const share = 0.35 + 0.65 * Math.exp(-(((index - 400) / 130) ** 2));
    const { type: _type, uptime_s: _uptime, ...row } = figures();
    return { ...row, clients: Math.round(row.clients * share), bytes_out_per_s: row.bytes_out_per_s * share };
  });
  const columns = Object.keys(rows[0]).map((key) => [key, rows.map((row) => row[key])]);
  return { type: "history", period_s: 1, uptime_s: (Date.now() - startedAt) / 1_000, ...Object.fromEntries(columns) };
}

/** Boxes all over a region, and two portals. */
function objects(region) {
  const boxes = Array.from({ length: 300 }, () => {
    const place = dryPlace(region);
    const edge = Math.round(6 + random() * 40);
    return [Math.round(place.x * 10), Math.round(place.y * 10), edge, Math.round(edge * (0.5 + random())), Math.floor(random() * 360)];
  });
  const portals = [
    { x: region.size_m * 0.78, y: region.size_m * 0.5, radius_m: 2, to: "Cave" },
    { x: region.size_m * 0.3, y: region.size_m * 0.36, radius_m: 2, to: region.id === 1 ? "Garden" : null },
  ];
  return { n_boxes: boxes.length, boxes, portals };
}
const objectsById = new Map(regions.map((region) => [region.id, objects(region)]));

/** Costs as they are: few worlds take most of the time. */
const worlds = Array.from({ length: 60 }, (_, index) => ({
  id: `${(0x9e3779b9 * (index + 1)).toString(16).slice(-8)}-0000-4000-8000-${String(index).padStart(12, "0")}`,
  name: `${FIRST[index % FIRST.length]}'s ${["Cave", "Keep", "Garden"][index % 3]}`,
  template: ["Cave", "Keep", "Garden"][index % 3],
  owner: null,
  owner_name: index % 4 === 3 ? null : `${FIRST[index % FIRST.length]} ${LAST[index % LAST.length]}`,
  state: index % 5 === 4 ? "suspended" : "active",
  state_s: 7 * (index + 1) ** 2,
  ...(index === 12 ? { trouble: "It panicked again and again with what its template's files say now." } : {}),
  size_m: 256,
  npcs: 20,
  users: index % 5 === 4 ? 0 : index % 5 === 0 ? 2 : index % 3,
  max_users: 8,
  world: 2 + index,
  hz: [20, 30, 45][index % 3],
  dilation: index === 7 ? 0.62 : 1,
  cost_us: 40 * (1 - random()) ** (-1 / 1.5),
  created_s: Math.floor(Date.now() / 1_000) - 40 * (index + 3) ** 3,
}));

/** Carries out an order of the operator's page: `DELETE`, `POST …/suspend` or `POST …/resume`, with the token "mock". */
function order(request, path) {
  const [, id, change] = /^\/v1\/worlds\/([^/]+)(?:\/(suspend|resume))?$/.exec(path) ?? [];
  const index = worlds.findIndex((world) => world.id === id);
  if (request.headers.authorization !== "Bearer mock") {
    return [401, { error: "This is no token of this server." }];
  }
  if (index < 0) {
    return [404, { error: `There is no instance ${id}.` }];
  }
  if (change === undefined) {
    worlds.splice(index, 1);
    return [204, undefined];
  }
  worlds[index].state = change === "suspend" ? "suspended" : "active";
  worlds[index].state_s = 0;
  return [200, worlds[index]];
}

/** Counts of the regions, and edits of the first one's objects. */
function regionAnswer(path) {
  if (path === "/v1/regions") {
    const counts = ({ id, name, size_m }) => ({ name, world: id, size_m, avatars: 0, prims: 1_200 * id, prims_max: 45_000, physical: 12, moving: 3, temporary: 0, lag_s: id === 2 ? 14 : 0.1, failure: id === 2 ? "The disk is full." : null });
    return JSON.stringify(regions.map(counts));
  }
  const [, name] = /^\/v1\/regions\/([^/]+)\/edits$/.exec(path) ?? [];
  if (name === undefined) {
    return undefined;
  }
  const edits = ["create", "place", "link", "textures"].map((what, index) => ({
    age_s: 3 * (index + 1) ** 2,
    author: null,
    author_name: index === 2 ? null : `${FIRST[index]} ${LAST[index]}`,
    what,
    object: null,
    name: index === 0 ? "" : "Gate",
    done: index + 1,
    refused: index % 2,
    reason: index % 2 === 1 ? "rights" : null,
  }));
  return JSON.stringify(decodeURIComponent(name) === regions[0].name ? edits : []);
}

/** A directory with two backups, and two jobs; a load of an archive that is under way; assets, one of them in quarantine; the inventory of any account. */
function backupAnswer(path) {
  const now_s = Math.floor(Date.now() / 1_000);
  if (path === "/v1/backups") {
    const counts = { assets: 45_000, items: 12_000, objects: 9_000, damaged: 0, missing: 0, bytes: 1.9e9 };
    const at = (hours) => ({ cut_s: now_s - 3_600 * hours, verified_s: now_s - 3_600 * hours + 240 });
    const backups = [
      { name: "5", whole: true, ...counts, ...at(5), rehearsed_s: null, rehearsal_succeeded: null },
      { name: "29", whole: false, ...counts, ...at(29), missing: 2, rehearsed_s: now_s - 1_000_000, rehearsal_succeeded: true },
    ];
    return JSON.stringify({ directory: "/mnt/backups", newest_whole_s: now_s - 18_000, rehearsed_s: now_s - 1_000_000, late: ["The last rehearsal is late."], backups });
  }
  if (path === "/v1/jobs") {
    const job = { kind: "backup", subject: "/mnt/backups", author: "schedule", cancelled: false };
    const running = { id: 8, state: "running", created_s: now_s - 60, started_s: now_s - 60, ended_s: null, progress: { part: "assets", done: 1_234, total: 45_000 }, outcome: null };
    const done = { id: 7, state: "done", created_s: now_s - 18_000, started_s: now_s - 18_000, ended_s: now_s - 17_000, outcome: "backup with 45,000 assets" };
    return JSON.stringify([running, done].map((one) => ({ ...job, ...one })));
  }
  if (path === "/v1/archives/jobs") {
    const job = { subject: "harbour.oar into Harbour", author: "admin.token", cancelled: false, created_s: now_s - 40, started_s: now_s - 40, ended_s: null };
    const done = Math.floor((Date.now() - startedAt) / 40) % 45_000;
    return JSON.stringify([{ ...job, id: 9, kind: "oar_load", state: "running", progress: { part: "objects", done, total: 45_000 }, outcome: null }]);
  }
  if (path === "/v1/assets") {
    const kinds = [["texture", 38_000, 120, 1.7e9], ["mesh", 6_000, 0, 2.1e8], ["notecard", 900, 0, 1.2e6]].map(([kind, assets, temporary, bytes]) => ({ kind, assets, temporary, damaged: kind === "mesh" ? 1 : 0, bytes }));
    const quarantine = [{ hash: "ab01".repeat(16), bytes: 60_000, damage: "its bytes are missing", assets: ["5748decc-f629-461c-9a36-a35a221fe21f"] }];
    return JSON.stringify({ kinds, scrub_position: 0.25, scrub_verified: 11_000, scrub_damaged: 1, scrub_days: 14, quarantined: 1, quarantine });
  }
  const [, name] = /^\/v1\/users\/([^/]+)\/inventory$/.exec(path) ?? [];
  return name === undefined ? undefined : inventory(decodeURIComponent(name));
}

function inventory(owner_name) {
  const folder = (name, depth, items, missing = 0) => ({ id: name, name, depth, kind: -1, version: 1, items, links: name === "Current Outfit" ? items : 0, missing, lost: name === "Adrift" });
  const folders = [folder("My Inventory", 0, 2), folder("Clothing", 1, 30), folder("Hats", 2, 12, 1), folder("Current Outfit", 1, 6), folder("Objects", 1, 240), folder("Adrift", 0, 3)];
  const missing_items = [{ id: "hat", name: "Blue hat", folder: "Hats", asset: "5748decc-f629-461c-9a36-a35a221fe21f", kind: 0, damage: null }];
  return JSON.stringify({ owner: "", owner_name, items: 293, links: 6, missing: 1, folders, missing_items });
}

/** The answer of the operator's API to this path, if it is one that the page asks for. */
function worldAnswer(path) {
  if (path === "/v1/worlds") {
    const cost = (world) => (world.state === "active" ? world.cost_us * (0.95 + random() / 10) : 0);
    return JSON.stringify(worlds.map((world) => ({ ...world, state_s: world.state_s + Math.floor((Date.now() - startedAt) / 1_000), cost_us: cost(world) })));
  }
  const [, id, part] = /^\/v1\/worlds\/([^/]+)\/map(\/\w+)?$/.exec(path) ?? [];
  const world = worlds.find((one) => one.id === id);
  if (world === undefined) {
    return undefined;
  }
  const [region] = regions;
  switch (part) {
    case "/positions": {
      const frame = positions(region);
      frame.writeUInt32LE(world.world, 1);
      return frame;
    }
    case "/heights":
      return heights(region);
    case "/objects":
      return JSON.stringify(objectsById.get(region.id));
    default: {
      const avatars = roster(region).avatars.map((avatar, index) => ({ ...avatar, is_npc: index >= world.users }));
      return JSON.stringify({ world: world.world, name: world.name, size_m: region.size_m, water_m: region.water_m, avatars });
    }
  }
}

const LINES = [
  ["say", "hello, is this the plaza?"],
  ["say", "just arrived, the map on the web page showed me where you all are"],
  ["shout", "EVERYBODY TO THE HILL IN THE NORTH-WEST"],
  ["whisper", "do you see the water?"],
  ["say", "walking feels smooth tonight"],
  ["say", "<b>not bold</b> & not an entity: &amp;"],
  ["say", "brb"],
];

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const http = createServer((request, response) => {
  const path = new URL(request.url ?? "/", "http://mock").pathname;
  const region = regions.find(({ id }) => path === `/regions/${id}/heights`);
  if (path === "/api/info") {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(hello(request.headers.host)));
    return;
  }
  if (request.method !== "GET") {
    const [status, body] = order(request, path);
    response.writeHead(status, { "content-type": "application/json" }).end(body && JSON.stringify(body));
    return;
  }
  const furnished = regions.find(({ id }) => path === `/regions/${id}/objects`);
  if (furnished !== undefined) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(objectsById.get(furnished.id)));
    return;
  }
  if (region !== undefined) {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(heights(region));
    return;
  }
  const answer = worldAnswer(path) ?? regionAnswer(path) ?? backupAnswer(path);
  if (answer !== undefined) {
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
    return;
  }
  const file = join(DIST, normalize(path === "/" ? "/index.html" : path));
  if (!file.startsWith(DIST) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
  });
  createReadStream(file).pipe(response);
});

const sockets = new WebSocketServer({ server: http, path: "/live" });
const sendAll = (data) => sockets.clients.forEach((socket) => socket.send(data));

sockets.on("connection", (socket, request) => {
  // The client sends nothing; an abrupt end is its right.
  socket.on("error", () => socket.terminate());
  socket.send(JSON.stringify(hello(request.headers.host)));
  socket.send(JSON.stringify(history()));
  for (const region of regions) {
    socket.send(JSON.stringify(roster(region)));
  }
  socket.send(JSON.stringify(figures()));
});

setInterval(() => {
  for (const walker of walkers) {
    walk(walker, POSITIONS_MS / 1_000);
  }
  for (const region of regions) {
    sendAll(positions(region));
  }
}, POSITIONS_MS);
setInterval(() => sendAll(JSON.stringify(figures())), 1_000);
let said = 0;
setInterval(() => {
  const speaker = walkers[Math.floor(random() * walkers.length)];
  if (speaker !== undefined && !options["no-chat"]) {
    const [kind, text] = LINES[said % LINES.length];
    said += 1;
    sendAll(JSON.stringify({ type: "chat", region: speaker.region.id, from: speaker.name, kind, text }));
  }
}, 1_100);

http.listen(Number(options.port), "127.0.0.1", async () => {
  const { port } = http.address();
  console.log(`mock server at http://127.0.0.1:${port}/`);
  if (options.vite) {
    process.env.THRONG_URL = `http://127.0.0.1:${port}`;
    const { createServer: createVite } = await import("vite");
    const vite = await createVite({ root: fileURLToPath(new URL("..", import.meta.url)) });
    await vite.listen();
    vite.printUrls();
  }
});
