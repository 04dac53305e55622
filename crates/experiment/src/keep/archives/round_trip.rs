//! Archives that are loaded into a server, saved from it, and compared with themselves: those of every version, and those of other programs.
//!
//! Archives of regions are compared by `throng oar diff`, with the ids that they have. Each load gives ids of inventories anew, so that archives of these are
//! compared by the counts of `throng iar check`.

use super::super::command::{self, number, text};
use super::super::load::log_in;
use super::super::site::KeepStage;
use super::ROOM;
use super::collection::{self, FOREIGN_FOLDER, IAR_VERSIONS, OAR_VERSIONS};
use super::documented::ArchiveFacts;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{REGION, Server};
use ids::Uuid;
use report::{Column, Section, Table};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The account that owns everything.
const OWNER: &str = "Bot0001 Client";
/// Folder of the inventory that archives come into.
const INVENTORY: &str = "/Objects";
/// A quick run takes every fourth version.
const QUICK_STEP: usize = 4;

/// Least and most metres of a region's side on a server.
const SIDE_M: u64 = 256;
const SIDE_MAX_M: u64 = 1_024;

/// Counts of archives of inventories that are compared.
const COUNTS: [&str; 9] =
    ["folders", "items", "links", "links_broken", "objects", "prims", "assets", "missing", "unreadable"];

/// Differences that the page shows.
const SHOWN_MAX: usize = 20;

/// An archive that has come back.
struct RoundTrip {
    archive: String,
    /// Differences beyond the documented ones, in words.
    differences: Vec<String>,
    n_documented: usize,
}

pub(in crate::keep) fn measure(
    stage: &KeepStage<'_>,
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    let step = stage.run.pick(1, QUICK_STEP);
    let folder = stage.run.out.join("round-trip");
    make_empty(&folder)?;
    let site = TripSite::start(stage, &folder, "round-trip-server", ROOM)?;
    let mut trips = Vec::new();
    for n in (0..OAR_VERSIONS.len()).step_by(step) {
        trips.push(site.region_of_version(n)?);
    }
    for n in (0..IAR_VERSIONS.len()).step_by(step) {
        trips.push(site.inventory_of_version(n)?);
    }
    site.server.stop()?;
    let (foreign, note) = foreign_trips(stage, &folder)?;
    trips.extend(foreign);

    let mut table = Table::new(vec![
        Column::text("archive"),
        Column::number("differences", ""),
        Column::number("documented", ""),
    ]);
    for RoundTrip { archive, differences, n_documented } in &trips {
        let (n, n_documented) = (differences.len() as f64, *n_documented as f64);
        table.row(vec![archive.as_str().into(), n.into(), n_documented.into()]);
    }
    let all = || trips.iter().flat_map(|trip| &trip.differences);
    findings.figure("round_trips", trips.len() as f64);
    findings.figure("round_trip_differences", all().count() as f64);
    let text = format!(
        "Archives of every version, with objects, items, parcels, settings and assets, are loaded, saved and \
         compared. Documented differences are those of docs/operating/archives.md. {note}"
    );
    let mut section = Section::new("Round trips of archives").text(&text).table(table);
    let shown: Vec<String> = all().take(SHOWN_MAX).cloned().collect();
    if !shown.is_empty() {
        section = section.verbatim(&(shown.join("\n") + "\n"));
    }
    findings.sections.push(section);
    Ok(())
}

/// Those of other programs, each in a region of its size; and a sentence about them.
fn foreign_trips(stage: &KeepStage<'_>, folder: &Path) -> Result<(Vec<RoundTrip>, String), ExperimentError> {
    let files = collection::foreign()?;
    if files.is_empty() {
        return Ok((
            Vec::new(),
            format!("There are none of other programs: {FOREIGN_FOLDER} names no folder with any."),
        ));
    }
    let (mut trips, mut skipped) = (Vec::new(), Vec::new());
    for file in files {
        let checked = check(stage, "oar", &file)?;
        let regions = checked["regions"].as_array().map_or(&[][..], Vec::as_slice);
        let side_m = regions.first().map_or(SIDE_M, side_of);
        if regions.len() > 1 || side_m > SIDE_MAX_M {
            skipped.push(name_of(&file));
            continue;
        }
        let settings = format!("size_m = {side_m}\n{ROOM}");
        let site = TripSite::start(stage, folder, "round-trip-foreign", &settings)?;
        trips.push(site.region(&file, &checked, false)?);
        site.server.stop()?;
    }
    let note = match skipped.len() {
        0 => "All of other programs were compared.".to_owned(),
        _ => format!(
            "Of other programs, those with several or larger regions were left out: {}.",
            skipped.join(", ")
        ),
    };
    Ok((trips, note))
}

