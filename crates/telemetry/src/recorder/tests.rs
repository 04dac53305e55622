//! The recorder as a whole: threads that record, and captures of them. Captures of threads that continue meanwhile are in
//! `interleaving`.

mod interleaving;

use super::layout::{self, BLOCK_EVENTS, OPEN_MAX, header};
use super::*;
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::thread;

static OUTER: Scope = Scope::new("test.outer").arg(Arg::Count);
static MIDDLE: Scope = Scope::new("test.middle").arg(Arg::Count);
static INNER: Scope = Scope::new("test.inner").arg(Arg::Count);

const ALL: Duration = Duration::MAX;

fn recorder(n_blocks: usize, horizon: Duration) -> Recorder {
    Recorder::start(RecorderConfig { memory_bytes: layout::block_at(n_blocks) * 8, horizon }).unwrap()
}

/// Runs `act` in a thread of this recorder and takes a capture while the thread still lives.
fn captured(recorder: Recorder, act: impl FnOnce() + Send) -> Capture {
    let (done, is_done) = channel();
    let (leave, may_leave) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            recorder.thread("worker").install();
            act();
            done.send(()).unwrap();
            let _ = may_leave.recv();
        });
        is_done.recv().unwrap();
        let capture = recorder.capture(ALL);
        drop(leave);
        capture
    })
}

fn names(capture: &Capture) -> Vec<(&str, u64, u8)> {
    let slices = capture.threads.iter().flat_map(|thread| &thread.slices);
    slices.map(|slice| (&*capture.scopes[slice.scope as usize].name, slice.arg, slice.depth)).collect()
}

/// Begin times rise, parents come before children, and every slice lies within the one around it.
fn assert_nested(thread: &ThreadRecord) {
    let mut around: Vec<Slice> = Vec::new();
    let mut last_ns = 0;
    for slice in &thread.slices {
        assert!(slice.begin_ns >= last_ns, "{slice:?} comes after one that began at {last_ns}");
        assert!(slice.begin_ns <= slice.end_ns, "{slice:?} ends before it begins");
        last_ns = slice.begin_ns;
        while around.last().is_some_and(|parent| parent.depth >= slice.depth) {
            around.pop();
        }
        if let Some(parent) = around.last() {
            assert!(
                parent.end_ns >= slice.end_ns || parent.end_ns <= slice.begin_ns,
                "{slice:?} in {parent:?}"
            );
        }
        around.push(*slice);
    }
}

#[test]
fn a_capture_shows_slices_and_their_nesting() {
    let recorder = recorder(4, ALL);
    let capture = captured(recorder, || {
        let _outer = OUTER.enter(1);
        drop(MIDDLE.enter(2));
        let mut middle = MIDDLE.enter(0);
        middle.set_arg(3);
        drop(INNER.enter(4));
    });
    let expected = [("test.outer", 1, 0), ("test.middle", 2, 1), ("test.middle", 3, 1), ("test.inner", 4, 2)];
    assert_eq!(names(&capture), expected);
    let thread = &capture.threads[0];
    assert_eq!(thread.name, "worker");
    assert_ne!(thread.tid, 0);
    assert_nested(thread);
    assert!(thread.slices.iter().all(|slice| slice.end_ns <= capture.end_ns));
    assert!(thread.open.is_empty());
    assert_eq!(capture.events_lost, 0);
}

#[test]
fn scopes_are_counted_also_when_their_thread_has_ended() {
    let recorder = recorder(4, ALL);
    let n = 2 * BLOCK_EVENTS as u64;
    for _ in 0..2 {
        let _ = captured(recorder, || {
            let _outer = OUTER.enter(0);
            (1..n).for_each(|arg| drop(INNER.enter(arg)));
        });
    }
    let counted = recorder.counters().scopes;
    assert!((2 * n..=2 * n + 2).contains(&counted), "{counted}");
}

