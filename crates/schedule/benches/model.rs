//! Figures of the scheduler on virtual time: how well worlds are packed, and how long work starves.
//!
//! `cargo bench -p schedule --bench model` runs what the experiment `worlds` is judged by; `cargo test` runs a few frames. What comes out
//! is a function of the seeds and asserted in the tests of `schedule::model`; here it is printed, to be looked at.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use schedule::model::packing::{PackingSettings, packing};
use schedule::model::starvation::{EpisodeSettings, episode};
use std::time::Duration;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    println!(
        "{:<34} {:>7} {:>7} {:>7} {:>7}",
        "makespan ÷ the shortest possible", "all", "median", "p99", "max"
    );
    for seed in 1..=if full { 5 } else { 1 } {
        let frames = if full { 1_000 } else { 10 };
        let packing = packing(&PackingSettings { seed, frames, ..PackingSettings::default() });
        println!(
            "{:<34} {:>7.4} {:>7.4} {:>7.4} {:>7.4}",
            format!("36 workers, 1,000 worlds, seed {seed}"),
            packing.ratio,
            packing.quantile(0.5),
            packing.quantile(0.99),
            packing.quantile(1.0),
        );
    }
    println!();
    let storm = Duration::from_secs(if full { 60 } else { 2 });
    println!("{} s of 0.25 cores of long work on two cores, one busy with shards", storm.as_secs());
    println!(
        "{:<34} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "demand of the worlds", "level", "backlog s", "recover s", "frame p99", "dilation"
    );
    for demand in if full { vec![0.6, 0.7, 0.8, 0.9, 0.99] } else { vec![0.9] } {
        for is_controlled in [false, true] {
            run(&EpisodeSettings { demand, is_controlled, storm, ..EpisodeSettings::default() });
        }
    }
}

fn run(settings: &EpisodeSettings) {
    let episode = episode(settings);
    let mut frames_ms: Vec<f64> =
        episode.points.iter().map(|point| point.frame.as_secs_f64() * 1e3).collect();
    frames_ms.sort_unstable_by(f64::total_cmp);
    let dilation = episode.points.iter().map(|point| point.dilation).fold(1.0, f32::min);
    let recovered =
        episode.recovered_after.map_or_else(|| "never".into(), |after| format!("{:.1}", after.as_secs_f64()));
    println!(
        "{:<34} {:>7} {:>9.2} {:>9} {:>9.1} {:>9.2}",
        format!(
            "{}, {}",
            settings.demand,
            if settings.is_controlled { "controlled" } else { "not controlled" }
        ),
        episode.points.iter().map(|point| point.measure.level).max().unwrap_or(0),
        episode.backlog_max().as_secs_f64(),
        recovered,
        frames_ms[frames_ms.len() * 99 / 100],
        dilation,
    );
}
