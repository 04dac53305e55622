//! Backups of a running server with many assets: the first one, the next one with some new assets, and a rehearsal whose result is compared with the source.

use super::archives::generate::{OarPlan, write_oar};
use super::command::{self, Finished, number, text};
use super::load::{LoadCrew, log_in};
use super::site::KeepStage;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{CONFIG_FILE, REGION, Server};
use ids::Uuid;
use report::{Column, Section, Table};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use store::{StoreUrl, TableDigest};

/// Accounts and threads that upload; one account may have 32 uploads begun.
const ACCOUNTS: u32 = 16;
const THREADS: usize = 16;
/// Seeds of the first textures and of the new ones, and of the region's content.
const SEED: u64 = 37;
const SEED_NEW: u64 = 38;
const SEED_REGION: u64 = 2;
/// Share of new assets between two backups.
const NEW_SHARE: f64 = 0.01;
/// The account that gets the region's content.
const OWNER: &str = "Bot0001 Client";

/// Backups may read as much as they can.
const UNPACED: &str = "\n[backup]\nbytes_per_s = 1099511627776\n";
/// Directory of the assets in a data directory.
const ASSETS: &str = "assets";

/// Counts that a rehearsal and the source have alike.
const COUNTS: [&str; 3] = ["assets", "items", "objects"];

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let data = stage.prepare("backup", "")?;
    let server = Server::start_in(run, "backup", &data)?;
    let (bots, known) = log_in(stage, &server, "backup-uploaders", ACCOUNTS)?;
    let mut crew = LoadCrew::connect(run, &known, THREADS)?;
    crew.upload(stage.size.backup_assets, SEED)?;
    load_region(stage, &data)?;

    let site = BackupSite { stage, data: &data, backups: run.out.join("backups") };
    site.remove(&site.backups)?;
    run.references.sample();
    let first = site.back_up("backup-first", &site.backups)?;
    let n_new = ((stage.size.backup_assets as f64 * NEW_SHARE) as usize).max(1);
    crew.upload(n_new, SEED_NEW)?;
    run.references.sample();
    let next = site.back_up("backup-next", &site.backups)?;
    stage.dismiss(bots)?;
    server.stop()?;

    Server::configure(&data, UNPACED)?;
    let server = Server::start_in(run, "backup", &data)?;
    let elsewhere = run.out.join("backups-unpaced");
    site.remove(&elsewhere)?;
    run.references.sample();
    let unpaced = site.back_up("backup-unpaced", &elsewhere)?;
    server.stop()?;
    site.remove(&elsewhere)?;

    findings.figure("backup_mb_per_s", first.mb_per_s());
    findings.figure("backup_mb_per_s_unpaced", unpaced.mb_per_s());
    findings.figure("backup_next_ratio", next.seconds / first.seconds);
    findings.figure("backup_next_s", next.seconds);
    let differences = site.rehearse()?;
    findings.figure("rehearsal_differences", differences.len() as f64);
    findings.sections.push(section(
        stage,
        [("first", &first), ("next", &next), ("first, unpaced", &unpaced)],
        &differences,
    ));
    site.remove(&site.backups)
}

/// Gives the region objects, so that they are compared, too.
fn load_region(stage: &KeepStage<'_>, data: &Path) -> Result<(), ExperimentError> {
    let file = stage.run.out.join("backup-region.oar");
    let plan = OarPlan {
        version: (0, 8),
        owner: Uuid::from_u128(0x6261_636b_7570_4e65_8000_0000_0000_0001),
        n_prims: stage.size.round_trip_prims,
        n_textures: 8,
        bytes: 0,
        has_assets: true,
        seed: SEED_REGION,
    };
    write_oar(&file, &plan)?;
    let (path, data) = (text(&file), text(data));
    let words =
        ["oar", "load", &path, "--region", REGION, "--default-user", OWNER, "--json", "--data", &data];
    command::run(stage.run, "backup-load", &words)?.expect(&[0]).map(drop)
}

