//! A recording of a world, as a file that can be replayed: a snapshot and every command since, tick by tick.
//!
//! Worlds are deterministic, so this is all it takes. A [`Tape`] runs along with a live world and costs it a copy of its commands;
//! [`write`](fn@write) makes a file of it on another thread; [`Recording::open`] reads one, whole or not at all, and [`Replay`] steps
//! it. Files carry their terrain and what their NPCs do, and depend on nothing else.
//!
//! It is no log of frames and no network capture: the clients' views follow from the replay. It reads no clock.
//!
//! ```no_run
//! use recording::{Recording, Replay};
//!
//! let mut recording = Recording::open("harbour.throngrec".as_ref())?;
//! let mut replay = Replay::new(&recording)?;
//! for step in recording.steps()? {
//!     let step = step?;
//!     let expected = step.state_hash;
//!     assert!(expected.is_none_or(|hash| hash == replay.step(step).state_hash));
//! }
//! # Ok::<(), recording::RecordingError>(())
//! ```

mod error;
mod format;
mod read;
mod replay;
mod source;
mod step;
mod steps1;
mod tape;
mod upgrade;
mod version4;
mod write;

pub use error::RecordingError;
pub use format::{About, End, Ending, Inhabitants, VERSION};
pub use read::{Recording, Steps};
pub use replay::Replay;
pub use step::Step;
pub use tape::{QUEUE_STEPS_MAX, Reel, Tape};
pub use upgrade::{UpgradeError, upgrade};
pub use write::{WriteError, Writer, write};
