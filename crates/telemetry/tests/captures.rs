//! From a thread that is slow on purpose to the files that name it: recorder, triggers, store and summary together.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use telemetry::Metrics;
use telemetry::captures::perfetto::Origin;
use telemetry::captures::{
    CaptureEntry, CaptureLimits, CaptureMetrics, CaptureStore, CaptureSummary, Saver, ThreadActivity, Trigger,
};
use telemetry::recorder::{Arg, Recorder, RecorderConfig, Scope, ScopeKind, frame_end};

/// A limit that the slow part of a test exceeds, and that nothing else does.
const LIMIT_US: u64 = 40_000;
/// Duration of the slow part.
const SLOW: Duration = Duration::from_millis(60);

/// Computes for a time, as opposed to sleeping.
#[expect(clippy::disallowed_methods, reason = "to be slow takes real time")]
fn work(time: Duration) {
    let began_at = Instant::now();
    while began_at.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Captures of a thread that runs `work`: all entries, the last summary, and the metrics.
fn captures_of(work: impl FnOnce() + Send) -> (Vec<CaptureEntry>, CaptureSummary, String) {
    let dir = tempfile::tempdir().unwrap();
    let recorder =
        Recorder::start(RecorderConfig { memory_bytes: 8 << 20, ..RecorderConfig::default() }).unwrap();
    let metrics = Metrics::new();
    let mut saver = Saver::new(CaptureStore::new(dir.path().into()), CaptureMetrics::new(&metrics));
    let (worked, has_worked) = sync_channel(0);
    let (end, is_to_end) = sync_channel::<()>(0);
    let told = std::thread::scope(|scope| {
        scope.spawn(move || {
            recorder.thread("worker").install();
            frame_end();
            work();
            // The kernel's figures are sampled every 20 ms at most, and the slow part took longer.
            frame_end();
            worked.send(()).unwrap();
            // A thread's record ends with it, so the thread stays until the capture is taken.
            let _ = is_to_end.recv();
        });
        has_worked.recv().unwrap();
        let mut told = None;
        while let Some(overrun) = recorder.next_overrun(Duration::ZERO) {
            saver.handle_overrun(Duration::ZERO, overrun);
        }
        while let Some(cause) = saver.poll(Duration::from_secs(1)) {
            let mut capture = recorder.capture(Duration::from_secs(5));
            capture.labels.insert((Arg::World, 3), "Harbour".into());
            capture.labels.insert((Arg::Client, 17), "Ada Resident".into());
            let origin = Origin { pid: 1, process: "test".into(), unix_ns: 0 };
            told = Some(saver.save(&capture, &cause, &origin).unwrap().1);
        }
        drop(end);
        told.expect("something was captured")
    });
    (saver.store().list().unwrap(), told, metrics.render())
}

/// Of which triggers the captures are.
fn triggers(entries: &[CaptureEntry]) -> Vec<Trigger> {
    entries.iter().map(|entry| entry.trigger).collect()
}

#[test]
fn a_slow_scope_yields_its_capture_and_is_named_with_its_client() {
    static TURN: Scope = Scope::new("test.scope.turn");
    static CLIENT: Scope = Scope::new("test.scope.client").arg(Arg::Client).limit_us(LIMIT_US);
    let (entries, summary, _) = captures_of(|| {
        let _turn = TURN.enter(0);
        for client in 1..30 {
            let _client = CLIENT.enter(client);
            if client == 17 {
                work(SLOW);
            }
        }
    });
    assert_eq!(triggers(&entries), [Trigger::Scope]);
    let culprit = summary.culprit.unwrap();
    assert_eq!(culprit.scope, CLIENT.name());
    assert_eq!(culprit.about.as_deref(), Some("client 17 (Ada Resident)"));
    assert_eq!(summary.costs.clients[0].name, "Ada Resident");
}

static MOVEMENT: Scope = Scope::new("test.system.movement").kind(ScopeKind::System);
static TELL: Scope = Scope::new("test.system.tell").kind(ScopeKind::System).limit_us(LIMIT_US);
static FRAME: Scope = Scope::new("test.frame").kind(ScopeKind::Frame).arg(Arg::World);

/// Some frames of world 3, the last one with a `tell` phase of this length.
fn frames(budget_ns: u64, last_tells: Duration) {
    for n in 0..10 {
        let frame = FRAME.enter_within(3, budget_ns);
        drop(MOVEMENT.enter(0));
        let tell = TELL.enter(0);
        if n == 9 {
            work(last_tells);
        }
        drop(tell);
        drop(frame);
    }
}

#[test]
fn a_slow_system_yields_its_capture_and_is_named_with_its_world() {
    let (entries, summary, _) = captures_of(|| frames(u64::MAX, SLOW));
    assert_eq!(triggers(&entries), [Trigger::System]);
    let culprit = summary.culprit.unwrap();
    assert_eq!((culprit.scope.as_str(), culprit.world.as_deref()), (TELL.name(), Some("world Harbour")));
    assert!(culprit.usual_ns.is_some_and(|usual_ns| usual_ns < culprit.took_ns / 2), "{culprit:?}");
    let overrun = summary.overrun.unwrap();
    assert_eq!((overrun.thread.as_str(), overrun.limit_ns), ("worker", LIMIT_US * 1_000));
}

#[test]
fn a_frame_whose_one_system_is_slow_yields_both_captures_and_both_name_the_system() {
    let (entries, summary, _) = captures_of(|| frames(LIMIT_US * 1_000, SLOW));
    assert_eq!(triggers(&entries), [Trigger::Frame, Trigger::System]);
    let culprit = summary.culprit.unwrap();
    assert_eq!(culprit.scope, TELL.name());
}

#[test]
fn a_slow_frame_yields_its_capture_and_is_blamed_itself() {
    static SLOW_FRAME: Scope = Scope::new("test.slow_frame").kind(ScopeKind::Frame).arg(Arg::World);
    let (entries, summary, _) = captures_of(|| {
        let _frame = SLOW_FRAME.enter_within(3, LIMIT_US * 1_000);
        drop(MOVEMENT.enter(0));
        work(SLOW);
    });
    assert_eq!(triggers(&entries), [Trigger::Frame]);
    let culprit = summary.culprit.unwrap();
    assert_eq!(
        (culprit.scope.as_str(), culprit.about.as_deref()),
        (SLOW_FRAME.name(), Some("world Harbour"))
    );
    assert!(culprit.self_ns > culprit.took_ns / 2, "{culprit:?}");
}

#[test]
fn sleeping_is_distinguished_from_working() {
    static SLEEPY: Scope = Scope::new("test.sleepy").limit_us(LIMIT_US);
    let (_, summary, _) = captures_of(|| {
        let _scope = SLEEPY.enter(0);
        #[expect(clippy::disallowed_methods, reason = "the sleep has to be visible")]
        std::thread::sleep(SLOW);
    });
    assert_eq!(summary.culprit.unwrap().doing, ThreadActivity::Blocked);
    assert!(summary.overrun.unwrap().kernel.unwrap().voluntary_switches > 0);
}

#[test]
fn every_overrun_is_captured_or_counted() {
    static STORM: Scope = Scope::new("test.storm").limit_us(1);
    let (entries, _, metrics) = captures_of(|| {
        for _ in 0..50 {
            let _scope = STORM.enter(0);
            work(Duration::from_micros(5));
        }
    });
    assert_eq!(triggers(&entries), [Trigger::Scope]);
    assert!(CaptureLimits::of(Trigger::Scope).interval > Duration::ZERO);
    for line in [
        "throng_captures_total{trigger=\"scope\"} 1",
        "throng_captures_suppressed_total{trigger=\"scope\"} 49",
    ] {
        assert!(metrics.lines().any(|have| have == line), "{line} is not in\n{metrics}");
    }
}
