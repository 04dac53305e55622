//! The Linden Scripting Language: text → checked syntax → programs, with all faults of a script in one reading.
//!
//! Start with [`check()`] and [`compile()`]. The rules are those of Second Life's compiler (`sl`) and of OpenSimulator's (`opensim`), as their grammars and the checkers
//! of scripts in use have them.
//!
//! | part | module |
//! |---|---|
//! | text → tokens | `token`, `lexer`, `dialect` |
//! | tokens → syntax | `syntax`, `parser` |
//! | names and scopes | `check::names` |
//! | types, values and paths | `types`, `operators`, `constant`, `check` |
//! | functions, events and constants; what is served of them | `library`, [`coverage`] |
//! | faults and their places | `fault`, `lines` |
//! | checked syntax → programs of crate `script` | `compile` |

mod check;
mod compile;
mod constant;
pub mod coverage;
mod dialect;
mod fault;
mod lexer;
mod library;
mod lines;
mod operators;
mod parser;
mod syntax;
mod token;
mod types;

pub use check::{Checked, Location, check};
pub use compile::{COMPILER_VERSION, Compiled, compile, program_hash};
pub use dialect::Dialect;
pub use fault::{Fault, Found, Severity};
pub use library::{Constant, ConstantValue, Event, Library, LibraryFunction, LibraryParameter};
pub use types::Type;

/// Bytes of a source at most.
pub const SOURCE_MAX: usize = 1 << 20;

/// Faults listed of one script; further ones are counted.
pub const FAULTS_MAX: usize = outline::PROBLEMS_MAX;

/// Bytes of a source, from `start` up to `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    /// From the beginning of this one to the end of the other.
    const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// Faults of one script, within their bound.
#[derive(Clone, Debug, Default)]
struct Faults {
    list: Vec<Found>,
    n_more: usize,
}

impl Faults {
    /// Adds a fault. Once the list is full, an error takes the place of the latest warning.
    fn add(&mut self, span: Span, fault: Fault) {
        if self.list.len() < FAULTS_MAX {
            self.list.push(Found { span, fault });
            return;
        }
        self.n_more += 1;
        if fault.severity() == Severity::Error
            && let Some(warning) =
                self.list.iter().rposition(|found| found.fault.severity() == Severity::Warning)
        {
            self.list.remove(warning);
            self.list.push(Found { span, fault });
        }
    }

    fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.fault.severity() == Severity::Error)
    }

    fn is_full(&self) -> bool {
        self.list.len() >= FAULTS_MAX
    }
}
