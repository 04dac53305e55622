//! Whole runs against a minimal server on real sockets: HTTP by hand, and a region for each bot.

use super::*;
use crate::behavior::Behavior;
use crate::builder::{EDITS_FILE, EditRecord};
use crate::cache_file;
use crate::record_file::Records;
use crate::region::ServedRegion;
use crate::scenes::{SCENES_FILE, SceneRecord};
use ids::{Instant, RegionHandle, Uuid};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wire::llsd::{Limits, Llsd, xml};
use wire::xmlrpc;

/// Time for which the event queue holds a poll.
const HOLD: Duration = Duration::from_millis(200);

/// Requests so far, by kind.
#[derive(Debug, Default)]
struct Asked {
    logins: AtomicU32,
    seeds: AtomicU32,
    polls: AtomicU32,
    farewells: AtomicU32,
    folders: AtomicU32,
}

/// Actions of a server beside accepting every login.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// Logins that it refuses, by turn.
    refused: &'static [u32],
    /// True if the first poll of an event queue is answered with a teleport to its other region.
    teleports: bool,
}

/// A server with two regions.
struct Server {
    login_uri: String,
    asked: Arc<Asked>,
    over: Arc<AtomicBool>,
}

impl Server {
    fn start(plan: Plan) -> Self {
        let (asked, over) = (Arc::new(Asked::default()), Arc::new(AtomicBool::new(false)));
        let ports = [(); 2].map(|()| {
            let udp = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let port = udp.local_addr().expect("bound").port();
            let over = Arc::clone(&over);
            std::thread::spawn(move || serve_circuits(&udp, &over));
            port
        });
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let origin = format!("http://{}", tcp.local_addr().expect("bound"));
        std::thread::spawn({
            let (asked, origin) = (Arc::clone(&asked), origin.clone());
            move || {
                for stream in tcp.incoming().map_while(Result::ok) {
                    let (asked, origin) = (Arc::clone(&asked), origin.clone());
                    std::thread::spawn(move || serve_http(&stream, &asked, &origin, ports, plan));
                }
            }
        });
        Self { login_uri: format!("{origin}/login"), asked, over }
    }

