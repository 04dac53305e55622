//! The registry of metrics: creates handles and renders their values.

use crate::fine::{FINE_BUCKETS_NS, FineTiming};
use crate::histogram::DurationHistogram;
use crate::timing::{Maximum, TIMING_BUCKETS_NS, Timing};
use ::metrics::{Counter, Gauge, Key, KeyName, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All metrics of one server. Not global, so that several servers in one process (tests, `sim`) do not mix.
///
/// Names begin with `throng_` and end in the base unit; counters in `_total`, timings in `_seconds`. A wrong name is a
/// programming error and panics at start, where every handle is created. The same name and labels return a handle to the
/// same value.
///
/// **Bound.** A label's values must come from a small fixed set (a region, a shard, a reason), never from a client's input:
/// every combination is kept until the process ends.
#[derive(Debug)]
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    maxima: Mutex<BTreeMap<Key, RecentMaxima>>,
    /// Histograms by name. The exporter's own keep every duration until it is sorted, and allocate while recording.
    families: Mutex<BTreeMap<&'static str, Family>>,
    /// Held by an export and by a scrape.
    export: Mutex<()>,
}

/// An export that is under way: no scrape is rendered until it is dropped.
#[derive(Debug)]
pub struct MetricExport<'a>(#[expect(dead_code, reason = "a lock is held")] MutexGuard<'a, ()>);

/// Histograms of one name.
#[derive(Debug)]
struct Family {
    help: &'static str,
    /// By labels, as rendered.
    histograms: BTreeMap<String, Arc<DurationHistogram>>,
}

/// A timing's maxima of the last seconds.
#[derive(Debug)]
struct RecentMaxima {
    /// Maximum of the current second.
    current: Maximum,
    /// Maxima of the seconds before, oldest first; at most [`Metrics::MAX_WINDOW_S`].
    seconds: VecDeque<Duration>,
    gauge: Gauge,
}

/// Origin and level, by which the `metrics` crate can filter; nothing is filtered here.
const ORIGIN: Metadata<'_> = Metadata::new("throng", Level::INFO, None);

