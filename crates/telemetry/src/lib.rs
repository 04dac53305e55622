//! What the server says about itself: metrics for Prometheus, and logs.
//!
//! Start with [`Metrics`]: a subsystem keeps a struct of handles, made once and cheap to use ever after.
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
//! Sans-IO cores do not depend on this crate: they count in plain integers, and the thread that drives them exports
//! those with [`Counter::absolute`]. This crate knows none of the others, starts no thread and serves no HTTP.

mod logging;
mod metrics;
mod timing;

pub use crate::logging::{LogFormat, LoggingError, start_logging};
pub use crate::metrics::Metrics;
pub use crate::timing::{TIMING_BUCKETS_S, Timing};
pub use ::metrics::{Counter, Gauge};
