//! Captures while threads continue, reuse their blocks, end and begin: every slice in a capture must have been
//! recorded, in its place.
//!
//! Tested with real races, and with threads that move exactly when the reader has read a chosen word, which finds in seconds
//! a defect that races show in days.

use super::*;
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Records groups of nested scopes that can be verified: all arguments of a group contain the writer's number and the
/// group's, and depths follow from the scopes.
struct Writer {
    recorder: Recorder,
    /// Changes when the writer ends and another one takes its place.
    name: u64,
    group: u64,
    open: Vec<ScopeGuard>,
}

const LEVELS: [&Scope; 3] = [&OUTER, &MIDDLE, &INNER];
const NAME_BITS: u32 = 40;

impl Writer {
    fn begin(recorder: Recorder, name: u64) -> Self {
        recorder.thread(format!("writer-{name}")).install();
        Self { recorder, name, group: 0, open: Vec::new() }
    }

    /// Enters or leaves a scope, as the number says.
    fn step(&mut self, choice: u64) {
        let depth = self.open.len();
        if depth == 0 {
            self.group += 1;
        }
        if depth == LEVELS.len() || depth > 0 && choice.is_multiple_of(2) {
            drop(self.open.pop());
        } else {
            self.open.push(LEVELS[depth].enter(self.name << NAME_BITS | self.group));
        }
    }

    fn end(mut self) {
        while let Some(guard) = self.open.pop() {
            drop(guard);
        }
    }
}

fn check(capture: &Capture) {
    for thread in &capture.threads {
        assert_nested(thread);
        let name: u64 = thread.name.strip_prefix("writer-").unwrap().parse().unwrap();
        let level = |scope: u16| {
            let scope = &capture.scopes[scope as usize].name;
            LEVELS.iter().position(|level| level.name() == scope).unwrap() as u8
        };
        let mut last = 0;
        for slice in &thread.slices {
            assert_eq!(slice.arg >> NAME_BITS, name, "{slice:?} in {}", thread.name);
            assert_eq!(slice.depth, level(slice.scope), "{slice:?}");
            assert!(slice.arg >= last, "{slice:?} after one of {last:x}");
            last = slice.arg;
        }
        for (depth, open) in (0..).zip(&thread.open) {
            assert_eq!(level(open.scope), depth, "{open:?}");
            assert_eq!(open.arg, thread.open[0].arg, "{:?}", thread.open);
            assert_eq!(open.arg >> NAME_BITS, name, "{open:?}");
        }
    }
}

#[test]
fn nothing_is_torn_while_threads_record_as_fast_as_they_can() {
    const WRITERS: u64 = 3;
    const CAPTURES: usize = 100;
    let recorder = recorder(10, Duration::from_micros(100));
    let stopped = AtomicBool::new(false);
    let n_begun = AtomicU64::new(0);
    thread::scope(|scope| {
        for name in 0..WRITERS {
            let (stopped, n_begun) = (&stopped, &n_begun);
            scope.spawn(move || {
                let mut writer = Writer::begin(recorder, name);
                n_begun.fetch_add(1, Relaxed);
                for n in 0_u64.. {
                    writer.step(n / 3);
                    if n.is_multiple_of(2_000) {
                        frame_end();
                    }
                    if stopped.load(Relaxed) {
                        return writer.end();
                    }
                }
            });
        }
        while n_begun.load(Relaxed) < WRITERS {
            thread::yield_now();
        }
        let captures = std::panic::catch_unwind(|| {
            let mut n_slices = 0;
            for _ in 0..CAPTURES {
                let capture = recorder.capture(ALL);
                assert_eq!(capture.threads.len(), WRITERS as usize);
                check(&capture);
                n_slices += capture.threads.iter().map(|thread| thread.slices.len()).sum::<usize>();
            }
            n_slices
        });
        stopped.store(true, Relaxed);
        let n_slices = captures.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        assert!(n_slices > 0);
    });
    assert!(recorder.counters().blocks_recycled > 0, "the pool was not too small");
}

/// An action of a writer while the reader stands still.
enum Order {
    /// Enters and leaves scopes this many times.
    Steps(u64),
    /// Releases old blocks.
    EndFrame,
    /// Ends; another writer of this number takes its place and records a few scopes.
    Replace(u64),
}

/// A thread with a writer that moves only on order.
struct Puppet {
    orders: SyncSender<Order>,
    done: Receiver<()>,
}

