//! Names, types and paths of a script.
//!
//! | part | file |
//! |---|---|
//! | globals, functions, handlers, statements | this one |
//! | expressions | `check/expression.rs` |
//! | scopes | `check/names.rs` |
//! | paths through statements | `check/paths.rs` |

mod expression;
mod names;
mod paths;

use crate::dialect;
use crate::fault::{Fault, Found, Severity};
use crate::library::Library;
use crate::lines::Lines;
use crate::operators::{BinaryOp, UnaryOp};
use crate::parser;
use crate::syntax::{
    Declaration, ExprId, ExprKind, Function, Global, Name, Parameter, Script, State, StmtId, StmtKind,
    StmtList,
};
use crate::types::Type;
use crate::{Dialect, Faults, SOURCE_MAX, Span};
use names::{Kind, Met, Scopes, Symbol, SymbolId};
use std::collections::HashMap;

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Rules by which the source was read.
    pub dialect: Dialect,
    /// Errors and warnings by place, at most [`crate::FAULTS_MAX`]. Errors come before warnings if there are more.
    pub faults: Vec<Found>,
    /// Number of further ones.
    pub n_more: usize,
    lines: Lines,
}

/// A place of a fault, as editors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'s> {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// Characters at fault in this line, one at least.
    pub width: u32,
    /// The line.
    pub text: &'s str,
}

impl Checked {
    /// True if the script compiles.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults.iter().all(|found| found.fault.severity() == Severity::Warning)
    }

    /// The place of one of its faults in the source that was checked.
    #[must_use]
    pub fn location<'s>(&self, source: &'s str, span: Span) -> Location<'s> {
        let line = self.lines.line(span.start);
        let column = self.lines.column(source, span.start);
        let text = self.lines.text(source, line);
        let in_line = text.chars().count() as u32 + 1 - column.min(text.chars().count() as u32 + 1);
        let width = source[span.start as usize..span.end as usize].chars().count() as u32;
        Location { line, column, width: width.min(in_line).max(1), text }
    }
}

/// Reads a source and finds all its faults.
#[must_use]
pub fn check(source: &str, dialect: Dialect) -> Checked {
    let mut faults = Faults::default();
    if let Some((name, span)) = dialect::first_line(source)
        && Dialect::named(name).is_none()
    {
        faults.add(span, Fault::UnknownDialect(name.to_owned()));
    }
    if source.len() > SOURCE_MAX {
        faults.add(Span::default(), Fault::TooLong { bytes: source.len(), max: SOURCE_MAX });
    } else {
        let script = parser::parse(source, dialect, &mut faults);
        Checker::new(source, dialect, &script, &mut faults).script();
    }
    let Faults { mut list, n_more } = faults;
    list.sort_by_key(|found| found.span);
    Checked { dialect, faults: list, n_more, lines: Lines::new(source) }
}

/// Function or event handler around a statement.
#[derive(Clone, Copy, Debug)]
struct Around<'a> {
    function: &'a Function,
    /// The state of an event handler; `None` in a function, `Some(None)` in `default`.
    state: Option<Option<Name>>,
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

struct Checker<'a> {
    lines: Lines,
    dialect: Dialect,
    script: &'a Script,
    faults: &'a mut Faults,
    scopes: Scopes,
    /// Types of the checked expressions: `None` of those at fault.
    types: Vec<Option<Type>>,
    /// Labels of the function that is being checked, in the order of the source.
    labels: Vec<(Name, SymbolId)>,
    /// Its jumps, with the scopes' declaration that they see.
    jumps: Vec<(Name, Option<SymbolId>)>,
    /// The expressions of one statement, reused.
    nodes: Vec<ExprId>,
}

impl<'a> Checker<'a> {
    fn new(source: &str, dialect: Dialect, script: &'a Script, faults: &'a mut Faults) -> Self {
        let types = vec![None; script.exprs.len()];
        let (labels, jumps, nodes) = (Vec::new(), Vec::new(), Vec::new());
        let lines = Lines::new(source);
        Self { lines, dialect, script, faults, scopes: Scopes::default(), types, labels, jumps, nodes }
    }

