//! Instances that portals create: their share of the node, their last visits and their end.

use super::*;

fn own(id: u128, owner: u128) -> InstanceRequest {
    let new = NewInstance { owner: Some(ids::AgentId(Uuid::from_u128(owner))), ..new(id) };
    InstanceRequest::EnterOwn { new, visitor: visitor(9) }
}

#[test]
fn an_instance_of_a_portal_ends_when_it_was_not_visited_for_the_time_of_its_template() {
    let mut node = Node::new();
    node.done(own(1, 1)).unwrap();
    node.open(2).unwrap();
    node.pass(KEEP_S + 60);
    assert_eq!(node.registry.counts().0, 2, "it is occupied");
    node.leave(1);
    node.pass(KEEP_S - 1);
    assert_eq!(node.phase(1), "suspended", "its last visit ended {KEEP_S} s ago, less one");
    node.pass(20);
    assert!(node.registry.summary(Uuid::from_u128(1)).is_err(), "it has expired");
    assert_eq!(node.phase(2), "suspended", "a program created this one");
    assert_eq!(node.registry.counters().expired, 1);
    assert!(node.done(own(3, 1)).is_ok(), "its user gets another one");
}

#[test]
fn the_last_visit_outlives_the_node_and_an_instance_without_one_is_kept() {
    let mut node = Node::new();
    let now_s = UNIX_START_S + 5;
    node.registry.load(row(1, Some(now_s - KEEP_S as i64)), None);
    node.registry.load(row(2, Some(now_s - KEEP_S as i64 + 60)), None);
    node.registry.load(row(3, None), None);
    node.registry.load(InstanceRow { template: "Castle".into(), ..row(4, Some(0)) }, None);
    node.pass(5);
    assert_eq!(node.registry.summaries().map(|one| one.row.id.as_u128()).collect::<Vec<_>>(), [2, 3, 4]);
    node.pass(5);
    node.ask(enter(2));
    node.work();
    node.registry.handle_timeout(node.now + Registry::SWEEP_PERIOD);
    node.drain();
    let noted = node.jobs.iter().find_map(|(_, job)| match job {
        Job::NoteVisits(visits) => Some(visits.clone()),
        _ => None,
    });
    let visited_s = UNIX_START_S + 20;
    assert_eq!(noted, Some(vec![(Uuid::from_u128(2), visited_s)]), "occupied since then");
}

#[test]
fn last_visits_that_could_not_be_written_are_written_with_the_next_ones_and_at_the_end() {
    let mut node = Node::new();
    node.registry.load(row(1, Some(UNIX_START_S - 301)), None);
    node.done(enter(1)).unwrap();
    node.leave(1);
    let sweep = |node: &mut Node| {
        node.now += Registry::SWEEP_PERIOD;
        node.registry.handle_timeout(node.now);
        node.drain();
        node.jobs.retain(|(_, job)| matches!(job, Job::NoteVisits(_)));
        node.jobs.len()
    };
    // Saves and suspensions have tests of their own.
    node.registry.config.suspend_after = Duration::from_secs(1_000_000);
    assert_eq!((sweep(&mut node), sweep(&mut node)), (1, 1), "one at a time");
    node.end_only(JobOutcome::VisitsNoted(false));
    assert_eq!(sweep(&mut node), 1);
    node.end_only(JobOutcome::VisitsNoted(true));
    assert_eq!(sweep(&mut node), 0);
    node.done(enter(1)).unwrap();
    node.registry.begin_stop(node.now);
    node.drain();
    assert!(matches!(node.jobs[..], [(_, Job::NoteVisits(_)), ..]), "{:?}", node.jobs);
}

#[test]
fn portals_have_a_share_of_the_node_and_each_user_a_quota_of_it() {
    let mut node = Node::new();
    node.registry.config.per_user_max = 1;
    node.registry.update_template(TemplateFacts { name: "Cave".into(), ..template() });
    let in_cave = |id: u128, owner: u128| match own(id, owner) {
        InstanceRequest::EnterOwn { new, visitor } => {
            InstanceRequest::EnterOwn { new: NewInstance { template: "Cave".into(), ..new }, visitor }
        }
        other => other,
    };
    let leave_all = |node: &mut Node| {
        (1..=4).for_each(|id| {
            if node.registry.summary(Uuid::from_u128(id)).is_ok() {
                node.leave(id);
            }
        })
    };
    node.done(own(1, 1)).unwrap();
    assert_eq!(node.done(in_cave(2, 1)), Err(InstanceRefusal::UserQuota(1)));
    let made =
        NewInstance { owner: Some(ids::AgentId(Uuid::from_u128(1))), template: "Cave".into(), ..new(5) };
    node.done(InstanceRequest::Open(made)).unwrap();
    assert!(node.done(in_cave(2, 1)).is_ok(), "an operator has created one for the user");
    leave_all(&mut node);
    node.leave(5);
    for owner in 2..=4 {
        node.done(own(owner, owner)).unwrap();
        leave_all(&mut node);
    }
    assert_eq!(node.done(own(6, 6)), Err(InstanceRefusal::PortalsFull(4)));
    assert!(node.open(6).is_ok(), "the rest belongs to programs");
}
