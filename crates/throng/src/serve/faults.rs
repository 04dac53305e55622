//! Orders of faults, from the operator's address (`POST /v1/fault`) to the threads.

use gateway::http::fault::{Fault, FaultKind};
use workplace::faults::{FaultEffect, InjectedFault};
pub(super) use workplace::faults::{Fuse, Fuses};

/// An order as the threads take it.
pub(super) fn fault(order: Fault) -> InjectedFault {
    let Fault { kind, place, ms, repeat } = order;
    let effect = match kind {
        FaultKind::Panic => FaultEffect::Panic,
        FaultKind::Abort => FaultEffect::Abort,
        FaultKind::Segfault => FaultEffect::Segfault,
        FaultKind::StackOverflow => FaultEffect::StackOverflow,
        FaultKind::Slow => FaultEffect::Slow,
        FaultKind::Fail => FaultEffect::Fail,
    };
    InjectedFault { effect, place, ms, repeat }
}
