//! Prims of worn linksets in their newest state in the frames.

use super::object::WornObject;
use crate::load::RegionIds;
use crate::tracked::SeenPrim;
use ids::{LocalId, Uuid};
use link::{DerezKind, HeldObject, ObjectChange, ObjectPage, PAGE_PRIMS, PrimMotion, VersionedBody};
use std::collections::{BTreeMap, BTreeSet};

/// The prims of a region's worn linksets.
#[derive(Debug)]
pub(super) struct ShownPrims {
    ids: RegionIds,
    /// Prims with a parent and a local id of temporary objects: prims of worn linksets, and child prims of temporary objects.
    prims: BTreeMap<LocalId, (PrimMotion, VersionedBody)>,
    /// Child prims of each root.
    parts: BTreeMap<LocalId, BTreeSet<LocalId>>,
    /// Roots that have changed since the last [`Self::take_touched`].
    touched: BTreeSet<LocalId>,
}

impl ShownPrims {
    pub(super) fn new(ids: &RegionIds) -> Self {
        Self { ids: ids.clone(), prims: BTreeMap::new(), parts: BTreeMap::new(), touched: BTreeSet::new() }
    }

    /// Applies a change of a frame.
    pub(super) fn take_change(&mut self, change: &ObjectChange) {
        match change {
            ObjectChange::Removed(id) => self.take_out(*id),
            ObjectChange::Pages(pages) => pages.iter().for_each(|page| self.take_page(page)),
            ObjectChange::Set { id, motion, body, .. } => self.set(*id, motion, body),
            ObjectChange::Moved(id, motion) => {
                if let Some((_, body)) = self.prims.get(id) {
                    let body = body.clone();
                    self.set(*id, motion, &body);
                }
            }
        }
    }

    /// Replaces all prims by those of a world.
    pub(super) fn replace(&mut self, whole: &[SeenPrim<'_>]) {
        self.prims.clear();
        self.parts.clear();
        whole.iter().for_each(|(id, place, body)| self.set(*id, place, body));
    }

    /// Marks the roots of an item as changed.
    pub(super) fn touch_item(&mut self, item: Uuid) {
        let Self { prims, touched, .. } = self;
        let roots = prims.iter().filter(|(_, (_, root))| root.body.worn_item == Some(item));
        touched.extend(roots.map(|(id, _)| *id));
    }

    /// Returns the changed roots; some of them may be removed.
    pub(super) fn take_touched(&mut self) -> BTreeSet<LocalId> {
        std::mem::take(&mut self.touched)
    }

    /// Body of a prim.
    pub(super) fn body(&self, id: LocalId) -> Option<&VersionedBody> {
        self.prims.get(&id).map(|(_, body)| body)
    }

    /// Newest state of a linkset, by its root.
    pub(super) fn linkset(&self, root: LocalId, worn: &WornObject) -> Option<HeldObject> {
        let parts = self.parts.get(&root).into_iter().flatten().filter_map(|id| self.prims.get(id));
        let mut parts: Vec<(PrimMotion, VersionedBody)> = parts.cloned().collect();
        parts.sort_unstable_by_key(|(place, _)| place.link_number);
        let linkset = std::iter::once(self.prims.get(&root)?.clone()).chain(parts).collect();
        Some(HeldObject {
            owner: worn.owner,
            by: worn.object.by,
            kind: DerezKind::Take,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: true,
            linksets: vec![linkset],
        })
    }

    fn set(&mut self, id: LocalId, place: &PrimMotion, body: &VersionedBody) {
        if !self.ids.temporary.contains(&id.0) {
            return;
        }
        self.take_out(id);
        let parent = place.parent;
        if parent == LocalId(0) {
            return;
        }
        self.prims.insert(id, (*place, body.clone()));
        if self.is_avatar(parent) {
            self.touched.insert(id);
        } else {
            self.parts.entry(parent).or_default().insert(id);
            self.touched.insert(parent);
        }
    }

    fn take_out(&mut self, id: LocalId) {
        let Some((place, _)) = self.prims.remove(&id) else { return };
        if self.is_avatar(place.parent) {
            self.touched.insert(id);
            return;
        }
        self.touched.insert(place.parent);
        if let Some(parts) = self.parts.get_mut(&place.parent) {
            parts.remove(&id);
            if parts.is_empty() {
                self.parts.remove(&place.parent);
            }
        }
    }

    fn take_page(&mut self, page: &ObjectPage) {
        if !self.ids.temporary.contains(&page.first.0) {
            return;
        }
        let known = page.first..LocalId(page.first.0.saturating_add(PAGE_PRIMS as u32));
        let known: Vec<LocalId> = self.prims.range(known).map(|(id, _)| *id).collect();
        known.into_iter().for_each(|id| self.take_out(id));
        page.prims().for_each(|(id, place, body)| self.set(id, place, body));
    }

    /// True for a local id of an avatar.
    fn is_avatar(&self, id: LocalId) -> bool {
        id != LocalId(0) && !self.ids.kept.contains(&id.0) && !self.ids.temporary.contains(&id.0)
    }
}
