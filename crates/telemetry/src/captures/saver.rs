//! Decides which overruns become captures, and counts those that do not.
//!
//! Sans-IO except for the files that the [`CaptureStore`] writes. The driver (a thread of `throng serve`) passes overruns and the
//! time, polls for due captures, reads the recorder and hands the capture over.
//!
//! A capture is taken [`SETTLE`] after its overrun, so that it shows the consequences, and the kernel's figures sampled at
//! the end of the thread's turn. Every overrun is either captured or counted as suppressed: because its trigger's last
//! capture is too recent, or because writing failed.
//!
//! Rate limit per trigger: next capture >= last + max(interval, REST × CPU cost of the latest capture). With a thousand
//! worlds a capture is many megabytes and a good part of a second of a core, and the lateness that it causes would be the
//! reason for the next one.
//!
//! Exception: an overrun whose badness (time / limit) is at least twice that of the trigger's last accepted one is accepted
//! at once. Otherwise a scope that is always a little late would hide one a hundred times late. Badness must double
//! each time, so an interval still has few captures.

use super::perfetto::Origin;
use super::{
    CaptureCause, CaptureEntry, CaptureLimits, CaptureStore, CaptureStoreError, CaptureSummary, Trigger,
};
use crate::recorder::{Capture, Overrun};
use crate::{Counter, Metrics};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// From an overrun to its capture: longer than any frame, so that the slow one has ended.
const SETTLE: Duration = Duration::from_millis(250);

/// Minimum distance of captures, in CPU costs of the latest one: about a hundredth of a core for the three automatic
/// triggers together.
const REST: u32 = 300;

/// Overruns with their fate that wait for the driver; it takes them once a turn. The oldest go.
const DECIDED_MAX: usize = 4_096;

/// The fate of an overrun. The better one is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrunFate {
    /// A capture names it as its cause.
    Captured,
    /// Counted only: too soon after another capture, or writing failed.
    Suppressed,
    /// Counted only: it found the recorder's queue full.
    Lost,
}

impl OverrunFate {
    /// As in answers of the operator's address.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::Suppressed => "suppressed",
            Self::Lost => "lost",
        }
    }
}

/// Counters of captures, by trigger.
#[derive(Debug)]
pub struct CaptureMetrics {
    counters: BTreeMap<Trigger, ByTrigger>,
}

#[derive(Debug)]
struct ByTrigger {
    saved: Counter,
    suppressed: Counter,
    failed: Counter,
}

impl CaptureMetrics {
    /// Creates the counters; every trigger is present from the start, with zero.
    #[must_use]
    pub fn new(metrics: &Metrics) -> Self {
        let of = |trigger: Trigger| {
            let labels = [("trigger", trigger.name())];
            let suppressed = "Overruns without a capture: too soon after the last one, or writing failed.";
            ByTrigger {
                saved: metrics.counter("throng_captures_total", "Captures written.", &labels),
                suppressed: metrics.counter("throng_captures_suppressed_total", suppressed, &labels),
                failed: metrics.counter(
                    "throng_captures_failed_total",
                    "Captures not written because of an error.",
                    &labels,
                ),
            }
        };
        Self { counters: Trigger::ALL.into_iter().map(|trigger| (trigger, of(trigger))).collect() }
    }
}

/// The latest overrun of a trigger that became a capture, or is pending.
#[derive(Clone, Copy, Debug)]
struct AcceptedOverrun {
    at: Duration,
    /// 1,000 × time / limit.
    badness: u64,
}

/// Decides which overruns become captures, and saves those.
#[derive(Debug)]
pub struct Saver {
    store: CaptureStore,
    limits: BTreeMap<Trigger, CaptureLimits>,
    /// Latest accepted overrun of each trigger. This map and `pending` have at most one entry per trigger.
    last: BTreeMap<Trigger, AcceptedOverrun>,
    /// Accepted overruns, with the time at which their capture is due.
    pending: BTreeMap<Trigger, (Duration, CaptureCause)>,
    /// CPU time of the latest capture of any trigger: all read the whole recorder.
    cost: Duration,
    metrics: CaptureMetrics,
    /// Overruns whose fate is decided, the oldest first.
    decided: VecDeque<(Overrun, OverrunFate)>,
    /// Failures logged since the last success, so that each is logged once.
    logged_failures: BTreeSet<(&'static str, PathBuf, io::ErrorKind)>,
}

impl Saver {
    /// A saver for `store`, with each trigger's default limits.
    #[must_use]
    pub fn new(store: CaptureStore, metrics: CaptureMetrics) -> Self {
        let limits = Trigger::ALL.into_iter().map(|trigger| (trigger, CaptureLimits::of(trigger))).collect();
        Self {
            store,
            limits,
            last: BTreeMap::new(),
            pending: BTreeMap::new(),
            cost: Duration::ZERO,
            metrics,
            decided: VecDeque::new(),
            logged_failures: BTreeSet::new(),
        }
    }

