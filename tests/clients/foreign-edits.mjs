// Every message by which a client changes an object or the land under it, about things of another user, with the reason that the server gives.

import nm from '@caspertech/node-metaverse';
import { agentData, message, painted } from './building.mjs';

const { UUID, Utils, Vector3 } = nm;

export const NO_RIGHT = 'You are not allowed to change that object in this way.';
export const NOT_FOR_SALE = 'That object is not for sale under these terms.';
export const NO_HISTORY = 'There is nothing to undo or redo.';
export const NO_RIGHT_HERE = 'You have no right to do this here.';
export const NO_STROKE = 'There is no edit to undo.';

const POSITION = 1;
const ROTATION = 2;
const SCALE = 4;
const LINKED = 8;
const UNIFORM = 16;
const LIGHT = 0x20;
/** Base, owner, group, everyone, next owner. */
const FIELDS = [1, 2, 4, 8, 16];
const ALL_BITS = 0x7fffffff;
/** To save it into its item, as a copy, to take it, as rubbish, to return it. */
const DESTINATIONS = [1, 4, 6, 9];
const BANNED = 2;
const text = (words) => Utils.StringToBuffer(words);
const elsewhere = () => new Vector3([100, 100, 40]);

/** The requests of a client about a linkset, one of its parts and another object: pairs of the reason and the message. */
export function editsOfObjects(client, { root, part, other }) {
  const AgentData = agentData(client);
  const withGroup = { ...AgentData, GroupID: UUID.zero() };
  const noRight = (name, blocks) => [NO_RIGHT, message(name, { AgentData, ...blocks })];
  const both = (block) => [root, part].map(({ ID }) => ({ ObjectLocalID: ID, ...block }));
  const named = (block) => [root, part].map(({ ID }) => ({ LocalID: ID, ...block }));
  const whole = [{ ObjectLocalID: root.ID }];
  const place = (Type, Data, { ID } = root) => noRight('MultipleObjectUpdate', { ObjectData: [{ ObjectLocalID: ID, Type, Data }] });
  const turned = Buffer.alloc(12);
  turned.writeFloatLE(0.6, 8);
  const large = new Vector3([5, 5, 5]);
  const box = {
    ...{ PathCurve: 16, ProfileCurve: 1, PathBegin: 0, PathEnd: 0, PathScaleX: 100, PathScaleY: 100, PathShearX: 0, PathShearY: 0, PathTwist: 0 },
    ...{ PathTwistBegin: 0, PathRadiusOffset: 0, PathTaperX: 0, PathTaperY: 0, PathRevolutions: 0, PathSkew: 0 },
    ...{ ProfileBegin: 0, ProfileEnd: 0, ProfileHollow: 25_000 },
  };
  const matter = { PhysicsShapeType: 0, Density: 500, Friction: 0.5, Restitution: 0.5, GravityMultiplier: 1 };
  const flags = { UsePhysics: true, IsTemporary: false, IsPhantom: true, CastsShadows: false };
  const ray = { RayStart: elsewhere(), RayEnd: elsewhere(), BypassRaycast: true, RayEndIsIntersection: false, RayTargetID: UUID.zero() };
  const undone = { AgentData: withGroup, ObjectData: [{ ObjectID: root.FullID }] };
  return [
    noRight('ObjectName', { ObjectData: named({ Name: text('Mine') }) }),
    noRight('ObjectDescription', { ObjectData: named({ Description: text('Mine') }) }),
    place(POSITION | LINKED, elsewhere().getBuffer()),
    place(POSITION, elsewhere().getBuffer(), part),
    place(ROTATION | LINKED, turned),
    place(ROTATION, turned, part),
    place(SCALE, large.getBuffer()),
    place(SCALE | LINKED | UNIFORM, large.getBuffer()),
    noRight('ObjectPosition', { ObjectData: [{ ObjectLocalID: root.ID, Position: elsewhere() }] }),
    noRight('ObjectRotation', { ObjectData: [{ ObjectLocalID: root.ID, Rotation: part.Rotation }] }),
    noRight('ObjectScale', { ObjectData: [{ ObjectLocalID: root.ID, Scale: large }] }),
    noRight('ObjectShape', { ObjectData: both(box) }),
    noRight('ObjectImage', { ObjectData: both({ TextureEntry: painted(root, UUID.random()).toBuffer(), MediaURL: text('') }) }),
    noRight('ObjectMaterial', { ObjectData: both({ Material: 1 }) }),
    noRight('ObjectExtraParams', { ObjectData: both({ ParamType: LIGHT, ParamInUse: true, ParamSize: 16, ParamData: Buffer.alloc(16) }) }),
    noRight('ObjectFlagUpdate', { AgentData: { ...AgentData, ObjectLocalID: root.ID, ...flags }, ExtraPhysics: [matter] }),
    noRight('ObjectClickAction', { ObjectData: both({ ClickAction: 1 }) }),
    noRight('ObjectIncludeInSearch', { ObjectData: both({ IncludeInSearch: true }) }),
    ...FIELDS.map((Field) => noRight('ObjectPermissions', { HeaderData: { Override: false }, ObjectData: both({ Field, Set: 1, Mask: ALL_BITS }) })),
    noRight('ObjectGroup', { AgentData: withGroup, ObjectData: whole }),
    noRight('ObjectOwner', { HeaderData: { Override: false, OwnerID: AgentData.AgentID, GroupID: UUID.zero() }, ObjectData: whole }),
    noRight('ObjectSaleInfo', { ObjectData: [{ LocalID: root.ID, SaleType: 1, SalePrice: 0 }] }),
    noRight('ObjectLink', { ObjectData: [root, other].map(({ ID }) => ({ ObjectLocalID: ID })) }),
    noRight('ObjectDelink', { ObjectData: [{ ObjectLocalID: part.ID }] }),
    noRight('ObjectDuplicate', { AgentData: withGroup, SharedData: { Offset: new Vector3([0, 0, 9]), DuplicateFlags: 0 }, ObjectData: whole }),
    noRight('ObjectDuplicateOnRay', { AgentData: { ...withGroup, ...ray, CopyCenters: true, CopyRotates: true, DuplicateFlags: 0 }, ObjectData: whole }),
    noRight('ObjectDelete', { AgentData: { ...AgentData, Force: true }, ObjectData: whole }),
    ...DESTINATIONS.map((Destination) => {
      const DestinationID = client.region.agent.inventory.getRootFolderMain().folderID;
      const block = { GroupID: UUID.zero(), Destination, DestinationID, TransactionID: UUID.random(), PacketCount: 1, PacketNumber: 1 };
      return noRight('DeRezObject', { AgentBlock: block, ObjectData: whole });
    }),
    [NOT_FOR_SALE, message('ObjectBuy', { AgentData: { ...withGroup, CategoryID: UUID.zero() }, ObjectData: [{ ...whole[0], SaleType: 1, SalePrice: 0 }] })],
    [NO_HISTORY, message('Undo', undone)],
    [NO_HISTORY, message('Redo', undone)],
  ];
}

