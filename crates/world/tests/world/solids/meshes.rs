//! Meshes: boxes until the solid of their asset comes, rooms and floors from then on.

use super::*;
use ids::Epoch;
use link::{Event, ExtraParamEdit, KnownSolid, ObjectChange, PrimFlags};
use prim::{AssetSolid, SolidKey, SolidPart};
use world::World;

const ASSET: u128 = 0xA55E7;
/// Type of the extra parameter that names an asset.
const SCULPT: u16 = 0x30;

fn key(asset: u128) -> SolidKey {
    SolidKey { asset: Uuid::from_u128(asset), part: SolidPart::MeshSurface }
}

/// Boxes between two corners each, in shares of the scale, as one surface.
fn boxes(asset: u128, all: &[(Vec3, Vec3)]) -> Action {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (low, high) in all {
        let first = vertices.len() as u16;
        for n in 0..8_u8 {
            let side = |axis: usize| if n >> axis & 1 == 0 { low[axis] } else { high[axis] };
            vertices.push(Vec3::new(side(0), side(1), side(2)));
        }
        for [a, b, c, d] in
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
        {
            triangles.extend([[a, b, c], [a, c, d]].map(|corners| corners.map(|corner| first + corner)));
        }
    }
    let solid = AssetSolid::surface(vertices, triangles, false).expect("boxes");
    Action::PutSolid(Box::new(KnownSolid { key: key(asset), solid }))
}

/// A room without a ceiling: a floor, three walls, and two pieces of the southern one with a door of a quarter between them.
fn room(asset: u128) -> Action {
    let (wall, door, floor) = (0.45, 0.125, -0.45);
    let (low, high) = (-0.5, 0.5);
    let part =
        |x: [f32; 2], y: [f32; 2], z: [f32; 2]| (Vec3::new(x[0], y[0], z[0]), Vec3::new(x[1], y[1], z[1]));
    boxes(
        asset,
        &[
            part([low, high], [low, high], [low, floor]),
            part([low, -wall], [low, high], [floor, high]),
            part([wall, high], [low, high], [floor, high]),
            part([low, high], [wall, high], [floor, high]),
            part([low, -door], [low, -wall], [floor, high]),
            part([door, high], [low, -wall], [floor, high]),
        ],
    )
}

impl Site {
    /// A prim whose form is an asset.
    fn build_mesh(&mut self, new: NewObject, asset: u128) -> LocalId {
        let id = self.build(new);
        let data = Some([&Uuid::from_u128(asset).as_bytes()[..], &[5]].concat());
        self.edit(ObjectCommand::ExtraParam(vec![(id, ExtraParamEdit { kind: SCULPT, data })]));
        self.stage.step();
        id
    }

    /// Solids that the last frame announces.
    fn wanted(&self) -> Vec<SolidKey> {
        let events = self.stage.events().iter();
        let keys = events.filter_map(|event| match event {
            Event::SolidsWanted(keys) => Some(keys.to_vec()),
            _ => None,
        });
        keys.flatten().collect()
    }
}

/// A house of 8 m around 140, 128, 4 m high.
fn house() -> NewObject {
    block(ground(140.0, 128.0) + Vec3::Z * 2.0, Vec3::new(8.0, 8.0, 4.0))
}

#[test]
fn a_mesh_room_is_a_box_before_its_asset_comes_and_entered_by_its_door_behind_that() {
    let mut site = Site::new();
    site.build_mesh(house(), ASSET);
    assert_eq!(site.wanted(), [key(ASSET)]);
    site.enter(2, ground(140.0, 120.0));
    site.walk(2, FRAC_PI_2, 60);
    let at = site.stage.at(2);
    assert!((at.y - 123.7).abs() < 0.02, "held by the box at {at}");
    site.stage.node(room(ASSET));
    site.stage.step();
    assert!(site.wanted().is_empty());
    site.walk(2, FRAC_PI_2, 60);
    let at = site.stage.at(2);
    assert!((at.y - (131.6 - 0.3)).abs() < 0.05, "held by the northern wall at {at}");
    assert!((site.soles(2) - GROUND_M - 0.2).abs() < 1e-3, "on the floor at {}", site.soles(2));
    // Beside the door is a wall.
    site.enter(3, ground(142.5, 120.0));
    site.walk(3, FRAC_PI_2, 60);
    assert!((site.stage.at(3).y - 123.7).abs() < 0.02, "held by the wall at {}", site.stage.at(3));
}

