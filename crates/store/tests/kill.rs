//! Acknowledged writes are there after a kill: of the process that has an SQLite file open, and of a PostgreSQL server and its connections.

use ids::{AgentId, Epoch, HeldKey, LocalId, SessionKey, Ticket, Uuid, WorldId};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{
    ApiToken, AssetHash, AssetRow, DocumentChanges, Folder, FolderChoice, HeldChange, HeldFilter, HeldRow,
    Instance, InstanceOrigin, Item, ItemOrigin, ItemTransfer, LandChanges, LandKey, LandKind, NewAccount,
    ObjectRows, PasswordHash, Permissions, RegionChanges, RegionDocument, RegionRow, Sale, State, Store,
    StoreError, StoreUrl, StoredRegion,
};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// The databases of processes that are to be killed.
const WRITES_TO: &str = "THRONG_TEST_WRITES_TO";
const COPIES_FROM: &str = "THRONG_TEST_COPIES_FROM";
const ONE: Uuid = Uuid::from_u128(1);

fn account(n: u64) -> NewAccount {
    NewAccount {
        agent: AgentId(Uuid::from_u128(n.into())),
        first: format!("Ada{n}"),
        last: "Lovelace".into(),
        password_hash: PasswordHash(String::new()),
        created_s: 0,
        folders: Vec::new(),
        items: Vec::new(),
    }
}

fn bytes(n: u64) -> Vec<u8> {
    n.to_le_bytes().repeat(1_000)
}

fn make_instance(store: &Store) {
    let instance =
        Instance { id: ONE, template: "Cave".into(), name: "Cave".into(), owner: None, created_s: 0 };
    store.create_instance(&instance, 0, &InstanceOrigin::Operator).unwrap();
}

/// A user with an inventory, and its root.
const OWNER: AgentId = AgentId(Uuid::from_u128(1 << 64));
const ROOT: Uuid = Uuid::from_u128(2 << 64);

fn make_owner(store: &Store) {
    let (name, parent) = ("My Inventory".into(), Uuid::nil());
    let root = Folder { id: ROOT, parent, name, type_default: 8, version: 1 };
    let (first, last) = ("Grace".into(), "Hopper".into());
    let owner = NewAccount { agent: OWNER, first, last, folders: vec![root], ..account(0) };
    store.create_account(&owner).unwrap();
}

/// An object that leaves the region for an inventory with a ticket.
fn taken(ticket: Ticket) -> HeldChange {
    let (nil, name) = (Uuid::nil(), ticket.0.to_string());
    let permissions = Permissions {
        creator: nil,
        last_owner: nil,
        group: nil,
        group_owned: false,
        base: 0,
        owner: 0,
        group_mask: 0,
        everyone: 0,
        next_owner: 0,
    };
    let asset = AssetRow {
        id: nil,
        hash: AssetHash::of(name.as_bytes()),
        kind: 6,
        length: 4,
        creator: OWNER,
        created_s: 0,
        origin: "world".into(),
        used_s: None,
    };
    let item = Item {
        id: nil,
        folder: nil,
        asset: nil,
        asset_type: 6,
        inventory_type: 6,
        name,
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions,
        sale: Sale::default(),
    };
    let key = HeldKey { region: WorldId(1), ticket };
    HeldChange::InsertItem(Box::new(ItemTransfer {
        origin: ItemOrigin { key, owner: OWNER, held_s: 0 },
        folder: FolderChoice { wanted: ROOT, type_default: 6 },
        new_folder: None,
        replaces: None,
        item,
        asset: Some(asset),
        row: None,
    }))
}

/// A row of the land that changes in each frame.
const PARCEL: LandKey = LandKey::new(LandKind::Parcel, 1);

/// Object `n` is new, another one is held, a third one is taken, object 1 is moved, a parcel changes, and a document comes in place of the one before: frame `n` of
/// a region.
fn save_region(store: &Store, n: u64) -> Result<(), StoreError> {
    let ticket = Ticket(u32::try_from(n).unwrap());
    let row = RegionRow {
        epoch: Epoch(0),
        sequence: n,
        cache_id: ONE,
        state: Vec::new(),
        name: "Harbour".into(),
        ticket,
    };
    let held = HeldRow {
        key: HeldKey { region: WorldId(1), ticket },
        owner: AgentId(ONE),
        kind: 9,
        by: SessionKey::NODE,
        held_s: 0,
        value: bytes(n).into(),
    };
    let (mut bodies, mut states) = (ObjectRows::default(), ObjectRows::default());
    bodies.push(LocalId(u32::try_from(n).unwrap()), &bytes(n));
    states.push(LocalId(1), &n.to_le_bytes());
    let mut land = LandChanges::default();
    land.rows.push(PARCEL, &n.to_le_bytes());
    let held = vec![(ticket, HeldChange::Insert(held)), (ticket, taken(ticket))];
    let documents = DocumentChanges { rows: vec![document(n)], replaces: true };
    let changes = RegionChanges { row, bodies, states, land, documents, held, ..RegionChanges::default() };
    store.save_region(WorldId(1), &changes).map(drop)
}

