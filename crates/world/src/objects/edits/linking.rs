//! Linksets made of others, and prims taken out of them.

use super::editor::{OFFSET_MAX_M, ObjectEditor, is_temporary};
use crate::objects::{LINK_MAX, relative_to};
use ids::LocalId;
use link::{EditRefusal, Motion, ObjectMask, PrimFlags};
use prim::{Edit, Sale};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

impl ObjectEditor<'_> {
    pub(super) fn link(&mut self, objects: Vec<LocalId>) {
        let Some((&first, others)) = objects.split_first() else { return };
        let root = match self.charge(1).and_then(|()| self.linkable(first)) {
            Ok(judged) => judged.root,
            Err(reason) => {
                objects.iter().for_each(|&id| self.settle(Some(id), Err(reason)));
                return;
            }
        };
        for &other in others {
            let result = self.charge(1).and_then(|()| self.join(root, other));
            self.settle(Some(other), result);
        }
    }

    fn linkable(&mut self, id: LocalId) -> Result<super::editor::Judgement, EditRefusal> {
        let judged = self.need(id, Edit::Link)?;
        if judged.is_attached { Err(EditRefusal::Attached) } else { Ok(judged) }
    }

    /// Links all prims of another linkset to a root. They get the root's masks within their own base masks, and its physical, phantom and temporary flags;
    /// none is for sale.
    fn join(&mut self, root: LocalId, other: LocalId) -> Result<(), EditRefusal> {
        let judged = self.linkable(other)?;
        if judged.root == root {
            return Err(EditRefusal::Itself);
        }
        let (root_motion, root_body) = self.store.prim(root).ok_or(EditRefusal::Unknown)?;
        let ownership = &root_body.body.ownership;
        if judged.owner != ownership.owner {
            return Err(EditRefusal::OtherOwner);
        }
        let joined = self.linkset(judged.root)?;
        let link_max = LINK_MAX.min(self.limits.link_max as usize);
        if self.store.linkset_len(root) + joined.len() > link_max {
            return Err(EditRefusal::TooManyParts);
        }
        let is_near = |&id: &LocalId| {
            let place =
                self.store.motion_in_region(id).map(|motion| relative_to(&root_motion.motion, motion));
            place.is_some_and(|place| place.position.abs().max_element() <= OFFSET_MAX_M)
        };
        if !joined.iter().all(is_near) {
            return Err(EditRefusal::TooFar);
        }
        let (from, to) =
            (self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?, root_motion.motion.position);
        let (was_counted, is_counted) =
            (!from.flags.any(PrimFlags::TEMPORARY), !root_motion.flags.any(PrimFlags::TEMPORARY));
        let n_counted = if is_counted { joined.len() } else { 0 };
        self.need_entry((judged.owner, n_counted), from.motion.position, to)?;
        if is_counted && !was_counted {
            self.need_room_at(to, n_counted)?;
        }
        if root_motion.flags.any(PrimFlags::PHYSICS) {
            self.check_physical_prims(&joined)?;
        }
        // Parts of a kept linkset have ids of kept objects. The last step that can fail.
        let object = self.id_of(judged.root);
        let joined = if root_motion.flags.any(PrimFlags::TEMPORARY) { joined } else { self.keep(joined)? };
        self.temporaries.cancel(object);
        self.store.link(root, joined[0]).expect("two linksets that have room for each other");
        for id in joined {
            let flags = self.store.motion(id).expect("it was linked").flags;
            let flags = flags.with(PrimFlags::OF_LINKSET, root_motion.flags);
            self.store.set_flags(id, flags).expect("it was linked");
            self.edit_body(id, ObjectMask::FLAGS, |body| {
                let own = Arc::make_mut(&mut body.ownership);
                own.permissions = own.permissions.of_part(&ownership.permissions);
                body.sale = Sale::default();
            });
        }
        self.judged = None;
        Ok(())
    }

    /// Takes prims out of their linksets: parts before roots, high link numbers before low ones, since the parts after a removed one are renumbered. If
    /// a root is named, the first of its remaining parts becomes the root of the others.
    pub(super) fn delink(&mut self, objects: Vec<LocalId>) {
        let mut named = BTreeSet::new();
        for id in objects {
            match self.charge(1).and_then(|()| self.linkable(id)) {
                Ok(judged) => {
                    let number = self.store.motion(id).map_or(0, |prim| prim.link_number);
                    named.insert((number == 0, judged.root, Reverse(number), id));
                }
                Err(reason) => self.settle(Some(id), Err(reason)),
            }
        }
        for (.., id) in named {
            let result = self.part(id);
            self.settle(Some(id), result);
        }
    }

    /// Takes a prim out of its linkset. A prim that stands alone stays as it is. Refused if a new root would be
    /// outside of the region, on a parcel that it may not enter, or too far from a part.
    fn part(&mut self, id: LocalId) -> Result<(), EditRefusal> {
        let root = self.store.root_of(id).ok_or(EditRefusal::Unknown)?;
        let heir = self.store.linkset(root).nth(1);
        let Some(heir) = heir else { return Ok(()) };
        let new_root = if id == root { heir } else { id };
        // Parts may hang over the border, roots stand within it.
        let motion = self.store.motion_in_region(new_root).ok_or(EditRefusal::Unknown)?;
        if self.in_region(motion.position)? != motion.position {
            return Err(EditRefusal::Outside);
        }
        if id == root && !self.store.linkset(root).skip(2).all(|other| self.is_near(&motion, other)) {
            return Err(EditRefusal::TooFar);
        }
        let owner = self.store.body(root).ok_or(EditRefusal::Unknown)?.body.ownership.owner;
        let from = self.store.motion(root).ok_or(EditRefusal::Unknown)?.motion.position;
        let n_moved = if id == root { self.store.linkset_len(root) - 1 } else { 1 };
        let n_counted = if is_temporary(self.store, root) { 0 } else { n_moved };
        self.need_entry((owner, n_counted), from, motion.position)?;
        let due_ns = self.temporaries.due_of(self.id_of(root));
        self.store.unlink(id)?;
        self.judged = None;
        // Each of the two linksets vanishes when the one would have.
        if let Some(due_ns) = due_ns.filter(|_| is_temporary(self.store, new_root)) {
            let object = self.id_of(new_root);
            self.temporaries.schedule(object, due_ns);
        }
        Ok(())
    }

    /// True if a prim can be a part of a root with this motion.
    fn is_near(&self, root: &Motion, id: LocalId) -> bool {
        let place = self.store.motion_in_region(id).map(|motion| relative_to(root, motion));
        place.is_some_and(|place| place.position.abs().max_element() <= OFFSET_MAX_M)
    }
}
