//! Functions of the library that programs call: those of values, which need no world and are here, those of the host, and those that are not served yet.
//!
//! Kinds and fuel are those of the [`table`]. The modules bind its pure functions by name to what carries them out. A program names its functions with
//! their kinds ([`Import`]); a [`Library`] resolves them when the program is read. So a program of another build finds its functions, or is refused by
//! name.

mod list;
mod memory;
mod numbers;
mod opensim;
mod text;

use crate::call::Call;
use crate::error::RunError;
use crate::kind::{Kind, Value};
pub use crate::signature::{Signature, Work};
use crate::table::{self, Function, Service};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The function behind `print(x)`, which is no function of the [`table`]: a host may have it.
pub static PRINT: Signature =
    Signature { name: "print", parameters: &[Kind::Text], result: None, work: Work::Flat(10) };

/// A function of the library that the program calls. Names, since numbers differ between builds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Its name.
    pub name: String,
    /// Kinds of its parameters.
    pub parameters: Vec<Kind>,
    /// Kind of its result.
    pub result: Option<Kind>,
}

/// The work of a function that needs nothing but values.
type Run = fn(&mut Call<'_>) -> Result<Value, RunError>;

/// A function that needs nothing but values.
#[derive(Clone, Copy, Debug)]
pub struct PureFunction {
    /// Its line of the table.
    pub function: &'static Function,
    pub(crate) run: Run,
    /// Neither a delay nor a danger.
    pub(crate) is_plain: bool,
}

/// A name of the table with what carries the function out.
#[derive(Clone, Copy, Debug)]
struct Binding {
    name: &'static str,
    run: Run,
}

static PURE: LazyLock<Vec<PureFunction>> = LazyLock::new(|| {
    let bindings = [numbers::BINDINGS, text::BINDINGS, list::BINDINGS, memory::BINDINGS, opensim::BINDINGS];
    let bindings = bindings.into_iter().flatten();
    let functions = bindings.flat_map(|&Binding { name, run }| {
        let forms = table::named(name).filter(|form| form.service == Service::Pure);
        forms.map(move |function| PureFunction { function, run, is_plain: function.is_plain() })
    });
    functions.collect()
});

/// The function behind an import.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Pure(&'static PureFunction),
    Host(u16, &'static Signature),
    Unserved(&'static Function),
}

/// An import with what each call of it needs.
#[derive(Clone, Debug)]
pub(crate) struct Linked {
    pub(crate) target: Target,
    /// Cells of its arguments.
    pub(crate) n_cells: usize,
    /// Cells with references among these.
    pub(crate) references: Box<[u16]>,
}

impl From<Target> for Linked {
    fn from(target: Target) -> Self {
        let parameters = target.signature().parameters;
        let cell = |n: usize| Kind::cells_of(&parameters[..n]);
        let references = (0..parameters.len()).filter(|&n| parameters[n].is_reference());
        // A function with so many parameters that numbers do not suffice is called by no program.
        let references = references.map(|n| cell(n) as u16).collect();
        Self { target, n_cells: cell(parameters.len()), references }
    }
}

impl Target {
    pub(crate) const fn signature(self) -> &'static Signature {
        match self {
            Self::Pure(pure) => &pure.function.signature,
            Self::Host(_, signature) => signature,
            Self::Unserved(function) => &function.signature,
        }
    }
}

/// All functions that programs may call.
#[derive(Clone, Debug)]
pub struct Library {
    /// Several functions of one name have different parameters.
    by_name: BTreeMap<&'static str, Vec<Target>>,
}

impl Library {
    /// The functions of values, and those of a host. A function of the host is called by its place in `host`.
    #[must_use]
    pub fn new(host: &'static [Signature]) -> Self {
        let mut by_name: BTreeMap<&'static str, Vec<Target>> = BTreeMap::new();
        let numbers = 0..=u16::MAX;
        let host = numbers.zip(host).map(|(number, signature)| Target::Host(number, signature));
        for target in pure_functions().map(Target::Pure).chain(host) {
            by_name.entry(target.signature().name).or_default().push(target);
        }
        Self { by_name }
    }

    /// All functions of the table, for a world: those of values, those that `host` names, called by their place in it, and all others, whose calls it
    /// refuses ([`Host::refuse`](crate::host::Host::refuse)).
    ///
    /// # Panics
    ///
    /// If `host` names a function that is not in the table, and is not [`PRINT`].
    #[must_use]
    pub fn whole(host: &[&str]) -> Self {
        let mut by_name: BTreeMap<&'static str, Vec<Target>> = BTreeMap::new();
        for pure in pure_functions() {
            by_name.entry(pure.function.name()).or_default().push(Target::Pure(pure));
        }
        for (number, &name) in (0..=u16::MAX).zip(host) {
            let print = (name == PRINT.name).then_some(&PRINT);
            let forms: Vec<_> = table::named(name).map(|form| &form.signature).chain(print).collect();
            assert!(!forms.is_empty(), "{name} is no function");
            for signature in forms {
                by_name.entry(signature.name).or_default().push(Target::Host(number, signature));
            }
        }
        let served: BTreeSet<&str> = by_name.keys().copied().collect();
        for function in table::functions().iter().filter(|function| !served.contains(function.name())) {
            by_name.entry(function.name()).or_default().push(Target::Unserved(function));
        }
        Self { by_name }
    }

    /// True if calls of a function have an effect or a result: it is served.
    #[must_use]
    pub fn serves(&self, name: &str) -> bool {
        let targets = self.by_name.get(name);
        targets.is_some_and(|targets| targets.iter().any(|target| !matches!(target, Target::Unserved(_))))
    }

    /// The function of a name and of kinds.
    #[must_use]
    pub fn find(&self, name: &str, parameters: &[Kind]) -> Option<&'static Signature> {
        let named = self.by_name.get(name)?.iter();
        named.map(|target| target.signature()).find(|signature| signature.parameters == parameters)
    }

    pub(crate) fn resolve(&self, import: &Import) -> Option<Target> {
        self.by_name.get(import.name.as_str())?.iter().copied().find(|target| {
            let signature = target.signature();
            signature.parameters == import.parameters && signature.result == import.result
        })
    }
}

/// The functions that need nothing but values, the script's memory and its random numbers.
pub fn pure_functions() -> impl Iterator<Item = &'static PureFunction> {
    PURE.iter()
}

const fn bind(name: &'static str, run: Run) -> Binding {
    Binding { name, run }
}

#[cfg(test)]
mod tests;
