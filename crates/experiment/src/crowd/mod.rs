//! `crowd`: thousands of moving avatars in one region. Their costs to the server, and their freshness on each other's clients.
//!
//! Servers one after the other, all with a region of 512 m and 10,000 boxes:
//!
//! | part | module |
//! |---|---|
//! | limits as the targets name them (10 Hz, 128 KiB/s for a client, the nearest 200 shown): 1,000, 2,000 and 5,000 walkers, and 5,000 on a plaza of 128 m | [`capped`] |
//! | all are shown all without a limit, and no movement is left out: 1,000 walkers | [`uncapped`] |
//! | 10,000 walkers, reported and not judged | [`tenfold`] |
//! | with `--starve`: 5,000 walkers beside a process that takes a part of a core | [`starved`] |
//!
//! Observers record their views, which are compared with a recording of the world ([`watch`], [`crate::freshness`]). The recording's
//! thread is no cost of the server: it runs for the experiment.

mod capped;
mod clients;
mod costs;
mod shown;
mod starved;
mod tenfold;
mod uncapped;
mod watch;

use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::references::Reference;
use crate::{Experiment, Run};
pub(crate) use clients::await_scenery;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "crowd",
    question: "What do thousands of moving avatars in one region cost, and how fresh are they to each other?",
    run,
    figures: || FIGURES.names(),
};

/// Limit of the bytes sent to a client in a second.
const CAP_BYTES_PER_S: f64 = 131_072.0;
/// Avatars that a client is shown.
const VISIBLE: u32 = 200;
/// Bytes and asked-for bits that are no limit.
pub(crate) const NO_CAP_BYTES_PER_S: u32 = 16_777_216;
pub(crate) const NO_THROTTLE_BITS_PER_S: &str = "134000000";

/// Number of bots of each kind.
#[derive(Clone, Copy)]
struct CrowdSize {
    few: u32,
    /// Between few and many: only its cost is measured.
    middle: u32,
    many: u32,
    observers: u32,
    lossy: u32,
    arriving: u32,
    boxes: u32,
}

const SIZE: CrowdSize = CrowdSize {
    few: 1_000,
    middle: 2_000,
    many: 5_000,
    observers: 100,
    lossy: 40,
    arriving: 20,
    boxes: 10_000,
};
const SIZE_QUICK: CrowdSize =
    CrowdSize { few: 12, middle: 16, many: 24, observers: 4, lossy: 4, arriving: 4, boxes: 200 };

/// Duration of the window, quick or not.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_QUICK: Duration = Duration::from_secs(4);
/// A shorter one, where only the cost is looked at.
const WINDOW_COST: Duration = Duration::from_secs(40);
/// Time for a crowd to spread out after its arrival.
const SPREAD: Duration = Duration::from_secs(20);

const BUDGETS: [FigureLimit; 20] = [
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("logins_failed", "logins failed", "", Limit::AtMost(0.0)),
    budget("dilation_min", "lowest dilation", "", Limit::AtLeast(0.95)),
    budget(
        "cpu_ns_per_update_all_1000",
        "server CPU per delivered update, 1,000 all see all",
        "ns",
        Limit::RelativeTo(Reference::Memory, 40.0),
    ),
    budget("server_cores_5000", "server, 5,000 all over the region", "cores", Limit::AtMost(1.0)),
    budget("server_cores_5000_plaza", "server, 5,000 on a plaza", "cores", Limit::AtMost(1.2)),
    budget("cost_ratio_2000_1000", "cost of a client among 2,000 ÷ among 1,000", "", Limit::AtMost(1.3)),
    budget("cost_ratio_5000_1000", "cost of a client among 5,000 ÷ among 1,000", "", Limit::AtMost(1.3)),
    budget("world_tick_ms_p99_5000", "world step, p99", "ms", Limit::AtMost(10.0)),
    budget("visible_count_5000", "avatars visible, p10 over scenes", "", Limit::AtLeast(195.0)),
    budget("near20_error_m_p95_5000", "position error of the nearest 20, p95", "m", Limit::AtMost(0.3)),
    budget("near20_age_ms_p99_5000", "age of the nearest 20, p99", "ms", Limit::AtMost(250.0)),
    budget("stop_error_m_p999", "error after stops with 5 % loss, p99.9", "m", Limit::AtMost(0.5)),
    budget("oldest_visible_s_5000", "oldest avatar of the visible set", "s", Limit::AtMost(5.0)),
    budget("arrival_near50_s_5000", "until the nearest 50 are shown", "s", Limit::AtMost(3.0)),
    budget("cap_ratio_p99", "bytes of a second ÷ cap, p99", "", Limit::AtMost(1.05)),
    budget("blocks_per_datagram", "avatars in a terse datagram", "", Limit::AtLeast(15.0)),
    budget("allocs_per_tick", "heap allocations per tick", "", Limit::AtMost(10.0)),
    budget("faults_per_tick", "page faults per tick", "", Limit::AtMost(1.0)),
    budget("client_kib", "memory of a client", "KiB", Limit::AtMost(57.0)),
];

/// Figures without a budget.
const OTHERS: [&str; 37] = [
    "cpu_l_per_packet_all_1000",
    "server_cores_2000",
    "world_tick_ms_p99_2000",
    "circuits_timed_out",
    "circuits_unresponsive",
    "pressed_ratio_5000",
    "clients_10000",
    "sceneries_filled_ratio_10000",
    "pressed_ratio_10000",
    "circuits_lost_10000",
    "logins_failed_10000",
    "dilation_min_10000",
    "rate_held_10000",
    "server_cores_10000",
    "cost_ratio_10000_1000",
    "world_tick_ms_p99_10000",
    "visible_count_10000",
    "near20_error_m_p95_10000",
    "near20_age_ms_p99_10000",
    "stop_error_m_p999_10000",
    "oldest_visible_s_10000",
    "arrival_near50_s_10000",
    "packets_per_client_10000",
    "bytes_per_client_10000",
    "rate_held",
    "near20_wrong_above_m",
    "near20_wrong_above_deg",
    "bots",
    "server_cores_1000",
    "server_cores_all_1000",
    "updates_all_1000",
    "packets_all_1000",
    "packets_per_client_5000",
    "bytes_per_client_5000",
    "recording_cores",
    "bots_cores_5000",
    "scenes_compared",
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let size = run.pick(&SIZE, &SIZE_QUICK);
    let mut findings = Findings::default();
    findings.figure("bots", size.many.into());
    let mut shown = vec![capped::measure(run, size, &mut findings)?];
    uncapped::measure(run, size, &mut findings)?;
    shown.push(tenfold::measure(run, size, &mut findings)?);
    if let Some(share) = run.starve {
        shown.push(starved::measure(run, size, share, &mut findings)?);
    }
    FIGURES.judge(run, &mut findings);
    findings.sections.extend(shown);
    Ok(findings)
}
