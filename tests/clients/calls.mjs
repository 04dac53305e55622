// The public calls of node-metaverse 0.8.16 that may wait, and what the sweep passes to each.
//
// They are enumerated from the library's own declarations: every method of the classes below that is not private and returns a promise.
// A call that is not in the table fails the sweep, so that a new one is not forgotten. Lines of the library are those of the files below
// node_modules/@caspertech/node-metaverse/dist/lib/classes.

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const LIBRARY = join(dirname(require.resolve('@caspertech/node-metaverse/package.json')), 'dist/lib/classes');
const load = (path) => require(join(LIBRARY, `${path}.js`));

const { AssetType, FolderType, InventoryType, Vector3, UUID } = nm;
const { FriendRequestEvent } = load('../events/FriendRequestEvent');
const { InventoryOfferedEvent } = load('../events/InventoryOfferedEvent');
const { ChatSourceType } = load('../enums/ChatSourceType');
const { GroupInviteEvent } = load('../events/GroupInviteEvent');
const { LureEvent } = load('../events/LureEvent');
const { ScriptDialogEvent } = load('../events/ScriptDialogEvent');
const { TextureEntry } = load('TextureEntry');
const { ExtraParams } = load('public/ExtraParams');
const { LLMesh } = load('public/LLMesh');
const { AssetRegistry } = load('AssetRegistry');
const { Material } = load('public/Material');
const { Message } = load('../enums/Message');

const COMMANDS = ['Agent', 'Asset', 'Communications', 'Friend', 'Grid', 'Group', 'Inventory', 'Movement', 'Network', 'Parcel', 'Region', 'Teleport'];
/** Class names, by the file that declares them. */
const FILES = {
  ...Object.fromEntries(COMMANDS.map((name) => [`${name}Commands`, `commands/${name}Commands`])),
  GameObject: 'public/GameObject',
  InventoryItem: 'InventoryItem',
  InventoryFolder: 'InventoryFolder',
  Inventory: 'Inventory',
  Avatar: 'public/Avatar',
  Material: 'public/Material',
  Region: 'Region',
  Agent: 'Agent',
  Caps: 'Caps',
};

/** The row of a call: an instance may have another. */
export const callIn = (name, isInstance) => (isInstance && CALLS[name].inInstance) || CALLS[name];

/** `Class.method` of every public call that returns a promise. */
export function publicCalls() {
  const calls = [];
  for (const [name, file] of Object.entries(FILES)) {
    const declarations = readFileSync(join(LIBRARY, `${file}.d.ts`), 'utf8');
    const prototype = load(file)[name];
    for (const declaration of declarations.split(/\n(?= {4}[a-zA-Z])/)) {
      const [, isStatic, method] = /^ {4}(static )?(\w+)\([^]*\): Promise</.exec(declaration) ?? [];
      const holder = isStatic ? prototype : prototype.prototype;
      if (typeof holder[method] === 'function') calls.push(`${name}.${method}`);
    }
  }
  return [...new Set(calls)];
}

/** The id of no user, object or asset. */
const NOBODY = '11111111-2222-3333-4444-555555555555';
const id = (text = NOBODY) => new UUID(text);
const here = () => new Vector3([128, 128, 25]);
const zero = () => new Vector3([0, 0, 0]);
/** Within one datagram: the library does not notice the end of a longer upload, which goes as a file (Circuit.js:85 resolves for files of one part alone). */
const WEARABLE = 'LLWearable version 22\nShirt\n\n\tpermissions 0\n\t{\n\t}\ntype 4\nparameters 0\ntextures 0\n';
const offer = () => event(InventoryOfferedEvent, { type: AssetType.Notecard, requestID: id(), source: ChatSourceType.Agent });
const event = (Event, fields) => Object.assign(new Event(), { from: id(), fromName: 'Nobody', message: '', ...fields });