fn document(n: u64) -> RegionDocument {
    (Uuid::from_u128(n.into()), n.to_string().into_bytes())
}

/// Number of the frame that is kept of the region; it is whole.
fn last_frame(store: &Store) -> u64 {
    let StoredRegion { row, bodies, states, land, damages, rebuilt, .. } =
        store.region_objects(WorldId(1)).unwrap();
    assert_eq!((damages, rebuilt), (Vec::new(), Vec::new()));
    let Some(row) = row else { return 0 };
    let objects: Vec<u64> = bodies.iter().map(|(object, _)| object.0.into()).collect();
    assert_eq!(objects, (1..=row.sequence).collect::<Vec<u64>>());
    assert!(bodies.iter().all(|(object, body)| body == bytes(object.0.into())));
    assert_eq!(states.iter().collect::<Vec<_>>(), [(LocalId(1), &row.sequence.to_le_bytes()[..])]);
    assert_eq!(land.iter().collect::<Vec<_>>(), [(PARCEL, &row.sequence.to_le_bytes()[..])]);
    assert_eq!(store.region_documents(WorldId(1)).unwrap(), [document(row.sequence)]);
    let held = store.held_objects(HeldFilter::default(), None, 1_000_000).unwrap();
    let tickets: Vec<u64> = held.entries.iter().map(|entry| entry.row.key.ticket.0.into()).collect();
    assert_eq!((tickets, held.damages), (objects.clone(), Vec::new()));
    let items = store.items_in(OWNER, ROOT, 1_000_000).unwrap();
    let mut taken: Vec<u64> = items.iter().map(|item| item.name.parse().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, objects, "each once");
    let version = store.folder(OWNER, ROOT).unwrap().unwrap().version;
    assert_eq!(u64::try_from(version).unwrap(), 1 + row.sequence);
    row.sequence
}

/// A journal, or every fifth time a whole state.
fn save(store: &Store, n: u64) -> Result<usize, StoreError> {
    let state = State { id: ONE, sequence: n, bytes: bytes(n) };
    if n.is_multiple_of(5) { store.save_instances(&[state]) } else { store.journal_instances(&[state]) }
}

/// Of the state that is kept; it is whole.
fn last_number(store: &Store) -> u64 {
    let kept = store.instance_state(ONE).unwrap();
    assert_eq!(kept.damages, []);
    kept.journal.or(kept.image).map_or(0, |state| {
        assert_eq!(state.bytes, bytes(state.sequence));
        state.sequence
    })
}

fn assert_kept(store: &Store, acknowledged: u64) {
    let last = last_number(store);
    assert!(last >= acknowledged, "{acknowledged} was acknowledged, and {last} is the last");
    let frame = last_frame(store);
    assert!(frame >= acknowledged, "{acknowledged} was acknowledged, and {frame} is the last frame");
    for n in 1..=acknowledged {
        assert!(store.account(account(n).agent).unwrap().is_some(), "account {n} was acknowledged");
    }
}

#[test]
#[ignore = "the process that another test kills"]
fn writer() {
    let Ok(url) = std::env::var(WRITES_TO) else { return };
    let store = Store::open(&url.parse().unwrap()).unwrap();
    for n in last_number(&store) + 1.. {
        match store.create_account(&account(n)) {
            // The former process made it, and was killed before it saved the state.
            Ok(()) | Err(StoreError::NameTaken { .. }) => {}
            Err(why) => panic!("{why}"),
        }
        // Before the state, which is the number to begin from.
        save_region(&store, n).unwrap();
        save(&store, n).unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "{n}").and_then(|()| out.flush()).unwrap();
    }
}

#[test]
fn sqlite_keeps_acknowledged_writes_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let url = StoreUrl::of_directory(directory.path());
    let store = Store::open(&url).unwrap();
    make_instance(&store);
    make_owner(&store);
    drop(store);
    let mut last = 0;
    for round in 0..10 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer", "--ignored", "--nocapture"])
            .env(WRITES_TO, url.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut numbers = lines.filter_map(|line| line.parse::<u64>().ok());
        // After a different number of writes each time.
        let read = numbers.nth(3 + round * 2).expect("it writes");
        child.kill().unwrap();
        child.wait().unwrap();
        // With what it had still said.
        let acknowledged = numbers.last().unwrap_or(read);
        assert!(acknowledged > last, "{acknowledged} after {last}");
        last = acknowledged;
        assert_kept(&Store::open(&url).unwrap(), acknowledged);
    }
}

