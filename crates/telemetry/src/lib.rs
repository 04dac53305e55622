//! Observability of the server: metrics for Prometheus, logs, captures, crash reports, and the flight recorder ([`recorder`]).
//!
//! For metrics start with [`Metrics`]: a subsystem keeps a struct of handles, created once and cheap to use.
//!
//! ```
//! use telemetry::{Counter, Metrics, Timing};
//!
//! struct TickMetrics {
//!     ticks: Counter,
//!     duration: Timing,
//! }
//!
//! impl TickMetrics {
//!     fn new(metrics: &Metrics, world: &str) -> Self {
//!         let labels = [("world", world)];
//!         Self {
//!             ticks: metrics.counter("throng_world_ticks_total", "Steps of the world.", &labels),
//!             duration: metrics.timing("throng_world_tick_seconds", "Duration of a step.", &labels),
//!         }
//!     }
//! }
//!
//! let metrics = Metrics::new();
//! let tick = TickMetrics::new(&metrics, "Plaza");
//! tick.ticks.increment(1);
//! tick.duration.record(std::time::Duration::from_millis(3));
//! assert!(metrics.render().contains("throng_world_ticks_total{world=\"Plaza\"} 1"));
//! ```
//!
//! Sans-IO cores use one thing of this crate: scopes ([`recorder::Scope`]), which pass data to the recorder and return
//! none. Cores count in plain integers, and the thread that drives them exports those with [`Counter::absolute`]. This crate
//! depends on no other crate of the workspace, serves no HTTP, and starts no thread except to measure itself ([`probe`]).

pub mod allocations;
pub mod captures;
pub mod cgroup;
pub mod crash;
mod fine;
mod histogram;
mod lock_hold;
mod lock_wait;
mod logging;
mod metric_table;
mod metrics;
pub mod probe;
pub mod process;
pub mod recorder;
mod timing;

pub use crate::fine::{FINE_BUCKETS_NS, FineTiming};
pub use crate::lock_hold::{Held, LockClass, LockHold};
pub use crate::lock_wait::LockWait;
pub use crate::logging::{LogFormat, LoggingError, start_logging};
pub use crate::metric_table::{MetricLabel, MetricTable};
pub use crate::metrics::{MetricExport, Metrics};
pub use crate::timing::{TIMING_BUCKETS_NS, Timing};
pub use ::metrics::{Counter, Gauge};
