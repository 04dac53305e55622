//! Occupancy of instances: admissions of visitors, and the census of the hub's sessions. It does not choose the instances to be parked.
//!
//! Table and hub are never locked at once. An admission has three steps: the table notes its begin ([`Instances::admit`]), the hub begins the
//! visitor's passage, the table notes its end ([`Admitting`], when dropped). In between no other work on the instance begins. A [`Census`]
//! counts the sessions of every world. It misses the sessions whose admission ended after it was begun, so an instance with a later
//! admission is occupied whatever the census says. Nothing but an admission brings a session into an instance, so an outdated census
//! otherwise errs on the safe side: it contains sessions that have left meanwhile.

use super::entry::{Active, Entry};
use super::{Instances, Refusal, Table, TableRefusal};
use gateway::places::Scene;
use ids::{Uuid, WorldId};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard, PoisonError};
use telemetry::LockHold;

/// The table in the hands of this thread, which takes neither the hub nor the store meanwhile.
pub(super) struct TableGuard<'a> {
    table: MutexGuard<'a, Table>,
    hold: LockHold,
}

impl Deref for TableGuard<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

impl DerefMut for TableGuard<'_> {
    fn deref_mut(&mut self) -> &mut Table {
        &mut self.table
    }
}

/// Sessions of each world, as the hub counted them after the given number of admissions had ended.
#[derive(Clone, Debug)]
pub(super) struct Census {
    visitors: BTreeMap<WorldId, usize>,
    admissions_ended: u64,
}

impl Census {
    /// Whether an instance has visitors, or may have some that the census misses.
    pub(super) fn is_occupied(&self, world: WorldId, active: &Active) -> bool {
        active.admissions > 0
            || active.last_admission > self.admissions_ended
            || self.visitors.contains_key(&world)
    }
}

/// An admission under way: the instance stays in memory until this is dropped.
#[must_use]
pub(super) struct Admitting<'a> {
    instances: &'a Instances,
    world: WorldId,
    pub(super) scene: Arc<Scene>,
    /// Set when the hub has begun the passage.
    pub(super) is_admitted: bool,
}

impl Drop for Admitting<'_> {
    fn drop(&mut self) {
        let mut table = self.instances.table();
        let number = table.end_admission();
        let active = table.entry_mut(self.world).and_then(Entry::active_mut);
        let active = active.expect("an instance stays in memory while a visitor is admitted");
        active.admissions = active.admissions.checked_sub(1).expect("an admission ends once");
        active.last_admission = number;
        if self.is_admitted {
            active.is_entered();
        }
        drop(table);
        self.instances.turns.notify_all();
    }
}

impl Instances {
    /// Locks the table.
    pub(super) fn table(&self) -> TableGuard<'_> {
        let hold = LockHold::begin("the table of instances");
        TableGuard { table: self.table.lock().unwrap_or_else(PoisonError::into_inner), hold }
    }

    /// Releases the table until work on an instance has ended.
    pub(super) fn wait_for_turn<'a>(&'a self, guard: TableGuard<'a>) -> TableGuard<'a> {
        let TableGuard { table, hold } = guard;
        TableGuard { table: self.turns.wait(table).unwrap_or_else(PoisonError::into_inner), hold }
    }

    /// Counts the sessions of each world.
    pub(super) fn census(&self) -> Census {
        let admissions_ended = self.table().admissions_ended();
        Census { visitors: self.sessions.with(|hub| hub.visitors()), admissions_ended }
    }

    /// Begins the admission of a visitor into an instance, which is woken if necessary.
    pub(super) fn admit(&self, id: Uuid) -> Result<Admitting<'_>, Refusal> {
        let mut table = self.awake(id)?;
        let world = table.get(id)?.world;
        let active =
            table.entry_mut(world).and_then(Entry::active_mut).ok_or(TableRefusal::NoInstance(id))?;
        active.admissions += 1;
        Ok(Admitting { instances: self, world, scene: Arc::clone(&active.scene), is_admitted: false })
    }
}
