//! Names that a bot asks for: each avatar's once, many in one request, as viewers do for name tags.

use ids::AgentId;
use std::collections::{BTreeMap, BTreeSet};
use wire::messages::{UUIDNameReply, UUIDNameRequest, UUIDNameRequestUUIDNameBlock};
use wire::text;

/// Ids in one request; 16 bytes each, so that a datagram holds them.
pub const BATCH_MAX: usize = 64;

/// Avatars whose names a counting bot requests: more than a viewer tags at once. Further ones are not requested.
pub const NAMES_MAX: usize = 256;

/// The same for an observer, which should name every avatar of a full region.
pub const NAMES_MAX_OBSERVER: usize = 16_384;

/// Names known to a bot.
#[derive(Clone, Debug)]
pub struct NameCache {
    /// Avatars whose names were or will be requested, so that none is requested twice.
    seen: BTreeSet<AgentId>,
    wanted: Vec<AgentId>,
    known: BTreeMap<AgentId, String>,
    answered: u64,
    max: usize,
    keeps: bool,
}

impl NameCache {
    /// Without names. Only observers keep them; others count the answers.
    #[must_use]
    pub const fn new(observer: bool) -> Self {
        Self {
            seen: BTreeSet::new(),
            wanted: Vec::new(),
            known: BTreeMap::new(),
            answered: 0,
            max: if observer { NAMES_MAX_OBSERVER } else { NAMES_MAX },
            keeps: observer,
        }
    }

    /// An avatar was shown.
    pub fn want(&mut self, agent: AgentId) {
        if self.seen.len() < self.max && self.seen.insert(agent) {
            self.wanted.push(agent);
        }
    }

    /// True if a name has to be requested.
    #[must_use]
    pub const fn is_wanting(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// A request for the next [`BATCH_MAX`].
    pub fn request(&mut self) -> Option<UUIDNameRequest> {
        let batch = self.wanted.len().min(BATCH_MAX);
        let ids = self.wanted.drain(..batch);
        let uuid_name_block: Vec<_> = ids.map(|agent| UUIDNameRequestUUIDNameBlock { id: agent.0 }).collect();
        (batch > 0).then_some(UUIDNameRequest { uuid_name_block })
    }

    /// The server answers.
    pub fn on_reply(&mut self, reply: &UUIDNameReply) {
        self.answered += reply.uuid_name_block.len() as u64;
        if !self.keeps {
            return;
        }
        for row in &reply.uuid_name_block {
            let agent = AgentId(row.id);
            // Answers to questions that were never asked would make the table grow without bound.
            if self.seen.contains(&agent) {
                let name =
                    format!("{} {}", text::from_wire(&row.first_name), text::from_wire(&row.last_name));
                self.known.insert(agent, name);
            }
        }
    }

    /// An avatar's first and last name. Observers only.
    #[must_use]
    pub fn get(&self, agent: AgentId) -> Option<&str> {
        self.known.get(&agent).map(String::as_str)
    }

    /// Rows answered so far.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use wire::messages::UUIDNameReplyUUIDNameBlock;

    fn agent(number: usize) -> AgentId {
        AgentId(Uuid::from_u128(number as u128))
    }

    #[test]
    fn each_name_is_requested_once_and_in_batches() {
        let mut names = NameCache::new(false);
        for number in (0..100).chain(0..100) {
            names.want(agent(number));
        }
        let sizes: Vec<usize> =
            std::iter::from_fn(|| names.request()).map(|request| request.uuid_name_block.len()).collect();
        assert_eq!(sizes, [BATCH_MAX, 100 - BATCH_MAX]);
        names.want(agent(5));
        assert!(!names.is_wanting());
    }

    #[test]
    fn a_full_table_requests_no_further_name() {
        let mut names = NameCache::new(false);
        for number in 0..2 * NAMES_MAX {
            names.want(agent(number));
        }
        let asked: usize =
            std::iter::from_fn(|| names.request()).map(|request| request.uuid_name_block.len()).sum();
        assert_eq!(asked, NAMES_MAX);
    }

    #[test]
    fn an_observer_keeps_the_names_it_asked_for() {
        let row = |number| UUIDNameReplyUUIDNameBlock {
            id: agent(number).0,
            first_name: b"Ada\0".to_vec(),
            last_name: b"Lovelace\0".to_vec(),
        };
        let mut names = NameCache::new(true);
        names.want(agent(1));
        names.on_reply(&UUIDNameReply { uuid_name_block: vec![row(1), row(2)] });
        assert_eq!(names.get(agent(1)), Some("Ada Lovelace"));
        assert_eq!(names.get(agent(2)), None, "never asked");
        assert_eq!(names.answered(), 2);
    }
}
