//! Who works on an instance: one at a time, and not with the table locked.

use super::entry::{State, Work};
use super::occupancy::TableGuard;
use super::table::Wanted;
use super::{Instances, Refusal, Table, TableRefusal};
use ids::{Instant, Uuid, WorldId};
use std::sync::Arc;

/// Whoever holds it works on an instance. Dropped without an end, by an error or a panic, it leaves the instance as it was; one that was not
/// there before, not at all.
pub(super) struct Turn<'a> {
    pub(super) instances: &'a Instances,
    pub(super) world: WorldId,
    pub(super) id: Uuid,
    /// What the instance did before; none of one that is being made.
    pub(super) former: Option<State>,
    /// Time at which `former` began, as long as that is what the instance comes back to.
    pub(super) former_since: Option<Instant>,
}

impl Turn<'_> {
    /// Finds out what an instance in the pool has come to take, which is what to expect of the next one if somebody has been in this one. Before
    /// it leaves the pool.
    pub(super) fn weigh(&mut self) {
        let Self { instances, world, former: Some(State::Active(active)), .. } = self else { return };
        let grown = instances.workplace.counted(*world).map_or(0, |counted| counted.grown_bytes);
        let Some(bytes) = u64::try_from(active.kept_bytes + grown).ok().filter(|&bytes| bytes > 0) else {
            return;
        };
        active.bytes = bytes;
        let template = instances.table().of_world(*world).map(|entry| Arc::clone(&entry.template));
        if active.visits > 0
            && let Some(template) = template
        {
            instances.admission.learn(&template, bytes);
        }
    }

    /// From here on it does this. What it did before is let go here, and not while the table is locked.
    pub(super) fn end(mut self, state: State) {
        self.leave_it(Some(state));
    }

    /// From here on there is none.
    pub(super) fn forget(mut self) {
        self.leave_it(None);
    }

    /// As what it is left, whatever becomes of the rest of the work.
    pub(super) fn leave_it(&mut self, state: Option<State>) {
        self.former_since = None;
        if let Some(State::Active(active)) = std::mem::replace(&mut self.former, state) {
            self.instances.admission.has_left(active.bytes);
            self.instances.ended().push(active.scene);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let since = self.former_since.unwrap_or_else(|| (self.instances.clock)());
        let mut table = self.instances.table();
        table.set_since(self.world, since);
        let ledger = match self.former.take() {
            Some(state) => table.put(self.world, state),
            None => table.remove(self.world),
        };
        drop(table);
        drop(ledger);
        self.instances.turns.notify_all();
    }
}

impl Instances {
    /// Waits until nobody else works on an instance, and begins to.
    pub(super) fn turn(&self, id: Uuid, work: Work) -> Result<Turn<'_>, Refusal> {
        let mut table = self.table();
        loop {
            let world = table.get(id)?.world;
            if let Some(turn) = self.begin_turn(&mut table, world, work) {
                return Ok(turn);
            }
            table = self.wait_for_turn(table);
        }
    }

    /// The table, when nobody works on an instance: what is being made may come to nothing, and what is ending may stay.
    pub(super) fn settled(&self, id: Uuid) -> Result<TableGuard<'_>, TableRefusal> {
        let mut table = self.table();
        while matches!(table.get(id)?.state(), State::Busy(_)) {
            table = self.wait_for_turn(table);
        }
        Ok(table)
    }

    /// Enters a new instance into the table, and begins to make it.
    pub(super) fn make(&self, wanted: Wanted) -> Result<(store::Instance, Turn<'_>), TableRefusal> {
        let now = (self.clock)();
        let mut table = self.table();
        let entry = table.add(wanted)?;
        let (row, world, id) = (entry.row(), entry.world, entry.id);
        table.set_since(world, now);
        Ok((row, Turn { instances: self, world, id, former: None, former_since: None }))
    }

    pub(super) fn begin_turn(&self, table: &mut Table, world: WorldId, work: Work) -> Option<Turn<'_>> {
        let now = (self.clock)();
        let former = Some(table.take(world, work)?);
        let entry = table.entry_mut(world)?;
        let (id, former_since) = (entry.id, Some(std::mem::replace(&mut entry.since, now)));
        Some(Turn { instances: self, world, id, former, former_since })
    }
}
