//! HTTP clients that hold connections and say nothing, beside visitors that log in.

use crate::server::{Server, throng};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// As many descriptors as a careless shell leaves.
const OPEN_FILES: u32 = 128;
const SILENT: u8 = 200;

/// A request whose body never comes, from this address.
async fn silent(from: IpAddr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n<?xml")
        .await
        .unwrap();
    stream
}

/// The server under a limit of open files.
fn under_limit() -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {OPEN_FILES}; exec \"$0\" \"$@\"")]).arg(throng().get_program());
    shell
}

#[test]
fn silent_bodies_take_nobodys_login_nor_the_operators_connection() {
    let server = Server::start_by(under_limit(), "");
    let to: SocketAddr = server.login_addr();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let silent = runtime.block_on(async {
        let mut all = Vec::new();
        for n in 0..SILENT {
            all.push(silent(IpAddr::from([127, 0, 0, 2 + n % 4]), to).await);
        }
        all
    });
    for _ in 0..3 {
        let visit = server.visit();
        assert_eq!((&visit["logins_ok"], &visit["logins_failed"]), (&1.into(), &0.into()), "{visit}");
    }
    assert_eq!(server.ask("GET /healthz/ready", ""), "ok\n");
    let evicted = r#"throng_http_connections_ended_total{outcome="evicted"}"#;
    server.wait_until("the silent ones made room", |server| {
        server.metric(evicted) > Some(f64::from(SILENT / 2))
    });
    drop(silent);
}

#[test]
fn a_server_without_spare_descriptors_is_not_ready() {
    let page = "[page]\nwatchers_max = 1000\nwatchers_per_address_max = 1000\n";
    let server = Server::start_by(under_limit(), page);
    let to: SocketAddr = server.login_addr();
    assert_eq!(server.exchange("GET /healthz/ready", ""), (200, "ok\n".to_owned()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Each from an address of its own: the connections of one address are bounded.
    let watchers = runtime.block_on(async {
        let mut all = Vec::new();
        for n in 0..OPEN_FILES {
            let from = IpAddr::from([127, 0, 1, u8::try_from(n).unwrap()]);
            all.extend(watch(from, to).await);
        }
        all
    });
    let (status, why) = server.exchange("GET /healthz/ready", "");
    assert!(
        status == 503 && why.contains("nearly all connections"),
        "{} watchers: {status} {why}",
        watchers.len()
    );
    drop(watchers);
    server.wait_until("the watchers are gone", |server| server.exchange("GET /healthz/ready", "").0 == 200);
}

/// A browser that watches, if it was let in.
async fn watch(from: IpAddr, to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let mut stream = socket.connect(to).await.ok()?;
    let request = "GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.ok()?;
    (status == *b"HTTP/1.1 101").then_some(stream)
}

#[test]
fn too_few_descriptors_for_a_client_are_refused_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(throng().get_program());
    shell.args([
        "serve",
        "--http",
        "127.0.0.1:0",
        "--udp",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--data",
    ]);
    let refused = shell.arg(data.path()).output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && why.contains("64 open files are too few"), "{why}");
}
