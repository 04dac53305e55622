//! Census of a gateway's sessions in one world: the basis on which a host dismisses avatars without a session.
//!
//! A shard reports the departure of an avatar to the world once. A world that began again from a checkpoint may stand before that, and
//! the commands in its inbox are lost with the panic. So its host compares the avatars of the new life with a census, before the first
//! step and for a while after it.

use crate::{Action, Command};
use ids::SessionKey;
use serde::{Deserialize, Serialize};

/// Sessions of one gateway in one world, each list in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldCensus {
    /// Sessions with a circuit to the world, open or expected.
    pub bound: Vec<SessionKey>,
    /// Of these, the sessions that have arrived.
    pub arrived: Vec<SessionKey>,
}

impl WorldCensus {
    /// Commands that remove from the world those of these sessions that are not bound to it.
    #[must_use]
    pub fn dismissals(&self, present: impl IntoIterator<Item = SessionKey>) -> Vec<Command> {
        let is_bound = |session: &SessionKey| self.bound.binary_search(session).is_ok();
        // Sequence numbers contain the ticket, from 1, in their high half. So 0 precedes every command of the session itself: one that
        // comes back in the same tick stays.
        let leave = |session| Command::by_node(session, 0, Action::Leave);
        present.into_iter().filter(|session| !is_bound(session)).map(leave).collect()
    }

    /// Number of sessions that have arrived in the world and have no avatar there: after a restart they are still on their way back.
    #[must_use]
    pub fn n_missing(&self, is_present: impl Fn(SessionKey) -> bool) -> usize {
        self.arrived.iter().filter(|&&session| !is_present(session)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Author;

    fn keys(keys: &[u64]) -> Vec<SessionKey> {
        keys.iter().copied().map(SessionKey).collect()
    }

    #[test]
    fn avatars_of_sessions_that_are_not_bound_are_dismissed() {
        let census = WorldCensus { bound: keys(&[2, 5, 9]), arrived: keys(&[5]) };
        let leaving: Vec<SessionKey> =
            census.dismissals(keys(&[1, 2, 5, 7])).iter().map(|command| command.session).collect();
        assert_eq!(leaving, keys(&[1, 7]));
        assert!(census.dismissals(keys(&[1])).iter().all(|command| command.author == Author::Node));
        assert!(WorldCensus::default().dismissals(keys(&[])).is_empty());
    }

    #[test]
    fn only_sessions_that_have_arrived_can_be_missing() {
        let census = WorldCensus { bound: keys(&[2, 5, 9]), arrived: keys(&[5, 9]) };
        assert_eq!(census.n_missing(|session| session == SessionKey(9)), 1);
        assert_eq!(census.n_missing(|_| true), 0);
    }
}
