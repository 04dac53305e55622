//! Invariants of the schedule under arbitrary events.

use super::*;
use crate::model::Chance;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Something that happens, after some time.
#[derive(Clone, Debug)]
enum Event {
    Add { rate: usize, kind: Kind },
    Remove(usize),
    Wake(usize),
    Limit { n_workers: usize, pause_per_mille: u32 },
}

/// Kind of world.
#[derive(Clone, Copy, Debug)]
struct Kind {
    cost_us: u64,
    /// Of a hundred steps, the number that leave it quiet, take ten times as long, or panic.
    quiet: u64,
    slow: u64,
    panics: u64,
}

const RATES: [Duration; 4] =
    [DT, Duration::from_nanos(33_333_333), Duration::from_nanos(22_222_222), Duration::from_secs(2)];

fn kind() -> impl Strategy<Value = Kind> {
    (
        0..20_000_u64,
        prop_oneof![Just(0), 0..100_u64],
        prop_oneof![Just(0), 0..20_u64],
        prop_oneof![4 => Just(0), 1 => 0..5_u64],
    )
        .prop_map(|(cost_us, quiet, slow, panics)| Kind { cost_us, quiet, slow, panics })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..RATES.len(), kind()).prop_map(|(rate, kind)| Event::Add { rate, kind }),
        2 => any::<usize>().prop_map(Event::Remove),
        4 => any::<usize>().prop_map(Event::Wake),
        1 => (1..5_usize, 0..600_u32)
            .prop_map(|(n_workers, pause_per_mille)| Event::Limit { n_workers, pause_per_mille }),
    ]
}

/// History of a task.
#[derive(Clone, Copy, Debug)]
struct Life {
    dt: Duration,
    added_at: Instant,
    next_tick: u64,
    began_at: Option<Instant>,
    busy_until: Instant,
}

/// Record of tasks; checks every step at its start.
struct Watch {
    chance: Chance,
    lives: BTreeMap<TaskId, Life>,
    /// Jobs of these may still be pulled, once.
    removed: BTreeSet<TaskId>,
    asleep: BTreeSet<TaskId>,
    /// Quiet from the end of the step that they are in.
    dozing: BTreeMap<TaskId, Instant>,
}

impl Watch {
    /// Records the tasks that have fallen asleep by now.
    fn record_sleepers(&mut self, now: Instant) {
        let Self { asleep, dozing, .. } = self;
        dozing.retain(|&id, &mut until| {
            if until <= now {
                asleep.insert(id);
            }
            until > now
        });
    }

    fn step(&mut self, start: &StepStart, kind: Kind) -> VirtualStep {
        self.record_sleepers(start.at);
        if self.removed.remove(&start.id) {
            return VirtualStep { is_gone: true, ..VirtualStep::default() };
        }
        let life = self.lives.get_mut(&start.id).expect("neither removed nor panicked");
        assert!(!self.asleep.contains(&start.id), "{start:?} of a sleeper");
        assert!(life.busy_until <= start.at, "{start:?} while it runs");
        assert_eq!((start.tick, start.dt), (Tick(life.next_tick), life.dt));
        assert!((0.0..=1.0).contains(&start.dilation));
        if let Some(before) = life.began_at.replace(start.at) {
            assert!(start.at - before >= life.dt / 2, "{:?} after the last", start.at - before);
        }
        life.next_tick += 1;
        let ticks_of_time = (start.at - life.added_at).as_nanos() / life.dt.as_nanos();
        assert!(u128::from(life.next_tick) <= ticks_of_time + 2, "faster than the wall");
        let happens = |chance: &mut Chance, of_hundred| chance.bits() % 100 < of_hundred;
        let slow = happens(&mut self.chance, kind.slow);
        let took = Duration::from_micros(kind.cost_us * if slow { 10 } else { 1 });
        life.busy_until = start.at + took;
        let is_gone = happens(&mut self.chance, kind.panics);
        let is_quiet = !is_gone && happens(&mut self.chance, kind.quiet);
        if is_gone {
            self.lives.remove(&start.id);
        } else if is_quiet {
            self.dozing.insert(start.id, start.at + took);
        }
        VirtualStep { took, is_quiet, is_gone }
    }
}

