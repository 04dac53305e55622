//! Messages to the `instances` thread, and the report by which a job ends.

use super::Refusal;
use host::capacity::NodeSample;
use host::coordinator::Granted;
use host::registry::{InstanceRequest, JobId, JobOutcome, Registry, TemplateFacts};
use ids::Instant;
use link::TravelOrder;
use std::sync::mpsc::{Sender, SyncSender};

/// A message to the thread.
pub(super) enum InstanceMail {
    /// A request of the API.
    Request(InstanceRequest, SyncSender<Answer>),
    /// An order of the hub.
    Order(TravelOrder),
    /// The end of a job.
    Outcome(JobId, JobOutcome),
    /// Measurements of the node, and their time.
    Sample(Instant, NodeSample),
    /// A template has changed.
    TemplateChanged(TemplateFacts),
    /// A question about the registry.
    Query(Box<dyn FnOnce(&Registry) + Send>),
    /// The server stops; answered with the number of instances that could not be saved.
    BeginStop(SyncSender<usize>),
    /// Nothing follows.
    End,
}

/// Sending side of the mailbox.
pub(super) type InstanceSender = Sender<InstanceMail>;

/// Reply to a request of the API.
pub(super) type Answer = Result<Granted, Refusal>;

/// Report on the end of a job, sent when it is dropped: first the outcome of a job that fails or panics, later of one that succeeds.
#[derive(Debug)]
pub(super) struct JobReport {
    job: JobId,
    pub(super) outcome: JobOutcome,
    mail: InstanceSender,
}

impl JobReport {
    pub(super) const fn new(job: JobId, outcome: JobOutcome, mail: InstanceSender) -> Self {
        Self { job, outcome, mail }
    }

    /// Ends the job.
    pub(super) fn end(mut self, outcome: JobOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for JobReport {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, JobOutcome::VisitsNoted(false));
        // Only fails once the driver has ended, which waits for nothing then.
        let _ = self.mail.send(InstanceMail::Outcome(self.job, outcome));
    }
}
