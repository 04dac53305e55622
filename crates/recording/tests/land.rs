//! Recordings of a world that is built on: they begin with its land, and edits of it are commands.

use glam::Vec2;
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Brush, Command, Estate, Frame, GroundEdit, LandCommand, LandEdit, LandRect, LandState,
    StoredLand, StoredObjects, Stroke, StrokeArea, Terrain,
};
use recording::{About, Recording, Replay, Tape, write};
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;
use world::{World, WorldConfig};

const TICK: Duration = Duration::from_millis(50);
/// Steps before a recording, and in it.
const STEPS: (u64, u64) = (10, 20);

fn config() -> WorldConfig {
    let estate = Estate::new("Hills", Some(AgentId(Uuid::from_u128(7))), 20.0);
    let land = StoredLand::new(LandState::of_one_parcel(256, Uuid::from_u128(0xA), estate, 0), 1_700_000_000);
    WorldConfig {
        id: WorldId(2),
        epoch: Epoch(3),
        size_m: 256,
        local_ids: 2 << 20..3 << 20,
        terrain: Arc::new(Terrain::hills(256, 5)),
        scenery: Arc::default(),
        objects: Some(StoredObjects::default()),
        land: Some(land),
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 9,
    }
}

/// An edit of each kind in turn: noise, whose heights are left to chance, baking, a division, a union.
fn edit(tick: u64) -> LandEdit {
    let metres = (tick % 8) as f32 * 16.0;
    let rect = LandRect { west: metres, south: 64.0, east: metres + 16.0, north: 80.0 };
    match tick % 4 {
        0 => {
            let area = StrokeArea::Disc { at: Vec2::splat(metres + 50.0), radius_m: 6.0 };
            let stroke = Stroke { brush: Brush::Noise, area, seconds: 2.0, height_m: 0.0 };
            LandEdit::Ground(GroundEdit::Stroke(stroke))
        }
        1 => LandEdit::Ground(GroundEdit::Bake),
        2 => LandEdit::Divide { area: rect, id: Uuid::from_u128(0xB00 + u128::from(tick)) },
        _ => LandEdit::Join(LandRect { west: 0.0, east: 256.0, ..rect }),
    }
}

fn command(tick: u64) -> Command {
    let land = LandCommand { at_s: 1_700_000_000 + tick, edit: edit(tick) };
    Command::by_node(SessionKey::NODE, tick, Action::Land(Box::new(land)))
}

#[test]
fn a_replay_of_edits_of_the_land_comes_to_the_same_states() {
    let (n_before, n_recorded) = STEPS;
    let mut world = World::new(config());
    let mut frame = Frame::empty();
    (0..n_before).for_each(|tick| world.step(Tick(tick), TICK, 1.0, &mut vec![command(tick)], &mut frame));
    let now = |tick: u64| Instant::from_millis(50 * tick);
    let (mut tape, reel) = Tape::new(now(n_before + n_recorded - 1));
    tape.begin(&world);
    for tick in n_before..n_before + n_recorded {
        let mut commands = vec![command(tick)];
        tape.record_step(now(tick), Tick(tick), TICK, 1.0, &commands);
        world.step(Tick(tick), TICK, 1.0, &mut commands, &mut frame);
        let goes_on = tape.came_to(now(tick), frame.state_hash);
        assert_eq!(goes_on, tick + 1 < n_before + n_recorded);
    }
    drop(tape);
    assert_eq!(world.counters().land, n_before + n_recorded, "every edit was carried out");
    let about = About::new("Harbour", "test", 1_700_000_000, &config());
    let (bytes, ..) = write(&reel, &about, &config().terrain, &config().scenery, Vec::new()).expect("memory");
    let mut recording = Recording::read(Cursor::new(&bytes[..])).expect("a recording");
    let mut replay = Replay::new(&recording).expect("this build's");
    let mut n_compared = 0;
    for step in recording.steps().expect("steps") {
        let step = step.expect("a step");
        let expected = step.state_hash;
        assert_eq!(Some(replay.step(step).state_hash), expected);
        n_compared += 1;
    }
    assert_eq!(n_compared, n_recorded);
}
