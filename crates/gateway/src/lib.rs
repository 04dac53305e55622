//! Sessions, circuits and replication to clients: everything between sockets and worlds.
//!
//! Two sans-IO machines, driven by threads in `throng` and by virtual time in `sim`: the [`hub`] owns the sessions, the [`shard`]s own
//! the circuits. They talk in [`mail`], read worlds through [`feed`]s, which a [`follower`] fills, and know regions from [`places`]. HTTP handlers
//! are in [`http`]; [`admission`] says how many more clients its [`http::door`] lets in.
//! [`coverage`] states the outcome of each message and capability.

pub mod admission;
pub mod coverage;
pub mod feed;
pub mod follower;
pub mod http;
pub mod hub;
mod land;
mod lock_order;
pub mod mail;
pub mod map_boxes;
mod map_layers;
pub mod map_scene;
mod object_items;
pub mod places;
pub mod region_map;
pub mod sessions;
pub mod shard;
#[cfg(test)]
mod testing;
