//! Output of a world: one frame per tick, the same for every gateway.
//!
//! A frame is the tick's delta. Frames of an epoch are numbered without gaps; a replica that misses one requests a snapshot
//! ([`crate::Action::Resync`]), which arrives in chunks inside later frames.

use crate::chat::Chat;
use crate::command::Appearance;
use crate::contents::ContentsEvent;
use crate::effect::EffectEvent;
use crate::game::GameEvent;
use crate::land::{GroundPatch, LandChange, LandEvent, LandState};
use crate::motion::Motion;
use crate::object::{ObjectChange, ObjectPage};
use crate::object_outcome::{EditRefusal, StoppedObject};
use crate::seat::{Seat, SitRefusal};
use crate::touch::Touch;
use crate::transfer::Transfer;
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Ticket, Uuid, WorldId};
use prim::SolidKey;
use serde::{Deserialize, Deserializer, Serialize};
use smallvec::{Array, SmallVec};
use std::sync::Arc;

/// One tick of one world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// World of the tick.
    pub world: WorldId,
    /// The world's epoch; a new one voids the content of replicas.
    pub epoch: Epoch,
    /// Rises by one with every frame of the epoch, from 0.
    pub sequence: u64,
    /// Step number.
    pub tick: Tick,
    /// Time of the step, the moment that its positions are of; on the clock of the host, which has to be that of the gateway or be converted on
    /// receipt.
    pub at: Instant,
    /// World time passed ÷ wall time passed, 0–1: the world's own figure, sent to viewers as it is.
    pub dilation: f32,
    /// Changes of this tick: removals, then newcomers in their state after it, then changes of the others.
    pub changes: Vec<Change>,
    /// Changes of objects: removals, then whole pages, then the others.
    pub objects: Vec<ObjectChange>,
    /// Patches of the ground with other heights than before, each once.
    pub ground: Vec<GroundPatch>,
    /// Changes of parcels and estate.
    pub land: Vec<LandChange>,
    /// Events, which leave no state behind.
    pub events: Vec<Event>,
    /// A part of a snapshot that a replica asked for. It holds the state *after* this frame's changes.
    pub snapshot: Option<SnapshotChunk>,
    /// Hash of the world's whole state after this tick.
    pub state_hash: u64,
}

impl Frame {
    /// A frame to step into: a world's step overwrites it and keeps its buffers.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            world: WorldId(0),
            epoch: Epoch(0),
            sequence: 0,
            tick: Tick(0),
            at: Instant::ZERO,
            dilation: 1.0,
            changes: Vec::new(),
            objects: Vec::new(),
            ground: Vec::new(),
            land: Vec::new(),
            events: Vec::new(),
            snapshot: None,
            state_hash: 0,
        }
    }

    /// Begins another frame in this one's buffers.
    pub fn begin(&mut self, world: WorldId, epoch: Epoch, sequence: u64, tick: Tick, dilation: f32) {
        let (mut changes, mut events) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.events));
        let mut objects = std::mem::take(&mut self.objects);
        let (mut ground, mut land) = (std::mem::take(&mut self.ground), std::mem::take(&mut self.land));
        changes.clear();
        objects.clear();
        ground.clear();
        land.clear();
        events.clear();
        *self = Self {
            world,
            epoch,
            sequence,
            tick,
            dilation,
            changes,
            objects,
            ground,
            land,
            events,
            ..Self::empty()
        };
    }
}

/// Recipients of an event or entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// All sessions.
    All,
    /// One session only.
    Session(SessionKey),
}

/// A difference to the tick before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A new entity.
    Created(Arc<Entity>),
    /// It moved, turned, stopped, sat down or stood up.
    Moved(LocalId, Motion),
    /// New appearance; `None` if the old one is unknown now. The loss cannot be sent to clients that have the old one, and applies to
    /// newcomers.
    Appeared(LocalId, Option<Arc<Appearance>>),
    /// It plays other animations.
    Animated(LocalId, #[serde(deserialize_with = "read_few")] Animations),
    /// It sat down on a linkset, or got up from one (`None`). Comes before the motion of the same tick.
    Seated(LocalId, Option<Seat>),
    /// It is gone; its local id is not used again in this epoch.
    Removed(LocalId),
}

