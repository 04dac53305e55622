//! The `instances` thread: the one owner of the registry ([`host::registry`]).
//!
//! Everything else talks to it by mail: requests of the API and of portals, ends of jobs, measurements, questions. After each message
//! it hands out the registry's output: jobs to the workplace, orders to the hub, replies to waiting callers. It holds no lock
//! meanwhile, and waits for nothing but the hub's lock.
//!
//! Occupancy: nothing but an admission brings a session into an instance, and admissions are made here. So a census of the hub that is
//! taken here misses none: the registry gets it before anything else happens.

use super::admissions::{InstanceGateway, TakeOrder};
use super::figures::RegistryFigures;
use super::mail::{Answer, Granted, InstanceMail, InstanceSender};
use super::workplace::{InstanceWorkplace, QueuedJob};
use super::{Refusal, random_id};
use crate::Clock;
use crossbeam_channel::Sender as JobSender;
use host::registry::{
    GatewayNotice, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, Job, JobId, JobOutcome,
    NewInstance, OccupantCount, Registry, RequestId, Visitor,
};
use ids::{Instant, WorldId};
use link::{Passage, PassageRefusal, TravelOrder};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, SyncSender, TrySendError, channel};
use std::time::Duration;
use telemetry::recorder::{Recorder, Scope, frame_end};
use telemetry::{Counter, Metrics, Timing};

/// Waiting orders of the hub; a user whose order finds no room gets a message to try again.
pub(super) const ORDERS_MAX: usize = 1_024;
/// Messages handled before the registry's timeouts get their turn.
const BATCH: usize = 256;
/// Period of the census of sessions.
const CENSUS_PERIOD: Duration = Duration::from_millis(700);
/// Minimum age of a census that is repeated because a request needs room.
const CENSUS_AGE: Duration = Duration::from_millis(10);

/// One turn of the thread, with all that it hands out.
static TURN: Scope = Scope::new("instances.turn").limit_us(500_000);

/// The thread's mailbox. Not bounded by itself: requests come from at most 512 blocking threads of HTTP, each of which waits for its answer;
/// jobs are at most two per instance; orders are counted.
pub struct InstanceMailbox {
    pub(super) sender: InstanceSender,
    pub(super) mail: Receiver<InstanceMail>,
    n_orders: Arc<AtomicUsize>,
}

impl InstanceMailbox {
    /// An empty mailbox.
    pub fn new() -> Self {
        let (sender, mail) = channel();
        Self { sender, mail, n_orders: Arc::default() }
    }

    /// Takes orders of the hub, without waiting.
    pub fn take_orders(&self) -> TakeOrder {
        let (sender, n_orders) = (self.sender.clone(), Arc::clone(&self.n_orders));
        Box::new(move |order| {
            if n_orders.fetch_add(1, Ordering::Relaxed) >= ORDERS_MAX {
                n_orders.fetch_sub(1, Ordering::Relaxed);
                return Err(TrySendError::Full(order));
            }
            sender.send(InstanceMail::Order(order)).map_err(|SendError(mail)| match mail {
                InstanceMail::Order(order) => TrySendError::Disconnected(order),
                _ => unreachable!("the order that was sent"),
            })
        })
    }
}

impl Default for InstanceMailbox {
    fn default() -> Self {
        Self::new()
    }
}

/// Sender of a request.
enum RequestOrigin {
    Program(SyncSender<Answer>),
    Portal(TravelOrder),
}

/// A request without a reply yet.
struct PendingRequest {
    asker: RequestOrigin,
    asked_at: Instant,
    /// As the hub has answered the admission.
    admission: Option<Result<Passage, PassageRefusal>>,
}

/// Parts of the driver.
pub(super) struct DriverParts<'a> {
    pub(super) registry: Registry,
    pub(super) gateway: Arc<dyn InstanceGateway>,
    pub(super) workplace: Arc<InstanceWorkplace>,
    pub(super) jobs: JobSender<QueuedJob>,
    pub(super) mailbox: InstanceMailbox,
    pub(super) clock: Clock,
    pub(super) unix_start_s: u64,
    pub(super) figures: RegistryFigures,
    pub(super) metrics: &'a Metrics,
}

