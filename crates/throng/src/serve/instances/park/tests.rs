//! Instances with a pool and a database of their own, and without clients.

mod casts;
mod occupancy;
mod room;

use super::*;
use crate::config::{self, Config};
use crate::serve::faults::Fuses;
use crate::serve::instances::TableRefusal;
use crate::serve::instances::occupancy::Census;
use crate::serve::instances::table::Wanted;
use crate::serve::instances::{Admission, Depot, Entry, Order, Start};
use crate::serve::{places, start_clock, worlds};
use gateway::http::fault::{Fault, FaultKind};
use gateway::hub::{Hub, HubConfig};
use gateway::places::Places;
use gateway::sessions::Sessions;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use store::Store;
use telemetry::recorder::Recorder;
use telemetry::{LockWait, Metrics};
use tempfile::TempDir;
use world::Beginning;
use worlds::Worlds;

/// A node as far as instances need it. The directory outlives it.
struct Node {
    instances: Arc<Instances>,
    fuses: Fuses,
    metrics: Arc<Metrics>,
    _worlds: Worlds,
}

fn config(templates: &[&str], active_max: u32) -> Config {
    let template = |name: &&str| config::Template {
        name: (*name).into(),
        terrain: config::TerrainShape::Flat,
        ..config::Template::default()
    };
    let instances = config::Instances { max: 5, active_max, park_after_s: 0, ..config::Instances::default() };
    Config { template: templates.iter().map(template).collect(), instances, ..Config::default() }
}

impl Node {
    fn start(data: &TempDir, config: &Config) -> Self {
        let (clock, unix_start_s) = start_clock();
        let metrics = Arc::new(Metrics::new());
        let mut fuses = Fuses::default();
        let places = Arc::new(Places::new(places::settings(config)));
        let worlds = worlds::start(config, &places, &clock, &metrics, Recorder::off(), &mut fuses).unwrap();
        let hub_config = HubConfig {
            udp_ports: vec![9_000],
            http_port: 9_000,
            sessions_max: 10,
            arrival_timeout: Duration::from_secs(10),
        };
        let hub = Hub::new(hub_config, Arc::clone(&places), Box::new(|| [7; 16]));
        let ((records, _), (orders, _)) = (sync_channel(10), sync_channel(10));
        let sessions =
            Arc::new(Sessions::new(hub, Vec::new(), records, orders, sync_channel(1).0, LockWait::default()));
        let (depot, known) = Depot::open(&url(data), fuses.at("instances"), &clock, &metrics).unwrap();
        let templates = places::templates(config, worlds.long()).unwrap();
        let mut table = Table::new(templates, crate::serve::instance_limits(config), 2);
        table.load(known);
        let instances = Arc::new(Instances::new(Start {
            table,
            depot,
            admission: Arc::new(Admission::new(&metrics)),
            inboxes: &worlds.inboxes,
            workplace: worlds.workplace(),
            long: worlds.long(),
            sessions: &sessions,
            clock: &clock,
            unix_start_s,
            dead_reckoning: true,
            park_after: Duration::ZERO,
            metrics: &metrics,
        }));
        Self { instances, fuses, metrics, _worlds: worlds }
    }

    fn create(&self, id: u128) -> Uuid {
        let order = Order { id: Some(Uuid::from_u128(id)), template: "cave".into(), ..Order::default() };
        self.instances.create(order).unwrap().0
    }

    /// As if somebody had been in it.
    fn visit(&self, id: Uuid) {
        let mut table = self.instances.awake(id).unwrap();
        let world = table.get(id).unwrap().world;
        table.entry_mut(world).and_then(Entry::active_mut).unwrap().is_entered();
    }

