//! Templates over the operator's address: `/v1/templates`.

use super::answers::{ApiErrorBody, ApiRefusal, blocking};
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use host::registry::InstanceRefusal;
use host::script::ScriptProblems;
use outline::Problem;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::instances::{Instances, ReloadRefusal, Reloaded, Template};
use workplace::long::LongFailure;

/// The routes.
pub(super) fn routes() -> OpenApiRouter<Arc<Instances>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(reload))
}

/// A template in the API.
#[derive(Serialize, ToSchema)]
#[schema(as = Template)]
struct TemplateReply {
    name: String,
    size_m: u32,
    max_users: u32,
    /// Number of NPCs in each of its instances.
    npcs: usize,
    /// Names of their behaviours.
    behaviours: Vec<String>,
    /// Instances that there are.
    instances: usize,
}

impl From<(Template, usize)> for TemplateReply {
    fn from((template, instances): (Template, usize)) -> Self {
        let Template { name, ground, cast, max_avatars, .. } = template;
        Self {
            name: name.to_string(),
            size_m: ground.size_m,
            max_users: max_avatars,
            npcs: cast.as_ref().map_or(0, |cast| cast.len()),
            behaviours: cast.map_or_else(Vec::new, |cast| cast.behaviors().to_vec()),
            instances,
        }
    }
}

/// A template whose files were read again.
#[derive(Serialize, ToSchema)]
#[schema(as = Reloaded)]
struct Again {
    template: String,
    changed: bool,
    npcs: usize,
    behaviours: Vec<String>,
    /// Instances that go over to it: those that run within a second, those that sleep when they wake.
    adopting: usize,
    /// Instances that keep their cast.
    keeping: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl From<Reloaded> for Again {
    fn from(reloaded: Reloaded) -> Self {
        let Reloaded { template, cast, has_changed, n_adopting, n_keeping, why } = reloaded;
        Self {
            template,
            changed: has_changed,
            npcs: cast.len(),
            behaviours: cast.behaviors().to_vec(),
            adopting: n_adopting,
            keeping: n_keeping,
            why: why.map(|why| why.to_string()),
        }
    }
}

/// One problem at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
struct ScriptProblem {
    /// As the operator named it.
    file: String,
    /// From 1; none when it concerns no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// From 1; none when it concerns all of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    what: String,
}

impl From<Problem<String>> for ScriptProblem {
    fn from(Problem { file, line, column, fault }: Problem<String>) -> Self {
        let some = |number| (number > 0).then_some(number);
        Self { file, line: some(line), column: some(column), what: fault }
    }
}

/// A problem of a template's files.
#[derive(Serialize, ToSchema)]
#[schema(as = WrongFiles)]
struct Wrong {
    error: String,
    problems: Vec<ScriptProblem>,
    /// Number of further ones.
    more: usize,
}

/// A refused reload as an answer.
struct ApiReloadRefusal(ReloadRefusal);

impl From<ReloadRefusal> for ApiReloadRefusal {
    fn from(refusal: ReloadRefusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for ApiReloadRefusal {
    fn into_response(self) -> Response {
        use ReloadRefusal as Why;
        let status = match self.0 {
            Why::Wrong(ScriptProblems { list, n_more }) => {
                let count = list.len() + n_more;
                let error = format!("The files have {count} errors; their former contents stay in use.");
                let wrong = Wrong {
                    error,
                    problems: list.into_iter().map(ScriptProblem::from).collect(),
                    more: n_more,
                };
                return (StatusCode::UNPROCESSABLE_ENTITY, Json(wrong)).into_response();
            }
            Why::Instance(InstanceRefusal::NoTemplate { .. }) => StatusCode::NOT_FOUND,
            Why::Instance(_) | Why::Nobody(_) => StatusCode::CONFLICT,
            Why::Long(LongFailure::Panicked(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            Why::Long(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(ApiErrorBody { error: self.0.to_string() })).into_response()
    }
}

/// All templates.
#[utoipa::path(get, path = "/v1/templates", operation_id = "list_templates", security(("token" = ["worlds:read"])),
    responses((status = 200, body = Vec<TemplateReply>)))]
async fn list(State(instances): State<Arc<Instances>>) -> Response {
    blocking(instances, |instances| {
        let templates: Vec<TemplateReply> =
            instances.templates()?.into_iter().map(TemplateReply::from).collect();
        Ok::<_, ApiRefusal>(Json(templates))
    })
    .await
}

/// Read a template's NPCs and behaviours again; its instances go over to them where that is possible.
#[utoipa::path(post, path = "/v1/templates/{name}/reload", operation_id = "reload_template", params(("name" = String, Path)),
    security(("token" = ["templates:write"])),
    responses(
        (status = 200, description = "They count from now on.", body = Again),
        (status = 404, description = "There is no such template."),
        (status = 409, description = "Its instances have no NPCs."),
        (status = 422, description = "The files have errors; their former contents stay in use.", body = Wrong),
    ))]
async fn reload(State(instances): State<Arc<Instances>>, Path(name): Path<String>) -> Response {
    blocking(instances, move |instances| {
        Ok::<_, ApiReloadRefusal>(Json(Again::from(instances.reload(&name)?)))
    })
    .await
}
