//! Starvation control: makes room for long tasks if worlds leave them no CPU time.
//!
//! Long tasks run on threads of low priority, which works while cores have idle moments. On a full node they have none: a thread at
//! niceness 10 gets a thirtieth of the time of one at −5, saves queue up, and the loss at a crash grows by the minute. Priorities of
//! the operating system do not prevent that; fewer short-task workers do.
//!
//! [`Starvation`] takes the backlog of long tasks and returns the number of workers that may run. It has no thread.
//!
//! A single worker cannot be taken away. It [`Pauses`] between tasks instead, for a share of its time that grows with the level, as far
//! as its idle time is below that share: a pause within a beat that has room for it would only move idle time forward. While demand +
//! share ≤ 1, frames stay within the beat; beyond that all worlds are dilated alike, by half at most.
//!
//! Room helps only long threads that are ready to run and have no core, as the kernel's accounting shows. If all long threads block on
//! something else, or have had far more CPU time than expected, worlds get everything back: a hanging task delays saves and no frames.

use ids::Instant;
use std::time::Duration;

/// Long work that waits or lacks a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Time that the long threads need for it at their recent pace.
    pub work: Duration,
    /// Wait of the oldest task; or the deficit of running tasks for lack of a core, if that is greater.
    pub oldest: Duration,
    /// All long threads are in tasks that a core would not help: they wait for something else, or have had far more of one than expected.
    pub is_stuck: bool,
}

impl Backlog {
    /// Sum of both. Waiting tasks age, so a single small task that is never started counts, too.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.work.saturating_add(self.oldest)
    }
}

/// Orders to the short-task workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// 0 without starvation, at most [`Starvation::LEVEL_MAX`].
    pub level: u8,
    /// Workers that may run; one at least.
    pub n_workers: usize,
    /// Share of each worker's time to be spent on pauses, in thousandths.
    pub pause_per_mille: u32,
}

/// The starvation level.
#[derive(Clone, Debug)]
pub struct Starvation {
    n_workers: usize,
    level: u8,
    changed_at: Instant,
}

impl Starvation {
    /// The highest level: one worker left, or half of the only one's time.
    pub const LEVEL_MAX: u8 = 5;

    /// Backlog for each level. A save waits for 30 ms without a shortage; changed instances are journalled every second, and with
    /// less than half a second of backlog that promise still holds.
    pub const STEP: Duration = Duration::from_millis(400);

    /// Below this the level falls. The limit is the same for all levels: with one limit each, the level would stay at the one that merely holds
    /// the backlog.
    pub const FALL_BELOW: Duration = Duration::from_millis(100);

    /// Least time between two levels on the way up: longer than the start of a just submitted task takes, and short enough to reach the
    /// top within a second.
    pub const RISE_EVERY: Duration = Duration::from_millis(200);

    /// Between two levels on the way down. Slower, so that a backlog that comes in waves does not send workers to and fro.
    pub const FALL_EVERY: Duration = Duration::from_millis(500);

    /// Up to this level workers are taken away only if the others can do their work. That costs worlds nothing, and spares a long
    /// thread interruptions on its core.
    const GENTLE_MAX: u8 = 2;

    /// Greatest load of the remaining workers at those levels.
    const FILL_MAX: f32 = 0.9;

    /// Pauses of a single worker per level.
    const PAUSE_STEP_PER_MILLE: u32 = 100;

    /// Level 0 with `n_workers` workers.
    ///
    /// # Panics
    /// If `n_workers` is 0.
    #[must_use]
    pub const fn new(n_workers: usize) -> Self {
        assert!(n_workers > 0, "a pool needs a worker");
        Self { n_workers, level: 0, changed_at: Instant::ZERO }
    }

