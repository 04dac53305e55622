//! Building sites: one client in three builds while the network loses, worlds panic and move, and viewers keep objects over their logins. All viewers
//! end with the objects of the world.

use crate::run;
use sim::{Faults, Scenario};
use std::time::Duration;

/// 24 clients in two regions.
const SITE: Scenario = Scenario { clients: 24, storm: Duration::from_secs(15), ..Scenario::site(1) };

#[test]
fn viewers_show_what_is_built_whatever_the_network_does() {
    for (seed, faults) in [(1, Faults::LOSSY), (2, Faults::ROUGH), (3, Faults::GAPS), (4, Faults::FROZEN)] {
        run(&Scenario { seed, faults, restores: 6, ..SITE });
    }
}

#[test]
fn what_is_built_outlives_the_panics_of_its_world() {
    let report = run(&Scenario { faults: Faults::PANICS, storm: Duration::from_secs(30), ..SITE });
    assert!(report.restarts > 3, "{report}");
}

#[test]
fn objects_move_with_their_world() {
    let moving = Scenario { hosts: 2, moves: true, ..SITE };
    let (still, moved) = (run(&SITE), run(&moving));
    assert!(moved.moves >= 5, "{moved}");
    if let Some(difference) = still.trace.difference(&moved.trace) {
        panic!("two runs part at {difference:?}:\n{SITE}\n{moving}");
    }
}
