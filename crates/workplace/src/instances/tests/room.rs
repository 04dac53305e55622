//! Room of the node: memory and time, from simulated measurements.

use super::*;
use crate::long;
use host::capacity::{NodeSample, WorkerDemand};
use link::CircuitKey;
use schedule::long::{Long, LongContext};
use std::ops::RangeInclusive;

/// Expected size of an instance of "Cave" before the first one. No bytes are counted here, so nothing is learned.
const CAVE_BYTES: u64 = 128 * 1024;

impl Node {
    fn sample(&self, at: Instant, sample: &NodeSample) {
        self.admission.record_sample(at, sample);
        // Mail is handled in order.
        self.counts();
    }

    /// Allows memory for `n` instances, with the existing ones.
    fn allow(&self, n: u64) {
        let allowed_bytes = Some(n * CAVE_BYTES);
        let resident_bytes = self.counts().1 as u64 * CAVE_BYTES;
        // Instances created before are part of the resident memory now.
        for _ in 0..2 {
            self.sample(
                Instant::ZERO,
                &NodeSample { resident_bytes, allowed_bytes, ..NodeSample::default() },
            );
        }
    }

    /// In these seconds worlds need `workers` of the only worker, and memory allows only the existing ones.
    fn work(&self, workers: f32, seconds: RangeInclusive<u64>) {
        let demand = WorkerDemand { workers, n_workers: 1, max_percent: 95, ..WorkerDemand::default() };
        let resident_bytes = self.counts().1 as u64 * CAVE_BYTES;
        let sample = NodeSample {
            resident_bytes,
            allowed_bytes: Some(resident_bytes),
            demand,
            ..NodeSample::default()
        };
        for s in seconds {
            self.sample(Instant::from_millis(s * 1_000), &sample);
        }
    }

    fn promised(&self) -> u64 {
        // Exported with the last message at the latest.
        self.counts();
        self.admission.promised_bytes()
    }
}

#[test]
fn instances_are_created_until_memory_is_used_up_and_again_when_one_is_suspended() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    [one, two].into_iter().for_each(|id| node.occupy(id));
    assert_eq!(node.promised(), 2 * CAVE_BYTES);
    for _ in 0..3 {
        assert!(is_for_lack_of(Shortage::Memory, node.try_to_create(3)));
    }
    assert_eq!((node.list(), node.states([one, two])), (vec![one, two], ["active"; 2]), "nothing is lost");
    let kept = Store::open(&url(&data)).unwrap().instances().unwrap().instances;
    assert_eq!(kept.len(), 2, "nor left behind");
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 3.0);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="memory"}"#), 1.0);
    assert!(node.admission.trouble().is_some_and(|trouble| trouble.contains("Memory is short")));
    // An instance in memory lets visitors in, another one does not.
    node.occupy(one);
    node.leave(two);
    node.instances.suspend(two).unwrap();
    let three = node.create(3);
    node.occupy(three);
    assert!(is_for_lack_of(Shortage::Memory, node.instances.resume(two)));
    assert_eq!(node.state(two), "suspended");
    node.instances.end(three).unwrap();
    node.instances.resume(two).unwrap();
    node.allow(5);
    assert_eq!(node.admission.trouble(), None);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="memory"}"#), 0.0);
}

#[test]
fn the_longest_empty_instances_make_room_first() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two, three) = (node.create(1), node.create(2), node.create(3));
    assert_eq!(node.states([one, two, three]), ["suspended", "active", "active"]);
    node.instances.resume(one).unwrap();
    assert_eq!(node.states([one, two, three]), ["active", "suspended", "active"]);
    for name in ["evicted", "put_out"] {
        assert_eq!(node.metric(&format!("throng_instances_{name}_total")), 2.0);
    }
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
}

#[test]
fn a_burst_of_orders_gets_no_more_memory_than_there_is() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(3);
    // Without a measurement meanwhile, and each of them is occupied from its creation on.
    let wanted = |n: u128| {
        let made = node.try_to_create(n);
        if let Ok(id) = made {
            node.occupy(id);
        }
        made.is_ok()
    };
    assert_eq!((1..=50).filter(|&n| wanted(n)).count(), 3);
    assert_eq!(node.counts(), (3, 3));
    assert_eq!(node.promised(), 3 * CAVE_BYTES);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 47.0);
}

#[test]
fn a_failed_start_gives_its_memory_back() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(1);
    node.fail(1);
    assert!(node.try_to_create(1).is_err_and(|why| is_unsaved(&why)));
    assert_eq!(node.promised(), 0);
    node.strike(FaultEffect::Panic, 0, 1);
    assert!(node.try_to_create(1).is_err_and(|why| is_unsaved(&why)));
    assert_eq!(node.promised(), 0);
    let one = node.create(1);
    node.instances.suspend(one).unwrap();
    node.allow(1);
    node.strike(FaultEffect::Panic, 0, 1);
    assert!(is_unsaved(&node.refusal(one)));
    assert_eq!((node.promised(), node.state(one)), (0, "suspended"));
    node.instances.resume(one).unwrap();
}

