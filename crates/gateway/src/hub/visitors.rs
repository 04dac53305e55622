//! Who is where, by worlds: what decides which instances are in use.

use super::Hub;
use ids::WorldId;
use std::collections::BTreeMap;

impl Hub {
    /// Worlds that somebody is in, on the way into, or may yet come back to, and how many. One pass over the sessions, whatever worlds there
    /// are.
    #[must_use]
    pub fn visitors(&self) -> BTreeMap<WorldId, usize> {
        let mut visitors = BTreeMap::new();
        for session in self.sessions.values() {
            let switching = session.bindings.values().filter_map(|binding| binding.switching.as_ref());
            let left = switching.filter_map(|switching| Some(switching.from.as_ref()?.world()));
            for world in session.counts_for().chain(left) {
                *visitors.entry(world).or_default() += 1;
            }
        }
        visitors
    }
}