    fn state(&self, id: Uuid) -> &'static str {
        self.instances.get(id).unwrap().state
    }

    fn refusal(&self, id: Uuid) -> Refusal {
        self.instances.awake(id).map(drop).unwrap_err()
    }

    fn fail(&self, times: u32) {
        self.order(FaultKind::Fail, 0, times);
    }

    /// What happens to the next transactions.
    fn order(&self, kind: FaultKind, ms: u32, repeat: u32) {
        let fault = Fault { kind, place: "instances".into(), ms, repeat };
        self.fuses.order(fault, &|| {}).unwrap();
    }

    /// Does something to what is stepped of an instance, which goes on behind that.
    fn with_stepper<R>(&self, id: Uuid, act: impl FnOnce(&mut Stepper) -> R) -> R {
        let world = self.instances.table().get(id).unwrap().world;
        let inbox = self.instances.inboxes.of(world).expect("commands still find it");
        let mut stepper = self.instances.workplace.take_out(&inbox).expect("it is in the pool");
        let result = act(&mut stepper);
        let next_tick = stepper.next_tick();
        self.instances.workplace.take_back(&inbox, stepper, next_tick);
        result
    }

    /// What the journal's thread does every second.
    fn write(&self) {
        self.instances.write_once(Instant(u64::MAX));
    }

    fn metric(&self, name: &str) -> f64 {
        let text = self.metrics.render();
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0.0)
    }
}

fn path(data: &TempDir) -> std::path::PathBuf {
    data.path().join("throng.sqlite")
}

fn url(data: &TempDir) -> store::StoreUrl {
    store::StoreUrl::of_directory(data.path())
}

fn has_image(data: &TempDir, id: Uuid) -> bool {
    image(data, id).is_some()
}

fn image(data: &TempDir, id: Uuid) -> Option<store::State> {
    Store::open(&url(data)).unwrap().instance_state(id).unwrap().image
}

/// Changes the bytes of a row behind everybody's back.
fn damage(path: &Path, what: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    let at = file.windows(what.len()).position(|window| window == what).expect("it is in the file");
    file[at] ^= 0xFF;
    std::fs::write(path, file).unwrap();
}

#[test]
fn what_was_visited_is_saved_when_it_is_parked_and_woken_with_other_local_ids() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    assert_eq!((node.state(one), node.state(two)), ("active", "active"));
    node.visit(one);
    node.instances.park(one).unwrap();
    node.instances.park(two).unwrap();
    node.instances.park(two).unwrap();
    assert_eq!((node.state(one), node.state(two)), ("parked", "parked"));
    assert!(has_image(&data, one) && !has_image(&data, two), "nobody has been in the other one");
    assert_eq!(node.instances.table().counts(), (2, 0));
    assert!(node.instances.inboxes.of(WorldId(2)).is_none());
    node.visit(one);
    assert_eq!(node.state(one), "active");
    assert!(node.instances.inboxes.of(WorldId(2)).is_some(), "it has its number still");
    assert_eq!(node.metric("throng_instances_parked_total"), 2.0);
    assert_eq!(node.metric("throng_instances_woken_total"), 1.0);
    assert_eq!(node.metric(r#"throng_instance_states_saved_total{what="image"}"#), 1.0);
}

#[test]
fn the_time_in_a_state_begins_with_the_state_and_not_with_an_attempt_to_leave_it() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let since = |node: &Node, id| node.instances.get(id).unwrap().since;
    let one = node.create(1);
    let made_at = since(&node, one);
    assert!(made_at > Instant::ZERO);
    node.visit(one);
    node.fail(1);
    node.instances.park(one).unwrap_err();
    assert_eq!((node.state(one), since(&node, one)), ("active", made_at));
    node.instances.park(one).unwrap();
    let parked_at = since(&node, one);
    assert!(parked_at > made_at);
    node.instances.resume(one).unwrap();
    assert!(since(&node, one) > parked_at);
    let active_at = since(&node, one);
    node.instances.resume(one).unwrap();
    assert_eq!((node.state(one), since(&node, one)), ("active", active_at), "there was nothing to do");
    node.instances.park_all().unwrap();
    drop(node);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert_eq!((node.state(one), since(&node, one)), ("parked", Instant::ZERO));
}

