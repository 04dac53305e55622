//! `POST /v1/record`: records a world into a file, and answers when that is done.

use super::admin::Admin;
use super::reply::error;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;
use utoipa::ToSchema;

/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = Recording)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Name of the region.
    pub world: String,
    /// For how long.
    #[schema(minimum = 1, maximum = 3600)]
    pub seconds: u32,
    /// Name of the file to make in the folder `recordings` of the server's data directory, without folders of its own. There must be none yet.
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    pub out: PathBuf,
}

/// What came of it: a sentence for the operator either way.
pub type Outcome = oneshot::Receiver<Result<String, String>>;

/// Begins a recording, or says why not.
pub type Record = Box<dyn Fn(Order) -> Result<Outcome, String> + Send + Sync>;

/// Record a region into a file below the server's data directory. Answers when the recording has ended, which goes on when nobody waits for that.
#[utoipa::path(post, path = "/v1/record", request_body = Order, responses(
    (status = 200, description = "What is in it.", body = String, content_type = "text/plain"),
    (status = 400, description = "There is no such region, a recording is under way already, or no such file can be made."),
    (status = 500, description = "It ended before its time."),
))]
pub(super) async fn record(State(admin): State<Arc<Admin>>, Json(order): Json<Order>) -> Response {
    tracing::info!(?order, "recording");
    let outcome = match (admin.record)(order) {
        Ok(outcome) => outcome.await.unwrap_or_else(|_| Err("The recording's thread has panicked.".into())),
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    match outcome {
        Ok(text) => format!("{text}\n").into_response(),
        Err(why) => error(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}
