//! Counters of the server beside its cores: replicas, the crash monitor, the time since the start.

use super::Export;
use crate::serve::crashes::Crashes;
use crate::serve::watch::WatchThreadConfig;
use std::sync::atomic::{AtomicU64, Ordering};

impl Export {
    pub(in crate::serve::watch) fn crashes(&mut self, crashes: Option<&Crashes>) {
        let runs = crashes.is_some_and(Crashes::tend);
        self.gauge(
            "throng_crash_monitor_up",
            "1 while the process runs that writes crash dumps.",
            ("", ""),
            f64::from(u8::from(runs)),
        );
    }

    pub(in crate::serve::watch) fn server(&mut self, start: &WatchThreadConfig) {
        let uptime_s = (start.clock)().0 as f64 / 1e9;
        self.gauge("throng_uptime_seconds", "Seconds since the start, at this export.", ("", ""), uptime_s);
        let replicas = &start.replicas;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        for (name, help, counter) in [
            ("throng_frames_total", "Frames taken by the replica thread.", &replicas.frames),
            (
                "throng_blocks_encoded_total",
                "Changes encoded for all clients together.",
                &replicas.blocks_encoded,
            ),
            (
                "throng_replica_resyncs_total",
                "Snapshots asked for after a gap in the frames.",
                &replicas.resyncs,
            ),
            (
                "throng_replica_copies_total",
                "Replicas copied whole because a reader was slow.",
                &replicas.copies,
            ),
        ] {
            self.count(name, help, "", load(counter));
        }
    }
}
