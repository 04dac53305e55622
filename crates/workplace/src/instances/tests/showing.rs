//! Worlds of instances at the gateway: open while they are in memory.

use super::*;
use crate::instances::workplace::{StartOrder, StartPlan};
use ids::Epoch;
use world::World;

impl Node {
    fn open(&self) -> Vec<WorldId> {
        self.crowd.sent().open.iter().copied().collect()
    }
}

#[test]
fn a_world_is_open_at_the_gateway_while_it_is_in_memory() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let (one, two) = (node.create(1), node.create(2));
    let (first, second) = (node.world(one), node.world(two));
    assert_eq!(node.open(), [first, second]);
    node.instances.suspend(one).unwrap();
    assert_eq!(node.open(), [second]);
    node.instances.resume(one).unwrap();
    assert_eq!(node.open(), [first, second]);
    for id in [one, two] {
        node.instances.end(id).unwrap();
    }
    node.wait_until("both are closed", |node| node.open().is_empty());
}

#[test]
fn a_world_that_the_pool_does_not_take_any_more_is_closed() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data, &config(&["Cave"], 5));
    let order = StartOrder {
        is_first: true,
        world: WorldId(99),
        id: Uuid::from_u128(99),
        template: "Cave".into(),
        name: "Cave".into(),
        local_ids: 1..10_000,
    };
    let workplace = node.workplace();
    let plan = StartPlan::new(&workplace.catalog(), order, Epoch(1)).unwrap();
    let world = World::new(plan.config.clone());
    node.worlds.stop();
    assert_eq!(workplace.found(plan, world, 0), None);
    assert_eq!(node.open(), []);
}
