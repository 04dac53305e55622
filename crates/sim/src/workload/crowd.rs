//! A node with clients, played again from the calls that they caused.

use super::inputs::Inputs;
use super::outcome::Mark;
use super::{Workload, world_mark};
use crate::checks::Failure;
use crate::faults::{Faults, LinkFaults};
use crate::input::Input;
use crate::node::Node;
use crate::scenario::{Scenario, TICK};
use crate::setting::Setting;
use crate::simulation::Simulation;
use crate::trace::fold;
use gateway::shard::CircuitAddress;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::time::Duration;
use std::vec;

const SEED: u64 = 3;
/// One logs in every 30 ms.
const CLIENTS: u32 = 60;
/// All clients are in after 1.8 s and have received the others after 4 s.
const WARM_UP_TICKS: u64 = 80;

/// A little of everything that makes parts of the server work: losses and duplicates for resends, lost frames for
/// snapshots, strangers.
const FAULTS: Faults = Faults {
    name: "workload",
    link: LinkFaults {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(10),
        loss_good: 0.01,
        duplicate: 0.005,
        reorder: 0.005,
        straggle: Duration::from_millis(60),
        ..LinkFaults::CALM
    },
    frame_loss: 0.02,
    strangers_per_s: 20,
    ..Faults::NONE
};

/// Runs node and clients and keeps the node's calls.
pub(super) fn prepare(ticks: u64) -> Result<Inputs, Failure> {
    let storm = TICK * u32::try_from(WARM_UP_TICKS + ticks + 1).unwrap_or(u32::MAX);
    let scenario = Scenario { clients: CLIENTS, storm, faults: FAULTS, ..Scenario::new(SEED) };
    let (calls, trace) = Simulation::new(scenario).journal(WARM_UP_TICKS + ticks)?;
    let states = trace.ticks().iter().flat_map(|mark| mark.states).fold(0, state_hash::fold);
    Ok(Inputs {
        workload: Workload::Crowd.name().to_owned(),
        seed: SEED,
        warm_up_ticks: WARM_UP_TICKS,
        ticks,
        calls,
        states,
    })
}

pub(super) struct Crowd {
    node: Node,
    calls: Peekable<vec::IntoIter<Input>>,
    sent: SentTotals,
    scratch: Vec<u8>,
}

/// Output of the node.
#[derive(Default)]
struct SentTotals {
    datagrams: u64,
    bytes: u64,
    hash: u64,
}

impl SentTotals {
    fn count_datagram(&mut self, address: CircuitAddress, bytes: &[u8]) {
        self.datagrams += 1;
        self.bytes += bytes.len() as u64;
        let to = u64::from(u32::from(*address.remote.ip())) << 24
            | u64::from(address.remote.port()) << 8
            | u64::from(address.port);
        self.hash = fold(state_hash::fold(self.hash, to), bytes);
    }
}

impl Crowd {
    pub(super) fn new(inputs: Inputs) -> Self {
        Self {
            node: Node::new(inputs.seed, 1, 1, Setting::Travel),
            calls: inputs.calls.into_iter().peekable(),
            sent: SentTotals::default(),
            scratch: Vec::new(),
        }
    }

    /// All calls up to a step of the worlds, and that.
    pub(super) fn tick(&mut self) -> Mark {
        let Self { node, calls, sent, scratch } = self;
        let out = &mut |address: CircuitAddress, bytes: &[u8]| sent.count_datagram(address, bytes);
        for call in calls {
            node.repeat(&call, out);
            if let Input::Tick { tick, .. } = call {
                let worlds = node.frames().map(|frame| world_mark(frame, scratch)).collect();
                return Mark { tick: tick.0, worlds, sent: sent.hash };
            }
        }
        panic!("the file ends before its ticks do");
    }

    pub(super) fn work_done(&self) -> BTreeMap<&'static str, u64> {
        let shards = |of: fn(&gateway::shard::ShardCounters) -> u64| self.node.counters().map(of).sum();
        let worlds = |of: fn(&world::WorldCounters) -> u64| self.node.world_counters().map(of).sum();
        BTreeMap::from([
            ("commands", shards(|shard| shard.commands)),
            ("datagrams received", shards(|shard| shard.datagrams_in)),
            ("bytes received", shards(|shard| shard.bytes_in)),
            ("datagrams sent", self.sent.datagrams),
            ("bytes sent", self.sent.bytes),
            ("terse updates", shards(|shard| shard.terse_sent)),
            ("full updates", shards(|shard| shard.full_sent)),
            ("kills", shards(|shard| shard.kills_sent)),
            ("animations", shards(|shard| shard.animations_sent)),
            ("appearances", shards(|shard| shard.appearances_sent)),
            ("chat heard", shards(|shard| shard.chat_sent)),
            ("agent updates dropped", shards(|shard| shard.updates_dropped)),
            ("avatars changed", worlds(|world| world.entities_dirtied)),
            ("blocks encoded", self.node.blocks_encoded()),
            ("resyncs", self.node.resyncs()),
        ])
    }
}
