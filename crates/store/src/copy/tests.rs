//! Copies between the engines, whole and interrupted.

use super::*;
use crate::account::tests::new_account;
use crate::engine::values;
use crate::instance::tests::instance;
use crate::region_objects::tests::set_object_aside;
use crate::testing::{TestDatabase, rewrite, tamper};
use crate::{
    ApiToken, AssetHash, AssetRow, DocumentChanges, GiftOutcome, HeldChange, HeldRow, InstanceOrigin,
    InventoryGift, InventoryLimits, JobRow, LandChanges, LandKey, LandKind, LandRows, Location, MarkItem,
    NewAccount, NewWorn, ObjectRows, Offer, OfferKind, RegionChanges, RegionRow, State, StoredAppearance,
    StoredBake, StoredWearable, TOKEN_HASH_BYTES, WearOutcome, check,
};
use glam::Vec3;
use ids::{AgentId, Epoch, HeldKey, LocalId, RegionHandle, SessionKey, Ticket, Uuid, WorldId};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// At least one row in each table, and more than a page of some.
pub(crate) fn fill(database: &TestDatabase) {
    let store = database.open();
    let many = |n: u128| NewAccount {
        first: format!("Ada{n}"),
        ..new_account(0x1_0000 + n * 0x1_0000, "", "Lovelace")
    };
    for n in 0..40 {
        store.create_account(&many(n)).unwrap();
    }
    // Values that the engines store differently: signs, signed zeros, letters outside ASCII, absent values.
    let account = NewAccount { first: "Zoë".into(), ..new_account(2, "", "Ünal") };
    store.create_account(&account).unwrap();
    store.set_ban(account.agent, Some("“spam”\n")).unwrap();
    let location = Location {
        region: "Plaza".into(),
        handle: RegionHandle(u64::MAX - 7),
        position: Vec3::new(0.1, -0.0, f32::MIN_POSITIVE),
        look_at: Vec3::new(1.0, -1.0, 16_777_217.0),
    };
    store.save_last_locations(&[(account.agent, location)]).unwrap();
    let offer = Offer {
        receiver: account.agent,
        id: Uuid::from_u128(u128::MAX),
        giver: many(0).agent,
        transaction: Uuid::nil(),
        kind: OfferKind::Folder,
        made_s: -1,
    };
    let limits = InventoryLimits::default();
    let gift = InventoryGift { offer, items: Vec::new(), made: Vec::new(), limits };
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Given);
    for n in 1..=40 {
        let origin = match n {
            2 => InstanceOrigin::Portal { visited_s: -5 },
            _ => InstanceOrigin::Operator,
        };
        store.create_instance(&instance(n), n as u64, &origin).unwrap();
        let state = |sequence, len| State { id: Uuid::from_u128(n), sequence, bytes: vec![n as u8; len] };
        store.save_instances(&[state(100, 5_000)]).unwrap();
        store.journal_instances(&[state(101, 50)]).unwrap();
    }
    tamper(
        &store,
        Sql::same("UPDATE instance_images SET checksum = 0 WHERE instance = $1"),
        values![Uuid::from_u128(3)],
    );
    assert_eq!(store.instance_state(Uuid::from_u128(3)).unwrap().damages.len(), 1);
    let token = |name: &str, worlds_max| ApiToken {
        name: name.into(),
        hash: [7; TOKEN_HASH_BYTES],
        scopes: "operate".into(),
        created_s: -1,
        expires_s: None,
        worlds_max,
    };
    store.begin_gateway().unwrap();
    store.create_token(&token("page", None)).unwrap();
    store.create_token(&token("backend", Some(u32::MAX))).unwrap();
    store.note_world_of_token("backend", Uuid::from_u128(1)).unwrap();
    fill_region(&store);
    let texture = AssetRow {
        id: Uuid::from_u128(3),
        hash: AssetHash([0xFF; 32]),
        kind: -1,
        length: u32::MAX,
        creator: AgentId(Uuid::from_u128(1)),
        created_s: -1,
        origin: "Ünal.oar".into(),
        used_s: None,
    };
    let bake = AssetRow { id: Uuid::from_u128(4), used_s: Some(i64::MAX), ..texture.clone() };
    store.add_assets(&[texture, bake]).unwrap();
    assert!(store.quarantine_content(AssetHash([0xFF; 32]), "damaged").unwrap());
    let item = account.items[0].id;
    rewrite(&store, Sql::same("UPDATE inventory_items SET owner_mask = 0 WHERE item = $1"), values![item]);
    let marked = store.mark_item(account.agent, item, WorldId(2_047)).unwrap();
    assert!(matches!(marked, MarkItem::Marked { .. }), "{marked:?}");
    fill_avatar(&store, many(1).agent, many(1).items[0].id);
    store.identity().unwrap();
    let job = JobRow {
        number: u64::MAX >> 1,
        kind: "backup".into(),
        subject: "/Ünal".into(),
        author: "page".into(),
        state: "done".into(),
        created_s: -1,
        started_s: None,
        ended_s: Some(i64::MAX),
        outcome: Some(String::new()),
        result: None,
    };
    store.save_jobs(&[job], &[]).unwrap();
}

