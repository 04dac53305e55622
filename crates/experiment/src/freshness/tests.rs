//! One walker and one observer: findings about the observer's updates.

use super::scene::ObservedScene;
use super::truth::Truth;
use super::{BANDS_M, Freshness, WrongFrom};
use bots::views::ViewChange;
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{Audience, Avatar, Change, Entity, Frame, Motion};
use std::sync::Arc;

const OWN: AgentId = AgentId(Uuid::from_u128(1));
const WALKER: LocalId = LocalId(2);
const SPEED: f32 = 3.2;
const TICK_NS: u64 = 50_000_000;
/// The observer was placed long before.
const START_NS: u64 = 100_000_000_000;

fn avatar(id: u32, position: Vec3) -> Arc<Entity> {
    let avatar = Avatar {
        session: SessionKey(id.into()),
        agent: AgentId(Uuid::from_u128(id.into())),
        first_name: String::new(),
        last_name: if id == 2 { "Walker" } else { "Other" }.to_owned(),
        size: Vec3::ONE,
        appearance: None,
        animations: link::Animations::new(),
    };
    let motion = Motion { position, ..Motion::default() };
    Arc::new(Entity { id: LocalId(id), audience: Audience::All, motion, seat: None, avatar })
}

/// A world of the observer and a walker, and the observer's scene.
struct Play {
    truth: Truth,
    scene: ObservedScene,
    found: Freshness,
    now_ns: u64,
    motion: Motion,
}

impl Play {
    fn begin() -> Self {
        Self::judging(None)
    }

    fn judging(judged: Option<&str>) -> Self {
        Self::of(5.0, 0, judged)
    }

    /// The walker at `far_m` from the observer, and `n_nearer` nearer avatars, which are not judged.
    fn beside(far_m: f32, n_nearer: u32) -> Self {
        Self::of(far_m, n_nearer, Some("Walker"))
    }

    fn of(far_m: f32, n_nearer: u32, judged: Option<&str>) -> Self {
        let place = Vec3::new(far_m, 0.0, 0.0);
        let nearer = (0..n_nearer).map(|n| avatar(3 + n, Vec3::new(1.0, 0.0, 0.0)));
        let truth = Truth::new([avatar(1, Vec3::ZERO), avatar(2, place)].into_iter().chain(nearer), judged);
        let mut scene = ObservedScene::default();
        scene.see(0, &ViewChange::Placed(OWN), &truth, None);
        let motion = Motion { position: place, ..Motion::default() };
        let mut play = Self { truth, scene, found: Freshness::new(), now_ns: START_NS, motion };
        play.send_update(0);
        play
    }

    /// Sends the observer the walker's position, some time after the tick.
    fn send_update(&mut self, late_ns: u64) {
        let Motion { position, velocity, rotation, .. } = self.motion;
        let sight = ViewChange::Avatar { id: WALKER, position, velocity, rotation };
        self.scene.see(self.now_ns + late_ns, &sight, &self.truth, Some(&mut self.found.bands));
    }

    fn step(&mut self, velocity: Vec3) {
        self.now_ns += TICK_NS;
        self.motion.position += velocity * 0.05;
        self.motion.velocity = velocity;
        let frame = Frame { changes: vec![Change::Moved(WALKER, self.motion)], ..Frame::empty() };
        self.truth.apply(self.now_ns, &frame);
    }

    fn compare(&mut self) {
        self.scene.compare(self.now_ns, &self.truth, &mut self.found);
    }
}

#[test]
fn the_time_that_an_update_is_under_way_is_not_forgiven() {
    // At 3.2 m/s an update is 64 mm behind for as long as nothing else comes when it took 20 ms, and 128 mm when it took 40 ms.
    for (late_ns, error_mm, age_ms) in [(20_000_000, 64.0, 0.0), (40_000_000, 128.0, 1_950.0)] {
        let mut play = Play::begin();
        play.step(Vec3::X * SPEED);
        play.send_update(late_ns);
        for _ in 0..40 {
            play.step(Vec3::X * SPEED);
            play.compare();
        }
        let found_mm = play.found.near_error_mm.percentile(1.0);
        assert!((error_mm - 2.0..=error_mm + 1.0).contains(&found_mm), "{found_mm}");
        assert_eq!(play.found.near_age_ms.percentile(1.0), age_ms);
        assert_eq!((play.found.visible.percentile(0.0), play.found.n_scenes), (1.0, 40));
    }
}

#[test]
fn the_limit_of_an_error_is_that_of_its_band() {
    let limits = [0, 1, 2].map(|band| WrongFrom::of_band(band).error_m);
    assert!(limits.iter().zip([0.09, 0.2, 0.55]).all(|(limit, m)| (limit - m).abs() < 1e-6), "{limits:?}");
    // Metres to the walker, number of nearer avatars, and the limit of its error.
    for (far_m, n_nearer, limit_m) in [(60.0, 0, 0.09), (70.0, 0, 0.2), (60.0, 60, 0.2), (70.0, 60, 0.55)] {
        for (error_m, age_ms) in [(limit_m - 0.01, 0.0), (limit_m + 0.01, 50.0)] {
            let mut play = Play::beside(far_m, n_nearer);
            play.motion.position.y += error_m;
            (0..2).for_each(|_| {
                play.step(Vec3::ZERO);
                play.compare();
            });
            assert_eq!(
                play.found.oldest_ms.percentile(1.0),
                age_ms,
                "{far_m} m, {n_nearer} nearer, {error_m} m"
            );
        }
    }
}

