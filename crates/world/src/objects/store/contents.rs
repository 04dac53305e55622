//! Contents of prims, and what is known of them without a look at each item.

use super::{ObjectError, ObjectStore};
use ids::LocalId;
use link::{ObjectMask, PrimFlags};
use prim::{Body, Contents, Mask};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of all prims with contents or data of an archive: hashes and rights, which take long to find out for many items and are needed whenever the prim moves.
#[derive(Debug, Default)]
pub(super) struct LongData {
    prims: BTreeMap<LocalId, Known>,
    n_items: usize,
    carried_bytes: usize,
}

/// The same of one prim.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: u64,
    rights: Mask,
    n_items: usize,
    carried_bytes: usize,
}

impl LongData {
    /// Notes those of a prim that is new, or has others than before.
    pub(super) fn note(&mut self, id: LocalId, body: &Body) {
        self.forget(id);
        if body.contents.is_none() && body.carried.is_none() {
            return;
        }
        let (rights, n_items, carried_bytes) = (body.contents_rights(), body.n_items(), body.carried_len());
        self.prims.insert(id, Known { hash: body.long_hash(), rights, n_items, carried_bytes });
        self.n_items += n_items;
        self.carried_bytes += carried_bytes;
    }

    /// Forgets those of a prim that is gone.
    pub(super) fn forget(&mut self, id: LocalId) {
        if let Some(known) = self.prims.remove(&id) {
            self.n_items -= known.n_items;
            self.carried_bytes -= known.carried_bytes;
        }
    }

    /// [`Body::long_hash`] of a prim.
    pub(super) fn hash(&self, id: LocalId) -> u64 {
        self.prims.get(&id).map_or(0, |known| known.hash)
    }
}

impl ObjectStore {
    /// Items of all prims.
    pub(crate) const fn n_items(&self) -> usize {
        self.long.n_items
    }

    /// Bytes of data of archives in all prims and their items.
    pub(crate) const fn carried_bytes(&self) -> usize {
        self.long.carried_bytes
    }

    /// Items of a prim, and bytes of data of archives in it and in them.
    pub(crate) fn long_data_of(&self, id: LocalId) -> (usize, usize) {
        self.long.prims.get(&id).map_or((0, 0), |known| (known.n_items, known.carried_bytes))
    }

    /// Rights that the owner of a prim has to all of its items; every right without any.
    pub(crate) fn contents_rights(&self, id: LocalId) -> Mask {
        self.long.prims.get(&id).map_or(Mask::ALL, |known| known.rights)
    }

    /// Changes the items of a prim, and raises their number. The prim's own version rises only with its first item and without its last: else clients are shown
    /// the same as before.
    ///
    /// # Errors
    /// [`ObjectError::Unknown`].
    pub(crate) fn edit_contents(
        &mut self,
        id: LocalId,
        edit: impl FnOnce(&mut Contents),
    ) -> Result<(), ObjectError> {
        self.before_change(id, ObjectMask::CONTENTS)?;
        let versioned = self.pages.body_mut(id).ok_or(ObjectError::Unknown)?;
        let body = Arc::make_mut(&mut versioned.body);
        let contents = Arc::make_mut(body.contents.get_or_insert_with(Arc::default));
        edit(contents);
        contents.raise_serial();
        self.long.note(id, &versioned.body);
        let n_items = versioned.body.n_items();
        let flags = self.pages.motion(id).ok_or(ObjectError::Unknown)?.flags;
        self.set_flags(id, with_emptiness(flags, n_items))
    }
}

/// Flags of a prim with this number of items.
pub(crate) const fn with_emptiness(flags: PrimFlags, n_items: usize) -> PrimFlags {
    let emptiness = if n_items == 0 { PrimFlags::INVENTORY_EMPTY } else { PrimFlags(0) };
    flags.with(PrimFlags::INVENTORY_EMPTY, emptiness)
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{IDS, store_of};
    use super::*;
    use ids::{AgentId, Uuid};
    use link::ObjectChange;
    use prim::{Carried, ContentItem, Ownership, Permissions, Sale};

    fn item(n: u128, permissions: Permissions) -> Arc<ContentItem> {
        let user = AgentId(Uuid::from_u128(1));
        let group = Uuid::nil();
        Arc::new(ContentItem {
            id: Uuid::from_u128(n),
            asset: Uuid::nil(),
            asset_type: 7,
            inventory_type: 7,
            name: n.to_string().into(),
            description: "".into(),
            flags: 0,
            ownership: Ownership { creator: user, owner: user, last_owner: user, group, permissions },
            sale: Sale::default(),
            created_s: 0,
            carried: Carried::default(),
        })
    }

    fn masks(store: &mut ObjectStore) -> Vec<ObjectMask> {
        let mut out = Vec::new();
        store.write_changes(&mut out);
        let masks = out.iter().map(|change| match change {
            ObjectChange::Set { mask, .. } => *mask,
            other => panic!("{other:?}"),
        });
        masks.collect()
    }

    /// The hash is that of the prims as they are.
    fn check(store: &ObjectStore) {
        let again = ObjectStore::restored(&IDS, store.stored()).expect("sound");
        assert_eq!((again.hash(), again.n_items()), (store.hash(), store.n_items()));
    }

    #[test]
    fn only_the_first_item_and_the_last_one_are_shown() {
        let (mut store, ids) = store_of(1);
        let id = ids[0];
        let version = |store: &ObjectStore| store.body(id).expect("it is there").version;
        store.set_flags(id, PrimFlags::INVENTORY_EMPTY).unwrap();
        store.write_changes(&mut Vec::new());
        let before = version(&store);
        store.edit_contents(id, |contents| contents.items.push(item(1, Permissions::NEW))).unwrap();
        assert_eq!(masks(&mut store), [ObjectMask::CONTENTS.union(ObjectMask::FLAGS)]);
        check(&store);
        assert_eq!((version(&store), store.n_items()), (before + 1, 1));
        let bare = Permissions { base: Mask::COPY, ..Permissions::NEW };
        store.edit_contents(id, |contents| contents.items.push(item(2, bare))).unwrap();
        assert_eq!(masks(&mut store), [ObjectMask::CONTENTS]);
        check(&store);
        assert_eq!((version(&store), store.long_data_of(id)), (before + 1, (2, 0)));
        assert_eq!(store.contents_rights(id), Mask::COPY);
        store.edit_contents(id, |contents| contents.items.clear()).unwrap();
        assert_eq!((version(&store), store.n_items()), (before + 2, 0));
        let contents = store.body(id).and_then(|versioned| versioned.body.contents.clone());
        assert_eq!(contents.map(|contents| contents.serial), Some(3));
        store.write_changes(&mut Vec::new());
        check(&store);
    }

    #[test]
    fn items_count_while_their_prim_is_there_and_come_back_after_a_panic() {
        let (mut store, ids) = store_of(2);
        store.edit_contents(ids[0], |contents| contents.items.push(item(1, Permissions::NEW))).unwrap();
        store.write_changes(&mut Vec::new());
        store.begin_step();
        let published = store.stored();
        store.edit_contents(ids[0], |contents| contents.items.clear()).unwrap();
        store.edit_contents(ids[1], |contents| contents.items.push(item(2, Permissions::NEW))).unwrap();
        store.remove(ids[1]).unwrap();
        assert_eq!(store.n_items(), 0);
        let undone = store.roll_back().expect("nothing broke it");
        assert_eq!(undone.pages, published.pages);
        assert_eq!(store.edit_contents(LocalId(7), |_| ()), Err(ObjectError::Unknown));
    }
}
