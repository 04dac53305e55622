//! Rules for all changes: accepted changes have their whole effect, and refused ones have none.

use super::*;
use crate::account::tests::{create, new_account};
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines, rewrite, tamper};
use crate::{FolderContents, ItemUpdate, NewFolder, Store, StoreError};

on_both_engines! {
    a_change_that_alters_nothing_raises_no_version,
    a_version_begins_anew_at_the_end_of_its_numbers,
    ids_are_taken_once_and_the_nil_id_never,
    ids_of_another_owner_are_unknown,
    an_inventory_is_full_at_its_limits,
    a_text_with_a_nul_is_refused,
    a_refused_change_has_no_effect_and_the_others_have_theirs,
    a_failed_statement_takes_back_all_changes,
    changes_as_a_whole_have_all_their_effect_or_none,
    only_accounts_have_inventories,
}

/// The root of the account with id 1, and the item in it.
pub(super) const ROOT: Uuid = Uuid::from_u128(0x101);
pub(super) const FIRST_ITEM: Uuid = Uuid::from_u128(0x201);

pub(super) fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

pub(super) fn ada(store: &Store) -> AgentId {
    create(store, 1, "Ada", "Lovelace")
}

pub(crate) fn typed_folder(n: u128, parent: Uuid, type_default: i8) -> InventoryChange {
    let name = format!("folder {n}");
    InventoryChange::CreateFolder(NewFolder { id: id(n), parent, name, type_default })
}

pub(crate) fn new_folder(n: u128, parent: Uuid) -> InventoryChange {
    typed_folder(n, parent, -1)
}

pub(crate) fn new_item(n: u128, folder: Uuid) -> InventoryChange {
    InventoryChange::CreateItem(item(n, folder))
}

pub(crate) fn move_folder(n: u128, parent: Uuid) -> InventoryChange {
    InventoryChange::MoveFolder { folder: id(n), parent }
}

pub(super) fn rename(folder: Uuid, name: &str, type_default: Option<i8>) -> InventoryChange {
    InventoryChange::UpdateFolder { folder, name: name.into(), type_default }
}

pub(super) fn move_item(item: Uuid, folder: Uuid, name: Option<&str>) -> InventoryChange {
    InventoryChange::MoveItem { item, folder, name: name.map(Into::into) }
}

pub(super) type Outcome = Result<InventoryOutcome, InventoryRefusal>;

pub(super) fn change_within(
    store: &Store,
    owner: AgentId,
    limits: &InventoryLimits,
    changes: &[InventoryChange],
) -> Vec<Outcome> {
    let outcomes = store.change_inventory(owner, changes, limits).unwrap();
    assert_eq!(outcomes.len(), changes.len());
    outcomes
}

/// One change within the usual limits.
pub(crate) fn change(store: &Store, owner: AgentId, change: InventoryChange) -> Outcome {
    change_within(store, owner, &InventoryLimits::default(), &[change]).remove(0)
}

/// Changes that are all accepted.
pub(crate) fn make(store: &Store, owner: AgentId, changes: &[InventoryChange]) -> Vec<InventoryOutcome> {
    let outcomes = change_within(store, owner, &InventoryLimits::default(), changes);
    outcomes.into_iter().map(Result::unwrap).collect()
}

/// Outcome of a change of the content of these folders that removed nothing.
pub(super) fn raised(versions: &[(Uuid, i32)]) -> InventoryOutcome {
    InventoryOutcome { versions: versions.to_vec(), ..InventoryOutcome::default() }
}

pub(super) fn version(store: &Store, owner: AgentId, folder: Uuid) -> i32 {
    store.folder(owner, folder).unwrap().unwrap().version
}

/// All rows of an owner.
pub(super) fn rows(store: &Store, owner: AgentId) -> (Vec<Folder>, FolderContents) {
    (store.folders(owner).unwrap(), store.folder_contents(owner, ROOT, 10_000).unwrap())
}

/// Folder 1 in the root with folders and items on three levels, and an item beside it.
pub(super) fn make_a_tree(store: &Store, owner: AgentId) {
    let changes = [
        new_folder(1, ROOT),
        new_folder(2, id(1)),
        new_folder(3, id(2)),
        new_folder(4, id(1)),
        new_item(11, id(1)),
        new_item(12, id(3)),
        new_item(13, id(3)),
        new_item(14, ROOT),
    ];
    make(store, owner, &changes);
}

fn changes_as_a_whole_have_all_their_effect_or_none(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let limits = InventoryLimits::default();
    let before = rows(&store, owner);
    let refused = [new_folder(1, ROOT), new_item(9, id(1)), new_item(10, id(7)), new_item(11, ROOT)];
    let outcome = store.change_inventory_whole(owner, &refused, &limits).unwrap();
    assert_eq!(outcome, Err((2, InventoryRefusal::UnknownFolder(id(7)))));
    assert_eq!(rows(&store, owner), before);
    let accepted = store.change_inventory_whole(owner, &refused[..2], &limits).unwrap().unwrap();
    assert_eq!(accepted.len(), 2);
    assert!(store.item(owner, id(9)).unwrap().is_some());
    let stranger = AgentId(id(77));
    let unknown = store.change_inventory_whole(stranger, &refused, &limits);
    assert!(matches!(unknown, Err(StoreError::UnknownAccount(agent)) if agent == stranger));
}

