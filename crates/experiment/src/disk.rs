//! The disk's own time for a small durable write, beside the figures of commits.

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

/// Times of durable writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DiskTimes {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl DiskTimes {
    /// Measures them in a file of this folder.
    pub(crate) fn measure(folder: &Path, is_quick: bool) -> Result<Self, ExperimentError> {
        let path = folder.join("fdatasync");
        let n = if is_quick { WRITES_QUICK } else { WRITES };
        let mut times_ms = write_pages(&path, n).map_err(|source| ExperimentError::File { path, source })?;
        times_ms.sort_unstable_by(f64::total_cmp);
        let percentile = |share: f64| times_ms[((times_ms.len() - 1) as f64 * share) as usize];
        Ok(Self { p50_ms: percentile(0.5), p99_ms: percentile(0.99) })
    }

    /// Adds both as figures.
    pub(crate) fn report(self, findings: &mut Findings) {
        findings.figure("fdatasync_ms_p50", self.p50_ms);
        findings.figure("fdatasync_ms_p99", self.p99_ms);
    }
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
