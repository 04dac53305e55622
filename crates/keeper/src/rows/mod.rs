//! Prims, linksets and land as values of rows. The rarely changed fields of a prim are its body, the frequently changed ones its state.
//!
//! | value | fields |
//! |---|---|
//! | body, tag `BODY` | id, class, material, click action, size, shape, extra parameters, particles, sound, owner, masks, sale, matter, media, overrides, contents |
//! | state, tag `STAT` | version, place, movement, place in a linkset, flags, textures, names, hover text, media |
//! | held object, tag `HELD` | user, author, destination, and the values of its prims |
//! | estate, tag `ESTA` | the last assigned parcel number; owner, lists and settings of the region |
//! | parcel, tag `PARC` | all its fields, and its squares as runs |
//! | patch, tag `GRND` | place and heights |
//!
//! A value is a record (`record::RecordValue`) whose body is postcard. Decoders are total: they accept any bytes, and a world accepts each decoded
//! value.

mod body;
mod held;
mod interned;
mod land;
mod region;
mod state;

pub(crate) use body::{push_body, read_body};
pub use held::held_object;
pub(crate) use held::{push_held, read_held};
pub(crate) use interned::Interned;
pub(crate) use land::{
    SquareRuns, n_squares_of, patch_number, push_estate, push_parcel, push_patch, read_estate, read_parcel,
    read_patch, runs_of,
};
pub(crate) use region::{RegionState, push_region, read_region};
pub(crate) use state::{PrimState, push_state, read_state, state_len};

use ids::LocalId;
use link::{PrimMotion, VersionedBody};
use prim::{Body, BodyError, ExtraParamError, Names, ShapeError};
use record::{Part, RecordError, RecordValue};
use state_hash::StateHasher;
use std::borrow::Cow;
use std::sync::Arc;

/// A prim with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacedPrim {
    pub(crate) id: LocalId,
    pub(crate) motion: PrimMotion,
    pub(crate) body: VersionedBody,
}

/// Accepted versions of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The newest version and the one before.
    Recent,
    /// All versions so far.
    All,
}

/// Reasons for which a value is rejected.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The record is unreadable.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A field is too long, or a size is not a number.
    #[error("it has {0}")]
    Body(#[from] BodyError),
    /// The shape has an unknown curve.
    #[error("its shape is unknown: {0}")]
    Shape(#[from] ShapeError),
    /// The extra parameters are unreadable.
    #[error("its extra parameters cannot be: {0}")]
    ExtraParams(#[from] ExtraParamError),
    /// A code without a meaning.
    #[error("its {field} {code} is unknown")]
    Code {
        /// The field.
        field: &'static str,
        /// Its value.
        code: u8,
    },
    /// The position or the movement is NaN or infinite.
    #[error("its place is not a number")]
    Place,
    /// The version of the body is 0, which is never assigned.
    #[error("its version is 0")]
    Version,
    /// The local id, or that of the root, is outside of the region's range.
    #[error("its local id or that of its root is not one of the region's")]
    Foreign,
    /// Temporary objects are never written.
    #[error("it is temporary")]
    Temporary,
    /// The world time exceeds the maximum.
    #[error("its time is beyond that of any world")]
    Time,
    /// The prims do not form a linkset: there are none, or their numbers are wrong.
    #[error("its prims are no linkset")]
    Linkset,
    /// A field of a parcel or an estate.
    #[error("a field of it is out of bounds")]
    Bounds,
    /// The parcel or patch does not belong to its key.
    #[error("it is another one than its key says")]
    Misplaced,
    /// Squares of a parcel.
    #[error("its squares are not squares of the region, or not as many as it says")]
    Squares,
    /// Heights of a patch.
    #[error("its heights are not those of a patch of the ground")]
    Height,
    /// More ids than the range has.
    #[error("it has more local ids than the region")]
    Ids,
}

impl RowError {
    /// True if the value is unreadable for every build.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        match self {
            Self::Record(why) => why.is_damage(),
            _ => true,
        }
    }
}

/// Hash of a value's content, to recognise equal values.
#[must_use]
pub(crate) fn content_of(value: &[u8]) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(value);
    hasher.finish()
}

/// Joins the two values of a prim.
pub(crate) fn join(body: Body, state: PrimState) -> Result<(PrimMotion, VersionedBody), RowError> {
    let PrimState {
        motion,
        version,
        texture_entry,
        texture_animation,
        media_url,
        name,
        description,
        hover_text,
    } = state;
    let names = Names { name, description, ..body.names };
    let body = Body { texture_entry, texture_animation, media_url, names, hover_text, ..body };
    Ok((motion, VersionedBody { version, body: Arc::new(body.checked()?) }))
}

/// The body of a value's record, in the part's newest version.
fn record_of<'a>(part: &Part, value: &'a [u8], versions: Versions) -> Result<Cow<'a, [u8]>, RecordError> {
    let value = RecordValue::parse(value)?;
    match versions {
        Versions::Recent => value.read(part),
        Versions::All => value.migrate(part),
    }
}

#[cfg(test)]
mod tests;
