//! Instances over the operator's address: `/v1/worlds`, with tokens of the scopes `worlds:read` and `worlds:write`.

use super::answers::{ApiRefusal, PathId, bad, bad_id, blocking};
use super::{Owners, map, templates};
use axum::Extension;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use gateway::places::Places;
use glam::Vec3;
use grid::tokens::Caller;
use host::registry::{InstanceRefusal, InstanceRow, Maker};
use ids::{AgentId, Uuid};
use link::Passage;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Once};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::instances::{InstanceDetails, InstanceOrder, Instances, Who};

/// The routes.
pub fn router(instances: Arc<Instances>, owners: Owners, places: Arc<Places>) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, end))
        .routes(routes!(enter))
        .routes(routes!(suspend))
        .routes(routes!(park))
        .routes(routes!(resume))
        .routes(routes!(leave))
        .merge(map::routes())
        .merge(templates::routes())
        .layer(Extension(Arc::new(owners)))
        .layer(Extension(places))
        .with_state(instances)
}

/// An instance in the API.
#[derive(Serialize, ToSchema)]
#[schema(as = World)]
struct WorldReply {
    id: Uuid,
    name: String,
    template: String,
    /// Account whose own it is.
    owner: Option<Uuid>,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    /// Its number in captures, which is another one after each start.
    world: u32,
    /// `active`, `suspended`, or on the way from one to the other: `making`, `resuming`, `suspending`, `ending`.
    state: &'static str,
    /// Seconds that it has been in this state, since the server's start at most.
    state_s: u64,
    /// Its problem, as text. Whether visitors can enter all the same depends on the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// None without its template, here and below.
    size_m: Option<u32>,
    /// Number of its NPCs.
    npcs: Option<usize>,
    /// Users in it, or on their way into it.
    users: usize,
    max_users: Option<u32>,
    /// Steps a second.
    hz: Option<u32>,
    /// World time passed ÷ wall time passed, as of its last step.
    dilation: f32,
    /// Mean time of its steps, microseconds.
    cost_us: f64,
    /// Seconds since 1970.
    created_s: i64,
}

impl WorldReply {
    /// Rows of the API for all of these.
    fn all(instances: &Instances, owners: &Owners, accounts: Vec<InstanceDetails>) -> Vec<Self> {
        let names = owners.names(accounts.iter().filter_map(|account| account.summary.row.owner));
        let told = |account: InstanceDetails| {
            let owner = account.summary.row.owner;
            let owner_name = owner.and_then(|owner| names.get(&owner)).map(|name| name.to_string());
            Self::new(instances.time_in_phase(&account).as_secs(), owner_name, account)
        };
        accounts.into_iter().map(told).collect()
    }

    /// Row of the API for one instance.
    fn one(instances: &Instances, owners: &Owners, id: Uuid) -> Result<Self, ApiRefusal> {
        let mut told = Self::all(instances, owners, vec![instances.get(id)?]);
        Ok(told.pop().expect("as many as there were accounts"))
    }

    fn new(state_s: u64, owner_name: Option<String>, account: InstanceDetails) -> Self {
        let InstanceDetails { summary, trouble, template: known, users, dilation, step } = account;
        let InstanceRow { id, template, name, owner, created_s, .. } = summary.row;
        let known = known.as_ref();
        let gone = || InstanceRefusal::TemplateGone(Arc::clone(&template)).to_string();
        let trouble = trouble.or_else(|| known.is_none().then(gone));
        Self {
            id,
            name: name.to_string(),
            template: template.to_string(),
            owner: owner.map(|owner| owner.0),
            owner_name,
            world: summary.world.0,
            state: summary.phase,
            state_s,
            trouble,
            size_m: known.map(|known| known.ground.size_m),
            npcs: known.map(|known| known.cast.as_ref().map_or(0, |cast| cast.len())),
            users,
            max_users: known.map(|known| known.max_avatars),
            hz: known.map(|known| known.hz),
            dilation,
            cost_us: step.as_nanos() as f64 / 1e3,
            created_s,
        }
    }
}

