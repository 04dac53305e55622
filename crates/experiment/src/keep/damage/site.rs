//! Data with rows of all kinds, a backup of it, and archives; and the commands that look for damage.

use super::super::archives::collection;
use super::super::backup::list_files;
use super::super::command::{self, Finished, number, text};
use super::super::site::KeepStage;
use super::pages::DatabasePages;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::server::{CONFIG_FILE, REGION, Server};
use bots::rng::Rng;
use ids::Uuid;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::StoreUrl;

/// Time in which bots carry, so that there are rows of most kinds.
const CARRYING: Duration = Duration::from_secs(20);
const CARRYING_QUICK: Duration = Duration::from_secs(2);
const RATE_HZ: &str = "8";
const PLOT_M: &str = "8";
const LAST_NAME: &str = "Porter";
const PORTER: &str = "Bot0001 Porter";
/// Template of an instance.
const TEMPLATE: &str = "\n[[template]]\nname = \"Cave\"\n";

/// Numbers of the versions of both archives: 0.8 and 0.3.
const REGION_VERSION: usize = 7;
const INVENTORY_VERSION: usize = 2;
/// Bytes at the beginning of a file of gzip that say nothing of its content, such as its time.
const GZIP_HEADER: u64 = 10;
/// Directory of the assets in a data directory, and in one of backups.
const ASSETS: &str = "assets";

/// Kind of the commands that look for damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Verify,
    Restore,
    RegionArchive,
    InventoryArchive,
}

/// A kind of file or row, with all its places.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) kind: String,
    pub(super) look: Look,
    /// Ranges of bytes in files.
    places: Vec<(PathBuf, Range<u64>)>,
}

impl Target {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Any byte of any place.
    pub(super) fn place(&self, rng: &mut Rng) -> (&Path, u64) {
        let (file, range) = &self.places[(rng.next() % self.places.len() as u64) as usize];
        (file, range.start + rng.next() % (range.end - range.start))
    }
}

/// The data.
pub(super) struct DamageSite<'a> {
    stage: &'a KeepStage<'a>,
    data: PathBuf,
    backups: PathBuf,
    region: PathBuf,
    inventory: PathBuf,
    /// Faults of the whole data.
    n_faults: f64,
}

impl<'a> DamageSite<'a> {
    /// Has bots carry, loads an archive, and makes an instance, a token and a backup.
    pub(super) fn make(stage: &'a KeepStage<'a>) -> Result<Self, ExperimentError> {
        let (run, out) = (stage.run, &stage.run.out);
        let data = stage.prepare("damage", TEMPLATE)?;
        let (region, inventory) = (out.join("damage.oar"), out.join("damage.iar"));
        let stranger = Uuid::from_u128(0x6461_6d61_6765_4e65_8000_0000_0000_0001);
        collection::write_region(&region, REGION_VERSION, stage.size.round_trip_prims, stranger)?;
        collection::write_inventory(&inventory, INVENTORY_VERSION, stranger)?;

        let server = Server::start_in(run, "damage", &data)?;
        let (count, record) = (stage.size.carriers, text(&out.join("damage.record")));
        remove(Path::new(&record))?;
        let options = ["--behavior", "stand", "--audit", &record, "--last-name", LAST_NAME];
        let options = [&options[..], &["--rate", RATE_HZ, "--plot", PLOT_M]].concat();
        let mut bots = Bots::start(run, &server, "porters", count, &options)?;
        bots.command(&format!("enter {count}"))?;
        let data_text = text(&data);
        let load = ["oar", "load", &text(&region), "--region", REGION, "--default-user", PORTER, "--json"];
        let load = [&load[..], &["--merge", "--data", &data_text]].concat();
        command::run(run, "damage-load", &load)?.expect(&[0])?;
        server.order("/v1/worlds", json!({ "template": "Cave" }))?;
        let token = ["token", "create", "--name", "damage", "--scope", "backup", "--data", &data_text];
        let token = command::run(run, "damage-token", &token)?;
        if token.code() != Some(0) {
            return Err(token.error(format!("has made no token: {}", token.complaint.trim())));
        }
        bots.command("behavior carry")?;
        clock::wait(run.pick(CARRYING, CARRYING_QUICK));
        stage.dismiss(bots)?;
        server.stop()?;

        let backups = out.join("damage-backups");
        remove_folder(&backups)?;
        let mut site = Self { stage, data, backups, region, inventory, n_faults: 0.0 };
        let made = site.order("damage-backup", &["backup", &text(&site.backups), "--data", &data_text])?;
        made.expect(&[0])?;
        let whole = site.verify()?.expect(&[0, 1])?;
        site.n_faults = number(&whole, "damaged") + number(&whole, "missing");
        Ok(site)
    }

