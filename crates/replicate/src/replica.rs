//! Visible state of one world, with every wire block already encoded. No block names the world's place on the grid: that is in the
//! header of a datagram, and one world may be seen at several places.
//!
//! Entities live in slots. A slot keeps its index while its entity lives, so that viewers find the entities that they were sent. Data
//! read by selection is in [`Hot`], data copied into datagrams in [`Replica::terse`], a cache line each; the rest is in
//! [`Slot`]. [`Replica::cells`] is the spatial index. Objects have no slot: static ones are in [`Replica::scenery`], the others in
//! [`Replica::objects`]. Parcels and edited ground are in [`Replica::land`].

use crate::cells::{Cells, SlotIndex};
use crate::created::CreatedObjects;
use crate::dead_reckoning::BANDS;
use crate::encoder::{AnimationMessage, EncodedChange, EncodedFrame, parent_of, shown_motion, terse_block};
use crate::land::LandReplica;
use crate::motion::full_motion;
use crate::objects::ObjectReplica;
use crate::scenery::SceneryReplica;
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, WorldId};
use link::{Appearance, Audience, Avatar, Motion, Seat};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::object_update::{patch_avatar_motion, patch_avatar_parent, patch_avatar_size};
use wire::terse::AVATAR_BLOCK_LEN;

/// The block of an ImprovedTerseObjectUpdate, on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct TerseBlock([u8; AVATAR_BLOCK_LEN]);

/// Upper bound of [`Replica::lead_s`], two ticks at 20 Hz: avatars of a world that is late or down do not go on.
const LEAD_MAX: Duration = Duration::from_millis(100);

/// The part of an entity that every selection pass reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Local id; 0 while the slot is free. Ids are not reused, so a viewer that remembers another one knows that
    /// its entity is gone.
    pub id: u32,
    /// For each band of distance the low 32 bits of the tick in which its motion last became significant there.
    pub changed_at: [u32; BANDS],
    /// Low 32 bits of the tick in which it last sat down on a linkset or got up from one, or came: clients need a full update since then.
    pub reseated_at: u32,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// Rises when it plays other animations.
    pub animation_serial: u16,
    /// Rises when it looks different; 0 while its appearance is not known.
    pub appearance_serial: u16,
    /// True if clients extrapolate nothing about it. A rest is repeated in several sends.
    pub at_rest: bool,
    /// Only its own session may see it.
    pub private: bool,
}

impl Hot {
    const FREE: Self = Self {
        id: 0,
        changed_at: [0; BANDS],
        reseated_at: 0,
        position: Vec3::ZERO,
        animation_serial: 0,
        appearance_serial: 0,
        at_rest: true,
        private: false,
    };
}

/// An entity's encoded blocks and identity.
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
    /// Position and movement of the last change, in the region.
    pub motion: Motion,
    /// Its seat on a linkset; clients move it with that.
    pub seat: Option<Seat>,
    /// Width, depth and height, metres.
    size: Vec3,
    /// The block of an ObjectUpdate as of its creation; both replicas share it. [`Self::write_full`] brings a copy up to date: most
    /// movements are sent as terse updates only.
    full: Arc<[u8]>,
    /// Number and body of AvatarAnimation.
    pub animation: AnimationMessage,
    /// Appearance, once known: the world's own. A message of it is sent to a viewer once, so that none is kept.
    pub appearance: Option<Arc<Appearance>>,
}

impl Slot {
    /// Bytes that [`Self::write_full`] appends.
    #[must_use]
    pub fn full_len(&self) -> usize {
        self.full.len()
    }

    /// Appends the block of an ObjectUpdate, not zero-coded, update flags zero: the receiver's are patched in. The position of a moving
    /// entity is `lead_s` seconds further along its velocity ([`Replica::lead_s`]); a rest is exact, since no later update would correct it.
    pub fn write_full(&self, lead_s: f32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.full);
        let mut motion = full_motion(&shown_motion(&self.motion, self.seat.as_ref()));
        if !self.motion.at_rest() {
            motion.position += motion.velocity * lead_s;
        }
        patch_avatar_motion(&mut out[start..], &motion);
        patch_avatar_parent(&mut out[start..], parent_of(self.seat.as_ref()));
        patch_avatar_size(&mut out[start..], self.size);
    }
}

/// One world's visible state.
#[derive(Clone, Debug)]
pub struct Replica {
    /// World.
    pub world: WorldId,
    /// The world's life that this state belongs to.
    pub epoch: Epoch,
    /// Frames applied, as the world numbers them.
    pub sequence: u64,
    /// Newest tick applied.
    pub tick: Tick,
    /// Time of that tick's step.
    pub at: Instant,
    /// The world's own time dilation, 0–1.
    pub dilation: f32,
    hot: Vec<Hot>,
    terse: Vec<TerseBlock>,
    slots: Vec<Option<Slot>>,
    cells: Cells,
    scenery: SceneryReplica,
    objects: ObjectReplica,
    created: CreatedObjects,
    land: LandReplica,
    /// Avatars that have left since the beginning.
    removals: u64,
    /// True if an entity came, left or moved since the cells were filled.
    stirred: bool,
    free: Vec<SlotIndex>,
    by_id: BTreeMap<LocalId, SlotIndex>,
    by_session: BTreeMap<SessionKey, SlotIndex>,
    by_agent: BTreeMap<AgentId, SlotIndex>,
}

