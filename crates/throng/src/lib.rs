//! The `throng` binary's parts: the command line, the configuration and, for each command, the wiring of the crates
//! that do the work. Nothing is computed here.
//!
//! Start with [`cli::Command`], which lists what the program can do.

pub mod cli;
pub mod config;
pub mod crashes;
pub mod database;
pub mod experiments;
mod hangup;
pub mod load;
pub mod measure;
pub mod objects_command;
pub mod operator;
mod page;
pub mod preflights;
pub mod record;
pub mod region_command;
mod region_transfer;
pub mod replay;
pub mod serve;
pub mod store_command;
pub mod supervise;
pub mod terrain;
pub mod token;
pub mod trace;
pub mod tune;
pub mod user;
pub mod workload;
