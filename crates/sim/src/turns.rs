//! The turns of a shard with a large crowd, repeated without the clients: the load of benchmark `turns`.
//!
//! Workload `crowd` has 60 clients, which fit a cache. Here there are thousands, and most of the data that a turn reads of a client comes
//! out of memory.

use crate::checks::Failure;
use crate::faults::Faults;
use crate::input::Input;
use crate::node::Node;
use crate::scenario::{Scenario, TICK};
use crate::setting::Setting;
use crate::simulation::Simulation;
use std::time::Duration;

const SEED: u64 = 3;
/// Ticks between the last login and the measured ones: visible sets are complete.
const WARM_UP_TICKS: u64 = 80;

/// Calls into a node of a crowd in one region, on a network without faults.
#[derive(Debug)]
pub struct CrowdCalls {
    calls: Vec<Input>,
    /// Ticks until all clients are in.
    warm_up_ticks: u64,
}

/// Cost of the turns of all clients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnCosts {
    /// Client turns.
    pub turns: u64,
    /// Terse updates sent in them.
    pub updates: u64,
    /// Their time by the caller's clock.
    pub time: Duration,
}

impl CrowdCalls {
    /// Runs node and `clients` clients for `ticks` ticks after all are in.
    ///
    /// # Errors
    /// When the simulator's checks fail.
    pub fn prepare(clients: u32, ticks: u64) -> Result<Self, Failure> {
        let last_login = Setting::Crowd.comes_at(clients);
        let warm_up_ticks = last_login.0 / TICK.as_nanos() as u64 + WARM_UP_TICKS;
        let storm = TICK * u32::try_from(warm_up_ticks + ticks + 1).unwrap_or(u32::MAX);
        let scenario = Scenario { clients, storm, faults: Faults::NONE, ..Scenario::crowd(SEED) };
        let (calls, _) = Simulation::new(scenario).journal(warm_up_ticks + ticks)?;
        Ok(Self { calls, warm_up_ticks })
    }

    /// Repeats the calls. `clock` is read around every turn after the warm-up.
    #[must_use]
    pub fn repeat(&self, clock: &mut dyn FnMut() -> Duration) -> TurnCosts {
        let mut node = Node::new(SEED, 1, 1, Setting::Crowd);
        let mut costs = TurnCosts::default();
        let out = &mut |_, _: &[u8]| {};
        let mut ticks = 0;
        for call in &self.calls {
            ticks += u64::from(matches!(call, Input::Tick { .. }));
            if ticks < self.warm_up_ticks || !matches!(call, Input::Turn { .. }) {
                node.repeat(call, out);
                continue;
            }
            let before = turns_done(&node);
            let began = clock();
            node.repeat(call, out);
            costs.time += clock() - began;
            let after = turns_done(&node);
            costs.turns += after.0 - before.0;
            costs.updates += after.1 - before.1;
        }
        costs
    }
}

/// Client turns and terse updates so far.
fn turns_done(node: &Node) -> (u64, u64) {
    node.counters().fold((0, 0), |sum, shard| (sum.0 + shard.client_turns, sum.1 + shard.terse_sent))
}