impl Puppet {
    fn begin<'scope>(scope: &'scope thread::Scope<'scope, '_>, recorder: Recorder, name: u64) -> Self {
        let (orders, to_do) = sync_channel(0);
        let (report, done) = sync_channel(0);
        scope.spawn(move || {
            let mut writer = Writer::begin(recorder, name);
            let _ = report.send(());
            for order in to_do {
                match order {
                    Order::Steps(n) => (0..n).for_each(|step| writer.step(step / 3)),
                    Order::EndFrame => frame_end(),
                    Order::Replace(name) => {
                        let recorder = writer.recorder;
                        writer.end();
                        writer = Writer::begin(recorder, name);
                        (0..10).for_each(|step| writer.step(step / 3));
                    }
                }
                let _ = report.send(());
            }
            writer.end();
        });
        done.recv().unwrap();
        Self { orders, done }
    }

    fn carry_out(&self, order: Order) {
        self.orders.send(order).unwrap();
        self.done.recv().unwrap();
    }
}

/// Decides at which words the reader is interrupted, and by which action.
struct Chance(Cell<u64>);

impl Chance {
    /// A number below this one. SplitMix64.
    fn below(&self, bound: u64) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut bits = self.0.get();
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ bits >> 31) % bound
    }

    /// Decides on an interruption: likely at the few words that decide, unlikely in the thousands of a block.
    fn strikes(&self, at: usize) -> bool {
        let one_in = if at >= layout::BLOCKS_AT { 1_000 } else { 12 };
        at >= layout::thread_at(0) && self.below(one_in) == 0
    }
}

#[test]
fn a_system_that_is_left_out_while_it_is_looked_at_is_not_taken_for_open() {
    static FRAME: Scope = Scope::new("test.left.frame").kind(ScopeKind::Frame);
    static PHASE: Scope = Scope::new("test.left.phase").kind(ScopeKind::System);
    let recorder = recorder(2, ALL);
    let (end, is_to_end) = sync_channel::<()>(0);
    let (report, done) = sync_channel(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            recorder.thread("world").install();
            record_systems_from(u64::MAX);
            let frame = FRAME.enter(0);
            let phase = PHASE.enter(0);
            report.send(()).unwrap();
            is_to_end.recv().unwrap();
            drop(phase);
            report.send(()).unwrap();
            let _ = is_to_end.recv();
            drop(frame);
        });
        done.recv().unwrap();
        let is_open = Cell::new(true);
        // At this word the reader has read the open scopes, and no slices yet.
        let interruption = |at: usize| {
            if at == layout::thread_at(0) + layout::thread::RECYCLED && is_open.replace(false) {
                end.send(()).unwrap();
                done.recv().unwrap();
            }
        };
        let mut reader = MemoryReader::new(recorder.shared.unwrap().arena.memory()).unwrap();
        reader.interruption = reader::Interruption(&interruption);
        let capture = reader.capture(0);
        drop(end);
        assert!(!is_open.get(), "it was interrupted");
        let name = |open: &OpenScope| capture.scopes[usize::from(open.scope)].name.as_str();
        let open: Vec<&str> = capture.threads[0].open.iter().map(name).collect();
        assert_eq!(open, ["test.left.frame"]);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_torn_wherever_the_reader_is_interrupted(n_blocks in 1..8_usize, seed: u64) {
        let recorder = recorder(n_blocks, Duration::ZERO);
        thread::scope(|scope| {
            let puppets = [0, 1].map(|name| Puppet::begin(scope, recorder, name));
            let chance = Chance(Cell::new(seed));
            let next_name = Cell::new(2);
            let interruption = |at: usize| {
                if !chance.strikes(at) {
                    return;
                }
                puppets[chance.below(2) as usize].carry_out(match chance.below(12) {
                    0 => Order::Replace(next_name.replace(next_name.get() + 1)),
                    1..3 => Order::EndFrame,
                    3..7 => Order::Steps(chance.below(3_000)),
                    _ => Order::Steps(chance.below(8)),
                });
            };
            for _ in 0..20 {
                puppets.iter().for_each(|puppet| puppet.carry_out(Order::Steps(2_000)));
                let mut reader = MemoryReader::new(recorder.shared.unwrap().arena.memory()).unwrap();
                reader.interruption = reader::Interruption(&interruption);
                check(&reader.capture(0));
            }
        });
    }
}
