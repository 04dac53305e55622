//! Contents of assets against their files.

use super::flaws::{FaultList, FlawKind, NAMED_MAX, StoredFlaw, StoredPart};
use super::{VerifyError, VerifyOrder, WorkDriver};
use crate::copier::length_of;
use crate::files::{FileFailure, sum_of};
use assets::content_path;
use ids::{AgentId, Uuid};
use jobs::JobProgress;
use std::collections::BTreeMap;
use store::{AssetContent, AssetHash, StoreError, StoreUrl, StoreView};

/// Contents of one view: on a server each view is a connection.
const CONTENTS_AT_ONCE: u32 = 4_096;

/// Contents between two reports.
const PER_REPORT: u64 = 64;

/// Assets of a content that are searched for among the items.
const ASSETS_MAX: u32 = 8;

/// Items of one part of a list.
const ITEMS_AT_ONCE: u32 = 500;

/// Kind of a fault, and the evidence.
pub(crate) type Evidence = (FlawKind, String);

/// Faults of contents, which are named by the items that have them: as many as a list names, and the number of the others.
#[derive(Debug, Default)]
pub(crate) struct ContentFaults {
    found: BTreeMap<AssetHash, Evidence>,
    n_others: BTreeMap<FlawKind, u64>,
}

impl ContentFaults {
    /// Adds the fault of a content.
    pub(crate) fn push(&mut self, hash: AssetHash, (kind, why): Evidence) {
        if self.found.len() < NAMED_MAX {
            self.found.insert(hash, (kind, why));
        } else {
            *self.n_others.entry(kind).or_default() += 1;
        }
    }

    /// Contents of a kind of fault, as far as they are known.
    pub(crate) fn of_kind(&self, kind: FlawKind) -> impl Iterator<Item = AssetHash> {
        self.found.iter().filter(move |(_, evidence)| evidence.0 == kind).map(|(hash, _)| *hash)
    }

    /// Notes the faults: each content with its assets in a database, and the first item that has one of these, by the order of owners.
    pub(crate) fn note(self, database: &StoreUrl, faults: &mut FaultList) -> Result<(), StoreError> {
        let Self { found, n_others } = self;
        n_others.into_iter().for_each(|(kind, n)| faults.count(kind, n));
        if found.is_empty() {
            return Ok(());
        }
        let (ids, items) = store::view(database, |view| -> Result<_, StoreError> {
            let mut ids = BTreeMap::new();
            for hash in found.keys() {
                ids.insert(*hash, view.assets_of(*hash, ASSETS_MAX)?);
            }
            let items = items_of(view, &found)?;
            Ok((ids, items))
        })?;
        for (hash, (kind, why)) in found {
            let ids = ids.get(&hash).map_or(&[][..], Vec::as_slice);
            let id = ids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(" ");
            let (owner, name) = match items.get(&hash) {
                Some((owner, name)) => (Some(*owner), name.as_str()),
                None => (None, ""),
            };
            let flaw = StoredFlaw::new(kind, StoredPart::Asset, id, name, format!("{why} ({hash})"));
            faults.note(StoredFlaw { content: Some(hash), ..flaw }.of(owner));
        }
        Ok(())
    }
}

/// Looks at the files of all contents.
pub(super) fn check(
    order: &VerifyOrder<'_>,
    faults: &mut FaultList,
    driver: &mut dyn WorkDriver,
) -> Result<(), VerifyError> {
    let mut check =
        ContentCheck { order, driver, total: 0, done: 0, bytes: 0, found: ContentFaults::default() };
    let mut after = AssetHash([0; 32]);
    loop {
        let (contents, total) = store::view(order.database, |view| -> Result<_, StoreError> {
            Ok((view.contents_after(after, CONTENTS_AT_ONCE)?, view.count_assets()?))
        })?;
        check.total = total;
        let Some(last) = contents.last() else { break };
        after = last.hash;
        let mut suspects = Vec::new();
        for content in &contents {
            let fault = check.check(content)?;
            suspects.extend(fault.map(|fault| (content.hash, fault)));
        }
        check.confirm(suspects)?;
    }
    check.report()?;
    Ok(check.found.note(order.database, faults)?)
}

