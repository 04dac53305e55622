//! Power cuts while bots build: all that the server has written and not synchronised is gone.
//!
//! The server's data directory lies on a file system in an image file. At the cut the server is killed and the image is copied as it is, without
//! an unmount. Data that a program has synchronised is in the image; data that lies only in the kernel's cache of the file system is not. The copy is mounted
//! in place of the image, which repairs it from its journal as a start of the machine would, and the region is read from it. No program is changed for
//! that, and no library is preloaded.
//!
//! The kernel may write back a page by itself, which then survives as it would on a real disk; a file that is written and not synchronised in each
//! round has to be missing behind the cut, else the round proves nothing. Loop devices need root.

use super::kills::{CrashSite, Crashes};
use super::region;
use super::stage::{BuildStage, REGION_KEYS};
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use bots::rng::Rng;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Figure of the oldest lost edit. Without loop devices it is absent, which is a failure of whole runs.
pub(super) const LOST: &str = "lost_edits_power_s_max";

/// Size of the image.
const IMAGE_BYTES: u64 = 512 << 20;
/// Options of the mount: the journal is committed by synchronisations alone, as far as a run lasts.
const OPTIONS: &str = "loop,commit=300";
/// Attempts to unmount it, and the time between two.
const UNMOUNTS_MAX: usize = 50;
const UNMOUNT_PERIOD: Duration = Duration::from_millis(100);
/// Seed of the times of the cuts.
const SEED: u64 = 11;
/// Name of a file that is never synchronised.
const UNSYNCED: &str = "unsynced";

/// A mounted image.
struct MountedImage {
    directory: PathBuf,
}

impl MountedImage {
    fn mount(image: &Path, directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        call("mount", &["-o", OPTIONS, &text(image), &text(directory)])?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// The data directory on it; the root has folders of the file system's own.
    fn data(&self) -> PathBuf {
        self.directory.join("data")
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

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let directory = stage.run.out.join("power");
    let image = stage.run.out.join("power.img");
    let mounted = match make_image(&image, &directory) {
        Ok(mounted) => mounted,
        Err(why) => {
            if !stage.run.quick {
                findings
                    .failures
                    .push(format!("no power can be cut without a file system in an image: {why}"));
            }
            return Ok(());
        }
    };
    let crashes = cut_power(stage, &image, mounted, findings)?;
    findings.figure(LOST, crashes.lost_s_max());
    *findings.figures.entry("torn_starts".to_owned()).or_default() += crashes.n_torn() as f64;
    let text = "As above, on a file system of which everything is lost that was not synchronised.";
    let section = crashes.section("Power cuts", text, findings);
    findings.sections.push(section);
    Ok(())
}

/// Makes an empty file system in a new image, and mounts it.
fn make_image(image: &Path, directory: &Path) -> io::Result<MountedImage> {
    fs::File::create(image)?.set_len(IMAGE_BYTES)?;
    call("mkfs.ext4", &["-q", "-F", &text(image)])?;
    MountedImage::mount(image, directory)
}

fn cut_power(
    stage: &BuildStage<'_>,
    image: &Path,
    mut mounted: MountedImage,
    findings: &mut Findings,
) -> Result<Crashes, ExperimentError> {
    let file = |source| ExperimentError::File { path: image.to_owned(), source };
    Server::prepare(&mounted.data(), REGION_KEYS)?;
    region::fill(&mounted.data(), &stage.content)?;
    // The region is durable before the first round.
    mounted.unmount().map_err(file)?;
    let directory = stage.run.out.join("power");
    mounted = MountedImage::mount(image, &directory).map_err(file)?;

    let (mut rng, mut crashes) = (Rng::new(SEED, 0), Crashes::default());
    for n in 0..stage.size.power_cuts {
        let Some(site) = CrashSite::build(stage, &format!("cut-{n}"), &mounted.data(), &mut rng)? else {
            crashes.n_failed_starts += 1;
            break;
        };
        leave_unsynced(&mounted).map_err(file)?;
        let (cut_ns, history) = site.kill()?;
        let copy = image.with_extension("cut");
        call("cp", &["--sparse=always", &text(image), &text(&copy)]).map_err(file)?;
        mounted.unmount().map_err(file)?;
        fs::rename(&copy, image).map_err(file)?;
        mounted = MountedImage::mount(image, &directory).map_err(file)?;
        if has_unsynced(&mounted) {
            findings.failures.push(format!("cut {}: a file that was not synchronised has survived", n + 1));
        }
        crashes.rounds.push(history.losses(&region::read(&mounted.data())?, cut_ns));
    }
    // The last region has to start, too.
    match Server::start_in(stage.run, "power", &mounted.data()) {
        Ok(server) => server.stop()?,
        Err(_) => crashes.n_failed_starts += 1,
    }
    mounted.unmount().map_err(file)?;
    fs::remove_file(image).map_err(file)?;
    Ok(crashes)
}

/// Writes a file and does not synchronise it.
fn leave_unsynced(mounted: &MountedImage) -> io::Result<()> {
    fs::File::create(mounted.directory.join(UNSYNCED))?.write_all(&[0x5A; 4_096])
}

/// True if the content of that file has survived. Its name may have, with the metadata of a synchronised file.
fn has_unsynced(mounted: &MountedImage) -> bool {
    fs::read(mounted.directory.join(UNSYNCED)).is_ok_and(|bytes| bytes.contains(&0x5A))
}
