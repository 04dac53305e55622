//! On virtual time, with as many workers as a test wants.

mod properties;

use super::*;
use crate::model::{Crew, VirtualStep};

const DT: Duration = Duration::from_millis(50);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn takes(took: Duration) -> VirtualStep {
    VirtualStep { took, is_quiet: false, is_gone: false }
}

/// A schedule, its workers, and the steps that they began. A task's handle is the duration of its steps.
struct Bench {
    schedule: Schedule<Duration>,
    crew: Crew<Duration>,
    starts: Vec<StepStart>,
    n: u64,
}

impl Bench {
    fn new(n_workers: usize) -> Self {
        Self { schedule: Schedule::new(n_workers), crew: Crew::new(n_workers), starts: Vec::new(), n: 0 }
    }

    fn add(&mut self, dt: Duration, cost: Duration) -> TaskId {
        self.n += 1;
        let id = TaskId(self.n);
        self.schedule.add(self.crew.now(), id, dt, Tick(0), cost);
        id
    }

    fn add_many(&mut self, n: usize, cost: Duration) -> Vec<TaskId> {
        (0..n).map(|_| self.add(DT, cost)).collect()
    }

    /// Runs until then, with steps of the durations in the handles.
    fn run(&mut self, until: Instant) {
        self.run_as(until, |_, &cost| takes(cost));
    }

    fn run_as(&mut self, until: Instant, step: impl Fn(&StepStart, &Duration) -> VirtualStep) {
        let starts = &mut self.starts;
        let mut make = |start: &StepStart, cost: &Duration| {
            starts.push(*start);
            step(start, cost)
        };
        self.crew.advance(&mut self.schedule, until, &mut make);
    }

    fn of(&self, id: TaskId) -> impl Iterator<Item = &StepStart> {
        self.starts.iter().filter(move |start| start.id == id)
    }

    fn began(&self, id: TaskId) -> Vec<Instant> {
        self.of(id).map(|start| start.at).collect()
    }

    fn last_dilation(&self, id: TaskId) -> f32 {
        self.of(id).last().unwrap().dilation
    }
}

#[test]
fn the_dearest_task_goes_first() {
    let mut bench = Bench::new(1);
    let ids = [1, 4, 2, 3].map(|cost| bench.add(DT, ms(cost)));
    bench.run(at(49));
    bench.starts.clear();
    bench.run(at(99));
    let order: Vec<TaskId> = bench.starts.iter().map(|start| start.id).collect();
    assert_eq!(order, [ids[1], ids[3], ids[2], ids[0]]);
}

#[test]
fn worlds_of_one_rate_share_a_beat_whenever_they_were_added() {
    let mut bench = Bench::new(2);
    for n in 0..20 {
        bench.run(at(n * 7));
        bench.add(DT, Duration::from_micros(100));
    }
    bench.run(at(299));
    bench.starts.clear();
    bench.run(at(349));
    assert_eq!(bench.starts.len(), 20);
    assert!(bench.starts.iter().all(|start| start.late_by < ms(2) && start.dilation == 1.0));
}

#[test]
fn one_task_s_slowness_is_its_own() {
    let mut bench = Bench::new(2);
    let (slow, quick) = (bench.add(DT, ms(100)), bench.add(DT, ms(1)));
    bench.run(at(4_999));
    assert_eq!((bench.of(slow).count(), bench.of(quick).count()), (50, 100));
    assert!((bench.last_dilation(slow) - 0.5).abs() < 0.01);
    assert_eq!(bench.last_dilation(quick), 1.0);
}

#[test]
fn a_world_that_needs_a_little_more_than_a_beat_is_hardly_idle() {
    for cost in [51, 55, 60, 74, 76, 90] {
        let mut bench = Bench::new(2);
        let (slow, quick) = (bench.add(DT, ms(cost)), bench.add(DT, ms(1)));
        bench.run(at(60_000));
        let frames = bench.of(slow).count() as u64;
        assert!(frames * cost > 60_000 * 94 / 100, "{cost} ms: {frames} frames");
        assert!((bench.of(quick).count() as u64).abs_diff(1_200) <= 1);
        let dilation = bench.last_dilation(slow);
        assert!(
            (dilation - 50.0 * frames as f32 / 60_000.0).abs() < 0.06,
            "{cost} ms: {dilation}, {frames} frames"
        );
    }
}

