//! A server as a process of its own, with bots as its visitors: what holds when threads, sockets and clocks are real.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any test machine takes: whoever waits so long waits for nothing.
const PATIENCE: Duration = Duration::from_secs(120);
const BOTS: usize = 20;

fn throng() -> Command {
    Command::new(env!("CARGO_BIN_EXE_throng"))
}

/// A server on free ports, which is killed when it is dropped.
struct Server {
    child: Child,
    /// Kept open: the server has something to say.
    _stdout: BufReader<ChildStdout>,
    data: TempDir,
    admin: String,
    login: String,
    token: String,
}

impl Server {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut child = throng()
            .args(["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .arg("--open-registration")
            .arg("--data")
            .arg(data.path())
            .env("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")
            .env("THRONG__SERVER__LOG_FILTER", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "{line}");
        let run: serde_json::Value = serde_json::from_str(&read(data.path(), "run.json")).unwrap();
        let text = |key: &str| run[key].as_str().unwrap().to_owned();
        let token = read(data.path(), "admin.token").trim().to_owned();
        Self { child, _stdout: stdout, admin: text("admin"), login: text("login_uri"), token, data }
    }

    /// Bots that stand around for so long and report what they saw.
    fn bots(&self, stay: &str) -> Child {
        let count = BOTS.to_string();
        throng()
            .args(["bots", "--login", &self.login, "--count", &count, "--observers", &count])
            .args(["--behavior", "walk", "--ramp", "50/s", "--duration", stay, "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// One exchange with the operator's address; the body of the answer.
    fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// A metric's value; `None` while it is not exported.
    fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.ask("GET /metrics", "");
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// Asks until something is so.
    #[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        }
    }

    fn wait_for_bots(&self) {
        let avatars = |server: &Self| server.metric(r#"throng_world_avatars{world="Harbour"}"#);
        self.wait_until("everybody is in", |server| avatars(server) == Some(BOTS as f64));
    }

    fn tune(&self, key: &str, value: u32) {
        self.ask("POST /v1/tune", &serde_json::json!({ "key": key, "value": value }).to_string());
    }

    /// Somebody who comes for a moment; the report.
    fn visit(&self) -> serde_json::Value {
        let bot = throng()
            .args(["bots", "--login", &self.login, "--count", "1", "--last-name", "Late"])
            .args(["--duration", "1s", "--json"])
            .output()
            .unwrap();
        serde_json::from_slice(&bot.stdout).unwrap()
    }

    fn fault(&self, fault: &str) {
        assert_eq!(self.ask("POST /v1/fault", fault), "done\n");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(data: &Path, name: &str) -> String {
    std::fs::read_to_string(data.join(name)).unwrap()
}

/// What bots report at their end.
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
    let file = server.data.path().join("harbour.throngrec");
    let order = serde_json::json!({ "world": "Harbour", "seconds": 60, "out": file });
    let outcome = std::thread::scope(|scope| {
        let recording = scope.spawn(|| server.ask("POST /v1/record", &order.to_string()));
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
fn while_memory_is_short_nobody_comes_in_and_nobody_has_to_go() {
    let server = Server::start();
    let bots = server.bots("12s");
    server.wait_for_bots();
    let is_closed = |closed: f64| {
        move |server: &Server| server.metric(r#"throng_logins_closed{reason="memory"}"#) == Some(closed)
    };
    // Less than it takes already.
    server.tune("gateway.memory_max_mib", 1);
    server.wait_until("nobody is let in", is_closed(1.0));
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
