//! Instances that outlive the process, however it ends: acknowledged changes are there again, and others may be.

use data_dir::RunFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use store::{Store, StoreUrl};
use tempfile::TempDir;
use uuid::Uuid;

/// Longer than any test machine takes: a longer wait is in vain.
const PATIENCE: Duration = Duration::from_secs(120);

const CONFIG: &str = "
    [instances]
    suspend_after_s = 0
    [[template]]
    name = \"Cave\"
    terrain = \"flat\"
";

/// A server on free ports, which is killed when it is dropped.
struct Server {
    child: Child,
    /// Kept open: the server has something to say.
    _stdout: BufReader<ChildStdout>,
    operator: Operator,
    login: String,
}

/// A client of the operator's address.
#[derive(Clone)]
struct Operator {
    address: SocketAddr,
    token: String,
}

impl Server {
    fn start(data: &TempDir) -> Self {
        Self::start_with(data, CONFIG)
    }

    fn start_with(data: &TempDir, config: &str) -> Self {
        let path = data.path().join("throng.toml");
        std::fs::write(&path, config).unwrap();
        let any = "127.0.0.1:0";
        let mut child = Command::new(env!("CARGO_BIN_EXE_throng"))
            .args(["serve", "--open-registration", "--http", any, "--udp", any, "--admin", any, "--data"])
            .arg(data.path())
            .arg("--config")
            .arg(path)
            .env("THRONG__DIAGNOSE__ALLOW_FAULTS", "true")
            .env("THRONG__SERVER__DRAIN_S", "1")
            .env("THRONG__SERVER__LOG_FILTER", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "{line}");
        let run = RunFile::read(data.path()).unwrap();
        let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap().trim().to_owned();
        let operator = Operator { address: run.admin, token };
        Self { child, _stdout: stdout, operator, login: run.login_uri }
    }

