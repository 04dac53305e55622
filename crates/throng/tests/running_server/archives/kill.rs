//! Loads that do not come to their end: a server that is killed, and an operator who takes the order back. The region has all of the archive then, or nothing.

use super::sample::Sample;
use super::{CONFIG, account, ended, has_ended, job, n_objects, order, placed};
use crate::server::Server;

/// Linksets of the archive that is there before, and of its successor.
const FEW: u64 = 3;
const MANY: u64 = 900;

/// A server with the smaller archive loaded.
fn prepared() -> Server {
    let server = Server::start_with(CONFIG);
    let (owner, _) = account(&server);
    placed(&server, "few.oar", &Sample { version: (0, 8), owner: &owner, n_objects: 3, first: 0x100 });
    placed(&server, "many.oar", &Sample { version: (0, 8), owner: &owner, n_objects: 900, first: 0x10_000 });
    load_few(&server);
    server
}

fn load_few(server: &Server) {
    let id = order(server, "few.oar");
    let ended = ended(server, id);
    assert_eq!(ended["state"], "done", "{ended}");
    assert_eq!(n_objects(server), FEW);
}

#[test]
fn a_killed_server_starts_with_all_of_an_archive_or_with_nothing_of_it() {
    let mut server = prepared();
    let mut outcomes = Vec::new();
    // Numbers of objects that are shown when the server is killed; 0 as soon as the job runs.
    for shown in [0, 4, 50, 150, 300, 500, 700, 850, MANY, MANY] {
        let id = order(&server, "many.oar");
        server.wait_until("it has come so far", |server| {
            let job = job(server, id, 0);
            let is_there = if shown == 0 { job["state"] == "running" } else { n_objects(server) >= shown };
            is_there || has_ended(&job)
        });
        server.kill();
        server.start_again();
        let n = n_objects(&server);
        assert!([FEW, MANY].contains(&n), "{n} objects after a kill at {shown}");
        outcomes.push(n);
        if n == MANY {
            load_few(&server);
        }
    }
    assert!(outcomes.contains(&FEW), "a kill came midway: {outcomes:?}");
    // After its end, it is there.
    let id = order(&server, "many.oar");
    let job = ended(&server, id);
    assert_eq!(job["state"], "done", "{job}");
    server.kill();
    server.start_again();
    assert_eq!(n_objects(&server), MANY);
}

#[test]
fn a_load_that_is_cancelled_is_undone_also_on_the_disk() {
    let mut server = prepared();
    let mut n_cancelled = 0;
    for shown in [1, 100, 400] {
        let id = order(&server, "many.oar");
        server.wait_until("it has come so far", |server| {
            n_objects(server) >= FEW + shown || has_ended(&job(server, id, 0))
        });
        let (status, answer) = server.exchange(&format!("DELETE /v1/archives/jobs/{id}"), "");
        assert!([200, 409].contains(&status), "{status} {answer}");
        let ended = ended(&server, id);
        let expected = if ended["state"] == "cancelled" { FEW } else { MANY };
        n_cancelled += u32::from(expected == FEW);
        assert_eq!(n_objects(&server), expected, "{ended}");
        let (status, answer) = server.exchange("POST /v1/regions/Harbour/save", "{}");
        assert_eq!(status, 200, "{answer}");
        server.kill();
        server.start_again();
        assert_eq!(n_objects(&server), expected);
        if expected == MANY {
            load_few(&server);
        }
    }
    assert!(n_cancelled > 0, "no order was taken back in time");
}

#[test]
fn a_server_that_ends_during_a_load_leaves_the_region_as_it_was() {
    let mut server = prepared();
    let id = order(&server, "many.oar");
    server.wait_until("it has begun", |server| n_objects(server) > FEW + 1 || has_ended(&job(server, id, 0)));
    assert_eq!(server.terminate(), Some(0));
    server.start_again();
    let n = n_objects(&server);
    assert!([FEW, MANY].contains(&n), "{n}");
}