#[test]
fn ticks_are_counted_per_task_without_a_gap() {
    let mut bench = Bench::new(1);
    let id = bench.add(DT, ms(1));
    bench.run(at(60));
    // The process stood still.
    let mut late = bench.schedule.join_batch(at(30_000)).unwrap();
    let start = late.pull().unwrap().start(at(30_000)).unwrap();
    assert_eq!((start.id, start.tick, start.dt, start.dilation), (id, Tick(2), DT, 1.0));
    late.last_job().unwrap().done(0, at(30_001), false);
    bench.schedule.leave_batch(late);
    assert_eq!(bench.schedule.next_due_at(), Some(at(30_050)));
}

#[test]
fn a_world_that_waits_for_others_gets_its_waiting_time() {
    let mut bench = Bench::new(1);
    let ids = [bench.add(DT, ms(30)), bench.add(DT, ms(5))];
    bench.run(at(40));
    let late: Vec<(TaskId, Duration)> = bench.starts.iter().map(|start| (start.id, start.late_by)).collect();
    assert_eq!(late, [(ids[0], Duration::ZERO), (ids[1], ms(30))]);
}

#[test]
fn a_node_with_too_much_to_do_dilates_all_alike() {
    for (n_workers, load) in [(1, 1.5), (2, 1.2), (4, 3.0)] {
        let mut bench = Bench::new(n_workers);
        let ids: Vec<TaskId> = (1..=40)
            .map(|n| {
                // 820 parts in all.
                let cost = DT.mul_f64(load * n_workers as f64 * f64::from(n) / 820.0);
                bench.add(DT, cost)
            })
            .collect();
        bench.run(at(20_000));
        let frames: Vec<usize> = ids.iter().map(|&id| bench.of(id).count()).collect();
        let expected = 400.0 / load;
        for (&id, &frames) in ids.iter().zip(&frames) {
            assert!((frames as f64 / expected - 1.0).abs() < 0.05, "{frames} frames, {expected} expected");
            assert!(
                (f64::from(bench.last_dilation(id)) * load - 1.0).abs() < 0.08,
                "{}",
                bench.last_dilation(id)
            );
        }
        assert!(frames.iter().max().unwrap() - frames.iter().min().unwrap() <= 8, "{frames:?}");
    }
}

#[test]
fn worlds_of_different_rates_are_dilated_alike_too() {
    let fast_dt = Duration::from_nanos(22_222_222);
    for (of_slow, of_fast) in [(1.0, 1.0), (1.5, 0.5), (0.5, 1.5), (0.7, 0.4)] {
        let mut bench = Bench::new(1);
        let mut add = |dt: Duration, load: f64| -> Vec<TaskId> {
            (0..20).map(|_| bench.add(dt, dt.mul_f64(load / 20.0))).collect()
        };
        let rates = [(DT, add(DT, of_slow)), (fast_dt, add(fast_dt, of_fast))];
        bench.run(at(40_000));
        for (dt, ids) in rates {
            let frames = ids.iter().map(|&id| bench.of(id).count()).sum::<usize>() as f64 / 20.0;
            let speed = frames * dt.as_secs_f64() / 40.0;
            let fair = 1.0 / (of_slow + of_fast);
            assert!(
                (speed - fair).abs() < 0.04,
                "{of_slow} and {of_fast}: {dt:?} at {speed}, {fair} is fair"
            );
        }
    }
}

#[test]
fn a_faster_rate_does_not_wait_for_the_end_of_a_slower_one_s_batch() {
    let mut bench = Bench::new(2);
    let fast_dt = Duration::from_nanos(22_222_222);
    bench.add_many(70, ms(1));
    let fast: Vec<TaskId> = (0..8).map(|_| bench.add(fast_dt, ms(1))).collect();
    bench.run(at(5_000));
    for id in fast {
        let late = bench.of(id).skip(2).map(|start| start.late_by).max().unwrap();
        assert!(late < fast_dt / 2, "{late:?}: a batch of 35 ms was in the way");
        assert_eq!(bench.last_dilation(id), 1.0);
    }
    assert!(bench.starts.iter().all(|start| start.dilation == 1.0));
}

