//! Travel between worlds: the circuit of a traveller, orders of the gateway to the host, results and refusals of passages.
//!
//! An order comes from a portal or an invitation. The host turns it into a request about an instance and answers with a
//! [`GatewayOrder::Admit`](crate::GatewayOrder::Admit), or refuses it.

use glam::Vec3;
use ids::{AgentId, SessionKey, WorldId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// One circuit of a session: tickets of a session are numbered, and so are the circuits they open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CircuitKey {
    /// The session.
    pub session: SessionKey,
    /// Rises with every ticket of the session. Commands to worlds are ordered by it, so that a circuit's last
    /// command always comes before its successor's first.
    pub ticket: u32,
}

/// Order of a gateway to send a session into an instance, which may have to be created or resumed. A session has at most one order at a
/// time, until the host ends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TravelOrder {
    /// Send a session into its user's own instance of a template. Void once the avatar has left the circuit or the world.
    EnterOwn {
        /// Circuit at the time of the order.
        circuit: CircuitKey,
        /// World in which the avatar stood.
        world: WorldId,
        /// The user.
        agent: AgentId,
        /// Name of the template.
        template: Arc<str>,
    },
    /// Send a session into an instance to which its user was invited. Void once the avatar has left the circuit.
    Enter {
        /// Circuit at the time of the order.
        circuit: CircuitKey,
        /// Destination.
        world: WorldId,
        /// Metres from its corner.
        position: Vec3,
    },
}

impl TravelOrder {
    /// Circuit of the order's user.
    #[must_use]
    pub const fn circuit(&self) -> CircuitKey {
        match self {
            Self::EnterOwn { circuit, .. } | Self::Enter { circuit, .. } => *circuit,
        }
    }
}

/// Results of a passage into another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Passage {
    /// The avatar is in the world already, and moves within it.
    Within,
    /// Behind the same circuit.
    Switched,
    /// By a teleport to another place.
    Teleported,
}

/// Reasons for refusing a passage. The texts are shown to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum PassageRefusal {
    /// The circuit has no session, or its avatar has not arrived yet.
    #[error("That user is not here.")]
    NotHere,
    /// One passage at a time.
    #[error("You are already on your way.")]
    OnItsWay,
    /// The other world has its `max_avatars`.
    #[error("That region is full.")]
    Full,
    /// The avatar is in no instance that it could leave.
    #[error("That user is in no instance.")]
    Outside,
    /// The order was made in another world.
    #[error("You are somewhere else by now.")]
    Elsewhere,
    /// The world is not in memory: it has ended.
    #[error("That world has ended.")]
    Gone,
    /// All ports of the session are in use, or rest.
    #[error("Please wait a minute before you travel on.")]
    NoPort,
    /// The server is about to stop.
    #[error("The server is about to stop.")]
    Draining,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    #[test]
    fn orders_and_results_of_passages_survive_their_encoding() {
        let circuit = CircuitKey { session: SessionKey(7), ticket: 2 };
        let agent = AgentId(Uuid::from_u128(6));
        let orders = [
            TravelOrder::EnterOwn { circuit, world: WorldId(1), agent, template: "Hall".into() },
            TravelOrder::Enter { circuit, world: WorldId(9), position: Vec3::X },
        ];
        for order in orders {
            let bytes = postcard::to_stdvec(&order).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(order.clone()));
            assert_eq!(order.circuit(), circuit);
        }
        let passages = [
            Ok(Passage::Within),
            Ok(Passage::Switched),
            Ok(Passage::Teleported),
            Err(PassageRefusal::Elsewhere),
            Err(PassageRefusal::Draining),
        ];
        for passage in passages {
            let bytes = postcard::to_stdvec(&passage).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(passage));
        }
    }
}
