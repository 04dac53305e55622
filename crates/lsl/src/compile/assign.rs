//! Assignments, compound ones among these, and increments.
//!
//! An assignment yields the stored value, but that of a float to a local variable yields the double. `++x` is `x += 1`; `x++` yields the value before.

use super::binary::Typed;
use super::function::{Destination, FunctionCompiler};
use super::operand::{Goal, Operand};
use crate::operators::{self, BinaryOp};
use crate::syntax::{ExprId, Place};
use crate::types::Type;
use script::builder::{GlobalRegister, Register};
use script::instruction::Op;
use script::{Kind, Value};

impl FunctionCompiler<'_> {
    /// The goal for the value of `place = value`: the variable itself, if the value needs no conversion.
    pub(super) fn assignment_goal(&self, id: ExprId, place: Place, value_type: Type) -> Option<Goal> {
        let Destination::Local(register) = self.target(place) else { return None };
        let is_whole = self.type_of_place(place) == value_type;
        // A double that is used as well needs a register of its own.
        (is_whole && (value_type != Type::Float || self.unused == Some(id)))
            .then_some(Goal::variable(register))
    }

    /// `place op= value`, with the value that has been evaluated.
    pub(super) fn assignment(
        &mut self,
        id: ExprId,
        op: Option<BinaryOp>,
        place: Place,
        (value, value_type): Typed,
    ) -> Operand {
        let target = self.target(place);
        let ty = self.type_of_place(place);
        let is_used = self.unused != Some(id);
        match op {
            None => self.assign(target, ty, (value, value_type), is_used),
            Some(BinaryOp::Multiply) if (ty, value_type) == (Type::Integer, Type::Float) => {
                self.multiply_integer(target, value, is_used)
            }
            Some(op) => self.compound(id, op, place, (value, value_type)),
        }
    }

    /// `++x`, `x++`
    pub(super) fn increment(&mut self, id: ExprId, place: Place, by: i32, is_before: bool) -> Operand {
        let ty = self.type_of_place(place);
        let one = match ty {
            Type::Float => Value::Float(f64::from(by)),
            _ => Value::Integer(by),
        };
        let one = (Operand::Constant(one), ty);
        if is_before || self.unused == Some(id) {
            return self.compound(id, BinaryOp::Add, place, one);
        }
        let target = self.target(place);
        let before = self.copied(target.operand());
        let goal = match target {
            Destination::Local(register) => Some(Goal::variable(register)),
            _ => None,
        };
        let sum = self.binary(BinaryOp::Add, (target.operand(), ty), one, goal);
        let after = self.assign(target, ty, (sum, ty), false);
        self.discard(after);
        before
    }

    /// `place = place op value`
    fn compound(&mut self, id: ExprId, op: BinaryOp, place: Place, value: Typed) -> Operand {
        let target = self.target(place);
        let ty = self.type_of_place(place);
        let result = operators::binary(op, ty, value.1).expect("an operator that exists");
        let goal = self.assignment_goal(id, place, result);
        let sum = self.binary(op, (target.operand(), ty), value, goal);
        let is_used = self.unused != Some(id);
        self.assign(target, ty, (sum, result), is_used)
    }

    /// Stores a value, and yields what the assignment yields.
    pub(super) fn assign(
        &mut self,
        target: Destination,
        ty: Type,
        (value, value_type): Typed,
        is_used: bool,
    ) -> Operand {
        match target {
            Destination::Local(to) if ty == Type::Float && is_used => {
                let value = self.cast(value, value_type, ty, None);
                self.assign_double(to, value)
            }
            Destination::Local(to) | Destination::Component(to) => {
                self.put_as(to, value, value_type, ty);
                target.operand()
            }
            Destination::Global(global) => {
                let value = self.cast(value, value_type, ty, None);
                self.assign_global(global, value);
                target.operand()
            }
        }
    }

    /// Stores a float in a local variable and yields the double.
    fn assign_double(&mut self, to: Register, value: Operand) -> Operand {
        match value {
            Operand::Constant(value) => {
                self.code.load(to, value.clone().stored(self.unit.rules()));
                Operand::Constant(value)
            }
            Operand::Temporary { register, is_rounded: false } => {
                self.code.op(Op::RoundFloat, [to, register]);
                value
            }
            value => {
                self.put(to, value);
                Operand::Local(to)
            }
        }
    }

    fn assign_global(&mut self, global: GlobalRegister, value: Operand) {
        match value {
            Operand::Temporary { register, .. } if register.kind().is_reference() => {
                self.code.put(global, register);
                self.code.release(register);
            }
            value => {
                let held = self.hold_rounded(value);
                self.code.set(global, held.register);
                self.release(held);
            }
        }
    }

    /// `integer *= float`: it has no value.
    fn multiply_integer(&mut self, target: Destination, by: Operand, is_used: bool) -> Operand {
        let by = self.hold(by);
        let goal = match target {
            Destination::Local(register) => Some(Goal::variable(register)),
            _ => None,
        };
        let before = self.hold(target.operand());
        let product = self.two(Op::MultiplyIntegerByFloat, Kind::Integer, goal, before, by);
        let result = self.assign(target, Type::Integer, (product, Type::Integer), is_used);
        if is_used {
            self.code.op(Op::FailNoValue, []);
        }
        result
    }
}