#[test]
fn missed_frames_are_not_made_up_for() {
    let mut bench = Bench::new(2);
    let id = bench.add(DT, ms(1));
    bench.run_as(at(1_000), |start, _| takes(if start.tick == Tick(3) { ms(170) } else { ms(1) }));
    let began = bench.began(id);
    assert!(began.windows(2).all(|pair| pair[1] - pair[0] >= DT / 2), "{began:?}");
    // 150 to 320, and then with the beats again.
    assert_eq!(began[3..7], [at(150), at(320), at(350), at(400)]);
}

#[test]
fn a_quiet_task_sleeps_until_its_waker_is_called() {
    let mut bench = Bench::new(1);
    let id = bench.add(DT, ms(1));
    bench.run_as(at(10_000), |_, _| VirtualStep { took: ms(1), is_quiet: true, is_gone: false });
    assert_eq!((bench.starts.len(), bench.schedule.n_awake()), (1, 0));
    assert_eq!(bench.schedule.next_due_at(), None);
    assert!(bench.schedule.wake(id, at(10_000)));
    assert!(!bench.schedule.wake(id, at(10_000)), "it is awake");
    bench.run(at(10_020));
    assert_eq!((bench.starts[1].at, bench.starts[1].dilation), (at(10_000), 1.0));
}

#[test]
fn frequent_wakes_do_not_make_a_world_faster_than_the_wall() {
    let mut bench = Bench::new(1);
    bench.add(DT, ms(1));
    let id = bench.add(DT, ms(1));
    let quiet = |start: &StepStart, _: &Duration| VirtualStep {
        took: ms(1),
        is_quiet: start.id == id,
        is_gone: false,
    };
    for ms in (0..10_000).step_by(3) {
        bench.run_as(at(ms), quiet);
        bench.schedule.wake(id, at(ms));
    }
    let began = bench.began(id);
    assert!(began.windows(2).all(|pair| pair[1] - pair[0] >= DT / 2));
    assert!((180..=201).contains(&began.len()), "{} frames in 10 s", began.len());
}

#[test]
fn a_wake_during_a_run_prevents_sleep() {
    let mut bench = Bench::new(1);
    let id = bench.add(DT, ms(2));
    let mut stay = bench.schedule.join_batch(at(0)).unwrap();
    stay.pull().unwrap().start(at(0)).unwrap();
    assert!(!bench.schedule.wake(id, at(1)));
    stay.last_job().unwrap().done(0, at(2), true);
    bench.schedule.leave_batch(stay);
    assert_eq!((bench.schedule.n_awake(), bench.schedule.next_due_at()), (1, Some(at(50))));
}

#[test]
fn sleepers_are_on_no_list_that_a_beat_goes_through() {
    let mut bench = Bench::new(2);
    let awake = bench.add(DT, ms(1));
    for _ in 0..10_000 {
        bench.add(DT, Duration::ZERO);
    }
    let quiet = |start: &StepStart, cost: &Duration| VirtualStep {
        took: *cost,
        is_quiet: start.id != awake,
        is_gone: false,
    };
    bench.run_as(at(120), quiet);
    assert_eq!((bench.schedule.n_tasks(), bench.schedule.n_awake()), (10_001, 1));
    assert_eq!(bench.schedule.groups[0].members.len(), 1);
    assert_eq!(bench.schedule.off_beat.len(), 0);
}

