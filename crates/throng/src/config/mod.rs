//! The configuration: its keys, their sources, and the problems of their values.
//!
//! A key's value comes from the last of these that names it: the default, the TOML file of `--config`, the environment
//! (`THRONG__SECTION__KEY`), the command line. [`load`] reads them all, refuses unknown keys and invalid values (naming every problem
//! at once), and returns an [`Effective`] configuration with the source of each value.
//!
//! To add a key, add it to [`sections`](self) with its documentation: struct, default, check, `throng config docs` and `throng config
//! show` follow from that one declaration. `docs/operating/config.md` is the output of the former; a test compares them.

mod address;
mod check;
mod docs;
mod file;
mod key;
pub(crate) mod parts;
mod problem;
mod region_edit;
mod renamed;
mod sections;
mod show;
mod sources;
mod store_address;
pub(crate) mod tunables;

pub use address::PublicAddress;
pub use docs::docs;
pub(crate) use file::{ConfigFile, ConfigFileError};
pub(crate) use key::network;
pub use key::{ConfigSection, Key, KeyKind};
pub use problem::{ConfigError, ConfigProblem};
pub(crate) use region_edit::{RegionEdit, RegionEditError, edited};
pub(crate) use sections::hz_or;
pub use sections::{
    AgentUpdateFilter, AssetsSection, AvatarSection, BackupSection, CapturesSection, Database,
    DiagnoseSection, Gateway, HttpSection, InstancesSection, InventorySection, LoginSection, ObjectsSection,
    Page, PortalSection, PublicChatAudience, RecorderSection, RegionSection, ServerSection, TemplateSection,
    TerrainShape, WorldSection,
};
pub use show::Effective;
pub use sources::{ENV_PREFIX, Flag, Sources};
pub use store_address::StoreAddress;

use renamed::Renamed;
use sources::FileText;

use figment::providers::{Format, Serialized, Toml};
use figment::{Figment, Profile, Provider};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Name, data directory and addresses.
    pub server: ServerSection,
    /// The database.
    pub store: Database,
    /// Content of users.
    pub assets: AssetsSection,
    /// Backups.
    pub backup: BackupSection,
    /// Content for clients.
    pub http: HttpSection,
    /// Objects that users build.
    pub objects: ObjectsSection,
    /// Inventories.
    pub inventory: InventorySection,
    /// Avatars.
    pub avatar: AvatarSection,
    /// Accounts and attempts.
    pub login: LoginSection,
    /// Circuits.
    pub gateway: Gateway,
    /// Stepping.
    pub world: WorldSection,
    /// The page with the live map.
    pub page: Page,
    /// The flight recorder.
    pub recorder: RecorderSection,
    /// Captures of it.
    pub captures: CapturesSection,
    /// Crashes and faults.
    pub diagnose: DiagnoseSection,
    /// Instances.
    pub instances: InstancesSection,
    /// The regions, in order of creation.
    pub region: Vec<RegionSection>,
    /// Templates of instances.
    pub template: Vec<TemplateSection>,
    /// Ways between worlds.
    pub portal: Vec<PortalSection>,
}

impl Config {
    /// Every section, in the order of the documentation.
    pub const SECTIONS: [ConfigSection; 19] = [
        ServerSection::SECTION,
        Database::SECTION,
        AssetsSection::SECTION,
        BackupSection::SECTION,
        HttpSection::SECTION,
        ObjectsSection::SECTION,
        InventorySection::SECTION,
        AvatarSection::SECTION,
        LoginSection::SECTION,
        Gateway::SECTION,
        WorldSection::SECTION,
        Page::SECTION,
        RecorderSection::SECTION,
        CapturesSection::SECTION,
        DiagnoseSection::SECTION,
        InstancesSection::SECTION,
        RegionSection::SECTION,
        TemplateSection::SECTION,
        PortalSection::SECTION,
    ];
}

impl Default for Config {
    fn default() -> Self {
        let hills = RegionSection { name: "Harbour".into(), ..RegionSection::default() };
        // Not adjacent to the first: clients would draw them as one landscape that cannot be crossed.
        let large = RegionSection {
            name: "Meadows".into(),
            x: 1010,
            size_m: 512,
            seed: 2,
            ..RegionSection::default()
        };
        Self {
            server: ServerSection::default(),
            store: Database::default(),
            assets: AssetsSection::default(),
            backup: BackupSection::default(),
            http: HttpSection::default(),
            objects: ObjectsSection::default(),
            inventory: InventorySection::default(),
            avatar: AvatarSection::default(),
            login: LoginSection::default(),
            gateway: Gateway::default(),
            world: WorldSection::default(),
            page: Page::default(),
            recorder: RecorderSection::default(),
            captures: CapturesSection::default(),
            diagnose: DiagnoseSection::default(),
            instances: InstancesSection::default(),
            region: vec![hills, large],
            template: Vec::new(),
            portal: Vec::new(),
        }
    }
}

/// Reads the configuration from all sources.
///
/// # Errors
/// When the file cannot be read or parsed, or when any source sets an unknown key, a value of the wrong type or range, or
/// values that contradict each other. All problems are in the one error.
pub fn load(sources: &Sources) -> Result<Effective, ConfigError> {
    let file = sources.file.as_deref();
    load_file(sources, file.map(|path| (path, Toml::file_exact(path))))
}

/// The same, as if the file had this text. Without a file the text is not looked at.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_text(sources: &Sources, text: &str) -> Result<Effective, ConfigError> {
    let file = sources.file.as_deref();
    load_file(sources, file.map(|path| (path, FileText { path, text })))
}

fn load_file(sources: &Sources, file: Option<(&Path, impl Provider)>) -> Result<Effective, ConfigError> {
    let mut figment = Figment::from(Serialized::defaults(Config::default()));
    let mut warnings = Vec::new();
    if let Some((path, file)) = file {
        let file = Renamed(file);
        warnings.extend(file.warnings(&path.display().to_string()));
        figment = figment.merge(file);
        figment.data().map_err(|error| ConfigError::unreadable(path, error))?;
    }
    let (overrides, mut problems) = sources.overrides(&mut warnings);
    for one in overrides {
        figment = figment.merge(one);
    }
    let values = figment.data().expect("every source was read").remove(&Profile::Default).unwrap_or_default();
    problems.extend(check::values(&values, |value| show::origin(&figment, value.tag())));
    if !problems.is_empty() {
        return Err(ConfigError::new(problems));
    }
    let mut config: Config = figment.extract().expect("values that were checked fit the fields");
    // Files that belong together are moved together.
    if let Some(directory) = sources.file.as_ref().and_then(|file| file.parent()) {
        let of_templates =
            config.template.iter_mut().flat_map(|template| [&mut template.npcs, &mut template.content]);
        let of_regions = config.region.iter_mut().map(|region| &mut region.content);
        for path in of_templates.chain(of_regions).filter(|path| !path.as_os_str().is_empty()) {
            *path = directory.join(&path);
        }
    }
    let problems = check::together(&config);
    if problems.is_empty() {
        Ok(Effective::new(config, figment, warnings))
    } else {
        Err(ConfigError::new(problems))
    }
}

#[cfg(test)]
mod tests;
