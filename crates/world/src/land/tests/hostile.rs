//! Stored land that contradicts itself, snapshots of worlds with land, and readers that begin with one.

use super::scene::*;
use crate::snapshot::RestoreError;
use crate::world::{World, WorldConfig};
use glam::Vec3;
use ids::{SessionKey, Tick, Uuid};
use link::{
    Action, Brush, Command, Frame, GroundEdit, GroundPatch, LandEdit, PATCH_SAMPLES, Parcel, ParcelNumber,
    PatchEdit, StoredLand, StoredStroke, Terrain,
};
use std::sync::Arc;

/// A damage to stored land.
type Spoil<'a> = &'a dyn Fn(&mut StoredLand);

/// A world whose land has some of everything.
fn edited() -> Scene {
    let mut scene = Scene::of(Terrain::hills(256, 9));
    scene.divide_for(ADA, rect(100.0, 100.0, 140.0, 140.0));
    scene.divide_for(EVE, rect(140.0, 100.0, 160.0, 140.0));
    scene.edit(ADA, stroke(Brush::Noise, disc(120.0, 120.0, 6.0), 1.0)).unwrap();
    scene.edit(MANAGER, LandEdit::Ground(GroundEdit::Bake)).unwrap();
    scene.edit(OWNER, stroke(Brush::Raise, disc(16.0, 16.0, 4.0), 1.0)).unwrap();
    scene
}

fn parcel_mut(stored: &mut StoredLand, index: usize) -> &mut Parcel {
    Arc::make_mut(&mut stored.state.parcels[index])
}

