//! Who is where, by worlds: what decides which instances are in use.

use super::Hub;
use super::session::Session;
use ids::WorldId;
use std::collections::BTreeMap;

impl Hub {
    /// Worlds that somebody is in, on the way into, or may yet come back to, and how many. One pass over the sessions, whatever worlds there
    /// are.
    #[must_use]
    pub fn visitors(&self) -> BTreeMap<WorldId, usize> {
        let mut visitors = BTreeMap::new();
        for world in self.sessions.values().flat_map(Session::visits) {
            *visitors.entry(world).or_default() += 1;
        }
        visitors
    }

    /// Likewise, of one world.
    #[must_use]
    pub fn visitors_of(&self, world: WorldId) -> usize {
        self.sessions.values().flat_map(Session::visits).filter(|visited| *visited == world).count()
    }
}

impl Session {
    /// Where it is, is expected, and may yet come back to.
    fn visits(&self) -> impl Iterator<Item = WorldId> {
        let switching = self.bindings.values().filter_map(|binding| binding.switching.as_ref());
        let left = switching.filter_map(|switching| Some(switching.from.as_ref()?.world()));
        self.counts_for().chain(left)
    }
}
