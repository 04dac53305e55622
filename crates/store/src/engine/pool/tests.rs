//! Connections that break at the worst moment, by way of a proxy that cuts them.

use super::*;
use crate::engine::Sql;
use crate::testing::TestDatabase;
use crate::{NewAccount, PasswordHash, Store, StoreError, StoreUrl};
use ids::AgentId;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio_postgres::config::Host;
use uuid::Uuid;

/// The proxy's fault for the next COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Closes both sides without passing it on.
    BeforeCommit,
    /// Passes it on, waits for the server's answer, and closes both sides without passing that on.
    AfterCommit,
    /// Likewise, and accepts no further connections.
    AfterCommitForGood,
    /// Closes the client's side and keeps it, to be passed on later.
    HoldCommit,
}

/// A connection whose COMMIT was not passed on yet.
struct Held {
    upstream: TcpStream,
    commit: Vec<u8>,
    /// Bytes of the server from then on.
    answer: Receiver<Vec<u8>>,
}

/// Fate of the server's answers.
const PASS: u8 = 0;
const CUT: u8 = 1;
const KEEP: u8 = 2;

struct Proxy {
    address: SocketAddr,
    fault: Arc<Mutex<Fault>>,
    held: Receiver<Held>,
}

impl Proxy {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let fault = Arc::new(Mutex::new(Fault::None));
        let (hold, held) = channel();
        let shared = Arc::clone(&fault);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (fault, hold) = (Arc::clone(&shared), hold.clone());
                std::thread::spawn(move || carry(client, server, &fault, &hold));
            }
        });
        Self { address, fault, held }
    }

    fn next(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

fn carry(mut client: TcpStream, server: SocketAddr, fault: &Mutex<Fault>, hold: &Sender<Held>) {
    if *fault.lock().unwrap() == Fault::AfterCommitForGood {
        return;
    }
    let mut upstream = TcpStream::connect(server).unwrap();
    let mode = Arc::new(AtomicU8::new(PASS));
    let (keep, answer) = channel();
    let answers = {
        let (mut from, mut to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
        let mode = Arc::clone(&mode);
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let goes_on = match mode.load(Ordering::SeqCst) {
                    PASS => to.write_all(&buffer[..n]).is_ok(),
                    KEEP => keep.send(buffer[..n].to_vec()).is_ok(),
                    _ => false,
                };
                if !goes_on {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        })
    };
    let mut buffer = [0; 65_536];
    while let Ok(n @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..n];
        if bytes.windows(8).any(|window| window == b"; COMMIT") {
            let now = {
                let mut fault = fault.lock().unwrap();
                let now = *fault;
                if now != Fault::AfterCommitForGood {
                    *fault = Fault::None;
                }
                now
            };
            match now {
                Fault::None => {}
                Fault::BeforeCommit => break,
                Fault::AfterCommit | Fault::AfterCommitForGood => {
                    mode.store(CUT, Ordering::SeqCst);
                    upstream.write_all(bytes).unwrap();
                    answers.join().unwrap();
                    break;
                }
                Fault::HoldCommit => {
                    mode.store(KEEP, Ordering::SeqCst);
                    let _ = client.shutdown(Shutdown::Both);
                    hold.send(Held { upstream, commit: bytes.to_vec(), answer }).unwrap();
                    return;
                }
            }
        }
        if upstream.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = (client.shutdown(Shutdown::Both), upstream.shutdown(Shutdown::Both));
}

/// A database with its tables, a proxy before it, and a store that goes through the proxy.
fn behind_proxy(patience: Patience) -> (TestDatabase, Proxy, Store) {
    let database = TestDatabase::postgres();
    drop(database.open());
    let crate::url::StoreLocation::Server(direct) = &database.url.0 else { panic!("a server") };
    let [Host::Tcp(host)] = direct.get_hosts() else { panic!("tests reach the server over TCP") };
    let server = SocketAddr::new(host.parse().unwrap(), direct.get_ports()[0]);
    let proxy = Proxy::start(server);
    let mut config = Config::new();
    config.host(proxy.address.ip().to_string()).port(proxy.address.port());
    config.user(direct.get_user().unwrap()).password(direct.get_password().unwrap_or_default());
    config.dbname(direct.get_dbname().unwrap()).options(direct.get_options().unwrap());
    let store =
        Store::with_patience(&StoreUrl(crate::url::StoreLocation::Server(Box::new(config))), patience)
            .unwrap();
    // Through its only connection so far.
    assert!(store.tokens().unwrap().is_empty());
    (database, proxy, store)
}

fn account(n: u128) -> NewAccount {
    NewAccount {
        agent: AgentId(Uuid::from_u128(n)),
        first: format!("Ada{n}"),
        last: "Lovelace".into(),
        password_hash: PasswordHash(String::new()),
        created_s: 0,
        folders: Vec::new(),
        items: Vec::new(),
    }
}

fn names(database: &TestDatabase) -> Vec<String> {
    database.open().accounts(None, 10).unwrap().into_iter().map(|account| account.first).collect()
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_commit_whose_answer_is_lost_counts_once() {
    let (database, proxy, store) = behind_proxy(Patience::SERVING);
    proxy.next(Fault::AfterCommit);
    // Without finding out, this would be repeated and fail because the name is taken.
    store.create_account(&account(1)).unwrap();
    assert_eq!(names(&database), ["Ada1"]);
    store.create_account(&account(2)).unwrap();
    let again = NewAccount { first: "ada1".into(), ..account(3) };
    assert!(matches!(store.create_account(&again), Err(StoreError::NameTaken { .. })));
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_commit_that_never_arrived_is_made_again() {
    let (database, proxy, store) = behind_proxy(Patience::SERVING);
    proxy.next(Fault::BeforeCommit);
    store.create_account(&account(1)).unwrap();
    assert_eq!(names(&database), ["Ada1"]);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_commit_of_unknown_outcome_is_reported_as_such_in_time() {
    let second = Duration::from_secs(1);
    let (database, proxy, store) = behind_proxy(Patience { call: second, statement: second });
    proxy.next(Fault::AfterCommitForGood);
    let began = Instant::now();
    let error = store.create_account(&account(1)).unwrap_err();
    assert!(began.elapsed() < 8 * second, "{:?}", began.elapsed());
    let StoreError::Query { source, .. } = &error else { panic!("{error}") };
    assert!(source.is_outcome_unknown() && source.to_string().contains("not known"), "{source}");
    assert_eq!(names(&database), ["Ada1"]);
    assert!(store.probe().is_err(), "a server that is gone takes no write");
    // Reads fail in time, too, and say why.
    let error = store.tokens().unwrap_err();
    let StoreError::Query { source, .. } = &error else { panic!("{error}") };
    assert!(!source.is_outcome_unknown() && source.to_string().starts_with("PostgreSQL: "), "{source}");
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_commit_that_arrives_late_has_no_effect_any_more() {
    let (database, proxy, store) = behind_proxy(Patience::SERVING);
    proxy.next(Fault::HoldCommit);
    // The held transaction still has the name locked, so that making the account anew fails for good.
    let error = store.create_account(&account(1)).unwrap_err();
    let StoreError::Query { source, .. } = &error else { panic!("{error}") };
    assert!(!source.is_outcome_unknown() && source.to_string().contains("lock timeout"), "{source}");
    let Held { mut upstream, commit, answer: answers } = proxy.held.recv().unwrap();
    upstream.write_all(&commit).unwrap();
    let mut answer = Vec::new();
    // Until the server is ready for the next statement, within a transaction that has failed.
    while !answer.ends_with(&[b'Z', 0, 0, 0, 5, b'E']) {
        answer.extend(answers.recv().expect("the server answers"));
    }
    assert!(String::from_utf8_lossy(&answer).contains("commit_marks_pkey"));
    drop(upstream);
    assert_eq!(names(&database), Vec::<String>::new());
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_claim_that_was_lost_with_its_session_is_taken_again_unless_a_rival_has_it() {
    let database = TestDatabase::postgres();
    let name = "a server whose session ends";
    let first = Store::open_claimed(&database.url, name).unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE application_name = 'a server whose session ends'";
    let end = || crate::testing::tamper(&database.open(), Sql::same(end), &[]);
    assert_eq!(end(), 1);
    let rival = Store::open_claimed(&database.url, "its rival").unwrap();
    let refused = first.probe().unwrap_err().to_string();
    assert!(refused.contains("is in use by its rival (PostgreSQL session "), "{refused}");
    drop(rival);
    first.probe().unwrap();
    let refused = Store::open_claimed(&database.url, "its rival").unwrap_err().to_string();
    assert!(refused.contains(name), "{refused}");
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_claim_begins_when_no_transaction_of_a_former_server_can_commit_any_more() {
    let database = TestDatabase::postgres();
    let former = Store::open_claimed(&database.url, "the former server").unwrap();
    let (locked, is_locked) = channel();
    let (release, released) = channel::<()>();
    let (rows, former) = (&database.open(), &former);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let held = rows.engine().write(|session| {
                session.batch(Sql::same("LOCK TABLE accounts IN EXCLUSIVE MODE"))?;
                locked.send(()).unwrap();
                // Ends with the test, too.
                let _ = released.recv();
                Ok(())
            });
            held.unwrap();
        });
        is_locked.recv().unwrap();
        let late = scope.spawn(move || former.create_account(&account(1)));
        let waiting =
            Sql::same("SELECT 1 FROM pg_locks WHERE relation = 'accounts'::regclass AND NOT granted");
        while crate::testing::tamper(&database.open(), waiting, &[]) == 0 {
            std::thread::yield_now();
        }
        // As when the process is killed: the session with the claim ends first.
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'the former server'";
        assert_eq!(crate::testing::tamper(&database.open(), Sql::same(end), &[]), 1);
        let next = Store::open_claimed(&database.url, "the next server").unwrap();
        assert_eq!(names(&database), Vec::<String>::new());
        release.send(()).unwrap();
        let refused = late.join().unwrap().unwrap_err();
        let StoreError::Query { source, .. } = &refused else { panic!("{refused}") };
        assert!(
            source.to_string().contains("was claimed by the next server (PostgreSQL session "),
            "{source}"
        );
        assert_eq!(names(&database), Vec::<String>::new());
        // Its second database is under its claim.
        next.create_account(&account(2)).unwrap();
        next.open_second().unwrap().create_account(&account(3)).unwrap();
        // Without the claim the former server reads nothing that may change behind its back.
        assert!(former.tokens().is_err());
    });
    assert_eq!(names(&database), ["Ada2", "Ada3"]);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_pool_gives_connections_in_turn_and_says_when_none_became_free() {
    let database = TestDatabase::postgres();
    let patience = Patience { call: Duration::from_millis(300), statement: Duration::from_secs(5) };
    let crate::url::StoreLocation::Server(config) = &database.url.0 else { panic!("a server") };
    let pool = Pool::new((**config).clone(), patience).unwrap();
    let end = || Instant::now() + patience.call;
    let borrowed: Vec<_> = (0..CONNECTIONS_MAX).map(|_| pool.borrow(end()).unwrap()).collect();
    let error = pool.borrow(end()).err().unwrap();
    assert_eq!(error.to_string(), "no connection to PostgreSQL became free within 300ms");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| pool.borrow(Instant::now() + Duration::from_secs(30)).is_ok());
        drop(borrowed);
        assert!(waiting.join().unwrap());
    });
    assert_eq!(pool.lock().idle.len(), CONNECTIONS_MAX);
}
