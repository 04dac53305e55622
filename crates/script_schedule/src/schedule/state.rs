//! A schedule as it is stored: what does not follow from it (the wheel, free numbers, counts) is made again.

use super::ScriptSchedule;
use crate::budget::{Purse, QueueKind};
use crate::instances::{INSTANCES_MAX, Instances, ScriptPhase, ScriptSlot};
use crate::owners::Owners;
use crate::run_queue::RunQueue;
use crate::usage::FuelUsage;
use ids::{AgentId, LocalId};
use serde::{Deserialize, Serialize};

/// Fuel of a turn or a debt, beyond which no run leads.
const DEFICIT_MAX: u64 = 1 << 43;

/// The state of a schedule between two ticks. Equal schedules have equal states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleState {
    tick: u64,
    began: u64,
    debts: (i64, i64),
    digest: u64,
    /// In the order of their ids.
    owners: Vec<StoredOwner>,
    /// In the order of their numbers.
    scripts: Vec<StoredScript>,
    fresh: StoredQueue,
    spent: StoredQueue,
}

/// Reason for which a state makes no schedule: no run leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule of scripts: {0}")]
pub struct ScheduleError(&'static str);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredOwner {
    id: AgentId,
    usage: FuelUsage,
    /// Debts in the two queues, if it has no ready script there.
    debts: (i64, i64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredScript {
    number: u32,
    linkset: LocalId,
    order: u32,
    /// Place of its owner in the list.
    owner: u32,
    phase: StoredPhase,
    deficit: i64,
    usage: FuelUsage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum StoredPhase {
    Waits,
    /// In the wheel, with its due tick.
    Timed(u64),
    Stopped,
    /// In one of the queues, since a tick.
    Queued(u64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredQueue {
    is_in_turn: bool,
    /// Turns to come.
    turns: Vec<StoredTurn>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredTurn {
    owner: u32,
    deficit: i64,
    scripts: Vec<u32>,
}

impl ScriptSchedule {
    /// The state.
    ///
    /// # Panics
    ///
    /// In the middle of a tick.
    #[must_use]
    pub fn stored(&self) -> ScheduleState {
        assert!(
            !self.is_in_slice && self.due.is_empty(),
            "a schedule of scripts is stored between two ticks"
        );
        let mut places = vec![0; self.owners.bound()];
        let mut owners = Vec::new();
        for (n, (place, owner)) in (0..).zip(self.owners.iter()) {
            places[place as usize] = n;
            let debts = (self.fresh.debt(place), self.spent.debt(place));
            owners.push(StoredOwner { id: owner.id, usage: owner.usage, debts });
        }
        let scripts = self.instances.iter().map(|(number, slot)| StoredScript {
            number,
            linkset: slot.linkset,
            order: slot.order,
            owner: places[slot.owner as usize],
            phase: self.stored_phase(number, slot),
            deficit: slot.deficit,
            usage: slot.usage,
        });
        ScheduleState {
            tick: self.tick,
            began: self.began,
            debts: self.purse.debts(),
            digest: self.digest,
            scripts: scripts.collect(),
            owners,
            fresh: self.stored_queue(&self.fresh, &places),
            spent: self.stored_queue(&self.spent, &places),
        }
    }

    fn stored_phase(&self, number: u32, slot: &ScriptSlot) -> StoredPhase {
        match slot.phase {
            ScriptPhase::Timed => StoredPhase::Timed(self.wheel.due(number)),
            ScriptPhase::Fresh | ScriptPhase::Spent => StoredPhase::Queued(slot.since),
            ScriptPhase::Stopped => StoredPhase::Stopped,
            // The others are those of slots without a script, and of a tick.
            ScriptPhase::Waits
            | ScriptPhase::Free
            | ScriptPhase::Due
            | ScriptPhase::Runs
            | ScriptPhase::Woken => StoredPhase::Waits,
        }
    }

    fn stored_queue(&self, queue: &RunQueue, places: &[u32]) -> StoredQueue {
        let (is_in_turn, turns) = queue.turns(&self.links);
        let turns = turns.map(|turn| StoredTurn {
            owner: places[turn.owner as usize],
            deficit: turn.deficit,
            scripts: turn.scripts.collect(),
        });
        StoredQueue { is_in_turn, turns: turns.collect() }
    }

    /// The schedule of a state.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`].
    pub fn restored(state: ScheduleState) -> Result<Self, ScheduleError> {
        let ScheduleState { tick, began, debts, digest, owners, scripts, fresh, spent } = state;
        fit(began <= tick, "it begins after its tick")?;
        fit(Purse::can_be(debts), "debts of the tick")?;
        let mut schedule = Self::new(tick);
        schedule.began = began;
        schedule.purse = Purse::new(tick, debts);
        schedule.digest = digest;
        schedule.owners = restored_owners(&owners, &scripts)?;
        schedule.instances = restored_instances(&scripts, tick)?;
        schedule.make_room();
        for script in &scripts {
            if let StoredPhase::Timed(due) = script.phase {
                fit(due > tick, "a due tick that has passed")?;
                schedule.wheel.set(&mut schedule.links, script.number, due);
            }
        }
        schedule.restore_queue(QueueKind::Fresh, &fresh)?;
        schedule.restore_queue(QueueKind::Spent, &spent)?;
        let is_left_over = |(_, slot): (u32, &ScriptSlot)| slot.phase == ScriptPhase::Woken;
        fit(!schedule.instances.iter().any(is_left_over), "a ready script that is in no queue")?;
        schedule.n_unrun = schedule.fresh.len() + schedule.spent.len();
        for (place, owner) in (0..).zip(&owners) {
            restore_debt(&mut schedule.fresh, place, owner.debts.0)?;
            restore_debt(&mut schedule.spent, place, owner.debts.1)?;
        }
        Ok(schedule)
    }

    /// Queues scripts, which have the phase [`ScriptPhase::Woken`] until then.
    fn restore_queue(&mut self, which: QueueKind, stored: &StoredQueue) -> Result<(), ScheduleError> {
        let Self { instances, links, owners, fresh, spent, .. } = self;
        let (queue, phase) = match which {
            QueueKind::Fresh => (fresh, ScriptPhase::Fresh),
            QueueKind::Spent => (spent, ScriptPhase::Spent),
        };
        fit(!stored.is_in_turn || !stored.turns.is_empty(), "a turn without an owner")?;
        for StoredTurn { owner, deficit, scripts } in &stored.turns {
            let is_new = (*owner as usize) < owners.bound() && !queue.is_in_ring(*owner);
            fit(is_new && !scripts.is_empty(), "a turn")?;
            fit(deficit.unsigned_abs() <= DEFICIT_MAX, "fuel of a turn")?;
            for &number in scripts {
                let slot = instances.find(number);
                let is_ready =
                    slot.is_some_and(|slot| slot.phase == ScriptPhase::Woken && slot.owner == *owner);
                fit(is_ready, "a script of a turn")?;
                instances.set_phase(number, phase);
                queue.push_back(links, *owner, number);
            }
            queue.restore_deficit(*owner, *deficit);
        }
        queue.restore_turn(stored.is_in_turn);
        Ok(())
    }
}

fn fit(fits: bool, why: &'static str) -> Result<(), ScheduleError> {
    fits.then_some(()).ok_or(ScheduleError(why))
}

/// Owners, each at its place in the list, with the scripts that name it.
fn restored_owners(stored: &[StoredOwner], scripts: &[StoredScript]) -> Result<Owners, ScheduleError> {
    fit(stored.is_sorted_by(|one, next| one.id < next.id), "the order of owners")?;
    let mut owners = Owners::default();
    for owner in stored {
        let place = owners.enter(owner.id);
        owners.owner_mut(place).usage = owner.usage;
    }
    for script in scripts {
        fit((script.owner as usize) < stored.len(), "a script without an owner")?;
        owners.owner_mut(script.owner).n_scripts += 1;
    }
    for place in 0..stored.len() as u32 {
        owners.leave(place);
        fit(owners.owner(place).n_scripts > 0, "an owner without a script")?;
    }
    Ok(owners)
}

fn restored_instances(scripts: &[StoredScript], tick: u64) -> Result<Instances, ScheduleError> {
    fit(scripts.is_sorted_by(|one, next| one.number < next.number), "the order of scripts")?;
    let is_bounded = scripts.last().is_none_or(|last| (last.number as usize) < INSTANCES_MAX);
    fit(is_bounded, "more scripts than there may be")?;
    for script in scripts {
        let is_queued = matches!(script.phase, StoredPhase::Queued(since) if since <= tick);
        let waits = !matches!(script.phase, StoredPhase::Queued(_)) && script.deficit == 0;
        fit(is_queued || waits, "a ready script")?;
        fit(script.deficit.unsigned_abs() <= DEFICIT_MAX, "fuel of a script's turn")?;
    }
    Ok(Instances::restored(scripts.iter().map(|script| {
        let slot = ScriptSlot::new(script.linkset, script.order, script.owner);
        let (phase, since) = match script.phase {
            StoredPhase::Waits => (ScriptPhase::Waits, 0),
            StoredPhase::Timed(_) => (ScriptPhase::Timed, 0),
            StoredPhase::Stopped => (ScriptPhase::Stopped, 0),
            StoredPhase::Queued(since) => (ScriptPhase::Woken, since),
        };
        (script.number, ScriptSlot { phase, since, deficit: script.deficit, usage: script.usage, ..slot })
    })))
}

fn restore_debt(queue: &mut RunQueue, owner: u32, debt: i64) -> Result<(), ScheduleError> {
    if debt == 0 {
        return Ok(());
    }
    let is_owed = !queue.is_empty() && !queue.is_in_ring(owner);
    fit(is_owed && debt < 0 && debt.unsigned_abs() <= DEFICIT_MAX, "a debt")?;
    queue.restore_deficit(owner, debt);
    Ok(())
}

#[cfg(test)]
mod tests;
