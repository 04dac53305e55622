//! The disk's own time for a small durable write, beside the figures of commits.

use super::stage::BuildStage;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes, and the bytes of each: a page of the database.
const WRITES: usize = 300;
const WRITES_QUICK: usize = 20;
const PAGE: [u8; 4_096] = [0x5A; 4_096];

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let path = stage.run.out.join("fdatasync");
    let mut times_ms = write_pages(&path, stage.run.pick(WRITES, WRITES_QUICK))
        .map_err(|source| ExperimentError::File { path, source })?;
    times_ms.sort_unstable_by(f64::total_cmp);
    let percentile = |share: f64| times_ms[((times_ms.len() - 1) as f64 * share) as usize];
    findings.figure("fdatasync_ms_p50", percentile(0.5));
    findings.figure("fdatasync_ms_p99", percentile(0.99));
    Ok(())
}

/// Appends pages to a file, each durable before the next; their times in milliseconds.
fn write_pages(path: &Path, n: usize) -> io::Result<Vec<f64>> {
    let mut file = File::create(path)?;
    let mut times_ms = Vec::with_capacity(n);
    for _ in 0..n {
        let began = clock::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times_ms.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times_ms)
}
