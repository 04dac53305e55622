//! A large archive of a region: its check, its load, and the steps of other worlds meanwhile.
//!
//! | part | module |
//! |---|---|
//! | archives that are as large as is wanted | [`generate`] |
//! | the check without a server | [`check`] |
//! | loads with assets and without, until durable and shown; memory | [`load`] |
//! | steps of another world during load, save and backup | [`beside`] |
//! | archives of every version, loaded and saved again ([`collection`], [`documented`]) | [`round_trip`] |

mod beside;
mod check;
pub(super) mod collection;
mod documented;
pub(super) mod generate;
mod load;
pub(super) mod round_trip;
#[cfg(test)]
mod tests;

pub use documented::ArchiveFacts;

use super::site::KeepStage;
use crate::error::ExperimentError;
use crate::findings::Findings;
use generate::{OarPlan, WrittenOar, write_oar};
use ids::Uuid;
use report::Section;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Seed of the archive, and its owner, who has no account here: the default user gets everything.
const SEED: u64 = 1;
const OWNER: Uuid = Uuid::from_u128(0x6f61_722d_6f77_4e65_8000_0000_0000_0001);

/// Keys of a region that has room for it.
const ROOM: &str = "max_objects = 100000\n";

/// Bytes of a megabyte.
const MB: f64 = 1e6;

/// An error about an archive of the experiment's own.
fn failed(path: &Path, why: impl fmt::Display) -> ExperimentError {
    ExperimentError::Archive { reason: format!("{}: {why}", path.display()) }
}

/// The archive with its assets, and the one without.
struct LargeArchive {
    whole: PathBuf,
    bare: PathBuf,
    n_prims: u32,
    written: WrittenOar,
}

impl LargeArchive {
    fn write(stage: &KeepStage<'_>) -> Result<Self, ExperimentError> {
        let (out, size) = (&stage.run.out, stage.size);
        let (whole, bare) = (out.join("large.oar"), out.join("large-bare.oar"));
        let plan = OarPlan {
            version: (0, 8),
            owner: OWNER,
            n_prims: size.archive_prims,
            n_textures: size.archive_textures,
            bytes: size.archive_bytes,
            has_assets: true,
            seed: SEED,
        };
        let written = write_oar(&whole, &plan)?;
        write_oar(&bare, &OarPlan { has_assets: false, ..plan })?;
        Ok(Self { whole, bare, n_prims: size.archive_prims, written })
    }

    /// Removes both: they are large, and the same in each run.
    fn remove(self) -> Result<(), ExperimentError> {
        [self.whole, self.bare].into_iter().try_for_each(|path| {
            fs::remove_file(&path).map_err(|source| ExperimentError::File { path, source })
        })
    }
}

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let archive = LargeArchive::write(stage)?;
    let of_check = check::measure(stage, &archive, findings)?;
    let of_load = load::measure(stage, &archive, findings)?;
    findings.figure("oar_memory_mb", of_check.max(of_load));
    beside::measure(stage, &archive, findings)?;
    let WrittenOar { n_objects, n_assets } = archive.written;
    let text = format!(
        "An archive of {} prims in {n_objects} objects with {n_assets} assets, {} MB uncompressed. Its check is \
         divided by the CPU seconds of `throng oar check`, start included. A load lasts from the start of \
         `throng oar load` until it has ended and the region's list has all objects and a client displays the \
         first of them; the server is killed at once then, and has to have all of it when it starts again. \
         Memory is private and resident, read every 10 ms: of the check, and in a load that of the command and \
         of the server, less that of the server that has started again with the region.",
        archive.n_prims,
        report::number(stage.size.archive_bytes as f64 / MB),
    );
    findings.sections.push(Section::new("A large archive").text(&text));
    archive.remove()
}
