//! Assets of an archive and the places that name them: ids and sizes, until the last entry is read.

use super::CheckConfig;
use super::mentions::{Certainty, each_mention};
use super::report::{ArchiveReport, AssetFinding, KindCount};
use crate::kind::{ArchivedKind, asset_path};
use assets::check_asset;
use ids::Uuid;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Different ids that are named, of each certainty. Further ones are not followed.
const NAMED_MAX: usize = 1_000_000;

/// Entries by name that are listed for an asset.
const REFERRERS_MAX: usize = 6;

/// Assets and references.
#[derive(Default)]
pub(super) struct AssetLedger {
    present: HashMap<Uuid, PresentAsset>,
    certain: HashMap<Uuid, NamedAsset>,
    possible: HashSet<Uuid>,
    /// Paths of entries that name an asset.
    names: Vec<Box<str>>,
    is_cut: bool,
}

struct PresentAsset {
    kind: Option<ArchivedKind>,
    bytes: u64,
    fault: Option<Box<str>>,
}

/// An asset that is named.
struct NamedAsset {
    kind: Option<ArchivedKind>,
    n_references: u64,
    referrers: [u32; REFERRERS_MAX],
    n_referrers: usize,
    /// A client is sent it for what it sees.
    is_shown: bool,
}

/// An entry that names assets.
pub(super) struct Referrer<'a> {
    path: &'a str,
    /// Its place among the names, once it has named one.
    number: Option<u32>,
}

impl<'a> Referrer<'a> {
    pub(super) const fn new(path: &'a str) -> Self {
        Self { path, number: None }
    }
}

/// The way in which an asset is named.
#[derive(Clone, Copy)]
pub(super) struct Naming {
    pub(super) certainty: Certainty,
    /// Kind of the asset, if the place has assets of one kind only.
    pub(super) kind: Option<ArchivedKind>,
    /// A client is sent it for what it sees.
    pub(super) is_shown: bool,
}

impl AssetLedger {
    /// Validates and notes an asset; false if there is one with its id.
    pub(super) fn add_asset(
        &mut self,
        id: Uuid,
        kind: Option<ArchivedKind>,
        content: &[u8],
        config: &CheckConfig<'_>,
    ) -> bool {
        if self.present.contains_key(&id) {
            return false;
        }
        let fault: Option<Box<str>> = match kind.and_then(ArchivedKind::stored) {
            Some(stored) => {
                let unfit = check_asset(stored, content, &config.sizes).err();
                unfit.map(|why| why.to_string().into())
            }
            None => content.is_empty().then(|| "it is empty".into()),
        };
        self.present.insert(id, PresentAsset { kind, bytes: content.len() as u64, fault });
        true
    }

    /// Notes that an asset could not be read by its codec, although its form is right.
    pub(super) fn add_fault(&mut self, id: Uuid, fault: &str) {
        if let Some(asset) = self.present.get_mut(&id) {
            asset.fault.get_or_insert_with(|| fault.into());
        }
    }

    /// Notes what the bytes of an asset name.
    pub(super) fn follow(&mut self, id: Uuid, kind: ArchivedKind, content: &[u8]) {
        let path = asset_path(id, kind);
        let mut referrer = Referrer::new(&path);
        // Materials are shown with the prims that have them.
        let is_shown = kind == ArchivedKind::OPENSIMULATOR_MATERIAL || kind.suffix() == "_prmat.dat";
        each_mention(kind, content, &mut |asset, certainty| {
            // A mention of itself is none.
            if asset != id {
                self.name(&mut referrer, asset, Naming { certainty, kind: None, is_shown });
            }
        });
    }

    /// Notes that an entry names an asset.
    pub(super) fn name(&mut self, referrer: &mut Referrer<'_>, asset: Uuid, naming: Naming) {
        if asset.is_nil() {
            return;
        }
        if naming.certainty == Certainty::Possible {
            if self.possible.len() < NAMED_MAX {
                self.possible.insert(asset);
            } else {
                self.is_cut |= !self.possible.contains(&asset);
            }
            return;
        }
        if self.certain.len() >= NAMED_MAX && !self.certain.contains_key(&asset) {
            self.is_cut = true;
            return;
        }
        let names = &mut self.names;
        let number = *referrer.number.get_or_insert_with(|| {
            names.push(referrer.path.into());
            names.len() as u32 - 1
        });
        let named = self.certain.entry(asset).or_insert_with(|| NamedAsset {
            kind: naming.kind,
            n_references: 0,
            referrers: [0; REFERRERS_MAX],
            n_referrers: 0,
            is_shown: false,
        });
        named.n_references += 1;
        named.is_shown |= naming.is_shown;
        named.kind = named.kind.or(naming.kind);
        let listed = &named.referrers[..named.n_referrers];
        if named.n_referrers < REFERRERS_MAX && listed.last() != Some(&number) {
            named.referrers[named.n_referrers] = number;
            named.n_referrers += 1;
        }
    }

    /// Resolves all references.
    pub(super) fn finish(self, config: &CheckConfig<'_>, report: &mut ArchiveReport) {
        if self.is_cut {
            let reason = "further assets that are named are not followed";
            report.add_remark("assets", format!("more than {NAMED_MAX}: {reason}"));
        }
        let mut kinds: BTreeMap<Option<ArchivedKind>, (u64, u64)> = BTreeMap::new();
        let mut present: Vec<(&Uuid, &PresentAsset)> = self.present.iter().collect();
        present.sort_unstable_by_key(|(id, _)| **id);
        for (id, asset) in present {
            let (n_assets, bytes) = kinds.entry(asset.kind).or_default();
            *n_assets += 1;
            *bytes += asset.bytes;
            let named = self.certain.get(id);
            if named.is_some_and(|named| named.is_shown) {
                report.newcomer_bytes += asset.bytes;
            }
            if let Some(fault) = &asset.fault {
                report.damaged.add(|| self.finding(*id, asset.kind, asset.bytes, fault));
            }
            if named.is_none() && !self.possible.contains(id) {
                report.unused.add(|| self.finding(*id, asset.kind, asset.bytes, ""));
            }
        }
        report.n_assets = self.present.len() as u64;
        report.kinds =
            kinds.into_iter().map(|(kind, (n_assets, bytes))| KindCount { kind, n_assets, bytes }).collect();
        let is_missing = |id: &&Uuid| !self.present.contains_key(*id) && !config.has_elsewhere(**id);
        let mut missing: Vec<&Uuid> = self.certain.keys().filter(is_missing).collect();
        missing.sort_unstable();
        for id in missing {
            let kind = self.certain.get(id).and_then(|named| named.kind);
            report.missing.add(|| self.finding(*id, kind, 0, ""));
        }
    }

    fn finding(&self, id: Uuid, kind: Option<ArchivedKind>, bytes: u64, reason: &str) -> AssetFinding {
        let named = self.certain.get(&id);
        let numbers = named.map_or(&[][..], |named| &named.referrers[..named.n_referrers]);
        AssetFinding {
            id,
            kind,
            bytes,
            reason: reason.into(),
            referrers: numbers.iter().map(|&number| self.names[number as usize].clone()).collect(),
            n_references: named.map_or(0, |named| named.n_references),
        }
    }
}
