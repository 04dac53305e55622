//! Edits that a crash has taken away: bots' records of their edits against the region as it is stored behind the crash.
//!
//! ```text
//! edits of a prim   sent ── seen  sent ── seen   sent ── seen ✕ crash
//! stored state      of this one ────────┘
//!                   included ───────────┘        lost: the server had shown it
//! ```
//!
//! A region is a complete frame if there is a moment before which all edits are included and after which none is. An edit is carried out between its
//! request and the update that shows it; hence the region is torn if an edit is included that was sent after a lost one had been seen.

use super::region::{SavedPrim, SavedRegion};
use crate::error::ExperimentError;
use bots::builder::{BuildEvent, EDITS_FILE, EditEffect, EditRecord};
use bots::record_file::Records;
use ids::LocalId;
use std::collections::BTreeMap;
use std::path::Path;

/// An edit, with times of the machine's monotonic clock in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RecordedEdit {
    sent_ns: u64,
    seen_ns: Option<u64>,
    effect: EditEffect,
    /// `None` while a new prim has not been seen.
    prim: Option<LocalId>,
}

/// Edits of a run of bots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EditHistory {
    /// By bot and number.
    edits: BTreeMap<(u32, u64), RecordedEdit>,
}

/// Losses of a crash.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CrashLosses {
    /// Edits whose effects their bots had seen.
    pub(super) n_seen: usize,
    /// Of these, those that are lost.
    pub(super) n_lost: usize,
    /// Age of the oldest lost one at the crash, from its request, seconds; 0 without one.
    pub(super) lost_s: f64,
    /// Reasons for which the region is no complete frame, in sentences.
    pub(super) torn: Vec<String>,
}

impl EditHistory {
    /// Reads a file of `throng bots --edits`.
    pub(super) fn read(path: &Path) -> Result<Self, ExperimentError> {
        let records: Records<EditRecord> = Records::open(path, EDITS_FILE)
            .map_err(|error| ExperimentError::File { path: error.path, source: error.source })?;
        let zero_ns = records.clock_zero_ns;
        let mut history = Self::default();
        for EditRecord { at, builder, event } in records {
            history.add(zero_ns + at.0, builder, event);
        }
        Ok(history)
    }

    fn add(&mut self, at_ns: u64, builder: u32, event: BuildEvent) {
        match event {
            BuildEvent::Sent { number, effect } => {
                let prim = match effect {
                    EditEffect::Made { .. } => None,
                    EditEffect::Changed(id, _) | EditEffect::Gone(id) => Some(id),
                };
                let edit = RecordedEdit { sent_ns: at_ns, seen_ns: None, effect, prim };
                self.edits.insert((builder, number), edit);
            }
            BuildEvent::Seen { number, id } => {
                if let Some(edit) = self.edits.get_mut(&(builder, number)) {
                    (edit.seen_ns, edit.prim) = (Some(at_ns), Some(id));
                }
            }
        }
    }

    /// Edits of each prim, in their order.
    fn by_prim(&self) -> BTreeMap<LocalId, Vec<RecordedEdit>> {
        let mut by_prim: BTreeMap<LocalId, Vec<RecordedEdit>> = BTreeMap::new();
        for edit in self.edits.values() {
            if let Some(id) = edit.prim {
                by_prim.entry(id).or_default().push(*edit);
            }
        }
        by_prim
    }

    /// Edits of prims that are stored in the state of their last one, and the prims that are not.
    pub(super) fn durable(&self, region: &SavedRegion) -> (usize, Vec<LocalId>) {
        let (mut n_durable, mut others) = (0, Vec::new());
        for (id, edits) in self.by_prim() {
            let state = region.prims.get(&id).map(|saved| &saved.state);
            if edits.last().is_some_and(|last| last.effect.is_shown_by(state)) {
                n_durable += edits.len();
            } else {
                others.push(id);
            }
        }
        (n_durable, others)
    }

