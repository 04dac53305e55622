//! The simulating side of a node: existing instances, their lifecycle, the capacity that they may take, and the scripts of their NPCs.
//!
//! Sans-IO: no thread, clock, socket, kernel or file. Time, measurements of the node and randomness are arguments; work that
//! takes long leaves as data and returns as data. Start with [`registry`]; [`coordinator`] connects it with programs and the gateway.

pub mod capacity;
pub mod coordinator;
pub mod local_ids;
pub mod registry;
pub mod restart;
pub mod script;
pub mod world_numbers;
