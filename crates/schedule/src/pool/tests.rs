//! Real threads and a real clock; tests wait for reports of tasks and never for time to pass.

use super::*;
use crate::StepStart;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};

const DT: Duration = Duration::from_millis(5);

/// Longer than any stall of a test machine: a wait of this length fails the test.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "a pool runs in real time")]
fn pool(threads: impl Into<Threads>) -> Pool {
    let began = std::time::Instant::now();
    let nanos = move || u64::try_from(began.elapsed().as_nanos()).expect("tests end before 2554");
    Pool::start(threads, move || Instant(nanos())).unwrap()
}

/// Reports each step; works off a queue of orders and is quiet without any.
struct Reporter {
    orders: Receiver<Order>,
    steps: Sender<Step>,
    /// Never quiet.
    restless: bool,
}

struct Step {
    tick: Tick,
    thread: String,
    n_orders: usize,
}

enum Order {
    Nothing,
    Panic,
    /// Rendezvous at two points: within the step, and before its end.
    Meet(Receiver<()>),
}

impl Task for Reporter {
    fn is_quiet(&mut self) -> bool {
        !self.restless && self.orders.is_empty()
    }

    fn step(&mut self, &StepStart { tick, dt, .. }: &StepStart) {
        assert_eq!(dt, DT);
        let mut n_orders = 0;
        for order in self.orders.try_iter() {
            n_orders += 1;
            match order {
                Order::Nothing => {}
                Order::Panic => panic!("ordered at {tick:?}"),
                Order::Meet(other) => (0..2).for_each(|_| other.recv_timeout(PATIENCE).unwrap()),
            }
        }
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        // Fails when the test has seen enough.
        let _ = self.steps.send(Step { tick, thread, n_orders });
    }
}

struct Added {
    waker: Waker,
    orders: Sender<Order>,
    steps: Receiver<Step>,
}

fn add(pool: &Pool, restless: bool) -> Added {
    let ((orders, order_receiver), (step_sender, steps)) = (unbounded(), unbounded());
    let task = Reporter { orders: order_receiver, steps: step_sender, restless };
    Added { waker: pool.add(Box::new(task), DT, Tick(10)), orders, steps }
}

impl Added {
    fn next_step(&self) -> Step {
        self.steps.recv_timeout(PATIENCE).unwrap()
    }

    fn order(&self, order: Order) {
        self.orders.send(order).unwrap();
        self.waker.wake();
    }
}

#[test]
fn tasks_are_stepped_in_order_on_named_threads() {
    let pool = pool(2);
    let tasks = [add(&pool, true), add(&pool, true), add(&pool, true)];
    for tick in 10..40 {
        for task in &tasks {
            let step = task.next_step();
            assert_eq!(step.tick, Tick(tick));
            assert!(["world-0", "world-1"].contains(&step.thread.as_str()), "{}", step.thread);
        }
    }
    let step_stats = pool.drain_step_stats();
    assert_eq!(step_stats.len(), 3);
    assert!(
        step_stats
            .iter()
            .all(|(_, step_stats)| step_stats.frames >= 29 && step_stats.took >= step_stats.took_max),
        "{step_stats:?}"
    );
}

#[test]
fn every_order_wakes_a_quiet_task_and_without_orders_it_sleeps() {
    let pool = pool(2);
    let task = add(&pool, false);
    let metronome = add(&pool, true);
    task.next_step();
    let mut n_steps = 0;
    for _ in 0..300 {
        task.order(Order::Nothing);
        // A wake-up may find the order already done, at the cost of an empty step; no order is left.
        while {
            n_steps += 1;
            task.next_step().n_orders == 0
        } {}
    }
    assert!(n_steps <= 600, "{n_steps} steps for 300 orders");
    (0..20).for_each(|_| drop(metronome.next_step()));
    assert!(task.steps.len() <= 1, "slept while the other was stepped 20 times");
}

