//! Land as clients are told of it: functions from the land of a replica to parts of messages, events and replies of capabilities, and from forms of
//! clients to edits.
//!
//! The world judges and changes land. A world that is not built on is one public parcel ([`bare_parcel`]).

mod environment;
mod estate;
mod forms;
mod overlay;
mod prims;
mod properties;
mod region;
mod telehub;

pub(crate) use environment::{environment_body, environment_of, environment_reply};
pub(crate) use estate::{EstateReader, estate_access};
pub(crate) use forms::{EstateForm, RegionForm, is_yes, parcel_of_map, parcel_of_message};
pub(crate) use overlay::overlay_part;
pub(crate) use prims::prims_by_owner;
pub(crate) use properties::{ParcelProperties, RequestResult, Selection, bare_parcel, missing_parcel};
pub(crate) use region::{ESTATE_NAME, RegionFacts, region_flags, region_handshake, region_info, water_m};
pub(crate) use telehub::telehub_info;
