//! Seats on prims: sitting down, riding along, getting up.

use crate::built::{GROUND_M, Site, block, built_config, ground, nth};
use crate::stage::{STANDING, Stage, control, enter_at};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{
    Action, Change, ControlFlags, Derez, DerezKind, Event, ObjectCommand, ObjectPage, Placement, RestingIds,
    Seat, SitRefusal, StoredObjects, VersionedBody, index_in_page,
};
use prim::{Body, Shape, SitTarget};
use std::f32::consts::FRAC_PI_2;
use std::sync::Arc;
use world::{WorldConfig, animations};

/// Height of a sitting avatar's centre above its seat.
const CENTRE_M: f32 = 0.4;

/// A bench of 2 m, 3 m north of the builder.
fn bench(site: &mut Site) -> LocalId {
    site.build(block(ground(128.0, 131.0) + Vec3::Z * 0.25, Vec3::new(2.0, 0.6, 0.5)))
}

fn sit(stage: &mut Stage, session: u64, object: LocalId, offset: Vec3) {
    stage.send(session, Action::SitOn { object, offset });
    stage.step();
}

fn seat_of(stage: &Stage, session: u64) -> Option<Seat> {
    stage.entity(session).seat
}

fn refusal(stage: &Stage) -> Option<SitRefusal> {
    stage.events().iter().find_map(|event| match event {
        Event::SitRefused { reason, .. } => Some(*reason),
        _ => None,
    })
}

fn delete(id: LocalId) -> ObjectCommand {
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    ObjectCommand::Derez(Derez { objects: vec![id], kind: DerezKind::Delete, folder, transaction })
}

#[test]
fn an_avatar_sits_on_the_surface_that_its_user_has_chosen() {
    let mut site = Site::new();
    let bench = bench(&mut site);
    let stage = &mut site.stage;
    sit(stage, 1, bench, Vec3::new(0.5, 0.0, 0.25));
    let top = ground(128.5, 131.0) + Vec3::Z * 0.5;
    let motion = stage.motion(1);
    assert!(motion.position.distance(top + Vec3::Z * CENTRE_M) < 1e-3, "{motion:?}");
    assert_eq!(motion.velocity, Vec3::ZERO);
    assert_eq!(stage.animations(1), [animations::SIT]);
    let seat = seat_of(stage, 1).expect("a seat");
    assert_eq!(seat.parent, bench);
    assert!(seat.position.distance(Vec3::new(0.5, 0.0, 0.25 + CENTRE_M)) < 1e-3, "{seat:?}");
    let [Event::Seated { session, position, .. }] = stage.events() else { panic!("{:?}", stage.events()) };
    assert_eq!((*session, *position), (SessionKey(1), seat.position), "the root is the prim");
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::FLY));
    stage.run(10);
    assert_eq!(stage.motion(1), motion, "keys do not move a sitter");
}

#[test]
fn seated_avatars_move_with_the_linkset_without_another_seat() {
    let mut site = Site::new();
    let bench = bench(&mut site);
    let back = site.build(block(ground(128.0, 131.4) + Vec3::Z * 0.7, Vec3::new(2.0, 0.1, 1.4)));
    site.edit(ObjectCommand::Link(vec![bench, back]));
    site.stage.send(2, enter_at(ground(130.0, 130.0) + Vec3::Z * STANDING));
    site.stage.step();
    sit(&mut site.stage, 1, bench, Vec3::new(0.5, 0.0, 0.25));
    sit(&mut site.stage, 2, bench, Vec3::new(-0.5, 0.0, 0.25));
    assert_eq!(seat_of(&site.stage, 2).map(|seat| seat.parent), Some(bench), "two on one linkset");
    let before = [1, 2].map(|session| site.stage.motion(session).position);
    let way = Vec3::new(1.0, -2.0, 3.0);
    site.move_to(bench, ground(128.0, 131.0) + Vec3::Z * 0.25 + way);
    site.stage.step();
    for (session, before) in [1, 2].into_iter().zip(before) {
        assert!((site.stage.motion(session).position - before).distance(way) < 1e-3);
    }
    let reseated = site.stage.frame.changes.iter().any(|change| matches!(change, Change::Seated(..)));
    assert!(!reseated, "clients move them by the linkset");
    let turned = Placement {
        rotation: Some(Quat::from_rotation_z(FRAC_PI_2)),
        is_linked_set: true,
        ..Placement::default()
    };
    let facing = site.stage.motion(1).rotation * Vec3::X;
    site.edit(ObjectCommand::Place(vec![(bench, turned)]));
    site.stage.step();
    let now = site.stage.motion(1).rotation * Vec3::X;
    assert!(now.distance(Quat::from_rotation_z(FRAC_PI_2) * facing) < 1e-3, "turned with it: {now}");
}

