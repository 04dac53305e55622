//! Runs one scenario and prints its result: `cargo run -p sim -- --seed 7 --faults rough`.

use clap::{Parser, value_parser};
use sim::{Faults, InstanceReport, InstanceScenario, Report, Scenario, Setting, YardReport, YardScenario};
use std::panic::catch_unwind;
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
    /// Steps of each world per second.
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(1..=60))]
    hz: u32,
    /// Seconds that the storm lasts.
    #[arg(long, default_value_t = 30)]
    storm_s: u64,
    /// Faults: none, lossy, rough, split, exile, gaps, frozen, panics, poisoned, starved.
    #[arg(long, default_value = "lossy", value_parser = faults)]
    faults: Faults,
    /// Restarts of worlds from their snapshots.
    #[arg(long, default_value_t = 0)]
    restores: u32,
    /// Hosts that step the worlds.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..=16))]
    hosts: u16,
    /// Moves the worlds between the hosts at random ticks, and compares each in every tick with one that stays. Implies `--village`
    /// without a crowd or a building site, and runs of instances and of a world of prims on the same hosts.
    #[arg(long)]
    moves: bool,
    /// Runs instances only: created, entered, suspended, resumed, ended, panicking, killed and restarted.
    #[arg(long, conflicts_with_all = ["crowd", "village"])]
    instances: bool,
    /// All clients in one region of 512 m, which displays the nearest avatars only, instead of travel between two.
    #[arg(long)]
    crowd: bool,
    /// The first region has a mission and NPCs that fight each other and the visitors.
    #[arg(long, conflicts_with = "crowd")]
    village: bool,
    /// One client in three builds, and viewers keep objects over their logins.
    #[arg(long, conflicts_with_all = ["crowd", "village", "instances"])]
    site: bool,
    /// Number of seeds to run in order, from `--seed` on.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    seeds: u64,
    /// Runs everything twice: equal seeds have to make equal runs.
    #[arg(long)]
    twice: bool,
}

fn faults(name: &str) -> Result<Faults, String> {
    Faults::named(name).ok_or_else(|| {
        let names: Vec<&str> = Faults::ALL.iter().map(|faults| faults.name).collect();
        format!("one of {}", names.join(", "))
    })
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is what the program is for")]
fn main() -> ExitCode {
    let Arguments {
        seed,
        clients,
        shards,
        hz,
        storm_s,
        faults,
        restores,
        hosts,
        moves,
        instances,
        crowd,
        village,
        site,
        seeds,
        twice,
    } = Arguments::parse();
    let storm = Duration::from_secs(storm_s);
    // Moves are worth most where a world has all that it may have.
    let setting = match (crowd, site, village || moves) {
        (true, ..) => Setting::Crowd,
        (false, true, _) => Setting::Site,
        (false, false, true) => Setting::Village,
        (false, false, false) => Setting::Travel,
    };
    let mut is_well = true;
    for seed in seed..seed.saturating_add(seeds) {
        if moves || instances {
            let scenario = InstanceScenario { seed, hosts, moves, sabotage: None };
            match run_instances(scenario, twice) {
                Ok(report) => println!("seed {seed}, instances: {report}"),
                Err(failed) => {
                    eprintln!("{failed}");
                    is_well = false;
                }
            }
        }
        if moves {
            match run_yard(YardScenario { seed, hosts, sabotage: None }, twice) {
                Ok(report) => println!("seed {seed}, prims: {report}"),
                Err(failed) => {
                    eprintln!("{failed}");
                    is_well = false;
                }
            }
        }
        if instances {
            continue;
        }
        let scenario = Scenario {
            seed,
            setting,
            clients,
            shards,
            hz,
            storm,
            faults,
            restores,
            hosts,
            moves,
            sabotage: None,
        };
        match run(&scenario, twice) {
            Ok(report) if seeds == 1 => println!("{report}"),
            Ok(report) => println!("seed {seed}: {report}"),
            Err(failed) => {
                eprintln!("{failed}");
                is_well = false;
            }
        }
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(scenario: &Scenario, twice: bool) -> Result<Report, String> {
    let report = scenario.run().map_err(|failed| failed.to_string())?;
    if twice {
        let again = scenario.run().map_err(|failed| failed.to_string())?;
        if let Some(difference) = report.trace.difference(&again.trace) {
            return Err(format!("two runs part at {difference:?}: {scenario}"));
        }
    }
    Ok(report)
}

fn run_yard(scenario: YardScenario, twice: bool) -> Result<YardReport, String> {
    let run = || scenario.run().map_err(|failure| format!("{failure}\nrepeat it with: {scenario}"));
    let report = run()?;
    if twice && run()? != report {
        return Err(format!("two runs differ: {scenario}"));
    }
    Ok(report)
}

/// A check that fails has printed its reason on standard error.
fn run_instances(scenario: InstanceScenario, twice: bool) -> Result<InstanceReport, String> {
    let run = || catch_unwind(|| scenario.run()).map_err(|_| format!("repeat it with: {scenario}"));
    let report = run()?;
    if twice && run()? != report {
        return Err(format!("two runs differ: {scenario}"));
    }
    Ok(report)
}
