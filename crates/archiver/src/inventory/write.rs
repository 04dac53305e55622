//! A folder of an inventory as an archive: folders, items and links. Assets follow behind them.

use super::text::ospa;
use crate::closure::AssetClosure;
use archive::check::Certainty;
use archive::file::ArchiveWriteError;
use archive::iar::{ArchivedItem, FOLDER_DEPTH_MAX, IarWriter, NodeLocation, NodeName};
use ids::{AgentId, Uuid};
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use store::{Folder, Item};

/// A folder with everything in it.
#[derive(Clone, Copy, Debug)]
pub struct InventoryToWrite<'a> {
    /// The folder.
    pub root: Uuid,
    /// It is itself in the archive, and not only what it holds.
    pub has_root: bool,
    /// The folder and all below it.
    pub folders: &'a [Folder],
    /// Items in these.
    pub items: &'a [Item],
    /// Their owner.
    pub owner: AgentId,
}

/// Options of a save.
#[derive(Clone, Copy)]
pub struct InventoryWriteOptions<'a> {
    /// Address of this grid. With it creators have their home and name, so that another grid shows them.
    pub home: Option<&'a str>,
    /// First and last name of an account of this grid.
    pub name_of: &'a dyn Fn(AgentId) -> Option<String>,
    /// Only items to which the owner has these rights.
    pub rights: u32,
}

impl fmt::Debug for InventoryWriteOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { home, rights, .. } = self;
        f.debug_struct("InventoryWriteOptions")
            .field("home", home)
            .field("rights", rights)
            .finish_non_exhaustive()
    }
}

/// Figures of an inventory that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InventoryWritten {
    /// Folders.
    pub n_folders: u64,
    /// Items and links.
    pub n_items: u64,
    /// Items that the rights have left out.
    pub n_left_out: u64,
}

/// Writes a folder, and notes the assets of its items. `progress` gets the number of items so far, and may end the work.
///
/// # Errors
/// [`ArchiveWriteError`], or that of `progress`; the archive is not whole then.
pub fn write_inventory<W: Write, E: From<ArchiveWriteError>>(
    writer: &mut IarWriter<W>,
    inventory: &InventoryToWrite<'_>,
    options: &InventoryWriteOptions<'_>,
    closure: &mut AssetClosure,
    progress: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<InventoryWritten, E> {
    let paths = paths_of(inventory);
    let mut written = InventoryWritten::default();
    for folder in inventory.folders {
        let Some(folders) = paths.get(&folder.id).filter(|path| !path.is_empty()) else { continue };
        writer.folder(&NodeLocation { folders: folders.clone(), item: None })?;
        written.n_folders += 1;
    }
    for item in inventory.items {
        let Some(folders) = paths.get(&item.folder) else { continue };
        if item.permissions.owner & options.rights != options.rights {
            written.n_left_out += 1;
            continue;
        }
        let archived = archived_item(item, inventory.owner, options);
        if !archived.is_link() {
            closure.name(item.asset, Certainty::Certain, &format!("item {} {:?}", item.id, item.name));
        }
        let name = NodeName { name: item.name.as_str().into(), id: item.id };
        writer.item(&NodeLocation { folders: folders.clone(), item: Some(name) }, &archived)?;
        written.n_items += 1;
        progress(written.n_items)?;
    }
    Ok(written)
}

/// Path of each folder that is written, from the outermost one on; empty for a root that is not itself in the archive. Folders that are not below the root,
/// or too deep for an archive, have none.
fn paths_of(inventory: &InventoryToWrite<'_>) -> HashMap<Uuid, Vec<NodeName>> {
    let by_id: HashMap<Uuid, &Folder> = inventory.folders.iter().map(|folder| (folder.id, folder)).collect();
    let path_of = |folder: &Folder| {
        let mut path = Vec::new();
        let mut at = folder;
        while at.id != inventory.root {
            path.push(NodeName { name: at.name.as_str().into(), id: at.id });
            // Damaged rows may lead in a circle.
            if path.len() >= FOLDER_DEPTH_MAX {
                return None;
            }
            at = by_id.get(&at.parent).copied()?;
        }
        if inventory.has_root {
            path.push(NodeName { name: at.name.as_str().into(), id: at.id });
        }
        path.reverse();
        Some((folder.id, path))
    };
    inventory.folders.iter().filter_map(path_of).collect()
}

fn archived_item(item: &Item, owner: AgentId, options: &InventoryWriteOptions<'_>) -> ArchivedItem {
    let permissions = &item.permissions;
    let name = (options.name_of)(AgentId(permissions.creator));
    let home = options.home.zip(name.as_deref());
    ArchivedItem {
        id: item.id,
        name: item.name.clone(),
        description: item.description.clone(),
        inventory_type: item.inventory_type.into(),
        asset_type: item.asset_type.into(),
        asset: item.asset,
        creator: name.as_deref().map_or_else(|| permissions.creator.to_string(), ospa),
        creator_id: Some(permissions.creator.to_string()),
        creator_data: home.map(|(home, name)| format!("{home};{name}")),
        created_s: item.created_s,
        owner: owner.0,
        group: permissions.group,
        is_group_owned: permissions.group_owned,
        sale_type: item.sale.kind,
        sale_price: item.sale.price,
        base_mask: permissions.base,
        owner_mask: permissions.owner,
        everyone_mask: permissions.everyone,
        next_owner_mask: permissions.next_owner,
        flags: item.flags,
        ..ArchivedItem::default()
    }
}

#[cfg(test)]
mod tests;