#[test]
fn an_order_that_an_operator_ends_gives_its_memory_back() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(1);
    // More than there are threads: those of one kind have their turns in order.
    let long = node.worlds.long();
    let (end, ends) = crossbeam_channel::bounded::<()>(0);
    for _ in 0..64 {
        let ends = ends.clone();
        // Fails once the other end is dropped.
        let work = Box::new(move |_: &LongContext| assert!(ends.recv().is_err()));
        let blocker =
            Long { kind: long::MAKE_WORLD, name: "blocker".into(), estimated: Duration::ZERO, work };
        drop(long.submit(blocker).unwrap());
    }
    std::thread::scope(|scope| {
        let order = scope.spawn(|| node.try_to_create(1));
        let waiting = || long.list().iter().find(|one| one.name == "Cave").map(|one| one.id);
        node.wait_until("it is submitted", |_| waiting().is_some());
        assert_eq!(node.promised(), CAVE_BYTES);
        assert!(long.cancel(waiting().unwrap()));
        let refusal = order.join().unwrap().unwrap_err();
        assert!(refusal.to_string().contains("An operator has ended it"), "{refusal}");
    });
    drop(end);
    assert_eq!((node.promised(), node.list().len()), (0, 0));
}

#[test]
fn with_too_much_to_do_new_ones_are_created_suspended_and_none_is_resumed() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.work(1.0, 0..=5);
    let three = node.create(3);
    assert_eq!(node.states([one, two, three]), ["active", "active", "suspended"]);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="load"}"#), 0.0);
    assert!(is_for_lack_of(Shortage::Cpu, node.instances.resume(three)));
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="load"}"#), 1.0);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="load"}"#), 1.0);
    // Nor is one created for a visitor that could not be let into it.
    let circuit = CircuitKey { session: SessionKey(1), ticket: 1 };
    let agent = AgentId(Uuid::from_u128(1));
    let order = TravelOrder::EnterOwn { circuit, world: WorldId(0), agent, template: "Cave".into() };
    node.instances.mail.send(InstanceMail::Order(order)).unwrap();
    assert_eq!(node.list().len(), 3);
    assert!(node.crowd.sent().turned_down[0].contains("busy"), "{:?}", node.crowd.sent().turned_down);
    // No world is evicted for what lacks time.
    assert_eq!(node.metric("throng_instances_evicted_total"), 0.0);
    node.occupy(one);
    node.leave(one);
    node.instances.suspend(two).unwrap();
    node.instances.end(two).unwrap();
    node.work(0.8, 6..=11);
    node.instances.resume(three).unwrap();
    assert_eq!(node.state(one), "suspended", "there is time, and memory for one");
}

#[test]
fn an_instance_whose_world_is_down_keeps_no_other_from_making_room() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 2));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    let (inbox, stepper) = node.take_down(one);
    let three = node.create(3);
    assert_eq!(node.states([one, two, three]), ["active", "suspended", "active"]);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
    // Likewise where it is not memory that is short. The other one is spared for its visitor, which leaves.
    node.allow(9);
    node.visit(three);
    node.instances.resume(two).unwrap();
    assert_eq!(node.states([one, two, three]), ["active", "active", "suspended"]);
    node.worlds.workplace().take_back(&inbox, stepper, ids::Tick(0));
}

#[test]
fn a_request_waits_for_a_suspension_under_way_and_evicts_no_other_instance() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    node.visit(one);
    node.strike(FaultEffect::Slow, 500, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| node.instances.suspend(one).unwrap());
        node.wait_until("it is on its way out", |node| node.state(one) == "suspending");
        let three = node.create(3);
        assert_eq!(node.states([one, two, three]), ["suspended", "active", "active"]);
    });
    assert_eq!(node.metric("throng_instances_evicted_total"), 0.0);
}

#[test]
fn of_many_orders_at_once_each_finds_an_instance_to_evict() {
    const THREADS: u128 = 8;
    const ORDERS: u128 = 10;
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&["Cave"], 1_000);
    config.limits.instances_max = 1_000;
    let node = Node::start(&data, &config);
    node.allow(20);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let node = &node;
            scope.spawn(move || {
                (1..=ORDERS).for_each(|n| assert!(!node.create(thread * ORDERS + n).is_nil()))
            });
        }
    });
    // Some of the evictions leave a place that is no longer needed.
    let (n, n_in_memory) = node.counts();
    assert!(n == 80 && (1..=20).contains(&n_in_memory), "{n} {n_in_memory}");
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
}
