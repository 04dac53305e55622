// A user reads the library and uploads textures, a mesh, a notecard and a shirt with node-metaverse; after SIGKILL at the moment of an answer, node-metaverse and hippolyzer
// (uploads.py) find each upload that was answered.
//
//   node uploads.mjs

import nm from '@caspertech/node-metaverse';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { installHippolyzer } from './hippolyzer.mjs';
import { pulse, until, within } from './wait.mjs';

const { AssetType, FolderType, InventoryType, LLLindenText, Utils, UUID, Vector3 } = nm;
const require = createRequire(import.meta.url);
const load = (path) => require(`@caspertech/node-metaverse/dist/lib/${path}.js`);
const { CopyInventoryItemMessage } = load('classes/messages/CopyInventoryItem');
const { LLMesh } = load('classes/public/LLMesh');
const { PacketFlags } = load('enums/PacketFlags');

const HERE = dirname(fileURLToPath(import.meta.url));
const SHIRT = 'LLWearable version 22\nShirt\n\n\tpermissions 0\n\t{\n\t}\ntype 4\nparameters 0\ntextures 0\n';
/** A codestream may be cut anywhere behind its header, and bytes behind its end count for nothing. This is longer than other bodies may be. */
const LONG_BYTES = 1_000_000;
/** Folders of the library: their type, the kind that ViewerAsset is asked for, and how such content begins. */
const LIBRARY = [
  [FolderType.BodyPart, 'bodypart', 'LLWearable version'],
  [FolderType.Clothing, 'clothing', 'LLWearable version'],
  [FolderType.Gesture, 'gesture', '2\n'],
  [FolderType.Landmark, 'landmark', 'Landmark version 2'],
  [FolderType.Notecard, 'notecard', 'Linden text version 2'],
  [FolderType.Object, 'object', '<SceneObjectGroup'],
  [FolderType.LSLText, 'lsltext', '//'],
  [FolderType.Texture, 'texture', '\xff\x4f\xff\x51'],
];
/** Move, modify, copy, transfer and export. */
const ALL_RIGHTS = 0x9e000;