proptest! {
    #[test]
    fn nothing_runs_twice_out_of_turn_asleep_or_gone_and_everything_gets_its_turn(
        n_workers in 1..5_usize,
        seed in any::<u64>(),
        events in prop::collection::vec((0..40_u64, event()), 1..120),
    ) {
        let (mut schedule, mut crew) = (Schedule::<Kind>::new(n_workers), Crew::new(n_workers));
        let chance = Chance::new(seed);
        let (lives, dozing) = (BTreeMap::new(), BTreeMap::new());
        let mut watch = Watch { chance, lives, removed: BTreeSet::new(), asleep: BTreeSet::new(), dozing };
        let (mut now, mut n) = (Instant::ZERO, 0);
        for (ms, event) in events {
            now += Duration::from_millis(ms);
            crew.advance(&mut schedule, now, &mut |start, kind: &Kind| watch.step(start, *kind));
            watch.record_sleepers(now);
            match event {
                Event::Add { rate, kind } => {
                    n += 1;
                    schedule.add(now, TaskId(n), RATES[rate], Tick(0), kind);
                    let life = Life { dt: RATES[rate], added_at: now, next_tick: 0, began_at: None, busy_until: now };
                    watch.lives.insert(TaskId(n), life);
                }
                Event::Remove(which) => {
                    let id = TaskId(which as u64 % (n + 1));
                    // A panicking task may still be in its step.
                    if watch.lives.remove(&id).is_some() {
                        prop_assert!(schedule.remove(id));
                        watch.removed.insert(id);
                    }
                    watch.asleep.remove(&id);
                    watch.dozing.remove(&id);
                }
                Event::Wake(which) => {
                    let id = TaskId(which as u64 % (n + 1));
                    // As a waker does, which sees the announced sleep. The schedule may not know of it yet.
                    if watch.asleep.remove(&id) {
                        schedule.wake(id, now);
                    }
                }
                Event::Limit { n_workers: n, pause_per_mille } => {
                    schedule.flags().limit(n.min(n_workers), pause_per_mille);
                }
            }
        }
        // No further event: all awake tasks continue.
        schedule.flags().limit(n_workers, 0);
        let before: BTreeMap<TaskId, u64> = watch.lives.iter().map(|(id, life)| (*id, life.next_tick)).collect();
        let mut is_in_order = false;
        for _ in 0..100 {
            now += Duration::from_secs(20);
            crew.advance(&mut schedule, now, &mut |start, kind: &Kind| watch.step(start, *kind));
            watch.record_sleepers(now);
            let continues = |(id, life): (&TaskId, &Life)| watch.asleep.contains(id) || life.next_tick > before[id];
            is_in_order = watch.lives.iter().all(continues);
            if is_in_order {
                break;
            }
        }
        prop_assert!(is_in_order, "a task stood still: {:?}", watch.lives);
        // All quiet tasks fall asleep.
        crew.advance(&mut schedule, now + Duration::from_secs(20), &mut |_, _| VirtualStep { is_quiet: true, ..VirtualStep::default() });
        prop_assert_eq!((schedule.n_awake(), schedule.next_due_at()), (0, None));
    }

    /// On a full node no task has a third frame while another waits for one.
    #[test]
    fn a_due_task_runs_before_the_next_beat_s(
        n_workers in 1..5_usize,
        costs_us in prop::collection::vec(1..25_000_u64, 2..40),
        seed in any::<u64>(),
    ) {
        let mut bench = Bench::new(n_workers);
        let ids: Vec<TaskId> = costs_us.iter().map(|&us| bench.add(DT, Duration::from_micros(us))).collect();
        let chance = std::cell::RefCell::new(Chance::new(seed));
        bench.run_as(at(5_000), |_, cost| takes(cost.mul_f64(0.5 + chance.borrow_mut().share())));
        for id in &ids {
            let mut since: BTreeMap<TaskId, u32> = BTreeMap::new();
            for start in &bench.starts {
                if start.id == *id {
                    since.clear();
                } else {
                    let n = since.entry(start.id).or_default();
                    *n += 1;
                    prop_assert!(*n <= 2, "{:?} had {n} frames in which {id:?} had none", start.id);
                }
            }
        }
    }

    /// The result of a run does not depend on its division into pieces.
    #[test]
    fn equal_runs_are_equal(n_workers in 1..5_usize, costs_us in prop::collection::vec(0..9_000_u64, 1..20), cut_ms in 1..900_u64) {
        let run = |cuts: &[u64]| {
            let mut bench = Bench::new(n_workers);
            for &us in &costs_us {
                bench.add(DT, Duration::from_micros(us));
            }
            cuts.iter().for_each(|&ms| bench.run(at(ms)));
            bench.starts
        };
        prop_assert_eq!(run(&[1_000]), run(&[cut_ms, 1_000]));
    }
}
