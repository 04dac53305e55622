//! Requests about folders. The store has the rules of system folders.

use super::replies::Answer;
use super::{ChangeRefusal, Step, text};
use store::{InventoryChange, NewFolder, SYSTEM_FOLDER_TYPES};
use uuid::Uuid;
use wire::messages::*;

/// Type of a folder without a purpose.
const PLAIN: i8 = -1;
/// Name of a folder without a name.
const UNNAMED: &str = "New Folder";

pub(super) fn create(row: &CreateInventoryFolderFolderData) -> Step {
    Step::silent(new_folder(row.folder_id, row.parent_id, row.r#type.into(), text::name(&row.name)))
}

/// The change that makes a folder.
pub(super) fn new_folder(
    id: Uuid,
    parent: Uuid,
    folder_type: i32,
    name: Option<String>,
) -> Result<InventoryChange, ChangeRefusal> {
    let type_default = type_of(folder_type)?;
    let name = name.unwrap_or_else(|| UNNAMED.to_owned());
    Ok(InventoryChange::CreateFolder(NewFolder { id, parent, name, type_default }))
}

/// Changes name and type of a folder. Clients state the parent, too, as they know it: moves have a message of their own.
pub(super) fn update(row: &UpdateInventoryFolderFolderData) -> Step {
    let change = type_of(row.r#type.into()).map(|type_default| InventoryChange::UpdateFolder {
        folder: row.folder_id,
        name: text::name(&row.name).unwrap_or_else(|| UNNAMED.to_owned()),
        type_default: Some(type_default),
    });
    Step::shown(change, Answer::StoredFolder(row.folder_id))
}

pub(super) fn relocate(row: &MoveInventoryFolderInventoryData) -> Step {
    let change = InventoryChange::MoveFolder { folder: row.folder_id, parent: row.parent_id };
    Step::shown(Ok(change), Answer::StoredFolder(row.folder_id))
}

pub(super) fn remove(folder: Uuid) -> Step {
    Step::shown(Ok(InventoryChange::RemoveFolder { folder }), Answer::StoredFolder(folder))
}

pub(super) fn purge(folder: Uuid) -> Step {
    Step::silent(Ok(InventoryChange::PurgeFolder { folder }))
}

/// A type that clients give to folders: none; types of system folders; 26 to 45 ensembles, 47 outfits, 50 to 55 types of the viewer's market.
fn type_of(folder_type: i32) -> Result<i8, ChangeRefusal> {
    i8::try_from(folder_type)
        .ok()
        .filter(|known| *known == PLAIN || SYSTEM_FOLDER_TYPES.contains(known) || (26..=55).contains(known))
        .ok_or(ChangeRefusal::FolderType(folder_type))
}
