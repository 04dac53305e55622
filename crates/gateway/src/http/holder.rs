//! The caller of a capability: known by the secret in the path.

use super::HttpState;
use super::reply::error;
use crate::hub::Holder;
use axum::http::StatusCode;
use axum::response::Response;
use ids::Uuid;

/// Holder of the secret in a path. Altered, guessed and ended secrets have none, and the hub counts them.
pub(super) fn holder(state: &HttpState, secret: &str) -> Option<(Uuid, Holder)> {
    let secret = Uuid::parse_str(secret).unwrap_or(Uuid::nil());
    state.sessions.with(|hub| hub.holder(secret)).map(|holder| (secret, holder))
}

/// Base URL of a client's capabilities.
pub(super) fn base_url(state: &HttpState, holder: &Holder, secret: Uuid) -> String {
    format!("http://{}:{}/cap/{secret}", holder.server_ip, state.settings.http_port)
}

pub(super) fn unknown() -> Response {
    error(StatusCode::NOT_FOUND, "There is no such capability.")
}
