// A user of node-metaverse builds a house, takes it and gives a copy of it away; both log out, and the server dies. When it is back, the house and its copy come out of the
// two inventories like the original, prim by prim. The receiver of the copy gets no more rights than it was given, whatever it states, and nothing of another's. An
// archive of what node-metaverse exports of the house loads, and brings another one.
//
//   node keepsake.mjs

import nm from '@caspertech/node-metaverse';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { PLACE, agentData, agree, alertsOf, buildHouse, isWhole, likeness, message, rootAt, seen, send } from './building.mjs';
import { Client } from './client.mjs';
import { assert, main } from './harness.mjs';
import { binaryPath } from './server.mjs';
import { tarOf } from './tar.mjs';
import { DEADLINE_MS, pulse, until, within } from './wait.mjs';

const { UUID, Utils, Vector3 } = nm;

/** The control file of an archive of one region. */
const CONTROL = `<?xml version="1.0" encoding="utf-8"?>
<archive major_version="0" minor_version="8">
  <creation_info><datetime>1700000000</datetime><id>${UUID.random()}</id></creation_info>
  <assets_included>True</assets_included>
  <region_info><is_megaregion>False</is_megaregion><size_in_meters>256,256</size_in_meters></region_info>
</archive>`;
const SOUTH_M = 14;
const COPY_RIGHT = 1 << 15;
const ALL_BITS = 0x7fffffff;
const [HOUSE_AT, GIFT_AT] = [0, 14].map((north) => new Vector3([PLACE.x, PLACE.y + north, PLACE.z]));

