//! What leaves a world: one frame per tick, the same for every gateway.
//!
//! A frame is the tick's delta. Frames of an epoch are numbered without gaps; who misses one asks for a snapshot
//! ([`crate::Action::Resync`]), which arrives in chunks inside later frames.

use crate::chat::Chat;
use crate::command::Appearance;
use crate::game::GameEvent;
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use serde::{Deserialize, Deserializer, Serialize};
use smallvec::{Array, SmallVec};
use std::sync::Arc;

/// One tick of one world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Whose tick.
    pub world: WorldId,
    /// The world's life; a new one voids what a replica held.
    pub epoch: Epoch,
    /// Rises by one with every frame of the epoch, from 0.
    pub sequence: u64,
    /// Step number.
    pub tick: Tick,
    /// World time passed ÷ wall time passed, 0–1: the world's own figure, sent to viewers as it is.
    pub dilation: f32,
    /// What is different now: removals, then newcomers as they are after this tick, then what is new of the others.
    pub changes: Vec<Change>,
    /// What happened and leaves no state behind.
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
            dilation: 1.0,
            changes: Vec::new(),
            events: Vec::new(),
            snapshot: None,
            state_hash: 0,
        }
    }

    /// Begins another frame in this one's buffers.
    pub fn begin(&mut self, world: WorldId, epoch: Epoch, sequence: u64, tick: Tick, dilation: f32) {
        let (mut changes, mut events) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.events));
        changes.clear();
        events.clear();
        *self = Self { world, epoch, sequence, tick, dilation, changes, events, ..Self::empty() };
    }
}

/// Who may know of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// Everyone.
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
    /// It looks different; `None` when nobody knows any more how. That cannot be told to clients that were told before, and is news for those
    /// who come.
    Appeared(LocalId, Option<Arc<Appearance>>),
    /// It plays other animations.
    Animated(LocalId, #[serde(deserialize_with = "read_few")] Animations),
    /// It is gone; its local id is not used again in this epoch.
    Removed(LocalId),
}

/// The whole state of an entity as others may see it. All are avatars: what stands never changes, and no frame tells of it
/// ([`crate::Scenery`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// Its number in messages.
    pub id: LocalId,
    /// Who may see it.
    pub audience: Audience,
    /// Where it is and how it moves.
    pub motion: Motion,
    /// Who it is.
    pub avatar: Avatar,
}

/// The visible state of an avatar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Avatar {
    /// Whose login it belongs to.
    pub session: SessionKey,
    /// Account; `FullID` in messages.
    pub agent: AgentId,
    /// First name as shown.
    pub first_name: String,
    /// Last name as shown.
    pub last_name: String,
    /// Width, depth and height of its box, in metres.
    pub size: Vec3,
    /// What it wears, once known.
    pub appearance: Option<Arc<Appearance>>,
    /// What it plays, oldest first.
    #[serde(deserialize_with = "read_few")]
    pub animations: Animations,
}

/// Position and movement, as the clients extrapolate them. The default rests at the corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Centre, metres from the region's corner.
    pub position: Vec3,
    /// Metres per second; zero when the entity rests.
    pub velocity: Vec3,
    /// Metres per second squared; zero for avatars.
    pub acceleration: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
}

impl Motion {
    /// Whether nothing about it changes by itself: viewers extrapolate everything else without limit.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.velocity == Vec3::ZERO && self.acceleration == Vec3::ZERO && self.angular_velocity == Vec3::ZERO
    }
}

/// One animation that an avatar plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Animation {
    /// Asset id (built-in ones are well known).
    pub id: Uuid,
    /// Rises whenever the avatar starts one, so that clients notice a restart.
    pub sequence: i32,
}

/// What an avatar plays, oldest first. As many as most ever play at once need no memory of their own: one of movement, typing,
/// away.
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
    /// Somebody said something.
    Chat(Arc<Chat>),
    /// A session was not let in, or was put out; the gateway tells its user.
    Refused {
        /// Who.
        session: SessionKey,
        /// Why.
        reason: Refusal,
    },
    /// A teleport inside this world was carried out; the position is in the entity's motion.
    Teleported(SessionKey),
    /// An event of the world's game, and the sessions that may know of it. World, replica and frame do not look into it.
    Game(Audience, GameEvent),
}

/// Why a session cannot be in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// `max_avatars` reached.
    Full,
}

/// A part of a world's state. A replica that needs it empties itself at part 0, adds each part after the changes of its
/// frame, and ignores changes of entities it does not know yet: after the last part it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotChunk {
    /// Counts from 0.
    pub index: u32,
    /// How many there are in all.
    pub count: u32,
    /// Avatars of this part, complete; what happens to them later comes as changes.
    pub entities: Vec<Arc<Entity>>,
}
