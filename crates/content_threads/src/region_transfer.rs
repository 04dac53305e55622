//! Region files on the disk: written and read back, and read for an import. The server uses it, and so do commands on the data directory of a
//! server that is stopped.

use keeper::region_file::{self, LandToWrite, RegionAbout, RegionFile, RegionFileError};
use keeper::{Linkset, LoadedRegion, RegionIds, linksets};
use link::{StoredLand, StoredObjects, Terrain};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use store::{LandKey, ObjectPart, StoredRegion};
use utoipa::ToSchema;

/// Region files name their owners, and have texts of theirs.
const PRIVATE_FILE: u32 = 0o600;

/// Reasons for which a region is not exported or imported.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The file.
    #[error("cannot {step} {path}: {why}")]
    File {
        /// Failed step.
        step: &'static str,
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        why: io::Error,
    },
    /// Its contents.
    #[error("{path} is not imported: {why}")]
    Format {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: RegionFileError,
    },
    /// A file that was just written.
    #[error("{path} differs from the region when it is read again, and was removed; is the disk damaged?")]
    Differs {
        /// The path.
        path: PathBuf,
    },
    /// Not all of the region can be read.
    #[error(
        "rows of the region are damaged in the database, and a file would lack these parts (`--partial` writes it without them):\n{}",
        lines(.0)
    )]
    Damaged(Vec<MissingPart>),
    /// A file of a larger region.
    #[error("{path} is of a region of {file_m} m, and this one has {region_m} m: objects would be outside")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Width of the file's region.
        file_m: u32,
        /// Width of the region.
        region_m: u32,
    },
    /// Land of a smaller region.
    #[error("{path} has the land of a region of {file_m} m, and this one has {region_m} m")]
    OtherLand {
        /// The path.
        path: PathBuf,
        /// Width of the file's region.
        file_m: u32,
        /// Width of the region.
        region_m: u32,
    },
    /// A file of the first builds.
    #[error("{path} has no land: import its objects alone")]
    NoLand {
        /// The path.
        path: PathBuf,
    },
}

/// A file that was written, and read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenRegion {
    /// Prims in it.
    pub n_prims: usize,
    /// Its bytes.
    pub bytes: u64,
}

/// A part of a region that is damaged in the database and missing in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MissingRegionPart)]
pub struct MissingPart {
    /// `object`, or a part of the land, in whose place the file has what a start of the region would put there.
    what: String,
    /// Local id of the object.
    id: Option<u32>,
    /// Its name, if that is readable.
    name: Option<String>,
    /// The evidence of the damage.
    why: String,
}

impl MissingPart {
    /// Missing parts in an answer; none if it has no such list.
    #[must_use]
    pub fn list_of(answer: &serde_json::Value) -> Vec<Self> {
        Vec::<Self>::deserialize(answer).unwrap_or_default()
    }
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, id, name, why } = self;
        f.write_str(what)?;
        if let Some(id) = id {
            write!(f, " {id}")?;
        }
        if let Some(name) = name {
            write!(f, " {name:?}")?;
        }
        write!(f, ": {why}")
    }
}

/// The parts, one a line.
#[must_use]
pub fn lines(parts: &[MissingPart]) -> String {
    parts.iter().map(MissingPart::to_string).collect::<Vec<_>>().join("\n")
}

/// Parts that are missing in a region as it was loaded: objects in the order of their local ids, then land. A damaged row of the region itself takes
/// nothing out of a file.
fn missing_parts(stored: &StoredRegion, loaded: &LoadedRegion) -> Vec<MissingPart> {
    // Object or land, with its number: name and reasons.
    let mut parts: BTreeMap<(bool, u32), (Option<String>, Vec<String>)> = BTreeMap::new();
    for damage in &stored.damages {
        let is_land = match damage.part {
            ObjectPart::Body | ObjectPart::State => false,
            ObjectPart::Land => true,
            ObjectPart::Region | ObjectPart::HeldObject => continue,
        };
        let why =
            if is_land { damage.why.clone() } else { format!("{}: {}", damage.part.as_str(), damage.why) };
        parts.entry((is_land, damage.object.0)).or_default().1.push(why);
    }
    let objects =
        loaded.damaged.iter().map(|object| ((false, object.id.0), object.name.as_deref(), &object.why));
    let land =
        loaded.damaged_land.iter().map(|land| ((true, land.key.code()), land.name.as_deref(), &land.why));
    for (key, found, why) in objects.chain(land) {
        let (name, reasons) = parts.entry(key).or_default();
        *name = found.filter(|name| !name.is_empty()).map(str::to_owned);
        // The lack of a damaged row is no further reason.
        if reasons.is_empty() {
            reasons.push(why.clone());
        }
    }
    let part = |((is_land, number), (name, reasons)): ((bool, u32), (Option<String>, Vec<String>))| {
        let land = || LandKey::of_code(number).map_or_else(|| "land".to_owned(), |key| key.to_string());
        MissingPart {
            what: if is_land { land() } else { "object".to_owned() },
            id: (!is_land).then_some(number),
            name,
            why: reasons.join(", "),
        }
    };
    parts.into_iter().map(part).collect()
}

