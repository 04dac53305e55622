//! Encoder: one pass per world and tick from a frame's changes to wire blocks, shared by every receiver.
//!
//! It also checks the frames' numbers: a gap or a new epoch makes it request a snapshot and keep the last good state until all chunks
//! of one have come.

use crate::dead_reckoning::{ALL_BANDS, DeadReckoning};
use crate::land::{EncodedLand, LandPatch};
use crate::motion::full_motion;
use crate::objects::{EncodedObject, FrameTime, ObjectEncoder};
use glam::Vec3;
use ids::{Epoch, Instant, LocalId, SessionKey, Tick};
use link::{
    Animation, Appearance, Audience, Avatar, Change, Entity, Event, Frame, GroundPatch, LandChange, Motion,
    ObjectChange, SQUARE_M, Seat, SnapshotChunk,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use systems::System;
use wire::object_update::FullAvatar;
use wire::terse::{AVATAR_BLOCK_LEN, TerseAvatar};

/// Number and body of AvatarAnimation. That of three animations, as many as most avatars ever play, needs no memory of its own.
pub type AnimationMessage = SmallVec<[u8; 80]>;

/// A frame's changes with their wire blocks.
#[derive(Clone, Debug, Default)]
pub struct EncodedFrame {
    pub(crate) epoch: Epoch,
    pub(crate) sequence: u64,
    pub(crate) tick: Tick,
    pub(crate) at: Instant,
    pub(crate) dilation: f32,
    /// These changes are a whole snapshot: entities absent from it are removed.
    pub(crate) restarts: bool,
    pub(crate) changes: Vec<EncodedChange>,
    /// Objects that sessions have made and want selected.
    pub(crate) created: Vec<(SessionKey, LocalId)>,
    /// Changes of objects. Those of a snapshot begin with all pages.
    pub(crate) objects: Vec<EncodedObject>,
    /// Changes of the land. Those of a snapshot begin with all of it.
    pub(crate) land: Vec<EncodedLand>,
}

/// One change with its blocks for clients.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are those of link::Change; the blocks are named in crate::Slot")]
pub enum EncodedChange {
    Created {
        id: LocalId,
        audience: Audience,
        avatar: Box<Avatar>,
        motion: Motion,
        seat: Option<Seat>,
        terse: [u8; AVATAR_BLOCK_LEN],
        full: Arc<[u8]>,
        animation: AnimationMessage,
    },
    Moved {
        id: LocalId,
        motion: Motion,
        /// Bands of distance, as bits, to whose clients it is significant.
        bands: u8,
        terse: [u8; AVATAR_BLOCK_LEN],
    },
    Animated {
        id: LocalId,
        animation: AnimationMessage,
    },
    Seated {
        id: LocalId,
        seat: Option<Seat>,
    },
    Appeared {
        id: LocalId,
        size: Vec3,
        appearance: Option<Arc<Appearance>>,
    },
    Removed {
        id: LocalId,
    },
}

/// Result of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Intake {
    /// Encoded; publish it.
    Ready,
    /// A gap or a new epoch: send [`link::Action::Resync`] to the world.
    NeedsSnapshot,
    /// Held back until the snapshot that was asked for is complete.
    Waiting,
}

/// Follows one world's frames.
#[derive(Debug)]
pub struct Encoder {
    /// The next frame expected; `None` before the first.
    expected: Option<(Epoch, u64)>,
    resync: Option<PartialSnapshot>,
    /// Blocks of avatars encoded since the start.
    pub blocks_encoded: u64,
    /// Gaps and new epochs seen since the start.
    pub resyncs: u64,
    entities: BTreeMap<LocalId, Tracked>,
    /// World time between two ticks, in seconds.
    tick_s: f32,
    /// True if dead reckoning suppresses updates that clients can extrapolate.
    has_dead_reckoning: bool,
    objects: ObjectEncoder,
    /// Width of the region in metres, once the world has told of its land.
    land_size_m: Option<u32>,
    /// A message or block that is being made.
    scratch: Vec<u8>,
}

/// State of an entity from frame to frame.
#[derive(Debug)]
struct Tracked {
    /// Animation messages name the agent, changes only the local id.
    agent: ids::AgentId,
    dead_reckoning: DeadReckoning,
    /// Its seat; clients move it with the linkset.
    seat: Option<Seat>,
}

