//! Figures of panicked and restarted worlds, and the health check's report on those that are down.

use super::export::Export;
use crate::serve::restarts::RestartState;
use std::sync::{Arc, Mutex, PoisonError};

impl Export {
    pub(super) fn restarts(&mut self, standings: &[(String, Arc<Mutex<RestartState>>)]) {
        for (name, standing) in standings {
            let standing = standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let metrics = &self.metrics;
            let restarts = self.restarts.entry(name.clone()).or_insert_with(|| {
                let help = "Times that the world began again after a panic.";
                metrics.counter("throng_world_restarts_total", help, &[("world", name)])
            });
            restarts.absolute(standing.restarts);
            let label = ("world", name.as_str());
            let epoch = standing.epoch.into();
            self.gauge(
                "throng_world_epoch",
                "The world's life: each restart begins the next one.",
                label,
                epoch,
            );
            let down = f64::from(u8::from(standing.trouble.is_some()));
            self.gauge(
                "throng_world_down",
                "1 while the world has panicked and waits to begin again.",
                label,
                down,
            );
        }
    }
}

/// Worlds that are down, each with a sentence for the operator.
pub(super) fn troubles(standings: &[(String, Arc<Mutex<RestartState>>)]) -> Vec<String> {
    let trouble = |(_, standing): &(String, Arc<Mutex<RestartState>>)| {
        standing.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone()
    };
    standings.iter().filter_map(trouble).collect()
}
