//! What the system lets this process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of open files to what may be had without asking anybody: every long poll is one, and the usual
/// soft limit of 1,024 ends a crowd at the door.
pub(super) fn raise_open_files() {
    let limits = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }) {
        tracing::warn!(%error, ?limits, "cannot raise the number of open files");
    }
}
