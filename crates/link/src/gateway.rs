//! Orders of a host to a gateway, and the gateway's notices.

use crate::host::{RequestId, Visitor};
use glam::Vec3;
use ids::WorldId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of an admission: a gateway numbers those that it grants, from 1. 0 precedes the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdmissionNumber(pub u64);

/// Number of sessions that are in a world, on their way in, or with a way back to it.
///
/// Only an admission raises it. So a count from before an admission understates, and says so by its number; a count from after it
/// may be outdated, but includes the admitted session or knows that it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OccupantCount {
    /// Sessions.
    pub n: u32,
    /// The last admission that the gateway had granted before the count, into any world.
    pub as_of: AdmissionNumber,
}

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
    /// Begin a passage out of an instance; answered by [`GatewayNotice::Dismissal`].
    Dismiss {
        /// Request for which it is.
        request: RequestId,
        /// Visitor.
        visitor: Visitor,
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
    /// Answer to [`GatewayOrder::Admit`]: the occupants with the new one, as of this admission, or the reason of the refusal.
    Admission {
        /// Request for which it was.
        request: RequestId,
        /// Occupants of the world, or the reason of the refusal.
        outcome: Result<OccupantCount, Arc<str>>,
    },
    /// Answer to [`GatewayOrder::Dismiss`].
    Dismissal {
        /// Request for which it was.
        request: RequestId,
        /// Success, or the reason of the refusal.
        outcome: Result<(), Arc<str>>,
    },
    /// The occupants of a world, after a change or as part of a census of all worlds.
    Occupants {
        /// World.
        world: WorldId,
        /// Count; ignored if it is from before the last admission into the world.
        count: OccupantCount,
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
            GatewayOrder::Dismiss { request, visitor },
            GatewayOrder::Empty { world, reason: "It has ended.".into() },
        ];
        for order in orders {
            let bytes = postcard::to_stdvec(&order).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(order));
        }
        let notices = [
            GatewayNotice::Admission { request, outcome: Err("Full.".into()) },
            GatewayNotice::Dismissal { request, outcome: Ok(()) },
            GatewayNotice::Occupants { world, count: OccupantCount { n: 3, as_of: AdmissionNumber(2) } },
        ];
        for notice in notices {
            let bytes = postcard::to_stdvec(&notice).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(notice));
        }
    }
}