#[test]
fn only_a_moving_avatar_has_an_error_of_movement() {
    let mut play = Play::begin();
    play.step(Vec3::ZERO);
    play.compare();
    assert_eq!((play.found.near_error_mm.len(), play.found.moving_error_mm.len()), (1, 0));
    play.step(Vec3::X * SPEED);
    play.compare();
    assert_eq!((play.found.near_error_mm.len(), play.found.moving_error_mm.len()), (2, 1));
    assert!((159.0..161.0).contains(&play.found.moving_error_mm.mean()), "a tick of a walk");
}

#[test]
fn an_avatar_that_is_not_judged_is_seen_and_not_compared() {
    for (judged, n) in [("Walker", 1), ("Other", 0)] {
        let mut play = Play::judging(Some(judged));
        play.step(Vec3::X * SPEED);
        play.compare();
        play.send_update(0);
        let found = &play.found;
        assert_eq!(found.visible.percentile(1.0), 1.0);
        let gaps: u64 = found.bands.iter().map(|band| band.gap_ms.len()).sum();
        assert_eq!([found.near_error_mm.len(), found.near_age_ms.len(), gaps], [n; 3], "{judged}");
    }
}

#[test]
fn an_unsent_turn_ages_until_it_is_sent() {
    let mut play = Play::begin();
    play.step(Vec3::X * SPEED);
    play.send_update(0);
    for _ in 0..10 {
        play.step(Vec3::Y * SPEED);
        play.compare();
    }
    // Wrong from the first comparison on: 0.16 m to the side.
    assert_eq!(play.found.near_age_ms.percentile(1.0), 450.0);
    assert_eq!(play.found.oldest_ms.percentile(1.0), 450.0);
    play.send_update(0);
    let before = play.found.near_age_ms.clone();
    play.step(Vec3::Y * SPEED);
    play.compare();
    assert_eq!(play.found.near_age_ms.percentile(0.0), 0.0);
    assert_eq!(play.found.near_age_ms.len(), before.len() + 1);
}

#[test]
fn an_avatar_shown_with_another_rotation_is_wrong_too() {
    let mut play = Play::begin();
    // 2 degrees, and 1.5 of dead reckoning.
    for (degrees, age_ms) in [(3.0_f32, 0.0), (4.0, 200.0)] {
        play.motion.rotation = Quat::from_rotation_z(degrees.to_radians());
        for _ in 0..5 {
            play.step(Vec3::ZERO);
            play.compare();
        }
        assert_eq!(play.found.near_age_ms.percentile(1.0), age_ms);
    }
    play.motion.rotation = Quat::IDENTITY;
    play.step(Vec3::ZERO);
    play.compare();
    assert_eq!(play.found.near_age_ms.percentile(0.1), 0.0, "its other sign is no other rotation");
}

#[test]
fn a_near_avatar_that_is_not_shown_ages() {
    let mut play = Play::begin();
    play.scene.see(play.now_ns, &ViewChange::Gone(WALKER), &play.truth, None);
    for _ in 0..5 {
        play.step(Vec3::ZERO);
        play.compare();
    }
    assert_eq!(play.found.near_age_ms.percentile(1.0), 200.0);
    assert_eq!(play.found.visible.percentile(1.0), 0.0);
    assert!(play.found.near_error_mm.percentile(0.0) > 10_000.0, "worse than any error");
    assert_eq!(play.found.n_missing, play.found.near_age_ms.len());
}

#[test]
fn a_stop_is_looked_at_a_second_later() {
    let mut play = Play::begin();
    play.step(Vec3::X * SPEED);
    play.send_update(0);
    for n in 0..60 {
        play.step(Vec3::ZERO);
        if n % 2 == 0 {
            play.scene.check_stops(play.now_ns, &play.truth, &mut play.found);
        }
    }
    // It stopped at once, and is displayed walking on: a second and a tick later 3.2 m away, and up to a tick more.
    assert_eq!(play.found.stop_error_mm.len(), 1);
    let error_mm = play.found.stop_error_mm.percentile(1.0);
    assert!((3_300.0..3_600.0).contains(&error_mm), "{error_mm}");
}

#[test]
fn an_arrival_ends_when_the_nearest_are_shown() {
    let mut play = Play::begin();
    let mut scene = ObservedScene::default();
    scene.see(play.now_ns, &ViewChange::Placed(OWN), &play.truth, None);
    scene.watch_arrival(&play.truth, &mut play.found);
    play.step(Vec3::ZERO);
    scene.watch_arrival(&play.truth, &mut play.found);
    assert_eq!(play.found.arrival_ms.len(), 0);
    let Motion { position, velocity, rotation, .. } = play.motion;
    let sight = ViewChange::Avatar { id: WALKER, position, velocity, rotation };
    scene.see(play.now_ns + 20_000_000, &sight, &play.truth, None);
    scene.watch_arrival(&play.truth, &mut play.found);
    scene.watch_arrival(&play.truth, &mut play.found);
    assert_eq!((play.found.arrival_ms.len(), play.found.arrival_ms.percentile(1.0)), (1, 70.0));
    let mut nobody = ObservedScene::default();
    nobody.see(play.now_ns, &ViewChange::Placed(OWN), &play.truth, None);
    nobody.watch_arrival(&play.truth, &mut play.found);
    nobody.end(play.now_ns + 9_000_000_000, &mut play.found);
    assert_eq!(play.found.arrival_ms.percentile(1.0), 9_000.0, "as long as it was watched");
}

#[test]
fn gaps_are_counted_by_distance() {
    let mut play = Play::begin();
    play.compare();
    play.step(Vec3::ZERO);
    play.send_update(0);
    let counts = play.found.bands.each_ref().map(|band| band.gap_ms.len());
    assert_eq!(counts, [1, 0, 0], "5 m are in the first of {BANDS_M:?}");
    assert_eq!(play.found.bands[0].gap_ms.percentile(1.0), 50.0);
}
