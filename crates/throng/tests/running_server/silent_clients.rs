//! HTTP clients that hold connections and say nothing, beside visitors who log in.

use crate::server::{Server, throng};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use tokio::io::AsyncWriteExt as _;
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
fn too_few_descriptors_to_serve_anybody_are_refused_at_the_start() {
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