    fn config(&self) -> BotsConfig {
        BotsConfig {
            login_uri: self.login_uri.clone(),
            count: 5,
            ramp_per_s: 200.0,
            duration: Duration::from_millis(800),
            ..BotsConfig::default()
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn serve_circuits(udp: &UdpSocket, over: &AtomicBool) {
    udp.set_read_timeout(Some(Duration::from_millis(5))).expect("a timeout");
    let clock = RunClock::start();
    let mut regions: BTreeMap<SocketAddr, ServedRegion> = BTreeMap::new();
    let (mut buffer, mut datagram) = ([0; 2048], Vec::new());
    let mut stepped_at = Instant::ZERO;
    while !over.load(Ordering::Relaxed) {
        if let Ok((len, from)) = udp.recv_from(&mut buffer) {
            let now = clock.now();
            regions.entry(from).or_insert_with(|| ServedRegion::new(now)).handle(now, &buffer[..len]);
        }
        let now = clock.now();
        let is_tick = now - stepped_at >= Duration::from_millis(100);
        for (to, region) in &mut regions {
            if is_tick {
                stepped_at = now;
                region.step();
            }
            region.circuit.handle_timeout(now);
            while region.circuit.poll_transmit(now, &mut datagram).is_some() {
                udp.send_to(&datagram, to).expect("loopback takes it");
                datagram.clear();
            }
        }
    }
}

/// Answers one request and closes.
fn serve_http(stream: &TcpStream, asked: &Asked, origin: &str, ports: [u16; 2], plan: Plan) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        // A connection may be closed without a request.
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.to_ascii_lowercase());
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length:")).expect("a length");
    let mut body = vec![0; length.trim().parse().expect("a number")];
    reader.read_exact(&mut body).expect("the body");
    let path = lines[0].split(' ').nth(1).expect("a path").to_owned();
    let reply = match path.as_str() {
        "/login" => {
            let turn = asked.logins.fetch_add(1, Ordering::Relaxed);
            if plan.refused.contains(&turn) { refusal() } else { welcome(turn, origin, ports[0]) }
        }
        "/seed" => {
            asked.seeds.fetch_add(1, Ordering::Relaxed);
            let grant = |name: &str, path: &str| (name.to_owned(), Llsd::from(format!("{origin}/{path}")));
            let grants = [grant("EventQueueGet", "queue"), grant("FetchInventoryDescendents2", "folders")];
            xml::encode(&Llsd::map(grants))
        }
        "/folders" => {
            asked.folders.fetch_add(1, Ordering::Relaxed);
            let request = xml::decode(&body, Limits::REQUEST).expect("LLSD");
            let folder_id = request.get("folders").at(0).get("folder_id").clone();
            let folder = Llsd::map([("folder_id", folder_id)]);
            xml::encode(&Llsd::map([("folders", Llsd::Array(vec![folder]))]))
        }
        "/queue" => {
            let request = xml::decode(&body, Limits::REQUEST).expect("LLSD");
            let mut events = Vec::new();
            if request.get("done").as_bool() == Some(true) {
                asked.farewells.fetch_add(1, Ordering::Relaxed);
            } else if asked.polls.fetch_add(1, Ordering::Relaxed) == 0 && plan.teleports {
                events.push(teleport_finish(origin, ports[1]));
            } else {
                std::thread::park_timeout(HOLD);
            }
            xml::encode(&Llsd::map([("id", Llsd::from(1)), ("events", Llsd::Array(events))]))
        }
        _ => panic!("no request for {path} is expected"),
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", reply.len());
    let mut stream = stream;
    // A poll may have been given up meanwhile.
    let _ = stream.write_all(format!("{head}{reply}").as_bytes());
}

fn welcome(turn: u32, origin: &str, sim_port: u16) -> String {
    let id = |space: u128| Llsd::from(Uuid::from_u128(space << 64 | u128::from(turn)).to_string());
    xmlrpc::encode_response(&Llsd::map([
        ("login", Llsd::from("true")),
        ("agent_id", id(1)),
        ("session_id", id(2)),
        ("circuit_code", Llsd::from(turn as i32)),
        ("sim_ip", Llsd::from("127.0.0.1")),
        ("sim_port", Llsd::from(i32::from(sim_port))),
        ("region_x", Llsd::from(256_000)),
        ("region_y", Llsd::from(256_000)),
        ("seed_capability", Llsd::from(format!("{origin}/seed"))),
        ("inventory-root", Llsd::array([Llsd::map([("folder_id", id(3))])])),
    ]))
}

fn teleport_finish(origin: &str, sim_port: u16) -> Llsd {
    let info = Llsd::map([
        ("SimIP", Llsd::Binary(vec![127, 0, 0, 1])),
        ("SimPort", Llsd::from(i32::from(sim_port))),
        ("RegionHandle", Llsd::from_u64(RegionHandle::from_grid(1001, 1000).0)),
        ("SeedCapability", Llsd::from(format!("{origin}/seed"))),
    ]);
    let body = Llsd::map([("Info", Llsd::Array(vec![info]))]);
    Llsd::map([("message", Llsd::from("TeleportFinish")), ("body", body)])
}

fn refusal() -> String {
    let fields = [("login", "false"), ("reason", "key"), ("message", "Wrong password.")];
    xmlrpc::encode_response(&Llsd::map(fields.map(|(key, value)| (key, Llsd::from(value)))))
}

#[test]
fn a_run_logs_in_stays_and_leaves_and_reports_it() {
    let server = Server::start(Plan::default());
    let pid = std::process::id();
    let report = run(&BotsConfig { observers: 2, server_pid: Some(pid), ..server.config() }).expect("a run");
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.logins_ok, report.logouts_ok, report.http_errors), (5, 5, 0), "{report}");
    assert_eq!(report.avatars_seen_min, Some(0), "each is alone in its region");
    assert!(report.updates_received > 0 && report.agent_updates_sent > 0);
    assert!(report.login_first_s.is_some() && report.server_rss_bytes.is_some_and(|bytes| bytes > 0));
    assert!(report.messages["UseCircuitCode"].packets_out >= 5);
    assert!(report.messages["AgentMovementComplete"].packets_in >= 5);
    assert!(report.messages["ImprovedTerseObjectUpdate"].bytes_in > 0);
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    let asked = &server.asked;
    assert_eq!([&asked.logins, &asked.seeds, &asked.folders, &asked.farewells].map(count), [5; 4]);
    assert!(count(&asked.polls) > 0);
}

#[test]
fn refused_logins_are_reported_and_the_others_stay() {
    let server = Server::start(Plan { refused: &[1, 3], ..Plan::default() });
    let report = run(&server.config()).expect("a run");
    assert!(!report.is_clean());
    assert_eq!((report.logins_ok, report.logins_failed), (3, 2));
    assert_eq!(report.failures["login: refused (key): Wrong password."], 2);
    assert_eq!((report.avatars_seen_min, report.server_cpu_s), (None, None));
}

#[test]
fn a_teleport_takes_the_circuit_and_the_event_queue_along() {
    let server = Server::start(Plan { teleports: true, ..Plan::default() });
    let report = run(&BotsConfig { count: 1, ..server.config() }).expect("a run");
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.logins_ok, report.logouts_ok, report.http_errors), (1, 1, 0), "{report}");
    assert!(report.messages["UseCircuitCode"].packets_out >= 2, "one to each region");
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    let asked = &server.asked;
    assert_eq!([&asked.seeds, &asked.farewells, &asked.folders].map(count), [2, 2, 1]);
}