#[test]
fn a_task_that_waits_does_not_hold_up_the_others() {
    let pool = pool(2);
    let (stuck, free) = (add(&pool, true), add(&pool, true));
    let (other, meeting) = bounded(0);
    stuck.order(Order::Meet(meeting));
    other.send_timeout((), PATIENCE).unwrap();
    (0..50).for_each(|_| drop(free.next_step()));
    other.send_timeout((), PATIENCE).unwrap();
    stuck.next_step();
}

#[test]
fn a_panic_ends_its_task_and_nothing_else() {
    let pool = pool(1);
    let (broken, sound) = (add(&pool, false), add(&pool, true));
    broken.next_step();
    broken.order(Order::Panic);
    let panicked = pool.panicked().recv_timeout(PATIENCE).unwrap();
    assert_eq!((panicked.id, panicked.tick), (broken.waker.id(), Tick(11)));
    assert_eq!(panicked.message, "ordered at Tick(11)");
    (0..20).for_each(|_| drop(sound.next_step()));
    broken.waker.wake();
    assert!(pool.remove(broken.waker.id()).is_none());
}

#[test]
fn wakers_of_a_panicked_task_wake_its_successor() {
    let pool = pool(1);
    let task = add(&pool, false);
    let elsewhere = task.waker.clone();
    task.next_step();
    task.order(Order::Panic);
    let panicked = pool.panicked().recv_timeout(PATIENCE).unwrap();
    // Arrived while the slot was empty: the successor's first step takes it.
    task.order(Order::Nothing);
    let remains: Box<dyn Any> = panicked.task;
    let Reporter { orders, steps, .. } = *remains.downcast::<Reporter>().unwrap();
    let successor = Reporter { orders, steps, restless: false };
    pool.add_again(&task.waker, Box::new(successor), DT, Tick(panicked.tick.0 + 1));
    assert_ne!(task.waker.id(), panicked.id);
    let first = task.next_step();
    assert_eq!((first.tick, first.n_orders), (Tick(12), 1));
    for _ in 0..100 {
        task.orders.send(Order::Nothing).unwrap();
        elsewhere.wake();
        while task.next_step().n_orders == 0 {}
    }
}

#[test]
#[should_panic(expected = "still sits there")]
fn the_slot_of_a_running_task_is_not_reused() {
    let pool = pool(1);
    let (task, other) = (add(&pool, true), add(&pool, true));
    let stranger = pool.remove(other.waker.id()).unwrap();
    pool.add_again(&task.waker, stranger, DT, Tick(0));
}

#[test]
fn a_task_can_be_removed_in_the_middle_of_a_step() {
    let pool = pool(2);
    let task = add(&pool, true);
    let id = task.waker.id();
    let (other, meeting) = bounded(0);
    task.order(Order::Meet(meeting));
    other.send_timeout((), PATIENCE).unwrap();
    std::thread::scope(|scope| {
        let removal = scope.spawn(|| pool.remove(id));
        other.send_timeout((), PATIENCE).unwrap();
        assert!(removal.join().unwrap().is_some());
    });
    let n_orders: usize = task.steps.iter().map(|step| step.n_orders).sum();
    assert_eq!(n_orders, 1, "it made its step to the end, and the channel is closed: it will make no other");
    assert!(pool.remove(id).is_none());
}

#[test]
fn stopping_hands_back_every_task() {
    let pool = pool(2);
    let tasks: Vec<Added> = (0..5).map(|n| add(&pool, n % 2 == 0)).collect();
    tasks.iter().for_each(|task| drop(task.next_step()));
    let ids: Vec<TaskId> = pool.stop().iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, tasks.iter().map(|task| task.waker.id()).collect::<Vec<_>>());
}

/// Hashes its ticks, so that a step that is missing, made twice or made out of turn shows.
struct Hasher {
    state: u64,
    until: u64,
    done: Sender<u64>,
}

impl Task for Hasher {
    fn is_quiet(&mut self) -> bool {
        self.until == 0
    }

    fn step(&mut self, start: &StepStart) {
        if self.until == 0 {
            return;
        }
        let rounds = 1 + self.state % 2_000;
        for round in 0..rounds {
            self.state =
                (self.state ^ start.tick.0 ^ round).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
        }
        self.until -= 1;
        if self.until == 0 {
            let _ = self.done.send(self.state);
        }
    }
}

