//! The row of an object that is held.

use ids::{AgentId, HeldKey, SessionKey};
use std::sync::Arc;

/// An object that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// Its key.
    pub key: HeldKey,
    /// The user who has it.
    pub owner: AgentId,
    /// Code of the reason for which it left.
    pub kind: u8,
    /// Session that ordered it, [`SessionKey::NODE`] for the node.
    pub by: SessionKey,
    /// Time at which it left, seconds since 1970.
    pub held_s: i64,
    /// The object, as a record.
    pub value: Arc<[u8]>,
}
