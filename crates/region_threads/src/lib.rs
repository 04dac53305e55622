//! Regions beside the simulation: the threads that follow the frames of their worlds, and the node's own orders to them.
//!
//! ```text
//!             frames                      batches
//! worlds ─────────────► thread replica ───────────► thread keeper ─► store
//!    ▲                  │  │  │  │ wants              │ outcomes, back to replica
//!    │ commands         │  │  │  └─► thread solids    └─► thread transfers ─► hub
//!    │                  │  │  └─ outcomes of the node's orders (node_edits, grounds), parcels
//!    └── keepers, land_orders, node_edits, solids
//! ```
//!
//! - [`replicas`]: frames become replicas, and go on to everything below.
//! - [`keepers`]: objects and land on the disk, holds on that, things that come back out of inventories, and what avatars wear.
//! - [`world_orders`]: the ends of orders that bring clients' things into regions.
//! - [`node_edits`], [`land_orders`]: orders of operators, whose outcomes come in frames; [`grounds`] and [`parcels`] are the land as frames show it.
//! - [`solids`]: forms of meshes and sculpts, for the worlds that want them.
//!
//! Operators' handlers and archives use the regions by the handles of these modules alone. Configuration comes in as plain values, and clocks are given.

mod full_users;
pub mod grounds;
pub mod keepers;
pub mod land_orders;
pub mod node_edits;
pub mod parcels;
pub mod replicas;
pub mod solids;
pub mod transfer_figures;
mod transfers;
pub mod world_orders;
