//! Solids that worlds want, and the times at which they are looked for.

use ids::{Instant, WorldId};
use prim::SolidKey;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Solids that are wanted at a time, by all worlds. A world announces those that are dropped again with its next snapshot for replicas.
const WANTS_MAX: usize = 65_536;
/// Time until the second look for an asset that is not there; each further one takes twice as long, up to the second number.
const MISSING_FIRST: Duration = Duration::from_secs(10);
const MISSING_MOST: Duration = Duration::from_secs(600);
/// Time until the next attempt if a world, a disk or the long tasks had no room.
const BUSY: Duration = Duration::from_secs(1);

/// A solid that is looked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Want {
    /// Worlds that get it.
    pub(super) worlds: BTreeSet<WorldId>,
    /// Time of the next look.
    due: Instant,
    /// Time that has passed between the last two looks for an asset that was not there.
    missing_for: Duration,
}

/// Reasons to look again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delay {
    /// The asset is not there.
    Missing,
    /// There was no room, or an error.
    Busy,
}

/// All that are looked for.
#[derive(Debug, Default)]
pub(super) struct Wants {
    by_key: BTreeMap<SolidKey, Want>,
    /// The same, by time.
    due: BTreeSet<(Instant, SolidKey)>,
    n_dropped: u64,
}

impl Wants {
    /// A world wants these. Those that another one waits for already are looked for when that is due.
    pub(super) fn note(&mut self, now: Instant, world: WorldId, keys: &[SolidKey]) {
        for &key in keys {
            if let Some(want) = self.by_key.get_mut(&key) {
                want.worlds.insert(world);
            } else if self.by_key.len() < WANTS_MAX {
                self.insert(key, Want { worlds: [world].into(), due: now, missing_for: Duration::ZERO });
            } else {
                self.n_dropped += 1;
            }
        }
    }

    /// Takes out the want that has been due for longest.
    pub(super) fn poll(&mut self, now: Instant) -> Option<(SolidKey, Want)> {
        let &(due, key) = self.due.first().filter(|(due, _)| *due <= now)?;
        self.due.remove(&(due, key));
        self.by_key.remove(&key).map(|want| (key, want))
    }

    /// Time at which the next one is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Puts one back that was taken out. Worlds that have wanted it meanwhile wait with it.
    pub(super) fn put_back(&mut self, now: Instant, key: SolidKey, mut want: Want, delay: Delay) {
        if let Some(meanwhile) = self.by_key.remove(&key) {
            self.due.remove(&(meanwhile.due, key));
            want.worlds.extend(meanwhile.worlds);
        }
        let wait = match delay {
            Delay::Missing => {
                want.missing_for = (want.missing_for * 2).clamp(MISSING_FIRST, MISSING_MOST);
                want.missing_for
            }
            Delay::Busy => BUSY,
        };
        self.insert(key, Want { due: now + wait, ..want });
    }

    /// Number of those that are looked for.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Number of those that were beyond the bound.
    pub(super) const fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    fn insert(&mut self, key: SolidKey, want: Want) {
        self.due.insert((want.due, key));
        self.by_key.insert(key, want);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use prim::SolidPart;

    fn key(n: u128) -> SolidKey {
        SolidKey { asset: Uuid::from_u128(n), part: SolidPart::MeshSurface }
    }

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    fn worlds(want: &Want) -> Vec<u32> {
        want.worlds.iter().map(|world| world.0).collect()
    }

    #[test]
    fn wants_of_several_worlds_are_one_and_come_out_in_turn() {
        let mut wants = Wants::default();
        wants.note(at(1), WorldId(1), &[key(5), key(3)]);
        wants.note(at(2), WorldId(2), &[key(5), key(4)]);
        wants.note(at(2), WorldId(2), &[key(5)]);
        assert_eq!((wants.len(), wants.poll_timeout()), (3, Some(at(1))));
        let mut polled = Vec::new();
        while let Some((key, want)) = wants.poll(at(1)) {
            polled.push((key, worlds(&want)));
        }
        assert_eq!(polled, [(key(3), vec![1]), (key(5), vec![1, 2])]);
        assert_eq!((wants.len(), wants.poll_timeout()), (1, Some(at(2))));
    }

    #[test]
    fn a_missing_asset_is_looked_for_less_and_less_often() {
        let mut wants = Wants::default();
        wants.note(at(0), WorldId(1), &[key(1)]);
        let (mut now, mut waits) = (at(0), Vec::new());
        for _ in 0..9 {
            let (key, want) = wants.poll(now).expect("due");
            wants.put_back(now, key, want, Delay::Missing);
            assert_eq!(wants.poll(now), None);
            let next = wants.poll_timeout().expect("it is looked for again");
            waits.push(next.since(now).as_secs());
            now = next;
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        let (key, want) = wants.poll(now).expect("due");
        wants.note(now, WorldId(2), &[key]);
        wants.put_back(now, key, want, Delay::Busy);
        assert_eq!((wants.len(), wants.poll_timeout()), (1, Some(now + BUSY)));
        let (_, want) = wants.poll(now + BUSY).expect("due");
        assert_eq!(worlds(&want), [1, 2], "the world that has wanted it meanwhile, too");
        assert_eq!(wants.due.len(), 0);
    }

    #[test]
    fn wants_beyond_the_bound_are_dropped_and_counted() {
        let mut wants = Wants::default();
        let keys: Vec<SolidKey> = (0..WANTS_MAX as u128 + 2).map(key).collect();
        wants.note(at(0), WorldId(1), &keys);
        assert_eq!((wants.len(), wants.n_dropped()), (WANTS_MAX, 2));
        wants.note(at(0), WorldId(2), &keys[..1]);
        assert_eq!(wants.n_dropped(), 2);
    }
}
