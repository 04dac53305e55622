//! How NPCs decide and what they notice.
//!
//! [`senses`]: what an NPC sees and hears, and how often it looks and thinks. Plain data and pure functions: a world owns the NPCs
//! and says what time it is.

mod hash;
pub mod senses;
