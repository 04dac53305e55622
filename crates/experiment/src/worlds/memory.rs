//! Memory of an instance in the server: with its player in it, suspended after that, and suspended without ever having been entered.
//!
//! The reading is the process's private resident memory. It therefore includes the allocator's reserves, remains of former sessions and
//! the store's caches. It excludes the program's text and the flight recorder's ring: one ring of 64 MiB whose touched share grows with
//! time. The baseline is the server at its start, with its templates and without an instance.

use super::stage::WorldsTestbed;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::{Reading, usage};
use report::{Column, Section, Table};
use std::time::Duration;

/// Rest of the server before a reading: long tasks drop ended instances, and the thread that hashes passwords keeps 19 MiB for five
/// seconds.
const REST: Duration = Duration::from_secs(6);
/// Rest after instances have left, until their memory returns to the system; less than 32 MiB stays (ADR 0017).
const GIVEN_BACK: Duration = Duration::from_secs(15);
/// Deadline for the server's report that all instances are suspended.
const TOLD_WITHIN: Duration = Duration::from_secs(5);
/// Deadline for players to leave their worlds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Readings of the server's resident memory, in their order.
pub(super) struct ResidentReadings {
    pid: u32,
    n_instances: f64,
    readings: Vec<Weight>,
}

/// Memory in one state, in KiB.
struct Weight {
    state: &'static str,
    own: f64,
    shared: f64,
}

impl ResidentReadings {
    /// Memory of a server with `n_instances` planned instances.
    pub(super) fn of(pid: u32, n_instances: u32) -> Self {
        Self { pid, n_instances: n_instances.into(), readings: Vec::new() }
    }

    /// Takes a reading. `state` names the server's content.
    pub(super) fn weigh(&mut self, state: &'static str) -> Result<(), ExperimentError> {
        let usage = usage(self.pid)?;
        let (whole, shared) = (usage.rss_bytes as f64 / 1024.0, usage.shared_bytes as f64 / 1024.0);
        self.readings.push(Weight { state, own: whole - shared, shared });
        Ok(())
    }

    /// Difference between two states per instance, in KiB; NaN if one of them was not read.
    fn each_kib(&self, state: &str, before: &str) -> f64 {
        let of = |wanted| self.readings.iter().find(|weight| weight.state == wanted).map(|weight| weight.own);
        let difference = of(state).zip(of(before)).map(|(kib, before)| kib - before);
        difference.map_or(f64::NAN, |kib| kib / self.n_instances)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            Column::text("the server with"),
            Column::number("resident, its own", "MiB"),
            Column::number("program and recorder", "MiB"),
            Column::number("more of its own than at the beginning, by instance", "KiB"),
        ]);
        for Weight { state, own, shared } in &self.readings {
            let more = (own - self.readings[0].own) / self.n_instances;
            table.row(vec![(*state).into(), (own / 1024.0).into(), (shared / 1024.0).into(), more.into()]);
        }
        table
    }
}

/// The states behind the figures, as given to [`ResidentReadings::weigh`].
pub(super) const EMPTY: &str = "templates, and no instance";
pub(super) const ASLEEP: &str = "all instances, asleep";
pub(super) const LOGGED_IN: &str = "players logged in, in the region";
pub(super) const INSIDE: &str = "each player in an instance";
pub(super) const STEADY: &str = "the same, behind the steady window";
pub(super) const STORMED: &str = "the same, behind churn and storm";
const ALONE: &str = "all instances, and no client";
const SUSPENDED: &str = "all instances suspended";
const SUSPENDED_NEW: &str = "as many again, suspended and never entered";

/// Suspends all instances, which the players have left, and as many new ones, and reports the memory of each.
pub(super) fn measure(stage: &mut WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    rest(stage);
    stage.memory.weigh(ALONE)?;
    suspend_all(stage, &stage.worlds)?;
    stage.memory.weigh(SUSPENDED)?;
    let new = stage.make()?;
    suspend_all(stage, &new)?;
    stage.memory.weigh(SUSPENDED_NEW)?;
    check(stage, findings)?;
    tell(stage, findings);
    Ok(())
}

