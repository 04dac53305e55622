//! A data directory has one server at a time, and its owner as its only reader.

use crate::server::{Server, throng};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn serve(data: &Path) -> Command {
    let mut command = throng();
    command.args([
        "serve",
        "--http",
        "127.0.0.1:0",
        "--udp",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--data",
    ]);
    command.arg(data).stdin(Stdio::null());
    command
}

/// The end of a second server on this directory.
fn serve_on(data: &Path) -> Output {
    serve(data).output().unwrap()
}

/// The first line of a server on this directory, which is then killed.
fn serve_until_ready(data: &Path) -> Vec<u8> {
    let mut server = serve(data).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = Vec::new();
    BufReader::new(server.stdout.take().unwrap()).read_until(b'\n', &mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    line
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_second_server_on_a_directory_is_refused_with_the_firsts_process_id() {
    let server = Server::start();
    let second = serve_on(server.data.path());
    let why = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{why}");
    assert!(why.contains(&format!("in use by the server with process id {}", server.pid())), "{why}");
    // The first one's files are as they were, and commands on the database go on working beside it.
    assert!(server.ask("GET /healthz/ready", "").starts_with("ok\n"));
    let mut add = throng();
    add.args(["user", "add", "Second", "Reader", "--data"]).arg(server.data.path()).stdin(Stdio::piped());
    let mut add = add.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    add.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    assert!(add.wait().unwrap().success());
    assert!(server.run("user list").unwrap().contains("Second Reader"));
}

#[test]
fn the_directory_of_a_server_that_was_killed_is_free_again() {
    let mut server = Server::start();
    server.kill();
    let why = String::from_utf8(serve_until_ready(server.data.path())).unwrap();
    assert!(why.contains("Throng is ready"), "{why}");
}

#[test]
fn refused_database_writes_are_reported_and_show_in_the_exit_status() {
    let mut server = Server::start();
    let live = |server: &Server| server.ask("GET /healthz/live", "");
    let refuses = |server: &Server| live(server).contains("The database does not keep last places");
    server.fault(r#"{"kind": "fail", "where": "store", "repeat": 2}"#);
    // The first write of a visit is of the appearance, long before that of the last place.
    std::thread::scope(|scope| {
        let visit = scope.spawn(|| server.visit());
        server.wait_until("it is told", refuses);
        assert_eq!(server.exchange("GET /healthz/ready", "").0, 503, "a balancer must send no client here");
        assert_eq!(visit.join().unwrap()["logins_ok"], 1);
    });
    server.wait_until("it is written after all", |server| live(server) == "ok\n");

    server.fault(r#"{"kind": "fail", "where": "store", "repeat": 1000000}"#);
    assert_eq!(server.visit()["logins_ok"], 1);
    server.wait_until("it is told again", refuses);
    assert_eq!(server.terminate(), Some(1));
    assert!(server.log().contains("last places or homes could not be saved"), "{}", server.log());
}

#[test]
fn an_idle_server_whose_database_takes_no_write_turns_not_ready() {
    let server = Server::start();
    server.fault(r#"{"kind": "fail", "where": "store", "repeat": 1}"#);
    let ready = |server: &Server| server.exchange("GET /healthz/ready", "");
    server.wait_until("a probe has failed", |server| ready(server).0 == 503);
    server.wait_until("the next one has not", |server| ready(server).0 == 200);
    assert_eq!(server.metric("throng_logins_total{outcome=\"ok\"}"), Some(0.0), "no login succeeded");
}

#[test]
fn two_servers_on_one_database_file_are_one_too_many() {
    let elsewhere = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", elsewhere.path().join("grid.sqlite").display());
    let server = Server::start_with(&format!("[store]\nurl = \"{url}\"\n"));
    let data = tempfile::tempdir().unwrap();
    let second = serve(data.path()).args(["--store", &url]).output().unwrap();
    let why = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{why}");
    assert!(why.contains(&format!("is in use by the server with process id {}", server.pid())), "{why}");
    assert_eq!(server.exchange("GET /healthz/ready", "").0, 200);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn two_servers_on_one_postgres_database_are_one_too_many() {
    let url = std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
    let config = format!("[store]\nurl = \"{url}\"\n");
    let mut server = Server::start_with(&config);
    let data = tempfile::tempdir().unwrap();
    let second = serve(data.path()).args(["--store", &url]).output().unwrap();
    let why = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{why}");
    assert!(why.contains(&format!("is in use by the server with process id {}", server.pid())), "{why}");
    server.kill();
    let mut third = serve(data.path()).args(["--store", &url]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(third.stdout.take().unwrap()).read_line(&mut line).unwrap();
    third.kill().unwrap();
    third.wait().unwrap();
    assert!(line.contains("ready"), "the database is free as soon as the server is gone: {line}");
}

#[test]
fn a_disk_that_takes_no_file_is_reported() {
    let server = Server::start();
    let aside = server.data.path().with_extension("aside");
    fs::rename(server.data.path(), &aside).unwrap();
    let is_told = |server: &Server| server.ask("GET /healthz/live", "").contains("disk does not take a file");
    server.wait_until("it is told", is_told);
    fs::rename(&aside, server.data.path()).unwrap();
    server.wait_until("it is well again", |server| server.ask("GET /healthz/ready", "") == "ok\n");
}

#[test]
fn an_invalid_configuration_ends_the_start_with_status_2_and_the_key() {
    let refused = |prepare: &dyn Fn(&Path, &mut Command)| {
        let data = tempfile::tempdir().unwrap();
        let mut command = serve(data.path());
        prepare(data.path(), &mut command);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, why) =
        refused(&|data, _| fs::write(data.join("tuning.toml"), "\"gateway.send_hz\" = 1000").unwrap());
    assert!(status == Some(2) && why.contains("`gateway.send_hz` = 1000 (tuning.toml"), "{status:?} {why}");
    let (status, why) = refused(&|_, command| {
        command.env("THRONG__SERVER__NAME", std::ffi::OsStr::from_bytes(b"\xFFgrid"));
    });
    assert!(
        status == Some(2) && why.contains("`server.name` (environment variable THRONG__SERVER__NAME)"),
        "{status:?} {why}"
    );
    let (status, why) = refused(&|_, command| {
        command.args(["--advertise", "0.0.0.0"]);
    });
    assert!(status == Some(2) && why.contains("advertise"), "{status:?} {why}");
    let (status, why) = refused(&|_, command| {
        command.env("THRONG__GATEWAY__MEMORY_MAX_MIB", "4");
    });
    assert!(status == Some(2) && why.contains("`gateway.memory_max_mib` = 4"), "{status:?} {why}");
}

#[test]
fn the_files_of_a_server_are_readable_by_its_owner_alone() {
    let server = Server::start();
    server.tune("recorder.horizon_s", 4);
    let own = ["throng.sqlite", "throng.sqlite-wal", "throng.sqlite-shm", "admin.token", "run.json", "lock"];
    for name in own {
        assert_eq!(mode(&server.data.path().join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(server.data.path()), 0o700);
    // A directory that is open to others and holds other things is left as it is.
    let shared = tempfile::tempdir().unwrap();
    fs::create_dir(shared.path().join("letters")).unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o755)).unwrap();
    let refused = serve_on(shared.path());
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && why.contains("open to other users"), "{why}");
    assert_eq!(mode(shared.path()), 0o755);
}
