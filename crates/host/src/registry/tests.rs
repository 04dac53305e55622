//! The registry against a model of its workplace and gateway that ends jobs late, in any order, and with failures.

use super::stop::STOP_TRIES_MAX;
use super::*;
use crate::capacity::WorkerDemand;
use ids::SessionKey;
use proptest::prelude::*;
use std::collections::BTreeMap;

const HALL: &str = "Hall";
const N_IDS: u32 = 10;
/// Expected size of a world of the template before the first creation.
const HALL_BYTES: u64 = 128 * 1024;

const UNIX_START_S: i64 = 1_700_000_000;
const KEEP_S: u64 = 600;

fn config() -> RegistryConfig {
    RegistryConfig {
        instances_max: 6,
        active_max: 3,
        suspend_after: Duration::from_secs(5),
        first_world: 1,
        local_ids: (1_000, 1_060),
        portal_max: 4,
        per_user_max: 0,
        unix_start_s: UNIX_START_S,
    }
}

fn template() -> TemplateFacts {
    TemplateFacts {
        name: HALL.into(),
        n_local_ids: N_IDS,
        n_npcs: 0,
        keep: Some(Duration::from_secs(KEEP_S)),
    }
}

fn registry() -> Registry {
    Registry::new(config(), vec![template()])
}

fn new(id: u128) -> NewInstance {
    NewInstance {
        id: Uuid::from_u128(id),
        template: HALL.to_lowercase(),
        name: None,
        owner: None,
        created_s: 0,
        maker: None,
    }
}

fn visitor(session: u64) -> Visitor {
    Visitor { session: SessionKey(session), ticket: None, from: None }
}

fn enter(id: u128) -> InstanceRequest {
    InstanceRequest::Enter { instance: Uuid::from_u128(id), visitor: visitor(1), position: None }
}

fn at(s: u64) -> Instant {
    Instant::from_millis(1_000 * s)
}

const fn kept(until: Instant) -> SuspendOutcome {
    SuspendOutcome::Kept { until, failure: None }
}

fn failed(why: &str) -> Arc<str> {
    why.into()
}

/// A registry whose jobs end at once and successfully, and whose gateway admits every visitor, unless set otherwise.
struct Node {
    registry: Registry,
    now: Instant,
    next_request: u64,
    replies: BTreeMap<u64, Result<InstanceReply, InstanceRefusal>>,
    jobs: Vec<(JobId, Job)>,
    /// Occupants by world.
    occupants: BTreeMap<WorldId, u32>,
    n_admitted: u64,
    emptied: Vec<WorldId>,
    dismissed: Vec<Visitor>,
}

impl Node {
    fn new() -> Self {
        Self {
            registry: registry(),
            now: at(0),
            next_request: 0,
            replies: BTreeMap::new(),
            jobs: Vec::new(),
            occupants: BTreeMap::new(),
            n_admitted: 0,
            emptied: Vec::new(),
            dismissed: Vec::new(),
        }
    }

    fn ask(&mut self, request: InstanceRequest) -> u64 {
        let id = self.next_request;
        self.next_request += 1;
        self.registry.handle_request(self.now, RequestId(id), request);
        self.drain();
        id
    }

    /// Takes outputs; admissions succeed.
    fn drain(&mut self) {
        loop {
            self.registry.assert_invariants();
            if let Some(job) = self.registry.poll_job() {
                self.jobs.push(job);
            } else if let Some(order) = self.registry.poll_order() {
                match order {
                    GatewayOrder::Admit { request, world, .. } => {
                        let n = self.occupants.entry(world).or_default();
                        *n += 1;
                        self.n_admitted += 1;
                        let outcome = Ok(OccupantCount { n: *n, as_of: AdmissionNumber(self.n_admitted) });
                        self.registry.handle_notice(self.now, GatewayNotice::Admission { request, outcome });
                    }
                    GatewayOrder::Dismiss { request, visitor } => {
                        let is_here = self.occupants.values().any(|&n| n > 0);
                        let outcome = if is_here { Ok(()) } else { Err(failed("It is in no instance.")) };
                        self.dismissed.push(visitor);
                        self.registry.handle_notice(self.now, GatewayNotice::Dismissal { request, outcome });
                    }
                    GatewayOrder::Empty { world, .. } => self.emptied.push(world),
                }
            } else if let Some((id, reply)) = self.registry.poll_reply() {
                assert!(self.replies.insert(id.0, reply).is_none(), "one reply for each request");
            } else {
                return;
            }
        }
    }

