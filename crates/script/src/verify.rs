//! The check of a program: every index, kind, place and arity, once, so that the machine relies on them.
//!
//! There is no analysis of the flow. Registers have fixed kinds and always a value (cells of a new frame are zero, which is a value of every kind), and a
//! register with a reference always owns it; so an instruction whose operands fit is safe wherever it stands, and so is every place at which a restored
//! script continues.

use crate::instruction::{Instruction, Op, Operand};
use crate::kind::{Kind, Value};
use crate::library::{Library, Target};
use crate::program::{Function, Global, Program, ProgramSource, State, object_kind};
use record::RecordError;

/// Cells of a frame, and of all globals, at most: they have numbers of 16 bits.
pub const CELLS_MAX: usize = 1 << 16;

/// Arguments of all calls in a program, at most. A source of 1 MiB has fewer; a few functions with very many parameters and many calls of them would take
/// minutes to check.
pub const ARGUMENTS_MAX: usize = 1 << 22;

/// Reason for which there is no program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The bytes are no program.
    #[error("program: {0}")]
    Bytes(#[from] RecordError),
    /// An instruction does not fit.
    #[error("program: instruction {pc} of `{function}`: {why}")]
    Instruction {
        /// The function's name.
        function: String,
        /// The instruction's place.
        pc: usize,
        /// The fault.
        why: &'static str,
    },
    /// Another part does not fit.
    #[error("program: `{part}`: {why}")]
    Part {
        /// Its name.
        part: String,
        /// The fault.
        why: &'static str,
    },
    /// The library has no such function, or one with other kinds.
    #[error("program: function `{name}` with these types is unknown")]
    UnknownFunction {
        /// Its name.
        name: String,
    },
}

/// Checks a program.
pub(crate) fn verify(source: ProgramSource, library: &Library) -> Result<Program, ProgramError> {
    let imports = source.imports.iter();
    let targets = imports.map(|import| {
        library.resolve(import).ok_or_else(|| ProgramError::UnknownFunction { name: import.name.clone() })
    });
    let targets = targets.collect::<Result<Vec<Target>, ProgramError>>()?;
    let globals = global_cells(&source)?;
    for (name, n) in
        [("functions", source.functions.len()), ("imports", targets.len()), ("states", source.states.len())]
    {
        check(n <= usize::from(u16::MAX), name, "too many of them")?;
    }
    check(!source.states.is_empty(), "states", "there is none")?;
    check(n_arguments(&source) <= ARGUMENTS_MAX, "functions", "too many arguments of calls")?;
    for state in &source.states {
        check_state(state, &source)?;
    }
    for function in &source.functions {
        check_function(function, &source, &globals)?;
    }
    Ok(Program::new(source, targets))
}

/// Number of arguments of all calls, also of those that do not fit.
fn n_arguments(source: &ProgramSource) -> usize {
    let code = source.functions.iter().flat_map(|function| &function.code);
    let arguments = code.map(|instruction| {
        let callee = usize::from(instruction.b);
        match instruction.op {
            Op::Call => source.functions.get(callee).map_or(0, |callee| usize::from(callee.n_parameters)),
            Op::CallImport => source.imports.get(callee).map_or(0, |import| import.parameters.len()),
            _ => 0,
        }
    });
    arguments.sum()
}

fn check(is_right: bool, part: &str, why: &'static str) -> Result<(), ProgramError> {
    if is_right { Ok(()) } else { Err(ProgramError::Part { part: part.to_owned(), why }) }
}

/// Kinds by cell: that of the register which begins there, and float for other components.
#[derive(Debug)]
struct CellKinds {
    starts: Vec<Option<Kind>>,
    /// True for components of vectors and rotations, the first ones included.
    components: Vec<bool>,
}

impl CellKinds {
    fn new(kinds: impl IntoIterator<Item = Kind>) -> Option<Self> {
        let mut cells = Self { starts: Vec::new(), components: Vec::new() };
        for kind in kinds {
            let n = kind.n_cells();
            cells.starts.push(Some(kind));
            cells.starts.resize(cells.starts.len() + n - 1, None);
            cells.components.resize(cells.starts.len(), n > 1);
            if cells.starts.len() > CELLS_MAX {
                return None;
            }
        }
        Some(cells)
    }