#[test]
fn results_of_tasks_do_not_depend_on_the_number_of_workers() {
    let run = |n_workers| {
        let pool = pool(n_workers);
        let dones: Vec<Receiver<u64>> = (0..100)
            .map(|seed| {
                let (done, receiver) = unbounded();
                let dt = Duration::from_millis(2 + seed % 3);
                pool.add(Box::new(Hasher { state: seed, until: 60, done }), dt, Tick(seed));
                receiver
            })
            .collect();
        dones.iter().map(|done| done.recv_timeout(PATIENCE).unwrap()).collect::<Vec<u64>>()
    };
    let alone = run(1);
    assert_eq!(alone, run(2));
    assert_eq!(alone, run(4));
}

#[test]
fn tasks_that_come_and_go_do_not_disturb_the_others() {
    let pool = pool(2);
    let stays: Vec<Added> = (0..5).map(|_| add(&pool, true)).collect();
    for _ in 0..200 {
        let goes = add(&pool, true);
        assert_eq!(goes.next_step().tick, Tick(10));
        assert!(pool.remove(goes.waker.id()).is_some());
    }
    for task in &stays {
        let ticks: Vec<Tick> = task.steps.try_iter().map(|step| step.tick).collect();
        assert!(ticks.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "{ticks:?}");
        task.next_step();
    }
}

#[test]
fn frames_are_recorded_and_traced() {
    let pool = pool(2);
    let tasks: Vec<Added> = (0..8).map(|_| add(&pool, true)).collect();
    tasks.iter().for_each(|task| (0..5).for_each(|_| drop(task.next_step())));
    pool.trace_next_frames(3);
    let mut trace = None;
    while trace.is_none() {
        drop(tasks[0].next_step());
        trace = pool.take_trace();
    }
    let trace = trace.unwrap();
    let beats = trace.frames.iter().filter(|frame| frame.is_beat).count();
    assert_eq!((beats, trace.dropped), (3, 0));
    for (number, frame) in (0..).zip(&trace.frames) {
        let steps: Vec<_> = trace.steps.iter().filter(|step| step.frame == number).collect();
        assert_eq!(steps.len(), frame.worlds as usize);
        assert!(steps.iter().all(|step| step.began_at >= frame.began_at && step.ended_at <= frame.ended_at));
        assert!(steps.iter().all(|step| step.worker < 2 && (1..=8).contains(&step.task.0)));
    }
    let mut records = Vec::new();
    let summary = pool.drain_frames(&mut records);
    assert_eq!(records.len() as u64, summary.beats + summary.between);
    assert!(
        records.iter().all(|record| record.due_at <= record.began_at && record.began_at <= record.ended_at)
    );
}

/// Backlog of long work that takes all workers but one. It ends, and the ticket's task starts, when the sender is dropped.
fn starve(pool: &Pool) -> (Sender<()>, LongTicket) {
    let (end, ends) = bounded::<()>(0);
    let long = |work: Box<dyn FnOnce(&crate::long::LongContext) + Send>| {
        let estimated = Duration::from_secs(10);
        pool.submit(Long { kind: "save", name: String::new(), estimated, work }).unwrap()
    };
    // It spins, since a sleeping task does not count as lacking a core.
    drop(long(Box::new(move |_| while ends.try_recv() == Err(TryRecvError::Empty) {})));
    (end, long(Box::new(|_| {})))
}

#[test]
fn worlds_go_on_when_the_only_worker_left_is_in_a_long_step() {
    let pool = pool(Threads { workers: 3, long: 1 });
    let (stuck, free) = (add(&pool, true), add(&pool, true));
    let _end = starve(&pool);
    while pool.balance().measure.level < Starvation::LEVEL_MAX {
        drop(free.next_step());
    }
    let (other, meeting) = bounded(0);
    stuck.order(Order::Meet(meeting));
    other.send_timeout((), PATIENCE).unwrap();
    free.steps.try_iter().for_each(drop);
    (0..50).for_each(|_| drop(free.next_step()));
    other.send_timeout((), PATIENCE).unwrap();
    stuck.next_step();
}

