//! Changes of a tick: marks of what has changed, versions, and the sum of hashes.

use super::{ObjectError, ObjectStore};
use ids::LocalId;
use link::{
    ObjectChange, ObjectMask, ObjectPage, PAGE_PRIMS, PrimFlags, PrimMotion, VersionedBody, index_in_page,
};
use state_hash::StateHasher;

/// Changes since the last frame.
#[derive(Debug, Default)]
pub(super) struct TickChanges {
    /// Changed prims, each once, in the order of their first change.
    pub(super) list: Vec<LocalId>,
    /// What has changed of each, by page; pages get their marks with their first change.
    pub(super) marks: Vec<Option<Box<[ObjectMask; PAGE_PRIMS]>>>,
    /// Prims that readers of frames know and that are gone.
    pub(super) removed: Vec<LocalId>,
    /// Pages that came as a whole.
    pub(super) pages: Vec<LocalId>,
}

impl ObjectStore {
    /// Fills a frame's list with the changes since the last one, and brings the hash up to date. Removals come first. The version of a prim that
    /// was put elsewhere rises here, once a tick.
    pub(crate) fn write_changes(&mut self, out: &mut Vec<ObjectChange>) {
        let TickChanges { list, marks, removed, pages } = &mut self.changes;
        out.extend(removed.drain(..).map(ObjectChange::Removed));
        if !pages.is_empty() {
            let whole = pages.drain(..).filter_map(|first| self.pages.page(first).cloned());
            out.push(ObjectChange::Pages(whole.collect()));
        }
        let base = self.kept.range().start;
        for id in list.drain(..) {
            let mask = std::mem::take(mark_of(marks, base, id));
            if mask == ObjectMask::default() {
                // Gone again, or listed twice because another prim got its id.
                continue;
            }
            let is_placed =
                mask == ObjectMask::MOTION && self.pages.motion(id).is_some_and(is_kept_by_viewers);
            if is_placed {
                if let Some((motion, versioned)) = self.pages.motion(id).zip(self.pages.body(id)) {
                    self.journal.note_raise(id, motion, versioned);
                }
                if let Some(versioned) = self.pages.body_mut(id) {
                    raise(versioned, self.version_floor);
                }
            }
            let Some((motion, body)) = self.pages.motion(id).zip(self.pages.body(id)) else { continue };
            self.hash = self.hash.wrapping_add(prim_hash(id, motion, body, self.long.hash(id)));
            out.push(if mask == ObjectMask::MOTION && !is_placed {
                ObjectChange::Moved(id, *motion)
            } else {
                ObjectChange::Set { id, motion: *motion, body: body.clone(), mask }
            });
        }
    }

    /// All pages, for a snapshot of a replica.
    pub(crate) fn pages(&self) -> Vec<ObjectPage> {
        self.pages.pages().cloned().collect()
    }

    /// Leaves the restored pages out of the next frame: its readers have them.
    pub(crate) fn forget_pages(&mut self) {
        self.changes.pages.clear();
    }

