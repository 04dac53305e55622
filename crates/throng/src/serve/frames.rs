//! What frames took, over the operator's address: `/v1/frames`, and `/v1/frames/trace` with who ran when on which worker.
//!
//! The `watch` thread brings the records once a second. A trace is made when it is asked for, and costs nothing otherwise.

use super::inboxes::Inboxes;
use super::worlds::Workplace;
use axum::extract::{Json, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::Instant;
use schedule::{FrameRecord, FrameTrace, TRACE_FRAMES_MAX, TracedStep};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Records kept: three minutes of worlds at 20 Hz, or half of that with worlds at 30 Hz beside them. The oldest go.
const KEPT_MAX: usize = 4_096;
/// How often it is looked whether a trace is whole, and how often at most: a server whose worlds sleep has no frames.
const TRACE_LOOK: Duration = Duration::from_millis(20);
const TRACE_LOOKS_MAX: u32 = 500;

/// The latest frames.
pub(super) struct Frames {
    kept: Mutex<Kept>,
    workplace: Workplace,
    inboxes: Arc<Inboxes>,
    /// One trace at a time: another one would take its place.
    tracing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    /// Each with its number.
    records: VecDeque<(u64, FrameRecord)>,
    /// Number of the next one.
    next: u64,
}

impl Frames {
    pub(super) fn new(workplace: Workplace, inboxes: &Arc<Inboxes>) -> Arc<Self> {
        let inboxes = Arc::clone(inboxes);
        Arc::new(Self { kept: Mutex::default(), workplace, inboxes, tracing: tokio::sync::Mutex::default() })
    }

    /// Frames have ended; before these so many others that were not kept.
    pub(super) fn add(&self, dropped: u64, records: &[FrameRecord]) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(dropped, records);
    }
}

impl Kept {
    /// Numbers of those that were not kept are left out, so that a reader sees that it does not have all.
    fn add(&mut self, dropped: u64, records: &[FrameRecord]) {
        self.next += dropped;
        self.records.extend((self.next..).zip(records.iter().copied()));
        self.next += records.len() as u64;
        let surplus = self.records.len().saturating_sub(KEPT_MAX);
        self.records.drain(..surplus);
    }

    /// From this number on, as far as they are kept.
    fn told(&self, from: u64) -> Told {
        let skipped = self.records.partition_point(|(number, _)| *number < from);
        let records = self.records.range(skipped..);
        Told {
            next: self.next,
            frames: records.map(|(number, record)| ToldFrame::new(*number, record)).collect(),
        }
    }
}

/// The routes.
pub(super) fn router(frames: Arc<Frames>) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(trace)).with_state(frames)
}

/// The latest frames.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Frames)]
struct Told {
    /// Number of the next one, to go on from.
    next: u64,
    frames: Vec<ToldFrame>,
}

