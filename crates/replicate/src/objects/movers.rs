//! Prims in motion: short updates instead of whole blocks.
//!
//! A prim whose place changes and nothing else is a mover. Clients that have it are sent terse blocks, by the bands of dead reckoning, as of
//! avatars. A mover that rests for [`REST_KEPT`] is settled: it leaves the list, and a client that was not told its last place by then is sent
//! the prim anew.

use crate::dead_reckoning::{ALL_BANDS, BANDS, DeadReckoning};
use glam::Vec3;
use ids::{Instant, LocalId};
use link::{Motion, PrimMotion};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use wire::terse::{PRIM_BLOCK_LEN, TersePrim, encode_prim};

/// Time at rest after which a mover is settled. A rest and its repetitions reach a client within a second; the others cover long losses.
const REST_KEPT: Duration = Duration::from_secs(10);
/// Metres that a mover covers until its linkset is filed under its new place: objects are searched for in wider steps.
const REFILE_M: f32 = 4.0;
/// Beginnings of movements that a replica remembers. A client that is further behind looks at all movers.
const ARRIVALS_MAX: usize = 1_024;

/// Time of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTime {
    /// Time of its step.
    pub at: Instant,
    /// Low 32 bits of its tick.
    pub tick: u32,
    /// World time between two ticks, seconds.
    pub tick_s: f32,
    /// False if every movement is significant to every client.
    pub has_dead_reckoning: bool,
}

/// A movement of a prim with its block.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedPrim {
    /// The prim.
    pub id: LocalId,
    /// Place, movement, and place in its linkset.
    pub prim: PrimMotion,
    /// Position of its linkset's root in the region, metres.
    pub place: Vec3,
    /// Bands of distance, as bits, to whose clients it is significant.
    pub bands: u8,
    /// Block of a terse update.
    pub terse: [u8; PRIM_BLOCK_LEN],
}

/// Movers as an encoder follows them.
#[derive(Debug, Default)]
pub(super) struct MoverTracks(BTreeMap<LocalId, MoverTrack>);

/// One mover.
#[derive(Debug)]
struct MoverTrack {
    dead_reckoning: DeadReckoning,
    /// Place under which its linkset is filed.
    filed: Vec3,
    /// Begin of its rest.
    rests_since: Option<Instant>,
}

