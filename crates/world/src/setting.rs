//! The constant side of a world: nothing in it changes during a step, but for the ground of a world that is built on.

use crate::{cast::NpcCast, ground::SolidGround};
use ids::{Epoch, WorldId};
use link::Scenery;
use std::sync::Arc;

/// A world's identity, rules and surroundings. Every phase may read it, and none but the land phase writes it.
#[derive(Debug)]
pub(crate) struct WorldSetting {
    pub(crate) id: WorldId,
    pub(crate) epoch: Epoch,
    /// Decides everything that is left to chance.
    pub(crate) seed: u64,
    /// Visitors that are let in.
    pub(crate) max_avatars: usize,
    /// Heights and water; the land phase edits it.
    pub(crate) ground: SolidGround,
    pub(crate) scenery: Arc<Scenery>,
    /// Replaced by a reload only ([`link::Action::ReloadBehaviors`]).
    pub(crate) cast: Option<Arc<NpcCast>>,
}

impl WorldSetting {
    /// Fingerprint of the cast, 0 without one.
    pub(crate) fn cast_fingerprint(&self) -> u64 {
        self.cast.as_ref().map_or(0, |cast| cast.fingerprint())
    }
}
