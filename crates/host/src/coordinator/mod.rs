//! Coordinator of instances: carries requests of programs and travel orders of the gateway to the registry, and its output out.
//!
//! A sans-IO state machine with one owner; it owns the [`Registry`]. Inputs: [`Coordinator::handle_request`],
//! [`Coordinator::handle_travel_order`], [`Coordinator::handle_outcome`], answers to its outputs, and [`Coordinator::handle_timeout`] at
//! [`Coordinator::poll_timeout`]. After each input [`Coordinator::poll_output`] is called until it returns nothing. Requests and orders
//! are numbered by the caller, random ids and the time of day are arguments.
//!
//! Travel orders (`orders.rs`): an order is checked with the gateway first, so that no world is created or resumed for an avatar that has gone
//! elsewhere while the order waited. An order that is void ends without a word to its user; a refusal states its reason.
//!
//! Occupancy: only an admission brings a session into an instance. A census that the gateway takes on [`CoordinatorOutput::TakeCensus`] is
//! handled before the requests and the timeout that need it, so that these decide on present counts.

mod orders;
#[cfg(test)]
mod tests;

use crate::capacity::NodeSample;
use crate::registry::{
    GatewayNotice, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, Job, JobId, JobOutcome,
    OccupantCount, Registry, RequestId, TemplateFacts, Visitor,
};
use ids::{Instant, WorldId};
use link::{AdmissionNumber, Passage, PassageRefusal, TravelOrder};
use orders::UncheckedOrder;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Period of the census of sessions.
const CENSUS_PERIOD: Duration = Duration::from_millis(700);
/// Minimum age of a census that is repeated because a request needs room.
const CENSUS_AGE: Duration = Duration::from_millis(10);
/// Text for the sender of a request that is given up after a fault of ours.
pub const FAILED: &str = "The server has failed. Please try again later.";

/// Output for the caller to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorOutput {
    /// Work that takes long. Answered by [`Coordinator::handle_outcome`], except [`Job::Remove`].
    Job(JobId, Job),
    /// Order to the gateway. [`GatewayOrder::Admit`] is answered by [`Coordinator::handle_admission`], [`GatewayOrder::Dismiss`] by
    /// [`Coordinator::handle_dismissal`].
    Order(GatewayOrder),
    /// The gateway checks that an avatar is where its order was given. Answered by [`Coordinator::handle_check`].
    Check(RequestId, Visitor),
    /// The gateway counts the sessions of all worlds. Answered by [`Coordinator::handle_census`].
    TakeCensus,
    /// End of a program's request.
    Reply(RequestId, Result<Granted, RequestRefusal>),
    /// A travel order is done, or void: its user gets no message.
    EndOrder(TravelOrder),
    /// A travel order is refused: its user gets the reason.
    RefuseOrder(TravelOrder, Arc<str>),
    /// An instance was resumed, this long after a request wanted it.
    Resumed(Duration),
    /// The node may stop, once; these worlds have visits that their saved states lack.
    Stopped(Vec<WorldId>),
}

/// A request that has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Reply of the registry.
    pub reply: InstanceReply,
    /// Passage of the visitor, if the request was for one.
    pub passage: Option<Passage>,
}

/// A visitor that the gateway has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Way into the world.
    pub passage: Passage,
    /// Sessions in the world, this one included.
    pub occupants: OccupantCount,
}

