// A user builds a house with node-metaverse; another one sees each step and may change nothing; after SIGKILL a third one finds it as it was, and
// hippolyzer reads the same (house.py).
//
//   node house.mjs
//
// The server is killed a second after the last edit, which is as long as an edit may take to be durable.

import nm from '@caspertech/node-metaverse';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { installHippolyzer } from './hippolyzer.mjs';
import { Server } from './server.mjs';
import { until, within } from './wait.mjs';

const require = createRequire(import.meta.url);
const { TextureEntry } = require('@caspertech/node-metaverse/dist/lib/classes/TextureEntry.js');
const { Quaternion } = require('@caspertech/node-metaverse/dist/lib/classes/Quaternion.js');
const { Vector3, UUID } = nm;

const HERE = dirname(fileURLToPath(import.meta.url));
const PLACE = { x: 140, y: 120, z: 30 };
const WALLS = 4;
/** Brick, and no texture of the server's own. */
const BRICK = '11111111-aaaa-4bbb-8ccc-222222222222';
const SAME_PLACE_M = 0.01;
const DURABLE_MS = 1_000;
const TRASH = 6;

await main(
  async ({ server, loginUri, step, log }) => {
    const python = await step('hippolyzer is installed', installHippolyzer);
    const [builder, witness] = ['Bob', 'Wilma'].map((first) => new Client({ loginUri, first }));
    await step('a builder and a witness come in', () => Promise.all([builder.enter(), witness.enter()]));
    const commands = builder.bot.clientCommands.region;

    const prims = await step('the builder makes prims', () => within('rezPrims', commands.rezPrims(WALLS + 2)));
    const [floor, ...others] = prims;
    const [spare] = others.splice(WALLS, 1);
    const walls = others;
    await step('the witness sees them', () => until('all prims', () => prims.every((prim) => seen(witness, prim))));

    await step('the floor and the walls get shapes, places and names', async () => {
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
    });
    await step('the floor is painted', () => floor.setTextureEntry(painted(floor, new UUID(BRICK))));
    await step('the house is linked', () => within('linkFrom', floor.linkFrom(walls)));
    await step('the spare prim is deleted', async () => {
      await builder.bot.currentRegion.clientCommands.region.selectObjects([spare]).catch(() => undefined);
      await spare.deRezObject(TRASH, UUID.random(), UUID.zero()).catch(() => undefined);
      await until('it is gone for both', () => !seen(witness, spare) && !seen(builder, spare));
    });
    const wanted = await step('the witness sees the house', () =>
      until('the house', () => houseOf(witness, floor), { describe: () => JSON.stringify(houseOf(witness, floor, true)) }),
    );
    log('house', { root: wanted.id, parts: wanted.parts.length, texture: wanted.texture });

    await step('the witness may change nothing', async () => {
      const foreign = seen(witness, floor);
      const before = JSON.stringify(houseOf(witness, floor));
      await foreign.setGeometry(new Vector3([1, 1, 40]), undefined, new Vector3([1, 1, 1]), true);
      await foreign.setName('Mine');
      await foreign.setTextureEntry(painted(foreign, UUID.random()));
      await foreign.deRezObject(TRASH, UUID.random(), UUID.zero()).catch(() => undefined);
      await until('the server corrects what it showed', () => JSON.stringify(houseOf(witness, floor)) === before);
      assert(JSON.stringify(houseOf(builder, floor)) === before, 'the builder sees another house');
      assert((await propertiesOf(builder, floor)).name === 'House', 'the house has another name');
    });

    await step('the server dies a second after the last edit', async () => {
      const last = new Vector3([PLACE.x + 1, PLACE.y, PLACE.z]);
      await floor.setGeometry(last, undefined, undefined, true);
      await until('the move is seen', () => near(seen(witness, floor)?.Position, last));
      await new Promise((done) => setTimeout(done, DURABLE_MS));
      await server.kill();
      for (const client of [builder, witness]) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    const late = new Client({ loginUri: server.loginUri, first: 'Lena' });
    await step('another user finds the house as it was', async () => {
      await late.enter();
      const found = await until('the house', () => houseOf(late, floor));
      assert(near(seen(late, floor).Position, { ...PLACE, x: PLACE.x + 1 }), `it stands at ${JSON.stringify(found.at)}`);
      assert(found.id === wanted.id && found.texture === wanted.texture, 'it is another one');
      assert(JSON.stringify(found.parts) === JSON.stringify(wanted.parts), `its parts are ${JSON.stringify(found.parts)}`);
      const properties = await propertiesOf(late, floor);
      assert(properties.name === 'House' && properties.description === 'Built by a test', `it is called ${properties.name}`);
      assert(!seen(late, spare), 'a deleted prim is back');
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

function turned(angle) {
  return new Quaternion([0, 0, Math.sin(angle / 2), Math.cos(angle / 2)]);
}

/** The texture entry of an object with another texture on all faces. */
function painted(object, texture) {
  const entry = TextureEntry.from(object.TextureEntry.toBuffer());
  entry.defaultTexture.textureID = texture;
  return entry;
}

function near(place, other) {
  return place !== undefined && Math.hypot(place.x - other.x, place.y - other.y, place.z - other.z) < SAME_PLACE_M;
}

function rounded({ x, y, z }) {
  return { x: x.toFixed(2), y: y.toFixed(2), z: z.toFixed(2) };
}

/** The house as a hippolyzer client shows it. What that complains of fails the step. */
async function readByHippolyzer(python, loginUri, root) {
  const args = [join(HERE, 'house.py'), '--login', loginUri, '--root', root, '--parts', WALLS];
  const { stdout } = await promisify(execFile)(python, args.map(String));
  return JSON.parse(stdout);
}

/** The object as a client shows it, if it does. */
function seen(client, object) {
  try {
    return client.region.objects.getObjectByUUID(object.FullID);
  } catch {
    return undefined;
  }
}

/** A linkset as a client shows it; undefined until it is the whole house, unless `partly`. */
function houseOf(client, floor, partly = false) {
  const root = seen(client, floor);
  if (!root) return undefined;
  const parts = client.things().filter((thing) => thing.ParentID === root.ID);
  if (!partly && parts.length !== WALLS) return undefined;
  const shown = (thing) => ({
    id: thing.FullID.toString(),
    at: rounded(thing.Position),
    scale: rounded(thing.Scale),
    cut: thing.ProfileEnd.toFixed(2),
    texture: thing.TextureEntry?.defaultTexture?.textureID?.toString(),
  });
  const texture = shown(root).texture;
  if (!partly && texture !== BRICK) return undefined;
  return { ...shown(root), parts: parts.map(shown).sort((a, b) => a.id.localeCompare(b.id)) };
}

async function propertiesOf(client, object) {
  const found = seen(client, object);
  found.resolvedAt = undefined;
  await client.bot.clientCommands.region.resolveObject(found, { forceReResolve: true });
  return found;
}