/// The missing parts of a region that may be written to a file.
///
/// # Errors
/// [`TransferError::Damaged`] if some are missing and `is_partial` does not allow that.
pub fn check_whole(
    stored: &StoredRegion,
    loaded: &LoadedRegion,
    is_partial: bool,
) -> Result<Vec<MissingPart>, TransferError> {
    let missing = missing_parts(stored, loaded);
    if missing.is_empty() || is_partial { Ok(missing) } else { Err(TransferError::Damaged(missing)) }
}

/// Writes a region to a new file, and reads it again, to compare it with the region. A file that fails is removed.
///
/// # Errors
/// [`TransferError`].
pub fn write(
    path: &Path,
    about: &RegionAbout,
    (objects, land): (&StoredObjects, Option<LandToWrite<'_>>),
    ids: &RegionIds,
) -> Result<WrittenRegion, TransferError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path);
    let file = file.map_err(failed("make", path))?;
    let written = write_whole(file, path, about, (objects, land), ids);
    if written.is_err() {
        // The error of the write is the one to report.
        let _ = fs::remove_file(path);
    }
    written
}

fn write_whole(
    file: File,
    path: &Path,
    about: &RegionAbout,
    (objects, land): (&StoredObjects, Option<LandToWrite<'_>>),
    ids: &RegionIds,
) -> Result<WrittenRegion, TransferError> {
    let mut out = BufWriter::new(file);
    region_file::write(&mut out, about, objects, land, ids).map_err(failed("write", path))?;
    let file = out.into_inner().map_err(|error| failed("write", path)(error.into_error()))?;
    file.sync_all().map_err(failed("write", path))?;
    let bytes = file.metadata().map_err(failed("read", path))?.len();
    let again = read(path, ids)?;
    let is_same_land = match (again.land, land) {
        (Some(again), Some(LandToWrite { land, described })) => {
            let again = again.over(described);
            (&again.state, &again.ground, &again.baked) == (&land.state, &land.ground, &land.baked)
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if again.about != *about || again.objects.pages != objects.pages || !is_same_land {
        return Err(TransferError::Differs { path: path.to_owned() });
    }
    let n_prims = objects.pages.iter().map(|page| page.prims().count()).sum();
    Ok(WrittenRegion { n_prims, bytes })
}

/// Reads a file for a region of this described ground, and checks all of it: the linksets, and the land if that is to come in.
///
/// # Errors
/// [`TransferError`].
pub fn read_import(
    path: &Path,
    ids: &RegionIds,
    described: &Terrain,
    takes_land: bool,
) -> Result<(Vec<Linkset>, Option<StoredLand>), TransferError> {
    let RegionFile { about, objects, land } = read(path, ids)?;
    let (file_m, region_m) = (about.size_m, described.size_m());
    if file_m > region_m {
        return Err(TransferError::TooLarge { path: path.to_owned(), file_m, region_m });
    }
    if !takes_land {
        return Ok((linksets(&objects), None));
    }
    if file_m != region_m {
        return Err(TransferError::OtherLand { path: path.to_owned(), file_m, region_m });
    }
    let land = land.ok_or_else(|| TransferError::NoLand { path: path.to_owned() })?;
    Ok((linksets(&objects), Some(land.over(described))))
}

fn read(path: &Path, ids: &RegionIds) -> Result<RegionFile, TransferError> {
    let file = File::open(path).map_err(failed("read", path))?;
    region_file::read(&mut BufReader::new(file), &ids.kept)
        .map_err(|why| TransferError::Format { path: path.to_owned(), why })
}

fn failed(step: &'static str, path: &Path) -> impl Fn(io::Error) -> TransferError + use<> {
    let path = path.to_owned();
    move |why| TransferError::File { step, path: path.clone(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::keeper_config;
    use ids::{AgentId, LocalId, Uuid, WorldId};
    use keeper::{DamagedObject, Keeper};
    use link::{Estate, LandState, ObjectPage, PrimMotion, RestingIds, VersionedBody};
    use prim::{Body, Shape};
    use std::sync::Arc;
    use store::{LandKind, ObjectDamage};

    fn ids() -> RegionIds {
        RegionIds { kept: 1 << 20..1 << 20 | 1 << 10, temporary: 1 << 20 | 1 << 10..1 << 20 | 1 << 11 }
    }

    fn region() -> StoredObjects {
        let mut page = ObjectPage::empty(LocalId(1 << 20));
        for n in 0..3_u8 {
            let (owner, id) = (AgentId(Uuid::from_u128(9)), Uuid::from_u128(u128::from(n) + 1));
            let mut body = Body::new(id, Shape::BOX, Arc::from([3; 47]), owner, 1 << 50);
            body.names.name = format!("Prim {}", n + 1).into();
            let parent = if n == 2 { LocalId(1 << 20) } else { LocalId(0) };
            Arc::make_mut(&mut page.motions)[usize::from(n)] =
                PrimMotion { parent, link_number: n / 2, ..PrimMotion::NONE };
            Arc::make_mut(&mut page.bodies)[usize::from(n)] =
                Some(VersionedBody { version: 1, body: Arc::new(body) });
        }
        let kept = RestingIds { n_used: 3, resting: Vec::new() };
        StoredObjects { pages: vec![page], kept, ..StoredObjects::default() }
    }

    fn about() -> RegionAbout {
        RegionAbout { name: "Harbour".into(), size_m: 512, build: "test".into(), exported_s: 7 }
    }

    #[test]
    fn each_damaged_part_is_named_once_with_its_reasons() {
        let world = WorldId(1);
        let damage = |part, object, why: &str| ObjectDamage {
            region: world,
            object: LocalId(object),
            part,
            why: why.to_owned(),
        };
        let parcel = LandKey::new(LandKind::Parcel, 3);
        let stored = StoredRegion {
            damages: vec![
                damage(ObjectPart::Region, 0, "a wrong checksum"),
                damage(ObjectPart::Land, parcel.code(), "a wrong checksum"),
                damage(ObjectPart::Body, 9, "a wrong checksum"),
                damage(ObjectPart::State, 9, "another one"),
                damage(ObjectPart::Body, 7, "a wrong checksum"),
            ],
            ..StoredRegion::default()
        };
        let object = |id, name: Option<&str>, why: &str| DamagedObject {
            id: LocalId(id),
            name: name.map(Arc::from),
            why: why.to_owned(),
        };
        let (_, mut loaded) =
            Keeper::load(&keeper_config(), &StoredRegion::default(), Uuid::nil()).expect("an empty region");
        assert!(check_whole(&StoredRegion::default(), &loaded, false).expect("it is whole").is_empty());
        loaded.damaged =
            vec![object(7, Some("Lamp"), "its body is missing"), object(8, Some(""), "it means nothing")];
        let whole = check_whole(&stored, &loaded, false);
        assert!(matches!(&whole, Err(TransferError::Damaged(parts)) if parts.len() == 4));
        assert_eq!(
            lines(&check_whole(&stored, &loaded, true).expect("it may be partial")),
            format!(
                "object 7 \"Lamp\": body: a wrong checksum\nobject 8: it means nothing\n\
                 object 9: body: a wrong checksum, state: another one\n{parcel}: a wrong checksum"
            )
        );
    }

    #[test]
    fn a_region_is_read_back_and_into_linksets() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("harbour.region");
        let written = write(&path, &about(), (&region(), None), &ids()).expect("a file");
        let bytes = path.metadata().expect("it is there").len();
        assert_eq!(written, WrittenRegion { n_prims: 3, bytes });
        let (linksets, land) = import(&path, 512, false).expect("it fits");
        assert_eq!((linksets.iter().map(Vec::len).collect::<Vec<_>>(), land), (vec![2, 1], None));
        let refused = import(&path, 256, false).expect_err("it is too large");
        assert!(refused.to_string().contains("512 m"), "{refused}");
    }

    fn import(
        path: &Path,
        region_m: u32,
        takes_land: bool,
    ) -> Result<(Vec<Linkset>, Option<StoredLand>), TransferError> {
        read_import(path, &ids(), &Terrain::flat(region_m, 21.0), takes_land)
    }

    #[test]
    fn land_comes_over_the_described_ground_into_a_region_of_its_width_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("harbour.region");
        let high = Terrain::flat(512, 30.0);
        let estate = Estate::new("Hills", Some(AgentId(Uuid::from_u128(9))), 20.0);
        let land = StoredLand::new(LandState::of_one_parcel(512, Uuid::from_u128(5), estate, 7), 7);
        let written = LandToWrite { land: &land, described: &high };
        write(&path, &about(), (&region(), Some(written)), &ids()).expect("a file");
        let (_, found) = import(&path, 512, true).expect("it fits");
        let found = found.expect("it was asked for");
        assert_eq!((found.state, found.ground.len()), (land.state, 32 * 32));
        assert_eq!(import(&path, 512, false).expect("it fits").1, None);
        assert!(matches!(import(&path, 1_024, true), Err(TransferError::OtherLand { .. })));
        assert_eq!(import(&path, 1_024, false).expect("objects alone").0.len(), 2);
        let bare = folder.path().join("bare.region");
        write(&bare, &about(), (&region(), None), &ids()).expect("a file");
        assert!(matches!(import(&bare, 512, true), Err(TransferError::NoLand { .. })));
    }

    #[test]
    fn a_file_that_is_there_is_left_alone_and_a_damaged_one_is_not_imported() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("harbour.region");
        write(&path, &about(), (&region(), None), &ids()).expect("a file");
        let mut bytes = fs::read(&path).expect("a file");
        assert!(matches!(
            write(&path, &about(), (&region(), None), &ids()),
            Err(TransferError::File { step: "make", .. })
        ));
        assert_eq!(fs::read(&path).expect("a file"), bytes);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).expect("a file");
        assert!(matches!(import(&path, 512, false), Err(TransferError::Format { .. })));
        assert!(matches!(
            import(&folder.path().join("none"), 512, false),
            Err(TransferError::File { step: "read", .. })
        ));
    }
}