/// A snapshot of which some parts have arrived. Later changes are applied to these parts, so that the result is the state
/// after the frame that completes it.
#[derive(Debug, Default)]
struct PartialSnapshot {
    frames_waited: u32,
    next_index: u32,
    entities: BTreeMap<LocalId, Arc<Entity>>,
    /// All pages, and the changes of later frames.
    objects: Vec<ObjectChange>,
    /// All edited patches, and those of later frames.
    ground: Vec<GroundPatch>,
    /// The whole, if the world has land, and the changes of later frames.
    land: Vec<LandChange>,
}

impl Encoder {
    /// Frames in which a resync may come no further before it is asked for again.
    pub const RESYNC_FRAMES_MAX: u32 = 100;

    /// An encoder of a world with `tick` between two ticks, before its first frame of any epoch.
    #[must_use]
    pub fn new(tick: Duration) -> Self {
        Self {
            expected: None,
            resync: None,
            blocks_encoded: 0,
            resyncs: 0,
            entities: BTreeMap::new(),
            tick_s: tick.as_secs_f32(),
            has_dead_reckoning: true,
            objects: ObjectEncoder::default(),
            land_size_m: None,
            scratch: Vec::new(),
        }
    }

    /// Makes every movement significant to every client, for experiments.
    pub const fn stop_dead_reckoning(&mut self) {
        self.has_dead_reckoning = false;
    }

    /// Encodes a frame into `out`, whose buffers are reused.
    #[inline(never)]
    pub fn encode(&mut self, frame: &Frame, out: &mut EncodedFrame) -> Intake {
        System::ReplicaEncode.enter();
        out.epoch = frame.epoch;
        out.sequence = frame.sequence;
        out.tick = frame.tick;
        out.at = frame.at;
        out.dilation = frame.dilation;
        out.restarts = false;
        out.changes.clear();
        out.created.clear();
        out.objects.clear();
        out.land.clear();
        let in_order = match self.expected {
            // Only a world's very first frame is the whole story: a later epoch begins from a saved state.
            None => frame.sequence == 0 && frame.epoch == Epoch(0),
            Some(expected) => expected == (frame.epoch, frame.sequence),
        };
        self.expected = Some((frame.epoch, frame.sequence + 1));
        if !in_order {
            self.resync = Some(PartialSnapshot::default());
            self.resyncs += 1;
            // A restarted world sends a snapshot by itself, and the beginning of a snapshot requested elsewhere serves as well: it
            // holds the content of the lost frames.
            let begins = frame.snapshot.as_ref().is_some_and(|part| part.index == 0);
            return if begins { self.continue_resync(frame, out) } else { Intake::NeedsSnapshot };
        }
        if self.resync.is_some() {
            return self.continue_resync(frame, out);
        }
        out.created.extend(frame.events.iter().filter_map(|event| match event {
            Event::ObjectCreated { session, id, is_selected: true, .. } => Some((*session, *id)),
            _ => None,
        }));
        for change in &frame.changes {
            self.encode_change(frame.tick, change, &mut out.changes);
        }
        self.objects.encode(self.time_of(frame), &frame.objects, &mut out.objects);
        self.encode_land(&frame.ground, &frame.land, &mut out.land);
        // Room for all entities that may move at once and change their animation: newcomers are rare, and memory is taken then and not
        // in the busiest tick so far.
        out.changes.reserve((2 * self.entities.len()).saturating_sub(out.changes.len()));
        Intake::Ready
    }

