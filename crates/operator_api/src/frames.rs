//! Durations of frames, at the operator's address: `/v1/frames`, and `/v1/frames/trace` with the steps of each worker over time.
//!
//! The `watch` thread brings the records once a second. A trace is made when it is asked for, and costs nothing otherwise.

use crate::missed::MissedTickList;
use axum::extract::{Json, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::{Instant, WorldId};
use schedule::{FrameRecord, FrameTrace, TRACE_FRAMES_MAX, TRACE_STEPS_MAX, TaskId, TracedStep};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use telemetry::captures::MissedTicks;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Records kept: three minutes of worlds at 20 Hz, or half of that with worlds at 30 Hz beside them. The oldest go.
const KEPT_MAX: usize = 4_096;
/// The bounds in the description are literals.
const _: () = assert!(KEPT_MAX == 4_096 && TRACE_FRAMES_MAX == 128 && TRACE_STEPS_MAX == 65_536);
/// Period and maximum number of checks for a complete trace: a server whose worlds are all suspended has no frames.
const TRACE_LOOK: Duration = Duration::from_millis(20);
const TRACE_LOOKS_MAX: u32 = 500;

/// Source of traces.
pub trait FrameTracer: Send + Sync {
    /// Keeps which worker makes which step when, for the next frames.
    fn trace_next_frames(&self, n_frames: usize);
    /// The trace that was asked for, once it is whole.
    fn take_trace(&self) -> Option<FrameTrace>;
    /// World of each task of the pool.
    fn worlds_by_task(&self) -> BTreeMap<TaskId, WorldId>;
}

/// The latest frames.
pub struct FrameLog {
    kept: Mutex<KeptFrames>,
    tracer: Box<dyn FrameTracer>,
    missed: Arc<MissedTicks>,
    /// One trace at a time: another one would take its place.
    tracing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct KeptFrames {
    /// Each with its number.
    records: VecDeque<(u64, FrameRecord)>,
    /// Number of the next one.
    next: u64,
}

impl std::fmt::Debug for FrameLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameLog").finish_non_exhaustive()
    }
}

impl FrameLog {
    /// Without frames.
    #[must_use]
    pub fn new(tracer: Box<dyn FrameTracer>, missed: &Arc<MissedTicks>) -> Arc<Self> {
        let (missed, tracing) = (Arc::clone(missed), tokio::sync::Mutex::default());
        Arc::new(Self { kept: Mutex::default(), tracer, missed, tracing })
    }

    /// Adds ended frames; `dropped` earlier ones were not kept.
    pub fn add(&self, dropped: u64, records: &[FrameRecord]) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(dropped, records);
    }
}

impl KeptFrames {
    /// Numbers of those that were not kept are left out, so that a reader sees that it does not have all.
    fn add(&mut self, dropped: u64, records: &[FrameRecord]) {
        self.next += dropped;
        self.records.extend((self.next..).zip(records.iter().copied()));
        self.next += records.len() as u64;
        let surplus = self.records.len().saturating_sub(KEPT_MAX);
        self.records.drain(..surplus);
    }

    /// From this number on, as far as they are kept.
    fn list_from(&self, from: u64) -> FrameList {
        let skipped = self.records.partition_point(|(number, _)| *number < from);
        let records = self.records.range(skipped..);
        FrameList {
            next: self.next,
            frames: records.map(|(number, record)| FrameRow::new(*number, record)).collect(),
        }
    }
}

/// The routes.
pub fn router(frames: Arc<FrameLog>) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(missed))
        .routes(routes!(trace))
        .with_state(frames)
}

/// The latest frames.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Frames)]
struct FrameList {
    /// Number of the next one, to go on from.
    next: u64,
    #[schema(max_items = 4_096)]
    frames: Vec<FrameRow>,
}

/// A frame. Times are microseconds since the server began.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Frame)]
struct FrameRow {
    /// Numbers that are missing are of frames that were not kept: there were too many.
    number: u64,
    /// All running worlds of one rate; otherwise worlds that missed their beat, were made or resumed.
    is_beat: bool,
    hz: f64,
    due_us: u64,
    formed_us: u64,
    began_us: u64,
    ended_us: u64,
    worlds: u32,
    cost_us: u64,
    longest_us: u64,
    level: u8,
}

impl FrameRow {
    fn new(number: u64, record: &FrameRecord) -> Self {
        Self {
            number,
            is_beat: record.is_beat,
            hz: (1e3 / record.dt.as_secs_f64()).round() / 1e3,
            due_us: micros(record.due_at),
            formed_us: micros(record.formed_at),
            began_us: micros(record.began_at),
            ended_us: micros(record.ended_at),
            worlds: record.worlds,
            cost_us: record.cost.as_micros() as u64,
            longest_us: record.longest.as_micros() as u64,
            level: record.level,
        }
    }
}

const fn micros(at: Instant) -> u64 {
    at.0 / 1_000
}

/// Frames with their steps.
#[derive(Serialize, ToSchema)]
#[schema(as = Trace)]
struct TraceReply {
    /// In the order in which they were put together; `number` is their place here.
    #[schema(max_items = 128)]
    frames: Vec<FrameRow>,
    #[schema(max_items = 65_536)]
    steps: Vec<StepRow>,
    /// Frames and steps for which there was no room.
    dropped: u64,
}

