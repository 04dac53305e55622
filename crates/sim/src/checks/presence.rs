//! No avatar is in two places, except for the moment in which a session changes them.

use super::census::CensusChange;
use super::{Failure, Rule};
use ids::{AgentId, Instant, SessionKey, WorldId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum time of an avatar in two worlds: from its arrival, which the shard notices at the client's next turn (100 ms), until the hub
/// has closed the old circuit and the old world has stepped.
const OVERLAP_MAX: Duration = Duration::from_millis(250);

/// Places of all avatars.
#[derive(Debug, Default)]
pub(crate) struct Presences {
    /// World and session, oldest first.
    by_agent: BTreeMap<AgentId, Vec<(WorldId, SessionKey)>>,
    /// Start of each current double presence.
    doubled: BTreeMap<AgentId, Instant>,
}

impl Presences {
    /// Applies the avatars that came and went in a world's tick.
    pub(crate) fn apply(&mut self, now: Instant, world: WorldId, passages: &[CensusChange]) {
        for &passage in passages {
            match passage {
                CensusChange::Came(agent, session) => {
                    let places = self.by_agent.entry(agent).or_default();
                    places.push((world, session));
                    if places.len() > 1 {
                        self.doubled.entry(agent).or_insert(now);
                    }
                }
                CensusChange::Went(agent, session) => {
                    let places = self.by_agent.entry(agent).or_default();
                    places.retain(|&place| place != (world, session));
                    if places.len() < 2 {
                        self.doubled.remove(&agent);
                    }
                    if places.is_empty() {
                        self.by_agent.remove(&agent);
                    }
                }
            }
        }
    }

    /// The node was stopped until now: no avatar could leave.
    pub(crate) fn excuse(&mut self, now: Instant) {
        self.doubled.values_mut().for_each(|since| *since = now);
    }

    /// Fails for avatars that have been in two worlds for too long.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Failure> {
        match self.doubled.iter().find(|&(_, &since)| now.since(since) > OVERLAP_MAX) {
            None => Ok(()),
            Some((agent, since)) => {
                let places = &self.by_agent[agent];
                let found = format!("{agent:?} is in {places:?} since {since:?}");
                Err(Failure::new(now, Rule::SinglePresence, found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: AgentId = AgentId(ids::Uuid::from_u128(1));
    const SESSION: SessionKey = SessionKey(1);

    #[test]
    fn a_short_overlap_is_a_teleport_and_a_long_one_is_not() {
        let mut presences = Presences::default();
        presences.apply(Instant::ZERO, WorldId(0), &[CensusChange::Came(ADA, SESSION)]);
        presences.apply(Instant::ZERO, WorldId(1), &[CensusChange::Came(ADA, SESSION)]);
        assert!(presences.check(Instant::from_millis(250)).is_ok());
        assert!(presences.check(Instant::from_millis(251)).is_err());
        presences.apply(Instant::from_millis(300), WorldId(0), &[CensusChange::Went(ADA, SESSION)]);
        assert!(presences.check(Instant::from_millis(60_000)).is_ok());
    }
}