    /// Quota and interval of a trigger.
    #[must_use]
    pub fn limits(&self, trigger: Trigger) -> CaptureLimits {
        self.limits[&trigger]
    }

    /// Changes quota and interval of a trigger from its next capture on.
    pub fn set_limits(&mut self, trigger: Trigger, limits: CaptureLimits) {
        self.limits.insert(trigger, limits);
    }

    /// Handles a scope's overrun. `now` is the driver's clock, which must not go back.
    pub fn handle_overrun(&mut self, now: Duration, overrun: Overrun) {
        let trigger = Trigger::from(overrun.kind);
        let suppressed = &self.metrics.counters[&trigger].suppressed;
        let badness = overrun.took_ns.saturating_mul(1_000) / overrun.limit_ns.max(1);
        let pending = self.pending.contains_key(&trigger);
        if let Some(last) = self.last.get(&trigger) {
            let interval = self.limits[&trigger].interval.max(self.cost * REST);
            let too_soon = pending || now < last.at + interval;
            if too_soon && badness < last.badness.saturating_mul(2) {
                suppressed.increment(1);
                self.decide(overrun, OverrunFate::Suppressed);
                return;
            }
        }
        if pending {
            // The pending capture will contain the earlier overrun, but name this one as its cause.
            suppressed.increment(1);
        }
        self.last.insert(trigger, AcceptedOverrun { at: now, badness });
        let former = self.pending.insert(trigger, (now + SETTLE, CaptureCause::Overrun(overrun)));
        if let Some((_, CaptureCause::Overrun(former))) = former {
            self.decide(former, OverrunFate::Suppressed);
        }
    }

    /// An overrun whose fate is decided. Call until `None`.
    pub fn poll_decided(&mut self) -> Option<(Overrun, OverrunFate)> {
        self.decided.pop_front()
    }

    fn decide(&mut self, overrun: Overrun, fate: OverrunFate) {
        if self.decided.len() == DECIDED_MAX {
            self.decided.pop_front();
        }
        self.decided.push_back((overrun, fate));
    }

    /// Records the CPU time of reading and writing the latest capture.
    pub const fn note_cost(&mut self, cost: Duration) {
        self.cost = cost;
    }

    /// Counts overruns that were lost before they reached the saver.
    pub fn count_lost(&self, trigger: Trigger, n: u64) {
        self.metrics.counters[&trigger].suppressed.increment(n);
    }

    /// Time at which the next capture is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.pending.values().map(|&(due, _)| due).min()
    }

    /// Cause of a due capture. Call until `None`; for each cause read the recorder and [`save`](Self::save).
    pub fn poll(&mut self, now: Duration) -> Option<CaptureCause> {
        let (&trigger, _) = self.pending.iter().find(|(_, (due, _))| *due <= now)?;
        self.pending.remove(&trigger).map(|(_, cause)| cause)
    }

