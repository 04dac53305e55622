//! Unsaved changes: the newest state of each changed object.

use ids::{Instant, LocalId};
use link::PrimMotion;
use std::collections::BTreeMap;

/// Changed objects, each with its position, or `None` if it is removed. The keeper has their bodies.
#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    objects: BTreeMap<LocalId, Option<PrimMotion>>,
    /// Time of the first change.
    since: Option<Instant>,
}

impl Unsaved {
    /// Records the newest state of an object.
    pub(crate) fn put(&mut self, id: LocalId, place: Option<PrimMotion>, now: Instant) {
        self.objects.insert(id, place);
        self.since.get_or_insert(now);
    }

    /// Returns an object after a failed save; a newer state takes precedence.
    pub(crate) fn put_back(&mut self, id: LocalId, place: Option<PrimMotion>, since: Instant) {
        self.objects.entry(id).or_insert(place);
        self.since = Some(self.since.map_or(since, |newer| newer.min(since)));
    }

    /// Discards the change of an object that needs no row.
    pub(crate) fn remove(&mut self, id: LocalId) {
        self.objects.remove(&id);
        if self.objects.is_empty() {
            self.since = None;
        }
    }

    /// Removes and returns all changes, with the time of the first one.
    pub(crate) fn take(&mut self) -> (BTreeMap<LocalId, Option<PrimMotion>>, Option<Instant>) {
        (std::mem::take(&mut self.objects), self.since.take())
    }

    pub(crate) fn contains(&self, id: LocalId) -> bool {
        self.objects.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) const fn since(&self) -> Option<Instant> {
        self.since
    }
}
