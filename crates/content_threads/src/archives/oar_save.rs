//! Save of regions into an archive. Each is as it is on the disk after a save, all of one frame, while building continues; several are of a frame each.

use super::figures::save_figures;
use super::materials::documents_of;
use super::parts::{ArchiveParts, KnownAccounts};
use super::saved_file::{SavedAssets, SavedFile, write_assets};
use super::steps::{ArchiveDone, ArchiveFailure, WorkSteps, job_end};
use crate::region_transfer::{MissingPart, check_whole};
use archive::oar::{OarControl, OarRegion, OarWriter, RegionSize};
use archiver::AssetClosure;
use archiver::region::{RegionToWrite, RegionWriteOptions, RegionWritten, write_region};
use backup::WorkDriver;
use gateway::places::Place;
use ids::{AgentId, Uuid};
use job_desk::JobWork;
use jobs::{JobEnd, JobKind};
use keeper::{Keeper, linksets};
use link::Terrain;
use prim::Mask;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of an archive, and places in a row. Regions that are farther apart stand beside each other.
const ROWS_MAX: u32 = 256;

/// Options of a save, as OpenSimulator has them.
#[derive(Clone, Debug)]
pub(super) struct OarSaveOptions {
    /// Address of this grid, for the names of creators.
    pub(super) home: Option<String>,
    pub(super) skips_assets: bool,
    /// Owners are left out.
    pub(super) is_published: bool,
    /// Only objects with these rights.
    pub(super) rights: Mask,
}

/// A save that was ordered.
#[derive(Debug)]
pub(super) struct OarSave {
    pub(super) parts: Arc<ArchiveParts>,
    /// Name of the region; all regions without it.
    pub(super) region: Option<String>,
    /// Name of the file to make in the folder of archives.
    pub(super) file: PathBuf,
    /// Name of the archive in lists and logs.
    pub(super) title: String,
    pub(super) options: OarSaveOptions,
}

impl JobWork for OarSave {
    fn kind(&self) -> JobKind {
        JobKind::OarSave
    }

    fn subject(&self) -> String {
        format!("{} into {}", self.region.as_deref().unwrap_or("all regions"), self.title)
    }

    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd {
        job_end(self.save(&WorkSteps::new(driver)))
    }
}

type ArchiveOut = BufWriter<File>;

impl OarSave {
    fn save(&self, steps: &WorkSteps<'_>) -> ArchiveDone {
        let Self { parts, options, .. } = self;
        let places: Vec<&Arc<Place>> = match &self.region {
            Some(name) => vec![parts.region(name).map_err(ArchiveFailure::new)?],
            None => parts.places.iter().collect(),
        };
        let (mut control, directories) = self.control(&places);
        control.assets_included = Some(!options.skips_assets);
        let (file, archive) = SavedFile::begin(parts, &self.file)?;
        let mut writer = OarWriter::begin(archive, &control)?;
        let mut closure = AssetClosure::default();
        let (mut written, mut damaged) = (RegionWritten::default(), Vec::new());
        for (place, directory) in places.iter().zip(&directories) {
            let (one, lost) = self.region(&mut writer, place, directory.as_deref(), &mut closure, steps)?;
            written.n_objects += one.n_objects;
            written.n_prims += one.n_prims;
            written.n_left_out += one.n_left_out;
            written.n_parcels += one.n_parcels;
            damaged.extend(lost);
        }
        let mut assets = SavedAssets::default();
        if !options.skips_assets {
            let worlds: Vec<_> = places.iter().map(|place| place.world()).collect();
            let materials = documents_of(parts, &worlds)?;
            let append = &mut |id, kind, bytes: &[u8]| writer.asset(id, kind, bytes);
            assets = write_assets(parts, closure, &materials, append, steps)?;
        }
        assets.bytes = file.finish(writer.finish()?)?;
        let (n_objects, n_assets) = (written.n_objects, assets.n_assets);
        let outcome = format!("{n_objects} objects and {n_assets} assets are in {}", self.title);
        let missing = assets.missing.len();
        tracing::info!(file = self.title, n_objects, n_assets, missing, "an archive was saved");
        Ok((outcome, save_figures(&written, &damaged, &assets)))
    }

