//! The simulator runs itself: equal runs of equal scenarios, nothing impossible meanwhile, and all defects found. One program, since each links all of the server.

mod asset_workers;
mod body_workers;
mod crowd;
mod determinism;
mod faults;
mod instances;
mod moves;
mod pooled;
mod recording;
mod site;
mod workers;

use sim::{Report, Scenario};

/// Runs a scenario that has to succeed.
fn run(scenario: &Scenario) -> Report {
    scenario.run().unwrap_or_else(|failed| panic!("{failed}"))
}
