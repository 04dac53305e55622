//! Checks of archives: everything that loading would meet, without loading anything.
//!
//! [`check_oar`] and [`check_iar`] read an archive once, with memory for ids, sizes, and paths of entries that name an asset. Each object is read by the codec
//! that would load it, each asset is validated as an upload is, and references are resolved behind the last entry, since they may lead to
//! entries before and behind. The caller states which accounts and assets there are besides.
//!
//! Cost of loading, for a region:
//!
//! - *memory*: prims × [`PRIM_BYTES`], which was measured, + items in them × [`ITEM_BYTES`] + heights × [`HEIGHT_BYTES`], which are estimates;
//! - *bytes for a newcomer*: prims × [`UPDATE_BYTES`] + their textures' entries, extra parameters, texts and particles, all uncompressed, + each texture, mesh
//!   and material once that the archive has and that a face, sculpt, light, particle or material of a prim, or the ground, names;
//! - *land*: prims beside the number that a region may have.

mod accounts;
mod iar;
mod ledger;
mod mentions;
mod oar;
mod objects;
mod report;
mod tally;
#[cfg(test)]
mod tests;
mod walk;

pub use iar::check_iar;
pub use mentions::{Certainty, each_mention};
pub use oar::{OarVisitor, check_oar, check_oar_with};
pub use report::{
    AccountFinding, ArchiveReport, AssetFinding, CheckVerdict, FINDINGS_MAX, FindingList, InventoryCounts,
    KindCount, PartFinding, RegionCount,
};

use crate::file::{ArchiveLimits, FileError};
use assets::{AssetKind, SizeLimits};
use ids::Uuid;
use std::fmt;

/// Memory of a prim, bytes, with all that clients are sent of it, as in docs/performance.md.
pub const PRIM_BYTES: u64 = 1_900;

/// Memory of an item in a prim, bytes.
pub const ITEM_BYTES: u64 = 300;

/// Memory of a height of the ground, bytes: the height, its baked form, and its place in the picture that is sent.
pub const HEIGHT_BYTES: u64 = 12;

/// Bytes of a prim's first update but for the parts that differ in length.
pub const UPDATE_BYTES: u64 = 110;

/// Bytes of an asset of any kind in an archive; uploads have lower limits.
const ASSET_BYTES_MAX: u32 = 64 << 20;

/// Assets that every viewer has, so that archives leave them out: the textures of new prims, blank, transparent and invisible ones, the place of media, the
/// form of new sculpts, the avatar that was not received, and the four textures of the ground.
pub const VIEWERS_OWN: [u128; 12] = [
    0x8955_6747_24cb_43ed_920b_47ca_ed15_465f,
    0x5748_decc_f629_461c_9a36_a35a_221f_e21f,
    0x8dcd_4a48_2d37_4909_9f78_f7a9_eb4e_f903,
    0x38b8_6f85_2575_52a9_a531_2310_8d8d_a837,
    0x8b5f_ec65_8d8d_9dc5_cda8_8fdf_2716_e361,
    0xbe29_3869_d0d9_0a69_5989_ad27_f194_6fd4,
    0xc228_d1cf_4b5d_4ba8_84f4_899a_0796_aa97,
    0xb8d3_965a_ad78_bf43_699b_bff8_eca6_c975,
    0xabb7_83e6_3e93_26c0_248a_2476_6685_5da3,
    0x179c_dabd_398a_9b6b_1391_4dc3_33ba_321f,
    0xbeb1_69c7_11ea_fff2_efe5_0f24_dc88_1df2,
    u128::MAX,
];

/// Knowledge of the caller, and bounds.
#[derive(Clone)]
pub struct CheckConfig<'a> {
    /// Bounds on the file.
    pub limits: ArchiveLimits,
    /// Bounds on assets.
    pub sizes: SizeLimits,
    /// True for an account that there is.
    pub knows_account: &'a dyn Fn(Uuid) -> bool,
    /// True for an asset that there is besides those of the archive and [`VIEWERS_OWN`].
    pub knows_asset: &'a dyn Fn(Uuid) -> bool,
    /// Prims that a region may have.
    pub prims_max: u64,
}

impl fmt::Debug for CheckConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limits, sizes, prims_max, .. } = self;
        f.debug_struct("CheckConfig")
            .field("limits", limits)
            .field("sizes", sizes)
            .field("prims_max", prims_max)
            .finish_non_exhaustive()
    }
}

impl Default for CheckConfig<'_> {
    /// Without accounts and assets besides those of the archive.
    fn default() -> Self {
        let sizes =
            AssetKind::all().fold(SizeLimits::default(), |sizes, kind| sizes.with(kind, ASSET_BYTES_MAX));
        Self {
            limits: ArchiveLimits::default(),
            sizes,
            knows_account: &|_| false,
            knows_asset: &|_| false,
            prims_max: 45_000,
        }
    }
}

impl CheckConfig<'_> {
    fn has_elsewhere(&self, asset: Uuid) -> bool {
        VIEWERS_OWN.contains(&asset.as_u128()) || (self.knows_asset)(asset)
    }
}

/// Reason for which there is nothing to check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The file is no archive, is empty, or cannot be read at all.
    #[error(transparent)]
    File(#[from] FileError),
    /// A tar file of something else.
    #[error("the file is not an archive of {0}: it has neither a control file nor any part of one")]
    OtherArchive(&'static str),
}