    fn at(&self, cell: u16) -> Option<Kind> {
        self.starts.get(usize::from(cell)).copied().flatten()
    }

    fn is(&self, cell: u16, kind: Kind) -> bool {
        let is_component = kind == Kind::Float && self.components.get(usize::from(cell)) == Some(&true);
        is_component || self.at(cell) == Some(kind)
    }

    /// True if registers of these kinds follow each other from a cell on.
    fn has_row(&self, cell: u16, kinds: &[Kind]) -> bool {
        let mut at = usize::from(cell);
        kinds.iter().all(|&kind| {
            let is_there = self.starts.get(at) == Some(&Some(kind));
            at += kind.n_cells();
            is_there
        })
    }
}

fn global_cells(source: &ProgramSource) -> Result<CellKinds, ProgramError> {
    for global in &source.globals {
        let is_right = match global {
            Global::Plain(value) => !value.kind().is_reference(),
            Global::Empty(kind) => kind.is_reference(),
            Global::Constant(index) => (*index as usize) < source.objects.len(),
        };
        check(is_right, "globals", "an initial value does not fit")?;
        if let Global::Plain(value) = global {
            let is_stored = same_bits(value, &value.clone().stored(source.dialect));
            check(is_stored, "globals", "a float has more bits than a variable")?;
        }
    }
    let kinds = source.globals.iter().map(|global| global.kind(&source.objects));
    let cells = CellKinds::new(kinds);
    cells.ok_or_else(|| ProgramError::Part { part: "globals".to_owned(), why: "too many cells" })
}

fn same_bits(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
        // A NaN is equal to none, and so a constant without one.
        (left, right) => left == right,
    }
}

fn check_state(state: &State, source: &ProgramSource) -> Result<(), ProgramError> {
    let is_sorted = state.handlers.is_sorted_by(|left, right| left.0 < right.0);
    check(is_sorted, &state.name, "handlers are not in order")?;
    for &(kind, function) in &state.handlers {
        check(kind.exists(), &state.name, "an event does not exist")?;
        let Some(function) = source.functions.get(usize::from(function)) else {
            return check(false, &state.name, "a handler does not exist");
        };
        let has_parameters = function.registers.get(..usize::from(function.n_parameters));
        let is_right = has_parameters == Some(kind.parameters()) && function.result.is_none();
        check(is_right, &state.name, "a handler has other parameters than its event, or a result")?;
    }
    Ok(())
}

fn check_function(
    function: &Function,
    source: &ProgramSource,
    globals: &CellKinds,
) -> Result<(), ProgramError> {
    let name = &function.name;
    check(
        usize::from(function.n_parameters) <= function.registers.len(),
        name,
        "more parameters than registers",
    )?;
    let Some(registers) = CellKinds::new(function.registers.iter().copied()) else {
        return check(false, name, "too many cells");
    };
    check(u32::try_from(function.code.len()).is_ok(), name, "too much code")?;
    let ends = function.code.last().is_some_and(|last| {
        matches!(last.op, Op::Jump | Op::Return | Op::ReturnValue | Op::ChangeState | Op::FailNoValue)
    });
    check(ends, name, "the code has no end")?;
    let is_sorted = function.lines.is_sorted_by(|left, right| left.from < right.from);
    check(is_sorted, name, "lines are not in order")?;
    let checker = Checker { function, source, globals, registers };
    for (pc, instruction) in function.code.iter().enumerate() {
        checker.check(*instruction).map_err(|why| ProgramError::Instruction {
            function: name.clone(),
            pc,
            why,
        })?;
    }
    Ok(())
}

#[derive(Debug)]
struct Checker<'a> {
    function: &'a Function,
    source: &'a ProgramSource,
    globals: &'a CellKinds,
    registers: CellKinds,
}

