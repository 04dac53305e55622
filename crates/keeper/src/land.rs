//! Tracked land of a region: its newest state in the frames, and the set of unsaved rows.

use crate::rows::{SquareRuns, content_of, patch_number, push_estate, push_parcel, push_patch, runs_of};
use ids::Instant;
use link::{
    Estate, Frame, GroundPatch, LandChange, LandState, Parcel, ParcelNumber, SQUARE_M, SnapshotChunk, Terrain,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{LandChanges, LandKey, LandKind};

/// Rows of land on the disk, each with the hash of its content; `None` if the content is unknown because a save is unfinished or has failed, or the
/// row is damaged.
pub(crate) type LandOnDisk = BTreeMap<LandKey, Option<u64>>;

/// Complete land of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeLand<'a> {
    pub(crate) state: &'a LandState,
    /// Patches that differ from the described ground.
    pub(crate) ground: &'a [GroundPatch],
    /// Patches of the baked ground that differ from the described ground.
    pub(crate) baked: &'a [GroundPatch],
}

impl<'a> WholeLand<'a> {
    /// Land in the first part of a snapshot.
    pub(crate) fn of_snapshot(part: &'a SnapshotChunk) -> Option<Self> {
        let SnapshotChunk { land, ground, baked, .. } = part;
        land.as_ref().map(|state| Self { state, ground, baked })
    }

    /// Land in the first frame of a world, which contains all of it.
    pub(crate) fn of_first_frame(frame: &'a Frame) -> Option<Self> {
        let state = frame.land.iter().find_map(|change| match change {
            LandChange::Whole(state) => Some(state),
            _ => None,
        })?;
        let baked = frame.land.iter().find_map(|change| match change {
            LandChange::Baked(patches) => Some(&patches[..]),
            _ => None,
        });
        Some(Self { state, ground: &frame.ground, baked: baked.unwrap_or_default() })
    }
}

/// Rows of a batch, with the hashes of their contents after it; `None` for a deleted row.
pub(crate) type FlownLand = BTreeMap<LandKey, Option<u64>>;

/// All unsaved changes of the land.
#[derive(Debug, Default)]
pub(crate) struct TakenLand {
    pub(crate) changes: LandChanges,
    pub(crate) flown: FlownLand,
    /// Time of the first change.
    pub(crate) since: Option<Instant>,
}

/// The land of a region.
#[derive(Debug)]
pub(crate) struct TrackedLand {
    /// The ground of the world's description.
    described: Arc<Terrain>,
    /// `None` before the first frame with the complete land.
    seen: Option<SeenLand>,
    last_number: ParcelNumber,
    disk: LandOnDisk,
    /// Rows that may differ from the disk.
    unsaved: BTreeSet<LandKey>,
    /// Time of the first of these changes.
    since: Option<Instant>,
    /// Memory for a value.
    value: Vec<u8>,
}

/// Newest land in the frames.
#[derive(Debug)]
struct SeenLand {
    parcels: BTreeMap<ParcelNumber, Arc<Parcel>>,
    /// Parcel of each square, row by row from the south-west.
    squares: Vec<ParcelNumber>,
    estate: Arc<Estate>,
    ground: Patches,
    baked: Patches,
}

/// Patches that differ from the described ground, by position.
type Patches = BTreeMap<u16, GroundPatch>;

const ESTATE: LandKey = LandKey::new(LandKind::Estate, 0);

const fn key_of(ParcelNumber(number): ParcelNumber) -> LandKey {
    LandKey::new(LandKind::Parcel, number)
}

impl TrackedLand {
    /// Creates the tracker of land with these rows on the disk.
    pub(crate) const fn new(described: Arc<Terrain>, last_number: ParcelNumber, disk: LandOnDisk) -> Self {
        Self {
            described,
            seen: None,
            last_number,
            disk,
            unsaved: BTreeSet::new(),
            since: None,
            value: Vec::new(),
        }
    }

    /// Time of the first unsaved change.
    pub(crate) const fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Applies the changes of a frame.
    pub(crate) fn take_frame(&mut self, now: Instant, frame: &Frame) {
        frame.ground.iter().for_each(|patch| self.take_patch(now, patch));
        frame.land.iter().for_each(|change| self.take_change(now, change));
    }

