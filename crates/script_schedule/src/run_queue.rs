//! A queue of scripts that are ready: deficit round robin over owners, then over an owner's scripts.
//!
//! Owners with ready scripts form a ring, and each has a *lane* of these. An owner's turn grants it a quantum of fuel, and lasts until its slices have used that up; the excess of the last
//! slice is a debt, which the next turns pay first. So at any time two owners that have had work since then differ by less than a slice and a
//! quantum, however many scripts they have. Within a lane, scripts have turns by the same rule, with a slice as quantum.
//!
//! Debts outlast an owner's absence, since otherwise an owner of one script would be ahead of all others by a slice each time that it comes back. They end when the
//! ring is empty: then there was enough for all.

use crate::budget::Quanta;
use crate::instances::Instances;
use crate::links::{Links, List};

/// Turns that a debt lasts at most. One of the present budget is smaller; one of a former, larger budget is forgiven in part.
const DEBT_TURNS_MAX: i64 = 8_192;

/// Ready scripts of all owners.
#[derive(Clone, Debug)]
pub(crate) struct RunQueue {
    /// Owners with ready scripts; it is the turn of the first.
    ring: List,
    ring_links: Links,
    lanes: Vec<Lane>,
    /// True if the first owner has had the quantum of its turn.
    is_in_turn: bool,
    /// The owner whose script runs.
    running: Option<u32>,
    /// Scripts in all lanes.
    len: usize,
    /// Number of times that the ring became empty. Debts are those of the present number.
    calm: u64,
}

/// Ready scripts of an owner.
#[derive(Clone, Copy, Debug)]
struct Lane {
    scripts: List,
    /// Fuel left of its turn; below 0 a debt.
    deficit: i64,
    calm: u64,
    is_in_ring: bool,
    /// The first script that time has made ready in a tick, and this tick.
    mark: Option<u32>,
    mark_tick: Option<u64>,
}

/// Turn of an owner with its ready scripts, in order.
pub(crate) struct TurnOf<I> {
    pub(crate) owner: u32,
    pub(crate) deficit: i64,
    pub(crate) scripts: I,
}

impl Lane {
    const EMPTY: Self =
        Self { scripts: List::EMPTY, deficit: 0, calm: 0, is_in_ring: false, mark: None, mark_tick: None };

    fn remove(&mut self, links: &mut Links, number: u32) {
        if self.mark == Some(number) {
            self.mark = links.behind(number);
        }
        self.scripts.remove(links, number);
    }
}

impl RunQueue {
    pub(crate) const fn new() -> Self {
        Self {
            ring: List::EMPTY,
            ring_links: Links::NONE,
            lanes: Vec::new(),
            is_in_turn: false,
            running: None,
            len: 0,
            calm: 0,
        }
    }

    /// Makes room for the owners below `n`.
    pub(crate) fn grow(&mut self, n: usize) {
        if self.lanes.len() < n {
            self.lanes.resize(n, Lane::EMPTY);
            self.ring_links.grow(n);
        }
    }

    /// Scripts that wait for their turns.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True while a script of an owner runs, which was taken from here.
    pub(crate) fn is_running(&self, owner: u32) -> bool {
        self.running == Some(owner)
    }

    /// True for an owner with ready scripts, or with a running one.
    pub(crate) fn is_in_ring(&self, owner: u32) -> bool {
        self.lanes[owner as usize].is_in_ring
    }

    /// Adds a script behind all others of its owner.
    pub(crate) fn push_back(&mut self, links: &mut Links, owner: u32, number: u32) {
        self.lane(owner).scripts.push_back(links, number);
        self.count(owner);
    }

    /// Adds a script in the middle of its turn.
    pub(crate) fn push_front(&mut self, links: &mut Links, owner: u32, number: u32) {
        self.lane(owner).scripts.push_front(links, number);
        self.count(owner);
    }

    /// Adds a script that time has made ready, behind all others.
    pub(crate) fn push_timed(&mut self, links: &mut Links, owner: u32, number: u32, tick: u64) {
        let lane = self.lane(owner);
        if lane.mark_tick != Some(tick) {
            (lane.mark, lane.mark_tick) = (Some(number), Some(tick));
        }
        self.push_back(links, owner, number);
    }

    /// Adds a script that another one has made ready, in front of those that time has made ready in this tick.
    pub(crate) fn push_caused(&mut self, links: &mut Links, owner: u32, number: u32, tick: u64) {
        let lane = self.lane(owner);
        match lane.mark.filter(|_| lane.mark_tick == Some(tick)) {
            Some(mark) => lane.scripts.insert_before(links, number, mark),
            None => lane.scripts.push_back(links, number),
        }
        self.count(owner);
    }