impl Replica {
    /// Without avatars, for a region of `size_m` along a side, before the world's first frame.
    #[must_use]
    pub fn new(world: WorldId, size_m: f32, scenery: SceneryReplica) -> Self {
        Self {
            world,
            epoch: Epoch(0),
            sequence: 0,
            tick: Tick(0),
            at: Instant::ZERO,
            dilation: 1.0,
            hot: Vec::new(),
            terse: Vec::new(),
            slots: Vec::new(),
            cells: Cells::new(size_m),
            scenery,
            objects: ObjectReplica::new(size_m),
            created: CreatedObjects::default(),
            land: LandReplica::new(size_m as u32),
            removals: 0,
            stirred: false,
            free: Vec::new(),
            by_id: BTreeMap::new(),
            by_session: BTreeMap::new(),
            by_agent: BTreeMap::new(),
        }
    }

    /// World time in seconds since the newest tick: `min(now − at, 100 ms) × dilation`. Positions of moving avatars are sent as many seconds
    /// further along their velocity, since clients count the time of an update from its arrival on: among 5,000 walkers a position that
    /// was sent as of its tick was shown up to 50 ms late, 0.16 m at 3.2 m/s, until the next update (`crowd`).
    #[must_use]
    pub fn lead_s(&self, now: Instant) -> f32 {
        now.since(self.at).min(LEAD_MAX).as_secs_f32() * self.dilation
    }

    /// The scanned part of every slot, free ones included.
    #[must_use]
    pub fn hot(&self) -> &[Hot] {
        &self.hot
    }

    /// The block of an ImprovedTerseObjectUpdate for the entity in a slot.
    ///
    /// # Panics
    /// When there is no such slot.
    #[must_use]
    pub fn terse(&self, index: SlotIndex) -> &[u8; AVATAR_BLOCK_LEN] {
        &self.terse[index as usize].0
    }

    /// Positions of all publicly visible entities.
    #[must_use]
    pub const fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Static objects of the world. In no slot, and constant for the life of the world.
    #[must_use]
    pub const fn scenery(&self) -> &SceneryReplica {
        &self.scenery
    }

    /// Objects of the world that can change.
    #[must_use]
    pub const fn objects(&self) -> &ObjectReplica {
        &self.objects
    }

    /// True for an object that a session has made in the last ten seconds and wants selected, as far as it is among the newest 256 of the world.
    #[must_use]
    pub fn is_created_by(&self, session: SessionKey, id: LocalId) -> bool {
        self.created.has(session, id)
    }

    /// Land of the world; `None` if it is not built on.
    #[must_use]
    pub fn land(&self) -> Option<&LandReplica> {
        Some(&self.land).filter(|land| land.is_known())
    }

    /// The entity in a slot.
    #[must_use]
    pub fn slot(&self, index: SlotIndex) -> Option<&Slot> {
        self.slots.get(index as usize)?.as_ref()
    }

    /// Slot of a session's avatar.
    #[must_use]
    pub fn of_session(&self, session: SessionKey) -> Option<SlotIndex> {
        self.by_session.get(&session).copied()
    }

    /// Slot of an account's avatar: of its newest session.
    #[must_use]
    pub fn of_agent(&self, agent: AgentId) -> Option<SlotIndex> {
        self.by_agent.get(&agent).copied()
    }

    /// Slot of an entity.
    #[must_use]
    pub fn of_id(&self, id: LocalId) -> Option<SlotIndex> {
        self.by_id.get(&id).copied()
    }

    /// Avatars that have left since the start of the replica: a viewer with this count knows all departures.
    pub(crate) const fn removals(&self) -> u64 {
        self.removals
    }

