//! Counters of the cores as metrics: their handles, and their export.

mod server;
mod worlds;

use super::WatchThreadConfig;
use crate::serve::shards;
use net::{SendCounters, SendDrop};
use schedule::FrameRecord;
use schedule::long::LongEnded;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use telemetry::{Counter, MetricLabel, MetricTable, Metrics, Timing};

/// The handles of all metrics that stand for a core's plain counters.
pub(super) struct Export {
    pub(super) metrics: Arc<Metrics>,
    pub(super) table: MetricTable,
    commands: BTreeMap<(String, &'static str), Counter>,
    /// By world and metric.
    ticks: BTreeMap<(String, &'static str), Counter>,
    /// By world.
    pub(super) restarts: BTreeMap<String, Counter>,
    /// By the time that one lasts.
    pub(super) frame_timings: BTreeMap<Duration, Timing>,
    pub(super) frames_over: u64,
    pub(super) long_kinds: BTreeMap<&'static str, LongKind>,
    /// Refilled at each sample.
    pub(super) frame_records: Vec<FrameRecord>,
    pub(super) long_ended: Vec<LongEnded>,
}

/// Figures of one kind of long tasks.
pub(super) struct LongKind {
    pub(super) done: Counter,
    pub(super) failed: Counter,
    pub(super) ran: Timing,
    pub(super) waited: Timing,
}

impl Export {
    pub(super) fn new(start: &WatchThreadConfig) -> Self {
        Self {
            metrics: Arc::clone(&start.metrics),
            table: MetricTable::new(Arc::clone(&start.metrics)),
            commands: BTreeMap::new(),
            ticks: BTreeMap::new(),
            restarts: BTreeMap::new(),
            frame_timings: BTreeMap::new(),
            frames_over: 0,
            long_kinds: BTreeMap::new(),
            frame_records: Vec::new(),
            long_ended: Vec::new(),
        }
    }

    /// One counter, with a label `outcome` unless that is empty.
    pub(super) fn count(&mut self, name: &'static str, help: &'static str, outcome: &str, value: u64) {
        self.table.count(name, help, outcome, value);
    }

    /// One counter, with a label unless its value is empty.
    pub(super) fn count_by(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: MetricLabel<'_>,
        value: u64,
    ) {
        self.table.count_by(name, help, &[label], value);
    }

    /// One gauge, with a label unless its value is empty.
    pub(super) fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: MetricLabel<'_>,
        value: f64,
    ) {
        self.table.gauge(name, help, label, value);
    }

    /// Counters of shards, and the kernel's counters of their sockets.
    pub(super) fn shards(&mut self, counted: &[shards::ShardTotals]) {
        gateway::shard::export(&mut self.table, &counted.iter().map(|one| &one.figures).collect::<Vec<_>>());
        let sent: SendCounters = counted.iter().map(|one| one.sent).sum();
        self.count("throng_datagrams_total", "UDP datagrams of circuits.", "sent", sent.sent);
        self.count(
            "throng_datagram_bytes_total",
            "Bytes in UDP datagrams of circuits.",
            "sent",
            sent.sent_bytes,
        );
        self.count(
            "throng_udp_receive_drops_total",
            "Datagrams that the kernel dropped because a socket's receive buffer was full.",
            "",
            counted.iter().map(|one| one.kernel_drops).sum(),
        );
        let drops = ("throng_udp_send_drops_total", "Datagrams that the kernel did not take, by reason.");
        for reason in SendDrop::ALL {
            self.count_by(drops.0, drops.1, ("reason", reason.as_str()), sent.dropped(reason));
        }
        self.count(
            "throng_udp_segmented_total",
            "Datagrams sent together with equal ones to the same client, to be cut apart by the device or the kernel.",
            "",
            sent.segmented,
        );
        self.count(
            "throng_udp_bursts_refused_total",
            "Bursts of datagrams that the kernel did not take as such; their datagrams were sent one by one.",
            "",
            sent.bursts_refused,
        );
    }
}
