//! Who runs next: of all tasks that are due, the dearest.
//!
//! Sans-IO: [`Schedule::take`] hands out a frame to run, [`Schedule::finish`] takes it back, [`Schedule::next_due_at`] says until
//! when there is nothing to do. The longest first, because a long task begun last is what the whole batch waits for.

use crate::{
    clock::{Beat, FrameClock},
    laps::Laps,
};
use ids::{Instant, Tick};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Names a task of a schedule; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A frame to run now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Whose.
    pub id: TaskId,
    /// Its step number.
    pub tick: Tick,
    /// World time to pass.
    pub dt: Duration,
    /// To be told to clients.
    pub dilation: f32,
    /// When it began.
    pub at: Instant,
    /// How long it was due before that.
    pub late_by: Duration,
}

/// All tasks with their clocks and costs.
#[derive(Debug, Default)]
pub struct Schedule {
    tasks: BTreeMap<TaskId, Entry>,
    /// Tasks whose frame is not due yet, as of the last look.
    waiting: BTreeSet<(Instant, TaskId)>,
    /// Tasks whose frame is due, the dearest first.
    ready: BTreeSet<(Reverse<Duration>, TaskId)>,
    last_id: u64,
}

#[derive(Debug)]
struct Entry {
    clock: FrameClock,
    next_tick: Tick,
    /// Estimated from recent frames.
    cost: Duration,
    state: State,
    laps: Laps,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting,
    /// In `ready`, at this cost.
    Ready,
    Running {
        began_at: Instant,
        late_by: Duration,
        /// Woken meanwhile: it will not fall asleep.
        woken: bool,
    },
    Asleep,
}

impl Schedule {
    /// No tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task that is due at once and then every `dt`; its first step is `first_tick`.
    pub fn add(&mut self, now: Instant, dt: Duration, first_tick: Tick) -> TaskId {
        self.last_id += 1;
        let id = TaskId(self.last_id);
        let clock = FrameClock::new(now, dt);
        self.waiting.insert((clock.due_at(), id));
        let state = State::Waiting;
        let entry =
            Entry { clock, next_tick: first_tick, cost: Duration::ZERO, state, laps: Laps::default() };
        self.tasks.insert(id, entry);
        id
    }

    /// Takes a task out, also one that runs: its `finish` will be ignored. False when there is none.
    pub fn remove(&mut self, id: TaskId) -> bool {
        let Some(entry) = self.tasks.remove(&id) else { return false };
        match entry.state {
            State::Waiting => self.waiting.remove(&(entry.clock.due_at(), id)),
            State::Ready => self.ready.remove(&(Reverse(entry.cost), id)),
            State::Running { .. } | State::Asleep => true,
        }
    }

    /// The next frame to run, if one is due. It counts as running until [`Schedule::finish`].
    pub fn take(&mut self, now: Instant) -> Option<Start> {
        while let Some(&(due_at, id)) = self.waiting.first() {
            if due_at > now {
                break;
            }
            self.waiting.pop_first();
            let entry = self.tasks.get_mut(&id).expect("waiting tasks exist");
            entry.state = State::Ready;
            self.ready.insert((Reverse(entry.cost), id));
        }
        let (_, id) = self.ready.pop_first()?;
        let entry = self.tasks.get_mut(&id).expect("ready tasks exist");
        let Beat { dilation, late_by } = entry.clock.begin(now).expect("ready tasks are due");
        entry.state = State::Running { began_at: now, late_by, woken: false };
        let tick = entry.next_tick;
        entry.next_tick.0 += 1;
        Some(Start { id, tick, dt: entry.clock.dt(), dilation, at: now, late_by })
    }

