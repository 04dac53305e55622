//! Avatars among prims: walls, stairs, floors that move and go.

mod meshes;

use crate::built::{GROUND_M, Site, block, built_config, ground, nth};
use crate::stage::{STANDING, Stage, control, enter_at};
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, LocalId, Uuid};
use link::{
    Action, ControlFlags, CopyPlace, Derez, DerezKind, Duplicates, FlagsEdit, NewObject, ObjectCommand,
    ObjectPage, RestingIds, StoredObjects, Terrain, VersionedBody, index_in_page, page_of,
};
use prim::{Body, Shape, ShapeKind};
use std::f32::consts::FRAC_PI_2;
use std::sync::Arc;
use world::{WorldConfig, animations};

fn delete(id: LocalId) -> ObjectCommand {
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    ObjectCommand::Derez(Derez { objects: vec![id], kind: DerezKind::Delete, folder, transaction })
}

impl Site {
    /// A visitor on the ground, at rest.
    fn enter(&mut self, session: u64, at: Vec3) {
        self.stage.send(session, enter_at(at + Vec3::Z * STANDING));
        self.stage.step();
    }

    /// Walks straight for some ticks; the largest height of the soles.
    fn walk(&mut self, session: u64, yaw: f32, ticks: u32) -> f32 {
        self.stage.send(session, control(ControlFlags::AT_POS, Quat::from_rotation_z(yaw)));
        let mut highest = self.soles(session);
        for _ in 0..ticks {
            self.stage.step();
            highest = highest.max(self.soles(session));
        }
        self.stage.send(session, control(ControlFlags::default(), Quat::from_rotation_z(yaw)));
        self.stage.step();
        highest
    }
}

/// A room of 6 m around 140, 128, of one hollow prim, with its southern side open or not.
fn room(has_door: bool) -> NewObject {
    let profile_begin = if has_door { 12_500 } else { 0 };
    let shape = Shape { profile_hollow: 47_500, profile_begin, ..Shape::BOX };
    NewObject { shape, ..block(ground(140.0, 128.0) + Vec3::Z * 1.5, Vec3::new(6.0, 6.0, 3.0)) }
}

#[test]
fn a_hollow_room_is_entered_by_its_open_side_only() {
    for (has_door, from_y, yaw) in
        [(true, 122.0, FRAC_PI_2), (false, 122.0, FRAC_PI_2), (true, 134.0, -FRAC_PI_2)]
    {
        let mut site = Site::new();
        site.build(room(has_door));
        site.enter(2, ground(140.0, from_y));
        site.walk(2, yaw, 40);
        let is_inside = (site.stage.at(2) - Vec2::new(140.0, 128.0)).abs().max_element() < 2.9;
        assert_eq!(is_inside, has_door && from_y < 128.0, "from {from_y} to {}", site.stage.at(2));
        assert!(site.soles(2) - GROUND_M < 0.01, "it walks on the ground");
    }
}

#[test]
fn stairs_are_climbed_and_walked_down() {
    let mut site = Site::new();
    for step in 0..10_u8 {
        let height = 0.3 * f32::from(step + 1);
        let centre = ground(140.0, 120.0 + 0.3 * f32::from(step)) + Vec3::Z * (height / 2.0);
        site.make(block(centre, Vec3::new(2.0, 0.3, height)));
    }
    site.make(block(ground(140.0, 124.85) + Vec3::Z * 1.5, Vec3::new(2.0, 4.0, 3.0)));
    site.stage.step();
    site.enter(2, ground(140.0, 118.0));
    let highest = site.walk(2, FRAC_PI_2, 34);
    assert!((highest - GROUND_M - 3.0).abs() < 1e-3, "up to {highest}");
    site.walk(2, -FRAC_PI_2, 34);
    assert!(site.soles(2) - GROUND_M < 0.01, "down to {}", site.soles(2));
}

#[test]
fn an_avatar_stops_at_a_wall_and_passes_a_phantom_one() {
    let mut site = Site::new();
    let wall = site.build(block(ground(134.0, 128.0) + Vec3::Z, Vec3::new(0.5, 8.0, 2.0)));
    site.walk(1, 0.0, 60);
    let at = site.stage.at(1);
    assert!((at.x - (133.75 - 0.3)).abs() < 0.02, "held by the wall at {at}");
    site.stage.step();
    assert!(site.stage.motion(1).velocity == Vec3::ZERO);
    let phantom = FlagsEdit { is_phantom: true, ..FlagsEdit::default() };
    site.edit(ObjectCommand::Flags(wall, phantom));
    site.walk(1, 0.0, 20);
    assert!(site.stage.at(1).x > 134.5, "through it to {}", site.stage.at(1));
}