impl MoverTracks {
    pub(super) fn has(&self, id: LocalId) -> bool {
        self.0.contains_key(&id)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn remove(&mut self, id: LocalId) {
        self.0.remove(&id);
    }

    /// Follows a movement. `former` is the motion before, as clients have it if the prim has not moved lately; `place` that of the root.
    pub(super) fn follow(
        &mut self,
        time: FrameTime,
        (id, former): (LocalId, &Motion),
        prim: &PrimMotion,
        place: Vec3,
    ) -> MovedPrim {
        let track = self.0.entry(id).or_insert_with(|| MoverTrack {
            dead_reckoning: DeadReckoning::new(time.tick, former),
            filed: place,
            rests_since: None,
        });
        let bands = track.dead_reckoning.due_bands(time.tick, time.tick_s, &prim.motion);
        let bands = if time.has_dead_reckoning { bands } else { ALL_BANDS };
        track.note_rest(time.at, &prim.motion);
        MovedPrim { id, prim: *prim, place, bands, terse: block(id, prim) }
    }

    /// A mover that was sent in full to every client is filed under its place; its terse block, unless it is no mover.
    pub(super) fn restart(
        &mut self,
        time: FrameTime,
        id: LocalId,
        prim: &PrimMotion,
        place: Vec3,
    ) -> Option<MovedPrim> {
        let track = self.0.get_mut(&id)?;
        track.dead_reckoning = DeadReckoning::new(time.tick, &prim.motion);
        track.filed = place;
        track.note_rest(time.at, &prim.motion);
        Some(MovedPrim { id, prim: *prim, place, bands: ALL_BANDS, terse: block(id, prim) })
    }

    /// True if the linkset of a mover has to be filed under its new place; it is afterwards.
    pub(super) fn has_to_file(&mut self, id: LocalId, place: Vec3) -> bool {
        let Some(track) = self.0.get_mut(&id) else { return false };
        let is_far = track.filed.distance_squared(place) > REFILE_M * REFILE_M;
        if is_far {
            track.filed = place;
        }
        is_far
    }

    /// Removes movers that have rested long enough.
    pub(super) fn settle(&mut self, at: Instant, mut settled: impl FnMut(LocalId)) {
        self.0.retain(|&id, track| {
            let is_settled = track.rests_since.is_some_and(|since| at.since(since) >= REST_KEPT);
            if is_settled {
                settled(id);
            }
            !is_settled
        });
    }
}

impl MoverTrack {
    fn note_rest(&mut self, at: Instant, motion: &Motion) {
        self.rests_since = motion.at_rest().then(|| self.rests_since.unwrap_or(at));
    }
}

fn block(id: LocalId, prim: &PrimMotion) -> [u8; PRIM_BLOCK_LEN] {
    let Motion { position, velocity, acceleration, rotation, angular_velocity } = prim.motion;
    let mut block = [0; PRIM_BLOCK_LEN];
    let terse =
        TersePrim { local_id: id, state: 0, position, velocity, acceleration, rotation, angular_velocity };
    encode_prim(&terse, &mut block);
    block
}

/// A mover for clients.
#[derive(Clone, Debug)]
pub struct Mover {
    /// The prim.
    pub id: LocalId,
    /// Position of its linkset's root in the region, metres.
    pub place: Vec3,
    /// True if it does not move.
    pub at_rest: bool,
    /// Tick in which it became a mover.
    pub since: u32,
    /// By band, tick of the last movement that is significant there.
    pub changed: [u32; BANDS],
    /// Block of a terse update.
    pub terse: [u8; PRIM_BLOCK_LEN],
}

/// Movers of a replica.
#[derive(Clone, Debug, Default)]
pub(super) struct Movers {
    /// In the order of their ids.
    list: Vec<Mover>,
    /// The newest last.
    arrivals: VecDeque<LocalId>,
    /// Movers that have come since the beginning.
    n_arrivals: u64,
}

impl Movers {
    pub(super) fn list(&self) -> &[Mover] {
        &self.list
    }

    pub(super) fn get(&self, id: LocalId) -> Option<&Mover> {
        self.find(id).ok().map(|at| &self.list[at])
    }

    pub(super) fn put(&mut self, tick: u32, moved: &MovedPrim) {
        let at = self.find(moved.id).unwrap_or_else(|at| {
            let (id, place) = (moved.id, moved.place);
            let former = tick.wrapping_sub(1);
            let new = Mover {
                id,
                place,
                at_rest: false,
                since: tick,
                changed: [former; BANDS],
                terse: moved.terse,
            };
            self.list.insert(at, new);
            self.note_arrival(id);
            at
        });
        let mover = &mut self.list[at];
        (mover.place, mover.at_rest, mover.terse) = (moved.place, moved.prim.motion.at_rest(), moved.terse);
        for (band, changed) in mover.changed.iter_mut().enumerate() {
            if moved.bands & 1 << band != 0 {
                *changed = tick;
            }
        }
    }

    pub(super) fn remove(&mut self, id: LocalId) {
        if let Ok(at) = self.find(id) {
            self.list.remove(at);
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) const fn n_arrivals(&self) -> u64 {
        self.n_arrivals
    }

    /// Prims that began to move since there were `n_arrivals`; `None` if that is too long ago.
    pub(super) fn arrived_since(&self, n_arrivals: u64) -> Option<impl Iterator<Item = LocalId>> {
        let n_new = usize::try_from(self.n_arrivals.checked_sub(n_arrivals)?).ok()?;
        let from = self.arrivals.len().checked_sub(n_new)?;
        Some(self.arrivals.range(from..).copied())
    }

    fn note_arrival(&mut self, id: LocalId) {
        if self.arrivals.len() == ARRIVALS_MAX {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(id);
        self.n_arrivals += 1;
    }

    fn find(&self, id: LocalId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&id, |mover| mover.id)
    }
}
