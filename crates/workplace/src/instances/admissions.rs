//! The gateway as instances need it: admissions, the census of its sessions, and lookups of users.

use super::Who;
use glam::Vec3;
use host::coordinator::Admitted;
use host::registry::Visitor;
use ids::{Instant, SessionKey, WorldId};
use link::{AdmissionNumber, OccupantCount, Passage, PassageRefusal, TravelOrder};
use std::collections::BTreeMap;
use std::sync::mpsc::TrySendError;

/// Takes an order of the gateway without waiting, or hands it back.
pub type TakeOrder = Box<dyn Fn(TravelOrder) -> Result<(), TrySendError<TravelOrder>> + Send + Sync>;

/// The gateway as instances need it. The calls wait for a lock at most.
pub trait InstanceGateway: Send + Sync {
    /// True while the avatar is where its request was made.
    ///
    /// # Errors
    /// The reason for which it is not.
    fn check(&self, visitor: &Visitor) -> Result<(), PassageRefusal>;

    /// Begins a passage, to a position in metres from the world's corner or to where visitors arrive.
    ///
    /// # Errors
    /// The reason for which there is none.
    fn admit(
        &self,
        now: Instant,
        visitor: &Visitor,
        world: WorldId,
        position: Option<Vec3>,
    ) -> Result<Admitted, PassageRefusal>;

    /// Begins the passage of a session out of an instance, back to where it came from.
    ///
    /// # Errors
    /// The reason for which there is none.
    fn dismiss(&self, now: Instant, visitor: &Visitor) -> Result<Passage, PassageRefusal>;

    /// Sessions of each world that has any, after the admission with this number.
    fn occupants(&self) -> (AdmissionNumber, BTreeMap<WorldId, usize>);

    /// The same for one world.
    fn occupants_of(&self, world: WorldId) -> OccupantCount;

    /// Sends all sessions of a world back.
    fn empty(&self, now: Instant, world: WorldId, reason: &str);

    /// A travel order is done, or void.
    fn end_order(&self, order: &TravelOrder);

    /// A travel order is refused: its user gets the reason.
    fn turn_down(&self, order: &TravelOrder, why: &str);

    /// The session of a user; `None` for one that is not logged in.
    fn find(&self, who: &Who) -> Option<SessionKey>;
}