/// An account with a worn object, an appearance and an outfit.
fn fill_avatar(store: &Store, agent: AgentId, item: Uuid) {
    rewrite(store, Sql::same("UPDATE inventory_items SET asset_type = 6 WHERE item = $1"), values![item]);
    let item = store.item(agent, item).unwrap().expect("it is there");
    let worn = NewWorn { item: item.clone(), point: 255, revision: i64::MAX, value: vec![0; 3].into() };
    assert_eq!(store.wear(agent, &[worn], 1).unwrap(), [WearOutcome::Worn]);
    let bake = StoredBake { face: u8::MAX, cache_id: Uuid::nil(), asset: Uuid::from_u128(4) };
    let look = StoredAppearance {
        height_m: -0.0,
        texture_entry: Vec::new(),
        visual_params: vec![255; 255],
        bakes: vec![bake],
    };
    store.save_appearances(&[(agent, look)]).unwrap();
    store.save_wearables(agent, &[StoredWearable { item: item.id, kind: u8::MAX }]).unwrap();
}

/// A region with more objects than a page has rows, of which one is set aside.
fn fill_region(store: &Store) {
    let (mut bodies, mut states) = (ObjectRows::default(), ObjectRows::default());
    for n in 1..=600 {
        bodies.push(LocalId(u32::MAX - 600 + n), &n.to_le_bytes());
        states.push(LocalId(u32::MAX - 600 + n), &[]);
    }
    let (region, ticket) = (WorldId(2_047), Ticket(u32::MAX));
    let row = RegionRow {
        epoch: Epoch(u32::MAX),
        sequence: u64::MAX,
        cache_id: Uuid::nil(),
        state: vec![1, 2, 3],
        name: "Ünal".into(),
        ticket,
    };
    let mut rows = LandRows::default();
    rows.push(LandKey::new(LandKind::Estate, 0), b"estate");
    rows.push(LandKey::new(LandKind::Baked, u16::MAX), b"");
    let land = LandChanges { rows, gone: Vec::new() };
    let held = HeldRow {
        key: HeldKey { region, ticket },
        owner: AgentId(Uuid::from_u128(1)),
        kind: u8::MAX,
        by: SessionKey(u64::MAX),
        held_s: -1,
        value: vec![0; 5_000].into(),
    };
    let held = vec![(ticket, HeldChange::Insert(held))];
    let documents =
        DocumentChanges { rows: vec![(Uuid::nil(), b"<RegionSettings/>".to_vec())], replaces: false };
    let changes = RegionChanges { row, bodies, states, land, documents, held, ..RegionChanges::default() };
    store.save_region(region, &changes).unwrap();
    set_object_aside(store, WorldId(2_047), LocalId(u32::MAX));
    assert!(store.add_region_materials(region, &[(Uuid::from_u128(u128::MAX), vec![0xC5; 300])], 1).unwrap());
}

