//! Regions over the operator's address: `/v1/regions`, their objects, saves and files, and the objects that are held outside of them, `/v1/held`, with
//! tokens of the scopes `regions.read` and `regions.write`.
//!
//! Lists are read from the replica that clients are shown, so that no request costs a world anything. Changes are commands of the node
//! (`region_threads::node_edits`), one at a time, each of a bounded number of prims.

mod answers;
mod api;
mod claims;
mod details;
mod estate;
mod files;
mod filter;
mod held;
mod objects;
mod parcel;
mod removal;
mod shared;
mod state;

pub use answers::RegionRefusal;
pub use api::router;
pub use claims::RestoreClaims;
pub use shared::{RegionSettings, Regions};