    /// The control file, and the folder of each region in an archive of several.
    fn control(&self, places: &[&Arc<Place>]) -> (OarControl, Vec<Option<String>>) {
        let created_s = self.parts.now_s().cast_signed();
        let size = |place: &Place| {
            let side = place.ground().size_m;
            RegionSize { width_m: side, depth_m: side }
        };
        if let (Some(_), [place]) = (&self.region, places) {
            return (OarControl::single(place.region_id, size(place), created_s), vec![None]);
        }
        let corners: Vec<(u32, u32)> = places.iter().map(|place| place.handle.grid()).collect();
        let columns = lines_of(corners.iter().map(|corner| corner.0));
        let rows = lines_of(corners.iter().map(|corner| corner.1));
        let mut regions = vec![vec![None; columns.len()]; rows.len()];
        let mut directories = Vec::with_capacity(places.len());
        for (place, (x, y)) in places.iter().zip(corners) {
            let line = |lines: &[u32], at: u32| lines.binary_search(&at).expect("a line of a region");
            let (column, row) = (line(&columns, x), line(&rows, y));
            let directory = format!("{}_{}_{}", column + 1, row + 1, plain(place.name()));
            regions[row][column] = Some(OarRegion {
                id: place.region_id,
                directory: directory.as_str().into(),
                size_m: Some(size(place)),
                ..OarRegion::default()
            });
            directories.push(Some(directory));
        }
        (OarControl::multiple(regions, created_s), directories)
    }

    /// Writes a region; returns its figures, and parts of it that the database has lost.
    fn region(
        &self,
        writer: &mut OarWriter<ArchiveOut>,
        place: &Place,
        directory: Option<&str>,
        closure: &mut AssetClosure,
        steps: &WorkSteps<'_>,
    ) -> Result<(RegionWritten, Vec<MissingPart>), ArchiveFailure> {
        let Self { parts, options, .. } = self;
        let world = place.world();
        steps.advance("save", 0, 1, 0)?;
        parts.runtime.block_on(parts.save(world))?;
        let stored = parts.store.read_region(world)?;
        let settings = &parts.settings(world).keeper;
        let (_, region) =
            Keeper::load(settings, &stored, Uuid::nil()).map_err(|error| ArchiveFailure::of(&error))?;
        let lost = check_whole(&stored, &region, true).map_err(|error| ArchiveFailure::of(&error))?;
        // As large as the region that was made of it.
        drop(stored);
        let mut ground = Terrain::clone(&settings.land.terrain);
        region.land.ground.iter().for_each(|patch| ground.set_patch(patch));
        let linksets = linksets(&region.objects);
        let documents: BTreeMap<Uuid, Vec<u8>> = parts.store.region_documents(world)?.into_iter().collect();
        let accounts = KnownAccounts::new(&parts.store);
        let to_write = RegionToWrite {
            name: place.name(),
            directory,
            linksets: &linksets,
            land: &region.land,
            ground: &ground,
            documents: &documents,
        };
        let name_of = |agent: AgentId| accounts.name(agent).map(|name| name.to_string());
        let write = RegionWriteOptions {
            home: options.home.as_deref(),
            name_of: &name_of,
            is_published: options.is_published,
            rights: options.rights,
        };
        let n_linksets = linksets.len() as u64;
        let mut progress = |n_objects: u64, bytes: u64| {
            steps.advance("objects", n_objects, n_linksets, bytes).map_err(ArchiveFailure::from)
        };
        let written = write_region::<_, ArchiveFailure>(writer, &to_write, &write, closure, &mut progress)?;
        accounts.check()?;
        Ok((written, lost))
    }
}

/// Columns or rows of these regions: each square of the grid between the first and the last one, or only the squares of regions if that would be too many.
fn lines_of(of_regions: impl Iterator<Item = u32>) -> Vec<u32> {
    let lines: BTreeSet<u32> = of_regions.collect();
    match (lines.first(), lines.last()) {
        (Some(&first), Some(&last)) if last - first < ROWS_MAX => (first..=last).collect(),
        _ => lines.into_iter().collect(),
    }
}

/// A name as a part of a folder's.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_stand_in_an_archive_as_they_do_on_the_grid() {
        assert_eq!(lines_of([1_002, 1_000].into_iter()), [1_000, 1_001, 1_002]);
        assert_eq!(lines_of([7_000, 1_000, 1_000].into_iter()), [1_000, 7_000]);
        assert!(lines_of(std::iter::empty()).is_empty());
        assert_eq!(plain("Old Town/2-b é"), "Old_Town_2-b_é");
    }
}
