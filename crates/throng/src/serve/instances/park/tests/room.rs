//! What the node has room for: memory and time, as if somebody had looked.

use super::*;
use crate::serve::long::{self, LongFailure};
use crate::serve::worlds::Stepper;
use host::capacity::{NodeSample, Shortage, WorkerDemand};
use schedule::long::{Long, LongContext};
use std::ops::RangeInclusive;

/// What is expected of an instance of "Cave" that nobody has made yet. Nobody counts bytes here, so nothing is learned.
const CAVE_BYTES: u64 = 128 * 1024;

impl Node {
    /// There is memory for so many instances, with those that there are.
    fn allow(&self, n: u64) {
        let allowed_bytes = Some(n * CAVE_BYTES);
        let there = self.instances.table().counts().1 as u64;
        let seen = NodeSample { resident_bytes: there * CAVE_BYTES, allowed_bytes, ..NodeSample::default() };
        // What was made before is in what is resident now.
        for _ in 0..2 {
            self.instances.admission.look(Instant::ZERO, &seen);
        }
    }

    /// In these seconds worlds need so much of the only worker, and there is no memory but that of those that there are.
    fn work(&self, workers: f32, seconds: RangeInclusive<u64>) {
        let demand = WorkerDemand { workers, n_workers: 1, max_percent: 95, ..WorkerDemand::default() };
        let resident_bytes = self.instances.table().counts().1 as u64 * CAVE_BYTES;
        let seen = NodeSample {
            resident_bytes,
            allowed_bytes: Some(resident_bytes),
            demand,
            ..NodeSample::default()
        };
        for s in seconds {
            self.instances.admission.look(Instant::from_millis(s * 1_000), &seen);
        }
    }

    /// An instance's world as if it had panicked.
    fn take_down(&self, id: Uuid) -> (Inbox, Box<Stepper>) {
        let world = self.instances.table().get(id).unwrap().world;
        let inbox = self.instances.inboxes.of(world).expect("it is there");
        let stepper = self.instances.workplace.take_out(&inbox).expect("it is in the pool");
        (inbox, stepper)
    }

    /// As if somebody were about to go in, so that it is not parked for another one.
    fn expect_somebody_in(&self, id: Uuid) {
        let mut table = self.instances.awake(id).unwrap();
        let world = table.get(id).unwrap().world;
        let active = table.entry_mut(world).and_then(Entry::active_mut).unwrap();
        active.rests_until = Instant(u64::MAX);
    }

    fn try_to_create(&self, id: u128) -> Result<Uuid, Refusal> {
        let order = Order { id: Some(Uuid::from_u128(id)), template: "cave".into(), ..Order::default() };
        self.instances.create(order).map(|(id, _)| id)
    }

    fn promised(&self) -> u64 {
        self.instances.admission.promised_bytes()
    }
}

fn is_for_lack_of<T>(lacking: Shortage, done: Result<T, Refusal>) -> bool {
    matches!(done, Err(Refusal::Shortage(why)) if why == lacking)
}

#[test]
fn instances_are_made_until_memory_is_used_up_and_again_when_one_is_parked() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    [one, two].into_iter().for_each(|id| node.expect_somebody_in(id));
    assert_eq!(node.promised(), 2 * CAVE_BYTES);
    for _ in 0..3 {
        assert!(is_for_lack_of(Shortage::Memory, node.try_to_create(3)));
    }
    let told = || node.instances.list().iter().map(|one| (one.row.id, one.state)).collect::<Vec<_>>();
    assert_eq!(told(), [(one, "active"), (two, "active")], "nothing is lost, and nothing left behind");
    let kept = Store::open(&url(&data)).unwrap().instances().unwrap().instances;
    assert_eq!(kept.len(), 2);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 3.0);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="memory"}"#), 1.0);
    assert!(node.instances.admission.trouble().is_some_and(|trouble| trouble.contains("Memory is short")));
    // Who is in memory is let in, and who is not, is not.
    drop(node.instances.awake(one).unwrap());
    node.instances.park(two).unwrap();
    let three = node.try_to_create(3).unwrap();
    node.expect_somebody_in(three);
    assert!(is_for_lack_of(Shortage::Memory, node.instances.awake(two)));
    assert_eq!(node.state(two), "parked");
    node.instances.end(three).unwrap();
    drop(node.instances.awake(two).unwrap());
    node.allow(5);
    assert_eq!(node.instances.admission.trouble(), None);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="memory"}"#), 0.0);
}

#[test]
fn those_that_have_been_empty_the_longest_make_room_first() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two, three) = (node.create(1), node.create(2), node.create(3));
    assert_eq!([one, two, three].map(|id| node.state(id)), ["parked", "active", "active"]);
    drop(node.instances.awake(one).unwrap());
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "parked", "active"]);
    assert_eq!(node.metric("throng_instances_put_out_total"), 2.0);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
}

