//! The check of a large archive, without a server.

use super::super::command::{self, number, text, tick_s};
use super::super::site::KeepStage;
use super::{LargeArchive, MB};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::median::median;

/// Checks, of which the median counts. The file is in the page cache from the second one on.
const CHECKS: usize = 3;
const CHECKS_QUICK: usize = 1;

/// Checks it; the most memory of a check, MB.
pub(super) fn measure(
    stage: &KeepStage<'_>,
    archive: &LargeArchive,
    findings: &mut Findings,
) -> Result<f64, ExperimentError> {
    let run = stage.run;
    let (mut rates, mut times_s, mut peak_bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..run.pick(CHECKS, CHECKS_QUICK) {
        run.references.sample();
        let checked = command::run(run, "archive-check", &["oar", "check", &text(&archive.whole), "--json"])?;
        let report = checked.expect(&[0])?;
        for (key, expected) in [
            ("objects", archive.written.n_objects as f64),
            ("prims", archive.n_prims.into()),
            ("assets", archive.written.n_assets as f64),
            ("missing", 0.0),
            ("damaged", 0.0),
            ("unreadable", 0.0),
        ] {
            let found = number(&report, key);
            if found != expected {
                findings.failures.push(format!("a check has found {found} {key} of {expected}"));
            }
        }
        // A quick check may last less than a tick.
        rates.push(number(&report, "bytes_uncompressed") / MB / checked.cpu_s.max(tick_s()));
        times_s.push(checked.took.as_secs_f64());
        peak_bytes = peak_bytes.max(checked.peak_bytes);
        findings.figure("oar_mb", number(&report, "bytes_uncompressed") / MB);
    }
    findings.figure("oar_mb_per_s", median(&mut rates));
    findings.figure("oar_check_s", median(&mut times_s));
    let peak_mb = peak_bytes as f64 / MB;
    findings.figure("oar_check_memory_mb", peak_mb);
    Ok(peak_mb)
}
