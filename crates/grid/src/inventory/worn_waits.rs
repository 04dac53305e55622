//! Orders for items that an avatar wears ([`super::InventoryReplies::is_worn`]), which are repeated until their take-off is saved.

use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Time until an order is repeated.
pub const WORN_WAIT: Duration = Duration::from_millis(200);
/// Repetitions of an order. The last one falls within the second in which each request is answered: 4 × 200 ms = 0.8 s.
pub const WORN_TRIES: u8 = 4;
/// Orders that wait at once; more are answered without a wait.
pub const WORN_WAITS_MAX: usize = 256;

/// A bounded queue of orders that are repeated. All wait equally long, so that the first one is the first one due.
#[derive(Debug)]
pub struct WornWaits<T> {
    queue: VecDeque<Wait<T>>,
}

#[derive(Debug)]
struct Wait<T> {
    due: Instant,
    order: Attempt<T>,
}

/// An order, and the number of its repetitions so far.
#[derive(Debug, PartialEq, Eq)]
pub struct Attempt<T> {
    /// The order.
    pub order: T,
    n_repeated: u8,
}

impl<T> Attempt<T> {
    /// A new order.
    pub const fn first(order: T) -> Self {
        Self { order, n_repeated: 0 }
    }
}

impl<T> Default for WornWaits<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<T> WornWaits<T> {
    /// Holds an order for its next attempt.
    ///
    /// # Errors
    /// The order, after its last attempt or without room: its refusal is the answer.
    pub fn hold(&mut self, now: Instant, attempt: Attempt<T>) -> Result<(), Attempt<T>> {
        if attempt.n_repeated >= WORN_TRIES || self.queue.len() >= WORN_WAITS_MAX {
            return Err(attempt);
        }
        let order = Attempt { n_repeated: attempt.n_repeated + 1, ..attempt };
        self.queue.push_back(Wait { due: now + WORN_WAIT, order });
        Ok(())
    }

    /// The next order that is due.
    pub fn poll_due(&mut self, now: Instant) -> Option<Attempt<T>> {
        self.queue.pop_front_if(|wait| wait.due <= now).map(|wait| wait.order)
    }

    /// Time at which the next order is due; none without any.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.queue.front().map(|wait| wait.due)
    }

    /// Takes all orders out, for the end of the server: the refusal of each is its answer.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.queue.drain(..).map(|wait| wait.order.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_millis(7);

    #[test]
    fn an_order_is_repeated_every_wait_until_its_last_attempt() {
        let mut waits = WornWaits::default();
        let (mut now, mut attempt) = (START, Attempt::first("rez"));
        for _ in 0..WORN_TRIES {
            waits.hold(now, attempt).expect("attempts are left");
            assert_eq!(waits.poll_timeout(), Some(now + WORN_WAIT));
            now += WORN_WAIT - Duration::from_millis(1);
            assert_eq!(waits.poll_due(now), None);
            now += Duration::from_millis(1);
            attempt = waits.poll_due(now).expect("it is due");
            assert_eq!(waits.poll_timeout(), None);
        }
        let refused = waits.hold(now, attempt).expect_err("no attempt is left");
        assert_eq!(refused.order, "rez");
        assert!(now - START < Duration::from_secs(1));
    }

    #[test]
    fn orders_beyond_the_bound_are_not_held() {
        let mut waits = WornWaits::default();
        for n in 0..WORN_WAITS_MAX {
            waits.hold(START, Attempt::first(n)).expect("there is room");
        }
        assert_eq!(waits.hold(START, Attempt::first(9_999)).expect_err("there is none").order, 9_999);
        assert_eq!(waits.poll_due(START + WORN_WAIT), Some(Attempt { order: 0, n_repeated: 1 }));
        assert!(waits.drain().eq(1..WORN_WAITS_MAX));
    }
}
