//! Objects in motion, whose positions are saved periodically.
//!
//! A moving object changes with every frame, and an outdated position has little value. An object is saved [`PERIOD`] after its first unsaved
//! movement, the longest overdue object first, within a byte budget; an object that comes to rest is saved like an edit. The lag is the time by which
//! the first object is overdue.
//!
//! Both collections keep their memory: 500 objects in motion cause no allocation.

use ids::{Instant, LocalId};
use link::PrimMotion;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Time between two saves of an object that keeps moving.
pub(crate) const PERIOD: Duration = Duration::from_secs(5);
/// Time for which an unspent budget accumulates: a larger transaction would delay edits.
const UNSPENT_MAX: Duration = Duration::from_millis(500);
/// Stale entries are removed from the queue when n_stale > n_objects + this.
const STALE_MAX: usize = 64;

/// Moving objects with unsaved positions.
#[derive(Debug)]
pub(crate) struct Movers {
    objects: HashMap<LocalId, Mover>,
    /// Due times of the saves, in order. A removed object leaves a stale entry; the first entry is never stale.
    queue: VecDeque<(Instant, LocalId)>,
    bytes_per_s: u64,
    /// Remaining budget in bytes × 10^9; negative after a row that exceeded the remainder.
    unspent: i128,
    filled_at: Instant,
}

/// An object in motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mover {
    pub(crate) motion: PrimMotion,
    /// Due time of the save.
    pub(crate) due_at: Instant,
}

impl Movers {
    pub(crate) fn new(bytes_per_s: u64) -> Self {
        Self {
            objects: HashMap::new(),
            queue: VecDeque::new(),
            bytes_per_s,
            unspent: 0,
            filled_at: Instant::ZERO,
        }
    }

    /// Changes the budget in bytes per second.
    pub(crate) const fn set_rate(&mut self, bytes_per_s: u64) {
        self.bytes_per_s = bytes_per_s;
    }

    /// Records the newest position of an object.
    pub(crate) fn put(&mut self, id: LocalId, motion: PrimMotion, now: Instant) {
        if let Some(mover) = self.objects.get_mut(&id) {
            mover.motion = motion;
            return;
        }
        let due_at = now + PERIOD;
        self.objects.insert(id, Mover { motion, due_at });
        self.enqueue(due_at, id);
    }

    /// Returns an object after a failed save; a newer position takes precedence.
    pub(crate) fn put_back(&mut self, id: LocalId, former: Mover) {
        let motion = self.remove(id).map_or(former.motion, |newer| newer.motion);
        self.objects.insert(id, Mover { motion, ..former });
        self.enqueue(former.due_at, id);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: LocalId) -> Option<Mover> {
        let mover = self.objects.remove(&id)?;
        self.drop_stale();
        Some(mover)
    }

    /// Moves overdue objects into `taken`, within the budget. `bytes_of` estimates the size of an object's row.
    pub(crate) fn take_due(
        &mut self,
        now: Instant,
        bytes_of: impl Fn(LocalId) -> usize,
        taken: &mut Vec<(LocalId, Mover)>,
    ) {
        self.fill(now);
        while let Some(&(due_at, id)) = self.queue.front()
            && due_at <= now
            && self.unspent > 0
        {
            self.unspent -= bytes_of(id) as i128 * 1_000_000_000;
            taken.extend(self.remove(id).map(|mover| (id, mover)));
        }
    }

    /// Moves all objects into `taken`, regardless of the budget.
    pub(crate) fn take_all(&mut self, taken: &mut Vec<(LocalId, Mover)>) {
        self.queue.clear();
        taken.extend(self.objects.drain());
    }