await main(
  async ({ server, loginUri, step }) => {
    const python = await step('hippolyzer is installed', installHippolyzer);
    const ada = new Client({ loginUri, first: 'Ada' });
    await step('a user comes in', () => ada.enter());
    const picture = Buffer.from(await ada.fetchTexture(ada.region.terrainDetail0));

    await step('the library has things of each kind, and their content is served', async () => {
      const address = await ada.region.caps.getCapability('ViewerAsset');
      for (const [type, kind, begin] of LIBRARY) {
        for (const { name, assetID } of await libraryItems(ada, type)) {
          const reply = await fetch(`${address}/?${kind}_id=${assetID}`);
          assert(reply.status === 200, `${kind} "${name}": HTTP ${reply.status}`);
          const content = Buffer.from(await reply.arrayBuffer()).toString('latin1');
          assert(content.startsWith(begin), `${kind} "${name}" begins with ${content.slice(0, 40)}`);
        }
      }
    });

    await step('a thing of the library is copied into the folder of its kind', async () => {
      const [shirt] = await libraryItems(ada, FolderType.Clothing);
      const copy = await copyFromLibrary(ada, shirt);
      const item = await itemOf(ada, copy.itemID);
      assert(item.name === shirt.name && item.assetID.equals(shirt.assetID), `it is ${item.name} with ${item.assetID}`);
      assert(item.parentID.equals(folderOf(ada, FolderType.Clothing).folderID), 'it is in another folder');
      const { owner, baseMask, nextOwnerMask } = item.permissions;
      assert(owner.toString() === ada.id && baseMask === ALL_RIGHTS && nextOwnerMask === ALL_RIGHTS, `rights: ${JSON.stringify(item.permissions)}`);
    });

    const ground = await step('a texture is uploaded into its folder', async () => {
      const folder = folderOf(ada, FolderType.Texture);
      const upload = folder.uploadAsset(AssetType.Texture, InventoryType.Texture, picture, 'Ground', 'Uploaded by a test');
      const item = await within('uploadAsset', upload);
      await folder.populate(false);
      const listed = folder.items.find(({ itemID }) => itemID.equals(item.itemID));
      assert(listed?.name === 'Ground' && listed.assetID.equals(item.assetID), 'it is not in its folder');
      await isStored(ada, { item, kind: 'texture', bytes: picture });
      await isServed(ada, item.assetID, picture);
      return item;
    });

    const notes = await step('a notecard is made, written and written again', async () => {
      const folder = folderOf(ada, FolderType.Notecard);
      const text = notecard('Hello');
      const upload = folder.uploadAsset(AssetType.Notecard, InventoryType.Notecard, text, 'Notes', '');
      const item = await within('uploadAsset', upload);
      await isStored(ada, { item, kind: 'notecard', bytes: text });
      const answer = await uploadTo(ada, 'UpdateNotecardAgentInventory', { item_id: item.itemID.toString() }, notecard('Hello again'));
      const changed = await itemOf(ada, item.itemID);
      assert(changed.assetID.toString() === String(answer.new_asset), 'the item has another asset than the answer');
      assert(!changed.assetID.equals(item.assetID), 'the item has its former asset');
      await isStored(ada, { item: changed, kind: 'notecard', bytes: notecard('Hello again') });
      return changed;
    });

    const shirt = await step('a shirt is uploaded by messages', async () => {
      const folder = folderOf(ada, FolderType.Clothing);
      const upload = folder.uploadAsset(AssetType.Clothing, InventoryType.Wearable, Buffer.from(SHIRT), 'Shirt', '');
      const item = await within('uploadAsset', upload);
      await isStored(ada, { item, kind: 'clothing', bytes: Buffer.from(SHIRT) });
      return item;
    });

    const mesh = await step('a mesh is uploaded: an object that is made of it', async () => {
      const bytes = await tetrahedron().toAsset();
      const folder = folderOf(ada, FolderType.Object);
      const item = await within('uploadMesh', folder.uploadMesh('Tetrahedron', 'Uploaded by a test', bytes, async (cost) => cost === 0));
      const stored = await itemOf(ada, item.itemID);
      assert(stored.name === 'Tetrahedron' && stored.type === AssetType.Object, `the item is ${stored.name} of type ${stored.type}`);
      const object = await within('rezInWorld', stored.rezInWorld(new Vector3([140, 120, 30])));
      // A mesh is a sculpt of type 5 in the protocol.
      const { sculptData } = object.extraParams;
      assert(sculptData?.type === 5, 'the object is made of no mesh');
      await isServedAsMesh(ada, sculptData.texture, bytes);
      return { id: sculptData.texture, bytes };
    });

    await step('what is no texture is refused with a reason', async () => {
      const answer = await uploadTo(ada, 'NewFileAgentInventory', newTexture('GIF'), Buffer.from('GIF89a'));
      assert(String(answer.message).includes('the texture is not a JPEG 2000 codestream'), `a GIF: ${JSON.stringify(answer)}`);
    });

    const long = Buffer.concat([picture, Buffer.alloc(LONG_BYTES)]);
    const [last, written] = await step('the server dies a moment after two answers', async () => {
      const request = { item_id: notes.itemID.toString() };
      const answers = await Promise.all([
        uploadTo(ada, 'NewFileAgentInventory', newTexture('Long'), long),
        uploadTo(ada, 'UpdateNotecardAgentInventory', request, notecard('Farewell')),
      ]);
      await server.kill();
      ada.crash();
      for (const answer of answers) assert(answer.state === 'complete', `an upload: ${JSON.stringify(answer)}`);
      return answers;
    });
    await step('it starts again on the same data', () => server.restart());

    const again = new Client({ loginUri: server.loginUri, first: 'Ada' });
    const kept = [
      { id: ground.itemID.toString(), name: 'Ground', kind: 'texture', bytes: picture },
      { id: String(last.new_inventory_item), name: 'Long', kind: 'texture', bytes: long },
      { id: notes.itemID.toString(), name: 'Notes', kind: 'notecard', bytes: notecard('Farewell') },
      { id: shirt.itemID.toString(), name: 'Shirt', kind: 'clothing', bytes: Buffer.from(SHIRT) },
    ];
    await step('everything that was answered is there', async () => {
      await again.enter();
      for (const { id, name, kind, bytes } of kept) {
        const item = await itemOf(again, new UUID(id));
        assert(item?.name === name, `${name} is called ${item?.name}`);
        await isStored(again, { item, kind, bytes });
      }
      await isServedAsMesh(again, mesh.id, mesh.bytes);
      const newest = await itemOf(again, notes.itemID);
      assert(newest.assetID.toString() === String(written.new_asset), 'the notecard has another content than was answered');
    });
    await step('the user leaves', () => again.leave());

    await step('hippolyzer reads the same', async () => {
      const expected = kept.map(({ id, name, bytes }) => ({ id, name, hash: createHash('sha256').update(bytes).digest('hex') }));
      const items = kept.flatMap(({ id, kind }) => ['--item', `${id}:${kind}`]);
      const { stdout } = await promisify(execFile)(python, [join(HERE, 'uploads.py'), '--login', server.loginUri, ...items]);
      const found = JSON.parse(stdout);
      assert(isDeepStrictEqual(found, expected), `${stdout} instead of ${JSON.stringify(expected)}`);
    });
  },
  { noisy: true },
);

