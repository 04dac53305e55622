//! Whatever goes wrong, nothing impossible is shown or heard meanwhile, and afterwards all comes right.

use crate::run;
use sim::{Faults, Scenario};
use std::time::Duration;

#[test]
fn bursts_duplicates_stragglers_partitions_and_strangers_are_survived() {
    // With 8 and 10, stragglers set avatars going again that had stopped.
    for seed in [5, 8, 10] {
        let report = run(&Scenario { shards: 4, restores: 20, faults: Faults::ROUGH, ..Scenario::new(seed) });
        assert_eq!(report.circuits_lost, 0);
    }
}

#[test]
fn a_client_cut_off_for_longer_than_the_idle_timeout_is_lost_and_comes_back() {
    let storm = Duration::from_secs(150);
    let report = run(&Scenario { clients: 20, shards: 2, storm, faults: Faults::EXILE, ..Scenario::new(1) });
    assert!(report.circuits_lost > 5, "{report}");
}

#[test]
fn a_replica_that_misses_frames_is_made_whole() {
    let report = run(&Scenario { clients: 80, shards: 2, faults: Faults::GAPS, ..Scenario::new(1) });
    assert!(report.resyncs > 20, "{report}");
}

#[test]
fn a_node_that_stands_still_for_30_seconds_loses_no_client() {
    let report = run(&Scenario { clients: 80, shards: 2, faults: Faults::FROZEN, ..Scenario::new(1) });
    assert_eq!(report.circuits_lost, 0, "{report}");
}

#[test]
fn worlds_that_panic_under_their_visitors_are_back_and_show_every_visitor_to_every_other() {
    let report = run(&Scenario { clients: 80, shards: 2, faults: Faults::PANICS, ..Scenario::new(1) });
    assert!(report.restarts > 5, "{report}");
    assert_eq!(report.circuits_lost, 0, "{report}");
}

#[test]
fn a_world_that_panics_in_every_step_for_a_while_costs_no_client() {
    let storm = Duration::from_secs(60);
    let report =
        run(&Scenario { clients: 60, shards: 3, storm, faults: Faults::POISONED, ..Scenario::new(4) });
    assert!(report.restarts >= 10, "{report}");
    assert_eq!(report.circuits_lost, 0, "{report}");
}

#[test]
fn a_failure_names_the_command_that_repeats_it() {
    let scenario = Scenario { clients: 7, shards: 2, faults: Faults::GAPS, restores: 3, ..Scenario::new(9) };
    let expected =
        "cargo run -p sim -- --seed 9 --clients 7 --shards 2 --storm-s 30 --faults gaps --restores 3";
    assert_eq!(scenario.to_string(), expected);
    assert_eq!(Faults::named("gaps"), Some(Faults::GAPS));
}
