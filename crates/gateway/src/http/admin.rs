//! The operator's address: metrics and health without a token, and the API and the operator's page with one.
//!
//! To add a route to the API, describe its handler with `#[utoipa::path]` (and derive `ToSchema` for its arguments and results), and
//! put it into a router with `routes!`. Its access and its description follow from there (`http/description.rs`).

pub use super::bounds::COMMAND_BYTES_MAX;
pub use super::operator::Admin;

use super::access::{Gate, admit};
use super::appearance;
use super::description::Description;
use super::fault;
use super::live;
use super::logins;
use super::origin::guard_operator;
use super::page;
use super::present;
use super::record;
use super::reply::error;
use super::texts;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Json, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of the operator's address. `commands` are those of the program itself, about which the gateway knows
/// nothing; they need a token like all others.
///
/// # Panics
/// When a route names a scope that there is not.
pub fn router(admin: Arc<Admin>, commands: OpenApiRouter) -> Router {
    let (commands, described) = OpenApiRouter::new()
        .routes(routes!(kick))
        .routes(routes!(texts::alert))
        .routes(routes!(texts::say))
        .routes(routes!(logins::show, logins::change))
        .routes(routes!(present::sessions))
        .routes(routes!(present::status))
        .routes(routes!(appearance::appearance))
        .routes(routes!(record::record))
        .routes(routes!(fault::fault))
        .routes(routes!(page::worlds))
        .with_state(Arc::clone(&admin))
        .merge(commands)
        .split_for_parts();
    let description = Description::new(described);
    let json: Arc<str> = description.json.as_str().into();
    let gate = Arc::new(Gate { admin: Arc::clone(&admin), description });
    let hostnames = admin.state.settings.hostnames.clone();
    let describe =
        async move || ([(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response();
    // The page's files need no token, nor does the public page's address that it links to: all else it asks the API for.
    let files = Router::new()
        .route("/assets/{*path}", get(page::asset))
        .route("/api/info", get(live::info))
        .with_state(Arc::clone(&admin.state));
    Router::new()
        .route("/", get(page::to_worlds))
        .route("/metrics", get(metrics))
        .route("/healthz/live", get(alive))
        .route("/healthz/ready", get(ready))
        .with_state(admin)
        .route("/v1/openapi.json", get(describe))
        .merge(files)
        .merge(commands.layer(from_fn_with_state(gate, admit)))
        .layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX))
        .layer(from_fn_with_state(hostnames, guard_operator))
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], (admin.metrics)()).into_response()
}

async fn alive(State(admin): State<Arc<Admin>>) -> Response {
    health(&admin, (admin.alive)())
}

async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    health(&admin, (admin.alive)().and_then(|()| (admin.ready)()))
}

/// `ok`, with a line for each problem that does not change the status; or the reason of a failure.
fn health(admin: &Admin, result: Result<(), String>) -> Response {
    match result {
        Ok(()) => {
            let amiss = (admin.amiss)().into_iter();
            std::iter::once("ok".to_owned())
                .chain(amiss)
                .map(|line| line + "\n")
                .collect::<String>()
                .into_response()
        }
        Err(why) => error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

/// The user to be put out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Kick {
    /// "First Last".
    #[schema(min_length = 1, max_length = 63)]
    name: String,
    /// Reason shown to the user, at most 254 bytes.
    #[serde(default)]
    #[schema(max_length = 254, extensions(("x-max-bytes" = json!(254))))]
    reason: Option<String>,
}

/// End a user's session.
#[utoipa::path(post, path = "/v1/kick", request_body = Kick, responses(
    (status = 200, description = "It has ended.", body = String, content_type = "text/plain"),
    (status = 404, description = "No user of that name is present."),
))]
async fn kick(State(admin): State<Arc<Admin>>, Json(kick): Json<Kick>) -> Response {
    let now = (admin.state.clock)();
    let reason = kick.reason.as_deref().unwrap_or("You have been asked to leave.");
    if !admin.state.sessions.with(|hub| hub.kick(now, &kick.name, reason)) {
        return error(StatusCode::NOT_FOUND, &format!("{:?} is not here.", kick.name));
    }
    tracing::info!(name = kick.name, reason, "kicked");
    "done\n".into_response()
}
