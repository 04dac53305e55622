//! Data directories that former builds left behind, opened by this one: every instance in them resumes.
//!
//! The directories are `golden/data-COMMIT`, written by those builds when they were killed (`golden/README.md`). With `THRONG_PREVIOUS_BIN` set
//! to the executable of another build, that one first adds to the newest of them: visits, and with them states of its own formats.

use data_dir::RunFile;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use store::{InstanceState, Store, StoreUrl};
use tempfile::TempDir;
use uuid::Uuid;

/// Longer than any test machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

const USER: &str = "Bot0001 Stander";
const THIS: &str = env!("CARGO_BIN_EXE_throng");

/// A server on free ports, which is killed when it is dropped.
struct Server {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    admin: SocketAddr,
    token: String,
    login: String,
}

impl Server {
    fn start(program: &Path, data: &TempDir) -> Self {
        let any = "127.0.0.1:0";
        let mut child = Command::new(program)
            .args(["serve", "--open-registration", "--http", any, "--udp", any, "--admin", any, "--data"])
            .arg(data.path())
            .arg("--config")
            .arg(data.path().join("throng.toml"))
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
        Self { child, _stdout: stdout, admin: run.admin, token, login: run.login_uri }
    }

    /// Status and body.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(self.admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.admin,
            self.token,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn instance(&self, id: Uuid) -> Value {
        let (status, told) = self.ask("GET", &format!("/v1/worlds/{id}"), None);
        assert_eq!(status, 200, "{told}");
        serde_json::from_str(&told).unwrap()
    }

