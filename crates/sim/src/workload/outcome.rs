//! Results of a workload for comparison: hashes tick by tick, and the work done.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use systems::System;

/// Rises whenever a workload or the form of its outcome changes, so that the outcomes of two builds cannot be compared.
pub const FORMAT: u32 = 1;

/// Result of one workload with one build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// [`FORMAT`] of the build that ran it.
    pub format: u32,
    /// Name of the workload.
    pub workload: String,
    /// Ticks that were run before.
    pub warm_up_ticks: u64,
    /// One for each measured tick.
    pub marks: Vec<Mark>,
    /// Work done in the measured ticks, by name.
    pub work: BTreeMap<String, u64>,
    /// The systems that the workload keeps busy, and by which functions a profile knows them.
    pub systems: Vec<SystemInfo>,
    /// The function that runs the measured ticks and nothing else.
    pub measured: String,
}

/// Hashes after one tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The tick.
    pub tick: u64,
    /// By world.
    pub worlds: Vec<WorldMark>,
    /// Hash of every datagram sent so far, with its time and address; 0 in a workload without clients.
    pub sent: u64,
}

/// Hashes of one world after one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldMark {
    /// The world's own state hash.
    pub state: u64,
    /// Of the frame, byte for byte.
    pub frame: u64,
}

/// A system as a profile shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemInfo {
    /// As in captures: `world.movement`.
    pub name: String,
    /// The functions through which it is entered: demangled, without hash. None of them calls another.
    pub functions: Vec<String>,
}

impl SystemInfo {
    pub(super) fn of(systems: &[System]) -> Vec<Self> {
        let functions = |system: System| system.functions().iter().map(|&name| name.to_owned()).collect();
        systems
            .iter()
            .map(|&system| Self { name: system.name().to_owned(), functions: functions(system) })
            .collect()
    }
}
