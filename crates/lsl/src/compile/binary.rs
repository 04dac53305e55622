//! Operators of two values, which are both evaluated.

use super::function::FunctionCompiler;
use super::operand::{Goal, Operand};
use crate::operators::BinaryOp;
use crate::types::Type;
use script::instruction::Op;
use script::{Kind, Value};

/// A value with its type.
pub(super) type Typed = (Operand, Type);

impl FunctionCompiler<'_> {
    /// `left op right`, of types for which the operator exists. Float results are doubles.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        (left, left_type): Typed,
        (right, right_type): Typed,
        goal: Option<Goal>,
    ) -> Operand {
        match (op, left_type, right_type) {
            (BinaryOp::Add, Type::List, _) => self.append(left, right, right_type, goal),
            (BinaryOp::Add, _, Type::List) => self.prepend(left, left_type, right, goal),
            (_, Type::Integer, Type::Integer) => self.integers(op, left, right, goal),
            (_, Type::Vector, Type::Rotation) => {
                let op = if op == BinaryOp::Divide { Op::RotateVectorBack } else { Op::RotateVector };
                self.instruction(op, Kind::Vector, left, right, goal)
            }
            (_, Type::Vector, Type::Integer | Type::Float) => {
                let by = self.cast(right, right_type, Type::Float, None);
                let op = if op == BinaryOp::Divide { Op::DivideVector } else { Op::ScaleVector };
                self.instruction(op, Kind::Vector, left, by, goal)
            }
            (_, Type::Integer | Type::Float, Type::Vector) => {
                let by = self.cast(left, left_type, Type::Float, None);
                self.instruction(Op::ScaleVector, Kind::Vector, right, by, goal)
            }
            _ if left_type == right_type => self.alike(op, left_type, left, right, goal),
            _ => {
                // Integers with floats as floats, keys with strings as strings.
                let ty = if left_type.is_number() { Type::Float } else { Type::String };
                let left = self.cast(left, left_type, ty, None);
                let right = self.cast(right, right_type, ty, None);
                self.alike(op, ty, left, right, goal)
            }
        }
    }

    fn instruction(
        &mut self,
        op: Op,
        kind: Kind,
        left: Operand,
        right: Operand,
        goal: Option<Goal>,
    ) -> Operand {
        let (left, right) = (self.hold(left), self.hold(right));
        self.two(op, kind, goal, left, right)
    }

    /// Values of one type, which is not integer.
    fn alike(
        &mut self,
        op: BinaryOp,
        ty: Type,
        left: Operand,
        right: Operand,
        goal: Option<Goal>,
    ) -> Operand {
        let (op, left, right) = exchanged(op, left, right);
        let (op, kind) = instruction_of(op, ty);
        self.instruction(op, kind, left, right, goal)
    }

    fn integers(&mut self, op: BinaryOp, left: Operand, right: Operand, goal: Option<Goal>) -> Operand {
        let small = match op {
            BinaryOp::Add => {
                small(&right, 1).map(|n| (true, n)).or_else(|| small(&left, 1).map(|n| (false, n)))
            }
            BinaryOp::Subtract => small(&right, -1).map(|n| (true, n)),
            _ => None,
        };
        if let Some((is_right, number)) = small {
            let value = self.hold(if is_right { left } else { right });
            return self.add_small(goal, value, number);
        }
        let (op, left, right) = exchanged(op, left, right);
        let op = match op {
            BinaryOp::Add => Op::AddInteger,
            BinaryOp::Subtract => Op::SubtractInteger,
            BinaryOp::Multiply => Op::MultiplyInteger,
            BinaryOp::Divide => Op::DivideInteger,
            BinaryOp::Remainder => Op::RemainderInteger,
            BinaryOp::Equal => Op::EqualInteger,
            BinaryOp::NotEqual => Op::UnequalInteger,
            BinaryOp::Less | BinaryOp::Greater => Op::LessInteger,
            BinaryOp::LessEqual | BinaryOp::GreaterEqual => Op::LessOrEqualInteger,
            BinaryOp::BitAnd => Op::AndInteger,
            BinaryOp::BitOr => Op::OrInteger,
            BinaryOp::BitXor => Op::XorInteger,
            BinaryOp::And => Op::Both,
            BinaryOp::Or => Op::Either,
            BinaryOp::ShiftLeft => Op::ShiftLeft,
            BinaryOp::ShiftRight => Op::ShiftRight,
        };
        self.instruction(op, Kind::Integer, left, right, goal)
    }
}

