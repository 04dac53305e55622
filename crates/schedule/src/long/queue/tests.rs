use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[derive(Default)]
struct Bench {
    queue: LongQueue<u64>,
    n: u64,
}

impl Bench {
    fn push(&mut self, now: Instant, kind: &'static str, estimated: Duration) -> LongId {
        self.n += 1;
        let (id, spec) = (LongId(self.n), LongSpec { kind, name: format!("{kind} {}", self.n), estimated });
        self.queue.push(id, now, Arc::default(), spec, self.n);
        id
    }

    fn push_many(&mut self, n: usize, now: Instant, kind: &'static str, estimated: Duration) {
        for _ in 0..n {
            self.push(now, kind, estimated);
        }
    }

    /// Runs the next task for so long; returns which it was.
    fn run(&mut self, now: Instant, took: Duration) -> Option<u64> {
        let begun = self.queue.start_task(now)?;
        assert!(!self.queue.finish(begun.id, now + took).is_abandoned);
        Some(begun.work)
    }
}

#[test]
fn tasks_of_a_kind_run_in_their_order_and_kinds_share_the_time() {
    let mut bench = Bench::default();
    bench.push_many(6, at(0), "navmesh", ms(100));
    bench.push_many(12, at(0), "save", ms(50));
    let mut order = Vec::new();
    while let Some(begun) = bench.queue.start_task(at(0)) {
        bench.queue.finish(begun.id, at(if begun.work <= 6 { 100 } else { 50 }));
        order.push(begun.work);
    }
    // One of 100 ms, two of 50 ms.
    assert_eq!(order[..6], [1, 7, 8, 2, 9, 10]);
    let saves: Vec<u64> = order.iter().copied().filter(|&n| n > 6).collect();
    assert!(saves.is_sorted(), "{saves:?}");
}

#[test]
fn a_late_task_takes_its_place() {
    let mut bench = Bench::default();
    for id in [3, 1, 4, 2] {
        let spec = LongSpec { kind: "save", name: String::new(), estimated: ms(10) };
        bench.queue.push(LongId(id), at(0), Arc::default(), spec, id);
    }
    assert_eq!([0; 4].map(|_| bench.run(at(0), ms(10)).unwrap()), [1, 2, 3, 4]);
}

#[test]
fn a_kind_that_had_nothing_to_do_does_not_save_up() {
    let mut bench = Bench::default();
    bench.push(at(0), "save", ms(10));
    bench.run(at(0), ms(10));
    for n in 0..100 {
        bench.push(at(n * 10), "navmesh", ms(10));
        bench.run(at(n * 10), ms(10));
    }
    bench.push_many(4, at(2_000), "navmesh", ms(10));
    bench.push_many(4, at(2_000), "save", ms(10));
    let order: Vec<u64> = (0..8).map(|n| bench.run(at(2_000 + n * 10), ms(10)).unwrap()).collect();
    let first_saves = order[..4].iter().filter(|&&n| n > 105).count();
    assert_eq!(first_saves, 2, "{order:?}");
}

#[test]
fn the_error_of_estimates_is_learned_for_each_kind() {
    let mut bench = Bench::default();
    for _ in 0..20 {
        bench.push(at(0), "save", ms(10));
        bench.run(at(0), ms(30));
        bench.push(at(0), "navmesh", ms(100));
        bench.run(at(0), ms(50));
    }
    assert!(
        (bench.queue.ratio("save") - 3.0).abs() < 0.05 && (bench.queue.ratio("navmesh") - 0.5).abs() < 0.05
    );
    bench.push(at(0), "save", ms(10));
    bench.push(at(40), "navmesh", ms(100));
    let backlog = bench.queue.backlog(at(100), 2);
    assert!(backlog.work.abs_diff(ms(40)) < ms(2), "{backlog:?}");
    assert_eq!(backlog.oldest, ms(100));
}

#[test]
fn waiting_tasks_are_removed_and_running_ones_signalled() {
    let mut bench = Bench::default();
    let (first, second) = (bench.push(at(0), "save", ms(10)), bench.push(at(0), "save", ms(10)));
    let begun = bench.queue.start_task(at(0)).unwrap();
    assert_eq!(bench.queue.cancel(second), Some(Cancelled::Waiting(2)));
    assert_eq!(bench.queue.cancel(first), Some(Cancelled::Running));
    assert!(begun.is_cancelled.load(Relaxed));
    assert_eq!(bench.queue.cancel(second), None);
    assert_eq!(bench.queue.backlog(at(5_000), 1), Backlog::default());
    bench.queue.finish(first, at(5_000));
    assert_eq!(bench.queue.ratio("save"), 1.0, "it was told to end early");
}

