//! Region files on the disk: written and read back, and read for an import. The server uses it, and so do commands on the data directory of a
//! server that is stopped.

use keeper::region_file::{self, LandToWrite, RegionAbout, RegionFile, RegionFileError};
use keeper::{Linkset, RegionIds, linksets};
use link::StoredObjects;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

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
}

/// A file that was written, and read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenRegion {
    /// Prims in it.
    pub(crate) n_prims: usize,
    /// Its bytes.
    pub(crate) bytes: u64,
}

/// Writes a region to a new file, and reads it again: what was written is what the region has. A file that fails is removed.
pub(crate) fn write(
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

/// Reads the linksets of a file for a region of this width, and checks all of it.
pub(crate) fn read_linksets(
    path: &Path,
    ids: &RegionIds,
    region_m: u32,
) -> Result<Vec<Linkset>, TransferError> {
    let RegionFile { about, objects, .. } = read(path, ids)?;
    if about.size_m > region_m {
        return Err(TransferError::TooLarge { path: path.to_owned(), file_m: about.size_m, region_m });
    }
    Ok(linksets(&objects))
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
    use ids::{AgentId, LocalId, Uuid};
    use link::{ObjectPage, PrimMotion, RestingIds, VersionedBody};
    use prim::{Body, Shape};
    use std::sync::Arc;

    fn ids() -> RegionIds {
        RegionIds { kept: 1 << 20..1 << 20 | 1 << 10, temporary: 1 << 20 | 1 << 10..1 << 20 | 1 << 11 }
    }

    fn region() -> StoredObjects {
        let mut page = ObjectPage::empty(LocalId(1 << 20));
        for n in 0..3_u8 {
            let (owner, id) = (AgentId(Uuid::from_u128(9)), Uuid::from_u128(u128::from(n) + 1));
            let body = Body::new(id, Shape::BOX, Arc::from([3; 47]), owner, 1 << 50);
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
    fn a_region_is_read_back_and_into_linksets() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("harbour.region");
        let written = write(&path, &about(), (&region(), None), &ids()).expect("a file");
        let bytes = path.metadata().expect("it is there").len();
        assert_eq!(written, WrittenRegion { n_prims: 3, bytes });
        let linksets = read_linksets(&path, &ids(), 512).expect("it fits");
        assert_eq!(linksets.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        let refused = read_linksets(&path, &ids(), 256).expect_err("it is too large");
        assert!(refused.to_string().contains("512 m"), "{refused}");
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
        assert!(matches!(read_linksets(&path, &ids(), 512), Err(TransferError::Format { .. })));
        assert!(matches!(
            read_linksets(&folder.path().join("none"), &ids(), 512),
            Err(TransferError::File { step: "read", .. })
        ));
    }
}
