//! The operator's address: metrics, health, and commands with the token of the data directory.

use super::Portal;
use super::fault::{Faults, fault};
use super::record::{Record, record};
use super::reply::error;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Json, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde::Deserialize;
use std::sync::Arc;

/// What the operator's handlers share.
pub struct Admin {
    /// What the commands act on.
    pub portal: Arc<Portal>,
    /// Who knows it may give commands.
    pub token: String,
    /// Records a world into a file.
    pub record: Record,
    /// Writes the metrics.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Why the server is not alive, if so: a thread that no longer runs.
    pub alive: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Why nobody should be sent here, if so.
    pub ready: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// What is amiss although the server is alive: a world that is down takes no other with it, and whoever restarts servers
    /// that are not alive must not do it for that.
    pub amiss: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Does damage on purpose, where that is allowed.
    pub faults: Option<Faults>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

/// Bytes of a command at most.
const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// The routes of the operator's address. `commands` are those of the program itself, about which the gateway knows
/// nothing; they need the token like all others.
pub fn router(admin: Arc<Admin>, commands: Router) -> Router {
    let commands = Router::new()
        .route("/v1/kick", post(kick))
        .route("/v1/alert", post(alert))
        .route("/v1/record", post(record))
        .route("/v1/fault", post(fault))
        .with_state(Arc::clone(&admin))
        .merge(commands)
        .layer(from_fn_with_state(Arc::clone(&admin), check_token));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz/live", get(alive))
        .route("/healthz/ready", get(ready))
        .with_state(admin)
        .merge(commands)
        .layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX))
}

/// Programs show the token as `Bearer`. People who follow a link from a dashboard are asked for it by their browser, which
/// sends it as the password of `Basic`, and from then on with whatever any page makes it ask for; so that opens only
/// what changes nothing.
async fn check_token(State(admin): State<Arc<Admin>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.unwrap_or_default();
    let is_right = match shown.split_once(' ') {
        Some(("Bearer", token)) => is_equal(token, &admin.token),
        Some(("Basic", both)) if request.method() == Method::GET => {
            is_equal(&password(both).unwrap_or_default(), &admin.token)
        }
        _ => false,
    };
    if is_right {
        return next.run(request).await;
    }
    let why = "Commands need the token in the server's data directory.";
    let how = [(header::WWW_AUTHENTICATE, "Basic realm=\"the token of the server's data directory\"")];
    (how, error(StatusCode::UNAUTHORIZED, why)).into_response()
}

/// The password of HTTP's basic scheme, RFC 7617.
fn password(both: &str) -> Option<String> {
    let both = String::from_utf8(STANDARD.decode(both).ok()?).ok()?;
    Some(both.split_once(':')?.1.to_owned())
}

/// Compares all bytes whatever they are, so that the time taken tells nothing about the token.
fn is_equal(shown: &str, token: &str) -> bool {
    let differs = shown.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == token.len() && differs == 0
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

/// `ok`, and a line for each thing that is amiss all the same.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kick {
    name: String,
    #[serde(default)]
    reason: Option<String>,
}

async fn kick(State(admin): State<Arc<Admin>>, Json(kick): Json<Kick>) -> Response {
    let now = (admin.portal.clock)();
    let reason = kick.reason.as_deref().unwrap_or("You have been asked to leave.");
    if !admin.portal.sessions.with(|hub| hub.kick(now, &kick.name, reason)) {
        return error(StatusCode::NOT_FOUND, &format!("{:?} is not here.", kick.name));
    }
    tracing::info!(name = kick.name, reason, "kicked");
    "done\n".into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alert {
    text: String,
}

async fn alert(State(admin): State<Arc<Admin>>, Json(alert): Json<Alert>) -> Response {
    admin.portal.sessions.with(|hub| hub.alert(&alert.text));
    tracing::info!(text = alert.text, "alert");
    "done\n".into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_what_comes_after_the_first_colon() {
        assert_eq!(password("b3BlcmF0b3I6c2VjOnJldA==").as_deref(), Some("sec:ret"));
        for wrong in ["", "b3BlcmF0b3I=", "//79", "%"] {
            assert_eq!(password(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_the_whole_token_is_equal() {
        assert!(is_equal("token", "token"));
        for wrong in ["", "tok", "tokens", "Token"] {
            assert!(!is_equal(wrong, "token"), "{wrong}");
        }
    }
}
