//! The page's files, built into the binary.

use super::HttpState;
use super::operator::Admin;
use super::reply::error;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;

/// One file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Path below the root: `index.html`, `assets/index-….js`.
    pub path: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// The operator's page, which the public address does not show: it has nothing for others.
const WORLDS: &str = "worlds.html";

/// Content policy of the page: its own files, and the live feed of the host at which it was reached.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`.
pub(super) async fn index(State(state): State<Arc<HttpState>>) -> Response {
    file(&state, "index.html", "no-cache")
}

/// `GET /assets/…`: names hold a hash of the content.
pub(super) async fn asset(State(state): State<Arc<HttpState>>, Path(path): Path<String>) -> Response {
    file(&state, &format!("assets/{path}"), "public, max-age=31536000, immutable")
}

/// Files beside the page, such as its icon.
pub(super) async fn fallback(State(state): State<Arc<HttpState>>, uri: axum::http::Uri) -> Response {
    match uri.path().trim_start_matches('/') {
        WORLDS => error(StatusCode::NOT_FOUND, "There is nothing here."),
        path => file(&state, path, "no-cache"),
    }
}

/// The operator's page: instances, their costs, and their maps.
#[utoipa::path(get, path = "/worlds", operation_id = "show_worlds_page", security(("token" = ["worlds:read"])),
    responses((status = 200, description = "A page for people.", body = String, content_type = "text/html")))]
pub(super) async fn worlds(State(admin): State<Arc<Admin>>) -> Response {
    file(&admin.state, WORLDS, "no-cache")
}

/// `GET /` of the operator's address.
pub(super) async fn to_worlds() -> Redirect {
    Redirect::to("worlds")
}

fn file(state: &HttpState, path: &str, cache: &'static str) -> Response {
    let Some(asset) = state.page.iter().find(|asset| asset.path == path) else {
        return error(StatusCode::NOT_FOUND, "There is nothing here.");
    };
    let headers = [
        (header::CONTENT_TYPE, content_type(path)),
        (header::CACHE_CONTROL, cache),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.bytes).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
