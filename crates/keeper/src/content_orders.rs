//! Orders to replace the content of items in prims. They are sent to the world, again after lost frames, and answered once the stored region contains their effect.
//!
//! The orders change only the rows of their prims in the store, and need no ticket: the world answers a repeated order as before. They are sent in the
//! order of arrival, so that the later one of two orders for an item takes effect.

use crate::escrow::{OrderKey, RestoreError, RestoreOutcome};
use ids::Instant;
use link::{Action, ContentReplacement, EditRefusal, Event};
use std::collections::VecDeque;

/// Maximum number of unanswered orders of one region.
const ORDERS_MAX: usize = 256;

/// Unanswered orders of one region.
#[derive(Debug, Default)]
pub(crate) struct ReplacementOrders {
    /// Orders, the oldest first.
    orders: VecDeque<Ordered>,
    outcomes: VecDeque<RestoreOutcome>,
}

#[derive(Debug)]
struct Ordered {
    order: ContentReplacement,
    progress: Progress,
}

/// Progress of an order. The times are those of the frames with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The order has not been sent.
    Due,
    /// The order has been sent.
    Sent,
    /// A frame contains the new content.
    Shown(Instant),
    /// The batch that is being saved contains the new content.
    Flown(Instant),
}

impl ReplacementOrders {
    /// Accepts an order, which [`Self::send`] sends to the world.
    pub(crate) fn add(&mut self, order: ContentReplacement) -> Result<(), RestoreError> {
        if self.orders.iter().any(|known| known.order.asset == order.asset) {
            return Err(RestoreError::Twice);
        }
        if self.orders.len() >= ORDERS_MAX {
            return Err(RestoreError::Busy);
        }
        self.orders.push_back(Ordered { order, progress: Progress::Due });
        Ok(())
    }

    /// Sends the orders that are due, until there is no room.
    pub(crate) fn send(&mut self, mut send: impl FnMut(Action) -> bool) {
        for Ordered { order, progress } in &mut self.orders {
            if *progress == Progress::Due {
                if !send(Action::ReplaceContent(Box::new(*order))) {
                    return;
                }
                *progress = Progress::Sent;
            }
        }
    }

    /// Handles the answers in the next frame.
    pub(crate) fn take_events(&mut self, now: Instant, events: &[Event]) {
        for event in events {
            let Event::Rezzed { order, refusal } = event else { continue };
            let Some(at) = self.orders.iter().position(|known| known.order.asset == *order) else { continue };
            match self.orders[at].progress {
                _ if refusal.is_some() => self.answer(at, *refusal),
                Progress::Due | Progress::Sent => self.orders[at].progress = Progress::Shown(now),
                Progress::Shown(_) | Progress::Flown(_) => {}
            }
        }
    }

    /// Handles a gap in the frames or a later epoch: answers, or content of the earlier epoch's last ticks, may be lost. All orders are sent again.
    pub(crate) fn take_snapshot(&mut self) {
        self.orders.iter_mut().for_each(|ordered| ordered.progress = Progress::Due);
    }

    /// Time of the first new content that is in no batch; `None` without such content.
    pub(crate) fn since(&self) -> Option<Instant> {
        let shown = self.orders.iter().filter_map(|ordered| match ordered.progress {
            Progress::Shown(at) => Some(at),
            Progress::Due | Progress::Sent | Progress::Flown(_) => None,
        });
        shown.min()
    }

    /// Records that a batch contains all content of the frames so far.
    pub(crate) fn begin_batch(&mut self) {
        for Ordered { progress, .. } in &mut self.orders {
            if let Progress::Shown(at) = *progress {
                *progress = Progress::Flown(at);
            }
        }
    }

    /// Records the end of the batch. After a failure the rows may or may not be on the disk, and another batch follows.
    pub(crate) fn end_batch(&mut self, is_saved: bool) {
        if is_saved {
            let is_flown = |ordered: &Ordered| matches!(ordered.progress, Progress::Flown(_));
            while let Some(at) = self.orders.iter().position(is_flown) {
                self.answer(at, None);
            }
        } else {
            for Ordered { progress, .. } in &mut self.orders {
                if let Progress::Flown(at) = *progress {
                    *progress = Progress::Shown(at);
                }
            }
        }
    }

    /// Returns the next outcome.
    pub(crate) fn poll_outcome(&mut self) -> Option<RestoreOutcome> {
        self.outcomes.pop_front()
    }

    fn answer(&mut self, at: usize, refusal: Option<EditRefusal>) {
        let answered = self.orders.remove(at).expect("a place in the list");
        self.outcomes.push_back(RestoreOutcome { order: OrderKey::Copy(answered.order.asset), refusal });
    }
}
