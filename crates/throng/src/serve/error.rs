//! Reasons for which the server cannot start, or did not end as it should.

use std::io;
use std::net::SocketAddr;

impl From<workplace::ThreadError> for ServeError {
    fn from(workplace::ThreadError { name, source }: workplace::ThreadError) -> Self {
        Self::Thread { name, source }
    }
}

impl From<job_desk::JobThreadsError> for ServeError {
    fn from(why: job_desk::JobThreadsError) -> Self {
        match why {
            job_desk::JobThreadsError::Thread(why) => why.into(),
            job_desk::JobThreadsError::Store(why) => why.into(),
        }
    }
}

impl From<content_threads::asset_threads::AssetThreadsError> for ServeError {
    fn from(why: content_threads::asset_threads::AssetThreadsError) -> Self {
        use content_threads::asset_threads::AssetThreadsError;
        match why {
            AssetThreadsError::Files(why) => Self::Assets(why),
            AssetThreadsError::Store(why) => why.into(),
            AssetThreadsError::Thread(why) => why.into(),
        }
    }
}

/// A resource that the server needs is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log cannot be set up.
    #[error("cannot write logs")]
    Logging(#[from] telemetry::LoggingError),
    /// The data directory: another server runs on it, or it is open to other users, or a file in it.
    #[error(transparent)]
    Data(#[from] data_dir::DataDirError),
    /// The database.
    #[error("cannot use the database")]
    Store(#[from] store::StoreError),
    /// The files of assets.
    #[error("cannot use the files of assets")]
    Assets(#[source] assets::FilesError),
    /// A TCP address.
    #[error("cannot listen on {addr} for {purpose}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The purpose.
        purpose: &'static str,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Values tuned before.
    #[error(transparent)]
    Tuning(#[from] crate::config::tunables::TuningError),
    /// A memory limit that an empty server reaches.
    #[error(
        "{source_of} = {limit_mib} is too little: the empty server takes {resident_mib} MiB, and logins are refused from nine tenths of the limit on"
    )]
    TooLittleMemory {
        /// Its source.
        source_of: &'static str,
        /// The limit.
        limit_mib: u64,
        /// Memory of the empty server.
        resident_mib: u64,
    },
    /// The limit of open files leaves too few for clients.
    #[error(
        "{limit} open files are too few; raise the limit (`ulimit -n`, LimitNOFILE=) to {needed} or more"
    )]
    OpenFiles {
        /// The limit.
        limit: usize,
        /// Descriptors of a server with a handful of clients.
        needed: usize,
    },
    /// A UDP port.
    #[error("cannot use the UDP ports of circuits")]
    Udp(#[from] net::BindError),
    /// The ports end at 65,535.
    #[error("there are no {wanted} UDP ports from {first} on")]
    TooFewPorts {
        /// The first.
        first: u16,
        /// Number of ports.
        wanted: u16,
    },
    /// Objects or land of a region. Without them the region would be another one.
    #[error("cannot begin region {name:?}")]
    Region {
        /// Name of the region.
        name: String,
        /// The reason.
        #[source]
        source: keeper::LoadError,
    },
    /// The content of a new region.
    #[error("cannot begin region {name:?} with its content")]
    Content {
        /// Name of the region.
        name: String,
        /// The reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The content under a region's number is that of another region.
    #[error(
        "region {name:?} has the number {number}, under which the content of {found:?} is saved; without `id` the number is the position among the \
         regions: state for each region the `id` that it had, or `former_name = {found:?}` for one that was renamed"
    )]
    OtherRegion {
        /// Name of the region.
        name: String,
        /// Its number.
        number: u32,
        /// Name of the region that was saved.
        found: String,
    },
    /// The owner of an estate.
    #[error(
        "the estate of region {region:?} is to belong to {owner:?}, and there is no such account (throng user add)"
    )]
    NoEstateOwner {
        /// Name of the region.
        region: String,
        /// Name of the owner.
        owner: String,
    },
    /// NPCs or content of a template.
    #[error("cannot make template {name:?}")]
    Template {
        /// Name of the template.
        name: String,
        /// Problem of its files.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A thread.
    #[error("cannot start the {name} thread")]
    Thread {
        /// Name of the thread.
        name: &'static str,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// No random numbers for keys and ids.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
    /// The flight recorder's memory.
    #[error("cannot take the flight recorder's memory (recorder.memory_mib)")]
    Recorder(#[source] io::Error),
    /// The process that writes crash dumps.
    #[error("cannot start the crash monitor")]
    Monitor {
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The signals of crashes.
    #[error("cannot prepare for crashes")]
    Crash(#[from] telemetry::crash::CrashError),
    /// The process that is to start us again.
    #[error("cannot follow the supervisor")]
    Supervisor(#[source] io::Error),
    /// At the end of the server: everything else was in order.
    #[error("{n} instances could not be saved; changes since their last save are lost")]
    NotSaved {
        /// Number of instances, as far as known.
        n: usize,
    },
    /// At the end of the server.
    #[error("the last changes of {n} regions could not be saved")]
    RegionsNotSaved {
        /// Number of regions.
        n: usize,
    },
    /// At the end of the server: everything else was in order.
    #[error("{n} last places or homes could not be saved")]
    PlacesNotSaved {
        /// Number of places.
        n: usize,
    },
    /// Signals.
    #[error("cannot wait for signals")]
    Signal(#[source] io::Error),
}

impl ServeError {
    /// True if the configuration keeps the server from starting.
    #[must_use]
    pub const fn is_of_configuration(&self) -> bool {
        matches!(
            self,
            Self::Tuning(_)
                | Self::TooLittleMemory { .. }
                | Self::OtherRegion { .. }
                | Self::NoEstateOwner { .. }
        )
    }
}
