//! A function under compilation: its registers, and the ways of values between them.

use super::operand::{Goal, Held, Operand, Owner};
use super::unit::{Declared, Unit, kind};
use crate::check::SymbolId;
use crate::fault::Fault;
use crate::syntax::{ExprId, Place};
use crate::types::Type;
use crate::{Faults, Span};
use script::builder::{Code, GlobalRegister, Label, Register};
use script::instruction::Op;
use script::{Kind, Value};
use std::collections::HashMap;

/// A function, an event handler, or the values of global variables.
pub(super) struct FunctionCompiler<'c> {
    pub(super) unit: &'c Unit<'c>,
    pub(super) code: Code<'c>,
    pub(super) faults: &'c mut Faults,
    pub(super) locals: HashMap<SymbolId, Register>,
    pub(super) labels: HashMap<SymbolId, Label>,
    /// Variables of the open blocks. None in a function with labels, whose variables keep their registers: a jump may leave out a declaration, and the
    /// variable then has its default value.
    pub(super) in_scope: Vec<Register>,
    /// Type of the result.
    pub(super) returns: Type,
    /// Calls whose value replaces that of a list variable.
    pub(super) replaced: HashMap<u32, SymbolId>,
    /// The expression whose value is not used.
    pub(super) unused: Option<ExprId>,
}

/// A variable, or a component of one, where it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Destination {
    Local(Register),
    Component(Register),
    Global(GlobalRegister),
}

impl Destination {
    /// Its value, not read yet.
    pub(super) const fn operand(self) -> Operand {
        match self {
            Self::Local(register) => Operand::Local(register),
            Self::Component(register) => Operand::Component(register),
            Self::Global(global) => Operand::Global(global),
        }
    }
}

impl<'c> FunctionCompiler<'c> {
    pub(super) fn new(unit: &'c Unit<'c>, code: Code<'c>, faults: &'c mut Faults) -> Self {
        Self {
            unit,
            code,
            faults,
            locals: HashMap::new(),
            labels: HashMap::new(),
            in_scope: Vec::new(),
            returns: Type::Void,
            replaced: HashMap::new(),
            unused: None,
        }
    }

    /// The next instructions come from here.
    pub(super) fn at(&mut self, span: Span) {
        let (line, column) = self.unit.place(span);
        self.code.at(line, column);
    }

    pub(super) fn fault(&mut self, span: Span, fault: Fault) {
        self.faults.add(span, fault);
    }

    /// The variable of a place, which is no constant of the library.
    pub(super) fn target(&self, place: Place) -> Destination {
        let symbol = self.unit.symbol(place.variable);
        let component = place.component.map(|name| component_of(self.unit.script().name(name)));
        if let Some(&register) = self.locals.get(&symbol) {
            return match component {
                None => Destination::Local(register),
                Some(n) => Destination::Component(register.component(n)),
            };
        }
        let Some(Declared::Variable(global)) = self.unit.declared.get(&symbol) else {
            unreachable!("variables are local or global")
        };
        Destination::Global(component.map_or(*global, |n| global.component(n)))
    }

    /// The type of a place.
    pub(super) fn type_of_place(&self, place: Place) -> Type {
        match place.component {
            None => self.unit.type_of_symbol(self.unit.symbol(place.variable)),
            Some(_) => Type::Float,
        }
    }

    /// A register with the value.
    pub(super) fn hold(&mut self, operand: Operand) -> Held {
        match operand {
            Operand::Constant(value) => {
                let register = self.code.register(value.kind());
                self.code.load(register, value);
                Held { register, owner: Owner::Constant }
            }
            Operand::Local(register) | Operand::Component(register) => {
                Held { register, owner: Owner::Variable }
            }
            Operand::Global(global) => {
                let register = self.code.register(global.kind());
                self.code.get(register, global);
                Held { register, owner: Owner::Operand }
            }
            Operand::Temporary { register, .. } => Held { register, owner: Owner::Operand },
            Operand::Nothing | Operand::Placed { .. } => {
                unreachable!("a value that is used and has no register of its own")
            }
        }
    }

    /// A register with the value, floats as variables have them.
    pub(super) fn hold_rounded(&mut self, operand: Operand) -> Held {
        match operand {
            Operand::Constant(value) => self.hold(Operand::Constant(value.stored(self.unit.rules()))),
            Operand::Temporary { register, is_rounded } => {
                if !is_rounded {
                    self.code.op(Op::RoundFloat, [register, register]);
                }
                Held { register, owner: Owner::Operand }
            }
            operand => self.hold(operand),
        }
    }

    /// Gives up a register.
    pub(super) fn release(&mut self, held: Held) {
        match held.owner {
            Owner::Variable => {}
            Owner::Constant => self.code.release(held.register),
            Owner::Operand => {
                // Otherwise a list would have one reference more for as long as the function runs, and would be copied when it grows.
                if held.kind().is_reference() {
                    self.code.op(Op::ClearReference, [held.register]);
                }
                self.code.release(held.register);
            }
        }
    }