#[test]
fn land_that_contradicts_itself_or_the_ground_is_refused() {
    let scene = edited();
    let patch = |column, row| GroundPatch::new(column, row, [33.0; PATCH_SAMPLES]).unwrap();
    let described = || GroundPatch::new(9, 9, scene.config.terrain.patch(9, 9)).unwrap();
    let stroke_of = |patches: Vec<PatchEdit>| StoredStroke { session: SessionKey(1), ended_ns: 0, patches };
    let edit_of = |number, after| PatchEdit { number, before: None, after };
    let spoilt: [(&str, Spoil<'_>); 22] = [
        ("a square less", &|stored| stored.state.squares = stored.state.squares[1..].into()),
        ("a square of no parcel", &|stored| Arc::make_mut(&mut stored.state.squares)[7] = ParcelNumber(9)),
        ("a square of another parcel", &|stored| {
            Arc::make_mut(&mut stored.state.squares)[7] = ParcelNumber(2)
        }),
        ("a parcel less", &|stored| drop(stored.state.parcels.pop())),
        ("parcels in disorder", &|stored| stored.state.parcels.swap(0, 1)),
        ("a parcel twice", &|stored| stored.state.parcels[1] = Arc::clone(&stored.state.parcels[0])),
        ("an id twice", &|stored| {
            let id = stored.state.parcels[0].id;
            parcel_mut(stored, 1).id = id;
        }),
        ("another area", &|stored| parcel_mut(stored, 1).n_squares += 1),
        ("a null id", &|stored| parcel_mut(stored, 1).id = Uuid::nil()),
        ("a long name", &|stored| parcel_mut(stored, 1).settings.name = "n".repeat(70).into()),
        ("no number", &|stored| parcel_mut(stored, 1).settings.landing.at = Vec3::NAN),
        ("lists in disorder", &|stored| {
            Arc::make_mut(&mut stored.state.estate).managers = vec![agent(9), agent(2)]
        }),
        ("water of no number", &|stored| Arc::make_mut(&mut stored.state.estate).levels.water_m = f32::NAN),
        ("a late time", &|stored| stored.now_ns = u64::MAX),
        ("a patch outside", &|stored| stored.ground.push(patch(16, 0))),
        ("a patch twice", &|stored| stored.ground.extend([patch(9, 9), patch(9, 9)])),
        ("a patch like the ground", &|stored| stored.ground.push(described())),
        ("a baked patch outside", &|stored| stored.baked.push(patch(0, 200))),
        ("an empty edit", &|stored| stored.strokes.push(stroke_of(vec![]))),
        ("an edit outside", &|stored| stored.strokes.push(stroke_of(vec![edit_of(256, None)]))),
        ("an edit of another patch", &|stored| {
            stored.strokes.push(stroke_of(vec![edit_of(3, Some(patch(4, 0)))]))
        }),
        ("an edit with a patch twice", &|stored| {
            stored.strokes.push(stroke_of(vec![edit_of(3, None), edit_of(3, Some(patch(3, 0)))]));
        }),
    ];
    let restored = |stored| World::new(scene.config.clone()).with_land(stored);
    assert!(restored(scene.land().stored()).is_some());
    for (name, spoil) in spoilt {
        let mut stored = scene.land().stored();
        spoil(&mut stored);
        assert!(restored(stored).is_none(), "{name}");
    }
    let many = |n_edits: usize, n_patches: u16| {
        let mut stored = scene.land().stored();
        let edit = |_| stroke_of((0..n_patches).map(|number| edit_of(number, None)).collect());
        stored.strokes = (0..n_edits).map(edit).collect();
        restored(stored).is_none()
    };
    assert_eq!([many(16, 256), many(17, 1), many(16, 257)], [false, true, true]);
}

#[test]
fn land_of_another_region_is_refused() {
    let stored = Scene::of(Terrain::flat(512, GROUND_M)).land().stored();
    assert!(World::new(config_of(Terrain::flat(256, GROUND_M))).with_land(stored).is_none());
}

#[test]
fn a_snapshot_has_the_land_and_a_damaged_one_is_refused_or_can_be_stepped() {
    let scene = edited();
    let snapshot = scene.world.snapshot();
    let again = World::restore(scene.config.clone(), &snapshot).unwrap();
    assert_eq!(again.land().unwrap().stored(), scene.land().stored());
    assert_eq!((again.state_hash(), again.snapshot()), (scene.world.state_hash(), snapshot));
    let other_ground = World::restore(config_of(Terrain::hills(256, 10)), &scene.world.snapshot());
    assert!(matches!(other_ground, Err(RestoreError::OtherTerrain { .. })));
    // Without its checksums.
    let bytes = postcard::to_allocvec(&scene.land().stored()).unwrap();
    let mut n_restored = 0;
    for n in 0..2_000_usize {
        let mut damaged = bytes.clone();
        // Mostly in the parcels, which come first.
        let at = if n % 2 == 0 { n * 7 % 600 } else { n * 7_919 % bytes.len() };
        damaged[at] = damaged[at].wrapping_add(1 + (n % 251) as u8);
        let Ok(stored) = postcard::from_bytes::<StoredLand>(&damaged) else { continue };
        let Some(mut world) = World::new(scene.config.clone()).with_land(stored) else { continue };
        n_restored += 1;
        if n_restored % 20 != 0 {
            continue;
        }
        let enter =
            |session| Command::by_session(SessionKey(session), 1, enter_at(session, Vec3::splat(50.0)));
        let undo = link::LandCommand { at_s: 0, edit: LandEdit::Ground(GroundEdit::Undo) };
        let undo = Command::by_session(SessionKey(OWNER), 2, Action::Land(Box::new(undo)));
        let mut commands = vec![enter(OWNER), enter(EVE), undo];
        for tick in 0..3 {
            world.step(Tick(tick), TICK, 1.0, &mut commands, &mut Frame::empty());
        }
        check_land(world.land().unwrap());
        assert!(
            World::restore(scene.config.clone(), &world.snapshot()).is_ok(),
            "it does not read what it wrote"
        );
    }
    assert!(n_restored > 100, "{n_restored} restored");
}

#[test]
fn a_world_without_its_visitors_keeps_their_edits_and_not_how_to_undo_them() {
    let scene = edited();
    let stored = scene.land().stored();
    let again = World::restore_without_visitors(scene.config.clone(), &scene.world.snapshot()).unwrap();
    assert!(!stored.strokes.is_empty());
    assert_eq!(again.land().unwrap().stored(), StoredLand { strokes: Vec::new(), ..stored });
}

#[test]
fn a_reader_that_begins_with_a_snapshot_has_the_land() {
    let mut scene = edited();
    let resync = Command::by_node(SessionKey::NODE, 1, Action::Resync);
    scene.world.step(Tick(1_000), TICK, 1.0, &mut vec![resync], &mut scene.frame);
    let chunk = scene.frame.snapshot.clone().expect("asked for");
    let mut anew = Mirror::new(&Terrain::flat(256, 0.0));
    anew.begin(&scene.config.terrain, &chunk);
    anew.check(&scene.world);
    assert_eq!((chunk.index, chunk.ground.len()), (0, scene.land().stored().ground.len()));
}

#[test]
fn a_restored_world_reports_its_land_once_unless_its_readers_have_it() {
    let scene = edited();
    let first_frame = |mut world: World| {
        let mut frame = Frame::empty();
        world.step(Tick(1_000), TICK, 1.0, &mut Vec::new(), &mut frame);
        let next = (frame.ground.len(), frame.land.len());
        world.step(Tick(1_001), TICK, 1.0, &mut Vec::new(), &mut frame);
        assert_eq!((frame.ground.len(), frame.land.len()), (0, 0));
        next
    };
    let anew = World::new(scene.config.clone()).with_land(scene.land().stored()).unwrap();
    assert!(!anew.is_quiet(), "it has something to report");
    // Parcels and estate, and the baked ground.
    assert_eq!(first_frame(anew), (scene.land().stored().ground.len(), 2));
    let begun = World::new(scene.config.clone()).with_land(scene.land().stored()).unwrap();
    let begun = World::restore(scene.config.clone(), &begun.snapshot()).unwrap();
    assert_eq!(first_frame(begun), (scene.land().stored().ground.len(), 2), "no frame has had it");
    let same_life = World::restore(scene.config.clone(), &scene.world.snapshot()).unwrap();
    assert_eq!(first_frame(same_life), (0, 0));
}

#[test]
fn a_world_that_is_not_built_on_has_no_land_in_its_snapshot() {
    let config = WorldConfig { objects: None, ..config_of(Terrain::flat(256, GROUND_M)) };
    let without = World::new(config.clone()).snapshot();
    assert!(!without.windows(4).any(|tag| tag == b"LAND"));
    assert!(World::restore(config, &without).unwrap().land().is_none());
    assert!(edited().world.snapshot().windows(4).any(|tag| tag == b"LAND"));
}
