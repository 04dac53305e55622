//! The flight recorder with its captures, and diagnosis of failures.

use crate::config::key::{KeyKind, section};
use std::collections::BTreeMap;
use std::time::Duration;
use telemetry::captures::{CaptureLimits, Trigger};

section! {
    /// The flight recorder: activity of every thread in the last seconds ([captures.md](captures.md)).
    pub struct RecorderSection in "recorder", repeated: false {
        /// True if threads record.
        ///
        /// Recording takes less than half a percent of a core with 1,000 clients. Without it there are no captures of slow frames, and
        /// crash dumps do not show the events before them.
        enabled: bool = true, "–", KeyKind::Flag;
        /// Memory of the record, taken as it is used.
        ///
        /// An event takes 32 bytes; at 5,000 clients 64 MiB hold more than five seconds. If it is too small, the record reaches less
        /// far back than `horizon_s` and `throng_recorder_blocks_recycled_total` rises.
        memory_mib: u32 = 64, "MiB", KeyKind::whole(4, 4_096);
        /// Time span of captures. Can be tuned while the server runs.
        ///
        /// Longer shows more of the time before a slow frame, and makes captures larger and slower to write.
        horizon_s: u32 = 5, "s", KeyKind::whole(1, 60);
    }
}

section! {
    /// Captures of the flight recorder after something was too slow, in `DATA/captures` ([captures.md](captures.md)). All keys can be
    /// tuned while the server runs.
    pub struct CapturesSection in "captures", repeated: false {
        /// Disk space for captures of a world's step that took longer than its tick; then the oldest of them go.
        ///
        /// More keeps captures of more days. A capture has some 50 bytes per slice.
        frame_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// Shorter catches more of them, and gives the disk and the `recorder` thread more to do. It is at least 300 times the CPU time
        /// of the latest capture of any kind, the effective bound with a thousand worlds.
        frame_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures of a phase of a step that took longer than it may; then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        system_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// As for `frame_interval_s`.
        system_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures of any other scope that took longer than its limit; then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        scope_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
        /// Least time from one such capture to the next; overruns in between are captured only if they are twice as bad, and otherwise
        /// counted in `throng_captures_suppressed_total`.
        ///
        /// As for `frame_interval_s`.
        scope_interval_s: u32 = 10, "s", KeyKind::whole(0, 86_400);
        /// Disk space for captures that the operator asked for (`throng trace save`); then the oldest of them go.
        ///
        /// As for `frame_quota_mib`.
        operator_quota_mib: u32 = 128, "MiB", KeyKind::whole(1, 1_000_000);
    }
}

impl CapturesSection {
    /// The limits of each trigger.
    #[must_use]
    pub fn limits(&self) -> BTreeMap<Trigger, CaptureLimits> {
        let limits = |quota_mib: u32, interval_s: u32| CaptureLimits {
            quota_bytes: u64::from(quota_mib) << 20,
            interval: Duration::from_secs(interval_s.into()),
        };
        BTreeMap::from([
            (Trigger::Frame, limits(self.frame_quota_mib, self.frame_interval_s)),
            (Trigger::System, limits(self.system_quota_mib, self.system_interval_s)),
            (Trigger::Scope, limits(self.scope_quota_mib, self.scope_interval_s)),
            (Trigger::Operator, limits(self.operator_quota_mib, 0)),
        ])
    }
}

section! {
    /// Diagnosis of the server's own failures ([crashes.md](crashes.md)).
    pub struct DiagnoseSection in "diagnose", repeated: false {
        /// Crash dumps to keep in `DATA/crashes`: this number of those that ended the server, and the same of survived panics; the
        /// oldest of a kind are deleted. 0 writes none and starts no monitor process.
        ///
        /// A dump holds the stacks of all threads and the environment, about a megabyte. The monitor takes a few megabytes of memory.
        crash_dumps_max: u32 = 20, "dumps", KeyKind::whole(0, 1_000);
        /// Space of the dumps of one kind, with their summaries and the flight recorder's last seconds.
        ///
        /// As for `crash_dumps_max`, whichever is reached first.
        crash_mib_max: u32 = 512, "MiB", KeyKind::whole(1, 1_000_000);
        /// True if the operator's address takes `POST /v1/fault`, which makes a thread panic, crash or stall.
        ///
        /// For tests and experiments. The token then suffices to crash the server.
        allow_faults: bool = false, "–", KeyKind::Flag;
    }
}
