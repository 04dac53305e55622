//! The scene of one observer, and how it compares with the world.

use super::oldest::Old;
use super::truth::{Person, TruePose, Truth, Who};
use super::{BANDS_M, Band, Freshness, MIDDLE, NEAR, WrongFrom};
use bots::views::ViewChange;
use glam::{Quat, Vec3};
use ids::AgentId;
use replicate::{NEAR_MAX, band_of};
use std::collections::BTreeMap;

/// Time after a stop at which it is judged.
const STOP_NEAR_NS: u64 = 1_000_000_000;
const STOP_FAR_NS: u64 = 5_000_000_000;
/// Between two ticks at 20 Hz.
const TICK_S: f32 = 0.05;

/// An avatar as displayed.
#[derive(Clone, Copy, Debug)]
struct DisplayedAvatar {
    position: Vec3,
    velocity: Vec3,
    rotation: Quat,
    /// Arrival of the latest update.
    at_ns: u64,
    first_ns: u64,
    wrong_since_ns: Option<u64>,
    /// As of the latest comparison.
    band: usize,
}

impl DisplayedAvatar {
    /// Position at which a viewer draws it now.
    fn place(&self, now_ns: u64) -> Vec3 {
        self.position + self.velocity * ((now_ns - self.at_ns) as f32 / 1e9)
    }

    /// True if its error at this moment is above the limits.
    fn is_wrong(&self, now_ns: u64, pose: &TruePose, from: WrongFrom) -> bool {
        let error_m = self.place(now_ns).distance(pose.position);
        error_m > from.error_m || pose.rotation.angle_between(self.rotation) > from.turned_rad
    }
}

/// The scene of one observer.
#[derive(Debug, Default)]
pub(super) struct ObservedScene {
    own: Option<AgentId>,
    placed_ns: u64,
    shown: BTreeMap<Who, DisplayedAvatar>,
    /// Avatars among the nearest 20 that are not displayed, with the start of that state.
    missing: BTreeMap<Who, u64>,
    arrival: NearestSet,
    /// Time of the last check of stops.
    stops_ns: Option<u64>,
    /// All avatars by distance; kept for its allocation.
    near: Vec<(f32, Who)>,
}

/// The nearest when the observer was placed.
#[derive(Debug, Default)]
enum NearestSet {
    #[default]
    Before,
    Watched(Vec<Who>),
    Over,
}

impl ObservedScene {
    pub(super) const fn placed_ns(&self) -> u64 {
        self.placed_ns
    }

    /// Records an update of the observer's view.
    pub(super) fn see(
        &mut self,
        at_ns: u64,
        what: &ViewChange,
        truth: &Truth,
        gaps: Option<&mut [Band; BANDS_M.len()]>,
    ) {
        match what {
            ViewChange::Placed(agent) => {
                self.own = Some(*agent);
                self.placed_ns = at_ns;
            }
            &ViewChange::Avatar { id, position, velocity, rotation } => {
                let Some(who) = truth.of_id(id) else { return };
                let former = self.shown.get(&who);
                if let (Some(former), Some(gaps)) = (former, gaps)
                    && truth.person(who).is_judged
                {
                    gaps[former.band].gap_ms.add((at_ns - former.at_ns) as f64 / 1e6);
                }
                let shown = DisplayedAvatar {
                    position,
                    velocity,
                    rotation,
                    at_ns,
                    first_ns: former.map_or(at_ns, |former| former.first_ns),
                    wrong_since_ns: former.and_then(|former| former.wrong_since_ns),
                    band: former.map_or(BANDS_M.len() - 1, |former| former.band),
                };
                self.shown.insert(who, shown);
                self.missing.remove(&who);
            }
            ViewChange::Gone(id) => {
                if let Some(who) = truth.of_id(*id) {
                    self.shown.remove(&who);
                }
            }
            // Prims are compared elsewhere.
            ViewChange::Mover { .. } => {}
        }
    }

