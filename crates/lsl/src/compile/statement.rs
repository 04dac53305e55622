//! Statements. Those that have no code yet lie on a stack of [`Pending`] parts.

use super::function::{Destination, FunctionCompiler};
use super::operand::{Goal, Held, Operand, Owner};
use super::unit::{Declared, kind, kind_of};
use crate::check::SymbolId;
use crate::syntax::{Declaration, ExprId, ExprList, Function, Name, Script, StmtId, StmtKind, StmtList};
use crate::types::Type;
use script::Value;
use script::builder::Label;
use script::instruction::Op;

/// A part of a function without code yet.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Statement(StmtId),
    /// The statements of a block from `next` on, as indexes of the script's lists.
    Statements {
        next: u32,
        end: u32,
    },
    /// Ends a block, which began with this number of variables.
    EndScope(usize),
    /// A label's place is here.
    Bind(Label),
    /// The branch before ends, and `else` begins.
    Else {
        end: Label,
        otherwise: Label,
    },
    /// The steps and the condition behind the body of a loop.
    Loop {
        steps: ExprList,
        condition: ExprId,
        body: Label,
        test: Label,
    },
}

impl FunctionCompiler<'_> {
    /// The code of a function or an event handler.
    pub(super) fn function(&mut self, function: &Function) {
        let script = self.unit.script();
        for (parameter, register) in function.parameters.iter().zip(self.code.parameters()) {
            self.locals.insert(self.unit.symbol(parameter.name), register);
        }
        self.returns = function.returns;
        self.at(function.span);
        self.variables_of_jumps(script, function.body);
        let mut pending = vec![Pending::Statements { next: function.body.start, end: function.body.end }];
        while let Some(part) = pending.pop() {
            self.part(part, &mut pending);
        }
        self.end(function.returns);
    }

    /// A value of a global variable that the machine computes.
    pub(super) fn define(&mut self, symbol: SymbolId, value: ExprId) {
        let Some(Declared::Variable(global)) = self.unit.declared.get(&symbol) else {
            unreachable!("global variables are declared before all code")
        };
        let operand = self.expression(value, None);
        let typed = (operand, self.unit.type_of(value));
        self.assign(Destination::Global(*global), self.unit.type_of_symbol(symbol), typed, false);
    }

    /// Ends code that could run beyond its end.
    pub(super) fn end(&mut self, returns: Type) {
        if !self.code.is_open() {
            return;
        }
        match kind_of(returns) {
            None => self.code.op(Op::Return, []),
            // Never reached: all paths return a value, as checked before.
            Some(kind) => {
                let result = self.code.register(kind);
                self.code.load(result, Value::zero(kind));
                self.code.op(Op::ReturnValue, [result]);
            }
        }
    }

    /// The registers of all variables, if the function has labels. Those of new frames are zero.
    fn variables_of_jumps(&mut self, script: &Script, body: StmtList) {
        let all = statements_in(script, body);
        if !all.iter().any(|&id| matches!(script.stmt(id).kind, StmtKind::Label(_))) {
            return;
        }
        for id in all {
            if let StmtKind::Declare(variable) = script.stmt(id).kind {
                let register = self.code.register(kind(variable.ty));
                if variable.ty == Type::Rotation {
                    self.clear(register, Type::Rotation);
                }
                self.locals.insert(self.unit.symbol(variable.name), register);
            }
        }
    }

    fn part(&mut self, part: Pending, pending: &mut Vec<Pending>) {
        match part {
            Pending::Statement(id) => self.statement(id, pending),
            Pending::Statements { next, end } if next < end => {
                pending.push(Pending::Statements { next: next + 1, end });
                pending.push(Pending::Statement(self.unit.script().stmt_lists[next as usize]));
            }
            Pending::Statements { .. } => {}
            Pending::EndScope(n_before) => {
                for register in self.in_scope.split_off(n_before) {
                    self.release(Held { register, owner: Owner::Operand });
                }
            }
            Pending::Bind(label) => self.code.bind(label),
            Pending::Else { end, otherwise } => {
                self.code.jump(end);
                self.code.bind(otherwise);
            }
            Pending::Loop { steps, condition, body, test } => {
                self.effects(steps);
                self.code.bind(test);
                self.jump_if(condition, true, body);
            }
        }
    }

    /// A statement; those in it are left for later, the first one uppermost.
    fn statement(&mut self, id: StmtId, pending: &mut Vec<Pending>) {
        let stmt = *self.unit.script().stmt(id);
        self.at(stmt.span);
        match stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Expr(value) => self.effect(value),
            StmtKind::Declare(variable) => self.local_variable(&variable),
            StmtKind::Block(list) => {
                pending.push(Pending::EndScope(self.in_scope.len()));
                pending.push(Pending::Statements { next: list.start, end: list.end });
            }
            StmtKind::If { condition, then, otherwise } => {
                let end = self.code.label();
                pending.push(Pending::Bind(end));
                match otherwise {
                    None => self.jump_if(condition, false, end),
                    Some(statement) => {
                        let otherwise = self.code.label();
                        self.jump_if(condition, false, otherwise);
                        pending.push(Pending::Statement(statement));
                        pending.push(Pending::Else { end, otherwise });
                    }
                }
                pending.push(Pending::Statement(then));
            }
            StmtKind::While { condition, body } => {
                self.begin_loop(ExprList::default(), condition, body, false, pending);
            }
            StmtKind::DoWhile { body, condition } => {
                self.begin_loop(ExprList::default(), condition, body, true, pending);
            }
            StmtKind::For { start, condition, step, body } => {
                self.effects(start);
                self.begin_loop(step, condition, body, false, pending);
            }
            StmtKind::Return(value) => self.return_value(value),
            StmtKind::Jump(name) => {
                let label = self.label(name);
                self.code.jump(label);
            }
            StmtKind::Label(name) => {
                let label = self.label(name);
                self.code.bind(label);
            }
            StmtKind::ChangeState { name } => {
                let state = match name.map(|name| self.unit.declared.get(&self.unit.symbol(name))) {
                    None => self.unit.default_state,
                    Some(Some(Declared::State(state))) => *state,
                    Some(_) => unreachable!("states are declared before all code"),
                };
                self.code.change_state(state);
            }
        }
    }

    /// A loop with its condition at the end, so that each round has one jump.
    fn begin_loop(
        &mut self,
        steps: ExprList,
        condition: ExprId,
        statement: StmtId,
        is_first_unconditional: bool,
        pending: &mut Vec<Pending>,
    ) {
        let (body, test) = (self.code.label(), self.code.label());
        if !is_first_unconditional && !self.is_always_true(condition) {
            self.code.jump(test);
        }
        self.code.bind(body);
        pending.push(Pending::Loop { steps, condition, body, test });
        pending.push(Pending::Statement(statement));
    }

    fn local_variable(&mut self, variable: &Declaration) {
        let symbol = self.unit.symbol(variable.name);
        let of_jumps = self.locals.get(&symbol).copied();
        let register = of_jumps.unwrap_or_else(|| self.code.register(kind(variable.ty)));
        match variable.value {
            None => self.clear(register, variable.ty),
            Some(value) => {
                let from = self.unit.type_of(value);
                let goal = (from == variable.ty).then_some(Goal::fresh(register));
                let operand = self.expression(value, goal);
                self.put_as(register, operand, from, variable.ty);
            }
        }
        if of_jumps.is_none() {
            self.locals.insert(symbol, register);
            self.in_scope.push(register);
        }
    }

    /// Evaluates an expression whose value is not used.
    fn effect(&mut self, value: ExprId) {
        let value = self.unit.without_parens(value);
        self.unused = Some(value);
        let operand = self.expression(value, None);
        self.discard(operand);
        self.unused = None;
    }

    fn effects(&mut self, values: ExprList) {
        for &value in self.unit.script().expr_list(values) {
            self.effect(value);
        }
    }

    fn return_value(&mut self, value: Option<ExprId>) {
        let ty = value.map_or(Type::Void, |value| self.unit.type_of(value));
        let Some(value) = value.filter(|_| ty != Type::Void) else {
            if let Some(call) = value {
                self.effect(call);
            }
            return self.code.op(Op::Return, []);
        };
        let result = self.code.register(kind(self.returns));
        let goal = (ty == self.returns).then_some(Goal::fresh(result));
        let register = match self.expression(value, goal) {
            Operand::Local(variable) if ty == self.returns => variable,
            operand => {
                self.put_as(result, operand, ty, self.returns);
                result
            }
        };
        self.code.op(Op::ReturnValue, [register]);
        self.code.release(result);
    }

    /// The label behind a name.
    fn label(&mut self, name: Name) -> Label {
        let symbol = self.unit.symbol(name);
        if let Some(&label) = self.labels.get(&symbol) {
            return label;
        }
        let label = self.code.label();
        self.labels.insert(symbol, label);
        label
    }
}

/// All statements of a block and those in them.
fn statements_in(script: &Script, body: StmtList) -> Vec<StmtId> {
    let mut all = script.stmt_list(body).to_vec();
    let mut next = 0;
    while let Some(&id) = all.get(next) {
        next += 1;
        match script.stmt(id).kind {
            StmtKind::Block(list) => all.extend(script.stmt_list(list)),
            StmtKind::If { then, otherwise, .. } => {
                all.push(then);
                all.extend(otherwise);
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } | StmtKind::For { body, .. } => {
                all.push(body);
            }
            StmtKind::Empty
            | StmtKind::Expr(_)
            | StmtKind::Declare(_)
            | StmtKind::Return(_)
            | StmtKind::Jump(_)
            | StmtKind::Label(_)
            | StmtKind::ChangeState { .. } => {}
        }
    }
    all
}
