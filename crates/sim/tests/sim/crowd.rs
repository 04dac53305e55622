//! A crowd in one region, of which every client is shown the nearest 200, while two of five are cut off together and all lose, get
//! twice and get late what they are sent. What holds meanwhile and afterwards stands in `DETERMINISM.md`.

use crate::run;
use sim::{Faults, Report, Scenario};
use std::thread;
use std::time::Duration;

/// Long enough for every client to come, to be cut off for 8 s and to be back.
const STORM: Duration = Duration::from_secs(25);
/// More than are in any visible set or at its border. With these, late kills removed avatars that were back.
const SMALL: Scenario = Scenario { clients: 500, storm: STORM, ..Scenario::crowd(1) };

/// Runs two scenarios at the same time; both have to succeed, and to be the same run.
fn run_alike(one: &Scenario, other: &Scenario) -> Report {
    let (report, other_report) = thread::scope(|scope| {
        let other = scope.spawn(|| run(other));
        (run(one), other.join().expect("the other run succeeds, too"))
    });
    if let Some(difference) = report.trace.difference(&other_report.trace) {
        panic!("two runs part at {difference:?}:\n{one}\n{other}");
    }
    report
}

fn assert_is_a_storm(report: &Report, clients: u64) {
    let (sent, lost) = report.datagrams;
    assert!(report.logins > clients, "some come back: {report}");
    assert!(lost * 10 > sent, "{report}");
    assert!(report.latest_stop > Duration::from_millis(200), "no stop was looked at: {report}");
    assert_eq!(report.circuits_lost, 0, "a cut of 8 s loses no client");
}

#[test]
fn a_crowd_is_well_and_the_same_on_any_number_of_shards() {
    let report = run_alike(&SMALL, &Scenario { shards: 3, restores: 20, ..SMALL });
    assert_is_a_storm(&report, SMALL.clients.into());
}

#[test]
fn a_crowd_short_of_cpu_time_loses_no_circuit_and_its_rates_fall_evenly() {
    let scenario = Scenario { faults: Faults::STARVED, storm: Duration::from_secs(40), ..SMALL };
    let report = run(&scenario);
    assert_eq!((report.circuits_lost, report.queue_drops), (0, 0), "{report}");
    // Shares of groups of 20 by distance: the shortage was one, the nearest did not notice it, and the farthest were not dropped.
    let (nearest, farthest) = (report.rates_kept[0], report.rates_kept[6]);
    assert!(nearest > 0.85 && (0.1..0.7).contains(&farthest), "{report}");
    assert!(report.latest_stop < Duration::from_millis(1_100), "{report}");
}

#[test]
#[ignore = "takes a minute of a core; step crowd of scripts/test.sh runs it"]
fn two_thousand_are_well() {
    let scenario = Scenario { storm: STORM, ..Scenario::crowd(2) };
    assert_is_a_storm(&run(&scenario), scenario.clients.into());
}
