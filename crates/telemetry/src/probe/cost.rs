//! CPU time of a scope beyond its two readings of the clock.

use super::thread_cpu_ns;
use crate::recorder::{Arg, Recorder, RecorderConfig, Scope, ScopeKind, frame_end, now_ns};
use serde::Serialize;
use std::hint::black_box;
use std::io;

// Nested and limited as in a shard, where most scopes are recorded.
static TURN: Scope = Scope::new("probe.turn").kind(ScopeKind::System).limit_us(1_000_000);
static CLIENT: Scope = Scope::new("probe.client").arg(Arg::Client).limit_us(1_000_000);
static SEND: Scope = Scope::new("probe.send").arg(Arg::Count).limit_us(1_000_000);

/// Clients of a turn, each with a send inside.
const CLIENTS: u64 = 8;
/// Scopes of a turn: its own, and two per client.
const TURN_SCOPES: u64 = 1 + 2 * CLIENTS;
/// Turns between two readings of the thread's CPU time. The reading is a system call, about a hundredth of the batch.
const TURNS: u64 = 30;
const BATCH: u64 = TURNS * TURN_SCOPES;

/// Results: nanoseconds of CPU, medians over all batches.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RecordingCost {
    /// One reading of the clock.
    pub timestamp_ns: f64,
    /// A recorded scope less its two readings of the clock, nested and limited as in a shard.
    pub scope_extra_ns: f64,
    /// The same for scopes side by side.
    pub scope_extra_flat_ns: f64,
    /// A whole scope on a thread without a recorder.
    pub scope_idle_ns: f64,
    /// The end of a frame, which releases old blocks.
    pub frame_end_ns: f64,
    /// Batches of each kind.
    pub batches: usize,
    /// Scopes of a batch.
    pub batch_scopes: u64,
}

/// Measures `batches` of each kind in turn, so that all of them see the same machine. The calling thread records from then
/// on, into a recorder of its own that stays for the rest of the process.
///
/// # Errors
/// When there is no memory for a recorder.
pub fn cost(batches: usize) -> io::Result<RecordingCost> {
    let idle: Vec<f64> = (0..batches).map(|_| per_scope(nested)).collect();
    let recorder = Recorder::start(RecorderConfig::default())?;
    recorder.thread("probe").install();
    let mut measured: [Vec<f64>; 4] = Default::default();
    for n in 0..batches {
        let round = || [per_scope(timestamps), per_scope(nested), per_scope(flat)];
        let mirrored = || {
            let [flat, nested, timestamps] = [per_scope(flat), per_scope(nested), per_scope(timestamps)];
            [timestamps, nested, flat]
        };
        // The order is reversed in every second round, so that drift within a round affects both sides.
        let [pair_ns, nested_ns, flat_ns] = if n % 2 == 0 { round() } else { mirrored() };
        let end_ns = nanoseconds(frame_end);
        let found = [pair_ns / 2.0, nested_ns - pair_ns, flat_ns - pair_ns, end_ns];
        measured.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
    }
    let [timestamp, nested, flat, frame_end] = measured;
    Ok(RecordingCost {
        timestamp_ns: median(timestamp),
        scope_extra_ns: median(nested),
        scope_extra_flat_ns: median(flat),
        scope_idle_ns: median(idle),
        // Less the cost of the measurement itself.
        frame_end_ns: median(frame_end) - median((0..batches).map(|_| nanoseconds(|| ())).collect()),
        batches,
        batch_scopes: BATCH,
    })
}

fn timestamps() {
    for _ in 0..BATCH {
        black_box(now_ns());
        black_box(now_ns());
    }
}

fn nested() {
    for turn in 0..TURNS {
        let _turn = TURN.enter(black_box(turn));
        for client in 0..CLIENTS {
            let _client = CLIENT.enter(black_box(client));
            let _send = SEND.enter(black_box(1));
        }
    }
}

fn flat() {
    for n in 0..BATCH {
        let _scope = SEND.enter(black_box(n));
    }
}

fn per_scope(batch: fn()) -> f64 {
    nanoseconds(batch) / BATCH as f64
}

fn nanoseconds(act: impl FnOnce()) -> f64 {
    let began_ns = thread_cpu_ns();
    act();
    (thread_cpu_ns() - began_ns) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_batch_has_as_many_scopes_as_it_is_divided_by() {
        let recorder = Recorder::start(RecorderConfig::default()).unwrap();
        let record = recorder.thread("batch");
        let run = move || {
            record.install();
            for batch in [nested, flat] {
                let before = recorder.counters().scopes;
                batch();
                assert_eq!(recorder.counters().scopes - before, BATCH);
            }
        };
        std::thread::spawn(run).join().unwrap();
    }

    #[test]
    fn everything_is_measured() {
        let cost = std::thread::spawn(|| cost(3)).join().unwrap().unwrap();
        assert!(cost.timestamp_ns > 0.0 && cost.scope_idle_ns > 0.0, "{cost:?}");
        assert!(cost.scope_extra_ns.is_finite() && cost.scope_extra_flat_ns.is_finite(), "{cost:?}");
    }
}
