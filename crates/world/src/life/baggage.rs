//! The state of a life beside its world, for a world that moves between hosts: it restarts there from the checkpoints that it had here.

use super::{Former, Life};
use crate::{
    cast::NpcCast,
    snapshot::{Checkpoint, RestoreError},
    world::{World, WorldConfig},
};
use ids::Instant;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// Checkpoints as bytes, and counts: plain data, like the snapshot beside which it travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LifeBaggage {
    next_at: Instant,
    newest: Option<Vec<u8>>,
    older: Option<Vec<u8>>,
    former: Option<FormerBaggage>,
    panics: u32,
    forgiven: u32,
    progress_version: u64,
}

/// A world before it went over to another cast.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FormerBaggage {
    checkpoint: Vec<u8>,
    /// Fingerprint of the cast that it had.
    cast: u64,
    left: Duration,
}

impl Life {
    /// Everything but the world and its configuration, between two steps.
    #[must_use]
    pub fn baggage(&self) -> LifeBaggage {
        LifeBaggage {
            next_at: self.next_at,
            newest: self.newest.as_ref().map(Checkpoint::encode),
            older: self.older.as_ref().map(Checkpoint::encode),
            former: self.former.as_ref().map(|former| FormerBaggage {
                checkpoint: former.checkpoint.encode(),
                cast: former.cast.fingerprint(),
                left: former.left,
            }),
            panics: self.panics,
            forgiven: self.forgiven,
            progress_version: self.world.progress_version(),
        }
    }

    /// As [`Life::of`], of a life that continues with its checkpoints and counts. `casts` finds a cast by its fingerprint; a former
    /// cast that it does not find is given up.
    ///
    /// # Errors
    /// If a checkpoint is not read.
    ///
    /// # Panics
    /// As [`Life::of`].
    pub fn with_baggage(
        world: World,
        config: WorldConfig,
        baggage: &LifeBaggage,
        casts: impl Fn(u64) -> Option<Arc<NpcCast>>,
    ) -> Result<Self, RestoreError> {
        let LifeBaggage { next_at, newest, older, former, panics, forgiven, progress_version } = baggage;
        let decode = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(Checkpoint::decode).transpose();
        let former = match former {
            None => None,
            Some(former) => casts(former.cast)
                .map(|cast| {
                    Ok::<_, RestoreError>(Former {
                        checkpoint: Checkpoint::decode(&former.checkpoint)?,
                        cast,
                        left: former.left,
                    })
                })
                .transpose()?,
        };
        let mut life = Self {
            next_at: *next_at,
            newest: decode(newest)?,
            older: decode(older)?,
            former,
            panics: *panics,
            forgiven: *forgiven,
            ..Self::of(world, config, 0.0)
        };
        life.world.outlive(*progress_version);
        Ok(life)
    }
}
