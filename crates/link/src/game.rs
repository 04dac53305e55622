//! Events of the game that the visitors of a world play. A frame carries them with their audience and reads none: the game's crate
//! writes them, and the code that sends [`crate::Event::Game`] to clients reads them.

use ids::LocalId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that happened in the game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GameEvent {
    /// A visitor or an NPC was struck, and lost health.
    Struck {
        /// The target.
        who: LocalId,
        /// The attacker, while it is in the world.
        by: Option<LocalId>,
        /// Health lost.
        points: u16,
    },
    /// The health of an avatar has come to 0. An NPC lies now; a visitor is put where visitors arrive.
    Fell(LocalId),
    /// An NPC that had fallen is back.
    Rose(LocalId),
    /// The health of the visitor whose session is the audience: sent at its arrival and at every change, in worlds where damage is on.
    Health {
        /// 0 to 100.
        points: u8,
    },
    /// A mission has come to its next waypoint, or to its end.
    Mission {
        /// Its place in the template.
        mission: u8,
        /// Waypoints that are done.
        done: u8,
        /// Waypoints in all.
        waypoints: u8,
        /// Text of the goal, or of the mission's end.
        text: Arc<str>,
    },
}
