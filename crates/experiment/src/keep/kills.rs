//! SIGKILL at random instants while bots carry things.

use super::site::{KeepSite, KeepStage};
use crate::error::ExperimentError;
use crate::findings::Findings;

/// Seed of the times of the kills.
const SEED: u64 = 17;

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let mut settings = String::new();
    if let Some(store) = &stage.run.store {
        store.require_empty()?;
        settings = store.settings();
    }
    let data = stage.prepare("kills", &settings)?;
    let mut site = KeepSite::new(stage, "kills", SEED)?;
    for _ in 0..stage.size.kills {
        site.crash(&data, None, |_| Ok(()))?;
    }
    let crashes = site.end(&data)?;
    let (acknowledged, pending) = crashes.requests();
    findings.figure("kills", crashes.len() as f64);
    findings.figure("kills_acknowledged", acknowledged as f64);
    findings.figure("kills_unanswered", pending as f64);
    findings.figure("lost_acknowledged", crashes.lost());
    let text = "Bots upload, create, copy, give, take, rez, wear, drop into prims and remove things; the \
                server is killed at a random instant and started again. Then the bots read all that they \
                have, and the record of their requests is compared with it. A thing is lost if it is not \
                as an answer has stated, doubled if it must not be copied and is at two places, vanished \
                if it is at none. A request without an answer may have had its effect or not.";
    let place = stage.run.store.as_ref().map(|store| format!(" The database is {store}."));
    let section = crashes.section("SIGKILL", &(text.to_owned() + &place.unwrap_or_default()), findings);
    findings.sections.push(section);
    Ok(())
}