/// `left > right` as `right < left`. Both are evaluated already.
fn exchanged(op: BinaryOp, left: Operand, right: Operand) -> (BinaryOp, Operand, Operand) {
    match op {
        BinaryOp::Greater => (BinaryOp::Less, right, left),
        BinaryOp::GreaterEqual => (BinaryOp::LessEqual, right, left),
        op => (op, left, right),
    }
}

/// A constant times 1 or −1, if an instruction has room for it.
fn small(operand: &Operand, sign: i32) -> Option<i16> {
    match operand {
        Operand::Constant(Value::Integer(value)) => i16::try_from(value.wrapping_mul(sign)).ok(),
        _ => None,
    }
}

/// The instruction for values of one type, which is not integer, and the kind of its result.
fn instruction_of(op: BinaryOp, ty: Type) -> (Op, Kind) {
    use BinaryOp as B;
    match (ty, op) {
        (Type::Float, B::Add) => (Op::AddFloat, Kind::Float),
        (Type::Float, B::Subtract) => (Op::SubtractFloat, Kind::Float),
        (Type::Float, B::Multiply) => (Op::MultiplyFloat, Kind::Float),
        (Type::Float, B::Divide) => (Op::DivideFloat, Kind::Float),
        (Type::Float, B::Equal) => (Op::EqualFloat, Kind::Integer),
        (Type::Float, B::NotEqual) => (Op::UnequalFloat, Kind::Integer),
        (Type::Float, B::Less) => (Op::LessFloat, Kind::Integer),
        (Type::Float, B::LessEqual) => (Op::LessOrEqualFloat, Kind::Integer),
        (Type::String, B::Add) => (Op::ConcatText, Kind::Text),
        (Type::String, B::Equal) => (Op::EqualText, Kind::Integer),
        (Type::String, B::NotEqual) => (Op::UnequalText, Kind::Integer),
        (Type::Key, B::Equal) => (Op::EqualKey, Kind::Integer),
        (Type::Key, B::NotEqual) => (Op::UnequalKey, Kind::Integer),
        (Type::List, B::Equal) => (Op::EqualList, Kind::Integer),
        (Type::List, B::NotEqual) => (Op::UnequalList, Kind::Integer),
        (Type::Vector, B::Add) => (Op::AddVector, Kind::Vector),
        (Type::Vector, B::Subtract) => (Op::SubtractVector, Kind::Vector),
        (Type::Vector, B::Multiply) => (Op::DotVector, Kind::Float),
        (Type::Vector, B::Remainder) => (Op::CrossVector, Kind::Vector),
        (Type::Vector, B::Equal) => (Op::EqualVector, Kind::Integer),
        (Type::Vector, B::NotEqual) => (Op::UnequalVector, Kind::Integer),
        (Type::Rotation, B::Add) => (Op::AddRotation, Kind::Rotation),
        (Type::Rotation, B::Subtract) => (Op::SubtractRotation, Kind::Rotation),
        (Type::Rotation, B::Multiply) => (Op::MultiplyRotation, Kind::Rotation),
        (Type::Rotation, B::Divide) => (Op::DivideRotation, Kind::Rotation),
        (Type::Rotation, B::Equal) => (Op::EqualRotation, Kind::Integer),
        (Type::Rotation, B::NotEqual) => (Op::UnequalRotation, Kind::Integer),
        _ => unreachable!("there is no {ty} {} {ty}, as checked before", op.as_str()),
    }
}
