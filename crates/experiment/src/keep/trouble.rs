//! SIGKILL while bots carry things and the disk is slow, or full for a while.

use super::site::{KeepSite, KeepStage};
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::image::MountedImage;
use crate::server::Server;
use crate::tracer::Tracer;
use std::time::Duration;

/// Times that are added to each synchronisation, and the figures of the things lost. Without a tracer they are absent, which is a failure of whole runs.
const DELAYS_MS: [u64; 2] = [5, 50];
pub(super) const LOST_SLOW: [&str; 2] = ["lost_acknowledged_slow_5", "lost_acknowledged_slow_50"];
/// Figure of the things lost with a full disk. Without loop devices it is absent, which is a failure of whole runs.
pub(super) const LOST_FULL: &str = "lost_acknowledged_full";

/// Time for which the disk is full.
const FULL: Duration = Duration::from_secs(4);
const FULL_QUICK: Duration = Duration::from_secs(1);
/// Seeds of the times of the kills.
const SEED: u64 = 23;

pub(super) fn measure_slow(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    if !Tracer::is_available() {
        if !stage.run.quick {
            findings.failures.push("synchronisations cannot be delayed: strace does not work".to_owned());
        }
        return Ok(());
    }
    for (delay_ms, figure) in DELAYS_MS.into_iter().zip(LOST_SLOW) {
        let name = format!("slow-{delay_ms}");
        let data = stage.prepare(&name, "")?;
        let log = stage.run.out.join(format!("{name}.calls"));
        let tracer = Tracer::new(Duration::from_millis(delay_ms), log);
        let mut site = KeepSite::new(stage, &name, SEED + delay_ms)?;
        for _ in 0..stage.size.slow_kills {
            site.crash(&data, Some(&tracer), |_| Ok(()))?;
        }
        let crashes = site.end(&data)?;
        findings.figure(figure, crashes.lost());
        let heading = format!("SIGKILL, each synchronisation {delay_ms} ms slower");
        let section = crashes.section(&heading, "As with SIGKILL.", findings);
        findings.sections.push(section);
    }
    Ok(())
}

pub(super) fn measure_full(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let image = stage.run.out.join("full.img");
    let mounted = match MountedImage::make(&image, &stage.run.out.join("full")) {
        Ok(mounted) => mounted,
        Err(why) => {
            if !stage.run.quick {
                findings
                    .failures
                    .push(format!("no disk can be filled without a file system in an image: {why}"));
            }
            return Ok(());
        }
    };
    let file = |source| ExperimentError::File { path: image.clone(), source };
    let data = mounted.data();
    Server::prepare(&data, "")?;
    let mut site = KeepSite::new(stage, "full", SEED)?;
    let full_for = stage.run.pick(FULL, FULL_QUICK);
    for _ in 0..stage.size.full_kills {
        site.crash(&data, None, |_| {
            mounted.fill().map_err(file)?;
            clock::wait(full_for);
            mounted.drain().map_err(file)
        })?;
    }
    let crashes = site.end(&data)?;
    mounted.remove().map_err(file)?;
    findings.figure(LOST_FULL, crashes.lost());
    let text = "As with SIGKILL, on a file system that has no room for some seconds. Requests without an answer are the rule then.";
    let section = crashes.section("SIGKILL behind a full disk", text, findings);
    findings.sections.push(section);
    Ok(())
}
