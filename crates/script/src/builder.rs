//! Construction of programs: an assembler with registers and labels, for compilers and tests.
//!
//! # Rules for compilers
//!
//! - The order of evaluation is the compiler's: the right operand of a binary operator first, arguments, elements and
//!   components from left to right.
//! - A register has one kind for the whole function. [`Code::register`] hands one out, [`Code::release`] returns it for later use with the same kind. A
//!   register that is handed out again has its old value.
//! - Cells of a new frame are zero: integers, floats and vectors are zero, strings, keys and lists empty. A rotation has to be loaded.
//! - Registers with references own them. `CopyReference` adds a reference, `MoveReference` leaves an empty register. A list whose only reference is in the
//!   register is changed in place by `Push…`, `AppendList` and the functions of the library; so take a list out of a global (`TakeReference`),
//!   change it, and put it back (`PutReference`).
//! - Float operators yield doubles. `RoundFloat` makes of a double what a variable, parameter, result, component or list element is (float32 in `sl`); it has to
//!   precede each store, call and return. Arguments of library functions, elements by `PushFloat`, and vector operators are rounded by the machine.
//! - A vector is built by `RoundFloat` into its components ([`Register::component`]), an assigned component is one of these, too.
//! - `>` and `>=` are `<` and `<=` with exchanged registers; `&&` and `||` are `Both` and `Either` of integers, after `Test…`.
//! - Arguments of a call are a row of registers ([`Code::row`]). References among them are moved into the callee, so that the row can be used again.
//! - Fuel is checked at jumps backwards, calls, returns and operations on lengths. Every loop has a jump backwards, so that no other check is needed.

use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::heap::Object;
use crate::instruction::{Instruction, Op};
use crate::kind::{Kind, Value};
use crate::library::Library;
use crate::program::{Function, Global, Import, LineEntry, Place, Program, ProgramSource, State};
use crate::verify::{ProgramError, verify};
use std::collections::BTreeMap;

/// A program under construction.
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    source: ProgramSource,
    n_global_cells: usize,
}

/// A register of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    cell: u16,
    kind: Kind,
}

/// A global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalRegister(Register);

/// A function, which may be called before it has code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionId(u16);

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(u16);

/// A place in a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

impl Register {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// A component of a vector or a rotation, from 0, as a register.
    ///
    /// # Panics
    ///
    /// If it has no such component.
    #[must_use]
    pub fn component(self, n: u16) -> Self {
        assert!(
            usize::from(n) < self.kind.n_cells() && self.kind.n_cells() > 1,
            "a component of {:?}",
            self.kind
        );
        Self { cell: self.cell.wrapping_add(n), kind: Kind::Float }
    }
}

impl From<Register> for u16 {
    fn from(register: Register) -> Self {
        register.cell
    }
}

impl GlobalRegister {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// A component of a vector or a rotation, from 0.
    ///
    /// # Panics
    ///
    /// If it has no such component.
    #[must_use]
    pub fn component(self, n: u16) -> Self {
        Self(self.0.component(n))
    }
}

impl ProgramBuilder {
    /// An empty program. `hash` is that of source, dialect and compiler.
    #[must_use]
    pub const fn new(hash: [u8; 32], dialect: Dialect) -> Self {
        let source = ProgramSource {
            hash,
            dialect,
            floats: Vec::new(),
            objects: Vec::new(),
            globals: Vec::new(),
            imports: Vec::new(),
            functions: Vec::new(),
            states: Vec::new(),
        };
        Self { source, n_global_cells: 0 }
    }

    /// Adds a global variable with its initial value.
    pub fn global(&mut self, initial: Value) -> GlobalRegister {
        let kind = initial.kind();
        // Beyond the limit the cell's number is wrong, and the program is refused at the end.
        let register = Register { cell: self.n_global_cells as u16, kind };
        self.n_global_cells += kind.n_cells();
        let global = match initial.stored(self.source.dialect) {
            value if value == Value::zero(kind) && kind.is_reference() => Global::Empty(kind),
            Value::Text(text) => Global::Constant(self.object(Object::Text(text))),
            Value::Key(key) => Global::Constant(self.object(Object::Key(key))),
            Value::List(list) => Global::Constant(self.object(Object::List(list))),
            value => Global::Plain(value),
        };
        self.source.globals.push(global);
        GlobalRegister(register)
    }

