//! Phases of an instance from its creation to its end, failures of its jobs, and the stop of the node.

use super::*;
use crate::registry::stop::STOP_TRIES_MAX;

#[test]
fn an_instance_is_created_entered_suspended_resumed_and_ended() {
    let mut node = Node::new();
    let id = Uuid::from_u128(7);
    assert_eq!(node.open(7), Ok(InstanceReply::Created(id)));
    assert_eq!(node.phase(7), "active", "there is room for it");
    assert_eq!(node.open(7), Ok(InstanceReply::Exists(id)), "a repeated request changes nothing");
    assert_eq!(node.done(enter(7)), Ok(InstanceReply::Admitted(id)));
    node.pass(60);
    assert_eq!(node.phase(7), "active", "it is occupied");
    assert_eq!(node.done(InstanceRequest::Suspend(id)), Err(InstanceRefusal::InUse));
    node.leave(7);
    node.registry.handle_timeout(node.now);
    node.drain();
    assert!(matches!(node.jobs[..], [(_, Job::SaveState(_))]), "saved when the last visitor leaves");
    node.pass(4);
    assert_eq!(node.phase(7), "active");
    node.pass(1);
    assert_eq!(node.phase(7), "suspended");
    assert_eq!(node.done(InstanceRequest::Resume(id)), Ok(InstanceReply::Active(id)));
    assert_eq!(
        node.done(InstanceRequest::Suspend(id)),
        Ok(InstanceReply::Suspended(id)),
        "no visitor has come"
    );
    assert_eq!(node.done(enter(7)), Ok(InstanceReply::Admitted(id)));
    assert_eq!(node.done(InstanceRequest::End(id)), Ok(InstanceReply::Ended(id)));
    assert_eq!(node.emptied.len(), 1, "its visitors were sent back");
    assert_eq!(node.done(enter(7)), Err(InstanceRefusal::NoInstance(id)));
}

#[test]
fn a_suspended_instance_is_small_and_keeps_no_memory_of_requests_that_waited() {
    assert!(size_of::<InstanceRecord>() <= 336, "{} bytes", size_of::<InstanceRecord>());
    let mut node = Node::new();
    let id = Uuid::from_u128(7);
    node.open(7).unwrap();
    assert_eq!(node.registry.record(FIRST).waiting.capacity(), 0, "the creation waited for its row");
    assert_eq!(node.done(InstanceRequest::Suspend(id)), Ok(InstanceReply::Suspended(id)));
    assert_eq!(node.done(InstanceRequest::Resume(id)), Ok(InstanceReply::Active(id)));
    assert_eq!(node.done(InstanceRequest::Suspend(id)), Ok(InstanceReply::Suspended(id)));
    assert_eq!(node.phase(7), "suspended");
    assert_eq!(node.registry.record(FIRST).waiting.capacity(), 0);
}

#[test]
fn requests_wait_for_the_job_under_way_and_are_answered_in_order() {
    let mut node = Node::new();
    let id = Uuid::from_u128(1);
    let opened = node.ask(InstanceRequest::Open(new(1)));
    let entered = node.ask(enter(1));
    let ended = node.ask(InstanceRequest::End(id));
    let second = node.ask(InstanceRequest::End(id));
    let late = node.ask(enter(1));
    assert!(node.replies.is_empty(), "nothing is durable yet");
    node.work();
    assert_eq!(node.replies.remove(&opened), Some(Ok(InstanceReply::Created(id))));
    assert_eq!(node.replies.remove(&entered), Some(Ok(InstanceReply::Admitted(id))));
    assert_eq!(node.replies.remove(&ended), Some(Ok(InstanceReply::Ended(id))));
    assert_eq!(node.replies.remove(&second), Some(Err(InstanceRefusal::Ended)), "one of them has ended it");
    assert_eq!(node.replies.remove(&late), Some(Err(InstanceRefusal::Ended)));
}

