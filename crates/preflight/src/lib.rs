//! Preflight: what a change costs, and whether it changes behaviour, told before it goes in.
//!
//! Two builds of the server do the same work in virtual time (`sim::workload`), and what each of their systems executes
//! is counted by callgrind: instructions, which are the same in every run, where times are not. It says nothing of cache
//! misses, locks and the kernel; an experiment on a quiet machine does.
//!
//! | what | where |
//! |---|---|
//! | commits to binaries | [`builds`] |
//! | one build, measured | [`measure`] |
//! | a profile, and what systems cost by it | [`symbols`], [`callgrind`], [`costs`] |
//! | two builds side by side | [`compare`](mod@compare) |
//! | whether it finds what it should | [`trial`] |
//! | what is shown of it | [`text`], [`page`] |
//!
//! This crate runs no worlds itself and reads no clock.

pub mod builds;
pub mod callgrind;
pub mod compare;
pub mod costs;
pub mod measure;
pub mod page;
pub mod symbols;
pub mod text;
pub mod trial;
