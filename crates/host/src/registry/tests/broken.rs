//! States that the registry never makes: each assertion notices its own.

use super::*;
use crate::registry::phase::InstancePhase;

fn world_of(node: &Node, id: u128) -> WorldId {
    node.registry.summary(Uuid::from_u128(id)).expect("it exists").world
}

#[test]
#[should_panic(expected = "suspended cannot become active")]
fn an_instance_is_not_active_without_a_start() {
    let mut node = Node::new();
    node.open(1).unwrap();
    let world = world_of(&node, 1);
    let active = node.registry.record(world).phase.clone();
    node.pass(3_600);
    node.registry.set_phase(world, active);
}

#[test]
#[should_panic(expected = "local ids belong to worlds in memory")]
fn a_world_has_the_local_ids_that_the_pool_has_given_it() {
    let mut node = Node::new();
    for id in [1, 2] {
        node.open(id).unwrap();
    }
    let world = world_of(&node, 1);
    let InstancePhase::Active(active) = &mut node.registry.record_mut(world).phase else {
        panic!("it is active");
    };
    active.local_ids.end += 1;
    node.registry.assert_invariants();
}

#[test]
#[should_panic(expected = "suspended under a visitor on its way in")]
fn an_instance_is_not_suspended_under_a_visitor_on_its_way_in() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.ask(InstanceRequest::Suspend(Uuid::from_u128(1)));
    let world = world_of(&node, 1);
    let InstancePhase::Suspending(active) = &mut node.registry.record_mut(world).phase else {
        panic!("it is being suspended");
    };
    active.admissions = 1;
    node.end_only(JobOutcome::Suspended(vec![(world, SuspendOutcome::Saved(None))]));
}

#[test]
#[should_panic(expected = "a job ends once")]
fn a_job_does_not_end_twice() {
    let mut node = Node::new();
    node.ask(InstanceRequest::Open(new(1)));
    let (id, _) = node.jobs.remove(0);
    for _ in 0..2 {
        node.registry.handle_outcome(node.now, id, JobOutcome::RowWritten(Ok(())));
    }
}

#[test]
#[should_panic(expected = "a world has one job at a time")]
fn a_world_has_no_second_job() {
    let mut node = Node::new();
    node.ask(InstanceRequest::Open(new(1)));
    let world = world_of(&node, 1);
    let (id, _) = node.jobs.remove(0);
    node.registry.under_way.insert(JobId(id.0 + 1), vec![world]);
    node.registry.assert_invariants();
}
