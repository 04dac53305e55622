//! Caches of observers between two runs, as viewers keep theirs on the disk between two sessions.

use crate::prims::PrimCache;
use crate::record_file::{FileKind, RecordFileError, RecordWriter, Records};
use ids::Instant;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

const KIND: FileKind = FileKind { magic: *b"THRC", version: 1 };

/// Reads the caches of a former run, by the numbers of its observers. There are none without a file.
///
/// # Errors
/// When the file is something else.
pub fn read(path: &Path) -> Result<BTreeMap<u32, PrimCache>, RecordFileError> {
    match Records::<(u32, PrimCache)>::open(path, KIND) {
        Ok(records) => Ok(records.collect()),
        Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// Writes the caches of a run, over those of a former one.
///
/// # Errors
/// When the file cannot be written.
pub fn write<'a>(
    path: &Path,
    now: Instant,
    caches: impl Iterator<Item = (u32, &'a PrimCache)>,
) -> Result<(), RecordFileError> {
    let mut writer = RecordWriter::<(u32, PrimCache)>::create(path, KIND, now)?;
    for (observer, cache) in caches {
        writer.write(&(observer, cache.clone()))?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn caches_of_a_run_are_those_of_the_next() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("cache");
        assert_eq!(read(&path).expect("none yet"), BTreeMap::new());
        let cache = PrimCache::default();
        write(&path, Instant::ZERO, [(0, &cache), (7, &cache)].into_iter()).expect("room");
        assert_eq!(read(&path).expect("ours").into_keys().collect::<Vec<_>>(), [0, 7]);
        fs::write(&path, "another file").expect("room");
        assert!(read(&path).is_err());
    }
}
