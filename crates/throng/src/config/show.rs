//! The configuration in effect, and where each value came from.

use super::{Config, ConfigSection};
use figment::Figment;
use figment::value::{Dict, Tag, Value};
use std::fmt::Write as _;

/// A valid configuration that remembers its sources.
#[derive(Debug)]
pub struct Effective {
    /// The values.
    pub config: Config,
    /// Sentences for the operator on names that are accepted for the last time.
    pub warnings: Vec<String>,
    figment: Figment,
}

impl Effective {
    pub(super) const fn new(config: Config, figment: Figment, warnings: Vec<String>) -> Self {
        Self { config, warnings, figment }
    }

    /// Source of the value of a key such as `server.http`: `default`, a file, a variable or a flag.
    #[must_use]
    pub fn origin(&self, key: &str) -> String {
        self.figment
            .find_value(key)
            .map_or_else(|_| DEFAULT.into(), |value| origin(&self.figment, value.tag()))
    }

    /// The whole configuration as TOML that can be read back, with the origin of each value as a comment.
    #[must_use]
    pub fn show(&self) -> String {
        let values = Value::serialize(&self.config).expect("a configuration serialises");
        let values = values.as_dict().expect("a struct serialises to a table");
        let mut out = String::new();
        for section in Config::SECTIONS {
            match &values[section.name] {
                Value::Array(_, tables) => {
                    // A region's table is given as a whole; the keys that it leaves out are defaults.
                    let given = self.figment.find_value(section.name).ok();
                    let given = given.as_ref().and_then(Value::as_array).unwrap_or_default();
                    for (index, table) in tables.iter().enumerate() {
                        let given = given.get(index).and_then(Value::as_dict);
                        self.show_table(&mut out, &section, table, |name| given?.get(name).map(Value::tag));
                    }
                }
                table => {
                    let find = |name: &str| self.figment.find_value(&format!("{}.{name}", section.name)).ok();
                    self.show_table(&mut out, &section, table, |name| find(name).map(|value| value.tag()));
                }
            }
        }
        out
    }

    fn show_table(
        &self,
        out: &mut String,
        section: &ConfigSection,
        table: &Value,
        tag: impl Fn(&str) -> Option<Tag>,
    ) {
        let table: &Dict = table.as_dict().expect("a section serialises to a table");
        let separator = if out.is_empty() { "" } else { "\n" };
        let (open, close) = if section.repeated { ("[[", "]]") } else { ("[", "]") };
        let _ = writeln!(out, "{separator}{open}{}{close}", section.name);
        for key in section.keys {
            let origin = tag(key.name).map_or_else(|| DEFAULT.into(), |tag| origin(&self.figment, tag));
            let _ = writeln!(out, "{} = {} # {origin}", key.name, key.kind.show(&table[key.name]));
        }
    }
}

const DEFAULT: &str = "default";

/// Source of a value, as text.
pub(super) fn origin(figment: &Figment, tag: Tag) -> String {
    let Some(metadata) = figment.get_metadata(tag) else { return DEFAULT.into() };
    match metadata.source.as_ref().and_then(|source| source.file_path()) {
        Some(path) => path.display().to_string(),
        // The defaults come from our own code, all others are named by us.
        None if metadata.source.is_some() => DEFAULT.into(),
        None => metadata.name.to_string(),
    }
}

/// A value as TOML.
pub(super) fn to_toml(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| format!("{value:?}"), |value| value.to_string())
}
