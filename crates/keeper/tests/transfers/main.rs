//! Linksets between worlds and the database, with faults at every boundary between two movements: after each, every linkset is whole and in one place.

mod node;

use link::DerezKind;
use node::{Deed, Node};
use proptest::prelude::*;
use store::Store;

/// A linkset leaves one region, comes into the other, which refuses a second one at first, and a third one is deleted. A fourth one comes out of the contents of a prim.
fn journey() -> Vec<Deed> {
    let saved = |n: usize| [Deed::Poll(n), Deed::Write(n), Deed::Answer(n, true)];
    let told = |n: usize| [Deed::Step(n), Deed::Hear(n, false)];
    [
        &[Deed::Leave(0, DerezKind::Return, 1), Deed::Leave(0, DerezKind::Trash, 2)][..],
        &told(0),
        &saved(0),
        // The tickets are settled.
        &told(0),
        &[Deed::Restore(1, 0)],
        &told(1),
        &saved(1),
        &told(1),
        &[Deed::Limit(1, 1), Deed::Restore(1, 0)],
        &told(1),
        &saved(1),
        &told(1),
        &[Deed::Limit(1, 45_000), Deed::Restore(1, 0)],
        &told(1),
        // The answer of the database is lost, and the save is repeated.
        &[Deed::Poll(1), Deed::Write(1), Deed::Answer(1, false)],
        &saved(1),
        &told(1),
        &[Deed::Leave(1, DerezKind::Return, 0), Deed::Leave(0, DerezKind::Delete, 0)],
        &told(1),
        &told(0),
        &saved(1),
        &saved(0),
        &told(0),
        &[Deed::Restore(0, 0)],
        &told(0),
        &saved(0),
        &told(0),
        // Out of the contents of the anchor, by two orders for one item.
        &[Deed::Unpack(0, 1), Deed::Unpack(0, 1)],
        &told(0),
        &saved(0),
        &told(0),
    ]
    .concat()
}

/// Faults that may happen between any two movements; none at first.
fn faults() -> Vec<Vec<Deed>> {
    let mut faults = vec![vec![], vec![Deed::Crash]];
    for n in 0..2 {
        faults.extend([
            vec![Deed::Panic(n)],
            vec![Deed::Step(n), Deed::Hear(n, true)],
            vec![Deed::Write(n), Deed::Crash],
            vec![Deed::Write(n), Deed::Answer(n, false)],
        ]);
    }
    faults
}

/// A linkset leaves the first region. While the keeper of the second one lacks a frame, it is ordered there, and the snapshot that the keeper then gets is of before its
/// arrival: the order goes out again.
fn doubled_order() -> Vec<Deed> {
    [
        &[Deed::Leave(0, DerezKind::Return, 1), Deed::Step(0), Deed::Hear(0, false)][..],
        &[Deed::Poll(0), Deed::Write(0), Deed::Answer(0, true), Deed::Step(0), Deed::Hear(0, false)],
        &[Deed::Step(1), Deed::Hear(1, true)],
        // The gap is noticed, and a frame has the snapshot.
        &[Deed::Step(1), Deed::Hear(1, false), Deed::Step(1)],
        &[Deed::Restore(1, 0), Deed::Step(1)],
        // The order goes out again, before its answer is heard.
        &[Deed::Hear(1, false), Deed::Hear(1, false)],
        &[Deed::Step(1), Deed::Hear(1, false)],
        &[Deed::Poll(1), Deed::Write(1), Deed::Answer(1, true), Deed::Step(1), Deed::Hear(1, false)],
    ]
    .concat()
}

/// A journey with a fault at each boundary, each time with other regions of an empty database. Objects that leave a region stay in rows, or become items.
fn travel(store: &Store, journey: &[Deed], fault: &[Deed], are_items: bool) {
    for (at, first) in (0..=journey.len()).zip((1..).step_by(2)) {
        let mut node = Node::new(store, first, are_items);
        node.do_all(&journey[..at]);
        node.do_all(fault);
        node.do_all(&journey[at..]);
        node.settle();
    }
}

