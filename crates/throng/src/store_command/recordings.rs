//! Recordings of a data directory, brought to the newest version of their format (`docs/internals/formats.md`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Files with another ending are no recordings.
const ENDING: &str = "throngrec";
/// Ending of a recording that is being rewritten. A file left over from an interrupted run is replaced by the next.
const UPGRADING: &str = "upgrading";
/// Recordings hold users' actions and chat.
const PRIVATE_FILE: u32 = 0o600;

/// The outcome for the recordings of a folder.
#[derive(Debug, Default)]
pub(super) struct UpgradedRecordings {
    /// Recordings that have been rewritten.
    pub(super) n_upgraded: usize,
    /// Sentences on those that were not.
    pub(super) problems: Vec<String>,
}

/// Rewrites every recording of a folder that is not of the newest version, each in one step: after an interruption a file is the former
/// or the new one. A missing folder has none.
pub(super) fn upgrade(folder: &Path) -> UpgradedRecordings {
    let mut upgraded = UpgradedRecordings::default();
    let paths = match list(folder) {
        Ok(paths) => paths,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            upgraded.problems.push(format!("{}: {error}", folder.display()));
            Vec::new()
        }
    };
    for path in paths {
        match upgrade_file(&path) {
            Ok(has_changed) => upgraded.n_upgraded += usize::from(has_changed),
            Err(why) => upgraded.problems.push(format!("{}: {why}", path.display())),
        }
    }
    upgraded
}

/// The recordings, by name.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Rewrites a recording unless it is of the newest version; returns whether it did. The modification time stays.
fn upgrade_file(path: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    let former = File::open(path)?;
    let modified = former.metadata()?.modified()?;
    let new_path = path.with_extension(UPGRADING);
    // A file that is left over keeps its own mode when it is opened.
    if new_path.try_exists()? {
        fs::remove_file(&new_path)?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&new_path)?;
    let mut out = BufWriter::new(file);
    let has_changed = recording::upgrade(&mut BufReader::new(former), &mut out).map_err(Into::into).and_then(
        |has_changed| -> Result<bool, Box<dyn std::error::Error>> {
            if has_changed {
                out.flush()?;
                out.get_ref().set_modified(modified)?;
                out.get_ref().sync_all()?;
                fs::rename(&new_path, path)?;
            }
            Ok(has_changed)
        },
    );
    if !matches!(has_changed, Ok(true)) {
        fs::remove_file(&new_path)?;
    }
    has_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn golden(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/formats").join(name)
    }

    #[test]
    fn recordings_of_every_version_become_the_newest_and_damaged_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::copy(golden("recording-4.throngrec"), path("old.throngrec")).unwrap();
        fs::copy(golden("recording-5.throngrec"), path("unauthored.throngrec")).unwrap();
        let mut newest = Vec::new();
        let mut former = File::open(golden("recording-5-step2.throngrec")).unwrap();
        assert!(recording::upgrade(&mut former, &mut newest).unwrap());
        fs::write(path("new.throngrec"), newest).unwrap();
        fs::write(path("damaged.throngrec"), &fs::read(golden("recording-4.throngrec")).unwrap()[..900])
            .unwrap();
        fs::write(path("notes.txt"), "no recording").unwrap();
        // Left by an interrupted run.
        fs::write(path("old.upgrading"), [7; 100]).unwrap();
        let before = ["new.throngrec", "damaged.throngrec"].map(|name| fs::read(path(name)).unwrap());

        let upgraded = upgrade(folder.path());
        assert_eq!(upgraded.n_upgraded, 2, "{upgraded:?}");
        assert_eq!(upgraded.problems.len(), 1, "{upgraded:?}");
        assert!(upgraded.problems[0].contains("damaged.throngrec"), "{upgraded:?}");
        assert_eq!(["new.throngrec", "damaged.throngrec"].map(|name| fs::read(path(name)).unwrap()), before);
        let mut file = File::open(path("old.throngrec")).unwrap();
        assert!(!recording::upgrade(&mut file, &mut io::sink()).unwrap(), "it is of the newest version");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, PRIVATE_FILE);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left over");
        assert_eq!(upgrade(folder.path()).n_upgraded, 0);
    }

    #[test]
    fn a_folder_that_does_not_exist_has_no_recordings() {
        let upgraded = upgrade(Path::new("/nonexistent/recordings"));
        assert_eq!((upgraded.n_upgraded, upgraded.problems.len()), (0, 0));
    }
}
