//! Instances over the operator's address: `/v1/worlds`. They need the token, like all commands there.

use super::{Entry, Instances, Refusal, TableRefusal, Who};
use axum::Router;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gateway::hub::{Passage, PassageRefusal};
use glam::Vec3;
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use telemetry::recorder::frame_end;

/// The routes.
pub(in crate::serve) fn router(instances: Arc<Instances>) -> Router {
    Router::new()
        .route("/v1/worlds", get(list).post(create))
        .route("/v1/worlds/{id}", get(show).delete(end))
        .route("/v1/worlds/{id}/enter", post(enter))
        .route("/v1/worlds/leave", post(leave))
        .with_state(instances)
}

/// An instance as the API tells it.
#[derive(Serialize)]
struct Told {
    id: Uuid,
    name: String,
    template: String,
    /// Account whose own it is.
    owner: Option<Uuid>,
    size_m: u32,
    /// Those who live in it.
    npcs: usize,
    /// Users in it, or on their way into it.
    users: usize,
    max_users: u32,
    /// Seconds since the server began.
    created_s: f64,
}

impl From<(Entry, usize)> for Told {
    fn from((entry, users): (Entry, usize)) -> Self {
        let Entry { id, template, owner, scene, cast, created_at, .. } = entry;
        Self {
            id,
            name: scene.name.clone(),
            template,
            owner: owner.map(|owner| owner.0),
            size_m: scene.land.size_m,
            npcs: cast.map_or(0, |cast| cast.len()),
            users,
            max_users: scene.max_avatars,
            created_s: created_at.0 as f64 / 1e9,
        }
    }
}

#[derive(Serialize)]
struct Error {
    error: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Table(TableRefusal::NoInstance(_)) | Self::NotHere(_) => StatusCode::NOT_FOUND,
            Self::Table(TableRefusal::NoTemplate { .. } | TableRefusal::Name) => StatusCode::BAD_REQUEST,
            Self::Table(TableRefusal::Full(_)) => StatusCode::TOO_MANY_REQUESTS,
            Self::Table(TableRefusal::Owned) => StatusCode::CONFLICT,
            Self::Passage(PassageRefusal::Draining) | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Passage(_) => StatusCode::CONFLICT,
            Self::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(Error { error: self.to_string() })).into_response()
    }
}

/// A body that is no order.
fn bad(rejection: &JsonRejection) -> Response {
    (rejection.status(), Json(Error { error: rejection.body_text() })).into_response()
}

/// What takes time, or waits for the hub, does so where it blocks nobody.
async fn blocking<R: IntoResponse + Send + 'static>(
    instances: Arc<Instances>,
    work: impl FnOnce(&Instances) -> Result<R, Refusal> + Send + 'static,
) -> Response {
    let recorded = move || {
        let done = work(&instances);
        // The runtime says when its workers park, and nothing of these threads.
        frame_end();
        done
    };
    let done = tokio::task::spawn_blocking(recorded).await;
    done.expect("blocking work does not panic and is not cancelled").into_response()
}

async fn list(State(instances): State<Arc<Instances>>) -> Response {
    blocking(instances, |instances| {
        let worlds: Vec<Told> = instances.list().into_iter().map(Told::from).collect();
        Ok(Json(worlds))
    })
    .await
}

async fn show(State(instances): State<Arc<Instances>>, Path(id): Path<Uuid>) -> Response {
    blocking(instances, move |instances| Ok(Json(Told::from(instances.get(id)?)))).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    template: String,
    #[serde(default)]
    name: Option<String>,
    /// An account: portals lead its user here instead of into another one.
    #[serde(default)]
    owner: Option<Uuid>,
}

async fn create(
    State(instances): State<Arc<Instances>>,
    order: Result<Json<Create>, JsonRejection>,
) -> Response {
    let Create { template, name, owner } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| {
        let entry = instances.create(&template, name, owner.map(AgentId))?;
        Ok((StatusCode::CREATED, Json(Told::from((entry, 0)))))
    })
    .await
}

async fn end(State(instances): State<Arc<Instances>>, Path(id): Path<Uuid>) -> Response {
    blocking(instances, move |instances| {
        instances.end(id)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// A user, by "First Last" or by account.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum User {
    Name(String),
    Agent(Uuid),
}

impl From<User> for Who {
    fn from(user: User) -> Self {
        match user {
            User::Name(name) => Self::Name(name),
            User::Agent(id) => Self::Agent(id),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Enter {
    user: User,
    /// Metres from the world's corner; without it, where visitors arrive.
    #[serde(default)]
    position: Option<[f32; 3]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leave {
    user: User,
}

#[derive(Serialize)]
struct Passed {
    passage: &'static str,
}

impl From<Passage> for Passed {
    fn from(passage: Passage) -> Self {
        let passage = match passage {
            Passage::Within => "within",
            Passage::Switched => "switched",
            Passage::Teleported => "teleported",
        };
        Self { passage }
    }
}

async fn enter(
    State(instances): State<Arc<Instances>>,
    Path(id): Path<Uuid>,
    order: Result<Json<Enter>, JsonRejection>,
) -> Response {
    let Enter { user, position } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| {
        let passage = instances.enter(id, &user.into(), position.map(Vec3::from))?;
        Ok(Json(Passed::from(passage)))
    })
    .await
}

async fn leave(
    State(instances): State<Arc<Instances>>,
    order: Result<Json<Leave>, JsonRejection>,
) -> Response {
    let Leave { user } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| Ok(Json(Passed::from(instances.leave(&user.into())?)))).await
}
