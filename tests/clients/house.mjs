// A user builds a house with node-metaverse, copies it, and shapes and divides the land under it; another one sees each step as the builder does, and may change
// nothing; after SIGKILL a third one finds all of it as it was, and hippolyzer reads the same (house.py).
//
//   node house.mjs
//
// The server is killed a second after the last edit, which is as long as an edit may take to be durable.

import nm from '@caspertech/node-metaverse';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { BRICK, PLACE, WALLS, agentData, agree, alertsOf, isWhole, likeness, linksetOf, message, near, painted, rootAt, rounded, seen, send, shapeHouse } from './building.mjs';
import { Client } from './client.mjs';
import { editsOfLand, editsOfObjects, nameParcel, refusals, stroke } from './foreign-edits.mjs';
import { assert, main } from './harness.mjs';
import { installHippolyzer } from './hippolyzer.mjs';
import { DEADLINE_MS, until, within } from './wait.mjs';

const { UUID, Vector3 } = nm;

const HERE = dirname(fileURLToPath(import.meta.url));
const DURABLE_MS = 1_000;
const TRASH = 6;
const NEXT_OWNER = 16;
const MODIFY_AND_COPY = (1 << 14) | (1 << 15);
/** From the house to its copy. */
const OFFSET = new Vector3([0, 14, 0]);
const COPY = { ...PLACE, y: PLACE.y + OFFSET.y };
const RAISE = 1;
/** By how much each place of `heights` rises. */
const RAISED_M = [2, 2, 0];
/** Patches of the ground lose some of an edge. */
const WIRE_ERROR_M = 0.5;
const GARDEN = { West: 128, South: 108, East: 152, North: 132 };
const GARDEN_M2 = 24 * 24;
const LAWN = { West: 136, South: 116, East: 144, North: 124 };
const AROUND = { West: 120, South: 100, East: 160, North: 140 };

