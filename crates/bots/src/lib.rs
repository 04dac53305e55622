//! Load bots: they log in, behave and measure like real clients, by the thousand in one process.
//!
//! Two halves. [`agent`] is one bot as a state machine without IO, with what it is made of beside it; the simulator
//! runs it on virtual time. [`driver`] runs many of them on sockets with a real clock and is the only part that reads
//! clocks, opens sockets or speaks HTTP. It is no viewer: nothing is drawn, and only observing bots decode what they
//! are shown.
//!
//! | what | where |
//! |---|---|
//! | one bot | [`agent`], with the circuit of `circuit::Circuit` |
//! | what it does, and how it says so | [`behavior`], [`sender`], [`profile`] |
//! | what it knows | [`whereabouts`], [`names`], [`observer`] |
//! | how it gets in and about | [`login`], [`destination`], [`identity`] |
//! | what observers were shown, as a file | [`views`] |
//! | how long its words take | [`echo`] |
//! | a bad network, a slow line | [`link`] |
//! | what attackers send | [`hostile`] |
//! | a thousand of them | [`driver`] |
//! | what they found | [`report`], counted in `circuit::Traffic`, [`distribution`] and [`summary`] |

pub mod agent;
pub mod behavior;
pub mod destination;
pub mod distribution;
pub mod driver;
pub mod echo;
pub mod hostile;
pub mod identity;
pub mod link;
pub mod login;
pub mod names;
pub mod observer;
pub mod profile;
#[cfg(test)]
mod region;
pub mod report;
pub mod rng;
#[cfg(test)]
mod scene;
pub mod sender;
pub mod summary;
pub mod views;
pub mod whereabouts;

pub use driver::{BotsConfig, BotsError, run, run_controlled};
pub use report::Report;
