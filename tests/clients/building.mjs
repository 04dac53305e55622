// What scenarios share that build: a house, what a client shows of it prim by prim, and messages that node-metaverse has no call for.

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { assert } from './harness.mjs';
import { DEADLINE_MS, pulse, until, within } from './wait.mjs';

const { PCode, Utils, UUID, Vector3 } = nm;
const require = createRequire(import.meta.url);
const load = (path) => require(`@caspertech/node-metaverse/dist/lib/${path}.js`);
const { TextureEntry } = load('classes/TextureEntry');
const { Quaternion } = load('classes/Quaternion');
const { PacketFlags } = load('enums/PacketFlags');

export const PLACE = { x: 140, y: 120, z: 30 };
export const WALLS = 4;
/** Brick, and no texture of the server's own. */
export const BRICK = '11111111-aaaa-4bbb-8ccc-222222222222';
const SAME_PLACE_M = 0.01;
const ACK_MS = 10_000;
/** Requests for properties of one set of objects, each of which an update may spoil. */
const RESOLVES_MAX = 10;
/** What a prim's form is made of, as node-metaverse calls it. */
const SHAPE = [
  ...['PathCurve', 'PathBegin', 'PathEnd', 'PathScaleX', 'PathScaleY', 'PathShearX', 'PathShearY', 'PathTwist', 'PathTwistBegin'],
  ...['PathRadiusOffset', 'PathTaperX', 'PathTaperY', 'PathRevolutions', 'PathSkew', 'ProfileCurve', 'ProfileBegin', 'ProfileEnd', 'ProfileHollow'],
];
const MASKS = ['baseMask', 'ownerMask', 'groupMask', 'everyoneMask', 'nextOwnerMask'];

/** Shapes, places and names of a house: the first wall has a door. */
export async function shapeHouse(floor, walls) {
  await floor.setGeometry(new Vector3([PLACE.x, PLACE.y, PLACE.z]), Quaternion.getIdentity(), new Vector3([8, 8, 0.2]));
  await floor.setName('House');
  await floor.setDescription('Built by a test');
  for (const [n, wall] of walls.entries()) {
    const turn = (n * Math.PI) / 2;
    const place = new Vector3([PLACE.x + 4 * Math.cos(turn), PLACE.y + 4 * Math.sin(turn), PLACE.z + 1.5]);
    await wall.setGeometry(place, turned(turn), new Vector3([0.2, 8, 3]));
    await wall.setName(`Wall ${n}`);
  }
  // A door: the wall is cut open.
  await walls[0].setShape(16, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0.75, 0);
}

/** A whole house of a client: its floor, which is the root, and its walls. */
export async function buildHouse(client) {
  const [floor, ...walls] = await within('rezPrims', client.bot.clientCommands.region.rezPrims(WALLS + 1));
  await shapeHouse(floor, walls);
  await floor.setTextureEntry(painted(floor, new UUID(BRICK)));
  await within('linkFrom', floor.linkFrom(walls));
  return { floor, walls };
}

function turned(angle) {
  return new Quaternion([0, 0, Math.sin(angle / 2), Math.cos(angle / 2)]);
}

/** The texture entry of an object with another texture on all faces. */
export function painted(object, texture) {
  const entry = TextureEntry.from(object.TextureEntry.toBuffer());
  entry.defaultTexture.textureID = texture;
  return entry;
}

export function near(place, other) {
  return place !== undefined && Math.hypot(place.x - other.x, place.y - other.y, place.z - other.z) < SAME_PLACE_M;
}

export function rounded({ x, y, z }) {
  return { x: hundredths(x), y: hundredths(y), z: hundredths(z) };
}

/** Without a sign before a zero. */
function hundredths(number) {
  return (Math.round(number * 100) / 100 + 0).toFixed(2);
}

/** One of the two quaternions of a rotation: the largest part is positive. */
function turnOf({ x, y, z, w }) {
  const parts = [x, y, z, w];
  const largest = parts.reduce((most, part) => (Math.abs(part) > Math.abs(most) ? part : most), 0);
  return parts.map((part) => hundredths(part * Math.sign(largest)));
}

/** The object as a client shows it, if it does. */
export function seen(client, id) {
  try {
    return client.region.objects.getObjectByUUID(id);
  } catch {
    return undefined;
  }
}

