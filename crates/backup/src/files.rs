//! Files that are durable when a call returns, and their sums.

use rustix::fs::{Advice, fadvise, syncfs};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Backups hold all that a data directory does, and are their owner's alone.
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Bytes that are read at once.
pub(crate) const CHUNK: usize = 256 * 1_024;

/// A failed operation on a file or a directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}", .path.display())]
pub struct FileFailure {
    /// The operation, such as "write".
    pub step: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

/// Makes a failure of an operation on this path.
pub(crate) fn failed(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileFailure + use<> {
    let path = path.to_owned();
    move |source| FileFailure { step, path, source }
}

/// Length and BLAKE3 hash of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    /// Its bytes.
    pub bytes: u64,
    /// Hexadecimal digits.
    pub blake3: String,
}

/// True for errors that say that bytes are gone: there is no such file, or the disk cannot read it.
pub(crate) fn is_lost(error: &io::Error) -> bool {
    let of_disk = [Errno::IO, Errno::UCLEAN, Errno::BADMSG, Errno::ISDIR];
    error.kind() == io::ErrorKind::NotFound
        || of_disk.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Makes a directory with those above it; no failure if it is there.
pub(crate) fn make_dir(path: &Path) -> Result<(), FileFailure> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(path).map_err(failed("make", path))
}

/// Makes a file, empty if it was there.
pub(crate) fn make_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(path)
}

/// Brings a directory's entries to the disk.
pub(crate) fn sync_dir(path: &Path) -> Result<(), FileFailure> {
    File::open(path).and_then(|dir| dir.sync_all()).map_err(failed("sync", path))
}

/// Brings everything that was written to the file system of a directory to the disk: one call for many files.
pub(crate) fn sync_all_below(path: &Path) -> Result<(), FileFailure> {
    File::open(path).and_then(|dir| syncfs(dir).map_err(io::Error::from)).map_err(failed("sync", path))
}

/// Writes a whole file in place of the former one, durably: a crash leaves one of the two.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileFailure> {
    let new = path.with_extension("new");
    let write = || {
        let mut file = make_file(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(failed("write", path))?;
    sync_dir(path.parent().expect("a file lies in a directory"))
}

/// Reads a file of at most `max` bytes.
pub(crate) fn read_bounded(path: &Path, max: u64) -> Result<Vec<u8>, FileFailure> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max { Err(io::Error::other("it is too long")) } else { Ok(bytes) }
    };
    read().map_err(failed("read", path))
}

/// Brings a file to the disk, and forgets the copy of it in memory: the next reader gets the disk's bytes.
pub(crate) fn sync_and_forget(path: &Path) -> Result<(), FileFailure> {
    let sync = || -> io::Result<()> {
        let file = OpenOptions::new().read(true).open(path)?;
        file.sync_all()?;
        forget(&file);
        Ok(())
    };
    sync().map_err(failed("sync", path))
}

/// Asks the system to drop the copy of a file in memory. Where it does not, a later read proves less.
pub(crate) fn forget(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// The sum of a file, read as it is on the disk as far as the system lets it be. `piece` gets the bytes of each piece, and may end it.
pub(crate) fn sum_of<E: From<FileFailure>>(
    path: &Path,
    mut piece: impl FnMut(u64) -> Result<(), E>,
) -> Result<FileSum, E> {
    let mut file = File::open(path).map_err(failed("read", path))?;
    let (mut hasher, mut bytes, mut chunk) = (blake3::Hasher::new(), 0, vec![0_u8; CHUNK]);
    loop {
        let n = read_some(&mut file, &mut chunk).map_err(failed("read", path))?;
        if n == 0 {
            break;
        }
        hasher.update(&chunk[..n]);
        bytes += n as u64;
        piece(n as u64)?;
    }
    Ok(FileSum { bytes, blake3: hasher.finalize().to_hex().to_string() })
}

/// Reads into a chunk; 0 at the end of the file.
pub(crate) fn read_some(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(chunk) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Removes a file; no failure if there is none.
pub(crate) fn remove_file(path: &Path) -> Result<(), FileFailure> {
    match fs::remove_file(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed("remove", path)),
    }
}

/// Removes a directory with all in it; no failure if there is none.
pub(crate) fn remove_dir(path: &Path) -> Result<(), FileFailure> {
    match fs::remove_dir_all(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed("remove", path)),
    }
}

/// Removes all that is in a directory, which stays.
pub(crate) fn empty_dir(path: &Path) -> Result<(), FileFailure> {
    for entry in fs::read_dir(path).map_err(failed("read", path))? {
        let entry = entry.map_err(failed("read", path))?;
        let found = entry.path();
        // A link is removed, and not what it leads to.
        let is_dir = entry.file_type().map_err(failed("read", &found))?.is_dir();
        let removed = if is_dir { remove_dir(&found) } else { remove_file(&found) };
        removed?;
    }
    Ok(())
}

/// True if there is anything in a directory, by a name of any form; none if it is missing.
pub(crate) fn has_entries(path: &Path) -> Result<Option<bool>, FileFailure> {
    match fs::read_dir(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        entries => {
            let first = entries.map_err(failed("read", path))?.next().transpose();
            Ok(Some(first.map_err(failed("read", path))?.is_some()))
        }
    }
}

/// Names in a directory in their order; none if it is missing. Names that are not text are left out: none of ours is like that.
pub(crate) fn names_in(path: &Path) -> Result<Vec<String>, FileFailure> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    };
    match read() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        names => names.map_err(failed("read", path)),
    }
}
