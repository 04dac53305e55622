//! Objects of items: names, owners, groups and masks that they come with.

use super::*;
use crate::encode_object;
use crate::testing::{at, body, item as content};
use link::VersionedBody;
use prim::Contents;
use store::{Permissions as ItemPermissions, Sale as ItemSale};

const OWNER: AgentId = AgentId(Uuid::from_u128(2));
const OTHER: AgentId = AgentId(Uuid::from_u128(40));
const GROUP: Uuid = Uuid::from_u128(50);
const TERMS: RezTerms = RezTerms { by: SessionKey(3), group: GROUP, is_put_back: false };

/// A prim of the owner with all rights for it, and none but transfers for the next one.
fn prim(edit: impl FnOnce(&mut Body)) -> VersionedBody {
    let plain = body(1);
    let mut body = (*plain.body).clone();
    body.names.name = "Lamp".into();
    body.ownership = Arc::new(Ownership { owner: OWNER, last_owner: OTHER, ..*body.ownership });
    body.sale = Sale { kind: SaleKind::Copy, price: 10 };
    edit(&mut body);
    VersionedBody { body: Arc::new(body), ..plain }
}

fn bytes_of(linksets: Vec<PlacedLinkset>) -> Vec<u8> {
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let (by, kind) = (SessionKey::NODE, DerezKind::Take);
    encode_object(&HeldObject { owner: OWNER, by, kind, folder, transaction, is_worn: false, linksets })
        .expect("a short one")
}

/// An item with all rights, like a taken object.
fn item_with(edit: impl FnOnce(&mut Item)) -> Item {
    let all = Mask::ALL.bits();
    let permissions = ItemPermissions {
        creator: Uuid::nil(),
        last_owner: Uuid::nil(),
        group: Uuid::nil(),
        group_owned: false,
        base: all,
        owner: all,
        group_mask: 0,
        everyone: 0,
        next_owner: (Mask::MOVE | Mask::TRANSFER).bits(),
    };
    let mut item = Item {
        id: Uuid::from_u128(1),
        folder: Uuid::from_u128(8),
        asset: Uuid::from_u128(9),
        asset_type: 6,
        inventory_type: 6,
        name: "My lamp".into(),
        description: "In the hall".into(),
        flags: 0,
        created_s: 0,
        permissions,
        sale: ItemSale::default(),
    };
    edit(&mut item);
    item
}

/// The only root as this user has it.
fn root_of(owner: AgentId, item: &Item, root: VersionedBody) -> Arc<Body> {
    let bytes = bytes_of(vec![vec![(at(1.0), root)]]);
    let object = object_of_item(owner, item, &bytes, TERMS).expect("an object");
    assert_eq!((object.owner, object.by, object.folder), (owner, TERMS.by, item.folder));
    Arc::clone(&object.linksets[0][0].1.body)
}

#[test]
fn an_object_has_the_name_of_its_item_and_its_own_masks() {
    let former = prim(|_| ());
    let root = root_of(OWNER, &item_with(|_| ()), former.clone());
    assert_eq!((&*root.names.name, &*root.names.description), ("My lamp", "In the hall"));
    let expected = Ownership { group: GROUP, ..*former.body.ownership };
    assert_eq!((*root.ownership, root.sale), (expected, former.body.sale));
    // Names of any length come from other grids.
    let long = root_of(OWNER, &item_with(|item| item.name = "ü".repeat(100)), former);
    assert_eq!(&*long.names.name, "ü".repeat(31));
}

#[test]
fn masks_that_were_changed_in_the_inventory_replace_those_of_the_prims() {
    let item = item_with(|item| {
        item.permissions.next_owner = Mask::COPY.bits();
        item.permissions.everyone = Mask::COPY.bits();
        item.flags = item_flags::OTHER_NEXT_OWNER;
    });
    let masks = root_of(OWNER, &item, prim(|_| ())).ownership.permissions;
    let expected = Permissions { next_owner: Mask::COPY | Mask::MOVE, ..Permissions::NEW };
    assert_eq!(masks, expected, "everyone was not changed");
}

