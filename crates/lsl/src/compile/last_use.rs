//! `list = f(list)`: the variable gives its list to the call, which then changes it in place.
//!
//! The variable is empty until the call has its value. So nothing may read it in between: neither an argument behind it nor, for a global variable, a
//! function of the script.

use super::function::FunctionCompiler;
use super::unit::Declared;
use crate::check::SymbolId;
use crate::library::Library;
use crate::syntax::{ExprId, ExprKind, Place};
use crate::types::Type;

/// Expressions behind the variable that are looked through. Lists are passed to few and short arguments.
const NODES_MAX: u32 = 64;

impl FunctionCompiler<'_> {
    /// Notes the call whose value an assignment gives to a list variable.
    pub(super) fn note_replaced(&mut self, place: Place, value: ExprId) {
        let call = self.unit.without_parens(value);
        let is_call = matches!(self.unit.script().expr(call).kind, ExprKind::Call(..));
        if is_call && self.type_of_place(place) == Type::List {
            self.replaced.insert(call.0, self.unit.symbol(place.variable));
        }
    }

    /// The argument of a call that is the last use of the variable which gets the call's value.
    pub(super) fn last_use(&self, call: ExprId, arguments: &[ExprId]) -> Option<ExprId> {
        let symbol = *self.replaced.get(&call.0)?;
        let is_use = |id: &&ExprId| match self.unit.script().expr(self.unit.without_parens(**id)).kind {
            ExprKind::Place(place) => self.is_variable(place, symbol),
            _ => false,
        };
        let found = *arguments.iter().rev().find(is_use)?;
        let end = arguments.last().map_or(found, |last| *last);
        let is_global = matches!(self.unit.declared.get(&symbol), Some(Declared::Variable(_)));
        let is_free = end.0 - found.0 <= NODES_MAX
            && (found.0 + 1..=end.0).all(|id| !self.may_read(ExprId(id), symbol, is_global))
            && !(is_global && self.runs_script(call));
        is_free.then_some(found)
    }

    /// True if a node, without those in it, may read or change a variable.
    fn may_read(&self, id: ExprId, symbol: SymbolId, is_global: bool) -> bool {
        match self.unit.script().expr(id).kind {
            ExprKind::Place(place)
            | ExprKind::Assign(_, place, _)
            | ExprKind::PreAdd(place, _)
            | ExprKind::PostAdd(place, _) => self.is_variable(place, symbol),
            ExprKind::Call(..) => is_global && self.runs_script(id),
            _ => false,
        }
    }

    fn is_variable(&self, place: Place, symbol: SymbolId) -> bool {
        self.unit.analysis.resolved.get(&place.variable.span.start) == Some(&symbol)
    }

    /// True for the call of a function of the script.
    fn runs_script(&self, call: ExprId) -> bool {
        let ExprKind::Call(function, _) = self.unit.script().expr(call).kind else { return false };
        let name = self.unit.script().name(function);
        Library::get().function(name, self.unit.dialect()).is_none()
    }
}
