//! The interpreter: executes one handler until it ends, waits, or has used its fuel.
//!
//! Call frames are data (function and place of each, and one array of cells), and the interpreter has no other state between instructions, so that a handler can be left
//! behind any instruction and continue from there. If the fuel is used up it is left at jumps, calls, returns, operations on lengths, and in long code without
//! any of these; an operation that has begun is always completed. Nothing here recurses: depth is memory of the script.

mod composed;
mod frame;
mod objects;
mod stack;

pub(crate) use stack::{Frame, Stack, frame_bytes, frame_fuel};

use crate::call::{Call, CallProgram, CallScript};
use crate::cell::{self, EMPTY, Objects};
use crate::error::RunError;
use crate::host::{Host, Outcome};
use crate::instruction::Instruction;
use crate::kind::{Kind, Value};
use crate::library::{Target, Work};
use crate::program::Program;
use state_hash::StateHasher;

/// Logical memory of a call frame beside its cells.
pub const FRAME_BYTES: usize = 16;

/// Logical bytes of an event's or a call's arguments that are folded into the digest for one fuel.
const FOLD_SHIFT: u32 = 3;

/// Reason for which the interpreter has left a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has ended.
    Finished,
    /// The fuel is used up.
    Spent,
    /// It continues after some ticks.
    Sleeps(u64),
    /// It has ended with a change of state.
    ChangeState(u16),
    /// It has ended with a reset.
    Reset,
    /// The last instruction of the top frame is at fault.
    Fail(RunError),
}

/// Reason for which the innermost loop has ended.
enum Exit {
    Call(Instruction),
    CallImport(Instruction),
    Return(Option<u16>),
    Stop(Stop),
}

/// Data of a handler.
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) script: &'a mut CallScript,
    pub(crate) globals: &'a mut [u64],
    pub(crate) stack: &'a mut Stack,
    /// Digest of the calls to the host.
    pub(crate) digest: &'a mut StateHasher,
    /// The world's knowledge of the event.
    pub(crate) context: &'a [u8],
    /// The current state.
    pub(crate) state: u16,
}

/// Fuel of arguments in the digest.
pub(crate) const fn fold_fuel(bytes: usize) -> i64 {
    (bytes >> FOLD_SHIFT) as i64
}

impl Machine<'_> {
    /// Executes the handler, for at most `fuel`, which an operation that is under way may exceed.
    pub(crate) fn run(&mut self, host: &mut dyn Host, fuel: &mut i64) -> Stop {
        loop {
            let exit = self.run_frame(fuel);
            let stop = match exit {
                Exit::Call(call) => self.call(call, fuel),
                Exit::CallImport(call) => self.call_import(call, host, fuel),
                Exit::Return(result) => self.leave(result),
                Exit::Stop(stop) => Some(stop),
            };
            match stop {
                Some(stop) => return stop,
                None if *fuel <= 0 => return Stop::Spent,
                None => {}
            }
        }
    }

    /// Begins a function. Its arguments move into its first cells.
    fn call(&mut self, call: Instruction, fuel: &mut i64) -> Option<Stop> {
        let from = self.base() + usize::from(call.a);
        let to = self.stack.cells.len();
        if let Err(error) = self.stack.push(self.program, call.b, &mut self.script.heap) {
            return Some(Stop::Fail(error));
        }
        let layout = &self.program.layouts[usize::from(call.b)];
        self.stack.cells.copy_within(from..from + layout.n_argument_cells, to);
        let arguments = layout.references.iter().map(|&at| usize::from(at));
        for at in arguments.take_while(|&at| at < layout.n_argument_cells) {
            self.stack.cells[from + at] = EMPTY;
        }
        *fuel -= frame_fuel(layout);
        None
    }

    /// Ends a function. Its result moves into the register that its call names.
    fn leave(&mut self, result: Option<u16>) -> Option<Stop> {
        let base = self.base();
        let mut moved = [EMPTY; 4];
        let kind = self.top_function().result;
        if let (Some(result), Some(kind)) = (result, kind) {
            let at = base + usize::from(result);
            moved[..kind.n_cells()].copy_from_slice(&self.stack.cells[at..at + kind.n_cells()]);
            if kind.is_reference() {
                self.stack.cells[at] = EMPTY;
            }
        }
        self.stack.pop(self.program, &mut self.script.heap);
        let Some(caller) = self.stack.frames.last() else { return Some(Stop::Finished) };
        // A frame with another above it is always behind a call.
        let call = self.top_function().code[caller.pc as usize - 1];
        if let (Some(_), Some(kind)) = (result, kind) {
            let at = self.base() + usize::from(call.c);
            if kind.is_reference() {
                cell::release(&mut self.script.heap, self.stack.cells[at]);
            }
            self.stack.cells[at..at + kind.n_cells()].copy_from_slice(&moved[..kind.n_cells()]);
        }
        None
    }

    /// Calls a function of the library.
    fn call_import(&mut self, instruction: Instruction, host: &mut dyn Host, fuel: &mut i64) -> Option<Stop> {
        let program = self.program;
        let base = self.base();
        let import = &program.targets[usize::from(instruction.b)];
        let signature = import.target.signature();
        let from = base + usize::from(instruction.a);
        let (constants, dialect) = (&program.source.objects[..], program.source.dialect);
        let arguments = &mut self.stack.cells[from..from + import.n_cells];
        *fuel -= match signature.work {
            Work::Flat(base) => i64::from(base),
            work => {
                cost(work, signature.parameters, arguments, Objects { heap: &self.script.heap, constants })
            }
        };
        let effect = match import.target {
            Target::Pure(_) => None,
            Target::Host(number, _) => Some(u32::from(number)),
            // Behind the numbers of all hosts.
            Target::Unserved(_) => Some(u32::MAX),
        };
        if let Some(effect) = effect {
            self.digest.u32(effect);
            let objects = Objects { heap: &self.script.heap, constants };
            *fuel -= fold_fuel(fold_arguments(self.digest, signature.parameters, arguments, objects));
        }
        let mut call = Call {
            parameters: signature.parameters,
            cells: arguments,
            at: 0,
            n_read: 0,
            script: self.script,
            program: CallProgram { dialect, constants },
            context: self.context,
            spent: 0,
        };
        let (result, ticks) = match import.target {
            Target::Pure(pure) => {
                let (function, is_plain) = (pure.function, pure.is_plain);
                if !is_plain && !host.allows(function) {
                    return Some(Stop::Fail(RunError::NotAllowed));
                }
                match (pure.run)(&mut call) {
                    Ok(result) => (Some(result), if is_plain { 0 } else { host.delay(function) }),
                    Err(error) => return Some(Stop::Fail(error)),
                }
            }
            Target::Host(number, _) => match settled(host.call(number, &mut call)) {
                Ok(settled) => settled,
                Err(stop) => return Some(stop),
            },
            Target::Unserved(function) => match settled(host.refuse(function, &mut call)) {
                Ok(settled) => settled,
                Err(stop) => return Some(stop),
            },
        };
        *fuel -= i64::from(call.spent);
        let (heap, cells) = (&mut self.script.heap, &mut self.stack.cells);
        for &at in &import.references {
            cell::release(heap, std::mem::replace(&mut cells[from + usize::from(at)], EMPTY));
        }
        if result.as_ref().map(Value::kind) != signature.result {
            return Some(Stop::Fail(RunError::LibraryFault));
        }
        if let Some(value) = result {
            if let Work::Linear { per_64_bytes, .. } = signature.work {
                *fuel -= per_length(value.bytes(), per_64_bytes);
            }
            let at = base + usize::from(instruction.c);
            if value.kind().is_reference() {
                cell::release(heap, std::mem::replace(&mut cells[at], EMPTY));
            }
            if let Err(error) = cell::write(cells, at, value, heap, dialect) {
                return Some(Stop::Fail(error));
            }
        }
        (ticks > 0).then_some(Stop::Sleeps(ticks))
    }

    /// The first cell of the top frame.
    fn base(&self) -> usize {
        let top = self.stack.frames.last().expect("a handler that has begun");
        self.stack.cells.len() - self.program.layouts[usize::from(top.function)].n_cells
    }

    fn top_function(&self) -> &crate::program::Function {
        let top = self.stack.frames.last().expect("a handler that has begun");
        &self.program.source.functions[usize::from(top.function)]
    }
}