#[test]
fn a_failed_creation_leaves_nothing_behind() {
    let mut node = Node::new();
    let asked = node.ask(InstanceRequest::Open(new(1)));
    node.end_only(JobOutcome::RowWritten(Err(failed("disk full"))));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::Failed(failed("disk full")))));
    let asked = node.ask(InstanceRequest::Open(new(1)));
    node.end_only(JobOutcome::RowWritten(Ok(())));
    node.end_only(JobOutcome::Started(Err(StartFailure::Failed(failed("panicked")))));
    assert!(node.replies.is_empty(), "its row is still there");
    node.end_only(JobOutcome::RowDeleted(Ok(())));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::Failed(failed("panicked")))));
    assert_eq!(node.registry.counts(), (0, 0));
    assert_eq!(node.registry.capacity().reserved_bytes(), 0);
}

#[test]
fn a_state_that_does_not_fit_blocks_until_the_template_changes_and_a_damaged_one_for_good() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.pass(5);
    let misfit = failed("a role is missing");
    let (first, second) = (node.ask(enter(1)), node.ask(enter(1)));
    node.end_only(JobOutcome::Started(Err(StartFailure::Misfit(Arc::clone(&misfit)))));
    let blocked = Some(Err(InstanceRefusal::Blocked(misfit)));
    assert_eq!(
        [node.replies.remove(&first), node.replies.remove(&second)],
        [blocked.clone(), blocked.clone()]
    );
    assert_eq!(Some(node.done(enter(1))), blocked, "it is not tried again");
    node.registry.update_template(template());
    let asked = node.ask(enter(1));
    node.end_only(JobOutcome::Started(Err(StartFailure::Damaged(failed("checksum")))));
    let damaged = Err(InstanceRefusal::Blocked(failed("checksum")));
    assert_eq!(node.replies.remove(&asked), Some(damaged.clone()));
    node.registry.update_template(template());
    assert_eq!(node.done(enter(1)), damaged);
}

#[test]
fn an_instance_that_cannot_be_saved_goes_on_and_is_spared_for_a_while() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.now = at(5);
    node.registry.handle_timeout(node.now);
    node.drain();
    let (entered, world) = (node.ask(enter(1)), FIRST);
    node.end_only(JobOutcome::Suspended(vec![(world, kept(at(20)))]));
    assert!(node.replies.remove(&entered).is_some_and(|reply| reply.is_ok()), "its visitor finds it");
    node.leave(1);
    node.work();
    node.registry.handle_timeout(at(19));
    assert_eq!(
        node.registry.poll_job().map(|(_, job)| job),
        Some(Job::Suspend(vec![SuspendTarget { world, is_changed: true }])),
        "visits end the grace"
    );
}

#[test]
fn a_state_that_could_not_be_saved_is_saved_again_after_the_pause() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.done(enter(1)).unwrap();
    node.leave(1);
    let n_saves = |node: &mut Node, s: u64| {
        node.now = at(s);
        node.registry.handle_timeout(node.now);
        node.drain();
        node.jobs.len()
    };
    assert_eq!((n_saves(&mut node, 0), n_saves(&mut node, 0)), (1, 1), "one at a time");
    assert_eq!(node.registry.unsaved().count(), 1);
    node.end_only(JobOutcome::StateSaved(Err(at(3))));
    assert_eq!((n_saves(&mut node, 2), n_saves(&mut node, 3)), (0, 1));
    // A visit during the save is in no saved state.
    node.done(enter(1)).unwrap();
    node.leave(1);
    assert_eq!(node.registry.unsaved().count(), 1);
    assert_eq!(n_saves(&mut node, 3), 1);
    node.work();
    assert_eq!((node.registry.unsaved().count(), n_saves(&mut node, 4)), (0, 0));
}

