//! Regions from archives and into archives.

mod contents;
mod ground;
mod linksets;
mod parcels;
mod placing;
mod plan;
mod scene;
mod settings;
mod write;
mod written_parcels;

pub use contents::{RegionContents, read_terrain};
pub use ground::{ground_of, heights_of, patches_of};
pub use linksets::{FoundTelehub, LinksetConverter};
pub use parcels::{LoadedParcels, ParcelRules, TooManyParcels, parcels_of};
pub use placing::{BoundingBox, Placed, Placing, PlacingOptions};
pub use plan::{PlanError, RegionDemand, RegionPlan, RegionPlanner};
pub use scene::{group_of, is_exportable};
pub use settings::{environment_text, estate_of, settings_of};
pub use write::{RegionToWrite, RegionWriteOptions, RegionWritten, name_land, write_region};
pub use written_parcels::archived_parcel;
