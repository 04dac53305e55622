//! A replica that missed frames becomes complete again.

use crate::stage::{Mirror, Stage, config, enter_at};
use glam::Vec3;
use ids::{Epoch, LocalId};
use link::{Action, ControlFlags, Scenery, SnapshotChunk, Terrain};
use std::sync::Arc;
use world::{CHUNK_ENTITIES_MAX, WorldConfig};

/// Feeds what the last frame holds to a replica that begins at part 0; true after the last part.
fn follow(replica: &mut Option<Mirror>, stage: &Stage) -> bool {
    let chunk: Option<&SnapshotChunk> = stage.frame.snapshot.as_ref();
    if chunk.is_some_and(|chunk| chunk.index == 0) {
        *replica = Some(Mirror::default());
    }
    let Some(mirror) = replica else { return false };
    stage.frame.changes.iter().for_each(|change| mirror.apply(change));
    let Some(chunk) = chunk else { return false };
    assert!(chunk.entities.len() <= CHUNK_ENTITIES_MAX);
    for entity in &chunk.entities {
        mirror.0.insert(entity.id, (**entity).clone());
    }
    chunk.index + 1 == chunk.count
}

#[test]
fn parts_and_changes_together_rebuild_the_state_of_a_busy_world() {
    let mut stage = Stage::flat();
    for session in 1..=900 {
        stage.send(session, enter_at(Vec3::new(128.0, 128.0, 22.0)));
        stage.press(session, ControlFlags::AT_POS);
    }
    stage.run(3);
    stage.resync();

    let mut replica = None;
    let mut ticks = 0_u64;
    loop {
        // People come, go, come back and stop while the snapshot is under way.
        stage.send(300 + ticks, Action::Leave);
        stage.send(2_000 + ticks, enter_at(Vec3::new(40.0, 40.0, 22.0)));
        stage.send(300 + ticks, enter_at(Vec3::new(60.0, 60.0, 22.0)));
        stage.send(899 - ticks, Action::Leave);
        stage.press(10 + ticks, ControlFlags::default());
        stage.step();
        ticks += 1;
        if follow(&mut replica, &stage) {
            break;
        }
        assert!(ticks < 20, "no end");
    }
    assert_eq!(ticks, 4, "900 in parts of 256");
    assert_eq!(replica.as_ref(), Some(&stage.mirror));
    stage.run(5);
    assert!(stage.frame.snapshot.is_none());
}

/// Replicas have it from where the world has it, with the first ids of the world.
#[test]
fn static_objects_are_in_no_frame_and_no_snapshot() {
    let terrain = Terrain::flat(256, 21.0);
    let scenery = Arc::new(Scenery::boxes(700, &terrain, 1));
    let mut stage = Stage::new(WorldConfig { epoch: Epoch(0), scenery, ..config(terrain) });
    stage.send(1, enter_at(Vec3::new(128.0, 128.0, 22.0)));
    assert_eq!(stage.step().changes.len(), 1, "in the very first frame");
    assert_eq!(stage.entity(1).id, LocalId(1_700), "behind what stands");
    stage.resync();
    let mut replica = None;
    stage.step();
    assert!(follow(&mut replica, &stage), "one part");
    assert_eq!(replica.as_ref(), Some(&stage.mirror));
    for _ in 0..3 {
        assert!(stage.step().changes.is_empty());
    }
}

#[test]
fn an_empty_world_answers_with_one_empty_part() {
    let mut stage = Stage::flat();
    stage.resync();
    let chunk = stage.step().snapshot.clone().unwrap();
    assert_eq!((chunk.index, chunk.count, chunk.entities.len()), (0, 1, 0));
    assert!(stage.world.is_quiet());
}

#[test]
fn requests_during_a_snapshot_make_exactly_one_more() {
    let mut stage = Stage::flat();
    for session in 1..=300 {
        stage.send(session, enter_at(Vec3::new(128.0, 128.0, 22.0)));
    }
    stage.resync();
    let mut parts = Vec::new();
    for _ in 0..8 {
        stage.step();
        parts.extend(stage.frame.snapshot.as_ref().map(|chunk| (chunk.index, chunk.count)));
        if parts.len() == 1 {
            stage.resync();
            stage.resync();
        }
    }
    assert_eq!(parts, [(0, 2), (1, 2), (0, 2), (1, 2)]);
}
