//! Effect of saving captures on a thread that records.
//!
//! One thread records without pause, a few scopes at a time at a fixed pace, and keeps the CPU time of each batch. The
//! calling thread alternates: it is idle for a phase, then takes and saves captures for a phase, in the same way and at the
//! same priority as the server's saver. There is no lock between the two. That the recording thread never waits is observed
//! from outside, in the kernel's count of its voluntary context switches.

use super::thread_cpu_ns;
use crate::Metrics;
use crate::captures::perfetto::Origin;
use crate::captures::{CaptureCause, CaptureMetrics, CaptureStore, CaptureStoreError, Saver};
use crate::recorder::{Arg, Recorder, RecorderConfig, Scope, ThreadRecorder, frame_end, now_ns};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use serde::Serialize;
use std::fs;
use std::hint::{black_box, spin_loop};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

static TURN: Scope = Scope::new("probe.turn").limit_us(1_000_000);
static SEND: Scope = Scope::new("probe.send").arg(Arg::Count).limit_us(1_000_000);

/// Scopes between two readings of the thread's CPU time.
const BATCH: u64 = 8;
/// Interval of batches: 800,000 scopes per second, more than any thread of a server records.
const PACE_NS: u64 = 10_000;
/// Batches between two frame ends: a millisecond, as a turn of a busy shard.
const FRAME_BATCHES: u64 = 100;
/// Priority of the server's own saver.
const NICE: i32 = 19;

/// Length of the measurement.
#[derive(Clone, Debug)]
pub struct StallPlan {
    /// Number of rounds, each an idle and a saving phase.
    pub rounds: usize,
    /// Minimum length of each phase.
    pub phase: Duration,
    /// Directory for captures. Created if missing.
    pub dir: PathBuf,
}

/// Results.
#[derive(Clone, Debug, Serialize)]
pub struct SaverStall {
    /// CPU time of a batch in idle phases, nanoseconds: the 99.99th percentile of each round.
    pub quiet_p9999_ns: Vec<f64>,
    /// The same in saving phases.
    pub saving_p9999_ns: Vec<f64>,
    /// Medians of all batches: idle phases, saving phases.
    pub p50_ns: [f64; 2],
    /// Voluntary context switches of the recording thread in saving phases.
    pub waits: u64,
    /// Captures saved.
    pub saves: u64,
    /// Slices in all of them.
    pub saved_slices: u64,
    /// Bytes of all of them.
    pub saved_bytes: u64,
    /// Batches recorded.
    pub batches: u64,
    /// Scopes of a batch.
    pub batch_scopes: u64,
}

/// The measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StallError {
    /// Memory or a thread was refused.
    #[error("cannot start a recorder and a thread that records")]
    Start(#[source] io::Error),
    /// The kernel's count of context switches is not readable.
    #[error("cannot read {path}")]
    Status {
        /// The file.
        path: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A capture could not be saved.
    #[error(transparent)]
    Save(#[from] CaptureStoreError),
}

/// Measures as planned. The calling thread keeps the lowest priority afterwards.
///
/// # Errors
/// See [`StallError`].
pub fn stall(plan: &StallPlan) -> Result<SaverStall, StallError> {
    let recorder = Recorder::start(RecorderConfig::default()).map_err(StallError::Start)?;
    let shared = Arc::new(SharedPhase::default());
    let histograms = vec![Histogram::default(); 2 * plan.rounds];
    let record = {
        let (shared, thread) = (Arc::clone(&shared), recorder.thread("probe"));
        move || record(thread, &shared, histograms)
    };
    let thread = std::thread::Builder::new().name("probe".into()).spawn(record).map_err(StallError::Start)?;
    let saved = alternate(plan, recorder, &shared);
    shared.phase.store(OVER, Ordering::Relaxed);
    let histograms = thread.join().expect("recording does not panic");
    let Saved { waits, saves, slices, bytes } = saved?;

    let of = |saving: usize| histograms.iter().skip(saving).step_by(2);
    let p9999 = |saving| of(saving).map(|histogram| histogram.percentile(0.9999)).collect();
    let p50 = |saving| of(saving).fold(Histogram::default(), Histogram::plus).percentile(0.5);
    Ok(SaverStall {
        quiet_p9999_ns: p9999(0),
        saving_p9999_ns: p9999(1),
        p50_ns: [p50(0), p50(1)],
        waits,
        saves,
        saved_slices: slices,
        saved_bytes: bytes,
        batches: histograms.iter().map(Histogram::count).sum(),
        batch_scopes: BATCH,
    })
}

/// State shared by both threads. Neither waits for the other.
#[derive(Debug, Default)]
struct SharedPhase {
    /// The recording thread's id; 0 until it records.
    tid: AtomicU32,
    /// Index of the histogram to fill.
    phase: AtomicUsize,
}

/// The phase after the last.
const OVER: usize = usize::MAX;

#[derive(Default)]
struct Saved {
    waits: u64,
    saves: u64,
    slices: u64,
    bytes: u64,
}

/// The calling thread's part: alternates between idle and saving phases.
fn alternate(plan: &StallPlan, recorder: Recorder, shared: &SharedPhase) -> Result<Saved, StallError> {
    // Without the right to lower the priority, the saver disturbs more than the server's does.
    let _ = setpriority_process(Some(gettid()), NICE);
    let mut saver = Saver::new(CaptureStore::new(plan.dir.clone()), CaptureMetrics::new(&Metrics::new()));
    let origin = Origin { pid: std::process::id(), process: "probe".into(), unix_ns: unix_ns() };
    while shared.tid.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    let tid = shared.tid.load(Ordering::Relaxed);
    // In the first pass through its memory the recording thread still faults pages in.
    pause(plan.phase);
    let mut saved = Saved::default();
    for round in 0..plan.rounds {
        shared.phase.store(2 * round, Ordering::Relaxed);
        pause(plan.phase);
        shared.phase.store(2 * round + 1, Ordering::Relaxed);
        let waits_before = waits(tid)?;
        let ends_ns = now_ns() + plan.phase.as_nanos() as u64;
        while now_ns() < ends_ns {
            let capture = recorder.capture(recorder.horizon());
            let (entry, _) = saver.save(&capture, &CaptureCause::Operator, &origin)?;
            saved.saves += 1;
            saved.slices += capture.threads.iter().map(|thread| thread.slices.len() as u64).sum::<u64>();
            saved.bytes += entry.bytes;
        }
        saved.waits += waits(tid)? - waits_before;
    }
    Ok(saved)
}

/// The recording thread. It calls nothing that could wait.
fn record(thread: ThreadRecorder, shared: &SharedPhase, mut histograms: Vec<Histogram>) -> Vec<Histogram> {
    thread.install();
    shared.tid.store(gettid().as_raw_nonzero().get().unsigned_abs(), Ordering::Relaxed);
    let mut next_ns = now_ns();
    for n in 1.. {
        let phase = shared.phase.load(Ordering::Relaxed);
        let Some(histogram) = histograms.get_mut(phase) else { break };
        let began_ns = thread_cpu_ns();
        batch();
        histogram.add(thread_cpu_ns() - began_ns);
        if n % FRAME_BATCHES == 0 {
            frame_end();
        }
        next_ns += PACE_NS;
        while now_ns() < next_ns {
            spin_loop();
        }
    }
    histograms
}

fn batch() {
    let _turn = TURN.enter(0);
    for n in 1..BATCH {
        let _send = SEND.enter(black_box(n));
    }
}

/// Voluntary context switches of a thread of this process (proc(5), `voluntary_ctxt_switches`).
fn waits(tid: u32) -> Result<u64, StallError> {
    let path = format!("/proc/self/task/{tid}/status");
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "no line voluntary_ctxt_switches");
    let read = fs::read_to_string(&path).and_then(|status| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        value.and_then(|value| value.trim().parse().ok()).ok_or_else(missing)
    });
    read.map_err(|source| StallError::Status { path, source })
}

