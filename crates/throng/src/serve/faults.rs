//! Orders of faults, from the operator's address (`POST /v1/fault`) to the threads.

use gateway::http::fault::{Fault as FaultBody, FaultKind as KindBody};
use workplace::faults::{Fault, FaultKind};
pub(super) use workplace::faults::{Fuse, Fuses};

/// An order as the threads take it.
pub(super) fn fault(order: FaultBody) -> Fault {
    let FaultBody { kind, place, ms, repeat } = order;
    let kind = match kind {
        KindBody::Panic => FaultKind::Panic,
        KindBody::Abort => FaultKind::Abort,
        KindBody::Segfault => FaultKind::Segfault,
        KindBody::StackOverflow => FaultKind::StackOverflow,
        KindBody::Slow => FaultKind::Slow,
        KindBody::Fail => FaultKind::Fail,
    };
    Fault { kind, place, ms, repeat }
}
