//! The scripts of a world: their homes, phases and times, between the slices and during them.

mod queries;
mod run;
mod state;

pub use state::{ScheduleError, ScheduleState};

use crate::budget::{Purse, QueueKind};
use crate::figures::ScriptFigures;
use crate::instances::{Home, INSTANCES_MAX, InstanceNumber, Instances, ScriptPhase, ScriptSlot};
use crate::links::Links;
use crate::owners::Owners;
use crate::run_queue::RunQueue;
use crate::wheel::Wheel;

/// The schedule of a world's scripts.
///
/// In each tick its caller begins it ([`Self::begin_tick`]), wakes the scripts that commands have made ready ([`Self::wake`]), and runs slices ([`Self::run`]).
///
/// ```
/// use ids::{AgentId, LocalId, Uuid};
/// use script_schedule::{FuelBudget, Home, Next, ScriptSchedule, SliceResult};
///
/// let mut schedule = ScriptSchedule::new(0);
/// let home = Home { linkset: LocalId(7), order: 0, owner: AgentId(Uuid::from_u128(1)) };
/// let number = schedule.add(home, Next::At(20)).expect("there are fewer than there may be");
/// assert_eq!(schedule.quiet_until(), Some(20));
/// schedule.begin_tick(20);
/// let figures = schedule.run(FuelBudget::default(), |_, turn| {
///     assert_eq!((turn.instance, turn.tick), (number, 20));
///     SliceResult { fuel: 5_000, n_events: 1, next: Next::Waits }
/// });
/// assert_eq!((figures.n_ran, schedule.quiet_until()), (1, None));
/// ```
#[derive(Clone, Debug)]
pub struct ScriptSchedule {
    tick: u64,
    /// The tick of its beginning.
    began: u64,
    instances: Instances,
    /// Lists that scripts are in: those of the wheel, and those of the queues.
    links: Links,
    owners: Owners,
    wheel: Wheel,
    fresh: RunQueue,
    spent: RunQueue,
    purse: Purse,
    /// Scripts that were due at this tick, until it runs.
    due: Vec<u32>,
    /// True while the caller runs a slice.
    is_in_slice: bool,
    /// The script that runs, if it is still there.
    running: Option<u32>,
    /// Scripts that the slice under way has made ready.
    woken: Vec<u32>,
    /// Scripts in the queues that have not run in this tick.
    n_unrun: usize,
    digest: u64,
    /// Of this tick.
    figures: ScriptFigures,
}

/// Activity of a script after its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has more to do: another event, for one. Also a script that begins.
    Ready,
    /// The fuel of its slice was used up in the middle of a handler.
    Spent,
    /// It is ready at a tick, by a timer, the end of a sleep or of a delay; or earlier, by [`ScriptSchedule::wake`]. A tick that has come is now.
    At(u64),
    /// It waits for [`ScriptSchedule::wake`].
    Waits,
    /// It has failed or was switched off, and no event changes that, but [`ScriptSchedule::set`].
    Stopped,
}

/// A slice to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceStart {
    /// The script.
    pub instance: InstanceNumber,
    /// The tick.
    pub tick: u64,
    /// Its fuel.
    pub fuel: u64,
    /// True for a script that starts or wakes, false for one whose last slice was used up.
    pub is_fresh: bool,
}

/// A slice that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceResult {
    /// The fuel that it has used.
    pub fuel: u64,
    /// Handlers that have ended in it.
    pub n_events: u32,
    /// Activity of its script from now on.
    pub next: Next,
}

/// The place of a script among others of its owner that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    First,
    Caused,
    Timed,
    Last,
}

impl ScriptSchedule {
    /// A schedule without scripts, at a tick.
    #[must_use]
    pub fn new(tick: u64) -> Self {
        Self {
            tick,
            began: tick,
            instances: Instances::default(),
            links: Links::NONE,
            owners: Owners::default(),
            wheel: Wheel::new(tick),
            fresh: RunQueue::new(),
            spent: RunQueue::new(),
            purse: Purse::new(tick, (0, 0)),
            due: Vec::new(),
            is_in_slice: false,
            running: None,
            woken: Vec::new(),
            n_unrun: 0,
            digest: 0,
            figures: ScriptFigures::default(),
        }
    }

    /// Adds a script, a new one or one of a stored state. None if there are as many as there may be.
    pub fn add(&mut self, home: Home, next: Next) -> Option<InstanceNumber> {
        if self.len() == INSTANCES_MAX {
            return None;
        }
        let owner = self.owners.enter(home.owner);
        let number = self.instances.insert(ScriptSlot::new(home.linkset, home.order, owner));
        self.make_room();
        self.place(number, next);
        Some(InstanceNumber(number))
    }

    /// Removes a script, in its own slice, too. False if there is none.
    pub fn remove(&mut self, instance: InstanceNumber) -> bool {
        let Some(&ScriptSlot { owner, .. }) = self.instances.find(instance.0) else { return false };
        self.take_out(instance.0);
        self.instances.remove(instance.0);
        self.owners.leave(owner);
        self.forget_owner_if_gone(owner);
        true
    }

    /// Moves a script to another linkset, place or owner.
    pub fn move_to(&mut self, instance: InstanceNumber, home: Home) {
        let Some(&ScriptSlot { owner: former, phase, since, .. }) = self.instances.find(instance.0) else {
            return;
        };
        self.instances.move_to(instance.0, home.linkset, home.order);
        let owner = self.owners.enter(home.owner);
        self.make_room();
        if owner != former {
            let queue = match phase {
                ScriptPhase::Fresh => Some(QueueKind::Fresh),
                ScriptPhase::Spent => Some(QueueKind::Spent),
                _ => None,
            };
            if let Some(which) = queue {
                self.dequeue(which, instance.0);
            }
            self.instances.slot_mut(instance.0).owner = owner;
            if let Some(which) = queue {
                self.enqueue(which, instance.0, Rank::Last);
                self.instances.slot_mut(instance.0).since = since;
            }
        }
        self.owners.leave(former);
        self.forget_owner_if_gone(former);
    }

