//! What must be true, compared with the truth: the frames that left the worlds.
//!
//! Checks see both ends and nothing between them: frames on one side, what bots show on the other. Safety is checked
//! as the run goes; that all comes right is demanded by the phases of [`crate::simulation`].

mod census;
mod chat;
mod presence;
mod stops;
mod views;

pub(crate) use census::Census;
pub(crate) use chat::{Attendance, ChatLedger};
pub(crate) use presence::Presences;
pub(crate) use stops::{Look, Stops};
pub(crate) use views::{ghosts, unlike_the_world};

use ids::Instant;
use std::fmt;
use std::time::Duration;

/// How long what piled up while a path was cut is on its way afterwards.
pub(crate) const BACKLOG_MAX: Duration = chat::ON_THE_WAY_MAX;

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When it was noticed, in virtual time.
    pub at: Instant,
    /// What must be true.
    pub rule: Rule,
    /// What was found instead.
    pub found: String,
}

/// What must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Frames of a world are numbered without gaps and say nothing impossible.
    FramesAreConsistent,
    /// A world that moves between hosts has the same states and frames as one that does not.
    MovesChangeNothing,
    /// Who is in a world is there once; in two worlds only for a moment, while teleporting or after logging in anew.
    SinglePresence,
    /// A client shows nobody who never was there, and nobody who left long ago.
    NoGhosts,
    /// Who stopped is not shown moving for longer than the period of their band of distance and a second.
    StopsAreShown,
    /// What is said reaches the world once, and everybody in range once, unless they left.
    ChatArrivesOnce,
    /// The node answers nobody without a ticket.
    StrangersGetNoAnswer,
    /// No queue was ever too full for a reliable message.
    NothingIsRefused,
    /// After the storm everybody comes back.
    EverybodyReturns,
    /// After the storm everybody can travel, speak and hear.
    EverythingWorks,
    /// When everybody stands still, every client shows exactly who is there, exactly where they are.
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