    /// Ends all jobs successfully.
    fn work(&mut self) {
        while !self.jobs.is_empty() {
            let (id, job) = self.jobs.remove(0);
            if let Some(outcome) = success(&job) {
                self.end(id, outcome);
            }
        }
    }

    fn end(&mut self, id: JobId, outcome: JobOutcome) {
        self.registry.handle_outcome(self.now, id, outcome);
        self.drain();
    }

    /// Ends the only job under way.
    fn end_only(&mut self, outcome: JobOutcome) {
        assert_eq!(self.jobs.len(), 1, "{:?}", self.jobs);
        let (id, _) = self.jobs.remove(0);
        self.end(id, outcome);
    }

    fn done(&mut self, request: InstanceRequest) -> Result<InstanceReply, InstanceRefusal> {
        let id = self.ask(request);
        self.work();
        self.replies.remove(&id).expect("answered once all jobs have ended")
    }

    fn open(&mut self, id: u128) -> Result<InstanceReply, InstanceRefusal> {
        self.done(InstanceRequest::Open(new(id)))
    }

    fn phase(&self, id: u128) -> &'static str {
        self.registry.summary(Uuid::from_u128(id)).expect("it exists").phase
    }

    fn leave(&mut self, id: u128) {
        let world = self.registry.summary(Uuid::from_u128(id)).expect("it exists").world;
        self.occupants.remove(&world);
        self.count(world, 0, self.n_admitted);
        self.drain();
    }

    /// The gateway's count of a world's occupants, after so many admissions.
    fn count(&mut self, world: WorldId, n: u32, as_of: u64) {
        let count = OccupantCount { n, as_of: AdmissionNumber(as_of) };
        self.registry.handle_notice(self.now, GatewayNotice::Occupants { world, count });
    }

    fn pass(&mut self, s: u64) {
        self.now += Duration::from_secs(s);
        self.registry.handle_timeout(self.now);
        self.drain();
        self.work();
    }

    fn sample(&mut self, allowed_bytes: Option<u64>, demand: WorkerDemand) {
        let resident_bytes = self.registry.counts().1 as u64 * HALL_BYTES;
        for _ in 0..2 {
            self.registry.record_sample(
                self.now,
                &NodeSample { resident_bytes, allowed_bytes, is_trimmed: false, demand },
            );
        }
        self.drain();
    }
}

fn success(job: &Job) -> Option<JobOutcome> {
    match job {
        Job::WriteRow(_) => Some(JobOutcome::RowWritten(Ok(()))),
        Job::DeleteRow(_) => Some(JobOutcome::RowDeleted(Ok(()))),
        Job::Start { .. } => Some(JobOutcome::Started(Ok(None))),
        Job::Suspend(worlds) => Some(JobOutcome::Suspended(
            worlds.iter().map(|target| (target.world, SuspendOutcome::Saved(None))).collect(),
        )),
        Job::SaveState(_) => Some(JobOutcome::StateSaved(Ok(()))),
        Job::NoteVisits(_) => Some(JobOutcome::VisitsNoted(true)),
        Job::Remove(_) => None,
    }
}

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
    let (entered, world) = (node.ask(enter(1)), WorldId(1));
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
fn worlds_are_numbered_for_ever_and_local_ids_go_round_past_those_in_use() {
    let mut node = Node::new();
    let start_of = |node: &mut Node, id: u128| {
        node.ask(InstanceRequest::Open(new(id)));
        node.end_only(JobOutcome::RowWritten(Ok(())));
        let [(_, Job::Start { world, ref local_ids, .. })] = node.jobs[..] else { panic!("{:?}", node.jobs) };
        let start = (world.0, local_ids.start);
        node.work();
        start
    };
    assert_eq!(start_of(&mut node, 1), (1, 1_000));
    for (n, first) in (2..).zip([1_010, 1_020, 1_030, 1_040, 1_050]) {
        assert_eq!(start_of(&mut node, n.into()), (n, first), "former ids rest for one round");
        node.done(InstanceRequest::End(Uuid::from_u128(n.into()))).unwrap();
    }
    assert_eq!(start_of(&mut node, 7), (7, 1_010), "the first ones are in use still");
}