await main(
  async ({ server, loginUri, step, log }) => {
    const python = await step('hippolyzer is installed', installHippolyzer);
    const [builder, witness] = ['Bob', 'Wilma'].map((first) => new Client({ loginUri, first }));
    const both = [builder, witness];
    await step('a builder and a witness come in', () => Promise.all([builder.enter(), witness.enter()]));
    await step('the land is of the estate of the builder', () => server.command('estate', 'owner', 'Bob', 'Tester', '--region', 'Harbour'));
    const commands = builder.bot.clientCommands.region;

    const prims = await step('the builder makes prims', () => within('rezPrims', commands.rezPrims(WALLS + 2)));
    const [floor, ...others] = prims;
    const [spare] = others.splice(WALLS, 1);
    const walls = others;
    await step('the witness sees them', async () => {
      for (const prim of prims) await agree('a new prim', both, prim.FullID);
    });

    await step('the floor and the walls get shapes, places and names', async () => {
      await shapeHouse(floor, walls);
      await agree('the floor', both, floor.FullID, ([prim]) => prim.name === 'House' && prim.scale.x === '8.00');
      for (const [n, wall] of walls.entries()) {
        await agree('a wall', both, wall.FullID, ([prim]) => prim.name === `Wall ${n}` && prim.scale.z === '3.00');
      }
    });
    await step('the floor is painted', async () => {
      await floor.setTextureEntry(painted(floor, new UUID(BRICK)));
      await agree('the floor', both, floor.FullID, ([prim]) => prim.textures.includes(BRICK.replaceAll('-', '')));
    });
    await step('the house is linked', async () => {
      await within('linkFrom', floor.linkFrom(walls));
      await agree('the house', both, floor.FullID, (shown) => shown.length === WALLS + 1);
    });
    await step('the spare prim is deleted', async () => {
      await commands.selectObjects([spare]).catch(() => undefined);
      await spare.deRezObject(TRASH, UUID.random(), UUID.zero()).catch(() => undefined);
      await until('it is gone for both', () => both.every((client) => !seen(client, spare.FullID)));
    });
    const wanted = houseOf(witness, floor.FullID);
    log('house', { root: wanted.id, parts: wanted.parts.length, texture: wanted.texture });

    const house = await step('its next owner may modify and copy it', async () => {
      const change = { ObjectLocalID: floor.ID, Field: NEXT_OWNER, Set: 1, Mask: MODIFY_AND_COPY };
      await send(builder, message('ObjectPermissions', { AgentData: agentData(builder), HeaderData: { Override: false }, ObjectData: [change] }));
      const isGiven = ({ masks }) => (masks.at(-1) & MODIFY_AND_COPY) === MODIFY_AND_COPY;
      return agree('the rights', both, floor.FullID, (shown) => shown.every(isGiven));
    });

    const copy = await step('the house is copied: both see another one like it', async () => {
      const AgentData = { ...agentData(builder), GroupID: UUID.zero() };
      const SharedData = { Offset: OFFSET, DuplicateFlags: 0 };
      await send(builder, message('ObjectDuplicate', { AgentData, SharedData, ObjectData: [{ ObjectLocalID: floor.ID }] }));
      const root = await until('the copy', () => rootAt(witness, COPY));
      await until('all of it', () => both.every((client) => isWhole(client, root.FullID)));
      const shown = await agree('the copy', both, root.FullID);
      assert(isDeepStrictEqual(likeness(shown), likeness(house)), `it is ${JSON.stringify(shown)}`);
      return { id: root.FullID, prims: shown };
    });

    const ground = await step('the ground under it is raised', async () => {
      const before = heights(witness);
      await send(builder, stroke(builder, RAISE, LAWN));
      const isRaised = (client) => heights(client).every((height, n) => Math.abs(height - before[n] - RAISED_M[n]) < WIRE_ERROR_M);
      await until('both show it', () => both.every(isRaised), { describe: () => `${before} became ${heights(witness)}` });
      assert(isDeepStrictEqual(heights(builder), heights(witness)), 'they show other grounds');
      return heights(witness);
    });

    const garden = await step('the land around it becomes a parcel with a name', async () => {
      await send(builder, message('ParcelDivide', { AgentData: agentData(builder), ParcelData: GARDEN }));
      const parcel = await parcelAt(both, ({ Area }) => Area === GARDEN_M2);
      await send(builder, nameParcel(builder, parcel, 'Garden'));
      return parcelAt(both, ({ Name }) => Name === 'Garden');
    });

    await step('the witness may change nothing', async () => {
      const [root, part] = linksetOf(witness, floor.FullID);
      const other = seen(witness, copy.id);
      const edits = editsOfObjects(witness, { root, part, other }).concat(editsOfLand(witness, { parcel: garden, rect: LAWN, around: AROUND }));
      const expected = new Map();
      for (const [reason] of edits) expected.set(reason, (expected.get(reason) ?? 0) + 1);
      const alerts = alertsOf(witness);
      const n_things = witness.things().length;
      for (const [, edit] of edits) await send(witness, edit);
      const areAll = () => [...expected].every(([reason, n]) => refusals(alerts).get(reason) === n);
      await until('each is refused', areAll, { describe: () => `${JSON.stringify([...refusals(alerts)])} instead of ${JSON.stringify([...expected])}` });
      assert(refusals(alerts).size === expected.size, `other refusals: ${JSON.stringify(alerts)}`);
      log('refused', { edits: edits.length });

      for (const { id, prims: before } of [{ id: floor.FullID, prims: house }, copy]) {
        const after = await agree('what was to be changed', both, id);
        assert(isDeepStrictEqual(after, before), `${JSON.stringify(before)} became ${JSON.stringify(after)}`);
      }
      assert(witness.things().length === n_things, 'there are other things');
      assert(isDeepStrictEqual(heights(witness), ground), 'the ground is another');
      await parcelAt(both, ({ Name, Area }) => Name === 'Garden' && Area === GARDEN_M2);
    });
    await step('what its client has shown too early is corrected', async () => {
      const foreign = seen(witness, floor.FullID);
      const before = JSON.stringify(houseOf(witness, floor.FullID));
      await foreign.setGeometry(new Vector3([1, 1, 40]), undefined, new Vector3([1, 1, 1]), true);
      await foreign.setName('Mine');
      await foreign.setTextureEntry(painted(foreign, UUID.random()));
      await foreign.deRezObject(TRASH, UUID.random(), UUID.zero()).catch(() => undefined);
      await until('it shows the house', () => isWhole(witness, floor.FullID) && JSON.stringify(houseOf(witness, floor.FullID)) === before);
      const after = await agree('the house', both, floor.FullID);
      assert(isDeepStrictEqual(after, house), `it became ${JSON.stringify(after)}`);
    });

    await step('the server dies a second after the last edit', async () => {
      const last = new Vector3([PLACE.x + 1, PLACE.y, PLACE.z]);
      await floor.setGeometry(last, undefined, undefined, true);
      await until('the move is seen', () => near(seen(witness, floor.FullID)?.Position, last));
      await new Promise((done) => setTimeout(done, DURABLE_MS));
      await server.kill();
      for (const client of both) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    const late = new Client({ loginUri: server.loginUri, first: 'Lena' });
    await step('another user finds the house and its copy as they were', async () => {
      await late.enter();
      for (const [id, before] of [[floor.FullID, house], [copy.id, copy.prims]]) {
        await until('all of it', () => isWhole(late, id));
        const found = await agree('it', [late], id);
        assert(isDeepStrictEqual(likeness(found), likeness(before)), `${JSON.stringify(before)} became ${JSON.stringify(found)}`);
      }
      const { Position } = seen(late, floor.FullID);
      assert(near(Position, { ...PLACE, x: PLACE.x + 1 }), `it stands at ${JSON.stringify(Position)}`);
      assert(near(seen(late, copy.id).Position, COPY), 'its copy stands elsewhere');
      assert(!seen(late, spare.FullID), 'a deleted prim is back');
    });
    await step('and the land', async () => {
      await until('the ground', () => heights(late).every((height, n) => Math.abs(height - ground[n]) < 0.1), { describe: () => `it is ${heights(late)}` });
      await parcelAt([late], ({ Name, Area }) => Name === 'Garden' && Area === GARDEN_M2);
    });
    await step('hippolyzer reads the same', async () => {
      const names = new Map(walls.map((wall, n) => [wall.FullID.toString(), `Wall ${n}`]));
      const parts = wanted.parts.map((part) => ({ ...part, name: names.get(part.id) }));
      const at = rounded({ ...PLACE, x: PLACE.x + 1 });
      const expected = { ...wanted, at, name: 'House', description: 'Built by a test', parts };
      const found = await readByHippolyzer(python, server.loginUri, wanted.id);
      assert(isDeepStrictEqual(found, expected), `${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
    });
    await step('all leave', () => late.leave());
  },
  { server: { config: 'house.toml' }, noisy: true },
);

/** The house as a hippolyzer client shows it. What that complains of fails the step. */
async function readByHippolyzer(python, loginUri, root) {
  const args = [join(HERE, 'house.py'), '--login', loginUri, '--root', root, '--parts', WALLS];
  const { stdout } = await promisify(execFile)(python, args.map(String));
  return JSON.parse(stdout);
}

/** Heights of the ground that a client shows, in the middle of the lawn, at its border and beside it. */
function heights(client) {
  return [PLACE.x, LAWN.East, LAWN.East + 4].map((x) => client.terrainHeight(x, PLACE.y));
}

/** The parcel that the house stands on, once all clients are told the same of it and `isThere` holds. */
async function parcelAt(clients, isThere) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const asked = clients.map(({ bot }) => bot.clientCommands.region.getParcelAt(PLACE.x, PLACE.y));
    const parcels = await within('getParcelAt', Promise.all(asked));
    if (parcels.every(isThere)) return parcels[0];
    assert(performance.now() < deadline, `the parcels are ${parcels.map(({ Name, Area }) => `${Name} of ${Area} m²`)}`);
  }
}

/** A linkset as a client shows it, in the words of house.py. */
function houseOf(client, id) {
  const [root, ...parts] = linksetOf(client, id);
  const shown = (thing) => ({
    id: thing.FullID.toString(),
    at: rounded(thing.Position),
    scale: rounded(thing.Scale),
    cut: thing.ProfileEnd.toFixed(2),
    texture: thing.TextureEntry?.defaultTexture?.textureID?.toString(),
  });
  return { ...shown(root), parts: parts.map(shown).sort((a, b) => a.id.localeCompare(b.id)) };
}
