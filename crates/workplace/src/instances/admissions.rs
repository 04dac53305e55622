//! The gateway as instances need it: admissions, and the census of its sessions.

use gateway::sessions::Sessions;
use glam::Vec3;
use host::registry::Visitor;
use ids::{Instant, WorldId};
use link::{AdmissionNumber, CircuitKey, OccupantCount, Passage, PassageRefusal, TravelOrder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A visitor that was admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admitted {
    pub(super) passage: Passage,
    /// Sessions in the world, this one included.
    pub(super) occupants: OccupantCount,
}

/// The driver's interface to the hub.
pub(super) trait InstanceGateway: Send {
    /// True while the avatar is where its request was made.
    fn check(&self, visitor: &Visitor) -> Result<(), PassageRefusal>;
    /// Begins a passage.
    fn admit(
        &self,
        now: Instant,
        visitor: &Visitor,
        world: WorldId,
        position: Option<Vec3>,
    ) -> Result<Admitted, PassageRefusal>;
    /// Begins the passage of a session out of an instance, back to where it came from.
    fn dismiss(&self, now: Instant, visitor: &Visitor) -> Result<Passage, PassageRefusal>;
    /// Sessions of each world that has any, after the admission with this number.
    fn occupants(&self) -> (AdmissionNumber, BTreeMap<WorldId, usize>);
    /// Sends all sessions of a world back.
    fn empty(&self, now: Instant, world: WorldId, reason: &str);
    /// An order of a portal is done, or void.
    fn end_order(&self, order: &TravelOrder);
    /// An order of a portal is refused: its user gets the reason.
    fn turn_down(&self, order: &TravelOrder, why: &str);
}

/// The hub of this process.
impl InstanceGateway for Arc<Sessions> {
    fn check(&self, visitor: &Visitor) -> Result<(), PassageRefusal> {
        let Visitor { session, ticket: Some(ticket), from } = *visitor else { return Ok(()) };
        let circuit = CircuitKey { session, ticket };
        self.with(|hub| match from {
            Some(world) => hub.is_in(circuit, world),
            None => hub.is_behind(circuit),
        })
    }

    fn admit(
        &self,
        now: Instant,
        visitor: &Visitor,
        world: WorldId,
        position: Option<Vec3>,
    ) -> Result<Admitted, PassageRefusal> {
        self.check(visitor)?;
        self.with(|hub| {
            let passage = hub.enter(now, visitor.session, world, position)?;
            Ok(Admitted { passage, occupants: hub.occupants_of(world) })
        })
    }

    fn dismiss(&self, now: Instant, visitor: &Visitor) -> Result<Passage, PassageRefusal> {
        self.check(visitor)?;
        self.with(|hub| hub.leave(now, visitor.session))
    }

    fn occupants(&self) -> (AdmissionNumber, BTreeMap<WorldId, usize>) {
        self.with(|hub| (hub.last_admission(), hub.visitors()))
    }

    fn empty(&self, now: Instant, world: WorldId, reason: &str) {
        self.with(|hub| hub.empty(now, world, reason));
    }

    fn end_order(&self, order: &TravelOrder) {
        self.with(|hub| hub.end_order(order));
    }

    fn turn_down(&self, order: &TravelOrder, why: &str) {
        self.with(|hub| hub.turn_down(order, why));
    }
}
