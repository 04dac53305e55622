//! Notices of items that worlds have brought or taken: their owners' clients did not change these inventories themselves.

use super::InventoryNotice;
use super::gifts::removed;
use super::replies::{self, ReplyRows, made_item};
use ids::AgentId;
use std::collections::BTreeMap;
use store::{Folder, ItemEffect};
use uuid::Uuid;

/// Effects on the inventory of one owner.
#[derive(Default)]
struct OwnerEffects<'a> {
    /// Effects by item.
    items: BTreeMap<Uuid, &'a ItemEffect>,
    /// New folders by their ids.
    folders: BTreeMap<Uuid, &'a Folder>,
}

/// Messages about effects of transfers, one notice per owner: new folders before the items in them. Of several effects on one item the last one counts.
#[must_use]
pub fn transfer_notices(effects: &[ItemEffect]) -> Vec<InventoryNotice> {
    let mut owners: BTreeMap<AgentId, OwnerEffects<'_>> = BTreeMap::new();
    for effect in effects {
        let of_owner = owners.entry(effect.owner).or_default();
        of_owner.items.insert(effect.item.id, effect);
        of_owner.folders.extend(effect.new_folder.iter().map(|folder| (folder.id, folder)));
    }
    let notice = |(to, OwnerEffects { items, folders }): (AgentId, OwnerEffects<'_>)| {
        let (mut new, mut rows, mut gone) = (ReplyRows::default(), ReplyRows::default(), Vec::new());
        folders.into_values().for_each(|folder| new.push(replies::folder(folder)));
        for (id, effect) in items {
            if effect.is_there { rows.push(made_item(to, &effect.item, 0)) } else { gone.push(id) }
        }
        let mut messages = new.into_messages(to, Uuid::nil());
        messages.extend(rows.into_messages(to, Uuid::nil()));
        messages.extend(removed(to, &gone));
        InventoryNotice { to, messages, offer: None }
    };
    owners.into_iter().map(notice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::store_with_ada;
    use ids::Ticket;
    use wire::messages::*;

    #[test]
    fn each_owner_hears_of_the_last_effect_on_each_item() {
        let (store, ada) = store_with_ada();
        let bob = AgentId(Uuid::from_u128(0xB));
        let body = store.folder_of_type(ada, 13).unwrap().expect("a folder of the skeleton").id;
        let parts = store.items_in(ada, body, 3).unwrap();
        let effect = |ticket, owner, at: usize, is_there| {
            let item = parts[at].clone();
            ItemEffect { ticket: Ticket(ticket), owner, item, is_there, version: 2, new_folder: None }
        };
        let effects = [
            effect(1, bob, 2, true),
            effect(2, ada, 0, true),
            effect(3, ada, 1, false),
            effect(4, ada, 2, true),
            effect(5, ada, 0, false),
        ];
        let notices = transfer_notices(&effects);
        assert_eq!(notices.iter().map(|notice| notice.to).collect::<Vec<_>>(), [ada, bob]);
        let [Message::UpdateCreateInventoryItem(made), Message::RemoveInventoryItem(gone)] =
            &notices[0].messages[..]
        else {
            panic!("the messages are {:?}", notices[0].messages)
        };
        assert!(made.agent_data.sim_approved && made.agent_data.transaction_id.is_nil());
        let made: Vec<(Uuid, u32)> =
            made.inventory_data.iter().map(|row| (row.item_id, row.callback_id)).collect();
        assert_eq!(made, [(parts[2].id, 0)]);
        let mut gone: Vec<Uuid> = gone.inventory_data.iter().map(|row| row.item_id).collect();
        gone.sort();
        let mut expected = [parts[0].id, parts[1].id];
        expected.sort();
        assert_eq!(gone, expected);
        assert!(matches!(&notices[1].messages[..], [Message::UpdateCreateInventoryItem(_)]));
        assert!(notices.iter().all(|notice| notice.offer.is_none()));
        assert_eq!(transfer_notices(&[]), []);
    }

    #[test]
    fn a_new_folder_is_shown_before_the_items_in_it() {
        let (store, ada) = store_with_ada();
        let body = store.folder_of_type(ada, 13).unwrap().expect("a folder of the skeleton");
        let parts = store.items_in(ada, body.id, 2).unwrap();
        let effect = |ticket, at: usize, new_folder| {
            let item = parts[at].clone();
            ItemEffect { ticket: Ticket(ticket), owner: ada, item, is_there: true, version: 1, new_folder }
        };
        let notices = transfer_notices(&[effect(1, 0, Some(body.clone())), effect(2, 1, None)]);
        let [Message::BulkUpdateInventory(new), Message::UpdateCreateInventoryItem(made)] =
            &notices[0].messages[..]
        else {
            panic!("the messages are {:?}", notices[0].messages)
        };
        assert_eq!((new.folder_data[0].folder_id, new.folder_data.len()), (body.id, 1));
        assert_eq!((new.item_data.len(), made.inventory_data.len()), (0, 2));
    }
}
