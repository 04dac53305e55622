//! Numbered parts with the number of their last changes.

use std::collections::BTreeMap;

/// The order in which parts changed last. Each part is in it once, so that no reader ever falls behind its end.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    /// Number of the last change of each part that has changed.
    newest: BTreeMap<u16, u64>,
    /// The same by the number of the change.
    parts: BTreeMap<u64, u16>,
    /// Changes since the beginning: the number of the next one.
    n_changes: u64,
}

impl ChangeLog {
    /// Records that a part has changed.
    pub(super) fn record(&mut self, part: u16) {
        if let Some(former) = self.newest.insert(part, self.n_changes) {
            self.parts.remove(&former);
        }
        self.parts.insert(self.n_changes, part);
        self.n_changes += 1;
    }

    /// Changes since the beginning: the cursor of a reader that knows them all.
    #[must_use]
    pub const fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// Parts that have changed since there were `cursor` changes, each once, in the order of their last changes.
    pub fn since(&self, cursor: u64) -> impl Iterator<Item = u16> {
        self.parts.range(cursor..).map(|(_, &part)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_changed_twice_is_listed_once_by_its_last_change() {
        let mut log = ChangeLog::default();
        [7, 3, 7].into_iter().for_each(|part| log.record(part));
        assert_eq!(log.since(0).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(log.since(2).collect::<Vec<_>>(), [7]);
        assert_eq!((log.n_changes(), log.since(3).count()), (3, 0));
    }

    #[test]
    fn the_log_is_bounded_by_the_parts() {
        let mut log = ChangeLog::default();
        (0..1_000).for_each(|n| log.record(n % 4));
        assert_eq!(log.since(0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((log.newest.len(), log.parts.len()), (4, 4));
    }
}
