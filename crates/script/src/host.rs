//! The world as a script sees it.

use crate::call::Call;
use crate::error::RunError;
use crate::kind::Value;

/// The surroundings of a script. A world implements it for the time of a step.
pub trait Host {
    /// Calls a function, by its place in the list that [`Library::new`](crate::library::Library::new) was made of.
    ///
    /// It reads its arguments from `call`, has its effect, and answers. It never waits: what takes time is an event, later.
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome;

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