#[test]
fn an_avatar_that_leaves_a_stage_falls() {
    // A walker makes a tick in one stride, a runner does not.
    for (height, runs) in [(0.4, false), (0.6, false), (0.6, true), (0.95, true)] {
        let mut site = Site::new();
        site.build(block(ground(140.0, 128.0) + Vec3::Z * (height / 2.0), Vec3::new(4.0, 4.0, height)));
        site.enter(2, ground(140.0, 128.0) + Vec3::Z * height);
        site.stage.send(2, Action::AlwaysRun(runs));
        site.stage.send(2, control(ControlFlags::AT_POS, Quat::IDENTITY));
        let (mut soles, mut has_fallen) = (site.soles(2), false);
        for _ in 0..40 {
            site.stage.step();
            has_fallen |= site.stage.motion(2).velocity.z < -1.0;
            assert!(soles - site.soles(2) < 0.3, "{height} m: from {soles} to {} at once", site.soles(2));
            soles = site.soles(2);
        }
        assert!(has_fallen && soles - GROUND_M < 0.01, "from {height} m to {soles}");
    }
}

#[test]
fn an_avatar_among_prims_cannot_walk_up_a_cliff() {
    let heights = (0..256 * 256).map(|i| if i % 256 < 130 { GROUND_M } else { 41.0 }).collect();
    let mut site = Site::on(Terrain::from_heights(256, heights).unwrap());
    site.build(block(ground(100.0, 100.0), Vec3::ONE));
    for (session, x) in (2..).zip([120.0, 120.03, 120.06, 120.09, 120.12, 120.15]) {
        site.enter(session, ground(x, 130.0 + session as f32));
        let highest = site.walk(session, 0.0, 100);
        // As in a world without prims: a sub-step into the slope of 87°.
        assert!(highest - GROUND_M < 1.1 && site.stage.at(session).x < 129.1, "climbed to {highest}");
    }
}

#[test]
fn an_avatar_falls_onto_a_prim_and_stays_there() {
    let mut site = Site::new();
    site.build(block(ground(150.0, 128.0) + Vec3::Z * 2.0, Vec3::new(8.0, 8.0, 1.0)));
    site.enter(2, ground(150.0, 128.0) + Vec3::Z * 6.0);
    site.stage.run(60);
    assert!((site.soles(2) - (GROUND_M + 2.5)).abs() < 1e-3, "on it at {}", site.soles(2));
    site.stage.run(60);
    assert!(site.stage.is_still(), "{:?}", site.stage.frame.changes);
}

#[test]
fn a_newcomer_stands_on_the_floor_that_it_comes_to() {
    let mut site = Site::new();
    site.build(block(ground(150.0, 128.0) + Vec3::Z * 2.0, Vec3::new(8.0, 8.0, 1.0)));
    let floor = ground(150.0, 128.0) + Vec3::Z * 2.5;
    site.enter(2, floor + Vec3::Z * 0.4);
    assert!((site.soles(2) - floor.z).abs() < 1e-3);
    // The place is taken now.
    site.enter(3, floor);
    assert!(site.stage.at(3).distance(site.stage.at(2)) > 0.5);
    assert!((site.soles(3) - floor.z).abs() < 1e-3);
    assert_eq!(site.stage.animations(2), [animations::STAND]);
}

#[test]
fn an_avatar_is_carried_by_the_prim_under_its_feet() {
    let mut site = Site::new();
    let platform = site.build(block(ground(150.0, 128.0) + Vec3::Z * 0.25, Vec3::new(4.0, 4.0, 0.5)));
    site.enter(2, ground(150.0, 128.0) + Vec3::Z * 0.5);
    let before = site.stage.motion(2).position;
    for n in 1..=20_u8 {
        let way = Vec3::new(0.2, 0.1, 0.05) * f32::from(n);
        site.move_to(platform, ground(150.0, 128.0) + Vec3::Z * 0.25 + way);
        site.stage.step();
        let moved = site.stage.motion(2).position - before;
        assert!(moved.distance(way) < 1e-2, "carried by {moved} instead of {way}");
    }
    assert!(site.stage.motion(2).velocity.length() > 1.0, "clients move it along");
    site.stage.step();
    assert_eq!(site.stage.motion(2).velocity, Vec3::ZERO);
    site.stage.run(5);
    assert!(site.stage.is_still());
}

