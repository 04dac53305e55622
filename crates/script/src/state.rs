//! Instances as bytes, at any place between two slices: one record with a version and a checksum.
//!
//! Cells carry their kinds here, and objects are numbered in the order in which cells name them first; counts of references are not stored but
//! follow from the cells. So equal scripts have equal bytes, regardless of the history of their heaps, and no bytes can make a count wrong. A script continues in the
//! program in which it was; its hash is checked. Bytes are not trusted: what does not fit together is an error.

use crate::call::CallScript;
use crate::cell::{self, EMPTY, Referent};
use crate::clock::Clock;
use crate::event::{Event, EventKind};
use crate::heap::{Heap, Object, Ref};
use crate::instance::{Failure, Handler, Instance, MEMORY_MAX};
use crate::instruction::Op;
use crate::kind::Kind;
use crate::program::{Program, object_kind};
use crate::queue::{EventQueue, QUEUE_BYTES_MAX};
use crate::random::Random;
use crate::vm::{Frame, Stack};
use record::{Format, Part, RecordBuffer, RecordError, Records};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const FORMAT: Format = Format {
    magic: *b"THSI",
    number: 1,
    reads: "1",
    name: "script state",
    // A cell of 8 bytes takes 9 here, a character of 2 up to 4; the queue and the handler's context have bounds of their own.
    body_bytes_max: 3 * MEMORY_MAX as u32,
};

const PART: Part = Part::new(*b"INST", "script instance");

/// Reason for which a script was not restored.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The bytes are no state.
    #[error("script state: {0}")]
    Bytes(#[from] RecordError),
    /// The state belongs to another program.
    #[error("script state: it is of another program")]
    OtherProgram,
    /// A part does not fit the program, or the others.
    #[error("script state: {0}")]
    Unfit(&'static str),
}

/// Parts of an instance, as they are stored. Not checked.
#[derive(Debug, Serialize, Deserialize)]
struct StateSource {
    program: [u8; 32],
    state: u16,
    next_state: Option<u16>,
    memory_limit: u64,
    memory_max: u64,
    objects: Vec<Object>,
    globals: Vec<SavedCell>,
    handler: Option<SavedHandler>,
    events: Vec<Event>,
    n_dropped: u64,
    clock: Clock,
    random: Random,
    failure: Option<Failure>,
    digest: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedHandler {
    frames: Vec<Frame>,
    cells: Vec<SavedCell>,
    event: EventKind,
    context: Arc<[u8]>,
}

/// A cell with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum SavedCell {
    Integer(i32),
    Float(f64),
    Empty,
    Constant(u32),
    Object(u32),
}

/// The program of a state, without the state: to find it before [`Instance::from_bytes`].
///
/// # Errors
///
/// If the bytes are no state.
pub fn program_hash(bytes: &[u8]) -> Result<[u8; 32], StateError> {
    let records = Records::parse(&FORMAT, bytes, &[&PART])?;
    // The first field, so that the objects behind it are not made twice.
    let body = records.need(&PART)?.read(&PART)?;
    body.first_chunk().copied().ok_or(StateError::Unfit("it ends in front of its program's hash"))
}

impl Instance {
    /// The script as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut saver = Saver { heap: &self.script.heap, numbers: BTreeMap::new(), objects: Vec::new() };
        let globals = saver.cells(&self.globals, &global_kinds(&self.program));
        let handler = self.handler.as_ref().map(|handler| SavedHandler {
            cells: saver.cells(&handler.stack.cells, &stack_kinds(&self.program, &handler.stack.frames)),
            frames: handler.stack.frames.clone(),
            event: handler.event,
            context: Arc::clone(&handler.context),
        });
        let source = StateSource {
            program: self.program.hash(),
            state: self.state,
            next_state: self.next_state,
            memory_limit: self.script.heap.limit() as u64,
            memory_max: self.script.memory_max as u64,
            objects: saver.objects,
            globals,
            handler,
            events: self.queue.iter().cloned().collect(),
            n_dropped: self.queue.n_dropped(),
            clock: self.script.clock,
            random: self.script.random,
            failure: self.failure,
            digest: self.digest,
        };
        let mut buffer = RecordBuffer::new(&FORMAT);
        buffer.push(&PART, &source);
        buffer.finish()
    }

    /// The script of bytes, in the program in which it was.
    ///
    /// # Errors
    ///
    /// If the bytes are no state, are damaged, are of another version or another program, or do not fit together.
    pub fn from_bytes(bytes: &[u8], program: Arc<Program>) -> Result<Self, StateError> {
        let records = Records::parse(&FORMAT, bytes, &[&PART])?;
        let source: StateSource = records.decode(&PART)?;
        if source.program != program.hash() {
            return Err(StateError::OtherProgram);
        }
        restore(source, program)
    }
}