    /// Adds a function without code.
    pub fn function(&mut self, name: &str, parameters: &[Kind], result: Option<Kind>) -> FunctionId {
        let id = FunctionId(self.source.functions.len() as u16);
        self.source.functions.push(Function {
            name: name.to_owned(),
            registers: parameters.to_vec(),
            n_parameters: parameters.len() as u16,
            result,
            code: Vec::new(),
            lines: Vec::new(),
        });
        id
    }

    /// Adds a state. The first one is that in which scripts begin.
    pub fn state(&mut self, name: &str) -> StateId {
        let id = StateId(self.source.states.len() as u16);
        self.source.states.push(State { name: name.to_owned(), handlers: Vec::new() });
        id
    }

    /// Adds a handler to a state: a function with the event's parameters and without a result.
    pub fn handler(&mut self, state: StateId, event: EventKind) -> FunctionId {
        let name = format!("{}.{}", self.source.states[usize::from(state.0)].name, event.name());
        let id = self.function(&name, event.parameters(), None);
        let handlers = &mut self.source.states[usize::from(state.0)].handlers;
        let at = handlers.partition_point(|(kind, _)| *kind < event);
        handlers.insert(at, (event, id.0));
        id
    }

    /// Begins the code of a function. It ends with [`Code::finish`].
    #[must_use]
    pub fn code(&mut self, of: FunctionId) -> Code<'_> {
        let registers = self.source.functions[usize::from(of.0)].registers.clone();
        let n_cells = Kind::cells_of(&registers);
        Code {
            program: self,
            function: of,
            registers,
            n_cells,
            code: Vec::new(),
            lines: Vec::new(),
            labels: Vec::new(),
            jumps: Vec::new(),
            free: BTreeMap::new(),
        }
    }

    /// The program, checked.
    ///
    /// # Errors
    ///
    /// If it does not fit together, or the library lacks a function.
    pub fn finish(self, library: &Library) -> Result<Program, ProgramError> {
        verify(self.source, library)
    }

    fn object(&mut self, object: Object) -> u32 {
        let found = self.source.objects.iter().position(|other| *other == object);
        let index = found.unwrap_or_else(|| {
            self.source.objects.push(object);
            self.source.objects.len() - 1
        });
        index as u32
    }

    fn floats(&mut self, floats: &[f64]) -> u32 {
        let is_same = |window: &[f64]| window.iter().zip(floats).all(|(a, b)| a.to_bits() == b.to_bits());
        let found = self.source.floats.windows(floats.len()).position(is_same);
        let index = found.unwrap_or_else(|| {
            self.source.floats.extend_from_slice(floats);
            self.source.floats.len() - floats.len()
        });
        index as u32
    }

    fn import(&mut self, import: Import) -> u16 {
        let found = self.source.imports.iter().position(|other| *other == import);
        let index = found.unwrap_or_else(|| {
            self.source.imports.push(import);
            self.source.imports.len() - 1
        });
        index as u16
    }
}

/// The code of one function under construction.
#[derive(Debug)]
pub struct Code<'a> {
    program: &'a mut ProgramBuilder,
    function: FunctionId,
    registers: Vec<Kind>,
    n_cells: usize,
    code: Vec<Instruction>,
    lines: Vec<LineEntry>,
    /// Places of labels that are bound.
    labels: Vec<Option<u32>>,
    /// Jumps to be completed.
    jumps: Vec<(usize, Label)>,
    /// First cells of rows for later use, by their kinds.
    free: BTreeMap<Vec<Kind>, Vec<u16>>,
}

