//! Name, kinds and fuel of a function.

use crate::kind::Kind;

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
