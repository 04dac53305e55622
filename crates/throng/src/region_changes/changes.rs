//! Orders that create, remove and rename regions, and their answers, as the API has them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RegionChangeKind)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeKind {
    /// A region begins.
    Create,
    /// A region runs no longer. Its content stays.
    Remove,
    /// A region has another name. Its content, its place and its landmarks stay.
    Rename,
    /// A region has other settings, by hand.
    Change,
    /// The content of a region is deleted.
    DeleteContent,
}

/// The time at which a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RegionChangeState)]
pub(super) enum ChangeState {
    /// A restart of the server applies it.
    #[serde(rename = "pending restart")]
    PendingRestart,
    /// Nothing remains to be done.
    #[serde(rename = "done")]
    Done,
}

/// A difference between the regions that run and those of the configuration file.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionChange)]
pub(super) struct ChangeRow {
    /// Name of the region, the new one of a renamed one.
    pub(super) name: String,
    /// The name with which it runs, of a renamed one.
    pub(super) former_name: Option<String>,
    pub(super) change: ChangeKind,
    pub(super) state: ChangeState,
    /// Number of its world, under which its content is stored.
    pub(super) number: u32,
    /// Position on the grid, in squares of 256 m.
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) size_m: u32,
}

/// A region with content that is neither running nor configured.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionNotConfigured)]
pub(super) struct LeftRow {
    /// Its name as of its last save; none if that is not known.
    pub(super) name: Option<String>,
    /// The number under which the content is stored.
    pub(super) number: u32,
    pub(super) objects: u64,
}

/// The regions of the next start.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionChanges)]
pub(super) struct ChangesReply {
    /// The configuration file; none of a server without one.
    pub(super) file: Option<String>,
    /// The reason for which the file cannot be used as it is.
    pub(super) problem: Option<String>,
    pub(super) changes: Vec<ChangeRow>,
    pub(super) not_configured: Vec<LeftRow>,
}

/// A new region.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionCreateOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBody {
    /// Its name: at most 63 bytes, without control characters and marks that change the direction of text. Content that is stored under the name of a region that is
    /// not configured is the new region's.
    #[schema(
        min_length = 1,
        max_length = 63,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]*$",
        extensions(("x-max-bytes" = json!(63)))
    )]
    pub(super) name: String,
    /// Position on the grid, in squares of 256 m; with `y`. Without them it lies to the east of all others, 8 squares apart.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 64_000)]
    pub(super) x: Option<u32>,
    /// The same to the north.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 64_000)]
    pub(super) y: Option<u32>,
    /// Length of its sides, metres: 256 (without it), 512, 768 or 1,024.
    #[serde(default)]
    #[schema(minimum = 256, maximum = 1_024)]
    pub(super) size_m: Option<u32>,
    /// Shape of its ground: `hills` without it.
    #[serde(default)]
    pub(super) terrain: Option<TerrainName>,
    /// Seed of the hills: 1 without it.
    #[serde(default)]
    pub(super) seed: Option<u32>,
    /// Height of the water, metres: 20 without it.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 255)]
    pub(super) water_m: Option<f32>,
    /// Owner of the estate and of the first parcel: "First Last", or the id of an account.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    pub(super) owner: Option<String>,
}

/// Shape of a ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = RegionTerrain)]
#[serde(rename_all = "snake_case")]
pub(super) enum TerrainName {
    /// Generated hills around a flat plaza, with water.
    Hills,
    /// One level, 2 m above the water.
    Flat,
}

/// The end of a region, or of its content.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionRemoveOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveBody {
    /// Delete the stored content of a region that is removed from the configuration and does not run any more. This cannot be undone.
    #[serde(default)]
    pub(super) delete_content: bool,
}

/// Another name of a region.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionRenameOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RenameBody {
    /// The name: at most 63 bytes, without control characters and marks that change the direction of text.
    #[schema(
        min_length = 1,
        max_length = 63,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]*$",
        extensions(("x-max-bytes" = json!(63)))
    )]
    pub(super) to: String,
}

/// A change that was ordered.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionChanged)]
pub(super) struct ChangedReply {
    /// Name of the region, the new one of a renamed one; none of deleted content without a known name.
    pub(super) region: Option<String>,
    /// The name that a renamed one had.
    pub(super) former_name: Option<String>,
    pub(super) change: ChangeKind,
    pub(super) state: ChangeState,
    /// Number of its world, under which its content is stored.
    pub(super) number: u32,
    /// Position on the grid, in squares of 256 m; none of deleted content.
    pub(super) x: Option<u32>,
    pub(super) y: Option<u32>,
    pub(super) size_m: Option<u32>,
    /// Objects that are stored under its number, or that were deleted.
    pub(super) objects: u64,
}
