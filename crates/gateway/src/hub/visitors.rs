//! Visitors by world: they decide which instances are in use.

use super::Hub;
use super::session::Session;
use ids::WorldId;
use std::collections::BTreeMap;

impl Hub {
    /// Worlds with sessions that are in them, on the way into them, or may come back, with their numbers. One pass over the sessions
    /// for any number of worlds.
    #[must_use]
    pub fn visitors(&self) -> BTreeMap<WorldId, usize> {
        let mut visitors = BTreeMap::new();
        for world in self.sessions.values().flat_map(Session::visits) {
            *visitors.entry(world).or_default() += 1;
        }
        visitors
    }

    /// The same for one world.
    #[must_use]
    pub fn visitors_of(&self, world: WorldId) -> usize {
        self.sessions.values().flat_map(Session::visits).filter(|visited| *visited == world).count()
    }
}

impl Session {
    /// Its world, its destination, and its possible way back.
    fn visits(&self) -> impl Iterator<Item = WorldId> {
        let switching = self.bindings.values().filter_map(|binding| binding.switching.as_ref());
        let left = switching.filter_map(|switching| Some(switching.from.as_ref()?.world()));
        self.counts_for().chain(left)
    }
}
