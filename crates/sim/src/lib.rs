//! The deterministic simulator: a node with two worlds and its clients, on one thread and virtual time.
//!
//! Worlds, replication, hub and shards are the code that production runs; clients are the bots of crate `bots`. Everything around them
//! is simulated: clocks, the network, threads, HTTP, crashes. A run is a function of its [`Scenario`], and a run that fails names the
//! command that repeats it. `DETERMINISM.md` explains how; [`Faults`] are the faults of a run.
//!
//! ```
//! use sim::{Faults, Scenario};
//! use std::time::Duration;
//!
//! let scenario = Scenario { clients: 4, storm: Duration::from_secs(5), faults: Faults::ROUGH, ..Scenario::new(1) };
//! let report = scenario.run()?;
//! assert!(report.logins >= 4);
//! # Ok::<(), Box<sim::Failed>>(())
//! ```
//!
//! | part | module |
//! |---|---|
//! | parameters of a run, and the run to its end | `scenario`, `run` |
//! | the loop, and the phases of a run | `simulation` |
//! | the server's parts, wired: gateway, hosts | `node`, `host` |
//! | instances: registry, hub and hosts | `instances` |
//! | a world of prims that moves between hosts | `yard` |
//! | the reference of a world that moves | `reference` |
//! | calls into the node, for a repetition | `input` |
//! | NPCs of villages | `village` |
//! | a client and its intents | `client` |
//! | addresses of clients and node | `addresses` |
//! | faults, as data | [`Faults`], `network`, `strangers` |
//! | the CPU time of shards | `shard_cpu` |
//! | invariants | `checks` |
//! | the order of events, and chance | `queue`, `streams` |
//! | comparison of runs | [`Trace`] |
//! | comparison of two builds | [`workload`] |
//! | turns in a large crowd, for a benchmark | [`turns`] |

mod addresses;
mod carrier;
mod checks;
mod client;
mod fades;
mod faults;
mod follower;
mod host;
mod input;
mod instances;
mod network;
mod node;
mod panics;
mod queue;
mod reference;
mod report;
mod run;
mod sabotage;
mod scenario;
mod setting;
mod shard_cpu;
mod simulation;
mod strangers;
mod streams;
mod trace;
pub mod turns;
mod village;
pub mod workload;
mod yard;

pub use checks::{Failure, Rule};
pub use faults::{Faults, LinkFaults, Panics, Partitions, ScarceCpu, Split};
pub use instances::{InstanceReport, InstanceSabotage, InstanceScenario};
pub use report::{Failed, Report};
pub use sabotage::Sabotage;
pub use scenario::{MOVE_PERIOD, Scenario};
pub use setting::Setting;
pub use trace::{Difference, TickMark, Trace};
pub use yard::{YardReport, YardScenario};
