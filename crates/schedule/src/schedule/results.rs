//! Tail of a frame: the results of a batch are recorded.

use super::{Schedule, flight::Flight, slot::TaskPhase};
use crate::{
    batch::{Stay, StepJob, StepOutcome},
    frames::OpenRecord,
};
use std::sync::Arc;

impl<H: Clone> Schedule<H> {
    /// Ends a worker's stay with a batch: no job is left, or other work is due. The last stay ends the batch.
    ///
    /// # Panics
    /// If the stay belongs to another schedule.
    pub fn leave_batch(&mut self, stay: Stay<H>) {
        // Others were quicker; the batch may be over already.
        let Some(last) = stay.last_job() else { return };
        let index = self.flights.iter().position(|flight| Arc::ptr_eq(&flight.batch, &stay.batch));
        let index = index.expect("a batch is under way until all of its jobs were handed back");
        let flight = &mut self.flights[index];
        flight.n_left += stay.n_pulled;
        if flight.n_left == flight.batch.jobs.len() {
            let flight = self.flights.swap_remove(index);
            self.finish_batch(flight);
        } else if last.is_put_off() {
            // Its time may come long before the end of the batch, and that of others that were pulled before it.
            self.collect_results();
        } else if self.slots[last.slot as usize].missed.is_some() {
            // It is due already, and others may be at this batch for long.
            let mut open = flight.open;
            self.take_back(&mut open, last);
            self.flights[index].open = open;
        }
    }

    /// A batch is over.
    fn finish_batch(&mut self, mut flight: Flight<H>) {
        let Flight { batch, pending, is_partly_collected, open, .. } = &mut flight;
        if *is_partly_collected {
            pending.iter().for_each(|&place| self.take_back(open, &batch.jobs[place as usize]));
        } else {
            batch.jobs.iter().for_each(|job| self.take_back(open, job));
        }
        self.log.close(open);
        self.spare.push(flight);
    }

    /// Collects results of unfinished batches at a beat, so that one long step excludes no other task from it.
    pub(super) fn collect_results(&mut self) {
        let mut flights = std::mem::take(&mut self.flights);
        for Flight { batch, pending, is_partly_collected, open, .. } in &mut flights {
            if !*is_partly_collected {
                *is_partly_collected = true;
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

    /// Records the result of a job, if it is over.
    fn take_back(&mut self, open: &mut OpenRecord, job: &StepJob<H>) {
        let Some(made) = job.collect_result() else { return };
        let slot = &mut self.slots[job.slot as usize];
        let is_made = matches!(made.outcome, StepOutcome::Awake | StepOutcome::Quiet);
        if is_made || made.outcome == StepOutcome::Panicked {
            self.log.step(open, slot.id, &made);
        }
        if slot.state == TaskPhase::Retired {
            slot.is_held = false;
            self.release(job.slot);
            return;
        }
        slot.state = TaskPhase::Idle;
        if is_made {
            slot.next_tick.0 += 1;
            slot.cost.record_duration(made.took);
            slot.step_stats.add(made.took, made.late_by);
            slot.rhythm.frame(slot.frame.nominal, slot.frame.is_anchored);
            slot.floor = made.began_at + job.dt() / 2;
        }
        let owed = match made.outcome {
            StepOutcome::Awake => slot.owed(made.began_at),
            StepOutcome::Quiet if slot.is_woken => slot.owed(made.began_at),
            StepOutcome::Quiet => return self.fall_asleep(job.slot),
            StepOutcome::PutOff => slot.put_off(),
            StepOutcome::Gone | StepOutcome::Panicked => {
                self.by_id.remove(&slot.id);
                return self.retire(job.slot);
            }
        };
        if let Some(wanted) = owed {
            self.want(job.slot, wanted);
        }
    }

    /// Puts a task to sleep until [`Schedule::wake`]. It costs nothing meanwhile.
    fn fall_asleep(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.state = TaskPhase::Asleep;
        slot.missed = None;
        slot.rhythm.rest();
        self.groups[slot.group].n_awake -= 1;
    }
}
