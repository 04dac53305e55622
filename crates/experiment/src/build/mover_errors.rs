//! Places of movers on clients' screens against those of the recorded world.
//!
//! A client extrapolates a mover from its last update by velocity and acceleration. In each step of a window the nearest movers of each observer, which
//! stands still, are compared.

use crate::error::ExperimentError;
use bots::views::{self, View, ViewChange};
use glam::Vec3;
use ids::LocalId;
use link::{Frame, Motion, ObjectChange, ObjectPage, PrimFlags, PrimMotion};
use recording::{Recording, Replay};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Movers that are compared for each observer: the nearest ones.
const NEAREST: usize = 20;

/// Findings of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MoverErrors {
    /// Distances between displayed and true places, metres.
    errors_m: Vec<f32>,
    /// Comparisons in which the mover was not displayed, or not as a mover.
    n_missing: usize,
}

impl MoverErrors {
    /// 95th percentile of the errors; not a number without any.
    pub(super) fn p95_m(&self) -> f64 {
        let mut errors_m = self.errors_m.clone();
        errors_m.sort_unstable_by(f32::total_cmp);
        let at = (errors_m.len() * 95).div_ceil(100).saturating_sub(1);
        errors_m.get(at).map_or(f64::NAN, |&error_m| error_m.into())
    }

    /// Share of the nearest movers that were not displayed.
    pub(super) fn missing_ratio(&self) -> f64 {
        self.n_missing as f64 / (self.n_missing + self.errors_m.len()) as f64
    }
}

/// Compares the views of observers at these places with a recording, within a window of the machine's monotonic clock.
pub(super) fn measure(
    world: &Path,
    seen: &Path,
    eyes: &BTreeMap<u32, Vec3>,
    window_ns: &Range<u64>,
) -> Result<MoverErrors, ExperimentError> {
    let failed = |reason: String| ExperimentError::Freshness { reason };
    let mut recording = Recording::open(world).map_err(|error| failed(error.to_string()))?;
    let zero_ns = recording.about().clock_zero_ns;
    let mut replay = Replay::new(&recording).map_err(|error| failed(error.to_string()))?;
    let views = views::open(seen).map_err(|error| failed(format!("{error}: {}", error.source)))?;
    let views_zero_ns = views.clock_zero_ns;
    let mut views = views.peekable();
    let (mut truth, mut screens, mut found) =
        (TrueMovers::default(), BTreeMap::<u32, Screen>::new(), MoverErrors::default());
    let steps = recording.steps().map_err(|error| failed(error.to_string()))?;
    for step in steps {
        let step = step.map_err(|error| failed(error.to_string()))?;
        let (now_ns, state_hash) = (zero_ns + step.at.0, step.state_hash);
        let frame = replay.step(step);
        if state_hash.is_some_and(|hash| hash != frame.state_hash) {
            return Err(failed("the replayed world differs from the recorded one".to_owned()));
        }
        truth.apply(frame);
        while let Some(View { at, observer, what }) =
            views.next_if(|view| views_zero_ns + view.at.0 <= now_ns)
        {
            screens.entry(observer).or_default().see(views_zero_ns + at.0, &what);
        }
        if window_ns.contains(&now_ns) {
            for (observer, &eye) in eyes {
                compare(now_ns, eye, &truth, screens.entry(*observer).or_default(), &mut found);
            }
        }
    }
    Ok(found)
}

/// Motions of all roots that physics moves, at rest or not.
#[derive(Debug, Default)]
struct TrueMovers(BTreeMap<LocalId, Motion>);

impl TrueMovers {
    fn apply(&mut self, frame: &Frame) {
        for change in &frame.objects {
            match change {
                ObjectChange::Pages(pages) => {
                    pages.iter().flat_map(ObjectPage::prims).for_each(|(id, prim, _)| self.put(id, prim));
                }
                ObjectChange::Set { id, motion, .. } | ObjectChange::Moved(id, motion) => {
                    self.put(*id, motion);
                }
                ObjectChange::Removed(id) => {
                    self.0.remove(id);
                }
            }
        }
    }

    fn put(&mut self, id: LocalId, prim: &PrimMotion) {
        if prim.parent == LocalId(0) && prim.flags.any(PrimFlags::PHYSICS) {
            self.0.insert(id, prim.motion);
        } else {
            self.0.remove(&id);
        }
    }
}

