//! Faults that were found: each with its kind, its place, its name and its owner.

use assets::AssetHash;
use ids::AgentId;
use serde_json::{Value, json};
use std::fmt;

/// Faults that a list names; further ones are counted only.
pub(crate) const NAMED_MAX: usize = 1_000;

/// Bytes of a sentence in a list.
const TEXT_MAX: usize = 500;

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlawKind {
    /// It is not as it was written, or contradicts the rest.
    Damaged,
    /// It does not exist, although something names it.
    Missing,
}

impl FlawKind {
    /// In one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
        }
    }
}

/// Place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoredPart {
    /// The file of the database, or rows that refer to nothing.
    Database,
    /// An instance.
    Instance,
    /// The row of a region.
    Region,
    /// A prim of a region.
    Object,
    /// A row of a region's land.
    Land,
    /// A linkset that is held outside of the regions.
    Held,
    /// An object that an avatar wears, by its item.
    Worn,
    /// The appearance of an avatar.
    Appearance,
    /// A folder of an inventory.
    Folder,
    /// An item of an inventory, or of a prim.
    Item,
    /// The bytes of an asset, or its row.
    Asset,
    /// An account.
    Account,
    /// An offer of a thing to a user.
    Offer,
    /// A token of the operator's API.
    Token,
    /// A job of the operator.
    Job,
    /// A row of another table.
    Row,
}

impl StoredPart {
    /// In one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Instance => "instance",
            Self::Region => "region",
            Self::Object => "object",
            Self::Land => "land",
            Self::Held => "held",
            Self::Worn => "worn",
            Self::Appearance => "appearance",
            Self::Folder => "folder",
            Self::Item => "item",
            Self::Asset => "asset",
            Self::Account => "account",
            Self::Offer => "offer",
            Self::Token => "token",
            Self::Job => "job",
            Self::Row => "row",
        }
    }
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFlaw {
    /// Its kind.
    pub kind: FlawKind,
    /// Its place.
    pub part: StoredPart,
    /// Its id, or number: of an object with the number of its region.
    pub id: String,
    /// Its name, as far as it is known.
    pub name: String,
    /// Its owner.
    pub owner: Option<AgentId>,
    /// First and last name of that account, if it exists.
    pub owner_name: Option<String>,
    /// The evidence, in words.
    pub why: String,
    /// Hash of the bytes, of a content.
    pub content: Option<AssetHash>,
}

impl StoredFlaw {
    /// A fault without an owner.
    pub(crate) fn new(
        kind: FlawKind,
        part: StoredPart,
        id: impl fmt::Display,
        name: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        let (name, why) = (shortened(name.into()), shortened(why.into()));
        Self { kind, part, id: id.to_string(), name, owner: None, owner_name: None, why, content: None }
    }

    /// The same of an owner.
    pub(crate) fn of(self, owner: Option<AgentId>) -> Self {
        Self { owner, ..self }
    }

    fn to_json(&self) -> Value {
        let owner = self.owner.map(|owner| owner.0.to_string());
        json!({
            "fault": self.kind.as_str(),
            "part": self.part.as_str(),
            "id": self.id,
            "name": self.name,
            "owner": owner,
            "owner_name": self.owner_name,
            "why": self.why,
        })
    }
}

/// `missing item 3b3f… "Blue hat" of Ada Lovelace: its asset … does not exist`
impl fmt::Display for StoredFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.part.as_str())?;
        if !self.id.is_empty() {
            write!(f, " {}", self.id)?;
        }
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        match (&self.owner_name, self.owner) {
            (Some(name), _) => write!(f, " of {name}")?,
            (None, Some(AgentId(owner))) => write!(f, " of {owner}")?,
            (None, None) => {}
        }
        write!(f, ": {}", self.why)
    }
}

/// Texts of users and of libraries, cut at a length.
fn shortened(text: String) -> String {
    let text = text.replace('\0', "");
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Faults that were found: all are counted, and the first of them named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultList {
    named: Vec<StoredFlaw>,
    damaged: u64,
    missing: u64,
}

impl FaultList {
    /// Adds a fault.
    pub(crate) fn note(&mut self, flaw: StoredFlaw) {
        self.count(flaw.kind, 1);
        if self.named.len() < NAMED_MAX {
            self.named.push(flaw);
        }
    }

    /// Counts faults without naming them.
    pub(crate) fn count(&mut self, kind: FlawKind, n: u64) {
        match kind {
            FlawKind::Damaged => self.damaged += n,
            FlawKind::Missing => self.missing += n,
        }
    }

    /// The first faults, at most a thousand.
    #[must_use]
    pub fn named(&self) -> &[StoredFlaw] {
        &self.named
    }

    pub(crate) fn named_mut(&mut self) -> &mut [StoredFlaw] {
        &mut self.named
    }

    /// Things that are damaged.
    #[must_use]
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Things that are missing.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.missing
    }

    /// True without any fault.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.damaged == 0 && self.missing == 0
    }

    /// Faults that are counted and not named.
    #[must_use]
    pub const fn unnamed(&self) -> u64 {
        self.damaged + self.missing - self.named.len() as u64
    }

    /// As a list for JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.named.iter().map(StoredFlaw::to_json).collect()
    }

    /// As lines for people, each with a line break behind it.
    #[must_use]
    pub fn lines(&self) -> String {
        let mut lines: String = self.named.iter().map(|flaw| format!("{flaw}\n")).collect();
        if self.unnamed() > 0 {
            lines.push_str(&format!("{} more faults are not listed\n", self.unnamed()));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    #[test]
    fn faults_are_named_with_their_owners() {
        let ada = Some(AgentId(Uuid::from_u128(7)));
        let (kind, part) = (FlawKind::Missing, StoredPart::Item);
        let flaw = StoredFlaw::new(kind, part, 3, "Blue hat", "it has no asset").of(ada);
        assert_eq!(
            flaw.to_string(),
            "missing item 3 \"Blue hat\" of 00000000-0000-0000-0000-000000000007: it has no asset"
        );
        let named = StoredFlaw { owner_name: Some("Ada Lovelace".into()), ..flaw };
        assert_eq!(named.to_string(), "missing item 3 \"Blue hat\" of Ada Lovelace: it has no asset");
        let plain = StoredFlaw::new(FlawKind::Damaged, StoredPart::Database, "", "", "page 7 is torn");
        assert_eq!(plain.to_string(), "damaged database: page 7 is torn");
    }

    #[test]
    fn a_list_names_the_first_faults_and_counts_all() {
        let mut faults = FaultList::default();
        assert!(faults.is_empty() && faults.lines().is_empty());
        for n in 0..NAMED_MAX + 7 {
            let kind = if n % 2 == 0 { FlawKind::Damaged } else { FlawKind::Missing };
            faults.note(StoredFlaw::new(kind, StoredPart::Asset, n, "é".repeat(2_000), "x\0y"));
        }
        assert_eq!((faults.damaged(), faults.missing(), faults.unnamed()), (504, 503, 7));
        assert_eq!(faults.named()[0].why, "xy");
        assert_eq!(faults.named()[0].name.chars().count(), TEXT_MAX + 1);
        assert!(faults.lines().ends_with("7 more faults are not listed\n"));
    }
}