    /// As the kernel does it when memory runs out: no last word.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn terminate(mut self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// A visitor that stands around until the server is gone.
    fn visitor(&self) -> Visitor {
        let bots = Command::new(env!("CARGO_BIN_EXE_throng"))
            .args(["bots", "--login", &self.login, "--count", "1", "--duration", "600s"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.wait_until("the visitor is in", |server| {
            server.metric(r#"throng_world_avatars{world="Harbour"}"#) == Some(1.0)
        });
        Visitor(bots)
    }

    /// A metric's value; `None` while it is not exported.
    fn metric(&self, name: &str) -> Option<f64> {
        let (_, metrics) = self.operator.ask("GET", "/metrics", None).unwrap();
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

    fn wait_until_in_instances(&self, n: u32) {
        self.wait_until("the visitor has passed", |server| {
            server.metric(r#"throng_world_avatars{world="instances"}"#) == Some(n.into())
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Visitor(Child);

impl Drop for Visitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Operator {
    /// Status and body; an error when the server ended meanwhile.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<(u16, String)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) =
            answer.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other("half an answer"))?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.expect("a status"), body.to_owned()))
    }

    /// Of a server that runs.
    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, body) = self.ask(method, path, body).unwrap();
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// Ids and states of all instances.
    fn list(&self) -> BTreeMap<Uuid, String> {
        let (status, list) = self.call("GET", "/v1/worlds", None);
        assert_eq!(status, 200);
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| (text(one, "id").parse().unwrap(), text(one, "state")))
            .collect()
    }

    fn enter(&self, id: Uuid) -> (u16, Value) {
        self.enter_at(id, [128, 128, 25])
    }

    fn enter_at(&self, id: Uuid, position: [u32; 3]) -> (u16, Value) {
        let order = json!({ "user": { "name": "Bot0001 Stander" }, "position": position });
        self.call("POST", &format!("/v1/worlds/{id}/enter"), Some(&order))
    }

    fn create(&self) -> Uuid {
        let (status, told) = self.call("POST", "/v1/worlds", Some(&json!({ "template": "Cave" })));
        assert_eq!(status, 201, "{told}");
        told["id"].as_str().unwrap().parse().unwrap()
    }
}

/// Changes of instances in the loop below.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Create(Uuid),
    Suspend(Uuid),
    End(Uuid),
}

impl Deed {
    /// The `n`-th of all. Every fifth instance ends soon.
    fn nth(n: u128) -> Self {
        let id = |n: u128| Uuid::from_u128(n + 1);
        match n % 10 {
            3 => Self::Suspend(id(n - 1)),
            6 => Self::End(id(n - 5)),
            9 => Self::End(id(n - 2)),
            _ => Self::Create(id(n)),
        }
    }

    fn ask(self, operator: &Operator) -> std::io::Result<u16> {
        let (method, path, body) = match self {
            Self::Create(id) => {
                ("POST", "/v1/worlds".to_owned(), Some(json!({ "template": "Cave", "id": id })))
            }
            Self::Suspend(id) => ("POST", format!("/v1/worlds/{id}/suspend"), None),
            Self::End(id) => ("DELETE", format!("/v1/worlds/{id}"), None),
        };
        operator.ask(method, &path, body.as_ref()).map(|(status, _)| status)
    }
}

/// Does one deed after the other, and sends each when it is acknowledged.
fn toil(operator: Operator, from: u128) -> Receiver<(u128, Deed, u16)> {
    let (sender, acknowledged) = channel();
    std::thread::spawn(move || {
        for n in from.. {
            let deed = Deed::nth(n);
            let Ok(status) = deed.ask(&operator) else { return };
            if sender.send((n, deed, status)).is_err() {
                return;
            }
        }
    });
    acknowledged
}

/// Kills of the loop below. The deeds before each are few and of changing number, so that the kills meet every kind of deed.
const KILLS: usize = 50;

#[test]
fn acknowledged_changes_survive_a_kill_of_the_server() {
    let data = tempfile::tempdir().unwrap();
    let (mut next, mut alive) = (0, BTreeMap::new());
    for n_deeds in [1, 7, 2, 5, 3, 11, 4].into_iter().cycle().take(KILLS) {
        let server = Server::start(&data);
        let found = server.operator.list();
        assert!(found.values().all(|state| state == "suspended"), "{found:?}");
        // The outcome of the unfinished deed is unknown.
        let last = Deed::nth(next);
        let (Deed::Create(in_doubt) | Deed::Suspend(in_doubt) | Deed::End(in_doubt)) = last;
        for (id, is_alive) in &alive {
            assert!(
                *id == in_doubt || found.contains_key(id) == *is_alive,
                "{id} after {next} deeds: {found:?}"
            );
        }
        assert!(found.keys().all(|id| *id == in_doubt || alive.contains_key(id)), "{found:?}");
        let acknowledged = toil(server.operator.clone(), next);
        let mut told = acknowledged.iter();
        for (n, deed, status) in told.by_ref().take(n_deeds) {
            // The deed that was in doubt may have been done already.
            let is_again = n == next;
            match deed {
                Deed::Create(id) => {
                    assert!(status == 201 || is_again && status == 200, "{deed:?}: {status}");
                    alive.insert(id, true);
                }
                Deed::Suspend(_) => assert_eq!(status, 200, "{deed:?}"),
                Deed::End(id) => {
                    assert!(status == 204 || is_again && status == 404, "{deed:?}: {status}");
                    alive.insert(id, false);
                }
            }
        }
        server.kill();
        // Some more were acknowledged while it was about to be killed.
        let mut done = next + n_deeds as u128;
        for (n, deed, status) in told {
            assert!(status < 300, "{deed:?}: {status}");
            match deed {
                Deed::Create(id) => drop(alive.insert(id, true)),
                Deed::Suspend(_) => {}
                Deed::End(id) => drop(alive.insert(id, false)),
            }
            done = n + 1;
        }
        next = done;
    }
}

#[test]
fn an_instance_is_saved_when_its_visitor_has_left_and_resumed_when_one_comes() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data);
    let id = server.operator.create();
    let visitor = server.visitor();
    assert_eq!(server.operator.enter(id).0, 200);
    server.wait_until_in_instances(1);
    assert_eq!(server.operator.call("POST", &format!("/v1/worlds/{id}/suspend"), None).0, 409);
    let user = json!({ "user": { "name": "Bot0001 Stander" } });
    assert_eq!(server.operator.call("POST", "/v1/worlds/leave", Some(&user)).0, 200);
    server.wait_until("it is suspended", |server| server.operator.list()[&id] == "suspended");
    server.wait_until_in_instances(0);
    server.wait_until("nothing of it is in memory", |server| server.metric("throng_instances") == Some(0.0));
    assert_eq!(server.operator.enter(id).0, 200);
    server.wait_until_in_instances(1);
    // No visitor had the time to log out.
    server.kill();
    drop(visitor);
    let server = Server::start(&data);
    assert_eq!(server.operator.list()[&id], "suspended");
    let visitor = server.visitor();
    assert_eq!(server.operator.enter(id).0, 200);
    server.wait_until_in_instances(1);
    server.terminate();
    drop(visitor);
    let saved =
        |path: &Path| Store::open(&StoreUrl::file(path)).unwrap().instance_state(id).unwrap().image.unwrap();
    let path = data.path().join("throng.sqlite");
    let last = saved(&path).sequence;
    let config = CONFIG.replace("Cave", "Cellar");
    let server = Server::start_with(&data, &config);
    let (_, told) = server.operator.call("GET", &format!("/v1/worlds/{id}"), None);
    assert_eq!((&told["state"], &told["size_m"]), (&json!("suspended"), &Value::Null));
    assert!(told["trouble"].as_str().unwrap().contains("no template \"Cave\""), "{told}");
    let visitor = server.visitor();
    let (status, why) = server.operator.enter(id);
    assert_eq!(status, 409, "{why}");
    assert!(why["error"].as_str().unwrap().contains("Cave"), "{why}");
    server.terminate();
    drop(visitor);
    assert_eq!(saved(&path).sequence, last, "nothing has touched it");
}

