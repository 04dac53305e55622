//! Parking: an instance in which nobody is leaves the pool for the store, until somebody is about to go in ([`super::wake`]).
//!
//! What takes long (waiting for the disk, compressing, making worlds) happens between two turns of the table's lock, with the instance
//! marked as busy ([`Turn`]): who wants it meanwhile waits, and others do not. Each function here is one piece of work that any thread
//! may do; none is one that a frame waits for.

use super::entry::{Entry, Reverted, State, Work};
use super::turns::Turn;
use super::{Instances, Refusal, Table};
use crate::serve::inboxes::Inbox;
use crate::serve::restarts::Down;
use crate::serve::worlds::Stepper;
use ids::{Instant, Uuid, WorldId};
use std::sync::Arc;
use std::time::Duration;
use telemetry::recorder::{Arg, Scope};
use world::saved;

/// Some instances, from the pool into the store, by their number.
static PARK: Scope = Scope::new("instances.park").arg(Arg::Count).limit_us(1_000_000);

/// Instances that are parked in one transaction: its time, and what it takes to compress them before, is what the journal waits for.
pub(super) const PARKED_AT_ONCE: usize = 8;
/// Who could not be taken out is left alone for so long: its world is down, or what it lost is not written down yet. Others are not to
/// choose it again and again for having been empty the longest.
const OUT_OF_REACH: Duration = Duration::from_secs(3);

/// An instance on its way out of the pool. Dropped before it has left, by an error or a panic, it goes on where it was.
struct Leaving<'a> {
    turn: Turn<'a>,
    inbox: Inbox,
    /// Until it has left.
    stepper: Option<Box<Stepper>>,
    image: Option<store::State>,
}

impl Leaving<'_> {
    /// What is to be written down of it, if anything has changed.
    fn take_image(&mut self) {
        let (Some(State::Active(active)), Some(stepper)) = (&self.turn.former, &self.stepper) else { return };
        // What it has gone back to is to be what it is woken with.
        let has_gone_back = active.ledger.reverted_from().is_some();
        let is_changed = active.is_changed() || active.ledger.has_news() || has_gone_back;
        self.image = (is_changed && !active.ledger.is_closed()).then(|| store::State {
            id: self.turn.id,
            sequence: active.ledger.next_sequence(),
            bytes: saved::encode_image(&stepper.world().snapshot()),
        });
    }

    /// What the world has gone back to, if it has.
    fn reverted(&self) -> Option<Reverted> {
        let (Some(State::Active(active)), Some(stepper)) = (&self.turn.former, &self.stepper) else {
            return None;
        };
        // One that begins empty after that is woken with what was saved, and has gone back from nothing.
        if active.ledger.is_closed() {
            return None;
        }
        Some(Reverted { from: active.ledger.reverted_from()?, to: Arc::clone(stepper.cast()?) })
    }

    /// It is written down.
    fn leave(mut self) {
        let Turn { instances, world, id, .. } = self.turn;
        self.turn.weigh();
        if let Some(reverted) = self.reverted() {
            instances.table().note_reverted(world, reverted);
        }
        instances.inboxes.remove(world);
        instances.workplace.forget(world);
        if let Some(stepper) = self.stepper.take() {
            instances.workplace.dispose(stepper);
        }
        tracing::debug!(%id, world = world.0, "an instance is parked");
        self.turn.leave_it(Some(State::Parked));
    }

    /// It could not be written down, and that is of no use before then.
    fn stay(mut self, rests_until: Instant) {
        if let Some(State::Active(active)) = &mut self.turn.former {
            active.rests_until = rests_until;
        }
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // The turn ends behind this: whoever comes next finds the world in its place.
        if let Some(stepper) = self.stepper.take() {
            let next_tick = stepper.next_tick();
            self.turn.instances.workplace.take_back(&self.inbox, stepper, next_tick);
        }
    }
}