/// See the module.
pub(super) struct Driver {
    registry: Registry,
    gateway: Arc<dyn InstanceGateway>,
    workplace: Arc<InstanceWorkplace>,
    jobs: JobSender<QueuedJob>,
    mailbox: InstanceMailbox,
    clock: Clock,
    unix_start_s: u64,
    figures: RegistryFigures,
    resumed: [Counter; 2],
    resume_time: [Timing; 2],
    pending: BTreeMap<RequestId, PendingRequest>,
    /// Starts under way, with the time at which the instance was wanted.
    starts: BTreeMap<JobId, Instant>,
    next_request: u64,
    next_timeout: Instant,
    census_at: Instant,
    next_check: Instant,
    stop: Option<SyncSender<usize>>,
}

impl Driver {
    pub(super) fn new(parts: DriverParts<'_>) -> Self {
        let counter = |name| parts.metrics.counter(name, "Times that a suspended instance was resumed.", &[]);
        let timing = |name| {
            let help = "Time from when a suspended instance was wanted until it was in the pool.";
            parts.metrics.timing(name, help, &[])
        };
        Self {
            registry: parts.registry,
            gateway: parts.gateway,
            workplace: parts.workplace,
            jobs: parts.jobs,
            mailbox: parts.mailbox,
            clock: parts.clock,
            unix_start_s: parts.unix_start_s,
            figures: parts.figures,
            // The second name of each is the former one, and will be removed in the next version.
            resumed: ["throng_instances_resumed_total", "throng_instances_woken_total"].map(counter),
            resume_time: ["throng_instance_resume_seconds", "throng_instance_wake_seconds"].map(timing),
            pending: BTreeMap::new(),
            starts: BTreeMap::new(),
            next_request: 0,
            next_timeout: Instant::ZERO,
            census_at: Instant::ZERO,
            next_check: Instant::ZERO,
            stop: None,
        }
    }

    /// Runs until the end.
    pub(super) fn run(mut self, recorder: Recorder) {
        recorder.thread("instances").install();
        while self.turn() {
            frame_end();
        }
    }

