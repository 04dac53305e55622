//! Answers of the handlers: refusals with their statuses, rejected paths and bodies, and slow work off the async workers.

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Json, Path};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use host::registry::InstanceRefusal;
use ids::Uuid;
use link::PassageRefusal;
use serde::Serialize;
use std::sync::Arc;
use telemetry::recorder::frame_end;
use workplace::instances::{Instances, Refusal};

#[derive(Serialize)]
pub(super) struct ApiErrorBody {
    pub(super) error: String,
}

/// Recovery takes at least some seconds: the admission samples that long, and memory is given back every ten.
const RETRY_AFTER_S: &str = "10";

/// A refusal as an answer.
pub(super) struct ApiRefusal(Refusal);

impl From<Refusal> for ApiRefusal {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for ApiRefusal {
    fn into_response(self) -> Response {
        use Refusal as Why;
        let status = match &self.0 {
            Why::Instance(why) => status_of(why),
            Why::NotHere(_) => StatusCode::NOT_FOUND,
            Why::Passage(PassageRefusal::Draining) => StatusCode::SERVICE_UNAVAILABLE,
            Why::Passage(_) | Why::Resting(_) => StatusCode::CONFLICT,
            Why::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let is_short = matches!(self.0, Why::Instance(InstanceRefusal::Shortage(_)));
        let later = is_short.then_some([(header::RETRY_AFTER, RETRY_AFTER_S)]);
        (status, later, Json(ApiErrorBody { error: self.0.to_string() })).into_response()
    }
}

/// Status of the registry's refusal.
const fn status_of(why: &InstanceRefusal) -> StatusCode {
    use InstanceRefusal as Why;
    match why {
        Why::NoInstance(_) | Why::Ended => StatusCode::NOT_FOUND,
        Why::NoTemplate { .. } | Why::Name => StatusCode::BAD_REQUEST,
        Why::Full(_)
        | Why::ActiveFull(_)
        | Why::LocalIds(_)
        | Why::Quota { .. }
        | Why::PortalsFull(_)
        | Why::UserQuota(_) => StatusCode::TOO_MANY_REQUESTS,
        Why::Shortage(_) | Why::Failed(_) | Why::Busy | Why::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        Why::Owned
        | Why::Taken(_)
        | Why::Blocked(_)
        | Why::TemplateGone(_)
        | Why::InUse
        | Why::Passage(_) => StatusCode::CONFLICT,
    }
}

/// A body that is no order.
pub(super) fn bad(rejection: &JsonRejection) -> Response {
    (rejection.status(), Json(ApiErrorBody { error: rejection.body_text() })).into_response()
}

/// The id in a path.
pub(super) type PathId = Result<Path<Uuid>, PathRejection>;

/// A path that names no instance because it has no id.
pub(super) fn bad_id(rejection: &PathRejection) -> Response {
    (rejection.status(), Json(ApiErrorBody { error: rejection.body_text() })).into_response()
}

/// Runs slow work, or work that waits for the hub, off the async workers.
pub(super) async fn blocking<R, E>(
    instances: Arc<Instances>,
    work: impl FnOnce(&Instances) -> Result<R, E> + Send + 'static,
) -> Response
where
    R: IntoResponse + Send + 'static,
    E: IntoResponse + Send + 'static,
{
    let recorded = move || {
        let done = work(&instances);
        // The runtime marks idle time of its workers, but not of these threads.
        frame_end();
        done
    };
    let done = tokio::task::spawn_blocking(recorded).await;
    done.expect("blocking work does not panic and is not cancelled").into_response()
}
