//! Messages to the `instances` thread.

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
