//! The newest edits of a world with their authors, for operators.

use ids::{AgentId, SessionKey, Uuid};
use link::EditRefusal;
use std::collections::VecDeque;
use std::sync::Arc;

/// Edits that are kept. When full, the oldest is dropped.
const EDITS_MAX: usize = 32;

/// An edit that was carried out, or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentEdit {
    /// Its author's session, [`SessionKey::NODE`] for the node.
    pub session: SessionKey,
    /// The author's account; none for the node.
    pub agent: Option<AgentId>,
    /// Name of the request ([`link::ObjectCommand::label`]).
    pub what: &'static str,
    /// The first object that it names, or makes.
    pub object: Option<Uuid>,
    /// Name of that object before the edit; empty if it is not known.
    pub name: Arc<str>,
    /// Objects that were changed.
    pub done: u64,
    /// Objects that stay as they are.
    pub refused: u64,
    /// The reason for the first of them.
    pub reason: Option<EditRefusal>,
}

/// The newest edits. They are no part of the world's state: a copy of it, and a world that is made from one, begin without any.
#[derive(Debug, Default)]
pub struct RecentEdits {
    list: VecDeque<RecentEdit>,
    n_noted: u64,
}

impl Clone for RecentEdits {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl RecentEdits {
    /// Adds an edit.
    pub(super) fn note(&mut self, edit: RecentEdit) {
        if self.list.len() == EDITS_MAX {
            self.list.pop_front();
        }
        self.list.push_back(edit);
        self.n_noted += 1;
    }

    /// Edits since the beginning.
    #[must_use]
    pub const fn n_noted(&self) -> u64 {
        self.n_noted
    }

    /// Edits after the first `n_known` ones, as far as they are kept; the oldest first.
    pub fn since(&self, n_known: u64) -> impl Iterator<Item = &RecentEdit> {
        let n_new = usize::try_from(self.n_noted.saturating_sub(n_known)).unwrap_or(usize::MAX);
        self.list.iter().skip(self.list.len().saturating_sub(n_new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(n: u64) -> RecentEdit {
        RecentEdit {
            session: SessionKey(n),
            agent: None,
            what: "name",
            object: None,
            name: Arc::default(),
            done: 1,
            refused: 0,
            reason: None,
        }
    }

    #[test]
    fn the_newest_edits_are_kept_and_a_reader_gets_those_that_it_does_not_know() {
        let mut recent = RecentEdits::default();
        let sessions = |recent: &RecentEdits, n_known| {
            recent.since(n_known).map(|edit| edit.session.0).collect::<Vec<_>>()
        };
        (0..3).for_each(|n| recent.note(edit(n)));
        assert_eq!((sessions(&recent, 0), sessions(&recent, 2)), (vec![0, 1, 2], vec![2]));
        assert_eq!((recent.n_noted(), sessions(&recent, 3)), (3, Vec::new()));
        (3..50).for_each(|n| recent.note(edit(n)));
        assert_eq!(sessions(&recent, 0), (18..50).collect::<Vec<_>>());
        assert_eq!((recent.n_noted(), recent.clone().n_noted()), (50, 0));
    }
}
