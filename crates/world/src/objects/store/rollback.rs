//! Objects as of the last frame, after a step that panicked.
//!
//! Before the first change of a prim in a step its former state goes into the [`Journal`]; the next step begins with an empty one. After a panic the
//! former states are put back, and the sum of hashes tells whether that is the state of the last frame: a panic in the midst of a change may have left
//! anything. A checkpoint is up to 4 s older, so edits that clients were shown would be lost with it.

use super::{ObjectStore, prim_hash};
use ids::LocalId;
use link::{ObjectMask, ObjectPage, PrimMotion, StoredObjects, VersionedBody};

/// Former states of the prims that the step under way has changed.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// In the order of the changes. A prim may be in it more than once; the first one counts.
    former: Vec<(LocalId, Former)>,
    /// Sum of the hashes as of the last frame.
    hash: u64,
}

/// State of a prim before a change.
#[derive(Debug)]
enum Former {
    /// It was not there.
    Absent,
    /// The change moves it and does nothing else.
    At(PrimMotion),
    Whole(PrimMotion, VersionedBody),
}

impl Journal {
    /// Begins a step. `hash` is that of the last frame.
    pub(super) fn begin(&mut self, hash: u64) {
        self.former.clear();
        self.hash = hash;
    }

    /// Notes a prim that is about to be added.
    pub(super) fn note_absent(&mut self, id: LocalId) {
        self.former.push((id, Former::Absent));
    }

    /// Notes a prim that was moved in this step and is about to get a new version.
    pub(super) fn note_raise(&mut self, id: LocalId, motion: &PrimMotion, versioned: &VersionedBody) {
        self.former.push((id, Former::Whole(*motion, versioned.clone())));
    }

    /// Notes a prim that is about to change so, and has changed as in `before` in this step.
    pub(super) fn note(
        &mut self,
        id: LocalId,
        before: ObjectMask,
        mask: ObjectMask,
        motion: &PrimMotion,
        versioned: &VersionedBody,
    ) {
        let is_whole = mask != ObjectMask::MOTION;
        let former = match before {
            ObjectMask(0) if !is_whole => Former::At(*motion),
            ObjectMask(0) | ObjectMask::MOTION if is_whole => Former::Whole(*motion, versioned.clone()),
            _ => return,
        };
        self.former.push((id, former));
    }
}

impl ObjectStore {
    /// Makes a rollback of the step under way fail, as a panic in the midst of a change may.
    pub(crate) const fn spoil_journal(&mut self) {
        self.journal.hash = !self.journal.hash;
    }