    /// The level as of the last update.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Updates the level for this backlog and a demand of so many workers ([`crate::Schedule::demand`]). To be called several times a
    /// second.
    pub fn update(&mut self, now: Instant, backlog: Backlog, demand: f32) -> Measure {
        let since_change = now - self.changed_at;
        let steps = backlog.total().as_nanos() / Self::STEP.as_nanos();
        let wanted = u8::try_from(steps).unwrap_or(u8::MAX).min(Self::LEVEL_MAX);
        let (wanted, may_fall) = match backlog.is_stuck {
            true => (0, true),
            false => (wanted, backlog.total() < Self::FALL_BELOW),
        };
        if wanted > self.level && since_change >= Self::RISE_EVERY {
            self.level += 1;
            self.changed_at = now;
        } else if self.level > 0 && may_fall && since_change >= Self::FALL_EVERY {
            self.level -= 1;
            self.changed_at = now;
        }
        self.measure(demand)
    }

    fn measure(&self, demand: f32) -> Measure {
        let level = self.level;
        if self.n_workers == 1 {
            let per_mille = u32::from(level) * Self::PAUSE_STEP_PER_MILLE;
            let is_idle_enough = demand * 1_000.0 <= 1_000.0 - per_mille as f32;
            return Measure {
                level,
                n_workers: 1,
                pause_per_mille: if is_idle_enough { 0 } else { per_mille },
            };
        }
        let taken = (usize::from(level) * (self.n_workers - 1)).div_ceil(usize::from(Self::LEVEL_MAX));
        let mut n_workers = self.n_workers - taken;
        if level <= Self::GENTLE_MAX {
            let needed = (demand.max(0.0) / Self::FILL_MAX).ceil() as usize;
            n_workers = n_workers.max(needed.min(self.n_workers));
        }
        Measure { level, n_workers, pause_per_mille: 0 }
    }
}

/// Pauses that a worker owes.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    owed: Duration,
}

impl Pauses {
    /// Shorter pauses cost more than they give: each takes two context switches and the contents of the caches.
    pub const LEAST: Duration = Duration::from_millis(1);

    /// Longer pauses would be noticed by clients. The rest of a longer debt is cancelled.
    pub const MOST: Duration = Duration::from_millis(25);

    /// Adds a task of duration `took`, and returns the pause to make now.
    #[must_use]
    pub fn after(&mut self, took: Duration, per_mille: u32) -> Option<Duration> {
        if per_mille == 0 {
            self.owed = Duration::ZERO;
            return None;
        }
        let others = per_mille.min(999);
        self.owed = (self.owed + took.saturating_mul(others) / (1_000 - others)).min(Self::MOST);
        (self.owed >= Self::LEAST).then_some(self.owed)
    }

