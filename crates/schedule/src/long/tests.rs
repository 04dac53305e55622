//! Real threads; tests wait for reports of tasks and never for time to pass.

use super::*;
use crossbeam_channel::{Sender, bounded, unbounded};
use telemetry::recorder::Recorder;

/// Longer than any stall of a test machine: a wait of this length fails the test.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "long threads run in real time")]
fn threads(n: usize) -> LongThreads {
    let began = std::time::Instant::now();
    let nanos = move || u64::try_from(began.elapsed().as_nanos()).expect("tests end before 2554");
    LongThreads::start(n, Arc::new(move || Instant(nanos())), Recorder::off()).unwrap()
}

fn long(kind: &'static str, work: impl FnOnce(&LongContext) + Send + 'static) -> Long {
    Long { kind, name: "a name".into(), estimated: Duration::from_millis(10), work: Box::new(work) }
}

fn outcome(ticket: &LongTicket) -> LongOutcome {
    ticket.outcome().recv_timeout(PATIENCE).unwrap()
}

/// Keeps a thread busy until the sender is used or dropped; returns once it does.
fn block(tasks: &LongTasks) -> (LongTicket, Sender<()>) {
    let (began, has_begun) = bounded(1);
    let (end, ends) = bounded::<()>(1);
    let work = move |_: &LongContext| {
        began.send(()).unwrap();
        let _ = ends.recv();
    };
    let ticket = tasks.submit(long("block", work)).unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    (ticket, end)
}

#[test]
fn tasks_run_on_named_threads_in_the_order_of_their_kind() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (_, end) = block(&tasks);
    let (said, says) = unbounded();
    for n in 0..100 {
        let said = said.clone();
        let work = move |_: &LongContext| {
            said.send((n, std::thread::current().name().unwrap_or_default().to_owned())).unwrap();
        };
        tasks.submit(long("save", work)).unwrap();
    }
    drop(end);
    for n in 0..100 {
        assert_eq!(says.recv_timeout(PATIENCE).unwrap(), (n, "long-0".to_owned()));
    }
    assert!(tasks.wait_until_empty(PATIENCE));
    assert_eq!(tasks.counters().done, 101);
}

#[test]
fn every_thread_gets_its_share_of_concurrent_submissions() {
    let threads = threads(3);
    let tasks = threads.tasks();
    // Three tasks that continue only together.
    let barrier = Arc::new(std::sync::Barrier::new(3));
    let meet = |_| {
        let barrier = Arc::clone(&barrier);
        let work = move |_: &LongContext| {
            barrier.wait();
        };
        tasks.submit(long("meet", work)).unwrap()
    };
    let tickets: Vec<LongTicket> = (0..3).map(meet).collect();
    assert!(tickets.iter().all(|ticket| outcome(ticket) == LongOutcome::Done));
}

#[test]
fn a_panic_is_reported_to_the_submitter_and_kills_no_thread() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let broken = tasks.submit(long("save", |_| panic!("disk is full"))).unwrap();
    let sound = tasks.submit(long("save", |_| {})).unwrap();
    assert_eq!(outcome(&broken), LongOutcome::Panicked("disk is full".into()));
    assert_eq!(outcome(&sound), LongOutcome::Done);
    assert_eq!((tasks.counters().panicked, tasks.counters().done), (1, 1));
    assert!(tasks.wait_until_empty(PATIENCE));
    let mut ended = Vec::new();
    tasks.drain_ended(&mut ended);
    assert_eq!(
        ended.iter().map(|ended| (ended.kind, ended.is_sound)).collect::<Vec<_>>(),
        [("save", false), ("save", true)]
    );
    tasks.drain_ended(&mut ended);
    assert_eq!(ended.len(), 2, "each is told of once");
}

