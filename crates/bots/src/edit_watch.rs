//! Edits of building bots on the screens of other clients: how long each takes to get there.
//!
//! ```text
//! builder: BuildEvent ─► on_event ─► expected, by prim ─► on_prim, on_kill of an observer: seen after so long
//!                                                          none within 10 s ─► not seen
//! ```
//!
//! An edit is expected by the observers that display its prim, a new prim by those within whose reach it stands. An observer that shows a later
//! state of a prim has seen the earlier edits, too: servers send states, not edits.

use crate::builder::{BuildEvent, EditEffect, PrimState, SEEN_WITHIN};
use crate::distribution::Distribution;
use crate::prims::SeenPrim;
use crate::sender::FAR_M;
use glam::Vec3;
use ids::{Instant, LocalId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Metres of reach for each metre of radius, and the least and the most of it: servers send objects from there on.
const REACH_FACTOR: f32 = 170.0;
const REACH_RANGE_M: (f32, f32) = (32.0, 512.0);
/// Metres beyond the draw distance from which objects are sent; wider ones are sent from their radius beyond.
const BEYOND_DRAW_M: f32 = 64.0;
/// Metres within its reach from which a new prim is expected: the observer's place is that of its avatar, not that of its camera.
const MARGIN_M: f32 = 4.0;
/// Edits under way; of further ones nothing is expected.
const EXPECTED_MAX: usize = 100_000;

/// An edit that is not on all screens yet.
#[derive(Clone, Debug)]
struct ExpectedEdit {
    at: Instant,
    effect: EditEffect,
    /// Observers that have not seen it.
    waiting: BTreeSet<u32>,
    /// True once any observer has.
    is_seen: bool,
}

/// An observing bot.
#[derive(Clone, Debug, Default)]
struct Watcher {
    eye: Vec3,
    shown: BTreeSet<LocalId>,
}

/// Edits under way to observers, and their times.
#[derive(Clone, Debug, Default)]
pub struct EditWatch {
    watchers: BTreeMap<u32, Watcher>,
    /// New prims whose local ids are not known, by bot and number of the edit.
    unnamed: BTreeMap<(u32, u64), ExpectedEdit>,
    /// The same by their places along x, millimetres.
    by_x: BTreeSet<(i32, (u32, u64))>,
    /// By prim, in the order of the edits.
    expected: BTreeMap<LocalId, VecDeque<ExpectedEdit>>,
    n_expected: usize,
    counters: WatchCounters,
    seen_after: Distribution,
}

/// Counters of a watch; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchCounters {
    /// New prims that any observer has displayed.
    pub made: u64,
    /// Edits on screens of observers, once for each observer.
    pub seen: u64,
    /// Edits that were not on the screen of an observer within [`SEEN_WITHIN`], once for each observer.
    pub unseen: u64,
}

impl EditWatch {
    /// Counters.
    #[must_use]
    pub const fn counters(&self) -> &WatchCounters {
        &self.counters
    }

    /// Times from requests to the updates that showed their effects to observers.
    #[must_use]
    pub const fn seen_after(&self) -> &Distribution {
        &self.seen_after
    }

    /// An observer stands here now.
    pub fn place(&mut self, observer: u32, eye: Vec3) {
        self.watchers.entry(observer).or_default().eye = eye;
    }

    /// Takes in an event of a building bot.
    pub fn on_event(&mut self, at: Instant, builder: u32, event: &BuildEvent) {
        match *event {
            BuildEvent::Sent { number, effect } => self.on_sent(at, (builder, number), effect),
            BuildEvent::Seen { number, id } => {
                if let Some(edit) = self.take_unnamed((builder, number)) {
                    self.put(id, edit);
                }
            }
        }
    }

    fn on_sent(&mut self, at: Instant, key: (u32, u64), effect: EditEffect) {
        if self.n_expected >= EXPECTED_MAX {
            return;
        }
        let within = |watcher: &Watcher| match effect {
            EditEffect::Made { position, scale } => is_within_reach(watcher.eye, position, scale),
            EditEffect::Changed(id, _) | EditEffect::Gone(id) => watcher.shown.contains(&id),
        };
        let watching = self.watchers.iter().filter(|(_, watcher)| within(watcher));
        let mut waiting: BTreeSet<u32> = watching.map(|(observer, _)| *observer).collect();
        match effect {
            EditEffect::Made { position, .. } if !waiting.is_empty() => {
                self.by_x.insert((millimetres(position.x), key));
                self.unnamed.insert(key, ExpectedEdit { at, effect, waiting, is_seen: false });
            }
            EditEffect::Made { .. } => return,
            EditEffect::Changed(id, _) | EditEffect::Gone(id) => {
                // An observer on its way to a former state of the prim may be shown this one instead.
                let under_way = self.expected.get(&id).into_iter().flatten();
                waiting.extend(under_way.flat_map(|edit| edit.waiting.iter().copied()));
                if waiting.is_empty() {
                    return;
                }
                self.expected.entry(id).or_default().push_back(ExpectedEdit {
                    at,
                    effect,
                    waiting,
                    is_seen: false,
                });
            }
        }
        self.n_expected += 1;
    }

