//! A world that was recorded under many clients comes to the same states when it is replayed.

use ids::{Tick, WorldId};
use link::{Action, Command};
use recording::{Ending, Recording, Replay};
use sim::{Faults, Report, Scenario, Setting};
use std::io::Cursor;
use std::time::Duration;

/// Replays the recording. Returns the number of steps that came to the recorded state.
fn replay(report: &Report) -> (u64, Ending) {
    let bytes = report.recording.as_deref().expect("was asked for");
    let mut recording = Recording::read(Cursor::new(bytes)).unwrap();
    let mut replay = Replay::new(&recording).unwrap();
    let end = *recording.end();
    assert!(end.commands > 20, "{end:?}");
    let mut n_equal = 0;
    for step in recording.steps().unwrap() {
        let step = step.unwrap();
        let (tick, Some(expected)) = (step.tick, step.state_hash) else { break };
        assert_eq!(replay.step(step).state_hash, expected, "{tick:?}");
        n_equal += 1;
    }
    assert!(replay.world().n_avatars() > 0);
    (n_equal, end.ending)
}

#[test]
fn a_world_with_200_clients_replays_tick_for_tick() {
    let report = Scenario::new(2).record(WorldId(0), Tick(200)).unwrap_or_else(|failed| panic!("{failed}"));
    let ticks = report.trace.ticks().len() as u64;
    assert_eq!(replay(&report), (ticks - 200, Ending::Complete));
}

#[test]
fn a_recorded_village_reloads_its_behaviours_and_replays_tick_for_tick() {
    let scenario = Scenario {
        setting: Setting::Village,
        clients: 60,
        storm: Duration::from_secs(15),
        ..Scenario::new(11)
    };
    let report = scenario.record(WorldId(0), Tick(0)).unwrap_or_else(|failed| panic!("{failed}"));
    assert!(report.reloads >= 2, "{report}");
    let bytes = report.recording.as_deref().unwrap();
    let mut recording = Recording::read(Cursor::new(bytes)).unwrap();
    assert_eq!(recording.later_casts().len(), 1, "two editions, each written once");
    let is_reload = |command: &Command| matches!(command.action, Action::ReloadBehaviors { .. });
    let steps = recording.steps().unwrap().map(Result::unwrap);
    let n_reloads = steps.map(|step| step.commands.iter().filter(|&command| is_reload(command)).count());
    assert_eq!(n_reloads.sum::<usize>(), report.reloads as usize);
    let ticks = report.trace.ticks().len() as u64;
    assert_eq!(replay(&report), (ticks, Ending::Complete));
}

#[test]
fn a_recording_that_a_panic_ended_has_the_step_that_panicked() {
    let scenario =
        Scenario { clients: 60, storm: Duration::from_secs(20), faults: Faults::PANICS, ..Scenario::new(3) };
    let report = scenario.record(WorldId(1), Tick(40)).unwrap_or_else(|failed| panic!("{failed}"));
    let (n_equal, ending) = replay(&report);
    assert_eq!(ending, Ending::Panicked);
    let mut recording = Recording::read(Cursor::new(report.recording.unwrap())).unwrap();
    assert_eq!(recording.end().steps, n_equal + 1);
    let last = recording.steps().unwrap().last().unwrap().unwrap();
    assert_eq!((last.tick, last.state_hash), (Tick(40 + n_equal), None));
}
