//! One small story for each example.

use crate::{
    plane::{Plane, TICK_MS},
    village,
};
use behavior::{Go, Pose};
use glam::{Vec2, Vec3};

const PLAYER: u8 = 0;
const VILLAGER: u8 = 1;
const GUARD: u8 = 2;
const BANDIT: u8 = 3;
const SHOPKEEPER: u8 = 4;
const DEER: u8 = 5;

/// A plane with days of 48 minutes: half an hour of the day a minute.
fn plane() -> Plane {
    Plane::new(village::load(), 48)
}

fn at(x: f32, y: f32) -> Vec3 {
    Vec3::new(x, y, 20.0)
}

fn place(name: &str) -> Vec3 {
    village::vocabulary().places.into_iter().find(|place| place.name == name).expect("is there").position
}

#[test]
fn a_villager_has_a_daily_round() {
    let mut plane = plane();
    let home = at(90.0, 120.0);
    let anna = plane.add(VILLAGER, Some("villager"), home.x, home.y);
    let is_near =
        |plane: &Plane, place: Vec3, metres: f32| plane.actors[anna].position.distance(place) < metres;
    for day in 0..2 {
        plane.run_until(2, 0);
        assert!(is_near(&plane, home, 1.5), "day {day}: at home at night");
        assert_eq!(plane.actors[anna].intent.pose, Pose::Sit);
        plane.run_until(7, 0);
        assert!(is_near(&plane, place("well"), 3.5), "day {day}: at the well in the morning");
        plane.run_until(10, 0);
        assert!(is_near(&plane, place("smithy"), 1.5), "day {day}: at work at ten");
        let hammer = plane.actors[anna].intent.animation.expect("works");
        assert_eq!(village::vocabulary().animations[usize::from(hammer.0)], "hammer");
        plane.run_until(12, 45);
        assert!(is_near(&plane, place("bench"), 1.5), "day {day}: at rest at noon");
        plane.run_until(16, 0);
        assert!(is_near(&plane, place("smithy"), 1.5), "day {day}: at work again");
        plane.run_until(19, 0);
        assert!(is_near(&plane, place("market"), 14.0), "day {day}: at the market in the evening");
        plane.run_until(23, 30);
        assert!(is_near(&plane, home, 1.5), "day {day}: at home at night");
    }
}

#[test]
fn a_villager_talks_to_a_passer_by_and_goes_back_to_work() {
    let mut plane = plane();
    let anna = plane.add(VILLAGER, Some("villager"), 118.0, 100.0);
    plane.run_until(10, 0);
    let player = plane.add(PLAYER, None, 121.0, 102.0);
    plane.run_s(20.0);
    assert_eq!(
        plane.log_of(anna),
        ["says Good day to you.", "says Mind the wolves on the north road."],
        "once a minute, not all the time"
    );
    assert_eq!(plane.doing(anna), "work");
    plane.run_s(60.0);
    assert!(plane.log_of(anna).len() > 2, "and again a minute later");
    // A word is left out when its partner leaves in the middle.
    plane.actors[player].position = at(300.0, 300.0);
    plane.run_s(3.0);
    assert_eq!(plane.doing(anna), "work");
}

#[test]
fn a_villager_runs_from_a_bandit_and_not_only_while_it_is_in_view() {
    let mut plane = plane();
    let anna = plane.add(VILLAGER, Some("villager"), 118.0, 100.0);
    plane.run_until(10, 0);
    // An actor of that kind, but without a mind.
    let bandit = plane.add(BANDIT, None, 132.0, 100.0);
    assert!(plane.run_until_that(3.0, |plane| matches!(plane.actors[anna].intent.go, Go::Away { .. })));
    plane.run_s(3.0);
    assert!(plane.distance(anna, bandit) > 20.0, "only {} m", plane.distance(anna, bandit));
    plane.actors[bandit].position = at(400.0, 400.0);
    plane.run_s(40.0);
    assert_eq!(plane.doing(anna), "work", "back at work once the fright is over");
}

