//! Samples for the admission of logins and instances ([`gateway::admission`]), and what follows from its verdict.

use super::{WatchSampler, shards};
use gateway::admission::{LoadSample, allowed_bytes};
use gateway::http::door::{NoRoom, Room};
use host::capacity::{NodeSample, WorkerDemand};
use ids::Instant;
use telemetry::{allocations, cgroup, process};

impl WatchSampler {
    /// Says whether more people are let in, and more instances.
    pub(super) fn admit(&mut self, now: Instant, shards: &[shards::ShardTotals], demand: WorkerDemand) {
        let allowed = self.start.tunables.memory_max_bytes();
        let seen = LoadSample {
            resident_bytes: process::resident_bytes(),
            limit_bytes: allowed.or_else(cgroup::memory_limit_bytes),
            promised_bytes: self.start.instances.promised_bytes(),
            idle_bytes: self.start.instances.idle_bytes(),
            arrivals_waiting_min: shards
                .iter()
                .map(|counted| counted.figures.shard.arrivals_waiting)
                .min()
                .unwrap_or(0),
            has_connections: self.start.http.has_spare(),
        };
        let verdict = self.admission.judge(now, seen);
        self.start.http_state.door.set(verdict.room);
        if verdict.sheds {
            tracing::warn!(resident = seen.resident_bytes, limit = seen.limit_bytes, "memory is short");
            self.start.http_state.login.forget_all();
        }
        if verdict.gives_back {
            // Before the allocator's: pages are blocks of their own, among those of worlds that have left.
            if let Err(error) = self.start.http_state.store.release_caches() {
                tracing::warn!(%error, "cannot release the caches of the database");
            }
            allocations::give_spare_back();
        }
        self.start.instances.record_sample(now, &instances_see(seen, verdict.gives_back, demand));
        let refused = ("throng_logins_closed", "1 while logins are refused for this reason, else 0.");
        for reason in NoRoom::ALL {
            let is_so = verdict.room == Room::None(reason);
            self.export.gauge(refused.0, refused.1, ("reason", reason.as_str()), f64::from(u8::from(is_so)));
        }
        let memory = [
            ("throng_process_resident_bytes", "Memory of the process that is in RAM.", seen.resident_bytes),
            (
                "throng_process_memory_limit_bytes",
                "Memory that it may have; 0 is no limit.",
                Some(seen.limit_bytes.unwrap_or(0)),
            ),
        ];
        for (name, help, bytes) in memory {
            if let Some(bytes) = bytes {
                self.export.gauge(name, help, ("", ""), bytes as f64);
            }
        }
    }
}

/// Sample for the instances' admission. After a return of memory it is measured again.
fn instances_see(seen: LoadSample, is_given_back: bool, demand: WorkerDemand) -> NodeSample {
    let again = || process::resident_bytes().or(seen.resident_bytes);
    let resident = if is_given_back { again() } else { seen.resident_bytes };
    NodeSample {
        resident_bytes: resident.unwrap_or(0),
        allowed_bytes: resident.and(seen.limit_bytes).map(allowed_bytes),
        is_trimmed: is_given_back,
        demand,
    }
}
