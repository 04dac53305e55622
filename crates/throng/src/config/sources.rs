//! Values that come as text, one at a time: the environment and the command line.

use super::problem::ConfigProblem;
use super::renamed::present_name;
use super::{Config, Key, check};
use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Map, Tag, Value};
use figment::{Error, Metadata, Profile, Provider};
use std::path::{Path, PathBuf};

/// Prefix of the variables; `THRONG__GATEWAY__SEND_HZ` is `send_hz` of `[gateway]`.
pub const ENV_PREFIX: &str = "THRONG__";

/// Sources besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The TOML file of `--config`.
    pub file: Option<PathBuf>,
    /// The environment; variables without [`ENV_PREFIX`] are passed over.
    pub env: Vec<(String, String)>,
    /// Names of variables with that prefix that are no Unicode, or whose values are none, as far as they can be shown.
    pub unreadable_env: Vec<String>,
    /// The flags that were given.
    pub flags: Vec<Flag>,
}

/// A flag of the command line that sets a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// As typed, such as `--http`.
    pub name: &'static str,
    /// The key, such as `server.http`.
    pub key: &'static str,
    /// The value as text.
    pub value: String,
}

/// One key set by one variable or flag.
#[derive(Debug)]
pub(super) struct Override {
    section: &'static str,
    key: &'static Key,
    value: Value,
    origin: String,
}

impl Sources {
    /// The process's environment besides `file` and `flags`.
    #[must_use]
    pub fn with_process_env(file: Option<PathBuf>, flags: Vec<Flag>) -> Self {
        let (mut env, mut unreadable_env) = (Vec::new(), Vec::new());
        for (name, value) in std::env::vars_os() {
            let shown = name.to_string_lossy().into_owned();
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => env.push((name, value)),
                _ if shown.starts_with(ENV_PREFIX) => unreadable_env.push(shown),
                _ => {}
            }
        }
        Self { file, env, unreadable_env, flags }
    }

    /// Overrides by the environment and the flags, in order of precedence, and the variables that name no key. Former names give a
    /// warning.
    pub(super) fn overrides(&self, warnings: &mut Vec<String>) -> (Vec<Override>, Vec<ConfigProblem>) {
        let (mut overrides, mut problems) = (Vec::new(), Vec::new());
        for name in &self.unreadable_env {
            problems.push(ConfigProblem {
                key: key_path(name),
                value: String::new(),
                origin: format!("environment variable {name}"),
                message: "is set to something that is not UTF-8".into(),
            });
        }
        for (name, text) in &self.env {
            if !name.starts_with(ENV_PREFIX) {
                continue;
            }
            let mut path = key_path(name);
            let origin = format!("environment variable {name}");
            if let Some((present, warning)) = present_name(&path, &origin) {
                path = present;
                warnings.push(warning);
            }
            match find(&path) {
                Some((section, key)) => {
                    overrides.push(Override { section, key, value: key.kind.read(text), origin })
                }
                None if is_repeated(&path) => problems.push(ConfigProblem {
                    key: path,
                    value: String::new(),
                    origin,
                    message: "cannot be set from the environment; regions, templates and portals are tables of the file".into(),
                }),
                None => {
                    let nearest = check::nearest(&path);
                    let variable = format!("{ENV_PREFIX}{}", nearest.to_uppercase().replace('.', "__"));
                    let message = format!("is not a known key; the nearest is `{nearest}` ({variable})");
                    problems.push(ConfigProblem { key: path, value: String::new(), origin, message });
                }
            }
        }
        for flag in &self.flags {
            let (section, key) = find(flag.key).expect("flags name keys that exist");
            let origin = format!("flag {}", flag.name);
            overrides.push(Override { section, key, value: key.kind.read(&flag.value), origin });
        }
        (overrides, problems)
    }
}

/// The dotted path of the key that a variable sets.
fn key_path(variable: &str) -> String {
    variable.trim_start_matches(ENV_PREFIX).to_lowercase().replace("__", ".")
}

/// The key with this dotted path, outside repeated sections.
fn find(path: &str) -> Option<(&'static str, &'static Key)> {
    let (section, key) = path.split_once('.')?;
    let section = Config::SECTIONS.into_iter().find(|known| known.name == section && !known.repeated)?;
    Some((section.name, section.keys.iter().find(|known| known.name == key)?))
}

/// A text in the place of the file's.
#[derive(Debug)]
pub(super) struct FileText<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Provider for FileText<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::from("TOML file", self.path)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Toml::string(self.text).data()
    }
}

impl Provider for Override {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let section = Dict::from([(self.key.name.to_owned(), self.value.clone())]);
        let values = Dict::from([(self.section.to_owned(), Value::Dict(Tag::Default, section))]);
        Ok(Map::from([(Profile::Default, values)]))
    }
}
/// True if a path leads into a section that may occur several times.
fn is_repeated(path: &str) -> bool {
    let section = path.split('.').next().unwrap_or(path);
    Config::SECTIONS.into_iter().any(|known| known.repeated && known.name == section)
}
