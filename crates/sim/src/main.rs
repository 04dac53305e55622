//! Runs one scenario and says what came of it: `cargo run -p sim -- --seed 7 --faults rough`.

use clap::{Parser, value_parser};
use sim::{Faults, Scenario};
use std::process::ExitCode;
use std::time::Duration;

/// Runs worlds, gateway and clients on virtual time and checks that all comes right in the end.
#[derive(Parser)]
struct Arguments {
    /// Decides everything that is left to chance.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients.
    #[arg(long, default_value_t = 200, value_parser = value_parser!(u32).range(1..=10_000))]
    clients: u32,
    /// Gateway shards of the node.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=64))]
    shards: u16,
    /// Seconds that the storm lasts.
    #[arg(long, default_value_t = 30)]
    storm_s: u64,
    /// What goes wrong: none, lossy, rough, exile, gaps, frozen, panics, poisoned.
    #[arg(long, default_value = "lossy", value_parser = faults)]
    faults: Faults,
    /// Restarts of worlds from their snapshots.
    #[arg(long, default_value_t = 0)]
    restores: u32,
}

fn faults(name: &str) -> Result<Faults, String> {
    Faults::named(name).ok_or_else(|| {
        let names: Vec<&str> = Faults::ALL.iter().map(|faults| faults.name).collect();
        format!("one of {}", names.join(", "))
    })
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what the program is for")]
fn main() -> ExitCode {
    let Arguments { seed, clients, shards, storm_s, faults, restores } = Arguments::parse();
    let storm = Duration::from_secs(storm_s);
    match (Scenario { seed, clients, shards, storm, faults, restores }).run() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(failed) => {
            eprintln!("{failed}");
            ExitCode::FAILURE
        }
    }
}
