//! Shards as clients, hub and worlds see them, on virtual time.

mod arrival;
mod avatars;
mod chat;
mod coverage;
mod egress;
mod hostile;
mod leaving;
mod missions;
mod pressure;
mod requests;
mod restarting;
mod scenery;
mod sitting;
mod switching;
