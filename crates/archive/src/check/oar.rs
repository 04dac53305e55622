//! Check of a region's archive.

use super::ledger::{Naming, Referrer};
use super::mentions::Certainty;
use super::report::{ArchiveReport, RegionCount};
use super::tally::CheckTally;
use super::walk::{EntryCheck, check_entries};
use super::{CheckConfig, CheckError, HEIGHT_BYTES, ITEM_BYTES, PRIM_BYTES};
use crate::file::{ArchiveEntry, ArchiveReader, FileError};
use crate::oar::{
    ArchivedParcel, ArchivedSettings, HeightScan, OarControl, OarPath, OarSection, TerrainFileError,
    terrain_size,
};
use crate::object::{SceneObject, read_object};
use crate::xml::XmlLimits;
use assets::AssetKind;
use ids::Uuid;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

/// Regions of an archive that have counts of their own.
const REGIONS_MAX: usize = 4_096;

/// Prims whose ids are compared with each other. Further ones are not.
const PRIM_IDS_MAX: usize = 2_000_000;

/// Bytes of a terrain read at a time.
const HEIGHTS_STEP: usize = 64 * 1_024;

/// Sees the parts of an archive that can be read, as a check comes to them: for a caller that needs more of them than a report has. Folders of regions are
/// none in archives of one region.
pub trait OarVisitor {
    /// The control file.
    fn control(&mut self, control: &OarControl);

    /// Settings of a region.
    fn settings(&mut self, region: Option<&str>, settings: &ArchivedSettings);

    /// A parcel of a region.
    fn parcel(&mut self, region: Option<&str>, parcel: &ArchivedParcel);

    /// An object of a region, from the entry with this path.
    fn object(&mut self, region: Option<&str>, path: &str, object: &SceneObject);
}

/// Sees nothing.
impl OarVisitor for () {
    fn control(&mut self, _: &OarControl) {}

    fn settings(&mut self, _: Option<&str>, _: &ArchivedSettings) {}

    fn parcel(&mut self, _: Option<&str>, _: &ArchivedParcel) {}

    fn object(&mut self, _: Option<&str>, _: &str, _: &SceneObject) {}
}

/// Checks the archive of a region or of several. A file that cannot be read to its end is checked as far as it can, and has an unreadable part.
///
/// # Errors
/// [`CheckError`] if there is no such archive.
pub fn check_oar(input: impl Read, config: &CheckConfig<'_>) -> Result<ArchiveReport, CheckError> {
    check_oar_with(input, config, &mut ())
}

/// As [`check_oar`], with a visitor.
///
/// # Errors
/// [`CheckError`].
pub fn check_oar_with(
    input: impl Read,
    config: &CheckConfig<'_>,
    visitor: &mut dyn OarVisitor,
) -> Result<ArchiveReport, CheckError> {
    let entries = ArchiveReader::open(input, config.limits)?;
    let mut check = OarCheck::new(config, visitor);
    check_entries(entries, &mut check)?;
    check.finish()
}

struct OarCheck<'a> {
    tally: CheckTally<'a>,
    control: Option<OarControl>,
    regions: BTreeMap<Box<str>, RegionCount>,
    prims: HashSet<Uuid>,
    n_items: u64,
    n_heights: u64,
    visitor: &'a mut dyn OarVisitor,
}

impl<'a> EntryCheck<'a> for OarCheck<'a> {
    fn tally(&mut self) -> &mut CheckTally<'a> {
        &mut self.tally
    }

    fn entry(
        &mut self,
        entry: &ArchiveEntry,
        entries: &mut ArchiveReader<impl Read>,
        content: &mut Vec<u8>,
    ) -> Result<(), FileError> {
        let place = OarPath::read(&entry.path);
        if entry.is_folder {
            return Ok(());
        }
        self.tally.has_parts |= place.section != OarSection::Other;
        if place.section == OarSection::Terrain {
            self.terrain(&entry.path, &place, entries, entry.bytes)?;
        } else {
            entries.read_content(content)?;
            self.file(&entry.path, &place, content);
        }
        Ok(())
    }
}

