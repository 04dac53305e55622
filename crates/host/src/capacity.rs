//! Admission control for instances: memory, reserved before it is resident, and CPU time of the workers.
//!
//! Measurements arrive once a second ([`WorldCapacity::record_sample`]). Between two samples reservations are counted here, so that a
//! burst of requests within one second is judged against the room that is left and not against the last sample.
//!
//! Life of a reservation: [`WorldCapacity::reserve`], then [`WorldCapacity::cancel_reservation`] if the creation fails, or
//! [`WorldCapacity::note_created`]. A created world stays reserved for one whole sample period, since the resident size of the next sample
//! may have been read before the creation; afterwards it is part of the resident size. Memory of a removed world stays with the allocator,
//! which the resident size does not show: it is credited ([`WorldCapacity::note_freed`]) until the allocator returns it to the
//! system, which the node orders when [`WorldCapacity::trimmable_bytes`] is large or memory is short.
//!
//! The size of a template's next world is learned from its former ones, as bytes that the creating thread and the first steps requested
//! from the allocator and kept. (Resident memory would include all other threads.) Until a visited world of the template has been removed,
//! only the creation is known, and the later growth is estimated as a multiple of it.

use ids::Instant;
pub use link::Shortage;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Expected size of a world before one of its template was created, without and with each NPC.
const GUESS_BYTES: u64 = 128 * 1024;
const GUESS_NPC_BYTES: u64 = 16 * 1024;
/// Expected size of a world in use, in percent of the bytes that its creation kept: steps fill buffers, and a checkpoint is kept.
/// Measured: 245 % resident for unvisited worlds of 20 NPCs.
const CREATED_PERCENT: u64 = 300;
/// Expected size of the next world, in percent of the bytes that a world in use kept: overhead of the allocator.
const USED_PERCENT: u64 = 125;
/// A smaller world lowers the expectation by 1/FALL of the difference; a larger one raises it at once.
const FALL: u64 = 8;
/// Memory shortage ends at free ≥ expected size of one world + allowed / REOPEN_PART.
const REOPEN_PART: u64 = 50;

/// Freed memory counts as trimmable after this time, even while worlds come and go.
const TRIM_AFTER: Duration = Duration::from_secs(60);

/// Hysteresis of CPU shortage: demand has to be above (below) its limit for this long.
const CPU_PATIENCE: Duration = Duration::from_secs(5);
/// CPU shortage ends at demand ≤ limit × CPU_RELIEF.
const CPU_RELIEF: f32 = 0.9;

/// Measurements of the node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeSample {
    /// Resident memory of the process.
    pub resident_bytes: u64,
    /// Limit of resident memory; `None` is unlimited.
    pub allowed_bytes: Option<u64>,
    /// The allocator has returned its free memory to the system since the last sample.
    pub is_trimmed: bool,
    /// CPU time that worlds need.
    pub demand: WorkerDemand,
}

/// CPU time that the worlds of the pool needed since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerDemand {
    /// Workers that all awake worlds need, as a sum of step time ÷ period.
    pub workers: f32,
    /// Workers of the pool.
    pub n_workers: usize,
    /// Beats (all worlds of one rate, due together).
    pub beats: u64,
    /// Beats that were not finished when the next one was due; at most `beats`.
    pub over: u64,
    /// Limit of `workers` ÷ `n_workers`, in percent; 0 is unlimited.
    pub max_percent: u32,
}

impl WorkerDemand {
    fn percent(&self) -> f32 {
        100.0 * self.workers / self.n_workers.max(1) as f32
    }

    fn is_excessive(&self) -> bool {
        self.percent() >= self.max_percent as f32 || (self.beats > 0 && 4 * self.over >= 3 * self.beats)
    }

    fn is_relieved(&self) -> bool {
        self.percent() <= CPU_RELIEF * self.max_percent as f32 && 4 * self.over <= self.beats
    }
}

/// CPU shortage with hysteresis.
#[derive(Debug, Default)]
struct CpuShortage {
    is_active: bool,
    /// Start of the uninterrupted demand for the opposite state.
    opposite_since: Option<Instant>,
}

