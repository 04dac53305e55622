//! Values of constant expressions, and the warnings that they give: constant conditions and division by zero.
//!
//! Constant are literals, constants of the library, local variables that keep the value of their declaration, and operators and casts of all these. A
//! global variable is none: as a setting at the head of a script it is there to be edited.

use super::Checker;
use super::names::{Known, SymbolId};
use super::statement::Condition;
use crate::constant::{Calculator, Value};
use crate::fault::Fault;
use crate::library::Library;
use crate::operators::BinaryOp;
use crate::syntax::{ExprId, ExprKind, ExprList, Place};

/// Values of the expressions so far, each until its operator takes it.
struct Values {
    of_exprs: Vec<Option<Value>>,
    calculator: Calculator,
}

impl Values {
    fn get(&self, id: ExprId) -> Option<&Value> {
        self.of_exprs[id.0 as usize].as_ref()
    }

    fn take(&mut self, id: ExprId) -> Option<Value> {
        self.of_exprs[id.0 as usize].take()
    }

    /// The components of a vector or a rotation.
    fn parts<const N: usize>(&mut self, ids: [ExprId; N]) -> Option<[f64; N]> {
        let mut parts = [0.0; N];
        for (part, id) in parts.iter_mut().zip(ids) {
            let number = self.take(id)?.number()?;
            *part = self.calculator.stored(number);
        }
        Some(parts)
    }
}

impl Checker<'_> {
    /// Warns of what constants show. All expressions are checked, so that all assignments are known.
    pub(super) fn constants(&mut self) {
        let calculator = Calculator::new(self.dialect);
        let mut values = Values { of_exprs: vec![None; self.script.exprs.len()], calculator };
        for index in 0..self.script.exprs.len() {
            // The others are at fault, or part of what could not be read.
            if self.types[index].is_some() {
                values.of_exprs[index] = self.value(ExprId(index as u32), &mut values);
            }
        }
        for Condition { value, may_be_true } in std::mem::take(&mut self.conditions) {
            let truth = values.get(value).and_then(Value::truth);
            if let Some(truth) = truth.filter(|truth| !(may_be_true && *truth)) {
                self.fault(self.script.expr(value).span, Fault::ConstantCondition(truth));
            }
        }
    }

    /// The value of an expression from those of its operands.
    fn value(&mut self, id: ExprId, values: &mut Values) -> Option<Value> {
        let script = self.script;
        match script.expr(id).kind {
            ExprKind::Integer(value) => Some(Value::Integer(value)),
            ExprKind::Float(value) => Some(Value::Float(values.calculator.stored(value))),
            ExprKind::Text(index) => Some(Value::Text((*script.texts[index as usize]).into())),
            ExprKind::Place(place) => self.place_value(self.variables[id.0 as usize], place, values),
            ExprKind::List(list) => self.list_value(list, values),
            ExprKind::Vector(parts) => values.parts(parts).map(Value::Vector),
            ExprKind::Rotation(parts) => values.parts(parts).map(Value::Rotation),
            ExprKind::Unary(op, value) => {
                let value = values.take(value)?;
                values.calculator.unary(op, &value)
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (values.take(left), values.take(right)?);
                self.check_divisor(id, op, &right);
                values.calculator.binary(op, &left?, &right)
            }
            ExprKind::Assign(op, _, value) => {
                let value = values.take(value)?;
                if let Some(op) = op {
                    self.check_divisor(id, op, &value);
                }
                None
            }
            ExprKind::Cast(to, value) => {
                let value = values.take(value)?;
                values.calculator.cast(&value, to)
            }
            ExprKind::Paren(inner) => values.take(inner),
            ExprKind::PreAdd(..) | ExprKind::PostAdd(..) | ExprKind::Call(..) | ExprKind::Print(_) => None,
        }
    }

    /// The value of a variable or a constant of the library, or of its component.
    fn place_value(&self, variable: Option<SymbolId>, place: Place, values: &mut Values) -> Option<Value> {
        let whole = match variable {
            None => {
                let constant = Library::get().constant(self.script.name(place.variable), self.dialect)?;
                values.calculator.library(constant)
            }
            Some(symbol) => {
                let symbol = self.scopes.symbol(symbol);
                match symbol.known {
                    Known::Nothing => return None,
                    Known::Default => Value::default_of(symbol.ty)?,
                    Known::Value(id) => {
                        let value = values.get(id)?.clone();
                        values.calculator.variable(&value, symbol.ty)?
                    }
                }
            }
        };
        match place.component {
            None => Some(whole),
            Some(component) => whole.component(self.script.name(component)),
        }
    }

    fn list_value(&self, list: ExprList, values: &mut Values) -> Option<Value> {
        let elements = self.script.expr_list(list).iter().map(|&id| {
            let element = values.take(id)?;
            Some(values.calculator.element(element))
        });
        elements.collect::<Option<Vec<_>>>().map(|elements| Value::List(elements.into()))
    }

    fn check_divisor(&mut self, id: ExprId, op: BinaryOp, divisor: &Value) {
        if matches!(op, BinaryOp::Divide | BinaryOp::Remainder) && divisor.is_zero() {
            self.fault(self.script.expr(id).span, Fault::DivisionByZero);
        }
    }
}