#[test]
fn a_removed_task_runs_no_more_from_any_state() {
    let mut bench = Bench::new(1);
    let [asleep, running, queued] = [1, 2, 3].map(|_| bench.add(DT, ms(1)));
    bench.run_as(at(49), |start, _| VirtualStep {
        took: ms(1),
        is_quiet: start.id == asleep,
        is_gone: false,
    });
    let mut stay = bench.schedule.join_batch(at(50)).unwrap();
    assert_eq!(stay.pull().unwrap().start(at(50)).unwrap().id, running);
    for id in [asleep, running, queued] {
        assert!(bench.schedule.remove(id));
        assert!(!bench.schedule.remove(id));
    }
    stay.last_job().unwrap().done(0, at(52), false);
    // The worker that pulls it finds it gone.
    stay.pull().unwrap().gone(0);
    assert!(stay.pull().is_none());
    bench.schedule.leave_batch(stay);
    assert_eq!((bench.schedule.n_tasks(), bench.schedule.next_due_at()), (0, None));
    assert!(bench.schedule.join_batch(at(5_000)).is_none());
    assert_eq!(bench.schedule.free.len(), 3, "every slot is free again");
}

#[test]
fn slots_and_batches_are_used_again() {
    let mut bench = Bench::new(2);
    for n in 0..2_000 {
        let id = bench.add(DT, Duration::from_micros(100));
        bench.run(at(n * 10));
        if n % 3 > 0 {
            bench.schedule.remove(id);
        } else if n >= 300 {
            bench.schedule.remove(TaskId(id.0 - 300));
        }
    }
    let schedule = &bench.schedule;
    assert_eq!(schedule.n_tasks(), 100);
    assert!(schedule.slots.len() < 150, "{} slots", schedule.slots.len());
    assert!(schedule.spare.len() + schedule.flights.len() < 8, "{} batches", schedule.spare.len());
}

#[test]
fn a_task_added_and_removed_between_two_checks_leaves_nothing_behind() {
    let mut schedule = Schedule::<()>::new(1);
    for n in 1..10_000 {
        schedule.add(at(0), TaskId(n), DT, Tick(0), ());
        schedule.remove(TaskId(n));
        assert!(schedule.join_batch(at(0)).is_none());
    }
    assert!(
        schedule.slots.len() <= 2 && schedule.off_beat.is_empty() && schedule.groups[0].members.is_empty()
    );
}

#[test]
fn an_unused_rate_makes_room() {
    let mut schedule = Schedule::<()>::new(1);
    for n in 1..100 {
        schedule.add(at(0), TaskId(n), ms(n), Tick(0), ());
        schedule.remove(TaskId(n));
    }
    assert_eq!(schedule.groups.len(), 1);
}

#[test]
fn workers_that_were_taken_away_take_up_nothing() {
    let mut bench = Bench::new(4);
    bench.add_many(40, ms(1));
    bench.run(at(100));
    bench.schedule.flags().limit(1, 0);
    bench.run(at(149));
    bench.starts.clear();
    bench.run(at(199));
    let mut began: Vec<Instant> = bench.starts.iter().map(|start| start.at).collect();
    began.dedup();
    assert_eq!(began.len(), 40, "one after the other");
    bench.schedule.flags().limit(4, 0);
    bench.starts.clear();
    bench.run(at(249));
    assert_eq!(bench.starts.iter().filter(|start| start.at == at(200)).count(), 4);
}

#[test]
fn a_pausing_worker_leaves_its_share() {
    let mut bench = Bench::new(1);
    bench.add_many(40, ms(1));
    bench.schedule.flags().limit(1, 500);
    bench.run(at(10_000));
    let busy = bench.crew.busy().as_secs_f64() / 10.0;
    assert!((busy - 0.5).abs() < 0.02, "{busy}");
    assert!((bench.last_dilation(TaskId(7)) - 0.625).abs() < 0.03, "50 ms of 80");
}

#[test]
fn a_worker_whose_worlds_are_dear_pauses_too() {
    // Twice a beat each, of which the load knows one: beats that come later leave the worker no time.
    let mut bench = Bench::new(1);
    bench.add_many(10, ms(100));
    bench.schedule.flags().limit(1, 400);
    bench.run(at(30_000));
    let busy = bench.crew.busy().as_secs_f64() / 30.0;
    // The longest pause after each.
    assert!((busy - 0.8).abs() < 0.03, "{busy}");
}