#[test]
fn a_burst_of_orders_gets_no_more_memory_than_there_is() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(3);
    // Nobody looks, and each of them is wanted from its making on.
    let wanted = |n: u128| {
        let made = node.try_to_create(n);
        if let Ok(id) = made {
            node.expect_somebody_in(id);
        }
        made.is_ok()
    };
    assert_eq!((1..=50).filter(|&n| wanted(n)).count(), 3);
    assert_eq!(node.instances.table().counts(), (3, 3));
    assert_eq!(node.promised(), 3 * CAVE_BYTES);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 47.0);
}

#[test]
fn what_comes_to_nothing_gives_its_memory_back() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(1);
    node.fail(1);
    assert!(matches!(node.try_to_create(1), Err(Refusal::Unsaved(_))));
    assert_eq!(node.promised(), 0);
    node.order(FaultKind::Panic, 0, 1);
    catch_unwind(AssertUnwindSafe(|| node.try_to_create(1))).unwrap_err();
    assert_eq!(node.promised(), 0);
    let one = node.create(1);
    node.instances.park(one).unwrap();
    node.allow(1);
    node.order(FaultKind::Panic, 0, 1);
    catch_unwind(AssertUnwindSafe(|| node.instances.awake(one).map(drop))).unwrap_err();
    assert_eq!((node.promised(), node.state(one)), (0, "parked"));
}

#[test]
fn an_order_that_an_operator_ends_gives_its_memory_back() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(1);
    // More than there are threads: those of one kind have their turns in order.
    let long = &node.instances.long;
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
        let waiting = loop {
            if let Some(one) = long.list().iter().find(|one| one.name == "Cave") {
                break one.id;
            }
            std::thread::yield_now();
        };
        assert_eq!(node.promised(), CAVE_BYTES);
        assert!(long.cancel(waiting));
        assert!(matches!(order.join().unwrap(), Err(Refusal::Long(LongFailure::Ended))));
    });
    drop(end);
    assert_eq!((node.promised(), node.instances.list().len()), (0, 0));
}

#[test]
fn with_too_much_to_do_new_ones_are_made_parked_and_none_is_woken() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    node.work(1.0, 0..=5);
    let three = node.create(3);
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "active", "parked"]);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="load"}"#), 0.0);
    assert!(is_for_lack_of(Shortage::Cpu, node.instances.awake(three)));
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="load"}"#), 1.0);
    assert_eq!(node.metric(r#"throng_instances_closed{reason="load"}"#), 1.0);
    // Nor is one made for somebody that they could not be let into.
    assert!(is_for_lack_of(Shortage::Cpu, node.instances.has_time()));
    // Nobody is put out for what lacks time.
    assert_eq!(node.metric("throng_instances_put_out_total"), 0.0);
    drop(node.instances.awake(one).unwrap());
    node.instances.park(two).unwrap();
    node.instances.end(two).unwrap();
    node.work(0.8, 6..=11);
    drop(node.instances.awake(three).unwrap());
    assert_eq!(node.state(one), "parked", "there is time, and memory for one");
}

#[test]
fn one_whose_world_is_down_keeps_no_other_from_making_room() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 2));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    let (inbox, stepper) = node.take_down(one);
    let three = node.try_to_create(3).unwrap();
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "parked", "active"]);
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
    // Likewise where it is not memory that there is none of.
    node.allow(9);
    node.instances.table().for_each_active(|_, _, active| active.rests_until = Instant::ZERO);
    drop(node.instances.awake(two).unwrap());
    assert_eq!([one, two, three].map(|id| node.state(id)), ["active", "active", "parked"]);
    node.instances.workplace.take_back(&inbox, stepper, ids::Tick(0));
}

#[test]
fn who_is_slow_to_leave_holds_up_nobody_else_who_makes_room() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    node.allow(2);
    let (one, two) = (node.create(1), node.create(2));
    let leaving = node.instances.longest_empty().expect("nobody is in it");
    let three = node.create(3);
    assert_eq!([one, two, three].map(|id| node.state(id)), ["parking", "parked", "active"]);
    node.expect_somebody_in(three);
    // They may have made room by the next time.
    assert!(is_for_lack_of(Shortage::Memory, node.try_to_create(4)));
    drop(leaving);
    node.create(4);
    assert_eq!(node.state(one), "parked");
}

#[test]
fn who_come_at_once_each_find_somebody_to_put_out() {
    const THREADS: u128 = 8;
    const ORDERS: u128 = 10;
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&["Cave"], 1_000);
    config.instances.max = 1_000;
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
    // Some of those that make room leave a place that nobody needs any more.
    let (n, n_in_memory) = node.instances.table().counts();
    assert!(n == 80 && (1..=20).contains(&n_in_memory), "{n} {n_in_memory}");
    assert_eq!(node.metric(r#"throng_instances_refused_total{reason="memory"}"#), 0.0);
}