fn is_well(database: &TestDatabase) -> Vec<TableDigest> {
    let report = check(&database.url).unwrap();
    assert_eq!((&*report.problems, report.is_half_copied, report.version), (&[][..], false, report.newest));
    assert!(report.tables.iter().all(|table| table.rows > 0), "{report:?}");
    report.tables
}

fn ignore_progress(_: CopyProgress) {}

/// Copies, checks that the source stays, and that a repetition changes nothing.
fn copied(from: &TestDatabase, to: &TestDatabase) {
    let before = is_well(from);
    let report = copy(&from.url, &to.url, ignore_progress).unwrap();
    assert_eq!(report.tables, before);
    assert_eq!((is_well(to), is_well(from)), (before.clone(), before));
    let again = copy(&from.url, &to.url, ignore_progress).unwrap();
    assert_eq!((again.inserted, again.removed, again.tables), (0, 0, report.tables));
}

/// Calls that a server makes on it afterwards.
fn is_usable(database: &TestDatabase) {
    let store = database.open();
    let account = store.account_by_name("zoë", "ünal").unwrap();
    assert_eq!(account, None, "only ASCII letters are the same in capitals");
    let account = store.account_by_name("ZOë", "ÜNAL").unwrap().unwrap();
    assert_eq!(account.last_location.unwrap().handle, RegionHandle(u64::MAX - 7));
    // New numbers are higher than the copied ones.
    let spoil = Sql::same("UPDATE instance_images SET checksum = 0 WHERE instance = $1");
    tamper(&store, spoil, values![Uuid::from_u128(5)]);
    assert_eq!(store.instance_state(Uuid::from_u128(5)).unwrap().damages.len(), 1);
    assert_eq!(crate::instance::tests::aside(&store).len(), 2);
    set_object_aside(&store, WorldId(2_047), LocalId(u32::MAX - 1));
    assert_eq!(store.count_region_objects(WorldId(2_047)).unwrap(), 598);
}

