//! Memory of an instance in the server: with its player in it, suspended after that, and suspended without ever having been entered.

use super::resident::{ALONE, ASLEEP, EMPTY, LOGGED_IN, STEADY, SUSPENDED, SUSPENDED_NEW};
use super::stage::WorldsTestbed;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Reading;
use report::Section;
use std::time::Duration;

/// Rest after instances have left, until their memory returns to the system, except 2 MiB at most (ADR 0017).
const GIVEN_BACK: Duration = Duration::from_secs(15);
/// Deadline for the server's report that all instances are suspended.
const REPORTED_WITHIN: Duration = Duration::from_secs(5);
/// Deadline for players to leave their worlds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Suspends all instances, which the players have left, and as many new ones, and reports the memory of each.
pub(super) fn measure(stage: &mut WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    stage.rest();
    stage.memory.weigh(ALONE)?;
    suspend_all(stage, &stage.worlds)?;
    stage.memory.weigh(SUSPENDED)?;
    let new = stage.make()?;
    suspend_all(stage, &new)?;
    stage.memory.weigh(SUSPENDED_NEW)?;
    check(stage, findings)?;
    report_memory(stage, findings);
    Ok(())
}

/// Adds a finding if an instance is not suspended. The server reports their number once a second.
fn check(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + REPORTED_WITHIN;
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

fn report_memory(stage: &WorldsTestbed<'_>, findings: &mut Findings) {
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
            findings.failures.push(format!(
                "{name} is {kib}: the server returned memory that it held before, so that the figure is void"
            ));
        }
    }
    let text = "Private resident memory of the process by the kernel's count, with the reserves of the allocator. The server returns freed memory \
                of instances to the system from 32 MiB on. Memory of the suspended instances = last row but one − first row: after all instances \
                with their players, after churn and storm, less the server without instances. Memory of as many new, never entered instances = \
                last row − last row but one; it may be negative, since free memory is used again.";
    findings.sections.push(Section::new("Memory").text(text).table(memory.table()));
}