    fn continue_resync(&mut self, frame: &Frame, out: &mut EncodedFrame) -> Intake {
        let Some(resync) = &mut self.resync else { return Intake::Waiting };
        for change in &frame.changes {
            resync.apply_change(change);
        }
        if resync.next_index > 0 {
            resync.objects.extend_from_slice(&frame.objects);
            resync.ground.extend_from_slice(&frame.ground);
            resync.land.extend_from_slice(&frame.land);
        }
        resync.frames_waited += 1;
        if resync.frames_waited > Self::RESYNC_FRAMES_MAX {
            *resync = PartialSnapshot::default();
            return Intake::NeedsSnapshot;
        }
        let Some(chunk) = &frame.snapshot else { return Intake::Waiting };
        if chunk.index == 0 {
            *resync = PartialSnapshot { frames_waited: resync.frames_waited, ..PartialSnapshot::default() };
        } else if chunk.index != resync.next_index {
            // The tail of a snapshot requested elsewhere; ours begins with chunk 0.
            return Intake::Waiting;
        }
        resync.frames_waited = 0;
        if !resync.add_chunk(chunk) {
            return Intake::Waiting;
        }
        let PartialSnapshot { entities, objects, ground, land, .. } = std::mem::take(resync);
        self.resync = None;
        self.entities.clear();
        out.restarts = true;
        for entity in entities.into_values() {
            self.encode_change(frame.tick, &Change::Created(entity), &mut out.changes);
        }
        self.objects.clear();
        self.objects.encode(self.time_of(frame), &objects, &mut out.objects);
        self.encode_land(&ground, &land, &mut out.land);
        Intake::Ready
    }

    const fn time_of(&self, frame: &Frame) -> FrameTime {
        FrameTime {
            at: frame.at,
            tick: frame.tick.0 as u32,
            tick_s: self.tick_s,
            has_dead_reckoning: self.has_dead_reckoning,
        }
    }

    /// Compresses patches, each in its newest state, behind the changes of parcels and estate.
    fn encode_land(&mut self, ground: &[GroundPatch], land: &[LandChange], out: &mut Vec<EncodedLand>) {
        for change in land {
            if let LandChange::Whole(state) = change {
                self.land_size_m = Some((state.squares.len() as u32).isqrt() * SQUARE_M);
            }
            out.push(EncodedLand::Change(change.clone()));
        }
        // Without land no ground is edited.
        let Some(size_m) = self.land_size_m else { return };
        let by_place = ground.iter().map(|patch| ((patch.row(), patch.column()), patch));
        let newest: BTreeMap<(u8, u8), &GroundPatch> = by_place.collect();
        out.extend(newest.into_values().map(|patch| EncodedLand::Ground(LandPatch::new(size_m, patch))));
    }

    fn encode_change(&mut self, tick: Tick, change: &Change, out: &mut Vec<EncodedChange>) {
        let tick = tick.0 as u32;
        self.blocks_encoded += 1;
        out.push(match change {
            Change::Created(entity) => {
                let avatar = &entity.avatar;
                let dead_reckoning = DeadReckoning::new(tick, &entity.motion);
                let tracked = Tracked { agent: avatar.agent, dead_reckoning, seat: entity.seat };
                self.entities.insert(entity.id, tracked);
                self.scratch.clear();
                wire::object_update::encode_avatar(&full_block(entity), &mut self.scratch);
                let full = Arc::from(self.scratch.as_slice());
                EncodedChange::Created {
                    id: entity.id,
                    audience: entity.audience,
                    motion: entity.motion,
                    seat: entity.seat,
                    terse: terse_block(entity.id, &shown_motion(&entity.motion, entity.seat.as_ref())),
                    full,
                    animation: animation_message(avatar.agent, &avatar.animations, &mut self.scratch),
                    avatar: Box::new(avatar.clone()),
                }
            }
            Change::Moved(id, motion) => {
                let Some(tracked) = self.entities.get_mut(id) else { return };
                let (bands, terse) = match &tracked.seat {
                    Some(seat) => (0, terse_block(*id, &shown_motion(motion, Some(seat)))),
                    None => {
                        let due = tracked.dead_reckoning.due_bands(tick, self.tick_s, motion);
                        let bands = if self.has_dead_reckoning { due } else { ALL_BANDS };
                        (bands, terse_block(*id, motion))
                    }
                };
                EncodedChange::Moved { id: *id, motion: *motion, bands, terse }
            }
            Change::Animated(id, animations) => {
                let Some(Tracked { agent, .. }) = self.entities.get(id) else { return };
                let animation = animation_message(*agent, animations, &mut self.scratch);
                EncodedChange::Animated { id: *id, animation }
            }
            Change::Seated(id, seat) => {
                let Some(tracked) = self.entities.get_mut(id) else { return };
                tracked.seat = *seat;
                EncodedChange::Seated { id: *id, seat: *seat }
            }
            Change::Appeared(id, appearance) => {
                if !self.entities.contains_key(id) {
                    return;
                }
                let size = Appearance::avatar_size(appearance.as_deref());
                EncodedChange::Appeared { id: *id, size, appearance: appearance.clone() }
            }
            Change::Removed(id) => {
                self.entities.remove(id);
                EncodedChange::Removed { id: *id }
            }
        });
    }
}

