//! Handlers of the operator's API that look into the running server: frames, long tasks, captures, costs, and tunables.
//!
//! They translate between HTTP and the parts that they are given: the schedule's own types, or a small trait where the part lives in
//! the executable ([`FrameTracer`], [`SystemsView`], [`Tuner`]). Access is checked before a handler runs (`gateway::http::admin`);
//! nothing here knows tokens, threads or files other than captures. Start with the three `router` functions.

mod capture_page;
mod diagnose;
mod drill;
mod frames;
mod long_tasks;
mod missed;
pub mod timeline_page;

pub use diagnose::{
    CaptureRequest, CaptureRow, Diagnose, Systems, SystemsView, Tunable, Tuner, router as diagnose_router,
};
pub use frames::{FrameLog, FrameTracer, router as frames_router};
pub use long_tasks::router as long_tasks_router;

use ids::Instant;
use std::sync::Arc;

/// The clock of the process.
pub type ApiClock = Arc<dyn Fn() -> Instant + Send + Sync>;