impl CpuShortage {
    fn record_demand(&mut self, now: Instant, demand: &WorkerDemand) {
        if demand.max_percent == 0 {
            *self = Self::default();
            return;
        }
        let is_opposite = if self.is_active { demand.is_relieved() } else { demand.is_excessive() };
        self.opposite_since = is_opposite.then(|| self.opposite_since.unwrap_or(now));
        if self.opposite_since.is_some_and(|since| now.since(since) >= CPU_PATIENCE) {
            *self = Self { is_active: !self.is_active, opposite_since: None };
        }
    }
}

/// Expected size of a template's next world.
#[derive(Clone, Copy, Debug, Default)]
struct ExpectedSize {
    bytes: u64,
    /// Learned from a world in use, not from a creation alone.
    is_of_use: bool,
}

/// Capacity of the node for worlds of instances.
#[derive(Debug, Default)]
pub struct WorldCapacity {
    resident: u64,
    allowed: Option<u64>,
    /// Reserved for worlds under construction.
    under_construction: u64,
    /// Created since the last sample, and between that one and the sample before.
    fresh: u64,
    recent: u64,
    /// Freed by removed worlds and still resident: credited to new ones.
    credit: u64,
    /// Freed since the last trim, regardless of reuse; the value at the last sample; the time since when it is above 0.
    freed: u64,
    freed_at_sample: u64,
    freed_since: Option<Instant>,
    trimmable: u64,
    /// By template name; bounded by the number of templates.
    expected: BTreeMap<Arc<str>, ExpectedSize>,
    is_memory_short: bool,
    cpu: CpuShortage,
}

impl WorldCapacity {
    /// Takes in the measurements of one second.
    pub fn record_sample(&mut self, now: Instant, sample: &NodeSample) {
        // Large blocks return to the system at once: a fall of the resident size is memory that the credit contains as well.
        let fallen = self.resident.saturating_sub(sample.resident_bytes);
        // Reuse of credited memory by the worlds that are resident now cannot be observed; it is assumed.
        self.credit = self.credit.saturating_sub(fallen + self.recent);
        if sample.is_trimmed {
            self.credit = 0;
            // Memory freed after the trim was ordered may have missed it.
            assert!(self.trimmable <= self.freed, "more memory is trimmable than was freed");
            self.freed -= self.trimmable;
            self.freed_since = None;
        }
        self.recent = std::mem::take(&mut self.fresh);
        self.resident = sample.resident_bytes;
        self.allowed = sample.allowed_bytes;
        self.update_trimmable(now);
        self.cpu.record_demand(now, &sample.demand);
        let one = self.expected.values().map(|one| one.bytes).max().unwrap_or(GUESS_BYTES);
        let reopens = |allowed: u64| self.used() + one + allowed / REOPEN_PART <= allowed;
        self.is_memory_short = match self.allowed {
            None => false,
            Some(allowed) if self.is_memory_short => !reopens(allowed),
            Some(allowed) => self.used() >= allowed,
        };
    }

