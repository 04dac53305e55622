//! A client's reports to the checks, and its exchange with the server over HTTP.

use gateway::hub::Admission;
use ids::{Instant, RegionHandle, Uuid};
use wire::llsd::Llsd;

/// The time that a client spent in one region on one circuit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) region: RegionHandle,
    /// Time of its login, or of the teleport there.
    pub(crate) began_at: Instant,
    /// Time at which the server placed it.
    pub(crate) arrived_at: Option<Instant>,
    /// Time of its departure, crash or eviction.
    pub(crate) ended_at: Option<Instant>,
}

/// Something that a client said or heard, with the number of the visit in which it did.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Said { visit: usize, text: String },
    Heard { visit: usize, text: String },
}

/// A client's HTTP request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    LogIn,
    Poll { secret: Uuid, ack: Option<i32> },
}

/// Result of a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    LoggedIn(Box<Admission>),
    /// The login failed.
    Refused,
    Events {
        secret: Uuid,
        body: Llsd,
    },
    /// The connection broke before the answer came.
    Reset {
        secret: Uuid,
        ack: Option<i32>,
    },
    /// 404.
    NotFound {
        secret: Uuid,
    },
}
