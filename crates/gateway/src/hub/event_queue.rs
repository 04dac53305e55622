//! The server's half of EventQueueGet: events wait until the client's long poll takes them, and are kept until the next poll
//! acknowledges them.

use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;
use wire::llsd::Llsd;

/// Events that wait for one client at most. Parcel answers and teleports come one at a time, so a client that lets
/// this many pile up has stopped polling: the oldest is dropped.
pub const EVENTS_MAX: usize = 256;

/// One client's event queue.
#[derive(Debug)]
pub struct EventQueue {
    waiting: VecDeque<Llsd>,
    /// Events that were sent and are not acknowledged yet.
    sent: Option<EventBatch>,
    next_id: i32,
    newest: NewestPoll,
    /// Events dropped without a poll.
    pub dropped: u64,
}

/// Events of one answer. The queue keeps them too, until they are acknowledged; they are shared, so that they are not copied under the lock
/// of the hub.
#[derive(Clone, Debug)]
pub struct EventBatch {
    /// Number that acknowledges them.
    id: i32,
    events: Arc<[Llsd]>,
}

impl EventBatch {
    /// The body of the answer.
    #[must_use]
    pub fn to_llsd(&self) -> Llsd {
        Llsd::map([("id", self.id.into()), ("events", Llsd::Array(self.events.to_vec()))])
    }
}

/// Result of a poll.
#[derive(Clone, Debug)]
pub enum Poll {
    /// Events: answer at once.
    Ready(EventBatch),
    /// Nothing yet: wait for this, then resume the poll with the same ack.
    Wait(Arc<Notify>),
}

/// The one poll of a secret that may wait. A newer poll ends it, so a secret holds one connection, however many polls its client sends.
#[derive(Debug, Default)]
pub(crate) struct NewestPoll(Arc<Notify>);

impl NewestPoll {
    /// Begins a poll, and notifies the waiting one, which finds itself displaced.
    pub(crate) fn begin(&mut self) -> Arc<Notify> {
        // Without a waiting poll there is none to displace.
        if Arc::strong_count(&self.0) > 1 {
            self.0.notify_one();
            self.0 = Arc::default();
        }
        Arc::clone(&self.0)
    }

    /// True if no poll has begun since this one.
    pub(crate) fn is(&self, poll: &Arc<Notify>) -> bool {
        Arc::ptr_eq(&self.0, poll)
    }
}

impl EventQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self { waiting: VecDeque::new(), sent: None, next_id: 1, newest: NewestPoll::default(), dropped: 0 }
    }

    /// Adds an event and wakes the poll.
    pub fn push(&mut self, message: &str, body: Llsd) {
        if self.waiting.len() == EVENTS_MAX {
            self.waiting.pop_front();
            self.dropped += 1;
        }
        self.waiting.push_back(Llsd::map([("message", message.into()), ("body", body)]));
        self.newest.0.notify_one();
    }

    /// A new poll, which displaces an older waiting one. It acknowledges the events sent with id `ack`; see [`Self::resume`].
    pub fn poll(&mut self, ack: Option<i32>) -> Poll {
        let poll = self.newest.begin();
        self.answer(ack, poll)
    }

    /// Continues a poll that waited. `None` once a newer one has displaced it.
    pub fn resume(&mut self, ack: Option<i32>, poll: &Arc<Notify>) -> Option<Poll> {
        self.newest.is(poll).then(|| self.answer(ack, Arc::clone(poll)))
    }

    /// The waiting poll of a queue that ends.
    pub(crate) fn waiting_poll(&self) -> NewestPoll {
        NewestPoll(Arc::clone(&self.newest.0))
    }

    /// Answers a poll that acknowledges the events sent with id `ack`. Events that were sent and not acknowledged come
    /// again, with those that arrived since.
    fn answer(&mut self, ack: Option<i32>, poll: Arc<Notify>) -> Poll {
        if let Some(sent) = self.sent.take()
            && ack != Some(sent.id)
        {
            for event in sent.events.iter().rev() {
                self.waiting.push_front(event.clone());
            }
            // Nor may a client pile them up by polling without acknowledging.
            let surplus = self.waiting.len().saturating_sub(EVENTS_MAX);
            self.waiting.drain(..surplus);
            self.dropped += surplus as u64;
        }
        if self.waiting.is_empty() {
            return Poll::Wait(poll);
        }
        let batch = EventBatch { id: self.next_id, events: self.waiting.drain(..).collect() };
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        self.sent = Some(batch.clone());
        Poll::Ready(batch)
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}
