//! Shards as clients, hub and worlds see them, on virtual time.

mod arrival;
mod avatars;
mod belongings;
mod capabilities;
mod chat;
mod coverage;
mod editing;
mod edits;
mod effects;
mod egress;
mod hostile;
mod land;
mod leaving;
mod missions;
mod objects;
mod pressure;
mod requests;
mod restarting;
mod scenery;
mod sitting;
mod switching;
mod viewer_cache;
