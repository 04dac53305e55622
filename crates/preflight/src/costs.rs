//! Cost of each system, from a profile.
//!
//! Systems call each other: a client's turn sends through its circuit. So that every instruction counts once,
//! cost(system) = Σ inclusive(its functions) − Σ inclusive(other systems and the allocator called by them). The allocator's
//! own instructions are charged to no system: they depend on the history of the heap, which any change to any part of the
//! program alters by about a percent. A system is charged the *number* of its allocations instead.

use crate::callgrind::Function;
use serde::Serialize;
use sim::workload::SystemInfo;
use std::collections::BTreeMap;

/// Functions of the C library behind Rust's allocator.
pub const ALLOCATOR: [&str; 5] = ["malloc", "calloc", "realloc", "free", "posix_memalign"];
/// Functions of [`ALLOCATOR`] that return memory.
const GIVES: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];

/// Cost of one system in the measured ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SystemCharge {
    /// Instructions, without those of other systems and of the allocator.
    pub instructions: u64,
    /// Calls that allocate or grow memory.
    pub allocations: u64,
    /// Calls of its functions.
    pub entries: u64,
}

/// Role of a function in a chain of callers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner<'a> {
    System(&'a str),
    Allocator,
}

/// Computes the cost of each system. `measured` is the function that runs the measured ticks; calls outside are ignored.
#[must_use]
pub fn charge(
    functions: &[Function],
    systems: &[SystemInfo],
    measured: &str,
) -> BTreeMap<String, SystemCharge> {
    let by_function: BTreeMap<&str, &str> = systems
        .iter()
        .flat_map(|system| system.functions.iter().map(|function| (function.as_str(), system.name.as_str())))
        .collect();
    let owner = |function: &str| match by_function.get(function) {
        Some(system) => Some(Owner::System(system)),
        None => ALLOCATOR.contains(&function).then_some(Owner::Allocator),
    };

    let mut costs: BTreeMap<String, SystemCharge> =
        systems.iter().map(|system| (system.name.clone(), SystemCharge::default())).collect();
    let mut added: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for function in functions {
        let (name, callers) = function.chain.split_first().expect("a function has a name");
        let Some(role) = owner(name) else { continue };
        // Count calls inside of the measured ticks only. The caller is another system, or none.
        let Some(end) = callers.iter().position(|caller| caller == measured) else { continue };
        let around = callers[..end].iter().find_map(|caller| owner(caller));
        if around == Some(Owner::Allocator) {
            continue;
        }
        if let Some(Owner::System(system)) = around {
            added.entry(system).or_default().1 += function.inclusive;
            if GIVES.contains(&name.as_str()) {
                costs.get_mut(system).expect("every system has a cost").allocations += function.calls;
            }
        }
        if let Owner::System(system) = role {
            added.entry(system).or_default().0 += function.inclusive;
            costs.get_mut(system).expect("every system has a cost").entries += function.calls;
        }
    }
    for (system, (inclusive, below)) in added {
        let own = inclusive.checked_sub(below).expect("a callee costs no more than the call");
        costs.get_mut(system).expect("every system has a cost").instructions = own;
    }
    costs
}

/// Instructions that burdens added to each system. Systems without a burden are absent.
#[must_use]
pub fn burdens(functions: &[Function], systems: &[SystemInfo], measured: &str) -> BTreeMap<String, u64> {
    let mut burdens = BTreeMap::new();
    for function in functions.iter().filter(|function| function.chain[0] == systems::burden::SPIN) {
        let callers = function.chain[1..].iter().take_while(|caller| *caller != measured);
        let system = callers
            .filter_map(|caller| systems.iter().find(|system| system.functions.contains(caller)))
            .next();
        if let Some(system) = system {
            *burdens.entry(system.name.clone()).or_default() += function.inclusive;
        }
    }
    burdens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(chain: &str, calls: u64, inclusive: u64) -> Function {
        Function { chain: chain.split(' ').map(str::to_owned).collect(), own: 0, calls, inclusive }
    }

    fn systems() -> Vec<SystemInfo> {
        let system = |name: &str, functions: &[&str]| SystemInfo {
            name: name.into(),
            functions: functions.iter().map(|&function| function.to_owned()).collect(),
        };
        vec![system("shard", &["visit", "receive"]), system("circuit", &["transmit"])]
    }

    #[test]
    fn each_instruction_counts_once_and_the_allocator_never() {
        let costs = charge(
            &[
                function("visit poll measured main", 10, 1_000),
                function("receive measured main", 1, 50),
                function("transmit flush visit poll measured main", 20, 300),
                function("malloc grow transmit flush visit poll measured main", 4, 80),
                function("realloc grow visit poll measured main", 1, 20),
                function("malloc realloc grow visit poll measured main", 1, 15),
                function("free drop visit poll measured main", 3, 9),
                function("malloc setup measured main", 1, 77),
            ],
            &systems(),
            "measured",
        );
        let shard = SystemCharge { instructions: 1_050 - 300 - 20 - 9, allocations: 1, entries: 11 };
        let circuit = SystemCharge { instructions: 300 - 80, allocations: 4, entries: 20 };
        assert_eq!(costs, BTreeMap::from([("shard".into(), shard), ("circuit".into(), circuit)]));
    }

    #[test]
    fn work_before_the_measured_ticks_is_left_out() {
        let costs = charge(&[function("visit poll warm_up main", 10, 1_000)], &systems(), "measured");
        assert_eq!(costs["shard"], SystemCharge::default());
    }
}
