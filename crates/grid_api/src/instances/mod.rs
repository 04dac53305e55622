//! Instances over the operator's address. The instances themselves are `workplace::instances`.

mod answers;
mod api;
mod map;
mod owners;
mod templates;

pub use api::router;
pub use owners::Owners;
