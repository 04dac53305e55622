//! The registry with a workplace and a gateway that do what the test says.

mod broken;
mod lifecycle;
mod limits;
mod portals;
mod random;

use super::*;
use crate::capacity::WorkerDemand;
use ids::SessionKey;
use std::collections::BTreeMap;

const HALL: &str = "Hall";
const N_IDS: u32 = 10;
/// World of the first instance.
const FIRST: WorldId = WorldId(1 << 31 | 1 << 20);
/// Expected size of a world of the template before the first creation.
const HALL_BYTES: u64 = 128 * 1024;

const UNIX_START_S: i64 = 1_700_000_000;
const KEEP_S: u64 = 600;

fn config() -> RegistryConfig {
    RegistryConfig {
        instances_max: 6,
        active_max: 3,
        suspend_after: Duration::from_secs(5),
        host: HostNumber(1),
        local_ids: LocalIdSpace { first: 1_000, end: 1_400, block: 50 },
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

    /// The gateway's count of a world's occupants, with the admissions that it includes.
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