#[test]
fn a_guard_challenges_chases_gives_up_at_the_leash_and_returns() {
    let mut plane = plane();
    let home = at(110.0, 110.0);
    let guard = plane.add(GUARD, Some("guard"), home.x, home.y);
    plane.run_s(20.0);
    assert_eq!(plane.doing(guard), "patrol");
    // Ahead on the way, and faster than any guard.
    let ahead = plane.actors[guard].facing.extend(0.0);
    let spot = plane.actors[guard].position + ahead * 15.0;
    let thief = plane.add(PLAYER, None, spot.x, spot.y);
    assert!(plane.run_until_that(2.0, |plane| plane.doing(guard) == "chase"), "{}", plane.doing(guard));
    assert!(plane.log_of(guard).iter().any(|what| what.starts_with("says ")), "{:?}", plane.log);
    assert!(plane.log_of(guard).contains(&"sounds 3"), "{:?}", plane.log);
    plane.actors[thief].goal = Some(at(80.0, -200.0));
    plane.actors[thief].speed = 5.3;
    let mut farthest = 0.0f32;
    for _ in 0..60 * 20 {
        plane.tick();
        farthest = farthest.max(plane.actors[guard].position.distance(home));
    }
    assert!((60.0..75.0).contains(&farthest), "chased {farthest} m from home");
    assert_eq!(plane.doing(guard), "patrol", "gave up and went back");
    plane.run_s(60.0);
    assert!(plane.actors[guard].position.distance(home) < 43.0, "on its round");
}

#[test]
fn a_guard_does_not_turn_round_and_round_at_its_leash_s_end() {
    let mut plane = plane();
    let guard = plane.add(GUARD, Some("guard"), 110.0, 80.0);
    let thief = plane.add(PLAYER, None, 110.0, 68.0);
    plane.actors[guard].facing = Vec2::NEG_Y;
    plane.actors[thief].goal = Some(at(110.0, -10.0));
    plane.actors[thief].speed = 5.0;
    // The thief stands 90 m from the guard's home, in full view of the leash's end.
    let mut changes = 0;
    let mut farthest = 0.0f32;
    let mut before = "";
    for _ in 0..90 * 20 {
        plane.tick();
        let doing = plane.doing(guard);
        changes += usize::from(doing != before);
        before = doing;
        farthest = farthest.max(80.0 - plane.actors[guard].position.y);
    }
    assert!(farthest > 69.0, "only {farthest} m from home");
    assert!(changes < 12, "changed its mind {changes} times in 90 s");
}

#[test]
fn a_guard_fights_a_target_that_stands_its_ground() {
    let mut plane = plane();
    let guard = plane.add(GUARD, Some("guard"), 80.0, 80.0);
    let brave = plane.add(PLAYER, None, 85.0, 80.0);
    plane.run_s(20.0);
    let blows = plane.log_of(guard).iter().filter(|what| **what == "strikes 2").count();
    // One in 1.5 s, of 8 hundredths each: thirteen are enough.
    assert!((11..=13).contains(&blows), "{blows} blows");
    plane.run_s(5.0);
    assert!(plane.actors[brave].health <= 0.0);
    assert_eq!(plane.doing(guard), "patrol", "the fallen are not struck");
    assert_eq!(plane.actors[guard].mind.as_ref().expect("thinks").target(), None);
}

#[test]
fn a_guard_sees_no_target_through_a_wall() {
    let mut plane = plane();
    let guard = plane.add(GUARD, Some("guard"), 80.0, 80.0);
    plane.walls.push((Vec2::new(70.0, 75.0), Vec2::new(150.0, 75.0)));
    plane.add(PLAYER, None, 85.0, 70.0);
    plane.run_s(60.0);
    assert_eq!(plane.log_of(guard), [""; 0]);
    plane.walls.clear();
    assert!(plane.run_until_that(60.0, |plane| !plane.log_of(guard).is_empty()));
}

