//! Orders to give items of prims other content: on to the world, again after lost frames, and answered once the region on the disk has what the world made of them.
//!
//! They have no effect in the store beside the rows of their prims, and need no ticket: the world answers a repeated order as before. All go out in the
//! order in which they came, so that of two for one item the later one counts.

use crate::escrow::{OrderKey, RestoreError, RestoreOutcome};
use ids::Instant;
use link::{Action, ContentReplacement, EditRefusal, Event};
use std::collections::VecDeque;

/// Orders of one region that are not answered, at most.
const ORDERS_MAX: usize = 256;

/// Orders of one region.
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

/// Way of an order. The times belong to the frames with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The order is to be sent to the world.
    Due,
    /// The world has the order.
    Sent,
    /// A frame has its content.
    Shown(Instant),
    /// The batch under way has its content.
    Flown(Instant),
}

impl ReplacementOrders {
    /// Takes an order, which [`Self::send`] hands to the world.
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

    /// Hands out the orders that are due, until there is no room for more.
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

    /// Takes the answers of a frame that follows the one before.
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

    /// Takes note of a gap in the frames, or of a later epoch: answers may be lost, or the content with the ticks of an earlier epoch. All orders go out again.
    pub(crate) fn take_snapshot(&mut self) {
        self.orders.iter_mut().for_each(|ordered| ordered.progress = Progress::Due);
    }

    /// Time of the first content that no batch has; `None` without any.
    pub(crate) fn since(&self) -> Option<Instant> {
        let shown = self.orders.iter().filter_map(|ordered| match ordered.progress {
            Progress::Shown(at) => Some(at),
            Progress::Due | Progress::Sent | Progress::Flown(_) => None,
        });
        shown.min()
    }

    /// A batch is handed out, with all content that frames have shown.
    pub(crate) fn begin_batch(&mut self) {
        for Ordered { progress, .. } in &mut self.orders {
            if let Progress::Shown(at) = *progress {
                *progress = Progress::Flown(at);
            }
        }
    }

    /// The batch under way has ended. After a failure the rows may be on the disk or not, and another batch follows.
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

    /// The next outcome.
    pub(crate) fn poll_outcome(&mut self) -> Option<RestoreOutcome> {
        self.outcomes.pop_front()
    }

    fn answer(&mut self, at: usize, refusal: Option<EditRefusal>) {
        let answered = self.orders.remove(at).expect("a place in the list");
        self.outcomes.push_back(RestoreOutcome { order: OrderKey::Copy(answered.order.asset), refusal });
    }
}