function folderOf(client, type) {
  const { inventory } = client.region.agent;
  return inventory.findFolder(inventory.findFolderForType(type));
}

/** Items in the library's folder of a type. */
async function libraryItems(client, type) {
  const folders = client.region.agent.inventory.getRootFolderLibrary().getChildFolders();
  const folder = folders.find(({ typeDefault }) => typeDefault === type);
  assert(folder, `the library has no folder of type ${type}`);
  await within('populate', folder.populate(false));
  assert(folder.items.length > 0, `${folder.name} of the library is empty`);
  return folder.items;
}

/** Copies an item as viewers do that wear it: without a folder. */
async function copyFromLibrary(client, item) {
  const { circuit } = client;
  let copy;
  const heard = client.bot.clientEvents.onBulkUpdateInventoryEvent.subscribe(({ itemData }) => {
    [copy] = itemData;
    pulse();
  });
  const message = new CopyInventoryItemMessage();
  message.AgentData = { AgentID: new UUID(client.id), SessionID: circuit.sessionID };
  const OldAgentID = client.region.agent.inventory.library.owner;
  const NewName = Utils.StringToBuffer('');
  message.InventoryData = [{ CallbackID: 1, OldAgentID, OldItemID: item.itemID, NewFolderID: UUID.zero(), NewName }];
  await within(message.name, circuit.waitForAck(circuit.sendMessage(message, PacketFlags.Reliable), 10_000));
  await until('the copy', () => copy);
  heard.unsubscribe();
  return copy;
}

function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}

function newTexture(name) {
  return { asset_type: 'texture', inventory_type: 'texture', name, description: '' };
}

function notecard(body) {
  const text = new LLLindenText();
  text.body = body;
  return text.toAsset();
}

/** Both steps of an upload by a capability; the answer to the second one. */
async function uploadTo(client, capability, request, bytes) {
  const { caps } = client.region;
  const { uploader } = await within(capability, caps.capsPostXML(capability, request));
  assert(uploader, `${capability} has no address to upload to`);
  return within(`${capability}: upload`, caps.capsRequestUpload(uploader, bytes));
}

/** The asset of an item is served with these bytes. */
async function isStored(client, { item, kind, bytes }) {
  const address = await client.region.caps.getCapability('ViewerAsset');
  await isFetched(`${address}/?${kind}_id=${item.assetID}`, bytes);
}

/** A texture is served by the older capability, too. */
async function isServed(client, id, bytes) {
  const address = await client.region.caps.getCapability('GetTexture');
  await isFetched(`${address}?texture_id=${id}`, bytes);
}

async function isServedAsMesh(client, id, bytes) {
  for (const capability of ['GetMesh', 'GetMesh2']) {
    await isFetched(`${await client.region.caps.getCapability(capability)}/?mesh_id=${id}`, bytes);
  }
}

/** A mesh of one face, with a hull to collide as. */
function tetrahedron() {
  const corners = [[-0.5, -0.5, -0.5], [0.5, -0.5, -0.5], [0, 0.5, -0.5], [0, 0, 0.5]].map((corner) => new Vector3(corner));
  const domain = { min: new Vector3([-0.5, -0.5, -0.5]), max: new Vector3([0.5, 0.5, 0.5]) };
  const triangleList = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3];
  const face = { position: corners, positionDomain: domain, normal: corners.map(() => new Vector3([0, 0, 1])), triangleList };
  return Object.assign(new LLMesh(), { version: 1, lodLevels: { high_lod: [face] }, physicsConvex: { boundingVerts: corners, domain } });
}

async function isFetched(address, bytes) {
  const reply = await fetch(address);
  assert(reply.status === 200, `${address}: HTTP ${reply.status}`);
  assert(Buffer.compare(Buffer.from(await reply.arrayBuffer()), bytes) === 0, `${address} has other bytes`);
}