await main(
  async ({ server, loginUri, step }) => {
    const [ada, grace] = ['Ada', 'Grace'].map((first) => new Client({ loginUri, first }));
    const both = [ada, grace];
    await step('two users come in', () => Promise.all([ada.enter(), grace.enter()]));
    const offers = offersTo(grace);

    const { floor } = await step('one builds a house', () => buildHouse(ada));
    const original = await step('the other one sees it as she does', async () => {
      await until('all of it', () => both.every((client) => isWhole(client, floor.FullID)));
      return agree('the house', both, floor.FullID, (prims) => prims.every(({ name }) => name === 'House' || name.startsWith('Wall ')));
    });

    const house = await step('she takes it: it is gone for both', async () => {
      const item = await within('takeToInventory', floor.takeToInventory());
      await until('it is gone', () => both.every((client) => !seen(client, floor.FullID)));
      return item;
    });

    const gift = await step('she gives a copy away', async () => {
      await within('giveInventory', ada.bot.clientCommands.comms.giveInventory(grace.id, house));
      const { requestID } = await until('the offer', () => offers[0]);
      const item = await itemOf(grace, requestID);
      assert(item?.name === 'House' && (item.permissions.ownerMask & COPY_RIGHT) === 0, `it is ${JSON.stringify(item?.permissions)}`);
      assert(await itemOf(ada, house.itemID), 'the giver has lost what may be copied');
      return item;
    });

    const alerts = alertsOf(grace);
    await step('the receiver cannot raise its rights', async () => {
      const forged = await itemOf(grace, gift.itemID);
      raise(forged);
      forged.description = 'Mine to copy';
      await forged.update();
      const after = await changed(grace, gift.itemID, ({ description }) => description === 'Mine to copy');
      const { baseMask, ownerMask, nextOwnerMask } = after.permissions;
      assert(baseMask === gift.permissions.baseMask && ownerMask === gift.permissions.ownerMask, `its rights are ${JSON.stringify(after.permissions)}`);
      assert((nextOwnerMask & ~baseMask) === 0, `its next owner gets ${nextOwnerMask} of ${baseMask}`);
      after.description = gift.description;
      await after.update();
      await changed(grace, gift.itemID, ({ description }) => description === gift.description);
    });

    await step('the ids of another user are of no use to it', async () => {
      const before = await itemOf(ada, house.itemID);
      const folder = gift.parentID;
      const AgentData = agentData(grace);
      const requests = [
        rezOf(grace, before, GIFT_AT),
        message('MoveInventoryItem', {
          AgentData: { ...AgentData, Stamp: false },
          InventoryData: [{ ItemID: house.itemID, FolderID: folder, NewName: Buffer.alloc(0) }],
        }),
        message('CopyInventoryItem', {
          AgentData,
          InventoryData: [{ CallbackID: 0, OldAgentID: new UUID(ada.id), OldItemID: house.itemID, NewFolderID: folder, NewName: Buffer.alloc(0) }],
        }),
        message('UpdateInventoryItem', { AgentData: { ...AgentData, TransactionID: UUID.zero() }, InventoryData: [rowOf(before, { Name: 'Mine' })] }),
        message('RemoveInventoryItem', { AgentData, InventoryData: [{ ItemID: house.itemID }] }),
      ];
      for (const request of requests) {
        const n_heard = alerts.length;
        await send(grace, request);
        await until(`a refusal of ${request.name}`, () => alerts.length > n_heard, { describe: () => JSON.stringify(alerts) });
      }
      assert((await itemOf(grace, house.itemID)) === null, 'it reads the item of another');
      assert(both.every((client) => !rootAt(client, GIFT_AT)), 'the item of another is rezzed');
      const after = await itemOf(ada, house.itemID);
      assert(isDeepStrictEqual(facts(after), facts(before)), `it became ${JSON.stringify(facts(after))}`);
    });

    await step('both log out, and the server dies', async () => {
      await Promise.all([ada.leave(), grace.leave()]);
      await server.kill();
    });
    await step('it starts again on the same data', () => server.restart());

    const [later, other] = ['Ada', 'Grace'].map((first) => new Client({ loginUri: server.loginUri, first }));
    const all = [later, other];
    await step('they come in again', () => Promise.all(all.map((client) => client.enter())));
    const again = await step('her house is like the original, prim by prim', async () => {
      const item = await itemOf(later, house.itemID);
      const { id, prims } = await rezzed(all, item, HOUSE_AT);
      assert(isDeepStrictEqual(likeness(prims), likeness(original)), differences(original, prims));
      return id;
    });
    await step('so is the copy, with the rights of a gift alone', async () => {
      const item = await itemOf(other, gift.itemID);
      const given = item.permissions.ownerMask;
      raise(item);
      const { prims } = await rezzed(all, item, GIFT_AT);
      const alike = { withRights: false };
      assert(isDeepStrictEqual(likeness(prims, alike), likeness(original, alike)), differences(original, prims));
      for (const { name, owner, masks } of prims) {
        assert(owner === other.id, `${name} is of ${owner}`);
        const [base, ownersOwn] = masks;
        assert((base & COPY_RIGHT) === 0 && (ownersOwn & ~given) === 0, `${name} has the rights ${masks}`);
      }
      await gone(other, item.itemID);
    });
    const archive = join(server.dataDir, 'house.oar');
    await step('what the library exports of her house is an archive that loads', async () => {
      const root = seen(later, again);
      root.populateChildren();
      const document = await within('exportXML', root.exportXML());
      writeFileSync(archive, tarOf({ 'archive.xml': CONTROL, [`objects/House_140-120-030__${again}.xml`]: document }));
      const { stdout } = await promisify(execFile)(binaryPath(), ['oar', 'check', archive, '--json']);
      const { objects, prims, unreadable } = JSON.parse(stdout);
      assert(objects === 1 && prims === original.length && unreadable === 0, `it has ${stdout}`);
    });
    await step('it brings a house like the original', async () => {
      const { x, y, z } = seen(later, again).Position;
      await server.command('oar', 'load', archive, '--region', 'Harbour', '--merge', '--displacement', `0,-${SOUTH_M},0`, '--default-user', later.name);
      const { FullID } = await until('its root', () => rootAt(other, { x, y: y - SOUTH_M, z }));
      await until('all of it', () => all.every((client) => isWhole(client, FullID)));
      const prims = await agree('the house', all, FullID);
      assert(isDeepStrictEqual(likeness(prims), likeness(original)), differences(original, prims));
    });
    await step('all leave', () => Promise.all(all.map((client) => client.leave())));
  },
  { server: { config: 'house.toml' }, noisy: true },
);