    /// Removes a script that is in the lane of its owner.
    pub(crate) fn remove(&mut self, links: &mut Links, owner: u32, number: u32) {
        self.len -= 1;
        let lane = self.lane(owner);
        lane.remove(links, number);
        if lane.scripts.is_empty() && self.running != Some(owner) {
            self.leave(owner);
        }
    }

    /// Takes the next script out, which then runs until [`Self::settle`]. Returns its owner and its number.
    pub(crate) fn take(
        &mut self,
        links: &mut Links,
        instances: &mut Instances,
        quanta: Quanta,
    ) -> Option<(u32, u32)> {
        let owner = loop {
            let owner = self.ring.first()?;
            if !self.is_in_turn {
                self.is_in_turn = true;
                let deficit = &mut self.lane(owner).deficit;
                *deficit = granted(*deficit, quanta.owner);
            }
            if self.lane(owner).deficit > 0 {
                break owner;
            }
            self.end_turn();
        };
        let lane = self.lane(owner);
        let number = loop {
            let number = lane.scripts.first()?;
            let deficit = &mut instances.slot_mut(number).deficit;
            if *deficit <= 0 {
                *deficit = granted(*deficit, quanta.script);
            }
            lane.remove(links, number);
            if *deficit > 0 {
                break number;
            }
            lane.scripts.push_back(links, number);
        };
        self.len -= 1;
        self.running = Some(owner);
        Some((owner, number))
    }

    /// Ends the slice of an owner's script, which has used this fuel.
    pub(crate) fn settle(&mut self, owner: u32, fuel: i64) {
        self.running = None;
        let lane = self.lane(owner);
        lane.deficit -= fuel;
        if lane.scripts.is_empty() {
            self.leave(owner);
        } else if lane.deficit <= 0 {
            self.end_turn();
        }
    }

    /// Forgets an owner that has no script.
    pub(crate) fn forget(&mut self, owner: u32) {
        *self.lane(owner) = Lane::EMPTY;
    }

    /// The debt of an owner that has no ready script.
    pub(crate) fn debt(&self, owner: u32) -> i64 {
        let lane = &self.lanes[owner as usize];
        if lane.is_in_ring || lane.calm != self.calm { 0 } else { lane.deficit }
    }

    /// The turns to come, and whether the first has begun.
    pub(crate) fn turns(
        &self,
        links: &Links,
    ) -> (bool, impl Iterator<Item = TurnOf<impl Iterator<Item = u32>>>) {
        let turns = self.ring.iter(&self.ring_links).map(move |owner| {
            let lane = &self.lanes[owner as usize];
            TurnOf { owner, deficit: lane.deficit, scripts: lane.scripts.iter(links) }
        });
        (self.is_in_turn, turns)
    }

    /// Continues with stored deficits of owners: debts of those outside of the ring, and the rest of the turns of the others.
    pub(crate) fn restore_deficit(&mut self, owner: u32, deficit: i64) {
        let calm = self.calm;
        let lane = self.lane(owner);
        (lane.deficit, lane.calm) = (deficit, calm);
    }

    /// Continues in the middle of the first owner's turn, or in front of it.
    pub(crate) const fn restore_turn(&mut self, is_in_turn: bool) {
        self.is_in_turn = is_in_turn;
    }

    fn lane(&mut self, owner: u32) -> &mut Lane {
        &mut self.lanes[owner as usize]
    }

    /// Counts a script that was added, and has its owner be in the ring.
    fn count(&mut self, owner: u32) {
        self.len += 1;
        let lane = &mut self.lanes[owner as usize];
        if lane.is_in_ring {
            return;
        }
        lane.is_in_ring = true;
        if lane.calm != self.calm {
            (lane.calm, lane.deficit) = (self.calm, 0);
        }
        self.ring.push_back(&mut self.ring_links, owner);
    }

    /// Ends the time of an owner in the ring. It keeps no fuel.
    fn leave(&mut self, owner: u32) {
        if self.ring.first() == Some(owner) {
            self.is_in_turn = false;
        }
        self.ring.remove(&mut self.ring_links, owner);
        let lane = self.lane(owner);
        lane.is_in_ring = false;
        lane.deficit = lane.deficit.min(0);
        if self.ring.is_empty() {
            self.calm += 1;
        }
    }

    /// Gives the turn to the next owner.
    fn end_turn(&mut self) {
        self.is_in_turn = false;
        if let Some(owner) = self.ring.pop_front(&mut self.ring_links) {
            self.ring.push_back(&mut self.ring_links, owner);
        }
    }
}

/// A deficit after the quantum of a turn.
fn granted(deficit: i64, quantum: i64) -> i64 {
    deficit.max(-DEBT_TURNS_MAX * quantum) + quantum
}

#[cfg(test)]
mod tests;
