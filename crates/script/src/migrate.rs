//! A script continues in another program of the same source, such as that of a later compiler.
//!
//! It does so between two handlers: a handler that was interrupted ends in the program in which it began. Globals are the same by their order, states by
//! their names.

use crate::cell::{self, Referent};
use crate::error::RunError;
use crate::event::Event;
use crate::heap::Object;
use crate::instance::Instance;
use crate::kind::Kind;
use crate::program::Program;
use crate::queue::EventQueue;
use std::sync::Arc;

/// Reason for which a script stays in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrationError {
    /// A handler was interrupted.
    #[error("the script is in the middle of an event")]
    Interrupted,
    /// The other program has another source: its dialect, globals or states differ.
    #[error("the program is of another source")]
    OtherSource,
    /// The other program does not fit into the script's memory.
    #[error("the program needs more memory than the script has")]
    Memory,
}

impl Instance {
    /// Continues in another program of the same source.
    ///
    /// # Errors
    ///
    /// If it does not fit. The script is as before.
    pub fn migrate(&mut self, program: Arc<Program>) -> Result<(), MigrationError> {
        if self.handler.is_some() {
            return Err(MigrationError::Interrupted);
        }
        let kinds =
            |program: &Program| program.global_places.iter().map(|place| place.0).collect::<Vec<Kind>>();
        let is_same = kinds(&program) == kinds(&self.program) && program.dialect() == self.program.dialect();
        let state_of = |state: u16| program.state_named(&self.program.states()[usize::from(state)].name);
        let (state, next_state) = (state_of(self.state), self.next_state.map(state_of));
        let (Some(state), true, true) = (state, is_same, next_state != Some(None)) else {
            return Err(MigrationError::OtherSource);
        };
        // A program that does not fit has failed before it was counted.
        let counted = if self.memory_used() == 0 { 0 } else { self.program.bytes() };
        let mut heap = self.script.heap.clone();
        let mut globals = self.globals.clone();
        heap.unreserve(counted);
        let moved = heap.reserve(program.bytes()).and_then(|()| {
            let references = program.global_places.iter().filter(|(kind, _)| kind.is_reference());
            references.into_iter().try_for_each(|&(_, at)| {
                let cell = &mut globals[usize::from(at)];
                if let Referent::Constant(index) = Referent::of(*cell) {
                    let constant = &self.program.constants()[index as usize];
                    *cell = match program.constants().iter().position(|other| other == constant) {
                        Some(index) => Referent::Constant(index as u32).cell(),
                        None => cell::insert(&mut heap, Object::clone(constant))?,
                    };
                }
                Ok::<(), RunError>(())
            })
        });
        moved.map_err(|_| MigrationError::Memory)?;
        let handled = |event: &&Event| program.states()[usize::from(state)].handler(event.kind).is_some();
        let events = self.queue.iter().filter(handled).cloned().collect();
        let queue = EventQueue::restored(events, self.queue.n_dropped(), program.dialect());
        self.queue = queue.expect("events of a queue fit into one");
        (self.script.heap, self.globals, self.state, self.next_state) =
            (heap, globals, state, next_state.flatten());
        if let Some(failure) = &mut self.failure {
            // Its place in the source remains.
            failure.function = 0;
        }
        self.program = program;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
