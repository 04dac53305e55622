//! The regions of the configuration file beside those that run. The file is edited here; a restart of the server applies it.
//!
//! Worlds, places, shards and keepers have their lists of regions from the start on, so that none comes or goes while the server runs.

use crate::config::{
    self, Config, ConfigError, ConfigFile, ConfigFileError, RegionEdit, RegionEditError, RegionSection,
    Sources, edited,
};
use grid_api::regions::RegionRefusal;
use link::SHARED_WORLDS_MAX;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Free squares between a new region without a stated position and those to the west of it: clients draw adjacent regions as one landscape.
const GAP_SQUARES: u32 = 8;
/// The last square on which the configuration lets a region begin.
const SQUARE_MAX: u32 = 64_000;

/// Reasons for which the file of the configuration is not read or not edited.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfiguredError {
    /// There is none.
    #[error(
        "this server was started without a configuration file and has the built-in regions; start it with `--config FILE` to create, remove and \
         rename regions"
    )]
    NoFile,
    /// It cannot be read or replaced.
    #[error(transparent)]
    File(#[from] ConfigFileError),
    /// A server would not start with it as it is.
    #[error("the configuration file is not valid as it is now: {}", problems(.0))]
    Present(ConfigError),
    /// A server would not start with it after the change.
    #[error("{}", problems(.0))]
    Changed(ConfigError),
    /// The text cannot be edited.
    #[error("the configuration file cannot be edited: {0}")]
    Edit(#[from] RegionEditError),
    /// Another order is under way.
    #[error("another order to the configuration file is under way")]
    Busy,
}

/// Problems on one line.
fn problems(error: &ConfigError) -> String {
    let problems: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    if problems.is_empty() { error.to_string() } else { problems.join("; ") }
}

impl From<ConfiguredError> for RegionRefusal {
    fn from(error: ConfiguredError) -> Self {
        let why = format!("Nothing was changed: {error}.");
        match error {
            ConfiguredError::File(ConfigFileError::File { .. }) | ConfiguredError::Busy => {
                Self::unavailable(why)
            }
            ConfiguredError::NoFile
            | ConfiguredError::File(_)
            | ConfiguredError::Present(_)
            | ConfiguredError::Changed(_)
            | ConfiguredError::Edit(_) => Self::conflict(why),
        }
    }
}

/// The regions that run, and the file of those that will.
pub(crate) struct ConfiguredRegions {
    sources: Sources,
    running: Vec<RegionSection>,
    is_busy: AtomicBool,
}

/// The turn of one order, until this is dropped.
pub(super) struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The file as it is, with what a server would start with.
pub(super) struct PresentFile {
    file: ConfigFile,
    pub(super) config: Config,
}

impl ConfiguredRegions {
    /// For a server with this configuration, which came from these sources.
    pub(crate) fn new(config: &Config, sources: &Sources) -> Self {
        Self { sources: sources.clone(), running: numbered(config), is_busy: AtomicBool::new(false) }
    }

    /// The regions that run, with their numbers.
    pub(super) fn running(&self) -> &[RegionSection] {
        &self.running
    }

    /// The file, if there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.sources.file.as_deref()
    }

    /// Begins an order: no other one replaces the text that it has read.
    pub(super) fn begin(&self) -> Result<Turn<'_>, ConfiguredError> {
        if self.is_busy.swap(true, Ordering::Acquire) {
            return Err(ConfiguredError::Busy);
        }
        Ok(Turn(&self.is_busy))
    }

    /// Reads the file.
    pub(super) fn present(&self) -> Result<PresentFile, ConfiguredError> {
        let file = ConfigFile::read(self.path().ok_or(ConfiguredError::NoFile)?)?;
        let loaded = config::load_text(&self.sources, file.text()).map_err(ConfiguredError::Present)?;
        Ok(PresentFile { file, config: loaded.config })
    }

    /// The configuration after a change of the file, which stays as it is.
    pub(super) fn changed(
        &self,
        present: &PresentFile,
        edit: &RegionEdit,
    ) -> Result<(String, Config), ConfiguredError> {
        let text = edited(present.file.text(), &present.config.region, edit)?;
        let loaded = config::load_text(&self.sources, &text).map_err(ConfiguredError::Changed)?;
        Ok((text, loaded.config))
    }
}

impl PresentFile {
    /// Replaces the file.
    pub(super) fn replace(&self, text: &str) -> Result<(), ConfiguredError> {
        Ok(self.file.replace(text)?)
    }
}

