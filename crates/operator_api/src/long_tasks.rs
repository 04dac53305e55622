//! Long tasks over the operator's address: `/v1/long-tasks`.

use super::ApiClock;
use super::drill::Drill;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::Instant;
use schedule::long::{AbandonError, LongId, LongInfo, LongState, LongTasks};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(Clone)]
struct LongDesk {
    tasks: LongTasks,
    clock: ApiClock,
    /// Work on purpose is allowed.
    drills: bool,
}

/// The routes. With `drills`, work on purpose is allowed.
pub fn router(tasks: LongTasks, clock: ApiClock, drills: bool) -> OpenApiRouter {
    let desk = LongDesk { tasks, clock, drills };
    OpenApiRouter::new().routes(routes!(list, drill)).routes(routes!(end)).with_state(desk)
}

/// A long task in the API.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = LongTask)]
struct LongTaskRow {
    id: u64,
    kind: &'static str,
    name: String,
    /// `waiting`, `running`, or `abandoned`: it runs, and its thread has a successor.
    state: &'static str,
    /// Since it was submitted.
    age_s: f64,
    /// Since it began.
    running_s: Option<f64>,
    /// The submitter's estimate of its duration.
    estimated_s: f64,
    /// Expected duration, from earlier tasks of its kind.
    expected_s: f64,
    /// It exceeds the expected duration so far that it probably hangs.
    is_overdue: bool,
    /// Its cancellation was requested.
    is_cancelled: bool,
}

impl LongTaskRow {
    fn new(info: LongInfo, now: Instant) -> Self {
        let (state, since) = match info.state {
            LongState::Waiting => ("waiting", None),
            LongState::Running { since } => ("running", Some(since)),
            LongState::Abandoned { since } => ("abandoned", Some(since)),
        };
        let seconds = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e6;
        Self {
            id: info.id.0,
            kind: info.kind,
            name: info.name,
            state,
            age_s: seconds(now - info.submitted_at),
            running_s: since.map(|since| seconds(now - since)),
            estimated_s: seconds(info.estimated),
            expected_s: seconds(info.expected),
            is_overdue: info.is_overdue,
            is_cancelled: info.is_cancelled,
        }
    }
}

/// All long tasks that run and wait.
#[utoipa::path(get, path = "/v1/long-tasks", operation_id = "list_long_tasks", responses((status = 200, body = Vec<LongTaskRow>)))]
async fn list(State(LongDesk { tasks, clock, .. }): State<LongDesk>) -> Response {
    let list = tasks.list();
    let now = clock();
    Json(list.into_iter().map(|info| LongTaskRow::new(info, now)).collect::<Vec<LongTaskRow>>())
        .into_response()
}

/// Long work that was begun on purpose.
#[derive(Serialize, ToSchema)]
#[schema(as = Begun)]
struct DrillReply {
    /// Tasks that were taken.
    begun: u16,
}

fn refuse(status: StatusCode, error: String) -> Response {
    (status, Json(LongTaskErrorBody { error })).into_response()
}

/// Begins long work on purpose, where `diagnose.allow_faults` is on.
#[utoipa::path(post, path = "/v1/long-tasks", operation_id = "drill_long_tasks", request_body = Drill, responses(
    (status = 200, body = DrillReply),
    (status = 403, description = "Drills are not allowed here, or not with this token."),
    (status = 503, description = "As many tasks wait as may."),
))]
async fn drill(
    State(LongDesk { tasks, drills, .. }): State<LongDesk>,
    order: Result<Json<Drill>, JsonRejection>,
) -> Response {
    if !drills {
        let error = "Drills are not allowed here (diagnose.allow_faults).";
        return refuse(StatusCode::FORBIDDEN, error.into());
    }
    let Json(order) = match order {
        Ok(order) => order,
        Err(rejection) => return refuse(rejection.status(), rejection.body_text()),
    };
    match order.begin(&tasks) {
        Ok(begun) => Json(DrillReply { begun }).into_response(),
        Err(why) => refuse(StatusCode::SERVICE_UNAVAILABLE, why.to_string()),
    }
}

/// Result of ending a long task.
#[derive(Serialize, ToSchema)]
#[schema(as = Ended)]
struct EndReply {
    /// `cancelled`: it will not begin; `told`: it runs, and its cancellation was requested; `abandoned`: it ignored an earlier request.
    outcome: &'static str,
}

#[derive(Serialize)]
struct LongTaskErrorBody {
    error: String,
}

/// End a long task: a waiting one is removed, a running one is asked to stop. One that was asked before, or is overdue, is abandoned.
#[utoipa::path(delete, path = "/v1/long-tasks/{id}", operation_id = "end_long_task", params(("id" = u64, Path)), responses(
    (status = 200, body = EndReply),
    (status = 404, description = "There is no such task."),
    (status = 409, description = "Too many have been given up that have not ended."),
))]
async fn end(State(LongDesk { tasks, .. }): State<LongDesk>, Path(id): Path<u64>) -> Response {
    let id = LongId(id);
    let known = tasks.list().into_iter().find(|info| info.id == id);
    let not_there = || AbandonError::NotRunning(id);
    let ended = match known {
        None => Err(not_there()),
        Some(info) => match info.state {
            LongState::Waiting => tasks.cancel(id).then_some("cancelled").ok_or_else(not_there),
            LongState::Running { .. } if info.is_cancelled || info.is_overdue => {
                tasks.abandon(id).map(|()| "abandoned")
            }
            LongState::Running { .. } => tasks.cancel(id).then_some("told").ok_or_else(not_there),
            LongState::Abandoned { .. } => Err(not_there()),
        },
    };
    match ended {
        Ok(outcome) => {
            tracing::warn!(task = id.0, outcome, "an operator has ended a long task");
            Json(EndReply { outcome }).into_response()
        }
        Err(why) => {
            let status = match why {
                AbandonError::NotRunning(_) => StatusCode::NOT_FOUND,
                AbandonError::TooMany => StatusCode::CONFLICT,
                AbandonError::Thread(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            refuse(status, why.to_string())
        }
    }
}