/// All instances, the oldest first.
#[utoipa::path(get, path = "/v1/worlds", operation_id = "list_worlds", security(("token" = ["worlds:read"])),
    responses((status = 200, body = Vec<WorldReply>)))]
async fn list(
    State(instances): State<Arc<Instances>>,
    Extension(owners): Extension<Arc<Owners>>,
) -> Response {
    blocking(instances, move |instances| {
        Ok::<_, ApiRefusal>(Json(WorldReply::all(instances, &owners, instances.list()?)))
    })
    .await
}

/// One instance.
#[utoipa::path(get, path = "/v1/worlds/{id}", operation_id = "show_world", params(("id" = Uuid, Path)),
    security(("token" = ["worlds:read"])),
    responses((status = 200, body = WorldReply), (status = 404, description = "There is no such instance.")))]
async fn show(
    State(instances): State<Arc<Instances>>,
    Extension(owners): Extension<Arc<Owners>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| Ok::<_, ApiRefusal>(Json(WorldReply::one(instances, &owners, id)?)))
        .await
}

/// A new instance.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// Name of the template, in any capitals.
    #[schema(min_length = 1, max_length = 63)]
    template: String,
    /// At most 63 bytes, without control characters and direction marks; without one it is called as its template.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 63,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]*$",
        extensions(("x-max-bytes" = json!(63)))
    )]
    name: Option<String>,
    /// An account: portals lead its user here instead of into another one.
    #[serde(default)]
    owner: Option<Uuid>,
    /// Chosen by the caller, so that an order without an answer can be repeated.
    #[serde(default)]
    id: Option<Uuid>,
}

/// Make an instance. It stays suspended until the first visitor.
#[utoipa::path(post, path = "/v1/worlds", operation_id = "create_world", request_body = Create,
    security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "It existed: a request with the same id was made before.", body = WorldReply),
        (status = 201, description = "It is there.", body = WorldReply),
        (status = 400, description = "There is no such template, or the name is none."),
        (status = 409, description = "The owner has one of this template already, or the id is another's."),
        (status = 429, description = "There are as many as there may be, of this token or in all."),
        (status = 503, description = "There is no memory for it, or it cannot be saved.",
            headers(("Retry-After" = u32, description = "Seconds, when it is memory."))),
    ))]
async fn create(
    State(instances): State<Arc<Instances>>,
    Extension(owners): Extension<Arc<Owners>>,
    Extension(caller): Extension<Arc<Caller>>,
    order: Result<Json<Create>, JsonRejection>,
) -> Response {
    let Create { template, name, owner, id } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| {
        let of_token =
            |caller: &Caller| Maker { token: caller.name.as_str().into(), instances_max: caller.worlds_max };
        let maker = (!caller.is_operator()).then(|| of_token(&caller));
        let order = InstanceOrder { id, template, name, owner: owner.map(AgentId), maker };
        let (id, is_new) = instances.create(order)?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok::<_, ApiRefusal>((status, Json(WorldReply::one(instances, &owners, id)?)))
    })
    .await
}

/// End an instance: its visitors return to their former places.
#[utoipa::path(delete, path = "/v1/worlds/{id}", operation_id = "end_world", params(("id" = Uuid, Path)),
    security(("token" = ["worlds:write"])),
    responses((status = 204, description = "It has ended."), (status = 404, description = "There is no such instance.")))]
async fn end(State(instances): State<Arc<Instances>>, id: PathId) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        instances.end(id)?;
        Ok::<_, ApiRefusal>(StatusCode::NO_CONTENT)
    })
    .await
}

/// Save an instance and take it out of memory.
#[utoipa::path(post, path = "/v1/worlds/{id}/suspend", operation_id = "suspend_world", params(("id" = Uuid, Path)),
    security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "It is on the disk and not in memory.", body = WorldReply),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It has visitors."),
        (status = 503, description = "It cannot be saved."),
    ))]
async fn suspend(
    State(instances): State<Arc<Instances>>,
    Extension(owners): Extension<Arc<Owners>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        instances.suspend(id)?;
        Ok::<_, ApiRefusal>(Json(WorldReply::one(instances, &owners, id)?))
    })
    .await
}