#[test]
fn an_open_scope_of_a_thread_is_in_the_capture() {
    let recorder = recorder(4, ALL);
    let (entered, has_entered) = channel();
    let (leave, may_leave) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            recorder.thread("stuck").install();
            let _outer = OUTER.enter(7);
            let _inner = INNER.enter(8);
            entered.send(()).unwrap();
            let _ = may_leave.recv();
        });
        has_entered.recv().unwrap();
        let capture = recorder.capture(ALL);
        drop(leave);
        let open = &capture.threads[0].open;
        let seen: Vec<_> =
            open.iter().map(|open| (&*capture.scopes[open.scope as usize].name, open.arg)).collect();
        assert_eq!(seen, [("test.outer", 7), ("test.inner", 8)]);
        assert!(open[0].begin_ns <= open[1].begin_ns && open[1].begin_ns <= capture.end_ns);
    });
}

#[test]
fn only_slices_that_ended_within_the_horizon_are_in_a_capture() {
    let recorder = recorder(4, ALL);
    let _ = captured(recorder, || {
        let long = OUTER.enter(0);
        drop(MIDDLE.enter(1));
        let ended_ns = recorder.capture(ALL).threads[0].slices[0].end_ns;
        drop(MIDDLE.enter(2));
        drop(long);
        let reader = MemoryReader::new(recorder.shared.unwrap().arena.memory()).unwrap();
        let later = names(&reader.capture(ended_ns + 1)).iter().map(|&(_, arg, _)| arg).collect::<Vec<_>>();
        assert_eq!(later, [0, 2], "also what began before, if it ended in time");
    });
}

#[test]
fn running_dry_gives_up_the_own_oldest_block_and_counts_it() {
    let recorder = recorder(2, ALL);
    let n = 5 * BLOCK_EVENTS as u64;
    let capture = captured(recorder, || (0..n).for_each(|arg| drop(OUTER.enter(arg))));
    let thread = &capture.threads[0];
    let args: Vec<u64> = thread.slices.iter().map(|slice| slice.arg).collect();
    assert_eq!(args, (n - 2 * BLOCK_EVENTS as u64..n).collect::<Vec<_>>(), "the newest are left");
    assert_eq!(thread.blocks_recycled, 3);
    assert_eq!(recorder.counters().blocks_recycled, 3);
    assert_eq!(recorder.counters().events_lost, 0);
}

#[test]
fn a_thread_that_finds_the_pool_empty_and_has_nothing_loses_its_events_and_counts_them() {
    let recorder = recorder(1, ALL);
    let capture = captured(recorder, || {
        drop(OUTER.enter(1));
        thread::scope(|scope| {
            scope.spawn(|| {
                recorder.thread("late").install();
                drop(OUTER.enter(2));
                drop(OUTER.enter(3));
            });
        });
    });
    assert_eq!(names(&capture), [("test.outer", 1, 0)]);
    assert_eq!(recorder.counters().events_lost, 2);
}

#[test]
fn a_thread_that_ends_gives_its_place_and_its_blocks_back() {
    let recorder = recorder(2, ALL);
    for round in 0..1_000 {
        thread::spawn(move || {
            recorder.thread("short").install();
            (0..BLOCK_EVENTS as u64 + 1).for_each(|_| drop(OUTER.enter(round)));
        })
        .join()
        .unwrap();
    }
    let counters = recorder.counters();
    assert_eq!((counters.blocks_recycled, counters.events_lost, counters.threads_refused), (0, 0, 0));
    assert!(recorder.capture(ALL).threads.is_empty());
}

#[test]
fn installing_another_recorder_leaves_the_first() {
    let (first, second) = (recorder(2, ALL), recorder(2, ALL));
    let capture = captured(first, || {
        drop(OUTER.enter(1));
        let across = OUTER.enter(2);
        second.thread("worker").install();
        drop(across);
        drop(OUTER.enter(3));
        assert_eq!(names(&second.capture(ALL)), [("test.outer", 3, 0)]);
    });
    assert!(capture.threads.is_empty());
    assert_eq!(second.counters().events_lost, 1, "the scope that was open belongs to neither");
}

#[test]
fn at_the_end_of_a_frame_old_blocks_go_back_to_the_pool() {
    let recorder = recorder(8, ALL);
    let capture = captured(recorder, || {
        (0..4 * BLOCK_EVENTS as u64).for_each(|arg| drop(OUTER.enter(arg)));
        frame_end();
        recorder.set_horizon(Duration::ZERO);
        // The three full blocks that are not in use are released, and are the first to be used again.
        frame_end();
        (0..2 * BLOCK_EVENTS as u64).for_each(|_| drop(OUTER.enter(0)));
    });
    assert_eq!(
        recorder.counters().blocks_touched,
        5,
        "four of the beginning and one of the samples at the end"
    );
    assert_eq!(recorder.counters().blocks_recycled, 0);
    assert!(capture.threads[0].slices.len() >= 2 * BLOCK_EVENTS);
}

