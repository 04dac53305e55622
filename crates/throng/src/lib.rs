//! The `throng` binary's parts: the command line, the configuration and, for each command, the wiring of the crates
//! that do the work. Nothing is computed here.
//!
//! Start with [`cli::Command`], which lists what the program can do.

pub mod archive_command;
pub mod assets_command;
pub mod backup_command;
pub mod cli;
pub mod config;
mod configured;
pub mod console;
pub mod crashes;
pub mod database;
pub mod estate_command;
pub mod experiments;
mod hangup;
pub mod inventory_command;
pub mod jobs_command;
pub mod load;
pub mod measure;
pub mod objects_command;
pub mod operator;
mod page;
pub mod preflights;
pub mod record;
mod region_changes;
pub mod region_command;
pub mod replay;
pub mod script_command;
pub mod serve;
pub mod server_command;
pub mod store_command;
pub mod supervise;
pub mod terrain;
pub mod token;
pub mod trace;
mod trial;
pub mod tune;
pub mod user;
pub mod workload;