/** The call ends by itself, whatever its outcome. `args` gets what the sweep has at hand. */
const ends = (...args) => ({ args: () => args });
const endsWith = (args) => ({ args });
/**
 * The server refuses what the call asks for, by `answer`: the name of a message or the text of an alert. The library has no code that
 * reads a refusal, at the line that `why` names: it waits for the success alone, and its own timer rejects the call, with `ends`.
 */
const refusedUnheard = (answer, ends, why, args = () => []) => ({ args, answer, why, endsLater: `error: ${ends}` });
/** The call gathers for 30 s, whatever arrives, and ends with `ends` then. `answer` is the first thing that it gathers, or a refusal. */
const gathers = (answer, ends, why, args = () => []) => ({ args, answer, why, endsLater: ends });
/** The call asks for nothing: by its contract it waits for another act, which the sweep makes once the call has got `answer`, if any. */
const waitsFor = (act, args = () => [], answer = undefined) => ({ args, act, answer, ends: 'ok' });
/**
 * The library waits for the message `id.from`, and no server sends that. With `id.to` in its place the call ends as the server answers, so that
 * the sweep corrects the library by that. It fails once the library no longer needs it.
 */
const corrected = (id, args) => ({ args, corrected: id, ends: 'ok' });
/** Likewise `endsWith`, of calls that the library makes on an object only: an empty region has none, and the camp has. */
const endsOnObject = (args = () => []) => ({ args, needsObject: true });
/** Likewise `call`, with another end in an instance. */
const inInstance = (call, other) => ({ ...call, inInstance: other });
/**
 * The library cannot encode the message that the call sends, and its resends then end the process. The sweep keeps the message from being
 * sent, and checks that it cannot be encoded.
 */
const unencodable = (args) => ({ args, unencodable: true });
/** Likewise of calls that bring objects into the world, by the server's alert. */
const gatherRezzed = (answer) =>
  gathers(
    answer,
    'error: No objects arrived',
    'InventoryItem.js:699 looks at what it has gathered after 30 s, also when objects have arrived',
    () => [here()],
  );
const rezRefused = (answer) =>
  refusedUnheard(
    answer,
    'Prim never arrived',
    'InventoryItem.js:781 listens to onNewObjectEvent alone: an ObjectUpdate with the flag CreateSelected, and the id of the item in its properties',
    () => [here()],
  );
/** As long as the wait is the caller's own argument, a short one is given. */
const SHORT_MS = 200;
const attachRefused = (answer) =>
  refusedUnheard(
    answer,
    'Attach to avatar timed out',
    'InventoryItem.js:605 listens to onAttachmentAdded alone; its timer is the second argument',
    () => [1, SHORT_MS],
  );
/** And a long one where the sweep makes what the call waits for. */
const ACT_MS = 9_000;

/** The item of the sweep is a part of the outfit. */
const NOT_WORN = /^It cannot be worn: it is no object/;
const NOT_WORN_HERE = /^Objects of your inventory cannot be put on here/;
const NOT_AN_OBJECT = /^The item stays where it is: it is no object/;
const NO_BUILDING = /^Objects cannot be built or changed here/;
const GROUPS = /^Groups are not available/;
/**
 * The protocol's refusal, ChatterBoxSessionStartReply without success, would not end the call either: EventQueueClient.js:217 gives the event
 * no session then, and the call's filter raises a TypeError at it, outside of any promise, which ends the process. So an alert it is.
 */
const NO_SESSION_BEGINS =
  'CommunicationsCommands.js:348 waits for onGroupChatSessionJoin with the id of the session, which EventQueueClient.js:218 sets on success alone';

