//! Permissions of items, by the rules of prims: no mask has more than base, and what others may is bounded ([`prim::Permissions::bounded`]).

use super::ChangeRefusal;
use crate::inventory::ALL;
use ids::AgentId;
use prim::Mask;
use store::{Permissions, Sale};
use uuid::Uuid;

/// Masks that a user sets. Base and owner mask came with the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedMasks {
    pub(super) group: u32,
    pub(super) everyone: u32,
    pub(super) next_owner: u32,
}

impl SharedMasks {
    /// Masks of an item.
    pub(super) const fn of(permissions: &Permissions) -> Self {
        let Permissions { group_mask: group, everyone, next_owner, .. } = *permissions;
        Self { group, everyone, next_owner }
    }

    /// The bits that have a meaning.
    pub(super) const fn known(self) -> Self {
        Self {
            group: Mask::of_bits(self.group).bits(),
            everyone: Mask::of_bits(self.everyone).bits(),
            next_owner: Mask::of_bits(self.next_owner).bits(),
        }
    }
}

/// Permissions of an item that a user makes: everything for its creator.
pub(super) fn of_new_item(agent: AgentId, next_owner: u32) -> Permissions {
    let new = Permissions {
        creator: agent.0,
        last_owner: agent.0,
        group: Uuid::nil(),
        group_owned: false,
        base: ALL,
        owner: ALL,
        group_mask: 0,
        everyone: 0,
        next_owner: 0,
    };
    with_masks(&new, SharedMasks { group: 0, everyone: 0, next_owner })
}

/// Permissions of a link. The rights of its user are those to the target of the link.
pub(super) const fn of_link(agent: AgentId) -> Permissions {
    Permissions {
        creator: agent.0,
        last_owner: agent.0,
        group: Uuid::nil(),
        group_owned: false,
        base: 0,
        owner: 0,
        group_mask: 0,
        everyone: 0,
        next_owner: 0,
    }
}

/// Permissions with other masks, within the bounds.
pub(super) fn with_masks(permissions: &Permissions, masks: SharedMasks) -> Permissions {
    let bounded = prim::Permissions {
        base: Mask::of_bits(permissions.base),
        owner: Mask::of_bits(permissions.owner),
        group: Mask::of_bits(masks.group),
        everyone: Mask::of_bits(masks.everyone),
        next_owner: Mask::of_bits(masks.next_owner),
    }
    .bounded();
    Permissions {
        group_mask: bounded.group.bits(),
        everyone: bounded.everyone.bits(),
        next_owner: bounded.next_owner.bits(),
        ..permissions.clone()
    }
}

/// True if the owner may change the content of the item.
pub(crate) const fn may_modify(permissions: &Permissions) -> bool {
    Mask::of_bits(permissions.owner & permissions.base).has(Mask::MODIFY)
}

/// True if the owner may copy the item.
pub(super) const fn may_copy(permissions: &Permissions) -> bool {
    Mask::of_bits(permissions.owner & permissions.base).has(Mask::COPY)
}

/// The sale that a request states. Viewers send a price with items that are not for sale, too.
pub(super) const fn sale(kind: u8, price: i32) -> Result<Sale, ChangeRefusal> {
    match (kind, price) {
        (0, _) => Ok(Sale { kind: 0, price: 0 }),
        (1..=3, 0) => Ok(Sale { kind, price }),
        (1..=3, _) => Err(ChangeRefusal::Price),
        _ => Err(ChangeRefusal::SaleKind(kind)),
    }
}
