//! Items that are made of an upload over HTTP.

use super::permissions::{self, SharedMasks};
use super::{items, text};
use crate::random_id;
use assets::AssetKind;
use ids::AgentId;
use store::{Item, Sale};
use uuid::Uuid;

/// Properties of a new item as its client states them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatedItem<'a> {
    /// Folder that holds it.
    pub(crate) folder: Uuid,
    /// Name as shown; blank for an unnamed item.
    pub(crate) name: &'a str,
    /// Description as shown.
    pub(crate) description: &'a str,
    /// Flags; only the subtype is read, of kinds that have one.
    pub(crate) flags: u32,
    /// Group members' permissions.
    pub(crate) group: u32,
    /// Permissions of all others.
    pub(crate) everyone: u32,
    /// Next owner's permissions.
    pub(crate) next_owner: u32,
}

/// An item with an asset that does not exist yet: everything for its creator, the stated masks within their bounds for others.
pub(crate) fn uploaded_item(
    agent: AgentId,
    kind: AssetKind,
    inventory_type: i8,
    stated: &StatedItem<'_>,
    unix_s: i64,
) -> Result<Item, getrandom::Error> {
    let StatedItem { folder, name, description, flags, group, everyone, next_owner } = *stated;
    let masks = SharedMasks { group, everyone, next_owner };
    Ok(Item {
        id: random_id()?,
        folder,
        asset: random_id()?,
        asset_type: kind.number(),
        inventory_type,
        name: text::name_of(name).unwrap_or_else(|| items::UNNAMED.to_owned()),
        description: text::description_of(description),
        flags: if items::has_subtype(kind.number()) { flags & items::SUBTYPE } else { 0 },
        created_s: unix_s,
        permissions: permissions::with_masks(&permissions::of_new_item(agent, next_owner), masks),
        sale: Sale::default(),
    })
}
