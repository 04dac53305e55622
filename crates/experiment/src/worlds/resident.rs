//! Readings of the server's resident memory.
//!
//! The reading is the process's private resident memory. It therefore includes the allocator's reserves, remains of former sessions and
//! the store's caches. It excludes the program's text and the flight recorder's ring: one ring of 64 MiB whose touched share grows with
//! time. The baseline is the server at its start, with its templates and without an instance.

use crate::error::ExperimentError;
use crate::meter::usage;
use report::{Column, Table};

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
    pub(super) fn each_kib(&self, state: &str, before: &str) -> f64 {
        let of = |wanted| self.readings.iter().find(|weight| weight.state == wanted).map(|weight| weight.own);
        let difference = of(state).zip(of(before)).map(|(kib, before)| kib - before);
        difference.map_or(f64::NAN, |kib| kib / self.n_instances)
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(vec![
            Column::text("content of the server"),
            Column::number("private resident", "MiB"),
            Column::number("program and recorder", "MiB"),
            Column::number("private since the beginning, per instance", "KiB"),
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
pub(super) const ALONE: &str = "all instances, and no client";
pub(super) const SUSPENDED: &str = "all instances suspended";
pub(super) const SUSPENDED_NEW: &str = "as many again, suspended and never entered";

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