    /// Handles waiting mail and due timeouts; false at the end.
    fn turn(&mut self) -> bool {
        let mut next = match self.mailbox.mail.recv_timeout(self.next_timeout - (self.clock)()) {
            Ok(mail) => Some(mail),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        let _scope = TURN.enter(0);
        for _ in 0..BATCH {
            match next.take() {
                Some(InstanceMail::End) => return false,
                Some(mail) => self.handle(mail),
                None => break,
            }
            next = self.mailbox.mail.try_recv().ok();
        }
        if let Some(mail) = next {
            if matches!(mail, InstanceMail::End) {
                return false;
            }
            self.handle(mail);
        }
        if (self.clock)() >= self.next_timeout {
            let workplace = Arc::clone(&self.workplace);
            workplace.survives("instances", || self.look());
        }
        self.end_stop();
        true
    }

    /// A panic costs the sender of the message, and nothing else.
    fn handle(&mut self, mail: InstanceMail) {
        let request = RequestId(self.next_request);
        let order = match &mail {
            InstanceMail::Order(order) => Some(order.clone()),
            _ => None,
        };
        let workplace = Arc::clone(&self.workplace);
        if workplace.survives("instances", || self.handle_mail(mail)) {
            return;
        }
        let why = "The server has failed. Please try again later.";
        workplace.survives("instances", || match (self.pending.remove(&request), &order) {
            (Some(pending), _) => self.answer(pending, Err(InstanceRefusal::Failed(why.into()))),
            (None, Some(order)) => self.gateway.turn_down(order, why),
            (None, None) => {}
        });
    }

    fn handle_mail(&mut self, mail: InstanceMail) {
        let now = (self.clock)();
        match mail {
            InstanceMail::Request(request, answer) => self.ask(request, RequestOrigin::Program(answer)),
            InstanceMail::Order(order) => {
                self.mailbox.n_orders.fetch_sub(1, Ordering::Relaxed);
                self.on_order(order);
            }
            InstanceMail::Outcome(job, outcome) => self.on_outcome(now, job, outcome),
            InstanceMail::Sample(at, sample) => self.registry.record_sample(at, &sample),
            InstanceMail::TemplateChanged(facts) => self.registry.update_template(facts),
            InstanceMail::Query(ask) => ask(&self.registry),
            InstanceMail::BeginStop(answer) => {
                self.stop = Some(answer);
                self.registry.begin_stop(now);
            }
            InstanceMail::End => {}
        }
        self.drain();
        self.figures.export(&self.registry);
    }

    /// Work that is due by the clock.
    fn look(&mut self) {
        let now = (self.clock)();
        self.next_timeout = now + Registry::TIMEOUT_PERIOD;
        if now.since(self.census_at) >= CENSUS_PERIOD {
            self.take_census();
        }
        self.workplace.end_abandoned_starts();
        self.registry.handle_timeout(now);
        self.drain();
        self.figures.export(&self.registry);
        if now >= self.next_check {
            self.next_check = now + Registry::SWEEP_PERIOD;
            self.registry.assert_invariants();
        }
        self.workplace.dispose_casts();
    }

    fn ask(&mut self, request: InstanceRequest, asker: RequestOrigin) {
        let now = (self.clock)();
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.pending.insert(id, PendingRequest { asker, asked_at: now, admission: None });
        let needs_census = match request {
            InstanceRequest::Suspend(_) => true,
            InstanceRequest::End(_) => false,
            _ => self.registry.lacks_room() && now.since(self.census_at) >= CENSUS_AGE,
        };
        if needs_census {
            self.take_census();
        }
        self.registry.handle_request(now, id, request);
    }

    /// Gives the registry the number of sessions in each world in memory.
    fn take_census(&mut self) {
        let (as_of, occupants) = self.gateway.occupants();
        let now = (self.clock)();
        self.census_at = now;
        let worlds: Vec<WorldId> = self.registry.worlds_in_memory().collect();
        for world in worlds {
            let n = occupants.get(&world).copied().unwrap_or(0) as u32;
            let count = OccupantCount { n, as_of };
            self.registry.handle_notice(now, GatewayNotice::Occupants { world, count });
        }
    }

    /// An avatar has walked into a portal, or follows an invitation.
    fn on_order(&mut self, order: TravelOrder) {
        let circuit = order.circuit();
        let from = match &order {
            TravelOrder::EnterOwn { world, .. } => Some(*world),
            TravelOrder::Enter { .. } => None,
        };
        let visitor = Visitor { session: circuit.session, ticket: Some(circuit.ticket), from };
        // No world is created or resumed for an avatar that has gone elsewhere while the order waited.
        if let Err(why) = self.gateway.check(&visitor) {
            return self.end_order(&order, Err(Refusal::Passage(why)));
        }
        let request = match &order {
            TravelOrder::EnterOwn { agent, template, .. } => random_id().map(|id| {
                let created_s = self.unix_now_s();
                let (template, owner) = (template.to_string(), Some(*agent));
                let new = NewInstance { id, template, name: None, owner, created_s, maker: None };
                InstanceRequest::EnterOwn { new, visitor }
            }),
            &TravelOrder::Enter { world, position, .. } => {
                Ok(InstanceRequest::EnterWorld { world, visitor, position })
            }
        };
        match request {
            Ok(request) => self.ask(request, RequestOrigin::Portal(order)),
            Err(why) => self.end_order(&order, Err(why)),
        }
    }

    fn on_outcome(&mut self, now: Instant, job: JobId, outcome: JobOutcome) {
        if let Some(wanted_at) = self.starts.remove(&job)
            && matches!(outcome, JobOutcome::Started(Ok(_)))
        {
            self.resumed.iter().for_each(|counter| counter.increment(1));
            self.resume_time.iter().for_each(|timing| timing.record(now.since(wanted_at)));
        }
        self.registry.handle_outcome(now, job, outcome);
    }

    /// Drains the registry's output.
    fn drain(&mut self) {
        loop {
            if let Some((id, job)) = self.registry.poll_job() {
                if let Job::Start { request: Some(request), .. } = &job {
                    let asked_at = self.pending.get(request).map(|pending| pending.asked_at);
                    self.starts.extend(asked_at.map(|asked_at| (id, asked_at)));
                }
                // Only fails once the threads have ended, which is after the driver.
                let _ = self.jobs.send((id, job));
            } else if let Some(order) = self.registry.poll_order() {
                self.carry_out(order);
            } else if let Some((request, reply)) = self.registry.poll_reply() {
                // Metrics that are read after an answer contain it.
                self.figures.export(&self.registry);
                let pending = self.pending.remove(&request);
                self.answer(pending.expect("a request has one reply"), reply);
            } else {
                return;
            }
        }
    }

    fn carry_out(&mut self, order: GatewayOrder) {
        let now = (self.clock)();
        match order {
            GatewayOrder::Admit { request, world, visitor, position } => {
                // The registry waits for an answer, after a panic, too.
                let workplace = Arc::clone(&self.workplace);
                let mut admitted = Err(PassageRefusal::NotHere);
                let mut occupants = None;
                workplace.survives("instances", || {
                    admitted = self.gateway.admit(now, &visitor, world, position).map(|admitted| {
                        occupants = Some(admitted.occupants);
                        admitted.passage
                    });
                });
                if let Some(pending) = self.pending.get_mut(&request) {
                    pending.admission = Some(admitted);
                }
                let counted = admitted.map_err(|why| why.to_string().into());
                let outcome = counted.map(|_| occupants.expect("an admission counts its visitor"));
                self.registry.handle_notice(now, GatewayNotice::Admission { request, outcome });
            }
            GatewayOrder::Dismiss { request, visitor } => {
                let mut dismissed = Err(PassageRefusal::NotHere);
                let workplace = Arc::clone(&self.workplace);
                workplace.survives("instances", || dismissed = self.gateway.dismiss(now, &visitor));
                if let Some(pending) = self.pending.get_mut(&request) {
                    pending.admission = Some(dismissed);
                }
                let outcome = dismissed.map(drop).map_err(|why| why.to_string().into());
                self.registry.handle_notice(now, GatewayNotice::Dismissal { request, outcome });
            }
            GatewayOrder::Empty { world, reason } => self.gateway.empty(now, world, &reason),
        }
    }

    fn answer(&self, pending: PendingRequest, reply: Result<InstanceReply, InstanceRefusal>) {
        let PendingRequest { asker, admission, .. } = pending;
        let answer = match (reply, admission) {
            (Ok(reply), admission) => Ok(Granted { reply, passage: admission.and_then(Result::ok) }),
            (Err(InstanceRefusal::Passage(_)), Some(Err(why))) => Err(Refusal::Passage(why)),
            (Err(why), _) => Err(Refusal::from(why)),
        };
        match asker {
            // Fails only if the caller has stopped waiting.
            RequestOrigin::Program(waits) => drop(waits.send(answer)),
            RequestOrigin::Portal(order) => self.end_order(&order, answer.map(|_| ())),
        }
    }

    fn end_order(&self, order: &TravelOrder, done: Result<(), Refusal>) {
        let by_portal = matches!(order, TravelOrder::EnterOwn { .. });
        match done {
            Ok(()) => self.gateway.end_order(order),
            // An avatar that is elsewhere has gone on since the order was given; one on its way has, since walking through.
            Err(Refusal::Passage(PassageRefusal::NotHere | PassageRefusal::Elsewhere)) => {
                self.gateway.end_order(order);
            }
            Err(Refusal::Passage(PassageRefusal::OnItsWay)) if by_portal => self.gateway.end_order(order),
            Err(why) => {
                tracing::warn!(?order, %why, "a visitor was not let into an instance");
                self.gateway.turn_down(order, &why.to_string());
            }
        }
    }

    /// Answers the server that stops, once nothing more can be saved.
    fn end_stop(&mut self) {
        if self.stop.is_some() && self.registry.is_stopped() {
            let unsaved: Vec<WorldId> = self.registry.unsaved().collect();
            let n = self.workplace.n_unsaved(&unsaved);
            if let Some(answer) = self.stop.take() {
                let _ = answer.send(n);
            }
        }
    }

    fn unix_now_s(&self) -> i64 {
        (self.unix_start_s + (self.clock)().0 / 1_000_000_000).cast_signed()
    }
}

opaque_debug!(InstanceMailbox);
