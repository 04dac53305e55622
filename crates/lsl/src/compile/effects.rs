//! Assignments and calls in expressions: what may change a variable while an operand waits.

use crate::syntax::{ExprId, ExprKind, Script};

/// It assigns a variable.
const ASSIGNS: u8 = 1;
/// It calls a function, which may assign global variables.
const CALLS: u8 = 2;

/// Effects of all expressions of a script.
#[derive(Debug)]
pub(super) struct Effects(Vec<u8>);

impl Effects {
    pub(super) fn new(script: &Script) -> Self {
        let mut effects = Self(Vec::with_capacity(script.exprs.len()));
        // Operands have lower numbers than their operators.
        for expr in &script.exprs {
            let all = |ids: &[ExprId]| ids.iter().fold(0, |sum, id| sum | effects.0[id.0 as usize]);
            let own = match &expr.kind {
                ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::Text(_) | ExprKind::Place(_) => 0,
                ExprKind::List(list) => all(script.expr_list(*list)),
                ExprKind::Vector(parts) => all(parts),
                ExprKind::Rotation(parts) => all(parts),
                ExprKind::Binary(_, left, right) => all(&[*left, *right]),
                ExprKind::Unary(_, value) | ExprKind::Cast(_, value) | ExprKind::Paren(value) => {
                    all(&[*value])
                }
                ExprKind::Assign(_, _, value) => ASSIGNS | all(&[*value]),
                ExprKind::PreAdd(..) | ExprKind::PostAdd(..) => ASSIGNS,
                ExprKind::Call(_, list) => CALLS | all(script.expr_list(*list)),
                ExprKind::Print(value) => CALLS | all(&[*value]),
            };
            effects.0.push(own);
        }
        effects
    }

    /// True if an expression may change a local variable of its function.
    pub(super) fn changes_locals(&self, id: ExprId) -> bool {
        self.0[id.0 as usize] & ASSIGNS != 0
    }

    /// True if an expression may change a global variable.
    pub(super) fn changes_globals(&self, id: ExprId) -> bool {
        self.0[id.0 as usize] != 0
    }
}
