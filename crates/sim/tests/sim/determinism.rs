//! Equal scenarios make equal runs, whatever the number of shards and however often worlds are restored: the same
//! frames and state hashes in every tick, and the same datagrams for every client, byte for byte and to the nanosecond.

use crate::run;
use sim::{Faults, Report, Scenario};
use std::sync::LazyLock;
use std::time::Duration;

/// 200 clients that teleport between two worlds, while one datagram in ten is lost in each direction.
const LOSSY_TRAVEL: Scenario = Scenario::new(2);

/// The run that the others are compared with.
static ONE_SHARD: LazyLock<Report> = LazyLock::new(|| run(&LOSSY_TRAVEL));

fn assert_like_one_shard(scenario: &Scenario) {
    let report = run(scenario);
    assert_eq!(report.restores, scenario.restores);
    if let Some(difference) = ONE_SHARD.trace.difference(&report.trace) {
        panic!("two runs part at {difference:?}:\n{LOSSY_TRAVEL}\n{scenario}");
    }
}

#[test]
fn the_run_exercises_its_subject() {
    let Report { logins, teleports: (teleports, _), datagrams: (sent, lost), .. } = *ONE_SHARD;
    assert!(logins > 200, "{logins} logins: some come back");
    assert!(teleports > 150, "{teleports} teleports");
    assert!((0.08..0.12).contains(&(lost as f64 / sent as f64)), "{lost} of {sent} datagrams lost");
}

#[test]
fn a_seed_makes_the_same_run_again() {
    assert_like_one_shard(&LOSSY_TRAVEL);
}

#[test]
fn two_shards_make_the_same_run() {
    assert_like_one_shard(&Scenario { shards: 2, ..LOSSY_TRAVEL });
}

#[test]
fn four_shards_make_the_same_run() {
    assert_like_one_shard(&Scenario { shards: 4, ..LOSSY_TRAVEL });
}

#[test]
fn worlds_restored_at_20_random_ticks_make_the_same_run() {
    assert_like_one_shard(&Scenario { restores: 20, ..LOSSY_TRAVEL });
}

#[test]
fn all_faults_together_stay_repeatable_on_any_number_of_shards() {
    let one = Scenario { clients: 40, faults: Faults::ROUGH, ..Scenario::new(3) };
    let other = Scenario { shards: 3, restores: 20, ..one.clone() };
    assert_eq!(run(&one).trace.difference(&run(&other).trace), None);
}

#[test]
fn worlds_that_panic_make_the_same_run_again_on_any_number_of_shards() {
    let one = Scenario { clients: 60, faults: Faults::PANICS, ..Scenario::new(6) };
    let other = Scenario { shards: 4, restores: 20, ..one.clone() };
    let (one, other) = (run(&one), run(&other));
    assert!(one.restarts > 0);
    assert_eq!(one.trace.difference(&other.trace), None);
}

#[test]
fn another_seed_makes_another_run() {
    let small = |seed| Scenario { clients: 4, storm: Duration::from_secs(5), ..Scenario::new(seed) };
    assert_ne!(run(&small(1)).trace.hash(), run(&small(2)).trace.hash());
}