    /// The objects as of the last frame, after a step that panicked, their transfers, and the orders that were answered. Local ids of prims that the step added are free, and those of
    /// prims that it removed are in use.
    ///
    /// `None` if they are not to be had any more. The store must not be stepped again in any case.
    pub(crate) fn roll_back(&mut self) -> Option<StoredObjects> {
        let Self { journal, pages, pool, .. } = self;
        for (id, former) in journal.former.drain(..).rev() {
            match former {
                Former::Absent => {
                    pages.remove(id, pool);
                }
                Former::At(motion) => *pages.motion_mut(id, pool)? = motion,
                Former::Whole(motion, body) => {
                    pages.insert(id, motion, body, pool);
                }
            }
        }
        let prims = pages.pages().flat_map(ObjectPage::prims);
        let hash_of = |(id, motion, versioned): (LocalId, &PrimMotion, &VersionedBody)| {
            prim_hash(id, motion, versioned, versioned.body.long_hash())
        };
        let hash = prims.map(hash_of).fold(0, u64::wrapping_add);
        if hash != journal.hash {
            return None;
        }
        self.escrow.roll_back();
        self.orders.roll_back();
        let mut stored = self.stored();
        let Self { pages, kept, temporary, .. } = &*self;
        let is_free =
            |start: u32| move |(place, _): &(u32, u64)| pages.motion(LocalId(start + place)).is_none();
        stored.kept.resting.retain(is_free(kept.range().start));
        stored.temporary.resting.retain(is_free(temporary.range().start));
        Some(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{IDS, at, body, store_of};
    use super::*;
    use link::PrimFlags;
    use proptest::prelude::*;

    /// Ends a step: its frame was sent.
    fn publish(store: &mut ObjectStore) -> StoredObjects {
        store.write_changes(&mut Vec::new());
        store.begin_step();
        store.stored()
    }

    #[test]
    fn changes_of_a_step_that_did_not_end_are_undone() {
        let (mut store, ids) = store_of(300);
        store.link(ids[0], ids[1]).unwrap();
        store.link(ids[0], ids[2]).unwrap();
        let published = publish(&mut store);
        store.set_motion(ids[3], at(9.0).motion).unwrap();
        store.edit_body(ids[3], ObjectMask::TEXT, |body| body.click_action = 4).unwrap();
        store.set_flags(ids[4], PrimFlags::PHANTOM).unwrap();
        store.unlink(ids[0]).unwrap();
        store.link(ids[5], ids[1]).unwrap();
        store.set_motion(ids[6], at(7.0).motion).unwrap();
        store.remove(ids[6]).unwrap();
        store.remove(ids[5]).unwrap();
        let new = store.insert(at(1.0), body(9_000)).unwrap();
        store.set_motion(new, at(2.0).motion).unwrap();
        assert_eq!(new, LocalId(IDS.start + 300));
        let undone = store.roll_back().expect("nothing broke it");
        assert_eq!(undone.pages, published.pages);
        assert_eq!(undone.kept.resting, published.kept.resting);
        let mut again = ObjectStore::restored(&IDS, undone).expect("no contradiction");
        assert_eq!(
            again.insert(at(1.0), body(9_001)),
            Ok(new),
            "no client has seen the first one with this id"
        );
    }

    #[test]
    fn a_frame_that_was_written_and_not_sent_is_undone() {
        let (mut store, ids) = store_of(2);
        let published = publish(&mut store);
        store.remove(ids[1]).unwrap();
        // At rest, so that its version rises with the frame.
        store.set_motion(ids[0], at(9.0).motion).unwrap();
        store.write_changes(&mut Vec::new());
        assert_eq!(store.roll_back().map(|stored| stored.pages), Some(published.pages));
    }

    #[test]
    fn a_change_that_the_journal_does_not_have_is_noticed() {
        let (mut store, ids) = store_of(3);
        publish(&mut store);
        store.pages.motion_mut(ids[1], &mut store.pool).unwrap().motion.position.x = 50.0;
        assert_eq!(store.roll_back(), None);
    }

    proptest! {
        /// Any changes: their order and number do not matter.
        #[test]
        fn any_step_is_undone(changes in prop::collection::vec((0..6_u8, 0..12_usize, 0..12_usize), 1..60)) {
            let (mut store, mut ids) = store_of(12);
            for ended in [true, false] {
                let published = publish(&mut store);
                for (&(kind, one, other), n) in changes.iter().zip(0_u16..) {
                    let id = ids[one];
                    // Many are refused, as those of removed prims.
                    let _ = match kind {
                        0 => store.set_motion(id, at(f32::from(n)).motion),
                        1 => store.edit_body(id, ObjectMask::TEXT, |body| body.click_action = n as u8),
                        2 => store.link(id, ids[other]),
                        3 => store.unlink(id),
                        4 => store.remove(id),
                        _ => {
                            let id = u128::from(n) + if ended { 10_000 } else { 20_000 };
                            store.insert(at(f32::from(n)), body(id)).map(|new| ids[one] = new)
                        }
                    };
                }
                if !ended {
                    let undone = store.roll_back();
                    prop_assert_eq!(undone.as_ref().map(|stored| &stored.pages), Some(&published.pages));
                    prop_assert!(ObjectStore::restored(&IDS, undone.unwrap()).is_some());
                }
            }
        }
    }
}