#[test]
fn an_avatar_falls_when_its_floor_is_gone() {
    let mut site = Site::new();
    let floor = site.build(block(ground(150.0, 128.0) + Vec3::Z * 2.0, Vec3::new(8.0, 8.0, 1.0)));
    site.enter(2, ground(150.0, 128.0) + Vec3::Z * 2.5);
    site.edit(delete(floor));
    site.stage.run(40);
    assert!((site.soles(2) - GROUND_M).abs() < 1e-3);
    site.stage.run(60);
    assert!(site.stage.is_still());
}

#[test]
fn parts_of_a_linkset_are_obstacles_where_their_root_takes_them() {
    let mut site = Site::new();
    let root = site.build(block(ground(150.0, 150.0), Vec3::ONE));
    let wall = site.build(block(ground(152.0, 150.0) + Vec3::Z, Vec3::new(0.5, 8.0, 2.0)));
    site.edit(ObjectCommand::Link(vec![root, wall]));
    site.move_to(root, ground(132.0, 128.0));
    site.stage.step();
    site.walk(1, 0.0, 60);
    assert!(site.stage.at(1).x < 131.5, "the root is in the way at {}", site.stage.at(1));
    site.stage.send(1, Action::Teleport { position: ground(132.0, 130.0), look_at: Vec3::X });
    site.stage.step();
    site.walk(1, 0.0, 60);
    assert!((site.stage.at(1).x - (133.75 - 0.3)).abs() < 0.02, "the part is at {}", site.stage.at(1));
}

/// Copies of a ring, more than a step builds.
fn copies(original: LocalId, n: u8, at: Vec3) -> ObjectCommand {
    let place = |n: u8| at + Vec3::new(f32::from(n % 16), f32::from(n / 16), 0.0) * 0.6;
    let at = |n| CopyPlace::At { position: place(n), ray: None, rotation: None };
    ObjectCommand::Duplicate(Box::new(Duplicates {
        ids: Uuid::from_u128(1 << 90 | at_bits(place(0))),
        group: Uuid::nil(),
        is_selected: false,
        copies: (0..n).map(|n| (original, at(n))).collect(),
    }))
}

fn at_bits(at: Vec3) -> u128 {
    u128::from(at.x.to_bits()) << 32 | u128::from(at.y.to_bits())
}

