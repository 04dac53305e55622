// Users of node-metaverse give each other notecards and folders, at once and to one who comes in later, also after SIGKILL; an item comes out of a notecard, and a
// landmark leads back to where it was made.
//
//   node gifts.mjs

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { DEADLINE_MS, pulse, until, within } from './wait.mjs';

const { AssetType, FolderType, InventoryType, LLLindenText, Utils, UUID, Vector3 } = nm;
const require = createRequire(import.meta.url);
const load = (path) => require(`@caspertech/node-metaverse/dist/lib/${path}.js`);
const { CreateInventoryItemMessage } = load('classes/messages/CreateInventoryItem');
const { ImprovedInstantMessageMessage } = load('classes/messages/ImprovedInstantMessage');
const { PurgeInventoryDescendentsMessage } = load('classes/messages/PurgeInventoryDescendents');
const { RemoveInventoryFolderMessage } = load('classes/messages/RemoveInventoryFolder');
const { TeleportLandmarkRequestMessage } = load('classes/messages/TeleportLandmarkRequest');
const { InstantMessageDialog } = load('enums/InstantMessageDialog');
const { PacketFlags } = load('enums/PacketFlags');

await main(
  async ({ server, loginUri, step }) => {
    const [ada, grace, eve] = ['Ada', 'Grace', 'Eve'].map((first) => new Client({ loginUri, first }));
    const [atAda, atGrace] = [ada, grace].map(observe);
    await step('two users come in; a third has an account, and leaves', async () => {
      await Promise.all([ada.enter(), grace.enter(), eve.enter()]);
      await eve.leave();
    });
    listenForAlerts(ada, atAda);

    const notes = await step('a user writes a notecard', () => write(ada, folderOf(ada, FolderType.Notecard), 'Notes', 'Hello'));

    const first = await step('it is given: the other user has it at once', async () => {
      await give(ada, grace.id, notes);
      const offer = await until('the offer', () => atGrace.offers[0]);
      assert(offer.from.toString() === ada.id && offer.fromName === ada.name && offer.message === 'Notes', `an offer: ${JSON.stringify(offer)}`);
      const item = await itemOf(grace, offer.requestID);
      assert(item?.name === 'Notes' && item.assetID.equals(notes.assetID), 'the receiver does not have it');
      assert(item.parentID.equals(folderId(grace, FolderType.Notecard)), 'it is not in the folder of its kind');
      assert(await itemOf(ada, notes.itemID), 'the giver has lost what may be copied');
      return offer;
    });

    await step('it is accepted: it moves to the folder that the client names', async () => {
      const folder = folderId(grace, FolderType.Object);
      await answer(grace, first, InstantMessageDialog.InventoryAccepted, folder);
      const heard = await until('the answer', () => atAda.answers[0]);
      assert(heard.accepted && heard.from.toString() === grace.id, `an answer: ${JSON.stringify(heard)}`);
      assert((await itemOf(grace, first.requestID)).parentID.equals(folder), 'it has not moved');
    });

    const { letter, letters } = await step('a folder is given and declined: it is in the trash', async () => {
      const letters = await within('createFolder', ada.region.agent.inventory.getRootFolderMain().createFolder('Letters', FolderType.None));
      await write(ada, letters, 'Letter', 'Dear Grace');
      await give(ada, grace.id, letters);
      const offer = await until('the offer', () => atGrace.offers[1]);
      await until('the folder and its letter', () => folderAt(atGrace, offer.requestID) && atGrace.items.some(({ name }) => name === 'Letter'));
      const trash = folderId(grace, FolderType.Trash);
      await answer(grace, offer, InstantMessageDialog.InventoryDeclined, trash);
      await until('the folder is in the trash', () => folderAt(atGrace, offer.requestID).parentID.equals(trash));
      const heard = await until('the answer', () => atAda.answers[1]);
      assert(!heard.accepted, 'it counts as accepted');
      const letter = atGrace.items.findLast(({ name }) => name === 'Letter').itemID;
      assert((await itemOf(grace, letter))?.name === 'Letter', 'its letter is not in it');
      return { letter, letters };
    });

    await step('the trash is emptied, and a folder is deleted with its letter', async () => {
      const purge = new PurgeInventoryDescendentsMessage();
      purge.AgentData = agentData(grace);
      purge.InventoryData = { FolderID: folderId(grace, FolderType.Trash) };
      await send(grace, purge);
      await gone(grace, letter);
      const trash = folderOf(grace, FolderType.Trash);
      await within('populate', trash.populate(false));
      assert(trash.items.length === 0, `in the trash is ${trash.items.map(({ name }) => name)}`);

      await within('populate', letters.populate(false));
      const [original] = letters.items;
      assert(original?.name === 'Letter', 'the giver has lost the letter');
      const remove = new RemoveInventoryFolderMessage();
      remove.AgentData = agentData(ada);
      remove.FolderData = [{ FolderID: letters.folderID }];
      await send(ada, remove);
      await gone(ada, original.itemID);
    });

    await step('an item comes out of a notecard', async () => {
      const text = new LLLindenText();
      text.embeddedItems.set(0, await itemOf(ada, notes.itemID));
      text.body = 'See \u{100000}.';
      const album = await write(ada, folderOf(ada, FolderType.Notecard), 'Album', text);
      await give(ada, grace.id, album);
      const offer = await until('the offer', () => atGrace.offers[2]);
      const { asset } = grace.bot.clientCommands;
      const copied = asset.copyInventoryFromNotecard(offer.requestID, folderOf(grace, FolderType.Notecard), notes.itemID);
      const copy = await within('copyInventoryFromNotecard', copied);
      assert(copy.assetID.equals(notes.assetID) && !copy.itemID.equals(notes.itemID), 'it has other content');
      assert((await itemOf(grace, copy.itemID))?.name === 'Notes', 'the reader does not have it');
    });

    await step('a landmark leads back to where it was made', async () => {
      const from = { region: grace.regionName, at: grace.sees().position };
      const landmark = await makeLandmark(grace, 'Here');
      const elsewhere = await grace.regionHandle('Meadows');
      await grace.teleport(elsewhere, 100, 120);
      await grace.follows(() => followLandmark(grace, landmark));
      assert(grace.regionName === from.region, `it leads to ${grace.regionName}`);
      const { x, y } = grace.sees().position;
      assert(Math.hypot(x - from.at.x, y - from.at.y) < 3, `it leads to ${x}, ${y} instead of ${from.at.x}, ${from.at.y}`);
    });

    await step('a gift to an absent user outlives the server', async () => {
      await give(ada, eve.id, notes);
      await until('a notice', () => atAda.alerts.some((text) => text.startsWith('The user is not online.')));
      await server.kill();
      for (const client of [ada, grace]) client.crash();
    });
    await step('it starts again on the same data', () => server.restart());

    await step('the absent user comes in, and is shown it', async () => {
      const later = new Client({ loginUri: server.loginUri, first: 'Eve' });
      const atLater = observe(later);
      await later.enter();
      const offer = await until('the offer', () => atLater.offers[0]);
      assert(offer.from.toString() === ada.id && offer.message === 'Notes', `an offer: ${JSON.stringify(offer)}`);
      assert((await itemOf(later, offer.requestID))?.assetID.equals(notes.assetID), 'the receiver does not have it');
      await later.leave();
    });

    await step('it is not shown again: what comes next is the next gift', async () => {
      const [giver, receiver] = ['Ada', 'Eve'].map((name) => new Client({ loginUri: server.loginUri, first: name }));
      const atReceiver = observe(receiver);
      await Promise.all([giver.enter(), receiver.enter()]);
      const second = await write(giver, folderOf(giver, FolderType.Notecard), 'Second', 'Hello again');
      await give(giver, receiver.id, second);
      const offer = await until('the offer', () => atReceiver.offers[0]);
      assert(offer.message === 'Second', `${offer.message} is offered again`);
      await Promise.all([giver.leave(), receiver.leave()]);
    });
  },
  { noisy: true },
);

