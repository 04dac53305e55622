//! Programs: bytecode with its constants, shared by all scripts with the same source.
//!
//! A program is made by [`ProgramBuilder`](crate::builder::ProgramBuilder) or read from bytes ([`Program::from_bytes`]). Both check
//! it in full, so that the machine relies on every index, kind and place in it.
//!
//! # Logical memory
//!
//! Code counts [`INSTRUCTION_BYTES`] per instruction in steps of [`CODE_STEP_BYTES`] per function, constants as objects of a heap, globals
//! [`CELL_BYTES`] per cell. It counts for each script, although scripts share it.

use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::heap::Object;
use crate::instruction::Instruction;
use crate::kind::{Kind, Value};
use crate::library::{Import, Linked, Target};
use serde::{Deserialize, Serialize};

/// Logical memory of an instruction. Half of its physical size: comparable code of other machines is as long.
pub const INSTRUCTION_BYTES: usize = 4;
/// Step in which a function's code counts.
pub const CODE_STEP_BYTES: usize = 512;
/// Logical memory of a cell.
pub const CELL_BYTES: usize = 8;

/// Code of a script with its constants, globals, functions and states.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) source: ProgramSource,
    /// The functions of this build's library behind the imports.
    pub(crate) targets: Vec<Linked>,
    /// Cells of the globals of a new script.
    pub(crate) globals: Vec<u64>,
    /// Kind and cell of each global.
    pub(crate) global_places: Vec<(Kind, u16)>,
    /// Frames of the functions.
    pub(crate) layouts: Vec<FrameLayout>,
    bytes: usize,
}

/// Parts of a program, as they are stored. Not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgramSource {
    pub(crate) hash: [u8; 32],
    pub(crate) dialect: Dialect,
    pub(crate) floats: Vec<f64>,
    pub(crate) objects: Vec<Object>,
    pub(crate) globals: Vec<Global>,
    pub(crate) imports: Vec<Import>,
    pub(crate) functions: Vec<Function>,
    pub(crate) states: Vec<State>,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Global {
    /// A number, a vector or a rotation.
    Plain(Value),
    /// An empty string, key or list.
    Empty(Kind),
    /// A constant of the program.
    Constant(u32),
}

/// A function or a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Name, for messages.
    pub name: String,
    /// Kinds of its registers in the order of their cells. The first are its parameters.
    pub registers: Vec<Kind>,
    /// Number of parameters.
    pub n_parameters: u16,
    /// Kind of its result.
    pub result: Option<Kind>,
    /// Its code.
    pub code: Vec<Instruction>,
    /// Places in the source of parts of its code, in the order of their first instructions.
    pub lines: Vec<LineEntry>,
}

/// Place in the source of the instructions from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineEntry {
    /// The first instruction.
    pub from: u32,
    /// The place.
    pub place: Place,
}

/// Place in a source, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// A state of a script. The first one of a program is `default`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name, for messages.
    pub name: String,
    /// Its handlers, in the order of the kinds.
    pub handlers: Vec<(EventKind, u16)>,
}

/// Cells of a call frame, and the fuel of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    pub(crate) n_cells: usize,
    /// Cells of the parameters.
    pub(crate) n_argument_cells: usize,
    /// Cells with references.
    pub(crate) references: Vec<u16>,
    /// For each instruction the sum of the weights before it, modulo 2³², and that of all.
    pub(crate) weights: Vec<u32>,
}

impl FrameLayout {
    /// The layout of a function.
    pub(crate) fn new(function: &Function) -> Self {
        let mut at = 0;
        let mut references = Vec::new();
        for kind in &function.registers {
            if kind.is_reference() {
                references.push(u16::try_from(at).expect("cells have numbers of 16 bits"));
            }
            at += kind.n_cells();
        }
        let parameters = &function.registers[..usize::from(function.n_parameters)];
        let mut sum = 0_u32;
        let sums = function.code.iter().map(|instruction| {
            sum = sum.wrapping_add(instruction.op.weight());
            sum
        });
        let weights = std::iter::once(0).chain(sums).collect();
        Self { n_cells: at, n_argument_cells: Kind::cells_of(parameters), references, weights }
    }
}

impl Function {
    /// Logical memory of its code.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        (self.code.len() * INSTRUCTION_BYTES).next_multiple_of(CODE_STEP_BYTES)
    }

    /// Kinds of its parameters.
    #[must_use]
    pub fn parameters(&self) -> &[Kind] {
        &self.registers[..usize::from(self.n_parameters)]
    }

    /// Place in the source of an instruction, if the line map has it.
    #[must_use]
    pub fn place(&self, pc: u32) -> Option<Place> {
        let behind = self.lines.partition_point(|entry| entry.from <= pc);
        behind.checked_sub(1).map(|index| self.lines[index].place)
    }
}

