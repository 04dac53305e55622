//! The disk alone, beside the figures of commits.

use super::stage::BuildStage;
use crate::disk::DiskTimes;
use crate::error::ExperimentError;
use crate::findings::Findings;

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    DiskTimes::measure(&stage.run.out, stage.run.quick)?.report(findings);
    Ok(())
}