/// As `/v1/worlds/{id}/suspend`, whose former name this is; it goes with the next version.
#[utoipa::path(post, path = "/v1/worlds/{id}/park", operation_id = "park_world", params(("id" = Uuid, Path)),
    security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "It is on the disk and not in memory.", body = WorldReply),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It has visitors."),
        (status = 503, description = "It cannot be saved."),
    ))]
async fn park(instances: State<Arc<Instances>>, owners: Extension<Arc<Owners>>, id: PathId) -> Response {
    // Once: programs call it often.
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            "/v1/worlds/ID/park is called /v1/worlds/ID/suspend now, and will be removed in the next version"
        );
    });
    suspend(instances, owners, id).await
}

/// Read an instance back into memory, without a user in it. It is suspended again like any other that has no users.
#[utoipa::path(post, path = "/v1/worlds/{id}/resume", operation_id = "resume_world", params(("id" = Uuid, Path)),
    security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "It is in memory.", body = WorldReply),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "Its saved state is damaged, or does not fit its template or this build."),
        (status = 429, description = "Users are in each of `instances.active_max` instances."),
        (status = 503, description = "It cannot be read, or there is no memory or no time of the workers for it.",
            headers(("Retry-After" = u32, description = "Seconds, when it is memory or time."))),
    ))]
async fn resume(
    State(instances): State<Arc<Instances>>,
    Extension(owners): Extension<Arc<Owners>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        instances.resume(id)?;
        Ok::<_, ApiRefusal>(Json(WorldReply::one(instances, &owners, id)?))
    })
    .await
}

/// A user, by "First Last" or by account.
#[derive(Deserialize, ToSchema)]
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

/// A user who enters, with the arrival place.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Enter)]
struct EnterBody {
    user: User,
    /// East, north and up, metres from the world's corner; without it, where visitors arrive.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    position: Option<[f32; 3]>,
}

/// A user who leaves.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Leave {
    user: User,
}

/// Result of a user's passage from one world to another.
#[derive(Serialize, ToSchema)]
#[schema(as = Passage)]
struct Passed {
    /// `within`, `switched` or `teleported`.
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

/// Send a user into an instance.
#[utoipa::path(post, path = "/v1/worlds/{id}/enter", operation_id = "enter_world", params(("id" = Uuid, Path)),
    request_body = EnterBody, security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "The user is on the way.", body = Passed),
        (status = 404, description = "There is no such instance, or the user is not here."),
        (status = 409, description = "The instance is full, its state is unavailable, or the user is being moved."),
        (status = 429, description = "It is suspended, and there is no room in memory."),
        (status = 503, description = "It is suspended, and cannot be read, or there is no memory for it, or no time of the workers.",
            headers(("Retry-After" = u32, description = "Seconds, when it is memory or time."))),
    ))]
async fn enter(
    State(instances): State<Arc<Instances>>,
    id: PathId,
    order: Result<Json<EnterBody>, JsonRejection>,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    let EnterBody { user, position } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| {
        let passage = instances.enter(id, &user.into(), position.map(Vec3::from))?;
        Ok::<_, ApiRefusal>(Json(Passed::from(passage)))
    })
    .await
}

/// Send a user back to where they were before in a region.
#[utoipa::path(post, path = "/v1/worlds/leave", operation_id = "leave_world", request_body = Leave,
    security(("token" = ["worlds:write"])),
    responses(
        (status = 200, description = "The user is on the way.", body = Passed),
        (status = 404, description = "The user is not here."),
        (status = 409, description = "The user is in no instance, or on the way somewhere."),
    ))]
async fn leave(
    State(instances): State<Arc<Instances>>,
    order: Result<Json<Leave>, JsonRejection>,
) -> Response {
    let Leave { user } = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return bad(&rejection),
    };
    blocking(instances, move |instances| {
        Ok::<_, ApiRefusal>(Json(Passed::from(instances.leave(&user.into())?)))
    })
    .await
}

#[cfg(test)]
mod tests;