/// A world's step. Times are nanoseconds since the server began.
#[derive(Serialize, ToSchema)]
#[schema(as = Step)]
struct StepRow {
    frame: u32,
    worker: u16,
    /// The world's number; none when it has ended meanwhile.
    world: Option<u32>,
    began_ns: u64,
    ended_ns: u64,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct FirstFrame {
    /// Number of the first one.
    #[serde(default)]
    from: u64,
}

/// The latest frames, brought once a second.
#[utoipa::path(get, path = "/v1/frames", operation_id = "list_frames", params(FirstFrame), responses((status = 200, body = FrameList)))]
async fn list(
    State(frames): State<Arc<FrameLog>>,
    Query(FirstFrame { from }): Query<FirstFrame>,
) -> Response {
    let frames_kept = frames.kept.lock().unwrap_or_else(PoisonError::into_inner).list_from(from);
    Json(frames_kept).into_response()
}

/// The latest steps of worlds that began a whole tick late or lasted longer than a tick, brought once a second, each with its fate.
#[utoipa::path(get, path = "/v1/frames/missed", operation_id = "list_missed_ticks", params(FirstFrame),
    responses((status = 200, body = MissedTickList)))]
async fn missed(
    State(frames): State<Arc<FrameLog>>,
    Query(FirstFrame { from }): Query<FirstFrame>,
) -> Response {
    Json(MissedTickList::from_number(&frames.missed, from)).into_response()
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct TraceLength {
    /// Number of frames.
    #[serde(default = "one")]
    #[param(minimum = 1, maximum = 128)]
    frames: usize,
}

const fn one() -> usize {
    1
}

#[derive(Serialize)]
struct FrameErrorBody {
    error: String,
}

fn refuse(status: StatusCode, error: String) -> Response {
    (status, Json(FrameErrorBody { error })).into_response()
}

/// The next frames, with which worker made which world's step. Waits for them.
#[utoipa::path(get, path = "/v1/frames/trace", operation_id = "trace_frames", params(TraceLength), responses(
    (status = 200, body = TraceReply),
    (status = 400, description = "The number of frames is out of range."),
    (status = 409, description = "Another trace is being made."),
    (status = 503, description = "Too few frames within ten seconds: empty worlds make none."),
))]
async fn trace(State(frames): State<Arc<FrameLog>>, Query(length): Query<TraceLength>) -> Response {
    if !(1..=TRACE_FRAMES_MAX).contains(&length.frames) {
        let error = format!("A trace has 1 to {TRACE_FRAMES_MAX} frames.");
        return refuse(StatusCode::BAD_REQUEST, error);
    }
    let Ok(_turn) = frames.tracing.try_lock() else {
        return refuse(StatusCode::CONFLICT, "Another trace is being made.".into());
    };
    frames.tracer.trace_next_frames(length.frames);
    for _ in 0..TRACE_LOOKS_MAX {
        tokio::time::sleep(TRACE_LOOK).await;
        if let Some(trace) = frames.tracer.take_trace() {
            let frames = Arc::clone(&frames);
            // A long trace is megabytes.
            let described = move || describe(&trace, &frames.tracer.worlds_by_task()).into_response();
            let answer = tokio::task::spawn_blocking(described).await;
            return answer.expect("describing a trace does not panic and is not cancelled");
        }
    }
    let error = "Too few frames within ten seconds: empty worlds make none.";
    refuse(StatusCode::SERVICE_UNAVAILABLE, error.into())
}

fn describe(trace: &FrameTrace, worlds: &BTreeMap<TaskId, WorldId>) -> Json<TraceReply> {
    let step = |step: &TracedStep| StepRow {
        frame: step.frame,
        worker: step.worker,
        world: worlds.get(&step.task).map(|world| world.0),
        began_ns: step.began_at.0,
        ended_ns: step.ended_at.0,
    };
    Json(TraceReply {
        frames: (0..).zip(&trace.frames).map(|(number, record)| FrameRow::new(number, record)).collect(),
        steps: trace.steps.iter().map(step).collect(),
        dropped: trace.dropped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kept: &KeptFrames, from: u64) -> Vec<u64> {
        kept.list_from(from).frames.iter().map(|frame| frame.number).collect()
    }

    #[test]
    fn a_repeated_request_continues_after_the_former_one() {
        let record = FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() };
        let mut kept = KeptFrames::default();
        kept.add(2, &[record; 3]);
        assert_eq!(numbers(&kept, 0), [2, 3, 4], "as far as they are kept");
        assert_eq!(numbers(&kept, 4), [4]);
        let next = kept.list_from(0).next;
        assert_eq!((numbers(&kept, next).len(), numbers(&kept, u64::MAX).len()), (0, 0));
        kept.add(0, &[record]);
        assert_eq!(numbers(&kept, next), [5]);
        assert_eq!(kept.list_from(5).frames[0].hz, 20.0);
    }

    #[test]
    fn frames_that_were_not_kept_are_missing_from_the_numbers() {
        let mut kept = KeptFrames::default();
        kept.add(0, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; 2]);
        kept.add(100, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; 2]);
        assert_eq!(numbers(&kept, 0), [0, 1, 102, 103]);
        assert_eq!((numbers(&kept, 50), kept.list_from(0).next), (vec![102, 103], 104));
        kept.add(0, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; KEPT_MAX]);
        assert_eq!(kept.list_from(0).frames.len(), KEPT_MAX);
    }
}
