//! Sensitivity of preflight: slowdowns made in a build on purpose, and whether the comparison finds them.
//!
//! Crate `experiment` runs it as `preflight`, and a test of the program on a small scale. A slowdown is a busy loop inside
//! of one system ([`systems::burden`]); its true size is read from the profile. The base is the same build with a burden of
//! 0, so that the code of burdens costs both the same.

use crate::compare::{Comparison, CostChange, Incomparable, compare};
use crate::measure::{Measurement, MeasurementError, WorkloadTask, measure};
use sim::workload::Workload;
use std::path::{Path, PathBuf};
use std::thread;
use systems::System;
use thiserror::Error;

/// Sizes of slowdowns, percent of a system's instructions.
pub const PERCENTS: [f64; 4] = [0.5, 1.0, 2.0, 5.0];

/// A slowdown and the comparison's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Slowdown {
    /// The slowed system.
    pub system: System,
    /// Intended size, percent.
    pub asked_percent: f64,
    /// True size, percent.
    pub percent: f64,
    /// True if the comparison found exactly the slowed systems dearer, all others equal, and no change of behaviour.
    pub is_found: bool,
    /// The comparison's verdict.
    pub verdict: String,
}

/// A trial failed.
#[derive(Debug, Error)]
pub enum TrialError {
    /// A run failed.
    #[error(transparent)]
    Measure(#[from] MeasurementError),
    /// Two runs of one build had different workloads.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
}

/// One build with its base measurement, ready for slowdowns.
#[derive(Debug)]
pub struct Trial {
    binary: PathBuf,
    task: WorkloadTask,
    directory: PathBuf,
    base: Measurement,
    instructions_per_lap: f64,
}

impl Trial {
    /// Measures the build without slowdown, and the instructions of one iteration. `directory` is used for its runs alone.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn new(binary: &Path, task: &WorkloadTask, directory: &Path) -> Result<Self, TrialError> {
        let base = measure(binary, task, &[(System::WorldTell, 0)], directory)?;
        let laps_per_entry = 1_000;
        let burdened = measure(binary, task, &[(System::WorldTell, 1_000 * laps_per_entry)], directory)?;
        let name = System::WorldTell.name();
        let spins = burdened.costs[name].entries * laps_per_entry;
        let instructions_per_lap = burdened.burdens[name] as f64 / spins as f64;
        Ok(Self {
            binary: binary.into(),
            task: task.clone(),
            directory: directory.into(),
            base,
            instructions_per_lap,
        })
    }

    /// Slows several systems down in one run, each by `percent`, and compares with the base.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn slow_down_together(&self, systems: &[System], percent: f64) -> Result<Vec<Slowdown>, TrialError> {
        self.slow_down_in(&self.directory, systems, percent)
    }

    fn slow_down_in(
        &self,
        directory: &Path,
        systems: &[System],
        percent: f64,
    ) -> Result<Vec<Slowdown>, TrialError> {
        let burdens: Vec<(System, u64)> =
            systems.iter().map(|&system| (system, self.spins(system, percent))).collect();
        let head = measure(&self.binary, &self.task, &burdens, directory)?;
        let comparison = compare(&self.base, &head)?;
        let is_found = finds_only(&comparison, systems);
        let slowdown = |&system: &System| {
            let added = head.burdens.get(system.name()).copied().unwrap_or_default();
            let percent_added = added as f64 / self.base.costs[system.name()].instructions as f64 * 100.0;
            let verdict = comparison.to_string();
            Slowdown { system, asked_percent: percent, percent: percent_added, is_found, verdict }
        };
        Ok(systems.iter().map(slowdown).collect())
    }

    /// Iterations per 1,000 entries that make a system dearer by `percent`.
    fn spins(&self, system: System, percent: f64) -> u64 {
        let cost = &self.base.costs[system.name()];
        let instructions = cost.instructions as f64 * percent / 100.0;
        (instructions / self.instructions_per_lap / cost.entries as f64 * 1_000.0).round() as u64
    }

    /// `count` slowdowns of one system each, over all systems and all sizes, each size equally often. Two run at a time,
    /// since other load on the machine changes no count.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn slowdowns(&self, count: usize) -> Result<Vec<Slowdown>, TrialError> {
        let plan: Vec<(System, f64)> = plan(count).collect();
        let (one, other) = plan.split_at(count.div_ceil(2));
        let play = |plan: &[(System, f64)], directory: PathBuf| {
            let slow_down = |&(system, percent): &(System, f64)| {
                Ok(self.slow_down_in(&directory, &[system], percent)?.remove(0))
            };
            plan.iter().map(slow_down).collect::<Result<Vec<Slowdown>, TrialError>>()
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| play(other, self.directory.join("other")));
            (play(one, self.directory.clone()), other.join().expect("measuring reports its errors"))
        });
        let mut slowdowns = one?;
        slowdowns.extend(other?);
        Ok(slowdowns)
    }
}