fn a_change_that_alters_nothing_raises_no_version(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make(&store, owner, &[new_folder(1, ROOT), new_item(9, ROOT)]);
    let before = rows(&store, owner);
    let same = ItemUpdate { item: id(9), name: Some(item(9, ROOT).name), ..ItemUpdate::default() };
    let changes = [
        rename(id(1), "folder 1", None),
        rename(id(1), "folder 1", Some(-1)),
        move_folder(1, ROOT),
        InventoryChange::PurgeFolder { folder: id(1) },
        InventoryChange::UpdateItem(same),
        move_item(id(9), ROOT, None),
    ];
    for outcome in make(&store, owner, &changes) {
        assert_eq!(outcome, InventoryOutcome::default());
    }
    assert_eq!(rows(&store, owner), before);
}

fn a_version_begins_anew_at_the_end_of_its_numbers(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let spoil = Sql::same("UPDATE inventory_folders SET version = $1 WHERE folder = $2");
    let cases = [(i32::MAX - 2, i32::MAX - 1), (i32::MAX - 1, 1), (i32::MAX, 1), (0, 1), (-7, 1), (1, 2)];
    for (n, (stored, next)) in (1..).zip(cases) {
        rewrite(&store, spoil, values![stored, ROOT]);
        assert_eq!(change(&store, owner, new_folder(n, ROOT)), Ok(raised(&[(ROOT, next)])), "after {stored}");
    }
}

fn ids_are_taken_once_and_the_nil_id_never(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make(&store, owner, &[new_folder(1, ROOT), new_item(9, ROOT)]);
    let before = rows(&store, owner);
    let refused = |wanted| change(&store, owner, wanted).unwrap_err();
    assert_eq!(refused(new_folder(1, ROOT)), InventoryRefusal::FolderExists(id(1)));
    assert_eq!(refused(new_item(9, id(1))), InventoryRefusal::ItemExists(id(9)));
    assert_eq!(refused(new_folder(0, ROOT)), InventoryRefusal::NilId);
    assert_eq!(refused(new_item(0, ROOT)), InventoryRefusal::NilId);
    assert_eq!(refused(new_folder(2, Uuid::nil())), InventoryRefusal::UnknownFolder(Uuid::nil()));
    assert_eq!(rows(&store, owner), before);
    make(&store, owner, &[InventoryChange::RemoveItem { item: id(9) }, new_item(9, id(1))]);
}

fn ids_of_another_owner_are_unknown(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make_a_tree(&store, owner);
    let before = rows(&store, owner);
    let grace = create(&store, 2, "Grace", "Hopper");
    let root = id(0x102);
    make(&store, grace, &[new_folder(50, root), new_item(51, root)]);
    let folder = InventoryRefusal::UnknownFolder(id(1));
    let item = InventoryRefusal::UnknownItem(id(14));
    let update = ItemUpdate { item: id(14), flags: Some(1), ..ItemUpdate::default() };
    let changes = [
        (new_folder(52, id(1)), &folder),
        (rename(id(1), "mine", None), &folder),
        (move_folder(1, root), &folder),
        (move_folder(50, id(1)), &folder),
        (InventoryChange::RemoveFolder { folder: id(1) }, &folder),
        (InventoryChange::PurgeFolder { folder: id(1) }, &folder),
        (new_item(53, id(1)), &folder),
        (move_item(id(51), id(1), None), &folder),
        (InventoryChange::UpdateItem(update), &item),
        (move_item(id(14), root, None), &item),
        (InventoryChange::RemoveItem { item: id(14) }, &item),
    ];
    for (wanted, refusal) in changes {
        assert_eq!(change(&store, grace, wanted.clone()).as_ref(), Err(refusal), "{wanted:?}");
    }
    assert_eq!(version(&store, grace, root), 3);
    // An id of hers may be his as well: of his folder it says nothing.
    make(&store, grace, &[new_folder(1, root), InventoryChange::RemoveFolder { folder: id(1) }]);
    assert_eq!(rows(&store, owner), before);
}