    /// Replaces all land by that of a world. Rows equal to those on the disk need no save.
    pub(crate) fn take_whole(&mut self, now: Instant, whole: WholeLand<'_>) {
        let WholeLand { state, ground, baked } = whole;
        let (ground, baked) = (self.patches_of(ground), self.patches_of(baked));
        self.take_state(state, ground, baked);
        self.compare(now, |_| true);
    }

    fn take_state(&mut self, state: &LandState, ground: Patches, baked: Patches) {
        self.seen = Some(SeenLand { ground, baked, ..SeenLand::of(state) });
        // The missing frames may have assigned a higher number.
        let highest = state.parcels.last().map_or(self.last_number, |parcel| parcel.number);
        self.last_number = self.last_number.max(highest);
    }

    /// Moves all unsaved rows, in their newest state, into a batch.
    pub(crate) fn take_batch(&mut self) -> TakenLand {
        let mut taken = TakenLand { since: self.since.take(), ..TakenLand::default() };
        let keys = std::mem::take(&mut self.unsaved);
        let runs = self.runs_of(&keys);
        for key in keys {
            let before = self.disk.get(&key).copied();
            match self.encode(key, &runs) {
                Some(content) if before == Some(Some(content)) => continue,
                Some(content) => {
                    taken.changes.rows.push(key, &self.value);
                    taken.flown.insert(key, Some(content));
                }
                None if before.is_none() => continue,
                None => {
                    taken.changes.gone.push(key);
                    taken.flown.insert(key, None);
                }
            }
            self.disk.insert(key, None);
        }
        taken
    }

    /// Records that a batch was saved.
    pub(crate) fn note_saved(&mut self, flown: FlownLand) {
        for (key, content) in flown {
            match content {
                Some(content) => {
                    self.disk.insert(key, Some(content));
                }
                None => {
                    self.disk.remove(&key);
                }
            }
        }
    }

    /// Marks the contents of all rows as unknown.
    pub(crate) fn forget_disk(&mut self) {
        self.disk.values_mut().for_each(|content| *content = None);
    }

    /// Marks the rows of a failed batch as unsaved again. `since` is the time of the first change of the batch.
    pub(crate) fn put_back(&mut self, flown: FlownLand, since: Instant) {
        if !flown.is_empty() {
            self.unsaved.extend(flown.into_keys());
            self.since = Some(self.since.map_or(since, |newer| newer.min(since)));
        }
    }

    fn take_change(&mut self, now: Instant, change: &LandChange) {
        if let LandChange::Whole(state) = change {
            let (ground, baked) =
                self.seen.take().map_or_else(Default::default, |seen| (seen.ground, seen.baked));
            self.take_state(state, ground, baked);
            self.compare(now, |key| matches!(key.kind, LandKind::Estate | LandKind::Parcel));
            return;
        }
        let Some(seen) = &mut self.seen else { return };
        match change {
            LandChange::Whole(_) => unreachable!("it was taken"),
            LandChange::Parcel(parcel) => {
                let number = parcel.number;
                if seen.parcels.insert(number, Arc::clone(parcel)).is_none() {
                    self.note_number(now, number);
                }
                self.mark(now, key_of(number));
            }
            LandChange::Squares(number, set) => {
                let side = (self.described.size_m() / SQUARE_M) as usize;
                for (column, row) in set.iter() {
                    if let Some(square) = seen.squares.get_mut(usize::from(row) * side + usize::from(column))
                    {
                        *square = *number;
                    }
                }
                self.mark(now, key_of(*number));
            }
            LandChange::Removed(number) => {
                if seen.parcels.remove(number).is_none() {
                    self.note_number(now, *number);
                }
                self.mark(now, key_of(*number));
            }
            LandChange::Estate(estate) => {
                seen.estate = Arc::clone(estate);
                self.mark(now, ESTATE);
            }
            LandChange::Baked(patches) => {
                let baked = self.patches_of(patches);
                if let Some(seen) = &mut self.seen {
                    seen.baked = baked;
                }
                self.compare(now, |key| key.kind == LandKind::Baked);
            }
        }
    }

