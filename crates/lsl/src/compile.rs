//! Checked syntax → programs for the machine of crate `script`.
//!
//! Start with [`compile()`]. Neither the depth of expressions nor that of statements takes a part of the stack: steps that wait lie in lists.
//!
//! | part | module |
//! |---|---|
//! | facts that all functions share | `unit` |
//! | values known at compile time | `fold` |
//! | assignments and calls in expressions | `effects` |
//! | globals, functions, states | `program` |
//! | registers of one function | `operand`, `function` |
//! | statements | `statement` |
//! | expressions in their order of evaluation | `expression` |
//! | operators, casts and conditions | `binary`, `convert` |
//! | lists that grow | `list` |
//! | assignments and increments | `assign` |
//! | calls, and lists that they take | `call`, `last_use` |
//!
//! # Order of evaluation
//!
//! The right operand of a binary operator comes first, those of `&&` and `||` among these, and both are always evaluated. Arguments, elements and
//! components come from left to right. Variables and constants are read as late as possible: an operand that waits is copied only if the
//! expression evaluated meanwhile may change it.
//!
//! # Floats
//!
//! Operators yield doubles. They are rounded (`RoundFloat`) where they are stored: in variables, parameters, results, components. An assignment to a
//! local variable yields the double, an assignment to a global variable or a component the stored value.

mod assign;
mod binary;
mod call;
mod convert;
mod effects;
mod expression;
mod fold;
mod function;
mod last_use;
mod list;
mod operand;
mod program;
mod statement;
mod unit;

use crate::check::{self, Checked};
use crate::{Dialect, Faults};
use script::{Library, Program};
use sha2::{Digest as _, Sha256};

/// Version of the compiler. Raised with each change of the programs that it makes, so that stored ones are compiled anew.
pub const COMPILER_VERSION: u32 = 1;

/// A script as a program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program, with a place in the source for each instruction ([`script::program::Function::place`]).
    pub program: Program,
    /// The dialect, and the warnings.
    pub checked: Checked,
}

/// The name of a program: a hash of its source, its dialect and the compiler's version.
#[must_use]
pub fn program_hash(source: &str, dialect: Dialect) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"lsl");
    hasher.update(COMPILER_VERSION.to_le_bytes());
    hasher.update([match dialect {
        Dialect::Sl => 0_u8,
        Dialect::Opensim => 1,
    }]);
    hasher.update(source.as_bytes());
    hasher.finalize().into()
}

/// Compiles a source for the functions of a library.
///
/// `print(x)` is a call of the library's function `print`, which takes a string; without such a function only `x` is evaluated.
///
/// # Errors
///
/// All faults of the source, if one of them is an error.
pub fn compile(source: &str, dialect: Dialect, library: &Library) -> Result<Compiled, Checked> {
    let (mut checked, analysis) = check::analyse(source, dialect);
    let Some(analysis) = analysis else { return Err(checked) };
    let mut faults = Faults { list: std::mem::take(&mut checked.faults), n_more: checked.n_more };
    let program = program::build(source, &checked, &analysis, library, &mut faults);
    faults.list.sort_by_key(|found| found.span);
    (checked.faults, checked.n_more) = (faults.list, faults.n_more);
    match program {
        Some(program) => Ok(Compiled { program, checked }),
        None => Err(checked),
    }
}

#[cfg(test)]
mod tests;
