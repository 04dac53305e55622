//! Conversations over real sockets, with short deadlines.

use super::*;
use crate::http::{Peer, ProxyHeader};
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::extract::Request as AxumRequest;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::routing::{any, get, post};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;

const BODY_MAX: usize = 1_000;
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);
/// None of them ends before the test's own time is over.
const PATIENT: Deadlines = Deadlines { idle: LONG, head: LONG, body: LONG, long_body: LONG, unread: LONG };
const CAPS: Caps = Caps { open_max: 4, waiting_max: 4, address_max: 4, body_bytes_max: 10_000 };

/// An account with room for 5,000 of 4,000 bytes each.
#[derive(Debug, Default)]
struct Account {
    taken: Mutex<usize>,
    cut: OnceLock<BodyCut>,
}

/// Bytes that accounts have taken and not given back.
static HELD: AtomicUsize = AtomicUsize::new(0);

impl BodyAccount for Account {
    fn bytes_max(&self) -> usize {
        4_000
    }

    fn take(&self, bytes: usize) -> bool {
        let mut taken = self.taken.lock().unwrap();
        let has_room = HELD.load(Ordering::Relaxed) + bytes <= 5_000;
        if has_room {
            HELD.fetch_add(bytes, Ordering::Relaxed);
            *taken += bytes;
        }
        has_room
    }

    fn cut(&self, why: BodyCut) {
        self.cut.set(why).unwrap();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        HELD.fetch_sub(*self.taken.lock().unwrap(), Ordering::Relaxed);
    }
}

/// Long bodies of one address.
fn long_bodies() -> LongBodies {
    LongBodies(Arc::new(|head| {
        if head.uri.path() != "/long" {
            return None;
        }
        let account = Arc::new(Account::default());
        head.extensions.insert(Arc::clone(&account));
        Some(account)
    }))
}

/// States the length of a long body, or the reason for which it was cut.
async fn measure(request: AxumRequest) -> String {
    let account = Arc::clone(request.extensions().get::<Arc<Account>>().expect("an account"));
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("it is in memory");
    format!("{} {:?}", body.len(), account.cut.get())
}

fn site() -> Site {
    let app = Router::new()
        .route(
            "/who",
            get(|ConnectInfo(peer): ConnectInfo<Peer>| async move { peer.remote.port().to_string() }),
        )
        .route("/echo", post(|body: Bytes| async move { body }))
        .route("/long", post(measure))
        .route("/wait", get(std::future::pending::<()>))
        .route("/large", get(|| async { vec![b'x'; 64 << 20] }))
        .route(
            "/socket",
            any(|upgrade: WebSocketUpgrade| async move {
                upgrade.on_upgrade(|mut socket| async move {
                    while socket.send(Message::Binary(vec![0; 1 << 20].into())).await.is_ok() {}
                })
            }),
        )
        .layer(DefaultBodyLimit::max(BODY_MAX));
    Site {
        app,
        connections: ConnectionLimiter::new(CAPS),
        body_bytes_max: BODY_MAX,
        long_bodies: Some(long_bodies()),
        proxies: Arc::default(),
    }
}

async fn connect(listener: &TcpListener, site: &Site, deadlines: Deadlines) -> TcpStream {
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.expect("it listens");
    let (stream, remote) = listener.accept().await.expect("a client connects");
    let slot = site.connections.admit(ConnectionOrigin::of(remote.ip())).await.expect("a place");
    tokio::spawn(converse(stream, remote, slot, site.clone(), deadlines));
    client
}

/// Sends this to a connection and reads until the server closes it.
fn answered(request: &str, deadlines: Deadlines) -> String {
    Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let mut client = connect(&listener, &site(), deadlines).await;
        client.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("text");
        answer.replace(&client.local_addr().unwrap().port().to_string(), "PORT")
    })
}

#[test]
fn a_request_is_answered_to_its_sender_and_an_idle_connection_is_closed() {
    let answer = answered("GET /who HTTP/1.1\r\nHost: here\r\n\r\n", Deadlines { idle: SHORT, ..PATIENT });
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("PORT"), "{answer}");
}

#[test]
fn a_head_that_comes_in_drips_or_has_no_end_is_not_waited_for() {
    let drip = answered("GET /who HTTP/1.1\r\nHost:", Deadlines { head: SHORT, ..PATIENT });
    assert!(!drip.contains("200 OK"), "{drip}");
    let endless = format!("GET /who HTTP/1.1\r\nHost: here\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX));
    let endless = answered(&endless, PATIENT);
    assert!(endless.starts_with("HTTP/1.1 431"), "{endless}");
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let silent = "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 900\r\n\r\nand then nothing";
    assert_eq!(answered(silent, Deadlines { body: SHORT, ..PATIENT }), "");
}

#[test]
fn a_body_of_more_bytes_than_it_may_have_is_refused_by_its_length_and_by_its_bytes() {
    let claimed = "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1001\r\n\r\n";
    let chunk = format!("3e9\r\n{}\r\n", "x".repeat(1_001));
    let chunked = format!("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    for request in [claimed, &chunked] {
        let answer = answered(request, Deadlines { idle: SHORT, ..PATIENT });
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
    let whole =
        format!("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{}", "x".repeat(BODY_MAX));
    assert!(answered(&whole, Deadlines { idle: SHORT, ..PATIENT }).starts_with("HTTP/1.1 200"));
}

fn posted(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))
}