impl Instances {
    /// Begins to park who has been empty the longest: chosen and marked in one turn of the lock, so that those who look for somebody at
    /// once find different ones, and none of them waits while another one's world is taken out and saved.
    pub(super) fn longest_empty(&self) -> Result<Turn<'_>, Nobody> {
        let now = (self.clock)();
        let census = self.census();
        let mut table = self.table();
        let mut longest: Option<(Instant, WorldId)> = None;
        table.for_each_active(|world, _, active| {
            let since = active.empty_since.unwrap_or(now);
            let is_idle = active.rests_until <= now && !census.is_occupied(world, active);
            if is_idle && longest.is_none_or(|(longest, _)| since < longest) {
                longest = Some((since, world));
            }
        });
        let turn = longest.and_then(|(_, world)| self.begin_turn(&mut table, world, Work::Parking));
        turn.ok_or_else(|| Nobody { others_leave: table.is_parking() })
    }

    /// Parks an instance now. Nothing happens to one that is parked.
    pub(super) fn park(&self, id: Uuid) -> Result<(), Refusal> {
        let turn = self.turn(id, Work::Parking)?;
        let world = turn.world;
        drop(turn);
        let is_parked = |table: &Table| table.get(id).map(|entry| matches!(entry.state(), State::Parked));
        if is_parked(&self.table())? || self.park_some(&[world], Patience::None)? > 0 {
            return Ok(());
        }
        match is_parked(&self.table())? {
            true => Ok(()),
            false => Err(Refusal::InUse),
        }
    }

    /// Parks those of these instances in which nobody is, in one transaction; how many. When it fails they go on as they were.
    pub(super) fn park_some(&self, worlds: &[WorldId], patience: Patience) -> Result<usize, Refusal> {
        self.park_these(self.begin_to_park(worlds, patience))
    }

    /// Likewise, of those that somebody has begun to park.
    pub(super) fn park_these(&self, turns: Vec<Turn<'_>>) -> Result<usize, Refusal> {
        let mut leaving: Vec<Leaving<'_>> =
            turns.into_iter().filter_map(|turn| self.take_one_out(turn)).collect();
        if leaving.is_empty() {
            return Ok(0);
        }
        let scope = PARK.enter(leaving.len() as u64);
        let images: Vec<store::State> = leaving.iter_mut().filter_map(|one| one.image.take()).collect();
        let saved = if images.is_empty() { Ok(()) } else { self.depot.save(&images) };
        let n = leaving.len();
        match saved {
            Ok(()) => {
                leaving.into_iter().for_each(Leaving::leave);
                self.depot.note_parked(n);
                drop(scope);
                Ok(n)
            }
            Err(why) => {
                let rests_until = self.depot.rests_until().unwrap_or(Instant::ZERO);
                leaving.into_iter().for_each(|one| one.stay(rests_until));
                Err(why.into())
            }
        }
    }

    /// Those of these instances in which nobody is, and at which nobody else is at work.
    fn begin_to_park(&self, worlds: &[WorldId], patience: Patience) -> Vec<Turn<'_>> {
        let census = (patience == Patience::None).then(|| self.census());
        let mut table = self.table();
        let mut begin = |&world: &WorldId| {
            let active = table.entry_mut(world).and_then(Entry::active_mut)?;
            if census.as_ref().is_some_and(|census| census.is_occupied(world, active)) {
                return None;
            }
            self.begin_turn(&mut table, world, Work::Parking)
        };
        worlds.iter().filter_map(&mut begin).collect()
    }

    /// Takes an instance out of the pool, and a copy of its state. One that cannot be taken out rests.
    fn take_one_out<'a>(&'a self, mut turn: Turn<'a>) -> Option<Leaving<'a>> {
        let Some(State::Active(active)) = &mut turn.former else { return None };
        // What was in it before it began empty is in the ledger alone, until that is written down.
        let is_to_wait = active.ledger.is_closed() && active.ledger.has_news();
        let inbox = self.inboxes.of(turn.world).filter(|_| !is_to_wait);
        // None of a world that is down, which has to begin again first.
        let out = inbox.and_then(|inbox| Some((self.workplace.take_out(&inbox)?, inbox)));
        let Some((stepper, inbox)) = out else {
            active.rests_until = active.rests_until.max((self.clock)() + OUT_OF_REACH);
            return None;
        };
        let mut leaving = Leaving { turn, inbox, stepper: Some(stepper), image: None };
        leaving.take_image();
        Some(leaving)
    }

    /// Saves and parks all that there are, since the server stops. Those that cannot be saved keep none of the others from it.
    pub(super) fn park_all(&self) -> Result<(), Refusal> {
        let mut worlds = Vec::new();
        self.table().for_each_active(|world, _, _| worlds.push(world));
        let park = |some: &[WorldId]| self.park_some(some, Patience::Over).map(|_| ());
        worlds.chunks(PARKED_AT_ONCE).map(park).fold(Ok(()), Result::and)
    }

    /// What is to be saved of those that are down, since the server stops: what they would begin again with. Once for each, since what a world
    /// goes back to is used up by that, and the next time it would begin empty.
    pub(super) fn begin_again_at_last(&self, down: Vec<Down>, last: &mut LastStates) {
        let mut table = self.table();
        for Down { mut stepper, in_a_row, .. } in down {
            let world = stepper.scene().world;
            let Some(id) = table.of_world(world).map(|entry| entry.id) else { continue };
            let Some(active) = table.entry_mut(world).and_then(Entry::active_mut) else { continue };
            stepper.begin_again(in_a_row, |_| Vec::new());
            if !active.ledger.is_closed() {
                let sequence = active.ledger.next_sequence();
                let bytes = saved::encode_image(&stepper.world().snapshot());
                last.worlds.push(world);
                last.states.push(store::State { id, sequence, bytes });
            }
        }
    }

    /// Saves those that were down. What cannot be saved stays in the list.
    pub(super) fn save_last(&self, last: &mut LastStates) -> Result<(), Refusal> {
        if !last.states.is_empty() {
            self.depot.save(&last.states)?;
        }
        let LastStates { worlds, .. } = std::mem::take(last);
        let mut table = self.table();
        for world in worlds {
            if let Some(active) = table.entry_mut(world).and_then(Entry::active_mut) {
                active.visits_saved = active.visits;
            }
        }
        Ok(())
    }
}

/// Whole states of worlds that were down when the server stopped, and whose they are.
#[derive(Debug, Default)]
pub(super) struct LastStates {
    worlds: Vec<WorldId>,
    states: Vec<store::State>,
}

/// There is no instance that could be parked for another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nobody {
    /// Somebody else parks one just now.
    pub(super) others_leave: bool,
}

/// Whether an instance is parked in which somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It is not.
    None,
    /// It is.
    Over,
}

#[cfg(test)]
mod tests;
