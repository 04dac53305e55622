//! Owners of prims and of items in them: users with a claim, offers for sale, bounds of names.

use crate::permissions::Permissions;
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};

/// Bytes of a name, without a closing zero.
pub const NAME_MAX: usize = 63;
/// Bytes of a description, without a closing zero.
pub const DESCRIPTION_MAX: usize = 127;

/// Users with a claim on a prim, or on an item in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ownership {
    /// Its maker, which never changes.
    pub creator: AgentId,
    /// Its owner.
    pub owner: AgentId,
    /// The owner before.
    pub last_owner: AgentId,
    /// Its group; null for none.
    pub group: Uuid,
    /// Masks.
    pub permissions: Permissions,
}

/// Kinds of sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SaleKind {
    /// Not for sale.
    #[default]
    No = 0,
    /// The object itself.
    Original = 1,
    /// A copy of it.
    Copy = 2,
    /// Its contents.
    Contents = 3,
}

impl SaleKind {
    /// The kind with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::No),
            1 => Some(Self::Original),
            2 => Some(Self::Copy),
            3 => Some(Self::Contents),
            _ => None,
        }
    }
}

/// Offer of a prim or an item for sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sale {
    /// The thing that is sold.
    pub kind: SaleKind,
    /// In the grid's currency; not negative.
    pub price: i32,
}
