//! Code of one function under construction.

use super::{FunctionId, GlobalRegister, Label, ProgramBuilder, Register, StateId};
use crate::heap::Object;
use crate::instruction::{Instruction, Op};
use crate::kind::{Kind, Value};
use crate::library::Import;
use crate::program::{LineEntry, Place};
use std::collections::BTreeMap;

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

impl<'a> Code<'a> {
    /// The code of a function without instructions.
    pub(super) fn new(program: &'a mut ProgramBuilder, function: FunctionId) -> Self {
        let registers = program.source.functions[usize::from(function.0)].registers.clone();
        Self {
            program,
            function,
            n_cells: Kind::cells_of(&registers),
            registers,
            code: Vec::new(),
            lines: Vec::new(),
            labels: Vec::new(),
            jumps: Vec::new(),
            free: BTreeMap::new(),
        }
    }
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
