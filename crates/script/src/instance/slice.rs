//! A slice: the beginning, the run and the end of a handler.

use super::{Begun, Failure, Handler, Instance, Scratch, Slice, SliceEnd};
use crate::cell;
use crate::event::{Event, EventKind};
use crate::host::Host;
use crate::vm::{Machine, Stack, Stop, fold_fuel, frame_fuel};
use state_hash::StateHasher;
use std::sync::Arc;

/// Fuel of an event beside its arguments, its frame and its handler's code, and of a state's end without a handler.
const EVENT_FUEL: i64 = 100;

impl Instance {
    /// Runs one handler, or continues one, for at most `fuel`. An operation under way may exceed it.
    pub fn run(&mut self, scratch: &mut Scratch, host: &mut dyn Host, tick: u64, fuel: u64) -> Slice {
        self.poll_timer(tick);
        if !self.is_ready(tick) {
            return Slice { fuel: 0, end: SliceEnd::Idle };
        }
        let mut digest = StateHasher::new();
        digest.u64(self.digest);
        let fuel = i64::try_from(fuel).unwrap_or(i64::MAX);
        let mut left = fuel;
        scratch.clear();
        scratch.resumed = self.handler.take();
        let begun = match &scratch.resumed {
            Some(handler) => {
                self.script.clock.wake_up();
                Ok(Some((handler.event, Arc::clone(&handler.context))))
            }
            None => {
                left -= EVENT_FUEL;
                self.begin_handler(&mut scratch.stack, host, tick, &mut digest, &mut left)
            }
        };
        let end = match begun {
            Ok(None) => SliceEnd::Done,
            Err(failure) => self.fail(failure),
            Ok(Some((event, context))) => {
                let mut machine = Machine {
                    program: &self.program,
                    script: &mut self.script,
                    globals: &mut self.globals,
                    stack: scratch.stack(),
                    digest: &mut digest,
                    context: &context,
                    state: self.state,
                };
                let stop = machine.run(host, &mut left);
                self.end_slice(stop, (event, context), scratch, host, tick)
            }
        };
        let used = (fuel - left).unsigned_abs();
        digest.u64(used);
        digest.u64(self.script.random.n_drawn());
        digest.u32(match end {
            SliceEnd::Idle | SliceEnd::Done => 0,
            SliceEnd::Spent => 1,
            SliceEnd::Sleeps(_) => 2,
            SliceEnd::Failed(_) => 3,
        });
        self.digest = digest.finish();
        Slice { fuel: used, end }
    }

    /// Takes the next event and makes the frame of its handler. None if there is no handler to run.
    fn begin_handler(
        &mut self,
        stack: &mut Stack,
        host: &mut dyn Host,
        tick: u64,
        digest: &mut StateHasher,
        fuel: &mut i64,
    ) -> Result<Option<Begun>, Failure> {
        let program = &*self.program;
        let state = &program.source.states[usize::from(self.state)];
        let event = if self.next_state.is_some() {
            Some(Event::new(EventKind::STATE_EXIT, Vec::new()))
        } else {
            self.script.clock.begin_event(tick);
            self.queue.pop()
        };
        let Some(event) = event else { return Ok(None) };
        digest.u32(event.kind.number() as u32);
        for argument in &event.arguments {
            argument.fold(digest);
            *fuel -= fold_fuel(argument.bytes());
        }
        let Some(function) = state.handler(event.kind) else {
            self.enter_next_state(host);
            return Ok(None);
        };
        let heap = &mut self.script.heap;
        let failure = |error| Failure { error, event: event.kind, function, place: None };
        stack.push(program, function, heap).map_err(failure)?;
        *fuel -= frame_fuel(&program.layouts[usize::from(function)]);
        let mut at = 0;
        for argument in event.arguments {
            let n_cells = argument.kind().n_cells();
            if let Err(error) = cell::write(&mut stack.cells, at, argument, heap, program.source.dialect) {
                stack.unwind(program, heap);
                return Err(failure(error));
            }
            at += n_cells;
        }
        Ok(Some((event.kind, event.context)))
    }

    fn end_slice(
        &mut self,
        stop: Stop,
        (event, context): Begun,
        scratch: &mut Scratch,
        host: &mut dyn Host,
        tick: u64,
    ) -> SliceEnd {
        if let Stop::Spent | Stop::Sleeps(_) = stop {
            let mut handler = scratch.resumed.take().unwrap_or_else(|| {
                let stack = scratch.stack.clone();
                scratch.stack.clear();
                Box::new(Handler { stack, event, context })
            });
            handler.stack.trim();
            self.handler = Some(handler);
        }
        let stack = scratch.stack();
        let failed = stack.frames.last().copied();
        stack.unwind(&self.program, &mut self.script.heap);
        scratch.resumed = None;
        match stop {
            Stop::Spent => SliceEnd::Spent,
            Stop::Sleeps(ticks) => {
                let until = tick.saturating_add(ticks);
                self.script.clock.sleep_until(until);
                SliceEnd::Sleeps(until)
            }
            Stop::Finished => {
                if event == EventKind::STATE_EXIT {
                    self.enter_next_state(host);
                }
                SliceEnd::Done
            }
            Stop::ChangeState(state) => {
                if event == EventKind::STATE_EXIT {
                    self.enter_next_state(host);
                } else {
                    self.next_state = Some(state);
                }
                SliceEnd::Done
            }
            Stop::Reset => {
                self.reset(host);
                SliceEnd::Done
            }
            Stop::Fail(error) => {
                let (function, pc) = failed.map_or((0, 0), |frame| (frame.function, frame.pc));
                // The place is behind the instruction that failed.
                let place = self.program.source.functions[usize::from(function)].place(pc.saturating_sub(1));
                self.fail(Failure { error, event, function, place })
            }
        }
    }

    fn enter_next_state(&mut self, host: &mut dyn Host) {
        let Some(state) = self.next_state.take() else { return };
        self.queue.clear();
        host.end_state();
        self.state = state;
        self.push(Event::new(EventKind::STATE_ENTRY, Vec::new()));
    }

    fn fail(&mut self, failure: Failure) -> SliceEnd {
        self.failure = Some(failure);
        self.queue.clear();
        SliceEnd::Failed(failure)
    }
}
