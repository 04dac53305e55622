//! The state of one world as its viewers may see it, with every wire block already encoded.
//!
//! Entities live in slots. A slot keeps its index while its entity lives, so that a viewer can remember what it
//! was sent in a plain vector indexed alike. What selection scans stands in [`Hot`], 28 bytes an entity; the rest
//! stands in [`Slot`]. Slots stand in blocks of [`SLOTS_PER_BLOCK`], each with a version that rises when something in
//! it changes: a viewer to whom nothing of a block was due skips it until then, so that a crowd that sits costs nothing.

use crate::encoder::{EncodedChange, EncodedFrame, full_motion};
use glam::Vec3;
use ids::{AgentId, Epoch, LocalId, RegionHandle, SessionKey, Tick, WorldId};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::object_update::{patch_avatar_motion, patch_avatar_size};
use wire::terse::AVATAR_BLOCK_LEN;
use world::{Audience, Avatar, Motion};

/// Where an entity stands in [`Replica::hot`] and [`Replica::slot`].
pub type SlotIndex = u32;

/// Slots of one block, see [`Replica::blocks`].
pub const SLOTS_PER_BLOCK: usize = 64;

/// How often things changed in a block of slots. To be compared for equality; before it wraps, none is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Somebody came, went or moved.
    pub state: u32,
    /// Somebody came or went.
    pub population: u32,
}

/// The part of an entity that every selection pass reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Local id; 0 while the slot is free. Ids are not reused, so a viewer that remembers another one knows that
    /// its entity is gone.
    pub id: u32,
    /// Low 32 bits of the tick in which its motion last changed.
    pub changed_at: u32,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Rises when it plays other animations.
    pub animation_serial: u16,
    /// Rises when it looks different; 0 while its appearance is not known.
    pub appearance_serial: u16,
    /// Whether clients extrapolate nothing about it. A rest is repeated in several sends (DESIGN §2).
    pub at_rest: bool,
    /// Only its own session may see it.
    pub private: bool,
}

impl Hot {
    const FREE: Self = Self {
        id: 0,
        changed_at: 0,
        position: Vec3::ZERO,
        animation_serial: 0,
        appearance_serial: 0,
        at_rest: true,
        private: false,
    };
}

/// An entity's encoded blocks and who it is.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its login.
    pub session: SessionKey,
    /// Its account.
    pub agent: AgentId,
    /// First name as shown.
    pub first_name: Arc<str>,
    /// Last name as shown.
    pub last_name: Arc<str>,
    /// Position and movement of the last change.
    pub motion: Motion,
    /// The block of an ImprovedTerseObjectUpdate.
    pub terse: [u8; AVATAR_BLOCK_LEN],
    /// The block of an ObjectUpdate, not zero-coded, update flags zero: the receiver's are patched in.
    pub full: Vec<u8>,
    /// Number and body of AvatarAnimation.
    pub animation: Arc<[u8]>,
    /// Number and body of AvatarAppearance, once it is known.
    pub appearance: Option<Arc<[u8]>>,
}

/// One world's visible state.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Whose.
    pub world: WorldId,
    /// Its place on the grid.
    pub handle: RegionHandle,
    /// The world's life that this state belongs to.
    pub epoch: Epoch,
    /// Frames applied, as the world numbers them.
    pub sequence: u64,
    /// Newest tick applied.
    pub tick: Tick,
    /// The world's own time dilation, 0–1.
    pub dilation: f32,
    hot: Vec<Hot>,
    slots: Vec<Option<Slot>>,
    versions: Vec<Version>,
    free: Vec<SlotIndex>,
    by_id: BTreeMap<LocalId, SlotIndex>,
    by_session: BTreeMap<SessionKey, SlotIndex>,
}

