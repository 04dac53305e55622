//! The control file of an inventory's archive.

use crate::fields::{self, DocumentError, DocumentField, DocumentSource, ReadDocument, field};
use crate::oar::{read_version, write_with_version};

const ROOT: &str = "archive";

/// A control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IarControl {
    /// Major and minor version.
    pub version: (u32, u32),
    /// False if assets were left out. Since 0.3 and 1.2.
    pub assets_included: Option<bool>,
    /// The document that it was read from.
    pub source: DocumentSource,
}

const FIELDS: [DocumentField<IarControl>; 1] = [field!("assets_included", assets_included)];

impl IarControl {
    /// The control file in OpenSimulator's present version: 0.3, or 1.2 with creators of other grids.
    #[must_use]
    pub fn new(has_foreign_creators: bool, assets_included: bool) -> Self {
        let version = if has_foreign_creators { (1, 2) } else { (0, 3) };
        Self { version, assets_included: Some(assets_included), source: DocumentSource::default() }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`], also for a version that is too new.
    pub fn read(bytes: &[u8]) -> Result<ReadDocument<Self>, DocumentError> {
        let version = read_version(bytes)?;
        let (mut read, source) = fields::read(ROOT, &FIELDS, bytes)?;
        (read.value.version, read.value.source) = (version, source);
        Ok(read)
    }

    /// Writes its document: as it was read, but for values that have changed.
    #[must_use]
    pub fn write(&self) -> String {
        write_with_version(self.version, &FIELDS, self, &self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_read_as_it_was_written() {
        for version in [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)] {
            for assets_included in [None, Some(true), Some(false)] {
                let control = IarControl { version, assets_included, ..IarControl::default() };
                let text = control.write();
                let again = IarControl::read(text.as_bytes()).unwrap().value;
                assert_eq!(again.write(), text);
                assert_eq!((again.version, again.assets_included), (version, assets_included));
            }
        }
        let present = [IarControl::new(true, true), IarControl::new(false, false)];
        assert_eq!(present.map(|control| control.version), [(1, 2), (0, 3)]);
        let newer = IarControl::read(b"<archive major_version='2' minor_version='0'/>").unwrap_err();
        assert_eq!(newer, DocumentError::Version(2, 0));
    }
}
