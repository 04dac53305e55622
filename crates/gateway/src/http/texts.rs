//! Texts of the operator: alerts to one user, to a region or to all, and lines of chat in a region.

use super::operator::Admin;
use super::reply::error;
use crate::places::Place;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use glam::Vec3;
use ids::{SessionKey, Uuid};
use link::{Chat, ChatKind};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A message to users.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Alert {
    /// At most 254 bytes.
    #[schema(min_length = 1, max_length = 254, extensions(("x-max-bytes" = json!(254))))]
    text: String,
    /// "First Last" of the only user to get it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    name: Option<String>,
    /// Name of the only region to get it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    region: Option<String>,
}

/// A line of chat.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorLine {
    /// Name of the region.
    #[schema(min_length = 1, max_length = 63)]
    region: String,
    /// At most 1,023 bytes.
    #[schema(min_length = 1, max_length = 1023, extensions(("x-max-bytes" = json!(1023))))]
    text: String,
    /// Speaker as clients show it; the grid's name without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    name: Option<String>,
}

/// Show a message to all users, to those in one region, or to one.
#[utoipa::path(post, path = "/v1/alert", request_body = Alert, responses(
    (status = 200, description = "It is on its way.", body = String, content_type = "text/plain"),
    (status = 400, description = "It is for a user and for a region."),
    (status = 404, description = "There is no such region, or no user of that name is present."),
))]
pub(super) async fn alert(State(admin): State<Arc<Admin>>, Json(alert): Json<Alert>) -> Response {
    let Alert { text, name, region } = alert;
    let sessions = &admin.state.sessions;
    match (&name, &region) {
        (Some(_), Some(_)) => {
            return error(StatusCode::BAD_REQUEST, "An alert is for a user or for a region, not for both.");
        }
        (Some(name), None) => {
            if !sessions.with(|hub| hub.alert_user(name, &text)) {
                return error(StatusCode::NOT_FOUND, &format!("{name:?} is not here."));
            }
        }
        (None, Some(region)) => match place(&admin, region) {
            Ok(place) => sessions.with(|hub| hub.alert_in(place.world(), &text)),
            Err(refusal) => return *refusal,
        },
        (None, None) => sessions.with(|hub| hub.alert(&text)),
    }
    tracing::info!(text, name, region, "alert");
    "done\n".into_response()
}

/// Say something in a region: all its users hear it, wherever they are, and the browsers that read chat.
#[utoipa::path(post, path = "/v1/say", request_body = OperatorLine, responses(
    (status = 200, description = "It is on its way.", body = String, content_type = "text/plain"),
    (status = 404, description = "There is no such region."),
))]
pub(super) async fn say(State(admin): State<Arc<Admin>>, Json(line): Json<OperatorLine>) -> Response {
    let OperatorLine { region, text, name } = line;
    let place = match place(&admin, &region) {
        Ok(place) => place,
        Err(refusal) => return *refusal,
    };
    let name = name.unwrap_or_else(|| admin.state.settings.grid_name.clone());
    admin.state.sessions.with(|hub| hub.say_in(place.world(), &name, &text));
    tracing::info!(region = place.name(), name, text, "said");
    let chat = Chat {
        source: Uuid::nil(),
        session: SessionKey::NODE,
        name,
        position: Vec3::ZERO,
        radius_m: ChatKind::Say.radius_m(),
        kind: ChatKind::Say,
        channel: 0,
        text,
    };
    admin.state.live.show_chat(place.id.0.into(), &chat);
    "done\n".into_response()
}

/// The region with this name; otherwise the refusal.
fn place<'a>(admin: &'a Admin, name: &str) -> Result<&'a Arc<Place>, Box<Response>> {
    let places = &admin.state.places;
    places.by_name(name).ok_or_else(|| {
        let names: Vec<&str> = places.iter().map(|place| place.name()).collect();
        let why = format!("There is no region {name:?}; there are: {}.", names.join(", "));
        Box::new(error(StatusCode::NOT_FOUND, &why))
    })
}
