//! Functions of the library that programs call: those of values, which need no world and are here, and those of the host.
//!
//! A program names its functions with their kinds ([`Import`]); a [`Library`] resolves them when the program is read. So a program of another build
//! finds its functions, or is refused by name.

mod list;
mod memory;
mod numbers;
mod text;

use crate::call::Call;
use crate::error::RunError;
use crate::kind::{Kind, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name, types and fuel of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// Kinds of its parameters.
    pub parameters: &'static [Kind],
    /// Kind of its result.
    pub result: Option<Kind>,
    /// Its fuel.
    pub work: Work,
}

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

/// Fuel of a function: 1 is about a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The same for all arguments.
    Flat(u32),
    /// Grows with the logical memory of arguments and result.
    Linear {
        /// Without any.
        base: u32,
        /// For each 64 bytes.
        per_64_bytes: u32,
    },
    /// Grows with the logical memory of the first reference among the arguments, times 1 + the number of elements of all lists behind it.
    Product {
        /// Without any.
        base: u32,
        /// For each 64 bytes.
        per_64_bytes: u32,
    },
}

/// A function that needs nothing but values.
#[derive(Clone, Copy, Debug)]
pub struct PureFunction {
    /// Name, kinds and fuel.
    pub signature: Signature,
    pub(crate) run: fn(&mut Call<'_>) -> Result<Value, RunError>,
}

/// The function behind an import.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Pure(&'static PureFunction),
    Host(u16, &'static Signature),
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
            Self::Pure(function) => &function.signature,
            Self::Host(_, signature) => signature,
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
    [numbers::FUNCTIONS, text::FUNCTIONS, list::FUNCTIONS, memory::FUNCTIONS].into_iter().flatten()
}

const fn pure(
    name: &'static str,
    parameters: &'static [Kind],
    result: Kind,
    work: Work,
    run: fn(&mut Call<'_>) -> Result<Value, RunError>,
) -> PureFunction {
    PureFunction { signature: Signature { name, parameters, result: Some(result), work }, run }
}

#[cfg(test)]
mod tests;
