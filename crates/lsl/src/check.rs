//! Names, types and paths of a script.
//!
//! | part | file |
//! |---|---|
//! | globals, states, names | this one |
//! | functions, handlers and their statements | `check/statement.rs` |
//! | expressions | `check/expression.rs` |
//! | scopes | `check/names.rs` |
//! | paths through statements | `check/paths.rs` |
//! | values of constant expressions | `check/values.rs` |
//!
//! Each part takes a time in proportion to the length of the source, and none is recursive.

mod expression;
mod names;
mod paths;
mod statement;
mod values;

use crate::dialect;
use crate::fault::{Fault, Found, Severity};
use crate::library::Library;
use crate::lines::Lines;
use crate::operators::UnaryOp;
use crate::parser;
use crate::syntax::{Declaration, ExprId, ExprKind, Function, Global, Name, NameId, Script, State};
use crate::types::Type;
use crate::{Dialect, Faults, SOURCE_MAX, Span};
use names::{Kind, Known, Met, Scopes};
use statement::Around;
use std::cell::Cell;
use std::collections::HashMap;

pub(crate) use names::{Symbol, SymbolId};

/// Pairs of letters compared in a script to find the names that are like its unknown ones.
const LETTER_PAIRS_MAX: usize = 1 << 26;

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

/// A script without errors, and what its check has found out.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) script: Script,
    /// Types of the expressions.
    pub(crate) types: Vec<Option<Type>>,
    pub(crate) symbols: Vec<Symbol>,
    /// Declarations, by the first byte of each name that declares or means one. Names of the library have none.
    pub(crate) resolved: HashMap<u32, SymbolId>,
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

    /// Line and column of a byte.
    pub(crate) fn place(&self, source: &str, byte: u32) -> (u32, u32) {
        (self.lines.line(byte), self.lines.column(source, byte))
    }

    /// The place of one of its faults in the source that was checked.
    #[must_use]
    pub fn location<'s>(&self, source: &'s str, span: Span) -> Location<'s> {
        let (line, column) = self.place(source, span.start);
        let text = self.lines.text(source, line);
        let in_line = text.chars().count() as u32 + 1 - column.min(text.chars().count() as u32 + 1);
        let width = source[span.start as usize..span.end as usize].chars().count() as u32;
        Location { line, column, width: width.min(in_line).max(1), text }
    }
}

/// Reads a source and finds all its faults.
#[must_use]
pub fn check(source: &str, dialect: Dialect) -> Checked {
    analyse(source, dialect).0
}

/// Reads a source, finds all its faults and, without errors, what a compiler needs.
pub(crate) fn analyse(source: &str, dialect: Dialect) -> (Checked, Option<Analysis>) {
    let mut faults = Faults::default();
    if let Some((name, span)) = dialect::first_line(source)
        && Dialect::named(name).is_none()
    {
        faults.add(span, Fault::UnknownDialect(name.to_owned()));
    }
    let mut analysis = None;
    if source.len() > SOURCE_MAX {
        faults.add(Span::default(), Fault::TooLong { bytes: source.len(), max: SOURCE_MAX });
    } else {
        let script = parser::parse(source, dialect, &mut faults);
        let is_whole = !faults.has_errors();
        let mut checker = Checker::new(source, dialect, &script, &mut faults);
        checker.script(is_whole);
        let Checker { types, scopes, resolved, .. } = checker;
        if !faults.has_errors() {
            analysis = Some(Analysis { script, types, symbols: scopes.symbols, resolved });
        }
    }
    let Faults { mut list, n_more } = faults;
    list.sort_by_key(|found| found.span);
    (Checked { dialect, faults: list, n_more, lines: Lines::new(source) }, analysis)
}

struct Checker<'a> {
    lines: Lines,
    dialect: Dialect,
    script: &'a Script,
    faults: &'a mut Faults,
    scopes: Scopes,
    /// Types of the checked expressions: `None` of those at fault.
    types: Vec<Option<Type>>,
    /// Declarations of the variables that the expressions are.
    variables: Vec<Option<SymbolId>>,
    /// Declarations of names where they are written, as [`Analysis`] has them.
    resolved: HashMap<u32, SymbolId>,
    /// Labels of the function that is being checked, in the order of the source.
    labels: Vec<(Name, SymbolId)>,
    /// Its jumps, with the scopes' declaration that they see.
    jumps: Vec<(Name, Option<SymbolId>)>,
    /// Conditions that should not be constant.
    conditions: Vec<statement::Condition>,
    /// Remainder of [`LETTER_PAIRS_MAX`].
    letter_pairs: Cell<usize>,
}

