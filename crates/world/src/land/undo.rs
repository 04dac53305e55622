//! Edits of the ground that sessions can take back.
//!
//! A client sends a stroke for each frame in which its user holds the brush, so strokes of a session that follow each other are one edit. The
//! history is bounded by the edits of a session and by the patches of all; the oldest go first.

use super::patches::{Edited, HashedPatch, count_of, hash_of, number_of};
use ids::SessionKey;
use link::{GroundPatch, PatchEdit, StoredStroke};
use state_hash::StateHasher;
use std::collections::{BTreeMap, VecDeque};

/// Strokes of a session whose distance is shorter are one edit, nanoseconds.
const TOGETHER_NS: u64 = 1_000_000_000;
/// Edits of a session at most.
const EDITS_MAX: usize = 16;
/// Patches of all edits at most: one edit of the largest region, 8 MiB.
const PATCHES_MAX: usize = 4_096;

/// Patches of an edit before and after it.
type EditedPatches = BTreeMap<u16, (Option<HashedPatch>, Option<HashedPatch>)>;

/// An edit of the ground.
#[derive(Debug)]
pub(super) struct GroundStroke {
    session: SessionKey,
    ended_ns: u64,
    patches: EditedPatches,
}

/// Edits that can be taken back, oldest first.
#[derive(Debug, Default)]
pub(super) struct UndoHistory {
    strokes: VecDeque<GroundStroke>,
    /// Patches of all of them.
    n_patches: usize,
    /// Sum of their hashes.
    hash: u64,
}

impl UndoHistory {
    /// The history of a stored ground; `None` if it is beyond its bounds or its patches are misplaced.
    pub(super) fn restored(size_m: u32, stored: Vec<StoredStroke>, now_ns: u64) -> Option<Self> {
        let mut history = Self::default();
        for StoredStroke { session, ended_ns, patches } in stored {
            let n_stored = patches.len();
            let mut known = EditedPatches::new();
            for PatchEdit { number, before, after } in patches {
                let hashed = |patch: Option<GroundPatch>| match patch {
                    Some(patch) if !patch.is_within(size_m) => None,
                    Some(patch) if number_of(size_m, patch.column(), patch.row()) != number => None,
                    patch => Some(patch.map(HashedPatch::new)),
                };
                if number >= count_of(size_m) {
                    return None;
                }
                known.insert(number, (hashed(before)?, hashed(after)?));
            }
            if known.is_empty() || known.len() != n_stored || ended_ns > now_ns {
                return None;
            }
            history.push(GroundStroke { session, ended_ns, patches: known });
        }
        let is_bounded = history.n_patches <= PATCHES_MAX
            && history.strokes.iter().all(|stroke| history.n_edits(stroke.session) <= EDITS_MAX);
        is_bounded.then_some(history)
    }

    pub(super) fn stored(&self) -> Vec<StoredStroke> {
        let patch = |known: &Option<HashedPatch>| known.as_ref().map(|known| known.patch.clone());
        let stroke = |stroke: &GroundStroke| StoredStroke {
            session: stroke.session,
            ended_ns: stroke.ended_ns,
            patches: stroke
                .patches
                .iter()
                .map(|(&number, (before, after))| PatchEdit {
                    number,
                    before: patch(before),
                    after: patch(after),
                })
                .collect(),
        };
        self.strokes.iter().map(stroke).collect()
    }

    /// Records an edit that ended now.
    pub(super) fn record(&mut self, session: SessionKey, now_ns: u64, edited: Vec<Edited>) {
        if edited.is_empty() {
            return;
        }
        let newest = self.strokes.iter().rposition(|stroke| stroke.session == session);
        let recent = newest.filter(|&index| now_ns - self.strokes[index].ended_ns < TOGETHER_NS);
        let mut stroke = match recent {
            Some(index) => self.take(index),
            None => GroundStroke { session, ended_ns: now_ns, patches: EditedPatches::new() },
        };
        stroke.ended_ns = now_ns;
        for Edited { number, before, after } in edited {
            let (_, latest) = stroke.patches.entry(number).or_insert((before, None));
            *latest = after;
        }
        self.push(stroke);
        while self.n_edits(session) > EDITS_MAX {
            let oldest = self.strokes.iter().position(|stroke| stroke.session == session);
            self.take(oldest.expect("more than none"));
        }
        while self.n_patches > PATCHES_MAX {
            self.take(0);
        }
    }

    /// Takes out the newest edit of a session: its patches before and after it.
    pub(super) fn pop(&mut self, session: SessionKey) -> Option<impl Iterator<Item = Edited> + use<>> {
        let index = self.strokes.iter().rposition(|stroke| stroke.session == session)?;
        let patches = self.take(index).patches.into_iter();
        Some(patches.map(|(number, (before, after))| Edited { number, before, after }))
    }

    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    fn n_edits(&self, session: SessionKey) -> usize {
        self.strokes.iter().filter(|stroke| stroke.session == session).count()
    }

    fn push(&mut self, stroke: GroundStroke) {
        self.n_patches += stroke.patches.len();
        self.hash = self.hash.wrapping_add(stroke.hash());
        self.strokes.push_back(stroke);
    }

    fn take(&mut self, index: usize) -> GroundStroke {
        let stroke = self.strokes.remove(index).expect("an edit of the history");
        self.n_patches -= stroke.patches.len();
        self.hash = self.hash.wrapping_sub(stroke.hash());
        stroke
    }
}

impl GroundStroke {
    /// Hash of its fields. Its place in the history is not in it: the history is ordered by `ended_ns` but for edits of one tick, whose order is
    /// that of their sessions.
    fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(self.session.0);
        hasher.u64(self.ended_ns);
        for (&number, (before, after)) in &self.patches {
            hasher.u64(u64::from(number));
            hasher.u64(hash_of(before.as_ref()));
            hasher.u64(hash_of(after.as_ref()));
        }
        hasher.finish()
    }
}
