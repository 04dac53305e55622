//! Linksets that avatars wear. The avatar is the parent of the root, whose place is relative to a point of the body. Worn linksets have local ids of
//! temporary objects: they go with their avatar, and are not kept with the region.

use super::{ObjectError, ObjectStore};
use ids::{LocalId, Uuid};
use link::{Motion, PrimMotion, VersionedBody};

impl ObjectStore {
    /// Makes a linkset on the ground one that an avatar wears, with its root at this place. Returns the new id of its root: readers of frames see it
    /// go and come.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`] if it is no root on the ground, [`ObjectError::Full`]; nothing changes then.
    pub(crate) fn wear(
        &mut self,
        root: LocalId,
        wearer: LocalId,
        place: Motion,
    ) -> Result<LocalId, ObjectError> {
        if self.pages.motion(root).is_none_or(|prim| prim.parent != LocalId(0)) {
            return Err(ObjectError::Unknown);
        }
        let prims = self.moved_to(root, place);
        if !self.temporary.has_room(prims.len(), self.now_ns) {
            return Err(ObjectError::Full);
        }
        self.remove(root)?;
        self.insert_below(prims, wearer, true)
    }

    /// Adds a linkset that an avatar wears, with the root's place against the attachment point. Returns the id of its root.
    ///
    /// # Errors
    /// As [`ObjectStore::insert_linkset`]; nothing is added then.
    pub(crate) fn put_on(
        &mut self,
        prims: Vec<(PrimMotion, VersionedBody)>,
        wearer: LocalId,
    ) -> Result<LocalId, ObjectError> {
        if prims.is_empty() {
            return Err(ObjectError::Unknown);
        }
        self.insert_below(prims, wearer, true)
    }

    /// Puts a linkset that an avatar wears onto the ground. Returns the new id of its root.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`] if it is no root that is worn, [`ObjectError::Full`]; nothing changes then.
    pub(crate) fn put_down(&mut self, root: LocalId, place: Motion) -> Result<LocalId, ObjectError> {
        self.wearer_of(root).ok_or(ObjectError::Unknown)?;
        let prims = self.moved_to(root, place);
        if !self.kept.has_room(prims.len(), self.now_ns) {
            return Err(ObjectError::Full);
        }
        self.remove(root)?;
        self.insert_below(prims, LocalId(0), false)
    }

    /// The avatar that wears a linkset, by its root.
    pub(crate) fn wearer_of(&self, root: LocalId) -> Option<LocalId> {
        let parent = self.pages.motion(root)?.parent;
        (parent != LocalId(0) && self.pages.motion(parent).is_none()).then_some(parent)
    }

    /// The item as which a linkset is worn, by its root.
    pub(crate) fn worn_item(&self, root: LocalId) -> Option<Uuid> {
        self.pages.body(root)?.body.worn_item
    }

    /// Roots of the linksets that an avatar wears.
    pub(crate) fn worn_by(&self, wearer: LocalId) -> &[LocalId] {
        self.worn.get(&wearer).map_or(&[], Vec::as_slice)
    }

    /// True once after the objects were restored, if an avatar wears something: their wearers may be absent.
    pub(crate) const fn take_unchecked_wearers(&mut self) -> bool {
        std::mem::replace(&mut self.are_wearers_unchecked, false)
    }

    /// Avatars that wear something.
    pub(crate) fn wearers(&self) -> impl Iterator<Item = LocalId> {
        self.worn.keys().copied()
    }

    /// The prims of a linkset, with this place of its root.
    fn moved_to(&self, root: LocalId, place: Motion) -> Vec<(PrimMotion, VersionedBody)> {
        let mut prims: Vec<_> = self.linkset(root).filter_map(|id| self.prim(id)).collect();
        if let Some((prim, _)) = prims.first_mut() {
            prim.motion = place;
        }
        prims
    }

    /// Takes a root that goes off the list of its wearer.
    pub(super) fn take_off(&mut self, root: LocalId) {
        let Some(wearer) = self.wearer_of(root) else { return };
        if let Some(worn) = self.worn.get_mut(&wearer) {
            worn.retain(|&other| other != root);
            if worn.is_empty() {
                self.worn.remove(&wearer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{IDS, at, store_of};
    use super::*;
    use link::ObjectChange;

    const WEARER: LocalId = LocalId(IDS.end - 1);

    fn changes(store: &mut ObjectStore) -> Vec<ObjectChange> {
        let mut out = Vec::new();
        store.write_changes(&mut out);
        out
    }

    #[test]
    fn a_worn_linkset_has_other_ids_and_goes_back_to_the_ground_as_it_was() {
        let (mut store, ids) = store_of(3);
        store.link(ids[0], ids[1]).unwrap();
        changes(&mut store);
        let bodies: Vec<_> = store.linkset(ids[0]).filter_map(|id| store.body(id).cloned()).collect();
        let root = store.wear(ids[0], WEARER, at(0.5).motion).unwrap();
        assert!(store.is_temporary_id(root) && store.motion(ids[0]).is_none());
        assert_eq!((store.worn_by(WEARER), store.wearer_of(root)), (&[root][..], Some(WEARER)));
        assert_eq!(store.root_of(store.linkset(root).nth(1).unwrap()), Some(root));
        let told = changes(&mut store);
        assert_eq!(told.iter().filter(|change| matches!(change, ObjectChange::Removed(_))).count(), 2);
        let set = told.iter().find_map(|change| match change {
            ObjectChange::Set { id, motion, .. } if *id == root => Some(*motion),
            _ => None,
        });
        assert_eq!(set, Some(PrimMotion { parent: WEARER, ..at(0.5) }));
        let again = store.put_down(root, at(7.0).motion).unwrap();
        assert!(!store.is_temporary_id(again) && store.worn_by(WEARER).is_empty());
        let now: Vec<_> = store.linkset(again).filter_map(|id| store.body(id).cloned()).collect();
        assert_eq!(now, bodies);
    }

    #[test]
    fn worn_linksets_are_in_the_stored_state_and_end_with_their_removal() {
        let (mut store, ids) = store_of(2);
        store.link(ids[0], ids[1]).unwrap();
        let root = store.wear(ids[0], WEARER, at(0.5).motion).unwrap();
        changes(&mut store);
        let mut again = ObjectStore::restored(&IDS, store.stored()).expect("its own state");
        assert_eq!(
            (again.worn_by(WEARER), again.linkset_len(root), again.hash()),
            (&[root][..], 2, store.hash())
        );
        again.remove(root).unwrap();
        assert_eq!((again.worn_by(WEARER), again.len(), again.wearers().count()), (&[][..], 0, 0));
        assert_eq!(store.wear(root, WEARER, at(0.0).motion), Err(ObjectError::Unknown), "it is worn");
        assert_eq!(store.put_down(ids[0], at(0.0).motion), Err(ObjectError::Unknown));
    }
}