/** News of gifts at a client, in order: offers, answers to its own ones, alerts, and rows of its inventory. */
function observe(client) {
  const seen = { offers: [], answers: [], alerts: [], items: [], folders: [] };
  const keep = (subject, take) =>
    subject.subscribe((event) => {
      take(event);
      pulse();
    });
  const { onInventoryOffered, onInventoryResponse, onBulkUpdateInventoryEvent } = client.bot.clientEvents;
  keep(onInventoryOffered, (offer) => seen.offers.push(offer));
  keep(onInventoryResponse, (heard) => seen.answers.push(heard));
  keep(onBulkUpdateInventoryEvent, ({ itemData, folderData }) => {
    seen.items.push(...itemData);
    seen.folders.push(...folderData);
  });
  return seen;
}

function listenForAlerts(client, seen) {
  client.circuit.onPacketReceived.subscribe(({ message }) => {
    if (message.name === 'AlertMessage') seen.alerts.push(Utils.BufferToStringSimple(message.AlertData.Message));
    pulse();
  });
}

/** The newest row of a folder that a client was sent. */
function folderAt(seen, id) {
  return seen.folders.findLast(({ folderID }) => folderID.equals(id));
}

function folderId(client, type) {
  return client.region.agent.inventory.findFolderForType(type);
}

