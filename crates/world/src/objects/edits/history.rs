//! Changes of places that a session can take back and repeat.
//!
//! A change keeps the former places of the prims that it moved, by id, since local ids are reused. Undo swaps them with the present places, which become
//! the entry for redo. Bounded by the number of changes and of prims in them; the oldest go first.

use glam::{Quat, Vec3};
use ids::Uuid;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::VecDeque;

/// Changes that a session can take back.
pub(super) const CHANGES_MAX: usize = 32;
/// Prims in them: a scaled linkset has up to 256.
pub(super) const PRIMS_MAX: usize = 1_024;

/// Place of a prim before a change, or after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownPlace {
    pub(super) object: Uuid,
    /// Origin of the position and rotation. Part: the root of its linkset. Root on the ground: null, the region. Worn root: the object itself, for its
    /// wearer; such a change cannot be undone on the ground.
    pub(super) root: Uuid,
    pub(super) position: Vec3,
    pub(super) rotation: Quat,
    pub(super) scale: Vec3,
}

/// The places of all prims of one change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PlaceChange {
    /// The prim that the user moved.
    pub(super) object: Uuid,
    pub(super) places: Vec<KnownPlace>,
    /// Order of changes in the hash.
    number: u64,
}

/// Changes of a session, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct History {
    undo: Stack,
    redo: Stack,
    /// Number of the next change.
    next: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Stack {
    changes: VecDeque<PlaceChange>,
    /// Prims in all of them.
    #[serde(skip)]
    n_prims: usize,
    /// Sum of their hashes.
    #[serde(skip)]
    hash: u64,
}

/// Direction in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the state before a change.
    Undo,
    /// To the state after it.
    Redo,
}

impl History {
    /// Records a change of a user. Changes that were taken back cannot be repeated any more.
    pub(super) fn record(&mut self, object: Uuid, places: Vec<KnownPlace>) {
        self.redo = Stack::default();
        self.push(Direction::Undo, object, places);
    }

    /// Places in the change that [`Self::take`] would take out.
    pub(super) fn n_places(&mut self, direction: Direction, object: Uuid) -> Option<usize> {
        let changes = &self.stack(direction).changes;
        changes.iter().rfind(|change| change.object == object).map(|change| change.places.len())
    }

    /// Takes out the newest change of an object that can be taken back or repeated.
    pub(super) fn take(&mut self, direction: Direction, object: Uuid) -> Option<PlaceChange> {
        self.stack(direction).take(object)
    }

    /// Records the places that a change in this direction replaced, so that it can be repeated or taken back.
    pub(super) fn record_reverse(&mut self, of: Direction, object: Uuid, places: Vec<KnownPlace>) {
        let reverse = match of {
            Direction::Undo => Direction::Redo,
            Direction::Redo => Direction::Undo,
        };
        self.push(reverse, object, places);
    }

    fn push(&mut self, direction: Direction, object: Uuid, places: Vec<KnownPlace>) {
        let number = self.next;
        self.next += 1;
        self.stack(direction).push(PlaceChange { object, places, number });
    }

    const fn stack(&mut self, direction: Direction) -> &mut Stack {
        match direction {
            Direction::Undo => &mut self.undo,
            Direction::Redo => &mut self.redo,
        }
    }

    pub(super) const fn hash(&self) -> u64 {
        state_hash::fold(state_hash::fold(self.undo.hash, self.redo.hash), self.next)
    }

    /// Completes the state of a snapshot; false if no run leads to it.
    pub(super) fn revive(&mut self) -> bool {
        self.next < crate::periods::TIME_MAX && self.undo.revive(self.next) && self.redo.revive(self.next)
    }
}

impl Stack {
    fn push(&mut self, change: PlaceChange) {
        self.n_prims += change.places.len();
        self.hash = self.hash.wrapping_add(change.hash());
        self.changes.push_back(change);
        while self.changes.len() > CHANGES_MAX || self.n_prims > PRIMS_MAX {
            self.remove(0);
        }
    }

    fn take(&mut self, object: Uuid) -> Option<PlaceChange> {
        let newest = self.changes.iter().rposition(|change| change.object == object)?;
        self.remove(newest)
    }

    fn remove(&mut self, index: usize) -> Option<PlaceChange> {
        let change = self.changes.remove(index)?;
        self.n_prims -= change.places.len();
        self.hash = self.hash.wrapping_sub(change.hash());
        Some(change)
    }

