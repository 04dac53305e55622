//! A server as a process of its own, with bots as its visitors: what holds when threads, sockets and clocks are real.

mod api;
mod archives;
mod assets;
mod backups;
mod capabilities;
mod configured;
mod console;
mod data_directory;
mod foreign_pages;
mod held;
mod land;
mod map;
mod memory_group;
mod message_client;
mod messages;
mod names;
mod operators;
mod pages;
mod regions;
mod server;
mod silent_clients;
mod templates;
mod tokens;
mod uploads;
mod worlds;

use server::{BOTS, Server, throng};
use std::process::{Child, Output};

/// Report of the bots at their end.
fn report(bots: Child) -> serde_json::Value {
    let Output { status, stdout, .. } = bots.wait_with_output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn visitors_of_a_world_that_panics_stay_and_see_each_other_again() {
    let server = Server::start();
    let bots = server.bots("15s");
    server.wait_for_bots();
    server.fault(r#"{"kind": "panic", "where": "world:Harbour"}"#);
    let restarts = |server: &Server| server.metric(r#"throng_world_restarts_total{world="Harbour"}"#);
    server.wait_until("the world is back", |server| restarts(server) == Some(1.0));
    assert_eq!(server.metric(r#"throng_world_epoch{world="Harbour"}"#), Some(1.0));
    server.wait_for_bots();
    assert_eq!(server.ask("GET /healthz/live", ""), "ok\n");

    let report = report(bots);
    assert_eq!(report["logins_ok"], BOTS, "{report}");
    assert_eq!(report["circuits_lost"], 0, "{report}");
    assert_eq!(report["avatars_seen_min"], BOTS - 1, "{report}");
    assert_eq!(restarts(&server), Some(1.0));
}

#[test]
fn a_world_that_panics_in_every_step_is_isolated_and_named_and_comes_back_in_the_end() {
    let server = Server::start();
    let bots = server.bots("20s");
    server.wait_for_bots();
    // At once, then after 0.5, 1 and 2 s.
    server.fault(r#"{"kind": "panic", "where": "world:Harbour", "repeat": 4}"#);
    server.wait_until("it is down", |server| server.ask("GET /healthz/live", "").contains("Harbour is down"));
    assert!(server.ask("GET /healthz/ready", "").starts_with("ok\n"), "the other world is open");
    assert_eq!(server.metric(r#"throng_world_down{world="Meadows"}"#), Some(0.0));
    let restarts = |server: &Server| server.metric(r#"throng_world_restarts_total{world="Harbour"}"#);
    server.wait_until("it is back", |server| restarts(server) == Some(4.0));
    server.wait_until("and well", |server| server.ask("GET /healthz/live", "") == "ok\n");
    server.wait_for_bots();
    let report = report(bots);
    assert_eq!(
        (&report["circuits_lost"], &report["avatars_seen_min"]),
        (&0.into(), &(BOTS - 1).into()),
        "{report}"
    );
}

#[test]
fn a_recording_of_a_running_world_replays_to_the_same_states() {
    let server = Server::start();
    let bots = server.bots("5s");
    server.wait_for_bots();
    let file = server.data.path().join("harbour.throngrec");
    let record = |world: &str| {
        let mut command = throng();
        command.args(["record", "--world", world, "--seconds", "3", "--data"]).arg(server.data.path());
        command.arg("--out").arg(&file).output().unwrap()
    };
    let refused = record("Atlantis");
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("there are: Harbour, Meadows"), "{why}");

    let recorded = record("harbour");
    let text = String::from_utf8(recorded.stdout).unwrap();
    assert!(recorded.status.success() && text.contains("bytes: complete"), "{text}");
    let replayed = throng().args(["replay", "--verify", "--repeat", "2"]).arg(&file).output().unwrap();
    let text = String::from_utf8(replayed.stdout).unwrap();
    assert!(replayed.status.success(), "{text}");
    assert_eq!(text.matches("all states equal").count(), 2, "{text}");
    assert!(!record("Harbour").status.success(), "a file that is there is left alone");
    report(bots);
}

#[test]
fn a_recording_that_a_panic_ended_has_the_commands_of_the_step() {
    let server = Server::start();
    let bots = server.bots("8s");
    server.wait_for_bots();
    let file = server.data.path().join("recordings/harbour.throngrec");
    let record = |out: &str| {
        let order = serde_json::json!({ "world": "Harbour", "seconds": 60, "out": out });
        server.exchange("POST /v1/record", &order.to_string())
    };
    for elsewhere in ["/tmp/harbour.throngrec", "../harbour.throngrec", "admin/token"] {
        let (status, why) = record(elsewhere);
        assert!(status == 400 && why.contains("is not the name of a file"), "{elsewhere}: {status} {why}");
    }
    let outcome = std::thread::scope(|scope| {
        let recording = scope.spawn(|| record("harbour.throngrec").1);
        server.wait_until("it records", |_| file.metadata().is_ok_and(|file| file.len() > 0));
        server.fault(r#"{"kind": "panic", "where": "world:Harbour"}"#);
        recording.join().unwrap()
    });
    assert!(outcome.contains("the world panicked in the last step"), "{outcome}");
    let replayed = throng().args(["replay", "--verify"]).arg(&file).output().unwrap();
    let text = String::from_utf8(replayed.stdout).unwrap();
    // It was not the commands that made it panic, so a replay gets past them, and says so.
    assert!(text.contains("panicked when it was recorded, and does not now"), "{text}");
    assert!(text.contains("; 1 ticks differ"), "{text}");
    report(bots);
}

#[test]
fn pings_leave_the_stages_of_their_way_in_the_metrics() {
    let server = Server::start();
    let bots = server.bots("8s");
    let sum = |server: &Server, what: &str, stage: &str| {
        let labels = format!(r#"{{datagram="ping",stage="{stage}"}}"#);
        server.metric(&format!("throng_packet_stage_seconds_{what}{labels}")).unwrap()
    };
    server.wait_until("a ping is answered", |server| sum(server, "count", "send") > 0.0);
    for stage in ["kernel", "dispatch", "handler", "send"] {
        assert!(sum(&server, "count", stage) > 0.0 && sum(&server, "sum", stage) > 0.0, "{stage}");
        assert!(sum(&server, "max", stage) > 0.0 && sum(&server, "squared_total", stage) > 0.0, "{stage}");
    }
    report(bots);
}

#[test]
fn while_memory_is_short_logins_are_refused_and_present_users_stay() {
    let server = Server::start();
    let bots = server.bots("12s");
    server.wait_for_bots();
    let is_closed = |closed: f64| {
        move |server: &Server| server.metric(r#"throng_logins_closed{reason="memory"}"#) == Some(closed)
    };
    // Less than it takes already.
    server.tune("gateway.memory_max_mib", 1);
    server.wait_until("logins are refused", is_closed(1.0));
    let refused = server.visit();
    assert_eq!(
        (refused["logins_ok"].as_u64(), refused["logins_failed"].as_u64()),
        (Some(0), Some(1)),
        "{refused}"
    );
    server.tune("gateway.memory_max_mib", 100_000);
    server.wait_until("there is room again", is_closed(0.0));
    assert_eq!(server.visit()["logins_ok"], 1);
    let report = report(bots);
    assert_eq!((&report["circuits_lost"], &report["pings_unanswered"]), (&0.into(), &0.into()), "{report}");
}