    /// Takes in a prim as an observer displays it.
    pub fn on_prim(&mut self, now: Instant, observer: u32, id: LocalId, seen: &SeenPrim) {
        let is_new = self.watchers.entry(observer).or_default().shown.insert(id);
        let state = PrimState::of(seen);
        if self.expected.contains_key(&id) {
            self.settle(now, observer, id, Some(&state));
        } else if is_new && let Some(key) = self.find_unnamed(&state) {
            let mut edit = self.take_unnamed(key).expect("just found");
            self.note_seen(now, observer, &mut edit);
            // The prim has its name now.
            self.put(id, edit);
        }
    }

    /// The new prim that an observer displays in this state.
    fn find_unnamed(&self, state: &PrimState) -> Option<(u32, u64)> {
        let x = millimetres(state.position.x);
        let near = self.by_x.range((x - 2, (0, 0))..=(x + 2, (u32::MAX, u64::MAX)));
        near.map(|(_, key)| *key).find(|key| self.unnamed[key].effect.is_shown_by(Some(state)))
    }

    fn take_unnamed(&mut self, key: (u32, u64)) -> Option<ExpectedEdit> {
        let edit = self.unnamed.remove(&key)?;
        if let EditEffect::Made { position, .. } = edit.effect {
            self.by_x.remove(&(millimetres(position.x), key));
        }
        Some(edit)
    }

    /// Puts an edit before the others of its prim, unless all have seen it.
    fn put(&mut self, id: LocalId, edit: ExpectedEdit) {
        if edit.waiting.is_empty() {
            self.n_expected -= 1;
        } else {
            self.expected.entry(id).or_default().push_front(edit);
        }
    }

    fn note_seen(&mut self, now: Instant, observer: u32, edit: &mut ExpectedEdit) {
        if edit.waiting.remove(&observer) {
            let is_first = !std::mem::replace(&mut edit.is_seen, true);
            self.counters.seen += 1;
            self.counters.made += u64::from(is_first && matches!(edit.effect, EditEffect::Made { .. }));
            self.seen_after.record(now - edit.at);
        }
    }

    /// Takes in the removal of a prim from an observer's screen.
    pub fn on_kill(&mut self, now: Instant, observer: u32, id: LocalId) {
        self.watchers.entry(observer).or_default().shown.remove(&id);
        self.settle(now, observer, id, None);
    }

    /// Notes that an observer has seen the edits of a prim up to the last one that this state shows.
    fn settle(&mut self, now: Instant, observer: u32, id: LocalId, state: Option<&PrimState>) {
        let Some(mut edits) = self.expected.remove(&id) else { return };
        let last = edits.iter().rposition(|edit| edit.effect.is_shown_by(state));
        for edit in edits.iter_mut().take(last.map_or(0, |last| last + 1)) {
            self.note_seen(now, observer, edit);
        }
        let n_before = edits.len();
        edits.retain(|edit| !edit.waiting.is_empty());
        self.n_expected -= n_before - edits.len();
        if !edits.is_empty() {
            self.expected.insert(id, edits);
        }
    }

    /// Gives up edits that were not seen in time.
    pub fn give_up_overdue(&mut self, now: Instant) {
        let (mut n_unseen, mut n_given_up) = (0, 0);
        let mut keep = |edit: &ExpectedEdit| {
            let is_overdue = now.since(edit.at) > SEEN_WITHIN;
            if is_overdue {
                n_unseen += edit.waiting.len() as u64;
                n_given_up += 1;
            }
            !is_overdue
        };
        self.unnamed.retain(|_, edit| keep(edit));
        self.by_x.retain(|(_, key)| self.unnamed.contains_key(key));
        self.expected.retain(|_, edits| {
            edits.retain(&mut keep);
            !edits.is_empty()
        });
        self.counters.unseen += n_unseen;
        self.n_expected -= n_given_up;
    }
}

