//! Types of expressions. All nodes of an expression are checked in the order of their table, operands before operators, without recursion.

use super::Checker;
use super::names::{Kind, Known, SymbolId};
use crate::fault::Fault;
use crate::library::Library;
use crate::operators::{self, BinaryOp, UnaryOp};
use crate::syntax::{Expr, ExprId, ExprKind, ExprList, Global, Name, Place};
use crate::types::Type;

/// A variable as it is used.
#[derive(Clone, Copy)]
struct Used {
    ty: Type,
    /// `None` for a constant of the library.
    variable: Option<SymbolId>,
}

impl Checker<'_> {
    /// Checks an expression and everything in it, operands before operators.
    pub(super) fn expression(&mut self, root: ExprId) {
        for node in self.script.first_node(root).0..=root.0 {
            self.types[node as usize] = self.node(ExprId(node));
        }
    }

    /// The type of a node, whose operands are checked; `None` after a fault.
    fn node(&mut self, id: ExprId) -> Option<Type> {
        let expr = *self.script.expr(id);
        match expr.kind {
            ExprKind::Integer(_) => Some(Type::Integer),
            ExprKind::Float(_) => Some(Type::Float),
            ExprKind::Text(_) => Some(Type::String),
            ExprKind::Place(place) => {
                let used = self.place(place)?;
                self.variables[id.0 as usize] = used.variable;
                Some(used.ty)
            }
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
                let name = self.shown(place.variable);
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
        let Used { ty, variable } = self.place(place)?;
        let Some(variable) = variable else {
            self.fault(place.variable.span, Fault::ConstantAssigned(self.shown(place.variable)));
            return None;
        };
        self.scopes.symbols[variable.0 as usize].known = Known::Nothing;
        Some(ty)
    }

    fn variable(&mut self, name: Name) -> Option<Used> {
        if let Some(constant) = Library::get().constant(self.script.name(name), self.dialect) {
            return Some(Used { ty: constant.ty, variable: None });
        }
        let symbol = self.resolve(name, Kind::Variable)?;
        Some(Used { ty: self.scopes.symbol(symbol).ty, variable: Some(symbol) })
    }

    /// The type of a variable or of its component.
    fn place(&mut self, place: Place) -> Option<Used> {
        let used = self.variable(place.variable)?;
        let Some(component) = place.component else { return Some(used) };
        let text = self.script.name(component);
        let reason = match (used.variable, used.ty) {
            (None, _) => Some("a constant has no components"),
            (_, Type::Vector) if matches!(text, "x" | "y" | "z") => None,
            (_, Type::Rotation) if matches!(text, "x" | "y" | "z" | "s") => None,
            (_, Type::Vector) => Some("a vector has x, y and z"),
            (_, Type::Rotation) => Some("a rotation has x, y, z and s"),
            _ => Some("it is neither a vector nor a rotation"),
        };
        if let Some(reason) = reason {
            let (name, component_name) = (self.shown(place.variable), self.shown(component));
            let fault = Fault::Component { name, component: component_name, reason };
            self.fault(component.span, fault);
            return None;
        }
        Some(Used { ty: Type::Float, ..used })
    }

    fn call(&mut self, function: Name, arguments: ExprList) -> Option<Type> {
        let name = self.script.name(function);
        if let Some(of_library) = Library::get().function(name, self.dialect) {
            if of_library.line.is_deprecated {
                let instead = of_library.line.instead.map(str::to_owned);
                self.fault(function.span, Fault::Deprecated { name: name.to_owned(), instead });
            }
            if !of_library.is_served() {
                self.fault(function.span, Fault::NotServed(name.to_owned()));
            }
            let parameters = of_library.parameters.iter().map(|parameter| (parameter.ty, parameter.name));
            self.arguments(function, parameters, arguments);
            return Some(of_library.returns);
        }
        let symbol = self.resolve(function, Kind::Function)?;
        let index = self.scopes.symbol(symbol).function?;
        let script = self.script;
        let Global::Function(declared) = &script.globals[index] else { return None };
        let parameters = declared.parameters.iter().map(|one| (one.ty, script.name(one.name)));
        self.arguments(function, parameters, arguments);
        Some(declared.returns)
    }

    fn arguments<'p>(
        &mut self,
        function: Name,
        parameters: impl ExactSizeIterator<Item = (Type, &'p str)>,
        arguments: ExprList,
    ) {
        let script = self.script;
        let arguments = script.expr_list(arguments);
        let name = || outline::shown(script.name(function));
        let (wanted_count, found_count) = (parameters.len(), arguments.len());
        for (number, ((wanted, parameter), &argument)) in (1..).zip(parameters.zip(arguments)) {
            let Some(found) = self.type_of(argument).filter(|found| !found.converts_to(wanted)) else {
                continue;
            };
            let parameter = outline::shown(parameter);
            let fault = Fault::Argument { function: name(), number, parameter, wanted, found };
            self.fault(script.expr(argument).span, fault);
            return;
        }
        if wanted_count != found_count {
            let (wanted, found) = (wanted_count, found_count);
            self.fault(function.span, Fault::ArgumentCount { function: name(), wanted, found });
        }
    }
}
