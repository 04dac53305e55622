//! Scripts: their values, their programs, and the machine that runs them.
//!
//! The crate knows no source text, no world, no clock and no source of randomness: events, ticks, fuel and seeds are arguments, and a [`Host`] has the
//! effects. Start with [`instance`], with [`builder`] to make programs, or with [`value`] and [`heap`].
//!
//! | part | module |
//! |---|---|
//! | the two sets of rules | [`dialect`] |
//! | values | [`value`], [`string`], [`key`], [`list`] |
//! | memory of one script, by index, counted and limited | [`heap`] |
//! | operators | [`arith`] |
//! | casts | [`convert`] |
//! | functions of numbers | [`math`] |
//! | functions of strings | [`text`], [`encoding`], [`hash`], [`pattern`] |
//! | functions of lists | [`list`], [`list_order`], [`list_text`] |
//! | functions of JSON | [`json`], [`json_build`] |
//! | functions that only OpenSimulator has | [`opensim_numbers`], [`opensim_text`], [`opensim_list`] |
//! | programs: what they consist of, their construction, check and bytes | [`program`], [`instruction`], [`builder`], [`verify`], `program_bytes` |
//! | registers and values outside of a heap | [`kind`], `cell` |
//! | functions that programs call: all of them, those of values, a call, the world | [`table`], [`signature`], [`library`], [`call`], [`host`] |
//! | a script without a world | [`solo`] |
//! | the interpreter | [`vm`] |
//! | a script: events, states, time, chance | [`instance`], [`event`], [`queue`], [`clock`], [`random`] |
//! | a script as bytes, and in another program | [`state`], [`migrate`] |
//!
//! Functions are called by what they do; their documentation begins with the name that scripts use.
//!
//! # Determinism
//!
//! Equal arguments have equal results on all machines. `+ - * /`, square roots, comparisons, casts between number types, parsing and printing of
//! floats are exact by IEEE 754 or by the standard library's own algorithms. Everything transcendental comes from `libm`. The sign and payload of
//! a NaN differ between processors, so that no function shows them, and [`Dialect::float`] stores one NaN. Upper and lower case follow the tables of
//! Unicode in the standard library, so that another compiler may know more letters.
//!
//! # Library functions of OpenSimulator
//!
//! Each table of tests has both dialects. Results of OpenSimulator that are accidents of its platform (an exception, a culture, a regular expression in
//! a plain search) are not repeated; there the rules of `sl` hold, with doubles.

pub mod arith;
pub mod builder;
pub mod call;
mod cell;
pub mod clock;
pub mod convert;
mod convert_float;
mod convert_text;
pub mod dialect;
pub mod encoding;
mod error;
pub mod event;
pub mod hash;
pub mod heap;
pub mod host;
pub mod instance;
pub mod instruction;
pub mod json;
pub mod json_build;
pub mod key;
pub mod kind;
pub mod library;
pub mod list;
pub mod list_order;
pub mod list_text;
pub mod math;
pub mod migrate;
pub mod opensim_list;
pub mod opensim_numbers;
pub mod opensim_text;
pub mod pattern;
pub mod program;
mod program_bytes;
pub mod queue;
pub mod random;
pub mod rotation;
pub mod signature;
pub mod solo;
pub mod state;
pub mod string;
mod sub_range;
pub mod table;
#[cfg(test)]
mod testing;
pub mod text;
pub mod value;
pub mod verify;
pub mod vm;

pub use builder::ProgramBuilder;
pub use dialect::Dialect;
pub use error::RunError;
pub use event::{Event, EventKind};
pub use heap::{Heap, Ref};
pub use host::{Host, Outcome};
pub use instance::Instance;
pub use key::Key;
pub use kind::{Kind, Value};
pub use library::Library;
pub use list::List;
pub use program::Program;
pub use string::Text;
pub use value::{Element, Rotation, Type, Vector};