#[test]
fn a_task_that_was_given_up_is_listed_until_it_ends() {
    let mut bench = Bench::default();
    let id = bench.push(at(0), "save", ms(10));
    let waits = bench.push(at(5), "save", ms(10));
    bench.queue.start_task(at(10)).unwrap();
    assert!(!bench.queue.abandon(waits), "it does not run");
    assert!(bench.queue.abandon(id));
    assert!(!bench.queue.abandon(id));
    let list = bench.queue.list(at(20));
    assert_eq!(
        (list[0].id, list[0].state, list[0].is_cancelled),
        (id, LongState::Abandoned { since: at(10) }, true)
    );
    assert_eq!((list[1].id, list[1].state, list[1].name.as_str()), (waits, LongState::Waiting, "save 2"));
    assert_eq!((bench.queue.n_running(), bench.queue.n_abandoned()), (0, 1));
    let finished = bench.queue.finish(id, at(60_000));
    assert_eq!(finished, Finished { kind: "save", waited: ms(10), took: ms(59_990), is_abandoned: true });
    assert_eq!(bench.queue.n_abandoned(), 0);
}

#[test]
fn a_thread_whose_task_is_overdue_does_not_count() {
    let mut bench = Bench::default();
    bench.push_many(2, at(0), "archive", Duration::from_secs(4));
    bench.push(at(0), "save", ms(30));
    (0..2).for_each(|_| drop(bench.queue.start_task(at(0)).unwrap()));
    let backlog = |ms| bench.queue.backlog(at(ms), 2);
    // The save and an archive run; the save hangs from its eleventh second on, the archive from its seventeenth.
    assert_eq!((backlog(9_000).work, backlog(9_000).is_stuck), (Duration::from_secs(2), false));
    assert_eq!((backlog(11_000).work, backlog(11_000).is_stuck), (Duration::from_secs(4), false));
    assert!(backlog(17_000).is_stuck);
    let overdue: Vec<bool> = bench.queue.list(at(11_000)).iter().map(|info| info.is_overdue).collect();
    assert_eq!(overdue, [false, true, false]);
}

#[test]
fn a_task_without_a_core_is_behind_and_an_idle_one_hangs() {
    let mut bench = Bench::default();
    let id = bench.push(at(0), "archive", Duration::from_secs(1));
    bench.queue.start_task(at(0)).unwrap();
    // A tenth of a core, for a minute: it has been overdue for long, and is starved, and nothing else.
    for tick in 1..=600 {
        bench.queue.observe(id, at(tick * 100), ms(10), ms(90));
        let backlog = bench.queue.backlog(at(tick * 100), 1);
        assert!(!backlog.is_stuck && backlog.oldest == ms(tick * 80).min(BEHIND_MAX), "{tick}: {backlog:?}");
    }
    // It gets a core, and makes up for it.
    (601..=640).for_each(|tick| bench.queue.observe(id, at(tick * 100), ms(100), ms(0)));
    assert_eq!(bench.queue.backlog(at(64_000), 1), Backlog::default());
    // It wants none.
    (641..=650).for_each(|tick| bench.queue.observe(id, at(tick * 100), ms(0), ms(0)));
    assert!(!bench.queue.backlog(at(65_900), 1).is_stuck, "for a second");
    assert!(bench.queue.backlog(at(66_100), 1).is_stuck);
    // It has one, and does not end.
    (661..=800).for_each(|tick| bench.queue.observe(id, at(tick * 100), ms(100), ms(0)));
    assert!(bench.queue.backlog(at(80_000), 1).is_stuck);
}

#[test]
fn odd_estimates_do_no_harm() {
    let mut bench = Bench::default();
    bench.push(at(0), "save", Duration::ZERO);
    bench.run(at(0), Duration::from_secs(3_600));
    assert!(bench.queue.ratio("save") <= RATIO_MAX);
    bench.push(at(0), "load", Duration::MAX);
    bench.push(at(0), "load", Duration::from_secs(1));
    assert!(bench.queue.backlog(at(0), 1).work > Duration::from_secs(3_600));
}
