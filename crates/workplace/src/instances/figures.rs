//! Metrics of the registry, and its figures for the `watch` thread and the health check.

use super::mail::{InstanceMail, InstanceSender};
use host::capacity::{NodeSample, Shortage};
use host::registry::{Registry, RegistryCounters};
use ids::Instant;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use telemetry::{Counter, Gauge, Metrics};

/// Capacity for instances, as other threads see it: as of the driver's last turn.
pub struct Admission {
    mail: InstanceSender,
    reserved_bytes: AtomicU64,
    trimmable_bytes: AtomicU64,
    shortage: Mutex<Option<Shortage>>,
}

impl Admission {
    pub(super) fn new(mail: InstanceSender) -> Arc<Self> {
        Arc::new(Self {
            mail,
            reserved_bytes: AtomicU64::new(0),
            trimmable_bytes: AtomicU64::new(0),
            shortage: Mutex::default(),
        })
    }

    /// Gives the registry the measurements of one second.
    pub fn record_sample(&self, now: Instant, sample: &NodeSample) {
        // Only fails once the driver has ended.
        let _ = self.mail.send(InstanceMail::Sample(now, *sample));
    }

    /// Memory reserved for instances that may not be resident yet.
    pub fn promised_bytes(&self) -> u64 {
        self.reserved_bytes.load(Ordering::Relaxed)
    }

    /// Memory that the allocator may keep of instances that have left, while no others come.
    pub fn idle_bytes(&self) -> u64 {
        self.trimmable_bytes.load(Ordering::Relaxed)
    }

    /// A sentence for the operator.
    pub fn trouble(&self) -> Option<String> {
        let shortage = *self.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match shortage? {
            Shortage::Memory => "Memory is short: instances are neither created nor resumed.".to_owned(),
            Shortage::Cpu => "Worlds have more to do than workers can: instances are not resumed.".to_owned(),
        })
    }
}

/// Metrics that follow the registry's totals.
pub(super) struct RegistryFigures {
    admission: Arc<Admission>,
    metrics: Arc<Metrics>,
    refused: [Counter; Shortage::ALL.len()],
    closed: [Gauge; Shortage::ALL.len()],
    evicted: [Counter; 2],
    suspended: [Counter; 2],
    n_suspended: [Gauge; 2],
    expired: Counter,
    reserved: Gauge,
    /// By template, as exported last.
    expected: BTreeMap<Arc<str>, u64>,
    /// As exported last.
    counters: RegistryCounters,
    shortages: Vec<Shortage>,
}

impl RegistryFigures {
    pub(super) fn new(metrics: &Arc<Metrics>, admission: Arc<Admission>) -> Self {
        let refused = |why: Shortage| {
            let help =
                "Instances that were neither created nor resumed because there was no room on the node.";
            metrics.counter("throng_instances_refused_total", help, &[("reason", why.as_str())])
        };
        let closed = |why: Shortage| {
            let help = "1 while instances are not resumed for this reason, else 0.";
            let gauge = metrics.gauge("throng_instances_closed", help, &[("reason", why.as_str())]);
            gauge.set(0.0);
            gauge
        };
        let counters = |names: [&'static str; 2], help| names.map(|name| metrics.counter(name, help, &[]));
        let gauges = |names: [&'static str; 2], help| names.map(|name| metrics.gauge(name, help, &[]));
        let reserved = metrics.gauge(
            "throng_instance_promised_bytes",
            "Memory of instances that are being created, or were a moment ago, and may not be in RAM yet.",
            &[],
        );
        reserved.set(0.0);
        Self {
            admission,
            metrics: Arc::clone(metrics),
            refused: Shortage::ALL.map(refused),
            closed: Shortage::ALL.map(closed),
            // The second name of each is the former one, and will be removed in the next version.
            evicted: counters(
                ["throng_instances_evicted_total", "throng_instances_put_out_total"],
                "Instances that were suspended early so that another one had room.",
            ),
            suspended: counters(
                ["throng_instances_suspended_total", "throng_instances_parked_total"],
                "Times that an instance was suspended.",
            ),
            n_suspended: gauges(
                ["throng_instances_suspended", "throng_instances_parked"],
                "Instances of which nothing is in memory.",
            ),
            expired: metrics.counter(
                "throng_instances_expired_total",
                "Instances of portals that ended because they were not visited for `template.keep_h`.",
                &[],
            ),
            reserved,
            expected: BTreeMap::new(),
            counters: RegistryCounters::default(),
            shortages: Vec::new(),
        }
    }

    /// Exports changed figures, with a line in the log for each shortage that begins or ends.
    pub(super) fn export(&mut self, registry: &Registry) {
        let counters = registry.counters();
        let former = std::mem::replace(&mut self.counters, counters);
        for (n, counter) in self.refused.iter().enumerate() {
            counter.increment(counters.refused[n] - former.refused[n]);
        }
        self.evicted.iter().for_each(|counter| counter.increment(counters.evicted - former.evicted));
        self.suspended.iter().for_each(|counter| counter.increment(counters.suspended - former.suspended));
        self.expired.increment(counters.expired - former.expired);
        let (n, n_in_memory) = registry.counts();
        self.n_suspended.iter().for_each(|gauge| gauge.set((n - n_in_memory) as f64));
        let capacity = registry.capacity();
        self.reserved.set(capacity.reserved_bytes() as f64);
        self.admission.reserved_bytes.store(capacity.reserved_bytes(), Ordering::Relaxed);
        self.admission.trimmable_bytes.store(capacity.trimmable_bytes(), Ordering::Relaxed);
        for (template, bytes) in capacity.expected_sizes() {
            if self.expected.get(template) != Some(&bytes) {
                self.expected.insert(Arc::clone(template), bytes);
                let name = "throng_instance_expected_bytes";
                let help =
                    "Memory that an instance of the template is expected to take, learned from former ones.";
                self.metrics.gauge(name, help, &[("template", template)]).set(bytes as f64);
            }
        }
        let shortages: Vec<Shortage> = capacity.shortages().collect();
        if shortages != self.shortages {
            self.report_shortages(shortages);
        }
    }

    fn report_shortages(&mut self, now: Vec<Shortage>) {
        let before = std::mem::replace(&mut self.shortages, now);
        for (why, closed) in Shortage::ALL.iter().zip(&self.closed) {
            let (was, is) = (before.contains(why), self.shortages.contains(why));
            closed.set(f64::from(u8::from(is)));
            match (was, is) {
                (false, true) => tracing::warn!(reason = why.as_str(), "there is no room for instances"),
                (true, false) => tracing::info!(reason = why.as_str(), "there is room for instances again"),
                _ => {}
            }
        }
        let mut shortage = self.admission.shortage.lock().unwrap_or_else(PoisonError::into_inner);
        *shortage = self.shortages.first().copied();
    }
}

opaque_debug!(Admission);
