//! Calls into a node: kept in a run with clients, repeated without them.

use ids::{AgentId, Instant, Tick, Uuid, WorldId};
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;

/// One call into the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Input {
    Tick {
        now: Instant,
        tick: Tick,
        /// Worlds whose frame does not reach its replica.
        missed: Vec<WorldId>,
    },
    Turn {
        now: Instant,
    },
    Datagram {
        now: Instant,
        port: u8,
        remote: SocketAddrV4,
        bytes: Box<[u8]>,
    },
    LogIn {
        now: Instant,
        agent: AgentId,
        name: (String, String),
        first: u16,
    },
    Poll {
        secret: Uuid,
        ack: Option<i32>,
    },
}
