//! Removal of linksets from the world, and their destinations.

use ids::{LocalId, Uuid};
use serde::{Deserialize, Serialize};

/// Removal of linksets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Derez {
    /// Roots of the linksets.
    pub objects: Vec<LocalId>,
    /// Their destination.
    pub kind: DerezKind,
    /// Folder of an inventory; null without one. For [`DerezKind::Save`] the item.
    pub folder: Uuid,
    /// The client's number of the request; null without one.
    pub transaction: Uuid,
}

/// Destinations of linksets that are taken out of the world. Variants are appended, never moved: snapshots have their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DerezKind {
    /// None: they are gone.
    Delete,
    /// Their owner, as rubbish.
    Trash,
    /// Their owner, by order of another user.
    Return,
    /// The acting user.
    Take,
    /// The acting user gets a copy, and the linkset stays.
    TakeCopy,
    /// An item of the acting user gets the linkset as its content, and the linkset stays.
    Save,
}

impl DerezKind {
    /// Name in lists for operators.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Trash => "trash",
            Self::Return => "return",
            Self::Take => "take",
            Self::TakeCopy => "take_copy",
            Self::Save => "save",
        }
    }

    /// The kind with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::TakeCopy),
            4 => Some(Self::Take),
            6 => Some(Self::Trash),
            9 => Some(Self::Return),
            16 => Some(Self::Save),
            _ => None,
        }
    }

    /// Its code in rows of the store: that of DeRezObject, where another one names it. [`Self::Delete`], of which the store has none, is 0. [`Self::Save`] is a
    /// number that clients have no meaning for, since theirs is 0.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Delete => 0,
            Self::TakeCopy => 1,
            Self::Take => 4,
            Self::Trash => 6,
            Self::Return => 9,
            Self::Save => 16,
        }
    }

    /// True if the linksets stay in the world, and what leaves it is a copy.
    #[must_use]
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::TakeCopy | Self::Save)
    }
}

#[cfg(test)]
mod tests {
    use super::DerezKind;

    #[test]
    fn destinations_without_a_kind_are_unknown() {
        assert_eq!(DerezKind::of_code(4), Some(DerezKind::Take));
        assert_eq!([0, 2, 3, 5, 7, 8, 10, 255].map(DerezKind::of_code), [None; 8]);
        let of = |code| DerezKind::of_code(code).map(DerezKind::code);
        assert_eq!([1, 4, 6, 9, 16].map(of), [1, 4, 6, 9, 16].map(Some));
        assert!(DerezKind::Save.is_copy() && !DerezKind::Take.is_copy());
    }
}
