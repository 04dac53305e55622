//! A tick: due scripts, and slices until the fuel is used up.

use super::{Next, Rank, ScriptSchedule, SliceResult, SliceStart};
use crate::budget::{FuelBudget, QueueKind};
use crate::figures::ScriptFigures;
use crate::instances::{InstanceNumber, ScriptPhase};
use state_hash::StateHasher;

impl ScriptSchedule {
    /// Begins a tick, in front of its commands. Those between the last one and this were idle.
    ///
    /// # Panics
    ///
    /// If ticks do not rise, or a script was ready in an idle one: a fault of the caller, which does not keep to [`Self::quiet_until`].
    pub fn begin_tick(&mut self, tick: u64) {
        assert!(tick >= self.tick, "tick {tick} of scripts follows tick {}", self.tick);
        assert!(
            self.n_ready() == 0 || tick - self.tick <= 1,
            "{} scripts waited for their slices in idle ticks before {tick}",
            self.n_ready()
        );
        let n_moves = self.wheel.n_moves();
        self.wheel.advance(&mut self.links, tick, &mut self.due);
        for &number in &self.due {
            self.instances.set_phase(number, ScriptPhase::Due);
        }
        if tick > self.tick {
            self.n_unrun = self.fresh.len() + self.spent.len();
        }
        self.tick = tick;
        self.figures = ScriptFigures { n_moved: self.wheel.n_moves() - n_moves, ..ScriptFigures::default() };
    }

    /// Runs slices until no script is ready, or the fuel of the tick is used up. `slice` runs one; in it, it may change the schedule.
    pub fn run(
        &mut self,
        budget: FuelBudget,
        mut slice: impl FnMut(&mut Self, SliceStart) -> SliceResult,
    ) -> ScriptFigures {
        self.queue_due();
        self.purse.fill(self.tick, budget);
        let quanta = self.purse.quanta();
        while let Some(which) = self.purse.choose(!self.fresh.is_empty(), !self.spent.is_empty()) {
            let has_fresh = !self.fresh.is_empty();
            let queue = match which {
                QueueKind::Fresh => &mut self.fresh,
                QueueKind::Spent => &mut self.spent,
            };
            let Some((owner, number)) = queue.take(&mut self.links, &mut self.instances, quanta) else {
                break;
            };
            let turn = self.begin_slice(which, number);
            let end = slice(self, turn);
            let charge = self.purse.spend(which, has_fresh, end.fuel);
            self.end_slice(which, (owner, number), end, charge);
        }
        self.figures.n_late = self.n_unrun as u64;
        self.figures
    }

    /// Makes scripts fresh that were due, and that nothing has made ready or removed since.
    fn queue_due(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        for number in due.drain(..) {
            if self.instances.slot(number).phase == ScriptPhase::Due {
                self.enqueue(QueueKind::Fresh, number, Rank::Timed);
            }
        }
        self.due = due;
    }

    fn begin_slice(&mut self, which: QueueKind, number: u32) -> SliceStart {
        self.instances.set_phase(number, ScriptPhase::Runs);
        let slot = self.instances.slot_mut(number);
        if slot.ran_at.replace(self.tick) != Some(self.tick) {
            self.n_unrun -= 1;
            self.figures.n_ran += 1;
        }
        if which == QueueKind::Fresh {
            self.figures.late_ticks_max = self.figures.late_ticks_max.max(self.tick - slot.since);
        }
        self.is_in_slice = true;
        self.running = Some(number);
        SliceStart {
            instance: InstanceNumber(number),
            tick: self.tick,
            fuel: self.purse.slice_fuel(),
            is_fresh: which == QueueKind::Fresh,
        }
    }

    fn end_slice(&mut self, which: QueueKind, (owner, number): (u32, u32), end: SliceResult, charge: i64) {
        self.is_in_slice = false;
        self.count(number, end);
        self.owners.owner_mut(owner).usage.spend(self.tick, end.fuel);
        if self.running.take().is_some() {
            let slot = self.instances.slot_mut(number);
            slot.usage.spend(self.tick, end.fuel);
            slot.deficit -= charge;
            let goes_on = which == QueueKind::Fresh && slot.deficit > 0;
            match end.next {
                Next::At(due) if due > self.tick => self.wait(number, end.next),
                Next::Ready | Next::At(_) if goes_on => self.enqueue(QueueKind::Fresh, number, Rank::First),
                Next::Ready | Next::At(_) => self.enqueue(QueueKind::Fresh, number, Rank::Last),
                Next::Spent => self.enqueue(QueueKind::Spent, number, Rank::Last),
                Next::Waits | Next::Stopped => self.wait(number, end.next),
            }
        }
        self.queue_woken();
        match which {
            QueueKind::Fresh => self.fresh.settle(owner, charge),
            QueueKind::Spent => self.spent.settle(owner, charge),
        }
        self.forget_owner_if_gone(owner);
    }

    fn wait(&mut self, number: u32, next: Next) {
        self.instances.slot_mut(number).deficit = 0;
        self.place(number, next);
    }

    /// Queues what a slice has made ready: before what time has made ready in this tick, but not for a second time in a tick, or two scripts that wake
    /// each other would keep the others of their owner waiting.
    fn queue_woken(&mut self) {
        if self.woken.is_empty() {
            return;
        }
        let mut woken = std::mem::take(&mut self.woken);
        self.instances.sort_by_home(&mut woken);
        for number in woken.drain(..) {
            let slot = self.instances.slot(number);
            let has_run = slot.ran_at == Some(self.tick);
            if slot.phase == ScriptPhase::Woken {
                self.enqueue(QueueKind::Fresh, number, if has_run { Rank::Last } else { Rank::Caused });
            }
        }
        self.woken = woken;
    }

    fn count(&mut self, number: u32, SliceResult { fuel, n_events, next }: SliceResult) {
        let figures = &mut self.figures;
        figures.fuel = figures.fuel.saturating_add(fuel);
        figures.n_slices += 1;
        figures.n_events += u64::from(n_events);
        let mut digest = StateHasher::new();
        digest.u64(self.digest);
        digest.u64(self.tick);
        digest.u32(number);
        digest.u64(fuel);
        let (end, due) = match next {
            Next::Ready => (0, 0),
            Next::Spent => (1, 0),
            Next::At(due) => (2, due),
            Next::Waits => (3, 0),
            Next::Stopped => (4, 0),
        };
        digest.u32(end);
        digest.u64(due);
        self.digest = digest.finish();
    }
}