    /// Compares them with a region behind a crash at this time.
    pub(super) fn losses(&self, region: &SavedRegion, crashed_ns: u64) -> CrashLosses {
        let mut losses = CrashLosses { torn: region.damages.clone(), ..CrashLosses::default() };
        let (mut newest_included, mut first_lost) =
            (None::<(u64, RecordedEdit)>, None::<(u64, RecordedEdit)>);
        for (id, edits) in self.by_prim() {
            losses.n_seen += edits.iter().filter(|edit| edit.seen_ns.is_some()).count();
            let saved = region.prims.get(&id);
            if is_unclear(&edits, saved) {
                continue;
            }
            match n_included(&edits, saved) {
                Some(n_included) => {
                    let (included, lost) = edits.split_at(n_included);
                    let sent = included.iter().map(|edit| (edit.sent_ns, *edit));
                    newest_included = sent.chain(newest_included).max_by_key(|(sent_ns, _)| *sent_ns);
                    for edit in lost {
                        let Some(seen_ns) = edit.seen_ns else { continue };
                        losses.n_lost += 1;
                        let age_s = crashed_ns.saturating_sub(edit.sent_ns) as f64 / 1e9;
                        losses.lost_s = losses.lost_s.max(age_s);
                        if first_lost.is_none_or(|(first_ns, _)| seen_ns < first_ns) {
                            first_lost = Some((seen_ns, *edit));
                        }
                    }
                }
                None => losses.torn.push(format!("prim {} stands as no edit left it: {saved:?}", id.0)),
            }
        }
        if let Some(((sent_ns, included), (seen_ns, lost))) =
            newest_included.zip(first_lost).filter(|((sent_ns, _), (seen_ns, _))| sent_ns > seen_ns)
        {
            let ms = (sent_ns - seen_ns) / 1_000_000;
            losses.torn.push(format!(
                "an edit is stored that was sent {ms} ms after a lost one had been seen: {included:?} after {lost:?}"
            ));
        }
        losses
    }
}

/// True for a prim that was made and removed and is not stored: a frame before the first edit has it as little as one behind the last.
fn is_unclear(edits: &[RecordedEdit], saved: Option<&SavedPrim>) -> bool {
    let is_made = matches!(edits, [RecordedEdit { effect: EditEffect::Made { .. }, .. }, ..]);
    let is_removed = matches!(edits, [.., RecordedEdit { effect: EditEffect::Gone(_), .. }]);
    saved.is_none() && is_made && is_removed
}

