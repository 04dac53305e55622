//! Census of the sessions in a world, for the host that restarts it.

use super::Hub;
use ids::WorldId;
use link::WorldCensus;

impl Hub {
    /// Sessions of a world. One pass over all sessions.
    #[must_use]
    pub fn census_of(&self, world: WorldId) -> WorldCensus {
        let mut census = WorldCensus::default();
        for (key, session) in &self.sessions {
            if session.bindings.values().any(|binding| binding.place.world() == world) {
                census.bound.push(*key);
            }
            let root = session.root.and_then(|root| session.bindings.get(&root));
            if root.is_some_and(|root| root.place.world() == world) {
                census.arrived.push(*key);
            }
        }
        census
    }
}
