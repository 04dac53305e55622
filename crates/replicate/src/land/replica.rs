//! Land of a replica.

use super::changes::ChangeLog;
use glam::Vec2;
use ids::Uuid;
use link::{
    Estate, GroundPatch, LandChange, LandState, PATCH_M, Parcel, ParcelFlags, ParcelNumber, SQUARE_M,
    SquareSet,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::terrain::{EncodedPatch, Layer};

/// Squares of one ParcelOverlay message.
pub const OVERLAY_SQUARES: usize = 1_024;

/// A change of the land, with its bits for clients.
#[derive(Clone, Debug)]
pub(crate) enum EncodedLand {
    /// A patch of the ground.
    Ground(LandPatch),
    /// Parcels and estate.
    Change(LandChange),
}

/// An edited patch of the ground.
#[derive(Clone, Debug)]
pub struct LandPatch {
    /// Its heights.
    pub patch: GroundPatch,
    /// The same for clients.
    pub bits: Arc<EncodedPatch>,
}

impl LandPatch {
    /// Compresses a patch of a region of this width.
    pub(crate) fn new(size_m: u32, patch: &GroundPatch) -> Self {
        let (x, y) = (u16::from(patch.column()), u16::from(patch.row()));
        let bits = EncodedPatch::new(Layer::for_region(size_m), x, y, patch.heights());
        Self { patch: patch.clone(), bits: Arc::new(bits) }
    }
}

/// A parcel with the number of its last change.
#[derive(Clone, Debug)]
pub struct KnownParcel {
    /// The parcel.
    pub parcel: Arc<Parcel>,
    /// Number of the change of the land that was its last: of its settings or its squares.
    pub changed: u64,
}

/// Parcels and estate of a world that is built on.
#[derive(Clone, Debug)]
struct Estates {
    parcels: BTreeMap<ParcelNumber, KnownParcel>,
    /// Row by row from the south-west.
    squares: Arc<[ParcelNumber]>,
    estate: Arc<Estate>,
    estate_changed: u64,
}

/// Land of one world. [`Self::is_known`] is false of a world that is not built on.
#[derive(Clone, Debug)]
pub struct LandReplica {
    size_m: u32,
    /// Patches that differ from the ground of the world's description, or did so: these are `None`.
    patches: BTreeMap<u16, Option<LandPatch>>,
    ground: ChangeLog,
    overlay: ChangeLog,
    estates: Option<Estates>,
    /// Changes of parcels and estate since the beginning.
    n_changes: u64,
}

impl LandReplica {
    /// None, in a region of `size_m` along a side.
    #[must_use]
    pub fn new(size_m: u32) -> Self {
        Self {
            size_m,
            patches: BTreeMap::new(),
            ground: ChangeLog::default(),
            overlay: ChangeLog::default(),
            estates: None,
            n_changes: 0,
        }
    }

    /// True if the world has land.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.estates.is_some()
    }

    /// Width of the region in metres.
    #[must_use]
    pub const fn size_m(&self) -> u32 {
        self.size_m
    }

    /// Number of patches of the region, along both axes together.
    #[must_use]
    pub const fn n_patches(&self) -> u16 {
        let side = self.size_m / PATCH_M;
        (side * side) as u16
    }

    /// Parts of the overlay, each of [`OVERLAY_SQUARES`] squares.
    #[must_use]
    pub const fn n_overlay_parts(&self) -> u16 {
        let side = self.side() as usize;
        (side * side).div_ceil(OVERLAY_SQUARES) as u16
    }

    /// Squares along an edge of the region.
    #[must_use]
    pub const fn side(&self) -> u16 {
        (self.size_m / SQUARE_M) as u16
    }

    /// An edited patch, counted row by row from the south-west; `None` if it is that of the world's description.
    #[must_use]
    pub fn patch(&self, number: u16) -> Option<&LandPatch> {
        self.patches.get(&number)?.as_ref()
    }

    /// Edited patches, row by row from the south-west.
    pub fn patches(&self) -> impl Iterator<Item = &LandPatch> {
        self.patches.values().flatten()
    }

    /// Height of the ground at a point, metres, if its patch was edited: that of the sample in the south-west of the point.
    #[must_use]
    pub fn edited_height(&self, at: Vec2) -> Option<f32> {
        // False for a NaN.
        let sample = |metres: f32| (metres >= 0.0 && metres < self.size_m as f32).then_some(metres as u32);
        let (x, y) = (sample(at.x)?, sample(at.y)?);
        let number = y / PATCH_M * (self.size_m / PATCH_M) + x / PATCH_M;
        let within = y % PATCH_M * PATCH_M + x % PATCH_M;
        Some(self.patch(number as u16)?.patch.heights()[within as usize])
    }

    /// Changes of the ground by the numbers of patches.
    #[must_use]
    pub const fn ground(&self) -> &ChangeLog {
        &self.ground
    }

    /// Changes of parcels that the overlay shows, by its parts.
    #[must_use]
    pub const fn overlay(&self) -> &ChangeLog {
        &self.overlay
    }

    /// The estate, with the number of its last change.
    #[must_use]
    pub fn estate(&self) -> Option<(&Arc<Estate>, u64)> {
        self.estates.as_ref().map(|land| (&land.estate, land.estate_changed))
    }

    /// All parcels by ascending number.
    pub fn parcels(&self) -> impl Iterator<Item = &KnownParcel> {
        self.estates.iter().flat_map(|land| land.parcels.values())
    }

    /// A parcel.
    #[must_use]
    pub fn parcel(&self, number: ParcelNumber) -> Option<&KnownParcel> {
        self.estates.as_ref()?.parcels.get(&number)
    }

    /// The parcel with an id.
    #[must_use]
    pub fn parcel_of_id(&self, id: Uuid) -> Option<&KnownParcel> {
        self.parcels().find(|known| known.parcel.id == id)
    }

    /// The parcel at a point, metres from the corner; `None` outside the region.
    #[must_use]
    pub fn parcel_at(&self, at: Vec2) -> Option<&KnownParcel> {
        let square = |metres: f32| {
            let square = metres / SQUARE_M as f32;
            // False for a NaN.
            (square >= 0.0 && square < f32::from(self.side())).then_some(square as usize)
        };
        let index = square(at.y)? * usize::from(self.side()) + square(at.x)?;
        self.parcel(*self.squares().get(index)?)
    }

    /// The parcel of each square, row by row from the south-west; empty without land.
    #[must_use]
    pub fn squares(&self) -> &[ParcelNumber] {
        self.estates.as_ref().map_or(&[], |land| &land.squares)
    }

    /// Brings the state forward by a change.
    pub(crate) fn apply(&mut self, change: &EncodedLand) {
        match change {
            EncodedLand::Ground(patch) => self.put_patch(patch),
            EncodedLand::Change(LandChange::Whole(state)) => self.put_all(state),
            EncodedLand::Change(LandChange::Parcel(parcel)) => self.put_parcel(parcel),
            EncodedLand::Change(LandChange::Squares(number, set)) => self.put_squares(*number, set),
            EncodedLand::Change(LandChange::Removed(number)) => {
                self.n_changes += 1;
                if let Some(land) = &mut self.estates {
                    land.parcels.remove(number);
                }
            }
            // Clients show the ground as it is, and know nothing of its limits.
            EncodedLand::Change(LandChange::Baked(_)) => {}
            EncodedLand::Change(LandChange::Estate(estate)) => {
                self.n_changes += 1;
                if let Some(land) = &mut self.estates {
                    (land.estate, land.estate_changed) = (Arc::clone(estate), self.n_changes);
                }
            }
        }
    }

    /// Takes edited patches back that are absent from a snapshot.
    pub(crate) fn remove_absent(&mut self, snapshot: &[EncodedLand]) {
        let patches = snapshot.iter().filter_map(|change| match change {
            EncodedLand::Ground(patch) => Some(self.number_of(&patch.patch)),
            EncodedLand::Change(_) => None,
        });
        let present: BTreeSet<u16> = patches.collect();
        for (&number, patch) in &mut self.patches {
            if !present.contains(&number) && patch.take().is_some() {
                self.ground.record(number);
            }
        }
    }

    const fn number_of(&self, patch: &GroundPatch) -> u16 {
        patch.row() as u16 * (self.size_m / PATCH_M) as u16 + patch.column() as u16
    }

    fn put_patch(&mut self, new: &LandPatch) {
        assert!(new.patch.is_within(self.size_m), "a patch of the region");
        let number = self.number_of(&new.patch);
        let former = self.patches.insert(number, Some(new.clone())).flatten();
        if former.is_none_or(|former| former.bits != new.bits) {
            self.ground.record(number);
        }
    }

    fn put_all(&mut self, state: &LandState) {
        self.n_changes += 1;
        let changed = self.n_changes;
        let former = self.estates.take();
        let number_of_change = |parcel: &Arc<Parcel>| {
            let known = former.as_ref().and_then(|land| land.parcels.get(&parcel.number));
            known.filter(|known| known.parcel == *parcel).map_or(changed, |known| known.changed)
        };
        let has_same_squares = former.as_ref().is_some_and(|land| land.squares == state.squares);
        let known = |parcel: &Arc<Parcel>| {
            let changed = if has_same_squares { number_of_change(parcel) } else { changed };
            (parcel.number, KnownParcel { parcel: Arc::clone(parcel), changed })
        };
        let same_estate = former.as_ref().filter(|land| land.estate == state.estate);
        self.estates = Some(Estates {
            parcels: state.parcels.iter().map(known).collect(),
            squares: Arc::clone(&state.squares),
            estate: Arc::clone(&state.estate),
            estate_changed: same_estate.map_or(changed, |land| land.estate_changed),
        });
        (0..self.n_overlay_parts()).for_each(|part| self.overlay.record(part));
    }

    fn put_parcel(&mut self, parcel: &Arc<Parcel>) {
        self.n_changes += 1;
        let Some(land) = &mut self.estates else { return };
        let known = KnownParcel { parcel: Arc::clone(parcel), changed: self.n_changes };
        let former = land.parcels.insert(parcel.number, known);
        // The squares of a new one follow.
        if former.is_some_and(|former| shown(&former.parcel) != shown(parcel)) {
            let own = land.squares.iter().enumerate().filter(|(_, number)| **number == parcel.number);
            let parts: BTreeSet<u16> = own.map(|(index, _)| (index / OVERLAY_SQUARES) as u16).collect();
            parts.into_iter().for_each(|part| self.overlay.record(part));
        }
    }

    fn put_squares(&mut self, number: ParcelNumber, set: &SquareSet) {
        self.n_changes += 1;
        let side = usize::from(self.side());
        let Some(land) = &mut self.estates else { return };
        if let Some(known) = land.parcels.get_mut(&number) {
            known.changed = self.n_changes;
        }
        let squares = Arc::make_mut(&mut land.squares);
        let mut parts = BTreeSet::new();
        for (column, row) in set.iter() {
            let (column, row) = (usize::from(column), usize::from(row));
            let index = row * side + column;
            assert!(column < side && row < side, "a square of the region");
            if std::mem::replace(&mut squares[index], number) != number {
                // The lines on the west and south of a square belong to it, so that its neighbours in the east and north change, too.
                let changed = [index, index + 1, index + side].into_iter().filter(|&at| at < squares.len());
                parts.extend(changed.map(|at| (at / OVERLAY_SQUARES) as u16));
            }
        }
        parts.into_iter().for_each(|part| self.overlay.record(part));
    }
}

/// The part of a parcel that the overlay shows.
fn shown(parcel: &Parcel) -> impl PartialEq + use<> {
    let settings = &parcel.settings;
    let flags = settings.flags;
    (
        parcel.owner,
        settings.group,
        settings.sale.buyer,
        flags.any(ParcelFlags::FOR_SALE),
        flags.any(ParcelFlags::SOUND_LOCAL),
        settings.shows_avatars,
    )
}
