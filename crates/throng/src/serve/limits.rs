//! Descriptors of the process, and their division: clients' HTTP gets the rest after the server's own files, a reserve for later ones,
//! and the operator's connections.

use super::ServeError;
use crate::config::tunables::is_enough_memory;
use gateway::http::listener::{Caps, ConnectionLimiter};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;

/// For files that are opened while the server runs: captures, recordings, crash dumps, the database's journal.
const OWN_FILES: usize = 24;
/// The operator's connections: a scraper, a few commands, two browsers.
const OPERATOR_MAX: usize = 24;
/// Connections without which a server is of no use to clients.
const PUBLIC_MIN: usize = 16;
/// Clients' connections, however many descriptors there are.
const PUBLIC_MAX: usize = 65_536;
/// Waiting connections: each takes some 16 KiB of memory.
const WAITING_MAX: usize = 4_096;
/// Waiting connections of one address: a class room behind one router, or an operator's load bots.
const ADDRESS_MAX: usize = 1_024;
/// Bytes of bodies that are still arriving.
const BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Part of the connections that stays free of clients that are served, so that the next login finds one. Fifteen addresses that take their whole
/// share leave as much ([`gateway::http::listener`]).
const SPARE_PART: usize = 32;

/// Raises the number of open files to the hard limit and returns it: every long poll is one, and the usual soft limit of 1,024 excludes
/// a crowd.
pub(super) fn raise_open_files() -> usize {
    let limits = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }) {
        tracing::warn!(%error, ?limits, "cannot raise the number of open files");
    }
    let now = getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |now| usize::try_from(now).unwrap_or(usize::MAX))
}

/// The connections of both HTTP addresses.
#[derive(Clone, Debug)]
pub(super) struct HttpConnections {
    pub(super) public: Arc<ConnectionLimiter>,
    pub(super) operator: Arc<ConnectionLimiter>,
    spare_min: usize,
}

impl HttpConnections {
    /// Divides the descriptors. `open` are in use, with everything that runs as long as the server does.
    ///
    /// # Errors
    /// When too few are left for clients.
    pub(super) fn divide(open_files_max: usize, open: usize) -> Result<Self, ServeError> {
        let taken = open + OWN_FILES + OPERATOR_MAX;
        let public_max = open_files_max.saturating_sub(taken).min(PUBLIC_MAX);
        if public_max < PUBLIC_MIN {
            return Err(ServeError::OpenFiles { limit: open_files_max, needed: taken + PUBLIC_MIN });
        }
        let public = Caps {
            open_max: public_max,
            waiting_max: WAITING_MAX,
            address_max: ADDRESS_MAX,
            body_bytes_max: BODIES_BYTES_MAX,
        };
        let operator = Caps { open_max: OPERATOR_MAX, ..public };
        Ok(Self {
            public: ConnectionLimiter::new(public),
            operator: ConnectionLimiter::new(operator),
            spare_min: public_max.div_ceil(SPARE_PART),
        })
    }

    /// True if enough connections for the next clients are free, or could be freed.
    pub(super) fn has_spare(&self) -> bool {
        self.public.occupancy().spare >= self.spare_min
    }
}

/// A limit of memory, and where it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryLimit {
    /// `gateway.memory_max_mib`, which counts alone where it is set.
    Configured(u64),
    /// The control group's.
    Group(u64),
}

impl MemoryLimit {
    /// The limit that holds, of the configured one and that of the control group.
    pub(super) fn of(
        configured_bytes: Option<u64>,
        group_bytes: impl FnOnce() -> Option<u64>,
    ) -> Option<Self> {
        configured_bytes.map(Self::Configured).or_else(|| group_bytes().map(Self::Group))
    }

    /// Refuses a limit under which no login would ever be admitted.
    ///
    /// # Errors
    /// If the empty server exceeds the share of the limit for a server with visitors.
    pub(super) fn check(self, resident_bytes: u64) -> Result<(), ServeError> {
        let (source, limit) = match self {
            Self::Configured(bytes) => ("`gateway.memory_max_mib`", bytes),
            Self::Group(bytes) => ("the control group's memory limit in MiB", bytes),
        };
        if is_enough_memory(limit, resident_bytes) {
            return Ok(());
        }
        let resident_mib = resident_bytes.div_ceil(1 << 20);
        Err(ServeError::TooLittleMemory { source_of: source, limit_mib: limit >> 20, resident_mib })
    }
}

/// Descriptors in use; none, where the system does not say.
pub(super) fn open_files() -> usize {
    // One of them is this directory.
    std::fs::read_dir("/proc/self/fd").map_or(0, |open| open.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_an_empty_server_reaches_is_refused() {
        let configured = MemoryLimit::of(Some(100 << 20), || Some(1)).unwrap();
        assert_eq!(configured, MemoryLimit::Configured(100 << 20), "the group's is not asked for");
        assert!(configured.check(89 << 20).is_ok());
        let refused = configured.check(90 << 20).unwrap_err();
        assert!(refused.is_of_configuration());
        assert!(refused.to_string().starts_with("`gateway.memory_max_mib` = 100 is too little"), "{refused}");
        let group = MemoryLimit::of(None, || Some(50 << 20)).unwrap();
        let refused = group.check(90 << 20).unwrap_err().to_string();
        assert!(
            refused.starts_with("the control group's memory limit in MiB = 50 is too little"),
            "{refused}"
        );
        assert_eq!(MemoryLimit::of(None, || None), None);
    }

    #[test]
    fn the_remaining_descriptors_are_the_clients() {
        let few = HttpConnections::divide(128, 50).unwrap();
        assert_eq!(few.public.occupancy().spare, 128 - 50 - OWN_FILES - OPERATOR_MAX);
        let many = HttpConnections::divide(usize::MAX, 50).unwrap();
        assert_eq!(many.public.occupancy().spare, PUBLIC_MAX);
        let refused = HttpConnections::divide(100, 50).unwrap_err();
        assert!(refused.to_string().contains("100") && refused.to_string().contains("114"), "{refused}");
    }
}
