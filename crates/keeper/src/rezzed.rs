//! Objects that are rezzed from an inventory: the linksets of an item's asset with the names, owners and masks of the item.
//!
//! The rules are OpenSimulator's. A single linkset has the name and description of its item. An item that has changed its owner since its object was taken
//! (*slammed*) limits the masks of all prims, removes the rights of other users, and converts the contents for the next owner. Otherwise the prims keep their masks.
//! In both cases masks that the owner has changed in the inventory replace those of the prims.

use crate::object_asset::{decode_object, decode_object_in_place};
use archive::object::ObjectError;
use ids::{AgentId, SessionKey, Uuid};
use link::{DerezKind, HeldObject, PlacedLinkset};
use prim::body::{DESCRIPTION_MAX, NAME_MAX};
use prim::{Body, Mask, Ownership, Permissions, Sale, SaleKind, item_flags};
use std::sync::Arc;
use store::Item;

/// Flag of an item whose object has several linksets.
const HAS_SEVERAL_LINKSETS: u32 = 1 << 21;
/// Flag of an item whose offer for sale applies to its object.
const SLAM_SALE: u32 = 1 << 12;
/// Next owner's rights in the lowest bits of an item's base mask, and the shift to the rights themselves.
const FOLDED: u32 = 0xF;
const FOLD_SHIFT: u32 = 13;

/// Terms of rezzing an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RezTerms {
    /// Session of the owner.
    pub by: SessionKey,
    /// Group of the prims from now on; null for none.
    pub group: Uuid,
    /// True if the roots keep their positions in the region that they left, instead of positions relative to each other.
    pub is_put_back: bool,
}

/// Decodes the object of an item from the bytes of its asset, and applies the item's properties.
///
/// # Errors
/// [`ObjectError`].
pub fn object_of_item(
    owner: AgentId,
    item: &Item,
    bytes: &[u8],
    terms: RezTerms,
) -> Result<HeldObject, ObjectError> {
    let linksets = if terms.is_put_back { decode_object_in_place(bytes)? } else { decode_object(bytes)? };
    Ok(of_owner(owner, item, linksets, terms))
}

/// Converts the linksets of an item's asset into an object of the item's owner.
pub(crate) fn of_owner(
    owner: AgentId,
    item: &Item,
    mut linksets: Vec<PlacedLinkset>,
    terms: RezTerms,
) -> HeldObject {
    let has_changed_hands =
        linksets.iter().filter_map(|prims| prims.first()).any(|(_, root)| root.body.ownership.owner != owner);
    let is_single = linksets.len() == 1 && item.flags & HAS_SEVERAL_LINKSETS == 0;
    let rules = ItemRules {
        owner,
        item,
        group: terms.group,
        is_single,
        is_slammed: has_changed_hands || item.flags & item_flags::SLAM_PERMISSIONS != 0,
    };
    linksets.iter_mut().for_each(|prims| rules.apply(prims));
    HeldObject {
        owner,
        by: terms.by,
        kind: DerezKind::Take,
        folder: item.folder,
        transaction: Uuid::nil(),
        is_worn: false,
        linksets,
    }
}

/// Changes of an object by its item.
struct ItemRules<'a> {
    owner: AgentId,
    item: &'a Item,
    group: Uuid,
    is_single: bool,
    is_slammed: bool,
}

impl ItemRules<'_> {
    fn apply(&self, prims: &mut PlacedLinkset) {
        for (number, (_, versioned)) in prims.iter_mut().enumerate() {
            let body = Arc::make_mut(&mut versioned.body);
            if number == 0 {
                self.name(body);
                self.offer(body);
            }
            self.own(body);
        }
    }

    fn name(&self, body: &mut Body) {
        if self.is_single {
            body.names.name = cut(&self.item.name, NAME_MAX).into();
            body.names.description = cut(&self.item.description, DESCRIPTION_MAX).into();
        }
    }

    fn offer(&self, body: &mut Body) {
        if self.is_slammed {
            body.sale = Sale::default();
        } else if self.item.flags & SLAM_SALE != 0 {
            let kind = SaleKind::of_code(self.item.sale.kind).unwrap_or_default();
            body.sale = Sale { kind, price: self.item.sale.price.max(0) };
        }
    }

    /// Owners, group and masks of a prim and its items.
    fn own(&self, body: &mut Body) {
        let former = *body.ownership;
        let (owner, group) = (self.owner, self.group);
        let permissions = if self.is_slammed {
            self.slammed(former.permissions)
        } else {
            self.overwritten(former.permissions)
        };
        let last_owner = if former.owner == owner { former.last_owner } else { former.owner };
        let ownership = Ownership { owner, last_owner, group, permissions, ..former };
        if ownership != former {
            body.ownership = Arc::new(ownership);
        }
        let Some(contents) = &mut body.contents else { return };
        if self.is_slammed {
            *contents = Arc::new(contents.for_next_owner(owner, group));
            return;
        }
        if contents.items.iter().any(|item| item.ownership.owner != owner) {
            *contents = Arc::new(contents.with_owner(owner));
        }
        if contents.items.iter().any(|item| item.ownership.group != group) {
            *contents = Arc::new(contents.with_group(group));
        }
    }

    /// Masks of a prim whose item has changed its owner.
    fn slammed(&self, former: Permissions) -> Permissions {
        let stated = &self.item.permissions;
        // A gift has limited the base mask already. An item of an archive has the masks of the former owner, and those of the next owner separately.
        let limit = if self.item.flags & item_flags::SLAM_PERMISSIONS != 0 {
            stated.base
        } else if stated.base & FOLDED != 0 {
            (stated.base & FOLDED) << FOLD_SHIFT
        } else {
            stated.next_owner
        };
        // A locked object becomes movable.
        let base = former.base | Mask::MOVE;
        let next_owner = Mask::of_bits(limit) | Mask::MOVE;
        let masks = Permissions { base, next_owner, ..former }.for_next_owner();
        if !self.is_single {
            return masks;
        }
        // Rights of other users are removed, unless the new owner has granted them in the inventory.
        self.overwritten(Permissions { next_owner: Mask::of_bits(stated.next_owner), ..masks }.bounded())
    }

    /// Masks, with replacements by those that the owner has changed in the inventory.
    fn overwritten(&self, former: Permissions) -> Permissions {
        let (stated, flags) = (&self.item.permissions, self.item.flags);
        let mut masks = former;
        for (flag, mask, wanted) in [
            (item_flags::OTHER_GROUP, &mut masks.group, stated.group_mask),
            (item_flags::OTHER_EVERYONE, &mut masks.everyone, stated.everyone),
            (item_flags::OTHER_NEXT_OWNER, &mut masks.next_owner, stated.next_owner),
        ] {
            if flags & flag != 0 {
                *mask = Mask::of_bits(wanted);
            }
        }
        if masks == former { former } else { masks.bounded() }
    }
}

/// The longest prefix of whole characters with at most `max` bytes.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests;
