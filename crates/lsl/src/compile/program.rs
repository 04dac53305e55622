//! Globals, functions and states of a script as those of a program.
//!
//! Values of global variables are constants of the program. In `opensim` they may be any expression: from the first one on that only the machine can compute, a
//! function of the program has them all. `state_entry` of the first state, which is the first event of each script, calls it once.

use super::effects::Effects;
use super::fold::Folder;
use super::function::FunctionCompiler;
use super::unit::{Declared, Unit, kind, kind_of, rules_of, value_of};
use crate::check::{Analysis, Checked, SymbolId};
use crate::fault::Fault;
use crate::syntax::{Declaration, ExprId, Function, Global};
use crate::types::Type;
use crate::{Faults, Span};
use script::builder::{Code, FunctionId, GlobalRegister, StateId};
use script::instruction::Op;
use script::verify::{CELLS_MAX, ProgramError};
use script::{EventKind, Kind, Library, Program, ProgramBuilder, Value};
use std::collections::HashMap;

/// Name of the function with the values of global variables. Scripts cannot have one of this name.
const START: &str = "(global variables)";

/// A program whose code is not there yet.
struct Builder<'a> {
    analysis: &'a Analysis,
    program: ProgramBuilder,
    library: &'a Library,
    declared: HashMap<SymbolId, Declared>,
    /// Functions and handlers with their syntax.
    functions: Vec<(FunctionId, &'a Function)>,
    /// Places of functions by their names in the program.
    spans: HashMap<String, Span>,
    /// Values of global variables that the machine computes.
    computed: Vec<(SymbolId, ExprId)>,
    faults: &'a mut Faults,
}

/// The part of the first handler that runs once.
#[derive(Clone, Copy, Debug)]
struct Start {
    function: FunctionId,
    /// True once the function has been called.
    has_begun: GlobalRegister,
    handler: FunctionId,
}

/// Makes the program. `None` after a fault.
pub(super) fn build(
    source: &str,
    checked: &Checked,
    analysis: &Analysis,
    library: &Library,
    faults: &mut Faults,
) -> Option<Program> {
    let hash = super::program_hash(source, checked.dialect);
    let mut builder = Builder {
        analysis,
        program: ProgramBuilder::new(hash, rules_of(checked.dialect)),
        library,
        declared: HashMap::new(),
        functions: Vec::new(),
        spans: HashMap::new(),
        computed: Vec::new(),
        faults,
    };
    if !builder.has_room() {
        return None;
    }
    let mut folder = Folder::new(analysis, checked.dialect);
    builder.globals(&mut folder);
    let (default_state, entry) = builder.states();
    let start = builder.start(default_state, entry);
    let unit = Unit {
        source,
        checked,
        analysis,
        library,
        constants: folder.into_values(),
        effects: Effects::new(&analysis.script),
        declared: std::mem::take(&mut builder.declared),
        default_state,
    };
    builder.code(&unit, start);
    builder.finish()
}

