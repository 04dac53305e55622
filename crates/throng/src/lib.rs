//! The `throng` binary's parts: the command line, the configuration and, for each command, the wiring of the crates
//! that do the work. Nothing is computed here.
//!
//! Start with [`cli::Command`], which lists what the program can do.

pub mod cli;
pub mod config;
pub mod load;
pub mod operator;
mod page;
pub mod serve;
pub mod user;
