//! An archive of an inventory as changes of an inventory: folders first, then items, then links between these.
//!
//! Ids are given anew, so that an archive can be loaded twice. Links follow the things that they lead to; those to something that is not in the archive are
//! left out, as by OpenSimulator, and so are those to links, which clients cannot make either. With merging, folders of the archive are those of the same name
//! that are there.

use super::text::{DESCRIPTION_MAX, NAME_MAX, fitting, ospa_name};
use crate::accounts::AccountRules;
use crate::findings::Findings;
use crate::renewed_ids::{IdRule, RenewedIds};
use archive::file::FileError;
use archive::iar::{ArchivedItem, IarContent, IarReader, LINK_TO_FOLDER, NodeLocation, NodeName};
use ids::{AgentId, Uuid};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use store::{Folder, InventoryChange, Item, NewFolder, Permissions, Sale};

/// Folders and items of an archive. More would hold up other writers of the database for too long, since all of them come in one transaction.
pub const NODES_MAX: usize = 50_000;

/// Finding about a name or a description that becomes another one.
const CUT: &str = "its name or description is too long, or has control characters, and is cut";

/// The inventory that an archive is loaded into.
#[derive(Clone, Copy)]
pub struct InventoryTarget<'a> {
    /// Its owner.
    pub owner: AgentId,
    /// The folder for the archive's content.
    pub folder: Uuid,
    /// All folders of the inventory.
    pub folders: &'a [Folder],
    /// Folders of the archive become those of the same name that are there.
    pub is_merged: bool,
    /// Accounts. The default user is the owner.
    pub accounts: AccountRules<'a>,
    /// The account with this first and last name.
    pub account_of: &'a dyn Fn(&str) -> Option<AgentId>,
}

impl fmt::Debug for InventoryTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, folder, is_merged, .. } = self;
        f.debug_struct("InventoryTarget")
            .field("owner", owner)
            .field("folder", folder)
            .field("is_merged", is_merged)
            .finish_non_exhaustive()
    }
}

/// Changes that load an archive.
#[derive(Debug, Default)]
pub struct InventoryPlan {
    /// To be made all or none, in this order.
    pub changes: Vec<InventoryChange>,
    /// New folders.
    pub n_folders: u64,
    /// Items, without links.
    pub n_items: u64,
    /// Links.
    pub n_links: u64,
    /// Parts that are left out, or are other than in the archive.
    pub findings: Findings,
}

/// Reason for which an archive is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum InventoryPlanError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Too many folders and items.
    #[error("the archive has more than {NODES_MAX} folders and items: load it in parts")]
    Nodes,
    /// OpenSimulator's loader needs it as well.
    #[error("the archive has no control file that can be read")]
    NoControl,
}

/// Reads an archive.
///
/// # Errors
/// [`InventoryPlanError`].
pub fn plan_inventory<R: Read>(
    mut reader: IarReader<R>,
    target: &InventoryTarget<'_>,
    seed: [u8; 32],
) -> Result<InventoryPlan, InventoryPlanError> {
    let mut planner = Planner {
        target,
        ids: RenewedIds::new(IdRule::Renew, seed),
        nodes: vec![PlannedFolder { id: target.folder, children: HashMap::new() }],
        new_ids: HashMap::new(),
        folders: Vec::new(),
        items: Vec::new(),
        links: Vec::new(),
        findings: Findings::default(),
    };
    let mut has_control = false;
    while let Some(part) = reader.next_part()? {
        match part.content {
            IarContent::Control(_) => has_control = true,
            IarContent::Folder(location) => {
                planner.folder(&location.folders);
            }
            IarContent::Item { location, item } => planner.item(&part.path, &location, item.value),
            IarContent::Unreadable { reason, .. } => planner.findings.add(part.path, reason),
            IarContent::Refused(reason) => planner.findings.add(part.path, reason),
            IarContent::Profile(_)
            | IarContent::Asset(_)
            | IarContent::Other(_)
            | IarContent::OtherFolder => {}
        }
        if planner.folders.len() + planner.items.len() + planner.links.len() > NODES_MAX {
            return Err(InventoryPlanError::Nodes);
        }
    }
    if has_control { Ok(planner.finish()) } else { Err(InventoryPlanError::NoControl) }
}

struct PlannedFolder {
    id: Uuid,
    children: HashMap<NodeName, usize>,
}

struct Planner<'a> {
    target: &'a InventoryTarget<'a>,
    ids: RenewedIds,
    /// The target first.
    nodes: Vec<PlannedFolder>,
    /// New ids of folders and of items other than links, by those in the archive.
    new_ids: HashMap<Uuid, Uuid>,
    folders: Vec<NewFolder>,
    items: Vec<Item>,
    links: Vec<(Box<str>, Item)>,
    findings: Findings,
}

