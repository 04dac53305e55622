//! Coming in, going, teleporting, and places that are none.

use crate::stage::{STANDING, Stage, config, enter_at};
use glam::{Quat, Vec3};
use ids::SessionKey;
use link::{Action, CEILING_M, Change, ControlFlags, EntryRefusal, Event, Terrain};
use world::{World, WorldConfig};

#[test]
fn an_arrival_is_sent_with_its_whole_state_and_a_departure_by_id() {
    let mut stage = Stage::with_one();
    let id = stage.entity(1).id;
    assert!(matches!(&stage.frame.changes[..], [Change::Created(entity)] if entity.id == id));
    assert_eq!(stage.motion(1).position, Vec3::new(128.0, 128.0, 21.0 + STANDING));
    stage.send(1, Action::Leave);
    assert_eq!(stage.step().changes, [Change::Removed(id)]);
    assert!(stage.world.is_quiet());
    stage.send(1, Action::Leave);
    stage.step();
    assert!(stage.is_still());
    assert_eq!(stage.world.counters().ignored, 1);
}

#[test]
fn an_avatar_that_comes_and_goes_within_a_tick_is_not_mentioned() {
    let mut stage = Stage::flat();
    stage.send(1, enter_at(Vec3::ONE));
    stage.send(1, Action::Leave);
    stage.step();
    assert!(stage.is_still());
    let empty = World::new(config(Terrain::flat(256, 21.0)));
    assert_ne!(stage.world.state_hash(), empty.state_hash(), "a local id was used up");
}

#[test]
fn impossible_places_become_the_nearest_possible() {
    for (wished, expected) in [
        (Vec3::splat(f32::NAN), Vec3::new(128.0, 128.0, 21.0 + STANDING)),
        (Vec3::new(128.0, f32::INFINITY, 22.0), Vec3::new(128.0, 128.0, 21.0 + STANDING)),
        (Vec3::new(-40.0, 128.0, 22.0), Vec3::new(0.5, 128.0, 21.0 + STANDING)),
        (Vec3::new(1e9, 1e9, 22.0), Vec3::new(255.5, 255.5, 21.0 + STANDING)),
        (Vec3::new(30.0, 30.0, -1e6), Vec3::new(30.0, 30.0, 21.0 + STANDING)),
    ] {
        let mut stage = Stage::flat();
        stage.send(1, enter_at(wished));
        stage.step();
        assert_eq!(stage.motion(1).position, expected, "for {wished}");
        assert_eq!(stage.world.counters().recovered, 1);
    }
}

#[test]
fn an_arrival_above_the_sky_falls_from_its_ceiling() {
    let mut stage = Stage::flat();
    stage.send(1, enter_at(Vec3::new(128.0, 128.0, 1e30)));
    stage.step();
    let z = stage.motion(1).position.z;
    assert!(z < CEILING_M && z > CEILING_M - 5.0, "{z}");
    stage.run(20 * 100);
    assert_eq!(stage.motion(1).position.z, 21.0 + STANDING);
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
}

#[test]
fn a_teleport_moves_and_is_confirmed_and_held_keys_stay_held() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.step();
    stage.send(1, Action::Teleport { position: Vec3::new(50.0, 60.0, 22.0), look_at: Vec3::Y });
    stage.step();
    assert_eq!(stage.events(), [Event::Teleported(SessionKey(1))]);
    let motion = stage.motion(1);
    assert!(motion.position.distance(Vec3::new(50.0, 60.16, 21.95)) < 0.01, "{motion:?}");
    assert!(motion.rotation.angle_between(Quat::from_rotation_z(std::f32::consts::FRAC_PI_2)) < 1e-3);
    assert!(motion.velocity.y > 3.0, "a gateway does not repeat a key that is still held");
}

#[test]
fn entering_twice_moves_the_avatar_that_is_there() {
    let mut stage = Stage::with_one();
    let id = stage.entity(1).id;
    stage.send(1, enter_at(Vec3::new(20.0, 30.0, 22.0)));
    stage.step();
    assert_eq!(stage.world.n_avatars(), 1);
    assert_eq!((stage.entity(1).id, stage.at(1).x), (id, 20.0));
}

#[test]
fn a_full_world_refuses_and_says_so() {
    let mut stage = Stage::new(WorldConfig { max_avatars: 2, ..config(Terrain::flat(256, 21.0)) });
    for session in 1..=3 {
        stage.send(session, enter_at(Vec3::new(128.0, 128.0, 22.0)));
    }
    stage.step();
    assert_eq!(stage.world.n_avatars(), 2);
    assert_eq!(stage.events(), [Event::Refused { session: SessionKey(3), reason: EntryRefusal::Full }]);
}

#[test]
fn a_crowd_that_logs_in_at_one_point_stands_beside_each_other() {
    let mut stage = Stage::flat();
    for session in 1..=500 {
        stage.send(session, enter_at(Vec3::new(128.0, 128.0, 22.0)));
    }
    stage.step();
    let spots: Vec<Vec3> = stage.mirror.0.values().map(|entity| entity.motion.position).collect();
    assert_eq!(spots[0].truncate(), glam::Vec2::splat(128.0), "the first gets the point itself");
    for (i, a) in spots.iter().enumerate() {
        assert!(a.distance(spots[0]) < 40.0, "{a} is far off");
        for b in &spots[..i] {
            assert!(a.truncate().distance(b.truncate()) >= 0.6, "{a} and {b}");
        }
    }
    stage.step();
    assert!(stage.is_still(), "and rests");
}

#[test]
fn local_ids_ascend_and_after_the_last_skip_those_alive() {
    let mut stage =
        Stage::new(WorldConfig { local_ids: 10..14, max_avatars: 3, ..config(Terrain::flat(256, 21.0)) });
    let mut given = Vec::new();
    stage.send(1, enter_at(Vec3::ONE));
    stage.step();
    given.push(stage.entity(1).id.0);
    for session in 2..=7 {
        stage.send(session, enter_at(Vec3::splat(50.0)));
        stage.step();
        given.push(stage.entity(session).id.0);
        stage.send(session, Action::Leave);
        stage.step();
    }
    assert_eq!(given, [10, 11, 12, 13, 11, 12, 13], "10 is still here");
}

#[test]
fn an_empty_world_is_quiet() {
    let mut stage = Stage::flat();
    assert!(stage.world.is_quiet());
    stage.send(1, enter_at(Vec3::ONE));
    stage.step();
    assert!(!stage.world.is_quiet());
    stage.send(1, Action::Leave);
    stage.step();
    assert!(stage.world.is_quiet());
}

#[test]
#[should_panic(expected = "lets in 4 beside 0 NPCs and 0 objects with 4 local ids")]
fn a_world_with_fewer_local_ids_than_avatars_is_refused() {
    Stage::new(WorldConfig { local_ids: 10..14, max_avatars: 4, ..config(Terrain::flat(256, 21.0)) });
}
