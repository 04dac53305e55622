//! The cost of a client's turn in a large crowd: calls of a simulated run are kept, and repeated without the clients.
//!
//! `cargo bench -p sim --bench turns` takes 5,000 clients and ten repetitions, `-- 1000` another number of clients; `cargo test` runs a few,
//! so that it keeps working. Goal: nanoseconds of a turn whose data come out of memory, without the kernel. The numbers of turns and
//! updates are printed to show that a faster turn still does the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use sim::turns::CrowdCalls;
use std::time::Instant;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let clients = std::env::args().find_map(|argument| argument.parse().ok());
    let (clients, ticks, repetitions) = if full { (clients.unwrap_or(5_000), 40, 10) } else { (20, 10, 1) };
    let calls = CrowdCalls::prepare(clients, ticks).expect("a crowd without faults");
    let epoch = Instant::now();
    for _ in 0..repetitions {
        let costs = calls.repeat(&mut || epoch.elapsed());
        println!(
            "{clients} clients: {:.0} ns a turn, {} turns, {} terse updates",
            costs.time.as_nanos() as f64 / costs.turns as f64,
            costs.turns,
            costs.updates
        );
    }
}
