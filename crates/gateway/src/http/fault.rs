//! `POST /v1/fault`: fault injection for tests and experiments. Only with `diagnose.allow_faults`.

use super::operator::Admin;
pub use super::operator::{Fault, FaultKind, Faults};
use super::reply::error;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

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