#[test]
fn without_local_ids_an_instance_stays_in_the_store_until_some_are_free() {
    let mut node = Node::new();
    node.registry.config.local_ids = (1_000, 1_025);
    (1..=3).for_each(|id| assert!(node.open(id).is_ok()));
    assert_eq!([1, 2, 3].map(|id| node.phase(id)), ["active", "active", "suspended"]);
    assert_eq!(node.done(enter(3)), Err(InstanceRefusal::LocalIds(N_IDS)));
    assert_eq!(node.registry.capacity().reserved_bytes(), 2 * HALL_BYTES, "nothing is reserved in vain");
    node.done(InstanceRequest::End(Uuid::from_u128(2))).unwrap();
    assert!(node.done(enter(3)).is_ok());
}

#[test]
fn what_is_not_there_or_too_much_is_refused_with_what_there_is() {
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
fn stored_instances_are_there_in_their_order_whether_or_not_they_can_be_entered() {
    let mut node = Node::new();
    let stored = |id: u128, template: &str| InstanceRow { template: template.into(), ..row(id, None) };
    node.registry.load(stored(9, "hall"), None);
    node.registry.load(stored(8, "Castle"), None);
    node.registry.load(stored(7, HALL), Some(failed("damaged")));
    let listed: Vec<_> = node.registry.summaries().map(|one| (one.world.0, one.row.template)).collect();
    assert_eq!(listed, [(1, HALL.into()), (2, "Castle".into()), (3, HALL.into())]);
    assert!(node.done(enter(9)).is_ok());
    assert_eq!(node.done(enter(8)), Err(InstanceRefusal::TemplateGone("Castle".into())));
    assert_eq!(node.done(enter(7)), Err(InstanceRefusal::Blocked(failed("damaged"))));
}

#[test]
fn a_suspended_instance_takes_less_than_half_a_kilobyte() {
    let indexes = size_of::<(Uuid, WorldId)>() + size_of::<WorldId>();
    assert!(size_of::<InstanceRecord>() + indexes < 512, "{} bytes", size_of::<InstanceRecord>());
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
    node.end_only(JobOutcome::Suspended(vec![(WorldId(2), kept(at(0)))]));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::InUse)), "it is about to restart");
    assert_eq!((node.phase(1), since(&node, 1)), ("active", at(3)));
    let asked = node.ask(InstanceRequest::Suspend(Uuid::from_u128(1)));
    let unsaved = SuspendOutcome::Kept { until: at(0), failure: Some(failed("disk full")) };
    node.end_only(JobOutcome::Suspended(vec![(WorldId(2), unsaved)]));
    assert_eq!(node.replies.remove(&asked), Some(Err(InstanceRefusal::Failed(failed("disk full")))));
    node.now = at(5);
    node.done(InstanceRequest::Suspend(Uuid::from_u128(1))).unwrap();
    assert_eq!((node.phase(1), since(&node, 1)), ("suspended", at(5)));
}

fn row(id: u128, visited_s: Option<i64>) -> InstanceRow {
    let id = Uuid::from_u128(id);
    InstanceRow {
        id,
        template: HALL.into(),
        name: HALL.into(),
        owner: Some(ids::AgentId(id)),
        created_s: 0,
        maker: None,
        visited_s,
    }
}

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
                WorldId(1) => (target.world, SuspendOutcome::Saved(None)),
                _ => (target.world, kept(at(0))),
            };
            node.end(id, JobOutcome::Suspended(targets.iter().map(outcome).collect()));
        }
        node.now += Duration::from_millis(100);
        node.registry.handle_timeout(node.now);
        node.drain();
    }
    assert_eq!((node.phase(1), node.phase(2), n_jobs), ("suspended", "active", STOP_TRIES_MAX));
    assert_eq!(node.registry.unsaved().collect::<Vec<_>>(), [WorldId(2)]);
    assert_eq!(node.done(enter(1)), Err(InstanceRefusal::Stopping));
}

