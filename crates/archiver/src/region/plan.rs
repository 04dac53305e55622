//! The part of an archive that is for one region, as a check has found it: what a load would need, before anything is loaded.

use super::placing::{Placed, Placing, PlacingOptions};
use archive::check::{ArchiveReport, OarVisitor};
use archive::oar::{ArchivedParcel, ArchivedSettings, OarControl, REGION_SIDE_M};
use archive::object::SceneObject;
use glam::{Quat, Vec3};
use ids::Uuid;
use link::PrimFlags;
use std::collections::BTreeMap;
use store::RegionDocument;

/// Objects of all regions of an archive; more are not loaded.
const OBJECTS_MAX: usize = 500_000;

/// Prims of them.
const PRIMS_MAX: usize = 1_000_000;

/// Bytes of the documents of settings and parcels of all regions.
const DOCUMENTS_BYTES_MAX: usize = 64 << 20;

/// Bytes of a document that is kept beside the region.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Reason for which an archive is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// OpenSimulator refuses such archives, too.
    #[error("the archive has no control file that can be read")]
    NoControl,
    /// Several regions, and none of them is the one to be loaded.
    #[error("the archive has several regions, and none is called {wanted:?}; there are: {there}")]
    NoRegion {
        /// The region that was looked for.
        wanted: String,
        /// Folders of the regions.
        there: String,
    },
    /// More than a load has memory for.
    #[error("the archive has more {0} than are loaded")]
    TooLarge(&'static str),
}

/// An object of an archive.
#[derive(Clone, Copy, Debug)]
struct ObjectNote {
    root: Uuid,
    position: Vec3,
    rotation: Quat,
    n_prims: u32,
    is_physical: bool,
    n_items: u32,
    carried_bytes: u64,
    /// Place of its first prim's id.
    first_id: usize,
}

/// Parts of one region.
#[derive(Debug, Default)]
struct NotedRegion {
    settings: Option<ArchivedSettings>,
    parcels: Vec<ArchivedParcel>,
    objects: Vec<ObjectNote>,
    prims: Vec<Uuid>,
    n_documents: u64,
}

/// Collects what a check comes to.
#[derive(Debug, Default)]
pub struct RegionPlanner {
    control: Option<OarControl>,
    regions: BTreeMap<Box<str>, NotedRegion>,
    n_objects: usize,
    n_prims: usize,
    n_bytes: usize,
    too_large: Option<&'static str>,
}

impl RegionPlanner {
    fn region(&mut self, directory: Option<&str>) -> &mut NotedRegion {
        self.regions.entry(directory.unwrap_or_default().into()).or_default()
    }

    /// Counts bytes of a document; false if there are too many.
    fn has_room(&mut self, bytes: usize, what: &'static str) -> bool {
        self.n_bytes += bytes;
        if self.n_bytes > DOCUMENTS_BYTES_MAX {
            self.too_large.get_or_insert(what);
        }
        self.too_large.is_none()
    }

    /// The part for one region: that of the folder or the region with the wanted name, by default the one of an archive of one region.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn finish(
        mut self,
        wanted: Option<&str>,
        region_name: &str,
        report: &ArchiveReport,
    ) -> Result<RegionPlan, PlanError> {
        if let Some(what) = self.too_large {
            return Err(PlanError::TooLarge(what));
        }
        let control = self.control.ok_or(PlanError::NoControl)?;
        let directory = choose(&control, wanted, region_name)?;
        let key = directory.as_deref().unwrap_or_default();
        let noted = self.regions.remove(key).unwrap_or_default();
        let counted = report.regions.iter().find(|region| *region.directory == *key);
        let stated = control.size_of(directory.as_deref()).map(|size| (size.width_m, size.depth_m));
        let size_m = counted.and_then(|region| region.size_m).or(stated);
        let size_m = size_m.unwrap_or((REGION_SIDE_M, REGION_SIDE_M));
        Ok(RegionPlan { directory, size_m, version: control.version, noted })
    }
}

impl OarVisitor for RegionPlanner {
    fn control(&mut self, control: &OarControl) {
        self.control.get_or_insert_with(|| control.clone());
    }

    fn settings(&mut self, region: Option<&str>, settings: &ArchivedSettings) {
        if self.has_room(settings.source.as_str().len(), "settings") {
            self.region(region).settings = Some(settings.clone());
        }
    }

    fn parcel(&mut self, region: Option<&str>, parcel: &ArchivedParcel) {
        // Each text is there twice, in its field and in the document.
        if self.has_room(2 * parcel.source.as_str().len() + parcel.bitmap.len(), "parcels") {
            self.region(region).parcels.push(parcel.clone());
        }
    }

    fn object(&mut self, region: Option<&str>, _: &str, object: &SceneObject) {
        self.region(region).n_documents += 1;
        for group in object.groups() {
            let n_prims = group.others.len() + 1;
            self.n_objects += 1;
            self.n_prims += n_prims;
            if self.n_objects > OBJECTS_MAX || self.n_prims > PRIMS_MAX {
                self.too_large.get_or_insert("objects");
                return;
            }
            let bodies = || group.parts().map(|part| &part.body);
            let noted = self.region(region);
            let first_id = noted.prims.len();
            noted.prims.extend(bodies().map(|body| body.id));
            noted.objects.push(ObjectNote {
                root: group.root.body.id,
                position: group.root.place.position,
                rotation: group.root.place.rotation,
                n_prims: u32::try_from(n_prims).unwrap_or(u32::MAX),
                is_physical: group.root.flags & PrimFlags::PHYSICS.0 != 0,
                n_items: bodies().map(|body| u32::try_from(body.n_items()).unwrap_or(u32::MAX)).sum(),
                carried_bytes: bodies().map(|body| body.carried_len() as u64).sum(),
                first_id,
            });
        }
    }
}