    /// Writes a capture. A failure is counted, and logged unless the same one was logged since the last success.
    ///
    /// # Errors
    /// As [`CaptureStore::save`]. Already counted and logged here.
    pub fn save(
        &mut self,
        capture: &Capture,
        cause: &CaptureCause,
        origin: &Origin,
    ) -> Result<(CaptureEntry, CaptureSummary), CaptureStoreError> {
        let trigger = cause.trigger();
        let counters = &self.metrics.counters[&trigger];
        let saved = self.store.save(capture, cause, origin, self.limits[&trigger].quota_bytes);
        match &saved {
            Ok((entry, summary)) => {
                counters.saved.increment(1);
                self.logged_failures.clear();
                let (name, culprit) = (entry.name(), summary.headline());
                tracing::info!(name, %trigger, culprit, bytes = entry.bytes, "captured");
            }
            Err(error) => {
                counters.suppressed.increment(1);
                counters.failed.increment(1);
                let why = match error {
                    CaptureStoreError::Io { step, path, source } => (*step, path.clone(), source.kind()),
                    CaptureStoreError::TooLarge { .. } => {
                        (trigger.name(), PathBuf::new(), io::ErrorKind::QuotaExceeded)
                    }
                };
                if self.logged_failures.insert(why) {
                    let cause = std::error::Error::source(error).map(ToString::to_string);
                    tracing::error!(%error, cause, "a capture is not kept");
                }
            }
        }
        if let CaptureCause::Overrun(overrun) = cause {
            let fate = if saved.is_ok() { OverrunFate::Captured } else { OverrunFate::Suppressed };
            self.decide(*overrun, fate);
        }
        saved
    }

    /// The directory of captures.
    #[must_use]
    pub const fn store(&self) -> &CaptureStore {
        &self.store
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::testing;
    use crate::recorder::ScopeKind;

    const FRAME: Duration = Duration::from_millis(50);

    struct Server {
        saver: Saver,
        metrics: Metrics,
        now: Duration,
        _dir: tempfile::TempDir,
    }

    impl Server {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            Self::with_store(CaptureStore::new(dir.path().into()), dir)
        }

        fn with_store(store: CaptureStore, dir: tempfile::TempDir) -> Self {
            let metrics = Metrics::new();
            let saver = Saver::new(store, CaptureMetrics::new(&metrics));
            Self { saver, metrics, now: Duration::from_secs(100), _dir: dir }
        }

        fn limit(&mut self, trigger: Trigger, quota_bytes: u64, interval_s: u64) {
            let interval = Duration::from_secs(interval_s);
            self.saver.set_limits(trigger, CaptureLimits { quota_bytes, interval });
        }

        /// One frame passes, with an overrun of this kind if there is one.
        fn frame(&mut self, late: Option<ScopeKind>) {
            let CaptureCause::Overrun(overrun) = testing::overrun_of_slow_movement() else { unreachable!() };
            if let Some(kind) = late {
                self.saver.handle_overrun(self.now, Overrun { kind, ..overrun });
            }
            self.now += FRAME;
            while let Some(cause) = self.saver.poll(self.now) {
                let unix_ns = u64::try_from(self.now.as_nanos()).unwrap();
                let origin = Origin { pid: 1, process: "throng".into(), unix_ns };
                let _ = self.saver.save(&testing::slow_movement(), &cause, &origin);
            }
        }

        fn count(&self, what: &str, trigger: &str) -> u64 {
            let series = format!("throng_captures_{what}{{trigger=\"{trigger}\"}} ");
            let text = self.metrics.render();
            let value = text.lines().find_map(|line| line.strip_prefix(&series));
            value.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
        }

        fn kept(&self, trigger: Trigger) -> usize {
            self.saver.store().list().unwrap().iter().filter(|entry| entry.trigger == trigger).count()
        }
    }

    #[test]
    fn each_trigger_yields_its_own_capture_once_it_has_settled() {
        let mut server = Server::new();
        for kind in [ScopeKind::Scope, ScopeKind::System, ScopeKind::Frame] {
            server.frame(Some(kind));
            assert_eq!(server.kept(kind.into()), 0, "it is not over yet");
            for _ in 0..5 {
                server.frame(None);
            }
            assert_eq!(server.kept(kind.into()), 1);
        }
        assert_eq!(server.saver.store().list().unwrap().len(), 3);
        assert_eq!(server.saver.poll_timeout(), None);
    }

    #[test]
    fn a_trigger_that_fires_every_frame_is_captured_at_its_pace_and_the_rest_is_counted() {
        let mut server = Server::new();
        server.limit(Trigger::Frame, 1 << 30, 10);
        for _ in 0..20 * 60 {
            server.frame(Some(ScopeKind::Frame));
        }
        assert_eq!(server.count("total", "frame"), 6);
        assert_eq!(server.count("suppressed_total", "frame"), 20 * 60 - 6);
        assert_eq!(server.count("suppressed_total", "system"), 0);
    }

