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
const TOLD_WITHIN: Duration = Duration::from_secs(5);
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
    let text = "Resident memory of the process's own, as the kernel tells it, with everything that the allocator keeps for later. The server \
                returns the memory that instances left once none comes or goes, except 2 MiB at most. What suspended instances take is the last \
                but one line: the server that has had them all at work, and its players, churn and storm, less the server that had none. A new \
                one that nobody has been in takes the difference of the last two lines, which may be below zero: what is there already is used again.";
    findings.sections.push(Section::new("Memory").text(text).table(memory.table()));
}
