//! `kills`: the crashes of `build` alone, as many as are wanted, for tests.

use super::stage::{BuildSize, BuildStage};
use super::{SIZE, SIZE_QUICK, kills, power};
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::{Experiment, Run};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "kills",
    question: "Which edits of objects are lost by SIGKILL and by power cuts, and is each region a complete frame?",
    run,
    figures: || FIGURES.names(),
};

/// Kills of a whole run and of a quick one, unless it is told a number.
const KILLS: u32 = 200;
const KILLS_QUICK: u32 = 2;
/// Kills for each power cut.
const KILLS_PER_CUT: usize = 2;

const BUDGETS: [FigureLimit; 3] = [
    budget("lost_edits_s_max", "edits lost by SIGKILL, oldest", "s", Limit::AtMost(1.0)),
    budget(power::LOST, "edits lost by a power cut, oldest", "s", Limit::AtMost(1.0)),
    budget("torn_starts", "regions that were no complete frame after a crash", "", Limit::AtMost(0.0)),
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &["kills", "killed_edits"] };

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let kills = run.kills.unwrap_or_else(|| run.pick(KILLS, KILLS_QUICK)) as usize;
    let power_cuts = kills.div_ceil(KILLS_PER_CUT);
    let size = BuildSize { kills, power_cuts, ..run.pick(SIZE, SIZE_QUICK) };
    let stage = BuildStage::new(run, &size);
    let mut findings = Findings::default();
    kills::measure(&stage, &mut findings)?;
    power::measure(&stage, &mut findings)?;
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}
