//! The store as instances use it: on connections of their own, so that a long write of states does not hold up logins; counted, and
//! with a fuse, so that tests can simulate a full disk.

use super::persistence::{InstancePersistence, InstanceStoreError};
use super::write_pause::{Failing, WritePause};
use crate::Clock;
use crate::faults::Fuse;
use host::registry::InstanceRow;
use ids::{Instant, Uuid};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{
    Damage, Instance, InstanceList, InstanceOrigin, InstanceState, Listed, State, Store, StoreError,
};
use telemetry::recorder::{Arg, Scope};
use telemetry::{Counter, Metrics, Timing};

/// A transaction, by the number of instances that it is about. It waits for the disk.
static WRITE: Scope = Scope::new("instances.write").arg(Arg::Count).limit_us(1_000_000);

/// The store, with a fuse, counters and a pause after failures.
pub struct InstanceStore {
    store: Store,
    fuse: Arc<Fuse>,
    clock: Clock,
    sequences: Arc<AtomicU64>,
    pause: Mutex<WritePause>,
    counters: StoreCounters,
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
    /// Takes a database for itself, and lists its instances.
    pub fn open(
        store: Store,
        fuse: Arc<Fuse>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> Result<(Arc<Self>, Vec<Listed>), StoreError> {
        let store = store.with_metrics(metrics, "instances");
        let InstanceList { instances, damages, highest_sequence } = store.instances()?;
        let instance_store = Self {
            store,
            fuse,
            clock: Arc::clone(clock),
            sequences: Arc::new(AtomicU64::new(highest_sequence)),
            pause: Mutex::default(),
            counters: StoreCounters::new(metrics),
        };
        instance_store.report(&damages);
        Ok((Arc::new(instance_store), instances))
    }

    /// Reports to the operator.
    pub(super) fn report(&self, damages: &[Damage]) {
        for Damage { instance, part, why } in damages {
            self.counters.damaged.increment(1);
            tracing::error!(instance, %part, why, "the saved state of an instance is damaged and was set aside");
        }
    }

    /// The current problem, if any.
    pub fn trouble(&self) -> Option<String> {
        let pause = self.pause();
        let Failing { since, n, why, .. } = pause.failing()?;
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
        let n = self.write(states.len(), write).inspect_err(|why| {
            self.pause().note_failure((self.clock)(), &why.to_string());
        })?;
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
                if self.pause().note_success() {
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

    fn pause(&self) -> MutexGuard<'_, WritePause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InstancePersistence for InstanceStore {
    fn sequences(&self) -> &Arc<AtomicU64> {
        &self.sequences
    }

    fn create(&self, row: InstanceRow) -> Result<(), InstanceStoreError> {
        let InstanceRow { id, template, name, owner, created_s, maker, visited_s } = row;
        let origin = match (visited_s, maker) {
            (Some(visited_s), _) => InstanceOrigin::Portal { visited_s },
            (None, Some(token)) => InstanceOrigin::Token(token.to_string()),
            (None, None) => InstanceOrigin::Operator,
        };
        let instance =
            Instance { id, template: template.to_string(), name: name.to_string(), owner, created_s };
        let born = self.next_sequence();
        self.write(1, || self.store.create_instance(&instance, born, &origin))
    }

    fn remove(&self, id: Uuid) -> Result<(), InstanceStoreError> {
        self.write(1, || self.store.remove_instance(id).map(|_| ()))
    }

    fn note_visits(&self, visits: &[(Uuid, i64)]) -> Result<(), InstanceStoreError> {
        self.write(visits.len(), || self.store.note_visits(visits))
    }

    /// Damaged parts are set aside, and reported here.
    fn read(&self, id: Uuid) -> Result<InstanceState, InstanceStoreError> {
        if self.fuse.fails() {
            return Err(InstanceStoreError::Ordered);
        }
        let state = self.store.instance_state(id)?;
        self.report(&state.damages);
        Ok(state)
    }

    fn save(&self, images: &[State]) -> Result<(), InstanceStoreError> {
        self.write_states(&self.counters.images, images, || self.store.save_instances(images))
    }

    fn journal(&self, journals: &[State], changed_at: Instant) -> Result<(), InstanceStoreError> {
        self.write_states(&self.counters.journals, journals, || self.store.journal_instances(journals))?;
        self.counters.lag.record((self.clock)() - changed_at);
        Ok(())
    }

    fn note_damage(&self) {
        self.counters.damaged.increment(1);
    }

    fn rests_until(&self) -> Option<Instant> {
        self.pause().until()
    }
}

opaque_debug!(InstanceStore);