impl Checker<'_> {
    fn check(&self, instruction: Instruction) -> Result<(), &'static str> {
        let Instruction { op, a, b, c } = instruction;
        let numbers = [a, b, c];
        // The kind that all references of the instruction have.
        let mut reference = None;
        let mut result = None;
        for (n, operand) in op.operands().into_iter().enumerate() {
            let number = numbers[n];
            // Meaningful only for operands of 32 bits, which are never last.
            let wide = u32::from(number) | u32::from(numbers.get(n + 1).copied().unwrap_or(0)) << 16;
            let is_register =
                |kind| self.registers.is(number, kind).then_some(()).ok_or("a register of another type");
            let is_global =
                |kind| self.globals.is(number, kind).then_some(()).ok_or("a global of another type");
            match operand {
                Operand::None => (number == 0).then_some(()).ok_or("an operand without meaning")?,
                Operand::Integer => is_register(Kind::Integer)?,
                Operand::Float => is_register(Kind::Float)?,
                Operand::Text => is_register(Kind::Text)?,
                Operand::Key => is_register(Kind::Key)?,
                Operand::List => is_register(Kind::List)?,
                Operand::Vector => is_register(Kind::Vector)?,
                Operand::Rotation => is_register(Kind::Rotation)?,
                Operand::Reference => same_reference(&mut reference, self.registers.at(number))?,
                Operand::GlobalReference => same_reference(&mut reference, self.globals.at(number))?,
                Operand::ConstantReference => {
                    let object =
                        self.source.objects.get(wide as usize).ok_or("a constant that does not exist")?;
                    same_reference(&mut reference, Some(object_kind(object)))?;
                }
                Operand::Result => match self.function.result {
                    Some(kind) if self.registers.at(number) == Some(kind) => {}
                    _ => return Err("a result of another type"),
                },
                Operand::GlobalInteger => is_global(Kind::Integer)?,
                Operand::GlobalFloat => is_global(Kind::Float)?,
                Operand::GlobalVector => is_global(Kind::Vector)?,
                Operand::GlobalRotation => is_global(Kind::Rotation)?,
                Operand::Small | Operand::Wide | Operand::High | Operand::Arguments => {}
                Operand::ConstantFloat => self.has_floats(wide, 1)?,
                Operand::ConstantVector => self.has_floats(wide, 3)?,
                Operand::ConstantRotation => self.has_floats(wide, 4)?,
                Operand::Target => {
                    let is_inside = (wide as usize) < self.function.code.len();
                    is_inside.then_some(()).ok_or("a jump out of the function")?;
                }
                Operand::Function => {
                    let function = self.source.functions.get(usize::from(number));
                    let function = function.ok_or("a function that does not exist")?;
                    let parameters = function.registers.get(..usize::from(function.n_parameters));
                    self.has_arguments(a, parameters.ok_or("a function without its parameters")?)?;
                    result = Some(function.result);
                }
                Operand::Import => {
                    let import = self
                        .source
                        .imports
                        .get(usize::from(number))
                        .ok_or("an import that does not exist")?;
                    self.has_arguments(a, &import.parameters)?;
                    result = Some(import.result);
                }
                Operand::CallResult => match result.flatten() {
                    Some(kind) if self.registers.at(number) != Some(kind) => {
                        return Err("a result of another type");
                    }
                    None if number != 0 => return Err("a result of a function without one"),
                    _ => {}
                },
                Operand::State => {
                    let exists = usize::from(number) < self.source.states.len();
                    exists.then_some(()).ok_or("a state that does not exist")?;
                }
            }
        }
        let is_void = matches!(op, Op::Return) && self.function.result.is_some();
        (!is_void).then_some(()).ok_or("an end without the result")
    }

    fn has_floats(&self, index: u32, n: usize) -> Result<(), &'static str> {
        let exist = index as usize + n <= self.source.floats.len();
        exist.then_some(()).ok_or("a constant that does not exist")
    }

    fn has_arguments(&self, cell: u16, parameters: &[Kind]) -> Result<(), &'static str> {
        // A call without arguments names cell 0, of any kind.
        if parameters.is_empty() {
            return (cell == 0).then_some(()).ok_or("arguments of a function without any");
        }
        self.registers.has_row(cell, parameters).then_some(()).ok_or("arguments of other types")
    }
}

fn same_reference(reference: &mut Option<Kind>, kind: Option<Kind>) -> Result<(), &'static str> {
    let kind = kind.filter(|kind| kind.is_reference()).ok_or("a register or global of another type")?;
    if *reference.get_or_insert(kind) == kind { Ok(()) } else { Err("references of different types") }
}

#[cfg(test)]
mod tests;
