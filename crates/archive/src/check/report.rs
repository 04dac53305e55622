//! The outcome of a check.

use crate::kind::ArchivedKind;
use ids::Uuid;

/// Findings of a list; further ones are counted.
pub const FINDINGS_MAX: usize = 1_000;

/// A list that is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingList<T> {
    /// At most [`FINDINGS_MAX`].
    pub listed: Vec<T>,
    /// Number of all.
    pub n_total: u64,
}

impl<T> Default for FindingList<T> {
    fn default() -> Self {
        Self { listed: Vec::new(), n_total: 0 }
    }
}

impl<T> FindingList<T> {
    pub(super) fn add(&mut self, finding: impl FnOnce() -> T) {
        self.n_total += 1;
        if self.listed.len() < FINDINGS_MAX {
            self.listed.push(finding());
        }
    }

    /// True without any.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_total == 0
    }
}

/// An asset that is missing, damaged or unused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetFinding {
    /// Its id.
    pub id: Uuid,
    /// Its kind; of a missing one, that of the place that names it. None if it is not known.
    pub kind: Option<ArchivedKind>,
    /// Its bytes; 0 of a missing one.
    pub bytes: u64,
    /// The fault of a damaged one; empty for others.
    pub reason: Box<str>,
    /// Paths of some entries that name it.
    pub referrers: Vec<Box<str>>,
    /// Number of places that name it.
    pub n_references: u64,
}

/// A part of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFinding {
    /// Path of its entry.
    pub path: Box<str>,
    /// The reason.
    pub reason: Box<str>,
}

/// An account that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountFinding {
    /// Its id.
    pub id: Uuid,
    /// Home and name of one of another grid, where the archive states them.
    pub name: Option<Box<str>>,
    /// Number of prims, items and parcels that have it.
    pub n_uses: u64,
}

/// Assets of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// The kind; none for files whose ending is not known.
    pub kind: Option<ArchivedKind>,
    /// Number of assets.
    pub n_assets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A region of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionCount {
    /// Its folder; empty in archives of one region.
    pub directory: Box<str>,
    /// Width and depth, metres, as stated or as those of the terrain.
    pub size_m: Option<(u32, u32)>,
    /// Linksets.
    pub n_objects: u64,
    /// Prims.
    pub n_prims: u64,
    /// Parcels.
    pub n_parcels: u64,
    /// Prims that a region may have.
    pub prims_max: u64,
}

/// Nodes of an inventory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InventoryCounts {
    /// Folders.
    pub n_folders: u64,
    /// Items, without links.
    pub n_items: u64,
    /// Links.
    pub n_links: u64,
    /// Links whose target is not in the archive.
    pub n_broken_links: u64,
}

/// Degree to which an archive loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// All of it.
    Loads,
    /// Except for unreadable parts and damaged assets.
    LoadsInPart,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveReport {
    /// Version of the archive; none if its control file could not be read.
    pub version: Option<(u32, u32)>,
    /// Linksets; in an inventory those of its items.
    pub n_objects: u64,
    /// Prims of these.
    pub n_prims: u64,
    /// Scripts in these; in an inventory also those that are items.
    pub n_scripts: u64,
    /// Assets.
    pub n_assets: u64,
    /// Assets by kind.
    pub kinds: Vec<KindCount>,
    /// Regions.
    pub regions: Vec<RegionCount>,
    /// Nodes of an inventory.
    pub inventory: InventoryCounts,
    /// Assets that are named and not there, by id.
    pub missing: FindingList<AssetFinding>,
    /// Assets whose bytes are not of their kind, by id.
    pub damaged: FindingList<AssetFinding>,
    /// Assets that no entry names, by id.
    pub unused: FindingList<AssetFinding>,
    /// Reason for which the file cannot be read to its end; the check has what comes before.
    pub cut_short: Option<Box<str>>,
    /// Parts that cannot be loaded, in the order of the archive.
    pub unreadable: FindingList<PartFinding>,
    /// Parts that are loaded otherwise than they stand there, and other remarks, in the order of the archive.
    pub remarks: FindingList<PartFinding>,
    /// Owners without an account, by id.
    pub owners_unknown: FindingList<AccountFinding>,
    /// Creators without an account, by id.
    pub creators_unknown: FindingList<AccountFinding>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the uncompressed archive.
    pub bytes_uncompressed: u64,
    /// Memory of the content in a running server, bytes.
    pub memory_bytes: u64,
    /// Bytes that a client is sent that sees all of it for the first time.
    pub newcomer_bytes: u64,
}

impl ArchiveReport {
    /// Degree to which the archive loads.
    #[must_use]
    pub const fn verdict(&self) -> CheckVerdict {
        if self.unreadable.is_empty() && self.damaged.is_empty() {
            CheckVerdict::Loads
        } else {
            CheckVerdict::LoadsInPart
        }
    }

    pub(super) fn add_unreadable(&mut self, path: &str, reason: impl ToString) {
        self.unreadable.add(|| PartFinding { path: path.into(), reason: reason.to_string().into() });
    }

    pub(super) fn add_remark(&mut self, path: &str, reason: impl ToString) {
        self.remarks.add(|| PartFinding { path: path.into(), reason: reason.to_string().into() });
    }
}
