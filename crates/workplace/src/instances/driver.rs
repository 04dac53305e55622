//! The `instances` thread: the one owner of the coordinator ([`host::coordinator`]) and its registry.
//!
//! Everything else talks to it by mail: requests of the API and of portals, ends of jobs, measurements, questions. After each message
//! it carries the coordinator's output out: jobs go to the workplace, orders, checks and the census to the hub, replies to waiting callers. It
//! holds no lock meanwhile, and waits for nothing but the hub's lock.

use super::admissions::{InstanceGateway, TakeOrder};
use super::figures::RegistryFigures;
use super::mail::{Answer, InstanceMail, InstanceSender};
use super::workplace::{InstanceWorkplace, QueuedJob};
use super::{Refusal, random_id};
use crate::Clock;
use crossbeam_channel::Sender as JobSender;
use host::coordinator::{Coordinator, CoordinatorOutput, FAILED};
use host::registry::{GatewayOrder, Registry, RequestId, Visitor};
use ids::WorldId;
use link::{PassageRefusal, TravelOrder};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, SyncSender, TrySendError, channel};
use telemetry::recorder::{Recorder, Scope, frame_end};
use telemetry::{Counter, Metrics, Timing};

/// Waiting orders of the hub; a user whose order finds no room gets a message to try again.
pub(super) const ORDERS_MAX: usize = 1_024;
/// Messages handled before the coordinator's timeouts get their turn.
const BATCH: usize = 256;

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
    coordinator: Coordinator,
    gateway: Arc<dyn InstanceGateway>,
    workplace: Arc<InstanceWorkplace>,
    jobs: JobSender<QueuedJob>,
    mailbox: InstanceMailbox,
    clock: Clock,
    unix_start_s: u64,
    figures: RegistryFigures,
    resumed: [Counter; 2],
    resume_time: [Timing; 2],
    /// Number of the next request or order.
    next_request: u64,
    /// Callers that wait for a reply.
    callers: BTreeMap<RequestId, SyncSender<Answer>>,
    /// The server, once it stops.
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
            coordinator: Coordinator::new(parts.registry),
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
            next_request: 0,
            callers: BTreeMap::new(),
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
        let mut next = match self.mailbox.mail.recv_timeout(self.coordinator.poll_timeout() - (self.clock)())
        {
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
        if (self.clock)() >= self.coordinator.poll_timeout() {
            let workplace = Arc::clone(&self.workplace);
            workplace.survives("instances", || self.look());
        }
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
        workplace.survives("instances", || {
            if self.coordinator.abandon(request) {
                self.drain();
            } else if let Some(order) = &order {
                self.gateway.turn_down(order, FAILED);
            }
        });
        self.callers.remove(&request);
    }

    fn handle_mail(&mut self, mail: InstanceMail) {
        let now = (self.clock)();
        match mail {
            InstanceMail::Request(request, answer) => {
                let id = self.number();
                self.callers.insert(id, answer);
                self.coordinator.handle_request(now, id, request);
            }
            InstanceMail::Order(order) => {
                self.mailbox.n_orders.fetch_sub(1, Ordering::Relaxed);
                let id = self.number();
                match random_id() {
                    Ok(new) => self.coordinator.handle_travel_order(id, order, new, self.unix_now_s()),
                    Err(why) => self.refuse_order(&order, &why.to_string()),
                }
            }
            InstanceMail::Outcome(job, outcome) => self.coordinator.handle_outcome(now, job, outcome),
            InstanceMail::Sample(at, sample) => self.coordinator.record_sample(at, &sample),
            InstanceMail::TemplateChanged(facts) => self.coordinator.update_template(facts),
            InstanceMail::Query(ask) => ask(self.coordinator.registry()),
            InstanceMail::BeginStop(answer) => {
                self.stop = Some(answer);
                self.coordinator.begin_stop(now);
            }
            InstanceMail::End => {}
        }
        self.drain();
        self.figures.export(self.coordinator.registry());
    }

    fn number(&mut self) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        id
    }

    /// Work that is due by the clock.
    fn look(&mut self) {
        self.coordinator.handle_timeout((self.clock)());
        self.drain();
        self.workplace.end_abandoned_starts();
        self.figures.export(self.coordinator.registry());
        self.workplace.dispose_casts();
    }

    /// Drains the coordinator's output.
    fn drain(&mut self) {
        while let Some(output) = self.coordinator.poll_output() {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: CoordinatorOutput) {
        match output {
            // Only fails once the threads have ended, which is after the driver.
            CoordinatorOutput::Job(id, job) => drop(self.jobs.send((id, job))),
            CoordinatorOutput::Order(order) => self.give_order(order),
            CoordinatorOutput::Check(id, visitor) => self.check(id, &visitor),
            CoordinatorOutput::TakeCensus => self.take_census(),
            CoordinatorOutput::Reply(id, answer) => {
                // Metrics that are read after an answer contain it.
                self.figures.export(self.coordinator.registry());
                if let Some(caller) = self.callers.remove(&id) {
                    // Fails only if the caller has stopped waiting.
                    let _ = caller.send(answer.map_err(Refusal::from));
                }
            }
            CoordinatorOutput::EndOrder(order) => self.gateway.end_order(&order),
            CoordinatorOutput::RefuseOrder(order, why) => self.refuse_order(&order, &why),
            CoordinatorOutput::Resumed(time) => {
                self.resumed.iter().for_each(|counter| counter.increment(1));
                self.resume_time.iter().for_each(|timing| timing.record(time));
            }
            CoordinatorOutput::Stopped(unsaved) => self.end_stop(&unsaved),
        }
    }

    /// The coordinator waits for the answer of an order, after a panic, too.
    fn give_order(&mut self, order: GatewayOrder) {
        let (now, workplace) = ((self.clock)(), Arc::clone(&self.workplace));
        match order {
            GatewayOrder::Admit { request, world, visitor, position } => {
                let mut admitted = Err(PassageRefusal::NotHere);
                workplace.survives("instances", || {
                    admitted = self.gateway.admit(now, &visitor, world, position);
                });
                self.coordinator.handle_admission(now, request, admitted);
            }
            GatewayOrder::Dismiss { request, visitor } => {
                let mut dismissed = Err(PassageRefusal::NotHere);
                workplace.survives("instances", || dismissed = self.gateway.dismiss(now, &visitor));
                self.coordinator.handle_dismissal(now, request, dismissed);
            }
            GatewayOrder::Empty { world, reason } => self.gateway.empty(now, world, &reason),
        }
    }

    fn check(&mut self, id: RequestId, visitor: &Visitor) {
        let workplace = Arc::clone(&self.workplace);
        let mut checked = None;
        workplace.survives("instances", || checked = Some(self.gateway.check(visitor)));
        match checked {
            Some(checked) => self.coordinator.handle_check((self.clock)(), id, checked),
            None => drop(self.coordinator.abandon(id)),
        }
    }

    fn take_census(&mut self) {
        let workplace = Arc::clone(&self.workplace);
        let mut census = None;
        workplace.survives("instances", || census = Some(self.gateway.occupants()));
        let now = (self.clock)();
        match census {
            Some((as_of, occupants)) => self.coordinator.handle_census(now, as_of, &occupants),
            None => self.coordinator.handle_failed_census(now),
        }
    }

    fn refuse_order(&self, order: &TravelOrder, why: &str) {
        tracing::warn!(?order, %why, "a visitor was not let into an instance");
        self.gateway.turn_down(order, why);
    }

    /// Answers the server that stops, once nothing more can be saved.
    fn end_stop(&mut self, unsaved: &[WorldId]) {
        // Taken first: after a panic in the next line its receiver does not wait forever.
        let Some(answer) = self.stop.take() else { return };
        let _ = answer.send(self.workplace.n_unsaved(unsaved));
    }

    fn unix_now_s(&self) -> i64 {
        (self.unix_start_s + (self.clock)().0 / 1_000_000_000).cast_signed()
    }
}

opaque_debug!(InstanceMailbox);
