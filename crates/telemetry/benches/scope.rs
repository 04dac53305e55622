//! CPU time of a recorded scope beyond its two readings of the clock ([`telemetry::probe`]).
//!
//! `cargo bench -p telemetry` measures millions of scopes; `cargo test` runs a few, so that the bench keeps working. Goal:
//! show the cost of a change to the recorder's writing path. Not a goal: a promise, so nothing is asserted.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use telemetry::probe;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let cost = probe::cost(if full { 10_000 } else { 5 }).expect("there is memory for a recorder");
    println!("{} batches of {} scopes; medians, nanoseconds of CPU", cost.batches, cost.batch_scopes);
    println!("timestamp_ns          {:>6.1}", cost.timestamp_ns);
    println!("scope_extra_ns        {:>6.1}   beyond two timestamps, nested", cost.scope_extra_ns);
    println!("  side by side        {:>6.1}", cost.scope_extra_flat_ns);
    println!("  without a recorder  {:>6.1}   all in all", cost.scope_idle_ns);
    println!("frame_end             {:>6.1}", cost.frame_end_ns);
}
