//! Worn items, for AgentWearablesUpdate: without that message one client never connects.

use super::{AssetType, FolderType};
use ids::AgentId;
use store::{Item, Store, StoreError};
use uuid::Uuid;

/// One row of AgentWearablesUpdate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WornItem {
    /// The item in the inventory (not the link).
    pub item: Uuid,
    /// Its asset.
    pub asset: Uuid,
    /// Kind: [`super::WearableType`].
    pub wearable: u8,
}

/// Rows in one answer: the message's block count is a byte, and a viewer wears at most 60 layers. Links beyond are
/// left out.
pub const WORN_MAX: u32 = 64;

/// Resolves the links in the agent's Current Outfit. Attachments, dangling links and links to links are left out. If nothing is left, as with clients that keep no
/// such folder, these are the items that the client has named last.
///
/// # Errors
/// [`StoreError::Query`].
pub fn worn(store: &Store, agent: AgentId) -> Result<Vec<WornItem>, StoreError> {
    let mut rows = Vec::new();
    if let Some(outfit) = store.folder_of_type(agent, FolderType::CURRENT_OUTFIT)? {
        for link in store.items_in(agent, outfit.id, WORN_MAX)? {
            if link.asset_type == AssetType::LINK {
                rows.extend(store.item(agent, link.asset)?.as_ref().and_then(row));
            }
        }
    }
    if rows.is_empty() {
        for stated in store.wearables(agent)?.into_iter().take(WORN_MAX as usize) {
            rows.extend(store.item(agent, stated.item)?.as_ref().and_then(row));
        }
    }
    rows.sort_by_key(|worn| worn.wearable);
    Ok(rows)
}

fn row(item: &Item) -> Option<WornItem> {
    let wearable = matches!(item.asset_type, AssetType::BODY_PART | AssetType::CLOTHING);
    // The low byte of the flags is where it goes; the rest has other meanings.
    wearable.then_some(WornItem { item: item.id, asset: item.asset, wearable: item.flags.to_be_bytes()[3] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset_sources::BODY_PARTS;
    use crate::inventory::tests::{counted_skeleton, store_with_ada};
    use store::{NewAccount, PasswordHash};

    #[test]
    fn a_new_account_wears_its_body() {
        let (store, ada) = store_with_ada();
        let worn = worn(&store, ada).unwrap();
        let expected: Vec<_> = BODY_PARTS.iter().map(|part| (part.wearable, part.asset)).collect();
        assert_eq!(worn.iter().map(|row| (row.wearable, row.asset)).collect::<Vec<_>>(), expected);
        for row in worn {
            assert_eq!(store.item(ada, row.item).unwrap().unwrap().asset_type, AssetType::BODY_PART);
        }
    }

    #[test]
    fn links_to_nothing_and_to_links_are_left_out() {
        let store = Store::open_in_memory().unwrap();
        let agent = AgentId(Uuid::from_u128(0xA));
        let mut skeleton = counted_skeleton(agent);
        let links: Vec<_> =
            skeleton.items.iter().filter(|item| item.asset_type == AssetType::LINK).cloned().collect();
        let stray = |id, target| Item { id: Uuid::from_u128(id), asset: target, ..links[0].clone() };
        skeleton.items.extend([stray(1, Uuid::from_u128(0xBAD)), stray(2, links[1].id)]);
        let new = NewAccount {
            agent,
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash(String::new()),
            created_s: 0,
            folders: skeleton.folders,
            items: skeleton.items,
        };
        store.create_account(&new).unwrap();
        assert_eq!(worn(&store, agent).unwrap().len(), BODY_PARTS.len());
    }

    #[test]
    fn without_an_outfit_the_stated_items_are_worn() {
        let (store, ada) = store_with_ada();
        let body = worn(&store, ada).unwrap();
        let outfit = store.folder_of_type(ada, FolderType::CURRENT_OUTFIT).unwrap().unwrap();
        let purge = [store::InventoryChange::PurgeFolder { folder: outfit.id }];
        store.change_inventory(ada, &purge, &store::InventoryLimits::default()).unwrap();
        assert_eq!(worn(&store, ada).unwrap(), []);
        let stated = |item, kind| store::StoredWearable { item, kind };
        let stray = stated(Uuid::from_u128(0xBAD), 0);
        store.save_wearables(ada, &[stray, stated(body[1].item, 1), stated(body[0].item, 0)]).unwrap();
        assert_eq!(worn(&store, ada).unwrap(), body[..2]);
    }

    #[test]
    fn an_agent_without_an_outfit_wears_nothing() {
        let store = Store::open_in_memory().unwrap();
        assert_eq!(worn(&store, AgentId(Uuid::from_u128(1))).unwrap(), []);
    }
}