#[test]
fn a_full_queue_refuses_and_says_so() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (_, end) = block(&tasks);
    for _ in 0..LONG_WAITING_MAX {
        tasks.submit(long("save", |_| {})).unwrap();
    }
    let refused = tasks.submit(long("save", |_| {})).unwrap_err();
    assert_eq!(refused, LongRefusal::Full { kind: "save" });
    assert_eq!(refused.to_string(), "1024 long tasks wait; this one, of kind save, was not taken");
    drop(end);
    assert!(tasks.wait_until_empty(PATIENCE));
    tasks.submit(long("save", |_| {})).unwrap();
}

#[test]
fn a_cancelled_task_ends_if_it_listens_and_does_not_begin_if_it_waits() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (began, has_begun) = bounded(1);
    let work = move |context: &LongContext| {
        began.send(()).unwrap();
        while !context.is_cancelled() {
            std::thread::yield_now();
        }
    };
    let runs = tasks.submit(long("navmesh", work)).unwrap();
    let waits = tasks.submit(long("navmesh", |_| panic!("it was cancelled"))).unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    let states: Vec<LongState> = tasks.list().iter().map(|info| info.state).collect();
    assert!(matches!(states[..], [LongState::Running { .. }, LongState::Waiting]), "{states:?}");
    assert!(tasks.cancel(waits.id()) && tasks.cancel(runs.id()));
    assert_eq!((outcome(&waits), outcome(&runs)), (LongOutcome::Cancelled, LongOutcome::Done));
    assert!(!tasks.cancel(waits.id()));
}

#[test]
fn a_task_that_never_ends_is_given_up_and_the_queue_goes_on() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (stuck, end) = block(&tasks);
    let next = tasks.submit(long("save", |_| {})).unwrap();
    assert!(matches!(tasks.abandon(next.id()), Err(AbandonError::NotRunning(_))), "it waits");
    assert!(tasks.cancel(stuck.id()));
    tasks.abandon(stuck.id()).unwrap();
    assert_eq!((outcome(&stuck), outcome(&next)), (LongOutcome::Abandoned, LongOutcome::Done));
    assert!(matches!(tasks.abandon(stuck.id()), Err(AbandonError::NotRunning(_))));
    let list = tasks.list();
    assert!(matches!(list[0].state, LongState::Abandoned { .. }), "{list:?}");
    assert_eq!(tasks.counters().abandoned, 1);
    drop(end);
    // The former thread ends, the new one stays.
    while !tasks.list().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(outcome(&tasks.submit(long("save", |_| {})).unwrap()), LongOutcome::Done);
}

#[test]
fn no_more_than_some_threads_are_given_up() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let ends: Vec<Sender<()>> = (0..ABANDONED_MAX)
        .map(|_| {
            let (stuck, end) = block(&tasks);
            tasks.abandon(stuck.id()).unwrap();
            end
        })
        .collect();
    let (stuck, end) = block(&tasks);
    assert!(matches!(tasks.abandon(stuck.id()), Err(AbandonError::TooMany)));
    drop((ends, end));
}

/// Says on which thread it is dropped.
struct Big(Sender<String>);

impl Drop for Big {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().name().unwrap_or_default().to_owned());
    }
}

#[test]
fn things_are_dropped_on_long_threads_also_when_the_queue_is_full() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (dropped, drops) = unbounded();
    let (_, end) = block(&tasks);
    (0..LONG_WAITING_MAX).for_each(|_| drop(tasks.submit(long("save", |_| {})).unwrap()));
    (0..10).for_each(|_| tasks.dispose(Box::new(Big(dropped.clone()))));
    // The captured state of a refused task is one of them.
    let big = Big(dropped.clone());
    assert!(tasks.submit(long("save", move |_| drop(big))).is_err());
    assert_eq!(tasks.counters().disposals_waiting, 11);
    drop(end);
    (0..11).for_each(|_| assert_eq!(drops.recv_timeout(PATIENCE).unwrap(), "long-0"));
    assert!(tasks.wait_until_empty(PATIENCE));
    assert_eq!(tasks.counters().disposed, 11);
}