#[test]
fn a_journey_without_a_fault_leaves_each_linkset_where_it_was_sent() {
    for are_items in [false, true] {
        let store = Store::open_in_memory().expect("memory");
        let mut node = Node::new(&store, 1, are_items);
        node.do_all(&journey());
        node.settle();
        assert_eq!(
            node.places(),
            (vec![6, 2], 0),
            "with an anchor each; one is deleted, one lies in an anchor"
        );
    }
}

#[test]
fn a_linkset_survives_a_fault_at_every_boundary() {
    for fault in faults() {
        travel(&Store::open_in_memory().expect("memory"), &journey(), &fault, false);
    }
}

#[test]
fn an_item_survives_a_fault_at_every_boundary() {
    for fault in faults() {
        travel(&Store::open_in_memory().expect("memory"), &journey(), &fault, true);
    }
}

#[test]
fn a_doubled_order_puts_its_linkset_into_the_region_once() {
    for are_items in [false, true] {
        let store = Store::open_in_memory().expect("memory");
        let mut node = Node::new(&store, 1, are_items);
        node.do_all(&doubled_order());
        node.settle();
        assert_eq!(node.places(), (vec![6, 2], 0), "with an anchor each");
    }
}

#[test]
fn a_doubled_order_survives_a_world_that_goes_back_to_before_it() {
    let faults = [vec![Deed::GoBack(1)], vec![Deed::GoBack(1), Deed::Step(1), Deed::Panic(1)]];
    for fault in faults {
        for are_items in [false, true] {
            travel(&Store::open_in_memory().expect("memory"), &doubled_order(), &fault, are_items);
        }
    }
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_keeps_a_linkset_through_a_fault_at_every_boundary() {
    let server =
        std::env::var("THRONG_TEST_POSTGRES").expect("scripts/postgres.sh sets THRONG_TEST_POSTGRES");
    for (n, fault) in faults().into_iter().enumerate() {
        let schema = format!("throng_test_transfers_{}_{n}", std::process::id());
        run_batch(&server, &format!("CREATE SCHEMA {schema}"));
        let separator = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{separator}options=-c%20search_path%3D{schema}");
        let store = Store::open(&url.parse().expect("an address")).expect("a database");
        travel(&store, &journey(), &fault, n % 2 == 0);
        drop(store);
        run_batch(&server, &format!("DROP SCHEMA {schema} CASCADE"));
    }
}

fn run_batch(server: &str, sql: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(server, tokio_postgres::NoTls).await.expect("a server");
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.expect("a statement");
        drop(client);
        connection.await.expect("it does not panic").expect("it ends in order");
    });
}

fn deed() -> impl Strategy<Value = Deed> {
    let region = 0..2_usize;
    let kind =
        prop::sample::select(vec![DerezKind::Return, DerezKind::Return, DerezKind::Trash, DerezKind::Delete]);
    prop_oneof![
        6 => (region.clone(), kind, 0..9_usize).prop_map(|(n, kind, which)| Deed::Leave(n, kind, which)),
        6 => (region.clone(), 0..9_usize).prop_map(|(n, which)| Deed::Restore(n, which)),
        3 => (region.clone(), 0..9_usize).prop_map(|(n, which)| Deed::Unpack(n, which)),
        1 => (region.clone(), prop::sample::select(vec![2, 45_000])).prop_map(|(n, max)| Deed::Limit(n, max)),
        16 => region.clone().prop_map(Deed::Step),
        2 => region.clone().prop_map(Deed::Panic),
        16 => (region.clone(), prop::bool::weighted(0.1)).prop_map(|(n, is_lost)| Deed::Hear(n, is_lost)),
        12 => region.clone().prop_map(Deed::Poll),
        10 => region.clone().prop_map(Deed::Write),
        10 => (region, prop::bool::weighted(0.8)).prop_map(|(n, is_true)| Deed::Answer(n, is_true)),
        2 => Just(Deed::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn linksets_survive_any_faults(
        deeds in prop::collection::vec(deed(), 1..150),
        are_items in any::<bool>(),
    ) {
        let store = Store::open_in_memory().expect("memory");
        let mut node = Node::new(&store, 1, are_items);
        node.do_all(&deeds);
        node.settle();
    }
}
