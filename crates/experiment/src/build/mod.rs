//! `build`: a region of 45,000 and of 100,000 prims, at rest and while users build in it.
//!
//! Each part has servers of its own, whose data directories it prepares ([`region`], [`content`]):
//!
//! | part | module |
//! |---|---|
//! | start of a region, until a client is shown its objects | [`load`] |
//! | memory of prims; cores of a region at rest, with clients and without | [`rest`] |
//! | memory of clients beside objects | [`memory`] |
//! | prims made by many clients at once | [`rez`] |
//! | an import into a running region | [`bulk`] |
//! | edits: until other clients see them, and until they are durable, with clients that walk about; the disk alone | [`edits`], [`visitors`], [`disk`] |
//! | arrival of the scene, new and from a viewer's cache | [`scene`] |
//! | a crowd among prims | [`crowd`] |
//! | bodies among prims | [`movers`], [`mover_errors`] |
//! | SIGKILL and power cuts while bots build | [`kills`], [`power`], compared in [`losses`]; alone, as experiment `kills`: [`crash_loop`] |

mod bulk;
mod content;
mod crash_loop;
mod crowd;
mod disk;
mod edits;
mod kills;
mod load;
mod losses;
mod memory;
mod mover_errors;
mod movers;
mod power;
mod recorded;
mod region;
mod rest;
mod rez;
mod scene;
mod stage;
mod visitors;

use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::{Experiment, Run};
pub(crate) use crash_loop::EXPERIMENT as KILLS;
use stage::{BuildSize, BuildStage};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "build",
    question: "What do regions of 100,000 prims cost, how soon are edits seen, and how much of them can be lost?",
    run,
    figures: || FIGURES.names(),
};

const SIZE: BuildSize = BuildSize {
    prims: 45_000,
    prims_large: 100_000,
    prims_of_crowd: 40_000,
    prims_of_clients: 10_000,
    walkers: 5_000,
    idle_clients: 100,
    clients_of_memory: [100, 500],
    makers: 50,
    throwers: 25,
    builders: 50,
    builders_many: 100,
    foremost: 1_000,
    first_sent: 1_500,
    starts: 5,
    kills: 20,
    kill_builders: 20,
    power_cuts: 10,
};
const SIZE_QUICK: BuildSize = BuildSize {
    prims: 600,
    prims_large: 1_000,
    prims_of_crowd: 400,
    prims_of_clients: 100,
    walkers: 8,
    idle_clients: 4,
    clients_of_memory: [2, 4],
    makers: 3,
    throwers: 2,
    builders: 3,
    builders_many: 4,
    foremost: 100,
    first_sent: 150,
    starts: 1,
    kills: 1,
    kill_builders: 3,
    power_cuts: 1,
};

const BUDGETS: [FigureLimit; 30] = [
    budget("load_45000_s", "start of a region until a client is shown objects", "s", Limit::AtMost(2.0)),
    budget("prim_bytes", "memory of a prim", "bytes", Limit::AtMost(1_536.0)),
    budget("idle_cores_100000", "cores for the prims, 100 idle clients", "cores", Limit::AtMost(0.02)),
    budget("empty_cores_100000", "cores for the prims, no client", "cores", Limit::AtMost(0.002)),
    budget("client_kib_objects_10000", "memory of a client beside 10,000 prims", "KiB", Limit::AtMost(64.0)),
    budget("rez_per_s", "prims made, seen by another client and durable", "1/s", Limit::AtLeast(2_000.0)),
    budget("durable_edits_per_s", "durable edits", "1/s", Limit::AtLeast(5_000.0)),
    budget("durable_after_s_max", "age of an edit when it is durable, max", "s", Limit::AtMost(1.0)),
    budget("edit_seen_ms_p50", "until another client sees an edit, p50", "ms", Limit::AtMost(150.0)),
    budget("edit_seen_ms_p99", "until another client sees an edit, p99", "ms", Limit::AtMost(300.0)),
    budget(
        "building_near20_error_m_p95",
        "position error of the nearest 20 walkers, p95",
        "m",
        Limit::AtMost(0.3),
    ),
    budget("building_near20_age_ms_p99", "age of the nearest 20 walkers, p99", "ms", Limit::AtMost(250.0)),
    budget("prim_wire_bytes", "first update of a prim, mean", "bytes", Limit::AtMost(150.0)),
    budget("scene_1000_s", "until a new client has the foremost 1,000", "s", Limit::AtMost(3.0)),
    budget("scene_1000_cached_s", "the same from a viewer's cache", "s", Limit::AtMost(1.0)),
    budget("scene_order", "foremost 1,000 among the first 1,500", "", Limit::AtLeast(0.95)),
    budget("cached_stale", "stale prims from a viewer's cache", "", Limit::AtMost(0.0)),
    budget("cached_removed", "removed prims from a viewer's cache", "", Limit::AtMost(0.0)),
    budget("crowd_step_ms_p99", "step with 5,000 walkers among 40,000 prims, p99", "ms", Limit::AtMost(20.0)),
    budget(
        "physics_500_ms_p99",
        "step with 500 bodies awake among 40,000 prims, p99",
        "ms",
        Limit::AtMost(15.0),
    ),
    budget("allocs_per_mover_tick", "heap allocations per tick, movers and no edit", "", Limit::AtMost(0.0)),
    budget("mover_error_m_p95", "position error of the nearest 20 movers, p95", "m", Limit::AtMost(0.3)),
    budget("movers_awake_ratio", "bodies awake ÷ bodies, lowest reading", "", Limit::AtLeast(0.9)),
    budget("bulk_pause_ms", "longest step while 45,000 objects are imported", "ms", Limit::AtMost(20.0)),
    budget("lost_edits_s_max", "edits lost by SIGKILL, oldest", "s", Limit::AtMost(1.0)),
    budget(power::LOST, "edits lost by a power cut, oldest", "s", Limit::AtMost(1.0)),
    budget("torn_starts", "regions that were no complete frame after a crash", "", Limit::AtMost(0.0)),
    budget("edits_wrong", "edits without their effect", "", Limit::AtMost(0.0)),
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("logins_failed", "logins failed", "", Limit::AtMost(0.0)),
];

