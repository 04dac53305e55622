//! Instances over the operator's address. The instances themselves are `workplace::instances`.

mod answers;
mod api;
mod map;
mod owners;
mod templates;

pub(super) use api::router;
pub(super) use owners::Owners;
pub(super) use workplace::instances::Admission;
