//! Archives on their way between an operator and the server, which opens files of one folder only.

use super::ArchiveCommandError;
use archive::check::CheckError;
use archive::file::{ArchiveLimits, ArchiveReader};
use data_dir::archives_path;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Archives name owners, and have texts of theirs.
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Bytes of a title in the name of a file.
const TITLE_BYTES_MAX: usize = 100;

/// A file in the server's folder of archives.
#[derive(Debug)]
pub(super) struct Transit {
    path: PathBuf,
    /// It is only there for one order, and goes with this.
    is_passing: bool,
}

impl Transit {
    /// An archive for the server to read: a second link to its file, or a copy. A file that is in the folder already stays.
    pub(super) fn to_server(data: &Path, file: &Path) -> Result<Self, ArchiveCommandError> {
        check_begin(file)?;
        let folder = made_folder(data)?;
        // A link would lead to a link itself.
        let real = fs::canonicalize(file).map_err(failed("open", file))?;
        let real_folder = fs::canonicalize(&folder).map_err(failed("open", &folder))?;
        if real.parent() == Some(&*real_folder) {
            return Ok(Self { path: real, is_passing: false });
        }
        let transit = Self::passing(&folder, file);
        if fs::hard_link(&real, &transit.path).is_err() {
            // On another file system.
            let copied = File::open(&real).and_then(|mut from| {
                let mut to = new_file(&transit.path)?;
                io::copy(&mut from, &mut to)
            });
            copied.map_err(failed("copy", file))?;
        }
        Ok(transit)
    }

    /// A place for an archive that the server is to write, and that comes to this file then.
    pub(super) fn from_server(data: &Path, file: &Path) -> Result<Self, ArchiveCommandError> {
        if fs::symlink_metadata(file).is_ok() {
            return Err(failed("make", file)(io::ErrorKind::AlreadyExists.into()));
        }
        Ok(Self::passing(&made_folder(data)?, file))
    }

    fn passing(folder: &Path, file: &Path) -> Self {
        let name = format!("transit-{}-{}", std::process::id(), title_of(file));
        let transit = Self { path: folder.join(name), is_passing: true };
        // Of a process of the same number that was killed.
        transit.remove();
        transit
    }

    /// Its name in the folder.
    pub(super) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Brings an archive to its place, in which there must be no file.
    pub(super) fn bring(self, file: &Path) -> Result<(), ArchiveCommandError> {
        if fs::hard_link(&self.path, file).is_err() {
            let copied = File::open(&self.path).and_then(|mut from| {
                let mut to = new_file(file)?;
                io::copy(&mut from, &mut to)?;
                to.sync_all()
            });
            copied.map_err(failed("make", file))?;
        }
        // The name in the server's folder goes now, and may be the only one that is on the disk yet.
        let folder =
            file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write", folder))
    }

    fn remove(&self) {
        // It may not be there.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        if self.is_passing {
            self.remove();
        }
    }
}

/// The name of a file as a part of another one, and in lists.
pub(super) fn title_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name.chars().map(|c| if c.is_control() || c == '/' { '_' } else { c }).collect();
    let end = plain.floor_char_boundary(TITLE_BYTES_MAX);
    plain[..end].to_owned()
}

/// Refuses a file that does not begin as an archive does: the server would do so, too.
fn check_begin(file: &Path) -> Result<(), ArchiveCommandError> {
    let unopened = |source| ArchiveCommandError::Open { path: file.to_owned(), source };
    let opened = File::open(file).map_err(unopened)?;
    let begun = ArchiveReader::open(opened, ArchiveLimits::default());
    match begun.and_then(|mut reader| reader.next_entry().map(drop)) {
        Err(why) if why.is_no_archive() => {
            Err(ArchiveCommandError::Check { path: file.to_owned(), source: CheckError::File(why) })
        }
        Err(_) | Ok(()) => Ok(()),
    }
}

fn made_folder(data: &Path) -> Result<PathBuf, ArchiveCommandError> {
    let folder = archives_path(data);
    let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&folder);
    made.map_err(failed("make", &folder))?;
    Ok(folder)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)
}

fn failed(step: &'static str, path: &Path) -> impl Fn(io::Error) -> ArchiveCommandError + use<> {
    let path = path.to_owned();
    move |source| ArchiveCommandError::Transit { step, path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::file::ArchiveWriter;

    fn archive(path: &Path) {
        let mut writer = ArchiveWriter::plain(File::create(path).expect("a file"));
        writer.append("archive.xml", b"<archive/>").expect("an entry");
        writer.finish().expect("a file");
    }

    #[test]
    fn an_archive_is_with_the_server_for_one_order() {
        let data = tempfile::tempdir().expect("a folder");
        let file = data.path().join("harbour.oar");
        archive(&file);
        let transit = Transit::to_server(data.path(), &file).expect("it is passed on");
        let path = archives_path(data.path()).join(transit.name());
        assert_eq!(fs::read(&path).expect("it is there"), fs::read(&file).expect("and here"));
        drop(transit);
        assert!(!path.exists() && file.exists());
        let there = archives_path(data.path()).join("harbour.oar");
        archive(&there);
        let transit = Transit::to_server(data.path(), &there).expect("it is there");
        assert_eq!(transit.name(), "harbour.oar");
        drop(transit);
        assert!(there.exists(), "it is not there for one order only");
    }

    #[test]
    fn files_that_are_no_archives_are_refused_at_once() {
        let data = tempfile::tempdir().expect("a folder");
        let file = data.path().join("notes.txt");
        fs::write(&file, b"no archive").expect("a file");
        let error = Transit::to_server(data.path(), &file).expect_err("it is none");
        assert_eq!(error.exit_status(), 2);
        let error = Transit::to_server(data.path(), &data.path().join("none")).expect_err("there is none");
        assert_eq!(error.exit_status(), 2);
    }

    #[test]
    fn a_saved_archive_takes_the_place_of_no_file() {
        let data = tempfile::tempdir().expect("a folder");
        let file = data.path().join("harbour.oar");
        let transit = Transit::from_server(data.path(), &file).expect("there is none");
        let path = archives_path(data.path()).join(transit.name());
        archive(&path);
        transit.bring(&file).expect("it is free");
        assert!(file.exists() && !path.exists());
        assert!(Transit::from_server(data.path(), &file).is_err());
        let title = title_of(Path::new("a/b\nc.oar"));
        assert_eq!(title, "b_c.oar");
    }
}