#[test]
fn a_count_from_before_an_admission_does_not_empty_the_world() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.done(enter(1)).unwrap();
    let world = node.registry.summary(Uuid::from_u128(1)).unwrap().world;
    // Taken before the admission, and late.
    node.count(world, 0, 0);
    node.pass(3_600);
    assert_eq!(node.phase(1), "active", "a visitor is in it");
    node.count(world, 0, 1);
    node.pass(3_600);
    assert_eq!(node.phase(1), "suspended");
}

#[test]
fn a_visitor_enters_by_the_number_of_a_world_that_is_resumed_for_it() {
    let mut node = Node::new();
    node.open(1).unwrap();
    node.pass(3_600);
    assert_eq!(node.phase(1), "suspended");
    let world = node.registry.summary(Uuid::from_u128(1)).unwrap().world;
    let enter =
        |world| InstanceRequest::EnterWorld { world, visitor: visitor(1), position: glam::Vec3::splat(9.0) };
    assert_eq!(node.done(enter(world)), Ok(InstanceReply::Admitted(Uuid::from_u128(1))));
    assert_eq!(node.phase(1), "active");
    assert_eq!(node.done(enter(WorldId(world.0 + 1))), Err(InstanceRefusal::Ended));
}

#[test]
fn a_visitor_is_dismissed_by_the_gateway() {
    let mut node = Node::new();
    node.open(1).unwrap();
    let refused = Err(InstanceRefusal::Passage("It is in no instance.".into()));
    assert_eq!(node.done(InstanceRequest::Dismiss(visitor(1))), refused);
    node.done(enter(1)).unwrap();
    assert_eq!(node.done(InstanceRequest::Dismiss(visitor(1))), Ok(InstanceReply::Dismissed));
    assert_eq!(node.dismissed, [visitor(1), visitor(1)]);
}

/// Step of a random run; numbers are reduced to what exists at that moment.
#[derive(Clone, Debug)]
enum Step {
    Open(u8, bool),
    Enter(u8),
    EnterOwn(u8),
    Suspend(u8),
    Resume(u8),
    End(u8),
    /// End one of the jobs under way, with this success.
    Job(u8, bool),
    /// Answer one of the open admissions, with this success.
    Admission(u8, bool),
    Leave(u8),
    LateCount(u8),
    Pass(u8),
    Memory(Option<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    prop_oneof![
        3 => (0_u8..9, any::<bool>()).prop_map(|(id, owned)| Open(id, owned)),
        4 => (0_u8..9).prop_map(Enter),
        2 => (0_u8..4).prop_map(EnterOwn),
        1 => (0_u8..9).prop_map(Suspend),
        1 => (0_u8..9).prop_map(Resume),
        1 => (0_u8..9).prop_map(End),
        8 => (any::<u8>(), proptest::bool::weighted(0.8)).prop_map(|(which, ok)| Job(which, ok)),
        5 => (any::<u8>(), proptest::bool::weighted(0.8)).prop_map(|(which, ok)| Admission(which, ok)),
        3 => any::<u8>().prop_map(Leave),
        2 => any::<u8>().prop_map(LateCount),
        2 => (0_u8..8).prop_map(Pass),
        1 => proptest::option::of(1_u8..5).prop_map(Memory),
    ]
}

/// Workplace and gateway that end each job and each admission when the run says so.
#[derive(Default)]
struct Model {
    jobs: Vec<(JobId, Job)>,
    admissions: Vec<(RequestId, WorldId)>,
    occupants: BTreeMap<WorldId, u32>,
    n_admitted: u64,
    last_admission: BTreeMap<WorldId, u64>,
    /// Worlds that the workplace steps.
    stepped: BTreeSet<WorldId>,
    rows: BTreeSet<Uuid>,
    /// Rows whose deletion or creation is under way.
    replies: BTreeMap<RequestId, bool>,
}

impl Model {
    fn drain(&mut self, registry: &mut Registry) {
        registry.assert_invariants();
        while let Some((id, job)) = registry.poll_job() {
            match job {
                Job::SaveState(world) => {
                    assert!(self.stepped.contains(&world));
                    self.jobs.push((id, Job::SaveState(world)));
                }
                Job::Remove(world) => assert!(self.stepped.remove(&world), "removed once"),
                job => self.jobs.push((id, job)),
            }
        }
        while let Some(order) = registry.poll_order() {
            match order {
                GatewayOrder::Admit { request, world, .. } => {
                    assert!(self.stepped.contains(&world), "a visitor is sent into a world that is stepped");
                    self.admissions.push((request, world));
                }
                GatewayOrder::Dismiss { .. } => unreachable!("the run requests none"),
                GatewayOrder::Empty { world, .. } => _ = self.occupants.remove(&world),
            }
        }
        while let Some((request, reply)) = registry.poll_reply() {
            assert!(self.replies.insert(request, reply.is_ok()).is_none(), "one reply for each request");
        }
        for (request, world) in &self.admissions {
            let is_ended = !registry.instances.contains_key(world);
            assert!(is_ended || self.stepped.contains(world), "{request:?}: its world left memory");
        }
    }

