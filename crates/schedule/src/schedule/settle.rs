//! The tail: what became of a batch is taken down.

use super::{Schedule, flight::Flight, slot::State};
use crate::{
    batch::{Job, Outcome, Stay},
    frames::Open,
};
use std::sync::Arc;

impl<H: Clone> Schedule<H> {
    /// A worker's stay with a batch is over: there is nothing left to pull, or it shall look for other work. With the last stay
    /// of all the batch is over, too.
    ///
    /// # Panics
    /// When the stay is another schedule's.
    pub fn leave(&mut self, stay: Stay<H>) {
        // Others were quicker; the batch may be over already.
        let Some(last) = stay.last_job() else { return };
        let index = self.flights.iter().position(|flight| Arc::ptr_eq(&flight.batch, &stay.batch));
        let index = index.expect("a batch is under way until all of its jobs were handed back");
        let flight = &mut self.flights[index];
        flight.n_left += stay.n_pulled;
        if flight.n_left == flight.batch.jobs.len() {
            let flight = self.flights.swap_remove(index);
            self.settle(flight);
        } else if last.is_put_off() {
            // Its time may come long before the end of the batch, and that of others that were pulled before it.
            self.settle_made();
        } else if self.slots[last.slot as usize].missed.is_some() {
            // It is due already, and others may be at this batch for long.
            let mut open = flight.open;
            self.take_back(&mut open, last);
            self.flights[index].open = open;
        }
    }

    /// A batch is over.
    fn settle(&mut self, mut flight: Flight<H>) {
        let Flight { batch, pending, is_partly_settled, open, .. } = &mut flight;
        if *is_partly_settled {
            pending.iter().for_each(|&place| self.take_back(open, &batch.jobs[place as usize]));
        } else {
            batch.jobs.iter().for_each(|job| self.take_back(open, job));
        }
        self.log.close(open);
        self.spare.push(flight);
    }

    /// Takes back what was made of batches that are not over: a beat has come, and one long step shall keep nobody else from it.
    pub(super) fn settle_made(&mut self) {
        let mut flights = std::mem::take(&mut self.flights);
        for Flight { batch, pending, is_partly_settled, open, .. } in &mut flights {
            if !*is_partly_settled {
                *is_partly_settled = true;
                pending.extend(0..batch.jobs.len() as u32);
            }
            pending.retain(|&place| {
                let job = &batch.jobs[place as usize];
                self.take_back(open, job);
                !job.is_taken()
            });
        }
        self.flights = flights;
    }

    /// Takes down what became of a job, if it is over.
    fn take_back(&mut self, open: &mut Open, job: &Job<H>) {
        let Some(made) = job.take() else { return };
        let slot = &mut self.slots[job.slot as usize];
        let is_made = matches!(made.outcome, Outcome::Awake | Outcome::Quiet);
        if is_made || made.outcome == Outcome::Panicked {
            self.log.step(open, slot.id, &made);
        }
        if slot.state == State::Retired {
            slot.is_held = false;
            self.release(job.slot);
            return;
        }
        slot.state = State::Idle;
        if is_made {
            slot.next_tick.0 += 1;
            slot.cost.learn(made.took);
            slot.laps.add(made.took, made.late_by);
            slot.rhythm.frame(slot.frame.nominal, slot.frame.is_anchored);
            slot.floor = made.began_at + job.dt() / 2;
        }
        let owed = match made.outcome {
            Outcome::Awake => slot.owed(made.began_at),
            Outcome::Quiet if slot.is_woken => slot.owed(made.began_at),
            Outcome::Quiet => return self.fall_asleep(job.slot),
            Outcome::PutOff => slot.put_off(),
            Outcome::Gone | Outcome::Panicked => {
                self.by_id.remove(&slot.id);
                return self.retire(job.slot);
            }
        };
        if let Some(wanted) = owed {
            self.want(job.slot, wanted);
        }
    }

    /// A task sleeps until [`Schedule::wake`]. Nothing looks at it meanwhile.
    fn fall_asleep(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Asleep;
        slot.missed = None;
        slot.rhythm.rest();
        self.groups[slot.group].n_awake -= 1;
    }
}
