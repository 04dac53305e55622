//! Verifies contents of assets at rest, in the order of their hashes, from the first to the last and from the beginning again.

use crate::ReadAssetError;
use crate::files::{AssetFiles, FilesError};
use std::time::Duration;
use store::{AssetHash, Store};

/// Totals of a scrubber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubFindings {
    /// Contents verified.
    pub verified: u64,
    /// Those that were damaged, known ones not included.
    pub damaged: u64,
    /// Those that could not be read.
    pub unreadable: u64,
    /// Passes through all contents.
    pub passes: u64,
}

/// Place of a scrubber on its way.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    /// The last content that was verified; none at the beginning.
    last: Option<AssetHash>,
    findings: ScrubFindings,
}

/// Hash before all others.
const FIRST: AssetHash = AssetHash([0; 32]);

impl Scrubber {
    /// One that goes on at a [`position`](Self::position).
    #[must_use]
    pub fn at(position: f64) -> Self {
        let first_bits = (position.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32;
        let mut hash = FIRST;
        hash.0[..4].copy_from_slice(&first_bits.to_be_bytes());
        Self { last: Some(hash), findings: ScrubFindings::default() }
    }

    /// Share of the present pass that is done, 0 to 1: hashes are spread evenly.
    #[must_use]
    pub fn position(&self) -> f64 {
        let first = self.last.map_or([0; 4], |hash| *hash.0.first_chunk().expect("a hash has 32 bytes"));
        f64::from(u32::from_be_bytes(first)) / f64::from(u32::MAX)
    }

    /// Totals since it was made.
    #[must_use]
    pub const fn findings(&self) -> ScrubFindings {
        self.findings
    }

    /// Verifies the next contents, at most `max`; their bytes. `quarantine` gets each damaged one with the evidence. At the end of a pass fewer come, and the next
    /// call begins anew.
    pub(crate) fn pass(
        &mut self,
        store: &Store,
        files: &AssetFiles,
        max: u32,
        mut quarantine: impl FnMut(AssetHash, &str) -> Result<(), ReadAssetError>,
    ) -> Result<u64, ReadAssetError> {
        let contents = store.contents_after(self.last.unwrap_or(FIRST), max)?;
        let is_end = contents.len() < max as usize;
        let mut bytes = 0;
        for content in contents {
            if content.damage.is_none() {
                bytes += u64::from(content.length);
                match files.read_verified(content.hash) {
                    Ok(Ok(_)) => self.findings.verified += 1,
                    Ok(Err(evidence)) => {
                        // An expired asset's bytes go after its row.
                        if store.are_contents_sound(&[content.hash])? == [true] {
                            quarantine(content.hash, &evidence)?;
                            self.findings.damaged += 1;
                        }
                    }
                    Err(why @ FilesError::Object { .. }) => {
                        self.findings.unreadable += 1;
                        tracing::error!(
                            "a scrubber cannot verify an asset: {}",
                            crate::writer::in_full(&why)
                        );
                    }
                    Err(why) => return Err(why.into()),
                }
            }
            self.last = Some(content.hash);
        }
        if is_end {
            self.last = None;
            self.findings.passes += 1;
        }
        Ok(bytes)
    }
}

/// Pace of a scrubber: all contents within a period, at even intervals.
#[derive(Clone, Copy, Debug)]
pub struct ScrubPace {
    period: Duration,
    /// Contents that are due, with the part of the next one.
    due: f64,
}

impl ScrubPace {
    /// Contents that one call names at most: a machine that has slept does not make up for it at once.
    const DUE_MAX: f64 = 1_000.0;

    /// A pass within `period`.
    #[must_use]
    pub const fn new(period: Duration) -> Self {
        Self { period, due: 0.0 }
    }

    /// Contents to verify now, of `n_contents` in all, when `passed` has passed since the last call.
    pub fn due(&mut self, n_contents: u64, passed: Duration) -> u32 {
        // One more for the end of a pass, which an empty store has too.
        let rate = (n_contents + 1) as f64 / self.period.as_secs_f64();
        self.due = (self.due + rate * passed.as_secs_f64()).min(Self::DUE_MAX);
        let due = self.due.floor();
        self.due -= due;
        due as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contents_are_due_once_in_a_period() {
        for n_contents in [0, 1, 7, 10_000] {
            let mut pace = ScrubPace::new(Duration::from_secs(86_400));
            let due: u64 = (0..1_440).map(|_| u64::from(pace.due(n_contents, Duration::from_secs(60)))).sum();
            assert!(due.abs_diff(n_contents + 1) <= 1, "{due} of {n_contents}");
        }
        let mut pace = ScrubPace::new(Duration::from_secs(60));
        assert_eq!(pace.due(1_000_000, Duration::from_secs(3_600)), 1_000);
    }

    #[test]
    fn a_position_is_kept_across_a_restart() {
        assert!(Scrubber::default().position().abs() < 1e-9);
        for position in [0.0, 0.25, 0.999, 1.0] {
            assert!((Scrubber::at(position).position() - position).abs() < 1e-6, "{position}");
        }
        assert!(Scrubber::at(f64::NAN).position().abs() < 1e-9, "a damaged row");
    }
}
