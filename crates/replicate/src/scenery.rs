//! What stands in a world, and what of it a client was sent.
//!
//! Things that never move need no turns, no bands and no kills: a client is sent each one in full when it comes near, keeps it,
//! and is not told when it walks away (a viewer culls by itself, and a KillObject would cost it its cache; DESIGN §2). So all
//! that is remembered of a client is a bit for each thing.

use glam::Vec3;
use ids::LocalId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Metres within which a client has everything, as far as its bytes go.
pub const REACH_M: f32 = 64.0;
/// Metres that somebody walks before it is looked again what is near: so much more than [`REACH_M`] is sent.
const STRIDE_M: f32 = 8.0;
/// Side of a cell, metres: a look visits about 80 of them.
const CELL_M: f32 = 16.0;

/// Where a thing stands in [`Scenery`]. Things keep their place for ever.
pub type ThingIndex = u32;

/// Everything that stands in one world, encoded.
#[derive(Clone, Debug)]
pub struct Scenery {
    things: Vec<Thing>,
    by_id: BTreeMap<LocalId, ThingIndex>,
    /// By row and column of cells.
    cells: Vec<Vec<ThingIndex>>,
    /// Cells along a side.
    side: usize,
}

#[derive(Clone, Debug)]
struct Thing {
    id: LocalId,
    position: Vec3,
    /// Of an ObjectUpdate, not zero-coded, with update flags of somebody who may do nothing.
    block: Arc<[u8]>,
}

impl Scenery {
    /// Nothing yet in a region of so many metres along a side.
    pub(crate) fn new(size_m: f32) -> Self {
        let side = (size_m / CELL_M).ceil().max(1.0) as usize;
        Self { things: Vec::new(), by_id: BTreeMap::new(), cells: vec![Vec::new(); side * side], side }
    }

    /// Adds a thing, or tells one anew that a snapshot repeats: it stands where it stood.
    pub(crate) fn put(&mut self, id: LocalId, position: Vec3, block: Arc<[u8]>) {
        if self.by_id.contains_key(&id) {
            return;
        }
        let index = self.things.len() as ThingIndex;
        self.by_id.insert(id, index);
        self.things.push(Thing { id, position, block });
        let (column, row) = (self.cell(position.x), self.cell(position.y));
        self.cells[row * self.side + column].push(index);
    }

    /// How much stands here.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether nothing does.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// The thing with a local id.
    #[must_use]
    pub fn of_id(&self, id: LocalId) -> Option<ThingIndex> {
        self.by_id.get(&id).copied()
    }

    /// Its local id.
    ///
    /// # Panics
    /// When there is no such thing.
    #[must_use]
    pub fn id(&self, index: ThingIndex) -> LocalId {
        self.things[index as usize].id
    }

    /// Its block.
    ///
    /// # Panics
    /// When there is no such thing.
    #[must_use]
    pub fn block(&self, index: ThingIndex) -> &[u8] {
        &self.things[index as usize].block
    }

    fn cell(&self, along: f32) -> usize {
        ((along / CELL_M) as usize).min(self.side - 1)
    }

    /// Things around a place, with the squares of their distances.
    fn around(&self, eye: Vec3, radius_m: f32) -> impl Iterator<Item = (f32, ThingIndex)> {
        let span = |along: f32| self.cell(along - radius_m)..=self.cell(along + radius_m);
        let columns = span(eye.x);
        let cells = span(eye.y).flat_map(move |row| columns.clone().map(move |column| (row, column)));
        let things = cells.flat_map(|(row, column)| &self.cells[row * self.side + column]);
        things.filter_map(move |&index| {
            let square = self.things[index as usize].position.distance_squared(eye);
            (square <= radius_m * radius_m).then_some((square, index))
        })
    }
}

/// What of a world's scenery one client was sent.
#[derive(Debug, Default)]
pub struct Sight {
    /// A bit for each thing.
    sent: Vec<u64>,
    /// Where it stood, and how much there was, when it last had everything near.
    complete: Option<(Vec3, usize)>,
}

impl Sight {
    /// Whether something is to be sent to a client that looks from here, or may be.
    #[must_use]
    pub fn is_due(&self, scenery: &Scenery, eye: Vec3) -> bool {
        !scenery.is_empty()
            && self.complete.is_none_or(|(from, n)| {
                n != scenery.len() || from.distance_squared(eye) >= STRIDE_M * STRIDE_M
            })
    }