impl Replica {
    /// An empty one, before the world's first frame.
    #[must_use]
    pub const fn new(world: WorldId, handle: RegionHandle) -> Self {
        Self {
            world,
            handle,
            epoch: Epoch(0),
            sequence: 0,
            tick: Tick(0),
            dilation: 1.0,
            hot: Vec::new(),
            slots: Vec::new(),
            versions: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            by_session: BTreeMap::new(),
        }
    }

    /// The scanned part of every slot, free ones included.
    #[must_use]
    pub fn hot(&self) -> &[Hot] {
        &self.hot
    }

    /// The scanned part block by block, each with its version.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = (Version, &[Hot])> {
        self.versions.iter().copied().zip(self.hot.chunks(SLOTS_PER_BLOCK))
    }

    /// The entity in a slot.
    #[must_use]
    pub fn slot(&self, index: SlotIndex) -> Option<&Slot> {
        self.slots.get(index as usize)?.as_ref()
    }

    /// Where a session's avatar stands.
    #[must_use]
    pub fn of_session(&self, session: SessionKey) -> Option<SlotIndex> {
        self.by_session.get(&session).copied()
    }

    /// Where an entity stands.
    #[must_use]
    pub fn of_id(&self, id: LocalId) -> Option<SlotIndex> {
        self.by_id.get(&id).copied()
    }

    /// Entities alive.
    #[must_use]
    pub fn n_entities(&self) -> usize {
        self.by_id.len()
    }

    /// Every entity with its index, in slot order.
    pub fn entities(&self) -> impl Iterator<Item = (SlotIndex, &Hot, &Slot)> {
        self.hot
            .iter()
            .zip(&self.slots)
            .enumerate()
            .filter_map(|(index, (hot, slot))| Some((index as SlotIndex, hot, slot.as_ref()?)))
    }

    /// Brings the state forward by one frame. Both buffers of the publisher apply the same frames in the same
    /// order, so an entity has the same slot in both.
    pub(crate) fn apply(&mut self, frame: &EncodedFrame) {
        if frame.restarts {
            self.remove_absent(&frame.changes);
        }
        self.epoch = frame.epoch;
        self.sequence = frame.sequence;
        self.tick = frame.tick;
        self.dilation = frame.dilation;
        for change in &frame.changes {
            self.apply_change(change, frame.tick);
        }
    }

    fn apply_change(&mut self, change: &EncodedChange, tick: Tick) {
        match change {
            EncodedChange::Created { id, audience, avatar, motion, terse, full, animation, appearance } => {
                let hot = Hot {
                    id: id.0,
                    changed_at: tick.0 as u32,
                    position: motion.position,
                    animation_serial: 1,
                    appearance_serial: u16::from(appearance.is_some()),
                    at_rest: motion.at_rest(),
                    private: matches!(audience, Audience::Session(_)),
                };
                let slot = slot_of(avatar, motion, terse, full, animation, appearance.as_ref());
                self.insert(*id, hot, slot);
            }
            EncodedChange::Moved { id, motion, terse } => {
                let Some(&index) = self.by_id.get(id) else { return };
                let Some(slot) = &mut self.slots[index as usize] else { return };
                slot.motion = *motion;
                slot.terse = *terse;
                patch_avatar_motion(&mut slot.full, &full_motion(motion));
                let hot = &mut self.hot[index as usize];
                hot.changed_at = tick.0 as u32;
                hot.position = motion.position;
                hot.at_rest = motion.at_rest();
                self.note_moved(index);
            }
            EncodedChange::Animated { id, animation } => {
                let Some((hot, slot)) = self.get_mut(*id) else { return };
                hot.animation_serial = next_serial(hot.animation_serial);
                slot.animation = Arc::clone(animation);
            }
            EncodedChange::Appeared { id, size, appearance } => {
                let Some((hot, slot)) = self.get_mut(*id) else { return };
                hot.appearance_serial = next_serial(hot.appearance_serial);
                patch_avatar_size(&mut slot.full, *size);
                slot.appearance = Some(Arc::clone(appearance));
            }
            EncodedChange::Removed { id } => self.remove(*id),
        }
    }

    fn get_mut(&mut self, id: LocalId) -> Option<(&mut Hot, &mut Slot)> {
        let index = *self.by_id.get(&id)? as usize;
        Some((&mut self.hot[index], self.slots[index].as_mut()?))
    }

    fn version(&mut self, index: SlotIndex) -> &mut Version {
        &mut self.versions[index as usize / SLOTS_PER_BLOCK]
    }

    fn note_moved(&mut self, index: SlotIndex) {
        let version = self.version(index);
        version.state = version.state.wrapping_add(1);
    }

    fn note_came_or_went(&mut self, index: SlotIndex) {
        self.note_moved(index);
        let version = self.version(index);
        version.population = version.population.wrapping_add(1);
    }

    /// Removes everybody whom a snapshot does not hold. The others keep their slots: viewers then see them change,
    /// not leave and come back.
    fn remove_absent(&mut self, snapshot: &[EncodedChange]) {
        let sessions = snapshot.iter().filter_map(|change| match change {
            EncodedChange::Created { id, avatar, .. } => Some((*id, avatar.session)),
            _ => None,
        });
        let present: BTreeMap<LocalId, SessionKey> = sessions.collect();
        let is_absent = |&(id, index): &(&LocalId, &SlotIndex)| {
            present.get(id) != self.slots[*index as usize].as_ref().map(|slot| &slot.session)
        };
        let absent: Vec<LocalId> = self.by_id.iter().filter(is_absent).map(|(id, _)| *id).collect();
        for id in absent {
            self.remove(id);
        }
    }

    /// Fills a free slot, or overwrites that of an entity which a snapshot tells anew.
    fn insert(&mut self, id: LocalId, mut hot: Hot, slot: Slot) {
        let session = slot.session;
        let index = self.by_id.get(&id).copied().or_else(|| self.free.pop()).unwrap_or_else(|| {
            if self.hot.len().is_multiple_of(SLOTS_PER_BLOCK) {
                self.versions.push(Version { state: 1, population: 1 });
            }
            self.hot.push(Hot::FREE);
            self.slots.push(None);
            (self.slots.len() - 1) as SlotIndex
        });
        let former = &self.hot[index as usize];
        if former.id == id.0 {
            // What a viewer was sent of it may be older than the snapshot.
            hot.animation_serial = next_serial(former.animation_serial);
            if slot.appearance.is_some() {
                hot.appearance_serial = next_serial(former.appearance_serial);
            }
        }
        self.hot[index as usize] = hot;
        self.slots[index as usize] = Some(slot);
        self.note_came_or_went(index);
        self.by_id.insert(id, index);
        self.by_session.insert(session, index);
    }

    fn remove(&mut self, id: LocalId) {
        let Some(index) = self.by_id.remove(&id) else { return };
        self.hot[index as usize] = Hot::FREE;
        self.note_came_or_went(index);
        if let Some(slot) = self.slots[index as usize].take()
            && self.by_session.get(&slot.session) == Some(&index)
        {
            self.by_session.remove(&slot.session);
        }
        self.free.push(index);
    }
}

/// Serial 0 means "nothing to show yet", so a serial that wraps skips it.
const fn next_serial(serial: u16) -> u16 {
    match serial.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

fn slot_of(
    avatar: &Avatar,
    motion: &Motion,
    terse: &[u8; AVATAR_BLOCK_LEN],
    full: &[u8],
    animation: &Arc<[u8]>,
    appearance: Option<&Arc<[u8]>>,
) -> Slot {
    Slot {
        session: avatar.session,
        agent: avatar.agent,
        first_name: Arc::from(avatar.first_name.as_str()),
        last_name: Arc::from(avatar.last_name.as_str()),
        motion: *motion,
        terse: *terse,
        full: full.to_vec(),
        animation: Arc::clone(animation),
        appearance: appearance.cloned(),
    }
}