    fn end_job(&mut self, registry: &mut Registry, now: Instant, which: u8, ok: bool) {
        if self.jobs.is_empty() {
            return;
        }
        let (id, job) = self.jobs.swap_remove(usize::from(which) % self.jobs.len());
        let why = || failed("it failed");
        let outcome = match job {
            Job::WriteRow(row) => {
                if ok {
                    assert!(self.rows.insert(row.id), "written once");
                }
                JobOutcome::RowWritten(if ok { Ok(()) } else { Err(why()) })
            }
            Job::DeleteRow(row) => {
                if ok {
                    assert!(self.rows.remove(&row), "deleted once");
                }
                JobOutcome::RowDeleted(if ok { Ok(()) } else { Err(why()) })
            }
            Job::Start { world, .. } => {
                if ok {
                    assert!(self.stepped.insert(world), "started once");
                }
                JobOutcome::Started(if ok { Ok(Some(HALL_BYTES)) } else { Err(StartFailure::Failed(why())) })
            }
            Job::Suspend(targets) => {
                let end = |SuspendTarget { world, .. }: SuspendTarget| {
                    let is_occupied = self.occupants.get(&world).is_some_and(|&n| n > 0);
                    assert!(!is_occupied, "world {}: suspended while occupied", world.0);
                    if ok {
                        assert!(self.stepped.remove(&world), "a stepped world is suspended");
                        (world, SuspendOutcome::Saved(Some(HALL_BYTES)))
                    } else {
                        (world, kept(now))
                    }
                };
                JobOutcome::Suspended(targets.into_iter().map(end).collect())
            }
            Job::SaveState(_) => JobOutcome::StateSaved(if ok { Ok(()) } else { Err(now) }),
            Job::NoteVisits(_) => JobOutcome::VisitsNoted(ok),
            Job::Remove(_) => unreachable!("it has no outcome"),
        };
        registry.handle_outcome(now, id, outcome);
    }

    fn answer(&mut self, registry: &mut Registry, now: Instant, which: u8, ok: bool) {
        if self.admissions.is_empty() {
            return;
        }
        let (request, world) = self.admissions.swap_remove(usize::from(which) % self.admissions.len());
        let outcome = if ok && self.stepped.contains(&world) {
            let n = self.occupants.entry(world).or_default();
            *n += 1;
            self.n_admitted += 1;
            self.last_admission.insert(world, self.n_admitted);
            Ok(OccupantCount { n: *n, as_of: AdmissionNumber(self.n_admitted) })
        } else {
            Err(failed("elsewhere"))
        };
        registry.handle_notice(now, GatewayNotice::Admission { request, outcome });
    }

    fn leave(&mut self, registry: &mut Registry, now: Instant, which: u8) {
        let occupied: Vec<WorldId> =
            self.occupants.iter().filter(|(_, n)| **n > 0).map(|(&world, _)| world).collect();
        if occupied.is_empty() {
            return;
        }
        let world = occupied[usize::from(which) % occupied.len()];
        let n = self.occupants.get_mut(&world).expect("listed above");
        *n -= 1;
        let count = OccupantCount { n: *n, as_of: AdmissionNumber(self.n_admitted) };
        registry.handle_notice(now, GatewayNotice::Occupants { world, count });
    }