/// The smallest size from which upwards every slowdown was found; infinite if a largest one was missed.
#[must_use]
pub fn smallest_percent(slowdowns: &[Slowdown]) -> f64 {
    let missed =
        slowdowns.iter().filter(|slowdown| !slowdown.is_found).map(|slowdown| slowdown.asked_percent);
    let largest_missed = missed.fold(0.0, f64::max);
    let found = slowdowns.iter().map(|slowdown| slowdown.asked_percent);
    found.filter(|&percent| percent > largest_missed).fold(f64::INFINITY, f64::min)
}

/// Measures two builds at once, in `base` and `head` below `directory`. Other load on the machine changes no count.
///
/// # Errors
/// As [`measure`].
pub fn measure_both(
    base: &Path,
    head: &Path,
    task: &WorkloadTask,
    directory: &Path,
) -> Result<(Measurement, Measurement), MeasurementError> {
    thread::scope(|scope| {
        let other = scope.spawn(|| measure(head, task, &[], &directory.join("head")));
        let one = measure(base, task, &[], &directory.join("base"));
        let other = other.join().expect("measuring reports its errors");
        Ok((one?, other?))
    })
}

/// Compares two builds that should be equal, `runs` times.
///
/// # Errors
/// As [`measure`].
pub fn compare_often(
    base: &Path,
    head: &Path,
    task: &WorkloadTask,
    runs: usize,
    directory: &Path,
) -> Result<Vec<Comparison>, TrialError> {
    let once = |_| {
        let (one, other) = measure_both(base, head, task, directory)?;
        Ok(compare(&one, &other)?)
    };
    (0..runs).map(once).collect()
}

/// True if a comparison of two builds that should be equal found a difference.
#[must_use]
pub fn is_false_alarm(comparison: &Comparison) -> bool {
    !finds_only(comparison, &[])
}

fn finds_only(comparison: &Comparison, slowed: &[System]) -> bool {
    comparison.divergence.is_none()
        && comparison.systems.iter().all(|change| {
            let is_slowed = slowed.iter().any(|system| system.name() == change.system);
            change.change() == if is_slowed { CostChange::Dearer } else { CostChange::Equal }
        })
}

/// Systems and sizes in turn. 13 systems and 4 sizes have no common divisor, so every pair occurs within 52 slowdowns.
fn plan(count: usize) -> impl Iterator<Item = (System, f64)> {
    Workload::Crowd.systems().iter().copied().cycle().zip(PERCENTS.into_iter().cycle()).take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowdown(asked_percent: f64, is_found: bool) -> Slowdown {
        let verdict = String::new();
        Slowdown { system: System::Hub, asked_percent, percent: asked_percent, is_found, verdict }
    }

    #[test]
    fn the_smallest_size_is_one_above_which_nothing_was_missed() {
        let found = |percents: &[(f64, bool)]| {
            let slowdowns: Vec<Slowdown> =
                percents.iter().map(|&(percent, is_found)| slowdown(percent, is_found)).collect();
            smallest_percent(&slowdowns)
        };
        assert_eq!(found(&[(0.5, true), (1.0, true), (5.0, true)]), 0.5);
        assert_eq!(found(&[(0.5, false), (0.5, true), (1.0, true)]), 1.0);
        assert_eq!(found(&[(0.5, true), (1.0, false), (5.0, true)]), 5.0);
        assert_eq!(found(&[(5.0, false)]), f64::INFINITY);
    }

    #[test]
    fn twenty_slowdowns_reach_every_system_and_every_size() {
        let plan: Vec<(System, f64)> = plan(20).collect();
        assert!(
            Workload::Crowd.systems().iter().all(|system| plan.iter().any(|(slowed, _)| slowed == system))
        );
        for percent in PERCENTS {
            assert_eq!(plan.iter().filter(|(_, size)| *size == percent).count(), 5);
        }
    }
}