/// The regions of a configuration, each with its number, and without former names, which make no other region.
pub(super) fn numbered(config: &Config) -> Vec<RegionSection> {
    let regions = config.region.iter().enumerate();
    let numbered = regions.map(|(index, region)| RegionSection {
        id: region.world(index).0,
        former_name: String::new(),
        ..region.clone()
    });
    numbered.collect()
}

/// A difference between the regions that run and those of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pending<'a> {
    /// It begins.
    Create(&'a RegionSection),
    /// It runs for the last time, and its content stays.
    Remove(&'a RegionSection),
    /// It gets another name, and keeps its content.
    Rename(&'a RegionSection, &'a RegionSection),
    /// It gets other settings.
    Change(&'a RegionSection),
}

impl<'a> Pending<'a> {
    /// The region as it will be, or as it is for the last time.
    pub(super) const fn region(self) -> &'a RegionSection {
        match self {
            Self::Create(region) | Self::Remove(region) | Self::Change(region) | Self::Rename(_, region) => {
                region
            }
        }
    }
}

/// Differences that a restart makes, by numbers: those of the file in its order, then removals.
pub(super) fn pending<'a>(running: &'a [RegionSection], configured: &'a [RegionSection]) -> Vec<Pending<'a>> {
    let by_number = |regions: &'a [RegionSection], id: u32| regions.iter().find(|one| one.id == id);
    let of_file = configured.iter().filter_map(|region| match by_number(running, region.id) {
        None => Some(Pending::Create(region)),
        Some(present) if present.name != region.name => Some(Pending::Rename(present, region)),
        Some(present) => (present != region).then_some(Pending::Change(region)),
    });
    let removed = running.iter().filter(|region| by_number(configured, region.id).is_none());
    of_file.chain(removed.map(Pending::Remove)).collect()
}

/// A place to the east of all regions, in the row of the easternmost one. None at the end of the grid.
pub(super) fn free_place(regions: &[RegionSection]) -> Option<(u32, u32)> {
    let end = |region: &RegionSection| region.x + region.size_m / 256;
    let last = regions.iter().max_by_key(|region| end(region))?;
    let x = end(last) + GAP_SQUARES;
    (x <= SQUARE_MAX).then_some((x, last.y))
}

/// A number that nothing has: the one behind the last used one, while there is one.
pub(super) fn free_number(used: &BTreeSet<u32>) -> Option<u32> {
    let behind = used.last().map_or(1, |last| last.saturating_add(1));
    let is_free = |number: &u32| (1..=SHARED_WORLDS_MAX).contains(number) && !used.contains(number);
    Some(behind).filter(is_free).or_else(|| (1..=SHARED_WORLDS_MAX).find(is_free))
}

/// The refusal of a name that no region has.
pub(super) fn no_region(name: &str, known: &[&str]) -> RegionRefusal {
    RegionRefusal::absent(unknown(name, known))
}

/// A sentence about a name that no region has, with the most similar one.
fn unknown(name: &str, known: &[&str]) -> String {
    let wanted = name.to_lowercase();
    let nearest = known.iter().min_by_key(|one| strsim::damerau_levenshtein(&one.to_lowercase(), &wanted));
    let nearest = nearest.map(|nearest| format!("; the nearest is {nearest:?}")).unwrap_or_default();
    format!("There is no region {name:?}{nearest}. There are: {}.", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    const TEXT: &str =
        "# Ours.\n[[region]]\nname = \"Harbour\" # first\n\n[[region]]\nname = \"Quay\"\nx = 1020\n";

    fn region(name: &str, id: u32, x: u32) -> RegionSection {
        RegionSection { name: name.into(), id, x, ..RegionSection::default() }
    }

    /// A server with a file of this text.
    fn server(text: &str) -> (TempDir, ConfiguredRegions) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("throng.toml");
        fs::write(&path, text).expect("a file");
        let sources = Sources { file: Some(path), ..Sources::default() };
        let config = config::load(&sources).expect("a configuration").config;
        (folder, ConfiguredRegions::new(&config, &sources))
    }

    fn text_of(folder: &TempDir) -> String {
        fs::read_to_string(folder.path().join("throng.toml")).expect("a file")
    }

    #[test]
    fn a_change_of_the_file_is_pending_until_the_server_has_it() {
        let (folder, desk) = server(TEXT);
        let present = desk.present().expect("a file");
        assert!(pending(desk.running(), &numbered(&present.config)).is_empty());
        let edit = RegionEdit::Rename { index: 1, to: "Port".into(), former: Some("Quay".into()) };
        let (text, _) = desk.changed(&present, &edit).expect("a configuration");
        assert_eq!(text_of(&folder), TEXT, "it is not written yet");
        present.replace(&text).expect("a new file");
        let configured = numbered(&desk.present().expect("a file").config);
        assert_eq!(
            pending(desk.running(), &configured),
            [Pending::Rename(&region("Quay", 2, 1020), &region("Port", 2, 1020))]
        );
        let (_folder, next) = server(&text);
        assert!(pending(next.running(), &configured).is_empty(), "the next server has it");
    }

    #[test]
    fn differences_are_told_by_numbers() {
        let running = [region("Harbour", 1, 1000), region("Quay", 2, 1020), region("Old", 3, 1040)];
        let wide = RegionSection { size_m: 512, ..region("Quay", 2, 1020) };
        let configured = [wide.clone(), region("Old", 9, 1040), region("Port", 1, 1000)];
        let told = pending(&running, &configured);
        let expected = [
            Pending::Change(&wide),
            Pending::Create(&configured[1]),
            Pending::Rename(&running[0], &configured[2]),
            Pending::Remove(&running[2]),
        ];
        assert_eq!(told, expected);
        let names: Vec<&str> = told.iter().map(|one| &*one.region().name).collect();
        assert_eq!(names, ["Quay", "Old", "Port", "Old"]);
    }

    #[test]
    fn an_invalid_file_and_one_that_was_changed_meanwhile_are_left_alone() {
        let (folder, desk) = server(TEXT);
        let path = folder.path().join("throng.toml");
        let present = desk.present().expect("a file");
        let (text, _) = desk.changed(&present, &RegionEdit::Remove(0)).expect("a configuration");
        let edited = format!("{TEXT}# By hand.\n");
        fs::write(&path, &edited).expect("a file");
        let told = present.replace(&text);
        assert!(matches!(told, Err(ConfiguredError::File(ConfigFileError::Changed(_)))), "{told:?}");
        assert_eq!(text_of(&folder), edited);
        fs::write(&path, "[[region]]\nname = \"Harbour\"\nsize = 3\n").expect("a file");
        let told = desk.present().map(|present| present.config).expect_err("a wrong key").to_string();
        assert!(
            told.starts_with("the configuration file is not valid as it is now: `region[0].size`"),
            "{told}"
        );
    }

    #[test]
    fn a_twin_is_refused_before_anything_is_written() {
        let (folder, desk) = server(TEXT);
        let present = desk.present().expect("a file");
        let told = |region: RegionSection| {
            let told = desk.changed(&present, &RegionEdit::Add(Box::new(region)));
            told.map(|(text, _)| text).expect_err("refused").to_string()
        };
        assert!(told(region("harbour", 3, 1040)).contains("is the name of region[0] already"));
        assert!(told(region("Port", 3, 1020)).contains("overlaps region[1] (\"Quay\") on the map"));
        assert!(told(region("a\u{202e}b", 3, 1040)).contains("without control characters"));
        assert_eq!(text_of(&folder), TEXT);
    }

    #[test]
    fn a_server_without_a_file_names_the_option() {
        let desk = ConfiguredRegions::new(&Config::default(), &Sources::default());
        let told = desk.present().map(|present| present.config).expect_err("no file").to_string();
        assert!(told.contains("`--config FILE`"), "{told}");
        assert_eq!(desk.running().iter().map(|one| one.id).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn one_order_has_its_turn_at_a_time() {
        let desk = ConfiguredRegions::new(&Config::default(), &Sources::default());
        let turn = desk.begin().expect("no other order");
        assert!(matches!(desk.begin().map(drop), Err(ConfiguredError::Busy)));
        drop(turn);
        assert!(desk.begin().is_ok());
    }

    #[test]
    fn a_new_region_lies_apart_and_has_a_number_that_nothing_has() {
        let wide = RegionSection { size_m: 512, y: 900, ..region("Wide", 2, 1010) };
        assert_eq!(free_place(&[wide, region("Harbour", 1, 1000)]), Some((1020, 900)));
        assert_eq!(free_place(&[region("Last", 1, 64_000)]), None);
        assert_eq!(free_number(&BTreeSet::new()), Some(1));
        assert_eq!(free_number(&BTreeSet::from([1, 5])), Some(6));
        assert_eq!(free_number(&BTreeSet::from([1, SHARED_WORLDS_MAX])), Some(2));
        assert_eq!(free_number(&(1..=SHARED_WORLDS_MAX).collect()), None);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let told = unknown("harbor", &["Quay", "Harbour"]);
        let expected = "There is no region \"harbor\"; the nearest is \"Harbour\". There are: Quay, Harbour.";
        assert_eq!(told, expected);
    }
}
