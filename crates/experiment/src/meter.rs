//! Readings of the server, and what happened between two of them.

use crate::clock;
use crate::error::ExperimentError;
use crate::metrics::{Labels, Metrics};
use crate::server::Server;
use crate::usage::Usage;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The metric that changes whenever the server exports its counters, which it does once a second.
const EXPORTED: &str = "throng_uptime_seconds";

/// How often to look for the next export while waiting for one.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// A server whose threads run exports once a second; one that has not for so long is not going to.
const PATIENCE: Duration = Duration::from_secs(20);

/// So long before an export is expected the looking begins. Looking costs the server time that is not its own.
const LOOK_EARLY: Duration = Duration::from_millis(60);

/// Usage and counters at one moment, right after the server has exported its counters.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) usage: Usage,
    pub(crate) metrics: Metrics,
    at: Instant,
}

impl Reading {
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
    /// Reads, waits so long, and reads again.
    pub(crate) fn of(server: &Server, duration: Duration) -> Result<Self, ExperimentError> {
        let begin = Reading::take(server)?;
        clock::wait_until(begin.at + duration.saturating_sub(LOOK_EARLY));
        let end = Reading::take(server)?;
        Ok(Self { begin, end })
    }

    /// Seconds between the server's exports, which is what its counters rose in.
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

    /// How much a counter rose a second, over all of its labels.
    pub(crate) fn rate(&self, name: &str) -> f64 {
        (self.end.metrics.sum(name) - self.begin.metrics.sum(name)) / self.seconds()
    }

    /// How much a counter with this label rose a second.
    pub(crate) fn rate_with(&self, name: &str, label: &str, value: &str) -> f64 {
        let of = |metrics: &Metrics| metrics.with(name, label, value);
        (of(&self.end.metrics) - of(&self.begin.metrics)) / self.seconds()
    }

    /// How much a counter rose that should not; no number when the server does not tell of it. With a label and its value, or of all labels.
    pub(crate) fn rise_told(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let of = |metrics: &Metrics| {
            label.map_or_else(|| metrics.told(name), |(label, value)| metrics.only(label, value).told(name))
        };
        of(&self.end.metrics) - of(&self.begin.metrics)
    }

    /// How much a counter of threads rose a second, over all whose names begin so.
    pub(crate) fn rate_of_threads(&self, name: &str, prefix: &str) -> f64 {
        let of = |metrics: &Metrics| -> f64 {
            let threads = metrics.series(name);
            let is_wanted =
                |labels: &Labels| labels.get("thread").is_some_and(|name| name.starts_with(prefix));
            threads.filter(|(labels, _)| is_wanted(labels)).map(|(_, value)| value).sum()
        };
        (of(&self.end.metrics) - of(&self.begin.metrics)) / self.seconds()
    }
}

/// What a process uses at this moment.
pub(crate) fn usage(pid: u32) -> Result<Usage, ExperimentError> {
    Usage::of(pid).map_err(|source| ExperimentError::Usage { pid, source })
}

/// Reads a process's usage once a second for as long as it exists, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<(f64, Usage)>>,
}

impl Sampler {
    pub(crate) fn start(pid: u32) -> Result<Self, ExperimentError> {
        let (stop, stopped) = channel();
        let began = clock::now();
        let sample = move || {
            let mut samples = Vec::new();
            while let Ok(usage) = Usage::of(pid) {
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
        Ok(Self { stop, thread })
    }

    /// The readings, with the seconds since the start.
    pub(crate) fn finish(self) -> Vec<(f64, Usage)> {
        // It may have ended with the process.
        let _ = self.stop.send(());
        self.thread.join().expect("reading files does not panic")
    }
}
