//! `POST /v1/record`: records a world into a file, and answers when that is done.

use super::operator::Admin;
pub use super::operator::{Record, RecordingOrder, RecordingReply};
use super::reply::error;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Record a region into a file below the server's data directory. Replies at the end of the recording, which does not depend on the
/// connection.
#[utoipa::path(post, path = "/v1/record", request_body = RecordingOrder, responses(
    (status = 200, description = "Its contents.", body = String, content_type = "text/plain"),
    (status = 400, description = "There is no such region, a recording is under way already, or no such file can be made."),
    (status = 500, description = "It ended before its time."),
))]
pub(super) async fn record(State(admin): State<Arc<Admin>>, Json(order): Json<RecordingOrder>) -> Response {
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
