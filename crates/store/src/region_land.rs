//! Rows of a region's land: its estate, its parcels, and the patches of its ground that edits have changed.
//!
//! They lie in one table, are saved in the transaction of the region's objects, and are read with these. What a number of a kind stands for, and what a
//! value means, is not known here.

use crate::object_rows::KeyedRows;
use ids::LocalId;
use std::fmt;

/// A kind of rows of a region's land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LandKind {
    /// Settings of the region and its estate: number 0.
    Estate = 0,
    /// A parcel, by its number.
    Parcel = 1,
    /// A patch of the ground, by its place.
    Ground = 2,
    /// A patch of the baked ground, by its place.
    Baked = 3,
}

impl LandKind {
    const ALL: [Self; 4] = [Self::Estate, Self::Parcel, Self::Ground, Self::Baked];

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Estate => "estate",
            Self::Parcel => "parcel",
            Self::Ground => "patch of the ground",
            Self::Baked => "patch of the baked ground",
        }
    }
}

/// Key of a row of a region's land. Rows of one kind lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LandKey {
    /// The kind.
    pub kind: LandKind,
    /// The number among those of its kind.
    pub number: u16,
}

impl LandKey {
    /// The key of this kind and number.
    #[must_use]
    pub const fn new(kind: LandKind, number: u16) -> Self {
        Self { kind, number }
    }

    /// As a number, in the same order: kind × 2^16 + number.
    #[must_use]
    pub const fn code(self) -> u32 {
        (self.kind as u32) << 16 | self.number as u32
    }

    /// The key with this number; `None` for an unknown kind.
    #[must_use]
    pub fn of_code(code: u32) -> Option<Self> {
        let kind = LandKind::ALL.get((code >> 16) as usize)?;
        Some(Self::new(*kind, code as u16))
    }

    /// Its place in keys of the table, which are made like those of objects.
    pub(crate) const fn place(self) -> LocalId {
        LocalId(self.code())
    }
}

impl fmt::Display for LandKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LandKind::Estate => f.write_str(self.kind.as_str()),
            LandKind::Parcel | LandKind::Ground | LandKind::Baked => {
                write!(f, "{} {}", self.kind.as_str(), self.number)
            }
        }
    }
}

/// Values of the rows of a region's land.
pub type LandRows = KeyedRows<LandKey>;

/// The difference of a region's land to its last save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandChanges {
    /// New and changed rows.
    pub rows: LandRows,
    /// Rows that are gone, in the order of their keys, each once. One that is not stored is left out.
    pub gone: Vec<LandKey>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_their_numbers_and_come_back_from_them() {
        let keys = [
            LandKey::new(LandKind::Estate, 0),
            LandKey::new(LandKind::Parcel, 1),
            LandKey::new(LandKind::Parcel, u16::MAX),
            LandKey::new(LandKind::Ground, 0),
            LandKey::new(LandKind::Baked, 4_095),
        ];
        assert!(keys.is_sorted() && keys.map(LandKey::code).is_sorted());
        assert_eq!(keys.map(|key| LandKey::of_code(key.code())), keys.map(Some));
        assert_eq!(LandKey::of_code(4 << 16), None);
        assert_eq!(LandKey::of_code(u32::MAX), None);
        let names = [keys[0], keys[1], keys[3]].map(|key| key.to_string());
        assert_eq!(names, ["estate", "parcel 1", "patch of the ground 0"]);
    }
}