#[test]
fn achieved_progress_is_there_without_a_departure_or_a_suspension() {
    let data = tempfile::tempdir().unwrap();
    let config = format!("{CONFIG}npcs = \"cave.toml\"\n");
    let script = "
        behaviours = [\"cave.behaviour\"]
        [[kind]]
        name = \"dweller\"
        [[npc]]
        kind = \"dweller\"
        behaviour = \"stroll\"
        name = \"Tom\"
        position = [100, 100]
        [[mission]]
        name = \"There and back\"
        [[mission.waypoint]]
        position = [60, 70]
        radius_m = 10
        [[mission.waypoint]]
        position = [200, 200]
        radius_m = 10
    ";
    std::fs::write(data.path().join("cave.toml"), script).unwrap();
    let behaviour = "behaviour stroll: wander within 20 m pause 1 s to 2 s\n";
    std::fs::write(data.path().join("cave.behaviour"), behaviour).unwrap();
    let id = Uuid::from_u128(7);
    // The second waypoint without the first one achieves nothing.
    for (position, completed) in [([60, 70, 25], 0.0), ([200, 200, 25], 1.0)] {
        let server = Server::start_with(&data, &config);
        let order = json!({ "template": "Cave", "id": id });
        assert!(server.operator.call("POST", "/v1/worlds", Some(&order)).0 < 300);
        let visitor = server.visitor();
        assert_eq!(server.operator.enter_at(id, position).0, 200);
        let journalled = r#"throng_instance_states_saved_total{what="journal"}"#;
        server.wait_until("it is journalled", |server| server.metric(journalled) >= Some(1.0));
        server.wait_until("completions are counted, and ticks", |server| {
            server.metric("throng_missions_completed_total") == Some(completed)
                && server.metric(r#"throng_world_ticks_on_time_total{world="instances"}"#) >= Some(1.0)
        });
        // One second is promised, and not asserted: a machine that runs all tests at once may stall for longer.
        let lag = server.metric("throng_instance_journal_lag_seconds_max");
        assert!(lag.is_some_and(|lag| lag > 0.0), "{lag:?} s");
        server.kill();
        drop(visitor);
        let state = Store::open(&StoreUrl::of_directory(data.path())).unwrap().instance_state(id).unwrap();
        assert!(state.image.is_none() && state.journal.is_some(), "{state:?}");
    }
}

#[test]
fn states_only_go_forward_however_often_the_server_is_killed_while_it_writes_them() {
    let data = tempfile::tempdir().unwrap();
    states_go_forward(&data, CONFIG, &StoreUrl::of_directory(data.path()));
}

/// The server's own schema belongs to one server only.
#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn states_on_postgres_only_go_forward_however_often_the_server_is_killed_while_it_writes_them() {
    let data = tempfile::tempdir().unwrap();
    let url = std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
    let config = format!("{CONFIG}[store]\nurl = \"{url}\"\n");
    states_go_forward(&data, &config, &url.parse().unwrap());
    assert!(!data.path().join("throng.sqlite").exists());
}

fn states_go_forward(data: &TempDir, config: &str, url: &StoreUrl) {
    let id = Uuid::from_u128(7);
    let mut last = 0;
    let image = r#"throng_instance_states_saved_total{what="image"}"#;
    for n_visits in [1, 3, 2] {
        let server = Server::start_with(data, config);
        let order = json!({ "template": "Cave", "id": id });
        assert!(server.operator.call("POST", "/v1/worlds", Some(&order)).0 < 300);
        let visitor = server.visitor();
        let user = json!({ "user": { "name": "Bot0001 Stander" } });
        for _ in 0..n_visits {
            // Refused while the visitor is on the way, and then it is tried again.
            server.wait_until("the visitor may go in", |server| server.operator.enter(id).0 == 200);
            server.wait_until_in_instances(1);
            let n_saved = server.metric(image).unwrap_or(0.0);
            let leave = |server: &Server| server.operator.call("POST", "/v1/worlds/leave", Some(&user)).0;
            server.wait_until("the visitor may leave", |server| leave(server) == 200);
            server.wait_until("the whole is saved", |server| server.metric(image) > Some(n_saved));
        }
        server.kill();
        drop(visitor);
        let store = Store::open(url).unwrap();
        let list = store.instances().unwrap();
        let state = store.instance_state(id).unwrap();
        assert!(list.damages.is_empty() && state.damages.is_empty(), "{list:?} {state:?}");
        let sequence = state.image.unwrap().sequence;
        assert!(sequence > last, "{sequence} after {last}");
        last = sequence;
    }
}

#[test]
fn a_disk_that_takes_nothing_loses_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data);
    let id = server.operator.create();
    let visitor = server.visitor();
    assert_eq!(server.operator.enter(id).0, 200);
    server.wait_until_in_instances(1);
    let fault = |repeat: u32| json!({ "kind": "fail", "where": "instances", "repeat": repeat });
    let (status, _) = server.operator.ask("POST", "/v1/fault", Some(&fault(1_000))).unwrap();
    assert_eq!(status, 200);
    let user = json!({ "user": { "name": "Bot0001 Stander" } });
    assert_eq!(server.operator.call("POST", "/v1/worlds/leave", Some(&user)).0, 200);
    server.wait_until("saving has failed twice", |server| {
        server.metric("throng_instance_save_failures_total") >= Some(2.0)
    });
    // The failure is counted before the end of its job is reported.
    server.wait_until("it is in memory", |server| server.operator.list()[&id] == "active");
    let (status, why) = server.operator.call("POST", "/v1/worlds", Some(&json!({ "template": "Cave" })));
    assert_eq!(status, 503, "{why}");
    let health = || server.operator.ask("GET", "/healthz/live", None).unwrap().1;
    assert!(health().contains("not been saved"), "{}", health());
    server.operator.ask("POST", "/v1/fault", Some(&fault(1))).unwrap();
    server.wait_until("it is suspended", |server| server.operator.list()[&id] == "suspended");
    assert!(!health().contains("not been saved"), "{}", health());
    server.kill();
    drop(visitor);
    let state = Store::open(&StoreUrl::of_directory(data.path())).unwrap().instance_state(id).unwrap();
    assert!(state.image.is_some());
}