#[test]
fn forms_of_many_prims_are_built_in_portions_and_restored_worlds_go_on_with_them() {
    let run = |is_restored: bool| {
        let mut site = Site::new();
        let ring = site.build(NewObject {
            shape: Shape::plain(ShapeKind::Ring),
            ..block(ground(100.0, 100.0) + Vec3::Z, Vec3::splat(2.0))
        });
        for row in 0..4_u8 {
            let at = ground(134.0, 120.0 + 4.0 * f32::from(row)) + Vec3::Z;
            site.edit(copies(ring, 250, at));
        }
        // Toward the prims that wait.
        site.stage.send(1, control(ControlFlags::AT_POS, Quat::IDENTITY));
        let mut hashes = Vec::new();
        for tick in 0..40 {
            site.stage.step();
            hashes.push(site.stage.frame.state_hash);
            assert!(!is_restored || site.stage.restore(built_config()), "tick {tick}");
        }
        assert!(site.stage.at(1).x < 133.0, "the rings stop it at {}", site.stage.at(1));
        hashes
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_world_among_prims_is_the_same_after_a_snapshot_at_any_tick() {
    let run = |restored_at: &[u32]| {
        let mut site = Site::new();
        let mut ids = Vec::new();
        for n in 0..60_u8 {
            let (x, y) = (f32::from(n % 8) * 3.0, f32::from(n / 8) * 3.0);
            let size = 0.3 + f32::from(n % 5) * 0.4;
            let shape = if n % 3 == 0 { Shape::plain(ShapeKind::Cylinder) } else { Shape::BOX };
            let at = ground(120.0 + x, 120.0 + y) + Vec3::Z * (size / 2.0);
            ids.push(site.make(NewObject { shape, ..block(at, Vec3::splat(size)) }));
        }
        for session in 2..12_u8 {
            let at = ground(118.0 + f32::from(session), 118.0) + Vec3::Z * STANDING;
            site.stage.send(session.into(), enter_at(at));
        }
        let mut hashes = Vec::new();
        for tick in 0..200_u32 {
            if tick % 20 == 0 {
                for session in 1..12_u8 {
                    let yaw = (tick / 20) as f32 * 1.3 + f32::from(session);
                    let flags = if session % 4 == 0 { ControlFlags::FLY } else { ControlFlags::default() };
                    let flags = flags.union(ControlFlags::AT_POS);
                    site.stage.send(session.into(), control(flags, Quat::from_rotation_z(yaw)));
                }
            }
            let id = ids[tick as usize % ids.len()];
            let at = ground(120.0 + (tick % 23) as f32, 120.0 + (tick % 19) as f32);
            site.move_to(id, at + Vec3::Z * 0.3);
            if tick == 150 {
                ids.drain(..5).for_each(|id| site.edit(delete(id)));
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
    let at: Vec<u32> = (0..20).map(|n| (n * 37 + 11) % 200).collect();
    assert_eq!(straight, run(&at));
}

#[test]
fn avatars_on_open_ground_move_as_in_a_world_without_objects() {
    let run = |has_far_prim: bool| {
        let mut site = Site::new();
        if has_far_prim {
            site.build(block(ground(20.0, 20.0), Vec3::ONE));
        } else {
            site.stage.step();
        }
        site.walk(1, 0.7, 40);
        site.stage.motion(1)
    };
    let (without, with) = (run(false), run(true));
    assert!(without.position.distance(with.position) < 1e-3, "{without:?} and {with:?}");
    assert_eq!(without.velocity, with.velocity);
}

/// Objects of a region: a heap of prims of any turn, half of them boxes, over 64 m and up to 20 m high.
fn heap(n: u32) -> StoredObjects {
    let mut random = 1_u64;
    let mut share = || {
        random = state_hash::mix(random.wrapping_add(0x9E37_79B9));
        (random >> 40) as f32 / (1_u32 << 24) as f32
    };
    let creator = AgentId(Uuid::from_u128(7));
    let mut pages: Vec<ObjectPage> = Vec::new();
    for number in 0..n {
        let id = nth(number);
        if pages.last().is_none_or(|page| page.first != page_of(id)) {
            pages.push(ObjectPage::empty(id));
        }
        let page = pages.last_mut().expect("just made");
        let shape = [Shape::BOX, Shape::BOX, Shape::plain(ShapeKind::Sphere), Shape::plain(ShapeKind::Torus)];
        let (object, shape) = (Uuid::from_u128(u128::from(number) + 1), shape[number as usize % 4]);
        let plain = Body::new(object, shape, Arc::default(), creator, 0);
        let scale = Vec3::new(0.2 + share(), 0.2 + share(), 0.2 + share());
        let body = VersionedBody { version: 1, body: Arc::new(Body { scale, ..plain }) };
        let motion = &mut Arc::make_mut(&mut page.motions)[index_in_page(id)].motion;
        motion.position = ground(100.0 + 64.0 * share(), 100.0 + 64.0 * share()) + Vec3::Z * (20.0 * share());
        motion.rotation = Quat::from_rotation_z(6.0 * share()) * Quat::from_rotation_x(6.0 * share());
        Arc::make_mut(&mut page.bodies)[index_in_page(id)] = Some(body);
    }
    let kept = RestingIds { n_used: n, resting: Vec::new() };
    StoredObjects { pages, kept, ..StoredObjects::default() }
}

#[test]
fn no_avatar_falls_through_ten_thousand_prims() {
    let mut stage = Stage::new(WorldConfig { objects: Some(heap(10_000)), ..built_config() });
    for session in 1..=40_u8 {
        let (x, y) = (f32::from(session % 8) * 7.0, f32::from(session / 8) * 10.0);
        stage.send(session.into(), enter_at(ground(105.0 + x, 105.0 + y) + Vec3::Z * 30.0));
    }
    for tick in 0..260_u32 {
        if tick >= 120 && tick % 40 == 0 {
            for session in 1..=40_u8 {
                let yaw = f32::from(session) + (tick / 40) as f32 * 1.7;
                stage.send(session.into(), control(ControlFlags::AT_POS, Quat::from_rotation_z(yaw)));
            }
        }
        stage.step();
        let soles = |session| stage.motion(session).position.z - STANDING - GROUND_M;
        let lowest = (1..=40).map(soles).fold(f32::INFINITY, f32::min);
        assert!(lowest > -1e-3, "{lowest} m above the ground");
        if tick == 119 {
            let n_on_prims = (1..=40).filter(|&session| soles(session) > 0.5).count();
            assert!(n_on_prims > 20, "{n_on_prims} of 40 have landed on a prim");
        }
    }
}
