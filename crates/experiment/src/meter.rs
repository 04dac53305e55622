//! Readings of the server, and the differences between two of them.

use crate::clock;
use crate::error::ExperimentError;
use crate::metrics::{Labels, MetricScrape};
use crate::server::Server;
use crate::usage::ProcessUsage;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The metric that changes whenever the server exports its counters, which it does once a second.
const EXPORTED: &str = "throng_uptime_seconds";

/// Polling period while waiting for the next export.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// A server whose threads run exports once a second; after this long without an export none will follow.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time before an expected export at which polling begins. Polls cost the server time that is not its own.
const LOOK_EARLY: Duration = Duration::from_millis(60);

/// Usage and counters at one moment, right after the server has exported its counters.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) usage: ProcessUsage,
    pub(crate) metrics: MetricScrape,
    at: Instant,
}

impl Reading {
    /// A reading of these values.
    #[cfg(test)]
    pub(crate) const fn at(at: Instant, usage: ProcessUsage, metrics: MetricScrape) -> Self {
        Self { usage, metrics, at }
    }

    /// Waits for the next export, then reads.
    pub(crate) fn take(server: &Server) -> Result<Self, ExperimentError> {
        let before = server.metrics()?.sum(EXPORTED);
        let began = clock::now();
        while began.elapsed() < PATIENCE {
            let metrics = server.metrics()?;
            if metrics.sum(EXPORTED) != before {
                return Ok(Self { usage: usage(server.pid())?, metrics, at: clock::now() });
            }
            clock::wait(LOOK_PERIOD);
        }
        Err(server.error(format!("has exported no counters for {} s", PATIENCE.as_secs())))
    }
}

/// The time between two readings.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) begin: Reading,
    pub(crate) end: Reading,
}

impl Window {
    /// Reads, waits for `duration`, and reads again.
    pub(crate) fn of(server: &Server, duration: Duration) -> Result<Self, ExperimentError> {
        let begin = Reading::take(server)?;
        clock::wait_until(begin.at + duration.saturating_sub(LOOK_EARLY));
        let end = Reading::take(server)?;
        Ok(Self { begin, end })
    }

    /// Seconds between the server's exports, the time base of its counters.
    pub(crate) fn seconds(&self) -> f64 {
        self.end.metrics.sum(EXPORTED) - self.begin.metrics.sum(EXPORTED)
    }

    /// Seconds of CPU that the server used for each second.
    pub(crate) fn cpu_s_per_s(&self) -> f64 {
        let wall = (self.end.at - self.begin.at).as_secs_f64();
        self.end.usage.cpu_s_since(&self.begin.usage) / wall
    }

    /// Seconds of CPU of the threads of one name, for each second.
    pub(crate) fn cpu_s_per_s_of(&self, thread: &str) -> f64 {
        let wall = (self.end.at - self.begin.at).as_secs_f64();
        self.end.usage.cpu_s_of_since(thread, &self.begin.usage) / wall
    }

    /// Rate of a counter per second, over all of its labels.
    pub(crate) fn rate(&self, name: &str) -> f64 {
        (self.end.metrics.sum(name) - self.begin.metrics.sum(name)) / self.seconds()
    }

    /// Rate of a counter with this label, per second.
    pub(crate) fn rate_with(&self, name: &str, label: &str, value: &str) -> f64 {
        let of = |metrics: &MetricScrape| metrics.with(name, label, value);
        (of(&self.end.metrics) - of(&self.begin.metrics)) / self.seconds()
    }

    /// Rise of a counter that should not rise; NaN if the server does not export it. With a label and its value, or of all labels.
    pub(crate) fn rise_exported(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let of = |metrics: &MetricScrape| {
            label.map_or_else(
                || metrics.sum_exported(name),
                |(label, value)| metrics.only(label, value).sum_exported(name),
            )
        };
        of(&self.end.metrics) - of(&self.begin.metrics)
    }

    /// Lowest dilation of all ticks of all worlds in the window, rounded down to the edge of its class; not a number without ticks.
    pub(crate) fn least_dilation(&self) -> f64 {
        let ticks = self.rise_exported("throng_world_ticks_total", None);
        if ticks.is_nan() || ticks <= 0.0 {
            return f64::NAN;
        }
        let dilated = "throng_world_dilated_ticks_total";
        let before: BTreeMap<&Labels, f64> = self.begin.metrics.series(dilated).collect();
        let risen = self.end.metrics.series(dilated).filter(|(labels, ticks)| {
            // A class comes into being with its first tick.
            *ticks > before.get(labels).copied().unwrap_or(0.0)
        });
        let edges =
            risen.map(|(labels, _)| labels.get("from").and_then(|from| from.parse().ok()).unwrap_or(0.0));
        edges.fold(1.0, f64::min)
    }