impl<'a> OarCheck<'a> {
    fn new(config: &'a CheckConfig<'a>, visitor: &'a mut dyn OarVisitor) -> Self {
        Self {
            visitor,
            tally: CheckTally::new(config),
            control: None,
            regions: BTreeMap::new(),
            prims: HashSet::new(),
            n_items: 0,
            n_heights: 0,
        }
    }

    fn file(&mut self, path: &str, place: &OarPath<'_>, content: &[u8]) {
        match place.section {
            OarSection::Control => match OarControl::read(content) {
                Ok(read) => {
                    let control = self.tally.noted(path, read);
                    self.visitor.control(&control);
                    self.control = Some(control);
                }
                Err(why) => self.tally.report.add_unreadable(path, why),
            },
            OarSection::Settings => self.settings(path, place, content),
            OarSection::Parcel => self.parcel(path, place, content),
            OarSection::Object => self.object(path, place, content),
            OarSection::Asset => {
                self.tally.asset(path, place.path, content);
            }
            OarSection::Terrain | OarSection::Other => {
                self.tally.report.add_remark(path, "a file of another program, which is not loaded");
            }
        }
    }

    /// The counts of an entry's region; none if there are too many regions.
    fn region(&mut self, path: &str, place: &OarPath<'_>) -> Option<&mut RegionCount> {
        let directory = place.region.unwrap_or_default();
        if !self.regions.contains_key(directory) {
            if self.regions.len() == REGIONS_MAX {
                let reason = format!("the archive has more than {REGIONS_MAX} regions");
                self.tally.report.add_unreadable(path, reason);
                return None;
            }
            let new = RegionCount {
                directory: directory.into(),
                prims_max: self.tally.config.prims_max,
                ..RegionCount::default()
            };
            self.regions.insert(directory.into(), new);
        }
        self.regions.get_mut(directory)
    }

    fn settings(&mut self, path: &str, place: &OarPath<'_>, content: &[u8]) {
        let settings = match ArchivedSettings::read(content) {
            Ok(read) => self.tally.noted(path, read),
            Err(why) => return self.tally.report.add_unreadable(path, why),
        };
        self.region(path, place);
        self.visitor.settings(place.region, &settings);
        let mut referrer = Referrer::new(path);
        let textures = settings.ground_textures.map(|id| (id, AssetKind::Texture));
        let materials = settings.ground_materials.map(|id| (id, AssetKind::Material));
        for (id, kind) in textures.into_iter().chain(materials) {
            let naming = Naming { certainty: Certainty::Certain, kind: Some(kind.into()), is_shown: true };
            self.tally.assets.name(&mut referrer, id, naming);
        }
        self.tally.environment(path, settings.environment.as_deref());
    }

    fn parcel(&mut self, path: &str, place: &OarPath<'_>, content: &[u8]) {
        let parcel = match ArchivedParcel::read(content) {
            Ok(read) => self.tally.noted(path, read),
            Err(why) => return self.tally.report.add_unreadable(path, why),
        };
        if let Some(region) = self.region(path, place) {
            region.n_parcels += 1;
        }
        self.visitor.parcel(place.region, &parcel);
        if parcel.n_squares() == 0 {
            self.tally.report.add_remark(path, "the parcel covers nothing, and is not loaded");
        }
        if !parcel.is_group_owned {
            self.tally.accounts.add_owner(parcel.owner);
        }
        let mut referrer = Referrer::new(path);
        let kind = Some(AssetKind::Texture.into());
        for id in [parcel.snapshot, parcel.media.texture] {
            let naming = Naming { certainty: Certainty::Certain, kind, is_shown: false };
            self.tally.assets.name(&mut referrer, id, naming);
        }
        self.tally.environment(path, parcel.environment.as_deref());
    }