    fn metric(&self, name: &str) -> f64 {
        let (_, metrics) = self.ask("GET", "/metrics", None);
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0.0)
    }

    #[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        }
    }

    fn visitor(&self) -> Visitor {
        let bots = Command::new(THIS)
            .args(["bots", "--login", &self.login, "--count", "1", "--duration", "600s"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.wait_until("the visitor is in", |server| {
            server.metric(r#"throng_world_avatars{world="Harbour"}"#) == 1.0
        });
        Visitor(bots)
    }

    /// Sends the visitor into an instance and out again, until it is saved and out of memory.
    fn visit(&self, id: Uuid) {
        let order = json!({ "user": { "name": USER }, "position": [128, 128, 40] });
        self.wait_until("the visitor may go in", |server| {
            let (status, told) = server.ask("POST", &format!("/v1/worlds/{id}/enter"), Some(&order));
            // Until the visitor has arrived from the instance before, it is refused for another reason.
            assert!(!told.contains("saved state"), "{told}");
            status == 200
        });
        self.wait_until("the visitor is there", |server| {
            server.metric(r#"throng_world_avatars{world="instances"}"#) == 1.0
        });
        assert_eq!(self.instance(id)["trouble"], Value::Null);
        let leave = json!({ "user": { "name": USER } });
        self.wait_until("the visitor may leave", |server| {
            server.ask("POST", "/v1/worlds/leave", Some(&leave)).0 == 200
        });
        // The previous build has another word for it.
        let is_suspended = |state: &Value| state == "suspended" || state == "parked";
        self.wait_until("it is saved", |server| is_suspended(&server.instance(id)["state"]));
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

/// Written by the last build before the newest change of what a data directory contains.
const PREVIOUS: &str = "data-ae03521";
/// By the last build before contents of prims.
const BEFORE_CONTENTS: &str = "data-7a46688";
/// By the last build before assets.
const BEFORE_ASSETS: &str = "data-9e69f6e";
/// By the last build before objects and land.
const BEFORE_OBJECTS: &str = "data-db59157";
/// Written by a build whose recordings have no casts.
const BEFORE_CASTS: &str = "data-7b255ba";
/// Written by a build before records.
const FORMER: &str = "data-4b808d7";

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Copies the files of a directory and of the directories in it.
fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let copy = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir(&copy).unwrap();
            copy_files(&file.path(), &copy);
        } else {
            std::fs::copy(file.path(), copy).unwrap();
        }
    }
}

/// A copy of a golden directory.
fn golden(name: &str) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    copy_files(&golden_path(name), data.path());
    data
}

fn previous_program() -> Option<PathBuf> {
    std::env::var_os("THRONG_PREVIOUS_BIN").map(PathBuf::from)
}

/// A copy of the newest golden directory, to which another build may have added.
fn previous_data() -> TempDir {
    let data = golden(PREVIOUS);
    if let Some(previous) = previous_program() {
        let server = Server::start(&previous, &data);
        let _visitor = server.visitor();
        [2, 3].map(id).into_iter().for_each(|id| server.visit(id));
    }
    data
}

/// Of the `n`-th instance in the directory.
fn id(n: u128) -> Uuid {
    Uuid::from_u128(0x4000_8000_0000_0000_0000 + n)
}

fn state(data: &TempDir, n: u128) -> InstanceState {
    Store::open(&StoreUrl::of_directory(data.path())).unwrap().instance_state(id(n)).unwrap()
}

/// Visits every instance of a former build, and checks the states that are saved after that.
fn every_instance_resumes(data: &TempDir) {
    let before: Vec<InstanceState> = (1..=5).map(|n| state(data, n)).collect();
    let has = |n: usize| (before[n - 1].image.is_some(), before[n - 1].journal.is_some());
    assert_eq!(has(4), (false, false));
    assert!((1..=5).any(|n| has(n) == (true, true)) && (1..=5).any(|n| has(n) == (true, false)));
    {
        let server = Server::start(Path::new(THIS), data);
        let _visitor = server.visitor();
        for n in 1..=5 {
            let told = server.instance(id(n));
            assert_eq!((&told["state"], &told["trouble"]), (&json!("suspended"), &Value::Null), "{told}");
            server.visit(id(n));
        }
        assert_eq!(server.metric("throng_instances_damaged_total"), 0.0);
    }
    for (n, before) in (1..).zip(before) {
        let after = state(data, n);
        let image = after.image.expect("it was saved when the visitor had left");
        assert!(before.image.is_none_or(|before| before.sequence < image.sequence), "instance {n}");
        assert_eq!(
            world::saved::upgrade_image(&image.bytes).unwrap(),
            None,
            "instance {n} is in the newest format"
        );
    }
}

#[test]
fn every_instance_of_the_previous_build_resumes_and_is_saved_by_this_one() {
    every_instance_resumes(&previous_data());
}

#[test]
fn every_instance_of_former_builds_resumes_and_is_saved_by_this_one() {
    [FORMER, BEFORE_CASTS, BEFORE_OBJECTS, BEFORE_ASSETS, BEFORE_CONTENTS]
        .into_iter()
        .for_each(|name| every_instance_resumes(&golden(name)));
}

/// Upgrades a data directory; the number of states that were of former versions.
fn migrate(data: &TempDir) -> usize {
    let before: Vec<InstanceState> = (1..=5).map(|n| state(data, n)).collect();
    let migrate = || {
        let output = Command::new(THIS)
            .args(["store", "migrate", "--json", "--data"])
            .arg(data.path())
            .env("THRONG__SERVER__LOG_FILTER", "warn")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let n_former = before.iter().map(|state| {
        let image =
            state.image.as_ref().and_then(|one| world::saved::upgrade_image(&one.bytes).expect("an image"));
        let journal = state
            .journal
            .as_ref()
            .and_then(|one| world::saved::upgrade_journal(&one.bytes).expect("a journal"));
        usize::from(image.is_some()) + usize::from(journal.is_some())
    });
    let n_former: usize = n_former.sum();
    let report = migrate();
    assert_eq!((&report["states_upgraded"], &report["problems"]), (&json!(n_former), &json!([])), "{report}");
    for (n, before) in (1..).zip(before) {
        let after = state(data, n);
        let sequences = |state: &InstanceState| {
            [&state.image, &state.journal].map(|state| state.as_ref().map(|state| state.sequence))
        };
        assert_eq!(sequences(&after), sequences(&before));
        assert!(after.image.is_none_or(|image| world::saved::upgrade_image(&image.bytes).unwrap().is_none()));
        assert!(after.journal.is_none_or(|one| world::saved::upgrade_journal(&one.bytes).unwrap().is_none()));
    }
    assert_eq!(migrate()["states_upgraded"], 0);
    n_former
}

#[test]
fn store_migrate_upgrades_every_state_in_place() {
    assert_eq!(migrate(&golden(FORMER)), 5);
    migrate(&golden(BEFORE_ASSETS));
    migrate(&golden(BEFORE_CONTENTS));
    migrate(&previous_data());
}

#[test]
fn recordings_of_former_builds_are_read() {
    for name in [BEFORE_CASTS, BEFORE_OBJECTS, BEFORE_ASSETS, BEFORE_CONTENTS, PREVIOUS] {
        let recording = golden_path(name).join("recordings/harbour.throngrec");
        let output = Command::new(THIS).arg("replay").arg(recording).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

/// Output of `scripts/formats.sh`; none in a checkout whose history does not go back far enough.
fn formats(of: &[&str]) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/formats.sh");
    let output = Command::new(script).args(of).output().unwrap();
    if output.status.code() == Some(77) {
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A change of formats needs a golden directory of the build before it: `scripts/previous.sh --write`.
#[test]
fn the_newest_golden_directory_is_of_the_last_commit_with_other_formats() {
    let golden = std::fs::read_to_string(golden_path(PREVIOUS).join("formats.txt")).unwrap();
    assert_ne!(formats(&[]), Some(golden.clone()));
    if let Some(previous) = formats(&["--previous"]) {
        assert_eq!(formats(&[previous.trim()]), Some(golden), "{previous}");
    }
}

/// Visits all instances but the fourth, records a region, and is killed when a visitor has reached a waypoint of the fifth.
#[test]
#[ignore = "writes a golden directory with the program of another commit: scripts/previous.sh --write starts it"]
fn the_previous_program_writes_a_golden_directory() {
    let program = previous_program().expect("scripts/previous.sh sets THRONG_PREVIOUS_BIN");
    let out = std::env::var_os("THRONG_GOLDEN").expect("scripts/previous.sh sets THRONG_GOLDEN");
    let data = golden(FORMER);
    {
        let server = Server::start(&program, &data);
        let _visitor = server.visitor();
        let order = json!({ "world": "Harbour", "seconds": 2, "out": "harbour.throngrec" });
        let (status, told) = server.ask("POST", "/v1/record", Some(&order));
        assert_eq!(status, 200, "{told}");
        [1, 2, 3, 5].map(id).into_iter().for_each(|id| server.visit(id));
        let journals = r#"throng_instance_states_saved_total{what="journal"}"#;
        let n_before = server.metric(journals);
        let at_the_well = json!({ "user": { "name": USER }, "position": [110, 150, 40] });
        let enter = format!("/v1/worlds/{}/enter", id(5));
        server.wait_until("the visitor may go in", |server| {
            server.ask("POST", &enter, Some(&at_the_well)).0 == 200
        });
        server.wait_until("the waypoint is written down", |server| server.metric(journals) > n_before);
    }
    // Moves the log of the database into it.
    let migrated =
        Command::new(program).args(["store", "migrate", "--data"]).arg(data.path()).status().unwrap();
    assert!(migrated.success());
    for name in ["recordings", "camp.behaviour", "camp.toml", "throng.sqlite", "throng.toml"] {
        let (from, to) = (data.path().join(name), Path::new(&out).join(name));
        if from.is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy_files(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}
