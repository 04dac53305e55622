//! Types of expressions. All nodes of an expression are checked in the order of their tables, operands before operators, without recursion.

use super::Checker;
use super::names::Kind;
use crate::fault::Fault;
use crate::library::Library;
use crate::operators::{self, BinaryOp, UnaryOp};
use crate::syntax::{Expr, ExprId, ExprKind, ExprList, Global, Name, Place};
use crate::types::Type;

/// A variable as it is used.
#[derive(Clone, Copy)]
struct Used {
    ty: Type,
    /// A constant of the library.
    is_constant: bool,
}

impl Checker<'_> {
    /// Checks an expression and everything in it.
    pub(super) fn expression(&mut self, root: ExprId) {
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.clear();
        nodes.push(root);
        let mut next = 0;
        while let Some(&id) = nodes.get(next) {
            next += 1;
            match &self.script.expr(id).kind {
                ExprKind::List(list) | ExprKind::Call(_, list) => nodes.extend(self.script.expr_list(*list)),
                ExprKind::Vector(parts) => nodes.extend(parts),
                ExprKind::Rotation(parts) => nodes.extend(parts),
                ExprKind::Binary(_, left, right) => nodes.extend([*left, *right]),
                ExprKind::Unary(_, inner)
                | ExprKind::Assign(_, _, inner)
                | ExprKind::Cast(_, inner)
                | ExprKind::Print(inner)
                | ExprKind::Paren(inner) => nodes.push(*inner),
                ExprKind::Integer(_)
                | ExprKind::Float(_)
                | ExprKind::Text(_)
                | ExprKind::Place(_)
                | ExprKind::PreAdd(..)
                | ExprKind::PostAdd(..) => {}
            }
        }
        nodes.sort_unstable_by_key(|id| id.0);
        for &id in &nodes {
            let ty = self.node(*self.script.expr(id));
            self.types[id.0 as usize] = ty;
        }
        self.nodes = nodes;
    }

    /// The type of a node, whose operands are checked; `None` after a fault.
    fn node(&mut self, expr: Expr) -> Option<Type> {
        match expr.kind {
            ExprKind::Integer(_) => Some(Type::Integer),
            ExprKind::Float(_) => Some(Type::Float),
            ExprKind::Text(_) => Some(Type::String),
            ExprKind::Place(place) => self.place(place).map(|used| used.ty),
            ExprKind::List(list) => {
                self.list(list);
                Some(Type::List)
            }
            ExprKind::Vector(parts) => self.components(Type::Vector, &parts),
            ExprKind::Rotation(parts) => self.components(Type::Rotation, &parts),
            ExprKind::Unary(op, value) => {
                let value = self.type_of(value)?;
                let op_str = match op {
                    UnaryOp::Negate => "-",
                    UnaryOp::Not => "!",
                    UnaryOp::BitNot => "~",
                };
                let ty = operators::unary(op, value);
                if ty.is_none() {
                    self.fault(expr.span, Fault::UnaryOperator { op: op_str, value });
                }
                ty
            }
            ExprKind::Binary(op, left, right) => self.binary(expr, op, left, right),
            ExprKind::Assign(op, place, value) => self.assign(expr, op, place, value),
            ExprKind::PreAdd(place, by) | ExprKind::PostAdd(place, by) => {
                let ty = self.assigned(place)?;
                if matches!(ty, Type::Integer | Type::Float) {
                    return Some(ty);
                }
                let op = if by > 0 { "++" } else { "--" };
                self.fault(expr.span, Fault::UnaryOperator { op, value: ty });
                None
            }
            ExprKind::Cast(to, value) => {
                let from = self.type_of(value)?;
                if !from.casts_to(to) {
                    self.fault(expr.span, Fault::Cast { from, to });
                }
                Some(to)
            }
            ExprKind::Call(function, arguments) => self.call(function, arguments),
            ExprKind::Print(value) => {
                if self.type_of(value) == Some(Type::Void) {
                    self.fault(expr.span, Fault::NoValue);
                }
                Some(Type::Void)
            }
            ExprKind::Paren(inner) => self.type_of(inner),
        }
    }

    fn list(&mut self, list: ExprList) {
        for &id in self.script.expr_list(list) {
            let span = self.script.expr(id).span;
            match self.type_of(id) {
                Some(Type::List) => self.fault(span, Fault::ListInList),
                Some(Type::Void) => self.fault(span, Fault::NoValue),
                _ => {}
            }
        }
    }

    fn components(&mut self, whole: Type, parts: &[ExprId]) -> Option<Type> {
        for (number, &part) in (1..).zip(parts) {
            if let Some(found) = self.type_of(part).filter(|ty| !ty.converts_to(Type::Float)) {
                self.fault(self.script.expr(part).span, Fault::ComponentType { whole, number, found });
                break;
            }
        }
        Some(whole)
    }

    fn binary(&mut self, expr: Expr, op: BinaryOp, left_id: ExprId, right_id: ExprId) -> Option<Type> {
        let (left, right) = (self.type_of(left_id)?, self.type_of(right_id)?);
        let ty = operators::binary(op, left, right);
        if ty.is_none() {
            self.fault(expr.span, Fault::Operator { left, op: op.as_str(), right });
        }
        let is_comparison = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
        if is_comparison
            && left == Type::List
            && ![left_id, right_id].iter().any(|&id| self.is_empty_list(id))
        {
            self.fault(expr.span, Fault::ListComparison);
        }
        ty
    }

    /// True for `[]`, with which lists are compared for their length.
    fn is_empty_list(&self, id: ExprId) -> bool {
        let inner = self.script.without_parens(id);
        matches!(self.script.expr(inner).kind, ExprKind::List(list) if self.script.expr_list(list).is_empty())
    }

    fn assign(&mut self, expr: Expr, op: Option<BinaryOp>, place: Place, value: ExprId) -> Option<Type> {
        let wanted = self.assigned(place);
        let found = self.type_of(value);
        let (wanted, found) = (wanted?, found?);
        match op {
            None if !found.converts_to(wanted) => {
                let name = self.script.name(place.variable).to_owned();
                self.fault(expr.span, Fault::Assignment { name, wanted, found });
                return None;
            }
            Some(op) if !operators::assigns(op, wanted, found) => {
                self.fault(expr.span, Fault::Operator { left: wanted, op: op.as_str(), right: found });
                return None;
            }
            Some(BinaryOp::Multiply) if (wanted, found) == (Type::Integer, Type::Float) => {
                self.fault(expr.span, Fault::IntegerTimesFloat);
            }
            _ => {}
        }
        Some(wanted)
    }

    /// The type of a place that is assigned to.
    fn assigned(&mut self, place: Place) -> Option<Type> {
        let Used { ty, is_constant } = self.place(place)?;
        if is_constant {
            let name = self.script.name(place.variable).to_owned();
            self.fault(place.variable.span, Fault::ConstantAssigned(name));
            return None;
        }
        Some(ty)
    }

    fn variable(&mut self, name: Name) -> Option<Used> {
        if let Some(constant) = Library::get().constant(self.script.name(name), self.dialect) {
            return Some(Used { ty: constant.ty, is_constant: true });
        }
        let symbol = self.resolve(name, Kind::Variable)?;
        Some(Used { ty: self.scopes.symbol(symbol).ty, is_constant: false })
    }

    /// The type of a variable or of its component.
    fn place(&mut self, place: Place) -> Option<Used> {
        let used = self.variable(place.variable)?;
        let Some(component) = place.component else { return Some(used) };
        let text = self.script.name(component);
        let reason = match (used.is_constant, used.ty) {
            (true, _) => Some("a constant has no components"),
            (_, Type::Vector) if matches!(text, "x" | "y" | "z") => None,
            (_, Type::Rotation) if matches!(text, "x" | "y" | "z" | "s") => None,
            (_, Type::Vector) => Some("a vector has x, y and z"),
            (_, Type::Rotation) => Some("a rotation has x, y, z and s"),
            _ => Some("it is neither a vector nor a rotation"),
        };
        if let Some(reason) = reason {
            let name = self.script.name(place.variable).to_owned();
            self.fault(component.span, Fault::Component { name, component: text.to_owned(), reason });
            return None;
        }
        Some(Used { ty: Type::Float, ..used })
    }

    fn call(&mut self, function: Name, arguments: ExprList) -> Option<Type> {
        let name = self.script.name(function);
        if let Some(of_library) = Library::get().function(name, self.dialect) {
            if of_library.is_deprecated {
                let instead = of_library.instead.map(str::to_owned);
                self.fault(function.span, Fault::Deprecated { name: name.to_owned(), instead });
            }
            let parameters = of_library.parameters.iter().map(|parameter| (parameter.ty, parameter.name));
            self.arguments(function, &parameters.collect::<Vec<_>>(), arguments);
            return Some(of_library.returns);
        }
        let symbol = self.resolve(function, Kind::Function)?;
        let index = self.scopes.symbol(symbol).function?;
        let script = self.script;
        let Global::Function(declared) = &script.globals[index] else { return None };
        let parameters = declared.parameters.iter().map(|one| (one.ty, script.name(one.name)));
        self.arguments(function, &parameters.collect::<Vec<_>>(), arguments);
        Some(declared.returns)
    }

    fn arguments(&mut self, function: Name, parameters: &[(Type, &str)], arguments: ExprList) {
        let script = self.script;
        let arguments = script.expr_list(arguments);
        let name = || script.name(function).to_owned();
        for (number, (&(wanted, parameter), &argument)) in (1..).zip(parameters.iter().zip(arguments)) {
            let Some(found) = self.type_of(argument).filter(|found| !found.converts_to(wanted)) else {
                continue;
            };
            let parameter = parameter.to_owned();
            let fault = Fault::Argument { function: name(), number, parameter, wanted, found };
            self.fault(script.expr(argument).span, fault);
            return;
        }
        let (wanted, found) = (parameters.len(), arguments.len());
        if wanted != found {
            self.fault(function.span, Fault::ArgumentCount { function: name(), wanted, found });
        }
    }
}
