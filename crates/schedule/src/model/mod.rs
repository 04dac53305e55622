//! The scheduler on virtual time: the same decisions, with as many workers as one likes and steps that take what one says.
//!
//! - [`packing`]: how close a frame of a thousand worlds on 36 workers comes to the shortest that there could be.
//! - [`starvation`]: what becomes of long tasks on a full node, with the control of starvation and without.
//!
//! Both are functions of their settings and give plain data, for tests to judge and for reports to plot. [`Crew`] is what they
//! share: workers that do what those of a [`crate::Pool`] do, in the order in which it happens. It has no locks to wait for and no wake-ups
//! that take their time; what those cost is measured on real threads (`benches/frame.rs`).

mod chance;
mod crew;
pub mod packing;
pub mod starvation;

pub use chance::Chance;
pub use crew::{Crew, Step};
