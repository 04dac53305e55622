//! Figures of the whole server as the public page shows them: one set a second, and those of the last ten minutes.
//!
//! The `watch` thread records them; connecting browsers read them. Neither is on a path of packets or steps. The metrics for
//! programs are elsewhere (`/metrics` at the operator's address).

use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Sets that are kept: ten minutes at one a second. When full, the oldest is dropped.
const HISTORY_MAX: usize = 600;
/// Time between two sets, seconds.
const PERIOD_S: u32 = 1;

/// Figures of the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Circuits open.
    pub clients: u32,
    /// Slowest world step of the last second.
    pub tick_ms_max: f32,
    /// Mean world step of the last second.
    pub tick_ms_mean: f32,
    /// Datagrams received.
    pub packets_in_per_s: f32,
    /// Datagrams sent.
    pub packets_out_per_s: f32,
    /// Bytes sent.
    pub bytes_out_per_s: f32,
    /// Smallest of the worlds' time dilations.
    pub dilation: f32,
    /// Since the start.
    pub uptime_s: f32,
}

/// The figures of the last ten minutes, a list for each, the oldest first. All lists are equally long.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct FigureHistory {
    period_s: u32,
    /// Uptime of the newest set: all that a browser gets until then is in it.
    uptime_s: f32,
    clients: Vec<u32>,
    tick_ms_max: Vec<f32>,
    tick_ms_mean: Vec<f32>,
    packets_in_per_s: Vec<u64>,
    packets_out_per_s: Vec<u64>,
    bytes_out_per_s: Vec<u64>,
    dilation: Vec<f32>,
}

/// The newest figures and those before them.
#[derive(Debug)]
pub(super) struct FigureLog {
    newest: watch::Sender<Figures>,
    recorded: Mutex<VecDeque<Figures>>,
}

impl Default for FigureLog {
    fn default() -> Self {
        // Allocated once: recording never grows it.
        let recorded = Mutex::new(VecDeque::with_capacity(HISTORY_MAX));
        Self { newest: watch::Sender::new(Figures::default()), recorded }
    }
}

impl FigureLog {
    /// Adds the figures of the last second.
    pub(super) fn record(&self, figures: Figures) {
        let mut recorded = self.recorded();
        if recorded.len() == HISTORY_MAX {
            recorded.pop_front();
        }
        recorded.push_back(figures);
        drop(recorded);
        self.newest.send_replace(figures);
    }

    /// The newest figures, from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<Figures> {
        self.newest.subscribe()
    }

    /// All that is kept. The lock is held for a copy of [`HISTORY_MAX`] sets, some microseconds.
    pub(super) fn history(&self) -> FigureHistory {
        let recorded: Vec<Figures> = self.recorded().iter().copied().collect();
        FigureHistory::of(&recorded)
    }

    fn recorded(&self) -> MutexGuard<'_, VecDeque<Figures>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FigureHistory {
    /// Columns of these sets. Rounded to the resolution of a line of a few pixels, which makes the message a third as long.
    pub(super) fn of(recorded: &[Figures]) -> Self {
        let uptime_s = recorded.last().map_or(0.0, |newest| newest.uptime_s);
        let mut history = Self { period_s: PERIOD_S, uptime_s, ..Self::default() };
        for figures in recorded {
            history.clients.push(figures.clients);
            history.tick_ms_max.push(thousandths(figures.tick_ms_max));
            history.tick_ms_mean.push(thousandths(figures.tick_ms_mean));
            history.packets_in_per_s.push(figures.packets_in_per_s as u64);
            history.packets_out_per_s.push(figures.packets_out_per_s as u64);
            history.bytes_out_per_s.push(figures.bytes_out_per_s as u64);
            history.dilation.push(thousandths(figures.dilation));
        }
        history
    }
}

fn thousandths(value: f32) -> f32 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_are_kept_and_the_oldest_go() {
        let log = FigureLog::default();
        let newest = log.subscribe();
        let capacity = log.recorded().capacity();
        assert_eq!(log.history().clients.len(), 0);
        for clients in 0..HISTORY_MAX as u32 + 7 {
            let uptime_s = clients as f32;
            log.record(Figures { clients, uptime_s, tick_ms_mean: 0.123_456, ..Figures::default() });
        }
        let history = log.history();
        let kept: Vec<u32> = (7..HISTORY_MAX as u32 + 7).collect();
        assert_eq!((history.period_s, history.uptime_s, &history.clients), (1, 606.0, &kept));
        assert_eq!((history.tick_ms_mean.len(), history.tick_ms_mean[0]), (HISTORY_MAX, 0.123));
        assert_eq!(newest.borrow().clients, HISTORY_MAX as u32 + 6);
        assert_eq!(log.recorded().capacity(), capacity, "recording allocates nothing");
    }
}