fn section(stage: &KeepStage<'_>, backups: [(&str, &TimedBackup); 3], differences: &[String]) -> Section {
    let mut table = Table::new(vec![
        Column::text("backup"),
        Column::number("time", "s"),
        Column::number("size", "MB"),
        Column::number("copied", "MB"),
    ]);
    for (name, backup) in backups {
        let TimedBackup { seconds, bytes, copied_bytes } = *backup;
        table.row(vec![name.into(), seconds.into(), (bytes / 1e6).into(), (copied_bytes / 1e6).into()]);
    }
    let text = format!(
        "A server with {} textures of 60 kB and a small region; `throng backup` from its start to its end, \
         at the usual pace, then with {} % more textures, and without a pace. Then, without a server, one \
         more backup is rehearsed and restored: figures, tables and files are compared with the source.",
        stage.size.backup_assets,
        report::number(NEW_SHARE * 100.0)
    );
    let section = Section::new("Backups").text(&text).table(table);
    if differences.is_empty() { section } else { section.verbatim(&(differences.join("\n") + "\n")) }
}

/// A backup with its time.
struct TimedBackup {
    seconds: f64,
    /// Bytes of its database, its list and all its assets, and those that were copied.
    bytes: f64,
    copied_bytes: f64,
}

impl TimedBackup {
    fn mb_per_s(&self) -> f64 {
        self.bytes / 1e6 / self.seconds
    }
}

/// A data directory and the directory of its backups.
struct BackupSite<'a> {
    stage: &'a KeepStage<'a>,
    data: &'a Path,
    backups: PathBuf,
}

impl BackupSite<'_> {
    /// A subcommand with the configuration of the data directory.
    fn order(&self, name: &str, words: &[&str]) -> Result<Finished, ExperimentError> {
        let config = text(&self.data.join(CONFIG_FILE));
        let words = [words, &["--json", "--config", &config]].concat();
        command::run(self.stage.run, name, &words)
    }

    /// Makes a backup, by the server if there is one. It has to be whole.
    fn back_up(&self, name: &str, directory: &Path) -> Result<TimedBackup, ExperimentError> {
        let (directory, data) = (text(directory), text(self.data));
        let finished = self.order(name, &["backup", &directory, "--data", &data])?;
        let made = finished.expect(&[0])?;
        Ok(TimedBackup {
            seconds: finished.took.as_secs_f64(),
            bytes: number(&made, "bytes"),
            copied_bytes: number(&made, "copied_bytes"),
        })
    }

    /// Backs the data of no server up once more, has that rehearsed and restored, and compares both with the source: the differences in words.
    fn rehearse(&self) -> Result<Vec<String>, ExperimentError> {
        self.back_up("backup-last", &self.backups)?;
        let source = self.verify("backup-source", self.data)?;
        let backups = text(&self.backups);
        let rehearsed =
            self.order("backup-rehearsal", &["restore", &backups, "--rehearse"])?.expect(&[0, 1])?;
        let restored = self.stage.run.out.join("restored");
        self.remove(&restored)?;
        let to = text(&restored);
        let written = self.order("backup-restore", &["restore", &backups, "--to", &to])?.expect(&[0, 1])?;
        let again = self.verify("backup-restored", &restored)?;

        let mut differences = Vec::new();
        for (what, of) in [("rehearsal", &rehearsed), ("restore", &written), ("restored data", &again)] {
            differences.extend(flaws(what, of));
            differences.extend(unequal_counts(what, &source, of));
        }
        if let Some(why) = rehearsed["failure"].as_str() {
            differences.push(format!("rehearsal: {why}"));
        }
        differences.extend(unequal_tables(self.data, &restored)?);
        differences.extend(unequal_files(&self.data.join(ASSETS), &restored.join(ASSETS))?);
        self.remove(&restored)?;
        Ok(differences)
    }

    fn verify(&self, name: &str, data: &Path) -> Result<Value, ExperimentError> {
        let data = text(data);
        self.order(name, &["verify", "--deep", "--data", &data])?.expect(&[0, 1])
    }

    /// Removes a directory, if it is there.
    fn remove(&self, directory: &Path) -> Result<(), ExperimentError> {
        match fs::remove_dir_all(directory) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(ExperimentError::File { path: directory.to_owned(), source })
            }
            _ => Ok(()),
        }
    }
}

