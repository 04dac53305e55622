// Users of node-metaverse carry objects between the world and their inventories: one takes what it has built, rezzes it again, takes a copy and gives that away; the
// other one, who may not copy it, has it in one place at any time, also while it is worn, and in an object. A notecard goes into an object and out of it, and is written
// anew in it. After SIGKILL at the moment of the answer to that everything is where the last reply said.
//
//   node carry.mjs

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { pulse, until, within } from './wait.mjs';

const { AssetType, FolderType, InventoryType, LLLindenText, UUID, Utils, Vector3 } = nm;
const { AttachmentPoint } = createRequire(import.meta.url)('@caspertech/node-metaverse/dist/lib/enums/AttachmentPoint.js');

const TAKE_COPY = 1;
const COPY_RIGHT = 1 << 15;
const PLACE = new Vector3([140, 120, 30]);
const OTHER_PLACE = new Vector3([144, 120, 30]);

await main(
  async ({ server, loginUri, step }) => {
    const [ada, grace] = ['Ada', 'Grace'].map((first) => new Client({ loginUri, first }));
    await step('two users come in', () => Promise.all([ada.enter(), grace.enter()]));
    const [atAda, atGrace] = [ada, grace].map(observe);

    const built = await step('one builds a lamp', async () => {
      const [prim] = await within('rezPrims', ada.bot.clientCommands.region.rezPrims(1));
      await prim.setName('Lamp');
      await until('the other one sees it', () => seen(grace, prim.FullID));
      return prim;
    });

    const lamp = await step('it is taken: gone for both, and an item', async () => {
      const item = await within('takeToInventory', built.takeToInventory());
      assert(item.name === 'Lamp' && item.type === AssetType.Object, `the item is ${item.name} of type ${item.type}`);
      await until('it is gone for both', () => !seen(ada, built.FullID) && !seen(grace, built.FullID));
      return item;
    });

    const placed = await step('it is rezzed: another object for both, and the item stays', async () => {
      const object = await within('rezInWorld', lamp.rezInWorld(PLACE));
      assert(!object.FullID.equals(built.FullID), 'it has the former id');
      await until('the other one sees it', () => seen(grace, object.FullID));
      assert(object.name === 'Lamp', `it is called ${object.name}`);
      assert(await itemOf(ada, lamp.itemID), 'an item that may be copied is gone');
      return object;
    });

    const copy = await step('a copy of it is taken: it stays', async () => {
      const before = atAda.made.length;
      await placed.deRezObject(TAKE_COPY, UUID.random(), folderId(ada, FolderType.Object));
      const row = await until('the item', () => atAda.made.slice(before).find(({ name }) => name === 'Lamp'));
      assert(seen(ada, placed.FullID), 'the object is gone');
      return itemOf(ada, row.id);
    });

    const single = await step('the copy is given: its new owner may not copy it', async () => {
      await within('giveInventory', ada.bot.clientCommands.comms.giveInventory(grace.id, copy));
      const offer = await until('the offer', () => atGrace.offers[0]);
      const item = await itemOf(grace, offer.requestID);
      assert((item.permissions.ownerMask & COPY_RIGHT) === 0, 'its owner may copy it');
      return item;
    });

    const gift = await step('she rezzes it: the item is gone', async () => {
      const object = await within('rezInWorld', single.rezInWorld(OTHER_PLACE));
      await until('the item is gone', () => atGrace.gone.includes(single.itemID.toString()));
      assert((await itemOf(grace, single.itemID)) === null, 'it is in two places');
      await until('the giver sees it', () => seen(ada, object.FullID));
      return object;
    });

    const back = await step('she takes it back: the object is gone', async () => {
      const item = await within('takeToInventory', gift.takeToInventory());
      await until('it is gone for both', () => !seen(ada, gift.FullID) && !seen(grace, gift.FullID));
      assert((item.permissions.ownerMask & COPY_RIGHT) === 0, 'its owner may copy it now');
      return item;
    });

    await step('she wears it, and takes it off: the item stays', async () => {
      await within('attachToAvatar', back.attachToAvatar(AttachmentPoint.RightHand));
      await until('both see it at her', () => worn(grace, grace, back) && worn(ada, grace, back));
      assert(worn(ada, grace, back).attachmentPoint === AttachmentPoint.RightHand, 'it is at another point');
      await back.detachFromAvatar();
      await until('it is gone for both', () => !worn(grace, grace, back) && !worn(ada, grace, back));
      assert((await itemOf(grace, back.itemID))?.name === 'Lamp', 'the item is gone');
    });

    const kept = await step('she drops it into a prim, and takes it out: it is in one place', async () => {
      const [chest] = await within('rezPrims', grace.bot.clientCommands.region.rezPrims(1));
      await until('the giver sees the prim', () => seen(ada, chest.FullID));
      await within('dropInventoryIntoContents', chest.dropInventoryIntoContents(await itemOf(grace, back.itemID)));
      const [inside, ...others] = await contentsOf(grace, chest);
      assert(inside?.name === 'Lamp' && inside.type === AssetType.Object && others.length === 0, `in it is ${inside?.name}`);
      assert((inside.permissions.ownerMask & COPY_RIGHT) === 0, 'in the prim it may be copied');
      await until('the item is gone', () => atGrace.gone.includes(back.itemID.toString()));
      assert((await itemOf(grace, back.itemID)) === null, 'it is in two places');
      const item = await within('moveToFolder', inside.moveToFolder(folderOf(grace, FolderType.Object)));
      assert(item.name === 'Lamp' && (item.permissions.ownerMask & COPY_RIGHT) === 0, `what comes out is ${item.name}`);
      assert((await contentsOf(grace, chest)).length === 0, 'it is still in the prim');
      return item;
    });

    await step('a notecard goes into the lamp', async () => {
      const text = Object.assign(new LLLindenText(), { body: 'On and off' });
      const folder = folderOf(ada, FolderType.Notecard);
      const uploaded = folder.uploadAsset(AssetType.Notecard, InventoryType.Notecard, text.toAsset(), 'Manual', '');
      const note = await within('uploadAsset', uploaded);
      await within('dropInventoryIntoContents', seen(ada, placed.FullID).dropInventoryIntoContents(note));
      const [inside] = await contentsOf(ada, placed);
      assert(inside?.name === 'Manual' && inside.assetID.equals(note.assetID), `in it is ${inside?.name}`);
      assert((await contentsOf(grace, placed)).length === 1, 'the other one does not see it');
    });

    const manual = await step('and a copy of it comes out', async () => {
      const [inside] = await contentsOf(ada, placed);
      const folder = folderOf(ada, FolderType.Object);
      const item = await within('moveToFolder', inside.moveToFolder(folder));
      assert(item.name === 'Manual' && item.parentID.equals(folder.folderID), `${item.name} is in ${item.parentID}`);
      return item;
    });

    const written = await step('the one in the lamp is written anew, by its owner alone', async () => {
      const [inside] = await contentsOf(ada, placed);
      const request = { task_id: placed.FullID.toString(), item_id: inside.itemID.toString() };
      const text = Object.assign(new LLLindenText(), { body: 'Off and on' }).toAsset();
      const refused = await within('a foreign object', grace.region.caps.capsPostXML('UpdateNotecardTaskInventory', request));
      assert(refused.state === 'error' && String(refused.message).includes('not allowed'), `a foreign object: ${JSON.stringify(refused)}`);
      const { caps } = ada.region;
      const { uploader } = await within('UpdateNotecardTaskInventory', caps.capsPostXML('UpdateNotecardTaskInventory', request));
      const answer = await within('the upload', caps.capsRequestUpload(uploader, text));
      assert(answer.state === 'complete', `the upload: ${JSON.stringify(answer)}`);
      const [after] = await contentsOf(ada, placed);
      assert(after.assetID.toString() === String(answer.new_asset) && after.itemID.equals(inside.itemID), `it has the content ${after.assetID}`);
      const address = await caps.getCapability('ViewerAsset');
      const reply = await fetch(`${address}/?notecard_id=${after.assetID}`);
      assert(Buffer.compare(Buffer.from(await reply.arrayBuffer()), text) === 0, 'its content is not what was written');
      return after.assetID;
    });

    await step('the server dies at the moment of that answer', async () => {
      await server.kill();
      for (const client of [ada, grace]) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    const [later, other] = ['Ada', 'Grace'].map((first) => new Client({ loginUri: server.loginUri, first }));
    await step('everything is where the last reply said', async () => {
      await Promise.all([later.enter(), other.enter()]);
      await until('the lamp', () => seen(later, placed.FullID) && seen(other, placed.FullID));
      assert(!seen(later, built.FullID) && !seen(later, gift.FullID), 'what was taken is in the world');
      for (const id of [lamp.itemID, copy.itemID, manual.itemID]) assert(await itemOf(later, id), `${id} is gone`);
      assert((await itemOf(other, kept.itemID))?.name === 'Lamp', 'what was taken back is gone');
      assert((await itemOf(other, single.itemID)) === null, 'an item that was rezzed is back');
      const contents = await contentsOf(later, placed);
      assert(contents.map(({ name }) => name).join() === 'Manual', 'it has other contents');
      assert(contents[0].assetID.equals(written), 'the notecard in it has its former content');
    });
    await step('what may not be copied is rezzed once more, and is in one place', async () => {
      const atOther = observe(other);
      const item = await itemOf(other, kept.itemID);
      const object = await within('rezInWorld', item.rezInWorld(OTHER_PLACE));
      await until('the item is gone', () => atOther.gone.includes(item.itemID.toString()));
      await until('both see it', () => seen(later, object.FullID) && seen(other, object.FullID));
      assert((await itemOf(other, item.itemID)) === null, 'it is in two places');
    });
    await step('all leave', () => Promise.all([later.leave(), other.leave()]));
  },
  { server: { config: 'house.toml' }, noisy: true },
);

/** News of an inventory at a client, in order: offers of gifts, new items, and those that are gone. */
function observe(client) {
  const news = { offers: [], made: [], gone: [] };
  client.bot.clientEvents.onInventoryOffered.subscribe((offer) => {
    news.offers.push(offer);
    pulse();
  });
  client.circuit.onPacketReceived.subscribe(({ message }) => {
    if (message.name === 'UpdateCreateInventoryItem') {
      const rows = message.InventoryData.map(({ ItemID, Name }) => ({ id: ItemID, name: Utils.BufferToStringSimple(Name) }));
      news.made.push(...rows);
    } else if (message.name === 'RemoveInventoryItem') {
      news.gone.push(...message.InventoryData.map(({ ItemID }) => ItemID.toString()));
    }
    pulse();
  });
  return news;
}

/** The object that a user wears as an item, as a client shows it at the avatar; undefined if it does not. */
function worn(client, owner, item) {
  const avatar = client.sees(owner.id);
  const isItem = ({ NameValue }) => NameValue?.get('AttachItemID')?.value === item.itemID.toString();
  return client.things().find((thing) => isItem(thing) && avatar !== undefined && thing.ParentID === avatar.localId);
}

/** The object as a client shows it, if it does. */
function seen(client, id) {
  try {
    return client.region.objects.getObjectByUUID(id);
  } catch {
    return undefined;
  }
}

function folderId(client, type) {
  return client.region.agent.inventory.findFolderForType(type);
}

function folderOf(client, type) {
  return client.region.agent.inventory.findFolder(folderId(client, type));
}

/** The item as the server has it; null without one. */
function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}

/** The items in an object, read anew. */
async function contentsOf(client, object) {
  const found = seen(client, object.FullID);
  await within('updateInventory', found.updateInventory());
  return found.inventory;
}
