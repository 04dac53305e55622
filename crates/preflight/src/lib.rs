//! Preflight: cost of a change, and whether it changes behaviour, known before it is merged.
//!
//! Two builds of the server do the same work in virtual time (`sim::workload`), and callgrind counts the instructions of
//! each system. Instruction counts repeat exactly from run to run; times do not. Cache misses, locks and the kernel are not
//! measured: use an experiment on a quiet machine for those.
//!
//! | subject | module |
//! |---|---|
//! | commits to binaries | [`builds`] |
//! | one build, measured | [`measure`] |
//! | a profile, and the cost of systems in it | [`symbols`], [`callgrind`], [`costs`] |
//! | two builds compared | [`compare`](mod@compare) |
//! | sensitivity: slowdowns made on purpose | [`trial`] |
//! | results for terminals and as a page | [`text`], [`page`] |
//!
//! This crate runs no worlds itself and reads no clock. Start at [`measure::measure`].

pub mod builds;
pub mod callgrind;
pub mod compare;
pub mod costs;
pub mod measure;
pub mod page;
pub mod symbols;
pub mod text;
pub mod trial;