#[test]
fn they_are_there_again_after_the_process_has_ended() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.instances.park_all().unwrap();
    let cellar = Order { template: "Cellar".into(), name: Some("Ada's".into()), ..Order::default() };
    let cellar = node.instances.create(cellar).unwrap().0;
    drop(node);
    let node = Node::start(&data, &config(&["Cave"], 5));
    let told: Vec<_> = node.instances.list().into_iter().map(|one| (one.row.id, one.state)).collect();
    assert_eq!(told.len(), 3);
    assert!([one, two, cellar].iter().all(|id| told.contains(&(*id, "parked"))));
    node.visit(one);
    node.visit(two);
    assert_eq!((node.state(one), node.state(two)), ("active", "active"));
    let refusal = node.refusal(cellar);
    assert!(matches!(refusal, Refusal::Table(TableRefusal::TemplateGone(_))), "{refusal}");
    assert_eq!(node.state(cellar), "parked");
    node.instances.end(two).unwrap();
    drop(node);
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    assert_eq!(node.instances.list().len(), 2);
    node.visit(cellar);
}

#[test]
fn who_orders_one_twice_by_its_id_has_one() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave", "Cellar"], 5));
    let order = |template: &str| Order {
        id: Some(Uuid::from_u128(1)),
        template: template.into(),
        ..Order::default()
    };
    let id = Uuid::from_u128(1);
    assert_eq!(node.instances.create(order("Cave")).unwrap(), (id, true));
    assert_eq!(node.instances.create(order("cave")).unwrap(), (id, false));
    let refusal = node.instances.create(order("Cellar")).unwrap_err();
    assert!(matches!(refusal, Refusal::Table(TableRefusal::Taken(_))), "{refusal}");
}

#[test]
fn what_cannot_be_saved_goes_on_and_is_saved_later() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.fail(2);
    for _ in 0..2 {
        let refusal = node.instances.park(one).unwrap_err();
        assert!(matches!(refusal, Refusal::Unsaved(_)), "{refusal}");
        assert_eq!(node.state(one), "active");
        assert!(node.instances.depot.trouble().is_some_and(|trouble| trouble.contains("ordered")));
    }
    node.with_stepper(one, |_| {});
    node.instances.park(one).unwrap();
    assert_eq!(node.instances.depot.trouble(), None);
    assert!(has_image(&data, one));
    // Nor does one come into the world that would not be found again, or go that comes back.
    node.fail(1);
    let order = Order { template: "Cave".into(), ..Order::default() };
    assert!(matches!(node.instances.create(order), Err(Refusal::Unsaved(_))));
    node.fail(1);
    assert!(matches!(node.instances.end(one), Err(Refusal::Unsaved(_))));
    node.fail(1);
    assert!(matches!(node.refusal(one), Refusal::Unsaved(_)));
    assert_eq!((node.instances.list().len(), node.state(one)), (1, "parked"));
    node.visit(one);
}

#[test]
fn a_damaged_state_lets_nobody_in_and_costs_no_other_instance() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.visit(two);
    node.instances.park_all().unwrap();
    drop(node);
    {
        let store = Store::open(&url(&data)).unwrap();
        let image = store.instance_state(one).unwrap().image.unwrap().bytes;
        drop(store);
        damage(&path(&data), &image);
    }
    let node = Node::start(&data, &config(&["Cave"], 5));
    for _ in 0..2 {
        let refusal = node.refusal(one);
        assert!(refusal.to_string().contains("set aside"), "{refusal}");
        assert_eq!(node.state(one), "parked");
    }
    assert_eq!(node.metric("throng_instances_damaged_total"), 1.0);
    node.visit(two);
    // Bytes that are as they were written and make no world.
    node.instances.park_all().unwrap();
    let state =
        store::State { id: two, sequence: node.instances.depot.next_sequence(), bytes: vec![1, 0, 9] };
    node.instances.depot.save(&[state]).unwrap();
    assert!(node.refusal(two).to_string().contains("left as it is"));
    assert_eq!(node.metric("throng_instances_damaged_total"), 2.0);
    assert_eq!(node.instances.table().counts(), (2, 0));
    let troubled =
        |node: &Node| node.instances.list().into_iter().filter(|told| told.trouble.is_some()).count();
    assert_eq!(troubled(&node), 2);
    drop(node);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert_eq!(troubled(&node), 1, "perhaps this build can read it");
    assert!(node.refusal(two).to_string().contains("left as it is"));
    assert!(has_image(&data, two), "nobody is let into a new world by mistake, and nothing is lost");
    node.instances.end(one).unwrap();
    let again = node.create(1);
    node.visit(again);
}