#[test]
fn a_body_with_an_account_may_be_longer_and_is_cut_by_its_own_limit_and_room() {
    let brief = Deadlines { idle: SHORT, ..PATIENT };
    let answer = answered(&posted("/long", 4_000), brief);
    assert!(answer.ends_with("4000 None"), "{answer}");
    assert_eq!(HELD.load(Ordering::Relaxed), 0, "its room is given back");
    let answer = answered(&posted("/long", 0), brief);
    assert!(answer.ends_with("0 None"), "{answer}");
    let chunk = format!("fa1\r\n{}\r\n0\r\n\r\n", "x".repeat(4_001));
    let chunked = format!("POST /long HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let claimed = "POST /long HTTP/1.1\r\nHost: here\r\nContent-Length: 4001\r\n\r\n";
    for request in [claimed, &chunked] {
        let answer = answered(request, brief);
        assert!(answer.ends_with("0 Some(TooLong)"), "{answer}");
    }
    HELD.store(2_000, Ordering::Relaxed);
    let answer = answered(&posted("/long", 4_000), brief);
    assert!(answer.ends_with("0 Some(NoRoom)"), "{answer}");
    assert_eq!(HELD.swap(0, Ordering::Relaxed), 2_000);
    let answer = answered(&posted("/echo", 1_001), brief);
    assert!(answer.starts_with("HTTP/1.1 413"), "others are as short as ever: {answer}");
    let silent = "POST /long HTTP/1.1\r\nHost: here\r\nContent-Length: 900\r\n\r\nand then nothing";
    assert_eq!(answered(silent, Deadlines { long_body: SHORT, ..PATIENT }), "", "it is not waited for");
}

/// Asks for this, reads nothing, and waits until the server has given up.
fn given_up_on(request: &str) {
    Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let site = site();
        let mut client = connect(&listener, &site, Deadlines { unread: SHORT, ..PATIENT }).await;
        client.write_all(request.as_bytes()).await.expect("it reads");
        while site.connections.occupancy().open > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(site.connections.counters.timed_out.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_client_that_does_not_read_its_answer_is_dropped() {
    given_up_on("GET /large HTTP/1.1\r\nHost: here\r\n\r\n");
}

#[test]
fn a_watcher_that_does_not_read_is_dropped() {
    given_up_on(
        "GET /socket HTTP/1.1\r\nHost: here\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
}

#[test]
fn requests_beyond_a_clients_share_are_refused_directly_and_behind_a_proxy() {
    Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let ask = "GET /wait HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
        for trusted in [vec![], vec!["127.0.0.0/8".parse().unwrap()]] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
            let proxies = Arc::new(Proxies::new(trusted, ProxyHeader::XForwardedFor));
            let site =
                Site { connections: ConnectionLimiter::new(Caps { open_max: 6, ..CAPS }), proxies, ..site() };
            let mut held = Vec::new();
            // The fourth leaves two, the fifth would leave one.
            for n in 1..=4 {
                let mut client = connect(&listener, &site, PATIENT).await;
                client.write_all(ask.as_bytes()).await.unwrap();
                while site.connections.occupancy().spare > 6 - n {
                    tokio::task::yield_now().await;
                }
                held.push(client);
            }
            let mut refused = connect(&listener, &site, Deadlines { idle: SHORT, ..PATIENT }).await;
            refused.write_all(ask.as_bytes()).await.unwrap();
            let mut answer = String::new();
            refused.read_to_string(&mut answer).await.expect("text");
            assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
            assert_eq!(site.connections.occupancy().spare, 2);
            assert_eq!(site.connections.counters.over_share.load(Ordering::Relaxed), 1);
        }
    });
}

#[test]
fn a_new_connection_finds_a_place_beside_as_many_silent_ones_as_there_may_be() {
    Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let site = site();
        let mut silent = Vec::new();
        for _ in 0..3 * CAPS.open_max {
            let mut client = connect(&listener, &site, PATIENT).await;
            client
                .write_all(b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n")
                .await
                .unwrap();
            silent.push(client);
        }
        let mut client = connect(&listener, &site, PATIENT).await;
        client.write_all(b"GET /who HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("text");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let mut closed = String::new();
        assert!(silent[0].read_to_string(&mut closed).await.is_err() || closed.is_empty(), "{closed}");
    });
}
