//! Worlds that move between two hosts at random ticks: clients, frames and state hashes are the same as without, and a move that leaves out, repeats or
//! ages anything fails the run.

use crate::run;
use sim::{Faults, Rule, Sabotage, Scenario, Setting, YardReport, YardScenario};
use std::time::Duration;
use world::SNAPSHOT_PARTS;

/// 60 clients that teleport between two worlds, of which one has NPCs, damage and a mission, while one datagram in ten is lost each way.
const STILL: Scenario =
    Scenario { setting: Setting::Village, clients: 60, storm: Duration::from_secs(15), ..Scenario::new(11) };
const MOVING: Scenario = Scenario { hosts: 2, moves: true, ..STILL };
/// Two regions in which clients build.
const SITE: Scenario =
    Scenario { clients: 24, storm: Duration::from_secs(15), hosts: 2, moves: true, ..Scenario::site(1) };
/// A world of prims without clients.
const YARD: YardScenario = YardScenario { seed: 1, hosts: 2, sabotage: None };
/// Parts that no client of the other runs fills: none sits on a prim, no prim waits for its form or is a mesh, none moves, and the node orders nothing.
const IN_YARDS: [[u8; 4]; 5] = [*b"SEAT", *b"SOLI", *b"ASOL", *b"BODY", *b"ORDR"];

#[test]
fn moved_worlds_make_the_same_run_on_any_number_of_hosts_and_shards() {
    let still = run(&STILL);
    for scenario in [MOVING, Scenario { hosts: 3, shards: 2, restores: 10, ..MOVING }] {
        let report = run(&scenario);
        assert!(report.moves >= 5 && report.reloads >= 2, "{report}");
        assert_eq!(report.resyncs, still.resyncs, "no replica misses a frame for a move");
        if let Some(difference) = still.trace.difference(&report.trace) {
            panic!("two runs part at {difference:?}:\n{STILL}\n{scenario}");
        }
    }
}

#[test]
fn some_seeds_are_clean() {
    for seed in 1..=4 {
        run(&Scenario { seed, ..MOVING });
    }
}

/// Checkpoints, panics in a row and everything else that a world restarts from travel with it.
#[test]
fn worlds_that_panic_restart_as_if_they_had_not_moved() {
    for (faults, seed) in [(Faults::PANICS, 11), (Faults::POISONED, 4)] {
        let still = Scenario { faults, seed, storm: Duration::from_secs(45), ..STILL };
        let moving = Scenario { hosts: 2, moves: true, ..still.clone() };
        let (one, other) = (run(&still), run(&moving));
        assert!(other.moves > 0 && other.restarts > 0, "{other}");
        assert_eq!(one.trace.difference(&other.trace), None, "{still}\n{moving}");
    }
}

/// At 30 steps a second a step is no whole number of physics sub-steps, and a rest travels with the world.
#[test]
fn worlds_whose_steps_leave_a_rest_of_physics_move_unnoticed() {
    let still = Scenario { hz: 30, ..STILL };
    let (one, other) = (run(&still), run(&Scenario { hosts: 2, moves: true, ..still.clone() }));
    assert!(other.moves >= 5, "{other}");
    assert_eq!(one.trace.difference(&other.trace), None, "{still}");
}

/// A sabotaged run fails, as it does on the command line.
fn assert_found(sabotage: Sabotage) {
    assert_found_in(MOVING, sabotage);
}

fn assert_found_in(scenario: Scenario, sabotage: Sabotage) {
    let scenario = Scenario { sabotage: Some(sabotage), hz: 30, ..scenario };
    match scenario.run() {
        Ok(report) => panic!("{sabotage:?} goes unnoticed: {report}"),
        Err(failed) => assert_eq!(failed.failure.rule, Rule::MovesChangeNothing, "{failed}"),
    }
}

#[test]
fn a_part_left_out_of_the_snapshot_is_found() {
    for tag in SNAPSHOT_PARTS.into_iter().map(|part| part.tag.0) {
        let sabotage = Sabotage::FreshPart(tag);
        if IN_YARDS.contains(&tag) {
            assert_found_in_yard(sabotage);
        } else if [*b"EDIT", *b"LAND", *b"OBJS"].contains(&tag) {
            assert_found_in(SITE, sabotage);
        } else {
            assert_found(sabotage);
        }
    }
}

fn run_yard(scenario: YardScenario) -> YardReport {
    scenario.run().unwrap_or_else(|failure| panic!("{failure}\nrepeat it with: {scenario}"))
}

fn assert_found_in_yard(sabotage: Sabotage) {
    match (YardScenario { sabotage: Some(sabotage), ..YARD }).run() {
        Ok(report) => panic!("{sabotage:?} goes unnoticed: {report}"),
        Err(failure) => assert_eq!(failure.rule, Rule::MovesChangeNothing, "{failure}"),
    }
}

/// Seats, waiting prims, solids of assets, bodies and answered orders travel, and a world that moves among three hosts is that of two.
#[test]
fn worlds_of_prims_move_unnoticed() {
    for seed in 1..=4 {
        let report = run_yard(YardScenario { seed, ..YARD });
        assert!(report.moves >= 20, "seed {seed}: {report}");
        for tag in IN_YARDS {
            assert!(report.moves_with(tag) > 0, "seed {seed}, {tag:?}: {report}");
        }
        assert_eq!(run_yard(YardScenario { seed, hosts: 3, ..YARD }), report, "seed {seed}");
    }
}

#[test]
fn commands_of_a_world_of_prims_that_are_left_behind_or_applied_twice_are_found() {
    for sabotage in [Sabotage::LostCommands, Sabotage::RepeatedCommands] {
        assert_found_in_yard(sabotage);
    }
}

#[test]
fn a_state_that_is_a_step_old_is_found() {
    assert_found(Sabotage::StaleSnapshot);
}

#[test]
fn commands_applied_twice_after_a_move_are_found() {
    // Most commands of avatars state what they want now; what is made twice is seen.
    assert_found_in(SITE, Sabotage::RepeatedCommands);
}

#[test]
fn commands_left_behind_are_found() {
    assert_found(Sabotage::LostCommands);
}