    #[test]
    fn captures_that_cost_much_are_farther_apart() {
        let mut server = Server::new();
        server.limit(Trigger::Frame, 1 << 30, 10);
        server.saver.note_cost(Duration::from_millis(100));
        for _ in 0..20 * 60 {
            server.frame(Some(ScopeKind::Frame));
        }
        assert_eq!(server.count("total", "frame"), 2);
        assert_eq!(server.count("suppressed_total", "frame"), 20 * 60 - 2);
        server.saver.note_cost(Duration::from_millis(10));
        for _ in 0..20 * 30 {
            server.frame(Some(ScopeKind::Frame));
        }
        assert_eq!(server.count("total", "frame"), 5, "one each ten seconds");
    }

    #[test]
    fn an_overrun_twice_as_long_is_not_too_soon() {
        let mut server = Server::new();
        server.frame(Some(ScopeKind::Scope));
        for _ in 0..10 {
            server.frame(None);
        }
        assert_eq!(server.kept(Trigger::Scope), 1);
        let CaptureCause::Overrun(overrun) = testing::overrun_of_slow_movement() else { unreachable!() };
        // The first took 2 × its limit. Then 5 × is more than double, and 12 × is more than double again while 5 × is pending.
        for took_ns in [3, 5, 6, 12, 7].map(|times| times * overrun.limit_ns) {
            let late = Overrun { kind: ScopeKind::Scope, took_ns, ..overrun };
            server.saver.handle_overrun(server.now, late);
        }
        let CaptureCause::Overrun(captured) = server.saver.poll(server.now + SETTLE).unwrap() else {
            unreachable!()
        };
        assert_eq!(captured.took_ns, 12 * overrun.limit_ns);
        assert_eq!(server.saver.poll(server.now + SETTLE), None);
        assert_eq!(server.count("suppressed_total", "scope"), 4);
    }

    #[test]
    fn every_overrun_has_one_fate_as_it_is_counted() {
        let mut server = Server::new();
        server.limit(Trigger::Frame, 1 << 30, 10);
        for _ in 0..20 * 60 {
            server.frame(Some(ScopeKind::Frame));
        }
        for _ in 0..10 {
            server.frame(None);
        }
        let mut counts = BTreeMap::new();
        while let Some((overrun, fate)) = server.saver.poll_decided() {
            assert_eq!(overrun.kind, ScopeKind::Frame);
            *counts.entry(fate.as_str()).or_insert(0) += 1;
        }
        assert_eq!(counts, BTreeMap::from([("captured", 6), ("suppressed", 20 * 60 - 6)]));
    }

    #[test]
    fn the_noisy_leave_the_rare_their_place_and_their_turn() {
        let mut server = Server::new();
        server.frame(Some(ScopeKind::System));
        for _ in 0..5 {
            server.frame(None);
        }
        let one = server.saver.store().list().unwrap()[0].bytes;
        server.limit(Trigger::Scope, 2 * one + one / 2, 1);
        for n in 0..20 * 30 {
            server.frame(Some(if n == 300 { ScopeKind::Frame } else { ScopeKind::Scope }));
        }
        assert_eq!(server.count("total", "scope"), 30);
        assert_eq!(server.kept(Trigger::Scope), 2);
        assert_eq!((server.kept(Trigger::System), server.kept(Trigger::Frame)), (1, 1));
    }

    #[test]
    fn a_disk_that_takes_nothing_is_counted_and_stops_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("captures");
        std::fs::write(&file, "a file where the directory should be").unwrap();
        let mut server = Server::with_store(CaptureStore::new(file.clone()), dir);
        server.limit(Trigger::Frame, 1 << 30, 1);
        for _ in 0..100 {
            server.frame(Some(ScopeKind::Frame));
        }
        assert_eq!(server.count("total", "frame"), 0);
        assert_eq!(server.count("failed_total", "frame"), 5);
        assert_eq!(server.count("suppressed_total", "frame"), 100);
        assert_eq!(server.saver.logged_failures.len(), 1, "each cause is logged once");
        std::fs::remove_file(file).unwrap();
        for _ in 0..40 {
            server.frame(Some(ScopeKind::Frame));
        }
        assert_eq!(server.count("total", "frame"), 2);
        assert!(server.saver.logged_failures.is_empty(), "after a success it is logged again");
    }
}
