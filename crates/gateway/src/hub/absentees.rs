//! Avatars without a login behind them, and logins without their avatar.
//!
//! A shard tells the world when an avatar goes, once. A world that began again from a checkpoint may stand before that, and
//! what was in its inbox when it panicked is lost. So whoever restarts a world asks the hub who has no business there,
//! before the first step of the new life and again for a while after it.

use super::Hub;
use super::session::Session;
use ids::{SessionKey, WorldId};
use link::{Action, Command};

impl Hub {
    /// Commands that take those of these sessions out of a world that have no circuit to it, neither open nor expected.
    pub fn dismiss(&self, world: WorldId, sessions: impl IntoIterator<Item = SessionKey>) -> Vec<Command> {
        let has_business = |session: &SessionKey| {
            let bindings =
                self.sessions.get(session).into_iter().flat_map(|session| session.bindings.values());
            bindings.into_iter().any(|binding| binding.place.world() == world)
        };
        // Tickets count from 1 and stand in the high half of a sequence number, so 0 is nobody's and comes before
        // everything that the session says by itself: who comes back in the same tick stays.
        let leave = |session| Command { session, sequence: 0, action: Action::Leave };
        sessions.into_iter().filter(|session| !has_business(session)).map(leave).collect()
    }

    /// How many sessions have arrived in a world and have no avatar there, as `is_present` knows it: after the world began again
    /// they are still on their way back into it.
    pub fn n_missing(&self, world: WorldId, is_present: impl Fn(SessionKey) -> bool) -> usize {
        let is_here = |session: &Session| {
            let root = session.root.and_then(|root| session.bindings.get(&root));
            root.is_some_and(|root| root.place.world() == world)
        };
        let missing = self.sessions.iter().filter(|(key, session)| is_here(session) && !is_present(**key));
        missing.count()
    }
}
