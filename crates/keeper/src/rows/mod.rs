//! Prims, linksets and land as values of rows. Of a prim, the fields that change seldom are its body, and those that change often its state.
//!
//! | value | fields |
//! |---|---|
//! | body, tag `BODY` | id, class, material, click action, size, shape, extra parameters, particles, sound, owner, masks, sale, matter, media, overrides, contents |
//! | state, tag `STAT` | version, place, movement, place in a linkset, flags, textures, names, hover text, media |
//! | held object, tag `HELD` | user, author, destination, and the values of its prims |
//! | estate, tag `ESTA` | the parcel number that was given last; owner, lists and settings of the region |
//! | parcel, tag `PARC` | all its fields, and its squares as runs |
//! | patch, tag `GRND` | place and heights |
//!
//! A value is a record (`record::RecordValue`) whose body is postcard. Decoders are total: they take any bytes, and what they give is accepted by a
//! world.

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

/// Versions of a value that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The newest version and the one before.
    Recent,
    /// All versions that there have been.
    All,
}

/// Reasons for which a value is not read.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// Its record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A field is too long, or a size is not a number.
    #[error("it has {0}")]
    Body(#[from] BodyError),
    /// Its shape is of no known curve.
    #[error("its shape is unknown: {0}")]
    Shape(#[from] ShapeError),
    /// Its extra parameters cannot be read.
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
    /// Its place or its movement is not a number.
    #[error("its place is not a number")]
    Place,
    /// Its body has never had version 0.
    #[error("its version is 0")]
    Version,
    /// Its local id, or the local id of its root, is none of the region's.
    #[error("its local id or that of its root is not one of the region's")]
    Foreign,
    /// Temporary objects are never written.
    #[error("it is temporary")]
    Temporary,
    /// A world time that no world reaches.
    #[error("its time is beyond that of any world")]
    Time,
    /// Its prims are no linkset: none, or numbered otherwise.
    #[error("its prims are no linkset")]
    Linkset,
    /// A field of a parcel or an estate.
    #[error("a field of it is out of bounds")]
    Bounds,
    /// A parcel or a patch that is not the one of its key.
    #[error("it is another one than its key says")]
    Misplaced,
    /// Squares of a parcel.
    #[error("its squares are not squares of the region, or not as many as it says")]
    Squares,
    /// Heights of a patch.
    #[error("its heights are not those of a patch of the ground")]
    Height,
    /// More ids than there are.
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

/// Content of a value as a number, by which an equal one is recognised.
#[must_use]
pub(crate) fn content_of(value: &[u8]) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(value);
    hasher.finish()
}

/// Makes one prim of its two values.
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