impl Planner<'_> {
    /// The folder at this path, which is made if it is not there.
    fn folder(&mut self, path: &[NodeName]) -> Uuid {
        let mut at = 0;
        for name in path {
            at = match self.nodes[at].children.get(name) {
                Some(&child) => child,
                None => self.add_folder(at, name),
            };
        }
        self.nodes[at].id
    }

    fn add_folder(&mut self, parent: usize, name: &NodeName) -> usize {
        let parent_id = self.nodes[parent].id;
        let shown = fitting(&name.name, NAME_MAX);
        if *shown != *name.name {
            self.findings.add(&*name.name, CUT);
        }
        let is_same = |folder: &&Folder| folder.parent == parent_id && folder.name == shown;
        let there = self.target.folders.iter().find(is_same).filter(|_| self.target.is_merged);
        let id = match there {
            Some(folder) => folder.id,
            None => {
                let id = self.ids.give(name.id);
                self.folders.push(NewFolder { id, parent: parent_id, name: shown, type_default: -1 });
                id
            }
        };
        if !name.id.is_nil() {
            self.new_ids.entry(name.id).or_insert(id);
        }
        let child = self.nodes.len();
        self.nodes.push(PlannedFolder { id, children: HashMap::new() });
        self.nodes[parent].children.insert(name.clone(), child);
        child
    }

    fn item(&mut self, path: &str, location: &NodeLocation, archived: ArchivedItem) {
        let folder = self.folder(&location.folders);
        let kinds = (i8::try_from(archived.asset_type), i8::try_from(archived.inventory_type));
        let (Ok(asset_type), Ok(inventory_type)) = kinds else {
            return self.findings.add(path, "its kind is none");
        };
        let id = self.ids.give(archived.id);
        if !archived.id.is_nil() && !archived.is_link() {
            self.new_ids.entry(archived.id).or_insert(id);
        }
        let (name, description) =
            (fitting(&archived.name, NAME_MAX), fitting(&archived.description, DESCRIPTION_MAX));
        if name != archived.name || description != archived.description {
            self.findings.add(path, CUT);
        }
        let item = Item {
            id,
            folder,
            asset: archived.asset,
            asset_type,
            inventory_type,
            name,
            description,
            flags: archived.flags,
            created_s: archived.created_s,
            permissions: self.permissions(&archived),
            sale: Sale { kind: archived.sale_type.min(3), price: archived.sale_price.max(0) },
        };
        if archived.is_link() {
            self.links.push((path.into(), item));
        } else {
            self.items.push(item);
        }
    }

    fn permissions(&self, archived: &ArchivedItem) -> Permissions {
        let InventoryTarget { owner, accounts, account_of, .. } = *self.target;
        let id = archived.creator_account().map(AgentId);
        let known = id.filter(|creator| accounts.knows(*creator));
        let by_name = || ospa_name(&archived.creator).and_then(account_of);
        let has_home = archived.creator_data.as_deref().is_some_and(|data| !data.is_empty());
        let foreign = || id.filter(|_| has_home);
        let creator = known.or_else(by_name).or_else(foreign).unwrap_or(owner);
        let last_owner = AgentId(archived.owner);
        Permissions {
            creator: creator.0,
            last_owner: if accounts.knows(last_owner) { last_owner.0 } else { owner.0 },
            group: Uuid::nil(),
            group_owned: false,
            base: archived.base_mask,
            owner: archived.owner_mask & archived.base_mask,
            group_mask: 0,
            everyone: archived.everyone_mask & archived.base_mask,
            next_owner: archived.next_owner_mask & archived.base_mask,
        }
    }

    fn finish(self) -> InventoryPlan {
        let Self { new_ids, folders, items, links, mut findings, .. } = self;
        let mut known = Vec::with_capacity(links.len());
        for (path, link) in links {
            match new_ids.get(&link.asset) {
                Some(&asset) => known.push(Item { asset, ..link }),
                None => {
                    let what = if i32::from(link.asset_type) == LINK_TO_FOLDER { "folder" } else { "item" };
                    let why =
                        format!("it leads to the {what} {}, which is not there or is a link", link.asset);
                    findings.add(path, why);
                }
            }
        }
        let [n_folders, n_items, n_links] = [folders.len(), items.len(), known.len()].map(|n| n as u64);
        // A folder stands behind its parent.
        let folders = folders.into_iter().map(InventoryChange::CreateFolder);
        let items = items.into_iter().chain(known).map(InventoryChange::CreateItem);
        InventoryPlan { changes: folders.chain(items).collect(), n_folders, n_items, n_links, findings }
    }
}

#[cfg(test)]
mod tests;
