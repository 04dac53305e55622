//! Comparison of two measurements: systems that became dearer or cheaper, and the first difference in behaviour.
//!
//! One program gives the same counts, to the instruction. Two builds that differ only elsewhere do not quite: the compiler
//! may inline or order code differently, and copies of memory take other paths at other alignments. A change is therefore
//! counted as none if |change| <= max(TOLERANCE × base, TOLERANCE_INSTRUCTIONS × ticks). `docs/operating/preflight.md` has
//! the measured noise.

use crate::costs::SystemCharge;
use crate::measure::Measurement;
use serde::{Serialize, Serializer};
use sim::workload::{Mark, WorkloadResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Tolerance of instructions and allocations, as a share of the base.
pub const TOLERANCE: f64 = 0.003;
/// Tolerance of instructions per tick. It exceeds [`TOLERANCE`] for systems of fewer than 667 instructions a tick.
pub const TOLERANCE_INSTRUCTIONS: u64 = 2;

/// Direction of a cost's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostChange {
    /// Less than before.
    Cheaper,
    /// The same, within the tolerance.
    Equal,
    /// More than before.
    Dearer,
}

impl CostChange {
    /// Its lowercase name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cheaper => "cheaper",
            Self::Equal => "equal",
            Self::Dearer => "dearer",
        }
    }
}

/// One system in both builds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemChange {
    /// Name of the system.
    pub system: String,
    /// Its cost in the base build; all 0 if it is new.
    pub base: SystemCharge,
    /// Its cost in the head build; all 0 if it is gone.
    pub head: SystemCharge,
    /// Change of its instructions.
    pub instructions: CostChange,
    /// Change of its allocations.
    pub allocations: CostChange,
}

impl SystemChange {
    fn new(system: &str, base: SystemCharge, head: SystemCharge, ticks: u64) -> Self {
        let instructions =
            change(base.instructions, head.instructions, TOLERANCE_INSTRUCTIONS.saturating_mul(ticks));
        let allocations = change(base.allocations, head.allocations, 0);
        Self { system: system.to_owned(), base, head, instructions, allocations }
    }

    /// Dearer if instructions or allocations are, else cheaper if either is.
    #[must_use]
    pub fn change(&self) -> CostChange {
        match (self.instructions, self.allocations) {
            (CostChange::Dearer, _) | (_, CostChange::Dearer) => CostChange::Dearer,
            (CostChange::Cheaper, _) | (_, CostChange::Cheaper) => CostChange::Cheaper,
            _ => CostChange::Equal,
        }
    }

    /// Change of its instructions in percent of the base; `None` if the base is 0 and the head is not.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        percent(self.base.instructions, self.head.instructions)
    }
}

/// A kind of work of which the builds did different amounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkChange {
    /// Kind of work.
    pub work: String,
    /// Amount in the base build.
    pub base: u64,
    /// Amount in the head build.
    pub head: u64,
}

/// The first difference between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The first tick after which a hash differs.
    pub tick: u64,
    /// World number; `None` if only the sent datagrams differ.
    pub world: Option<u32>,
    /// Subject of the hash.
    pub what: HashedPart,
    /// Its hash in the base build.
    #[serde(serialize_with = "as_hex")]
    pub base: u64,
    /// Its hash in the head build.
    #[serde(serialize_with = "as_hex")]
    pub head: u64,
}

/// Hexadecimal digits, since some JSON readers keep only 53 bits of a number.
fn as_hex<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{hash:016x}"))
}

/// Subject of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HashedPart {
    /// The world's state.
    State,
    /// The frame that it emitted.
    Frame,
    /// All datagrams sent to clients so far.
    Sent,
}

/// Two builds side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The workload's name.
    pub workload: String,
    /// Measured ticks.
    pub ticks: u64,
    /// Every system of either build, in their order.
    pub systems: Vec<SystemChange>,
    /// Work of which the amounts differ.
    pub work: Vec<WorkChange>,
    /// The first difference in behaviour, if there is one.
    pub divergence: Option<Divergence>,
}

