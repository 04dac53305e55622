//! Rights to edit the ground, undo, sharing of heights, and avatars on edited ground.

use super::super::footing::{follow_ground, grounded_slots};
use super::super::ground_edits::SAMPLES_PER_TICK;
use super::super::{LandAuthor, LandOrder, LandSurroundings, carry_out_orders};
use super::scene::*;
use crate::presence::AvatarSeat;
use crate::world::World;
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{
    Action, Brush, Control, ControlFlags, EstateEdit, Event, GroundEdit, GroundPatch, LandEdit, LandEvent,
    LandRefusal, PATCH_SAMPLES, ParcelFlags, RegionFlags, Seat, StoredLand, StrokeArea, Terrain,
};
use std::sync::Arc;

const UNDO: LandEdit = LandEdit::Ground(GroundEdit::Undo);

fn raise_at(x: f32, y: f32) -> LandEdit {
    stroke(Brush::Raise, disc(x, y, 3.0), 1.0)
}

fn height(scene: &Scene, x: u32, y: u32) -> f32 {
    scene.ground().heights()[(y * scene.ground().size_m() + x) as usize]
}

/// Lets strokes before and after be two edits.
fn pause(scene: &mut Scene) {
    scene.run(21);
}

#[test]
fn a_visitor_edits_only_ground_that_a_parcel_opens() {
    let mut scene = Scene::flat();
    assert_eq!(scene.edit(ADA, raise_at(100.0, 60.0)), Err(LandRefusal::NotPermitted));
    let number = scene.divide_for(EVE, rect(100.0, 0.0, 200.0, 256.0));
    scene.set(EVE, number, |settings| settings.flags = settings.flags.union(ParcelFlags::ALLOW_TERRAFORM));
    // Half of the disc is on the open parcel.
    assert_eq!(scene.edit(ADA, raise_at(100.0, 60.0)), Ok(()));
    assert!(height(&scene, 100, 60) > GROUND_M && height(&scene, 102, 60) > GROUND_M);
    assert_eq!(height(&scene, 99, 60), GROUND_M);
    assert_eq!(scene.edit(ADA, stroke(Brush::Raise, StrokeArea::Parcel(number), 1.0)), Ok(()));
    assert_eq!(
        scene.edit(ADA, stroke(Brush::Raise, StrokeArea::Parcel(scene.number_at(5.0, 5.0)), 1.0)),
        Err(LandRefusal::NotPermitted)
    );
    let mut region = scene.land().estate().region;
    region.flags = region.flags.union(RegionFlags::BLOCK_TERRAFORM);
    scene.edit(MANAGER, LandEdit::Estate(EstateEdit::Region(region))).unwrap();
    assert_eq!(scene.edit(ADA, raise_at(150.0, 60.0)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(EVE, raise_at(150.0, 60.0)), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(MANAGER, raise_at(150.0, 60.0)), Ok(()));
}

#[test]
fn frames_have_each_changed_patch_once() {
    let mut scene = Scene::flat();
    scene.edit_by(OWNER, raise_at(16.0, 16.0));
    scene.edit_by(OWNER, raise_at(15.0, 16.0));
    scene.step();
    let places: Vec<(u8, u8)> =
        scene.frame.ground.iter().map(|patch| (patch.column(), patch.row())).collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    scene.step();
    assert!(scene.frame.ground.is_empty() && scene.frame.land.is_empty());
}

#[test]
fn strokes_that_follow_each_other_are_undone_together() {
    let mut scene = Scene::of(Terrain::hills(256, 9));
    let before = scene.ground().clone();
    let edited = |scene: &Scene| scene.land().stored().ground;
    for n in 0..5 {
        scene.edit(OWNER, raise_at(100.0 + n as f32, 60.0)).unwrap();
    }
    pause(&mut scene);
    let between = (scene.ground().clone(), edited(&scene));
    scene.edit(OWNER, raise_at(90.0, 60.0)).unwrap();
    assert_eq!(scene.edit(OWNER, UNDO), Ok(()));
    assert!(*scene.ground() == between.0 && edited(&scene) == between.1);
    assert_eq!(scene.edit(OWNER, UNDO), Ok(()));
    assert!(*scene.ground() == before && edited(&scene).is_empty());
    assert_eq!(scene.edit(OWNER, UNDO), Err(LandRefusal::NothingToUndo));
}

#[test]
fn undo_leaves_ground_that_was_edited_again() {
    let mut scene = Scene::flat();
    let area = StrokeArea::Rect(rect(100.0, 60.0, 110.0, 70.0));
    scene.edit(OWNER, stroke(Brush::Raise, area, 5.0)).unwrap();
    scene.edit(MANAGER, stroke(Brush::Raise, StrokeArea::Rect(rect(100.0, 60.0, 104.0, 70.0)), 1.0)).unwrap();
    scene.edit(OWNER, UNDO).unwrap();
    assert_eq!([104, 105].map(|x| height(&scene, x, 65)), [GROUND_M + 6.0, GROUND_M]);
    scene.edit(MANAGER, UNDO).unwrap();
    assert_eq!(height(&scene, 104, 65), GROUND_M + 5.0);
    // Sessions undo their own edits only, and where they may edit.
    assert_eq!(scene.edit(ADA, UNDO), Err(LandRefusal::NothingToUndo));
    let number = scene.divide_for(EVE, rect(40.0, 40.0, 60.0, 60.0));
    scene.edit(EVE, raise_at(50.0, 50.0)).unwrap();
    scene.edit_as_operator(LandEdit::Parcel(number, link::ParcelEdit::ForceOwner(Some(agent(ADA))))).unwrap();
    assert_eq!(scene.edit(EVE, UNDO), Err(LandRefusal::NothingToUndo));
    assert!(height(&scene, 50, 50) > GROUND_M);
}

#[test]
fn the_history_of_a_session_and_of_all_is_bounded() {
    let mut scene = Scene::flat();
    for n in 0..20 {
        scene.edit(OWNER, raise_at(100.0, 10.0 * n as f32 + 5.0)).unwrap();
        pause(&mut scene);
    }
    assert_eq!(scene.land().stored().strokes.len(), 16);
    for _ in 0..16 {
        assert_eq!(scene.edit(OWNER, UNDO), Ok(()));
    }
    assert_eq!(scene.edit(OWNER, UNDO), Err(LandRefusal::NothingToUndo));
    assert!(height(&scene, 100, 35) > GROUND_M && height(&scene, 100, 45) == GROUND_M);
    let whole = || stroke(Brush::Raise, StrokeArea::Rect(rect(0.0, 0.0, 512.0, 512.0)), 0.5);
    let mut wide = Scene::of(Terrain::flat(512, GROUND_M));
    for _ in 0..6 {
        wide.edit(OWNER, whole()).unwrap();
        pause(&mut wide);
    }
    let n_patches: usize = wide.land().stored().strokes.iter().map(|stroke| stroke.patches.len()).sum();
    assert_eq!(n_patches, 4_096, "four edits of a region with 1,024 patches");
}

#[test]
fn ground_edited_in_one_tick_is_bounded() {
    let mut scene = Scene::of(Terrain::flat(1_024, GROUND_M));
    let whole = StrokeArea::Rect(rect(0.0, 0.0, 1_024.0, 1_024.0));
    const { assert!(SAMPLES_PER_TICK < 1_024 * 1_024) }
    for _ in 0..3 {
        scene.edit_by(OWNER, stroke(Brush::Raise, whole, 1.0));
    }
    scene.edit_by(MANAGER, UNDO);
    scene.step();
    assert_eq!(
        scene.refusals(),
        [(OWNER, LandRefusal::Busy), (OWNER, LandRefusal::Busy), (MANAGER, LandRefusal::Busy)]
    );
    assert_eq!(height(&scene, 1_023, 1_023), GROUND_M + 1.0);
    assert_eq!(scene.edit(OWNER, raise_at(9.0, 9.0)), Ok(()));
}

#[test]
fn ground_without_edits_is_shared_and_edits_leave_the_description_alone() {
    let mut scene = Scene::of(Terrain::hills(256, 9));
    let described = Arc::clone(&scene.config.terrain);
    let is_shared = |scene: &Scene| Arc::ptr_eq(&scene.world.setting.ground.terrain, &described);
    scene.run(3);
    assert!(is_shared(&scene));
    let before = Terrain::clone(&described);
    scene.edit(OWNER, raise_at(9.0, 9.0)).unwrap();
    assert!(!is_shared(&scene) && *described == before);
    // Later edits change the copy in place, also beside a checkpoint.
    let checkpoint = scene.world.checkpoint();
    let copy = Arc::as_ptr(&scene.world.setting.ground.terrain);
    scene.edit(OWNER, raise_at(200.0, 9.0)).unwrap();
    assert_eq!(Arc::as_ptr(&scene.world.setting.ground.terrain), copy);
    let resumed = World::resume(scene.config.clone(), &checkpoint).expect("its own checkpoint");
    assert_eq!(resumed.setting.ground.terrain.height(200.0, 9.0), described.height(200.0, 9.0));
    assert!(resumed.setting.ground.terrain.height(9.0, 9.0) > described.height(9.0, 9.0));
}

#[test]
fn avatars_stand_on_edited_ground() {
    let mut scene = Scene::flat();
    let stands_at = |scene: &Scene, height_m: f32| {
        let z = scene.position(ADA).expect("there").z;
        assert!((z - 0.95 - height_m).abs() < 1e-4, "{z}");
    };
    scene.send(EVE, Action::Control(Control { flags: ControlFlags::FLY, body_rotation: Quat::IDENTITY }));
    scene.teleport(EVE, Vec3::new(61.0, 128.0, 40.0));
    let area = StrokeArea::Rect(rect(50.0, 120.0, 70.0, 140.0));
    let flying = scene.position(EVE).expect("there").z;
    scene.edit(OWNER, stroke(Brush::Raise, area, 5.0)).unwrap();
    stands_at(&scene, GROUND_M + 5.0);
    scene.edit(OWNER, stroke(Brush::Lower, area, 8.0)).unwrap();
    stands_at(&scene, GROUND_M - 3.0);
    assert!((scene.position(EVE).expect("there").z - flying).abs() < 1.0, "a flyer stays where it is");
    scene.edit(OWNER, stroke(Brush::Raise, area, 60.0)).unwrap();
    assert!(scene.position(EVE).expect("there").z >= GROUND_M + 57.0, "and is never below the ground");
}

#[test]
fn a_walker_across_a_cliff_is_not_faster_than_updates_can_say() {
    let mut scene = Scene::flat();
    let wall = StrokeArea::Rect(rect(62.0, 100.0, 62.0, 150.0));
    scene.edit_as_operator(stroke(Brush::Raise, wall, 1_000.0)).unwrap();
    let mut n_up = 0;
    for yaw in [0.0, std::f32::consts::PI] {
        let ahead = Control { flags: ControlFlags::AT_POS, body_rotation: Quat::from_rotation_z(yaw) };
        scene.send(ADA, Action::Control(ahead));
        for _ in 0..80 {
            scene.step();
            let avatar =
                scene.world.avatars().find(|avatar| avatar.avatar.session == SessionKey(ADA)).expect("there");
            assert!(avatar.motion.velocity.abs().max_element() <= 128.0, "{}", avatar.motion.velocity);
            n_up += usize::from(avatar.motion.position.z > GROUND_M + 1.5);
            World::restore(scene.config.clone(), &scene.world.snapshot()).expect("a possible world");
        }
    }
    assert!(n_up > 0, "it came onto the cliff");
}

#[test]
fn whole_patches_are_for_the_estate() {
    let mut scene = Scene::flat();
    let patch = |column, row| GroundPatch::new(column, row, [33.0; PATCH_SAMPLES]).unwrap();
    let load = |patches: &[GroundPatch]| LandEdit::Ground(GroundEdit::Load(patches.to_vec()));
    assert_eq!(scene.edit(ADA, load(&[patch(1, 1)])), Err(LandRefusal::NotPermitted));
    assert_eq!(scene.edit(MANAGER, load(&[patch(1, 1), patch(16, 0)])), Err(LandRefusal::NoArea));
    assert!(scene.land().stored().ground.is_empty());
    assert_eq!(scene.edit(MANAGER, load(&[patch(1, 1), patch(15, 15)])), Ok(()));
    assert_eq!([16, 32].map(|x| height(&scene, x, 16)), [33.0, GROUND_M]);
    scene.send_as_operator(0, load(&[patch(2, 1)]));
    scene.step();
    assert_eq!(height(&scene, 32, 16), 33.0, "a command of the node without a session");
}

#[test]
fn a_world_without_land_refuses_edits_and_counts_them() {
    let mut scene = Scene::flat();
    scene.world.land = None;
    scene.edit_by(OWNER, UNDO);
    scene.send_as_operator(ADA, LandEdit::Clock);
    // Of a session that is not here.
    scene.edit_by(77, UNDO);
    scene.step_without_land();
    assert_eq!(scene.refusals(), [(OWNER, LandRefusal::NoLand), (ADA, LandRefusal::NoLand)]);
    let counters = scene.world.counters();
    assert_eq!((counters.land, counters.land_refused, counters.ignored), (0, 2, 1));
}

#[test]
fn the_node_learns_that_its_own_orders_are_carried_out() {
    let mut scene = Scene::flat();
    scene.send_as_operator(SessionKey::NODE.0, raise_at(9.0, 9.0));
    scene.send_as_operator(SessionKey::NODE.0, UNDO);
    scene.send_as_operator(SessionKey::NODE.0, UNDO);
    scene.send_as_operator(OWNER, LandEdit::Clock);
    scene.step();
    let [
        Event::Land(SessionKey::NODE, LandEvent::Done { sequence: first }),
        Event::Land(SessionKey::NODE, LandEvent::Done { sequence: second }),
        Event::Land(
            SessionKey::NODE,
            LandEvent::Refused { sequence: third, reason: LandRefusal::NothingToUndo },
        ),
    ] = scene.frame.events[..]
    else {
        panic!("{:?}", scene.frame.events)
    };
    assert_eq!([second, third], [first + 1, first + 2]);
}

#[test]
fn a_step_that_fails_leaves_the_land_of_the_frame_before() {
    let mut scene = Scene::flat();
    assert_eq!(scene.edit(OWNER, raise_at(9.0, 9.0)), Ok(()));
    let shown = scene.land().stored();
    // Written, and not sent.
    scene.edit_by(OWNER, raise_at(99.0, 99.0));
    scene.edit_by(OWNER, LandEdit::Ground(GroundEdit::Bake));
    scene.edit_by(OWNER, UNDO);
    scene.step();
    assert_ne!(scene.land().stored().ground, shown.ground);
    let land = scene.world.roll_back().land.expect("with land");
    assert!(land.now_ns > shown.now_ns);
    assert_eq!(StoredLand { now_ns: shown.now_ns, ..land }, shown);
}

#[test]
fn the_ground_of_npcs_stays_as_their_paths_know_it() {
    let mut scene = Scene::flat();
    let World { land, setting, roster, counters, .. } = &mut scene.world;
    let author = LandAuthor { agent: Some(agent(OWNER)), is_operator: true };
    let order = |edit| LandOrder { author, session: SessionKey(OWNER), sequence: 1, at_s: 0, edit };
    let mut orders = vec![order(raise_at(9.0, 9.0)), order(LandEdit::Clock)];
    let ground = &mut setting.ground;
    let around = LandSurroundings { ground, roster, counters, seed: 1, has_npcs: true, is_closed: false };
    let mut events = Vec::new();
    carry_out_orders(land.as_deref_mut(), &mut orders, around, &mut events);
    let refused = LandEvent::Refused { sequence: 1, reason: LandRefusal::FixedGround };
    assert_eq!(events, [Event::Land(SessionKey(OWNER), refused)]);
    assert_eq!((orders.len(), counters.land), (0, 1));
}

#[test]
fn an_avatar_on_a_low_seat_stays_on_it_while_ground_is_edited() {
    let mut scene = Scene::flat();
    let World { setting, roster, .. } = &mut scene.world;
    let sitter = roster.of_session_mut(SessionKey(EVE)).expect("it has entered");
    let seat = Seat { parent: LocalId(9), position: Vec3::ZERO, rotation: Quat::IDENTITY };
    sitter.seat = Some(Arc::new(AvatarSeat { seat, prim: LocalId(9) }));
    sitter.motion.position.z = GROUND_M + 0.4;
    let grounded = grounded_slots(roster, &setting.ground);
    follow_ground(roster, &setting.ground, &grounded);
    let sitter = roster.of_session_mut(SessionKey(EVE)).expect("it is there");
    assert_eq!(sitter.motion.position.z, GROUND_M + 0.4);
}

#[test]
fn refused_edits_use_up_the_time_of_a_tick_that_looking_at_their_squares_takes() {
    let mut scene = Scene::of(Terrain::flat(1_024, GROUND_M));
    let half = || rect(0.0, 0.0, 1_024.0, 512.0);
    let id = Uuid::from_u128(0xB);
    for edit in [
        stroke(Brush::Raise, StrokeArea::Rect(half()), 1.0),
        LandEdit::Divide { area: rect(0.0, 0.0, 1_024.0, 516.0), id },
        LandEdit::Join(half()),
    ] {
        scene.edit_by(EVE, edit);
    }
    scene.edit_by(EVE, LandEdit::Divide { area: half(), id });
    scene.edit_by(EVE, raise_at(9.0, 9.0));
    scene.step();
    let reasons: Vec<LandRefusal> = scene.refusals().into_iter().map(|(_, reason)| reason).collect();
    let (rights, busy) = (LandRefusal::NotPermitted, LandRefusal::Busy);
    assert_eq!(reasons, [rights, rights, busy, busy, busy]);
}

#[test]
fn land_is_changed_by_the_node_alone_while_nothing_can_be_saved() {
    let mut scene = Scene::flat();
    let World { land, setting, roster, counters, .. } = &mut scene.world;
    let order = |session, edit| {
        let is_operator = session == SessionKey::NODE;
        let author = LandAuthor { agent: Some(agent(OWNER)), is_operator };
        LandOrder { author, session, sequence: 1, at_s: 0, edit }
    };
    let mut orders = vec![
        order(SessionKey(OWNER), raise_at(9.0, 9.0)),
        order(SessionKey(OWNER), LandEdit::Clock),
        order(SessionKey::NODE, raise_at(50.0, 50.0)),
    ];
    let ground = &mut setting.ground;
    let around = LandSurroundings { ground, roster, counters, seed: 1, has_npcs: false, is_closed: true };
    let mut events = Vec::new();
    carry_out_orders(land.as_deref_mut(), &mut orders, around, &mut events);
    let refused = LandEvent::Refused { sequence: 1, reason: LandRefusal::NotSaved };
    let done = LandEvent::Done { sequence: 1 };
    assert_eq!(events, [Event::Land(SessionKey(OWNER), refused), Event::Land(SessionKey::NODE, done)]);
    assert_eq!([9, 50].map(|x| height(&scene, x, x) > GROUND_M), [false, true]);
}
