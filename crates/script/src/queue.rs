//! Events that wait for their handlers: a bounded queue.

use crate::dialect::Dialect;
use crate::event::{Event, EventKind};
use crate::kind::Value;
use std::collections::VecDeque;

/// Events at most: in `sl` all, in `opensim` of each kind.
pub const EVENTS_MAX: usize = 64;

/// Logical memory of all arguments and contexts in a queue, at most. Not memory of the script: it does not decide what it is sent.
pub const QUEUE_BYTES_MAX: usize = 256 << 10;

/// Events in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventQueue {
    events: VecDeque<Event>,
    bytes: usize,
    n_dropped: u64,
}

impl EventQueue {
    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True without events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Number of events that did not fit, since the beginning.
    #[must_use]
    pub const fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// The events, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// Adds an event, or drops and counts it if it does not fit. A second timer event is neither added nor counted: missed periods are one event.
    pub fn push(&mut self, event: Event, dialect: Dialect) -> bool {
        let n_alike = self.events.iter().filter(|other| other.kind == event.kind).count();
        if event.kind == EventKind::TIMER && n_alike > 0 {
            return false;
        }
        let n = match dialect {
            Dialect::Sl => self.events.len(),
            Dialect::OpenSim => n_alike,
        };
        let bytes = bytes_of(&event);
        if n >= EVENTS_MAX || self.bytes + bytes > QUEUE_BYTES_MAX {
            self.n_dropped = self.n_dropped.saturating_add(1);
            return false;
        }
        self.bytes += bytes;
        self.events.push_back(event);
        true
    }

    /// Removes the next event.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.bytes -= bytes_of(&event);
        Some(event)
    }

    /// Removes all events. They do not count as dropped.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.bytes = 0;
    }

    /// A queue of events that were stored. None if they would not fit.
    pub(crate) fn restored(events: Vec<Event>, n_dropped: u64, dialect: Dialect) -> Option<Self> {
        let mut queue = Self::default();
        let all_fit = events.into_iter().all(|event| queue.push(event, dialect));
        queue.n_dropped = n_dropped;
        all_fit.then_some(queue)
    }
}

fn bytes_of(event: &Event) -> usize {
    event.arguments.iter().map(Value::bytes).sum::<usize>() + event.context.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{OpenSim, Sl};

    fn event(name: &str, arguments: Vec<Value>) -> Event {
        Event::new(EventKind::named(name).expect("an event"), arguments)
    }

    #[test]
    fn a_queue_has_64_events_or_64_of_each_kind() {
        for (dialect, n_expected) in [(Sl, 64), (OpenSim, 128)] {
            let mut queue = EventQueue::default();
            for _ in 0..100 {
                queue.push(event("touch", vec![1.into()]), dialect);
                queue.push(event("changed", vec![1.into()]), dialect);
            }
            assert_eq!((queue.len(), queue.n_dropped()), (n_expected, 200 - n_expected as u64));
        }
    }

    #[test]
    fn a_queue_has_one_timer_event() {
        let mut queue = EventQueue::default();
        assert!(queue.push(event("timer", vec![]), Sl));
        assert!(!queue.push(event("timer", vec![]), Sl));
        assert_eq!((queue.len(), queue.n_dropped()), (1, 0));
        assert_eq!(queue.pop().map(|event| event.kind), Some(EventKind::TIMER));
        assert!(queue.push(event("timer", vec![]), Sl));
    }

    #[test]
    fn the_count_of_dropped_events_ends() {
        let full = vec![event("touch", vec![1.into()]); EVENTS_MAX];
        let mut queue = EventQueue::restored(full, u64::MAX, Sl).expect("as many events as there may be");
        assert!(!queue.push(event("touch", vec![1.into()]), Sl));
        assert_eq!(queue.n_dropped(), u64::MAX);
    }

    #[test]
    fn large_events_are_dropped_before_the_queue_is_full() {
        let text = "x".repeat(64 << 10);
        let listen =
            || event("listen", vec![0.into(), "".into(), crate::Key::NULL.into(), text.as_str().into()]);
        let mut queue = EventQueue::default();
        let n = (0..64).filter(|_| queue.push(listen(), OpenSim)).count();
        assert_eq!((n, queue.n_dropped()), (1, 63));
        queue.pop();
        assert!(queue.push(listen(), OpenSim));
        queue.clear();
        assert!(queue.push(listen(), OpenSim) && queue.pop().is_some() && queue.pop().is_none());
        assert_eq!(queue.bytes, 0);
    }
}