    /// Earliest time at which the first object is due and the budget allows its save.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let &(due_at, _) = self.queue.front()?;
        let missing = u64::try_from(1 - self.unspent).unwrap_or(0);
        // A budget of 0 bytes per second allows no save.
        let wait_ns = missing.checked_div(self.bytes_per_s)?.saturating_add(u64::from(missing > 0));
        Some(due_at.max(self.filled_at + Duration::from_nanos(wait_ns)))
    }

    /// Time by which the first object is overdue.
    pub(crate) fn lag(&self, now: Instant) -> Duration {
        self.queue.front().map_or(Duration::ZERO, |&(due_at, _)| now.since(due_at))
    }

    pub(crate) fn contains(&self, id: LocalId) -> bool {
        self.objects.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Inserts an entry in the order of time: at the end, except after a failed save.
    fn enqueue(&mut self, due_at: Instant, id: LocalId) {
        let place = self.queue.partition_point(|&(other, _)| other <= due_at);
        self.queue.insert(place, (due_at, id));
    }

    /// Removes stale entries: the leading ones, and all of them once they are the majority.
    fn drop_stale(&mut self) {
        let Self { objects, queue, .. } = self;
        let is_stale =
            |&(due_at, id): &(Instant, LocalId)| objects.get(&id).is_none_or(|mover| mover.due_at != due_at);
        while queue.front().is_some_and(is_stale) {
            queue.pop_front();
        }
        if queue.len() > 2 * objects.len() + STALE_MAX {
            queue.retain(|entry| !is_stale(entry));
        }
    }

    fn fill(&mut self, now: Instant) {
        let rate = i128::from(self.bytes_per_s);
        let most = rate * UNSPENT_MAX.as_nanos() as i128;
        self.unspent = (self.unspent + rate * now.since(self.filled_at).as_nanos() as i128).min(most);
        self.filled_at = self.filled_at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 100;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn put(movers: &mut Movers, id: u32, now: Instant) {
        movers.put(LocalId(id), PrimMotion { link_number: id as u8, ..PrimMotion::NONE }, now);
    }

    fn taken(movers: &mut Movers, now: Instant) -> Vec<(LocalId, Mover)> {
        let mut taken = Vec::new();
        movers.take_due(now, |_| BYTES, &mut taken);
        taken
    }

    fn due(movers: &mut Movers, now: Instant) -> Vec<u32> {
        taken(movers, now).into_iter().map(|(LocalId(id), _)| id).collect()
    }

    #[test]
    fn an_object_is_due_five_seconds_after_its_first_movement() {
        let mut movers = Movers::new(1_000_000);
        put(&mut movers, 1, ms(0));
        put(&mut movers, 2, ms(1_000));
        put(&mut movers, 1, ms(4_000));
        assert_eq!(movers.next_at(), Some(ms(5_000)));
        assert_eq!((due(&mut movers, ms(4_999)), due(&mut movers, ms(5_000))), (vec![], vec![1]));
        put(&mut movers, 1, ms(5_100));
        assert_eq!((due(&mut movers, ms(6_000)), due(&mut movers, ms(10_100))), (vec![2], vec![1]));
        assert_eq!((movers.len(), movers.next_at()), (0, None));
    }

    #[test]
    fn the_longest_overdue_come_first_and_the_lag_is_theirs() {
        let mut movers = Movers::new(1_000);
        (1..=4).for_each(|id| put(&mut movers, id, ms(u64::from(id))));
        // 500 bytes are unspent: after five rows of 100 none is left.
        assert_eq!(due(&mut movers, ms(5_002)), [1, 2]);
        (5..=9).for_each(|id| put(&mut movers, id, ms(10)));
        assert_eq!(due(&mut movers, ms(6_000)), [3, 4, 5, 6, 7]);
        assert_eq!(movers.lag(ms(6_000)), Duration::from_millis(990));
        assert_eq!(due(&mut movers, ms(6_000)), [0; 0], "nothing is left of the budget");
        assert_eq!(movers.next_at(), Some(Instant(6_000_000_001)));
        assert_eq!(due(&mut movers, ms(6_001)), [8]);
        assert_eq!(movers.next_at(), Some(Instant(6_001_000_000 + 99_000_001)));
        assert_eq!(due(&mut movers, ms(7_000)), [9]);
        assert_eq!(movers.lag(ms(7_000)), Duration::ZERO);
    }

    #[test]
    fn an_object_whose_save_failed_is_overdue_with_its_newest_place() {
        let mut movers = Movers::new(1_000_000);
        put(&mut movers, 1, ms(0));
        put(&mut movers, 2, ms(0));
        let failed = taken(&mut movers, ms(5_000));
        movers.put(LocalId(1), PrimMotion { link_number: 9, ..PrimMotion::NONE }, ms(5_100));
        failed.into_iter().for_each(|(id, mover)| movers.put_back(id, mover));
        let again = taken(&mut movers, ms(5_200));
        let again: Vec<_> = again.into_iter().map(|(id, mover)| (id.0, mover.motion.link_number)).collect();
        assert_eq!(again, [(1, 9), (2, 2)]);
    }

    #[test]
    fn without_a_budget_only_an_order_saves_them() {
        let mut movers = Movers::new(0);
        put(&mut movers, 1, ms(0));
        assert_eq!((due(&mut movers, ms(60_000)), movers.next_at()), (vec![], None));
        let mut all = Vec::new();
        movers.take_all(&mut all);
        assert_eq!((all.len(), movers.len(), movers.lag(ms(60_000))), (1, 0, Duration::ZERO));
    }

    #[test]
    fn objects_that_come_and_go_leave_no_queue_behind() {
        let mut movers = Movers::new(0);
        put(&mut movers, 1, ms(0));
        for at in 1..=1_000 {
            put(&mut movers, 2, ms(at));
            movers.remove(LocalId(2));
        }
        assert!(movers.queue.len() <= 2 * movers.len() + STALE_MAX, "{}", movers.queue.len());
        put(&mut movers, 2, ms(1_001));
        assert_eq!(movers.lag(ms(5_001)), Duration::from_millis(1));
        movers.remove(LocalId(1));
        assert_eq!(movers.lag(ms(6_002)), Duration::from_millis(1), "the first one is not a stale one");
        movers.remove(LocalId(2));
        assert_eq!((movers.queue.len(), movers.next_at()), (0, None));
    }
}