fn fit(fits: bool, why: &'static str) -> Result<(), StateError> {
    fits.then_some(()).ok_or(StateError::Unfit(why))
}

fn restore(source: StateSource, program: Arc<Program>) -> Result<Instance, StateError> {
    let states = &program.source.states;
    let is_state = |state: u16| usize::from(state) < states.len();
    fit(is_state(source.state) && source.next_state.is_none_or(is_state), "a state that does not exist")?;
    let state = &states[usize::from(source.state)];
    for event in &source.events {
        let fits = event.kind.exists() && event.is_valid() && state.handler(event.kind).is_some();
        fit(fits, "an event without a handler")?;
    }
    let queue = EventQueue::restored(source.events, source.n_dropped, program.source.dialect);
    let queue = queue.ok_or(StateError::Unfit("more events than a queue has"))?;
    if let Some(failure) = source.failure {
        fit(
            source.handler.is_none() && queue.is_empty(),
            "a handler or an event of a script that has stopped",
        )?;
        let exists = usize::from(failure.function) < program.source.functions.len();
        fit(failure.event.exists() && (exists || failure.function == 0), "a failure in no function")?;
    }
    fit(source.handler.is_some() || source.clock.wake().is_none(), "a sleep without a handler")?;
    fit(source.clock.has_period(), "a timer without a period")?;

    let memory_max = usize::try_from(source.memory_max).unwrap_or(usize::MAX);
    let limit = usize::try_from(source.memory_limit).unwrap_or(usize::MAX);
    fit(limit <= memory_max && memory_max <= MEMORY_MAX, "a limit of memory beyond the highest")?;
    let mut loader = Loader {
        program: &program,
        heap: Heap::new(limit),
        objects: source.objects.into_iter(),
        references: Vec::new(),
    };
    // A program that does not fit has failed before it was counted, and before it had objects.
    let is_counted = loader.heap.reserve(program.bytes()).is_ok();
    fit(is_counted || source.failure.is_some(), "more memory than the limit")?;
    let globals = loader.cells(&source.globals, &global_kinds(&program))?;
    fit(is_counted || loader.references.is_empty(), "an object of a script that has not begun")?;
    let handler =
        source.handler.map(|saved| loader.handler(saved, source.state, source.next_state)).transpose()?;
    fit(loader.objects.next().is_none(), "an object without a reference")?;
    let heap = loader.heap;
    let script = CallScript { heap, random: source.random, clock: source.clock, memory_max };
    Ok(Instance {
        program,
        script,
        globals,
        handler: handler.map(Box::new),
        state: source.state,
        next_state: source.next_state,
        queue,
        failure: source.failure,
        digest: source.digest,
    })
}

/// Kinds of cells. Components are floats.
fn cell_kinds(kinds: impl Iterator<Item = Kind>) -> Vec<Kind> {
    let mut cells = Vec::new();
    for kind in kinds {
        match kind.n_cells() {
            1 => cells.push(kind),
            n => cells.resize(cells.len() + n, Kind::Float),
        }
    }
    cells
}

fn global_kinds(program: &Program) -> Vec<Kind> {
    cell_kinds(program.global_places.iter().map(|(kind, _)| *kind))
}

fn stack_kinds(program: &Program, frames: &[Frame]) -> Vec<Kind> {
    let functions = frames.iter().map(|frame| &program.source.functions[usize::from(frame.function)]);
    cell_kinds(functions.flat_map(|function| function.registers.iter().copied()))
}

struct Saver<'a> {
    heap: &'a Heap,
    /// Numbers by index in the heap.
    numbers: BTreeMap<u32, u32>,
    objects: Vec<Object>,
}

impl Saver<'_> {
    fn cells(&mut self, cells: &[u64], kinds: &[Kind]) -> Vec<SavedCell> {
        assert_eq!(cells.len(), kinds.len(), "cells of registers");
        cells.iter().zip(kinds).map(|(&cell, &kind)| self.cell(cell, kind)).collect()
    }

    fn cell(&mut self, cell: u64, kind: Kind) -> SavedCell {
        match kind {
            Kind::Integer => SavedCell::Integer(cell::integer(cell)),
            Kind::Text | Kind::Key | Kind::List => match Referent::of(cell) {
                Referent::Empty => SavedCell::Empty,
                Referent::Constant(index) => SavedCell::Constant(index),
                Referent::Object(of) => SavedCell::Object(self.number(of)),
            },
            // Components included. The bits of a NaN differ between processors.
            Kind::Float | Kind::Vector | Kind::Rotation => {
                let value = f64::from_bits(cell);
                SavedCell::Float(if value.is_nan() { f64::NAN } else { value })
            }
        }
    }

    fn number(&mut self, of: Ref) -> u32 {
        *self.numbers.entry(of.index()).or_insert_with(|| {
            self.objects.push(self.heap.get(of).clone());
            self.objects.len() as u32 - 1
        })
    }
}