    /// Prims that have changed since the last frame, in the order of their first changes, with all that has changed of each.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (LocalId, ObjectMask)> {
        let LocalId(first) = link::page_of(LocalId(self.kept.range().start));
        self.changes.list.iter().filter_map(move |&id| {
            let marks = self.changes.marks.get((id.0 - first) as usize / PAGE_PRIMS)?.as_ref()?;
            let mask = marks[index_in_page(id)];
            (mask != ObjectMask::default()).then_some((id, mask))
        })
    }

    /// Prims that are gone since the last frame.
    pub(crate) fn removed(&self) -> &[LocalId] {
        &self.changes.removed
    }

    /// All prims, in the order of their local ids.
    pub(crate) fn prims(&self) -> impl Iterator<Item = (LocalId, &PrimMotion, &VersionedBody)> {
        self.pages.pages().flat_map(ObjectPage::prims)
    }

    /// True if the next frame has something to tell of them.
    pub(crate) fn has_changes(&self) -> bool {
        let TickChanges { list, removed, pages, .. } = &self.changes;
        !list.is_empty() || !removed.is_empty() || !pages.is_empty()
    }

    /// Marks a prim; before its first change of the tick its hash leaves the sum.
    pub(super) fn before_change(&mut self, id: LocalId, mask: ObjectMask) -> Result<(), ObjectError> {
        let (motion, body) = self.pages.motion(id).zip(self.pages.body(id)).ok_or(ObjectError::Unknown)?;
        let before = self.changes.mark(self.kept.range().start, id, mask);
        if before == ObjectMask::default() {
            self.hash = self.hash.wrapping_sub(prim_hash(id, motion, body, self.long.hash(id)));
        }
        self.journal.note(id, before, mask, motion, body);
        if mask.any(ObjectMask::MOTION.union(ObjectMask::LINK).union(ObjectMask::FLAGS)) {
            self.touch(id);
        }
        Ok(())
    }

    pub(super) fn touch(&mut self, id: LocalId) {
        if self.has_touched_reader {
            self.touched.push(id);
        }
    }

    /// Records from now on which prims change place, owner or root; all that are here.
    pub(crate) fn touch_all(&mut self) -> Vec<LocalId> {
        self.has_touched_reader = true;
        self.touched.clear();
        self.pages.pages().flat_map(|page| page.prims().map(|(id, ..)| id)).collect()
    }

    /// Takes one of the prims out that changed so.
    pub(crate) fn pop_touched(&mut self) -> Option<LocalId> {
        self.touched.pop()
    }

    pub(super) fn raise_version(&mut self, id: LocalId) {
        if let Some(versioned) = self.pages.body_mut(id) {
            raise(versioned, self.version_floor);
        }
    }
}

impl TickChanges {
    /// Adds to the marks of a prim. Returns those before: without any it is the first change of the tick.
    pub(super) fn mark(&mut self, base: u32, id: LocalId, mask: ObjectMask) -> ObjectMask {
        let mark = mark_of(&mut self.marks, base, id);
        let before = *mark;
        *mark = before.union(mask);
        if before == ObjectMask::default() {
            self.list.push(id);
        }
        before
    }
}

pub(super) fn mark_of(
    marks: &mut Vec<Option<Box<[ObjectMask; PAGE_PRIMS]>>>,
    base: u32,
    id: LocalId,
) -> &mut ObjectMask {
    let page = (id.0 - link::page_of(LocalId(base)).0) as usize / PAGE_PRIMS;
    if marks.len() <= page {
        marks.resize_with(page + 1, || None);
    }
    let marks = marks[page].get_or_insert_with(|| Box::new([ObjectMask::default(); PAGE_PRIMS]));
    &mut marks[index_in_page(id)]
}

/// The next version, never 0.
pub(super) fn raise(versioned: &mut VersionedBody, floor: u32) {
    versioned.version = versioned.version.wrapping_add(1).max(floor).max(1);
}

/// True if viewers may keep a prim with this place, which is part of what they keep: another place needs another version.
fn is_kept_by_viewers(prim: &PrimMotion) -> bool {
    prim.motion.at_rest() && !prim.flags.any(PrimFlags::PHYSICS)
}

/// Hash of a prim with this [`prim::Body::long_hash`]. The id is in it, so that two prims that change places change the sum.
pub(super) fn prim_hash(
    LocalId(id): LocalId,
    motion: &PrimMotion,
    versioned: &VersionedBody,
    long_hash: u64,
) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.u32(id);
    let PrimMotion { motion, parent, link_number, flags } = motion;
    for vector in [motion.position, motion.velocity, motion.acceleration, motion.angular_velocity] {
        hasher.vec3(vector);
    }
    hasher.quat(motion.rotation);
    hasher.u64(u64::from(parent.0) << 32 | u64::from(flags.0));
    hasher.u64(u64::from(*link_number) << 32 | u64::from(versioned.version));
    versioned.body.fold_with(long_hash, &mut hasher);
    hasher.finish()
}
