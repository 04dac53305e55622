//! The coordinator with a gateway and a workplace that do what the test says.

use super::*;
use crate::local_ids::LocalIdSpace;
use crate::registry::{NewInstance, RegistryConfig, SuspendOutcome};
use ids::{AgentId, SessionKey, Uuid};
use link::{CircuitKey, HostNumber};

const HALL: &str = "Hall";
/// World of the avatars that walk into portals.
const SQUARE: WorldId = WorldId(3);

fn coordinator(active_max: usize) -> Coordinator {
    let config = RegistryConfig {
        instances_max: 6,
        active_max,
        suspend_after: Duration::from_secs(5),
        host: HostNumber(1),
        local_ids: LocalIdSpace { first: 1_000, end: 1_400, block: 50 },
        portal_max: 4,
        per_user_max: 0,
        unix_start_s: 1_700_000_000,
    };
    let facts = TemplateFacts { name: HALL.into(), n_local_ids: 10, n_npcs: 0, keep: None };
    Coordinator::new(Registry::new(config, vec![facts]))
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn open(n: u128) -> InstanceRequest {
    let new =
        NewInstance { id: id(n), template: HALL.into(), name: None, owner: None, created_s: 0, maker: None };
    InstanceRequest::Open(new)
}

fn enter(n: u128) -> InstanceRequest {
    let visitor = Visitor { session: SessionKey(1), ticket: None, from: None };
    InstanceRequest::Enter { instance: id(n), visitor, position: None }
}

fn circuit() -> CircuitKey {
    CircuitKey { session: SessionKey(7), ticket: 2 }
}

fn portal() -> TravelOrder {
    TravelOrder::EnterOwn { circuit: circuit(), world: SQUARE, agent: AgentId(id(70)), template: HALL.into() }
}

/// A node whose jobs succeed when the test says so, and whose gateway answers at once.
struct Node {
    coordinator: Coordinator,
    now: Instant,
    next_request: u64,
    check: Result<(), PassageRefusal>,
    admission: Result<(), PassageRefusal>,
    occupants: BTreeMap<WorldId, usize>,
    n_admitted: u64,
    counts_fail: bool,
    /// Outputs since the last look, answers of the gateway left out.
    outputs: Vec<CoordinatorOutput>,
}

impl Node {
    fn new(active_max: usize) -> Self {
        Self {
            coordinator: coordinator(active_max),
            now: at(0),
            next_request: 0,
            check: Ok(()),
            admission: Ok(()),
            occupants: BTreeMap::new(),
            n_admitted: 0,
            counts_fail: false,
            outputs: Vec::new(),
        }
    }

    fn number(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    fn ask(&mut self, request: InstanceRequest) -> RequestId {
        let number = self.number();
        self.coordinator.handle_request(self.now, number, request);
        self.drain();
        number
    }

    fn travel(&mut self, order: TravelOrder) -> RequestId {
        let number = self.number();
        self.coordinator.handle_travel_order(number, order, id(99), 5);
        self.drain();
        number
    }

    fn drain(&mut self) {
        let now = self.now;
        while let Some(output) = self.coordinator.poll_output() {
            match &output {
                CoordinatorOutput::Check(number, visitor) => {
                    assert_eq!((visitor.session, visitor.ticket), (circuit().session, Some(2)));
                    self.coordinator.handle_check(now, *number, self.check);
                }
                CoordinatorOutput::TakeCensus if self.counts_fail => {
                    self.coordinator.handle_failed_census(now);
                }
                CoordinatorOutput::TakeCensus => {
                    let as_of = AdmissionNumber(self.n_admitted);
                    self.coordinator.handle_census(now, as_of, &self.occupants);
                }
                &CoordinatorOutput::Order(GatewayOrder::Admit { request, world, .. }) => {
                    let outcome = self.admission.map(|()| {
                        let n = self.occupants.entry(world).or_default();
                        *n += 1;
                        self.n_admitted += 1;
                        let occupants =
                            OccupantCount { n: *n as u32, as_of: AdmissionNumber(self.n_admitted) };
                        Admitted { passage: Passage::Switched, occupants }
                    });
                    self.coordinator.handle_admission(now, request, outcome);
                }
                _ => {}
            }
            self.outputs.push(output);
        }
    }

    /// Ends the jobs among the outputs successfully.
    fn work(&mut self) {
        while let Some(n) = self.outputs.iter().position(|one| matches!(one, CoordinatorOutput::Job(..))) {
            let CoordinatorOutput::Job(job, work) = self.outputs.remove(n) else { unreachable!() };
            let outcome = match work {
                Job::WriteRow(_) => JobOutcome::RowWritten(Ok(())),
                Job::DeleteRow(_) => JobOutcome::RowDeleted(Ok(())),
                Job::Start { .. } => JobOutcome::Started(Ok(None)),
                Job::Suspend(targets) => JobOutcome::Suspended(
                    targets.iter().map(|target| (target.world, SuspendOutcome::Saved(None))).collect(),
                ),
                Job::SaveState(_) => JobOutcome::StateSaved(Ok(())),
                Job::NoteVisits(_) => JobOutcome::VisitsNoted(true),
                Job::Remove(_) => continue,
            };
            self.coordinator.handle_outcome(self.now, job, outcome);
            self.drain();
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.coordinator.handle_timeout(self.now);
        self.drain();
    }

    /// The answer of the only request that has one.
    fn reply(&mut self) -> Result<Granted, RequestRefusal> {
        let outputs = std::mem::take(&mut self.outputs);
        let mut replies = outputs.into_iter().filter_map(|output| match output {
            CoordinatorOutput::Reply(_, answer) => Some(answer),
            _ => None,
        });
        let reply = replies.next().expect("one reply");
        assert_eq!(replies.next(), None);
        reply
    }

    fn done(&mut self, request: InstanceRequest) -> Result<Granted, RequestRefusal> {
        self.outputs.clear();
        self.ask(request);
        self.work();
        self.reply()
    }

    /// Ends of travel orders since the last look: the reason that the user gets, if it is refused.
    fn ended(&mut self) -> Vec<Option<Arc<str>>> {
        std::mem::take(&mut self.outputs)
            .into_iter()
            .filter_map(|output| match output {
                CoordinatorOutput::EndOrder(_) => Some(None),
                CoordinatorOutput::RefuseOrder(_, why) => Some(Some(why)),
                _ => None,
            })
            .collect()
    }

    fn has_jobs(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output, CoordinatorOutput::Job(..)))
    }
}

#[test]
fn a_travel_order_creates_the_instance_and_ends_with_the_admission() {
    let mut node = Node::new(3);
    node.travel(portal());
    node.work();
    assert_eq!(node.ended(), [None]);
    let row = node.coordinator.registry().summary(id(99)).expect("it was created").row;
    assert_eq!((row.owner, row.created_s), (Some(AgentId(id(70))), 5));
    assert_eq!(node.coordinator.n_pending(), 0);
}

#[test]
fn no_world_is_created_for_a_void_order_and_its_user_gets_no_message() {
    for why in [PassageRefusal::Elsewhere, PassageRefusal::NotHere, PassageRefusal::OnItsWay] {
        let mut node = Node::new(3);
        node.check = Err(why);
        node.travel(portal());
        assert!(!node.has_jobs(), "{why}");
        assert_eq!(node.ended(), [None], "{why}");
    }
}

#[test]
fn a_guest_on_another_way_is_told_why_the_invitation_leads_nowhere() {
    let mut node = Node::new(3);
    node.check = Err(PassageRefusal::OnItsWay);
    node.travel(TravelOrder::Enter { circuit: circuit(), world: WorldId(9), position: glam::Vec3::X });
    assert_eq!(node.ended(), [Some(PassageRefusal::OnItsWay.to_string().into())]);
}

#[test]
fn a_refused_portal_order_reports_its_reason() {
    let mut node = Node::new(3);
    node.admission = Err(PassageRefusal::Full);
    node.travel(portal());
    node.work();
    assert_eq!(node.ended(), [Some(PassageRefusal::Full.to_string().into())]);
    let gone = TravelOrder::Enter { circuit: circuit(), world: WorldId(9), position: glam::Vec3::X };
    node.travel(gone);
    assert_eq!(node.ended(), [Some(InstanceRefusal::Ended.to_string().into())]);
}

#[test]
fn a_program_gets_the_passage_or_the_gateways_own_reason() {
    let mut node = Node::new(3);
    node.done(open(1)).expect("room");
    let granted = node.done(enter(1)).expect("admitted");
    assert_eq!((granted.reply, granted.passage), (InstanceReply::Admitted(id(1)), Some(Passage::Switched)));
    node.admission = Err(PassageRefusal::Full);
    assert_eq!(node.done(enter(1)), Err(RequestRefusal::Passage(PassageRefusal::Full)));
}

/// Two slots are in use. The visitor of one of them has left since the last census.
#[test]
fn a_request_that_needs_room_is_handled_after_a_census() {
    let mut node = Node::new(2);
    for n in [1, 2] {
        node.done(open(n)).expect("room");
        node.done(enter(n)).expect("admitted");
    }
    let world = node.coordinator.registry().summary(id(1)).expect("known").world;
    node.now += CENSUS_AGE;
    node.done(open(3)).expect("it is created, suspended");
    node.occupants.remove(&world);
    node.now += CENSUS_AGE;
    node.outputs.clear();
    node.ask(InstanceRequest::Resume(id(3)));
    assert_eq!(node.outputs.first(), Some(&CoordinatorOutput::TakeCensus), "{:?}", node.outputs);
    node.work();
    assert_eq!(node.reply().map(|granted| granted.reply), Ok(InstanceReply::Active(id(3))));
    assert_eq!(node.coordinator.registry().summary(id(1)).expect("known").phase, "suspended");
}

#[test]
fn requests_wait_for_a_census_in_order_and_are_refused_if_it_fails() {
    let mut node = Node::new(2);
    node.done(open(1)).expect("room");
    let (suspend, resume) = (InstanceRequest::Suspend(id(1)), InstanceRequest::Resume(id(1)));
    node.coordinator.handle_request(node.now, RequestId(100), suspend.clone());
    node.coordinator.handle_request(node.now, RequestId(101), resume);
    assert_eq!(node.coordinator.poll_output(), Some(CoordinatorOutput::TakeCensus));
    assert_eq!(node.coordinator.poll_output(), None, "both wait");
    node.coordinator.handle_timeout(node.now + CENSUS_PERIOD);
    assert_eq!(node.coordinator.poll_output(), None, "one census at a time");
    node.coordinator.handle_census(node.now, AdmissionNumber(0), &BTreeMap::new());
    node.drain();
    node.work();
    let answers: Vec<_> = node
        .outputs
        .iter()
        .filter_map(|output| match output {
            CoordinatorOutput::Reply(number, Ok(granted)) => Some((number.0, granted.reply)),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [(100, InstanceReply::Suspended(id(1))), (101, InstanceReply::Active(id(1)))]);

    node.counts_fail = true;
    let failed = RequestRefusal::Instance(InstanceRefusal::Failed(FAILED.into()));
    assert_eq!(node.done(suspend), Err(failed));
    assert_eq!(node.coordinator.n_pending(), 0);
}

#[test]
fn a_census_is_taken_with_each_period_before_the_registrys_timeout() {
    let mut node = Node::new(2);
    node.done(open(1)).expect("room");
    node.done(enter(1)).expect("admitted");
    node.pass(5_000);
    node.occupants.clear();
    node.outputs.clear();
    node.pass(100);
    assert!(node.outputs.is_empty(), "the last census is not old enough: {:?}", node.outputs);
    node.pass(600);
    assert_eq!(node.outputs.first(), Some(&CoordinatorOutput::TakeCensus));
    assert!(
        matches!(node.outputs[1..], [CoordinatorOutput::Job(_, Job::SaveState(_))]),
        "the visitor has left: {:?}",
        node.outputs
    );
    assert_eq!(node.coordinator.poll_timeout(), node.now + Registry::TIMEOUT_PERIOD);
}

#[test]
fn a_stop_is_answered_once_after_all_is_suspended() {
    let mut node = Node::new(3);
    node.done(open(1)).expect("room");
    node.done(enter(1)).expect("admitted");
    node.outputs.clear();
    node.coordinator.begin_stop(node.now);
    node.drain();
    assert!(matches!(node.outputs[..], [CoordinatorOutput::Job(_, Job::Suspend(_))]), "{:?}", node.outputs);
    node.work();
    assert_eq!(node.outputs, [CoordinatorOutput::Stopped(Vec::new())]);
    node.outputs.clear();
    node.pass(100);
    assert!(!node.outputs.iter().any(|output| matches!(output, CoordinatorOutput::Stopped(_))));
    assert_eq!(node.done(open(2)), Err(RequestRefusal::Instance(InstanceRefusal::Stopping)));
}

#[test]
fn the_time_of_a_resumption_counts_from_its_request() {
    let mut node = Node::new(3);
    node.done(open(1)).expect("room");
    node.done(InstanceRequest::Suspend(id(1))).expect("empty");
    node.outputs.clear();
    node.ask(enter(1));
    node.now += Duration::from_millis(40);
    node.work();
    assert!(node.outputs.contains(&CoordinatorOutput::Resumed(Duration::from_millis(40))));
}

#[test]
fn an_abandoned_request_is_answered_once_and_its_late_reply_ignored() {
    let mut node = Node::new(3);
    let number = node.ask(open(1));
    assert!(node.coordinator.abandon(number) && !node.coordinator.abandon(number));
    node.drain();
    node.work();
    let failed = InstanceRefusal::Failed(FAILED.into());
    assert_eq!(node.reply(), Err(RequestRefusal::Instance(failed.clone())));
    assert_eq!(node.coordinator.registry().counts().0, 1, "the registry has gone on");

    let number = node.number();
    node.coordinator.handle_travel_order(number, portal(), id(99), 5);
    assert_eq!(
        node.coordinator.poll_output().map(|output| matches!(output, CoordinatorOutput::Check(..))),
        Some(true)
    );
    assert!(node.coordinator.abandon(number));
    node.drain();
    assert_eq!(node.ended(), [Some(failed.to_string().into())]);
}

#[test]
#[should_panic(expected = "its number has no answer yet")]
fn a_number_is_not_used_twice_before_its_answer() {
    let mut node = Node::new(3);
    let number = node.ask(open(1));
    node.coordinator.handle_request(node.now, number, open(2));
}
