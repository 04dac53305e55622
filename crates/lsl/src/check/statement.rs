//! Functions, event handlers and their statements. The unchecked rest of a function lies on an explicit stack of [`Task`]s.

use super::names::{Kind, Known, Symbol, SymbolId};
use super::{Checker, paths};
use crate::Span;
use crate::fault::Fault;
use crate::operators::BinaryOp;
use crate::syntax::{Declaration, ExprId, ExprKind, Function, Name, Parameter, StmtId, StmtKind};
use crate::types::Type;
use std::collections::HashMap;

/// Function or event handler around a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub(super) function: &'a Function,
    /// The state of an event handler; `None` in a function, `Some(None)` in `default`.
    pub(super) state: Option<Option<Name>>,
}

/// A condition that should not be constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) value: ExprId,
    /// Of a loop, which may be endless.
    pub(super) may_be_true: bool,
}

/// Place of a statement in its function.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// In braces of its own block: it may be a declaration.
    is_in_block: bool,
    /// Somewhere under an `if`.
    is_in_if: bool,
    /// In no `if` and no loop.
    is_direct: bool,
}

impl Position {
    const BODY: Self = Self { is_in_block: true, is_in_if: false, is_direct: true };
    const BRANCH: Self = Self { is_in_block: false, is_in_if: true, is_direct: false };
}

/// What is left to check of a function.
#[derive(Clone, Copy, Debug)]
enum Task {
    Statement(StmtId, Position),
    /// The statements of a block from `next` on, as indexes of the script's lists.
    Statements {
        next: u32,
        end: u32,
        at: Position,
    },
    /// The condition behind the body of its loop.
    Condition(ExprId),
    CloseScope,
}