/// Figures without a budget.
const OTHERS: [&str; 23] = [
    "prims",
    "prims_large",
    "load_ready_s",
    "rez_observed",
    "rez_durable",
    "rez_failed",
    "bulk_s",
    "edits_observed",
    "edits_unobserved",
    "edits_offered_per_s",
    "save_s_p99",
    "building_step_ms_p99",
    "fdatasync_ms_p50",
    "fdatasync_ms_p99",
    "scene_prims",
    "cached_share",
    "content_raw_bytes",
    "content_coded_bytes",
    "content_prims_per_entry",
    "kills",
    "killed_edits",
    "crowd_cores",
    "movers_missing_ratio",
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

/// A part with its name on the command line.
type Part = (&'static str, fn(&BuildStage<'_>, &mut Findings) -> Result<(), ExperimentError>);

/// The parts. A full run makes them one after the other. A quick run, whose figures are no measurements, runs the three rows concurrently, since parts
/// mostly wait.
const PARTS: [&[Part]; 3] = [
    &[("load", load::measure), ("rest", rest::measure), ("memory", memory::measure), ("bulk", bulk::measure)],
    &[
        ("rez", rez::measure),
        ("edits", edits::measure),
        ("disk", disk::measure),
        ("crowd", crowd::measure),
        ("movers", movers::measure),
    ],
    &[("scene", scene::measure), ("kills", kills::measure), ("power", power::measure)],
];

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    if let Some(name) = &run.part {
        return run_part(run, name);
    }
    let stage = BuildStage::new(run, run.pick(&SIZE, &SIZE_QUICK));
    let mut findings = Findings::default();
    stage.report_content(&mut findings);
    if run.quick {
        let stage = &stage;
        let rows = std::thread::scope(|scope| {
            let rows = PARTS.map(|parts| scope.spawn(move || measure(stage, parts)));
            rows.map(|row| row.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        rows.into_iter().try_for_each(|row| row.map(|found| findings.add(found)))?;
    } else {
        PARTS.into_iter().try_for_each(|parts| measure(&stage, parts).map(|found| findings.add(found)))?;
    }
    stage.report_losses(&mut findings);
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}

/// One part alone. Only its figures are judged.
fn run_part(run: &Run, name: &str) -> Result<Findings, ExperimentError> {
    let parts = || PARTS.into_iter().flatten();
    let Some(&part) = parts().find(|(of, _)| *of == name) else {
        let known = parts().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(ExperimentError::Unknown { name: name.to_owned(), known });
    };
    let stage = BuildStage::new(run, run.pick(&SIZE, &SIZE_QUICK));
    let mut findings = measure(&stage, &[part])?;
    stage.report_losses(&mut findings);
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}

/// Some parts, one after the other.
fn measure(stage: &BuildStage<'_>, parts: &[Part]) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    parts.iter().try_for_each(|(_, part)| part(stage, &mut findings))?;
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_figure_is_listed_twice() {
        let all = FIGURES.names();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
