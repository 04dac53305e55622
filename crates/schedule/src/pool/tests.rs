//! Real threads and a real clock; tests wait for what tasks report and never for time to pass.

use super::*;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

const DT: Duration = Duration::from_millis(5);

/// Longer than any test machine stalls: whoever waits so long waits for nothing.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "a pool runs in real time")]
fn pool(n_workers: usize) -> Pool {
    let began = std::time::Instant::now();
    let nanos = move || u64::try_from(began.elapsed().as_nanos()).expect("tests end before 2554");
    Pool::start(n_workers, move || Instant(nanos())).unwrap()
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
    /// Meet somebody twice: when the step is under way, and before it ends.
    Meet(Receiver<()>),
}

impl Task for Reporter {
    fn is_quiet(&mut self) -> bool {
        !self.restless && self.orders.is_empty()
    }

    fn step(&mut self, &Start { tick, dt, .. }: &Start) {
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
    let laps = pool.take_laps();
    assert_eq!(laps.len(), 3);
    assert!(laps.iter().all(|(_, laps)| laps.frames >= 29 && laps.took >= laps.took_max), "{laps:?}");
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
        // A wake may find the order done already, which costs a step for nothing, and no order is ever left.
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
fn a_successor_of_a_panicked_task_is_woken_by_the_wakers_that_were_given_out() {
    let pool = pool(1);
    let task = add(&pool, false);
    let elsewhere = task.waker.clone();
    task.next_step();
    task.order(Order::Panic);
    let panicked = pool.panicked().recv_timeout(PATIENCE).unwrap();
    // Came while nobody was there to be woken: the successor's first step takes it.
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
fn nobody_takes_the_seat_of_a_task_that_runs() {
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
