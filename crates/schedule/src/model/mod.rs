//! Scheduler on virtual time: the same decisions, with any number of workers and steps of given durations.
//!
//! - [`packing`]: length of a frame of a thousand worlds on 36 workers ÷ the shortest possible length.
//! - [`starvation`]: long tasks on a full node, with and without starvation control.
//!
//! Both are functions of their settings and return plain data, for tests to judge and for reports to plot. [`Crew`] is their common
//! part: workers with the behaviour of a [`crate::Pool`]'s, in deterministic order. Locks and wake-ups cost no virtual time; their cost
//! is measured on real threads (`benches/frame.rs`).

mod chance;
mod crew;
pub mod packing;
pub mod starvation;

pub use chance::Chance;
pub use crew::{Crew, VirtualStep};
