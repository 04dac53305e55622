//! Small programs.

use super::host::library;
use crate::builder::{Code, ProgramBuilder, Register};
use crate::dialect::Dialect;
use crate::event::EventKind;
use crate::instruction::Op;
use crate::kind::{Kind, Value};
use crate::program::Program;

/// A program whose `state_entry` is `code`.
pub(crate) fn entry(dialect: Dialect, code: impl FnOnce(&mut Code<'_>)) -> Program {
    let mut program = ProgramBuilder::new([7; 32], dialect);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut entry = program.code(handler);
    code(&mut entry);
    entry.op(Op::Return, []);
    entry.finish();
    program.finish(&library()).expect("a program that fits")
}

/// Says a register as a string.
pub(crate) fn say(code: &mut Code<'_>, register: Register) {
    let row = code.row(&[Kind::Text]);
    match register.kind() {
        Kind::Integer => code.op(Op::IntegerToText, [row[0], register]),
        Kind::Float => code.op(Op::FloatToText, [row[0], register]),
        Kind::Text => code.op(Op::CopyReference, [row[0], register]),
        Kind::Key => code.op(Op::KeyToText, [row[0], register]),
        Kind::List => code.op(Op::ListToText, [row[0], register]),
        Kind::Vector => code.op(Op::VectorToText, [row[0], register]),
        Kind::Rotation => code.op(Op::RotationToText, [row[0], register]),
    }
    code.call_library("llOwnerSay", &row, None);
    code.release_row(&row);
}

/// Loads a value into a new register.
pub(crate) fn load(code: &mut Code<'_>, value: impl Into<Value>) -> Register {
    let value = value.into();
    let register = code.register(value.kind());
    code.load(register, value);
    register
}

/// Counts its timer events in a global and appends each to a global list.
pub(crate) fn counter() -> Program {
    let mut program = ProgramBuilder::new([1; 32], Dialect::Sl);
    let count = program.global(0.into());
    let list = program.global(Value::zero(Kind::List));
    let name = program.global("counter".into());
    let state = program.state("default");
    let handler = program.handler(state, EventKind::TIMER);
    let mut code = program.code(handler);
    code.at(7, 3);
    let n = code.register(Kind::Integer);
    code.get(n, count);
    code.add_small(n, n, 1);
    code.set(count, n);
    let all = code.register(Kind::List);
    code.take(all, list);
    code.op(Op::PushInteger, [all, n]);
    code.put(list, all);
    let said = code.register(Kind::Text);
    code.get(said, name);
    code.at(8, 5);
    let length = code.row(&[Kind::List]);
    code.get(length[0], list);
    let words = code.register(Kind::Integer);
    code.call_library("llGetListLength", &length, Some(words));
    code.op(Op::Return, []);
    code.finish();
    program.finish(&crate::library::Library::new(&[])).expect("a program that fits")
}
