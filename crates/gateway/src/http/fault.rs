//! `POST /v1/fault`: damage on purpose, for tests and experiments. Only on servers that were told to allow it.

use super::admin::Admin;
use super::reply::error;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What goes wrong.
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
    /// What is tried there fails, as when the disk is full; at `instances` only.
    Fail,
}

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// On which thread: `world:NAME`, `shard:N`, `replica`, `hub`, `passwords` (at its next check), `main` or `http`; or `instances` and
    /// `store`, where worlds and places are written, for `fail`.
    #[serde(rename = "where")]
    pub place: String,
    /// Of `slow`: how long, each time.
    #[serde(default)]
    pub ms: u32,
    /// In how many turns of the thread, one after the other.
    #[serde(default = "once")]
    pub repeat: u32,
}

const fn once() -> u32 {
    1
}

/// Carries an order out, or says why it is none.
pub type Faults = Box<dyn Fn(Fault) -> Result<(), String> + Send + Sync>;

/// Do damage on purpose: only where that is allowed.
#[utoipa::path(post, path = "/v1/fault", request_body = Fault, responses(
    (status = 200, description = "It will happen in the thread's next turn.", body = String, content_type = "text/plain"),
    (status = 404, description = "There is no such thread."),
))]
pub(super) async fn fault(State(admin): State<Arc<Admin>>, Json(fault): Json<Fault>) -> Response {
    let Some(faults) = &admin.faults else {
        return error(StatusCode::FORBIDDEN, "Faults are not allowed here (diagnose.allow_faults).");
    };
    tracing::warn!(?fault, "fault ordered");
    match faults(fault) {
        Ok(()) => "done\n".into_response(),
        Err(why) => error(StatusCode::NOT_FOUND, &why),
    }
}
