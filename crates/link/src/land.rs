//! Land of a world: its ground as far as it was edited, its parcels and its estate.
//!
//! A world that is not built on has none of it. Parcels divide a region in squares of 4 m; each square belongs to exactly one parcel. All of it is
//! plain data: [`StoredLand`] is the whole, [`LandChange`] a difference, [`crate::LandCommand`] a request.

mod estate;
mod event;
mod ground;
mod parcel;
mod settings;
mod squares;
mod state;
mod telehub;

pub use estate::{
    Estate, EstateList, GroundTextures, HEIGHT_LIMIT_M, Maturity, RegionFlags, RegionOptions, Sun,
    WaterAndLimits,
};
pub use event::{LandEvent, LandRefusal};
pub use ground::{GroundPatch, PATCH_M, PATCH_SAMPLES, PatchHeights};
pub use parcel::{ACCESS_MAX, AccessEntry, ENVIRONMENT_MAX, Environment, Parcel, ParcelNumber};
pub use settings::{LandSale, Landing, LandingKind, ParcelFlags, ParcelMedia, ParcelSettings, Pass};
pub use squares::{SQUARE_M, SquareSet};
pub use state::{LandChange, LandState, PatchEdit, StoredLand, StoredStroke};
pub use telehub::{SPAWN_POINTS_MAX, Telehub};
