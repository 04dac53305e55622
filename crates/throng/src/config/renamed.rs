//! Former names of keys: accepted for one version, with a warning.

use figment::value::{Dict, Map, Value};
use figment::{Error, Metadata, Profile, Provider};

/// A key that has been renamed.
#[derive(Debug)]
pub(super) struct FormerName {
    section: &'static str,
    former: &'static str,
    key: &'static str,
}

/// All keys whose former names are accepted.
const FORMER_NAMES: [FormerName; 1] =
    [FormerName { section: "instances", former: "park_after_s", key: "suspend_after_s" }];

impl FormerName {
    /// A sentence for the operator.
    fn warning(&self, origin: &str) -> String {
        let Self { section, former, key } = self;
        format!(
            "`{section}.{former}` ({origin}) is called `{section}.{key}` now; the next version refuses the former name"
        )
    }
}

/// The key that a dotted path names by its former name, and the warning.
pub(super) fn present_name(path: &str, origin: &str) -> Option<(String, String)> {
    let (section, name) = path.split_once('.')?;
    let known = FORMER_NAMES.iter().find(|known| known.section == section && known.former == name)?;
    Some((format!("{section}.{}", known.key), known.warning(origin)))
}

/// A source whose former names are replaced, unless the key has both.
pub(super) struct Renamed<P>(pub(super) P);

impl<P: Provider> Renamed<P> {
    /// A warning for each former name in it.
    pub(super) fn warnings(&self, origin: &str) -> Vec<String> {
        let data = self.0.data().unwrap_or_default();
        let is_in = |dict: &Dict, known: &FormerName| match dict.get(known.section) {
            Some(Value::Dict(_, section)) => section.contains_key(known.former),
            _ => false,
        };
        let used = |known: &&FormerName| data.values().any(|dict| is_in(dict, known));
        FORMER_NAMES.iter().filter(used).map(|known| known.warning(origin)).collect()
    }
}

impl<P: Provider> Provider for Renamed<P> {
    fn metadata(&self) -> Metadata {
        self.0.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let mut data = self.0.data()?;
        for known in &FORMER_NAMES {
            for dict in data.values_mut() {
                if let Some(Value::Dict(_, section)) = dict.get_mut(known.section)
                    && !section.contains_key(known.key)
                    && let Some(value) = section.remove(known.former)
                {
                    section.insert(known.key.to_owned(), value);
                }
            }
        }
        Ok(data)
    }

    fn profile(&self) -> Option<Profile> {
        self.0.profile()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn present_names_are_keys_and_former_ones_are_not() {
        for FormerName { section, former, key } in &FORMER_NAMES {
            let known = Config::SECTIONS.into_iter().find(|known| known.name == *section).unwrap();
            let has = |name: &str| known.keys.iter().any(|key| key.name == name);
            assert!(has(key) && !has(former), "{section}.{former}");
        }
    }
}