/// Compares measurements of two builds that ran the same workload.
///
/// # Errors
/// When workload, length or number of worlds differ.
pub fn compare(base: &Measurement, head: &Measurement) -> Result<Comparison, Incomparable> {
    let (one, other) = (&base.outcome, &head.outcome);
    let worlds = |outcome: &WorkloadResult| outcome.marks.first().map_or(0, |mark| mark.worlds.len());
    let length =
        |outcome: &WorkloadResult| (outcome.warm_up_ticks, outcome.marks.len() as u64, worlds(outcome));
    if one.workload != other.workload || length(one) != length(other) {
        return Err(Incomparable { base: length_of(one), head: length_of(other) });
    }
    let ticks = length(one).1;
    let mut seen = BTreeSet::new();
    let names = one.systems.iter().chain(&other.systems).map(|system| system.name.as_str());
    let systems = names
        .filter(|&name| seen.insert(name))
        .map(|name| {
            let cost = |costs: &BTreeMap<String, SystemCharge>| costs.get(name).copied().unwrap_or_default();
            SystemChange::new(name, cost(&base.costs), cost(&head.costs), ticks)
        })
        .collect();
    Ok(Comparison {
        workload: one.workload.clone(),
        ticks,
        systems,
        work: work_changes(&one.work, &other.work),
        divergence: one.marks.iter().zip(&other.marks).find_map(|(one, other)| divergence(one, other)),
    })
}

/// Two outcomes of different workloads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workloads differ: BASE ran {base}, HEAD ran {head}")]
pub struct Incomparable {
    base: String,
    head: String,
}

impl Comparison {
    /// The systems with this change.
    pub fn systems_that_are(&self, change: CostChange) -> impl Iterator<Item = &SystemChange> {
        self.systems.iter().filter(move |system| system.change() == change)
    }

    /// Instructions of all systems together, of base and head.
    #[must_use]
    pub fn instructions(&self) -> (u64, u64) {
        let sum = |of: fn(&SystemChange) -> u64| self.systems.iter().map(of).sum();
        (sum(|system| system.base.instructions), sum(|system| system.head.instructions))
    }

    /// True if behaviour is equal and no system became dearer.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.divergence.is_none() && self.systems_that_are(CostChange::Dearer).next().is_none()
    }
}

/// The verdict in one line.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut findings = Vec::new();
        if let Some(divergence) = &self.divergence {
            findings.push(format!("different from tick {} on", divergence.tick));
        }
        for change in [CostChange::Dearer, CostChange::Cheaper] {
            let names: Vec<&str> =
                self.systems_that_are(change).map(|system| system.system.as_str()).collect();
            if !names.is_empty() {
                findings.push(format!("{}: {}", change.as_str(), names.join(", ")));
            }
        }
        if findings.is_empty() { f.write_str("equal") } else { f.write_str(&findings.join("; ")) }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, world, what, base, head } = self;
        let what = match what {
            HashedPart::State => "the state",
            HashedPart::Frame => "the frame",
            HashedPart::Sent => "what clients were sent",
        };
        write!(f, "in tick {tick} {what}")?;
        if let Some(world) = world {
            write!(f, " of world {world}")?;
        }
        write!(f, ": {base:016x} became {head:016x}")
    }
}

fn change(base: u64, head: u64, least: u64) -> CostChange {
    let tolerance = (base as f64 * TOLERANCE).max(least as f64);
    if base.abs_diff(head) as f64 <= tolerance {
        CostChange::Equal
    } else if head > base {
        CostChange::Dearer
    } else {
        CostChange::Cheaper
    }
}

/// Change in percent of `base`; `None` if `base` is 0 and `head` is not.
#[must_use]
pub fn percent(base: u64, head: u64) -> Option<f64> {
    if base == head {
        return Some(0.0);
    }
    (base > 0).then(|| (head as f64 - base as f64) / base as f64 * 100.0)
}

fn work_changes(base: &BTreeMap<String, u64>, head: &BTreeMap<String, u64>) -> Vec<WorkChange> {
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let count = |work: &BTreeMap<String, u64>, name| work.get(name).copied().unwrap_or_default();
    names
        .into_iter()
        .map(|name| WorkChange { work: name.clone(), base: count(base, name), head: count(head, name) })
        .filter(|change| change.base != change.head)
        .collect()
}

fn divergence(one: &Mark, other: &Mark) -> Option<Divergence> {
    let tick = one.tick;
    for ((a, b), world) in one.worlds.iter().zip(&other.worlds).zip(0..) {
        for (what, base, head) in
            [(HashedPart::State, a.state, b.state), (HashedPart::Frame, a.frame, b.frame)]
        {
            if base != head {
                return Some(Divergence { tick, world: Some(world), what, base, head });
            }
        }
    }
    let (base, head) = (one.sent, other.sent);
    (base != head).then_some(Divergence { tick, world: None, what: HashedPart::Sent, base, head })
}

