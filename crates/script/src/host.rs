//! The world as a script sees it.

use crate::call::Call;
use crate::error::RunError;
use crate::kind::Value;
use crate::table::{Function, Threat};

/// The surroundings of a script. A world implements it for the time of a step.
pub trait Host {
    /// Calls a function, by its place in the list that [`Library::new`](crate::library::Library::new) or [`Library::whole`](crate::library::Library::whole)
    /// was made of.
    ///
    /// It reads its arguments from `call`, has its effect, and answers. It never waits: what takes time is an event, later.
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome;

    /// Calls a function that is not served yet. It answers as the table says; a world also tells the script's owner, and sends the event of the refusal
    /// if there is one.
    fn refuse(&mut self, function: &'static Function, _call: &mut Call<'_>) -> Outcome {
        Outcome::Done(function.answer.clone())
    }

    /// True if the script may call a function of values that has a danger. A world asks its configuration, and the script's owner.
    fn allows(&self, function: &'static Function) -> bool {
        function.threat <= Threat::ALLOWED
    }

    /// Ticks for which the script sleeps in a function of values with a delay. A world multiplies the delay by its factor.
    fn delay(&self, _function: &'static Function) -> u64 {
        0
    }

    /// The script changes its state: listens, sensors and targets end.
    fn end_state(&mut self);

    /// The script is reset: listens, sensors, targets, and what else its state in the world is, end.
    fn reset(&mut self);
}

/// The result of a function's call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The script continues with the result.
    Done(Option<Value>),
    /// The same, after some ticks.
    Sleep {
        /// Its result.
        result: Option<Value>,
        /// Number of ticks; 0 continues at once.
        ticks: u64,
    },
    /// The script begins anew.
    Reset,
    /// The script stops.
    Fail(RunError),
}

impl Outcome {
    /// Done, with a result.
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Done(Some(value.into()))
    }
}

#[cfg(test)]
mod tests;
