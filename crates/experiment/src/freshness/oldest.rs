//! The avatars that were displayed wrong for the longest time, with the circumstances.

use super::truth::Who;
use ids::AgentId;

/// Number of entries kept.
const KEPT: usize = 10;
/// Avatars that were wrong for less are not kept.
const LEAST_NS: u64 = 2_000_000_000;

/// An avatar that was wrong for a while, as of the last comparison in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Old {
    /// The observer.
    pub(super) observer: AgentId,
    pub(super) who: Who,
    pub(super) since_ns: u64,
    pub(crate) age_ns: u64,
    /// Metres from the observer.
    pub(crate) far_m: f32,
    /// Between where it is shown and where it is, metres; and between the two directions, degrees.
    pub(crate) error_m: f32,
    pub(crate) turned_deg: f32,
    /// Since the latest update of it.
    pub(crate) untold_ns: u64,
    /// Speed as sent to the observer, and true speed in the last tick, metres a second.
    pub(crate) told_m_per_s: f32,
    pub(crate) went_m_per_s: f32,
}

/// The oldest so far, in no order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oldest(Vec<Old>);

impl Oldest {
    /// Remembers it if it is among the oldest.
    pub(super) fn note(&mut self, old: Old) {
        if old.age_ns < LEAST_NS {
            return;
        }
        let key = |old: &Old| (old.observer, old.who, old.since_ns);
        if let Some(same) = self.0.iter_mut().find(|other| key(other) == key(&old)) {
            *same = old;
        } else if self.0.len() < KEPT {
            self.0.push(old);
        } else if let Some(least) = self.0.iter_mut().min_by_key(|old| old.age_ns)
            && least.age_ns < old.age_ns
        {
            *least = old;
        }
    }

    /// The oldest first.
    pub(crate) fn sorted(&self) -> Vec<Old> {
        let mut sorted = self.0.clone();
        sorted.sort_by_key(|old| std::cmp::Reverse(old.age_ns));
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    #[test]
    fn the_oldest_are_kept_once_each() {
        let mut oldest = Oldest::default();
        let old = |who: u32, age_s: u64| Old {
            observer: AgentId(Uuid::nil()),
            who,
            since_ns: 5,
            age_ns: age_s * 1_000_000_000,
            far_m: 0.0,
            error_m: 0.0,
            turned_deg: 0.0,
            untold_ns: 0,
            told_m_per_s: 0.0,
            went_m_per_s: 0.0,
        };
        for who in 0..30 {
            for age_s in 0..=u64::from(who) {
                oldest.note(old(who, age_s));
            }
        }
        let ages: Vec<u64> = oldest.sorted().iter().map(|old| old.age_ns / 1_000_000_000).collect();
        assert_eq!(ages, (20..30).rev().collect::<Vec<_>>());
        let mut young = Oldest::default();
        young.note(old(1, 1));
        assert!(young.sorted().is_empty());
    }
}