    /// Fills `found` with the nearest things not sent yet, at most so many, the nearest first, with the squares of their
    /// distances. Fewer than `most` are all that there are.
    pub fn choose(&mut self, scenery: &Scenery, eye: Vec3, most: usize, found: &mut Vec<(f32, ThingIndex)>) {
        found.clear();
        found.extend(scenery.around(eye, REACH_M + STRIDE_M).filter(|&(_, index)| !self.has(index)));
        let nearest = |a: &(f32, ThingIndex), b: &(f32, ThingIndex)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if found.len() > most {
            if most > 0 {
                found.select_nth_unstable_by(most - 1, nearest);
            }
            found.truncate(most);
        } else {
            self.complete = Some((eye, scenery.len()));
        }
        found.sort_unstable_by(nearest);
    }

    /// Notes that a thing was sent.
    pub fn sent(&mut self, index: ThingIndex) {
        let (word, bit) = (index as usize / 64, index % 64);
        if self.sent.len() <= word {
            self.sent.resize(word + 1, 0);
        }
        self.sent[word] |= 1 << bit;
    }

    /// What the client was sent.
    pub fn known(&self, scenery: &Scenery) -> impl Iterator<Item = LocalId> {
        let sent = (0..scenery.len() as ThingIndex).filter(|&index| self.has(index));
        sent.map(|index| scenery.id(index))
    }

    /// A thing has to be sent again: the client did not get it, or asks for it.
    pub fn lost(&mut self, index: ThingIndex) {
        if let Some(word) = self.sent.get_mut(index as usize / 64) {
            *word &= !(1 << (index % 64));
        }
        self.complete = None;
    }

    fn has(&self, index: ThingIndex) -> bool {
        self.sent.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place() -> impl Strategy<Value = Vec3> {
        (0.0f32..=256.0, 0.0f32..=256.0, 20.0f32..40.0).prop_map(Vec3::from)
    }

    fn scenery(places: &[Vec3]) -> Scenery {
        let mut scenery = Scenery::new(256.0);
        for (&place, id) in places.iter().zip(1..) {
            scenery.put(LocalId(id), place, Arc::from([id as u8]));
        }
        scenery
    }

    /// Sends everything that is due, so many at a time.
    fn look(sight: &mut Sight, scenery: &Scenery, eye: Vec3, most: usize) -> Vec<ThingIndex> {
        let mut all = Vec::new();
        let mut found = Vec::new();
        while sight.is_due(scenery, eye) {
            sight.choose(scenery, eye, most, &mut found);
            assert!(found.len() <= most);
            for &(_, index) in &found {
                sight.sent(index);
                all.push(index);
            }
        }
        all
    }

    proptest! {
        /// A viewer that walks any way has everything within reach, and each thing once.
        #[test]
        fn who_walks_has_all_that_is_near_and_nothing_twice(
            places in prop::collection::vec(place(), 0..300),
            way in prop::collection::vec(place(), 1..12),
            most in 1usize..40,
        ) {
            let scenery = scenery(&places);
            let mut sight = Sight::default();
            let mut sent = vec![0; places.len()];
            for eye in way {
                for index in look(&mut sight, &scenery, eye, most) {
                    sent[index as usize] += 1;
                }
                for (place, n) in places.iter().zip(&sent) {
                    prop_assert!(*n <= 1);
                    prop_assert!(*n == 1 || place.distance(eye) > REACH_M);
                }
            }
        }

        #[test]
        fn the_nearest_come_first(places in prop::collection::vec(place(), 0..300), eye in place()) {
            let scenery = scenery(&places);
            let sent = look(&mut Sight::default(), &scenery, eye, 7);
            let far: Vec<f32> = sent.iter().map(|&index| places[index as usize].distance_squared(eye)).collect();
            prop_assert!(far.is_sorted());
        }
    }

    #[test]
    fn a_thing_that_got_lost_is_sent_again_and_alone() {
        let scenery = scenery(&[Vec3::splat(20.0), Vec3::splat(21.0)]);
        let mut sight = Sight::default();
        assert_eq!(look(&mut sight, &scenery, Vec3::splat(20.0), 10), [0, 1]);
        assert!(!sight.is_due(&scenery, Vec3::splat(20.0)));
        sight.lost(1);
        assert_eq!(look(&mut sight, &scenery, Vec3::splat(20.0), 10), [1]);
    }

    #[test]
    fn things_that_come_later_are_sent_to_who_has_not_moved() {
        let mut scenery = scenery(&[Vec3::splat(20.0)]);
        let mut sight = Sight::default();
        look(&mut sight, &scenery, Vec3::splat(20.0), 10);
        scenery.put(LocalId(9), Vec3::splat(22.0), Arc::from([9]));
        assert_eq!(look(&mut sight, &scenery, Vec3::splat(20.0), 10), [1]);
        // A snapshot that tells it again changes nothing.
        scenery.put(LocalId(9), Vec3::splat(22.0), Arc::from([9]));
        assert_eq!((scenery.len(), scenery.of_id(LocalId(9))), (2, Some(1)));
    }
}
