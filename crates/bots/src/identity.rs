//! Identity of a bot on its circuits.

use ids::{AgentId, CircuitCode, SessionId};

/// Ids that a bot repeats in its messages, from the login reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account.
    pub agent: AgentId,
    /// The login.
    pub session: SessionId,
    /// The same for every region of this login.
    pub circuit_code: CircuitCode,
}