/// Movers on the screen of an observer.
#[derive(Debug, Default)]
struct Screen(BTreeMap<LocalId, DisplayedMover>);

#[derive(Clone, Copy, Debug)]
struct DisplayedMover {
    at_ns: u64,
    position: Vec3,
    velocity: Vec3,
    acceleration: Vec3,
}

impl DisplayedMover {
    /// The place to which a client moves it.
    fn place(&self, now_ns: u64) -> Vec3 {
        let s = now_ns.saturating_sub(self.at_ns) as f32 / 1e9;
        self.position + self.velocity * s + self.acceleration * (s * s / 2.0)
    }
}

impl Screen {
    fn see(&mut self, at_ns: u64, what: &ViewChange) {
        match *what {
            ViewChange::Mover { id, position, velocity, acceleration } => {
                self.0.insert(id, DisplayedMover { at_ns, position, velocity, acceleration });
            }
            ViewChange::Gone(id) => {
                self.0.remove(&id);
            }
            ViewChange::Placed(_) | ViewChange::Avatar { .. } => {}
        }
    }
}

/// Compares the nearest movers of one observer.
fn compare(now_ns: u64, eye: Vec3, truth: &TrueMovers, screen: &Screen, found: &mut MoverErrors) {
    let moving = truth.0.iter().filter(|(_, motion)| !motion.at_rest());
    let mut nearest: Vec<(f32, LocalId, Vec3)> =
        moving.map(|(id, motion)| (motion.position.distance(eye), *id, motion.position)).collect();
    nearest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    for (_, id, position) in nearest.into_iter().take(NEAREST) {
        match screen.0.get(&id) {
            Some(shown) => found.errors_m.push(shown.place(now_ns).distance(position)),
            None => found.n_missing += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn truth(movers: &[(u32, Vec3, Vec3)]) -> TrueMovers {
        let motion = |position, velocity| Motion { position, velocity, ..Motion::default() };
        TrueMovers(movers.iter().map(|&(id, at, speed)| (LocalId(id), motion(at, speed))).collect())
    }

    #[test]
    fn a_mover_is_displayed_where_its_last_update_leads() {
        let mut screen = Screen::default();
        let (position, velocity, acceleration) = (Vec3::new(10.0, 0.0, 50.0), Vec3::X, Vec3::NEG_Z * 9.8);
        screen.see(S, &ViewChange::Mover { id: LocalId(1), position, velocity, acceleration });
        let mut found = MoverErrors::default();
        let falling = truth(&[(1, Vec3::new(12.0, 0.0, 50.0 - 19.6), Vec3::NEG_Z)]);
        compare(3 * S, Vec3::ZERO, &falling, &screen, &mut found);
        assert!(found.p95_m() < 1e-3, "{found:?}");
        screen.see(3 * S, &ViewChange::Gone(LocalId(1)));
        compare(3 * S, Vec3::ZERO, &falling, &screen, &mut found);
        assert_eq!(found.missing_ratio(), 0.5);
    }

    #[test]
    fn the_nearest_twenty_in_motion_are_compared() {
        let all: Vec<(u32, Vec3, Vec3)> = (0..30).map(|n| (n, Vec3::X * n as f32, Vec3::Z)).collect();
        let mut screen = Screen::default();
        for &(id, at, _) in &all {
            // The farther ones are displayed elsewhere.
            let position = at + Vec3::Y * if id < 20 { 0.1 } else { 9.0 };
            let (velocity, acceleration) = (Vec3::ZERO, Vec3::ZERO);
            screen.see(0, &ViewChange::Mover { id: LocalId(id), position, velocity, acceleration });
        }
        let mut found = MoverErrors::default();
        compare(0, Vec3::ZERO, &truth(&all), &screen, &mut found);
        assert_eq!((found.errors_m.len(), found.n_missing), (20, 0));
        assert!((found.p95_m() - 0.1).abs() < 1e-3, "{found:?}");
        let resting: Vec<(u32, Vec3, Vec3)> = all.iter().map(|&(id, at, _)| (id, at, Vec3::ZERO)).collect();
        compare(0, Vec3::ZERO, &truth(&resting), &screen, &mut found);
        assert_eq!(found.errors_m.len(), 20);
        assert!(MoverErrors::default().p95_m().is_nan());
    }
}