    /// Global variables are declared in the order of the source, functions and states before all bodies.
    fn script(&mut self) {
        self.scopes.open();
        for (index, global) in self.script.globals.iter().enumerate() {
            match global {
                Global::Variable(variable) => self.global_variable(variable),
                Global::Function(function) => {
                    let symbol = Symbol {
                        function: Some(index),
                        ..self.symbol(function.name, Kind::Function, function.returns)
                    };
                    self.declare(symbol);
                }
            }
        }
        for state in &self.script.states {
            if let Some(name) = state.name {
                self.declare(self.symbol(name, Kind::State, Type::Void));
            }
        }
        for global in &self.script.globals {
            if let Global::Function(function) = global {
                self.function(&Around { function, state: None });
            }
        }
        for state in &self.script.states {
            self.state(state);
        }
        self.unused();
    }

    fn global_variable(&mut self, variable: &Declaration) {
        self.value_of(variable);
        if let Some(value) = variable.value
            && !self.is_global_value(value)
        {
            self.fault(self.script.expr(value).span, Fault::GlobalValue);
        }
        self.declare(self.symbol(variable.name, Kind::Variable, variable.ty));
    }

    /// Checks the value of a declaration, before its name is known.
    fn value_of(&mut self, variable: &Declaration) {
        let Some(value) = variable.value else { return };
        self.expression(value);
        if let Some(found) = self.type_of(value)
            && !found.converts_to(variable.ty)
        {
            let name = self.script.name(variable.name).to_owned();
            self.fault(variable.name.span, Fault::Assignment { name, wanted: variable.ty, found });
        }
    }

    /// True for what a global variable may be: a literal, a name, a negated constant, or a vector, rotation or list of these. OpenSimulator computes the
    /// values when the script starts.
    fn is_global_value(&self, value: ExprId) -> bool {
        if self.dialect == Dialect::Opensim {
            return true;
        }
        let mut rest = vec![value];
        while let Some(id) = rest.pop() {
            match &self.script.expr(id).kind {
                ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::Text(_) => {}
                ExprKind::Place(place) if place.component.is_none() => {}
                ExprKind::Unary(UnaryOp::Negate, negated) if self.is_negatable(*negated) => {}
                ExprKind::Vector(parts) => rest.extend(parts),
                ExprKind::Rotation(parts) => rest.extend(parts),
                ExprKind::List(parts) => rest.extend(self.script.expr_list(*parts)),
                _ => return false,
            }
        }
        true
    }

    /// Second Life negates the constants that are numbers, but for `TRUE` and `FALSE`. Unknown names are reported elsewhere.
    fn is_negatable(&self, id: ExprId) -> bool {
        let ExprKind::Place(place) = self.script.expr(id).kind else { return false };
        let name = self.script.name(place.variable);
        match Library::get().constant(name, self.dialect) {
            Some(constant) => {
                matches!(constant.ty, Type::Integer | Type::Float) && !["TRUE", "FALSE"].contains(&name)
            }
            None => self.scopes.find(place.variable.id, Kind::Variable).is_none(),
        }
    }

    fn state(&mut self, state: &'a State) {
        let state_name = state.name.map_or("default", |name| self.script.name(name));
        if state.handlers.is_empty() {
            self.fault(state.span, Fault::EmptyState(state_name.to_owned()));
        }
        let mut former = HashMap::new();
        for handler in &state.handlers {
            if let Some(span) = former.insert(handler.name.id, handler.name.span) {
                let event = self.script.name(handler.name).to_owned();
                let line = self.line(span);
                let state = state_name.to_owned();
                self.fault(handler.name.span, Fault::DuplicateHandler { state, event, line });
            }
            self.event(handler);
            self.function(&Around { function: handler, state: Some(state.name) });
        }
    }

    /// Compares a handler with its event.
    fn event(&mut self, handler: &Function) {
        let name = self.script.name(handler.name);
        let Some(event) = Library::get().event(name, self.dialect) else {
            let events = Library::get().events().iter().map(|event| event.name);
            let nearest = self.nearest(name, events);
            return self.fault(handler.name.span, Fault::UnknownEvent { name: name.to_owned(), nearest });
        };
        let (wanted, found) = (event.parameters.len(), handler.parameters.len());
        let pairs = event.parameters.iter().zip(&handler.parameters);
        let wrong = (1..).zip(pairs).find(|(_, (wanted, found))| wanted.ty != found.ty);
        let event = name.to_owned();
        if let Some((number, (wanted, found))) = wrong {
            let (span, wanted, found) = (found.name.span, wanted.ty, found.ty);
            self.fault(span, Fault::EventParameter { event, number, wanted, found });
        } else if wanted != found {
            self.fault(handler.name.span, Fault::EventParameterCount { event, wanted, found });
        }
    }