    /// The observer's own avatar and where it is; `None` while it is not in the world.
    fn eye(&self, truth: &Truth) -> Option<(Who, Vec3)> {
        let own = truth.of_agent(self.own?)?;
        Some((own, truth.person(own).poses[0].position))
    }

    /// Distance in metres up to which others are among the nearest [`NEAR_MAX`]; the server ranks all of them, judged here or not.
    fn near_reach_m(&mut self, own: Who, eye: Vec3, truth: &Truth) -> f32 {
        self.near.clear();
        let others = truth.people().filter(|(who, _)| *who != own);
        self.near.extend(others.map(|(who, person)| (person.poses[0].position.distance_squared(eye), who)));
        if self.near.len() <= NEAR_MAX {
            return f32::INFINITY;
        }
        let (_, last, _) = self.near.select_nth_unstable_by(NEAR_MAX - 1, |a, b| a.0.total_cmp(&b.0));
        last.0.sqrt()
    }

    /// Sorts all other judged avatars by distance, the nearest in front; `None` while the observer is not in the world.
    fn rank(&mut self, truth: &Truth, nearest: usize) -> Option<Vec3> {
        let (own, eye) = self.eye(truth)?;
        self.near.clear();
        let others = truth.people().filter(|(who, person)| *who != own && person.is_judged);
        self.near.extend(others.map(|(who, person)| (person.poses[0].position.distance_squared(eye), who)));
        let by_distance = |a: &(f32, Who), b: &(f32, Who)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if self.near.len() > nearest {
            self.near.select_nth_unstable_by(nearest, by_distance);
            self.near.truncate(nearest);
        }
        self.near.sort_unstable_by(by_distance);
        Some(eye)
    }

    /// Compares all displayed avatars with the world.
    pub(super) fn compare(&mut self, now_ns: u64, truth: &Truth, found: &mut Freshness) {
        let Some((own, eye)) = self.eye(truth) else { return };
        let near_m = self.near_reach_m(own, eye, truth);
        self.rank(truth, NEAR);
        found.n_scenes += 1;
        // An avatar that left the world is killed soon; until then it has no true position.
        self.shown.retain(|&who, _| truth.person(who).is_here);
        let mut oldest_ns = 0;
        for (&who, shown) in &mut self.shown {
            if who == own {
                continue;
            }
            let person = truth.person(who);
            if !person.is_judged {
                continue;
            }
            let far_m = person.poses[0].position.distance(eye);
            let rank = if far_m <= near_m { 0 } else { NEAR_MAX };
            let (error_mm, age_ns) = judge(shown, now_ns, person, WrongFrom::of_band(band_of(rank, far_m)));
            shown.band = BANDS_M.iter().position(|&reach_m| far_m <= reach_m).unwrap_or(BANDS_M.len() - 1);
            let band = &mut found.bands[shown.band];
            band.error_mm.add(error_mm);
            band.age_ms.add(age_ns as f64 / 1e6);
            oldest_ns = oldest_ns.max(age_ns);
            if let (Some(observer), Some(since_ns)) = (self.own, shown.wrong_since_ns) {
                let [now, before] = person.poses;
                found.oldest.note(Old {
                    observer,
                    who,
                    since_ns,
                    age_ns,
                    far_m,
                    error_m: error_mm as f32 / 1e3,
                    turned_deg: now.rotation.angle_between(shown.rotation).to_degrees(),
                    untold_ns: now_ns - shown.at_ns,
                    told_m_per_s: shown.velocity.length(),
                    went_m_per_s: now.position.distance(before.position) / TICK_S,
                });
            }
        }
        found.visible.add((self.shown.len() - usize::from(self.shown.contains_key(&own))) as f64);
        found.oldest_ms.add(oldest_ns as f64 / 1e6);
        let missing = std::mem::take(&mut self.missing);
        for &(_, who) in &self.near {
            if let Some(shown) = self.shown.get(&who) {
                let person = truth.person(who);
                let error_mm = f64::from(shown.place(now_ns).distance(person.poses[0].position)) * 1e3;
                found.near_error_mm.add(error_mm);
                if person.is_moving {
                    found.moving_error_mm.add(error_mm);
                }
                let since_ns = shown.wrong_since_ns.unwrap_or(now_ns);
                found.near_age_ms.add((now_ns - since_ns) as f64 / 1e6);
            } else {
                let since_ns = missing.get(&who).copied().unwrap_or(now_ns);
                found.near_error_mm.add(f64::NAN);
                found.n_missing += 1;
                found.near_age_ms.add((now_ns - since_ns) as f64 / 1e6);
                self.missing.insert(who, since_ns);
            }
        }
    }