    fn revive(&mut self, next: u64) -> bool {
        self.n_prims = self.changes.iter().map(|change| change.places.len()).sum();
        self.hash = self.changes.iter().map(PlaceChange::hash).fold(0, u64::wrapping_add);
        let is_sound =
            |change: &PlaceChange| change.number < next && change.places.iter().all(KnownPlace::is_sound);
        self.changes.len() <= CHANGES_MAX && self.n_prims <= PRIMS_MAX && self.changes.iter().all(is_sound)
    }
}

impl PlaceChange {
    fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.bytes(self.object.as_bytes());
        hasher.u64(self.number);
        for KnownPlace { object, root, position, rotation, scale } in &self.places {
            hasher.bytes(object.as_bytes());
            hasher.bytes(root.as_bytes());
            hasher.vec3(*position);
            hasher.quat(*rotation);
            hasher.vec3(*scale);
        }
        hasher.finish()
    }
}

impl KnownPlace {
    fn is_sound(&self) -> bool {
        self.position.is_finite() && self.rotation.is_finite() && self.scale.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(object: u128, x: f32) -> KnownPlace {
        KnownPlace {
            object: Uuid::from_u128(object),
            root: Uuid::nil(),
            position: Vec3::X * x,
            rotation: Quat::IDENTITY,
            scale: Vec3::ONE,
        }
    }

    fn record(history: &mut History, object: u128, x: f32) {
        history.record(Uuid::from_u128(object), vec![place(object, x)]);
    }

    fn x_of(change: Option<PlaceChange>) -> Option<f32> {
        change.map(|change| change.places[0].position.x)
    }

    #[test]
    fn the_newest_change_of_an_object_comes_first_and_others_stay() {
        let mut history = History::default();
        let [a, b] = [1, 2].map(Uuid::from_u128);
        for (object, x) in [(1, 1.0), (2, 2.0), (1, 3.0)] {
            record(&mut history, object, x);
        }
        assert_eq!(x_of(history.take(Direction::Undo, a)), Some(3.0));
        assert_eq!(x_of(history.take(Direction::Undo, a)), Some(1.0));
        assert_eq!(history.take(Direction::Undo, a), None);
        assert_eq!(x_of(history.take(Direction::Undo, b)), Some(2.0));
    }

    #[test]
    fn a_change_cannot_be_repeated_after_a_new_one() {
        let mut history = History::default();
        let object = Uuid::from_u128(1);
        history.record_reverse(Direction::Undo, object, vec![place(1, 5.0)]);
        assert_eq!(x_of(history.clone().take(Direction::Redo, object)), Some(5.0));
        record(&mut history, 1, 6.0);
        assert_eq!(history.take(Direction::Redo, object), None);
    }

    #[test]
    fn the_oldest_changes_go_when_there_are_too_many_or_they_have_too_many_prims() {
        let mut history = History::default();
        (0..CHANGES_MAX as u128 + 5).for_each(|n| record(&mut history, n, 0.0));
        assert_eq!(history.undo.changes.len(), CHANGES_MAX);
        assert_eq!(history.take(Direction::Undo, Uuid::from_u128(4)), None);
        let large = vec![place(99, 0.0); 256];
        (0..5).for_each(|_| history.record(Uuid::from_u128(99), large.clone()));
        assert_eq!((history.undo.changes.len(), history.undo.n_prims), (4, PRIMS_MAX));
    }

    #[test]
    fn a_history_that_was_read_has_its_hash_again_and_an_impossible_one_is_refused() {
        let mut history = History::default();
        record(&mut history, 1, 1.0);
        record(&mut history, 2, 2.0);
        let bytes = postcard::to_stdvec(&history).unwrap();
        let mut again: History = postcard::from_bytes(&bytes).unwrap();
        assert!(again.revive());
        assert_eq!((again.hash(), &again), (history.hash(), &history));
        let order = |history: &History| history.undo.hash;
        let mut other = History::default();
        record(&mut other, 2, 2.0);
        record(&mut other, 1, 1.0);
        assert_ne!(order(&other), order(&history), "the order of changes counts");
        let spoilt: [fn(&mut KnownPlace); 3] = [
            |place| place.position.x = f32::NAN,
            |place| place.scale.z = f32::INFINITY,
            |place| place.rotation.w = f32::NAN,
        ];
        for spoil in spoilt {
            let mut broken = history.clone();
            spoil(&mut broken.undo.changes[0].places[0]);
            assert!(!broken.revive());
        }
        again.next = 1;
        assert!(!again.revive());
    }
}