    fn object(&mut self, path: &str, place: &OarPath<'_>, content: &[u8]) {
        let read = match read_object(content, &XmlLimits::OBJECT) {
            Ok(read) => read,
            Err(why) => return self.tally.report.add_unreadable(path, why),
        };
        self.tally.remark_object(path, &read.report);
        self.compare_ids(path, &read.object);
        self.visitor.object(place.region, path, &read.object);
        let counts = self.tally.groups(path, &read.object, true);
        let report = &mut self.tally.report;
        report.n_objects += counts.n_groups;
        report.n_prims += counts.n_prims;
        report.n_scripts += counts.n_scripts;
        report.newcomer_bytes += counts.update_bytes;
        self.n_items += counts.n_items;
        if let Some(region) = self.region(path, place) {
            region.n_objects += counts.n_groups;
            region.n_prims += counts.n_prims;
        }
    }

    fn compare_ids(&mut self, path: &str, object: &SceneObject) {
        for part in object.groups().flat_map(|group| group.parts()) {
            let id = part.body.id;
            if self.prims.len() < PRIM_IDS_MAX && !self.prims.insert(id) {
                self.tally.report.add_remark(path, format_args!("another prim has the id {id}"));
            }
        }
    }

    /// Looks through a terrain without memory for it.
    fn terrain(
        &mut self,
        path: &str,
        place: &OarPath<'_>,
        entries: &mut ArchiveReader<impl Read>,
        bytes: u64,
    ) -> Result<(), FileError> {
        let mut scan = HeightScan::default();
        let mut part = vec![0; HEIGHTS_STEP];
        loop {
            match entries.read_part(&mut part)? {
                0 => break,
                n_read => scan.add(&part[..n_read]),
            }
        }
        let stated = self.control.as_ref().and_then(|control| control.size_of(place.region));
        let stated = stated.map(|size| (size.width_m, size.depth_m));
        let checked: Result<(u32, u32), TerrainFileError> =
            terrain_size(bytes, stated).and_then(|size| scan.check(size.0).map(|()| size));
        match checked {
            Ok(size) => {
                self.n_heights += scan.n_heights;
                if let Some(region) = self.region(path, place) {
                    region.size_m = Some(size);
                }
            }
            Err(why) => self.tally.report.add_unreadable(path, why),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ArchiveReport, CheckError> {
        if !self.tally.has_parts {
            return Err(CheckError::OtherArchive("a region"));
        }
        self.compare_regions();
        let report = &mut self.tally.report;
        for region in self.regions.values().filter(|region| region.n_prims > region.prims_max) {
            let reason = format!("{} prims, a region has room for {}", region.n_prims, region.prims_max);
            report.add_remark(&region_path(&region.directory), reason);
        }
        report.memory_bytes =
            report.n_prims * PRIM_BYTES + self.n_items * ITEM_BYTES + self.n_heights * HEIGHT_BYTES;
        report.regions = self.regions.into_values().collect();
        Ok(self.tally.finish())
    }

    /// Compares the regions of all parts with those of the control file.
    fn compare_regions(&mut self) {
        let report = &mut self.tally.report;
        let Some(control) = &self.control else {
            return report.add_unreadable("archive.xml", "there is no control file that can be read");
        };
        report.version = Some(control.version);
        for (directory, region) in &mut self.regions {
            let name = (!directory.is_empty()).then_some(&**directory);
            let stated = control.size_of(name).map(|size| (size.width_m, size.depth_m));
            region.size_m = region.size_m.or(stated);
            let is_listed = match name {
                None => !control.is_multiple(),
                Some(name) => control.regions().any(|listed| &*listed.directory == name),
            };
            if !is_listed {
                let reason = "the control file does not list the region of these parts";
                report.add_unreadable(&region_path(directory), reason);
            }
        }
    }
}

/// Path of a region, for findings.
fn region_path(directory: &str) -> String {
    if directory.is_empty() { "region".to_owned() } else { format!("regions/{directory}") }
}
