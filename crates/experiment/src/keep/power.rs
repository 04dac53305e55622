//! Power cuts while bots carry things: all that the server has written and not synchronised is gone ([`crate::image`]).

use super::site::{KeepSite, KeepStage};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::image::MountedImage;
use crate::server::Server;

/// Figure of the things lost. Without loop devices it is absent, which is a failure of whole runs.
pub(super) const LOST: &str = "lost_acknowledged_power";

/// Seed of the times of the cuts.
const SEED: u64 = 19;

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let image = stage.run.out.join("power.img");
    let mounted = match MountedImage::make(&image, &stage.run.out.join("power")) {
        Ok(mounted) => mounted,
        Err(why) => {
            if !stage.run.quick {
                findings
                    .failures
                    .push(format!("no power can be cut without a file system in an image: {why}"));
            }
            return Ok(());
        }
    };
    let file = |source| ExperimentError::File { path: image.clone(), source };
    Server::prepare(&mounted.data(), "")?;
    let mut mounted = mounted.remount().map_err(file)?;
    let mut site = KeepSite::new(stage, "cuts", SEED)?;
    for n in 1..=stage.size.power_cuts {
        let data = mounted.data();
        site.crash(&data, None, |_| Ok(()))?;
        // Behind the kill: each `syncfs` of the server synchronises files of others, too.
        mounted.leave_unsynced().map_err(file)?;
        mounted = mounted.cut().map_err(file)?;
        if mounted.has_unsynced() {
            findings.failures.push(format!("cut {n}: a file that was not synchronised has survived"));
        }
    }
    let crashes = site.end(&mounted.data())?;
    mounted.remove().map_err(file)?;
    findings.figure(LOST, crashes.lost());
    let text = "As with SIGKILL, on a file system of which everything is lost that was not synchronised.";
    let section = crashes.section("Power cuts", text, findings);
    findings.sections.push(section);
    Ok(())
}