    /// A count from before a world's last admission arrives: then the world was empty.
    fn count_late(&self, registry: &mut Registry, now: Instant, which: u8) {
        if let Some((&world, &last)) = self.last_admission.iter().nth(usize::from(which) % 4) {
            let count = OccupantCount { n: 0, as_of: AdmissionNumber(last - 1) };
            registry.handle_notice(now, GatewayNotice::Occupants { world, count });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Every request has exactly one reply, no world is suspended under a visitor, existing instances are those whose rows exist, and at
    /// the end nothing is reserved.
    #[test]
    fn every_run_keeps_the_invariants_and_comes_to_rest(steps in proptest::collection::vec(step(), 1..120)) {
        let mut registry = registry();
        let mut model = Model::default();
        let mut now = at(0);
        let mut n_requests = 0;
        for step in steps {
            let id = |n: u8| Uuid::from_u128(u128::from(n) + 1);
            let owner = |n: u8| Some(ids::AgentId(Uuid::from_u128(u128::from(n % 4) + 100)));
            let request = match step {
                Step::Open(n, owned) => {
                    let owner = owner(n).filter(|_| owned);
                    Some(InstanceRequest::Open(NewInstance { owner, ..new(u128::from(n) + 1) }))
                }
                Step::Enter(n) => Some(enter(u128::from(n) + 1)),
                Step::EnterOwn(n) => {
                    let new = NewInstance { owner: owner(n), ..new(u128::from(n_requests) + 1_000) };
                    Some(InstanceRequest::EnterOwn { new, visitor: visitor(u64::from(n)) })
                }
                Step::Suspend(n) => Some(InstanceRequest::Suspend(id(n))),
                Step::Resume(n) => Some(InstanceRequest::Resume(id(n))),
                Step::End(n) => Some(InstanceRequest::End(id(n))),
                Step::Job(which, ok) => { model.end_job(&mut registry, now, which, ok); None }
                Step::Admission(which, ok) => { model.answer(&mut registry, now, which, ok); None }
                Step::Leave(which) => { model.leave(&mut registry, now, which); None }
                Step::LateCount(which) => { model.count_late(&mut registry, now, which); None }
                Step::Pass(s) => {
                    now += Duration::from_secs(s.into());
                    registry.handle_timeout(now);
                    None
                }
                Step::Memory(worlds) => {
                    let resident_bytes = model.stepped.len() as u64 * HALL_BYTES;
                    let allowed_bytes = worlds.map(|n| u64::from(n) * HALL_BYTES);
                    let sample = NodeSample { resident_bytes, allowed_bytes, ..NodeSample::default() };
                    registry.record_sample(now, &sample);
                    None
                }
            };
            if let Some(request) = request {
                registry.handle_request(now, RequestId(n_requests), request);
                n_requests += 1;
            }
            model.drain(&mut registry);
        }
        // Healing: jobs succeed, visitors leave, memory is free.
        registry.record_sample(now, &NodeSample::default());
        model.drain(&mut registry);
        while !(model.jobs.is_empty() && model.admissions.is_empty()) {
            model.end_job(&mut registry, now, 0, true);
            model.drain(&mut registry);
            model.answer(&mut registry, now, 0, true);
            model.drain(&mut registry);
            model.leave(&mut registry, now, 0);
            model.drain(&mut registry);
        }
        prop_assert_eq!(model.replies.len() as u64, n_requests, "a request has no reply");
        let existing: BTreeSet<Uuid> = registry.summaries().map(|summary| summary.row.id).collect();
        prop_assert_eq!(&existing, &model.rows);
        prop_assert!(registry.summaries().all(|summary| matches!(summary.phase, "active" | "suspended")));
        while model.occupants.values().any(|&n| n > 0) {
            model.leave(&mut registry, now, 0);
            model.drain(&mut registry);
        }
        for _ in 0..4 {
            now += Duration::from_secs(20);
            registry.handle_timeout(now);
            model.drain(&mut registry);
            while !model.jobs.is_empty() {
                model.end_job(&mut registry, now, 0, true);
                model.drain(&mut registry);
            }
        }
        prop_assert_eq!(registry.counts().1, 0, "an empty instance is suspended");
        prop_assert_eq!(registry.unsaved().count(), 0);
        (0..3).for_each(|_| registry.record_sample(now, &NodeSample::default()));
        prop_assert_eq!(registry.capacity().reserved_bytes(), 0, "a reservation has not ended");
    }
}
