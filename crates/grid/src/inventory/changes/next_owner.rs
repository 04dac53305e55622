//! Items that change hands: the rights that remain, by the rules of prims and of items in them ([`prim::Permissions::for_next_owner`]).

use super::gestures;
use crate::inventory::AssetType;
use assets::AssetKind;
use ids::AgentId;
use prim::{Mask, item_flags};
use store::{Item, Permissions};
use uuid::Uuid;

/// Low bits of an object's owner mask on OpenSimulator: rights that all prims of it and their contents share, in the order of those from [`Mask::TRANSFER`] on.
const FOLDED: u32 = 0xF;
/// Distance in bits between the two places of these rights.
const FOLDED_SHIFT: u32 = 13;

/// True if the owner may give the item away.
pub(super) const fn may_transfer(permissions: &Permissions) -> bool {
    Mask::of_bits(permissions.owner & permissions.base).has(Mask::TRANSFER)
}

/// Permissions and flags of an item behind its former owner. An object's prims get the masks of the next owner when they come into a world.
pub(super) fn for_next_owner(item: &Item, former: AgentId) -> (Permissions, u32) {
    let stated = &item.permissions;
    let is_object = item.asset_type == AssetKind::Object.number();
    let masks = prim::Permissions {
        // An item that its owner has locked can be moved again.
        base: Mask::of_bits(stated.base) | Mask::MOVE,
        owner: Mask::of_bits(stated.owner),
        group: Mask::NONE,
        everyone: Mask::NONE,
        next_owner: Mask::of_bits(stated.next_owner),
    };
    let masks = if is_object { within_folded(masks, stated.owner) } else { masks };
    // Bounded first: an item from elsewhere may leave its next owner no right at all.
    let masks = masks.bounded().for_next_owner();
    let permissions = Permissions {
        creator: stated.creator,
        last_owner: former.0,
        group: Uuid::nil(),
        group_owned: false,
        base: masks.base.bits(),
        owner: masks.owner.bits(),
        group_mask: masks.group.bits(),
        everyone: masks.everyone.bits(),
        next_owner: masks.next_owner.bits(),
    };
    (permissions, flags(item, is_object))
}

/// Masks within the rights that an object's prims share. A root that can be modified stays so.
fn within_folded(masks: prim::Permissions, owner: u32) -> prim::Permissions {
    let folded = owner & FOLDED;
    if folded == 0 {
        return masks;
    }
    let root = if masks.owner.has(Mask::MODIFY) { Mask::MODIFY } else { Mask::NONE };
    let limit = Mask::of_bits(folded << FOLDED_SHIFT) | Mask::MOVE | root;
    prim::Permissions { base: masks.base & limit, owner: masks.owner & limit, ..masks }
}

const fn flags(item: &Item, is_object: bool) -> u32 {
    const OTHERS: u32 = item_flags::OTHER_BASE
        | item_flags::OTHER_OWNER
        | item_flags::OTHER_GROUP
        | item_flags::OTHER_EVERYONE
        | item_flags::OTHER_NEXT_OWNER;
    if is_object {
        item.flags & !OTHERS | item_flags::SLAM_PERMISSIONS
    } else if item.asset_type == AssetType::GESTURE {
        item.flags & !gestures::ACTIVE
    } else {
        item.flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Sale;

    /// Letters of rights: v move, m modify, c copy, t transfer, e export.
    fn mask(letters: &str) -> u32 {
        let right = |letter| match letter {
            'v' => Mask::MOVE,
            'm' => Mask::MODIFY,
            'c' => Mask::COPY,
            't' => Mask::TRANSFER,
            'e' => Mask::EXPORT,
            _ => Mask::NONE,
        };
        letters.chars().map(right).fold(Mask::NONE, |all, one| all | one).bits()
    }

    fn item(asset_type: i8, base: u32, owner: u32, next_owner: u32, flags: u32) -> Item {
        Item {
            id: Uuid::from_u128(1),
            folder: Uuid::from_u128(2),
            asset: Uuid::from_u128(3),
            asset_type,
            inventory_type: asset_type,
            name: "Hat".into(),
            description: String::new(),
            flags,
            created_s: 0,
            permissions: Permissions {
                creator: Uuid::from_u128(4),
                last_owner: Uuid::from_u128(5),
                group: Uuid::from_u128(6),
                group_owned: true,
                base,
                owner,
                group_mask: mask("vmc"),
                everyone: mask("vc"),
                next_owner,
            },
            sale: Sale { kind: 2, price: 0 },
        }
    }

    const FORMER: AgentId = AgentId(Uuid::from_u128(7));

    /// Base, owner and next owner's mask before; base and owner mask behind it.
    #[rustfmt::skip]
    const TABLE: &[[&str; 4]] = &[
        ["vmcte", "vmcte", "vmct", "vmct"],
        ["vmcte", "vmcte", "vt", "vt"],
        ["vmcte", "vmcte", "vc", "vc"],
        ["vmcte", "vmcte", "vmcte", "vmcte"],
        ["vmcte", "vmcte", "m", "vmt"],
        ["vmcte", "vmcte", "", "vt"],
        ["vct", "vct", "vmct", "vct"],
        ["mct", "mct", "mct", "vmct"],
        // Rights that the owner did without for itself only.
        ["vmcte", "vct", "vmct", "vmct"],
    ];

    #[test]
    fn rights_are_those_of_the_next_owner() {
        for [base, owner, next_owner, left] in TABLE {
            let given = item(7, mask(base), mask(owner), mask(next_owner), 3);
            let (permissions, flags) = for_next_owner(&given, FORMER);
            let case = format!("{base} {owner} {next_owner}");
            assert_eq!((permissions.base, permissions.owner), (mask(left), mask(left)), "{case}");
            assert_eq!((permissions.group_mask, permissions.everyone), (0, 0), "{case}");
            assert_eq!(permissions.next_owner & !permissions.base & !mask("vt"), 0, "{case}");
            let users = (permissions.creator, permissions.last_owner, permissions.group);
            assert_eq!(users, (given.permissions.creator, FORMER.0, Uuid::nil()));
            assert_eq!((permissions.group_owned, flags), (false, 3));
        }
    }

    #[test]
    fn an_object_is_slammed_and_bound_by_the_rights_that_its_prims_share() {
        let others = item_flags::OTHER_BASE | item_flags::OTHER_NEXT_OWNER;
        let all = [(0, "vmct"), (0xF, "vmct"), (0b0001, "vmt"), (0b0101, "vmct"), (0b0100, "vmc")];
        for (folded, left) in all {
            let given = item(6, 0x7FFF_FFFF, mask("vmcte") | folded, mask("vmct"), others | 1);
            let (permissions, flags) = for_next_owner(&given, FORMER);
            assert_eq!((permissions.base, permissions.owner), (mask(left), mask(left)), "{folded:b}");
            assert_eq!(flags, item_flags::SLAM_PERMISSIONS | 1);
        }
    }

    #[test]
    fn a_gesture_comes_switched_off() {
        let all = mask("vmct");
        assert_eq!(for_next_owner(&item(21, all, all, all, 3), FORMER).1, 2);
    }

    #[test]
    fn the_right_to_give_away_is_one_of_owner_and_base() {
        let may = |base, owner| may_transfer(&item(7, mask(base), mask(owner), 0, 0).permissions);
        assert!(may("vt", "vt") && !may("v", "vt") && !may("vt", "v"));
    }
}