/// Whole state of an entity as seen by others. All are avatars: static objects never change, and are in no frame ([`crate::Scenery`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// Its number in messages.
    pub id: LocalId,
    /// Clients that may see it.
    pub audience: Audience,
    /// Position and movement in the region, also of one that sits on a linkset.
    pub motion: Motion,
    /// Its seat on a linkset.
    pub seat: Option<Seat>,
    /// Identity and appearance.
    pub avatar: Avatar,
}

/// The visible state of an avatar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Avatar {
    /// Session of its login.
    pub session: SessionKey,
    /// Account; `FullID` in messages.
    pub agent: AgentId,
    /// First name as shown.
    pub first_name: String,
    /// Last name as shown.
    pub last_name: String,
    /// Width, depth and height of its box, in metres.
    pub size: Vec3,
    /// Appearance, once known.
    pub appearance: Option<Arc<Appearance>>,
    /// Playing animations, oldest start first.
    #[serde(deserialize_with = "read_few")]
    pub animations: Animations,
}

/// One animation that an avatar plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Animation {
    /// Asset id (built-in ones are well known).
    pub id: Uuid,
    /// Rises whenever the avatar starts one, so that clients notice a restart.
    pub sequence: i32,
}

/// Playing animations of an avatar, oldest first. The usual maximum is stored inline: movement, typing, away.
pub type Animations = SmallVec<[Animation; 3]>;

/// Reads a list as long as its bytes are: by itself a SmallVec makes room for as many as damaged bytes claim.
///
/// # Errors
/// Those of the list's own encoding.
pub fn read_few<'de, D, A>(from: D) -> Result<SmallVec<A>, D::Error>
where
    D: Deserializer<'de>,
    A: Array<Item: Deserialize<'de>>,
{
    Ok(Vec::deserialize(from)?.into_iter().collect())
}

