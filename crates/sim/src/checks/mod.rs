//! Invariants, compared with the truth: the frames of the worlds.
//!
//! Checks see both ends and nothing between them: frames on one side, the bots' views on the other. Safety is checked during the run;
//! the phases of [`crate::simulation`] demand recovery.

mod census;
mod chat;
mod presence;
mod prims;
mod rates;
mod stops;
mod views;

pub(crate) use census::Census;
pub(crate) use chat::{Attendance, ChatAudit};
pub(crate) use presence::Presences;
pub(crate) use prims::ghost_prims;
pub(crate) use rates::{CpuSupply, UpdateRates};
pub(crate) use stops::{Look, Stops};
pub(crate) use views::{ghosts, unlike_the_world};

use ids::Instant;
use std::fmt;
use std::time::Duration;

/// Maximum latency of a backlog after a cut.
pub(crate) const BACKLOG_MAX: Duration = chat::ON_THE_WAY_MAX;

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Time of detection, in virtual time.
    pub at: Instant,
    /// The invariant.
    pub rule: Rule,
    /// The violation.
    pub found: String,
}

/// Invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Frames of a world are numbered without gaps and say nothing impossible.
    FramesAreConsistent,
    /// A world that moves between hosts has the same states and frames as a world that stays.
    MovesChangeNothing,
    /// An avatar is present once; in two worlds only for a moment, while teleporting or after a new login.
    SinglePresence,
    /// A client displays no avatar that never was present, and none that left long ago.
    NoGhosts,
    /// A stopped avatar is displayed moving for at most the period of its band of distance + 1 s.
    StopsAreShown,
    /// Chat reaches the world once, and each avatar in range once, unless it left.
    ChatArrivesOnce,
    /// The node answers no sender without a ticket.
    StrangersGetNoAnswer,
    /// No queue was ever too full for a reliable message.
    NothingIsRefused,
    /// A shortage of CPU time costs no client its circuit.
    NoCircuitIsLost,
    /// Clients that log in during a shortage of CPU time are in the region in time.
    ArrivalsGetIn,
    /// During a shortage of CPU time updates become rarer evenly with distance, and for all clients alike.
    RatesFallEvenly,
    /// After the storm every client comes back.
    EverybodyReturns,
    /// After the storm every client can travel, speak and hear.
    EverythingWorks,
    /// With all avatars at rest, every client displays exactly the present ones at their exact positions.
    ViewsConverge,
}

impl Failure {
    pub(crate) const fn new(at: Instant, rule: Rule, found: String) -> Self {
        Self { at, rule, found }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at.0 as f64 / 1e9;
        write!(f, "{:?} does not hold at {seconds:.3} s: {}", self.rule, self.found)
    }
}

impl std::error::Error for Failure {}