#[test]
fn a_thread_without_a_recorder_records_nothing() {
    let guard = OUTER.enter(1);
    assert!(!guard.is_recorded(), "{guard:?}");
    drop(guard);
    frame_end();
    let off = Recorder::off();
    off.thread("worker").install();
    drop(OUTER.enter(2));
    assert_eq!(off.capture(ALL), Capture::default());
    assert_eq!(off.counters(), RecorderCounters::default());
}

#[test]
fn a_scope_that_outlives_the_one_around_it_is_not_recorded_but_counted() {
    let recorder = recorder(2, ALL);
    let capture = captured(recorder, || {
        let outer = OUTER.enter(1);
        let inner = INNER.enter(2);
        drop(outer);
        drop(inner);
        drop(MIDDLE.enter(3));
    });
    assert_eq!(names(&capture), [("test.outer", 1, 0), ("test.middle", 3, 0)]);
    assert_eq!(recorder.counters().events_lost, 1);
}

#[test]
fn scopes_deeper_than_the_stack_are_counted_and_harmless() {
    let recorder = recorder(2, ALL);
    let capture = captured(recorder, || {
        let guards: Vec<ScopeGuard> = (0..OPEN_MAX as u64 + 3).map(|depth| OUTER.enter(depth)).collect();
        // Vec drops from the front; scopes end from the back.
        guards.into_iter().rev().for_each(drop);
    });
    assert_eq!(capture.threads[0].slices.len(), OPEN_MAX);
    assert_nested(&capture.threads[0]);
    assert_eq!(recorder.counters().events_lost, 3);
}

#[test]
fn a_scope_over_its_limit_reports_its_thread_and_excess() {
    static SLOW: Scope = Scope::new("test.slow").arg(Arg::Client).kind(ScopeKind::System).limit_us(20);
    let recorder = recorder(2, ALL);
    let capture = captured(recorder, || spin(&SLOW, 17, u64::MAX, 20_001));
    let overrun = recorder.next_overrun(Duration::ZERO).unwrap();
    let slice = capture.threads[0].slices[0];
    let expected = Overrun {
        kind: ScopeKind::System,
        scope: slice.scope,
        arg: 17,
        took_ns: slice.took_ns(),
        limit_ns: 20_000,
        thread: capture.threads[0].tid,
        at_ns: slice.end_ns,
    };
    assert_eq!(overrun, expected);
    assert_eq!(recorder.next_overrun(Duration::ZERO), None);
    let info = &capture.scopes[slice.scope as usize];
    assert_eq!((info.kind, info.arg, info.limit_ns), (ScopeKind::System, Arg::Client, Some(20_000)));
}

#[test]
fn a_budget_counts_unless_a_limit_is_set() {
    static FRAME: Scope = Scope::new("test.frame").kind(ScopeKind::Frame);
    let recorder = recorder(2, ALL);
    let overrun = || recorder.next_overrun(Duration::ZERO).map(|overrun| overrun.limit_ns);
    let _ = captured(recorder, || {
        spin(&FRAME, 0, u64::MAX, 1);
        assert_eq!(overrun(), None);
        spin(&FRAME, 0, 50, 51);
        assert_eq!(overrun(), Some(50));
        assert!(recorder.set_limit("test.frame", Some(Duration::from_secs(3_600))));
        spin(&FRAME, 0, 50, 51);
        assert_eq!(overrun(), None);
        assert!(recorder.set_limit("test.frame", Some(Duration::from_nanos(70))));
        spin(&FRAME, 0, u64::MAX, 71);
        assert_eq!(overrun(), Some(70));
        assert!(recorder.set_limit("test.frame", None));
        spin(&FRAME, 0, u64::MAX, 71);
        assert_eq!(overrun(), None);
    });
    assert!(!recorder.set_limit("test.unheard-of", None));
}

