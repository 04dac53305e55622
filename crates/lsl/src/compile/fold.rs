//! Values that are known at compile time: literals, constants of the library, and the operators whose results do not depend on more.
//!
//! Operators of vectors and rotations, and casts between numbers and text, are left to the machine, so that there is one implementation of their rules.

use crate::Dialect;
use crate::check::{Analysis, SymbolId};
use crate::constant::{Calculator, Value};
use crate::library::Library;
use crate::operators::{BinaryOp, UnaryOp};
use crate::syntax::{ExprId, ExprKind, ExprList, Name, Script};
use crate::types::Type;
use std::collections::HashMap;

/// Computes the values of expressions from those of their operands.
pub(super) struct Folder<'a> {
    dialect: Dialect,
    analysis: &'a Analysis,
    calculator: Calculator,
    /// By expression. A value that has become a part of another one is gone.
    values: Vec<Option<Value>>,
    /// Initial values of global variables.
    globals: HashMap<SymbolId, Value>,
}

impl<'a> Folder<'a> {
    /// The values of all expressions of a script, without those of variables.
    pub(super) fn new(analysis: &'a Analysis, dialect: Dialect) -> Self {
        let n_exprs = analysis.script.exprs.len();
        let mut folder = Self {
            dialect,
            analysis,
            calculator: Calculator::new(dialect),
            values: vec![None; n_exprs],
            globals: HashMap::new(),
        };
        folder.fold(0, n_exprs as u32, false);
        folder
    }

    /// The values by expression.
    pub(super) fn into_values(self) -> Vec<Option<Value>> {
        self.values
    }

    /// The initial value of a global variable without an expression.
    pub(super) fn declare(&mut self, variable: SymbolId, ty: Type) -> Option<Value> {
        let value = Value::default_of(ty)?;
        self.globals.insert(variable, value.clone());
        Some(value)
    }

    /// The initial value of a global variable, from those of former ones. `None` if only the machine can compute it.
    pub(super) fn define(&mut self, variable: SymbolId, ty: Type, root: ExprId) -> Option<Value> {
        let first = self.script().first_node(root);
        self.fold(first.0, root.0 + 1, true);
        let value = self.values[root.0 as usize].take();
        let value = value.and_then(|value| self.calculator.variable(&value, ty));
        match &value {
            Some(value) => {
                self.globals.insert(variable, value.clone());
            }
            // Functions that it calls may change the variables that it reads.
            None => self.fold(first.0, root.0 + 1, false),
        }
        value
    }

    const fn script(&self) -> &'a Script {
        &self.analysis.script
    }

    fn fold(&mut self, from: u32, to: u32, reads_globals: bool) {
        for id in from..to {
            self.values[id as usize] = self.value(ExprId(id), reads_globals);
        }
    }

    fn value(&mut self, id: ExprId, reads_globals: bool) -> Option<Value> {
        let script = self.script();
        match script.expr(id).kind {
            ExprKind::Integer(value) => Some(Value::Integer(value)),
            ExprKind::Float(value) => Some(Value::Float(self.calculator.stored(value))),
            ExprKind::Text(index) => Some(Value::Text((*script.texts[index as usize]).into())),
            ExprKind::Place(place) if place.component.is_none() => {
                self.variable(place.variable, reads_globals)
            }
            ExprKind::Paren(inner) => self.take(inner),
            ExprKind::Unary(op, inner) => {
                let value = self.unary(op, inner)?;
                self.take(inner);
                Some(value)
            }
            ExprKind::Binary(op, left, right) => {
                let value = self.binary(op, left, right)?;
                self.take(left);
                self.take(right);
                Some(value)
            }
            ExprKind::Cast(to, inner) => self.cast(inner, to),
            ExprKind::List(list) => self.list(list),
            ExprKind::Vector(parts) => self.parts(parts).map(Value::Vector),
            ExprKind::Rotation(parts) => self.parts(parts).map(Value::Rotation),
            ExprKind::Place(_)
            | ExprKind::Assign(..)
            | ExprKind::PreAdd(..)
            | ExprKind::PostAdd(..)
            | ExprKind::Call(..)
            | ExprKind::Print(_) => None,
        }
    }

    fn get(&self, id: ExprId) -> Option<&Value> {
        self.values[id.0 as usize].as_ref()
    }

    fn take(&mut self, id: ExprId) -> Option<Value> {
        self.values[id.0 as usize].take()
    }

    /// A constant of the library, or a global variable.
    fn variable(&self, name: Name, reads_globals: bool) -> Option<Value> {
        if let Some(constant) = Library::get().constant(self.script().name(name), self.dialect) {
            return Some(self.calculator.library(constant));
        }
        let symbol = self.analysis.resolved.get(&name.span.start).filter(|_| reads_globals)?;
        self.globals.get(symbol).cloned()
    }

    fn unary(&self, op: UnaryOp, inner: ExprId) -> Option<Value> {
        self.calculator.unary(op, self.get(inner)?)
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Option<Value> {
        let [left, right] = [left, right].map(|id| self.values[id.0 as usize].as_ref());
        let (left, right) = (left?, right?);
        let is_known = match (left, right) {
            (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => true,
            (Value::Text(_), Value::Text(_)) | (Value::List(_), Value::List(_)) => op == BinaryOp::Add,
            _ => false,
        };
        if !is_known {
            return None;
        }
        let value = self.calculator.binary(op, left, right);
        // The bits of a NaN differ between processors.
        value.filter(|value| !matches!(value, Value::Float(value) if value.is_nan()))
    }

    fn cast(&mut self, inner: ExprId, to: Type) -> Option<Value> {
        let is_same = self.analysis.types[inner.0 as usize] == Some(to);
        let float = match self.get(inner)? {
            Value::Integer(value) if to == Type::Float => Some(Value::Float(f64::from(*value))),
            _ => None,
        };
        let value = if is_same || float.is_some() { self.take(inner) } else { None };
        float.or(value)
    }

    fn list(&mut self, list: ExprList) -> Option<Value> {
        let ids = self.script().expr_list(list);
        if !ids.iter().all(|&id| self.get(id).is_some()) {
            return None;
        }
        let elements: Option<Vec<Value>> = ids
            .iter()
            .map(|&id| {
                let element = self.take(id)?;
                Some(self.calculator.element(element))
            })
            .collect();
        elements.map(|elements| Value::List(elements.into()))
    }

    fn parts<const N: usize>(&mut self, ids: [ExprId; N]) -> Option<[f64; N]> {
        let mut parts = [0.0; N];
        for (part, &id) in parts.iter_mut().zip(&ids) {
            *part = self.calculator.stored(self.get(id)?.number()?);
        }
        for &id in &ids {
            self.take(id);
        }
        Some(parts)
    }
}