    fn take_patch(&mut self, now: Instant, patch: &GroundPatch) {
        let number = patch_number(self.described.size_m(), patch);
        let is_described = is_described(&self.described, patch);
        let Some(seen) = &mut self.seen else { return };
        if is_described {
            seen.ground.remove(&number);
        } else {
            seen.ground.insert(number, patch.clone());
        }
        self.mark(now, LandKey::new(LandKind::Ground, number));
    }

    /// Records the last assigned parcel number.
    fn note_number(&mut self, now: Instant, number: ParcelNumber) {
        self.last_number = number;
        self.mark(now, ESTATE);
    }

    fn mark(&mut self, now: Instant, key: LandKey) {
        self.unsaved.insert(key);
        self.since.get_or_insert(now);
    }

    /// Marks rows of some kinds as unsaved, unless they equal those on the disk.
    fn compare(&mut self, now: Instant, is_meant: impl Fn(LandKey) -> bool) {
        let there = self.seen.iter().flat_map(SeenLand::keys);
        let keys: BTreeSet<LandKey> =
            there.chain(self.disk.keys().copied()).filter(|key| is_meant(*key)).collect();
        let runs = self.runs_of(&keys);
        for key in keys {
            let content = self.encode(key, &runs);
            let is_same = match (content, self.disk.get(&key)) {
                (Some(content), Some(Some(known))) => content == *known,
                (None, None) => true,
                (Some(_), None | Some(None)) | (None, Some(_)) => false,
            };
            if !is_same {
                self.mark(now, key);
            }
        }
    }

    /// Squares of the parcels in a set of rows.
    fn runs_of(&self, keys: &BTreeSet<LandKey>) -> BTreeMap<ParcelNumber, SquareRuns> {
        let parcels = keys.iter().filter(|key| key.kind == LandKind::Parcel);
        let numbers: BTreeSet<ParcelNumber> = parcels.map(|key| ParcelNumber(key.number)).collect();
        match &self.seen {
            Some(seen) if !numbers.is_empty() => runs_of(&seen.squares, &numbers),
            _ => BTreeMap::new(),
        }
    }

    /// Encodes a row, and returns the hash of its content; `None` if the row does not exist.
    fn encode(&mut self, key: LandKey, runs: &BTreeMap<ParcelNumber, SquareRuns>) -> Option<u64> {
        let Self { seen, last_number, value, .. } = self;
        let seen = seen.as_ref()?;
        value.clear();
        match key.kind {
            LandKind::Estate => push_estate(value, *last_number, &seen.estate),
            LandKind::Parcel => {
                let number = ParcelNumber(key.number);
                push_parcel(value, seen.parcels.get(&number)?, runs.get(&number)?);
            }
            LandKind::Ground => push_patch(value, seen.ground.get(&key.number)?),
            LandKind::Baked => push_patch(value, seen.baked.get(&key.number)?),
        }
        Some(content_of(value))
    }

    /// Filters patches that differ from the described ground.
    fn patches_of(&self, patches: &[GroundPatch]) -> Patches {
        let others = patches.iter().filter(|patch| !is_described(&self.described, patch));
        others.map(|patch| (patch_number(self.described.size_m(), patch), patch.clone())).collect()
    }
}

impl SeenLand {
    /// Parcels and estate of a state.
    fn of(state: &LandState) -> Self {
        Self {
            parcels: state.parcels.iter().map(|parcel| (parcel.number, Arc::clone(parcel))).collect(),
            squares: state.squares.to_vec(),
            estate: Arc::clone(&state.estate),
            ground: Patches::new(),
            baked: Patches::new(),
        }
    }

    /// Keys of all rows of the land.
    fn keys(&self) -> impl Iterator<Item = LandKey> {
        let parcels = self.parcels.keys().map(|number| key_of(*number));
        let ground = self.ground.keys().map(|number| LandKey::new(LandKind::Ground, *number));
        let baked = self.baked.keys().map(|number| LandKey::new(LandKind::Baked, *number));
        [ESTATE].into_iter().chain(parcels).chain(ground).chain(baked)
    }
}

/// True for a patch with the heights of the described ground, which has no row.
pub(crate) fn is_described(described: &Terrain, patch: &GroundPatch) -> bool {
    patch.has_same_heights(&described.patch(patch.column(), patch.row()))
}

#[cfg(test)]
mod tests;