#[test]
fn an_avatar_stands_up_beside_its_seat() {
    let mut site = Site::new();
    let bench = bench(&mut site);
    let stage = &mut site.stage;
    sit(stage, 1, bench, Vec3::new(0.5, 0.0, 0.25));
    stage.press(1, ControlFlags::STAND_UP);
    stage.step();
    assert_eq!(seat_of(stage, 1), None);
    assert!(stage.frame.changes.iter().any(|change| matches!(change, Change::Seated(_, None))));
    stage.press(1, ControlFlags::default());
    stage.run(20);
    let at = stage.motion(1).position;
    assert!((at.z - STANDING - GROUND_M).abs() < 1e-3, "on the ground at {at}");
    assert!(at.x > 129.0 + 0.3, "in front of the bench at {at}");
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn an_avatar_gets_up_when_its_seat_is_gone_or_leaves_the_linkset() {
    for is_deleted in [true, false] {
        let mut site = Site::new();
        let bench = bench(&mut site);
        let other = site.build(block(ground(128.0, 133.0) + Vec3::Z * 0.25, Vec3::splat(0.5)));
        site.edit(ObjectCommand::Link(vec![bench, other]));
        site.stage.step();
        sit(&mut site.stage, 1, other, Vec3::Z * 0.25);
        assert_eq!(seat_of(&site.stage, 1).map(|seat| seat.parent), Some(bench));
        site.edit(if is_deleted { delete(bench) } else { ObjectCommand::Delink(vec![other]) });
        site.stage.step();
        assert_eq!(seat_of(&site.stage, 1), None, "deleted: {is_deleted}");
        site.stage.run(30);
        assert_eq!(site.stage.animations(1), [animations::STAND]);
        assert!(site.soles(1) < GROUND_M + 0.6);
    }
}

#[test]
fn a_far_or_unknown_object_is_refused_and_the_avatar_stays() {
    let mut site = Site::new();
    let far = site.build(block(ground(150.0, 131.0), Vec3::ONE));
    let before = site.stage.motion(1);
    for (object, reason) in [(far, SitRefusal::Far), (nth(700), SitRefusal::Unknown)] {
        sit(&mut site.stage, 1, object, Vec3::splat(f32::NAN));
        assert_eq!(refusal(&site.stage), Some(reason));
        assert_eq!(site.stage.motion(1), before);
    }
    let avatar = site.stage.entity(1).id;
    sit(&mut site.stage, 1, avatar, Vec3::ZERO);
    assert_eq!(refusal(&site.stage), Some(SitRefusal::Unknown), "an avatar is no seat");
}

#[test]
fn a_teleport_takes_an_avatar_from_its_seat() {
    let mut site = Site::new();
    let bench = bench(&mut site);
    let stage = &mut site.stage;
    sit(stage, 1, bench, Vec3::ZERO);
    stage.send(1, Action::Teleport { position: ground(50.0, 60.0), look_at: Vec3::Y });
    stage.step();
    assert_eq!(seat_of(stage, 1), None);
    assert_eq!(stage.motion(1).position.z, GROUND_M + STANDING);
    assert_eq!(stage.animations(1), [animations::STAND]);
}

/// A linkset of two prims with sit targets.
fn with_targets() -> WorldConfig {
    let body = |n: u128, target| {
        let creator = AgentId(Uuid::from_u128(1));
        let body = Body::new(Uuid::from_u128(n), Shape::BOX, Arc::default(), creator, 0);
        let sit_target = Some(SitTarget { position: target, rotation: Quat::from_rotation_z(FRAC_PI_2) });
        VersionedBody { version: 1, body: Arc::new(Body { sit_target, ..body }) }
    };
    let mut page = ObjectPage::empty(nth(0));
    for n in 0..2_u8 {
        let index = index_in_page(nth(n.into()));
        let motion = &mut Arc::make_mut(&mut page.motions)[index];
        motion.motion.position = if n == 0 { ground(128.0, 131.0) } else { Vec3::X };
        motion.parent = if n == 0 { LocalId(0) } else { nth(0) };
        motion.link_number = n;
        Arc::make_mut(&mut page.bodies)[index] =
            Some(body(u128::from(n) + 1, Vec3::new(0.0, 0.2, 0.5 + f32::from(n))));
    }
    let kept = RestingIds { n_used: 2, resting: Vec::new() };
    let objects = StoredObjects { pages: vec![page], kept, ..StoredObjects::default() };
    WorldConfig { objects: Some(objects), ..built_config() }
}

#[test]
fn sit_targets_are_taken_by_one_avatar_each() {
    let mut stage = Stage::new(with_targets());
    for session in 1..=3_u8 {
        let at = ground(126.0 + f32::from(session), 129.0);
        stage.send(session.into(), enter_at(at + Vec3::Z * STANDING));
    }
    stage.step();
    for session in 1..=3 {
        sit(&mut stage, session, nth(0), Vec3::new(0.0, 0.0, 0.25));
    }
    let place = |session| seat_of(&stage, session).expect("a seat").position;
    assert!(place(1).distance(Vec3::new(0.0, 0.2, 0.5 + CENTRE_M)) < 1e-3, "{}", place(1));
    assert!(place(2).distance(Vec3::new(1.0, 0.2, 1.5 + CENTRE_M)) < 1e-3, "the other prim's: {}", place(2));
    assert!(place(3).distance(Vec3::new(0.0, 0.0, 0.25 + CENTRE_M)) < 1e-3, "the surface: {}", place(3));
    let facing = stage.motion(1).rotation * Vec3::X;
    assert!(facing.distance(Vec3::Y) < 1e-3, "as the target is turned: {facing}");
}

#[test]
fn seats_are_the_same_after_a_snapshot_at_any_tick() {
    let run = |restored_at: &[u32]| {
        let mut site = Site::new();
        let benches: Vec<LocalId> = (0..6_u8)
            .map(|n| {
                let at = ground(124.0 + f32::from(n) * 2.0, 131.0);
                site.build(block(at + Vec3::Z * 0.25, Vec3::new(1.0, 0.6, 0.5)))
            })
            .collect();
        for session in 2..9_u8 {
            let at = ground(122.0 + f32::from(session), 129.0);
            site.stage.send(session.into(), enter_at(at + Vec3::Z * STANDING));
        }
        let mut hashes = Vec::new();
        for tick in 0..160_u32 {
            let session = u64::from(1 + tick % 8);
            let bench = benches[(tick * 5 % 6) as usize];
            match tick % 7 {
                0 | 3 => site.stage.send(session, Action::SitOn { object: bench, offset: Vec3::Z }),
                1 => {
                    let at = ground(124.0 + (tick % 11) as f32, 131.0);
                    site.move_to(bench, at + Vec3::Z * 0.25);
                }
                4 => site.stage.send(session, control(ControlFlags::STAND_UP, Quat::IDENTITY)),
                5 if tick > 100 => site.edit(delete(bench)),
                _ => {}
            }
            site.stage.step();
            hashes.push(site.stage.frame.state_hash);
            if restored_at.contains(&tick) {
                assert!(site.stage.restore(built_config()), "tick {tick}");
            }
        }
        hashes
    };
    let straight = run(&[]);
    let at: Vec<u32> = (0..20).map(|n| (n * 29 + 7) % 160).collect();
    assert_eq!(straight, run(&at));
}
