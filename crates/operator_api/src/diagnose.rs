//! The operator's commands on the running server: captures, current costs of systems, and tunables. They need the scope `operate`.

use super::capture_page::{AROUND, DETAILED_MAX, page};
use axum::extract::{Json, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use crossbeam_channel::Sender;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use telemetry::captures::perfetto::Timeline;
use telemetry::captures::{CaptureCosts, CaptureEntry, CaptureStore, CaptureStoreError, CaptureSummary};
use telemetry::recorder::{Capture, frame_end};
use tokio::sync::oneshot;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Time span of a view of the systems' costs.
const VIEW: Duration = Duration::from_secs(1);
/// Worlds and clients in such a view, the dearest first.
const VIEW_LINES_MAX: usize = 50;

/// An operator who waits for a capture.
pub type CaptureRequest = oneshot::Sender<Result<(CaptureEntry, CaptureSummary), String>>;

/// The flight recorder, with names for its numbers.
pub trait SystemsView: Send + Sync {
    /// The last `horizon` of all threads.
    fn capture(&self, horizon: Duration) -> Capture;
}

/// A key that can be set, as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tunable {
    /// Its name.
    pub key: String,
    /// Its value; a limit of 0 is none.
    pub value: serde_json::Value,
    /// True if the value survives a restart.
    pub kept: bool,
}

/// Settings that can be changed while the server runs.
pub trait Tuner: Send + Sync {
    /// All keys with their values.
    fn list(&self) -> Vec<Tunable>;
    /// Sets a key, for the next starts too if `persist`.
    ///
    /// # Errors
    /// A sentence for the operator.
    fn set(&self, key: &str, value: &serde_json::Value, persist: bool) -> Result<(), String>;
}

/// Objects behind the commands.
pub struct Diagnose {
    /// Activity of the threads.
    pub view: Box<dyn SystemsView>,
    /// To the thread that writes captures.
    pub requests: Sender<CaptureRequest>,
    /// Stored captures.
    pub store: CaptureStore,
    /// Settings that can be changed.
    pub tuner: Box<dyn Tuner>,
}

impl std::fmt::Debug for Diagnose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diagnose").finish_non_exhaustive()
    }
}

/// `GET /v1/systems`: costs of the last second.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Systems {
    /// Length of the window.
    pub window_ns: u64,
    /// By scope, world, client and thread.
    #[schema(value_type = Object)]
    pub costs: CaptureCosts,
}

/// A capture in the API.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Capture)]
pub struct CaptureRow {
    /// Its files' name without their endings.
    pub name: String,
    /// Reason for the capture.
    pub trigger: String,
    /// Bytes of its files.
    pub bytes: u64,
}

impl From<&CaptureEntry> for CaptureRow {
    fn from(entry: &CaptureEntry) -> Self {
        Self { name: entry.name(), trigger: entry.trigger.to_string(), bytes: entry.bytes }
    }
}

/// The routes.
pub fn router(diagnose: Diagnose) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list, take))
        .routes(routes!(file))
        .routes(routes!(around))
        .routes(routes!(systems))
        .routes(routes!(tunables, tune))
        .with_state(Arc::new(diagnose))
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

/// Runs blocking or slow work off the async workers.
async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let recorded = || {
        let done = work();
        // The runtime marks idle time of its workers, but not of these threads.
        frame_end();
        done
    };
    tokio::task::spawn_blocking(recorded).await.expect("blocking work does not panic and is not cancelled")
}

/// All captures, the oldest first.
#[utoipa::path(get, path = "/v1/captures", operation_id = "list_captures", responses((status = 200, body = Vec<CaptureRow>)))]
async fn list(State(diagnose): State<Arc<Diagnose>>) -> Response {
    match blocking(move || diagnose.store.list()).await {
        Ok(entries) => Json(entries.iter().map(CaptureRow::from).collect::<Vec<_>>()).into_response(),
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Have the last seconds written.
#[utoipa::path(post, path = "/v1/captures", operation_id = "take_capture", responses(
    (status = 200, description = "They are.", body = CaptureRow),
    (status = 503, description = "Others wait for captures already."),
))]
async fn take(State(diagnose): State<Arc<Diagnose>>) -> Response {
    let (reply, taken) = oneshot::channel::<Result<(CaptureEntry, CaptureSummary), String>>();
    if diagnose.requests.try_send(reply).is_err() {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "Others wait for captures already.");
    }
    match taken.await {
        Ok(Ok((entry, _))) => Json(CaptureRow::from(&entry)).into_response(),
        Ok(Err(why)) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &why),
        Err(_) => refuse(StatusCode::SERVICE_UNAVAILABLE, "The server stops."),
    }
}