    /// Gives up a value that is not used.
    pub(super) fn discard(&mut self, operand: Operand) {
        if let Operand::Temporary { register, .. } = operand {
            self.release(Held { register, owner: Owner::Operand });
        }
    }

    /// Keeps a value from the effects of the expression that is evaluated next.
    pub(super) fn pin(&mut self, operand: Operand, next: ExprId) -> Operand {
        let is_changed = match operand {
            Operand::Local(_) | Operand::Component(_) => self.unit.effects.changes_locals(next),
            Operand::Global(_) => self.unit.effects.changes_globals(next),
            _ => false,
        };
        if is_changed { self.copied(operand) } else { operand }
    }

    /// The present value of a variable in a register of its own.
    pub(super) fn copied(&mut self, operand: Operand) -> Operand {
        let kind = match operand {
            Operand::Local(register) | Operand::Component(register) => register.kind(),
            Operand::Global(global) => global.kind(),
            operand => return operand,
        };
        let register = self.code.register(kind);
        self.put(register, operand);
        Operand::Temporary { register, is_rounded: true }
    }

    /// Puts a value, all bits of it, into a register of its kind.
    pub(super) fn put(&mut self, to: Register, operand: Operand) {
        match operand {
            Operand::Constant(value) => self.code.load(to, value),
            Operand::Local(from) | Operand::Component(from) if from == to => {}
            Operand::Local(from) | Operand::Component(from) => self.code.copy(to, from),
            Operand::Global(global) => self.code.get(to, global),
            Operand::Temporary { register, .. } => {
                if to.kind().is_reference() {
                    self.code.op(Op::MoveReference, [to, register]);
                } else {
                    self.code.copy(to, register);
                }
                self.code.release(register);
            }
            Operand::Placed { .. } => {}
            Operand::Nothing => unreachable!("a value is used"),
        }
    }

    /// Puts a value into a register of its kind, as variables have it.
    pub(super) fn put_rounded(&mut self, to: Register, operand: Operand) {
        match operand {
            Operand::Constant(value) => self.code.load(to, value.stored(self.unit.rules())),
            Operand::Temporary { register, is_rounded: false } => {
                self.code.op(Op::RoundFloat, [to, register]);
                self.code.release(register);
            }
            Operand::Placed { is_rounded: false } => self.code.op(Op::RoundFloat, [to, to]),
            operand => self.put(to, operand),
        }
    }

    /// Puts a value of one type into the register of a variable of another, to which it converts.
    pub(super) fn put_as(&mut self, to: Register, operand: Operand, from: Type, ty: Type) {
        let converted = self.cast(operand, from, ty, Some(Goal::variable(to)));
        self.put_rounded(to, converted);
    }

    /// A register for a value of a kind that is built in parts, and the operand that it will be.
    pub(super) fn fresh(&mut self, kind: Kind, goal: Option<Goal>) -> (Register, Operand) {
        match goal {
            Some(Goal { register, is_variable: false }) => (register, Operand::Placed { is_rounded: true }),
            _ => {
                let register = self.code.register(kind);
                (register, Operand::Temporary { register, is_rounded: true })
            }
        }
    }

    /// The register for the result of one instruction: the goal, that of an operand, or a new one.
    fn destination(&mut self, kind: Kind, goal: Option<Goal>, operands: &[Held]) -> (Register, Operand) {
        let is_rounded = kind != Kind::Float;
        if let Some(goal) = goal {
            return (goal.register, Operand::Placed { is_rounded });
        }
        let own = operands.iter().find(|held| held.owner != Owner::Variable && held.kind() == kind);
        let register = own.map_or_else(|| self.code.register(kind), |held| held.register);
        (register, Operand::Temporary { register, is_rounded })
    }

    fn release_except(&mut self, operands: &[Held], result: Register) {
        for &held in operands {
            if held.register != result {
                self.release(held);
            }
        }
    }

    /// An instruction with one operand. Float results are doubles.
    pub(super) fn one(&mut self, op: Op, kind: Kind, goal: Option<Goal>, value: Held) -> Operand {
        let (to, result) = self.destination(kind, goal, &[value]);
        self.code.op(op, [to, value.register]);
        self.release_except(&[value], to);
        result
    }

    /// An instruction with two operands. Float results are doubles.
    pub(super) fn two(&mut self, op: Op, kind: Kind, goal: Option<Goal>, left: Held, right: Held) -> Operand {
        let (to, result) = self.destination(kind, goal, &[left, right]);
        self.code.op(op, [to, left.register, right.register]);
        self.release_except(&[left, right], to);
        result
    }

    /// `value + number`
    pub(super) fn add_small(&mut self, goal: Option<Goal>, value: Held, number: i16) -> Operand {
        let (to, result) = self.destination(Kind::Integer, goal, &[value]);
        self.code.add_small(to, value.register, number);
        self.release_except(&[value], to);
        result
    }

    /// Loads the default value of a type.
    pub(super) fn clear(&mut self, register: Register, ty: Type) {
        self.code.load(register, Value::zero(kind(ty)));
    }
}

/// The number of a component.
fn component_of(name: &str) -> u16 {
    match name {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        _ => 3,
    }
}