/// Writes whose repetition is tested, in the order of [`write`].
const WRITES: u64 = 6;
const ABORTS_AFTER: &str = "THRONG_TEST_ABORTS_AFTER";
/// Number of the signal, on Linux.
const SIGABRT: i32 = 6;

fn token() -> ApiToken {
    ApiToken {
        name: "panel".into(),
        hash: [7; store::TOKEN_HASH_BYTES],
        scopes: String::new(),
        created_s: 0,
        expires_s: None,
        worlds_max: None,
    }
}

/// Write number `n`; the number of states that it kept.
fn write(store: &Store, n: u64) -> Result<usize, StoreError> {
    match n {
        0 => store.create_account(&account(1)).map(|()| 0),
        1 => store.create_token(&token()).map(|()| 0),
        2 => {
            make_instance(store);
            Ok(0)
        }
        // A journal, then the whole state that contains it.
        3 => store.journal_instances(&[State { id: ONE, sequence: 3, bytes: bytes(3) }]),
        4 => store.save_instances(&[State { id: ONE, sequence: 5, bytes: bytes(5) }]),
        5 => store.remove_token("panel").map(usize::from),
        _ => unreachable!("{n} of {WRITES} writes"),
    }
}

#[test]
#[ignore = "the process that another test starts"]
fn aborting_writer() {
    let (Ok(url), Ok(n)) = (std::env::var(WRITES_TO), std::env::var(ABORTS_AFTER)) else { return };
    let store = Store::open_claimed(&url.parse().unwrap(), "the aborting writer").unwrap();
    write(&store, n.parse().unwrap()).unwrap();
    // The commit is on the disk, and no destructor runs.
    std::process::abort();
}

/// The rows that the writes up to `n` leave.
fn assert_written(store: &Store, n: u64) {
    let names: Vec<_> = store.accounts(None, 10).unwrap().into_iter().map(|account| account.first).collect();
    assert_eq!(names, ["Ada1"]);
    assert_eq!(store.tokens().unwrap().len(), usize::from((1..5).contains(&n)));
    assert_eq!(store.instances().unwrap().instances.len(), usize::from(n >= 2));
    let expected = [0, 0, 0, 3, 5, 5][usize::try_from(n).unwrap()];
    assert_eq!(last_number(store), expected);
}

#[test]
fn sqlite_write_whose_process_aborts_before_its_reply_is_done_once() {
    let directory = tempfile::tempdir().unwrap();
    let url = StoreUrl::of_directory(directory.path());
    for n in 0..WRITES {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "aborting_writer", "--ignored", "--nocapture"]);
        child.env(WRITES_TO, url.to_string()).env(ABORTS_AFTER, n.to_string());
        let output = child.output().unwrap();
        assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");

        // Neither the claim nor the log of the dead process is in the way.
        let store = Store::open_claimed(&url, "the next server").unwrap();
        assert_written(&store, n);
        // The retry reports that the write was done.
        match n {
            0 => assert!(matches!(write(&store, n), Err(StoreError::NameTaken { .. }))),
            1 => assert!(matches!(write(&store, n), Err(StoreError::TokenTaken(name)) if name == "panel")),
            2 => {
                let instance = &store.instances().unwrap().instances[0].instance;
                assert!(store.create_instance(instance, 0, &InstanceOrigin::Operator).is_err());
            }
            _ => assert_eq!(write(&store, n).unwrap(), 0, "it was done before"),
        }
        assert_written(&store, n);
    }
    assert!(store::check(&url).unwrap().problems.is_empty());
}

#[test]
#[ignore = "the process that another test kills"]
fn copier() {
    let (Ok(from), Ok(to)) = (std::env::var(COPIES_FROM), std::env::var(WRITES_TO)) else { return };
    let report = store::copy(&from.parse().unwrap(), &to.parse().unwrap(), |progress| {
        let mut out = std::io::stdout();
        writeln!(out, "{}", progress.inserted).and_then(|()| out.flush()).unwrap();
    });
    report.unwrap();
}