/** A root and its parts as a client shows them: none without the root. */
export function linksetOf(client, id) {
  const root = seen(client, id);
  return root ? [root, ...client.things().filter((thing) => thing.ParentID === root.ID)] : [];
}

/** True once a client shows all of a house. */
export function isWhole(client, id) {
  return linksetOf(client, id).length === WALLS + 1;
}

/** The root at a place, as a client shows it, if it does. */
export function rootAt(client, place) {
  return client.things().find((thing) => thing.ParentID === 0 && thing.PCode === PCode.Prim && near(thing.Position, place));
}

/**
 * The objects with their names, descriptions and rights, asked for anew.
 *
 * A batch of the library that is under way looks for the mark of resolved objects after its reply: without the mark it would wait 30 s for a reply to this
 * request, which is queued behind it. An update that comes after the properties takes the owner away again, as it does in libomv: updates name owners of
 * sounds only.
 */
export async function resolved(client, objects) {
  const { resolveQueue } = client.bot.currentRegion.resolver;
  for (let n = 0; n < RESOLVES_MAX; n++) {
    await until('earlier requests for properties end', () => !resolveQueue.running);
    for (const object of objects) object.resolvedAt = undefined;
    await within('properties', client.bot.clientCommands.region.resolveObjects(objects, { forceReResolve: true }));
    if (objects.every(({ OwnerID }) => OwnerID && !OwnerID.isZero())) return objects;
  }
  throw new Error(`${RESOLVES_MAX} requests for properties left objects without owner`);
}

/** Each prim of an object by its name, the root with its place in the region: all that a client shows of it, read anew. */
export async function primsOf(client, id) {
  const prims = await resolved(client, linksetOf(client, id));
  return prims.map(described).sort((a, b) => a.name.localeCompare(b.name));
}

export function described(prim) {
  return {
    name: prim.name ?? '',
    description: prim.description,
    isRoot: prim.ParentID === 0,
    at: rounded(prim.Position),
    turn: turnOf(prim.Rotation),
    scale: rounded(prim.Scale),
    shape: SHAPE.map((part) => hundredths(prim[part] ?? 0)),
    material: prim.Material,
    textures: prim.TextureEntry?.toBuffer().toString('hex'),
    creator: prim.creatorID?.toString(),
    owner: prim.OwnerID?.toString(),
    masks: MASKS.map((mask) => prim[mask]),
  };
}

/** Prims without what differs between a thing and a copy of it: the place in the region, and with `withRights` false owner and rights. */
export function likeness(prims, { withRights = true } = {}) {
  return prims.map(({ at, owner, masks, ...prim }) => ({ ...prim, ...(prim.isRoot ? {} : { at }), ...(withRights ? { owner, masks } : {}) }));
}

/** Prims of an object, once all clients show the same of each and `isThere` holds for them. */
export async function agree(what, clients, id, isThere = () => true) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    await until(`${what}: all show it`, () => clients.every((client) => seen(client, id)));
    const [first, ...others] = await Promise.all(clients.map((client) => primsOf(client, id)));
    if (isThere(first) && others.every((other) => isDeepStrictEqual(other, first))) return first;
    assert(performance.now() < deadline, `${what}: clients show ${JSON.stringify([first, ...others])}`);
  }
}

/** Texts of the alerts to a client, oldest first. */
export function alertsOf(client) {
  const texts = [];
  client.circuit.onPacketReceived.subscribe(({ message }) => {
    if (message.name === 'AlertMessage') texts.push(Utils.BufferToStringSimple(message.AlertData.Message));
    pulse();
  });
  return texts;
}

export function agentData(client) {
  return { AgentID: new UUID(client.id), SessionID: client.circuit.sessionID };
}

/** A message of the library's by its name, with these blocks. */
export function message(name, blocks) {
  const { [`${name}Message`]: Message } = load(`classes/messages/${name}`);
  return Object.assign(new Message(), blocks);
}

/** Sends a message; resolves with its ack. */
export function send(client, sent) {
  const { circuit } = client;
  return within(sent.name, circuit.waitForAck(circuit.sendMessage(sent, PacketFlags.Reliable), ACK_MS));
}
