//! A file system in an image file, of which everything can be taken away that was not synchronised, and that can be filled up.
//!
//! A cut of power: the server is killed and the image is copied as it is, without an unmount. Data that a program has synchronised is in the image; data that lies
//! only in the kernel's cache of the file system is not. The copy is mounted in place of the image, which repairs it from its journal as a start of the machine
//! would. No program is changed for that, and no library is preloaded. The kernel may write back a page by itself, which then survives as it would on a real disk; a
//! file that is written and not synchronised in each round has to be missing behind the cut, else the round proves nothing. Loop devices need root.

use crate::clock;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Size of the image.
const IMAGE_BYTES: u64 = 512 << 20;
/// Options of the mount: the journal is committed by synchronisations alone, as far as a run lasts.
const OPTIONS: &str = "loop,commit=300";
/// Attempts to unmount it, and the time between two.
const UNMOUNTS_MAX: usize = 50;
const UNMOUNT_PERIOD: Duration = Duration::from_millis(100);
/// Name of a file that is never synchronised.
const UNSYNCED: &str = "unsynced";
/// Name of a file that takes all the room that is left, and the bytes of each write to it.
const BALLOON: &str = "balloon";
const BALLOON_BYTES: usize = 1 << 20;

/// A mounted image.
pub(crate) struct MountedImage {
    image: PathBuf,
    directory: PathBuf,
}

impl MountedImage {
    /// Makes an empty file system in a new image, and mounts it. No room is kept for root.
    pub(crate) fn make(image: &Path, directory: &Path) -> io::Result<Self> {
        File::create(image)?.set_len(IMAGE_BYTES)?;
        call("mkfs.ext4", &["-q", "-F", "-m", "0", &text(image)])?;
        Self::mount(image, directory)
    }

    fn mount(image: &Path, directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        call("mount", &["-o", OPTIONS, &text(image), &text(directory)])?;
        Ok(Self { image: image.to_owned(), directory: directory.to_owned() })
    }

    /// The data directory on it; the root has folders of the file system's own.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Unmounts it and mounts it again: all of it is on the disk then.
    pub(crate) fn remount(self) -> io::Result<Self> {
        let (image, directory) = (self.image.clone(), self.directory.clone());
        self.unmount()?;
        Self::mount(&image, &directory)
    }

    /// Cuts the power: the copy of the image as it is now takes its place.
    pub(crate) fn cut(self) -> io::Result<Self> {
        let (image, directory) = (self.image.clone(), self.directory.clone());
        let copy = image.with_extension("cut");
        call("cp", &["--sparse=always", &text(&image), &text(&copy)])?;
        self.unmount()?;
        fs::rename(&copy, &image)?;
        Self::mount(&image, &directory)
    }

    /// Unmounts it and removes the image.
    pub(crate) fn remove(self) -> io::Result<()> {
        let image = self.image.clone();
        self.unmount()?;
        fs::remove_file(image)
    }

    /// Unmounts it; all of it is written before that. The process that writes crash dumps ends a moment after the server.
    fn unmount(self) -> io::Result<()> {
        let unmount = || call("umount", &[&text(&self.directory)]);
        for _ in 1..UNMOUNTS_MAX {
            if unmount().is_ok() {
                return Ok(());
            }
            clock::wait(UNMOUNT_PERIOD);
        }
        unmount()
    }

    /// Writes a file and does not synchronise it.
    pub(crate) fn leave_unsynced(&self) -> io::Result<()> {
        File::create(self.directory.join(UNSYNCED))?.write_all(&[0x5A; 4_096])
    }

    /// True if the content of that file has survived. Its name may have, with the metadata of a synchronised file.
    pub(crate) fn has_unsynced(&self) -> bool {
        fs::read(self.directory.join(UNSYNCED)).is_ok_and(|bytes| bytes.contains(&0x5A))
    }

    /// Takes all the room that is left.
    pub(crate) fn fill(&self) -> io::Result<()> {
        let mut balloon = File::create(self.directory.join(BALLOON))?;
        let block = vec![0_u8; BALLOON_BYTES];
        let mut part = block.as_slice();
        while !part.is_empty() {
            match balloon.write_all(part) {
                Ok(()) => {}
                // The last blocks are smaller than the others.
                Err(error) if error.kind() == io::ErrorKind::StorageFull => part = &part[..part.len() / 2],
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives that room back.
    pub(crate) fn drain(&self) -> io::Result<()> {
        fs::remove_file(self.directory.join(BALLOON))
    }
}

impl Drop for MountedImage {
    fn drop(&mut self) {
        // It is mounted no more after `unmount`.
        let _ = call("umount", &["-l", &text(&self.directory)]);
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a program of the system to its end.
fn call(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    let why = || io::Error::other(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    if output.status.success() { Ok(()) } else { Err(why()) }
}