#[test]
fn one_bandit_notices_and_all_of_them_come() {
    let mut plane = plane();
    // Two of them have their backs to the road, behind a hut.
    let scout = plane.add(BANDIT, Some("bandit"), 40.0, 40.0);
    let others =
        [plane.add(BANDIT, Some("bandit"), 20.0, 44.0), plane.add(BANDIT, Some("bandit"), 18.0, 36.0)];
    plane.walls.push((Vec2::new(30.0, 0.0), Vec2::new(30.0, 60.0)));
    let player = plane.add(PLAYER, None, 60.0, 40.0);
    plane.actors[scout].facing = Vec2::X;
    let all_come = |plane: &Plane| {
        others
            .iter()
            .all(|&other| plane.actors[other].intent.go != Go::Stay && plane.doing(other) != "wander")
    };
    assert!(plane.run_until_that(20.0, all_come), "{} {}", plane.doing(others[0]), plane.doing(others[1]));
    assert!(plane.run_until_that(30.0, |plane| plane.actors[player].health < 1.0));
    assert!(plane.log_of(scout).contains(&"sounds 3"));
    assert!(plane.run_until_that(60.0, |plane| plane.actors[player].health <= 0.0));
}

#[test]
fn a_badly_hurt_bandit_runs() {
    let mut plane = plane();
    let bandit = plane.add(BANDIT, Some("bandit"), 40.0, 40.0);
    let player = plane.add(PLAYER, None, 46.0, 40.0);
    plane.actors[bandit].facing = Vec2::X;
    assert!(plane.run_until_that(10.0, |plane| plane.doing(bandit) == "attack"));
    plane.strike(player, bandit, 0.5);
    plane.run_s(4.0);
    assert_eq!(plane.doing(bandit), "attack", "half of it left");
    plane.strike(player, bandit, 0.3);
    plane.run_s(6.0);
    assert_eq!(plane.doing(bandit), "flee");
    assert!(plane.log_of(bandit).contains(&"says I yield! I yield!"));
    assert!(plane.distance(bandit, player) > 20.0, "only {} m", plane.distance(bandit, player));
}

#[test]
fn a_shopkeeper_welcomes_customers_calls_out_without_and_goes_home() {
    let mut plane = plane();
    let home = at(95.0, 140.0);
    let keeper = plane.add(SHOPKEEPER, Some("shopkeeper"), home.x, home.y);
    plane.run_until(6, 30);
    assert_eq!(plane.doing(keeper), "sit");
    plane.run_until(9, 0);
    assert!(plane.actors[keeper].position.distance(place("counter")) < 1.5);
    assert!(plane.log_of(keeper).iter().any(|what| what.contains("Bread") || what.contains("closer")));
    plane.log.clear();
    let customer = plane.add(PLAYER, None, 104.0, 134.0);
    plane.run_s(25.0);
    let said = plane.log_of(keeper);
    assert_eq!(
        said.iter()
            .filter(|what| what.contains("Welcome") || what.contains("fresh") || what.contains("silver"))
            .count(),
        3,
        "{said:?}"
    );
    let way = plane.actors[customer].position - plane.actors[keeper].position;
    assert!(plane.actors[keeper].facing.dot(way.truncate().normalize()) > 0.95, "faces the customer");
    plane.run_until(20, 0);
    assert!(plane.actors[keeper].position.distance(home) < 1.5);
}

#[test]
fn a_deer_listens_to_runners_and_flees_approaching_avatars() {
    let mut plane = plane();
    let deer = plane.add(DEER, Some("deer"), 200.0, 200.0);
    plane.run_s(30.0);
    let hunter = plane.add(PLAYER, None, 240.0, 200.0);
    let spot = plane.actors[deer].position;
    plane.actors[hunter].goal = Some(spot);
    plane.actors[hunter].speed = 3.2;
    assert!(plane.run_until_that(30.0, |plane| plane.doing(deer) == "flee"));
    assert!(plane.distance(deer, hunter) > 2.5, "not only by touch");
    assert!(
        plane.run_until_that(12.0, |plane| plane.distance(deer, hunter) > 40.0),
        "{}",
        plane.distance(deer, hunter)
    );
}

