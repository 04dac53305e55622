//! A database of PostgreSQL for the servers of a run, in place of the file in their data directory.

use crate::error::ExperimentError;
use std::fmt;
use store::{Store, StoreError, StoreUrl};

/// Its address. Shown without its password.
#[derive(Clone)]
pub struct RunStore {
    text: String,
    url: StoreUrl,
}

impl RunStore {
    /// Reads an address, which may lack the password that `with_password` adds.
    ///
    /// # Errors
    /// [`ExperimentError::Store`] for text that is none, or that names a file: files are in the data directories of a run.
    pub fn new(
        text: &str,
        with_password: impl FnOnce(StoreUrl) -> StoreUrl,
    ) -> Result<Self, ExperimentError> {
        let refused = |reason: String| ExperimentError::Store { reason };
        let url: StoreUrl = text.parse().map_err(|why: store::StoreUrlError| refused(why.to_string()))?;
        if url.is_file() {
            return Err(refused("must be \"postgres://USER@HOST/DATABASE\"".to_owned()));
        }
        Ok(Self { text: text.to_owned(), url: with_password(url) })
    }

    /// A text without the password, such as the command line that names this address.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        text.replace(&self.text, &self.to_string())
    }

    /// Section of the configuration of a server. Servers close their data directory, which has it, to other users.
    pub(crate) fn settings(&self) -> String {
        // A string of JSON is one of TOML.
        format!("\n[store]\nurl = {}\n", serde_json::Value::from(self.text.as_str()))
    }

    /// Refuses a database with accounts: what it has of an earlier run is in no record of this one.
    pub(crate) fn require_empty(&self) -> Result<(), ExperimentError> {
        let failed = |why: StoreError| ExperimentError::Database(Box::new(why));
        let store = Store::open(&self.url).map_err(failed)?;
        match store.accounts(None, 1).map_err(failed)?.is_empty() {
            true => Ok(()),
            false => {
                Err(ExperimentError::Store { reason: format!("{self} has accounts; name an empty one") })
            }
        }
    }
}

impl fmt::Display for RunStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl fmt::Debug for RunStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.url, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "postgres://throng:hunter2@db.example:5433/grid?options=-c%20search_path%3Druns";

    #[test]
    fn an_address_stands_in_the_configuration_and_is_shown_without_its_password() {
        let store = RunStore::new(ADDRESS, |url| url).unwrap();
        assert_eq!(store.settings(), format!("\n[store]\nurl = \"{ADDRESS}\"\n"));
        let shown = "postgres://throng@db.example:5433/grid";
        assert_eq!(
            store.mask(&format!("throng experiment run keep-kills --store={ADDRESS} --quick")),
            format!("throng experiment run keep-kills --store={shown} --quick")
        );
        assert!(!format!("{store:?}").contains("hunter2"), "{store:?}");
    }

    #[test]
    fn a_file_and_other_text_are_refused() {
        for text in ["sqlite:", "sqlite:/srv/grid.sqlite", "mysql://a:hunter2@b/c", ""] {
            let why = RunStore::new(text, |url| url).unwrap_err().to_string();
            assert!(why.starts_with("--store must be ") && why.contains("postgres://"), "{text}: {why}");
            assert!(!why.contains("hunter2"), "{why}");
        }
    }
}