#[test]
fn an_avatar_on_a_box_falls_onto_the_floor_of_the_mesh_that_replaces_it() {
    let mut site = Site::new();
    site.build_mesh(house(), ASSET);
    site.enter(2, ground(140.0, 128.0) + Vec3::Z * 4.0);
    assert!((site.soles(2) - GROUND_M - 4.0).abs() < 1e-3, "on the box at {}", site.soles(2));
    let before = site.stage.at(2);
    site.stage.node(room(ASSET));
    site.stage.run(60);
    assert!((site.soles(2) - GROUND_M - 0.2).abs() < 1e-3, "on the floor at {}", site.soles(2));
    assert_eq!(site.stage.at(2), before, "it is not moved sideways");
    site.stage.run(60);
    assert!(site.stage.is_still());
}

#[test]
fn solids_that_are_not_wanted_and_those_that_a_session_sends_change_nothing() {
    let mut site = Site::new();
    site.build_mesh(house(), ASSET);
    site.stage.node(room(ASSET + 1));
    site.stage.send(1, room(ASSET));
    let ignored = site.stage.world.counters().ignored;
    site.stage.step();
    let counters = site.stage.world.counters();
    assert_eq!((counters.ignored - ignored, counters.foreign, counters.put_solid), (1, 1, 0));
    site.enter(2, ground(140.0, 120.0));
    site.walk(2, FRAC_PI_2, 60);
    assert!((site.stage.at(2).y - 123.7).abs() < 0.02, "the box is there at {}", site.stage.at(2));
    // Without any prim there is nothing to have a solid.
    let mut empty = Site::new();
    empty.stage.node(room(ASSET));
    empty.stage.step();
    assert_eq!(empty.stage.world.counters().put_solid, 0);
}

#[test]
fn linksets_that_physics_moves_lie_on_the_solid_that_replaces_a_box() {
    let mut site = Site::new();
    let on_top = ground(140.0, 128.0) + Vec3::Z * 4.25;
    site.build_mesh(house(), ASSET);
    let ball = site.build(NewObject { flags: PrimFlags::PHYSICS, ..block(on_top, Vec3::splat(0.5)) });
    let height = |site: &mut Site, ticks: u32| {
        let mut height = None;
        for _ in 0..ticks {
            site.stage.step();
            let mut moved = site.stage.frame.objects.iter().filter_map(|change| match change {
                ObjectChange::Moved(id, prim) if *id == ball => Some(prim.motion.position.z),
                _ => None,
            });
            height = moved.next_back().or(height);
        }
        height
    };
    let resting = height(&mut site, 200);
    assert!(resting.is_none_or(|z| (z - on_top.z).abs() < 0.05), "{resting:?}");
    site.stage.node(room(ASSET));
    let fallen = height(&mut site, 200).expect("it falls");
    assert!((fallen - GROUND_M - 0.45).abs() < 0.05, "to {fallen}");
}

