//! The address of the database, as it stands in the configuration.

use serde::{Deserialize, Serialize};
use std::fmt;
use store::{StoreUrl, StoreUrlError};

/// Text that is the address of a database. Shown without its password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreAddress {
    text: String,
    url: StoreUrl,
}

impl StoreAddress {
    /// As the store takes it.
    #[must_use]
    pub const fn url(&self) -> &StoreUrl {
        &self.url
    }
}

impl Default for StoreAddress {
    fn default() -> Self {
        Self::try_from("sqlite:".to_owned()).expect("this is an address")
    }
}

impl TryFrom<String> for StoreAddress {
    type Error = StoreUrlError;

    fn try_from(text: String) -> Result<Self, StoreUrlError> {
        Ok(Self { url: text.parse()?, text })
    }
}

impl From<StoreAddress> for String {
    fn from(address: StoreAddress) -> Self {
        address.text
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}