    /// A frame has ended. A `quiet` task sleeps until [`Schedule::wake`].
    pub fn finish(&mut self, id: TaskId, now: Instant, quiet: bool) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let State::Running { began_at, late_by, woken } = entry.state else {
            panic!("{id:?} ended a frame that it had not begun: {:?}", entry.state)
        };
        let took = now - began_at;
        entry.laps.add(took, late_by);
        // A mean over about eight frames follows a growing crowd and forgets one page fault.
        entry.cost = (entry.cost * 7 + took) / 8;
        if quiet && !woken {
            entry.state = State::Asleep;
        } else {
            entry.state = State::Waiting;
            self.waiting.insert((entry.clock.due_at(), id));
        }
    }

    /// Ends a task's sleep, or the one it is about to begin. True when it was asleep, and there is something to run now.
    pub fn wake(&mut self, id: TaskId, now: Instant) -> bool {
        let Some(entry) = self.tasks.get_mut(&id) else { return false };
        match &mut entry.state {
            State::Asleep => {
                entry.clock.resume(now);
                entry.state = State::Waiting;
                self.waiting.insert((entry.clock.due_at(), id));
                true
            }
            State::Running { woken, .. } => {
                *woken = true;
                false
            }
            State::Waiting | State::Ready => false,
        }
    }

    /// When [`Schedule::take`] will have something: a time in the past means now, `None` means not before a wake, a finish or
    /// a new task.
    #[must_use]
    pub fn next_due_at(&self) -> Option<Instant> {
        if self.ready.is_empty() {
            self.waiting.first().map(|&(due_at, _)| due_at)
        } else {
            Some(Instant::ZERO)
        }
    }

    /// What each task's frames cost since the last call.
    pub fn take_laps(&mut self) -> Vec<(TaskId, Laps)> {
        self.tasks.iter_mut().map(|(&id, entry)| (id, std::mem::take(&mut entry.laps))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_dearest_task_goes_first() {
        let mut schedule = Schedule::new();
        let ids: Vec<TaskId> = (0..4).map(|_| schedule.add(at(0), DT, Tick(0))).collect();
        // Costs of 1, 4, 2 and 3 ms.
        for cost in [1, 4, 2, 3] {
            let start = schedule.take(at(0)).unwrap();
            schedule.finish(start.id, at(cost), false);
        }
        let order: Vec<TaskId> = std::iter::from_fn(|| schedule.take(at(50))).map(|start| start.id).collect();
        assert_eq!(order, [ids[1], ids[3], ids[2], ids[0]]);
    }

    #[test]
    fn one_task_s_slowness_is_its_own() {
        let mut schedule = Schedule::new();
        let slow = schedule.add(at(0), DT, Tick(0));
        let quick = schedule.add(at(0), DT, Tick(100));
        // Two workers: the slow task needs 100 ms a frame, the quick one 1 ms.
        let mut running: Vec<(u64, TaskId)> = Vec::new();
        let mut dilation = BTreeMap::new();
        let mut frames = BTreeMap::new();
        for ms in 0..5_000 {
            running.retain(|&(until, id)| {
                let ends = until <= ms;
                if ends {
                    schedule.finish(id, at(ms), false);
                }
                !ends
            });
            while running.len() < 2
                && let Some(start) = schedule.take(at(ms))
            {
                dilation.insert(start.id, start.dilation);
                *frames.entry(start.id).or_insert(0) += 1;
                running.push((ms + if start.id == slow { 100 } else { 1 }, start.id));
            }
        }
        assert_eq!((frames[&slow], frames[&quick]), (50, 100));
        assert!((dilation[&slow] - 0.5).abs() < 0.01);
        assert_eq!(dilation[&quick], 1.0);
    }

    #[test]
    fn ticks_are_counted_per_task_without_a_gap() {
        let mut schedule = Schedule::new();
        let id = schedule.add(at(0), DT, Tick(7));
        for (ms, tick) in [(0, 7), (50, 8), (30_000, 9), (30_050, 10)] {
            let start = schedule.take(at(ms)).unwrap();
            assert_eq!((start.id, start.tick, start.dt), (id, Tick(tick), DT));
            schedule.finish(id, at(ms + 1), false);
        }
        assert_eq!(schedule.next_due_at(), Some(at(30_100)));
    }

    #[test]
    fn who_waits_for_others_is_told_how_long() {
        let mut schedule = Schedule::new();
        let ids = [schedule.add(at(0), DT, Tick(0)), schedule.add(at(0), DT, Tick(0))];
        // One worker.
        let first = schedule.take(at(0)).unwrap();
        assert_eq!((first.id, first.late_by), (ids[0], Duration::ZERO));
        schedule.finish(first.id, at(40), false);
        let second = schedule.take(at(40)).unwrap();
        assert_eq!((second.id, second.late_by), (ids[1], Duration::from_millis(40)));
    }

    #[test]
    fn a_quiet_task_sleeps_until_it_is_woken() {
        let mut schedule = Schedule::new();
        let id = schedule.add(at(0), DT, Tick(0));
        schedule.take(at(0)).unwrap();
        schedule.finish(id, at(1), true);
        assert_eq!(schedule.next_due_at(), None);
        assert_eq!(schedule.take(at(10_000)), None);
        assert!(schedule.wake(id, at(10_000)));
        assert!(!schedule.wake(id, at(10_000)), "it is awake");
        assert_eq!(schedule.take(at(10_000)).unwrap().dilation, 1.0);
    }

    #[test]
    fn who_is_woken_while_it_runs_does_not_fall_asleep() {
        let mut schedule = Schedule::new();
        let id = schedule.add(at(0), DT, Tick(0));
        schedule.take(at(0)).unwrap();
        assert!(!schedule.wake(id, at(1)));
        schedule.finish(id, at(2), true);
        assert_eq!(schedule.next_due_at(), Some(at(50)));
    }

    #[test]
    fn a_removed_task_runs_no_more_in_whatever_state_it_was() {
        let mut schedule = Schedule::new();
        let waiting = schedule.add(at(1_000), DT, Tick(0));
        let running = schedule.add(at(0), DT, Tick(0));
        let ready = schedule.add(at(0), DT, Tick(0));
        assert_eq!(schedule.take(at(0)).map(|start| start.id), Some(running));
        for id in [waiting, running, ready] {
            assert!(schedule.remove(id));
            assert!(!schedule.remove(id));
        }
        schedule.finish(running, at(5), false);
        assert_eq!((schedule.take(at(5_000)), schedule.next_due_at()), (None, None));
    }

    #[test]
    fn laps_keep_the_worst_until_they_are_read() {
        let mut schedule = Schedule::new();
        let id = schedule.add(at(0), DT, Tick(0));
        for (began, ended) in [(0, 2), (50, 60), (107, 108)] {
            schedule.take(at(began)).unwrap();
            schedule.finish(id, at(ended), false);
        }
        let ms = Duration::from_millis;
        let laps = Laps { frames: 3, took: ms(13), took_max: ms(10), late: 1, late_by_max: ms(7) };
        assert_eq!(schedule.take_laps(), [(id, laps)]);
        assert_eq!(schedule.take_laps(), [(id, Laps::default())]);
    }
}