#[test]
fn every_bot_arrives_over_a_bad_network() {
    let server = Server::start(Plan::default());
    let conditions =
        Conditions { loss: 0.1, delay: Duration::from_millis(20), jitter: Duration::from_millis(10) };
    let config = BotsConfig { conditions, ..server.config() };
    let profile = crate::profile::Profile::NodeMetaverse;
    for agent in [config.agent, AgentConfig { profile, ..config.agent }] {
        let report = run(&BotsConfig { agent, ..config.clone() }).expect("a run");
        assert_eq!((report.logins_ok, report.logins_failed, report.circuits_lost), (5, 0, 0), "{report}");
        assert!(report.messages["UseCircuitCode"].packets_out >= 5);
    }
}

#[test]
fn without_a_server_at_the_login_address_every_login_fails() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("bound");
    let config =
        BotsConfig { login_uri: format!("http://{free}/"), ..Server::start(Plan::default()).config() };
    let report = run(&config).expect("a run");
    assert_eq!((report.logins_ok, report.logins_failed), (0, 5));
}

#[test]
fn a_wrong_address_or_process_is_refused_at_once() {
    let wrong_uri = BotsConfig { login_uri: "https://127.0.0.1/".to_owned(), ..BotsConfig::default() };
    assert!(matches!(run(&wrong_uri), Err(BotsError::LoginUri { .. })));
    let wrong_pid = BotsConfig { server_pid: Some(u32::MAX), ..BotsConfig::default() };
    assert!(matches!(run(&wrong_pid), Err(BotsError::ServerPid { .. })));
}

#[test]
fn a_slow_reader_takes_an_answer_of_its_event_queue_and_asks_no_more_for_now() {
    let polls = |behavior| {
        let server = Server::start(Plan::default());
        let agent = AgentConfig { behavior, ..AgentConfig::default() };
        let config = BotsConfig { agent, duration: 4 * HOLD, ..server.config() };
        let report = run(&config).expect("a run");
        assert_eq!((report.logins_ok, report.logouts_ok, report.http_errors), (5, 5, 0), "{report}");
        let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        assert_eq!(count(&server.asked.farewells), 5, "who leaves does not wait");
        count(&server.asked.polls)
    };
    assert_eq!(polls(Behavior::SlowReader), 5);
    assert!(polls(Behavior::Stand) > 5);
}

#[test]
fn bots_enter_and_change_and_leave_on_command() {
    let server = Server::start(Plan { refused: &[1], ..Plan::default() });
    let commands = "enter 2\nenter 9\nbehavior walk\nsender unstable\nrate 50\nwhat\ngap\nenter 4\nleave\n";
    let mut output = Vec::new();
    let report = run_controlled(&server.config(), commands.as_bytes(), &mut output).expect("a run");
    let answers = String::from_utf8(output).unwrap();
    let expected = [
        r#"{"done":"enter 2","logins_ok":1,"logins_failed":1}"#,
        r#"{"refused":"enter 9","reason":"more than --count"}"#,
        r#"{"done":"behavior walk","logins_ok":1,"logins_failed":1}"#,
        r#"{"done":"sender unstable","logins_ok":1,"logins_failed":1}"#,
        r#"{"done":"rate 50","logins_ok":1,"logins_failed":1}"#,
    ];
    let lines: Vec<&str> = answers.lines().collect();
    assert_eq!(lines[..5], expected, "{answers}");
    assert!(lines[5].starts_with(r#"{"refused":"what""#), "{answers}");
    assert!(lines[6].contains("no observers"), "{answers}");
    assert_eq!(lines[7], r#"{"done":"enter 4","logins_ok":3,"logins_failed":1}"#);
    assert_eq!((report.logins_ok, report.logins_failed, report.logouts_ok), (3, 1, 3));
}

#[test]
fn bots_that_build_leave_their_edits_behind_and_observers_their_scenes_and_caches() {
    let server = Server::start(Plan::default());
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (scenes, edits, cache) = (path("scenes"), path("edits"), path("cache"));
    let config = BotsConfig {
        agent: AgentConfig { behavior: Behavior::Build, ..AgentConfig::default() },
        observers: 2,
        scenes: Some(scenes.clone()),
        edits: Some(edits.clone()),
        cache: Some(cache.clone()),
        ..server.config()
    };
    let report = run(&config).expect("a run");
    // This server makes no prims, and each bot waits for its first one.
    assert_eq!((report.edits_sent, report.edits_seen, report.objects_made), (3, 0, 0), "{report}");
    let edits = Records::<EditRecord>::open(&edits, EDITS_FILE).expect("the edits");
    assert_eq!(edits.map(|edit| edit.builder).collect::<BTreeSet<u32>>(), [2, 3, 4].into());
    let scenes = Records::<SceneRecord>::open(&scenes, SCENES_FILE).expect("the scenes");
    let scenes = scenes.map(|scene| (scene.observer, scene.shown.len()));
    assert_eq!(scenes.collect::<Vec<_>>(), [(0, 0), (1, 0)]);
    assert_eq!(cache_file::read(&cache).expect("the caches").into_keys().collect::<Vec<_>>(), [0, 1]);
}
