//! `worlds`: a thousand instanced worlds, a player and twenty NPCs in each, and their cost.
//!
//! Players log in to a region and are sent into a world of their own each ([`stage`]); from there everything is measured in that one
//! run, one after the other:
//!
//! | part | module |
//! |---|---|
//! | the steady load, with proof that NPCs ([`npcs`]) and worlds ([`costs`]) | are as counted | [`steady`] |
//! | frames while worlds come, are visited ([`visitors`]) and go | [`churn`] |
//! | a storm of long work, and how it passes ([`watcher`]) | [`storm`] |
//! | memory of instances: sampled throughout ([`resident`]); at last all are suspended | [`memory`] |
//! | cases beyond this machine's cores | [`model`] |
//!
//! Frames are the server's own ([`frames`]); the worlds' templates are in [`grounds`].

mod churn;
mod costs;
pub(crate) mod frames;
pub(crate) mod grounds;
mod memory;
mod model;
mod npcs;
mod resident;
mod stage;
mod steady;
mod storm;
mod visitors;
mod watcher;

use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::{Experiment, Run, journal};
use stage::WorldsTestbed;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "worlds",
    question: "What do a thousand instanced worlds with twenty thousand NPCs cost?",
    run,
    figures: || FIGURES.names(),
};

/// Number of worlds, each with one bot, and mean number of NPCs.
const WORLDS: u32 = 1_000;
const WORLDS_QUICK: u32 = 12;
const NPCS: u32 = 20;

const BUDGETS: [FigureLimit; 33] = [
    budget("circuits_lost", "circuits of players lost", "", Limit::AtMost(0.0)),
    budget("visitors_lost", "circuits of visitors lost", "", Limit::AtMost(0.0)),
    budget("players_inside_ratio", "players in their worlds", "", Limit::AtLeast(1.0)),
    budget("worlds_awake_ratio", "worlds stepped at their rate", "", Limit::AtLeast(0.98)),
    budget("frames_at_rate_ratio", "frames ÷ 20 a second", "", Limit::AtLeast(0.98)),
    budget("steps_in_frames_ratio", "steps in frames, and not between them", "", Limit::AtLeast(0.98)),
    budget("frames_unseen", "frames that the server evicted unread", "", Limit::AtMost(0.0)),
    budget("steady_ticks_ratio", "ticks in which nothing had to be kept", "", Limit::AtLeast(0.9)),
    budget("churn_per_s", "worlds made and ended", "1/s", Limit::AtLeast(18.0)),
    budget("churn_npcs_mean", "NPCs in each of these, on average", "", Limit::AtLeast(18.0)),
    budget("churn_visited_ratio", "of these, entered and left by a visitor", "", Limit::AtLeast(0.9)),
    budget("churn_passages_ratio", "passages for each world that was entered", "", Limit::AtLeast(1.8)),
    budget("dilation_min", "lowest dilation", "", Limit::AtLeast(0.95)),
    budget("npcs_per_world", "NPCs in a world", "", Limit::AtLeast(19.5)),
    budget("npc_moving_ratio", "share of moving NPCs, lowest reading", "", Limit::AtLeast(0.5)),
    budget("npc_looks_per_s", "perception checks of an NPC", "1/s", Limit::AtLeast(2.0)),
    budget("npc_late_looks", "NPCs without a perception check for 2 s", "", Limit::AtMost(0.0)),
    budget("npc_paths_per_10_s", "path searches of an NPC", "1/10 s", Limit::AtLeast(1.0)),
    budget("missions_per_world_min", "missions completed in a world", "1/min", Limit::AtLeast(0.5)),
    budget("journal_per_world_s", "states of a world written to the journal", "1/s", Limit::AtLeast(0.1)),
    journal::LAG_LIMIT,
    budget("worlds_cores", "server", "cores", Limit::AtMost(1.0)),
    budget(
        "npc_ticks_per_core_s",
        "NPC ticks per core of the whole server",
        "1/s",
        Limit::AtLeast(450_000.0),
    ),
    budget("frame_ms_p99", "frame time, p99", "ms", Limit::AtMost(50.0)),
    budget("schedule_us_per_world", "scheduler, per tick of a world", "µs", Limit::AtMost(1.0)),
    budget("churn_p99_ratio", "frame p99 with worlds coming and going ÷ without", "", Limit::AtMost(1.10)),
    budget(
        "storm_backlog_s_max",
        "largest backlog of long work in the storm",
        "s",
        Limit::AtLeast(storm::STORM_MIN_S),
    ),
    budget(
        "recover_s",
        "time until the backlog of long work is normal after the storm",
        "s",
        Limit::AtMost(10.0),
    ),
    budget("active_kib", "memory of an active instance and its player", "KiB", Limit::AtMost(512.0)),
    budget("suspended_instance_kib", "memory of a suspended instance", "KiB", Limit::AtMost(31.0)),
    budget("makespan_ratio", "frame on 36 workers ÷ shortest possible", "", Limit::AtMost(1.10)),
    budget("allocs_per_world_tick", "heap allocations per tick of a world", "", Limit::AtMost(0.0)),
    budget("churn_frames_ratio", "frames with worlds coming and going ÷ without", "", Limit::AtLeast(0.98)),
];

/// Figures without a budget.
const OTHERS: [&str; 39] = [
    "missions_completed",
    journal::LAG_P99,
    "rate_held",
    "npc_ticks_per_worker_core_s",
    "allocs_per_world_tick_all",
    "frames_between",
    "worlds",
    "npcs",
    "npc_ticks_per_s",
    "world_cores",
    "shard_cores",
    "bots_cores",
    "world_us_p50",
    "world_us_p99",
    "world_us_max",
    "world_cost_alpha",
    "world_cost_drift_percent",
    "asleep_kib",
    "active_least_kib",
    "suspended_new_kib",
    "parked_kib",
    "create_ms_mean",
    "frame_ms_p50",
    "frame_ms_p999",
    "frame_ms_max",
    "churn_p99_ratio_median",
    "churn_entered",
    "churn_passages",
    "storm_drills",
    "storm_tasks_done",
    "storm_tasks_refused",
    "storm_level_max",
    "storm_dilation_min",
    "storm_frame_ms_p99",
    "makespan_ratio_p99",
    "model_recover_s",
    "model_backlog_s",
    "model_backlog_s_uncontrolled",
    "starvation_level_max",
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    let mut stage = WorldsTestbed::set(run, run.pick(WORLDS, WORLDS_QUICK), NPCS)?;
    let sampler = Sampler::start(stage.server.pid())?;
    stage.found(&mut findings)?;
    stage.enter(&mut findings)?;
    steady::measure(&stage, &mut findings)?;
    stage.memory.weigh(resident::STEADY)?;
    churn::measure(&stage, &mut findings)?;
    storm::measure(&stage, &mut findings)?;
    stage.memory.weigh(resident::STORMED)?;
    stage.server.keep_metrics()?;
    let report = stage.dismiss()?;
    memory::measure(&mut stage, &mut findings)?;
    let samples = sampler.finish();
    stage.server.stop()?;
    findings.figure("circuits_lost", f64::from(report.circuits_lost + report.logins_failed));
    findings.figure("bots_cores", report.bots_cpu_s / report.window_s);
    model::measure(run, &mut findings);
    FIGURES.judge(run, &mut findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_worlds_have_one_core_on_any_machine() {
        let cores = BUDGETS.iter().find(|budget| budget.figure == "worlds_cores").expect("a budget");
        // Not relative to a reference: a slow machine has no more cores.
        assert!(matches!(cores.limit, Limit::AtMost(1.0)));
    }
}
