//! Refusals of the handlers, with their statuses.

use axum::extract::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A refusal with a sentence for the operator.
#[derive(Debug)]
pub struct RegionRefusal {
    status: StatusCode,
    why: String,
}

impl RegionRefusal {
    /// Something in the request is impossible.
    pub fn bad(why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: why.into() }
    }

    /// There is no such thing.
    pub fn absent(why: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, why: why.into() }
    }

    /// The region, or a file, is not in the state for it.
    pub fn conflict(why: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, why: why.into() }
    }

    /// It cannot be done now.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, why: why.into() }
    }
}

impl IntoResponse for RegionRefusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.why }))).into_response()
    }
}