#[test]
fn systems_that_are_over_at_once_can_be_left_out() {
    static FRAME: Scope = Scope::new("test.small.frame").kind(ScopeKind::Frame);
    static PHASE: Scope = Scope::new("test.small.phase").kind(ScopeKind::System);
    let capture = captured(recorder(8, ALL), || {
        for (least_ns, arg, budget_ns) in
            [(u64::MAX, 1, u64::MAX), (100_000, 2, u64::MAX), (0, 3, u64::MAX), (u64::MAX, 4, 1_000)]
        {
            record_systems_from(least_ns);
            let frame = FRAME.enter(arg);
            spin(&PHASE, arg, budget_ns, 100_000);
            drop(OUTER.enter(arg));
            drop(frame);
        }
    });
    let of = |name| {
        let told = names(&capture).into_iter().filter(|told| told.0 == name);
        told.map(|(_, arg, depth)| (arg, depth)).collect::<Vec<_>>()
    };
    assert_eq!(of("test.small.frame"), [(1, 0), (2, 0), (3, 0), (4, 0)]);
    assert_eq!(of("test.outer"), [(1, 1), (2, 1), (3, 1), (4, 1)], "it is no system");
    assert_eq!(of("test.small.phase"), [(2, 1), (3, 1), (4, 1)], "the last took longer than it may");
    capture.threads.iter().for_each(assert_nested);
}

#[test]
fn a_span_without_a_guard_is_recorded() {
    static WAIT: Scope = Scope::new("test.wait").arg(Arg::World).kind(ScopeKind::Frame);
    let recorder = recorder(2, ALL);
    let capture = captured(recorder, || {
        assert!(!WAIT.check_duration(3, 50, 50));
        assert!(WAIT.check_duration(3, 51, 50));
    });
    let overrun = recorder.next_overrun(Duration::ZERO).unwrap();
    let told = (overrun.kind, overrun.arg, overrun.took_ns, overrun.limit_ns, overrun.thread);
    assert_eq!(told, (ScopeKind::Frame, 3, 51, 50, capture.threads[0].tid));
    assert_eq!(capture.scopes[usize::from(overrun.scope)].name, "test.wait");
    assert_eq!(recorder.next_overrun(Duration::ZERO), None);
    assert!(capture.threads[0].slices.is_empty());
}

/// Stays in a scope for at least this time.
fn spin(scope: &'static Scope, arg: u64, budget_ns: u64, at_least_ns: u64) {
    let _scope = scope.enter_within(arg, budget_ns);
    let until_ns = now_ns() + at_least_ns;
    while now_ns() < until_ns {
        std::hint::spin_loop();
    }
}

#[test]
fn the_kernel_s_figures_come_with_the_end_of_a_frame_and_only_rise() {
    static LATE: Scope = Scope::new("test.late").limit_us(1);
    let recorder = recorder(2, ALL);
    let capture = captured(recorder, || {
        frame_end();
        add_lock_wait(500);
        // An overrun is worth another round of figures at once.
        spin(&LATE, 0, u64::MAX, 2_000);
        frame_end();
    });
    let thread = &capture.threads[0];
    assert!(thread.samples.iter().any(|sample| sample.at_ns >= thread.slices[0].end_ns));
    let of = |what: SampleKind| -> Vec<u64> {
        thread.samples.iter().filter(|sample| sample.what == what).map(|sample| sample.value).collect()
    };
    assert_eq!(of(SampleKind::LockWaitNs), [0, 500]);
    for what in SampleKind::ALL {
        let values = of(what);
        // Some kernels are built without figures of the run queue.
        let may_be_missing = matches!(what, SampleKind::RunNs | SampleKind::WaitNs);
        assert!(values.len() == 2 || may_be_missing && values.is_empty(), "{what}: {values:?}");
        assert!(values.is_sorted(), "{what}: {values:?}");
    }
    assert!(thread.samples.is_sorted_by_key(|sample| sample.at_ns));
}

#[test]
fn a_large_pool_takes_no_memory_before_it_is_used_nor_by_being_read() {
    let recorder = Recorder::start(RecorderConfig::default()).unwrap();
    let _ = captured(recorder, || drop(OUTER.enter(1)));
    let stat = rustix::fs::fstat(recorder.shared.unwrap().arena.memory().file()).unwrap();
    assert!(stat.st_size > 60 << 20);
    let taken = stat.st_blocks * 512;
    assert!(taken < 128 << 10, "{taken} bytes");
}