#[test]
fn an_object_of_another_owner_has_the_masks_of_the_next_one() {
    let given = item_with(|item| {
        let base = (Mask::MOVE | Mask::TRANSFER | Mask::MODIFY).bits();
        (item.permissions.base, item.permissions.owner) = (base, base);
        item.permissions.next_owner = base;
        item.flags = item_flags::SLAM_PERMISSIONS;
    });
    let filled = prim(|body| {
        let held = (*content(1, "note")).clone();
        let held = prim::ContentItem {
            ownership: Ownership { owner: OWNER, permissions: Permissions::NEW, ..held.ownership },
            ..held
        };
        body.contents = Some(Arc::new(Contents { serial: 1, items: vec![Arc::new(held)] }));
    });
    let root = root_of(OTHER, &given, filled);
    let ownership = *root.ownership;
    assert_eq!((ownership.owner, ownership.last_owner, ownership.group), (OTHER, OWNER, GROUP));
    let masks = ownership.permissions;
    let expected = Mask::MOVE | Mask::TRANSFER | Mask::MODIFY;
    assert_eq!((masks.base, masks.owner, masks.next_owner), (expected, expected, expected));
    assert_eq!(root.sale, Sale::default(), "an offer does not go on");
    let inner = &root.contents.as_ref().expect("contents").items[0].ownership;
    assert_eq!((inner.owner, inner.last_owner), (OTHER, OWNER));
    assert_eq!(inner.permissions.owner, Mask::MOVE | Mask::TRANSFER);
}

#[test]
fn an_archive_that_names_another_owner_counts_as_a_change_of_hands() {
    // Masks of the former owner, without those of the next one in the lowest bits, and with them.
    let plain = item_with(|item| item.permissions.next_owner = (Mask::MOVE | Mask::COPY).bits());
    let masks = root_of(OTHER, &plain, prim(|_| ())).ownership.permissions;
    assert_eq!((masks.base, masks.owner), (Mask::MOVE | Mask::COPY, Mask::MOVE | Mask::COPY));
    // Rights of others are not those that the former owner has granted.
    let shared = |flags| {
        let item = item_with(|item| {
            item.permissions.next_owner = (Mask::MOVE | Mask::COPY).bits();
            item.permissions.everyone = Mask::MOVE.bits();
            item.flags = flags;
        });
        root_of(OTHER, &item, prim(|_| ())).ownership.permissions.everyone
    };
    let granted = item_flags::OTHER_EVERYONE;
    assert_eq!([shared(0), shared(granted)], [Mask::NONE, Mask::MOVE]);
    let folded = item_with(|item| {
        item.permissions.next_owner = (Mask::MOVE | Mask::COPY).bits();
        item.permissions.base |= Mask::TRANSFER.bits() >> FOLD_SHIFT;
    });
    let masks = root_of(OTHER, &folded, prim(|_| ())).ownership.permissions;
    assert_eq!(masks.owner, Mask::MOVE | Mask::TRANSFER);
}

#[test]
fn several_linksets_keep_their_names_and_their_distances_or_places() {
    let named = |name: &str| prim(|body| body.names.name = name.into());
    let bytes = bytes_of(vec![vec![(at(10.0), named("A"))], vec![(at(14.0), named("B"))]]);
    let item = item_with(|item| item.flags = HAS_SEVERAL_LINKSETS);
    let read = |is_put_back| {
        let object = object_of_item(OWNER, &item, &bytes, RezTerms { is_put_back, ..TERMS }).unwrap();
        let roots = object.linksets.iter().map(|prims| {
            let (place, versioned) = &prims[0];
            (versioned.body.names.name.to_string(), place.motion.position.x)
        });
        roots.collect::<Vec<_>>()
    };
    let (apart, back) = (read(false), read(true));
    assert_eq!(back, [("A".to_owned(), 10.0), ("B".to_owned(), 14.0)]);
    assert_eq!((&*apart[0].0, &*apart[1].0), ("A", "B"));
    assert!((apart[1].1 - apart[0].1 - 4.0).abs() < 1e-5, "{apart:?}");
}

#[test]
fn bytes_that_are_no_object_are_refused() {
    let item = item_with(|_| ());
    assert!(object_of_item(OWNER, &item, b"LLWearable version 22", TERMS).is_err());
}
