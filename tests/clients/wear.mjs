// A user of node-metaverse wears twenty objects of the inventory, two of which are edited meanwhile. They look the same to its own client and to another one after the next
// login, after a restart of the world, in another region, and after SIGKILL. One is taken off with its last state.
//
//   node wear.mjs
//
// The server is killed a second after the last change, which is as long as one may take to be durable.

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { BRICK, described, painted, resolved, rounded } from './building.mjs';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { DEADLINE_MS, until, within } from './wait.mjs';

const { AssetType, UUID, Vector3 } = nm;
const require = createRequire(import.meta.url);
const { AttachmentPoint } = require('@caspertech/node-metaverse/dist/lib/enums/AttachmentPoint.js');

/** Each at a point of its own: they are numbered from 1 on, and those above 30 are on the screen. */
const N_WORN = 20;
const HAT = AttachmentPoint.Skull - 1;
const SHIRT = AttachmentPoint.Chest - 1;
const OFFSET = new Vector3([0, 0, 0.25]);
const cube = (edge) => new Vector3([edge, edge, edge]);
const [WIDE, WIDER] = [0.75, 1.25].map(cube);
const PLACE = new Vector3([104, 120, 30]);
const DURABLE_MS = 1_000;

await main(
  async ({ server, loginUri, step }) => {
    const grace = new Client({ loginUri, first: 'Grace' });
    let ada = new Client({ loginUri, first: 'Ada' });
    await step('two users come in', () => Promise.all([ada.enter(), grace.enter()]));

    const items = await step('one builds twenty things and takes them', async () => {
      const prims = await within('rezPrims', ada.bot.clientCommands.region.rezPrims(N_WORN));
      for (const [n, prim] of prims.entries()) {
        await prim.setName(`Piece ${n}`);
        await prim.setGeometry(undefined, undefined, cube(0.2 + n / 50));
      }
      await until('the other one sees them', () => prims.every(({ FullID }) => grace.things().some((thing) => FullID.equals(thing.FullID))));
      const taken = [];
      for (const [n, prim] of prims.entries()) {
        const item = await within('takeToInventory', prim.takeToInventory());
        assert(item.name === `Piece ${n}` && item.type === AssetType.Object, `the item is ${item.name} of type ${item.type}`);
        taken.push(item);
      }
      return taken;
    });
    const [hat, shirt] = [items[HAT], items[SHIRT]];

    await step('she wears them: both see each at its point, and the items stay', async () => {
      for (const [n, item] of items.entries()) await within('attachToAvatar', item.attachToAvatar(n + 1));
      const shown = await dressed('all of them', [ada, grace], ada);
      const points = new Map(items.map((item, n) => [item.itemID.toString(), n + 1]));
      for (const { item, name, point } of shown) assert(points.get(item) === point, `${name} is at the point ${point}`);
      for (const { itemID, name } of items) assert(await itemOf(ada, itemID), `the item of ${name} is gone`);
    });

    const wanted = await step('two are edited while they are worn', async () => {
      await worn(ada, ada, hat).setGeometry(OFFSET, undefined, WIDE);
      const piece = worn(ada, ada, shirt);
      await piece.setTextureEntry(painted(piece, new UUID(BRICK)));
      const isEdited = (shown) => {
        const [ofHat, ofShirt] = [hat, shirt].map(({ itemID }) => shown.find(({ item }) => item === itemID.toString()));
        const isMoved = isDeepStrictEqual([ofHat.scale, ofHat.at], [rounded(WIDE), rounded(OFFSET)]);
        return isMoved && ofShirt.textures.includes(BRICK.replaceAll('-', ''));
      };
      return dressed('the edits', [ada, grace], ada, isEdited);
    });
    const isAsBefore = (shown) => isDeepStrictEqual(shown, wanted);

    await step('after the next login they look the same', async () => {
      await ada.leave();
      await until('they are gone with their avatar', () => !worn(grace, ada, hat));
      ada = new Client({ loginUri, first: 'Ada' });
      await ada.enter();
      await dressed('the outfit', [ada, grace], ada, isAsBefore);
      const { assetID } = await itemOf(ada, hat.itemID);
      assert(!assetID.equals(hat.assetID), 'the item has its former content');
    });

    await step('after a restart of the world, too', async () => {
      await server.command('region', 'restart', 'Harbour');
      // What is heard now comes from the world that has begun again.
      await ada.shout('Still here');
      await until('the other one hears her', () => grace.heard('Still here', ada.id));
      await dressed('the outfit', [ada, grace], ada, isAsBefore);
    });

    await step('and in another region', async () => {
      await ada.teleport(await ada.regionHandle('Meadows'), 100, 120);
      await until('they are gone where she was', () => !worn(grace, ada, hat));
      await grace.teleport(await grace.regionHandle('Meadows'), 100, 122);
      await dressed('the outfit', [ada, grace], ada, isAsBefore);
    });

    await step('the server dies a second after another edit', async () => {
      await worn(ada, ada, hat).setGeometry(undefined, undefined, WIDER);
      await new Promise((done) => setTimeout(done, DURABLE_MS));
      await server.kill();
      for (const client of [ada, grace]) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    const [later, other] = ['Ada', 'Grace'].map((first) => new Client({ loginUri: server.loginUri, first }));
    await step('they look the same, with the last edit', async () => {
      await Promise.all([later.enter(), other.enter()]);
      await other.teleport(await other.regionHandle('Meadows'), 100, 122);
      const last = wanted.map((piece) => (piece.item === hat.itemID.toString() ? { ...piece, scale: rounded(WIDER) } : piece));
      await dressed('the outfit', [later, other], later, (shown) => isDeepStrictEqual(shown, last));
    });

    await step('she takes one off: it is gone for both, and the item has its last state', async () => {
      const item = await itemOf(later, hat.itemID);
      await item.detachFromAvatar();
      await until('it is gone for both', () => !worn(later, later, hat) && !worn(other, later, hat));
      const after = await renewedItem(later, item);
      assert(after?.parentID.equals(item.parentID), 'the item is elsewhere');
      assert(outfitOf(other, later).length === N_WORN - 1, 'others are gone with it');
    });

    await step('she rezzes it: it has the size of the last edit', async () => {
      const object = await within('rezInWorld', (await itemOf(later, hat.itemID)).rezInWorld(PLACE));
      assert(Math.abs(object.Scale.x - WIDER.x) < 0.01, `it is ${object.Scale.x} m wide`);
    });
    await step('all leave', () => Promise.all([later.leave(), other.leave()]));
  },
  { server: { config: 'wear.toml' }, noisy: true },
);

/** The item with another asset: with the next save of the region it has the last state of its object. */
async function renewedItem(client, item) {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const found = await itemOf(client, item.itemID);
    if (!found?.assetID.equals(item.assetID)) return found;
    assert(performance.now() < end, 'the item has its former content');
    let isNews = false;
    await until('a packet', () => isNews || void (isNews = true));
  }
}

function itemShown({ NameValue }) {
  return NameValue?.get('AttachItemID')?.value;
}

/** All that a user wears, as a client shows it at the avatar. */
function outfitOf(client, owner) {
  const avatar = client.sees(owner.id);
  return client.things().filter((thing) => avatar !== undefined && thing.ParentID === avatar.localId && itemShown(thing));
}

/** The object that a user wears as an item, likewise; undefined if the client does not show it. */
function worn(client, owner, item) {
  return outfitOf(client, owner).find((thing) => itemShown(thing) === item.itemID.toString());
}

/** The pieces of an outfit by their items, once all clients show the same of each and `isThere` holds for them. */
async function dressed(what, clients, owner, isThere = () => true) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    await until(`${what}: all pieces`, () => clients.every((client) => outfitOf(client, owner).length === N_WORN), {
      describe: () => `of ${N_WORN} are shown ${clients.map((client) => outfitOf(client, owner).length)}`,
    });
    const [first, ...others] = await Promise.all(clients.map((client) => piecesOf(client, owner)));
    const isWhole = first.length === N_WORN && others.every((shown) => isDeepStrictEqual(shown, first));
    if (isWhole && isThere(first)) return first;
    assert(performance.now() < deadline, `${what}: clients show ${JSON.stringify([first, ...others])}`);
  }
}

async function piecesOf(client, owner) {
  const pieces = await resolved(client, outfitOf(client, owner));
  const shown = pieces.map((piece) => ({ item: itemShown(piece), point: piece.attachmentPoint, ...described(piece) }));
  return shown.sort((a, b) => a.item.localeCompare(b.item));
}

/** The item as the server has it; null without one. */
function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}