    /// All kinds of files and rows.
    pub(super) fn targets(&self) -> Result<Vec<Target>, ExperimentError> {
        let mut targets = self.rows()?;
        let mut add = |kind: String, look, places: Vec<(PathBuf, Range<u64>)>| {
            targets.push(Target { kind, look, places });
        };
        add("files of assets".to_owned(), Look::Verify, whole_files(&self.data.join(ASSETS))?);
        let mut by_name: BTreeMap<String, Vec<(PathBuf, Range<u64>)>> = BTreeMap::new();
        for (path, range) in whole_files(&self.backups.join("backups"))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            by_name.entry(name).or_default().push((path, range));
        }
        for (name, places) in by_name {
            add(format!("backup: {name}"), Look::Restore, places);
        }
        add("backup: files of assets".to_owned(), Look::Restore, whole_files(&self.backups.join(ASSETS))?);
        for (kind, look, path) in [
            ("archive of a region", Look::RegionArchive, &self.region),
            ("archive of an inventory", Look::InventoryArchive, &self.inventory),
        ] {
            add(kind.to_owned(), look, vec![(path.clone(), GZIP_HEADER..length(path)?)]);
        }
        Ok(targets)
    }

    /// The rows of each table of the database.
    fn rows(&self) -> Result<Vec<Target>, ExperimentError> {
        let path = StoreUrl::path_in_directory(&self.data);
        let bytes = fs::read(&path).map_err(failed(&path))?;
        let pages = DatabasePages::new(&bytes)
            .ok_or_else(|| failed(&path)(io::Error::other("it is no database of SQLite")))?;
        let target = |(table, rows): (String, Vec<Range<usize>>)| {
            let place = |row: Range<usize>| (path.clone(), row.start as u64..row.end as u64);
            let places = rows.into_iter().map(place).collect();
            Target { kind: format!("table {table}"), look: Look::Verify, places }
        };
        Ok(pages.rows().into_iter().map(target).collect())
    }

    /// True if the command finds and names a fault.
    pub(super) fn look(&self, look: Look) -> Result<bool, ExperimentError> {
        let finished = match look {
            Look::Verify => self.verify()?,
            Look::Restore => {
                let to = self.stage.run.out.join("damage-restored");
                remove_folder(&to)?;
                let (backups, to_text) = (text(&self.backups), text(&to));
                let finished = self.order("damage-restore", &["restore", &backups, "--to", &to_text])?;
                remove_folder(&to)?;
                finished
            }
            Look::RegionArchive => self.check("oar", &self.region)?,
            Look::InventoryArchive => self.check("iar", &self.inventory)?,
        };
        let before = if look == Look::Verify { self.n_faults } else { 0.0 };
        Ok(is_named(&finished, before))
    }

    fn check(&self, kind: &str, archive: &Path) -> Result<Finished, ExperimentError> {
        command::run(self.stage.run, "damage-check", &[kind, "check", &text(archive), "--json"])
    }

    fn verify(&self) -> Result<Finished, ExperimentError> {
        self.order("damage-verify", &["verify", "--deep", "--data", &text(&self.data)])
    }

    fn order(&self, name: &str, words: &[&str]) -> Result<Finished, ExperimentError> {
        let config = text(&self.data.join(CONFIG_FILE));
        command::run(self.stage.run, name, &[words, &["--json", "--config", &config]].concat())
    }
}

/// True if a command has failed and states more faults than before, or the reason for which it cannot read.
fn is_named(finished: &Finished, before: f64) -> bool {
    let answer = finished.json();
    let is_stated = if answer.is_null() {
        !finished.complaint.trim().is_empty()
    } else {
        let counts = ["damaged", "missing", "unreadable", "differences"].map(|key| number(&answer, key));
        counts.into_iter().filter(|count| count.is_finite()).sum::<f64>() > before
    };
    finished.code().is_some_and(|code| code != 0) && is_stated
}

/// Flips bits of a byte.
pub(super) fn flip(path: &Path, at: u64, bits: u8) -> Result<(), ExperimentError> {
    let flipped = || {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at)?;
        byte[0] ^= bits;
        file.write_all_at(&byte, at)
    };
    flipped().map_err(failed(path))
}

/// All files below a folder that have a content.
fn whole_files(folder: &Path) -> Result<Vec<(PathBuf, Range<u64>)>, ExperimentError> {
    let mut files = BTreeMap::new();
    list_files(folder, folder, &mut files).map_err(failed(folder))?;
    let sized = files.into_values().map(|path| length(&path).map(|bytes| (path, 0..bytes)));
    let all: Vec<_> = sized.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|(_, range)| !range.is_empty()).collect())
}

fn length(path: &Path) -> Result<u64, ExperimentError> {
    fs::metadata(path).map(|data| data.len()).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ExperimentError + use<> {
    let path = path.to_owned();
    move |source| ExperimentError::File { path: path.clone(), source }
}

fn remove(file: &Path) -> Result<(), ExperimentError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(file)(source)),
        _ => Ok(()),
    }
}

fn remove_folder(folder: &Path) -> Result<(), ExperimentError> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(folder)(source)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_is_flipped_twice_is_as_it_was_and_empty_files_have_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, empty) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, [1, 2, 3]).unwrap();
        fs::write(&empty, []).unwrap();
        flip(&file, 1, 0x80).unwrap();
        assert_eq!(fs::read(&file).unwrap(), [1, 0x82, 3]);
        flip(&file, 1, 0x80).unwrap();
        assert_eq!(fs::read(&file).unwrap(), [1, 2, 3]);
        assert!(flip(&file, 3, 1).is_err());
        let places = whole_files(folder.path()).unwrap();
        assert_eq!(places, [(file.clone(), 0..3)]);
        let target = Target { kind: "file".to_owned(), look: Look::Verify, places };
        let mut rng = Rng::new(7, 0);
        assert!((0..20).all(|_| {
            let (path, at) = target.place(&mut rng);
            path == file && at < 3
        }));
    }
}