struct ContentCheck<'a> {
    order: &'a VerifyOrder<'a>,
    driver: &'a mut dyn WorkDriver,
    /// Assets, of which contents are no more.
    total: u64,
    done: u64,
    /// Bytes that were read since the last report.
    bytes: u64,
    found: ContentFaults,
}

impl ContentCheck<'_> {
    fn check(&mut self, content: &AssetContent) -> Result<Option<Evidence>, VerifyError> {
        let AssetContent { hash, length, damage } = content;
        let found = match length_of(self.order.assets, *hash)? {
            None => Some((FlawKind::Missing, "its bytes are missing".to_owned())),
            Some(found) if found != u64::from(*length) => {
                Some((FlawKind::Damaged, format!("its length is {found} instead of {length}")))
            }
            Some(_) if self.order.is_deep => self.check_bytes(*hash)?,
            Some(_) => None,
        };
        self.done += 1;
        if self.done.is_multiple_of(PER_REPORT) {
            self.report()?;
        }
        let quarantine = damage.as_ref().map(|why| format!("it is in quarantine: {why}"));
        Ok(found.or_else(|| quarantine.map(|why| (FlawKind::Damaged, why))))
    }

    /// Keeps the faults of contents that there still are: a temporary asset may have expired meanwhile, with its file.
    fn confirm(&mut self, suspects: Vec<(AssetHash, Evidence)>) -> Result<(), VerifyError> {
        if suspects.is_empty() {
            return Ok(());
        }
        let confirmed = store::view(self.order.database, |view| -> Result<_, StoreError> {
            let mut confirmed = Vec::new();
            for (hash, fault) in suspects {
                if view.content(hash)?.is_some() {
                    confirmed.push((hash, fault));
                }
            }
            Ok(confirmed)
        })?;
        confirmed.into_iter().for_each(|(hash, evidence)| self.found.push(hash, evidence));
        Ok(())
    }

    fn check_bytes(&mut self, hash: AssetHash) -> Result<Option<Evidence>, VerifyError> {
        let path = content_path(self.order.assets, hash);
        let sum = sum_of(&path, |n| {
            self.bytes += n;
            Ok::<(), FileFailure>(())
        });
        Ok(match sum {
            Ok(sum) if sum.blake3 == hash.to_string() => None,
            Ok(sum) => {
                let why = format!("its {} bytes have the hash {}", sum.bytes, sum.blake3);
                Some((FlawKind::Damaged, why))
            }
            // A disk that cannot read a sector.
            Err(why) => Some((FlawKind::Damaged, format!("its bytes cannot be read: {}", why.source))),
        })
    }

    fn report(&mut self) -> Result<(), VerifyError> {
        let progress = JobProgress { part: "files", done: self.done, total: self.total.max(self.done) };
        let bytes = std::mem::take(&mut self.bytes);
        Ok(self.driver.advance(progress, bytes)?)
    }
}

/// Owner and name of the first item of each of these contents.
fn items_of(
    view: &mut StoreView<'_, '_>,
    contents: &BTreeMap<AssetHash, Evidence>,
) -> Result<BTreeMap<AssetHash, (AgentId, String)>, StoreError> {
    let mut items = BTreeMap::new();
    let mut after = (AgentId(Uuid::nil()), Uuid::nil());
    loop {
        let part = view.items_after(after, ITEMS_AT_ONCE)?;
        let Some(last) = part.last() else { return Ok(items) };
        after = (last.owner, last.item);
        for item in part {
            if let Some(hash) = item.hash.filter(|hash| contents.contains_key(hash)) {
                items.entry(hash).or_insert((item.owner, item.name));
            }
        }
    }
}
