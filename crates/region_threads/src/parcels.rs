//! Parcels of regions as their frames show them, for operators: names, owners, and the parcel of each square.

use ids::{Epoch, WorldId};
use link::{Frame, LandChange, LandState, Parcel, ParcelNumber, SQUARE_M};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Land of one region.
#[derive(Clone, Debug)]
pub struct ParcelMap {
    parcels: BTreeMap<ParcelNumber, Arc<Parcel>>,
    /// The parcel of each square, row by row from the south-west.
    squares: Vec<ParcelNumber>,
    /// Squares of a row.
    side: usize,
}

impl ParcelMap {
    fn new(state: &LandState) -> Self {
        Self {
            parcels: state.parcels.iter().map(|parcel| (parcel.number, Arc::clone(parcel))).collect(),
            squares: state.squares.to_vec(),
            side: state.squares.len().isqrt(),
        }
    }

    /// The parcels by their numbers.
    pub fn parcels(&self) -> impl Iterator<Item = &Arc<Parcel>> {
        self.parcels.values()
    }

    /// True with a parcel of this number.
    pub fn has(&self, number: ParcelNumber) -> bool {
        self.parcels.contains_key(&number)
    }

    /// The parcel at a place, metres from the region's corner. A place on the border, or beyond it, counts for the nearest square.
    pub fn at(&self, x: f32, y: f32) -> Option<ParcelNumber> {
        let square = |metres: f32| {
            // Negative and infinite ones become the nearest number.
            let square = (metres / SQUARE_M as f32) as usize;
            square.min(self.side.saturating_sub(1))
        };
        self.squares.get(square(y) * self.side + square(x)).copied()
    }

    fn apply(&mut self, change: &LandChange) {
        match change {
            LandChange::Whole(state) => *self = Self::new(state),
            LandChange::Parcel(parcel) => {
                self.parcels.insert(parcel.number, Arc::clone(parcel));
            }
            LandChange::Squares(number, squares) => {
                for (column, row) in squares.iter() {
                    let index = usize::from(row) * self.side + usize::from(column);
                    if let Some(square) = self.squares.get_mut(index) {
                        *square = *number;
                    }
                }
            }
            LandChange::Removed(number) => {
                self.parcels.remove(number);
            }
            LandChange::Estate(_) | LandChange::Baked(_) => {}
        }
    }
}

/// Land of all regions. A region without land, or of which a frame was lost, has none until a frame has all of it.
#[derive(Debug, Default)]
pub struct ParcelMaps {
    regions: BTreeMap<WorldId, Mutex<FollowedLand>>,
}

#[derive(Debug, Default)]
struct FollowedLand {
    map: Option<ParcelMap>,
    /// The next frame.
    expected: Option<(Epoch, u64)>,
}

impl ParcelMaps {
    /// Of these worlds.
    pub fn new(worlds: impl Iterator<Item = WorldId>) -> Self {
        Self { regions: worlds.map(|world| (world, Mutex::default())).collect() }
    }

    /// Takes a frame.
    pub fn follow(&self, frame: &Frame) {
        let Some(region) = self.regions.get(&frame.world) else { return };
        let mut land = lock(region);
        let is_next = land.expected.is_none_or(|expected| expected == (frame.epoch, frame.sequence));
        land.expected = Some((frame.epoch, frame.sequence + 1));
        if !is_next {
            // The replica asks for a snapshot, which has the land.
            land.map = None;
        }
        for change in &frame.land {
            match (&mut land.map, change) {
                (map, LandChange::Whole(state)) => *map = Some(ParcelMap::new(state)),
                (Some(map), change) => map.apply(change),
                (None, _) => {}
            }
        }
        if let Some(state) = frame.snapshot.as_ref().and_then(|part| part.land.as_ref()) {
            land.map = Some(ParcelMap::new(state));
        }
    }

    /// The land of a region, if it has any.
    pub fn of(&self, world: WorldId) -> Option<ParcelMap> {
        lock(self.regions.get(&world)?).map.clone()
    }
}

fn lock(region: &Mutex<FollowedLand>) -> MutexGuard<'_, FollowedLand> {
    region.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use link::{Estate, SnapshotChunk, SquareSet};

    const WORLD: WorldId = WorldId(1);

    fn state() -> LandState {
        LandState::of_one_parcel(256, Uuid::from_u128(8), Estate::new("Hills", None, 20.0), 7)
    }

    fn frame(sequence: u64, land: Vec<LandChange>) -> Frame {
        Frame { world: WORLD, sequence, land, ..Frame::empty() }
    }

    #[test]
    fn a_place_is_on_the_parcel_of_its_square_after_each_change() {
        let maps = ParcelMaps::new([WORLD].into_iter());
        let at = |x, y| maps.of(WORLD).and_then(|map| map.at(x, y));
        assert_eq!(at(1.0, 1.0), None);
        maps.follow(&frame(0, vec![LandChange::Whole(state())]));
        assert_eq!((at(0.0, 0.0), at(256.0, 300.0)), (Some(ParcelNumber(1)), Some(ParcelNumber(1))));
        let second = Parcel::new(ParcelNumber(2), Uuid::from_u128(9), None, 7);
        let squares = SquareSet::of([(2, 1)].into_iter()).expect("a square");
        let divide =
            vec![LandChange::Parcel(Arc::new(second)), LandChange::Squares(ParcelNumber(2), squares)];
        maps.follow(&frame(1, divide));
        assert_eq!(
            (at(8.0, 4.0), at(11.9, 7.9), at(12.0, 4.0)),
            (Some(ParcelNumber(2)), Some(ParcelNumber(2)), Some(ParcelNumber(1)))
        );
        assert_eq!(maps.of(WORLD).map(|map| map.parcels().count()), Some(2));
        let all = SquareSet::of((0..64).flat_map(|y| (0..64).map(move |x| (x, y)))).expect("squares");
        maps.follow(&frame(
            2,
            vec![LandChange::Squares(ParcelNumber(1), all), LandChange::Removed(ParcelNumber(2))],
        ));
        assert_eq!(
            (at(8.0, 4.0), maps.of(WORLD).is_some_and(|map| map.has(ParcelNumber(2)))),
            (Some(ParcelNumber(1)), false)
        );
    }

    #[test]
    fn after_a_lost_frame_the_land_is_unknown_until_a_snapshot_has_it() {
        let maps = ParcelMaps::new([WORLD].into_iter());
        maps.follow(&frame(0, vec![LandChange::Whole(state())]));
        maps.follow(&frame(2, Vec::new()));
        assert!(maps.of(WORLD).is_none());
        let snapshot = Some(SnapshotChunk { land: Some(state()), ..SnapshotChunk::default() });
        maps.follow(&Frame { snapshot, ..frame(3, Vec::new()) });
        assert!(maps.of(WORLD).is_some());
        assert!(maps.of(WorldId(9)).is_none());
    }
}
