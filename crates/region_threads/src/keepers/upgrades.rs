//! Worn linksets that a build before this one has kept in rows: it put those there that avatars wore as they left, and none came out again by itself.

use super::items::KeepContentsFn;
use assets::ReadAssetError;
use keeper::{Itemized, encode_object, held_object, itemize};
use store::{HeldChange, HeldFilter, HeldRow, ItemTransfer, Store, StoreError};

/// Rows that are read at once.
const PAGE: u32 = 256;

/// Makes items of them, in Lost and Found of their owners. Those that cannot become items stay rows. Their number.
///
/// # Errors
/// [`StoreError`].
pub fn give_worn_back(store: &Store, keep_contents: &KeepContentsFn) -> Result<usize, StoreError> {
    let (mut after, mut n_made) = (None, 0);
    loop {
        let page = store.held_objects(HeldFilter::default(), after, PAGE)?;
        for entry in page.entries {
            match give_back(store, keep_contents, entry.row) {
                Ok(is_made) => n_made += usize::from(is_made),
                Err(GiveBackError::Store(error)) => return Err(error),
                Err(GiveBackError::Assets(error)) => {
                    tracing::error!(%error, "assets of worn objects cannot be written; they stay in their rows");
                    return Ok(n_made);
                }
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(n_made),
        }
    }
}

#[derive(Debug)]
enum GiveBackError {
    Store(StoreError),
    Assets(ReadAssetError),
}

/// True if the row has become an item.
fn give_back(store: &Store, keep_contents: &KeepContentsFn, row: HeldRow) -> Result<bool, GiveBackError> {
    if !held_object(&row).is_ok_and(|object| object.is_worn) {
        return Ok(false);
    }
    let key = row.key;
    let mut held = [(key.ticket, HeldChange::Insert(row))];
    let Itemized { assets, failed } = itemize(key.region, &mut held, encode_object);
    for (key, why) in failed {
        tracing::warn!(%key, why, "a worn object cannot become an item, and is held as it is");
    }
    let [(_, HeldChange::InsertItem(transfer))] = &held else { return Ok(false) };
    keep_contents(assets).map_err(GiveBackError::Assets)?;
    let transfer: &ItemTransfer = transfer;
    store.make_item(transfer).map(|made| made.is_some()).map_err(GiveBackError::Store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, HeldKey, SessionKey, Ticket, Uuid, WorldId};
    use keeper::{Keeper, KeeperConfig, NewLand, RegionIds};
    use link::{DerezKind, Estate, Event, Frame, HeldObject, PrimMotion, Terrain, Transfer, VersionedBody};
    use std::sync::Arc;
    use std::time::Duration;
    use store::{Folder, NewAccount, PasswordHash, StoredRegion};

    const REGION: WorldId = WorldId(1);

    /// The batch of a region that this object leaves, without items.
    fn save(store: &Store, object: HeldObject) {
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let config = KeeperConfig {
            region: REGION,
            name: "Harbour".into(),
            former_name: None,
            land: NewLand { terrain, estate: Estate::new("Estate", None, 20.0), now_s: 0 },
            ids: RegionIds { kept: 1 << 20..3 << 19, temporary: 3 << 19..7 << 18 },
            save: Duration::from_millis(250),
            moving_bytes_per_s: 0,
            unix_start_s: 0,
        };
        let loaded = Keeper::load(&config, &StoredRegion::default(), Uuid::from_u128(9));
        let (mut keeper, _) = loaded.expect("an empty region");
        let events = vec![Event::Transfer(Ticket(1), Transfer::Held(Arc::new(object)))];
        let at = ids::Instant::from_millis;
        keeper.handle_frame(at(0), &Frame { world: REGION, events, ..Frame::empty() });
        let batch = keeper.poll_batch(at(250)).expect("due");
        store.save_region(REGION, &batch.changes).expect("a database");
    }

    #[test]
    fn a_worn_linkset_of_a_row_becomes_an_item_and_others_stay() {
        let store = Store::open_in_memory().unwrap();
        let owner = AgentId(Uuid::from_u128(1));
        let root = Uuid::from_u128(0x101);
        let (name, parent) = ("My Inventory".into(), Uuid::nil());
        let account = NewAccount {
            agent: owner,
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash(String::new()),
            created_s: 0,
            folders: vec![Folder { id: root, parent, name, type_default: 8, version: 1 }],
            items: Vec::new(),
        };
        store.create_account(&account).unwrap();
        let body = prim::Body::new(Uuid::from_u128(2), prim::Shape::BOX, Arc::default(), owner, 0);
        let prim = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) });
        let worn = HeldObject {
            owner,
            by: SessionKey::NODE,
            kind: DerezKind::Return,
            folder: Uuid::nil(),
            transaction: Uuid::nil(),
            is_worn: true,
            linksets: vec![vec![prim]],
        };
        save(&store, worn);
        let keep: &KeepContentsFn = &|assets| {
            assert_eq!(assets.len(), 1);
            Ok(())
        };
        assert_eq!(give_worn_back(&store, keep).unwrap(), 1);
        assert_eq!(store.items_in(owner, root, 10).unwrap().len(), 1);
        assert_eq!(give_worn_back(&store, keep).unwrap(), 0);
        let key = HeldKey { region: REGION, ticket: Ticket(1) };
        assert_eq!(store.take_held(key, REGION).unwrap(), store::TakeHeld::Unknown);
    }
}
