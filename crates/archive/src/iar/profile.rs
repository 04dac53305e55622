//! Profiles of users in an inventory's archive: names by which creators are found on another grid.

use crate::fields::{
    self, DocumentError, DocumentField, DocumentLayout, DocumentSource, ReadDocument, field,
};
use ids::Uuid;

const ROOT: &str = "user_profile";

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedProfile {
    /// First and last name.
    pub name: String,
    /// The account.
    pub id: Uuid,
    /// Text about the user.
    pub about: String,
    /// The document that it was read from.
    pub source: DocumentSource,
}

const FIELDS: [DocumentField<ArchivedProfile>; 3] =
    [field!("name", name), field!("id", id), field!("about", about)];

impl ArchivedProfile {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn read(bytes: &[u8]) -> Result<ReadDocument<Self>, DocumentError> {
        let (mut read, source) = fields::read(ROOT, &FIELDS, bytes)?;
        read.value.source = source;
        Ok(read)
    }

    /// Writes its document, in version 0.1: as it was read, but for values that have changed.
    #[must_use]
    pub fn write(&self) -> String {
        if self.source.is_empty() {
            let attributes = " major_version=\"0\" minor_version=\"1\"";
            return fields::fresh(ROOT, attributes, &FIELDS, DocumentLayout::Lines, self);
        }
        fields::write(ROOT, &FIELDS, DocumentLayout::Lines, self, &self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_as_they_were_written() {
        let profile = ArchivedProfile {
            name: "Ada Lovelace".to_owned(),
            id: Uuid::from_u128(7),
            about: "a < b".to_owned(),
            source: DocumentSource::default(),
        };
        let text = profile.write();
        assert!(text.contains("<user_profile major_version=\"0\" minor_version=\"1\">"), "{text}");
        let mut again = ArchivedProfile::read(text.as_bytes()).unwrap().value;
        assert_eq!((&again.name, again.id, &again.about), (&profile.name, profile.id, &profile.about));
        assert_eq!(again.write(), text);
        again.name = "Ada Byron".to_owned();
        assert_eq!(again.write(), text.replace("Lovelace", "Byron"));
    }
}