/// Meshes among walkers: two solids that come in the midst of it, a third that never does, and prims that move, vanish and are copied.
fn walk_among_meshes(restored_at: &[u32]) -> Vec<(u64, Vec<SolidKey>)> {
    let mut site = Site::new();
    let mut ids = Vec::new();
    for n in 0..40_u8 {
        let at = ground(120.0 + f32::from(n % 8) * 3.0, 120.0 + f32::from(n / 8) * 4.0);
        let new = block(at + Vec3::Z, Vec3::new(2.0, 1.5, 2.0));
        ids.push(site.build_mesh(new, ASSET + u128::from(n % 3)));
    }
    for session in 2..10_u8 {
        let at = ground(118.0 + f32::from(session), 118.0) + Vec3::Z * STANDING;
        site.stage.send(session.into(), enter_at(at));
    }
    let mut seen = Vec::new();
    for tick in 0..160_u32 {
        if tick % 20 == 0 {
            for session in 1..10_u8 {
                let yaw = (tick / 20) as f32 * 1.3 + f32::from(session);
                site.stage.send(session.into(), control(ControlFlags::AT_POS, Quat::from_rotation_z(yaw)));
            }
        }
        match tick {
            30 => site.stage.node(room(ASSET)),
            60 => site.stage.node(boxes(ASSET + 1, &[(Vec3::splat(-0.5), Vec3::new(0.5, 0.0, 0.2))])),
            90 => ids.iter().step_by(3).for_each(|&id| site.edit(delete(id))),
            100 => {
                site.edit(copies(ids[1], 40, ground(120.0, 140.0)));
                site.edit(copies(ids[2], 5, ground(120.0, 150.0)));
            }
            _ => site.move_to(ids[1], ground(120.0 + (tick % 23) as f32, 121.0) + Vec3::Z),
        }
        site.stage.step();
        seen.push((site.stage.frame.state_hash, site.wanted()));
        if restored_at.contains(&tick) {
            assert!(site.stage.restore(built_config()), "tick {tick}");
        }
    }
    seen
}

#[test]
fn a_world_among_meshes_is_the_same_after_a_snapshot_at_any_tick() {
    let straight = walk_among_meshes(&[]);
    let around_arrivals = [29, 30, 31, 32, 59, 60, 61, 89, 90, 91, 99, 100, 101];
    let random = (0..16).map(|n| (n * 53 + 7) % 160);
    let at: Vec<u32> = around_arrivals.into_iter().chain(random).collect();
    assert_eq!(straight, walk_among_meshes(&at));
}

#[test]
fn solids_of_many_prims_come_in_portions_and_restored_worlds_continue_with_them() {
    let run = |is_restored: bool| {
        let mut site = Site::new();
        let small = block(ground(100.0, 100.0) + Vec3::Z, Vec3::splat(0.5));
        let id = site.build_mesh(small, ASSET);
        for row in 0..4_u8 {
            site.edit(copies(id, 250, ground(134.0, 120.0 + 4.0 * f32::from(row)) + Vec3::Z));
        }
        site.stage.run(2);
        site.stage.node(room(ASSET));
        site.stage.send(1, control(ControlFlags::AT_POS, Quat::IDENTITY));
        let mut hashes = Vec::new();
        for tick in 0..30 {
            site.stage.step();
            hashes.push(site.stage.frame.state_hash);
            assert!(!is_restored || site.stage.restore(built_config()), "tick {tick}");
        }
        hashes
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn another_life_and_a_replica_with_a_gap_get_all_that_the_world_lacks() {
    let mut site = Site::new();
    site.build_mesh(house(), ASSET);
    site.build_mesh(block(ground(100.0, 100.0), Vec3::splat(2.0)), ASSET + 1);
    site.stage.node(room(ASSET));
    site.stage.step();
    assert!(site.wanted().is_empty());
    site.stage.resync();
    site.stage.step();
    assert_eq!(site.wanted(), [key(ASSET + 1)]);
    let snapshot = site.stage.world.snapshot();
    let next = WorldConfig { epoch: Epoch(2), ..built_config() };
    site.stage.world = World::restore(next, &snapshot).expect("its own snapshot");
    site.stage.step();
    assert_eq!(site.wanted(), [key(ASSET + 1)], "those that came are in the snapshot");
    site.stage.step();
    assert!(site.wanted().is_empty());
}