/// A capture's file by its name; without an ending, the summary as JSON.
#[utoipa::path(get, path = "/v1/captures/{name}", operation_id = "read_capture",
    params(("name" = String, Path, description = "As listed, with `.json`, `.txt` or `.perfetto-trace`.")),
    responses(
        (status = 200, description = "The summary.", body = Object),
        (status = 404, description = "There is no such file."),
    ))]
async fn file(State(diagnose): State<Arc<Diagnose>>, Path(name): Path<String>) -> Response {
    let name = if name.contains('.') { name } else { format!("{name}.json") };
    let kind = match name.rsplit('.').next() {
        Some("txt") => "text/plain; charset=utf-8",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    };
    let Some(path) = diagnose.store.path_of(&name) else {
        return refuse(StatusCode::NOT_FOUND, "No capture has that name.");
    };
    match blocking(move || std::fs::read(path)).await {
        Ok(bytes) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(error) => refuse(StatusCode::NOT_FOUND, &format!("{name}: {error}")),
    }
}

/// A page about the captures around a moment: where dashboards link to.
#[utoipa::path(get, path = "/v1/captures/at/{unix_ms}", operation_id = "show_captures_at", params(("unix_ms" = u64, Path)),
    responses((status = 200, description = "A page for people.", body = String, content_type = "text/html")))]
async fn around(State(diagnose): State<Arc<Diagnose>>, Path(unix_ms): Path<u64>) -> Response {
    let made = blocking(move || {
        let near = diagnose.store.near(unix_ms, AROUND)?;
        let read = |entry: &CaptureEntry, ending: &str| {
            std::fs::read(diagnose.store.path_of(&format!("{}.{ending}", entry.name()))?).ok()
        };
        // An entry deleted meanwhile is left out.
        let read_details = |entry: &CaptureEntry| {
            let summary = serde_json::from_slice(&read(entry, "json")?).ok()?;
            Some((summary, Timeline::read(&read(entry, "perfetto-trace")?).ok()?))
        };
        let detailed: Vec<_> = near.iter().take(DETAILED_MAX).map_while(read_details).collect();
        Ok::<_, CaptureStoreError>(page(unix_ms, &near, &detailed))
    });
    match made.await {
        Ok(page) => Html(page).into_response(),
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Time of the last second by scope, world, client and thread.
#[utoipa::path(get, path = "/v1/systems", operation_id = "show_systems", responses((status = 200, body = Systems)))]
async fn systems(State(diagnose): State<Arc<Diagnose>>) -> Response {
    let systems = blocking(move || {
        let capture = diagnose.view.capture(VIEW);
        let mut costs = CaptureCosts::of(&capture);
        costs.worlds.truncate(VIEW_LINES_MAX);
        costs.clients.truncate(VIEW_LINES_MAX);
        Systems { window_ns: capture.end_ns.saturating_sub(capture.begin_ns), costs }
    });
    Json(systems.await).into_response()
}

/// Settings that can be changed while the server runs.
#[utoipa::path(get, path = "/v1/tune", operation_id = "list_tunables", responses((status = 200, body = Vec<Tunable>)))]
async fn tunables(State(diagnose): State<Arc<Diagnose>>) -> Response {
    Json(blocking(move || diagnose.tuner.list()).await).into_response()
}

/// A new value of a setting.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Tuning {
    #[schema(min_length = 1, max_length = 200)]
    key: String,
    #[schema(value_type = Value)]
    value: serde_json::Value,
    /// True if the value survives a restart.
    #[serde(default)]
    persist: bool,
}

/// Set something.
#[utoipa::path(post, path = "/v1/tune", request_body = Tuning, responses(
    (status = 200, description = "It is set.", body = String, content_type = "text/plain"),
    (status = 400, description = "There is no such key, or that is none of its values."),
))]
async fn tune(State(diagnose): State<Arc<Diagnose>>, Json(tuning): Json<Tuning>) -> Response {
    let Tuning { key, value, persist } = tuning;
    let (logged_key, logged_value) = (key.clone(), value.clone());
    let tuned = blocking(move || diagnose.tuner.set(&key, &value, persist));
    match tuned.await {
        Ok(()) => {
            tracing::info!(key = logged_key, value = %logged_value, persist, "tuned");
            "done\n".into_response()
        }
        Err(why) => refuse(StatusCode::BAD_REQUEST, &why),
    }
}
