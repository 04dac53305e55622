//! Orders for items that an avatar wears according to the store ([`InventoryReplies::worn`]): each waits for the answer of the wardrobe.
//!
//! | answer | effect |
//! |---|---|
//! | [`WornState::Worn`] | a last attempt, whose replies are the answer |
//! | [`WornState::Free`] | another attempt, which may wait again; [`WORN_TRIES`] at most |
//! | [`WornState::NotSaved`], or none within [`WORN_WAIT_MAX`] of the first attempt | a last attempt, refused if the items are worn still |
//!
//! Orders that wait are in memory only: a server that is killed has neither carried them out nor answered them.

use super::InventoryReplies;
use ids::{AgentId, Instant};
use keeper::{WornQuestion, WornState};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Time from the first attempt of an order to its last one. Later saves are reported to the operator.
pub const WORN_WAIT_MAX: Duration = Duration::from_secs(5);
/// Waits of one order.
pub const WORN_TRIES: u8 = 4;
/// Orders that wait at once; more are refused.
pub const WORN_WAITS_MAX: usize = 256;

/// Text of the alert for an order whose items are not free in time.
const NOT_SAVED: &str =
    "The item was taken off a moment ago, and that is not saved yet. Please try again in a moment.";
/// Text of the alert for an order without room to wait.
const NO_ROOM: &str =
    "Too many requests wait for items that avatars have just taken off. Please try again in a moment.";

/// A bounded set of orders that wait for answers.
#[derive(Debug)]
pub struct WornWaits<T> {
    n_asked: u64,
    /// By the numbers of their questions.
    waiting: BTreeMap<u64, Attempt<T>>,
    /// Those with an answer.
    due: VecDeque<Attempt<T>>,
}

/// An order that is about to be carried out.
#[derive(Debug, PartialEq, Eq)]
pub struct Attempt<T> {
    /// The order.
    pub order: T,
    /// Time of the last attempt.
    until: Instant,
    /// Waits so far.
    n_waits: u8,
    /// The last answer.
    state: Option<WornState>,
}

/// Result of an attempt.
#[derive(Debug, PartialEq)]
pub enum Judged<T> {
    /// The order is carried out or refused, with these replies.
    Answer(T, InventoryReplies),
    /// The order waits. The question is for the wardrobe, whose answer goes to [`WornWaits::handle_answer`].
    Waits(WornQuestion),
}

impl<T> Attempt<T> {
    /// The first attempt of an order.
    pub fn first(now: Instant, order: T) -> Self {
        Self { order, until: now + WORN_WAIT_MAX, n_waits: 0, state: None }
    }
}

impl<T> Default for WornWaits<T> {
    fn default() -> Self {
        Self { n_asked: 0, waiting: BTreeMap::new(), due: VecDeque::new() }
    }
}

impl<T> WornWaits<T> {
    /// Decides whether the replies to an attempt are the answer to its order, which is one of this user.
    pub fn judge(
        &mut self,
        now: Instant,
        agent: AgentId,
        attempt: Attempt<T>,
        replies: InventoryReplies,
    ) -> Judged<T> {
        let Attempt { until, n_waits, state, .. } = attempt;
        if replies.worn.is_empty() || state == Some(WornState::Worn) {
            return Judged::Answer(attempt.order, replies);
        }
        if state == Some(WornState::NotSaved) || until <= now {
            return Judged::Answer(attempt.order, replies.refused(NOT_SAVED));
        }
        // The rows outlast their saved ends, as those of objects that cannot become assets do.
        if n_waits >= WORN_TRIES {
            return Judged::Answer(attempt.order, replies);
        }
        if self.waiting.len() >= WORN_WAITS_MAX {
            return Judged::Answer(attempt.order, replies.refused(NO_ROOM));
        }
        let number = self.n_asked;
        self.n_asked += 1;
        self.waiting.insert(number, Attempt { n_waits: n_waits + 1, ..attempt });
        Judged::Waits(WornQuestion { number, agent, items: replies.worn, until })
    }

    /// Handles the answer to a question. One that comes too late has no effect.
    pub fn handle_answer(&mut self, number: u64, state: WornState) {
        if let Some(attempt) = self.waiting.remove(&number) {
            self.due.push_back(Attempt { state: Some(state), ..attempt });
        }
    }

    /// The next order to be carried out again.
    pub fn poll_due(&mut self, now: Instant) -> Option<Attempt<T>> {
        if let Some(attempt) = self.due.pop_front() {
            return Some(attempt);
        }
        let number = *self.waiting.iter().find(|(_, attempt)| attempt.until <= now)?.0;
        let attempt = self.waiting.remove(&number)?;
        Some(Attempt { state: Some(WornState::NotSaved), ..attempt })
    }

    /// Time at which the next order is due without an answer; none without any.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.values().map(|attempt| attempt.until).min()
    }

    /// Takes all orders out, for the end of the server: the refusal of each is its answer.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        std::mem::take(&mut self.due).into_iter().chain(waiting).map(|attempt| attempt.order)
    }
}

#[cfg(test)]
mod tests;