    fn function(&mut self, around: &Around<'a>) {
        let function = around.function;
        self.scopes.open();
        for &Parameter { ty, name } in &function.parameters {
            let may_be_unused = around.state.is_some();
            self.declare(Symbol { may_be_unused, ..self.symbol(name, Kind::Variable, ty) });
        }
        self.statements(around, function.body);
        self.scopes.close();
        self.resolve_jumps();
        if function.returns != Type::Void && !paths::all_return(self.script, function.body) {
            let name = self.script.name(function.name).to_owned();
            self.fault(function.name.span, Fault::MissingReturn(name));
        }
        for span in paths::unreachable(self.script, function.body) {
            self.fault(span, Fault::Unreachable);
        }
    }

    /// The statements of a block, in a scope of their own.
    fn statements(&mut self, around: &Around<'a>, list: StmtList) {
        self.scopes.open();
        for &stmt in self.script.stmt_list(list) {
            self.statement(around, stmt, Position::BODY);
        }
        self.scopes.close();
    }

    fn statement(&mut self, around: &Around<'a>, id: StmtId, at: Position) {
        let stmt = *self.script.stmt(id);
        match stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Expr(value) => {
                self.expression(value);
                if let ExprKind::Binary(BinaryOp::Equal, ..) = self.script.expr(value).kind {
                    self.fault(stmt.span, Fault::ComparisonAsStatement);
                }
            }
            StmtKind::Declare(variable) => {
                self.value_of(&variable);
                if !at.is_in_block {
                    let name = self.script.name(variable.name).to_owned();
                    self.fault(stmt.span, Fault::DeclarationNeedsBlock(name));
                }
                self.declare(self.symbol(variable.name, Kind::Variable, variable.ty));
            }
            StmtKind::Block(list) => {
                self.scopes.open();
                for &stmt in self.script.stmt_list(list) {
                    self.statement(around, stmt, Position { is_in_block: true, ..at });
                }
                self.scopes.close();
            }
            StmtKind::If { .. } => self.if_chain(around, id),
            StmtKind::While { condition, body } => {
                self.condition(condition);
                self.loop_body(around, stmt.span, body, at);
            }
            StmtKind::DoWhile { body, condition } => {
                self.loop_body(around, stmt.span, body, at);
                self.condition(condition);
            }
            StmtKind::For { start, condition, step, body } => {
                self.script.expr_list(start).iter().for_each(|&value| self.expression(value));
                self.condition(condition);
                self.script.expr_list(step).iter().for_each(|&value| self.expression(value));
                self.loop_body(around, stmt.span, body, at);
            }
            StmtKind::Return(value) => self.return_value(around, stmt.span, value, at),
            StmtKind::Jump(label) => {
                self.jumps.push((label, None));
                let last = self.jumps.len() - 1;
                // A label further down in the same block is found at the end of the function.
                self.jumps[last].1 = self.scopes.find(label.id, Kind::Label);
            }
            StmtKind::Label(label) => {
                let id = self.declare(self.symbol(label, Kind::Label, Type::Void));
                self.labels.push((label, id));
            }
            StmtKind::ChangeState { name } => self.change_state(around, stmt.span, name, at),
        }
    }

    /// `if … else if … else …`, in a loop: the chain may be long.
    fn if_chain(&mut self, around: &Around<'a>, mut id: StmtId) {
        while let StmtKind::If { condition, then, otherwise } = self.script.stmt(id).kind {
            self.condition(condition);
            if matches!(self.script.expr(condition).kind, ExprKind::Assign(None, ..)) {
                self.fault(self.script.expr(condition).span, Fault::AssignmentAsCondition);
            }
            if self.is_empty(then) && otherwise.is_none_or(|otherwise| self.is_empty(otherwise)) {
                self.fault(self.script.expr(condition).span, Fault::EmptyIf);
            }
            self.statement(around, then, Position::BRANCH);
            let Some(next) = otherwise else { return };
            if !matches!(self.script.stmt(next).kind, StmtKind::If { .. }) {
                return self.statement(around, next, Position::BRANCH);
            }
            id = next;
        }
    }

    fn loop_body(&mut self, around: &Around<'a>, span: Span, body: StmtId, at: Position) {
        if self.is_empty(body) {
            self.fault(span, Fault::EmptyLoop);
        }
        self.statement(around, body, Position { is_in_block: false, is_direct: false, ..at });
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
    fn resolve_jumps(&mut self) {
        let labels = std::mem::take(&mut self.labels);
        let mut last = HashMap::new();
        for &(label, symbol) in &labels {
            if last.insert(label.id, symbol).is_some() {
                self.fault(label.span, Fault::DuplicateLabel(self.script.name(label).to_owned()));
            }
        }
        for (jump, seen) in std::mem::take(&mut self.jumps) {
            let Some(&symbol) = last.get(&jump.id) else {
                self.unknown(jump, Kind::Label);
                continue;
            };
            self.scopes.note_use(seen.unwrap_or(symbol));
            if seen.is_some_and(|seen| seen != symbol) {
                self.fault(jump.span, Fault::JumpToLastLabel(self.script.name(jump).to_owned()));
            }
        }
    }

    fn symbol(&self, name: Name, kind: Kind, ty: Type) -> Symbol {
        Symbol { name: name.id, kind, ty, span: name.span, may_be_unused: false, n_uses: 0, function: None }
    }

    /// Declares a name, and reports the former declarations that it meets.
    fn declare(&mut self, symbol: Symbol) -> SymbolId {
        let name = self.script.names[symbol.name.0 as usize].to_string();
        let (span, kind) = (symbol.span, symbol.kind);
        let is_global = self.scopes.is_outermost();
        let (id, Met { same_scope, hidden }) = self.scopes.declare(symbol);
        if let Some(former) = same_scope {
            let line = self.line(self.scopes.symbol(former).span);
            self.fault(span, Fault::Duplicate { name, line });
        } else if Library::get().event(&name, self.dialect).is_some() {
            self.fault(span, Fault::EventName(name));
        } else if Library::get().constant(&name, self.dialect).is_some()
            || is_global && Library::get().function(&name, self.dialect).is_some()
        {
            self.fault(span, Fault::LibraryName(name));
        } else if let Some(hidden) = hidden
            && (self.scopes.symbol(hidden).kind != Kind::Function || kind == Kind::Function)
        {
            let line = self.line(self.scopes.symbol(hidden).span);
            self.fault(span, Fault::Shadows { name, line });
        }
        id
    }

    /// The declaration that a name means, if there is one of its kind.
    fn resolve(&mut self, name: Name, kind: Kind) -> Option<SymbolId> {
        let found = self.scopes.find(name.id, kind);
        match found {
            Some(symbol) => self.scopes.note_use(symbol),
            None => self.unknown(name, kind),
        }
        found
    }

    /// Reports a name without a declaration of this kind.
    fn unknown(&mut self, name: Name, kind: Kind) {
        let text = self.script.name(name);
        let library = Library::get();
        let found = match self.scopes.find_any(name.id) {
            Some(other) => Some(self.scopes.symbol(other).kind.described()),
            None if library.function(text, self.dialect).is_some() => Some("a function of the library"),
            None if library.constant(text, self.dialect).is_some() => Some("a constant"),
            None => None,
        };
        let owned = text.to_owned();
        if let Some(found) = found {
            return self.fault(name.span, Fault::WrongKind { name: owned, found, wanted: kind.described() });
        }
        let own = self.scopes.names_of(kind).map(|id| &*self.script.names[id.0 as usize]);
        let dialect = self.dialect;
        let is_served = |only: Option<Dialect>| only.is_none_or(|only| only == dialect);
        let nearest = match kind {
            Kind::Function => {
                let all = library.functions().iter().filter(|one| is_served(one.dialect));
                self.nearest(text, own.chain(all.map(|one| one.name)))
            }
            Kind::Variable => {
                let all = library.constants().iter().filter(|one| is_served(one.dialect));
                self.nearest(text, own.chain(all.map(|one| one.name)))
            }
            Kind::State | Kind::Label => self.nearest(text, own),
        };
        self.fault(name.span, Fault::Undeclared { name: owned, nearest });
    }

    /// The known name most like an unknown one. Comparing costs more than all else: not done for faults that are not listed.
    fn nearest<'n>(&self, name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
        if self.faults.is_full() { None } else { outline::nearest(name, known) }
    }

    fn unused(&mut self) {
        let unused: Vec<_> =
            self.scopes.symbols.iter().filter(|symbol| symbol.is_unused()).cloned().collect();
        for symbol in unused {
            let name = self.script.names[symbol.name.0 as usize].to_string();
            self.fault(symbol.span, Fault::Unused { kind: symbol.kind.as_str(), name });
        }
    }

    fn type_of(&self, id: ExprId) -> Option<Type> {
        self.types[id.0 as usize]
    }

    fn fault(&mut self, span: Span, fault: Fault) {
        self.faults.add(span, fault);
    }

    fn line(&self, span: Span) -> u32 {
        self.lines.line(span.start)
    }
}

#[cfg(test)]
mod tests;