#[test]
fn a_state_of_another_version_is_left_alone() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.instances.park(one).unwrap();
    let state = store::State {
        id: one,
        sequence: node.instances.depot.next_sequence(),
        bytes: b"THRI\x09\0\0\0".to_vec(),
    };
    node.instances.depot.save(&[state]).unwrap();
    for _ in 0..2 {
        assert!(matches!(node.refusal(one), Refusal::Unfit(_)));
        assert!(node.instances.get(one).unwrap().trouble.is_some_and(|told| told.contains("version 9")));
    }
    assert!(has_image(&data, one));
}

#[test]
fn who_is_wanted_takes_the_room_of_who_has_been_empty_the_longest() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 2));
    let (one, two, three) = (node.create(1), node.create(2), node.create(3));
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "active", "parked"]);
    // Those that nobody has been in yet make room like others.
    drop(node.instances.awake(three).unwrap());
    assert_eq!([one, two, three].map(|id| node.state(id)), ["parked", "active", "active"]);
    node.visit(two);
    drop(node.instances.awake(one).unwrap());
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "parked", "active"]);
    assert!(has_image(&data, two));
    // They rest, since somebody is on the way into them.
    let refusal = node.refusal(two);
    assert!(matches!(refusal, Refusal::Table(TableRefusal::ActiveFull(2))), "{refusal}");
}

#[test]
fn one_that_is_being_made_is_acknowledged_when_it_is_on_the_disk() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let id = Uuid::from_u128(1);
    node.order(FaultKind::Slow, 300, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| node.create(1));
        while node.instances.get(id).is_err() {
            std::thread::yield_now();
        }
        node.create(1);
        let kept = Store::open(&url(&data)).unwrap().instances().unwrap().instances;
        assert_eq!(kept.len(), 1, "it was acknowledged");
    });
    // What comes to nothing is made by who asked for it again.
    let wanted =
        Wanted { id: Uuid::from_u128(2), template: "cave".into(), name: None, owner: None, created_s: 0 };
    let (_, turn) = node.instances.make(wanted).unwrap();
    std::thread::scope(|scope| {
        let order = Order { id: Some(Uuid::from_u128(2)), template: "cave".into(), ..Order::default() };
        let again = scope.spawn(|| node.instances.create(order).unwrap().1);
        drop(turn);
        assert!(again.join().unwrap(), "it is new");
    });
}

#[test]
fn a_panic_costs_neither_a_world_that_is_being_parked_nor_a_place_in_the_table() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.order(FaultKind::Panic, 0, 1);
    catch_unwind(AssertUnwindSafe(|| node.instances.park(one))).unwrap_err();
    assert_eq!(node.state(one), "active");
    node.with_stepper(one, |_| {});
    node.order(FaultKind::Panic, 0, 1);
    node.instances.write_whatever_happens(Instant(u64::MAX));
    assert_eq!(node.metric("throng_instances_panics_total"), 1.0);
    assert!(node.instances.survives("instances", || {}));
    assert!(!node.instances.survives("instances", || panic!("as ordered")));
    assert_eq!(node.metric("throng_instances_panics_total"), 2.0);
    node.with_stepper(one, |_| {});
    node.instances.park(one).unwrap();
    assert!(has_image(&data, one));
    node.order(FaultKind::Panic, 0, 1);
    catch_unwind(AssertUnwindSafe(|| node.create(2))).unwrap_err();
    assert_eq!(node.instances.list().len(), 1);
    node.create(2);
}