    /// Share of the ticks of all worlds in the window that were done within one tick of when they were due.
    pub(crate) fn rate_held(&self) -> f64 {
        let rise = |name| self.rise_exported(name, None);
        rise("throng_world_ticks_on_time_total") / rise("throng_world_ticks_total")
    }

    /// Rate of a counter of threads per second, over all names with this prefix.
    pub(crate) fn rate_of_threads(&self, name: &str, prefix: &str) -> f64 {
        let of = |metrics: &MetricScrape| -> f64 {
            let threads = metrics.series(name);
            let is_wanted =
                |labels: &Labels| labels.get("thread").is_some_and(|name| name.starts_with(prefix));
            threads.filter(|(labels, _)| is_wanted(labels)).map(|(_, value)| value).sum()
        };
        (of(&self.end.metrics) - of(&self.begin.metrics)) / self.seconds()
    }
}

/// The smaller of two; no number when one of them is none, which [`f64::min`] would pass over.
pub(crate) const fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// Current resource usage of a process.
pub(crate) fn usage(pid: u32) -> Result<ProcessUsage, ExperimentError> {
    ProcessUsage::of(pid).map_err(|source| ExperimentError::Usage { pid, source })
}

/// Reads a process's usage once a second for as long as it exists, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Sampler {
    began: Instant,
    stop: Sender<()>,
    thread: JoinHandle<Vec<(f64, ProcessUsage)>>,
}

impl Sampler {
    pub(crate) fn start(pid: u32) -> Result<Self, ExperimentError> {
        let (stop, stopped) = channel();
        let began = clock::now();
        let sample = move || {
            let mut samples = Vec::new();
            while let Ok(usage) = ProcessUsage::of(pid) {
                samples.push((began.elapsed().as_secs_f64(), usage));
                if stopped.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            samples
        };
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(sample)
            .map_err(|source| ExperimentError::Start { what: "the sampler".to_owned(), source })?;
        Ok(Self { began, stop, thread })
    }

    /// Seconds since its start: the time scale of its readings.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// The readings, with the seconds since the start.
    pub(crate) fn finish(self) -> Vec<(f64, ProcessUsage)> {
        // It may have ended with the process.
        let _ = self.stop.send(());
        self.thread.join().expect("reading files does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(begin: &str, end: &str) -> Window {
        let reading = |text| Reading::at(clock::now(), ProcessUsage::default(), MetricScrape::parse(text));
        Window { begin: reading(begin), end: reading(end) }
    }

    /// Exports of a region and of the instances.
    fn export(ticks: [u32; 2], on_time: [u32; 2], dilated: &[(&str, &str, u32)]) -> String {
        let worlds = ["Field", "instances"].into_iter().zip(ticks).zip(on_time);
        let totals = worlds.map(|((world, ticks), on_time)| {
            format!(
                "throng_world_ticks_total{{world=\"{world}\"}} {ticks}\n\
                 throng_world_ticks_on_time_total{{world=\"{world}\"}} {on_time}\n"
            )
        });
        let dilated = dilated.iter().map(|(world, from, ticks)| {
            format!("throng_world_dilated_ticks_total{{world=\"{world}\",from=\"{from}\"}} {ticks}\n")
        });
        totals.chain(dilated).collect()
    }

    #[test]
    fn a_single_slow_tick_between_two_readings_is_the_lowest_dilation() {
        let before = export([100, 900], [100, 880], &[("Field", "0.5", 7)]);
        let calm = export([200, 1_900], [200, 1_870], &[("Field", "0.5", 7)]);
        let slow = [("Field", "0.5", 7), ("instances", "0.9", 1), ("Field", "0.97", 3)];
        let slow = export([200, 1_900], [197, 1_778], &slow);
        let calm = window(&before, &calm);
        assert_eq!((calm.least_dilation(), calm.rate_held()), (1.0, 1_090.0 / 1_100.0));
        let slow = window(&before, &slow);
        assert_eq!((slow.least_dilation(), slow.rate_held()), (0.9, 995.0 / 1_100.0));
        let idle = window(&before, &before);
        assert!(idle.least_dilation().is_nan() && idle.rate_held().is_nan());
        assert!(window("", "").least_dilation().is_nan());
    }
}
