//! Objects that sessions have just made and want selected.
//!
//! A client recognises an object of its own by a flag in the *first* update of it. The event that names the object reaches a shard behind the frame that has it, so that a turn
//! between the two would send the object without the flag. Therefore the encoder reads the frame's events, and the replica knows the makers of its newest objects.

use ids::{LocalId, SessionKey, Tick};
use std::collections::VecDeque;

/// Objects that are remembered at most; the oldest is forgotten for another one.
const CREATED_MAX: usize = 256;
/// Ticks for which an object is remembered: ten seconds at 20 Hz, more than an event waits for its shard.
const CREATED_TICKS: u64 = 200;

/// The newest objects that sessions wanted selected, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreatedObjects {
    list: VecDeque<(Tick, SessionKey, LocalId)>,
}

impl CreatedObjects {
    /// Adds the objects of a frame, and forgets old ones.
    pub(crate) fn apply(&mut self, tick: Tick, created: &[(SessionKey, LocalId)]) {
        while self.list.front().is_some_and(|(made, ..)| made.0 + CREATED_TICKS < tick.0) {
            self.list.pop_front();
        }
        for &(session, id) in created {
            if self.list.len() == CREATED_MAX {
                self.list.pop_front();
            }
            self.list.push_back((tick, session, id));
        }
    }

    /// True if the object is a session's.
    pub(crate) fn has(&self, session: SessionKey, id: LocalId) -> bool {
        self.list.iter().any(|&(_, maker, made)| (maker, made) == (session, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_objects_are_known_for_a_while() {
        let mut created = CreatedObjects::default();
        let (ada, bea) = (SessionKey(1), SessionKey(2));
        created.apply(Tick(7), &[(ada, LocalId(1))]);
        assert!(
            created.has(ada, LocalId(1)) && !created.has(bea, LocalId(1)) && !created.has(ada, LocalId(2))
        );
        created.apply(Tick(7 + CREATED_TICKS), &[]);
        assert!(created.has(ada, LocalId(1)));
        created.apply(Tick(8 + CREATED_TICKS), &[]);
        assert!(!created.has(ada, LocalId(1)));

        let many: Vec<_> = (0..=CREATED_MAX as u32).map(|n| (bea, LocalId(n))).collect();
        created.apply(Tick(1_000), &many);
        assert_eq!((created.list.len(), created.has(bea, LocalId(0))), (CREATED_MAX, false));
        assert!(created.has(bea, LocalId(1)) && created.has(bea, LocalId(CREATED_MAX as u32)));
    }
}