    /// Records a pause of this length.
    pub fn made(&mut self, pause: Duration) {
        self.owed = self.owed.saturating_sub(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn waits(ms: u64) -> Backlog {
        Backlog { work: Duration::from_millis(ms), oldest: Duration::ZERO, is_stuck: false }
    }

    /// A constant backlog, sampled every 50 ms.
    fn pass(starvation: &mut Starvation, from_ms: u64, to_ms: u64, backlog_ms: u64, demand: f32) -> Measure {
        let mut measure = starvation.measure(demand);
        for ms in (from_ms..to_ms).step_by(50) {
            measure = starvation.update(Instant::from_millis(ms), waits(backlog_ms), demand);
        }
        measure
    }

    #[test]
    fn a_short_backlog_raises_no_starvation() {
        let mut starvation = Starvation::new(4);
        for beat in 1..100 {
            let backlog = if beat % 4 == 0 { 350 } else { 0 };
            let measure = starvation.update(Instant::from_millis(beat * 50), waits(backlog), 3.0);
            assert_eq!(measure, Measure { level: 0, n_workers: 4, pause_per_mille: 0 });
        }
    }

    #[test]
    fn a_backlog_takes_all_workers_but_one_within_a_second_and_a_half() {
        let mut starvation = Starvation::new(8);
        let measure = pass(&mut starvation, 0, 1_500, 60_000, 7.5);
        assert_eq!((measure.level, measure.n_workers), (5, 1));
    }

    #[test]
    fn the_level_holds_until_the_backlog_is_gone() {
        let mut starvation = Starvation::new(8);
        let high = pass(&mut starvation, 0, 3_000, 1_300, 7.5);
        assert_eq!(high.level, 3);
        assert_eq!(pass(&mut starvation, 3_000, 9_000, 150, 7.5), high, "gets better, is not over");
        assert_eq!(pass(&mut starvation, 9_000, 9_900, 50, 7.5).level, 1);
        assert_eq!(pass(&mut starvation, 9_900, 12_000, 0, 7.5).level, 0);
    }

    #[test]
    fn worlds_make_no_room_for_tasks_that_hang() {
        let mut starvation = Starvation::new(4);
        assert_eq!(pass(&mut starvation, 0, 3_000, 60_000, 3.5).level, 5);
        let hangs = Backlog { is_stuck: true, ..waits(60_000) };
        let levels = (3_000..8_000)
            .step_by(50)
            .map(|ms| starvation.update(Instant::from_millis(ms), hangs, 3.5).level);
        assert_eq!(levels.last(), Some(0));
        assert_eq!(pass(&mut starvation, 8_000, 11_000, 60_000, 3.5).level, 5, "it has ended");
    }

    #[test]
    fn the_first_levels_take_no_needed_worker() {
        let mut starvation = Starvation::new(8);
        assert_eq!(
            pass(&mut starvation, 0, 3_000, 900, 6.0),
            Measure { level: 2, n_workers: 7, pause_per_mille: 0 }
        );
        assert_eq!(starvation.measure(2.0).n_workers, 5);
        assert_eq!(starvation.measure(9.0).n_workers, 8);
    }

    #[test]
    fn an_only_worker_pauses_if_it_is_not_idle_enough() {
        let mut starvation = Starvation::new(1);
        let full = pass(&mut starvation, 0, 3_000, 1_300, 0.9);
        assert_eq!(full, Measure { level: 3, n_workers: 1, pause_per_mille: 300 });
        assert_eq!(starvation.measure(0.7).pause_per_mille, 0, "it is idle for three tenths");
        assert_eq!(pass(&mut starvation, 3_000, 9_000, 60_000, 2.0).pause_per_mille, 500);
    }

    #[test]
    fn pauses_come_to_their_share() {
        let mut pauses = Pauses::default();
        let (mut worked, mut paused) = (Duration::ZERO, Duration::ZERO);
        for step in 0..1_000 {
            let took = Duration::from_micros(step % 700);
            worked += took;
            if let Some(pause) = pauses.after(took, 300) {
                assert!(pause >= Pauses::LEAST);
                pauses.made(pause);
                paused += pause;
            }
        }
        let share = paused.as_secs_f64() / (worked + paused).as_secs_f64();
        assert!((share - 0.3).abs() < 0.01, "{share}");
        assert_eq!(pauses.after(Duration::from_secs(10), 300), Some(Pauses::MOST));
        assert_eq!(pauses.after(Duration::from_secs(10), 0), None);
    }

    proptest! {
        #[test]
        fn one_worker_always_runs_and_the_level_stays_in_its_bounds(
            n_workers in 1..40_usize,
            looks in prop::collection::vec((0..2_000_u64, any::<u32>(), 0.0..50.0_f32), 1..100),
        ) {
            let mut starvation = Starvation::new(n_workers);
            let mut now = Instant::ZERO;
            for (ms, backlog_ms, demand) in looks {
                now += Duration::from_millis(ms);
                let before = starvation.level();
                let measure = starvation.update(now, waits(backlog_ms.into()), demand);
                prop_assert!(measure.level <= Starvation::LEVEL_MAX && measure.level.abs_diff(before) <= 1);
                prop_assert!((1..=n_workers).contains(&measure.n_workers));
                prop_assert!(measure.pause_per_mille <= 500);
            }
        }
    }
}