struct Loader<'a> {
    program: &'a Program,
    heap: Heap,
    /// Objects that no cell has named yet.
    objects: std::vec::IntoIter<Object>,
    /// Objects that cells have named, by their numbers.
    references: Vec<Ref>,
}

impl Loader<'_> {
    fn cells(&mut self, cells: &[SavedCell], kinds: &[Kind]) -> Result<Vec<u64>, StateError> {
        fit(cells.len() == kinds.len(), "another number of registers")?;
        cells.iter().zip(kinds).map(|(cell, kind)| self.cell(*cell, *kind)).collect()
    }

    fn cell(&mut self, cell: SavedCell, kind: Kind) -> Result<u64, StateError> {
        const OTHER: StateError = StateError::Unfit("a register of another type");
        match (cell, kind) {
            (SavedCell::Integer(value), Kind::Integer) => Ok(cell::of_integer(value)),
            (SavedCell::Float(value), Kind::Float) => Ok(value.to_bits()),
            (SavedCell::Empty, kind) if kind.is_reference() => Ok(EMPTY),
            (SavedCell::Constant(index), kind) => match self.program.source.objects.get(index as usize) {
                Some(object) if object_kind(object) == kind => Ok(Referent::Constant(index).cell()),
                _ => Err(OTHER),
            },
            (SavedCell::Object(number), kind) if kind.is_reference() => {
                let of = self.object(number)?;
                if object_kind(self.heap.get(of)) == kind {
                    Ok(Referent::Object(of).cell())
                } else {
                    Err(OTHER)
                }
            }
            _ => Err(OTHER),
        }
    }

    /// One more reference to an object.
    fn object(&mut self, number: u32) -> Result<Ref, StateError> {
        const FULL: StateError = StateError::Unfit("more memory than the limit");
        if let Some(&of) = self.references.get(number as usize) {
            self.heap.retain(of).map_err(|_| FULL)?;
            return Ok(of);
        }
        fit(number as usize == self.references.len(), "objects are not in order")?;
        let object = self.objects.next().ok_or(StateError::Unfit("an object that does not exist"))?;
        let of = self.heap.insert(object).map_err(|_| FULL)?;
        self.references.push(of);
        Ok(of)
    }

    fn handler(
        &mut self,
        saved: SavedHandler,
        state: u16,
        next_state: Option<u16>,
    ) -> Result<Handler, StateError> {
        let SavedHandler { frames, cells, event, context } = saved;
        let functions = &self.program.source.functions;
        let state = &self.program.source.states[usize::from(state)];
        fit(event.exists(), "an event that does not exist")?;
        fit(context.len() <= QUEUE_BYTES_MAX, "a longer context than an event has")?;
        let handler = frames.first().map(|frame| frame.function);
        fit(handler.is_some() && state.handler(event) == handler, "a handler of another event")?;
        fit(next_state.is_none() || event == EventKind::STATE_EXIT, "a change of state during a handler")?;
        for (n, frame) in frames.iter().enumerate() {
            let code = functions.get(usize::from(frame.function)).map(|function| &function.code[..]);
            let code = code.ok_or(StateError::Unfit("a function that does not exist"))?;
            let pc = frame.pc as usize;
            fit(pc < code.len(), "a place behind a function's end")?;
            if let Some(above) = frames.get(n + 1) {
                let call = pc.checked_sub(1).map(|at| code[at]);
                let is_call = call.is_some_and(|call| call.op == Op::Call && call.b == above.function);
                fit(is_call, "a frame that no call has made")?;
            }
            let layout = &self.program.layouts[usize::from(frame.function)];
            let is_reserved = self.heap.reserve(crate::vm::frame_bytes(layout)).is_ok();
            fit(is_reserved, "more memory than the limit")?;
        }
        let kinds = stack_kinds(self.program, &frames);
        let cells = self.cells(&cells, &kinds)?;
        Ok(Handler { stack: Stack { frames, cells }, event, context })
    }
}

#[cfg(test)]
mod tests;