impl State {
    /// The handler of an event.
    #[must_use]
    pub fn handler(&self, kind: EventKind) -> Option<u16> {
        let found = self.handlers.binary_search_by_key(&kind, |(kind, _)| *kind);
        found.ok().map(|index| self.handlers[index].1)
    }
}

impl Program {
    /// A program of parts that have been checked.
    pub(crate) fn new(source: ProgramSource, targets: Vec<Target>) -> Self {
        let mut globals = Vec::new();
        let mut global_places = Vec::new();
        for global in &source.globals {
            let kind = global.kind(&source.objects);
            global_places.push((kind, globals.len() as u16));
            global.write(&mut globals);
        }
        let code: usize = source.functions.iter().map(Function::bytes).sum();
        let objects: usize = source.objects.iter().map(Object::bytes).sum();
        let bytes = code + objects + globals.len() * CELL_BYTES;
        let layouts = source.functions.iter().map(FrameLayout::new).collect();
        let targets = targets.into_iter().map(Linked::from).collect();
        Self { targets, globals, global_places, layouts, bytes, source }
    }

    /// The hash by which it is known: of its source, dialect and compiler.
    #[must_use]
    pub const fn hash(&self) -> [u8; 32] {
        self.source.hash
    }

    /// The rules of its values.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.source.dialect
    }

    /// Logical memory of code, constants and globals.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its functions and handlers.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.source.functions
    }

    /// Its states.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.source.states
    }

    /// The functions of the library that it calls.
    #[must_use]
    pub fn imports(&self) -> &[Import] {
        &self.source.imports
    }

    /// Constants: strings, keys and lists.
    #[must_use]
    pub fn constants(&self) -> &[Object] {
        &self.source.objects
    }

    /// The number of a state.
    #[must_use]
    pub fn state_named(&self, name: &str) -> Option<u16> {
        self.source.states.iter().position(|state| state.name == name).map(|index| index as u16)
    }
}

impl Global {
    /// Its kind. The constant exists.
    pub(crate) fn kind(&self, objects: &[Object]) -> Kind {
        match self {
            Self::Plain(value) => value.kind(),
            Self::Empty(kind) => *kind,
            Self::Constant(index) => object_kind(&objects[*index as usize]),
        }
    }

    fn write(&self, cells: &mut Vec<u64>) {
        use crate::cell::{EMPTY, Referent, of_integer};
        match self {
            Self::Plain(Value::Integer(value)) => cells.push(of_integer(*value)),
            Self::Plain(Value::Float(value)) => cells.push(value.to_bits()),
            Self::Plain(Value::Vector(value)) => cells.extend([value.x, value.y, value.z].map(f64::to_bits)),
            Self::Plain(Value::Rotation(value)) => {
                cells.extend([value.x, value.y, value.z, value.s].map(f64::to_bits));
            }
            Self::Plain(Value::Text(_) | Value::Key(_) | Value::List(_)) => {
                panic!("objects are constants, as checked before")
            }
            Self::Empty(_) => cells.push(EMPTY),
            Self::Constant(index) => cells.push(Referent::Constant(*index).cell()),
        }
    }
}

/// The kind of registers that refer to an object.
pub(crate) const fn object_kind(object: &Object) -> Kind {
    match object {
        Object::Text(_) => Kind::Text,
        Object::Key(_) => Kind::Key,
        Object::List(_) => Kind::List,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::Op;

    fn function(n_instructions: usize) -> Function {
        let end = Instruction { op: Op::Return, a: 0, b: 0, c: 0 };
        let place = |line| Place { line, column: 1 };
        Function {
            name: "f".to_owned(),
            registers: vec![Kind::Text, Kind::Vector, Kind::List],
            n_parameters: 2,
            result: None,
            code: vec![end; n_instructions],
            lines: vec![LineEntry { from: 1, place: place(3) }, LineEntry { from: 4, place: place(5) }],
        }
    }

    #[test]
    fn code_counts_in_steps() {
        for (n, bytes) in [(0, 0), (1, 512), (128, 512), (129, 1_024)] {
            assert_eq!(function(n).bytes(), bytes, "{n}");
        }
    }

    #[test]
    fn lines_are_those_of_the_last_entry_before() {
        let function = function(9);
        for (pc, line) in [(0, None), (1, Some(3)), (3, Some(3)), (4, Some(5)), (8, Some(5))] {
            assert_eq!(function.place(pc).map(|place| place.line), line, "{pc}");
        }
    }

    #[test]
    fn frames_know_their_references() {
        let layout = FrameLayout::new(&function(1));
        assert_eq!((layout.n_cells, layout.n_argument_cells), (5, 4));
        assert_eq!(layout.references, [0, 4]);
    }
}