/// Result of a call and the ticks for which the script sleeps, or the end of the handler.
fn settled(outcome: Outcome) -> Result<(Option<Value>, u64), Stop> {
    match outcome {
        Outcome::Done(result) => Ok((result, 0)),
        Outcome::Sleep { result, ticks } => Ok((result, ticks)),
        Outcome::Reset => Err(Stop::Reset),
        Outcome::Fail(error) => Err(Stop::Fail(error)),
    }
}

/// Fuel of a function before its result is known.
fn cost(work: Work, parameters: &[Kind], cells: &[u64], objects: Objects<'_>) -> i64 {
    let references = || {
        let mut at = 0;
        parameters.iter().filter_map(move |kind| {
            let cell = cells[at];
            at += kind.n_cells();
            kind.is_reference().then_some((*kind, cell))
        })
    };
    match work {
        Work::Flat(base) => i64::from(base),
        Work::Linear { base, per_64_bytes } => {
            let bytes = references().map(|(_, cell)| objects.bytes(cell)).sum();
            i64::from(base) + per_length(bytes, per_64_bytes)
        }
        Work::Product { base, per_64_bytes } => {
            let bytes = references().next().map_or(0, |(_, cell)| objects.bytes(cell));
            let lists = references().skip(1).filter(|(kind, _)| *kind == Kind::List);
            let n: usize = lists.map(|(_, cell)| objects.list(cell).len()).sum();
            i64::from(base) + per_length(bytes, per_64_bytes) * (1 + n as i64)
        }
    }
}

fn per_length(bytes: usize, per_64_bytes: u32) -> i64 {
    (bytes as i64 * i64::from(per_64_bytes)) >> 6
}

/// Folds arguments into a digest. Returns the logical memory of those that are not in their cells.
fn fold_arguments(
    digest: &mut StateHasher,
    parameters: &[Kind],
    cells: &[u64],
    objects: Objects<'_>,
) -> usize {
    let (mut at, mut bytes) = (0, 0);
    for kind in parameters {
        match kind {
            Kind::Integer => digest.u64(cells[at]),
            Kind::Text | Kind::Key | Kind::List => match objects.object(cells[at]) {
                Some(object) => {
                    crate::kind::fold_object(object, digest);
                    bytes += object.bytes();
                }
                None => digest.u64(0),
            },
            Kind::Float | Kind::Vector | Kind::Rotation => {
                for &bits in &cells[at..at + kind.n_cells()] {
                    crate::kind::fold_float(f64::from_bits(bits), digest);
                }
            }
        }
        at += kind.n_cells();
    }
    bytes
}

#[cfg(test)]
mod tests;