impl Code<'_> {
    /// The registers of the parameters.
    #[must_use]
    pub fn parameters(&self) -> Vec<Register> {
        let function = &self.program.source.functions[usize::from(self.function.0)];
        row_of(0, function.parameters())
    }

    /// A register.
    pub fn register(&mut self, kind: Kind) -> Register {
        self.row(&[kind])[0]
    }

    /// Registers that follow each other, for the arguments of a call.
    pub fn row(&mut self, kinds: &[Kind]) -> Vec<Register> {
        let cell = self.free.get_mut(kinds).and_then(Vec::pop).unwrap_or_else(|| {
            let cell = self.n_cells;
            self.registers.extend_from_slice(kinds);
            self.n_cells += Kind::cells_of(kinds);
            // Beyond the limit the number is wrong, and the program is refused at the end.
            cell as u16
        });
        row_of(cell, kinds)
    }

    /// Returns a register for later use.
    pub fn release(&mut self, register: Register) {
        self.release_row(&[register]);
    }

    /// Returns registers that follow each other for later use.
    pub fn release_row(&mut self, row: &[Register]) {
        let Some(first) = row.first() else { return };
        let kinds = row.iter().map(|register| register.kind).collect();
        self.free.entry(kinds).or_default().push(first.cell);
    }

    /// The next instructions come from a place in the source.
    pub fn at(&mut self, line: u32, column: u32) {
        let entry = LineEntry { from: self.code.len() as u32, place: Place { line, column } };
        match self.lines.last_mut() {
            Some(last) if last.place == entry.place => {}
            Some(last) if last.from == entry.from => *last = entry,
            _ => self.lines.push(entry),
        }
    }

    /// Adds an instruction. Missing operands are zero.
    pub fn op<const N: usize>(&mut self, op: Op, operands: [Register; N]) {
        let number = |n: usize| operands.get(n).map_or(0, |register| register.cell);
        self.code.push(Instruction { op, a: number(0), b: number(1), c: number(2) });
    }

    /// `to = from + number`
    pub fn add_small(&mut self, to: Register, from: Register, number: i16) {
        let (a, b, c) = (to.cell, from.cell, number.cast_unsigned());
        self.code.push(Instruction { op: Op::AddSmall, a, b, c });
    }

    /// Loads a constant. Floats keep all bits.
    pub fn load(&mut self, to: Register, value: Value) {
        let (op, number) = match value {
            value if value.kind().is_reference() && value == Value::zero(value.kind()) => {
                return self.op(Op::ClearReference, [to]);
            }
            Value::Integer(value) => (Op::LoadInteger, value.cast_unsigned()),
            Value::Float(value) => (Op::LoadFloat, self.program.floats(&[value])),
            Value::Vector(value) => (Op::LoadVector, self.program.floats(&[value.x, value.y, value.z])),
            Value::Rotation(value) => {
                (Op::LoadRotation, self.program.floats(&[value.x, value.y, value.z, value.s]))
            }
            Value::Text(text) => (Op::LoadReference, self.program.object(Object::Text(text))),
            Value::Key(key) => (Op::LoadReference, self.program.object(Object::Key(key))),
            Value::List(list) => (Op::LoadReference, self.program.object(Object::List(list))),
        };
        self.code.push(Instruction::wide(op, to.cell, number));
    }

    /// `to = from`, of one kind. Floats keep all bits.
    pub fn copy(&mut self, to: Register, from: Register) {
        let op = match to.kind {
            Kind::Integer => Op::CopyInteger,
            Kind::Float => Op::CopyFloat,
            Kind::Vector => Op::CopyVector,
            Kind::Rotation => Op::CopyRotation,
            Kind::Text | Kind::Key | Kind::List => Op::CopyReference,
        };
        self.op(op, [to, from]);
    }

    /// Reads a global.
    pub fn get(&mut self, to: Register, global: GlobalRegister) {
        let op = match global.kind() {
            Kind::Integer => Op::GetInteger,
            Kind::Float => Op::GetFloat,
            Kind::Vector => Op::GetVector,
            Kind::Rotation => Op::GetRotation,
            Kind::Text | Kind::Key | Kind::List => Op::GetReference,
        };
        self.op(op, [to, global.0]);
    }

    /// Writes a global. Floats keep all bits.
    pub fn set(&mut self, global: GlobalRegister, from: Register) {
        let op = match global.kind() {
            Kind::Integer => Op::SetInteger,
            Kind::Float => Op::SetFloat,
            Kind::Vector => Op::SetVector,
            Kind::Rotation => Op::SetRotation,
            Kind::Text | Kind::Key | Kind::List => Op::SetReference,
        };
        self.op(op, [from, global.0]);
    }

    /// Moves a reference out of a global.
    pub fn take(&mut self, to: Register, global: GlobalRegister) {
        self.op(Op::TakeReference, [to, global.0]);
    }

    /// Moves a reference into a global.
    pub fn put(&mut self, global: GlobalRegister, from: Register) {
        self.op(Op::PutReference, [from, global.0]);
    }

    /// A label without a place.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len() as u32);
    }

    /// Continues at a label.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.code.push(Instruction::jump(0));
    }

    /// Continues at a label if an integer is not zero.
    pub fn jump_if(&mut self, condition: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.code.push(Instruction::wide(Op::JumpIf, condition.cell, 0));
    }

    /// Continues at a label if an integer is zero.
    pub fn jump_if_not(&mut self, condition: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.code.push(Instruction::wide(Op::JumpIfNot, condition.cell, 0));
    }

    /// Calls a function with a row of arguments. A result needs a register, also if it is not used.
    pub fn call(&mut self, function: FunctionId, arguments: &[Register], result: Option<Register>) {
        let cell = |register: Option<&Register>| register.map_or(0, |register| register.cell);
        let (a, c) = (cell(arguments.first()), cell(result.as_ref()));
        self.code.push(Instruction { op: Op::Call, a, b: function.0, c });
    }

    /// Calls a function of the library with a row of arguments. A result needs a register, also if it is not used.
    pub fn call_library(&mut self, name: &str, arguments: &[Register], result: Option<Register>) {
        let parameters = arguments.iter().map(|register| register.kind).collect();
        let import = Import { name: name.to_owned(), parameters, result: result.map(Register::kind) };
        let cell = |register: Option<&Register>| register.map_or(0, |register| register.cell);
        let (a, c) = (cell(arguments.first()), cell(result.as_ref()));
        let b = self.program.import(import);
        self.code.push(Instruction { op: Op::CallImport, a, b, c });
    }

    /// Ends the event with a change of state.
    pub fn change_state(&mut self, to: StateId) {
        self.code.push(Instruction { op: Op::ChangeState, a: to.0, b: 0, c: 0 });
    }

    /// True if the code, as it is, could run beyond its end.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_end =
            |op| matches!(op, Op::Jump | Op::Return | Op::ReturnValue | Op::ChangeState | Op::FailNoValue);
        let is_target = self.labels.contains(&Some(self.code.len() as u32));
        is_target || self.code.last().is_none_or(|last| !is_end(last.op))
    }

    /// Ends the code.
    ///
    /// # Panics
    ///
    /// If a label to which there is a jump was not bound: a fault of the compiler.
    pub fn finish(self) {
        let Self { program, function, registers, mut code, lines, labels, jumps, .. } = self;
        for (at, label) in jumps {
            let target = labels[label.0].expect("a label that was bound");
            let jump = code[at];
            code[at] = match jump.op {
                Op::Jump => Instruction::jump(target),
                op => Instruction::wide(op, jump.a, target),
            };
        }
        let function = &mut program.source.functions[usize::from(function.0)];
        (function.registers, function.code, function.lines) = (registers, code, lines);
    }
}

fn row_of(cell: u16, kinds: &[Kind]) -> Vec<Register> {
    let mut cell = cell;
    let register = |&kind: &Kind| {
        let register = Register { cell, kind };
        cell = cell.wrapping_add(kind.n_cells() as u16);
        register
    };
    kinds.iter().map(register).collect()
}

#[cfg(test)]
mod tests;
