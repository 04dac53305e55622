//! Counters of the flight recorder as metrics.

use super::RecorderCounters;
use crate::MetricTable;

impl RecorderCounters {
    /// Exports them.
    pub fn export(&self, table: &mut MetricTable) {
        let memory = self.blocks_touched as f64 * Self::BLOCK_BYTES as f64;
        table.gauge(
            "throng_recorder_memory_bytes",
            "Memory that threads have recorded into.",
            ("", ""),
            memory,
        );
        for (name, help, value) in [
            ("throng_recorder_scopes_total", "Scopes entered on threads that record.", self.scopes),
            (
                "throng_recorder_blocks_recycled_total",
                "Blocks of the flight recorder that were used again before they had grown old.",
                self.blocks_recycled,
            ),
            (
                "throng_recorder_events_lost_total",
                "Scopes that the flight recorder could not record.",
                self.events_lost,
            ),
            (
                "throng_recorder_scopes_refused_total",
                "Kinds of scopes that found the flight recorder's table full.",
                self.scopes_refused,
            ),
            (
                "throng_recorder_threads_refused_total",
                "Threads that found the flight recorder's table full.",
                self.threads_refused,
            ),
        ] {
            table.count(name, help, "", value);
        }
    }
}