/// Adds a finding if an instance is not suspended. The server reports their number once a second.
fn check(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + TOLD_WITHIN;
    loop {
        let metrics = Reading::take(&stage.server)?.metrics;
        let (suspended, active) =
            (metrics.sum("throng_instances_suspended"), metrics.sum("throng_instances"));
        if suspended >= 2.0 * f64::from(stage.count) && active == 0.0 {
            return Ok(());
        }
        if clock::now() > ends_at {
            findings
                .failures
                .push(format!("{suspended} instances were suspended, and {active} still in memory"));
            return Ok(());
        }
        clock::wait(Duration::from_millis(200));
    }
}

/// Leaves the server alone.
pub(super) fn rest(stage: &WorldsTestbed<'_>) {
    clock::wait(stage.run.pick(REST, Duration::ZERO));
}

/// Suspends instances and waits until their memory is returned.
fn suspend_all(stage: &WorldsTestbed<'_>, worlds: &[String]) -> Result<(), ExperimentError> {
    worlds.iter().try_for_each(|world| suspend(stage, world))?;
    clock::wait(stage.run.pick(GIVEN_BACK, Duration::ZERO));
    Ok(())
}

/// Suspends an instance as soon as it is empty.
fn suspend(stage: &WorldsTestbed<'_>, world: &str) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + PATIENCE;
    loop {
        match stage.operator.order("POST", &format!("/v1/worlds/{world}/suspend"), None) {
            Err(_) if clock::now() < ends_at => clock::wait(Duration::from_millis(100)),
            answer => return answer.map(drop),
        }
    }
}

fn tell(stage: &WorldsTestbed<'_>, findings: &mut Findings) {
    let memory = &stage.memory;
    let asleep = memory.each_kib(ASLEEP, EMPTY);
    findings.figure("asleep_kib", asleep);
    // This includes the player's session and circuit, so the figure errs on the high side. Worlds reuse memory that players allocated
    // at login once it is free; leaving out all of it gives the lower bound of a world.
    findings.figure("active_kib", memory.each_kib(STEADY, EMPTY));
    findings.figure("active_least_kib", asleep + memory.each_kib(STEADY, LOGGED_IN));
    let suspended = memory.each_kib(SUSPENDED, EMPTY);
    findings.figure("suspended_instance_kib", suspended);
    // The former name of the figure, for one version.
    findings.figure("parked_kib", suspended);
    findings.figure("suspended_new_kib", memory.each_kib(SUSPENDED_NEW, SUSPENDED));
    for name in ["asleep_kib", "active_kib", "suspended_instance_kib"] {
        let kib = findings.figures[name];
        if kib < 0.0 && !stage.run.quick {
            let kib = report::number(kib);
            findings.failures.push(format!("{name} is {kib}: the server held memory before that it gave back, and the figure says nothing"));
        }
    }
    let text = "Resident memory of the process's own, as the kernel tells it, with everything that the allocator keeps for later. The server gives \
                back what instances left when that is 32 MiB or more. What suspended instances take is the last \
                but one line: the server that has had them all at work, and its players, churn and storm, less the server that had none. A new \
                one that nobody has been in takes the difference of the last two lines, which may be below zero: what is there already is used again.";
    findings.sections.push(Section::new("Memory").text(text).table(memory.table()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unread_value_is_no_number_and_a_decrease_is_reported_as_such() {
        let readings = [(EMPTY, 1_000.0), (ASLEEP, 1_400.0), (SUSPENDED, 900.0)];
        let readings = readings.map(|(state, own)| Weight { state, own, shared: 0.0 }).into();
        let memory = ResidentReadings { pid: 0, n_instances: 4.0, readings };
        assert_eq!(memory.each_kib(ASLEEP, EMPTY), 100.0);
        assert_eq!(memory.each_kib(SUSPENDED, EMPTY), -25.0);
        assert!(memory.each_kib(STEADY, EMPTY).is_nan());
    }
}