impl PartialSnapshot {
    /// Adds a chunk, whose entities are as new as this frame; true for the last one.
    fn add_chunk(&mut self, chunk: &SnapshotChunk) -> bool {
        for entity in &chunk.entities {
            self.entities.insert(entity.id, Arc::clone(entity));
        }
        if chunk.index == 0 {
            self.objects.push(ObjectChange::Pages(chunk.objects.clone()));
            self.ground.extend_from_slice(&chunk.ground);
            self.land.extend(chunk.land.clone().map(LandChange::Whole));
        }
        self.next_index = chunk.index + 1;
        self.next_index >= chunk.count
    }

    fn apply_change(&mut self, change: &Change) {
        match change {
            Change::Created(entity) => {
                self.entities.insert(entity.id, Arc::clone(entity));
            }
            Change::Removed(id) => {
                self.entities.remove(id);
            }
            Change::Moved(id, motion) => {
                if let Some(entity) = self.entities.get_mut(id) {
                    Arc::make_mut(entity).motion = *motion;
                }
            }
            Change::Seated(id, seat) => {
                if let Some(entity) = self.entities.get_mut(id) {
                    Arc::make_mut(entity).seat = *seat;
                }
            }
            Change::Appeared(id, appearance) => self.edit(*id, |avatar| {
                avatar.size = Appearance::avatar_size(appearance.as_deref());
                avatar.appearance.clone_from(appearance);
            }),
            Change::Animated(id, animations) => {
                self.edit(*id, |avatar| avatar.animations.clone_from(animations));
            }
        }
    }

    fn edit(&mut self, id: LocalId, edit: impl FnOnce(&mut Avatar)) {
        if let Some(entity) = self.entities.get_mut(&id) {
            edit(&mut Arc::make_mut(entity).avatar);
        }
    }
}

/// A motion as clients take it: that of a seated avatar is relative to the root of its linkset.
pub(crate) fn shown_motion(motion: &Motion, seat: Option<&Seat>) -> Motion {
    match seat {
        Some(&Seat { position, rotation, .. }) => Motion { position, rotation, ..Motion::default() },
        None => *motion,
    }
}

pub(crate) fn terse_block(id: LocalId, motion: &Motion) -> [u8; AVATAR_BLOCK_LEN] {
    let mut block = [0; AVATAR_BLOCK_LEN];
    wire::terse::encode_avatar(
        &TerseAvatar {
            local_id: id,
            collision_plane: glam::Vec4::W,
            position: motion.position,
            velocity: motion.velocity,
            acceleration: motion.acceleration,
            rotation: motion.rotation,
            angular_velocity: motion.angular_velocity,
        },
        &mut block,
    );
    block
}

fn full_block(entity: &Entity) -> FullAvatar<'_> {
    let avatar = &entity.avatar;
    FullAvatar {
        local_id: entity.id,
        agent: avatar.agent,
        parent: parent_of(entity.seat.as_ref()),
        size: avatar.size,
        motion: full_motion(&shown_motion(&entity.motion, entity.seat.as_ref())),
        collision_plane: glam::Vec4::W,
        update_flags: 0,
        first_name: &avatar.first_name,
        last_name: &avatar.last_name,
        title: "",
        texture_entry: &[],
    }
}

/// `ParentID` of an avatar.
pub(crate) fn parent_of(seat: Option<&Seat>) -> LocalId {
    seat.map_or(LocalId(0), |seat| seat.parent)
}

fn animation_message(
    agent: ids::AgentId,
    animations: &[Animation],
    scratch: &mut Vec<u8>,
) -> AnimationMessage {
    scratch.clear();
    wire::fanout::write_animations(agent, animations.iter().map(|a| (a.id, a.sequence)), scratch);
    AnimationMessage::from_slice(scratch)
}