fn length_of(outcome: &WorkloadResult) -> String {
    let worlds = outcome.marks.first().map_or(0, |mark| mark.worlds.len());
    let (ticks, warm_up) = (outcome.marks.len(), outcome.warm_up_ticks);
    format!("{} with {worlds} worlds for {ticks} ticks after {warm_up}", outcome.workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::workload::{FORMAT, SystemInfo, WorldMark};

    fn measurement(instructions: u64, allocations: u64) -> Measurement {
        let mark = |tick| Mark { tick, worlds: vec![WorldMark { state: 1, frame: 2 }; 2], sent: 3 };
        Measurement {
            outcome: WorkloadResult {
                format: FORMAT,
                workload: "crowd".into(),
                warm_up_ticks: 5,
                marks: vec![mark(5), mark(6)],
                work: BTreeMap::from([("commands".into(), 10)]),
                systems: vec![SystemInfo { name: "hub".into(), functions: vec!["hub".into()] }],
                measured: "measured".into(),
            },
            costs: BTreeMap::from([("hub".into(), SystemCharge { instructions, allocations, entries: 1 })]),
            burdens: BTreeMap::new(),
        }
    }

    #[track_caller]
    fn check(base: (u64, u64), head: (u64, u64), verdict: &str) {
        let comparison = compare(&measurement(base.0, base.1), &measurement(head.0, head.1)).unwrap();
        assert_eq!(comparison.to_string(), verdict);
        assert_eq!(comparison.is_clean(), !verdict.contains("dearer"));
    }

    #[test]
    fn a_change_counts_beyond_the_tolerance() {
        check((1_000_000, 1_000), (1_000_000, 1_000), "equal");
        check((1_000_000, 1_000), (1_003_000, 1_003), "equal");
        check((1_000_000, 1_000), (1_003_001, 1_000), "dearer: hub");
        check((1_000_000, 1_000), (996_999, 1_000), "cheaper: hub");
        check((1_000_000, 1_000), (1_000_000, 1_004), "dearer: hub");
        check((1_000_000, 1_000), (900_000, 1_004), "dearer: hub");
        check((1_000_000, 0), (1_000_000, 1), "dearer: hub");
    }

    #[test]
    fn a_system_that_hardly_does_anything_may_change_by_a_few_instructions() {
        check((1_000, 0), (1_004, 0), "equal");
        check((1_000, 0), (1_005, 0), "dearer: hub");
    }

    #[test]
    fn a_new_system_is_dearer_and_a_removed_one_cheaper() {
        let base = measurement(1_000_000, 0);
        let mut head = base.clone();
        head.outcome.systems[0].name = "lobby".into();
        let cost = head.costs.remove("hub").unwrap();
        head.costs.insert("lobby".into(), cost);
        assert_eq!(compare(&base, &head).unwrap().to_string(), "dearer: lobby; cheaper: hub");
    }

    #[test]
    fn the_first_difference_of_behaviour_is_named() {
        let base = measurement(1, 0);
        let mut head = base.clone();
        head.outcome.marks[1].sent = 9;
        let found = |head: &Measurement| compare(&base, head).unwrap().divergence.unwrap().to_string();
        assert_eq!(
            found(&head),
            "in tick 6 what clients were sent: 0000000000000003 became 0000000000000009"
        );
        head.outcome.marks[1].worlds[1].frame = 8;
        assert_eq!(found(&head), "in tick 6 the frame of world 1: 0000000000000002 became 0000000000000008");
        head.outcome.marks[0].worlds[1].state = 7;
        assert_eq!(found(&head), "in tick 5 the state of world 1: 0000000000000001 became 0000000000000007");
        assert!(!compare(&base, &head).unwrap().is_clean());
    }

    #[test]
    fn other_workloads_are_not_compared() {
        let base = measurement(1, 0);
        let mut head = base.clone();
        head.outcome.marks.pop();
        assert_eq!(
            compare(&base, &head).unwrap_err().to_string(),
            "the workloads differ: BASE ran crowd with 2 worlds for 2 ticks after 5, HEAD ran crowd with 2 worlds for 1 ticks after 5"
        );
    }

    #[test]
    fn a_world_more_is_another_workload() {
        let base = measurement(1, 0);
        let mut head = base.clone();
        head.outcome.marks.iter_mut().for_each(|mark| mark.worlds.push(mark.worlds[0]));
        let error = compare(&base, &head).unwrap_err().to_string();
        assert!(error.contains("crowd with 2 worlds") && error.contains("crowd with 3 worlds"), "{error}");
    }

    #[test]
    fn work_that_differs_is_listed() {
        let base = measurement(1, 0);
        let mut head = base.clone();
        head.outcome.work.insert("kills".into(), 4);
        let work = compare(&base, &head).unwrap().work;
        assert_eq!(work, [WorkChange { work: "kills".into(), base: 0, head: 4 }]);
    }
}
