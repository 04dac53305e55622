//! Casts, conversions, operators of one value, and values as conditions.

use super::function::FunctionCompiler;
use super::operand::{Goal, Held, Operand};
use super::unit::kind;
use crate::operators::UnaryOp;
use crate::syntax::{ExprId, ExprKind};
use crate::types::Type;
use script::builder::Label;
use script::instruction::Op;
use script::{Kind, Value, convert};

impl FunctionCompiler<'_> {
    /// A value of one type as one of another, by a cast or a conversion that exists. A value of the type itself stays where it is.
    pub(super) fn cast(&mut self, operand: Operand, from: Type, to: Type, goal: Option<Goal>) -> Operand {
        let op = match (from, to) {
            _ if from == to => return operand,
            (_, Type::List) => return self.list_of(operand, from, goal),
            (Type::Integer, Type::Float) => match operand {
                Operand::Constant(Value::Integer(value)) => {
                    return Operand::Constant(Value::Float(f64::from(value)));
                }
                _ => Op::IntegerToFloat,
            },
            (Type::String, Type::Key) => match operand {
                Operand::Constant(Value::Text(text)) => return Operand::Constant(Value::Key(text.into())),
                _ => Op::TextToKey,
            },
            (Type::Float, Type::Integer) => Op::FloatToInteger,
            (Type::Integer, Type::String) => Op::IntegerToText,
            (Type::Float, Type::String) => Op::FloatToText,
            (Type::Vector, Type::String) => Op::VectorToText,
            (Type::Rotation, Type::String) => Op::RotationToText,
            (Type::Key, Type::String) => Op::KeyToText,
            (Type::List, Type::String) => Op::ListToText,
            (Type::String, Type::Integer) => Op::TextToInteger,
            (Type::String, Type::Float) => Op::TextToFloat,
            (Type::String, Type::Vector) => Op::TextToVector,
            (Type::String, Type::Rotation) => Op::TextToRotation,
            _ => unreachable!("{from} is not cast to {to}, as checked before"),
        };
        let value = self.hold(operand);
        self.one(op, kind(to), goal, value)
    }

    /// `op value`
    pub(super) fn unary(&mut self, op: UnaryOp, operand: Operand, ty: Type, goal: Option<Goal>) -> Operand {
        let op = match (op, ty) {
            (UnaryOp::Not, _) => Op::Not,
            (UnaryOp::BitNot, _) => Op::Complement,
            (UnaryOp::Negate, Type::Float) => Op::NegateFloat,
            (UnaryOp::Negate, Type::Vector) => Op::NegateVector,
            (UnaryOp::Negate, Type::Rotation) => Op::NegateRotation,
            (UnaryOp::Negate, _) => Op::NegateInteger,
        };
        let value = self.hold(operand);
        self.one(op, kind(ty), goal, value)
    }

    /// Continues at a label if a condition is true, or if it is false.
    pub(super) fn jump_if(&mut self, condition: ExprId, is_true: bool, to: Label) {
        let (condition, is_true) = self.without_not(condition, is_true);
        let operand = self.expression(condition, None);
        if let Operand::Constant(value) = &operand {
            if truth(value) == is_true {
                self.code.jump(to);
            }
            return;
        }
        let held = self.tested(operand, self.unit.type_of(condition));
        if is_true {
            self.code.jump_if(held.register, to);
        } else {
            self.code.jump_if_not(held.register, to);
        }
        self.release(held);
    }

    /// True if a condition is known to be true.
    pub(super) fn is_always_true(&self, condition: ExprId) -> bool {
        let (condition, is_true) = self.without_not(condition, true);
        self.unit.constant(condition).is_some_and(|value| truth(&value) == is_true)
    }

    /// A condition without the parentheses and negations around it. Each negation exchanges true and false.
    fn without_not(&self, mut id: ExprId, mut is_true: bool) -> (ExprId, bool) {
        while !self.unit.is_constant(id) {
            id = match self.unit.script().expr(id).kind {
                ExprKind::Paren(inner) => inner,
                ExprKind::Unary(UnaryOp::Not, inner) => {
                    is_true = !is_true;
                    inner
                }
                _ => break,
            };
        }
        (id, is_true)
    }

    /// An integer that is zero for values that are false.
    fn tested(&mut self, operand: Operand, ty: Type) -> Held {
        let op = match ty {
            Type::Float => Op::TestFloat,
            Type::String => Op::TestText,
            Type::Key => Op::TestKey,
            Type::List => Op::TestList,
            Type::Vector => Op::TestVector,
            Type::Rotation => Op::TestRotation,
            Type::Integer | Type::Void => return self.hold(operand),
        };
        let value = self.hold(operand);
        let tested = self.one(op, Kind::Integer, None, value);
        self.hold(tested)
    }
}

/// A constant as a condition.
fn truth(value: &Value) -> bool {
    match value {
        Value::Integer(value) => *value != 0,
        Value::Float(value) => convert::float_is_true(*value),
        Value::Text(text) => !text.is_empty(),
        Value::Key(key) => key.is_true(),
        Value::List(list) => !list.is_empty(),
        Value::Vector(vector) => convert::vector_is_true(*vector),
        Value::Rotation(rotation) => convert::rotation_is_true(*rotation),
    }
}