#[test]
fn a_woodcutter_gathers_and_delivers_all_day_and_rests_at_night() {
    let mut plane = plane();
    let home = at(135.0, 125.0);
    let cutter = plane.add(VILLAGER, Some("woodcutter"), home.x, home.y);
    plane.run_until(3, 0);
    assert_eq!(plane.doing(cutter), "sit");
    plane.run_until(9, 0);
    let log = plane.log_of(cutter).join(" ");
    assert!(log.contains("gathers 1 gathers 1 gathers 1 delivers 3"), "{log}");
    let delivered = plane.log_of(cutter).iter().filter(|what| **what == "delivers 3").count();
    plane.run_until(12, 0);
    // Three hours of this day are six minutes: a round takes half of one.
    let more = plane.log_of(cutter).iter().filter(|what| **what == "delivers 3").count() - delivered;
    assert!((8..=16).contains(&more), "{more} loads in 6 min");
}

/// All of the village in one place, with players about.
fn crowd() -> Plane {
    let mut plane = plane();
    for index in 0..8u8 {
        let spread = f32::from(index) * 4.0;
        plane.add(VILLAGER, Some("villager"), 90.0 + spread, 110.0);
        plane.add(GUARD, Some("guard"), 80.0, 80.0 + spread);
        plane.add(BANDIT, Some("bandit"), 40.0 + spread, 40.0);
        plane.add(DEER, Some("deer"), 60.0, 150.0 + spread);
    }
    plane.add(SHOPKEEPER, Some("shopkeeper"), 95.0, 140.0);
    plane.add(VILLAGER, Some("woodcutter"), 135.0, 125.0);
    for index in 0..4u8 {
        let player = plane.add(PLAYER, None, 30.0 + f32::from(index) * 30.0, 60.0);
        plane.actors[player].goal = Some(at(150.0 - f32::from(index) * 20.0, 150.0));
        plane.actors[player].speed = 2.0;
    }
    plane
}

#[test]
fn equal_runs_are_equal() {
    let run = || {
        let mut plane = crowd();
        (0..200)
            .map(|_| {
                plane.run_s(1.0);
                plane.hash()
            })
            .collect::<Vec<u64>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_run_goes_on_from_a_snapshot_of_its_minds() {
    let mut plane = crowd();
    let mut other = crowd();
    for _ in 0..40 {
        plane.run_s(3.0);
        other.run_s(3.0);
        for actor in &mut other.actors {
            if let Some(mind) = &mut actor.mind {
                let bytes = postcard::to_allocvec(mind).expect("plain data");
                *mind = postcard::from_bytes(&bytes).expect("was written just now");
            }
        }
        assert_eq!(plane.hash(), other.hash());
    }
}

#[test]
fn every_npc_looks_and_thinks_as_often_as_its_level_of_detail_says() {
    let mut plane = crowd();
    let n_npcs = plane.actors.iter().filter(|actor| actor.mind.is_some()).count() as u64;
    plane.run_s(60.0);
    let per_npc_s = |count: u64| count as f32 / n_npcs as f32 / 60.0;
    assert!((1.0..8.5).contains(&per_npc_s(plane.counts.looks)), "{} looks", per_npc_s(plane.counts.looks));
    assert!((1.0..10.0).contains(&per_npc_s(plane.thoughts)), "{} thoughts", per_npc_s(plane.thoughts));
    assert!(plane.counts.rays <= plane.counts.looks * 4);
    assert!(TICK_MS == 50 && plane.counts.clear <= plane.counts.rays);
}
