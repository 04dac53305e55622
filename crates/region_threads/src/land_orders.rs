//! Orders of the operator to the land of regions: each is one command of the node to a world, and its outcome comes back in a frame.

use super::grounds::{Grounds, LandOutcome};
use ids::{SessionKey, WorldId};
use link::{Action, Command, CommandSeries, LandCommand, LandEdit, LandRefusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use workplace::inboxes::Inboxes;
use workplace::{Clock, opaque_debug};

/// A world answers with its next frame; after a panic it begins again meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// Attempts in ticks in which users edit as much land as a step has time for.
const ATTEMPTS: usize = 20;

/// Reasons for which an order has no effect, or none that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LandOrderError {
    /// The world is none of a region.
    #[error("There is no such region.")]
    NoRegion,
    /// The world refuses it.
    #[error(transparent)]
    Refused(LandRefusal),
    /// Its inbox is full.
    #[error("The region has too many commands to carry out.")]
    Busy,
    /// No outcome came.
    #[error("The region does not answer.")]
    Lost,
}

/// Sends orders, and waits for their outcomes.
pub struct LandOrders {
    grounds: Arc<Grounds>,
    inboxes: Arc<Inboxes>,
    clock: Clock,
    unix_start_s: u64,
    /// Number of the next command.
    next: AtomicU64,
}

opaque_debug!(LandOrders);

impl LandOrders {
    /// To these worlds.
    pub fn new(grounds: Arc<Grounds>, inboxes: Arc<Inboxes>, clock: Clock, unix_start_s: u64) -> Self {
        let next = AtomicU64::new(CommandSeries::Terrain.first());
        Self { grounds, inboxes, clock, unix_start_s, next }
    }

    /// Grounds of the regions.
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// Carries an edit out. Users' edits of the same tick may take all of its time for the land.
    ///
    /// # Errors
    /// [`LandOrderError`].
    pub async fn carry_out(&self, world: WorldId, edit: &LandEdit) -> Result<(), LandOrderError> {
        for _ in 0..ATTEMPTS {
            match self.try_once(world, edit).await? {
                Ok(()) => return Ok(()),
                Err(LandRefusal::Busy) => {}
                Err(reason) => return Err(LandOrderError::Refused(reason)),
            }
        }
        Err(LandOrderError::Refused(LandRefusal::Busy))
    }

    async fn try_once(&self, world: WorldId, edit: &LandEdit) -> Result<LandOutcome, LandOrderError> {
        let sequence = self.next.fetch_add(1, Ordering::Relaxed);
        let at_s = self.unix_start_s + (self.clock)().0 / 1_000_000_000;
        let command = LandCommand { at_s, edit: edit.clone() };
        let outcome = self.grounds.expect(world, sequence).ok_or(LandOrderError::NoRegion)?;
        let inbox = self.inboxes.shared().get(world).ok_or(LandOrderError::NoRegion)?;
        let action = Action::Land(Box::new(command));
        if !inbox.push_command(Command::by_node(SessionKey::NODE, sequence, action)) {
            return Err(LandOrderError::Busy);
        }
        match tokio::time::timeout(PATIENCE, outcome).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_)) | Err(_) => Err(LandOrderError::Lost),
        }
    }
}