/// Something that happened in this tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A chat message.
    Chat(Arc<Chat>),
    /// A session was refused or put out; the gateway informs its user.
    Refused {
        /// The session.
        session: SessionKey,
        /// The reason.
        reason: EntryRefusal,
    },
    /// A teleport inside this world was carried out; the position is in the entity's motion.
    Teleported(SessionKey),
    /// An event of the world's game, and the sessions that may know of it. World, replica and frame do not look into it.
    Game(Audience, GameEvent),
    /// A session's linkset is new, or has other local ids than before. Its creator's client may select it.
    ObjectCreated {
        /// The session.
        session: SessionKey,
        /// Local id of its root.
        id: LocalId,
        /// Id of its root.
        object: Uuid,
        /// True if the client asked to select it.
        is_selected: bool,
    },
    /// Objects that a session asked to change stay as they are, at most one event for each request. Its client shows them as it wanted them.
    ObjectsRefused {
        /// The session.
        session: SessionKey,
        /// The reason for the first of them.
        reason: EditRefusal,
        /// Their local ids as the client named them; none if the request named none, or was refused as a whole.
        ids: Vec<LocalId>,
    },
    /// A transfer between the world and the store, whose effect on the objects is in this frame. Tickets of a world rise by one, but for those that an undo names.
    Transfer(Ticket, Transfer),
    /// Result of a request of the node to change objects, one for each.
    ObjectsChanged {
        /// Number of the command.
        sequence: u64,
        /// Objects that were changed; linksets of an [`crate::ObjectCommand::Insert`].
        done: u32,
        /// Objects that stay as they are.
        refused: u32,
        /// The reason for the first of them.
        reason: Option<EditRefusal>,
    },
    /// Physics has stopped a linkset.
    ObjectStopped(Arc<StoppedObject>),
    /// An event of the world's land, for one session.
    Land(SessionKey, LandEvent),
    /// A session's avatar has sat down on a prim, as it asked.
    Seated {
        /// The session.
        session: SessionKey,
        /// Id of the prim.
        object: Uuid,
        /// The avatar's centre from the prim, along its axes, metres.
        position: Vec3,
        /// Its rotation against the prim's.
        rotation: Quat,
    },
    /// A session's avatar stays as it is.
    SitRefused {
        /// The session.
        session: SessionKey,
        /// The reason.
        reason: SitRefusal,
    },
    /// A touch of a prim, for its scripts.
    Touched(Arc<Touch>),
    /// An effect, for the clients of avatars near by.
    Effect(Arc<EffectEvent>),
    /// Outcome of a request for an item of a prim, for its author.
    Contents(Arc<ContentsEvent>),
    /// Answer to an order for an object or an item that the store has not marked ([`crate::Restoration::key`], [`crate::ItemRestoration::key`]), for the object of an
    /// item in a prim ([`crate::ContentRezzing`]), or for other content of an item ([`crate::ContentReplacement`]).
    Rezzed {
        /// [`crate::Restoration::ids`] of the order, or the id of the item, or of the asset.
        order: Uuid,
        /// The reason for which nothing of it is in the world; `None` if all of it is.
        refusal: Option<EditRefusal>,
    },
    /// Solids of assets that prims of the world collide as and that it has not: those that have come into use in this tick, and beside part 0 of a snapshot all of them. Until
    /// [`crate::Action::PutSolid`] brings one, its prims are boxes.
    SolidsWanted(Arc<[SolidKey]>),
    /// Answer to an order to wear an item ([`crate::WearOrder`]): the avatar does not wear it.
    WearRefused {
        /// The user.
        owner: AgentId,
        /// The item.
        item: Uuid,
        /// The reason.
        reason: EditRefusal,
    },
}

/// Reasons for which a session cannot be in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryRefusal {
    /// `max_avatars` reached, or the limit of the estate.
    Full,
    /// The estate does not admit the user.
    NotAdmitted,
}