    /// Reserves memory for a world that is about to be created.
    ///
    /// # Errors
    /// The shortage. [`Shortage::Cpu`] comes first: an eviction relieves [`Shortage::Memory`] only, and no world may be evicted for a
    /// request that CPU shortage then refuses.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Shortage> {
        if self.is_cpu_short() {
            return Err(Shortage::Cpu);
        }
        if self.allowed.is_some_and(|allowed| self.used().saturating_add(bytes) > allowed) {
            return Err(Shortage::Memory);
        }
        self.under_construction += bytes;
        Ok(())
    }

    /// True if memory is left for another world of the largest template.
    #[must_use]
    pub fn has_memory(&self) -> bool {
        let one = self.expected.values().map(|one| one.bytes).max().unwrap_or(GUESS_BYTES);
        self.allowed.is_none_or(|allowed| self.used().saturating_add(one) <= allowed)
    }

    /// Expected size of the next world of each template that has had one.
    pub fn expected_sizes(&self) -> impl Iterator<Item = (&Arc<str>, u64)> {
        self.expected.iter().map(|(template, expected)| (template, expected.bytes))
    }

    /// Ends a reservation whose world was not created.
    ///
    /// # Panics
    /// If more is cancelled than was reserved.
    pub fn cancel_reservation(&mut self, bytes: u64) {
        let rest = self.under_construction.checked_sub(bytes);
        self.under_construction = rest.expect("a reservation ends once");
    }

    /// Ends a reservation whose world exists now.
    ///
    /// # Panics
    /// As [`Self::cancel_reservation`].
    pub fn note_created(&mut self, bytes: u64) {
        self.cancel_reservation(bytes);
        self.fresh += bytes;
    }

    /// Credits the memory of a removed world, by its reserved or measured size.
    pub fn note_freed(&mut self, bytes: u64) {
        self.freed += bytes;
        self.credit = (self.credit + bytes).min(self.resident + self.fresh + self.recent);
    }

    /// A request was refused for lack of memory: shortage lasts until the hysteresis ends it.
    pub const fn note_refused_for_memory(&mut self) {
        self.is_memory_short = true;
    }

    /// True while worlds need more CPU time than the workers have.
    #[must_use]
    pub const fn is_cpu_short(&self) -> bool {
        self.cpu.is_active
    }

    /// Reserved bytes that the resident size may not contain yet.
    #[must_use]
    pub const fn reserved_bytes(&self) -> u64 {
        self.under_construction + self.fresh + self.recent
    }

    /// Memory of removed worlds that the allocator may still hold. New worlds reuse it, and a world that was just removed may still wait
    /// for its destruction: so it counts once no world comes or goes, and after one minute in any case.
    #[must_use]
    pub const fn trimmable_bytes(&self) -> u64 {
        self.trimmable
    }

    fn update_trimmable(&mut self, now: Instant) {
        let is_calm = self.reserved_bytes() == 0 && self.freed == self.freed_at_sample;
        self.freed_since = (self.freed > 0).then(|| self.freed_since.unwrap_or(now));
        let is_old = self.freed_since.is_some_and(|since| now.since(since) >= TRIM_AFTER);
        self.trimmable = if is_calm || is_old { self.freed } else { 0 };
        self.freed_at_sample = self.freed;
    }

    const fn used(&self) -> u64 {
        (self.resident + self.reserved_bytes()).saturating_sub(self.credit)
    }

    /// Expected size of a template's next world, with `n_npcs` NPCs.
    #[must_use]
    pub fn expected_bytes(&self, template: &str, n_npcs: usize) -> u64 {
        let guess = || GUESS_BYTES + GUESS_NPC_BYTES * n_npcs as u64;
        self.expected.get(template).map_or_else(guess, |expected| expected.bytes)
    }

    /// Learns from a creation that kept `kept_bytes`; returns the expected size of the next world.
    pub fn learn_from_creation(&mut self, template: &Arc<str>, kept_bytes: u64) -> u64 {
        let expected = self.expected.entry(Arc::clone(template)).or_default();
        // Experience of use counts, unless that world was smaller than this creation alone.
        let size = if expected.is_of_use { kept_bytes } else { kept_bytes / 100 * CREATED_PERCENT };
        expected.bytes = expected.bytes.max(size);
        expected.bytes
    }

    /// Learns from a visited world that kept `kept_bytes`; returns the expected size of the next world.
    pub fn learn_from_use(&mut self, template: &Arc<str>, kept_bytes: u64) -> u64 {
        let size = kept_bytes / 100 * USED_PERCENT;
        let expected = self.expected.entry(Arc::clone(template)).or_default();
        // The former value may come from a creation alone, and this visit may have been short: it falls slowly in both cases.
        let fallen = expected.bytes - expected.bytes.saturating_sub(size) / FALL;
        *expected = ExpectedSize { bytes: size.max(fallen), is_of_use: true };
        expected.bytes
    }

    /// Current shortages, the graver first.
    pub fn shortages(&self) -> impl Iterator<Item = Shortage> {
        let all = [(self.is_memory_short, Shortage::Memory), (self.cpu.is_active, Shortage::Cpu)];
        all.into_iter().filter_map(|(is_active, shortage)| is_active.then_some(shortage))
    }
}

#[cfg(test)]
mod tests;