#[test]
fn a_task_pulled_before_its_time_does_not_wait_for_the_end_of_the_batch() {
    let mut bench = Bench::new(2);
    let [dear, one, other, cheap] = [10, 5, 5, 1].map(|cost| bench.add(DT, ms(cost)));
    // Two worlds make the cheap one late in its second frame, and half a beat after that has not passed when it is pulled in the third, in
    // which the dear one takes ten beats.
    let step = move |start: &StepStart, cost: &Duration| match start.tick.0 {
        0 => takes(*cost),
        1 if [one, other].contains(&start.id) => takes(ms(30)),
        2 if start.id == dear => takes(ms(500)),
        _ => takes(ms(1)),
    };
    bench.run_as(at(1_000), step);
    assert_eq!(bench.began(cheap)[1..3], [at(80), at(105)]);
}

#[test]
fn step_durations_keep_the_worst_until_they_are_read() {
    let mut bench = Bench::new(1);
    let id = bench.add(DT, ms(1));
    bench.run_as(at(149), |start, _| takes([ms(2), ms(10), ms(1)][start.tick.0 as usize]));
    let step_stats =
        StepStats { frames: 3, took: ms(13), took_max: ms(10), late: 0, late_by_max: Duration::ZERO };
    let mut taken = Vec::new();
    (0..2).for_each(|_| bench.schedule.drain_step_stats(&mut taken));
    assert_eq!(taken, [(id, step_stats), (id, StepStats::default())]);
}

#[test]
fn the_duration_of_a_panicked_step_is_in_its_frame() {
    let mut bench = Bench::new(1);
    let ids = [bench.add(DT, ms(1)), bench.add(DT, ms(1))];
    let mut stay = bench.schedule.join_batch(at(0)).unwrap();
    for (n, id) in ids.into_iter().enumerate() {
        let job = stay.pull().unwrap();
        assert_eq!(job.start(at(20 * n as u64)).unwrap().id, id);
        if n == 0 { job.done(0, at(20), false) } else { job.panicked(0, at(60)) }
    }
    bench.schedule.leave_batch(stay);
    let mut records = Vec::new();
    bench.schedule.drain_frames(&mut records);
    let FrameRecord { worlds, cost, longest, .. } = records[0];
    assert_eq!((worlds, cost, longest, records[0].lasted()), (2, ms(60), ms(40), ms(60)));
    assert_eq!(bench.schedule.n_tasks(), 1);
}

#[test]
fn workers_are_called_away_from_a_batch_only_for_more_urgent_tasks() {
    let mut bench = Bench::new(1);
    let fast_dt = ms(20);
    bench.add_many(3, ms(1));
    bench.run(at(49));
    let mut stay = bench.schedule.join_batch(at(50)).unwrap();
    stay.pull().unwrap().start(at(50)).unwrap();
    let round = bench.schedule.flags().round();
    let [later, sooner] = [ms(500), fast_dt].map(|dt| {
        bench.schedule.add(at(51), TaskId(dt.as_millis() as u64 + 100), dt, Tick(0), ms(1));
        drop(bench.schedule.join_batch(at(51)));
        bench.schedule.flags().round()
    });
    assert_eq!(later, round, "due within half a second");
    assert_ne!(sooner, round, "due before the others");
}

#[test]
fn frames_are_recorded_apart_from_steps_between_the_beats() {
    let mut bench = Bench::new(2);
    let slow = bench.add(DT, ms(60));
    bench.add_many(10, ms(2));
    bench.schedule.set_level(3);
    bench.run(at(179));
    let mut records = Vec::new();
    let summary = bench.schedule.drain_frames(&mut records);
    // The slow one's frames begin at 0, 60 and 120.
    assert_eq!(bench.began(slow), [at(0), at(60), at(120)]);
    assert_eq!(
        (summary.beats, summary.between),
        (4, 1),
        "the second one's step between the beats is not over"
    );
    assert_eq!((summary.longest, summary.over, summary.level_max), (ms(60), 1, 3));
    let second = records.iter().find(|record| record.due_at == at(50) && record.is_beat).unwrap();
    assert_eq!((second.worlds, second.cost, second.longest), (10, ms(20), ms(2)));
    assert_eq!(second.lasted(), ms(20), "one worker has the slow one, before and after 60");
}