/** Arguments and expected end of each call. A name that is not here fails the sweep. */
export const CALLS = {
  'AgentCommands.startAnimations': ends([id()]),
  'AgentCommands.stopAnimations': ends([id()]),
  'AgentCommands.getWearables': ends(),
  'AgentCommands.waitForAppearanceComplete': ends(SHORT_MS),
  'AgentCommands.getAvatarProperties': endsWith(({ self }) => [self]),

  'AssetCommands.downloadAsset': ends(AssetType.Texture, id('89556747-24cb-43ed-920b-47caed15465f')),
  'AssetCommands.copyInventoryFromNotecard': endsWith(({ folder }) => [id(), folder, id()]),
  'AssetCommands.downloadInventoryAsset': endsWith(({ self }) => [id(), id(self), AssetType.Notecard, true]),
  'AssetCommands.getMaterials': ends({ [NOBODY]: null }),

  'CommunicationsCommands.giveInventory': endsWith(({ item }) => [id(), item]),
  'CommunicationsCommands.sendInstantMessage': ends(id(), 'hello'),
  'CommunicationsCommands.nearbyChat': ends('hello', 1, 0),
  'CommunicationsCommands.say': ends('hello'),
  'CommunicationsCommands.whisper': ends('hello'),
  'CommunicationsCommands.shout': ends('hello'),
  'CommunicationsCommands.startTypingLocal': ends(),
  'CommunicationsCommands.sendTeleport': ends(id()),
  'CommunicationsCommands.stopTypingLocal': ends(),
  'CommunicationsCommands.startTypingIM': ends(id()),
  'CommunicationsCommands.stopTypingIM': ends(id()),
  'CommunicationsCommands.typeInstantMessage': ends(id(), 'hello', 1, 1_000),
  'CommunicationsCommands.typeLocalMessage': ends('hello', 1, 1_000),
  'CommunicationsCommands.endGroupChatSession': ends(id()),
  'CommunicationsCommands.startGroupChatSession': refusedUnheard(GROUPS, 'Timeout', NO_SESSION_BEGINS, () => [id(), 'hello']),
  'CommunicationsCommands.moderateGroupChat': refusedUnheard(GROUPS, 'Timeout', NO_SESSION_BEGINS, () => [id(), id(), true, true]),
  'CommunicationsCommands.sendGroupMessage': refusedUnheard(GROUPS, 'Timeout', NO_SESSION_BEGINS, () => [id(), 'hello']),
  'CommunicationsCommands.respondToScriptDialog': ends(
    Object.assign(new ScriptDialogEvent(), { ObjectID: id(), ChatChannel: 1, Buttons: ['yes'] }),
    0,
  ),

  'FriendCommands.grantFriendRights': ends(id(), 1),
  'FriendCommands.getFriendMapLocation': ends(id()),
  'FriendCommands.acceptFriendRequest': ends(event(FriendRequestEvent, { requestID: id() })),
  'FriendCommands.rejectFriendRequest': ends(event(FriendRequestEvent, { requestID: id() })),
  'FriendCommands.sendFriendRequest': ends(id(), 'hello'),

  'GridCommands.getRegionByName': endsWith(({ regionName }) => [regionName]),
  'GridCommands.getRegionMapInfo': ends(7, 9),
  'GridCommands.getRegionMapInfoRange': gathers(
    'MapBlockReply',
    'ok',
    'GridCommands.js:176 restarts a timer of 30 s at each reply, and returns the regions at its end; no reply is the last one to it',
    () => [999, 999, 1_001, 1_001],
  ),
  'GridCommands.avatarName2KeyAndName': endsWith(({ name }) => [name, false]),
  'GridCommands.avatarName2Key': ends('Nobody Atall', false),
  'GridCommands.getBalance': ends(),
  'GridCommands.payObject': endsWith(({ object }) => [object, 1]),
  'GridCommands.payGroup': ends(id(), 1, 'a gift'),
  'GridCommands.payAvatar': ends(id(), 1, 'a gift'),
  'GridCommands.avatarKey2Name': ends(id()),

  'GroupCommands.sendGroupNotice': ends(id(), 'subject', 'text'),
  'GroupCommands.sendGroupInviteBulk': ends(id(), [{ avatarID: id(), roleID: undefined }]),
  'GroupCommands.sendGroupInvite': ends(id(), id(), undefined),
  'GroupCommands.acceptGroupInvite': ends(event(GroupInviteEvent, { inviteID: id() })),
  'GroupCommands.rejectGroupInvite': ends(event(GroupInviteEvent, { inviteID: id() })),
  'GroupCommands.unbanMembers': ends(id(), [id()]),
  'GroupCommands.banMembers': ends(id(), [id()]),
  'GroupCommands.getBanList': ends(id()),
  'GroupCommands.getMemberList': ends(id()),
  'GroupCommands.getGroupRoles': ends(id()),
  'GroupCommands.ejectFromGroupBulk': ends(id(), [id()]),
  'GroupCommands.ejectFromGroup': ends(id(), id()),
  'GroupCommands.getGroupProfile': ends(id()),

  'InventoryCommands.getInventoryItem': endsWith(({ item }) => [item.itemID]),
  // Both send an ImprovedInstantMessage without its EstateBlock.
  'InventoryCommands.acceptInventoryOffer': unencodable(() => [offer()]),
  'InventoryCommands.rejectInventoryOffer': unencodable(() => [offer()]),

  'MovementCommands.sitOnObject': endsWith(({ object }) => [object.FullID, zero()]),
  'NetworkCommands.setBandwidth': ends(1_536_000),

  // ParcelCommands.js:27 waits for the message that it has just sent, and reads the fields of the reply from it.
  'ParcelCommands.getParcelInfo': corrected(
    { from: Message.ParcelInfoRequest, to: Message.ParcelInfoReply },
    ({ parcel }) => [parcel],
  ),
  'ParcelCommands.getLandStats': ends(1, 0, 0),

  'RegionCommands.getRegionHandle': ends(id()),
  'RegionCommands.waitForHandshake': ends(SHORT_MS),
  'RegionCommands.estateMessage': ends('getinfo', []),
  'RegionCommands.restartRegion': ends(60),
  'RegionCommands.simulatorMessage': ends('hello'),
  'RegionCommands.cancelRestart': ends(),
  'RegionCommands.deselectObjects': endsWith(({ object }) => [[object]]),
  'RegionCommands.getTerrain': ends(),
  // With no objects it waits for the properties of none until it gives up, and fetchObjectCosts does not even ask.
  'RegionCommands.selectObjects': endsOnObject(({ objects }) => [objects]),
  'RegionCommands.resolveObject': endsOnObject(({ object }) => [object, {}]),
  'RegionCommands.resolveObjects': endsWith(({ objects }) => [objects, {}]),
  'RegionCommands.fetchObjectInventory': endsOnObject(({ object }) => [object]),
  'RegionCommands.fetchObjectInventories': endsWith(({ objects }) => [objects]),
  'RegionCommands.fetchObjectCost': endsOnObject(({ object }) => [object]),
  'RegionCommands.fetchObjectCosts': endsOnObject(({ objects }) => [objects]),
  // A box has no extra parameters, so the library finds nothing to build; rezPrims waits as it would for another object.
  'RegionCommands.buildObjectNew': endsOnObject(({ object }) => [object, new AssetRegistry(), async () => undefined]),
  'RegionCommands.getObjectByLocalID': ends(4_242_424, false),
  'RegionCommands.getObjectByUUID': ends(id(), false),
  'RegionCommands.findObjectsByName': ends('Box'),
  'RegionCommands.getParcelAt': ends(128, 128),
  'RegionCommands.getParcels': ends(),
  'RegionCommands.getAllObjects': ends({ resolve: true }),
  'RegionCommands.getObjectsInArea': ends(0, 256, 0, 256, 0, 4_096, true),
  'RegionCommands.pruneObjects': endsWith(({ objects }) => [objects]),
  'RegionCommands.grabObject': endsWith(({ object }) => [object.ID]),
  'RegionCommands.deGrabObject': endsWith(({ object }) => [object.ID]),
  'RegionCommands.dragGrabbedObject': endsWith(({ object }) => [object.ID, here()]),
  'RegionCommands.touchObject': endsWith(({ object }) => [object.ID]),
  'RegionCommands.rezPrims': inInstance(
    ends(1),
    refusedUnheard(
      NO_BUILDING,
      'Failed to gather 1 prims - only gathered 0',
      'RegionCommands.js:703 listens to onNewObjectEvent alone',
      () => [1],
    ),
  ),

  'TeleportCommands.acceptTeleport': endsWith(() => [
    Object.assign(new LureEvent(), { from: id(), lureID: id(), regionID: id(), gridX: 1, gridY: 1, position: here() }),
  ]),
  'TeleportCommands.teleportToRegionCoordinates': ends(7, 9, here(), here()),
  'TeleportCommands.teleportToHandle': endsWith(({ handle }) => [handle, here(), here()]),
  'TeleportCommands.teleportTo': ends('No Such Region', here(), here()),

  'GameObject.fromXML': ends('<SceneObjectGroup/>'),
  'GameObject.deRezObjects': endsWith(({ region, object }) => [region, [object], 4, id(), id()]),
  'GameObject.takeManyToInventory': endsOnObject(({ region, object, folder }) => [region, [object], folder]),
  // A refused change has the object sent again, with its textures.
  'GameObject.waitForTextureUpdate': waitsFor(({ object }) => object.setShape(), () => [ACT_MS]),
  'GameObject.rezScript': endsOnObject(() => ['script', 'a script']),
  'GameObject.updateInventory': endsOnObject(),
  'GameObject.setShape': ends(),
  'GameObject.setName': ends('another'),
  'GameObject.setGeometry': endsWith(() => [here()]),
  'GameObject.linkTo': endsWith(({ object }) => [object]),
  'GameObject.linkFrom': endsWith(({ object }) => [[object]]),
  'GameObject.setDescription': ends('another'),
  'GameObject.setTextureEntry': endsWith(({ object }) => [object.TextureEntry ?? new TextureEntry()]),
  'GameObject.setTextureAndMediaURL': ends(),
  'GameObject.setExtraParams': endsWith(() => [new ExtraParams()]),
  'GameObject.exportXMLElement': endsOnObject(),
  'GameObject.exportXML': endsOnObject(),
  'GameObject.deRezObject': ends(4, id(), id()),
  'GameObject.takeToInventory': endsOnObject(({ folder }) => [folder]),
  'GameObject.dropInventoryIntoContents': endsOnObject(({ item }) => [item]),
  // It reads the version of the contents once, and waits for a later one. A refused change of the contents raises it.
  'GameObject.waitForInventoryUpdate': {
    ...waitsFor(({ object }) => object.removeTaskInventory(id()), () => [], 'ObjectProperties'),
    needsObject: true,
  },
  'GameObject.select': ends(),
  'GameObject.deselect': ends(),
  'GameObject.removeTaskInventory': endsOnObject(() => [id()]),

  'InventoryItem.fromXML': ends('<InventoryItem/>'),
  'InventoryItem.update': ends(),
  'InventoryItem.moveToFolder': endsWith(({ folder }) => [folder]),
  'InventoryItem.delete': ends(),
  'InventoryItem.detachFromAvatar': ends(),
  'InventoryItem.attachToAvatar': inInstance(attachRefused(NOT_WORN), attachRefused(NOT_WORN_HERE)),
  'InventoryItem.rezGroupInWorld': inInstance(gatherRezzed(NOT_AN_OBJECT), gatherRezzed(NO_BUILDING)),
  'InventoryItem.rezInWorld': inInstance(rezRefused(NOT_AN_OBJECT), rezRefused(NO_BUILDING)),
  'InventoryItem.rename': ends('another'),
  'InventoryItem.isScriptRunning': ends(),
  'InventoryItem.copyTo': endsWith(({ folder }) => [folder, 'a copy']),
  'InventoryItem.updateScript': ends(Buffer.from('default{}')),
  'InventoryItem.setScriptRunning': ends(true),

  'InventoryFolder.createFolder': ends('a folder', FolderType.None),
  'InventoryFolder.delete': ends(false),
  'InventoryFolder.removeItem': ends(id(), false),
  'InventoryFolder.addItem': endsWith(({ item }) => [item, false]),
  'InventoryFolder.populate': ends(false),
  'InventoryFolder.uploadAsset': ends(AssetType.Clothing, InventoryType.Wearable, Buffer.from(WEARABLE), 'shirt', ''),
  'InventoryFolder.uploadMesh': ends('mesh', '', Buffer.alloc(0), async () => false),
  'Inventory.fetchInventoryItem': ends(id()),
  // It asks for nothing, and waits for an attachment: there are none. Its timer is the second argument.
  'Avatar.waitForAttachment': { ...ends(id(), SHORT_MS), ends: 'error: WaitForAttachment timed out' },
  'Material.toAsset': ends(id()),

  'Region.getUploadCost': ends(),
  'Region.getParcelProperties': ends(128, 128),
  'Region.getParcels': ends(),
  'Region.waitForParcelOverlay': ends(),
  'Region.waitForParcels': ends(),
  'Region.waitForTerrain': ends(),
  'Region.handshake': { skipped: 'the library answers the RegionHandshake of its arrival with it; a second one would make a second arrival' },
  'Agent.setInitialAppearance': ends(),
  'Agent.getWearables': ends(),

  'Caps.downloadAsset': ends(id(), AssetType.Texture),
  'Caps.requestPost': endsWith(({ capability }) => [capability('FetchInventory2'), '<llsd><map/></llsd>', 'application/llsd+xml']),
  'Caps.requestPut': endsWith(({ capability }) => [capability('ExtEnvironment'), '<llsd><map/></llsd>', 'application/llsd+xml']),
  'Caps.requestGet': endsWith(({ capability }) => [capability('SimulatorFeatures')]),
  'Caps.requestDelete': endsWith(({ capability }) => [capability('ExtEnvironment')]),
  'Caps.isCapAvailable': ends('GetMesh'),
  'Caps.getCapability': ends('GetMesh'),
  'Caps.capsRequestUpload': endsWith(({ capability }) => [capability('UploadBakedTexture'), Buffer.from('no texture')]),
  'Caps.capsPerformXMLPost': endsWith(({ capability }) => [capability('FetchInventory2'), {}]),
  'Caps.capsPerformXMLPut': endsWith(({ capability }) => [capability('ExtEnvironment'), {}]),
  'Caps.capsPerformXMLGet': endsWith(({ capability }) => [capability('SimulatorFeatures')]),
  'Caps.capsPerformGet': endsWith(({ capability }) => [capability('SimulatorFeatures')]),
  'Caps.capsGetXML': ends('SimulatorFeatures'),
  'Caps.capsGetString': ends('SimulatorFeatures'),
  'Caps.capsPostXML': ends('FetchInventory2', {}),
  'Caps.capsPutXML': ends('ExtEnvironment', {}),
  'Caps.waitForSeedCapability': ends(),
};

/** The objects that the calls of each class are made on. */
export function targets(bot, { object, item, folder, avatar }) {
  const commands = bot.clientCommands;
  const { currentRegion: region } = bot;
  const target = {
    GameObject: object,
    InventoryItem: item,
    InventoryFolder: folder,
    Inventory: region.agent.inventory,
    Avatar: avatar,
    Material: new Material(),
    Region: region,
    Agent: region.agent,
    Caps: region.caps,
  };
  const members = { CommunicationsCommands: 'comms', FriendCommands: 'friends' };
  for (const name of Object.keys(FILES)) {
    target[name] ??= commands[members[name] ?? name.replace('Commands', '').toLowerCase()];
  }
  return target;
}

/** The class of a static call, or undefined. */
export function staticHolder(name, method) {
  const holder = load(FILES[name])[name];
  return typeof holder[method] === 'function' ? holder : undefined;
}
