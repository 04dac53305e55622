//! Parcels and their squares: each square belongs to exactly one parcel.

use ids::Uuid;
use link::{
    LandChange, LandRefusal, LandState, Landing, LandingKind, Parcel, ParcelFlags, ParcelNumber, SQUARE_M,
    SquareSet,
};
use serde::Serialize;
use state_hash::{StateHasher, mix};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A rectangle of squares: west, south, east and north, the last two behind the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SquareRect {
    pub(super) west: u16,
    pub(super) south: u16,
    pub(super) east: u16,
    pub(super) north: u16,
}

impl SquareRect {
    fn squares(self) -> impl Iterator<Item = (u16, u16)> + Clone {
        (self.south..self.north).flat_map(move |row| (self.west..self.east).map(move |column| (column, row)))
    }
}

/// A parcel with its contribution to the state hash.
#[derive(Clone, Debug)]
struct HashedParcel {
    parcel: Arc<Parcel>,
    hash: u64,
}

impl HashedParcel {
    fn new(parcel: Arc<Parcel>) -> Self {
        Self { hash: hash_of(&*parcel), parcel }
    }
}

/// Parcels by number, and the parcel of each square.
#[derive(Debug)]
pub(super) struct ParcelMap {
    /// Squares along an edge of the region.
    side: u16,
    /// Row by row from the south-west.
    squares: Arc<[ParcelNumber]>,
    parcels: BTreeMap<ParcelNumber, HashedParcel>,
    /// The number that was given last.
    last: ParcelNumber,
    /// Sum of the hashes of parcels and squares.
    hash: u64,
    changes: ParcelChanges,
}

/// Changes since the last frame.
#[derive(Debug, Default)]
struct ParcelChanges {
    /// Everything, of a world that has loaded its land.
    is_whole: bool,
    set: BTreeSet<ParcelNumber>,
    shaped: BTreeSet<ParcelNumber>,
    removed: BTreeSet<ParcelNumber>,
}

impl ParcelMap {
    /// Stored parcels. The next frame has them all. `None` if they contradict each other: a square without a parcel, a parcel without a square, an id twice.
    pub(super) fn restored(size_m: u32, state: &LandState, last: ParcelNumber) -> Option<Self> {
        let side = (size_m / SQUARE_M) as u16;
        let mut n_squares: BTreeMap<ParcelNumber, u32> = BTreeMap::new();
        for &number in &*state.squares {
            *n_squares.entry(number).or_default() += 1;
        }
        let ids: BTreeSet<Uuid> = state.parcels.iter().map(|parcel| parcel.id).collect();
        let is_sound = state.squares.len() == usize::from(side) * usize::from(side)
            && state.parcels.len() <= ParcelNumber::COUNT_MAX
            && state.parcels.is_sorted_by(|one, next| one.number < next.number)
            && ids.len() == state.parcels.len()
            && n_squares.len() == state.parcels.len()
            && state.parcels.iter().all(|parcel| {
                parcel.is_sound(size_m) && n_squares.get(&parcel.number) == Some(&parcel.n_squares)
            });
        if !is_sound {
            return None;
        }
        let parcels: BTreeMap<ParcelNumber, HashedParcel> = state
            .parcels
            .iter()
            .map(|parcel| (parcel.number, HashedParcel::new(Arc::clone(parcel))))
            .collect();
        let of_parcels = parcels.values().fold(0_u64, |sum, known| sum.wrapping_add(known.hash));
        let of_squares = (0_u32..).zip(&*state.squares).map(|(index, &number)| square_hash(index, number));
        Some(Self {
            side,
            squares: Arc::clone(&state.squares),
            hash: of_squares.fold(of_parcels, u64::wrapping_add),
            parcels,
            last,
            changes: ParcelChanges { is_whole: true, ..ParcelChanges::default() },
        })
    }

    /// Squares along an edge of the region.
    pub(super) const fn side(&self) -> u16 {
        self.side
    }

    pub(super) const fn last_number(&self) -> ParcelNumber {
        self.last
    }

    pub(super) const fn squares(&self) -> &Arc<[ParcelNumber]> {
        &self.squares
    }