    /// Avatars alive.
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
        self.at = frame.at;
        self.dilation = frame.dilation;
        for change in &frame.changes {
            self.apply_change(change, frame.tick);
        }
        if frame.restarts {
            self.objects.remove_absent(&frame.objects);
        }
        self.created.apply(frame.tick, &frame.created);
        for change in &frame.objects {
            self.objects.apply(frame.tick.0 as u32, change);
        }
        if frame.restarts {
            self.land.remove_absent(&frame.land);
        }
        for change in &frame.land {
            self.land.apply(change);
        }
    }

    /// Updates [`Replica::cells`] once, before the first read: a replica that is not published does not need it.
    pub(crate) fn rebuild_cells(&mut self) {
        if std::mem::take(&mut self.stirred) {
            let public = |(index, hot): (usize, &Hot)| {
                (hot.id != 0 && !hot.private).then_some((index as SlotIndex, hot.position))
            };
            self.cells.rebuild(self.hot.iter().enumerate().filter_map(public));
        }
    }

    fn apply_change(&mut self, change: &EncodedChange, tick: Tick) {
        match change {
            EncodedChange::Created { id, audience, avatar, motion, seat, terse, full, animation } => {
                let hot = Hot {
                    id: id.0,
                    changed_at: [tick.0 as u32; BANDS],
                    reseated_at: tick.0 as u32,
                    position: motion.position,
                    animation_serial: 1,
                    appearance_serial: u16::from(avatar.appearance.is_some()),
                    at_rest: motion.at_rest(),
                    private: matches!(audience, Audience::Session(_)),
                };
                let slot = slot_of(avatar, (motion, seat), full, animation);
                self.insert(*id, hot, slot, terse);
            }
            EncodedChange::Moved { id, motion, bands, terse } => {
                let Some(&index) = self.by_id.get(id) else { return };
                let Some(slot) = &mut self.slots[index as usize] else { return };
                slot.motion = *motion;
                self.terse[index as usize].0 = *terse;
                let hot = &mut self.hot[index as usize];
                for (band, changed_at) in hot.changed_at.iter_mut().enumerate() {
                    if bands & 1 << band != 0 {
                        *changed_at = tick.0 as u32;
                    }
                }
                hot.position = motion.position;
                hot.at_rest = motion.at_rest();
                self.stirred = true;
            }
            EncodedChange::Animated { id, animation } => {
                let Some((hot, slot)) = self.get_mut(*id) else { return };
                hot.animation_serial = next_serial(hot.animation_serial);
                slot.animation.clone_from(animation);
            }
            EncodedChange::Seated { id, seat } => {
                let Some(&index) = self.by_id.get(id) else { return };
                let Some(slot) = &mut self.slots[index as usize] else { return };
                slot.seat = *seat;
                self.terse[index as usize].0 = terse_block(*id, &shown_motion(&slot.motion, seat.as_ref()));
                let hot = &mut self.hot[index as usize];
                hot.changed_at = [tick.0 as u32; BANDS];
                hot.reseated_at = tick.0 as u32;
            }
            EncodedChange::Appeared { id, size, appearance } => {
                let Some((hot, slot)) = self.get_mut(*id) else { return };
                hot.appearance_serial = next_serial(hot.appearance_serial);
                slot.size = *size;
                slot.appearance.clone_from(appearance);
            }
            EncodedChange::Removed { id } => self.remove(*id),
        }
    }

    fn get_mut(&mut self, id: LocalId) -> Option<(&mut Hot, &mut Slot)> {
        let index = *self.by_id.get(&id)? as usize;
        Some((&mut self.hot[index], self.slots[index].as_mut()?))
    }

    /// Removes entities absent from a snapshot. The others keep their slots: for viewers they change, and do not leave and return.
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

    /// Fills a free slot, or overwrites that of an entity in a snapshot.
    fn insert(&mut self, id: LocalId, mut hot: Hot, slot: Slot, terse: &[u8; AVATAR_BLOCK_LEN]) {
        let (session, agent) = (slot.session, slot.agent);
        let index = self.by_id.get(&id).copied().or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.hot.push(Hot::FREE);
            self.terse.push(TerseBlock([0; AVATAR_BLOCK_LEN]));
            self.slots.push(None);
            (self.slots.len() - 1) as SlotIndex
        });
        let former = &self.hot[index as usize];
        if former.id == id.0 {
            let sat = self.slots[index as usize].as_ref().and_then(|slot| slot.seat);
            if sat == slot.seat {
                hot.reseated_at = former.reseated_at;
            }
            // A viewer's last update of it may be older than the snapshot.
            hot.animation_serial = next_serial(former.animation_serial);
            if slot.appearance.is_some() {
                hot.appearance_serial = next_serial(former.appearance_serial);
            }
        }
        self.hot[index as usize] = hot;
        self.terse[index as usize].0 = *terse;
        self.slots[index as usize] = Some(slot);
        self.stirred = true;
        self.by_id.insert(id, index);
        self.by_session.insert(session, index);
        self.by_agent.insert(agent, index);
    }

    fn remove(&mut self, id: LocalId) {
        let Some(index) = self.by_id.remove(&id) else { return };
        self.removals += 1;
        self.hot[index as usize] = Hot::FREE;
        self.stirred = true;
        if let Some(slot) = self.slots[index as usize].take() {
            // A newer one may have taken its place there.
            if self.by_session.get(&slot.session) == Some(&index) {
                self.by_session.remove(&slot.session);
            }
            if self.by_agent.get(&slot.agent) == Some(&index) {
                self.by_agent.remove(&slot.agent);
            }
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
    (motion, seat): (&Motion, &Option<Seat>),
    full: &Arc<[u8]>,
    animation: &AnimationMessage,
) -> Slot {
    Slot {
        session: avatar.session,
        agent: avatar.agent,
        first_name: Arc::from(avatar.first_name.as_str()),
        last_name: Arc::from(avatar.last_name.as_str()),
        motion: *motion,
        seat: *seat,
        size: avatar.size,
        full: Arc::clone(full),
        animation: animation.clone(),
        appearance: avatar.appearance.clone(),
    }
}
