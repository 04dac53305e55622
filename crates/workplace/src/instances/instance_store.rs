//! The store as instances use it: on connections of their own, so that a long write of states does not hold up logins; counted, and
//! with a fuse, so that tests can simulate a full disk.

use crate::Clock;
use crate::faults::Fuse;
use ids::{Instant, Uuid};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{
    Damage, Instance, InstanceList, InstanceOrigin, InstanceState, Listed, State, Store, StoreError, StoreUrl,
};
use telemetry::recorder::{Arg, Scope};
use telemetry::{Counter, Metrics, Timing};
use thiserror::Error;

/// A transaction, by the number of instances that it is about. It waits for the disk.
static WRITE: Scope = Scope::new("instances.write").arg(Arg::Count).limit_us(1_000_000);

/// Pauses after a failure: doubled each time, from one journal period to half a minute.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Reasons for which something was not written or read.
#[derive(Debug, Error)]
pub(super) enum InstanceStoreError {
    #[error("{source}: {}", cause_of(source))]
    Store {
        #[from]
        source: StoreError,
    },
    #[error("a fault that was ordered at instances")]
    Ordered,
}

fn cause_of(error: &StoreError) -> String {
    std::error::Error::source(error).map_or_else(String::new, ToString::to_string)
}

/// The store, with a fuse, counters and a pause after failures.
pub struct InstanceStore {
    store: Store,
    fuse: Arc<Fuse>,
    clock: Clock,
    sequences: Arc<AtomicU64>,
    failing: Mutex<Option<Failing>>,
    counters: StoreCounters,
}

/// Since a write failed, until one succeeds.
#[derive(Debug)]
struct Failing {
    since: Instant,
    n: u32,
    next_at: Instant,
    why: String,
}

struct StoreCounters {
    images: Written,
    journals: Written,
    failures: Counter,
    damaged: Counter,
    lag: Timing,
}

struct Written {
    states: Counter,
    bytes: Counter,
    timing: Timing,
}

impl Written {
    fn new(metrics: &Metrics, what: &str) -> Self {
        let label = [("what", what)];
        Self {
            states: metrics.counter(
                "throng_instance_states_saved_total",
                "States of instances written down: whole ones (image), and what has changed since (journal).",
                &label,
            ),
            bytes: metrics.counter(
                "throng_instance_bytes_saved_total",
                "Bytes of states of instances written down, as they lie in the store.",
                &label,
            ),
            timing: metrics.timing(
                "throng_instance_save_seconds",
                "Duration of a transaction that writes states of instances, until the disk has it.",
                &label,
            ),
        }
    }
}

impl StoreCounters {
    fn new(metrics: &Metrics) -> Self {
        Self {
            images: Written::new(metrics, "image"),
            journals: Written::new(metrics, "journal"),
            failures: metrics.counter(
                "throng_instance_save_failures_total",
                "Transactions with states of instances that failed; they are tried again.",
                &[],
            ),
            damaged: metrics.counter(
                "throng_instances_damaged_total",
                "Rows and states of instances that were not what had been written, or of which nothing can be made.",
                &[],
            ),
            lag: metrics.timing(
                "throng_instance_journal_lag_seconds",
                "Time from a change that must not get lost until it is on the disk; the oldest one of each transaction.",
                &[],
            ),
        }
    }
}

