//! Power cuts while bots build: all that the server has written and not synchronised is gone ([`crate::image`]).

use super::kills::{CrashSite, Crashes};
use super::region;
use super::stage::{BuildStage, REGION_KEYS};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::image::MountedImage;
use crate::server::Server;
use bots::rng::Rng;
use std::path::Path;

/// Figure of the oldest lost edit. Without loop devices it is absent, which is a failure of whole runs.
pub(super) const LOST: &str = "lost_edits_power_s_max";

/// Seed of the times of the cuts.
const SEED: u64 = 11;

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
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
    let crashes = cut_power(stage, &image, mounted, findings)?;
    findings.figure(LOST, crashes.lost_s_max());
    *findings.figures.entry("torn_starts".to_owned()).or_default() += crashes.n_torn() as f64;
    let text = "As above, on a file system of which everything is lost that was not synchronised.";
    let section = crashes.section("Power cuts", text, findings);
    findings.sections.push(section);
    Ok(())
}

fn cut_power(
    stage: &BuildStage<'_>,
    image: &Path,
    mut mounted: MountedImage,
    findings: &mut Findings,
) -> Result<Crashes, ExperimentError> {
    let file = |source| ExperimentError::File { path: image.to_owned(), source };
    Server::prepare(&mounted.data(), REGION_KEYS)?;
    region::fill(&mounted.data(), &stage.content)?;
    // The region is durable before the first round.
    mounted = mounted.remount().map_err(file)?;

    let (mut rng, mut crashes) = (Rng::new(SEED, 0), Crashes::default());
    for n in 0..stage.size.power_cuts {
        let Some(site) = CrashSite::build(stage, &format!("cut-{n}"), &mounted.data(), &mut rng)? else {
            crashes.n_failed_starts += 1;
            break;
        };
        mounted.leave_unsynced().map_err(file)?;
        let (cut_ns, history) = site.kill()?;
        mounted = mounted.cut().map_err(file)?;
        if mounted.has_unsynced() {
            findings.failures.push(format!("cut {}: a file that was not synchronised has survived", n + 1));
        }
        crashes.rounds.push(history.losses(&region::read(&mounted.data())?, cut_ns));
    }
    // The last region has to start, too.
    match Server::start_in(stage.run, "power", &mounted.data()) {
        Ok(server) => server.stop()?,
        Err(_) => crashes.n_failed_starts += 1,
    }
    mounted.remove().map_err(file)?;
    Ok(crashes)
}