#[test]
fn the_time_in_a_phase_begins_with_the_phase_and_not_with_an_attempt_to_leave_it() {
    let mut node = Node::new();
    node.registry.load(row(9, None), None);
    let since = |node: &Node, id: u128| node.registry.summary(Uuid::from_u128(id)).expect("it exists").since;
    node.now = at(3);
    node.open(1).unwrap();
    assert_eq!((since(&node, 9), since(&node, 1)), (at(0), at(3)));
    node.now = at(4);
    let asked = node.ask(InstanceRequest::Suspend(Uuid::from_u128(1)));
    assert_eq!((node.phase(1), since(&node, 1)), ("suspending", at(4)));
    node.end_only(JobOutcome::Suspended(vec![(WorldId(FIRST.0 + 1), kept(at(0)))]));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::InUse)), "it is about to restart");
    assert_eq!((node.phase(1), since(&node, 1)), ("active", at(3)));
    let asked = node.ask(InstanceRequest::Suspend(Uuid::from_u128(1)));
    let unsaved = SuspendOutcome::Kept { until: at(0), failure: Some(failed("disk full")) };
    node.end_only(JobOutcome::Suspended(vec![(WorldId(FIRST.0 + 1), unsaved)]));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::Failed(failed("disk full")))));
    node.now = at(5);
    node.done(InstanceRequest::Suspend(Uuid::from_u128(1))).unwrap();
    assert_eq!((node.phase(1), since(&node, 1)), ("suspended", at(5)));
}

#[test]
fn a_state_that_did_not_fit_a_template_that_has_changed_meanwhile_is_tried_again() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.pass(5);
    node.ask(enter(1));
    node.registry.update_template(template());
    node.end_only(JobOutcome::Started(Err(StartFailure::Misfit(failed("a role is missing")))));
    assert!(node.done(enter(1)).is_ok(), "it may fit what the template is now");
}

#[test]
fn a_node_does_not_wait_for_a_world_under_construction_to_stop() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.pass(5);
    assert_eq!(node.phase(1), "suspended");
    let entered = node.ask(enter(1));
    node.registry.begin_stop(node.now);
    assert!(node.registry.is_stopped(), "nothing of it can be lost");
    node.end_only(JobOutcome::Started(Err(StartFailure::Stopping)));
    assert_eq!(node.replies.remove(&entered), Some(Err(InstanceRefusal::Stopping)));
}

#[test]
fn a_stopping_node_saves_every_instance_or_gives_up_after_some_attempts() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.open(2).unwrap();
    node.done(enter(2)).unwrap();
    node.registry.begin_stop(node.now);
    node.drain();
    assert!(!node.registry.is_stopped());
    let mut n_jobs = 0;
    while !node.registry.is_stopped() {
        while !node.jobs.is_empty() {
            let (id, job) = node.jobs.remove(0);
            let Job::Suspend(targets) = job else { panic!("{job:?}") };
            n_jobs += 1;
            let outcome = |target: &SuspendTarget| match target.world {
                FIRST => (target.world, SuspendOutcome::Saved(None)),
                _ => (target.world, kept(at(0))),
            };
            node.end(id, JobOutcome::Suspended(targets.iter().map(outcome).collect()));
        }
        node.now += Duration::from_millis(100);
        node.registry.handle_timeout(node.now);
        node.drain();
    }
    assert_eq!((node.phase(1), node.phase(2), n_jobs), ("suspended", "active", STOP_TRIES_MAX));
    assert_eq!(node.registry.unsaved().collect::<Vec<_>>(), [WorldId(FIRST.0 + 1)]);
    assert_eq!(node.done(enter(1)), Err(InstanceRefusal::Stopping));
}

#[test]
fn stored_instances_are_there_in_their_order_whether_or_not_they_can_be_entered() {
    let mut node = Node::new();
    let stored = |id: u128, template: &str| InstanceRow { template: template.into(), ..row(id, None) };
    node.registry.load(stored(9, "hall"), None);
    node.registry.load(stored(8, "Castle"), None);
    node.registry.load(stored(7, HALL), Some(failed("damaged")));
    let listed: Vec<_> = node.registry.summaries().map(|one| (one.world.0, one.row.template)).collect();
    assert_eq!(listed, [(FIRST.0, HALL.into()), (FIRST.0 + 1, "Castle".into()), (FIRST.0 + 2, HALL.into())]);
    assert!(node.done(enter(9)).is_ok());
    assert_eq!(node.done(enter(8)), Err(InstanceRefusal::TemplateGone("Castle".into())));
    assert_eq!(node.done(enter(7)), Err(InstanceRefusal::Blocked(failed("damaged"))));
}
