//! The server in a control group with a limit of memory: the kernel kills what exceeds it. `scripts/cgroup.sh` makes the group.

use crate::report;
use crate::server::{Server, throng};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Bytes of one unit of the limits below.
const MIB: u64 = 1 << 20;

/// Instances that are created at most until memory is short.
const INSTANCES_MAX: u32 = 20_000;

/// Instances have ground of their own, and are suspended only when memory is short.
const CONFIG: &str = r#"
[instances]
max = 20000
active_max = 20000
suspend_after_s = 3600

[[region]]
name = "Harbour"

[[template]]
name = "Plain"
terrain = "flat"
"#;

/// The group of this test, whichever version the kernel has.
struct Group {
    directory: PathBuf,
    limit: &'static str,
    events: &'static str,
}

impl Group {
    fn of_environment() -> Self {
        let directory = std::env::var_os("THRONG_CGROUP").expect("scripts/cgroup.sh runs this test");
        let directory = PathBuf::from(directory);
        let is_second = directory.join("memory.max").exists();
        let (limit, events) = match is_second {
            true => ("memory.max", "memory.events"),
            false => ("memory.limit_in_bytes", "memory.oom_control"),
        };
        Self { directory, limit, events }
    }

    fn set_limit(&self, bytes: u64) {
        fs::write(self.directory.join(self.limit), bytes.to_string()).unwrap();
    }

    /// Processes of the group that the kernel has killed for want of memory.
    fn n_killed(&self) -> u64 {
        let events = fs::read_to_string(self.directory.join(self.events)).unwrap();
        events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok()).unwrap()
    }

    /// The program, in the group from its first instruction on.
    fn program(&self) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ >\"$0\" && exec \"$@\""]);
        shell.arg(self.directory.join("cgroup.procs")).arg(throng().get_program());
        shell
    }
}

/// A whole number of pages, as the kernel keeps limits.
const fn whole_mib(bytes: u64) -> u64 {
    bytes.div_ceil(MIB) * MIB
}

fn create(server: &Server) -> u16 {
    server.exchange("POST /v1/worlds", &json!({ "template": "Plain" }).to_string()).0
}

fn resident(server: &Server) -> u64 {
    server.wait_until("memory is measured", |server| {
        server.metric("throng_process_resident_bytes") > Some(0.0)
    });
    server.metric("throng_process_resident_bytes").unwrap() as u64
}

#[test]
#[ignore = "needs a control group: make test STEPS=cgroup"]
fn a_server_reads_the_limit_of_its_control_group_and_sheds_load_before_the_kernel_kills_it() {
    let group = Group::of_environment();
    let empty_bytes = {
        let server = Server::start_by(group.program(), CONFIG);
        let bytes = resident(&server);
        assert_eq!(server.metric("throng_process_memory_limit_bytes"), Some(0.0));
        bytes
    };

    // Below the need of an empty server: no start, and a message instead of a kill.
    // The limit is checked once the worlds are up; shards and watch add to the need afterwards.
    group.set_limit(whole_mib(empty_bytes * 3 / 4));
    let data = tempfile::tempdir().unwrap();
    let any = "127.0.0.1:0";
    let mut refused = group
        .program()
        .args(["serve", "--http", any, "--udp", any, "--admin", any, "--data"])
        .arg(data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The line of a server that is ready; a refused one ends without it.
    let mut ready = String::new();
    BufReader::new(refused.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    if !ready.is_empty() {
        refused.kill().unwrap();
    }
    let refused = refused.wait_with_output().unwrap();
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && why.contains("the control group's memory limit in MiB"),
        "{refused:?}"
    );

    // A limit with room for some instances is known, and met by evictions or refusals.
    let limit = whole_mib(empty_bytes * 10 / 8 + 24 * MIB);
    group.set_limit(limit);
    let server = Server::start_by(group.program(), CONFIG);
    server.wait_until("the limit is exported", |server| {
        server.metric("throng_process_memory_limit_bytes") == Some(limit as f64)
    });
    assert_eq!(server.ask("GET /healthz/ready", ""), "ok\n");
    let bots = server.bots("30s");
    server.wait_for_bots();
    let is_short = |server: &Server| {
        let count = |name| server.metric(name).unwrap_or(0.0);
        count("throng_instances_evicted_total") + count(r#"throng_instances_refused_total{reason="memory"}"#)
            > 0.0
    };
    let mut n_created = 0;
    while !is_short(&server) {
        let status = create(&server);
        assert!(status == 201 || status == 503, "{status}");
        n_created += u32::from(status == 201);
        assert!(n_created < INSTANCES_MAX, "memory is never short");
    }
    assert!(n_created > 0, "no instance fits");

    // The limit falls below the used memory: logins and instances are refused, visitors stay.
    let is_closed = |closed: f64| {
        move |server: &Server| server.metric(r#"throng_logins_closed{reason="memory"}"#) == Some(closed)
    };
    group.set_limit(whole_mib(resident(&server) * 105 / 100));
    server.wait_until("the lower limit is noticed", is_closed(1.0));
    let visit = server.visit();
    assert_eq!((&visit["logins_ok"], &visit["logins_failed"]), (&json!(0), &json!(1)), "{visit}");
    // Memory that the server gives back meanwhile leaves room again: the limit follows.
    server.wait_until("instances are refused", |server| {
        group.set_limit(whole_mib(resident(server) * 105 / 100));
        is_closed(1.0)(server) && create(server) == 503
    });

    group.set_limit(limit * 4);
    server.wait_until("there is room again", is_closed(0.0));
    assert_eq!(server.visit()["logins_ok"], 1);
    let report: Value = report(bots);
    assert_eq!((&report["circuits_lost"], &report["pings_unanswered"]), (&json!(0), &json!(0)), "{report}");
    assert_eq!(group.n_killed(), 0, "{}", server.log());
}