/// True if a server sends a prim to a client at this place.
fn is_within_reach(eye: Vec3, position: Vec3, scale: Vec3) -> bool {
    let radius_m = scale.length() / 2.0;
    let reach_m = (radius_m * REACH_FACTOR).clamp(REACH_RANGE_M.0, REACH_RANGE_M.1);
    eye.distance(position) <= reach_m.min(FAR_M + BEYOND_DRAW_M) - MARGIN_M
}

/// A coordinate as a key: edits whose places differ by less than the tolerance have keys that differ by 2 at most.
fn millimetres(along: f32) -> i32 {
    (along * 1_000.0).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use std::time::Duration;
    use wire::messages::ObjectUpdate;

    const ID: LocalId = LocalId(1 << 20);
    const BUILDER: u32 = 9;
    const PLACE: Vec3 = Vec3::new(100.0, 100.0, 30.0);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn seen(position: Vec3) -> SeenPrim {
        SeenPrim {
            id: Uuid::from_u128(1),
            crc: 1,
            parent: LocalId(0),
            position,
            scale: Vec3::ONE,
            update_flags: 0,
            textures: 5,
            updated_at: Instant::ZERO,
            form: ObjectUpdate::NUMBER,
        }
    }

    fn sent(number: u64, effect: EditEffect) -> BuildEvent {
        BuildEvent::Sent { number, effect }
    }

    fn made() -> EditEffect {
        EditEffect::Made { position: PLACE, scale: Vec3::ONE }
    }

    fn moved(x: f32) -> EditEffect {
        EditEffect::Changed(ID, PrimState::of(&seen(PLACE + Vec3::X * x)))
    }

    /// A near observer, and one that no prim of a metre is sent to.
    fn watch() -> EditWatch {
        let mut watch = EditWatch::default();
        watch.place(0, Vec3::new(90.0, 100.0, 25.0));
        watch.place(1, Vec3::new(250.0, 250.0, 25.0));
        watch
    }

    #[test]
    fn a_new_prim_is_expected_by_the_observers_within_its_reach_alone() {
        let mut watch = watch();
        watch.on_event(at(0), BUILDER, &sent(0, made()));
        watch.on_prim(at(40), 0, LocalId(7), &seen(PLACE + Vec3::Y));
        watch.on_prim(at(90), 0, ID, &seen(PLACE));
        watch.on_prim(at(95), 0, ID, &seen(PLACE));
        watch.give_up_overdue(at(60_000));
        assert_eq!(watch.counters(), &WatchCounters { made: 1, seen: 1, unseen: 0 });
        assert_eq!(watch.seen_after().percentile(1.0), Some(Duration::from_micros(90_100)));
        assert_eq!((watch.n_expected, watch.by_x.len(), watch.expected.len()), (0, 0, 0));
    }

    #[test]
    fn a_later_state_shows_the_earlier_edits_too() {
        let mut watch = watch();
        watch.on_event(at(0), BUILDER, &sent(0, made()));
        watch.on_event(at(50), BUILDER, &BuildEvent::Seen { number: 0, id: ID });
        watch.on_event(at(60), BUILDER, &sent(1, moved(1.0)));
        watch.on_event(at(70), BUILDER, &sent(2, moved(2.0)));
        watch.on_prim(at(100), 0, ID, &seen(PLACE + Vec3::X * 2.0));
        assert_eq!(watch.counters(), &WatchCounters { made: 1, seen: 3, unseen: 0 });
        watch.on_event(at(200), BUILDER, &sent(3, EditEffect::Gone(ID)));
        watch.on_kill(at(220), 0, ID);
        assert_eq!((watch.counters().seen, watch.n_expected), (4, 0));
    }

    #[test]
    fn edits_that_an_observer_does_not_get_to_see_are_counted_ten_seconds_later() {
        let mut watch = watch();
        watch.on_prim(at(0), 0, ID, &seen(PLACE));
        watch.on_event(at(0), BUILDER, &sent(0, moved(1.0)));
        watch.on_event(at(0), BUILDER, &sent(1, made()));
        watch.on_prim(at(100), 0, ID, &seen(PLACE + Vec3::X * 9.0));
        watch.give_up_overdue(at(9_999));
        assert_eq!(watch.counters().unseen, 0);
        watch.give_up_overdue(at(10_001));
        assert_eq!(watch.counters(), &WatchCounters { made: 0, seen: 0, unseen: 2 });
        assert_eq!((watch.n_expected, watch.by_x.len()), (0, 0));
    }
}
