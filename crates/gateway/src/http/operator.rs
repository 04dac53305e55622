//! The state that the handlers of the operator's address share, and the types of the functions in it: recordings and faults. Each handler
//! imports this module, the routes (`admin.rs`) import the handlers.

use super::HttpState;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;
use utoipa::ToSchema;

/// State shared by the operator's handlers.
pub struct Admin {
    /// State behind the commands.
    pub state: Arc<HttpState>,
    /// Opens everything; other callers need tokens of their own, which are in the store.
    pub token: String,
    /// Records a world into a file.
    pub record: Record,
    /// Writes the metrics.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Reason for which the server is not alive, if so: a thread that no longer runs.
    pub alive: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Reason for which the server should get no users, if so.
    pub ready: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Problems of a server that is alive: a world that is down takes no other with it, and is no reason for a restart of the server.
    pub amiss: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Does damage on purpose, where that is allowed.
    pub faults: Option<Faults>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

/// A recording to be made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = Recording)]
#[serde(deny_unknown_fields)]
pub struct RecordingOrder {
    /// Name of the region.
    #[schema(min_length = 1, max_length = 63)]
    pub world: String,
    /// For how long.
    #[schema(minimum = 1, maximum = 3600)]
    pub seconds: u32,
    /// Name of the file to make in the folder `recordings` of the server's data directory: at most 200 bytes, without folders of its own and
    /// without control characters. There must be none yet.
    #[schema(
        value_type = String,
        min_length = 1,
        max_length = 200,
        pattern = r"^(\.{0,2}[^/.\u0000-\u001F\u007F-\u009F][^/\u0000-\u001F\u007F-\u009F]*|\.{3,}[^/\u0000-\u001F\u007F-\u009F]*)$",
        extensions(("x-max-bytes" = json!(200)))
    )]
    pub out: PathBuf,
}

/// Result: a sentence for the operator either way.
pub type RecordingReply = oneshot::Receiver<Result<String, String>>;

/// Begins a recording, or says why not.
pub type Record = Box<dyn Fn(RecordingOrder) -> Result<RecordingReply, String> + Send + Sync>;

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The thread panics.
    Panic,
    /// The process aborts.
    Abort,
    /// The thread reads an address that is not mapped.
    Segfault,
    /// The thread calls itself until its stack is full.
    StackOverflow,
    /// The thread sleeps.
    Slow,
    /// The operation fails, as with a full disk; at `instances` only.
    Fail,
}

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The fault.
    pub kind: FaultKind,
    /// On which thread: `world:NAME`, `shard:N`, `replica`, `hub`, `passwords` (at its next check), `main` or `http`; or `instances`,
    /// `keeper` and `store`, where worlds, objects and places are written, for `fail`.
    #[serde(rename = "where")]
    #[schema(min_length = 1, max_length = 100)]
    pub place: String,
    /// Length of each `slow`.
    #[serde(default)]
    #[schema(maximum = 3_600_000)]
    pub ms: u32,
    /// In how many turns of the thread, one after the other.
    #[serde(default = "once")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub repeat: u32,
}

const fn once() -> u32 {
    1
}

/// Carries an order out, or says why it is none.
pub type Faults = Box<dyn Fn(Fault) -> Result<(), String> + Send + Sync>;