impl<'a> Checker<'a> {
    fn new(source: &str, dialect: Dialect, script: &'a Script, faults: &'a mut Faults) -> Self {
        Self {
            lines: Lines::new(source),
            dialect,
            script,
            faults,
            scopes: Scopes::new(script.names.len()),
            types: vec![None; script.exprs.len()],
            variables: vec![None; script.exprs.len()],
            resolved: HashMap::new(),
            labels: Vec::new(),
            jumps: Vec::new(),
            conditions: Vec::new(),
            letter_pairs: Cell::new(LETTER_PAIRS_MAX),
        }
    }

    /// Global variables are declared in the order of the source, functions and states before all bodies. `is_whole`: all of the script could be read.
    fn script(&mut self, is_whole: bool) {
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
        if !is_whole {
            // Assignments may be among what could not be read.
            self.scopes.forget_values(0);
        }
        self.constants();
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
            let name = self.shown(variable.name);
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
        let state_name = state.name.map_or_else(|| "default".to_owned(), |name| self.shown(name));
        if state.handlers.is_empty() {
            self.fault(state.span, Fault::EmptyState(state_name.clone()));
        }
        let mut former = HashMap::new();
        for handler in &state.handlers {
            if let Some(span) = former.insert(handler.name.id, handler.name.span) {
                let event = self.shown(handler.name);
                let line = self.line(span);
                let state = state_name.clone();
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
            let name = self.shown(handler.name);
            return self.fault(handler.name.span, Fault::UnknownEvent { name, nearest });
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

    fn symbol(&self, name: Name, kind: Kind, ty: Type) -> Symbol {
        Symbol {
            name: name.id,
            kind,
            ty,
            span: name.span,
            may_be_unused: false,
            n_uses: 0,
            function: None,
            known: Known::Nothing,
        }
    }

    /// Declares a name, and reports the former declarations that it meets.
    fn declare(&mut self, symbol: Symbol) -> SymbolId {
        let script = self.script;
        let name = script.text_of(symbol.name);
        let shown = || outline::shown(name);
        let (span, kind) = (symbol.span, symbol.kind);
        let is_global = self.scopes.is_outermost();
        let (id, Met { same_scope, hidden }) = self.scopes.declare(symbol);
        self.resolved.insert(span.start, id);
        if let Some(former) = same_scope {
            let line = self.line(self.scopes.symbol(former).span);
            self.fault(span, Fault::Duplicate { name: shown(), line });
        } else if Library::get().event(name, self.dialect).is_some() {
            self.fault(span, Fault::EventName(shown()));
        } else if Library::get().constant(name, self.dialect).is_some()
            || is_global && Library::get().function(name, self.dialect).is_some()
        {
            self.fault(span, Fault::LibraryName(shown()));
        } else if let Some(hidden) = hidden
            && (self.scopes.symbol(hidden).kind != Kind::Function || kind == Kind::Function)
        {
            let line = self.line(self.scopes.symbol(hidden).span);
            self.fault(span, Fault::Shadows { name: shown(), line });
        }
        id
    }

    /// The declaration that a name means, if there is one of its kind.
    fn resolve(&mut self, name: Name, kind: Kind) -> Option<SymbolId> {
        let found = self.scopes.find(name.id, kind);
        match found {
            Some(symbol) => {
                self.scopes.note_use(symbol);
                self.resolved.insert(name.span.start, symbol);
            }
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
        let shown = outline::shown(text);
        if let Some(found) = found {
            return self.fault(name.span, Fault::WrongKind { name: shown, found, wanted: kind.described() });
        }
        let own = self.scopes.names_of(kind).map(|id| self.script.text_of(id));
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
        self.fault(name.span, Fault::Undeclared { name: shown, nearest });
    }

    /// The known name most like an unknown one. Comparing costs more than all else: not done for faults that are not listed, and within a bound.
    fn nearest<'n>(&self, name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
        if self.faults.is_full() {
            return None;
        }
        let affordable = known.take_while(|known| {
            let left = self.letter_pairs.get().checked_sub(name.len() * known.len());
            self.letter_pairs.set(left.unwrap_or(0));
            left.is_some()
        });
        outline::nearest(name, affordable)
    }

    fn unused(&mut self) {
        let unused: Vec<(Span, Kind, NameId)> = (self.scopes.symbols.iter())
            .filter(|symbol| symbol.is_unused())
            .map(|symbol| (symbol.span, symbol.kind, symbol.name))
            .collect();
        for (span, kind, name) in unused {
            let name = outline::shown(self.script.text_of(name));
            self.fault(span, Fault::Unused { kind: kind.as_str(), name });
        }
    }

    /// A name as messages show it.
    fn shown(&self, name: Name) -> String {
        outline::shown(self.script.name(name))
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