fn an_inventory_is_full_at_its_limits(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let limits = InventoryLimits { items_max: 3, folders_max: 3, ..InventoryLimits::default() };
    let changes = [
        new_folder(1, ROOT),
        new_folder(2, id(1)),
        new_folder(3, ROOT),
        new_item(11, ROOT),
        new_item(12, id(2)),
        new_item(13, id(1)),
        InventoryChange::RemoveFolder { folder: id(1) },
        new_folder(3, ROOT),
        new_folder(4, ROOT),
        new_folder(5, ROOT),
        new_item(13, ROOT),
        InventoryChange::RemoveItem { item: id(13) },
        new_item(14, ROOT),
        new_item(15, ROOT),
    ];
    let outcomes = change_within(&store, owner, &limits, &changes);
    let refused: Vec<usize> = (0..changes.len()).filter(|at| outcomes[*at].is_err()).collect();
    assert_eq!(refused, [2, 5, 9, 13]);
    assert_eq!(outcomes[2], Err(InventoryRefusal::TooManyFolders { max: 3 }));
    assert_eq!(outcomes[5], Err(InventoryRefusal::TooManyItems { max: 3 }));
    let changes = [new_folder(5, ROOT), new_item(15, ROOT)];
    let outcomes = change_within(&store, owner, &limits, &changes);
    assert!(outcomes.iter().all(Result::is_err), "rows of earlier transactions count: {outcomes:?}");
}

fn a_text_with_a_nul_is_refused(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make(&store, owner, &[new_folder(1, ROOT)]);
    let before = rows(&store, owner);
    let bad = || "a\0b".to_owned();
    let describe = ItemUpdate { item: FIRST_ITEM, description: Some(bad()), ..ItemUpdate::default() };
    let name = ItemUpdate { item: FIRST_ITEM, name: Some(bad()), ..ItemUpdate::default() };
    let changes = [
        InventoryChange::CreateFolder(NewFolder { id: id(2), parent: ROOT, name: bad(), type_default: -1 }),
        rename(id(1), &bad(), None),
        InventoryChange::CreateItem(Item { name: bad(), ..item(9, ROOT) }),
        InventoryChange::CreateItem(Item { description: bad(), ..item(9, ROOT) }),
        InventoryChange::UpdateItem(name),
        InventoryChange::UpdateItem(describe),
        move_item(FIRST_ITEM, id(1), Some("a\0b")),
    ];
    for outcome in change_within(&store, owner, &InventoryLimits::default(), &changes) {
        assert_eq!(outcome, Err(InventoryRefusal::Nul));
    }
    assert_eq!(rows(&store, owner), before);
}

fn a_refused_change_has_no_effect_and_the_others_have_theirs(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let changes = [
        new_folder(1, ROOT),
        new_folder(1, ROOT),
        new_item(9, id(2)),
        new_item(9, id(1)),
        move_item(id(9), id(3), None),
        move_folder(1, id(1)),
    ];
    let outcomes = change_within(&store, owner, &InventoryLimits::default(), &changes);
    let expected = [
        Ok(raised(&[(ROOT, 2)])),
        Err(InventoryRefusal::FolderExists(id(1))),
        Err(InventoryRefusal::UnknownFolder(id(2))),
        Ok(raised(&[(id(1), 2)])),
        Err(InventoryRefusal::UnknownFolder(id(3))),
        Err(InventoryRefusal::IntoItself(id(1))),
    ];
    assert_eq!(outcomes, expected);
    assert_eq!([ROOT, id(1)].map(|folder| version(&store, owner, folder)), [2, 2]);
    assert!(change_within(&store, owner, &InventoryLimits::default(), &[]).is_empty());
}

fn a_failed_statement_takes_back_all_changes(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let before = rows(&store, owner);
    let changes = [new_folder(1, ROOT), new_item(9, ROOT)];
    tamper(&store, Sql::same("ALTER TABLE inventory_items RENAME TO elsewhere"), &[]);
    let failed = store.change_inventory(owner, &changes, &InventoryLimits::default());
    assert!(matches!(failed, Err(StoreError::Query { .. })), "{failed:?}");
    tamper(&store, Sql::same("ALTER TABLE elsewhere RENAME TO inventory_items"), &[]);
    assert_eq!(rows(&store, owner), before);
    make(&store, owner, &changes);
}

fn only_accounts_have_inventories(database: &TestDatabase) {
    let store = database.open();
    ada(&store);
    let stranger = AgentId(id(77));
    let changed = store.change_inventory(stranger, &[new_folder(1, ROOT)], &InventoryLimits::default());
    assert!(matches!(changed, Err(StoreError::UnknownAccount(agent)) if agent == stranger), "{changed:?}");
    // An account without a root has nothing to make a folder in.
    let mut new = new_account(2, "Grace", "Hopper");
    (new.folders, new.items) = (Vec::new(), Vec::new());
    store.create_account(&new).unwrap();
    let refused = change(&store, new.agent, typed_folder(1, Uuid::nil(), 8));
    assert_eq!(refused, Err(InventoryRefusal::UnknownFolder(Uuid::nil())));
}

#[test]
fn refusals_are_sentences_for_a_user() {
    let refusals = [
        InventoryRefusal::SecondSystemFolder(46),
        InventoryRefusal::TooManyItems { max: 3 },
        InventoryRefusal::UnknownFolder(id(1)),
    ];
    let expected = [
        "the inventory already has its folder of type 46",
        "the inventory has no room for more than 3 items",
        "there is no folder 00000000-0000-0000-0000-000000000001 in the inventory",
    ];
    assert_eq!(refusals.map(|refusal| refusal.to_string()), expected);
}
