//! What the cores count in plain numbers, as metrics: their handles, and how one is told.

mod circuits;
mod server;
mod worlds;

use super::Start;
use super::messages::Messages;
use schedule::FrameRecord;
use schedule::long::LongEnded;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use telemetry::{Counter, Gauge, Metrics, Timing};

/// The handles of all metrics that stand for a core's plain counters.
pub(super) struct Export {
    pub(super) metrics: Arc<Metrics>,
    pub(super) world_names: Vec<String>,
    drops: BTreeMap<&'static str, Counter>,
    commands: BTreeMap<(usize, &'static str), Counter>,
    /// By world and what is counted.
    ticks: BTreeMap<(String, &'static str), Counter>,
    /// By world.
    pub(super) restarts: BTreeMap<String, Counter>,
    messages: Messages,
    /// By the time that one lasts.
    pub(super) frame_timings: BTreeMap<Duration, Timing>,
    pub(super) frames_over: u64,
    pub(super) long_kinds: BTreeMap<&'static str, LongKind>,
    /// Filled anew at each look.
    pub(super) frame_records: Vec<FrameRecord>,
    pub(super) long_ended: Vec<LongEnded>,
    counters: BTreeMap<(&'static str, &'static str), Counter>,
    by_thread: BTreeMap<(&'static str, String), Counter>,
    gauges: BTreeMap<(&'static str, String), Gauge>,
}

/// Figures of one kind of long tasks.
pub(super) struct LongKind {
    pub(super) done: Counter,
    pub(super) failed: Counter,
    pub(super) ran: Timing,
    pub(super) waited: Timing,
}

impl Export {
    pub(super) fn new(start: &Start) -> Self {
        Self {
            metrics: Arc::clone(&start.metrics),
            world_names: start.worlds.names.clone(),
            drops: BTreeMap::new(),
            commands: BTreeMap::new(),
            ticks: BTreeMap::new(),
            restarts: BTreeMap::new(),
            messages: Messages::default(),
            frame_timings: BTreeMap::new(),
            frames_over: 0,
            long_kinds: BTreeMap::new(),
            frame_records: Vec::new(),
            long_ended: Vec::new(),
            counters: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            gauges: BTreeMap::new(),
        }
    }

    /// One counter, with a label `outcome` unless that is empty.
    pub(super) fn count(
        &mut self,
        name: &'static str,
        help: &'static str,
        outcome: &'static str,
        value: u64,
    ) {
        self.count_by(name, help, ("outcome", outcome), value);
    }

    /// One counter, with a label unless its value is empty.
    pub(super) fn count_by(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: (&'static str, &'static str),
        value: u64,
    ) {
        let metrics = &self.metrics;
        let counter = self.counters.entry((name, label.1)).or_insert_with(|| {
            metrics.counter(name, help, if label.1.is_empty() { &[] } else { std::slice::from_ref(&label) })
        });
        counter.absolute(value);
    }

    /// One counter of the threads of one name.
    pub(super) fn count_of_thread(
        &mut self,
        name: &'static str,
        help: &'static str,
        thread: &str,
        value: u64,
    ) {
        let metrics = &self.metrics;
        let counter = self
            .by_thread
            .entry((name, thread.to_owned()))
            .or_insert_with(|| metrics.counter(name, help, &[("thread", thread)]));
        counter.absolute(value);
    }

    /// One gauge, with a label unless its value is empty.
    pub(super) fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: (&'static str, &str),
        value: f64,
    ) {
        let metrics = &self.metrics;
        let gauge = self.gauges.entry((name, label.1.to_owned())).or_insert_with(|| {
            metrics.gauge(name, help, if label.1.is_empty() { &[] } else { std::slice::from_ref(&label) })
        });
        gauge.set(value);
    }
}