impl Metrics {
    /// Seconds (calls of [`Metrics::upkeep`]) for which a maximum is shown. A scraper with an interval up to this sees every
    /// spike, and with half of it sees most spikes twice.
    pub const MAX_WINDOW_S: usize = 30;

    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        Self {
            recorder,
            handle,
            maxima: Mutex::default(),
            families: Mutex::default(),
            export: Mutex::default(),
        }
    }

    /// A count that only rises: [`Counter::increment`] it, or export a core's own count with [`Counter::absolute`].
    ///
    /// # Panics
    /// When `name` is not `throng_…_total`.
    pub fn counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
    ) -> Counter {
        check_name(name, "_total");
        self.recorder.describe_counter(KeyName::from(name), None, SharedString::from(help));
        self.recorder.register_counter(&key(name, labels), &ORIGIN)
    }

    /// A value that rises and falls, such as a number of sessions or bytes in use.
    ///
    /// # Panics
    /// When `name` does not begin with `throng_`, or ends like a counter.
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)]) -> Gauge {
        check_name(name, "");
        assert!(!name.ends_with("_total"), "{name}: only counters end in _total");
        self.recorder.describe_gauge(KeyName::from(name), None, SharedString::from(help));
        self.recorder.register_gauge(&key(name, labels), &ORIGIN)
    }

    /// Durations: a histogram `name` and the gauge `name_max`, the longest duration of the last
    /// [`MAX_WINDOW_S`](Metrics::MAX_WINDOW_S) seconds, so that a single slow frame between two scrapes is visible in a
    /// graph.
    ///
    /// # Panics
    /// When `name` is not `throng_…_seconds`.
    #[must_use]
    pub fn timing(&self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)]) -> Timing {
        let histogram = self.histogram(name, help, labels, || DurationHistogram::new(&TIMING_BUCKETS_NS));
        Timing::new(histogram, self.maximum(name, help, labels))
    }

    /// Durations down to a microsecond: as [`Self::timing`] with the buckets [`FINE_BUCKETS_NS`], and the counter
    /// `name_squared_total`, the sum of squares, from which the standard deviation follows.
    ///
    /// # Panics
    /// When `name` is not `throng_…_seconds`.
    #[must_use]
    pub fn fine_timing(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
    ) -> FineTiming {
        let histogram =
            self.histogram(name, help, labels, || DurationHistogram::with_squares(&FINE_BUCKETS_NS));
        FineTiming::new(histogram, self.maximum(name, help, labels))
    }

    /// The histogram with this name and these labels, created if missing.
    fn histogram(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        new: impl FnOnce() -> DurationHistogram,
    ) -> Arc<DurationHistogram> {
        check_name(name, "_seconds");
        let written: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let Family { histograms, .. } =
            families.entry(name).or_insert_with(|| Family { help, histograms: BTreeMap::new() });
        Arc::clone(histograms.entry(written.join(",")).or_insert_with(|| Arc::new(new())))
    }

    /// The kept maximum of a timing.
    fn maximum(&self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)]) -> Maximum {
        let max_name = format!("{name}_max");
        let max_help =
            format!("{help} Longest of the last {} seconds; 0 if there was none.", Self::MAX_WINDOW_S);
        self.recorder.describe_gauge(KeyName::from(max_name.clone()), None, SharedString::from(max_help));
        let mut maxima = self.maxima.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = maxima.entry(key(name, labels)).or_insert_with(|| RecentMaxima {
            current: Maximum::default(),
            seconds: VecDeque::with_capacity(Self::MAX_WINDOW_S),
            gauge: self.recorder.register_gauge(&key(max_name, labels), &ORIGIN),
        });
        kept.current.clone()
    }

    /// Begins an export of several counts that belong together. A scrape has all of them or none: the quotient of two counts, one
    /// exported before the scrape and one after, would be wrong by up to a whole export.
    ///
    /// # Deadlocks
    /// When the thread that holds it renders.
    #[must_use]
    pub fn begin_export(&self) -> MetricExport<'_> {
        MetricExport(self.export.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All metrics in Prometheus' text format. Changes no state, so any number of collectors may scrape.
    #[must_use]
    pub fn render(&self) -> String {
        let _export = self.begin_export();
        let maxima = self.maxima.lock().unwrap_or_else(PoisonError::into_inner);
        for kept in maxima.values() {
            let longest = kept.seconds.iter().copied().fold(kept.current.get(), Duration::max);
            kept.gauge.set(longest.as_secs_f64());
        }
        let mut text = self.handle.render();
        for (name, Family { help, histograms }) in
            &*self.families.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
            histograms.iter().for_each(|(labels, histogram)| histogram.render(name, labels, &mut text));
            text.push('\n');
            let mut squares = String::new();
            let squared = format!("{name}_squared_total");
            histograms
                .iter()
                .for_each(|(labels, histogram)| histogram.render_squares(&squared, labels, &mut squares));
            if !squares.is_empty() {
                let _ =
                    writeln!(text, "# HELP {squared} {help} Squares.\n# TYPE {squared} counter\n{squares}");
            }
        }
        text
    }

    /// Begins a new second of the kept maxima. Call it once per second.
    pub fn upkeep(&self) {
        for kept in self.maxima.lock().unwrap_or_else(PoisonError::into_inner).values_mut() {
            if kept.seconds.len() == Self::MAX_WINDOW_S {
                kept.seconds.pop_front();
            }
            kept.seconds.push_back(kept.current.reset());
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn key(name: impl Into<KeyName>, labels: &[(&'static str, &str)]) -> Key {
    let labels: Vec<Label> = labels.iter().map(|&(name, value)| Label::new(name, value.to_owned())).collect();
    Key::from_parts(name, labels)
}

/// A label's value, escaped for the text format.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn check_name(name: &str, ending: &str) {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    assert!(
        plain && name.starts_with("throng_") && name.ends_with(ending),
        "metric {name:?} must be throng_…{ending} in lower case"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of the line that begins with `series` and a space.
    fn value(text: &str, series: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
    }

    #[test]
    fn a_spike_of_one_frame_between_scrapes_is_in_the_maximum() {
        let metrics = Metrics::new();
        let tick = metrics.timing("throng_tick_seconds", "Step.", &[]);
        for frame in 0..300 {
            tick.record(Duration::from_millis(if frame == 123 { 480 } else { 2 }));
            if frame % 20 == 0 {
                metrics.upkeep();
            }
        }
        let text = metrics.render();
        assert_eq!(value(&text, "throng_tick_seconds_max"), 0.48);
        assert_eq!(value(&text, "throng_tick_seconds_count"), 300.0);
        assert_eq!(value(&text, "throng_tick_seconds_bucket{le=\"0.0025\"}"), 299.0);
        assert_eq!(value(&text, "throng_tick_seconds_bucket{le=\"0.5\"}"), 300.0);
    }

    #[test]
    fn every_scraper_sees_a_spike_until_its_window_has_passed() {
        let metrics = Metrics::new();
        let tick = metrics.timing("throng_tick_seconds", "Step.", &[]);
        let max = || value(&metrics.render(), "throng_tick_seconds_max");
        tick.record(Duration::from_millis(480));
        for _ in 0..Metrics::MAX_WINDOW_S {
            tick.record(Duration::from_millis(3));
            metrics.upkeep();
            assert_eq!((max(), max()), (0.48, 0.48));
        }
        metrics.upkeep();
        assert_eq!(max(), 0.003);
        for _ in 0..Metrics::MAX_WINDOW_S {
            metrics.upkeep();
        }
        assert_eq!(max(), 0.0);
        assert_eq!(value(&metrics.render(), "throng_tick_seconds_count"), 31.0);
    }

    #[test]
    fn handles_of_one_series_share_their_value() {
        let metrics = Metrics::new();
        let first = metrics.timing("throng_tick_seconds", "Step.", &[("world", "A")]);
        let second = metrics.timing("throng_tick_seconds", "Step.", &[("world", "A")]);
        let other = metrics.timing("throng_tick_seconds", "Step.", &[("world", "B")]);
        first.record(Duration::from_millis(9));
        second.record(Duration::from_millis(1));
        other.record(Duration::from_millis(5));
        let text = metrics.render();
        assert_eq!(value(&text, "throng_tick_seconds_max{world=\"A\"}"), 0.009);
        assert_eq!(value(&text, "throng_tick_seconds_count{world=\"A\"}"), 2.0);
        assert_eq!(value(&text, "throng_tick_seconds_max{world=\"B\"}"), 0.005);
    }

    #[test]
    fn a_core_s_own_count_is_published_as_it_stands() {
        let metrics = Metrics::new();
        let drops = metrics.counter("throng_drops_total", "Dropped.", &[("reason", "too \"long\"")]);
        drops.absolute(41);
        drops.absolute(42);
        let text = metrics.render();
        assert_eq!(value(&text, r#"throng_drops_total{reason="too \"long\""}"#), 42.0);
        assert!(text.contains("# TYPE throng_drops_total counter"), "{text}");
        assert!(text.contains("# HELP throng_drops_total Dropped."), "{text}");
    }

    #[test]
    fn a_scrape_has_a_whole_export() {
        const EXPORTS: u64 = 20_000;
        let metrics = Metrics::new();
        let names = ["throng_a_total", "throng_b_total", "throng_c_total"];
        let counters = names.map(|name| metrics.counter(name, "Equal to the others.", &[]));
        std::thread::scope(|scope| {
            let exporter = scope.spawn(|| {
                for value in 1..=EXPORTS {
                    let _export = metrics.begin_export();
                    counters.iter().for_each(|counter| counter.absolute(value));
                }
            });
            while !exporter.is_finished() {
                let text = metrics.render();
                let [a, b, c] = names.map(|name| value(&text, name));
                assert_eq!((a, b), (b, c));
            }
        });
        assert_eq!(value(&metrics.render(), names[2]), EXPORTS as f64);
    }

    #[test]
    fn registries_do_not_mix() {
        let (one, two) = (Metrics::new(), Metrics::new());
        one.gauge("throng_sessions", "Sessions.", &[]).set(3.0);
        assert_eq!(value(&one.render(), "throng_sessions"), 3.0);
        assert!(!two.render().contains("throng_sessions"));
    }

    #[test]
    #[should_panic(expected = "must be throng_…_total")]
    fn a_counter_without_its_ending_is_refused() {
        let _ = Metrics::new().counter("throng_drops", "Dropped.", &[]);
    }
}
