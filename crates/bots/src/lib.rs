//! Load bots: they log in, behave and measure like real clients, by the thousand in one process.
//!
//! [`agent`] is one bot as a state machine without IO, with its parts beside it; the simulator runs it on virtual time. [`driver`] runs
//! many of them on sockets with a real clock and is the only part that reads clocks, opens sockets or speaks HTTP. Nothing is drawn,
//! and only observing bots decode the scene.
//!
//! | part | module |
//! |---|---|
//! | one bot | [`agent`], with the circuit of `circuit::Circuit` |
//! | its behaviour, and its agent updates | [`behavior`], [`sender`], [`profile`] |
//! | its knowledge | [`whereabouts`], [`names`], [`observer`], [`prims`] |
//! | login and teleports | [`login`], [`destination`], [`identity`] |
//! | files: views of observers, their scenes, their caches of objects | [`views`], [`scenes`], [`cache_file`], all of the layout of [`record_file`] |
//! | round trips of words | [`echo`] |
//! | a bad network, a slow line | [`link`] |
//! | attacks | [`hostile`] |
//! | carrying, its record, and the audit of the server's state | [`carry`] |
//! | building, and its comparison with the server's answers and with other clients' screens | [`builder`], [`edit_watch`] |
//! | a thousand of them | [`driver`] |
//! | their findings | [`report`], counted in `circuit::Traffic`, [`distribution`] and [`summary`] |

pub mod agent;
pub mod behavior;
pub mod builder;
pub mod cache_file;
pub mod carry;
pub mod destination;
pub mod distribution;
pub mod driver;
pub mod echo;
pub mod edit_watch;
pub mod hostile;
pub mod identity;
pub mod link;
pub mod login;
pub mod names;
mod new_prim;
pub mod observer;
pub mod prims;
pub mod profile;
pub mod record_file;
#[cfg(test)]
mod region;
pub mod report;
pub mod rng;
#[cfg(test)]
mod scene;
pub mod scenes;
pub mod sender;
pub mod summary;
pub mod views;
pub mod whereabouts;

pub use driver::{BotsConfig, BotsError, run, run_controlled};
pub use report::RunReport;