/** Likewise about a parcel and the ground of a rectangle in it. */
export function editsOfLand(client, { parcel, rect, around }) {
  const AgentData = agentData(client);
  const noRight = (name, blocks) => [NO_RIGHT_HERE, message(name, { AgentData, ...blocks })];
  const { LocalID } = parcel;
  return [
    ...[0, 1, 2, 3, 4, 5].map((brush) => [NO_RIGHT_HERE, stroke(client, brush, rect)]),
    noRight('ParcelDivide', { ParcelData: rect }),
    noRight('ParcelJoin', { ParcelData: around }),
    [NO_RIGHT_HERE, nameParcel(client, parcel, 'Mine')],
    noRight('ParcelAccessListUpdate', {
      Data: { Flags: BANNED, LocalID, TransactionID: UUID.random(), SequenceID: 1, Sections: 1 },
      List: [{ ID: UUID.random(), Time: 0, Flags: BANNED }],
    }),
    noRight('ParcelSetOtherCleanTime', { ParcelData: { LocalID, OtherCleanTime: 10 } }),
    noRight('ParcelRelease', { Data: { LocalID } }),
    noRight('ParcelReclaim', { Data: { LocalID } }),
    [NO_STROKE, message('UndoLand', { AgentData })],
  ];
}

/** Two seconds of a brush on a rectangle: the second one raises it by two metres. */
export function stroke(client, Action, rect) {
  return message('ModifyLand', {
    AgentData: agentData(client),
    ModifyBlock: { Action, BrushSize: 0, Seconds: 2, Height: 20 },
    ParcelData: [{ LocalID: -1, ...rect }],
    ModifyBlockExtended: [{ BrushSize: 2 }],
  });
}

/** Users fly, make landmarks, build, and have objects enter. */
const OPEN = 1 | (1 << 3) | (1 << 6) | (1 << 27);
const ANYWHERE = 2;

export function nameParcel(client, { LocalID }, name) {
  return message('ParcelPropertiesUpdate', {
    AgentData: agentData(client),
    ParcelData: {
      ...{ LocalID, Flags: 1, ParcelFlags: OPEN, SalePrice: 0, Name: text(name), Desc: text('A test'), MusicURL: text(''), MediaURL: text('') },
      ...{ MediaID: UUID.zero(), MediaAutoScale: 0, GroupID: UUID.zero(), PassPrice: 0, PassHours: 0, Category: 0, AuthBuyerID: UUID.zero() },
      ...{ SnapshotID: UUID.zero(), UserLocation: Vector3.getZero(), UserLookAt: Vector3.getZero(), LandingType: ANYWHERE },
    },
  });
}

/** Number of refusals by their reason, from the alerts about them: several within a second are one alert. */
export function refusals(alerts) {
  const counts = new Map();
  for (const alert of alerts) {
    const [, reason, number] = /^(.*?)(?: Requests refused: (\d+)\.)?$/.exec(alert);
    counts.set(reason, (counts.get(reason) ?? 0) + Number(number ?? 1));
  }
  return counts;
}