impl Builder<'_> {
    /// Checks the numbers that instructions have to name.
    fn has_room(&mut self) -> bool {
        let analysis = self.analysis;
        let script = &analysis.script;
        let handlers = script.states.iter().flat_map(|state| &state.handlers);
        let of_script = script.globals.iter().filter_map(|global| match global {
            Global::Function(function) => Some(function),
            Global::Variable(_) => None,
        });
        let mut n_functions = 2;
        for function in of_script.chain(handlers) {
            n_functions += 1;
            let kinds: Vec<Kind> = function.parameters.iter().map(|one| kind(one.ty)).collect();
            if Kind::cells_of(&kinds) > CELLS_MAX {
                self.too_large(function.name.span, "parameters", "too many of them");
                return false;
            }
        }
        for (part, n) in [("functions", n_functions), ("states", script.states.len())] {
            if n > usize::from(u16::MAX) {
                self.too_large(Span::default(), part, "too many of them");
                return false;
            }
        }
        true
    }

    /// Declares variables and functions.
    fn globals(&mut self, folder: &mut Folder<'_>) {
        let analysis = self.analysis;
        for global in &analysis.script.globals {
            match global {
                Global::Variable(variable) => self.variable(variable, folder),
                Global::Function(function) => {
                    let name = analysis.script.name(function.name);
                    let kinds: Vec<Kind> = function.parameters.iter().map(|one| kind(one.ty)).collect();
                    let id = self.program.function(name, &kinds, kind_of(function.returns));
                    self.declare(function.name.span, Declared::Function(id));
                    self.functions.push((id, function));
                    self.spans.insert(name.to_owned(), function.name.span);
                }
            }
        }
    }

    fn variable(&mut self, variable: &Declaration, folder: &mut Folder<'_>) {
        let symbol = self.analysis.resolved[&variable.name.span.start];
        let known = match variable.value {
            None => folder.declare(symbol, variable.ty),
            // Computed values before it may call functions that change this variable.
            Some(_) if !self.computed.is_empty() => None,
            Some(value) => folder.define(symbol, variable.ty, value),
        };
        if known.is_none() {
            self.computed.extend(variable.value.map(|value| (symbol, value)));
        }
        let initial = known.map_or_else(|| Value::zero(kind(variable.ty)), |value| value_of(&value));
        let global = self.program.global(initial);
        self.declared.insert(symbol, Declared::Variable(global));
    }

    /// Declares states and their handlers. The first state, and its handler of `state_entry`.
    fn states(&mut self) -> (StateId, Option<FunctionId>) {
        let analysis = self.analysis;
        let mut first = None;
        for state in &analysis.script.states {
            let name = state.name.map_or("default", |name| analysis.script.name(name));
            let id = self.program.state(name);
            if let Some(name) = state.name {
                self.declare(name.span, Declared::State(id));
            }
            let mut entry = None;
            for handler in &state.handlers {
                let event = analysis.script.name(handler.name);
                let kinds: Vec<Kind> = handler.parameters.iter().map(|one| kind(one.ty)).collect();
                let Some(kind) = EventKind::of(event, &kinds) else {
                    self.faults.add(handler.name.span, Fault::NotInLibrary(event.to_owned()));
                    continue;
                };
                let function = self.program.handler(id, kind);
                if kind == EventKind::STATE_ENTRY {
                    entry = Some(function);
                }
                self.functions.push((function, handler));
                self.spans.insert(format!("{name}.{event}"), handler.name.span);
            }
            first.get_or_insert((id, entry));
        }
        first.expect("a script without faults has a state")
    }

    /// Declares what computes global variables, if there are any to be computed.
    fn start(&mut self, first: StateId, entry: Option<FunctionId>) -> Option<Start> {
        if self.computed.is_empty() {
            return None;
        }
        let has_begun = self.program.global(Value::Integer(0));
        let function = self.program.function(START, &[], None);
        let handler = entry.unwrap_or_else(|| self.program.handler(first, EventKind::STATE_ENTRY));
        Some(Start { function, has_begun, handler })
    }

    /// Writes the code of all functions.
    fn code(&mut self, unit: &Unit<'_>, start: Option<Start>) {
        let mut is_entry_written = false;
        for &(id, function) in &self.functions {
            let mut code = self.program.code(id);
            if let Some(start) = start.filter(|start| start.handler == id) {
                begin(&mut code, start);
                is_entry_written = true;
            }
            let mut compiler = FunctionCompiler::new(unit, code, self.faults);
            compiler.function(function);
            compiler.code.finish();
        }
        let Some(start) = start else { return };
        if !is_entry_written {
            let mut code = self.program.code(start.handler);
            begin(&mut code, start);
            code.op(Op::Return, []);
            code.finish();
        }
        let code = self.program.code(start.function);
        let mut compiler = FunctionCompiler::new(unit, code, self.faults);
        for &(symbol, value) in &self.computed {
            compiler.define(symbol, value);
        }
        compiler.end(Type::Void);
        compiler.code.finish();
    }

    fn finish(self) -> Option<Program> {
        if self.faults.has_errors() {
            return None;
        }
        match self.program.finish(self.library) {
            Ok(program) => Some(program),
            Err(error) => {
                let (span, fault) = match error {
                    ProgramError::Part { part, why } => {
                        let span = self.spans.get(&part).copied().unwrap_or_default();
                        (span, Fault::TooLarge { part, why })
                    }
                    error => (Span::default(), Fault::Compiler(error.to_string())),
                };
                self.faults.add(span, fault);
                None
            }
        }
    }

    fn declare(&mut self, name: Span, declared: Declared) {
        self.declared.insert(self.analysis.resolved[&name.start], declared);
    }

    fn too_large(&mut self, span: Span, part: &str, why: &'static str) {
        self.faults.add(span, Fault::TooLarge { part: part.to_owned(), why });
    }
}

/// Calls the function with the values of global variables, the first time.
fn begin(code: &mut Code<'_>, start: Start) {
    let (has_begun, behind) = (code.register(Kind::Integer), code.label());
    code.get(has_begun, start.has_begun);
    code.jump_if(has_begun, behind);
    code.load(has_begun, Value::Integer(1));
    code.set(start.has_begun, has_begun);
    code.call(start.function, &[], None);
    code.bind(behind);
    code.release(has_begun);
}
