//! Whether another instance comes into memory: whoever makes or wakes one asks here, and the `watch` thread says once a second what there is.
//!
//! [`WorldCapacity`] decides. What is promised ([`Promise`]) comes back when nothing comes of it, by an error, a cancelled task or a panic.
//! Instances that run never end for it, and those in which nobody is are parked before anybody is refused.

use super::park::Nobody;
use super::{Instances, Refusal, TableRefusal};
use host::capacity::Shortage;
use host::capacity::{NodeSample, WorldCapacity};
use ids::{Instant, WorldId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use telemetry::{Counter, Gauge, Metrics};

/// Instances that are parked for one: more of them than one takes, since they may be smaller.
const PARKED_FOR_ONE: usize = 8;

/// The capacity, shared.
pub(in crate::serve) struct Admission {
    capacity: Mutex<WorldCapacity>,
    refused: [(Shortage, Counter); Shortage::ALL.len()],
    closed: [(Shortage, Gauge); Shortage::ALL.len()],
    put_out: Counter,
    promised: Gauge,
    metrics: Arc<Metrics>,
}

/// Memory for a world on its way into the pool, given back when this is dropped.
#[must_use]
pub(super) struct Promise<'a> {
    admission: &'a Admission,
    template: Arc<str>,
    bytes: u64,
}

impl Promise<'_> {
    /// The world is in the pool, and has been seen to keep so many bytes, if anybody counts; what it is expected to take.
    pub(super) fn keep(mut self, kept_bytes: i64) -> u64 {
        let bytes = std::mem::take(&mut self.bytes);
        let mut capacity = self.admission.capacity();
        capacity.note_created(bytes);
        if let Some(kept) = u64::try_from(kept_bytes).ok().filter(|&kept| kept > 0) {
            let expected = capacity.learn_from_creation(&self.template, kept);
            drop(capacity);
            self.admission.tell_expected(&self.template, expected);
        }
        bytes
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.admission.capacity().cancel_reservation(self.bytes);
    }
}

impl Admission {
    /// With room for all until somebody has looked.
    pub(in crate::serve) fn new(metrics: &Arc<Metrics>) -> Self {
        let refused = |why: Shortage| {
            let help = "Instances that were neither made nor woken because there was no room on the node.";
            (why, metrics.counter("throng_instances_refused_total", help, &[("reason", why.as_str())]))
        };
        let closed = |why: Shortage| {
            let help = "1 while instances are not woken for this reason, else 0.";
            let gauge = metrics.gauge("throng_instances_closed", help, &[("reason", why.as_str())]);
            gauge.set(0.0);
            (why, gauge)
        };
        let promised = metrics.gauge(
            "throng_instance_promised_bytes",
            "Memory of instances that are being made, or were a moment ago, and may not be in RAM yet.",
            &[],
        );
        promised.set(0.0);
        Self {
            capacity: Mutex::default(),
            refused: Shortage::ALL.map(refused),
            closed: Shortage::ALL.map(closed),
            put_out: metrics.counter(
                "throng_instances_put_out_total",
                "Instances that were parked early so that another one had memory.",
                &[],
            ),
            promised,
            metrics: Arc::clone(metrics),
        }
    }

    /// Says what there is; once a second.
    pub(in crate::serve) fn look(&self, now: Instant, seen: &NodeSample) {
        let mut capacity = self.capacity();
        let before: Vec<Shortage> = capacity.shortages().collect();
        capacity.record_sample(now, seen);
        self.promised.set(capacity.reserved_bytes() as f64);
        self.tell(&before, &capacity);
    }

    /// What instances were promised and is not in RAM yet, or may not be.
    pub(in crate::serve) fn promised_bytes(&self) -> u64 {
        self.capacity().reserved_bytes()
    }

    /// What the allocator may keep that instances left, and no other ones are about to take.
    pub(in crate::serve) fn idle_bytes(&self) -> u64 {
        self.capacity().trimmable_bytes()
    }

    /// What an operator should know.
    pub(in crate::serve) fn trouble(&self) -> Option<String> {
        let why = self.capacity().shortages().next()?;
        Some(match why {
            Shortage::Memory => "Memory is short: instances are neither made nor woken.".to_owned(),
            Shortage::Cpu => "Worlds have more to do than workers can: instances are not woken.".to_owned(),
        })
    }