/// Side of the region that has room for one of an archive, metres.
fn side_of(region: &Value) -> u64 {
    let sides = region["size_m"].as_array().map_or(&[][..], Vec::as_slice);
    let longest = sides.iter().filter_map(Value::as_u64).max().unwrap_or(SIDE_M);
    longest.max(1).next_multiple_of(SIDE_M)
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn make_empty(folder: &Path) -> Result<(), ExperimentError> {
    let failed = |source| ExperimentError::File { path: folder.to_owned(), source };
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

fn check(stage: &KeepStage<'_>, kind: &str, file: &Path) -> Result<Value, ExperimentError> {
    let words = [kind, "check", &text(file), "--json"];
    command::run(stage.run, "round-trip-check", &words)?.expect(&[0, 1])
}

/// A server with an account, through which archives go.
struct TripSite<'a> {
    stage: &'a KeepStage<'a>,
    folder: &'a Path,
    server: Server,
    owner: Uuid,
}

impl<'a> TripSite<'a> {
    fn start(
        stage: &'a KeepStage<'a>,
        folder: &'a Path,
        name: &str,
        settings: &str,
    ) -> Result<Self, ExperimentError> {
        let data = stage.prepare(name, settings)?;
        let server = Server::start_in(stage.run, name, &data)?;
        let (bots, known) = log_in(stage, &server, &format!("{name}-owner"), 1)?;
        stage.dismiss(bots)?;
        Ok(Self { stage, folder, server, owner: known[0].agent })
    }

    /// A subcommand on the server, which may leave parts out if it is not to be whole.
    fn order(&self, name: &str, words: &[&str], is_whole: bool) -> Result<Value, ExperimentError> {
        let data = text(&self.server.data);
        let words = [words, &["--json", "--data", &data]].concat();
        let statuses: &[i32] = if is_whole { &[0] } else { &[0, 1] };
        let finished = command::run(self.stage.run, name, &words)?;
        let answer = finished.expect(statuses)?;
        match answer["state"] == "done" {
            true => Ok(answer),
            false => Err(finished.error(format!("ended without its work: {answer}"))),
        }
    }

    /// An archive of a region of our own.
    fn region_of_version(&self, n: usize) -> Result<RoundTrip, ExperimentError> {
        let (major, minor) = OAR_VERSIONS[n];
        let file = self.folder.join(format!("region-{major}-{minor}.oar"));
        collection::write_region(&file, n, self.stage.size.round_trip_prims, self.owner)?;
        let checked = check(self.stage, "oar", &file)?;
        self.region(&file, &checked, true)
    }

    /// Any archive of one region. Nothing of our own is to be left out.
    fn region(&self, file: &Path, checked: &Value, is_own: bool) -> Result<RoundTrip, ExperimentError> {
        let version = version_of(checked);
        let (path, saved) = (text(file), self.saved(file));
        let target = text(&saved);
        // Without a name of the region in the archive, which may be any.
        let load = ["oar", "load", &path, "--region", REGION, "--keep-ids", "--default-user", OWNER];
        let loaded = self.order("round-trip-load", &load, is_own)?;
        let what: &[&str] = if version.0 == 1 { &["--all"] } else { &["--region", REGION] };
        self.order("round-trip-save", &[&["oar", "save", &target][..], what].concat(), is_own)?;
        let words = ["oar", "diff", &path, &target, "--json"];
        let compared = command::run(self.stage.run, "round-trip-diff", &words)?.expect(&[0, 1])?;
        remove(&saved)?;

        let facts = ArchiveFacts::new(version, checked, &loaded);
        let rows = compared.as_array().map_or(&[][..], Vec::as_slice);
        let (documented, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| facts.explain(row));
        let archive = name_of(file);
        let differences = others.into_iter().map(|row| format!("{archive}: {row}")).collect();
        Ok(RoundTrip { differences, n_documented: documented.len(), archive })
    }

    /// An archive of an inventory of our own.
    fn inventory_of_version(&self, n: usize) -> Result<RoundTrip, ExperimentError> {
        let (major, minor) = IAR_VERSIONS[n];
        let file = self.folder.join(format!("inventory-{major}-{minor}.iar"));
        collection::write_inventory(&file, n, self.owner)?;
        let (path, saved) = (text(&file), self.saved(&file));
        let target = text(&saved);
        let load = ["iar", "load", &path, "--user", OWNER, "--folder", INVENTORY];
        self.order("round-trip-load", &load, true)?;
        let inner = format!("{INVENTORY}/{}", collection::folder_name(n));
        let save = ["iar", "save", &target, "--user", OWNER, "--folder", &inner];
        self.order("round-trip-save", &save, true)?;
        let (before, after) = (check(self.stage, "iar", &file)?, check(self.stage, "iar", &saved)?);
        remove(&saved)?;
        let archive = name_of(&file);
        let differs = |key: &&str| number(&before, key).total_cmp(&number(&after, key)).is_ne();
        let words = |key: &str| format!("{archive}: {key} are {} and then {}", before[key], after[key]);
        let differences = COUNTS.into_iter().filter(differs).map(words).collect();
        Ok(RoundTrip { differences, n_documented: 0, archive })
    }

    /// Place of an archive that was loaded and saved; there is none yet.
    fn saved(&self, file: &Path) -> PathBuf {
        self.folder.join(format!("again-{}", name_of(file)))
    }
}

fn remove(file: &Path) -> Result<(), ExperimentError> {
    fs::remove_file(file).map_err(|source| ExperimentError::File { path: file.to_owned(), source })
}

/// Version of an archive that was checked; 0.0 without one.
fn version_of(checked: &Value) -> (u32, u32) {
    let parsed = checked["version"].as_str().and_then(|text| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    parsed.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_and_sides_are_read_from_a_check() {
        assert_eq!(version_of(&json!({ "version": "1.0" })), (1, 0));
        assert_eq!(version_of(&json!({ "version": null })), (0, 0));
        for (size_m, side_m) in [
            (json!([256, 256]), 256),
            (json!([512, 256]), 512),
            (json!([300, 1]), 512),
            (json!([4_096, 4_096]), 4_096),
            (Value::Null, 256),
        ] {
            assert_eq!(side_of(&json!({ "size_m": size_m })), side_m, "{size_m}");
        }
    }
}
