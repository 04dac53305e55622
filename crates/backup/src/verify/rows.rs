//! Rows, from one view of the database.

use super::avatars::check_avatars;
use super::flaws::{FlawKind, StoredFlaw, StoredPart};
use super::regions::check_regions;
use super::row_check::{ROWS_AT_ONCE, RowCheck, RowFindings};
use super::sealed::check_sealed;
use super::{VerifyError, VerifyOrder, WorkDriver};
use ids::{AgentId, Uuid};
use std::collections::{BTreeMap, BTreeSet};
use store::{Folder, ItemReference};

/// Bytes of a row of an inventory, for the pace.
const ROW_BYTES: u64 = 256;

/// Kinds of items that name another item or a folder instead of an asset.
const LINKS: [i8; 2] = [24, 25];

/// Looks through all rows.
pub(crate) fn check_rows(
    order: &VerifyOrder<'_>,
    driver: &mut dyn WorkDriver,
) -> Result<RowFindings, VerifyError> {
    let mut findings = RowFindings::default();
    store::view(order.database, |view| {
        let mut check = RowCheck::new(order, driver, view, &mut findings);
        check.check_database()?;
        check_sealed(&mut check)?;
        check_regions(&mut check)?;
        check_avatars(&mut check)?;
        check.check_items()?;
        check.check_marks()?;
        check.check_folders()
    })?;
    Ok(findings)
}

impl RowCheck<'_, '_, '_> {
    fn check_database(&mut self) -> Result<(), VerifyError> {
        let damaged = |part, why| StoredFlaw::new(FlawKind::Damaged, part, "", "", why);
        for why in self.view.file_problems()? {
            self.note(damaged(StoredPart::Database, why));
        }
        for why in self.view.instance_problems()? {
            self.note(damaged(StoredPart::Instance, why));
        }
        self.findings.assets = self.view.count_assets()?;
        self.advance(0, 0)
    }

    fn check_items(&mut self) -> Result<(), VerifyError> {
        let mut after = (AgentId(Uuid::nil()), Uuid::nil());
        loop {
            let items = self.view.items_after(after, ROWS_AT_ONCE)?;
            let Some(last) = items.last() else { return Ok(()) };
            after = (last.owner, last.item);
            self.findings.items += items.len() as u64;
            for item in &items {
                self.check_item(item);
            }
            self.advance(items.len(), ROW_BYTES * items.len() as u64)?;
        }
    }

    fn check_item(&mut self, found: &ItemReference) {
        let ItemReference { owner, item, name, asset, asset_type, hash } = found;
        if hash.is_none() && !LINKS.contains(asset_type) {
            let (kind, part) = (FlawKind::Missing, StoredPart::Item);
            self.note_lost_asset(*asset, |why| {
                StoredFlaw::new(kind, part, item, name.as_str(), why).of(Some(*owner))
            });
        }
    }

    /// Notes items that are on their way into a region, and are in no inventory meanwhile.
    fn check_marks(&mut self) -> Result<(), VerifyError> {
        for (owner, item) in self.view.lost_marks(ROWS_AT_ONCE)? {
            let (kind, part) = (FlawKind::Missing, StoredPart::Item);
            let why = "it is on its way into a region, and its inventory does not have it";
            self.note(StoredFlaw::new(kind, part, item, "", why).of(Some(owner)));
        }
        Ok(())
    }

    fn check_folders(&mut self) -> Result<(), VerifyError> {
        let mut after = (AgentId(Uuid::nil()), Uuid::nil());
        let mut of_owner: BTreeMap<Uuid, Folder> = BTreeMap::new();
        loop {
            let folders = self.view.folders_after(after, ROWS_AT_ONCE)?;
            let n_folders = folders.len();
            for (owner, folder) in folders {
                if owner != after.0 {
                    self.check_tree(after.0, &of_owner);
                    of_owner.clear();
                }
                after = (owner, folder.id);
                of_owner.insert(folder.id, folder);
            }
            self.advance(n_folders, ROW_BYTES * n_folders as u64)?;
            if n_folders < ROWS_AT_ONCE as usize {
                self.check_tree(after.0, &of_owner);
                return Ok(());
            }
        }
    }

    /// Notes folders of an owner that do not lead to a root.
    fn check_tree(&mut self, owner: AgentId, folders: &BTreeMap<Uuid, Folder>) {
        for (folder, why) in lost_folders(folders) {
            let (kind, part, name) = (FlawKind::Damaged, StoredPart::Folder, folder.name.as_str());
            self.note(StoredFlaw::new(kind, part, folder.id, name, why).of(Some(owner)));
        }
    }
}

/// Folders whose parent does not exist, and those that lie within themselves. A folder below such a one is not listed again.
fn lost_folders(folders: &BTreeMap<Uuid, Folder>) -> Vec<(&Folder, &'static str)> {
    let mut lost = Vec::new();
    // Folders that lead to a root, or below a folder that is listed.
    let mut settled = BTreeSet::new();
    for folder in folders.values() {
        let (mut way, mut at) = (BTreeSet::new(), folder);
        loop {
            if settled.contains(&at.id) {
                break;
            }
            if !way.insert(at.id) {
                lost.push((at, "it lies within itself"));
                break;
            }
            if at.parent.is_nil() {
                break;
            }
            match folders.get(&at.parent) {
                Some(parent) => at = parent,
                None => {
                    lost.push((at, "its parent does not exist"));
                    break;
                }
            }
        }
        settled.extend(way);
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(parents: &[(u128, u128)]) -> BTreeMap<Uuid, Folder> {
        let folder = |&(id, parent): &(u128, u128)| Folder {
            id: Uuid::from_u128(id),
            parent: Uuid::from_u128(parent),
            name: id.to_string(),
            type_default: -1,
            version: 1,
        };
        parents.iter().map(folder).map(|folder| (folder.id, folder)).collect()
    }

    fn lost(parents: &[(u128, u128)]) -> Vec<(String, &'static str)> {
        let folders = folders(parents);
        lost_folders(&folders).into_iter().map(|(folder, why)| (folder.name.clone(), why)).collect()
    }

    #[test]
    fn folders_that_lead_to_no_root_are_named_once() {
        assert!(lost(&[(1, 0), (2, 1), (3, 2), (4, 1)]).is_empty());
        assert!(lost(&[]).is_empty());
        assert_eq!(lost(&[(1, 0), (2, 9), (3, 2), (4, 3)]), [("2".to_owned(), "its parent does not exist")]);
        let within = lost(&[(1, 0), (2, 3), (3, 4), (4, 2), (5, 2)]);
        assert_eq!(within.len(), 1, "{within:?}");
        assert_eq!(within[0].1, "it lies within itself");
        assert_eq!(lost(&[(7, 7)]).len(), 1);
    }
}
