//! Limits of the node: memory, worker time, quotas of tokens, local ids, and the refusals that follow.

use super::*;

#[test]
fn the_longest_empty_instance_makes_room_and_an_occupied_one_never_does() {
    let mut node = Node::new();
    for id in 1..=3 {
        node.open(id).unwrap();
        node.pass(1);
    }
    node.open(4).unwrap();
    assert_eq!(node.phase(4), "suspended", "no world is evicted for one without a visitor");
    node.done(enter(1)).unwrap();
    node.done(enter(4)).unwrap();
    let phases = [1, 2, 3, 4].map(|id| node.phase(id));
    assert_eq!(phases, ["active", "suspended", "active", "active"]);
    node.done(enter(3)).unwrap();
    assert_eq!(node.done(enter(2)), Err(InstanceRefusal::ActiveFull(3)));
    // One leaves while the next request waits for another suspension.
    node.leave(1);
    node.leave(3);
    let (second, third) = (node.ask(enter(2)), node.ask(enter(1)));
    node.work();
    assert_eq!(node.replies.remove(&second), Some(Ok(InstanceReply::Admitted(Uuid::from_u128(2)))));
    assert_eq!(node.replies.remove(&third), Some(Ok(InstanceReply::Admitted(Uuid::from_u128(1)))));
}

#[test]
fn memory_is_made_by_eviction_and_a_shortage_of_cpu_evicts_no_world() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.sample(Some(HALL_BYTES), WorkerDemand::default());
    assert_eq!(node.open(2), Ok(InstanceReply::Created(Uuid::from_u128(2))));
    assert_eq!((node.phase(1), node.phase(2)), ("suspended", "active"));
    node.done(enter(2)).unwrap();
    let shortage = |of| Err(InstanceRefusal::Shortage(of));
    assert_eq!(node.open(3), shortage(Shortage::Memory), "without memory it is not created");
    assert_eq!(node.registry.counts(), (2, 1));
    node.leave(2);
    let busy = WorkerDemand { workers: 2.0, n_workers: 1, beats: 20, over: 20, max_percent: 95 };
    for _ in 0..6 {
        node.now += Duration::from_secs(1);
        node.sample(None, busy);
    }
    assert_eq!(node.done(enter(1)), shortage(Shortage::Cpu));
    assert_eq!(node.phase(2), "active", "no eviction relieves it");
    assert_eq!(node.open(3), Ok(InstanceReply::Created(Uuid::from_u128(3))));
    assert_eq!(node.phase(3), "suspended", "without CPU time it stays in the store");
    let own = NewInstance { owner: Some(ids::AgentId(Uuid::from_u128(9))), ..new(4) };
    let own = InstanceRequest::EnterOwn { new: own, visitor: visitor(9) };
    assert_eq!(node.done(own), shortage(Shortage::Cpu));
    assert_eq!(node.registry.counts().0, 3, "and one for a visitor is not created");
}

#[test]
fn a_token_creates_no_more_than_its_quota() {
    let mut node = Node::new();
    let maker = Maker { token: "lobby".into(), instances_max: Some(2) };
    let mut open = |id, maker: &Maker| {
        node.done(InstanceRequest::Open(NewInstance { maker: Some(maker.clone()), ..new(id) }))
    };
    open(1, &maker).unwrap();
    open(2, &maker).unwrap();
    assert_eq!(open(3, &maker), Err(InstanceRefusal::Quota { token: "lobby".into(), max: 2 }));
    assert!(open(2, &maker).is_ok(), "a repeated request is no new instance");
    open(3, &Maker { token: "other".into(), instances_max: Some(2) }).unwrap();
    assert!(node.done(InstanceRequest::End(Uuid::from_u128(1))).is_ok());
    node.done(InstanceRequest::Open(NewInstance { maker: Some(maker), ..new(4) })).unwrap();
}

#[test]
fn worlds_have_one_number_each_and_local_ids_rest_before_they_are_given_again() {
    let mut node = Node::new();
    let start_of = |node: &mut Node, id: u128| {
        node.ask(InstanceRequest::Open(new(id)));
        node.end_only(JobOutcome::RowWritten(Ok(())));
        let [(_, Job::Start { world, ref local_ids, .. })] = node.jobs[..] else { panic!("{:?}", node.jobs) };
        let start = (world.0, local_ids.start);
        node.work();
        start
    };
    assert_eq!(start_of(&mut node, 1), (FIRST.0, 1_000));
    for (n, first) in (2..).zip([1_010, 1_020, 1_030, 1_040, 1_050]) {
        assert_eq!(start_of(&mut node, n.into()), (FIRST.0 + n - 1, first), "former ids rest");
        node.done(InstanceRequest::End(Uuid::from_u128(n.into()))).unwrap();
    }
    node.now += crate::local_ids::REST;
    assert_eq!(start_of(&mut node, 7), (FIRST.0 + 6, 1_010), "the first ones are in use still");
}

#[test]
fn without_local_ids_an_instance_stays_in_the_store_until_some_are_free() {
    let mut node = Node::new();
    node.registry.local_ids = LocalIdPool::new(LocalIdSpace { first: 1_000, end: 1_025, block: 25 });
    (1..=3).for_each(|id| assert!(node.open(id).is_ok()));
    assert_eq!([1, 2, 3].map(|id| node.phase(id)), ["active", "active", "suspended"]);
    assert_eq!(node.done(enter(3)), Err(InstanceRefusal::LocalIds(N_IDS)));
    assert_eq!(node.registry.capacity().reserved_bytes(), 2 * HALL_BYTES, "nothing is reserved in vain");
    node.done(InstanceRequest::End(Uuid::from_u128(2))).unwrap();
    assert_eq!(node.done(enter(3)), Err(InstanceRefusal::LocalIds(N_IDS)), "those of the ended one rest");
    node.now += crate::local_ids::REST;
    assert!(node.done(enter(3)).is_ok());
}

#[test]
fn unknown_templates_bad_names_and_excess_are_refused_with_the_reason() {
    let mut node = Node::new();
    let mut open = |new: NewInstance| node.done(InstanceRequest::Open(new)).map(drop);
    let castle = InstanceRefusal::NoTemplate { wanted: "Castle".into(), known: HALL.into() };
    assert_eq!(open(NewInstance { template: "Castle".into(), ..new(1) }), Err(castle));
    for name in ["", "a\u{7}", &"x".repeat(64)] {
        assert_eq!(open(NewInstance { name: Some(name.into()), ..new(1) }), Err(InstanceRefusal::Name));
    }
    let owned =
        |id: u128, owner: u128| NewInstance { owner: Some(ids::AgentId(Uuid::from_u128(owner))), ..new(id) };
    open(owned(1, 8)).unwrap();
    assert_eq!(open(owned(2, 8)), Err(InstanceRefusal::Owned));
    assert_eq!(open(owned(1, 9)), Err(InstanceRefusal::Taken(Uuid::from_u128(1))));
    (2..=6).for_each(|id| open(new(id)).unwrap());
    assert_eq!(open(new(7)), Err(InstanceRefusal::Full(6)));
    let missing = Uuid::from_u128(7);
    assert_eq!(node.done(InstanceRequest::End(missing)), Err(InstanceRefusal::NoInstance(missing)));
}

#[test]
fn a_suspended_instance_takes_less_than_half_a_kilobyte() {
    let indexes = size_of::<(Uuid, WorldId)>() + size_of::<WorldId>();
    assert!(size_of::<InstanceRecord>() + indexes < 512, "{} bytes", size_of::<InstanceRecord>());
}