/// A part of a world's state. A replica that needs it empties itself at part 0, adds each part after the changes of its
/// frame, and ignores changes of entities it does not know yet: after the last part it is complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotChunk {
    /// Counts from 0.
    pub index: u32,
    /// Total number of parts.
    pub count: u32,
    /// Avatars of this part, complete; what happens to them later comes as changes.
    pub entities: Vec<Arc<Entity>>,
    /// All objects, in part 0; later changes are in the frames that follow.
    pub objects: Vec<ObjectPage>,
    /// In part 0 all patches that differ from the ground of the world's description.
    pub ground: Vec<GroundPatch>,
    /// In part 0 all patches of the baked ground that differ from it.
    pub baked: Vec<GroundPatch>,
    /// In part 0 parcels and estate, of a world that has them.
    pub land: Option<LandState>,
    /// In part 0 all transfers that are not settled, in the order of their tickets.
    pub transfers: Vec<(Ticket, Transfer)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::land::{Estate, LandRefusal, PATCH_SAMPLES, ParcelNumber, SquareSet};
    use crate::{
        ChatKind, ContentsOutcome, DerezKind, HeldItem, HeldObject, PrimMotion, VersionedBody, WornChange,
        WornTransfer,
    };
    use ids::HeldKey;
    use prim::SolidPart;

    fn appearance() -> Arc<Appearance> {
        let (texture_entry, visual_params) = (vec![1, 2, 3], vec![7; 218]);
        Arc::new(Appearance { texture_entry, visual_params, cof_version: 4, height_m: 1.8 })
    }

    fn entity() -> Arc<Entity> {
        let animation = Animation { id: Uuid::from_u128(9), sequence: -1 };
        let avatar = Avatar {
            session: SessionKey(5 << 48 | 1),
            agent: AgentId(Uuid::from_u128(3)),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            size: Vec3::new(0.45, 0.6, 1.9),
            appearance: Some(appearance()),
            animations: [animation; 5].into_iter().collect(),
        };
        let motion = Motion { position: Vec3::new(1.0, 2.0, 3.0), velocity: Vec3::X, ..Motion::default() };
        let audience = Audience::Session(SessionKey(u64::MAX));
        let seat = Some(Seat { parent: LocalId(1 << 20), position: Vec3::Z, rotation: Quat::IDENTITY });
        Arc::new(Entity { id: LocalId(u32::MAX), audience, motion, seat, avatar })
    }

    fn held() -> HeldObject {
        let owner = AgentId(Uuid::from_u128(3));
        let body = prim::Body::new(Uuid::from_u128(9), prim::Shape::BOX, Arc::default(), owner, 0);
        HeldObject {
            owner,
            by: SessionKey::NODE,
            kind: DerezKind::Return,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: false,
            linksets: vec![vec![(PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) })]],
        }
    }

    fn held_item() -> HeldItem {
        let owner = AgentId(Uuid::from_u128(3));
        let ownership = prim::Ownership {
            creator: owner,
            owner,
            last_owner: owner,
            group: Uuid::nil(),
            permissions: prim::Permissions::NEW,
        };
        let item = prim::ContentItem {
            id: Uuid::from_u128(7),
            asset: Uuid::from_u128(8),
            asset_type: 7,
            inventory_type: 7,
            name: "note".into(),
            description: "".into(),
            flags: 0,
            ownership,
            sale: prim::Sale::default(),
            created_s: -1,
            carried: prim::Carried::default(),
        };
        let new_folder = Some("Box".into());
        HeldItem { owner, by: SessionKey::NODE, folder: Uuid::nil(), new_folder, item: Arc::new(item) }
    }

    #[test]
    fn a_frame_with_every_kind_of_change_and_event_survives_its_encoding() {
        let session = SessionKey(1 << 48);
        let chat = Chat {
            source: Uuid::from_u128(3),
            session,
            name: "Ada".into(),
            position: Vec3::Z,
            radius_m: 20.0,
            kind: ChatKind::Say,
            channel: -7,
            text: "hé".into(),
        };
        let id = LocalId(1 << 31);
        let games = [
            GameEvent::Struck { who: id, by: None, points: 9 },
            GameEvent::Fell(id),
            GameEvent::Rose(id),
            GameEvent::Health { points: 100 },
            GameEvent::Mission { mission: 1, done: 2, waypoints: 3, text: "Go on".into() },
        ];
        let mut events = vec![
            Event::Chat(Arc::new(chat)),
            Event::Refused { session, reason: EntryRefusal::Full },
            Event::Teleported(session),
        ];
        events.extend(games.map(|event| Event::Game(Audience::All, event)));
        events.extend([
            Event::ObjectCreated { session, id, object: Uuid::from_u128(8), is_selected: true },
            Event::ObjectsRefused { session, reason: EditRefusal::Rights, ids: vec![id] },
            Event::ObjectsChanged { sequence: 9, done: 2, refused: 1, reason: Some(EditRefusal::Part) },
            Event::ObjectStopped(Arc::new(StoppedObject {
                owner: AgentId(Uuid::from_u128(3)),
                session: Some(session),
                object: Uuid::from_u128(9),
                name: "ball".into(),
                position: Vec3::splat(7.0),
            })),
        ]);
        let touch = Touch {
            session,
            agent: AgentId(Uuid::from_u128(3)),
            object: id,
            root: id,
            phase: crate::TouchPhase::Held,
            offset: Vec3::X,
            surface: None,
        };
        let sound = crate::Effect::Sound { id: Uuid::from_u128(4), gain: 0.5 };
        let effect = EffectEvent {
            session,
            agent: AgentId(Uuid::from_u128(3)),
            position: Vec3::Y,
            radius_m: 20.0,
            effect: sound,
        };
        events.extend([
            Event::Seated {
                session,
                object: Uuid::from_u128(8),
                position: Vec3::Z,
                rotation: Quat::IDENTITY,
            },
            Event::SitRefused { session, reason: SitRefusal::Far },
            Event::Touched(Arc::new(touch)),
            Event::Effect(Arc::new(effect)),
            Event::Contents(Arc::new(ContentsEvent {
                session,
                sequence: 9,
                id,
                object: Uuid::from_u128(8),
                outcome: ContentsOutcome::Edited(Uuid::from_u128(5)),
            })),
            Event::Rezzed { order: Uuid::from_u128(6), refusal: Some(EditRefusal::Full) },
            Event::WearRefused {
                owner: AgentId(Uuid::from_u128(3)),
                item: Uuid::from_u128(7),
                reason: EditRefusal::Full,
            },
            Event::SolidsWanted(
                [SolidKey { asset: Uuid::from_u128(7), part: SolidPart::MeshSurface }].into_iter().collect(),
            ),
        ]);
        let key = HeldKey { region: WorldId(1), ticket: Ticket(3) };
        let transfers = [
            Transfer::Held(Arc::new(held())),
            Transfer::Restored(key),
            Transfer::Refused(key, EditRefusal::Full),
            Transfer::Undone { first: Ticket(1), last: Ticket(3) },
            Transfer::HeldItem(Arc::new(held_item())),
            Transfer::Worn(Arc::new(WornTransfer {
                item: Uuid::from_u128(7),
                change: WornChange::TakenOff,
                object: held(),
            })),
        ];
        let transfers: Vec<(Ticket, Transfer)> = (1..).map(Ticket).zip(transfers).collect();
        events.extend(transfers.iter().cloned().map(|(ticket, transfer)| Event::Transfer(ticket, transfer)));
        let number = ParcelNumber(1);
        let refused = LandEvent::Refused { sequence: 9, reason: LandRefusal::Busy };
        let done = LandEvent::Done { sequence: 10 };
        events.extend([refused, done, LandEvent::PutOut(number)].map(|event| Event::Land(session, event)));
        let patch = GroundPatch::new(1, 2, [21.5; PATCH_SAMPLES]).unwrap();
        let estate = Estate::new("Hills", None, 20.0);
        let land = LandState::of_one_parcel(256, Uuid::from_u128(8), estate, 7);
        let animations = entity().avatar.animations.clone();
        let frame = Frame {
            world: WorldId(1 << 31),
            epoch: Epoch(3),
            sequence: 1 << 40,
            tick: Tick(7),
            at: Instant(8),
            dilation: 0.5,
            changes: vec![
                Change::Removed(id),
                Change::Created(entity()),
                Change::Moved(id, Motion::default()),
                Change::Appeared(id, None),
                Change::Appeared(id, Some(appearance())),
                Change::Animated(id, animations),
                Change::Seated(id, entity().seat),
                Change::Seated(id, None),
            ],
            objects: vec![ObjectChange::Pages(vec![ObjectPage::empty(id)]), ObjectChange::Removed(id)],
            ground: vec![patch.clone()],
            land: vec![
                LandChange::Whole(land.clone()),
                LandChange::Parcel(Arc::clone(&land.parcels[0])),
                LandChange::Squares(number, SquareSet::of([(3, 4)].into_iter()).unwrap()),
                LandChange::Removed(number),
                LandChange::Estate(Arc::clone(&land.estate)),
                LandChange::Baked(vec![patch.clone()]),
            ],
            events,
            snapshot: Some(SnapshotChunk {
                index: 1,
                count: 2,
                entities: vec![entity()],
                objects: Vec::new(),
                ground: vec![patch.clone()],
                baked: vec![patch],
                land: Some(land),
                transfers,
            }),
            state_hash: u64::MAX,
        };
        let bytes = postcard::to_stdvec(&frame).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(frame));
    }
}