/// A frame. Times are microseconds since the server began.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Frame)]
struct ToldFrame {
    /// Numbers that are missing are of frames that were not kept: there were too many.
    number: u64,
    /// All awake worlds of one rate; otherwise those that missed their beat, were made or woken.
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

impl ToldFrame {
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
struct ToldTrace {
    /// In the order in which they were put together; `number` is their place here.
    frames: Vec<ToldFrame>,
    steps: Vec<ToldStep>,
    /// Frames and steps for which there was no room.
    dropped: u64,
}

/// A world's step. Times are nanoseconds since the server began.
#[derive(Serialize, ToSchema)]
#[schema(as = Step)]
struct ToldStep {
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
struct From {
    /// Number of the first one.
    #[serde(default)]
    from: u64,
}

/// The latest frames, brought once a second.
#[utoipa::path(get, path = "/v1/frames", operation_id = "list_frames", params(From), responses((status = 200, body = Told)))]
async fn list(State(frames): State<Arc<Frames>>, Query(From { from }): Query<From>) -> Response {
    let told = frames.kept.lock().unwrap_or_else(PoisonError::into_inner).told(from);
    Json(told).into_response()
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Length {
    /// How many.
    #[serde(default = "one")]
    frames: usize,
}

const fn one() -> usize {
    1
}

#[derive(Serialize)]
struct Error {
    error: String,
}

fn refuse(status: StatusCode, error: String) -> Response {
    (status, Json(Error { error })).into_response()
}

/// The next frames, with which worker made which world's step. Waits for them.
#[utoipa::path(get, path = "/v1/frames/trace", operation_id = "trace_frames", params(Length), responses(
    (status = 200, body = ToldTrace),
    (status = 400, description = "That many are not traced."),
    (status = 409, description = "Another trace is being made."),
    (status = 503, description = "There were not so many frames in time: worlds sleep when nobody is in them."),
))]
async fn trace(State(frames): State<Arc<Frames>>, Query(length): Query<Length>) -> Response {
    if !(1..=TRACE_FRAMES_MAX).contains(&length.frames) {
        let error = format!("A trace has 1 to {TRACE_FRAMES_MAX} frames.");
        return refuse(StatusCode::BAD_REQUEST, error);
    }
    let Ok(_turn) = frames.tracing.try_lock() else {
        return refuse(StatusCode::CONFLICT, "Another trace is being made.".into());
    };
    frames.workplace.trace_next_frames(length.frames);
    for _ in 0..TRACE_LOOKS_MAX {
        tokio::time::sleep(TRACE_LOOK).await;
        if let Some(trace) = frames.workplace.take_trace() {
            let inboxes = Arc::clone(&frames.inboxes);
            // A long trace is megabytes.
            let told = tokio::task::spawn_blocking(move || tell(&trace, &inboxes).into_response()).await;
            return told.expect("telling does not panic and is not cancelled");
        }
    }
    let error = "No such number of frames within ten seconds: worlds sleep when nobody is in them.";
    refuse(StatusCode::SERVICE_UNAVAILABLE, error.into())
}

fn tell(trace: &FrameTrace, inboxes: &Inboxes) -> Json<ToldTrace> {
    let worlds = inboxes.worlds_by_task();
    let step = |step: &TracedStep| ToldStep {
        frame: step.frame,
        worker: step.worker,
        world: worlds.get(&step.task).map(|world| world.0),
        began_ns: step.began_at.0,
        ended_ns: step.ended_at.0,
    };
    Json(ToldTrace {
        frames: (0..).zip(&trace.frames).map(|(number, record)| ToldFrame::new(number, record)).collect(),
        steps: trace.steps.iter().map(step).collect(),
        dropped: trace.dropped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kept: &Kept, from: u64) -> Vec<u64> {
        kept.told(from).frames.iter().map(|frame| frame.number).collect()
    }

    #[test]
    fn who_asks_again_goes_on_where_it_left_off() {
        let record = FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() };
        let mut kept = Kept::default();
        kept.add(2, &[record; 3]);
        assert_eq!(numbers(&kept, 0), [2, 3, 4], "as far as they are kept");
        assert_eq!(numbers(&kept, 4), [4]);
        let next = kept.told(0).next;
        assert_eq!((numbers(&kept, next).len(), numbers(&kept, u64::MAX).len()), (0, 0));
        kept.add(0, &[record]);
        assert_eq!(numbers(&kept, next), [5]);
        assert_eq!(kept.told(5).frames[0].hz, 20.0);
    }

    #[test]
    fn frames_that_were_not_kept_are_missing_from_the_numbers() {
        let mut kept = Kept::default();
        kept.add(0, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; 2]);
        kept.add(100, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; 2]);
        assert_eq!(numbers(&kept, 0), [0, 1, 102, 103]);
        assert_eq!((numbers(&kept, 50), kept.told(0).next), (vec![102, 103], 104));
        kept.add(0, &[FrameRecord { dt: Duration::from_millis(50), ..FrameRecord::default() }; KEPT_MAX]);
        assert_eq!(kept.told(0).frames.len(), KEPT_MAX);
    }
}
