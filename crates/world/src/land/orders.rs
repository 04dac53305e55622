//! Commands on land, on their way from the inbox to the land phase.

use ids::{AgentId, SessionKey};
use link::LandEdit;

/// Author of a command, by its rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LandAuthor {
    /// Account; `None` for the node without a session.
    pub(crate) agent: Option<AgentId>,
    /// Has an operator's rights.
    pub(crate) is_operator: bool,
}

/// A command on land that is permitted as such; its author's rights on the land are judged later.
#[derive(Clone, Debug)]
pub(crate) struct LandOrder {
    pub(crate) author: LandAuthor,
    /// The session that gave it, or in whose name the node did.
    pub(crate) session: SessionKey,
    /// Number of the command.
    pub(crate) sequence: u64,
    /// Seconds since 1970.
    pub(crate) at_s: u64,
    pub(crate) edit: LandEdit,
}
