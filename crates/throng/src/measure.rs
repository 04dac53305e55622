//! `throng measure-recorder`: the cost of recording in this build, for the experiment `recorder`.

use crate::cli::MeasureRecorderArgs;
use serde::Serialize;
use std::io;
use telemetry::probe::{self, RecordingCost, SaverStall, StallError, StallPlan};

/// Reasons for which nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// There is no memory.
    #[error("cannot start a recorder")]
    Recorder(#[source] io::Error),
    /// Captures, the thread that records.
    #[error("cannot measure a save")]
    SaverStall(#[from] StallError),
}

#[derive(Serialize)]
struct MeasuredCosts {
    cost: RecordingCost,
    stall: SaverStall,
}

/// Measures; returns a line of JSON.
///
/// # Errors
/// [`MeasureError`].
pub fn run(args: &MeasureRecorderArgs) -> Result<String, MeasureError> {
    let cost = probe::cost(args.batches as usize).map_err(MeasureError::Recorder)?;
    let plan = StallPlan { rounds: args.rounds as usize, phase: args.phase, dir: args.dir.clone() };
    let stall = probe::stall(&plan)?;
    let text = serde_json::to_string(&MeasuredCosts { cost, stall }).expect("numbers and names");
    Ok(text + "\n")
}