/// Does not come back from its first step until the sender is dropped.
struct Stuck {
    began: Sender<()>,
    ends: Receiver<()>,
}

impl Task for Stuck {
    fn is_quiet(&mut self) -> bool {
        false
    }

    fn step(&mut self, _: &StepStart) {
        let _ = self.began.send(());
        let _ = self.ends.recv();
    }
}

fn add_stuck(pool: &Pool, dt: Duration) -> Sender<()> {
    let ((end, ends), (began, has_begun)) = (bounded(0), bounded(1));
    pool.add(Box::new(Stuck { began, ends }), dt, Tick(0));
    has_begun.recv_timeout(PATIENCE).unwrap();
    end
}

#[test]
fn a_worker_that_stands_in_for_another_gets_its_wakes() {
    let pool = pool(Threads { workers: 2, long: 1 });
    let _end = starve(&pool);
    let sleeper = add(&pool, false);
    sleeper.next_step();
    while pool.balance().measure.level < Starvation::LEVEL_MAX {
        std::thread::yield_now();
    }
    // No beat of its own makes a worker look.
    let end = add_stuck(&pool, Duration::from_secs(3_600));
    for _ in 0..20 {
        sleeper.order(Order::Nothing);
        while sleeper.next_step().n_orders == 0 {}
    }
    drop(end);
}

#[test]
fn a_pool_that_ends_waits_for_steps_and_not_for_batches() {
    let pool = pool(1);
    let shared = Arc::clone(&pool.shared);
    let end = add_stuck(&pool, DT);
    let others: Vec<Added> = (0..200).map(|_| add(&pool, true)).collect();
    let round = shared.flags.round();
    let n_steps = std::thread::scope(|scope| {
        // They come into one batch once the worker is back, and this one is at its head.
        let (other, meeting) = bounded(0);
        others[0].order(Order::Meet(meeting));
        drop(end);
        other.send_timeout((), PATIENCE).unwrap();
        let stopping = scope.spawn(|| pool.stop());
        let is_called = || shared.flags.round() != round && shared.is_stopping.load(SeqCst);
        let looks = std::iter::repeat_with(|| {
            std::thread::park_timeout(Duration::from_millis(1));
            is_called()
        });
        assert!(looks.take(10_000).any(|is_called| is_called), "no call reaches the worker from its batch");
        let before: usize = others.iter().map(|task| task.steps.len()).sum();
        other.send_timeout((), PATIENCE).unwrap();
        assert_eq!(stopping.join().unwrap().len(), 201);
        others.iter().map(|task| task.steps.len()).sum::<usize>() - before
    });
    assert_eq!(n_steps, 1, "the step that it was in");
}

#[test]
fn one_worker_keeps_the_time_whichever_are_taken_away() {
    let pool = pool(2);
    let task = add(&pool, true);
    for n in 0..2_000 {
        pool.shared.flags.limit(1 + n % 2, 0);
        // Between two beats, so that each worker is met at its wait.
        if n % 5 == 0 {
            task.next_step();
        }
    }
    pool.shared.flags.limit(1, 0);
    task.steps.try_iter().for_each(drop);
    (0..20).for_each(|_| drop(task.next_step()));
}

#[test]
fn long_work_that_is_not_getting_on_takes_workers_away_and_gives_them_back() {
    let pool = pool(Threads { workers: 3, long: 1 });
    let tasks: Vec<Added> = (0..4).map(|_| add(&pool, true)).collect();
    let (end, waits) = starve(&pool);
    while pool.balance().measure.level < Starvation::LEVEL_MAX {
        drop(tasks[0].next_step());
    }
    assert_eq!(pool.balance().measure.n_workers, 1);
    // One worker does all the work.
    tasks.iter().for_each(|task| (0..20).for_each(|_| drop(task.next_step())));
    drop(end);
    assert_eq!(waits.outcome().recv_timeout(PATIENCE), Ok(crate::long::LongOutcome::Done));
    while pool.balance().measure.n_workers < 3 {
        drop(tasks[0].next_step());
    }
    tasks.iter().for_each(|task| (0..20).for_each(|_| drop(task.next_step())));
}