fn pause(duration: Duration) {
    let ends_ns = now_ns() + duration.as_nanos() as u64;
    while let left_ns @ 1.. = ends_ns.saturating_sub(now_ns()) {
        // park_timeout may return early.
        std::thread::park_timeout(Duration::from_nanos(left_ns));
    }
}

fn unix_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Histogram of durations in steps of [`Histogram::STEP_NS`], of fixed size.
#[derive(Clone, Debug)]
struct Histogram {
    steps: Vec<u32>,
}

impl Histogram {
    const STEP_NS: u64 = 10;
    /// Up to 200 µs; longer durations count in the last step.
    const STEPS: usize = 20_000;

    fn add(&mut self, ns: u64) {
        let step = (ns / Self::STEP_NS) as usize;
        self.steps[step.min(Self::STEPS - 1)] += 1;
    }

    fn count(&self) -> u64 {
        self.steps.iter().map(|&n| u64::from(n)).sum()
    }

    /// The middle of the step with this percentile; NaN without durations.
    fn percentile(&self, fraction: f64) -> f64 {
        let rank = (self.count() as f64 * fraction).ceil() as u64;
        let mut below = 0;
        let step = self.steps.iter().position(|&n| {
            below += u64::from(n);
            n > 0 && below >= rank
        });
        step.map_or(f64::NAN, |step| (step as f64 + 0.5) * Self::STEP_NS as f64)
    }

    fn plus(mut self, other: &Self) -> Self {
        self.steps.iter_mut().zip(&other.steps).for_each(|(all, n)| *all += n);
        self
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { steps: vec![0; Self::STEPS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_step_that_holds_its_rank() {
        let mut histogram = Histogram::default();
        assert!(histogram.percentile(0.5).is_nan());
        (0..9_999).for_each(|_| histogram.add(104));
        histogram.add(5_000_000);
        assert_eq!(histogram.count(), 10_000);
        assert_eq!((histogram.percentile(0.5), histogram.percentile(0.9999)), (105.0, 105.0));
        assert_eq!(histogram.percentile(1.0), 199_995.0, "a stall longer than all steps is in the last");
    }

    #[test]
    fn captures_are_saved_beside_a_thread_that_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let phase = Duration::from_millis(20);
        let plan = StallPlan { rounds: 1, phase, dir: dir.path().join("captures") };
        let stall = stall(&plan).unwrap();
        assert_eq!((stall.quiet_p9999_ns.len(), stall.saving_p9999_ns.len()), (1, 1));
        assert!(stall.saves >= 1 && stall.saved_slices > 0 && stall.saved_bytes > 0, "{stall:?}");
        assert!(stall.quiet_p9999_ns.iter().chain(&stall.saving_p9999_ns).all(|ns| ns.is_finite()));
        assert!(plan.dir.read_dir().unwrap().count() >= 3, "the files of one capture at least");
    }

    #[test]
    fn a_thread_that_waits_is_seen_to() {
        let tid = gettid().as_raw_nonzero().get().unsigned_abs();
        let before = waits(tid).unwrap();
        pause(Duration::from_millis(1));
        assert!(waits(tid).unwrap() > before);
    }
}