/** Gifts that a client is offered, oldest first. */
function offersTo(client) {
  const offers = [];
  client.bot.clientEvents.onInventoryOffered.subscribe((offer) => {
    offers.push(offer);
    pulse();
  });
  return offers;
}

/** States more rights than the item has. */
function raise(item) {
  Object.assign(item.permissions, { baseMask: ALL_BITS, ownerMask: ALL_BITS, groupMask: ALL_BITS, everyoneMask: ALL_BITS, nextOwnerMask: ALL_BITS });
}

/** The object that comes out of an item, with its prims, once all clients show the same of all of it. */
async function rezzed(clients, item, place) {
  const { FullID } = await within('rezInWorld', item.rezInWorld(place));
  await until('all of it', () => clients.every((client) => isWhole(client, FullID)));
  return { id: FullID, prims: await agree('the house', clients, FullID) };
}

function differences(before, after) {
  return `${JSON.stringify(before)} became ${JSON.stringify(after)}`;
}

/** The item as the server has it; null without one. */
function itemOf(client, id) {
  return within('fetchInventoryItem', client.region.agent.inventory.fetchInventoryItem(id));
}

/** What no other user may change of an item. */
function facts({ itemID, parentID, assetID, name, description, permissions }) {
  const { owner, creator, baseMask, ownerMask, groupMask, everyoneMask, nextOwnerMask } = permissions;
  const ids = [itemID, parentID, assetID, owner, creator].map(String);
  return { ids, name, description, masks: [baseMask, ownerMask, groupMask, everyoneMask, nextOwnerMask] };
}

/** The item, once it is as asked: the ack of a message comes before the change. */
async function changed(client, id, isThere) {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const item = await itemOf(client, id);
    if (item && isThere(item)) return item;
    assert(performance.now() < deadline, `the item stays ${item?.description}`);
  }
}

async function gone(client, id) {
  const deadline = performance.now() + DEADLINE_MS;
  while (await itemOf(client, id)) assert(performance.now() < deadline, 'an item that may not be copied is in two places');
}

/** An item in the form of messages, with other fields. */
function rowOf(item, { Name = item.name } = {}) {
  const { permissions } = item;
  return {
    ...{ ItemID: item.itemID, FolderID: item.parentID, CreatorID: permissions.creator, OwnerID: permissions.owner, GroupID: permissions.group },
    ...{ BaseMask: ALL_BITS, OwnerMask: ALL_BITS, GroupMask: ALL_BITS, EveryoneMask: ALL_BITS, NextOwnerMask: ALL_BITS, GroupOwned: false },
    ...{ TransactionID: UUID.zero(), CallbackID: 0, Type: item.type, InvType: item.inventoryType, Flags: item.flags, SaleType: 0, SalePrice: 0 },
    ...{ Name: Utils.StringToBuffer(Name), Description: Utils.StringToBuffer(''), CreationDate: 0, CRC: 0 },
  };
}

/** A request to rez an item, by a client that need not have it. */
function rezOf(client, item, place) {
  const ray = { BypassRaycast: 1, RayStart: place, RayEnd: place, RayTargetID: UUID.zero(), RayEndIsIntersection: false };
  const masks = { GroupMask: ALL_BITS, EveryoneMask: ALL_BITS, NextOwnerMask: ALL_BITS };
  return message('RezObject', {
    AgentData: { ...agentData(client), GroupID: UUID.zero() },
    RezData: { FromTaskID: UUID.zero(), ...ray, RezSelected: false, RemoveItem: false, ItemFlags: 0, ...masks },
    InventoryData: { ...rowOf(item), TransactionID: UUID.random() },
  });
}