/// Kills each copying process after its first transaction, until one comes to the end.
fn copy_in_spite_of_kills(to: &str) {
    let directory = tempfile::tempdir().unwrap();
    let from = StoreUrl::of_directory(directory.path());
    let store = Store::open(&from).unwrap();
    (1..=20).for_each(|n| store.create_account(&account(n)).unwrap());
    let ids = (1..=80).map(Uuid::from_u128);
    let states: Vec<State> =
        ids.clone().map(|id| State { id, sequence: 1, bytes: bytes(id.as_u128() as u64) }).collect();
    for id in ids {
        let instance =
            Instance { id, template: "Cave".into(), name: "Cave".into(), owner: None, created_s: 0 };
        store.create_instance(&instance, 0, &InstanceOrigin::Operator).unwrap();
    }
    store.save_instances(&states).unwrap();
    drop(store);
    let expected = store::check(&from).unwrap();
    let mut kills = 0;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "copier", "--ignored", "--nocapture"])
            .env(COPIES_FROM, from.to_string())
            .env(WRITES_TO, to)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.map(|line| line.parse::<u64>()).find_map(Result::ok);
        if told.is_none() {
            assert!(child.wait().unwrap().success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        assert!(kills < 20, "each makes progress");
    }
    assert!(kills >= 3, "{kills}");
    assert_eq!(store::check(&to.parse().unwrap()).unwrap(), expected);
    assert_eq!(store::check(&from).unwrap(), expected);
}

#[test]
fn sqlite_gets_the_whole_copy_however_often_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    copy_in_spite_of_kills(&StoreUrl::of_directory(directory.path()).to_string());
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_gets_the_whole_copy_however_often_it_is_killed() {
    const SCHEMA: &str = "throng_test_copy";
    let _server = own_server();
    let admin = Admin::new();
    admin.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"));
    copy_in_spite_of_kills(&format!("{}?options=-c%20search_path%3D{SCHEMA}", admin.address));
    admin.ask(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
}

/// The PostgreSQL server for one test at a time: one of them kills it, which closes the connections of all.
fn own_server() -> MutexGuard<'static, ()> {
    static SERVER: Mutex<()> = Mutex::new(());
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to the server beside the store's.
struct Admin {
    runtime: tokio::runtime::Runtime,
    address: String,
}

impl Admin {
    fn new() -> Self {
        let address =
            std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
        Self { runtime: tokio::runtime::Runtime::new().unwrap(), address }
    }

    /// The first column of the first row. Connects anew until it can: the server may just have been killed.
    fn ask(&self, sql: &str) -> Option<String> {
        self.runtime.block_on(async {
            let client = loop {
                if let Ok(client) = connect(&self.address).await {
                    break client;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            let messages = client.simple_query(sql).await.unwrap();
            messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
        })
    }
}

async fn connect(address: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_keeps_acknowledged_writes_and_none_twice_when_it_is_killed() {
    const SCHEMA: &str = "throng_test_kill";
    let _server = own_server();
    let admin = Admin::new();
    admin.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"));
    let address = format!("{}?options=-c%20search_path%3D{SCHEMA}&application_name={SCHEMA}", admin.address);
    let store = Store::open(&address.parse().unwrap()).unwrap();
    make_instance(&store);
    make_owner(&store);
    let is_over = AtomicBool::new(false);
    let (acknowledge, acknowledged) = channel();
    let last = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            // Gone with a panic, which ends the wait of the other side.
            let acknowledge = acknowledge;
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                n += 1;
                // Takes effect exactly once: a second time would find the name taken.
                let why = |why: StoreError| panic!("{n}: {why}: {:?}", std::error::Error::source(&why));
                store.create_account(&account(n)).unwrap_or_else(why);
                assert_eq!(
                    save(&store, n).unwrap_or_else(|error| {
                        why(error);
                        0
                    }),
                    1
                );
                save_region(&store, n).unwrap_or_else(why);
                acknowledge.send(n).unwrap();
            }
            n
        });
        let wait_for = |n: usize| assert!(acknowledged.iter().nth(n).is_some(), "the writer goes on");
        for round in 0..20 {
            wait_for(5 + round);
            if round % 2 == 1 {
                let pid = admin.ask("SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)").unwrap();
                assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
            } else {
                admin.ask(&format!(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{SCHEMA}'"
                ));
            }
        }
        wait_for(20);
        is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    assert_kept(&store, last);
    assert_eq!(last_number(&store), last);
    let n_accounts = store.accounts(None, 1_000_000).unwrap().len() as u64;
    assert_eq!(n_accounts, last + 1, "with the owner of the items");
    drop(store);
    admin.ask(&format!("DROP SCHEMA {SCHEMA} CASCADE"));
}