impl InstanceStore {
    /// Opens the database, and lists its instances.
    pub fn open(
        url: &StoreUrl,
        fuse: Arc<Fuse>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> Result<(Arc<Self>, Vec<Listed>), StoreError> {
        let store = Store::open(url)?.with_metrics(metrics, "instances");
        let InstanceList { instances, damages, highest_sequence } = store.instances()?;
        let instance_store = Self {
            store,
            fuse,
            clock: Arc::clone(clock),
            sequences: Arc::new(AtomicU64::new(highest_sequence)),
            failing: Mutex::default(),
            counters: StoreCounters::new(metrics),
        };
        instance_store.report(&damages);
        Ok((Arc::new(instance_store), instances))
    }

    /// Source of the sequence numbers of this node's states.
    pub(super) const fn sequences(&self) -> &Arc<AtomicU64> {
        &self.sequences
    }

    /// A number that is higher than all before.
    pub(super) fn next_sequence(&self) -> u64 {
        self.sequences.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn create(
        &self,
        instance: &Instance,
        origin: &InstanceOrigin,
    ) -> Result<(), InstanceStoreError> {
        let born = self.next_sequence();
        self.write(1, || self.store.create_instance(instance, born, origin))
    }

    /// Keeps the last visits of instances that portals created: seconds since 1970.
    pub(super) fn note_visits(&self, visits: &[(Uuid, i64)]) -> Result<(), InstanceStoreError> {
        self.write(visits.len(), || self.store.note_visits(visits))
    }

    pub(super) fn remove(&self, id: Uuid) -> Result<(), InstanceStoreError> {
        self.write(1, || self.store.remove_instance(id).map(|_| ()))
    }

    /// Keeps whole states, all or none.
    pub(super) fn save(&self, images: &[State]) -> Result<(), InstanceStoreError> {
        self.write_states(&self.counters.images, images, || self.store.save_instances(images))
    }

    /// Persists the changes since `changed_at`, all or none.
    pub(super) fn journal(&self, journals: &[State], changed_at: Instant) -> Result<(), InstanceStoreError> {
        self.write_states(&self.counters.journals, journals, || self.store.journal_instances(journals))?;
        self.counters.lag.record((self.clock)() - changed_at);
        Ok(())
    }

    /// Saved state of an instance. Damaged parts are set aside, and reported here.
    pub(super) fn read(&self, id: Uuid) -> Result<InstanceState, InstanceStoreError> {
        if self.fuse.fails() {
            return Err(InstanceStoreError::Ordered);
        }
        let state = self.store.instance_state(id)?;
        self.report(&state.damages);
        Ok(state)
    }

    /// Reports to the operator.
    pub(super) fn report(&self, damages: &[Damage]) {
        for Damage { instance, part, why } in damages {
            self.counters.damaged.increment(1);
            tracing::error!(instance, %part, why, "the saved state of an instance is damaged and was set aside");
        }
    }

    /// Nothing can be made of a state that is as it was written.
    pub(super) fn note_damage(&self) {
        self.counters.damaged.increment(1);
    }

    /// Until when it is of no use to write, since that has just failed.
    pub(super) fn rests_until(&self) -> Option<Instant> {
        self.failing().as_ref().map(|failing| failing.next_at)
    }

    /// The current problem, if any.
    pub fn trouble(&self) -> Option<String> {
        let failing = self.failing();
        let Failing { since, n, why, .. } = failing.as_ref()?;
        let since_s = ((self.clock)() - *since).as_secs();
        Some(format!(
            "Instances have not been saved for {since_s} s and stay in memory; tried {n} times. {why}"
        ))
    }

    fn write_states(
        &self,
        written: &Written,
        states: &[State],
        write: impl FnOnce() -> Result<usize, StoreError>,
    ) -> Result<(), InstanceStoreError> {
        let began_at = (self.clock)();
        let n = self.write(states.len(), write).inspect_err(|why| self.rest(why))?;
        if n < states.len() {
            // Their instances have ended meanwhile, or another node has saved them. Otherwise this line is the evidence.
            tracing::warn!(
                n,
                of = states.len(),
                "states of instances were out of date before they were written"
            );
        }
        written.timing.record((self.clock)() - began_at);
        written.states.increment(states.len() as u64);
        written.bytes.increment(states.iter().map(|state| state.bytes.len() as u64).sum());
        Ok(())
    }

    fn write<R>(
        &self,
        n: usize,
        write: impl FnOnce() -> Result<R, StoreError>,
    ) -> Result<R, InstanceStoreError> {
        let _scope = WRITE.enter(n as u64);
        let result = if self.fuse.fails() {
            Err(InstanceStoreError::Ordered)
        } else {
            write().map_err(InstanceStoreError::from)
        };
        match &result {
            Ok(_) => {
                if self.failing().take().is_some() {
                    tracing::info!("instances are saved again");
                }
            }
            Err(why) => {
                self.counters.failures.increment(1);
                tracing::error!(%why, "cannot write the state of instances");
            }
        }
        result
    }

    /// States wait in memory for a while. A failure before its end had another caller, and does not prolong it.
    fn rest(&self, why: &InstanceStoreError) {
        let mut failing = self.failing();
        let now = (self.clock)();
        if let Some(failing) = failing.as_mut().filter(|failing| now < failing.next_at) {
            failing.why = why.to_string();
            return;
        }
        let (since, n) = failing.as_ref().map_or((now, 0), |failing| (failing.since, failing.n));
        let pause = (FIRST_PAUSE * (1 << n.min(16))).min(PAUSE_MAX);
        *failing = Some(Failing { since, n: n + 1, next_at: now + pause, why: why.to_string() });
    }

    fn failing(&self) -> MutexGuard<'_, Option<Failing>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

opaque_debug!(InstanceStore);