/// Faults that an answer states: each counts, whatever its kind.
fn flaws(what: &str, answer: &Value) -> Vec<String> {
    let stated = ["differences", "damaged", "missing"].into_iter();
    let stated = stated.filter_map(|key| Some((key, answer[key].as_u64().filter(|count| *count > 0)?)));
    stated.map(|(key, count)| format!("{what}: {count} {key}")).collect()
}

fn unequal_counts(what: &str, source: &Value, answer: &Value) -> Vec<String> {
    let unequal = COUNTS.into_iter().filter(|key| source[*key] != answer[*key] || source[*key].is_null());
    unequal.map(|key| format!("{what}: {} {key} of {}", answer[key], source[key])).collect()
}

/// Tables whose rows are not those of the source.
fn unequal_tables(source: &Path, restored: &Path) -> Result<Vec<String>, ExperimentError> {
    let read = |data: &Path| {
        let failed = |why: store::StoreError| ExperimentError::Archive {
            reason: format!("tables of {}: {why}", data.display()),
        };
        store::read_back(&StoreUrl::of_directory(data)).map_err(failed)
    };
    let of_restored = read(restored)?;
    let unequal = |table: &TableDigest| {
        (!of_restored.contains(table)).then(|| format!("table {} of {} rows", table.table, table.rows))
    };
    Ok(read(source)?.iter().filter_map(unequal).collect())
}

/// Files that are on one side only, or have other bytes.
fn unequal_files(source: &Path, restored: &Path) -> Result<Vec<String>, ExperimentError> {
    let read = |folder: &Path| {
        let mut files = BTreeMap::new();
        list_files(folder, folder, &mut files)
            .map(|()| files)
            .map_err(|error| ExperimentError::File { path: folder.to_owned(), source: error })
    };
    let (mut of_source, of_restored) = (read(source)?, read(restored)?);
    let mut unequal = Vec::new();
    for (name, path) in of_restored {
        let is_equal = match of_source.remove(&name) {
            Some(other) => {
                let bytes =
                    |path: PathBuf| fs::read(&path).map_err(|source| ExperimentError::File { path, source });
                bytes(path)? == bytes(other)?
            }
            None => false,
        };
        if !is_equal {
            unequal.push(format!("file {}", name.display()));
        }
    }
    unequal.extend(of_source.into_keys().map(|name| format!("file {} is missing", name.display())));
    Ok(unequal)
}

/// Files below a folder, by their paths from there.
pub(super) fn list_files(
    root: &Path,
    folder: &Path,
    files: &mut BTreeMap<PathBuf, PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            list_files(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.insert(name, path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_stated_fault_and_each_other_count_is_a_difference() {
        let source = json!({ "assets": 3, "items": 2, "objects": 1, "damaged": 0, "missing": 0 });
        assert!(flaws("x", &source).is_empty() && unequal_counts("x", &source, &source).is_empty());
        let other = json!({ "assets": 2, "items": 2, "damaged": 1, "missing": 0, "differences": 4 });
        assert_eq!(flaws("x", &other), ["x: 4 differences", "x: 1 damaged"]);
        assert_eq!(unequal_counts("x", &source, &other), ["x: 2 assets of 3", "x: null objects of 1"]);
    }

    #[test]
    fn files_are_compared_by_name_and_bytes() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, name, bytes) in [
            (&a, "same", "1"),
            (&b, "same", "1"),
            (&a, "other", "1"),
            (&b, "other", "2"),
            (&a, "gone", "1"),
            (&b, "new", "1"),
        ] {
            fs::create_dir_all(folder.path().join("ab")).unwrap();
            fs::write(folder.path().join("ab").join(name), bytes).unwrap();
        }
        let unequal = unequal_files(a.path(), b.path()).unwrap();
        assert_eq!(unequal, ["file ab/new", "file ab/other", "file ab/gone is missing"]);
    }
}