    /// All parcels by ascending number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Parcel>> {
        self.parcels.values().map(|known| &known.parcel)
    }

    pub(super) fn get(&self, number: ParcelNumber) -> Option<&Parcel> {
        self.parcels.get(&number).map(|known| &*known.parcel)
    }

    /// Number of the parcel of a square of the region.
    pub(super) fn number_at(&self, column: u16, row: u16) -> ParcelNumber {
        assert!(column < self.side && row < self.side, "a square of the region");
        self.squares[usize::from(row) * usize::from(self.side) + usize::from(column)]
    }

    /// The parcel of a square of the region.
    pub(super) fn at(&self, column: u16, row: u16) -> &Parcel {
        self.get(self.number_at(column, row)).expect("each square has a parcel")
    }

    /// Squares of a parcel.
    pub(super) fn squares_of(&self, number: ParcelNumber) -> Option<SquareSet> {
        let side = usize::from(self.side);
        let own = (0_usize..).zip(&*self.squares).filter(move |&(_, &other)| other == number);
        // Both are below 256.
        SquareSet::of(own.map(move |(index, _)| ((index % side) as u16, (index / side) as u16)))
    }

    /// Squares of some parcels, from one look at the map.
    fn squares_of_all(
        &self,
        numbers: &BTreeSet<ParcelNumber>,
    ) -> impl Iterator<Item = (ParcelNumber, SquareSet)> + use<> {
        let mut found: BTreeMap<ParcelNumber, Vec<(u16, u16)>> = BTreeMap::new();
        let side = usize::from(self.side);
        if !numbers.is_empty() {
            for (index, &number) in self.squares.iter().enumerate() {
                if numbers.contains(&number) {
                    // Both are below 256.
                    found.entry(number).or_default().push(((index % side) as u16, (index / side) as u16));
                }
            }
        }
        found
            .into_iter()
            .filter_map(|(number, squares)| Some((number, SquareSet::of(squares.iter().copied())?)))
    }

    /// Changes a parcel. Its number, id and squares stay.
    pub(super) fn edit(&mut self, number: ParcelNumber, edit: impl FnOnce(&mut Parcel)) {
        let known = self.parcels.get_mut(&number).expect("callers have found it");
        let parcel = Arc::make_mut(&mut known.parcel);
        let (id, n_squares) = (parcel.id, parcel.n_squares);
        edit(parcel);
        assert_eq!(
            (parcel.number, parcel.id, parcel.n_squares),
            (number, id, n_squares),
            "a parcel stays itself"
        );
        let hash = hash_of(parcel);
        self.hash = self.hash.wrapping_sub(std::mem::replace(&mut known.hash, hash)).wrapping_add(hash);
        self.changes.set.insert(number);
    }

    /// The one parcel that a rectangle is on.
    ///
    /// # Errors
    /// [`LandRefusal::SeveralParcels`].
    pub(super) fn only_parcel_of(&self, rect: SquareRect) -> Result<&Parcel, LandRefusal> {
        let number = self.number_at(rect.west, rect.south);
        let is_one = rect.squares().all(|(column, row)| self.number_at(column, row) == number);
        let parcel = self.at(rect.west, rect.south);
        if is_one { Ok(parcel) } else { Err(LandRefusal::SeveralParcels) }
    }

    /// All parcels of a rectangle, by ascending number.
    pub(super) fn parcels_of(&self, rect: SquareRect) -> BTreeSet<ParcelNumber> {
        rect.squares().map(|(column, row)| self.number_at(column, row)).collect()
    }

    /// Makes a part of a parcel another one, like it but for landing point and searches.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing changes then.
    pub(super) fn divide(
        &mut self,
        number: ParcelNumber,
        rect: SquareRect,
        id: Uuid,
    ) -> Result<(), LandRefusal> {
        let former = self.get(number).ok_or(LandRefusal::UnknownParcel)?;
        let n_squares = rect.squares().count() as u32;
        if n_squares >= former.n_squares {
            return Err(LandRefusal::WholeParcel);
        }
        if self.parcels.len() >= ParcelNumber::COUNT_MAX {
            return Err(LandRefusal::TooManyParcels);
        }
        if id.is_nil() || self.iter().any(|parcel| parcel.id == id) {
            return Err(LandRefusal::IdTaken);
        }
        let mut part = Parcel { number: self.next_number(), id, n_squares, ..former.clone() };
        part.settings.landing = Landing::ANYWHERE;
        part.settings.flags = part.settings.flags.without(ParcelFlags::SHOW_DIRECTORY);
        self.last = part.number;
        let part = self.add(part);
        self.give(rect.squares(), number, part);
        self.renew(number, |parcel| parcel.n_squares -= n_squares);
        self.keep_landing(number);
        Ok(())
    }

    /// Joins parcels to another one, whose settings stay.
    pub(super) fn join(&mut self, number: ParcelNumber, others: &BTreeSet<ParcelNumber>) {
        let mut n_squares = 0;
        for (index, square) in (0_u32..).zip(Arc::make_mut(&mut self.squares).iter_mut()) {
            if others.contains(square) {
                let former = std::mem::replace(square, number);
                let difference = square_hash(index, number).wrapping_sub(square_hash(index, former));
                self.hash = self.hash.wrapping_add(difference);
                n_squares += 1;
            }
        }
        others.iter().for_each(|&other| self.remove(other));
        self.renew(number, |parcel| parcel.n_squares += n_squares);
        self.changes.shaped.insert(number);
    }

    /// Fills in the changes since the last frame; false if they are the whole.
    pub(super) fn write_changes(&mut self, out: &mut Vec<LandChange>) -> bool {
        let ParcelChanges { is_whole, set, shaped, removed } = std::mem::take(&mut self.changes);
        if is_whole {
            return false;
        }
        let known = set.iter().filter_map(|number| self.parcels.get(number));
        out.extend(known.map(|known| LandChange::Parcel(Arc::clone(&known.parcel))));
        out.extend(self.squares_of_all(&shaped).map(|(number, set)| LandChange::Squares(number, set)));
        out.extend(removed.into_iter().map(LandChange::Removed));
        true
    }

    pub(super) fn has_changes(&self) -> bool {
        let ParcelChanges { is_whole, set, shaped, removed } = &self.changes;
        *is_whole || !set.is_empty() || !shaped.is_empty() || !removed.is_empty()
    }

    /// Leaves the restored parcels out of the next frame: its readers have them.
    pub(super) fn forget_whole(&mut self) {
        self.changes.is_whole = false;
    }

    /// Hash of parcels and squares.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The next free number behind the last one: a client may still show a parcel that is gone.
    fn next_number(&self) -> ParcelNumber {
        let after = |number: u16| number.checked_add(1).unwrap_or(1);
        let mut number = after(self.last.0);
        while self.parcels.contains_key(&ParcelNumber(number)) {
            number = after(number);
        }
        ParcelNumber(number)
    }

    fn add(&mut self, parcel: Parcel) -> ParcelNumber {
        let number = parcel.number;
        let known = HashedParcel::new(Arc::new(parcel));
        self.hash = self.hash.wrapping_add(known.hash);
        let former = self.parcels.insert(number, known);
        assert!(former.is_none(), "a number has one parcel");
        self.changes.removed.remove(&number);
        self.changes.set.insert(number);
        number
    }

    fn remove(&mut self, number: ParcelNumber) {
        let known = self.parcels.remove(&number).expect("callers have found it");
        self.hash = self.hash.wrapping_sub(known.hash);
        self.changes.set.remove(&number);
        self.changes.shaped.remove(&number);
        self.changes.removed.insert(number);
    }

    /// Gives squares of one parcel to another.
    fn give(&mut self, squares: impl Iterator<Item = (u16, u16)>, from: ParcelNumber, to: ParcelNumber) {
        let map = Arc::make_mut(&mut self.squares);
        for (column, row) in squares {
            let index = usize::from(row) * usize::from(self.side) + usize::from(column);
            let former = std::mem::replace(&mut map[index], to);
            assert_eq!(former, from, "a square of the parcel that gives it");
            let difference = square_hash(index as u32, to).wrapping_sub(square_hash(index as u32, from));
            self.hash = self.hash.wrapping_add(difference);
        }
        self.changes.shaped.extend([from, to]);
    }

    /// As [`Self::edit`], with the number of squares.
    fn renew(&mut self, number: ParcelNumber, edit: impl FnOnce(&mut Parcel)) {
        let known = self.parcels.get_mut(&number).expect("callers have found it");
        self.hash = self.hash.wrapping_sub(known.hash);
        edit(Arc::make_mut(&mut known.parcel));
        known.hash = hash_of(&*known.parcel);
        self.hash = self.hash.wrapping_add(known.hash);
        self.changes.set.insert(number);
    }

    /// Drops a landing point that is on another parcel now.
    fn keep_landing(&mut self, number: ParcelNumber) {
        let landing = self.get(number).map_or(Landing::ANYWHERE, |parcel| parcel.settings.landing);
        if landing.kind == LandingKind::Point
            && self.parcel_of_point(landing.at.x, landing.at.y) != Some(number)
        {
            self.edit(number, |parcel| parcel.settings.landing = Landing::ANYWHERE);
        }
    }

    /// Number of the parcel at a point, metres from the corner; `None` outside the region.
    pub(super) fn parcel_of_point(&self, x: f32, y: f32) -> Option<ParcelNumber> {
        let (column, row) = square_of(self.side, x, y)?;
        Some(self.number_at(column, row))
    }
}

/// The square of a point of a region with `side` squares along its edge; `None` outside.
pub(super) fn square_of(side: u16, x: f32, y: f32) -> Option<(u16, u16)> {
    let square = |metres: f32| {
        let square = metres / SQUARE_M as f32;
        // False for a NaN.
        (square >= 0.0 && square < f32::from(side)).then_some(square as u16)
    };
    square(x).zip(square(y))
}

/// Contribution of a square to the state hash.
const fn square_hash(index: u32, ParcelNumber(number): ParcelNumber) -> u64 {
    mix((index as u64) << 16 | number as u64)
}

/// Hash of a value by its encoding, so that no field is left out.
pub(super) fn hash_of<T: Serialize>(value: &T) -> u64 {
    let bytes = postcard::to_allocvec(value).expect("plain data in memory always encodes");
    let mut hasher = StateHasher::new();
    hasher.bytes(&bytes);
    hasher.finish()
}