#[test]
fn what_begins_empty_after_panics_leaves_alone_what_is_saved() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.instances.park(one).unwrap();
    let saved = image(&data, one).expect("it was visited");
    node.visit(one);
    assert_eq!(node.with_stepper(one, |stepper| stepper.begin_again(3, |_| Vec::new()).0), Beginning::Empty);
    let trouble = || node.instances.get(one).unwrap().trouble;
    assert!(trouble().is_some_and(|trouble| trouble.contains("begun anew")));
    node.visit(one);
    node.write();
    if node.state(one) == "active" {
        node.instances.park(one).unwrap();
    }
    assert_eq!(image(&data, one).as_ref(), Some(&saved));
    node.visit(one);
    assert_eq!(trouble(), None, "it has gone on from there");
    // One life that was cut short is no reason for that.
    assert_eq!(node.with_stepper(one, |stepper| stepper.begin_again(1, |_| Vec::new()).0), Beginning::Newest);
    node.instances.park(one).unwrap();
    assert!(image(&data, one).is_some_and(|image| image.sequence > saved.sequence));
}

#[test]
fn what_fails_again_before_it_was_to_be_tried_does_not_prolong_the_pause() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    node.fail(20);
    let pauses: BTreeSet<Instant> = (0..20)
        .filter_map(|_| {
            node.instances.park(one).unwrap_err();
            node.instances.depot.rests_until()
        })
        .collect();
    assert!(pauses.len() < 5, "{pauses:?}");
}

#[test]
fn of_those_that_are_down_when_the_server_stops_the_last_checkpoint_is_saved() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.visit(two);
    let world = node.instances.table().get(one).unwrap().world;
    let inbox = node.instances.inboxes.of(world).expect("it is there");
    let stepper = node.instances.workplace.take_out(&inbox).expect("it is in the pool");
    node.fail(1);
    assert_eq!(node.instances.save_at_last(vec![Down::of(stepper, 1)]), 0);
    assert!(has_image(&data, one) && has_image(&data, two));
}

#[test]
fn of_many_who_want_one_at_once_each_finds_it() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    for _ in 0..5 {
        node.visit(one);
        std::thread::scope(|scope| {
            scope.spawn(|| node.instances.park_some(&[WorldId(2)], Patience::None));
            for _ in 0..4 {
                scope.spawn(|| drop(node.instances.awake(one).unwrap()));
            }
        });
        assert_ne!(node.state(one), "waking");
    }
}

#[test]
fn the_journal_saves_who_was_left_and_parks_who_is_empty() {
    let data = tempfile::tempdir().unwrap();
    let mut node = Node::start(&data, &config(&["Cave"], 5));
    let one = node.create(1);
    node.visit(one);
    Arc::get_mut(&mut node.instances).unwrap().park_after = Duration::from_secs(3_600);
    while !has_image(&data, one) {
        node.write();
    }
    assert_eq!(node.state(one), "active");
    let saved = |node: &Node| node.metric(r#"throng_instance_states_saved_total{what="image"}"#);
    (0..3).for_each(|_| node.write());
    assert_eq!(saved(&node), 1.0, "nobody has been in it since");
    node.visit(one);
    node.fail(1);
    while saved(&node) < 2.0 {
        node.write();
    }
    Arc::get_mut(&mut node.instances).unwrap().park_after = Duration::ZERO;
    node.write();
    assert_eq!(node.state(one), "parked");
    assert_eq!(saved(&node), 2.0, "it was saved already");
}
