//! Instances created, entered, left and ended by several threads at once: what holds in any order.

use super::*;

#[test]
fn under_concurrent_requests_each_user_is_in_one_world_and_ended_instances_leave_nothing() {
    for seed in 1..=6 {
        let node = Hall::start(seed);
        (0..USERS).for_each(|user| node.log_in(user));
        let regions = || [WorldId(1), WorldId(2)];
        node.wait_until("everybody is in", || node.standing.lock().unwrap().len() == USERS as usize);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let node = &node;
                let mut dice = Dice(seed << 32 | thread);
                scope.spawn(move || (0..OPERATIONS).for_each(|_| node.act(&mut dice)));
            }
        });
        // Orders of portals may still be under way.
        node.wait_until("all instances have ended", || {
            for (id, world) in node.known() {
                node.made.lock().unwrap().push((id, world));
                let ended = node.instances.end(id);
                let is_over = matches!(
                    ended,
                    Ok(()) | Err(Refusal::Instance(InstanceRefusal::Ended | InstanceRefusal::NoInstance(_)))
                );
                assert!(is_over, "{ended:?}");
            }
            node.n_in(regions()) == USERS as usize && node.known().is_empty()
        });
        let made: BTreeSet<(Uuid, WorldId)> = node.made.lock().unwrap().iter().copied().collect();
        let in_those = || node.n_in(made.iter().map(|(_, world)| *world));
        node.wait_until(&format!("everybody is in a region, seed {seed}"), || {
            node.n_in(regions()) == USERS as usize && in_those() == 0
        });
        assert!(made.len() > 20, "{} instances", made.len());
        assert_eq!(node.sessions().with(|hub| hub.n_sessions()), USERS as usize);
        assert!(node.known().is_empty());
        for &(id, world) in &made {
            assert!(node.instances.get(id).is_err());
            node.wait_until(&format!("{world:?} has an inbox still"), || {
                node.worlds.inboxes.of(world).is_none()
            });
        }
        node.wait_until("some are in the pool still", || node.worlds.watch().instances().n == 0);
        node.wait_until("a scene is held still", || {
            node.gateway.drop_ended();
            node.gateway.ended.lock().expect("no panic").is_empty()
        });
        node.stop();
    }
}

#[test]
fn of_concurrent_ends_one_succeeds_and_of_concurrent_creations_by_an_owner_one_succeeds() {
    let node = Hall::start(1);
    for _ in 0..20 {
        let owner = Some(agent(1));
        let together = |act: &(dyn Fn() -> bool + Sync)| {
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..THREADS).map(|_| scope.spawn(act)).collect();
                all.into_iter().filter_map(|one| one.join().ok()).filter(|&did| did).count()
            })
        };
        let n_made = together(&|| node.instances.create(order("Cave", owner)).is_ok());
        let own = node.known();
        assert_eq!((n_made, own.len()), (1, 1));
        let id = own[0].0;
        assert_eq!(together(&|| node.instances.end(id).is_ok()), 1);
    }
    node.stop();
}

#[test]
fn an_order_for_an_avatar_that_has_gone_elsewhere_creates_no_world() {
    let (caught, ordered) = sync_channel(16);
    let node = Hall::start_with(3, Some(caught));
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let (circuit, world) = node.standing.lock().unwrap()[&agent(0)];
    let walked = FromShard::Request(circuit, Request::Portal { world, number: 0 });
    node.sessions().with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), walked));
    let order = ordered.try_recv().expect("an order");
    // The instance may refuse; then the next one is tried.
    node.wait_until("the user is elsewhere", || {
        node.create("Cave", None);
        let id = node.known()[0].0;
        let _ = node.instances.enter(id, &Who::Agent(agent(0).0), None);
        node.standing.lock().unwrap()[&agent(0)].1 != world
    });
    let n = node.known().len();
    (node.order)(order).expect("the driver runs");
    // Handled after the order.
    let listed = node.instances.list().expect("the driver runs");
    assert_eq!(listed.len(), n);
    assert!(listed.iter().all(|listed| listed.summary.row.owner.is_none()));
    node.stop();
}

#[test]
fn a_dismissed_visitor_goes_back_and_one_outside_is_refused() {
    let node = Hall::start(5);
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let who = Who::Agent(agent(0).0);
    let stands_in = || node.standing.lock().unwrap()[&agent(0)].1;
    let region = stands_in();
    node.wait_until("the hub knows it", || node.n_in([region]) == 1);
    let outside = node.instances.leave(&who);
    assert!(matches!(outside, Err(Refusal::Passage(PassageRefusal::Outside))), "{outside:?}");
    node.create("Cave", None);
    let (id, cave) = node.known()[0];
    // The instance may refuse; then the visitor tries again.
    node.wait_until("the user is in the instance", || {
        let _ = node.instances.enter(id, &who, None);
        stands_in() == cave && node.n_in([cave]) == 1
    });
    node.instances.leave(&who).expect("the visitor is dismissed");
    node.wait_until("the user is back", || stands_in() == region && node.n_in([region]) == 1);
    assert_eq!(node.n_in([cave]), 0);
    node.stop();
}

#[test]
fn an_invitation_resumes_no_world_for_an_avatar_that_has_teleported_since() {
    let node = Hall::start(4);
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let (circuit, _) = node.standing.lock().unwrap()[&agent(0)];
    node.create("Cave", None);
    let (id, world) = node.known()[0];
    let state = || node.instances.get(id).expect("it is there").summary.phase;
    node.instances.suspend(id).expect("it has no visitor");
    let follow = |ticket: u32| {
        let circuit = CircuitKey { ticket, ..circuit };
        TravelOrder::Enter { circuit, world, position: Vec3::splat(30.0) }
    };
    (node.order)(follow(circuit.ticket + 1)).expect("the driver runs");
    assert_eq!(state(), "suspended");
    (node.order)(follow(circuit.ticket)).expect("the driver runs");
    node.wait_until("it is resumed", || state() == "active");
    node.stop();
}
