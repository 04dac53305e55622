//! Lists that are built and grow. A list with one reference, that of a temporary register or of the variable itself, grows in place.

use super::function::{Destination, FunctionCompiler};
use super::operand::{Goal, Held, Operand};
use crate::operators::BinaryOp;
use crate::syntax::{ExprId, ExprKind, Place};
use crate::types::Type;
use script::builder::Register;
use script::instruction::Op;
use script::{Element, Kind, Value};

impl FunctionCompiler<'_> {
    /// `(list)value`
    pub(super) fn list_of(&mut self, value: Operand, ty: Type, goal: Option<Goal>) -> Operand {
        let (list, result) = self.fresh(Kind::List, goal);
        self.code.op(Op::ClearReference, [list]);
        self.push(list, value, ty);
        result
    }

    /// `list + right`
    pub(super) fn append(&mut self, list: Operand, right: Operand, ty: Type, goal: Option<Goal>) -> Operand {
        if let Operand::Temporary { register, .. } = list {
            self.push(register, right, ty);
            return list;
        }
        let (right, ty) = element_of(right, ty);
        if ty == Type::List {
            let (left, right) = (self.hold(list), self.hold(right));
            return self.two(Op::ConcatList, Kind::List, goal, left, right);
        }
        let (whole, result) = self.fresh(Kind::List, goal);
        self.put(whole, list);
        self.push(whole, right, ty);
        result
    }

    /// `left + list`, where `left` is none.
    pub(super) fn prepend(&mut self, left: Operand, ty: Type, list: Operand, goal: Option<Goal>) -> Operand {
        let (whole, result) = self.fresh(Kind::List, goal);
        self.code.op(Op::ClearReference, [whole]);
        self.push(whole, left, ty);
        self.push(whole, list, Type::List);
        result
    }

    /// `list += value` of a register with a list: an element, or all elements of a list.
    pub(super) fn push(&mut self, list: Register, value: Operand, ty: Type) {
        let (value, ty) = element_of(value, ty);
        let held = self.hold(value);
        self.push_held(list, held, ty);
    }

    /// `variable += value`: the value of a list variable is changed in place.
    pub(super) fn append_to(&mut self, target: Destination, value: Operand, ty: Type) -> Operand {
        match target {
            Destination::Global(global) => {
                let (value, ty) = element_of(value, ty);
                // Before the list is taken, since the value may be the list.
                let held = self.hold(value);
                let list = self.code.register(Kind::List);
                self.code.take(list, global);
                self.push_held(list, held, ty);
                self.code.put(global, list);
                self.code.release(list);
            }
            Destination::Local(list) | Destination::Component(list) => self.push(list, value, ty),
        }
        target.operand()
    }

    fn push_held(&mut self, list: Register, held: Held, ty: Type) {
        let op = match ty {
            Type::Integer => Op::PushInteger,
            Type::Float => Op::PushFloat,
            Type::String => Op::PushText,
            Type::Key => Op::PushKey,
            Type::Vector => Op::PushVector,
            Type::Rotation => Op::PushRotation,
            Type::List => Op::AppendList,
            Type::Void => unreachable!("elements have a value"),
        };
        self.code.op(op, [list, held.register]);
        self.release(held);
    }

    /// The expression that an assignment appends to its list variable: that of `l += x`, and of `l = l + x`.
    pub(super) fn appended(&self, op: Option<BinaryOp>, place: Place, value: ExprId) -> Option<ExprId> {
        if self.type_of_place(place) != Type::List {
            return None;
        }
        let unit = self.unit;
        let kind_of = |id| unit.script().expr(unit.without_parens(id)).kind;
        match op {
            Some(BinaryOp::Add) => Some(self.single(value)),
            None => {
                let ExprKind::Binary(BinaryOp::Add, left, right) = kind_of(value) else { return None };
                let ExprKind::Place(added) = kind_of(left) else { return None };
                // Constants of the library have no declaration.
                let is_same = added.component.is_none()
                    && !unit.is_constant(left)
                    && unit.symbol(added.variable) == unit.symbol(place.variable);
                is_same.then(|| self.single(right))
            }
            Some(_) => None,
        }
    }

    /// The element of a list that is written with one element; otherwise the expression.
    pub(super) fn single(&self, id: ExprId) -> ExprId {
        let inner = self.unit.without_parens(id);
        let ExprKind::List(list) = self.unit.script().expr(inner).kind else { return id };
        match self.unit.script().expr_list(list) {
            [element] if !self.unit.is_constant(inner) => *element,
            _ => id,
        }
    }
}

/// The element of a constant list with one.
fn element_of(operand: Operand, ty: Type) -> (Operand, Type) {
    match operand {
        Operand::Constant(Value::List(list)) => match list.as_slice() {
            [element] => {
                let (value, ty) = value_of(element);
                (Operand::Constant(value), ty)
            }
            _ => (Operand::Constant(Value::List(list)), ty),
        },
        operand => (operand, ty),
    }
}

fn value_of(element: &Element) -> (Value, Type) {
    match element {
        Element::Integer(value) => (Value::Integer(*value), Type::Integer),
        Element::Float(value) => (Value::Float(*value), Type::Float),
        Element::Text(text) => (Value::Text(text.clone()), Type::String),
        Element::Key(key) => (Value::Key(key.clone()), Type::Key),
        Element::Vector(vector) => (Value::Vector(*vector), Type::Vector),
        Element::Rotation(rotation) => (Value::Rotation(**rotation), Type::Rotation),
    }
}
