//! Worlds that move between two hosts at random ticks: clients, frames and state hashes cannot tell, and a move that loses, repeats or
//! ages anything is found.

use sim::{Faults, Report, Sabotage, Scenario};
use std::sync::LazyLock;
use std::time::Duration;

/// 60 clients who teleport between two worlds, while one datagram in ten is lost each way.
const STILL: Scenario = Scenario { clients: 60, storm: Duration::from_secs(15), ..Scenario::new(11) };
const MOVING: Scenario = Scenario { hosts: 2, moves: true, ..STILL };

/// The run without moves, on one host.
static ONE_HOST: LazyLock<Report> = LazyLock::new(|| run(&STILL));

/// Runs a scenario that has to succeed.
fn run(scenario: &Scenario) -> Report {
    scenario.run().unwrap_or_else(|failed| panic!("{failed}"))
}

#[test]
fn moved_worlds_make_the_same_run() {
    let report = run(&MOVING);
    assert!(report.moves >= 5, "{} moves", report.moves);
    assert_eq!(report.resyncs, ONE_HOST.resyncs, "no replica misses a frame for a move");
    if let Some(difference) = ONE_HOST.trace.difference(&report.trace) {
        panic!("two runs part at {difference:?}:\n{STILL}\n{MOVING}");
    }
}

#[test]
fn moved_worlds_on_many_hosts_and_shards_make_the_same_run() {
    let report = run(&Scenario { hosts: 3, shards: 2, restores: 10, ..MOVING });
    assert_eq!(ONE_HOST.trace.difference(&report.trace), None);
}

#[test]
fn worlds_that_panic_and_move_serve_their_clients() {
    let scenario = Scenario { faults: Faults::PANICS, storm: Duration::from_secs(30), ..MOVING };
    let report = run(&scenario);
    assert!(report.moves > 0 && report.restarts > 0, "{report}");
}

/// A sabotaged run fails a check, or parts from the run without moves.
fn assert_found(sabotage: Sabotage) {
    let scenario = Scenario { sabotage: Some(sabotage), ..MOVING };
    if let Ok(report) = scenario.run() {
        assert!(report.moves > 0);
        assert_ne!(ONE_HOST.trace.difference(&report.trace), None, "{sabotage:?} goes unnoticed");
    }
}

#[test]
fn a_state_that_is_a_step_old_is_found() {
    assert_found(Sabotage::StaleSnapshot);
}

#[test]
fn commands_applied_twice_are_found() {
    assert_found(Sabotage::RepeatedCommands);
}

#[test]
fn commands_left_behind_are_found() {
    assert_found(Sabotage::LostCommands);
}
