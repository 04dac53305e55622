//! How NPCs decide and what they notice.
//!
//! [`behavior`]: behaviours as text, checked when they are loaded, and [`behavior::Mind`], which follows one. [`senses`]: what
//! an NPC sees and hears, and how often it looks and thinks. Both are plain data and pure functions: a world owns the NPCs, says
//! what time it is, and carries out what they intend.

pub mod behavior;
mod hash;
pub mod senses;
