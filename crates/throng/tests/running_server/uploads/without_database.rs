//! Uploads while the database of a server is gone for a while.

use super::{
    TEXTURE, between, enter, is_refused_for, longer_texture, out, post, run, served, upload, uploader,
};
use crate::server::Server;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

const SCHEMA: &str = "throng_test_uploads";

/// A way to a database that can be cut.
struct Way {
    address: SocketAddr,
    state: Arc<Mutex<WayState>>,
}

#[derive(Default)]
struct WayState {
    is_cut: bool,
    /// Both ends of each connection.
    open: Vec<[TcpStream; 2]>,
}

impl Way {
    fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(WayState::default()));
        let shared = Arc::clone(&state);
        // It ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if state.is_cut {
                    continue;
                }
                let Ok(database) = TcpStream::connect(&target) else { continue };
                for (from, to) in [(&client, &database), (&database, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || carry(from, to));
                }
                state.open.push([client, database]);
            }
        });
        Self { address, state }
    }

    /// Ends all connections, and refuses others until it is cut no more.
    fn set_cut(&self, is_cut: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cut = is_cut;
        if is_cut {
            for end in state.open.drain(..).flatten() {
                // It may have ended by itself.
                let _ = end.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Carries the bytes of one direction, and ends both with it.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn execute(url: &str, sql: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        let serving = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        serving.await.unwrap().unwrap();
    });
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn uploads_while_postgres_is_gone_are_refused_and_those_that_were_answered_are_kept() {
    let url = std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
    let target = between(&url, "@", "/").to_owned();
    execute(&url, &format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"));
    let way = Way::to(target.clone());
    let through = url.replace(&target, &way.address.to_string());
    let config = format!("[store]\nurl = \"{through}?options=-c%20search_path%3D{SCHEMA}\"\n");
    let mut server = Server::start_with(&config);
    let seed = enter(&server);
    let kept = upload(&server, &seed);
    let addresses: Vec<String> = (0..3).map(|_| uploader(&server, &seed)).collect();

    way.set_cut(true);
    std::thread::scope(|scope| {
        for (address, bytes) in addresses.iter().zip(1..) {
            let server = &server;
            scope.spawn(move || {
                let reason = "the asset could not be stored: ";
                is_refused_for(server, address, &longer_texture(bytes), reason);
            });
        }
    });
    let is_reported = |server: &Server| server.exchange("GET /healthz/ready", "").0 == 503;
    server.wait_until("it is reported", is_reported);
    server.wait_until("none waits", |server| server.metric("throng_upload_bytes") == Some(0.0));

    way.set_cut(false);
    server.wait_until("it is well again", |server| server.ask("GET /healthz/ready", "") == "ok\n");
    let texture = longer_texture(1);
    let (status, answer) = post(&server, &uploader(&server, &seed), &texture);
    assert!(status == 200 && answer.contains("<string>complete</string>"), "{answer}");
    let later = between(&answer, "<key>new_asset</key><uuid>", "</uuid>");
    server.kill();
    server.start_again();
    let seed = enter(&server);
    assert_eq!(served(&server, &seed, &kept), (200, TEXTURE.to_vec()));
    assert_eq!(served(&server, &seed, later), (200, texture));
    out(&run(&server, &["verify", "--deep"]));
    server.kill();
    execute(&url, &format!("DROP SCHEMA {SCHEMA} CASCADE"));
}
