// A user of node-metaverse wears an object of the inventory, which another one sees at the avatar: also after an edit while it is worn, after the next login, in another
// region, and after SIGKILL. It is taken off with its last state.
//
//   node wear.mjs
//
// The server is killed a second after the last change, which is as long as one may take to be durable.

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { until, within } from './wait.mjs';

const { AssetType, Vector3 } = nm;
const require = createRequire(import.meta.url);
const { AttachmentPoint } = require('@caspertech/node-metaverse/dist/lib/enums/AttachmentPoint.js');

const OFFSET = new Vector3([0, 0, 0.25]);
const SIZES = [0.5, 0.75, 1.25].map((edge) => new Vector3([edge, edge, edge]));
const PLACE = new Vector3([104, 120, 30]);
const DURABLE_MS = 1_000;

await main(
  async ({ server, loginUri, step }) => {
    const grace = new Client({ loginUri, first: 'Grace' });
    let ada = new Client({ loginUri, first: 'Ada' });
    await step('two users come in', () => Promise.all([ada.enter(), grace.enter()]));

    const hat = await step('one builds a hat and takes it', async () => {
      const [prim] = await within('rezPrims', ada.bot.clientCommands.region.rezPrims(1));
      await prim.setName('Hat');
      await prim.setGeometry(undefined, undefined, SIZES[0]);
      await until('the other one sees it', () => things(grace).some(({ FullID }) => FullID.equals(prim.FullID)));
      const item = await within('takeToInventory', prim.takeToInventory());
      assert(item.name === 'Hat' && item.type === AssetType.Object, `the item is ${item.name} of type ${item.type}`);
      return item;
    });

    await step('she wears it: both see it at the avatar, and the item stays', async () => {
      await within('attachToAvatar', hat.attachToAvatar(AttachmentPoint.Skull));
      await until('both see it', () => worn(ada, ada, hat) && worn(grace, ada, hat));
      const seen = worn(grace, ada, hat);
      assert(seen.attachmentPoint === AttachmentPoint.Skull, `it is at the point ${seen.attachmentPoint}`);
      assert(await itemOf(ada, hat.itemID), 'the item is gone');
    });

    await step('it is edited while it is worn', async () => {
      await worn(ada, ada, hat).setGeometry(OFFSET, undefined, SIZES[1]);
      await until('the other one sees that', () => isLike(worn(grace, ada, hat), SIZES[1]));
    });

    await step('it is there after the next login, as it was', async () => {
      await ada.leave();
      await until('it is gone with its avatar', () => !worn(grace, ada, hat));
      ada = new Client({ loginUri, first: 'Ada' });
      await ada.enter();
      await until('both see it', () => isLike(worn(ada, ada, hat), SIZES[1]) && isLike(worn(grace, ada, hat), SIZES[1]));
      const { assetID } = await itemOf(ada, hat.itemID);
      assert(!assetID.equals(hat.assetID), 'the item has its former content');
    });

    await step('it goes along into another region', async () => {
      await ada.teleport(await ada.regionHandle('Meadows'), 100, 120);
      await until('she has it there', () => isLike(worn(ada, ada, hat), SIZES[1]));
      await until('it is gone where she was', () => !worn(grace, ada, hat));
    });

    await step('the server dies a second after another edit', async () => {
      await worn(ada, ada, hat).setGeometry(undefined, undefined, SIZES[2]);
      await new Promise((done) => setTimeout(done, DURABLE_MS));
      await server.kill();
      for (const client of [ada, grace]) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    const [later, other] = ['Ada', 'Grace'].map((first) => new Client({ loginUri: server.loginUri, first }));
    await step('she wears it with the last edit', async () => {
      await Promise.all([later.enter(), other.enter()]);
      await until('she has it', () => isLike(worn(later, later, hat), SIZES[2]));
      await other.teleport(await other.regionHandle('Meadows'), 100, 122);
      await until('the other one sees it', () => isLike(worn(other, later, hat), SIZES[2]));
    });

    await step('she takes it off: it is gone for both, and the item has its last state', async () => {
      const item = await itemOf(later, hat.itemID);
      await item.detachFromAvatar();
      await until('it is gone for both', () => !worn(later, later, hat) && !worn(other, later, hat));
      const after = await itemOf(later, hat.itemID);
      assert(after?.parentID.equals(item.parentID), 'the item is elsewhere');
      assert(!after.assetID.equals(hat.assetID), 'the item has its former content');
    });

    await step('she rezzes it: it has the size of the last edit', async () => {
      const object = await within('rezInWorld', (await itemOf(later, hat.itemID)).rezInWorld(PLACE));
      assert(Math.abs(object.Scale.x - SIZES[2].x) < 0.01, `it is ${object.Scale.x} m wide`);
    });
    await step('all leave', () => Promise.all([later.leave(), other.leave()]));
  },
  { server: { config: 'wear.toml' }, noisy: true },
);

function things(client) {
  return client.things();
}

/** The object that a user wears as an item, as a client shows it at the avatar; undefined if it does not. */
function worn(client, owner, item) {
  const avatar = client.sees(owner.id);
  return things(client).find(({ NameValue, ParentID }) => {
    const named = NameValue?.get('AttachItemID')?.value;
    return named === item.itemID.toString() && avatar !== undefined && ParentID === avatar.localId;
  });
}

/** True for an object of this size, at the offset that it was given. */
function isLike(object, size) {
  const near = (one, two) => Math.abs(one - two) < 0.01;
  return object !== undefined && near(object.Scale.x, size.x) && near(object.Position.z, OFFSET.z);
}

/** The item as the server has it; null without one. */
function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}
