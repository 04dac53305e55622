//! The land of a world as a whole, and differences of it.

use super::estate::Estate;
use super::ground::GroundPatch;
use super::parcel::{Parcel, ParcelNumber};
use super::squares::{SQUARE_M, SquareSet};
use crate::terrain::Terrain;
use ids::{SessionKey, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Parcels and estate of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandState {
    /// By ascending number.
    pub parcels: Vec<Arc<Parcel>>,
    /// The parcel of each square, row by row from the south-west.
    pub squares: Arc<[ParcelNumber]>,
    /// The estate.
    pub estate: Arc<Estate>,
}

impl LandState {
    /// One parcel that is the whole region, of the estate's owner.
    #[must_use]
    pub fn of_one_parcel(size_m: u32, parcel: Uuid, estate: Estate, claimed_s: u64) -> Self {
        let side = size_m / SQUARE_M;
        let number = ParcelNumber(1);
        let parcel =
            Parcel { n_squares: side * side, ..Parcel::new(number, parcel, estate.owner, claimed_s) };
        Self {
            squares: vec![number; (side * side) as usize].into(),
            parcels: vec![Arc::new(parcel)],
            estate: Arc::new(estate),
        }
    }
}

/// A difference of the land to the tick before. In a frame, parcels come first, then their squares, then removals: after all of them each
/// square belongs to one parcel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LandChange {
    /// All of it: of a world that has loaded its land.
    Whole(LandState),
    /// A new parcel, or one with other settings.
    Parcel(Arc<Parcel>),
    /// These squares are a parcel's, and all that it has.
    Squares(ParcelNumber, SquareSet),
    /// It is gone. Readers of frames may not know it: it may have come within the tick.
    Removed(ParcelNumber),
    /// The estate has other settings.
    Estate(Arc<Estate>),
    /// The baked ground is another one: all its patches that differ from the ground of the world's description, row by row. Edits are limited and
    /// revert to it.
    Baked(Vec<GroundPatch>),
}

/// Land of a world as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredLand {
    /// Parcels and estate.
    pub state: LandState,
    /// The parcel number that was given last.
    pub last_number: ParcelNumber,
    /// Patches that differ from the ground of the world's description, row by row.
    pub ground: Vec<GroundPatch>,
    /// Patches of the baked ground, from which edits are limited and to which they revert, as far as they differ from the same.
    pub baked: Vec<GroundPatch>,
    /// Edits of the ground that can be undone, oldest first.
    pub strokes: Vec<StoredStroke>,
    /// Strokes of noise so far, each of which differs from the others.
    pub n_noises: u64,
    /// Time, nanoseconds since 1970.
    pub now_ns: u64,
}

impl StoredLand {
    /// Land that was never edited.
    #[must_use]
    pub fn new(state: LandState, now_s: u64) -> Self {
        Self {
            last_number: state.parcels.last().map_or_else(Default::default, |parcel| parcel.number),
            state,
            ground: Vec::new(),
            baked: Vec::new(),
            strokes: Vec::new(),
            n_noises: 0,
            now_ns: now_s.saturating_mul(1_000_000_000),
        }
    }

    /// The same land over another described ground, of which patches that are like it, or outside, are left out. Edits cannot be undone any more.
    #[must_use]
    pub fn over(mut self, described: &Terrain) -> Self {
        for patches in [&mut self.ground, &mut self.baked] {
            patches.retain(|patch| {
                patch.is_within(described.size_m())
                    && !patch.has_same_heights(&described.patch(patch.column(), patch.row()))
            });
        }
        self.strokes.clear();
        self
    }
}

/// An edit of the ground by one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredStroke {
    /// Its author.
    pub session: SessionKey,
    /// Time of its end, nanoseconds since 1970.
    pub ended_ns: u64,
    /// Its patches, row by row.
    pub patches: Vec<PatchEdit>,
}

/// A patch before and after an edit. `None` stands for the heights of the world's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchEdit {
    /// Place of the patch, counted row by row from the south-west.
    pub number: u16,
    /// Heights before.
    pub before: Option<GroundPatch>,
    /// Heights after.
    pub after: Option<GroundPatch>,
}
