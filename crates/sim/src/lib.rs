//! The deterministic simulator: a node with two worlds and its clients, on one thread and virtual time.
//!
//! Worlds, replication, hub and shards are the code that production runs; clients are the bots of crate `bots`. What is
//! simulated is everything around them: clocks, the network, threads, HTTP, crashes. A run is a function of its
//! [`Scenario`], and a run that fails names the command that repeats it. What keeps it so stands in
//! `DETERMINISM.md`; what goes wrong in a run in [`Faults`].
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
//! | what | where |
//! |---|---|
//! | the loop, and the phases of a run | `simulation` |
//! | the server's parts, wired: gateway, hosts | `node`, `host` |
//! | what a world that moves is compared with | `reference` |
//! | a client, and what it wants | `client` |
//! | what goes wrong, as data | [`Faults`], `network`, `strangers` |
//! | what must be true | `checks` |
//! | the order of events, and chance | `queue`, `streams` |
//! | what runs are compared by | [`Trace`] |
//! | what two builds are compared by | [`workload`] |

mod carrier;
mod checks;
mod client;
mod fades;
mod faults;
mod follower;
mod host;
mod network;
mod node;
mod panics;
mod queue;
mod reference;
mod report;
mod sabotage;
mod scenario;
mod setting;
mod simulation;
mod strangers;
mod streams;
mod trace;
pub mod workload;

pub use checks::{Failure, Rule};
pub use faults::{Faults, LinkFaults, Panics, Partitions, Split};
pub use report::{Failed, Report};
pub use sabotage::Sabotage;
pub use scenario::{MOVE_PERIOD, Scenario};
pub use setting::Setting;
pub use trace::{Difference, TickMark, Trace};