#[test]
fn memory_of_another_kind_or_version_is_refused_with_the_reason() {
    let refusal = |change: fn(&mut Vec<AtomicU64>)| {
        let recorder = recorder(1, ALL);
        let memory = recorder.shared.unwrap().arena.memory();
        let mut words = copy(memory);
        change(&mut words);
        MemoryReader::new(&words).map(drop).unwrap_err().to_string()
    };
    assert_eq!(refusal(|words| words.clear()), "not the memory of a flight recorder");
    assert_eq!(refusal(|words| words[0] = 7.into()), "not the memory of a flight recorder");
    assert_eq!(
        refusal(|words| words[header::VERSION] = 9.into()),
        "a flight recorder's memory of version 9; this is 1"
    );
    assert_eq!(refusal(|words| words.truncate(100)), "a flight recorder's memory that is not whole");
}

fn copy(memory: &[AtomicU64]) -> Vec<AtomicU64> {
    memory.iter().map(|word| AtomicU64::new(word.load(Relaxed))).collect()
}

/// The random damage of `no_content_of_memory_makes_the_reader_fail` hits this word in one run of some thousands.
#[test]
fn an_open_scope_that_cannot_exist_is_left_out() {
    let recorder = recorder(1, ALL);
    let words = thread::spawn(move || {
        recorder.thread("worker").install();
        let _open = OUTER.enter(1);
        copy(recorder.shared.unwrap().arena.memory())
    });
    let words = words.join().unwrap();
    let open = |words: &[AtomicU64]| MemoryReader::new(words).unwrap().capture(0).threads[0].open.len();
    assert_eq!(open(&words), 1);
    let scope_at = layout::thread_at(0) + layout::thread::FRAMES + 2;
    for id in [layout::SCOPES_MAX as u64, u64::MAX] {
        words[scope_at].store(id, Relaxed);
        assert_eq!(open(&words), 0, "scope {id}");
    }
}

/// Enters and leaves scopes as the bytes say, at random depths.
fn act_out(script: &[u8]) {
    let scopes = [&OUTER, &MIDDLE, &INNER];
    let mut open = Vec::new();
    for (n, &byte) in script.iter().enumerate() {
        match byte % 8 {
            0..4 if open.len() < OPEN_MAX => open.push(scopes[usize::from(byte % 3)].enter(n as u64)),
            4..7 => drop(open.pop()),
            _ => frame_end(),
        }
    }
    while let Some(guard) = open.pop() {
        drop(guard);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn slices_nest_and_begin_times_rise(script in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let capture = captured(recorder(3, ALL), || act_out(&script));
        let thread = &capture.threads[0];
        assert_nested(thread);
        assert!(thread.open.is_empty());
        assert_eq!(capture.events_lost, 0);
        let n_entered = thread.slices.len();
        prop_assert!(n_entered >= script.iter().filter(|&byte| byte % 8 < 4).count().min(1));
    }

    /// After a crash the memory may have any content. The capture may be wrong then, but reading it succeeds.
    #[test]
    fn no_content_of_memory_makes_the_reader_fail(
        script in prop::collection::vec(any::<u8>(), 0..600),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..64_u32, any::<u64>()), 1..40),
    ) {
        let recorder = recorder(2, ALL);
        let (done, is_done) = channel();
        let words = thread::scope(|scope| {
            scope.spawn(|| {
                recorder.thread("worker").install();
                act_out(&script);
                done.send(copy(recorder.shared.unwrap().arena.memory())).unwrap();
            });
            is_done.recv().unwrap()
        });
        // Words in use, since others decide nothing.
        let used: Vec<usize> = (3..words.len()).filter(|&at| words[at].load(Relaxed) != 0).collect();
        for (place, shift, value) in damages {
            words[*place.get(&used)].store(value >> shift, Relaxed);
        }
        if let Ok(reader) = MemoryReader::new(&words) {
            for capture in [reader.capture(0), reader.last_seconds()] {
                let n_scopes = capture.scopes.len();
                for thread in &capture.threads {
                    prop_assert!(thread.slices.iter().all(|slice| usize::from(slice.scope) < n_scopes));
                    prop_assert!(thread.slices.iter().all(|slice| slice.begin_ns <= slice.end_ns));
                }
            }
        }
    }
}
