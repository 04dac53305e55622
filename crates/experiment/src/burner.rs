//! A process that takes a given share of a core, as a neighbour on the same machine does.

use crate::calibrate::thread_cpu;
use crate::child::{self, BURN_COMMAND, Running, die_with_parent};
use crate::error::ExperimentError;
use crate::references::spin;
use crate::usage::ProcessUsage;
use crate::{Run, clock};
use std::io;
use std::time::Duration;

/// It works and rests in turns of this length: half of a tick, so that none goes without it.
const TURN: Duration = Duration::from_millis(25);
/// Turns that it makes up for when the system had it wait. More would be a burst at a time when the machine has become idle.
const TURNS_OWED_MAX: u32 = 4;
/// Steps of arithmetic between two looks at the clock: some microseconds.
const STEPS: u32 = 5_000;

/// Takes this share of a core until it is killed: the work of [`BURN_COMMAND`].
///
/// # Errors
/// If there is no parent to die with.
pub fn burn(share: f64) -> io::Error {
    if let Err(error) = die_with_parent() {
        return error;
    }
    let mut duty = Duty::new(share);
    let mut next_at = clock::now();
    loop {
        next_at += TURN;
        let until = thread_cpu() + duty.work_of_turn(thread_cpu());
        while thread_cpu() < until {
            spin(STEPS);
        }
        clock::wait_until(next_at);
    }
}

/// Work of each turn, from the CPU time available.
struct Duty {
    each: Duration,
    /// CPU time that there should have been at the beginning of the next turn.
    due: Duration,
}

impl Duty {
    fn new(share: f64) -> Self {
        Self { each: TURN.mul_f64(share), due: Duration::ZERO }
    }

    /// The work of a turn that begins after `used` CPU time.
    fn work_of_turn(&mut self, used: Duration) -> Duration {
        self.due += self.each;
        let owed = self.due.saturating_sub(used);
        let most = self.each * TURNS_OWED_MAX;
        if owed > most {
            self.due = used + most;
        }
        owed.min(most)
    }
}

/// The process of an experiment. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Burner(Running);

impl Burner {
    /// Starts a process that takes this share of a core.
    pub(crate) fn start(run: &Run, share: f64) -> Result<Self, ExperimentError> {
        let log = run.out.join("burner.log");
        let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
        command.args([BURN_COMMAND, &format!("{:.0}", share * 100.0)]);
        let what = "the process that takes CPU";
        let child =
            command.spawn().map_err(|source| ExperimentError::Start { what: what.to_owned(), source })?;
        Ok(Self(Running { what: what.to_owned(), child, log }))
    }

    /// CPU time that it has used, seconds.
    pub(crate) fn cpu_s(&self) -> Result<f64, ExperimentError> {
        let pid = self.0.pid();
        let usage = ProcessUsage::of(pid).map_err(|source| ExperimentError::Usage { pid, source })?;
        Ok(usage.cpu_s_since(&ProcessUsage::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_share_is_worked_in_each_turn_and_missed_work_is_made_up_for_within_bounds() {
        let mut duty = Duty::new(0.4);
        assert_eq!(duty.work_of_turn(ms(0)), ms(10));
        assert_eq!(duty.work_of_turn(ms(10)), ms(10));
        // The system gave it 4 of 10 ms.
        assert_eq!(duty.work_of_turn(ms(14)), ms(16));
        // It waited for a second: 40 turns.
        let owed = (0..40).map(|_| duty.work_of_turn(ms(14))).last();
        assert_eq!(owed, Some(ms(40)));
        assert_eq!(duty.work_of_turn(ms(54)), ms(10), "and is even again");
        // More than its share, as the last steps may take.
        assert_eq!(duty.work_of_turn(ms(66)), ms(8));
    }
}