impl<'a> Checker<'a> {
    pub(super) fn function(&mut self, around: &Around<'a>) {
        let function = around.function;
        let first_symbol = self.scopes.symbols.len();
        self.scopes.open();
        for &Parameter { ty, name } in &function.parameters {
            let may_be_unused = around.state.is_some();
            self.declare(Symbol { may_be_unused, ..self.symbol(name, Kind::Variable, ty) });
        }
        self.scopes.open();
        let mut tasks =
            vec![Task::Statements { next: function.body.start, end: function.body.end, at: Position::BODY }];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Statement(id, at) => self.statement(around, id, at, &mut tasks),
                Task::Statements { next, end, at } if next < end => {
                    tasks.push(Task::Statements { next: next + 1, end, at });
                    tasks.push(Task::Statement(self.script.stmt_lists[next as usize], at));
                }
                Task::Statements { .. } => {}
                Task::Condition(value) => self.condition(value),
                Task::CloseScope => self.scopes.close(),
            }
        }
        self.scopes.close();
        self.scopes.close();
        self.resolve_jumps(first_symbol);
        if function.returns != Type::Void && !paths::all_return(self.script, function.body) {
            self.fault(function.name.span, Fault::MissingReturn(self.shown(function.name)));
        }
        for span in paths::unreachable(self.script, function.body) {
            self.fault(span, Fault::Unreachable);
        }
    }

    /// Checks a statement and leaves those in it as tasks, the first one uppermost.
    fn statement(&mut self, around: &Around<'a>, id: StmtId, at: Position, tasks: &mut Vec<Task>) {
        let stmt = *self.script.stmt(id);
        match stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Expr(value) => {
                self.expression(value);
                if let ExprKind::Binary(BinaryOp::Equal, ..) = self.script.expr(value).kind {
                    self.fault(stmt.span, Fault::ComparisonAsStatement);
                }
            }
            StmtKind::Declare(variable) => self.local_variable(stmt.span, &variable, at),
            StmtKind::Block(list) => {
                self.scopes.open();
                let at = Position { is_in_block: true, ..at };
                tasks.push(Task::CloseScope);
                tasks.push(Task::Statements { next: list.start, end: list.end, at });
            }
            StmtKind::If { condition, then, otherwise } => {
                self.branches(condition, then, otherwise);
                tasks.extend(otherwise.map(|otherwise| Task::Statement(otherwise, Position::BRANCH)));
                tasks.push(Task::Statement(then, Position::BRANCH));
            }
            StmtKind::While { condition, body } => {
                self.condition(condition);
                self.conditions.push(Condition { value: condition, may_be_true: true });
                tasks.push(self.loop_body(stmt.span, body, at));
            }
            StmtKind::DoWhile { body, condition } => {
                tasks.push(Task::Condition(condition));
                tasks.push(self.loop_body(stmt.span, body, at));
            }
            StmtKind::For { start, condition, step, body } => {
                let script = self.script;
                script.expr_list(start).iter().for_each(|&value| self.expression(value));
                self.condition(condition);
                self.conditions.push(Condition { value: condition, may_be_true: true });
                script.expr_list(step).iter().for_each(|&value| self.expression(value));
                tasks.push(self.loop_body(stmt.span, body, at));
            }
            StmtKind::Return(value) => self.return_value(around, stmt.span, value, at),
            StmtKind::Jump(label) => {
                // A label further down in the same block is found at the end of the function.
                self.jumps.push((label, self.scopes.find(label.id, Kind::Label)));
            }
            StmtKind::Label(label) => {
                let id = self.declare(self.symbol(label, Kind::Label, Type::Void));
                self.labels.push((label, id));
            }
            StmtKind::ChangeState { name } => self.change_state(around, stmt.span, name, at),
        }
    }

    fn local_variable(&mut self, span: Span, variable: &Declaration, at: Position) {
        self.value_of(variable);
        if !at.is_in_block {
            self.fault(span, Fault::DeclarationNeedsBlock(self.shown(variable.name)));
        }
        let known = variable.value.map_or(Known::Default, Known::Value);
        self.declare(Symbol { known, ..self.symbol(variable.name, Kind::Variable, variable.ty) });
    }

    /// The condition of an `if`, and what can be said of its branches.
    fn branches(&mut self, condition: ExprId, then: StmtId, otherwise: Option<StmtId>) {
        self.condition(condition);
        self.conditions.push(Condition { value: condition, may_be_true: false });
        let expr = *self.script.expr(condition);
        if matches!(expr.kind, ExprKind::Assign(None, ..)) {
            self.fault(expr.span, Fault::AssignmentAsCondition);
        }
        if self.is_empty(then) && otherwise.is_none_or(|otherwise| self.is_empty(otherwise)) {
            self.fault(expr.span, Fault::EmptyIf);
        }
    }

    fn loop_body(&mut self, span: Span, body: StmtId, at: Position) -> Task {
        if self.is_empty(body) {
            self.fault(span, Fault::EmptyLoop);
        }
        Task::Statement(body, Position { is_in_block: false, is_direct: false, ..at })
    }

    fn is_empty(&self, id: StmtId) -> bool {
        match self.script.stmt(id).kind {
            StmtKind::Empty => true,
            StmtKind::Block(list) => self.script.stmt_list(list).is_empty(),
            _ => false,
        }
    }

    fn condition(&mut self, id: ExprId) {
        self.expression(id);
        if self.type_of(id) == Some(Type::Void) {
            self.fault(self.script.expr(id).span, Fault::VoidCondition);
        }
    }

    /// `return call();` of a call without a value is valid under an `if` or a loop, as in Second Life.
    fn return_value(&mut self, around: &Around<'a>, span: Span, value: Option<ExprId>, at: Position) {
        let wanted = around.function.returns;
        let Some(value) = value else {
            if wanted != Type::Void {
                self.fault(span, Fault::Return { wanted, found: Type::Void });
            }
            return;
        };
        self.expression(value);
        let Some(found) = self.type_of(value) else { return };
        if around.state.is_some() {
            if at.is_direct || found != Type::Void {
                self.fault(span, Fault::ReturnInHandler);
            }
        } else if !found.converts_to(wanted) || found == Type::Void && at.is_direct {
            self.fault(span, Fault::Return { wanted, found });
        }
    }

    fn change_state(&mut self, around: &Around<'a>, span: Span, name: Option<Name>, at: Position) {
        if let Some(name) = name {
            self.resolve(name, Kind::State);
        }
        let current = around.state.map(|state| state.map(|state| state.id));
        match current {
            Some(current) if current == name.map(|name| name.id) => self.fault(span, Fault::SameState),
            Some(_) => {}
            None if at.is_in_if => self.fault(span, Fault::StateInBranchOfFunction),
            None => self.fault(span, Fault::StateInFunction),
        }
    }

    /// Jumps may lead forwards: they are resolved at the end of their function. Of several labels of a name the last one counts, wherever it stands.
    fn resolve_jumps(&mut self, first_symbol: usize) {
        let labels: Vec<(Name, SymbolId)> = std::mem::take(&mut self.labels);
        if !labels.is_empty() {
            // A jump may leave out the declarations of variables, which then have their default values.
            self.scopes.forget_values(first_symbol);
        }
        let mut last = HashMap::new();
        for &(label, symbol) in &labels {
            if last.insert(label.id, symbol).is_some() {
                self.fault(label.span, Fault::DuplicateLabel(self.shown(label)));
            }
        }
        for (jump, seen) in std::mem::take(&mut self.jumps) {
            let Some(&symbol) = last.get(&jump.id) else {
                self.unknown(jump, Kind::Label);
                continue;
            };
            self.resolved.insert(jump.span.start, symbol);
            self.scopes.note_use(seen.unwrap_or(symbol));
            if seen.is_some_and(|seen| seen != symbol) {
                self.fault(jump.span, Fault::JumpToLastLabel(self.shown(jump)));
            }
        }
    }
}