function folderOf(client, type) {
  return client.region.agent.inventory.findFolder(folderId(client, type));
}

function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}

/** Resolves once the server has no such item: the ack of a message comes before the change. */
async function gone(client, id) {
  const deadline = performance.now() + DEADLINE_MS;
  while (await itemOf(client, id)) assert(performance.now() < deadline, 'the item is still there');
}

/** Writes a notecard: a text, or one with items in it. */
function write(client, folder, name, content) {
  const text = typeof content === 'string' ? Object.assign(new LLLindenText(), { body: content }) : content;
  return within('uploadAsset', folder.uploadAsset(AssetType.Notecard, InventoryType.Notecard, text.toAsset(), name, ''));
}

function give(client, to, thing) {
  return within('giveInventory', client.bot.clientCommands.comms.giveInventory(to, thing));
}

/** Answers an offer. The library's own answer has no EstateBlock, and cannot be encoded. */
async function answer(client, offer, dialog, folder) {
  const bucket = Buffer.alloc(16);
  folder.writeToBuffer(bucket, 0);
  const message = new ImprovedInstantMessageMessage();
  message.AgentData = agentData(client);
  message.MessageBlock = {
    FromGroup: false,
    ToAgentID: offer.from,
    ParentEstateID: 0,
    RegionID: UUID.zero(),
    Position: Vector3.getZero(),
    Offline: 0,
    Dialog: dialog,
    ID: offer.requestID,
    Timestamp: 0,
    FromAgentName: Utils.StringToBuffer(client.name),
    Message: Utils.StringToBuffer(''),
    BinaryBucket: bucket,
  };
  message.EstateBlock = { EstateID: 0 };
  await send(client, message);
}

/** Makes a landmark of the place where the avatar stands; the id of its asset. */
async function makeLandmark(client, name) {
  let made;
  const heard = client.circuit.onPacketReceived.subscribe(({ message }) => {
    if (message.name === 'UpdateCreateInventoryItem') made = message.InventoryData[0];
    pulse();
  });
  const message = new CreateInventoryItemMessage();
  message.AgentData = agentData(client);
  message.InventoryBlock = {
    CallbackID: 1,
    FolderID: folderId(client, FolderType.Landmark),
    TransactionID: UUID.zero(),
    NextOwnerMask: 0x7fffffff,
    Type: AssetType.Landmark,
    InvType: InventoryType.Landmark,
    WearableType: 0,
    Name: Utils.StringToBuffer(name),
    Description: Utils.StringToBuffer(''),
  };
  await send(client, message);
  await until('the landmark', () => made);
  heard.unsubscribe();
  assert(!made.ItemID.isZero(), 'no landmark is made');
  return made.AssetID;
}

function followLandmark(client, landmark) {
  const message = new TeleportLandmarkRequestMessage();
  const { AgentID, SessionID } = agentData(client);
  message.Info = { AgentID, SessionID, LandmarkID: landmark };
  // The client may leave this circuit before it has seen the ack.
  client.circuit.sendMessage(message, PacketFlags.Reliable);
}

function agentData(client) {
  return { AgentID: new UUID(client.id), SessionID: client.circuit.sessionID };
}

/** Sends a message; resolves with its ack. */
function send(client, message) {
  const { circuit } = client;
  return within(message.name, circuit.waitForAck(circuit.sendMessage(message, PacketFlags.Reliable), 10_000));
}
