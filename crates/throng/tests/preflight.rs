//! Preflight with this very build, under valgrind: equal builds are quiet, and a system that is 2 % slower is named.
//!
//! Ignored unless asked for, because valgrind is not everywhere: `make test` has a step for them.

use preflight::compare::compare;
use preflight::measure::{MeasurementError, WorkloadSource, WorkloadTask, measure};
use preflight::trial::Trial;
use sim::workload::Workload;
use std::path::Path;
use systems::System;

const THRONG: &str = env!("CARGO_BIN_EXE_throng");

/// Long enough for every system to have something to do, short enough for a test.
fn task() -> WorkloadTask {
    WorkloadTask { workload: WorkloadSource::Named("crowd".to_owned()), ticks: 20 }
}

#[test]
#[ignore = "needs valgrind: make test STEPS=preflight"]
fn the_same_build_elsewhere_is_equal_to_the_instruction() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let elsewhere = there.path().join("a-build-in-another-directory");
    std::fs::copy(THRONG, &elsewhere).unwrap();
    let base = measure(Path::new(THRONG), &task(), &[], &here.path().join("base")).unwrap();
    let head = measure(&elsewhere, &task(), &[], &there.path().join("runs/of/head")).unwrap();
    assert_eq!(base, head);
    assert_eq!(compare(&base, &head).unwrap().to_string(), "equal");
}

#[test]
#[ignore = "needs valgrind: make test STEPS=preflight"]
fn two_percent_more_in_any_system_are_found_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let trial = Trial::new(Path::new(THRONG), &task(), directory.path()).unwrap();
    // One half at a time, so that the other half shows that nothing else is blamed.
    let (one, other): (Vec<System>, Vec<System>) =
        Workload::Crowd.systems().iter().copied().partition(|&system| (system as usize).is_multiple_of(2));
    for systems in [one, other] {
        for slowdown in trial.slow_down_together(&systems, 2.0).unwrap() {
            assert!(slowdown.is_found, "{slowdown:?}");
            assert!((1.0..3.0).contains(&slowdown.percent), "{slowdown:?}");
        }
    }
}

#[test]
#[ignore = "needs valgrind: make test STEPS=preflight"]
fn costs_of_npcs_are_separate() {
    let directory = tempfile::tempdir().unwrap();
    let task = WorkloadTask { workload: WorkloadSource::Named(Workload::Npcs.name().to_owned()), ticks: 20 };
    let trial = Trial::new(Path::new(THRONG), &task, directory.path()).unwrap();
    let slowdowns = trial.slow_down_together(&[System::WorldNpcs], 2.0).unwrap();
    assert!(slowdowns[0].is_found && (1.0..3.0).contains(&slowdowns[0].percent), "{slowdowns:?}");
}

#[test]
#[ignore = "needs valgrind: make test STEPS=preflight"]
fn a_program_without_workloads_cannot_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("older");
    std::fs::write(&script, "#!/bin/sh\nexit 2\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = measure(&script, &task(), &[], &directory.path().join("runs")).unwrap_err();
    assert!(matches!(error, MeasurementError::Incompatible { .. }), "{error}");
}
