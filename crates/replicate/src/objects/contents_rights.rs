//! Rights that owners have to the contents of their prims. They take long to find out for many items, and those of all prims of a linkset are needed whenever one of them
//! changes.

use ids::LocalId;
use prim::{Body, Contents, Mask};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rights of the prims that have contents.
#[derive(Debug, Default)]
pub(super) struct ContentsRights(BTreeMap<LocalId, (Arc<Contents>, Mask)>);

impl ContentsRights {
    /// Notes those of a prim that is new, or may have others than before. The world's items are looked at once: contents that are shared with this are never changed
    /// in their place.
    pub(super) fn note(&mut self, id: LocalId, body: &Body) {
        let Some(contents) = &body.contents else {
            self.0.remove(&id);
            return;
        };
        let is_known = self.0.get(&id).is_some_and(|(known, _)| Arc::ptr_eq(known, contents));
        if !is_known {
            self.0.insert(id, (Arc::clone(contents), body.contents_rights()));
        }
    }

    /// Forgets those of a prim that is gone.
    pub(super) fn forget(&mut self, id: LocalId) {
        self.0.remove(&id);
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// [`Body::contents_rights`] of a prim.
    pub(super) fn of(&self, id: LocalId) -> Mask {
        self.0.get(&id).map_or(Mask::ALL, |(_, rights)| *rights)
    }
}
