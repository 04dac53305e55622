//! Visitors by world: they decide which instances are in use.

use super::Hub;
use super::session::Session;
use ids::WorldId;
use link::{AdmissionNumber, OccupantCount};
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

    /// Number of a world's sessions that are in it, on the way into it, or may come back.
    #[must_use]
    pub fn visitors_of(&self, world: WorldId) -> usize {
        self.sessions.values().flat_map(Session::visits).filter(|visited| *visited == world).count()
    }

    /// The last admission into an instance that was granted ([`Hub::enter`]). A census that is taken now contains its visitor.
    #[must_use]
    pub const fn last_admission(&self) -> AdmissionNumber {
        AdmissionNumber(self.n_admissions)
    }

    /// Visitors of one world, in the form of a host's requests.
    #[must_use]
    pub fn occupants_of(&self, world: WorldId) -> OccupantCount {
        OccupantCount { n: self.visitors_of(world) as u32, as_of: self.last_admission() }
    }
}

impl Session {
    /// Worlds of the session: the present one, the destination, and the possible way back.
    fn visits(&self) -> impl Iterator<Item = WorldId> {
        let switching = self.bindings.values().filter_map(|binding| binding.switching.as_ref());
        let left = switching.filter_map(|switching| Some(switching.from.as_ref()?.world()));
        self.counts_for().chain(left)
    }
}