    /// An event has made a script ready. Nothing changes for a script in a queue, a stopped one, or a number without one.
    ///
    /// Not for a script that sleeps, or may not begin its next event yet: it would be visited for nothing.
    pub fn wake(&mut self, instance: InstanceNumber) {
        match self.instances.find(instance.0).map(|slot| slot.phase) {
            Some(ScriptPhase::Waits | ScriptPhase::Due) => self.make_ready(instance.0),
            Some(ScriptPhase::Timed) => {
                self.wheel.remove(&mut self.links, instance.0);
                self.make_ready(instance.0);
            }
            Some(
                ScriptPhase::Free
                | ScriptPhase::Fresh
                | ScriptPhase::Spent
                | ScriptPhase::Runs
                | ScriptPhase::Woken
                | ScriptPhase::Stopped,
            )
            | None => {}
        }
    }

    /// Changes what a script does, after its state was changed from outside: reset, switched on or off, a time that an event has changed. In its own slice a script
    /// can only be stopped; the end of the slice says the rest.
    pub fn set(&mut self, instance: InstanceNumber, next: Next) {
        let is_own = self.running == Some(instance.0);
        if self.instances.find(instance.0).is_none() || is_own && next != Next::Stopped {
            return;
        }
        self.take_out(instance.0);
        self.place(instance.0, next);
    }

    /// The next tick in which there is something to do: the following one, or the earliest due one. None if only events make a script ready.
    pub fn quiet_until(&mut self) -> Option<u64> {
        match self.n_ready() {
            0 => self.wheel.earliest(&self.links),
            _ => Some(self.tick.saturating_add(1)),
        }
    }

    /// Grows what has a place for each script or owner.
    fn make_room(&mut self) {
        let n = self.instances.bound();
        self.links.grow(n);
        self.wheel.grow(n);
        self.due.reserve(n.saturating_sub(self.due.len()));
        self.woken.reserve(n.saturating_sub(self.woken.len()));
        self.fresh.grow(self.owners.bound());
        self.spent.grow(self.owners.bound());
    }

    fn forget_owner_if_gone(&mut self, owner: u32) {
        // The fuel of a slice is counted at its end.
        if self.is_in_slice && (self.fresh.is_running(owner) || self.spent.is_running(owner)) {
            return;
        }
        if self.owners.free_if_gone(owner) {
            self.fresh.forget(owner);
            self.spent.forget(owner);
        }
    }

    /// Takes a script out of where it is.
    fn take_out(&mut self, number: u32) {
        match self.instances.slot(number).phase {
            ScriptPhase::Timed => self.wheel.remove(&mut self.links, number),
            ScriptPhase::Fresh => self.dequeue(QueueKind::Fresh, number),
            ScriptPhase::Spent => self.dequeue(QueueKind::Spent, number),
            ScriptPhase::Runs => self.running = None,
            // The lists of these are looked through by phase.
            ScriptPhase::Due
            | ScriptPhase::Woken
            | ScriptPhase::Free
            | ScriptPhase::Waits
            | ScriptPhase::Stopped => {}
        }
        self.instances.set_phase(number, ScriptPhase::Waits);
        self.instances.slot_mut(number).deficit = 0;
    }

    /// Puts a script that is nowhere to where it belongs.
    fn place(&mut self, number: u32, next: Next) {
        match next {
            Next::At(due) if due > self.tick => {
                self.wheel.set(&mut self.links, number, due);
                self.instances.set_phase(number, ScriptPhase::Timed);
            }
            Next::Ready | Next::At(_) => self.make_ready(number),
            Next::Spent => self.enqueue(QueueKind::Spent, number, Rank::Last),
            Next::Waits => self.instances.set_phase(number, ScriptPhase::Waits),
            Next::Stopped => self.instances.set_phase(number, ScriptPhase::Stopped),
        }
    }

    /// Makes a script fresh, at the end of the slice under way.
    fn make_ready(&mut self, number: u32) {
        if self.is_in_slice {
            self.instances.set_phase(number, ScriptPhase::Woken);
            self.woken.push(number);
        } else {
            self.enqueue(QueueKind::Fresh, number, Rank::Last);
        }
    }

    fn enqueue(&mut self, which: QueueKind, number: u32, rank: Rank) {
        let (tick, links) = (self.tick, &mut self.links);
        let (queue, phase) = match which {
            QueueKind::Fresh => (&mut self.fresh, ScriptPhase::Fresh),
            QueueKind::Spent => (&mut self.spent, ScriptPhase::Spent),
        };
        self.instances.set_phase(number, phase);
        let slot = self.instances.slot_mut(number);
        slot.since = tick;
        self.n_unrun += usize::from(slot.ran_at != Some(tick));
        match rank {
            Rank::First => queue.push_front(links, slot.owner, number),
            Rank::Caused => queue.push_caused(links, slot.owner, number, tick),
            Rank::Timed => queue.push_timed(links, slot.owner, number, tick),
            Rank::Last => queue.push_back(links, slot.owner, number),
        }
    }

    fn dequeue(&mut self, which: QueueKind, number: u32) {
        let &ScriptSlot { owner, ran_at, .. } = self.instances.slot(number);
        self.n_unrun -= usize::from(ran_at != Some(self.tick));
        let queue = match which {
            QueueKind::Fresh => &mut self.fresh,
            QueueKind::Spent => &mut self.spent,
        };
        queue.remove(&mut self.links, owner, number);
    }
}