#[test]
fn a_copy_between_files_is_the_same_and_leaves_its_source_untouched() {
    let (from, to) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    fill(&from);
    let crate::url::StoreLocation::File(path) = &from.url.0 else { panic!("a file") };
    let bytes = std::fs::read(path).unwrap();
    copied(&from, &to);
    assert!(std::fs::read(path).unwrap() == bytes, "not a byte is changed");
    is_usable(&to);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn a_copy_to_postgres_and_back_is_the_same() {
    let (from, there, back) = (TestDatabase::sqlite(), TestDatabase::postgres(), TestDatabase::sqlite());
    fill(&from);
    copied(&from, &there);
    copied(&there, &back);
    assert_eq!(is_well(&back), is_well(&from));
    is_usable(&there);
    is_usable(&back);
}

/// Ends a copy after each of its transactions in turn, and repeats it.
fn survives_interruptions(to: impl Fn() -> TestDatabase) {
    let from = TestDatabase::sqlite();
    fill(&from);
    let expected = is_well(&from);
    let mut n_transactions = 0;
    copy(&from.url, &to().url, |_| n_transactions += 1).unwrap();
    assert!(n_transactions > 8, "{n_transactions}");
    for last in 1..=n_transactions {
        let to = to();
        let mut left = last;
        let interrupted = catch_unwind(AssertUnwindSafe(|| {
            copy(&from.url, &to.url, |_| {
                left -= 1;
                if left == 0 {
                    std::panic::resume_unwind(Box::new("killed"));
                }
            })
        }));
        assert!(interrupted.is_err());
        let half = check(&to.url).unwrap();
        assert!(half.is_half_copied);
        assert!(matches!(Store::open(&to.url), Err(StoreError::HalfCopied { .. })));
        let inserted: u64 = half.tables.iter().map(|table| table.rows).sum();
        let report = copy(&from.url, &to.url, ignore_progress).unwrap();
        let total: u64 = expected.iter().map(|table| table.rows).sum();
        assert_eq!((report.inserted, report.removed), (total - inserted, 0), "it goes on where it ended");
        assert_eq!(is_well(&to), expected);
    }
}

#[test]
fn a_copy_goes_on_where_it_was_interrupted() {
    survives_interruptions(TestDatabase::sqlite);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn a_copy_to_postgres_goes_on_where_it_was_interrupted() {
    survives_interruptions(TestDatabase::postgres);
}

#[test]
fn a_repeated_copy_follows_a_source_that_has_changed_meanwhile() {
    let (from, to) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    fill(&from);
    let interrupted = catch_unwind(AssertUnwindSafe(|| {
        copy(&from.url, &to.url, |told| {
            if told.table == "instance_images" {
                std::panic::resume_unwind(Box::new("killed"));
            }
        })
    }));
    assert!(interrupted.is_err());
    let store = from.open();
    // The names of two accounts change places, one goes, and an instance ends.
    let first = AgentId(Uuid::from_u128(0x1_0000));
    let rename = Sql::same("UPDATE accounts SET first_name = $1 WHERE first_name = $2");
    for (to, from) in [("Swap", "Ada0"), ("Ada0", "Ada39"), ("Ada39", "Swap")] {
        assert_eq!(rewrite(&store, rename, values![to, from]), 1);
    }
    assert_eq!(tamper(&store, Sql::same("DELETE FROM accounts WHERE first_name = $1"), values!["Ada7"]), 1);
    store.remove_instance(Uuid::from_u128(9)).unwrap();
    drop(store);
    let report = copy(&from.url, &to.url, ignore_progress).unwrap();
    assert!(report.removed >= 4, "{report:?}");
    assert_eq!(is_well(&to), is_well(&from));
    assert_eq!(to.open().account(first).unwrap().unwrap().first, "Ada39");
}

#[test]
fn a_target_with_rows_of_its_own_is_left_alone() {
    let (from, to) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    fill(&from);
    to.open().create_account(&new_account(1, "Grace", "Hopper")).unwrap();
    let error = copy(&from.url, &to.url, ignore_progress).unwrap_err();
    assert!(matches!(error, CopyError::NotEmpty { table: "accounts", .. }), "{error}");
    assert_eq!(to.open().accounts(None, 10).unwrap().len(), 1);
}

#[test]
fn a_source_of_an_earlier_version_is_named_with_the_way_out() {
    let (from, to) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    let old = Store::open_for_maintenance(&from.url, false).unwrap();
    old.migrate_to(2).unwrap();
    let error = copy(&from.url, &to.url, ignore_progress).unwrap_err();
    assert!(matches!(error, CopyError::OldSource { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("throng store migrate"));
    assert_eq!(crate::migrate(&from.url).unwrap(), (2, schema::newest()));
    assert_eq!(copy(&from.url, &to.url, ignore_progress).unwrap().inserted, 0);
}

#[test]
fn a_missing_source_is_not_created() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (StoreUrl::of_directory(directory.path()), TestDatabase::sqlite());
    let error = copy(&from, &to.url, ignore_progress).unwrap_err();
    assert!(error.to_string().starts_with("cannot open the database sqlite:"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn damage_is_reported_and_left_unchanged() {
    let database = TestDatabase::sqlite();
    fill(&database);
    let store = database.open();
    tamper(
        &store,
        Sql::same("UPDATE instance_images SET checksum = 0 WHERE instance = $1"),
        values![Uuid::from_u128(5)],
    );
    tamper(
        &store,
        Sql::same("UPDATE instances SET name = 'Other' WHERE instance = $1"),
        values![Uuid::from_u128(6)],
    );
    let report = check(&database.url).unwrap();
    assert_eq!(report.problems.len(), 2, "{report:?}");
    assert!(report.problems.iter().all(|problem| problem.contains("the checksum does not match")));
    assert_eq!(check(&database.url).unwrap(), report);
}

#[test]
fn the_description_of_tables_has_every_column() {
    let database = TestDatabase::sqlite();
    let store = database.open();
    let select = Sql::same(
        "SELECT t.name, count(*), sum(c.pk > 0) FROM sqlite_master t, pragma_table_info(t.name) c \
         WHERE t.type = 'table' AND t.name <> 'schema_version' AND t.name NOT LIKE 'sqlite_%' \
         GROUP BY t.name ORDER BY t.name",
    );
    let read =
        |row: crate::engine::Row<'_>| Ok((row.get::<String>(0)?, row.get::<u32>(1)?, row.get::<u32>(2)?));
    let actual = store.read(|session| session.query(select, &[], read)).unwrap();
    let mut described: Vec<_> = TABLES.iter().map(StoreTable::shape).collect();
    described.sort();
    assert_eq!(described, actual);
}

/// A database that a server of the build 4b808d7 has written: users, a token, and an instance that was entered and saved.
const VERSION_4: &str = include_str!("../../tests/data/version-4.sql");

/// A database that a server with schema 6 has written in three lives: users, a token, and an instance that was entered and saved.
const VERSION_6: &str = include_str!("../../tests/data/version-6.sql");

fn written_by(version: u32, dump: &'static str) -> TestDatabase {
    let database = TestDatabase::sqlite();
    let store = Store::open_for_maintenance(&database.url, false).unwrap();
    store.read(|session| session.batch(Sql::same(dump))).unwrap();
    assert_eq!(store.inspect().unwrap().version, version);
    database
}

fn written_by_version_4() -> TestDatabase {
    written_by(4, VERSION_4)
}

#[test]
fn a_database_of_version_6_opens_and_goes_on_with_its_lives_of_gateways() {
    let store = written_by(6, VERSION_6).open();
    assert_eq!(store.accounts(None, 10).unwrap().len(), 4);
    let list = store.instances().unwrap();
    let [listed] = &*list.instances else { panic!("{list:?}") };
    let state = store.instance_state(listed.instance.id).unwrap();
    assert!(state.image.is_some() && state.damages.is_empty(), "{state:?}");
    assert_eq!(store.worlds_of_token("backend").unwrap(), [listed.instance.id]);
    assert_eq!(store.begin_gateway().unwrap(), ids::Incarnation(4));
}

#[test]
fn a_database_of_version_4_opens_with_all_that_is_in_it() {
    let store = written_by_version_4().open();
    assert_eq!(store.accounts(None, 10).unwrap().len(), 2);
    let account = store.account_by_name("Bot0001", "Stander").unwrap().unwrap();
    assert!(account.last_location.is_some());
    assert_eq!(store.folders(account.agent).unwrap().len(), 21);
    let list = store.instances().unwrap();
    let [listed] = &*list.instances else { panic!("{list:?}") };
    assert_eq!(
        (listed.instance.name.as_str(), &listed.trouble, &*list.damages),
        ("Made by token", &None, &[][..])
    );
    assert_eq!((listed.maker.as_deref(), listed.visited_s), (Some("backend"), None));
    let state = store.instance_state(listed.instance.id).unwrap();
    assert!(state.image.is_some() && state.damages.is_empty(), "{state:?}");
    assert_eq!(store.worlds_of_token("backend").unwrap(), [listed.instance.id]);
    assert_eq!(store.token("backend").unwrap().unwrap().worlds_max, Some(3));
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn a_database_of_version_4_goes_to_postgres_and_back() {
    let (from, there, back) = (written_by_version_4(), TestDatabase::postgres(), TestDatabase::sqlite());
    crate::migrate(&from.url).unwrap();
    let before = check(&from.url).unwrap();
    assert_eq!(before.problems, Vec::<String>::new());
    copy(&from.url, &there.url, ignore_progress).unwrap();
    copy(&there.url, &back.url, ignore_progress).unwrap();
    for database in [&from, &there, &back] {
        assert_eq!(check(&database.url).unwrap(), before);
    }
}