    fn promise(&self, template: &Arc<str>, n_npcs: usize) -> Result<Promise<'_>, Shortage> {
        let mut capacity = self.capacity();
        let bytes = capacity.expected_bytes(template, n_npcs);
        capacity.reserve(bytes)?;
        Ok(Promise { admission: self, template: Arc::clone(template), bytes })
    }

    /// An instance of the template that somebody has been in takes so much.
    pub(super) fn learn(&self, template: &Arc<str>, bytes: u64) {
        let expected = self.capacity().learn_from_use(template, bytes);
        self.tell_expected(template, expected);
    }

    fn tell_expected(&self, template: &str, bytes: u64) {
        let name = "throng_instance_expected_bytes";
        let help = "Memory that an instance of the template is expected to take, learned from former ones.";
        self.metrics.gauge(name, help, &[("template", template)]).set(bytes as f64);
    }

    /// An instance has left the pool, which took so much.
    pub(super) fn has_left(&self, bytes: u64) {
        self.capacity().note_freed(bytes);
    }

    /// Counts somebody who is told to try again.
    fn refuse(&self, why: Shortage) -> Refusal {
        let refused = self.refused.iter().filter(|(reason, _)| *reason == why);
        refused.for_each(|(_, counter)| counter.increment(1));
        if why == Shortage::Memory {
            let mut capacity = self.capacity();
            let before: Vec<Shortage> = capacity.shortages().collect();
            capacity.note_refused_for_memory();
            self.tell(&before, &capacity);
        }
        Refusal::Shortage(why)
    }

    /// A line in the log for each change.
    fn tell(&self, before: &[Shortage], capacity: &WorldCapacity) {
        let now: Vec<Shortage> = capacity.shortages().collect();
        for (why, closed) in &self.closed {
            let (was, is) = (before.contains(why), now.contains(why));
            closed.set(f64::from(u8::from(is)));
            match (was, is) {
                (false, true) => tracing::warn!(reason = why.as_str(), "there is no room for instances"),
                (true, false) => tracing::info!(reason = why.as_str(), "there is room for instances again"),
                _ => {}
            }
        }
    }

    fn capacity(&self) -> MutexGuard<'_, WorldCapacity> {
        self.capacity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instances {
    /// Memory for the world of an instance; if need be, others in which nobody is are parked for it, those first that have been empty the longest.
    pub(super) fn room_for(&self, world: WorldId) -> Result<Promise<'_>, Refusal> {
        self.promise(world).map_err(|why| match why {
            Refusal::Shortage(why) => self.admission.refuse(why),
            why => why,
        })
    }

    /// Likewise for a new one, which needs no time while nobody is in it: when it is only time that there is none of, it is made parked.
    pub(super) fn room_for_new(&self, world: WorldId) -> Result<Option<Promise<'_>>, Refusal> {
        match self.promise(world) {
            Ok(promise) => Ok(Some(promise)),
            Err(Refusal::Shortage(Shortage::Cpu)) => Ok(None),
            Err(Refusal::Shortage(why)) => Err(self.admission.refuse(why)),
            Err(why) => Err(why),
        }
    }

    /// Whether there is time for one more that somebody is in. To be asked before anything is done for one that has to be woken.
    pub(super) fn has_time(&self) -> Result<(), Refusal> {
        let is_overloaded = self.admission.capacity().is_cpu_short();
        if is_overloaded { Err(self.admission.refuse(Shortage::Cpu)) } else { Ok(()) }
    }

    fn promise(&self, world: WorldId) -> Result<Promise<'_>, Refusal> {
        let (template, n_npcs) = {
            let table = self.table();
            let entry = table.of_world(world).ok_or(TableRefusal::Gone)?;
            let gone = |_| TableRefusal::TemplateGone(Arc::clone(&entry.template));
            let template = table.template(&entry.template).map_err(gone)?;
            (Arc::clone(&template.name), template.cast.as_ref().map_or(0, |cast| cast.len()))
        };
        for _ in 0..PARKED_FOR_ONE {
            match self.admission.promise(&template, n_npcs) {
                // To find out who is idle the hub is asked, which others need: not a thousand times for a burst of orders.
                Err(Shortage::Memory) if !self.admission.capacity().lacks_candidates() => {}
                promise => return promise.map_err(Refusal::Shortage),
            }
            let idle = match self.longest_empty() {
                Ok(idle) => idle,
                Err(Nobody { others_leave }) => {
                    // Who is parked by somebody else may make room in a moment.
                    if !others_leave {
                        self.admission.capacity().note_no_candidate();
                    }
                    break;
                }
            };
            let n = self.park_these(vec![idle])?;
            self.admission.put_out.increment(n as u64);
        }
        self.admission.promise(&template, n_npcs).map_err(Refusal::Shortage)
    }
}