    /// Looks at avatars that stopped a while ago: each stop once, at the first call behind that while.
    pub(super) fn check_stops(&mut self, now_ns: u64, truth: &Truth, found: &mut Freshness) {
        if self.rank(truth, MIDDLE).is_none() {
            return;
        }
        let Some(former_ns) = self.stops_ns.replace(now_ns) else { return };
        let stopped_for = |who: Who, after_ns: u64| {
            let person = truth.person(who);
            let since_ns = person.stopped_ns.filter(|_| person.is_here);
            since_ns.is_some_and(|since_ns| (former_ns + 1..=now_ns).contains(&(since_ns + after_ns)))
        };
        let mut near: Vec<Who> = self.near.iter().map(|&(_, who)| who).collect();
        near.sort_unstable();
        for (&who, shown) in &self.shown {
            let after_ns = if near.binary_search(&who).is_ok() { STOP_NEAR_NS } else { STOP_FAR_NS };
            if stopped_for(who, after_ns) {
                let place = truth.person(who).poses[0].position;
                found.stop_error_mm.add(f64::from(shown.place(now_ns).distance(place)) * 1e3);
            }
        }
    }

    /// Waits until all avatars near the observer's placement are displayed.
    pub(super) fn watch_arrival(&mut self, truth: &Truth, found: &mut Freshness) {
        match &self.arrival {
            NearestSet::Over => {}
            NearestSet::Before => {
                if self.rank(truth, MIDDLE).is_some() {
                    self.arrival = NearestSet::Watched(self.near.iter().map(|&(_, who)| who).collect());
                }
            }
            NearestSet::Watched(nearest) => {
                let here = nearest.iter().filter(|&&who| truth.person(who).is_here);
                let shown: Option<Vec<u64>> =
                    here.map(|who| self.shown.get(who).map(|shown| shown.first_ns)).collect();
                if let Some(shown) = shown {
                    let last_ns = shown.into_iter().max().unwrap_or(self.placed_ns);
                    found.arrival_ms.add(last_ns.saturating_sub(self.placed_ns) as f64 / 1e6);
                    self.arrival = NearestSet::Over;
                }
            }
        }
    }

    /// The window is over.
    pub(super) fn end(&mut self, now_ns: u64, found: &mut Freshness) {
        if matches!(self.arrival, NearestSet::Watched(_)) {
            found.arrival_ms.add(now_ns.saturating_sub(self.placed_ns) as f64 / 1e6);
        }
    }
}

/// Error in millimetres and age in nanoseconds, after noting whether it is wrong.
fn judge(shown: &mut DisplayedAvatar, now_ns: u64, person: &Person, from: WrongFrom) -> (f64, u64) {
    let error_m = shown.place(now_ns).distance(person.poses[0].position);
    if shown.is_wrong(now_ns, &person.poses[0], from) {
        shown.wrong_since_ns.get_or_insert(now_ns);
    } else {
        shown.wrong_since_ns = None;
    }
    (f64::from(error_m) * 1e3, now_ns - shown.wrong_since_ns.unwrap_or(now_ns))
}