/// Failure of a request. The texts are shown to users.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestRefusal {
    /// The registry refuses.
    #[error(transparent)]
    Instance(#[from] InstanceRefusal),
    /// The gateway refuses.
    #[error(transparent)]
    Passage(#[from] PassageRefusal),
}

/// Sender of a request.
#[derive(Clone, Debug)]
enum RequestOrigin {
    Program,
    Traveller(TravelOrder),
}

/// A request without a reply yet.
#[derive(Clone, Debug)]
struct PendingRequest {
    origin: RequestOrigin,
    asked_at: Instant,
    /// As the gateway has answered the admission or dismissal.
    passage: Option<Result<Passage, PassageRefusal>>,
}

/// Input that is handled once the census under way is there.
#[derive(Clone, Debug)]
enum AfterCensus {
    Request(RequestId, InstanceRequest),
    Timeout,
}

/// See the module.
#[derive(Debug)]
pub struct Coordinator {
    registry: Registry,
    pending: BTreeMap<RequestId, PendingRequest>,
    /// Travel orders that the gateway has not checked yet.
    unchecked: BTreeMap<RequestId, UncheckedOrder>,
    /// Requests that were given up and that the registry may answer yet.
    abandoned: BTreeSet<RequestId>,
    /// Starts under way, with the time at which the instance was wanted.
    starts: BTreeMap<JobId, Instant>,
    next_timeout: Instant,
    next_check: Instant,
    census_at: Instant,
    is_counting: bool,
    after_census: VecDeque<AfterCensus>,
    /// A stop was begun, and its end is not reported yet.
    is_stopping: bool,
    outputs: VecDeque<CoordinatorOutput>,
}

impl Coordinator {
    /// A coordinator of these instances.
    #[must_use]
    pub const fn new(registry: Registry) -> Self {
        Self {
            registry,
            pending: BTreeMap::new(),
            unchecked: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            starts: BTreeMap::new(),
            next_timeout: Instant::ZERO,
            next_check: Instant::ZERO,
            census_at: Instant::ZERO,
            is_counting: false,
            after_census: VecDeque::new(),
            is_stopping: false,
            outputs: VecDeque::new(),
        }
    }

    /// The registry, for questions and metrics.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Requests and travel orders without an answer.
    #[must_use]
    pub fn n_pending(&self) -> usize {
        self.pending.len() + self.unchecked.len()
    }

    /// Time of the next [`Self::handle_timeout`].
    #[must_use]
    pub const fn poll_timeout(&self) -> Instant {
        self.next_timeout
    }

    /// Takes in a request of a program, answered by one [`CoordinatorOutput::Reply`].
    ///
    /// # Panics
    /// If a request or order with this number has no answer yet.
    pub fn handle_request(&mut self, now: Instant, id: RequestId, request: InstanceRequest) {
        self.ask(now, id, request, RequestOrigin::Program);
    }

    /// Takes in the end of a job.
    ///
    /// # Panics
    /// As [`Registry::handle_outcome`].
    pub fn handle_outcome(&mut self, now: Instant, job: JobId, outcome: JobOutcome) {
        if let Some(wanted_at) = self.starts.remove(&job)
            && matches!(outcome, JobOutcome::Started(Ok(_)))
        {
            self.outputs.push_back(CoordinatorOutput::Resumed(now.since(wanted_at)));
        }
        self.registry.handle_outcome(now, job, outcome);
    }

    /// Answer to [`GatewayOrder::Admit`].
    pub fn handle_admission(
        &mut self,
        now: Instant,
        request: RequestId,
        outcome: Result<Admitted, PassageRefusal>,
    ) {
        self.note_passage(request, outcome.map(|admitted| admitted.passage));
        let outcome = outcome.map(|admitted| admitted.occupants).map_err(|why| why.to_string().into());
        self.registry.handle_notice(now, GatewayNotice::Admission { request, outcome });
    }

    /// Answer to [`GatewayOrder::Dismiss`].
    pub fn handle_dismissal(
        &mut self,
        now: Instant,
        request: RequestId,
        outcome: Result<Passage, PassageRefusal>,
    ) {
        self.note_passage(request, outcome);
        let outcome = outcome.map(drop).map_err(|why| why.to_string().into());
        self.registry.handle_notice(now, GatewayNotice::Dismissal { request, outcome });
    }

    fn note_passage(&mut self, request: RequestId, passage: Result<Passage, PassageRefusal>) {
        if let Some(pending) = self.pending.get_mut(&request) {
            pending.passage = Some(passage);
        }
    }

    /// Answer to [`CoordinatorOutput::TakeCensus`]: the sessions of each world that has any, after the admission with this number.
    pub fn handle_census(
        &mut self,
        now: Instant,
        as_of: AdmissionNumber,
        occupants: &BTreeMap<WorldId, usize>,
    ) {
        self.census_at = now;
        self.is_counting = false;
        let worlds: Vec<WorldId> = self.registry.worlds_in_memory().collect();
        for world in worlds {
            let n = occupants.get(&world).map_or(0, |&n| u32::try_from(n).unwrap_or(u32::MAX));
            let count = OccupantCount { n, as_of };
            self.registry.handle_notice(now, GatewayNotice::Occupants { world, count });
        }
        // One by one: after a panic in one of them the next census continues with the others.
        for _ in 0..self.after_census.len() {
            let Some(next) = self.after_census.pop_front() else { return };
            match next {
                AfterCensus::Request(id, request) => self.registry.handle_request(now, id, request),
                AfterCensus::Timeout => self.pass_time(now),
            }
        }
    }

    /// The census could not be taken: the requests that wait for it are refused.
    pub fn handle_failed_census(&mut self, now: Instant) {
        self.is_counting = false;
        for _ in 0..self.after_census.len() {
            let Some(next) = self.after_census.pop_front() else { return };
            match next {
                AfterCensus::Request(id, _) => self.answer(id, Err(InstanceRefusal::Failed(FAILED.into()))),
                AfterCensus::Timeout => self.pass_time(now),
            }
        }
    }

    /// Takes in the measurements of one second.
    pub fn record_sample(&mut self, now: Instant, sample: &NodeSample) {
        self.registry.record_sample(now, sample);
    }

    /// Replaces the facts of a template after a hot reload.
    pub fn update_template(&mut self, facts: TemplateFacts) {
        self.registry.update_template(facts);
    }

    /// Refuses waiting and later requests and suspends every instance. Ends with one [`CoordinatorOutput::Stopped`].
    pub fn begin_stop(&mut self, now: Instant) {
        self.is_stopping = true;
        self.registry.begin_stop(now);
    }

    /// Work that is due by the clock, once it is [`Self::poll_timeout`].
    ///
    /// # Panics
    /// Every [`Registry::SWEEP_PERIOD`], if the registry contradicts itself.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.next_timeout = now + Registry::TIMEOUT_PERIOD;
        if now.since(self.census_at) >= CENSUS_PERIOD {
            self.take_census();
        }
        if !self.is_counting {
            self.pass_time(now);
        } else if !self.after_census.iter().any(|next| matches!(next, AfterCensus::Timeout)) {
            self.after_census.push_back(AfterCensus::Timeout);
        }
    }

    /// Gives a request or order up after a panic on its way, and notifies its sender. False if it has no number here, or was answered.
    pub fn abandon(&mut self, id: RequestId) -> bool {
        let why = || InstanceRefusal::Failed(FAILED.into());
        if let Some(UncheckedOrder { order, .. }) = self.unchecked.remove(&id) {
            self.end_order(order, Err(why().into()));
            return true;
        }
        if !self.pending.contains_key(&id) {
            return false;
        }
        let n_before = self.after_census.len();
        self.after_census.retain(|next| !matches!(next, AfterCensus::Request(known, _) if *known == id));
        self.answer(id, Err(why()));
        if self.after_census.len() == n_before {
            self.abandoned.insert(id);
        }
        true
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<CoordinatorOutput> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if let Some((id, job)) = self.registry.poll_job() {
                if let Job::Start { request: Some(request), .. } = &job {
                    let asked_at = self.pending.get(request).map(|pending| pending.asked_at);
                    self.starts.extend(asked_at.map(|asked_at| (id, asked_at)));
                }
                return Some(CoordinatorOutput::Job(id, job));
            }
            if let Some(order) = self.registry.poll_order() {
                return Some(CoordinatorOutput::Order(order));
            }
            let Some((request, reply)) = self.registry.poll_reply() else { break };
            if !self.abandoned.remove(&request) {
                self.answer(request, reply);
            }
        }
        if !(self.is_stopping && self.registry.is_stopped()) {
            return None;
        }
        self.is_stopping = false;
        Some(CoordinatorOutput::Stopped(self.registry.unsaved().collect()))
    }

    fn ask(&mut self, now: Instant, id: RequestId, request: InstanceRequest, origin: RequestOrigin) {
        let former = self.pending.insert(id, PendingRequest { origin, asked_at: now, passage: None });
        assert!(former.is_none(), "its number has no answer yet: request {}", id.0);
        let needs_census = match request {
            InstanceRequest::Suspend(_) => true,
            InstanceRequest::End(_) => false,
            _ => self.registry.lacks_room() && now.since(self.census_at) >= CENSUS_AGE,
        };
        if needs_census {
            self.take_census();
        }
        if self.is_counting {
            self.after_census.push_back(AfterCensus::Request(id, request));
        } else {
            self.registry.handle_request(now, id, request);
        }
    }

    fn take_census(&mut self) {
        if !std::mem::replace(&mut self.is_counting, true) {
            self.outputs.push_back(CoordinatorOutput::TakeCensus);
        }
    }

    fn pass_time(&mut self, now: Instant) {
        self.registry.handle_timeout(now);
        if now >= self.next_check {
            self.next_check = now + Registry::SWEEP_PERIOD;
            self.registry.assert_invariants();
        }
    }

    fn answer(&mut self, id: RequestId, reply: Result<InstanceReply, InstanceRefusal>) {
        let pending = self.pending.remove(&id).expect("a request has one reply");
        let PendingRequest { origin, passage, .. } = pending;
        let answer = match (reply, passage) {
            (Ok(reply), passage) => Ok(Granted { reply, passage: passage.and_then(Result::ok) }),
            (Err(InstanceRefusal::Passage(_)), Some(Err(why))) => Err(RequestRefusal::Passage(why)),
            (Err(why), _) => Err(RequestRefusal::Instance(why)),
        };
        match origin {
            RequestOrigin::Program => self.outputs.push_back(CoordinatorOutput::Reply(id, answer)),
            RequestOrigin::Traveller(order) => self.end_order(order, answer.map(drop)),
        }
    }
}