#[test]
fn a_drop_that_panics_kills_no_thread() {
    struct Mine;
    impl Drop for Mine {
        fn drop(&mut self) {
            panic!("stepped on");
        }
    }
    let threads = threads(1);
    threads.tasks().dispose(Box::new(Mine));
    assert_eq!(outcome(&threads.tasks().submit(long("save", |_| {})).unwrap()), LongOutcome::Done);
    assert_eq!(threads.tasks().counters().panicked, 1);
}

#[test]
fn the_end_cancels_waiting_tasks_and_waits_for_listening_ones() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (began, has_begun) = bounded(1);
    let (ended, has_ended) = bounded(1);
    let work = move |context: &LongContext| {
        began.send(()).unwrap();
        while !context.is_cancelled() {
            std::thread::yield_now();
        }
        ended.send(()).unwrap();
    };
    let _runs = tasks.submit(long("archive", work)).unwrap();
    let waits = tasks.submit(long("archive", |_| panic!("it was cancelled"))).unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    drop(threads);
    has_ended.try_recv().expect("it was waited for");
    assert_eq!(outcome(&waits), LongOutcome::Cancelled);
    assert_eq!(tasks.submit(long("archive", |_| {})).unwrap_err(), LongRefusal::Stopping { kind: "archive" });
}

#[test]
fn no_task_is_overlooked_while_others_read_the_queue() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                // Drains the mailbox.
                let _ = tasks.backlog(Instant::ZERO);
            }
        });
        for _ in 0..3_000 {
            assert_eq!(outcome(&tasks.submit(long("save", |_| {})).unwrap()), LongOutcome::Done);
        }
        is_over.store(true, Relaxed);
    });
}

#[test]
fn a_thread_that_fills_the_queue_calls_a_thread_that_has_just_looked() {
    let shared = shared::LongShared::new(1, Arc::new(|| Instant::ZERO), Recorder::off());
    shared.submit(long("save", |_| {})).unwrap();
    shared.parking.wait(0, Some(PATIENCE), || {
        // The mailbox is empty from here on; a thread that checks before the queue is filled finds nothing.
        assert!(shared.backlog(Instant::ZERO).is_some());
        assert!(!shared.parking.call(), "it has been called");
        shared.has_work()
    });
}

#[test]
fn the_starvation_control_sees_waiting_tasks() {
    let threads = threads(2);
    let tasks = threads.tasks();
    let _ends = [block(&tasks), block(&tasks)];
    (0..100).for_each(|_| drop(tasks.submit(long("save", |_| {})).unwrap()));
    let backlog = |now| tasks.backlog(now).expect("no thread holds the queue");
    assert_eq!(
        (backlog(Instant::ZERO).work, backlog(Instant::ZERO).is_stuck),
        (Duration::from_millis(500), false)
    );
    let much_later = backlog(Instant(u64::MAX / 2));
    assert!(much_later.oldest > Duration::from_secs(1_000) && much_later.is_stuck);
}

#[test]
fn a_value_to_be_dropped_ages_like_a_task() {
    let threads = threads(1);
    let tasks = threads.tasks();
    let (_, end) = block(&tasks);
    tasks.dispose(Box::new(()));
    let backlog = tasks.backlog(Instant(u64::MAX / 2)).expect("no thread holds the queue");
    assert!(backlog.oldest > Duration::from_secs(1_000), "{backlog:?}");
    drop(end);
    assert!(tasks.wait_until_empty(PATIENCE));
    let mut ended = Vec::new();
    tasks.drain_ended(&mut ended);
    assert!(ended.iter().any(|ended| ended.kind == shared::DISPOSE && !ended.waited.is_zero()), "{ended:?}");
    assert_eq!(tasks.backlog(Instant(u64::MAX / 2)), Some(Backlog::default()));
}
