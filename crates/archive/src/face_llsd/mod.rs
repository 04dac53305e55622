//! Media and overrides of render materials as LLSD: one map for each face of a prim.
//!
//! Documents of objects ([`crate::object`]), capabilities and messages to viewers share these maps and their keys. Each kind of map has one table that joins a
//! key to a field and serves reader and writer alike. The forms around the maps belong to their users, as does the treatment of a wrong value.
//! A key that the table lacks is skipped; documents of objects keep their whole text beside what was read.

mod media;
mod overrides;

pub use media::{media_llsd, read_media_entry};
pub use overrides::{Digits, override_llsd, read_override};
