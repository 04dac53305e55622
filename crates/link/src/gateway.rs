//! Orders of a host to a gateway, and the gateway's notices.

use crate::host::{RequestId, Visitor};
use glam::Vec3;
use ids::WorldId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Order to the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GatewayOrder {
    /// Begin a passage; answered by [`GatewayNotice::Admission`].
    Admit {
        /// Request for which it is.
        request: RequestId,
        /// World, which stays in memory until the answer.
        world: WorldId,
        /// Visitor.
        visitor: Visitor,
        /// Metres from the world's corner.
        position: Option<Vec3>,
    },
    /// Send all sessions of a world back to where they came from, with this text.
    Empty {
        /// World.
        world: WorldId,
        /// Shown to the users.
        reason: Arc<str>,
    },
}

/// Message of the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GatewayNotice {
    /// Answer to [`GatewayOrder::Admit`]: the number of occupants with the new one, or the reason of the refusal.
    Admission {
        /// Request for which it was.
        request: RequestId,
        /// Occupants of the world, or the reason of the refusal.
        outcome: Result<u32, Arc<str>>,
    },
    /// The number of occupants of a world has changed.
    Occupants {
        /// World.
        world: WorldId,
        /// Sessions in it, on their way in, or with a way back to it.
        n: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::SessionKey;

    #[test]
    fn orders_and_notices_survive_their_encoding() {
        let visitor = Visitor { session: SessionKey(7), ticket: None, from: None };
        let (request, world) = (RequestId(1), WorldId(9));
        let orders = [
            GatewayOrder::Admit { request, world, visitor, position: Some(Vec3::X) },
            GatewayOrder::Empty { world, reason: "It has ended.".into() },
        ];
        for order in orders {
            let bytes = postcard::to_stdvec(&order).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(order));
        }
        let notices = [
            GatewayNotice::Admission { request, outcome: Err("Full.".into()) },
            GatewayNotice::Occupants { world, n: 3 },
        ];
        for notice in notices {
            let bytes = postcard::to_stdvec(&notice).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(notice));
        }
    }
}