/// Number of a prim's edits, from the first, that are stored; `None` if no edit leads to the stored state.
fn n_included(edits: &[RecordedEdit], saved: Option<&SavedPrim>) -> Option<usize> {
    let state = saved.map(|saved| &saved.state);
    if let Some(last) = edits.iter().rposition(|edit| edit.effect.is_shown_by(state)) {
        return Some(last + 1);
    }
    let begins_here = matches!(edits.first()?.effect, EditEffect::Made { .. });
    // A prim that is not there may not have been made yet.
    (saved.is_none() && begins_here).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bots::builder::PrimState;

    const MS: u64 = 1_000_000;

    fn state(x: f32) -> PrimState {
        let position = glam::Vec3::new(x, 0.0, 30.0);
        PrimState { position, scale: glam::Vec3::ONE, parent: LocalId(0), textures: 1 }
    }

    fn made(x: f32) -> EditEffect {
        let PrimState { position, scale, .. } = state(x);
        EditEffect::Made { position, scale }
    }

    /// Two bots with a prim each: made at 0 ms, moved at 1,000 ms and at 2,000 ms, each seen 100 ms later.
    fn history() -> EditHistory {
        let mut history = EditHistory::default();
        for builder in [0, 1] {
            let id = LocalId(10 + builder);
            let moved = |x| EditEffect::Changed(id, state(x));
            for (number, effect) in [(0, made(0.0)), (1, moved(1.0)), (2, moved(2.0))] {
                history.add(number * 1_000 * MS, builder, BuildEvent::Sent { number, effect });
                history.add((number * 1_000 + 100) * MS, builder, BuildEvent::Seen { number, id });
            }
        }
        history
    }

    fn region(prims: &[(u32, f32)]) -> SavedRegion {
        let prims = prims.iter().map(|&(id, x)| (LocalId(id), SavedPrim { state: state(x), crc: 1 }));
        SavedRegion { prims: prims.collect(), ..SavedRegion::default() }
    }

    fn losses(prims: &[(u32, f32)]) -> CrashLosses {
        history().losses(&region(prims), 2_400 * MS)
    }

    #[test]
    fn the_oldest_lost_edit_counts_from_its_request() {
        let all = losses(&[(10, 2.0), (11, 2.0)]);
        assert_eq!((all.n_seen, all.n_lost, all.lost_s, all.torn.len()), (6, 0, 0.0, 0));
        let some = losses(&[(10, 1.0), (11, 1.0)]);
        assert_eq!((some.n_lost, some.torn.len()), (2, 0));
        assert!((some.lost_s - 0.4).abs() < 1e-9, "{some:?}");
        let none = losses(&[]);
        assert_eq!((none.n_lost, none.torn.len()), (6, 0));
        assert!((none.lost_s - 2.4).abs() < 1e-9, "{none:?}");
    }

    #[test]
    fn a_region_without_one_moment_for_all_prims_is_torn() {
        // One prim is of 1,000 to 2,000 ms, the other of before 1,000 ms: the loss was seen at 1,100 ms, before 2,000 ms.
        assert_eq!(losses(&[(10, 2.0), (11, 0.0)]).torn.len(), 1);
        // Of 1,000 and of before 1,000 ms: the lost edit was seen after the included one had been sent.
        assert_eq!(losses(&[(10, 1.0), (11, 0.0)]).torn, Vec::<String>::new());
        assert_eq!(losses(&[(10, 5.0), (11, 2.0)]).torn.len(), 1, "no edit left it so");
        let damaged = SavedRegion { damages: vec!["a row".into()], ..region(&[(10, 2.0), (11, 2.0)]) };
        assert_eq!(history().losses(&damaged, 3_000 * MS).torn, ["a row"]);
    }

    #[test]
    fn a_prim_that_was_made_and_removed_since_the_frame_tears_nothing() {
        let mut history = history();
        let id = LocalId(12);
        history.add(1_200 * MS, 0, BuildEvent::Sent { number: 9, effect: made(3.0) });
        history.add(1_300 * MS, 0, BuildEvent::Seen { number: 9, id });
        history.add(2_300 * MS, 0, BuildEvent::Sent { number: 10, effect: EditEffect::Gone(id) });
        // The frame is of 500 ms.
        let found = history.losses(&region(&[(10, 0.0), (11, 0.0)]), 2_400 * MS);
        assert_eq!((found.n_lost, found.torn.len()), (4, 0), "{found:?}");
        // With the removal it would be of 2,300 ms and more, and with the prim without it of less.
        let found = history.losses(&region(&[(10, 2.0), (11, 2.0), (12, 3.0)]), 2_400 * MS);
        assert_eq!((found.n_lost, found.torn.len()), (0, 0), "{found:?}");
    }

    #[test]
    fn an_edit_that_its_bot_has_not_seen_is_no_loss() {
        let mut history = history();
        let late = EditEffect::Changed(LocalId(10), state(9.0));
        history.add(2_300 * MS, 0, BuildEvent::Sent { number: 3, effect: late });
        let unseen = EditEffect::Made { position: glam::Vec3::ONE, scale: glam::Vec3::ONE };
        history.add(2_300 * MS, 1, BuildEvent::Sent { number: 3, effect: unseen });
        let found = history.losses(&region(&[(10, 2.0), (11, 2.0)]), 2_400 * MS);
        assert_eq!((found.n_lost, found.torn.len()), (0, 0), "{found:?}");
    }

    #[test]
    fn prims_in_another_state_than_that_of_their_last_edit_are_not_durable() {
        let history = history();
        assert_eq!(history.durable(&region(&[(10, 2.0), (11, 2.0)])), (6, vec![]));
        assert_eq!(history.durable(&region(&[(10, 2.0), (11, 1.0)])), (3, vec![LocalId(11)]));
        assert_eq!(history.durable(&region(&[(11, 2.0)])), (3, vec![LocalId(10)]));
    }
}
