//! The recorder of a running server, read from outside while clients walk.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use telemetry::recorder::{Capture, SampleKind, read_memory};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on free ports of loopback, and its login address.
fn serve(data: &std::path::Path, env: &[(&str, &str)]) -> (Running, String) {
    let any = "127.0.0.1:0";
    let child = Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["serve", "--open-registration", "--http", any, "--udp", any, "--admin", any, "--data"])
        .arg(data)
        .envs(env.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Running(child);
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let uri = lines.find_map(|line| Some(line.trim().strip_prefix("login URI")?.trim().to_owned()));
    (server, uri.expect("the server says how to log in"))
}

/// The recorder's memory of a process, found as after a crash.
fn memory_of(process: &Running) -> Option<PathBuf> {
    let fds = fs::read_dir(format!("/proc/{}/fd", process.0.id())).unwrap();
    fds.map(|fd| fd.unwrap().path())
        .find(|fd| fs::read_link(fd).is_ok_and(|to| to.to_string_lossy().contains("memfd:throng-recorder")))
}

fn scopes_in(capture: &Capture) -> BTreeSet<String> {
    let slices = capture.threads.iter().flat_map(|thread| &thread.slices);
    slices.map(|slice| capture.scopes[slice.scope as usize].name.clone()).collect()
}

#[test]
fn a_server_with_clients_records_every_part_of_the_way() {
    let data = tempfile::tempdir().unwrap();
    let (server, uri) = serve(data.path(), &[]);
    let memory = memory_of(&server).expect("the server records");
    let bots = Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["bots", "--login", &uri, "--count", "3", "--behavior", "walk", "--duration", "60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut bots = Running(bots);

    let expected = [
        "world.frame",
        "world.inbox",
        "world.movement",
        "world.tell",
        "world.resync",
        "replica.encode",
        "shard.turn",
        "shard.receive",
        "shard.mail",
        "shard.client",
        "shard.send",
        "hub.mail",
        "passwords.hash",
        "http.request",
        "http.blocking",
        "watch.look",
    ];
    let mut missing: BTreeSet<&str> = expected.into();
    let mut threads = BTreeSet::new();
    let mut sampled = BTreeSet::new();
    // Each look sees the last seconds; the bots stay until all has been seen.
    while !missing.is_empty() {
        assert!(bots.0.try_wait().unwrap().is_none(), "the bots have gone and {missing:?} was never seen");
        let capture = read_memory(&memory).unwrap();
        let seen = scopes_in(&capture);
        missing.retain(|name| !seen.contains(*name));
        threads.extend(capture.threads.iter().map(|thread| thread.name.clone()));
        let samples = capture.threads.iter().flat_map(|thread| &thread.samples);
        sampled.extend(samples.map(|sample| sample.what));
        std::thread::park_timeout(Duration::from_millis(50));
    }
    for thread in ["world-0", "replica", "shard-0", "hub", "store", "passwords", "http", "watch"] {
        assert!(threads.contains(thread), "{thread} is not among {threads:?}");
    }
    assert!(sampled.contains(&SampleKind::VoluntarySwitches) && sampled.contains(&SampleKind::LockWaitNs));
}

#[test]
fn a_server_that_shall_not_record_does_not() {
    let data = tempfile::tempdir().unwrap();
    let (server, _) = serve(data.path(), &[("THRONG__RECORDER__ENABLED", "false")]);
    assert_eq!(memory_of(&server), None);
}