/// The folder of the region that is wanted; none in archives of one region.
fn choose(
    control: &OarControl,
    wanted: Option<&str>,
    region_name: &str,
) -> Result<Option<Box<str>>, PlanError> {
    if !control.is_multiple() {
        return Ok(None);
    }
    let directories: Vec<&str> = control.regions().map(|region| &*region.directory).collect();
    if let (None, [only]) = (wanted, &directories[..]) {
        return Ok(Some((*only).into()));
    }
    let name = wanted.unwrap_or(region_name);
    // OpenSimulator's folders are called by column, row and name, which has other characters for some that a path cannot have.
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
    };
    let wanted_name = plain(name);
    let is_called = |directory: &&&str| {
        let called = directory.splitn(3, '_').nth(2).unwrap_or(**directory);
        plain(directory) == wanted_name || plain(called) == wanted_name
    };
    let found = directories.iter().find(is_called);
    found.map(|directory| Some((*directory).into())).ok_or_else(|| {
        let there = directories.iter().take(20).copied().collect::<Vec<_>>().join(", ");
        PlanError::NoRegion { wanted: name.to_owned(), there }
    })
}

/// Demand of a load on a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionDemand {
    /// Objects.
    pub n_objects: u64,
    /// Prims.
    pub n_prims: u64,
    /// Prims that physics moves.
    pub n_physical: u64,
    /// Items in prims.
    pub n_items: u64,
    /// Bytes of data that are not modelled.
    pub carried_bytes: u64,
}

/// The part of an archive for one region.
#[derive(Debug)]
pub struct RegionPlan {
    directory: Option<Box<str>>,
    size_m: (u32, u32),
    version: (u32, u32),
    noted: NotedRegion,
}

impl RegionPlan {
    /// Folder of the region; none in archives of one region.
    #[must_use]
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// Width and depth of the archive's region, metres.
    #[must_use]
    pub const fn size_m(&self) -> (u32, u32) {
        self.size_m
    }

    /// Version of the archive.
    #[must_use]
    pub const fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Settings.
    #[must_use]
    pub const fn settings(&self) -> Option<&ArchivedSettings> {
        self.noted.settings.as_ref()
    }

    /// Parcels.
    #[must_use]
    pub fn parcels(&self) -> &[ArchivedParcel] {
        &self.noted.parcels
    }

    /// Entries with objects.
    #[must_use]
    pub const fn n_documents(&self) -> u64 {
        self.noted.n_documents
    }

    /// Id in the archive of the object that marks the telehub.
    #[must_use]
    pub fn telehub(&self) -> Option<Uuid> {
        self.settings().and_then(|settings| settings.telehub.as_ref()).map(|telehub| telehub.object)
    }

    /// The way into a region of this width.
    #[must_use]
    pub fn placing(&self, options: PlacingOptions, region_m: u32) -> Placing {
        Placing::new(options, self.size_m, region_m)
    }

    /// The demand, without objects that are skipped by the ids of their roots in the archive.
    #[must_use]
    pub fn demand(&self, placing: &Placing, skips: &dyn Fn(Uuid) -> bool) -> RegionDemand {
        let mut demand = RegionDemand::default();
        for note in self.placed(placing).filter(|note| !skips(note.root)) {
            demand.n_objects += 1;
            demand.n_prims += u64::from(note.n_prims);
            demand.n_physical += if note.is_physical { u64::from(note.n_prims) } else { 0 };
            demand.n_items += u64::from(note.n_items);
            demand.carried_bytes += note.carried_bytes;
        }
        demand
    }

    /// Ids in the archive of the roots, and of all prims, of objects that have a place in the region.
    pub fn placed_ids(&self, placing: &Placing) -> impl Iterator<Item = (Uuid, &[Uuid])> {
        self.placed(placing).map(|note| {
            let prims = &self.noted.prims[note.first_id..][..note.n_prims as usize];
            (note.root, prims)
        })
    }

    /// The documents of settings and of parcels, to be kept beside the region: of the parcels that were loaded, each with its id now.
    #[must_use]
    pub fn documents(&self, has_settings: bool, parcels: &[(usize, Uuid)]) -> Vec<RegionDocument> {
        let settings = self.settings().filter(|_| has_settings);
        let settings = settings.map(|settings| (Uuid::nil(), &settings.source));
        let source_of = |(place, id): &(usize, Uuid)| Some((*id, &self.parcels().get(*place)?.source));
        let all = settings.into_iter().chain(parcels.iter().filter_map(source_of));
        let fits = all.filter(|(_, source)| source.as_str().len() <= KEPT_BYTES_MAX);
        fits.map(|(id, source)| (id, source.as_str().into())).collect()
    }

    fn placed<'p>(&'p self, placing: &Placing) -> impl Iterator<Item = &'p ObjectNote> + use<'p> {
        let placing = *placing;
        self.noted
            .objects
            .iter()
            .filter(move |note| matches!(placing.place(note.position, note.rotation), Placed::At { .. }))
    }
}

#[cfg(test)]
mod tests;
