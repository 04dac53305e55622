//! Permissions of prims, and the rights that follow from them.
//!
//! A prim has five masks. *Base* is the upper bound that came with the prim, *owner* what its owner may do, *group* and *everyone* what others
//! may, and *next owner* what base and owner become when it changes hands. Rights are those of a whole linkset ([`LinksetPermissions`]): the ones
//! that all its parts share. A right depends on the [`Role`] of the acting user:
//!
//! ```text
//! owner, friend   ∩ (owner ∩ base) of all parts, copy and transfer also ∩ contents
//! group           ∩ ((group ∪ everyone) ∩ base) of all parts, copy only if the owner could give the copy away
//! everyone        ∩ (everyone ∩ base) of all parts, copy under the same condition
//! operator        everything
//! locked          neither move nor modify; for an operator only on own linksets
//! attached        nothing, except for the owner
//! ```
//!
//! The rules are those of OpenSimulator's permission module, without groups that own objects: there are no groups yet, so that no user has the
//! role [`Role::Group`].

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

/// A set of rights, in the bits of the protocol. Bits without a meaning are zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u32")]
pub struct Mask(u32);

impl Mask {
    /// No right.
    pub const NONE: Self = Self(0);
    /// To give it away.
    pub const TRANSFER: Self = Self(1 << 13);
    /// To change it.
    pub const MODIFY: Self = Self(1 << 14);
    /// To make another one of it.
    pub const COPY: Self = Self(1 << 15);
    /// To take it out of the grid.
    pub const EXPORT: Self = Self(1 << 16);
    /// To move and turn it. A linkset whose root lacks it for its owner is locked.
    pub const MOVE: Self = Self(1 << 19);
    /// All rights that depend on masks of their own.
    pub const ALL: Self =
        Self(Self::TRANSFER.0 | Self::MODIFY.0 | Self::COPY.0 | Self::EXPORT.0 | Self::MOVE.0);

    /// The meaningful bits of a number from a message or a file.
    #[must_use]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// As in messages.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// True if it has all rights of `other`.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl From<u32> for Mask {
    fn from(bits: u32) -> Self {
        Self::of_bits(bits)
    }
}

impl BitAnd for Mask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Mask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Not for Mask {
    type Output = Self;

    fn not(self) -> Self {
        Self::ALL.without(self)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Self::MOVE, 'v'),
            (Self::MODIFY, 'm'),
            (Self::COPY, 'c'),
            (Self::TRANSFER, 't'),
            (Self::EXPORT, 'e'),
        ];
        let set: String =
            letters.iter().map(|&(right, letter)| if self.has(right) { letter } else { '-' }).collect();
        f.write_str(&set)
    }
}

/// The five masks of a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Permissions {
    /// Upper bound of all others.
    pub base: Mask,
    /// Rights of its owner.
    pub owner: Mask,
    /// Rights of members of its group.
    pub group: Mask,
    /// Rights of all users.
    pub everyone: Mask,
    /// Base and owner mask after it changes hands.
    pub next_owner: Mask,
}

/// A mask of a prim that a client can set, with its code in ObjectPermissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MaskField {
    /// [`Permissions::base`].
    Base = 1,
    /// [`Permissions::owner`].
    Owner = 2,
    /// [`Permissions::group`].
    Group = 4,
    /// [`Permissions::everyone`].
    Everyone = 8,
    /// [`Permissions::next_owner`].
    NextOwner = 16,
}

impl MaskField {
    /// The field with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Base),
            2 => Some(Self::Owner),
            4 => Some(Self::Group),
            8 => Some(Self::Everyone),
            16 => Some(Self::NextOwner),
            _ => None,
        }
    }
}

impl Default for Permissions {
    fn default() -> Self {
        Self::NEW
    }
}

impl Permissions {
    /// Those of a new prim: everything for its creator, nothing for others; the next owner may move and transfer it.
    pub const NEW: Self = Self {
        base: Mask::ALL,
        owner: Mask::ALL,
        group: Mask::NONE,
        everyone: Mask::NONE,
        next_owner: Mask(Mask::MOVE.0 | Mask::TRANSFER.0),
    };

    /// With bits of one mask set or cleared, within these bounds:
    ///
    /// - no mask but base has more than base, and base changes for operators only;
    /// - group and everyone have at most move, modify and copy, everyone no modify, and export only if the owner has it;
    /// - the next owner can move it, and copy it or give it away.
    #[must_use]
    pub fn with(self, field: MaskField, bits: Mask, is_set: bool) -> Self {
        let change = |mask: Mask| if is_set { mask | bits } else { mask.without(bits) };
        let mut changed = self;
        match field {
            MaskField::Base => changed.base = change(self.base),
            MaskField::Owner => changed.owner = change(self.owner),
            MaskField::Group => changed.group = change(self.group),
            MaskField::Everyone => changed.everyone = change(self.everyone),
            MaskField::NextOwner => changed.next_owner = change(self.next_owner),
        }
        changed.bounded()
    }

    /// The nearest masks within the bounds of [`Self::with`].
    #[must_use]
    pub fn bounded(self) -> Self {
        let owner = self.owner & self.base;
        let given = Mask::MOVE | Mask::COPY;
        let next_owner = (self.next_owner | Mask::MOVE) & (self.base | Mask::MOVE);
        let is_dead_end = !next_owner.has(Mask::COPY) && !next_owner.has(Mask::TRANSFER);
        Self {
            base: self.base,
            owner,
            group: self.group & self.base & (given | Mask::MODIFY),
            everyone: self.everyone & self.base & (given | (Mask::EXPORT & owner)),
            next_owner: if is_dead_end { next_owner | Mask::TRANSFER } else { next_owner },
        }
    }

    /// Those of a part of a linkset with this root: the root's, within the part's own base.
    #[must_use]
    pub fn of_part(self, root: &Self) -> Self {
        Self { base: self.base, ..*root }.bounded()
    }

    /// Those after the prim has changed hands: base and owner become the next owner's, and what others may is withdrawn.
    #[must_use]
    pub fn for_next_owner(self) -> Self {
        let base = self.base & self.next_owner;
        Self { base, owner: base, group: Mask::NONE, everyone: Mask::NONE, next_owner: self.next_owner }
            .bounded()
    }
}

/// Masks that all parts of a linkset share, and rights of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinksetPermissions {
    owner: Mask,
    group: Mask,
    everyone: Mask,
    is_locked: bool,
}

impl LinksetPermissions {
    /// Of a root and its other parts, each with the rights that all items of its contents share ([`Mask::ALL`] without contents).
    #[must_use]
    pub fn of(root: (&Permissions, Mask), parts: impl Iterator<Item = (Permissions, Mask)>) -> Self {
        let all = std::iter::once((*root.0, root.1)).chain(parts);
        let start = Self {
            owner: Mask::ALL,
            group: Mask::ALL,
            everyone: Mask::ALL,
            is_locked: !root.0.owner.has(Mask::MOVE),
        };
        let shared = all.fold(start, |shared, (part, contents)| {
            // An item inside can be copied or given away only with the prim; it hinders neither changes nor moves.
            let with_contents = contents | !(Mask::COPY | Mask::TRANSFER);
            Self {
                owner: shared.owner & part.owner & part.base & with_contents,
                group: shared.group & (part.group | part.everyone) & part.base & with_contents,
                everyone: shared.everyone & part.everyone & part.base & with_contents,
                ..shared
            }
        });
        let is_free = shared.owner.has(Mask::COPY | Mask::TRANSFER);
        let limit = if is_free { Mask::ALL } else { !Mask::COPY };
        Self { group: shared.group & limit, everyone: shared.everyone & limit, ..shared }
    }

    /// True if its root lacks the right to move for its owner.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Rights of a user.
    #[must_use]
    pub fn rights(&self, role: Role, is_attached: bool) -> Mask {
        let rights = match role {
            Role::Operator { .. } => Mask::ALL,
            Role::Owner => self.owner,
            _ if is_attached => Mask::NONE,
            Role::Friend => self.owner,
            Role::Group => self.group,
            Role::Everyone => self.everyone,
        };
        let obeys_lock = !matches!(role, Role::Operator { is_owner: false });
        if self.is_locked && obeys_lock { rights.without(Mask::MOVE | Mask::MODIFY) } else { rights }
    }
}

/// Relation of a user to a linkset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An operator who has claimed an operator's rights.
    Operator {
        /// True for the owner of the linkset.
        is_owner: bool,
    },
    /// The owner of the linkset.
    Owner,
    /// A user to whom the owner has given the right to edit.
    Friend,
    /// A member of the linkset's group.
    Group,
    /// Any other user.
    Everyone,
}

/// Update flags of an object that depend on the receiver.
pub mod receiver_flags {
    /// The receiver may change it.
    pub const MODIFY: u32 = 1 << 2;
    /// The receiver may copy it.
    pub const COPY: u32 = 1 << 3;
    /// It has an owner.
    pub const ANY_OWNER: u32 = 1 << 4;
    /// The receiver owns it, or acts as its owner.
    pub const YOU_OWNER: u32 = 1 << 5;
    /// The receiver may move it.
    pub const MOVE: u32 = 1 << 8;
    /// The receiver may give it away.
    pub const TRANSFER: u32 = 1 << 17;
    /// The receiver may change it as its owner.
    pub const OWNER_MODIFY: u32 = 1 << 28;
    /// All of them.
    pub const ALL: u32 = MODIFY | COPY | ANY_OWNER | YOU_OWNER | MOVE | TRANSFER | OWNER_MODIFY;
}

/// Update flags of a linkset for a receiver with these rights.
#[must_use]
pub fn update_flags(rights: Mask, role: Role) -> u32 {
    use receiver_flags::{ANY_OWNER, COPY, MODIFY, MOVE, OWNER_MODIFY, TRANSFER, YOU_OWNER};
    let of_right =
        [(Mask::MODIFY, MODIFY), (Mask::COPY, COPY), (Mask::MOVE, MOVE), (Mask::TRANSFER, TRANSFER)];
    let flags = of_right
        .iter()
        .filter(|(right, _)| rights.has(*right))
        .fold(ANY_OWNER, |flags, (_, flag)| flags | flag);
    let acts_as_owner = matches!(role, Role::Owner | Role::Friend | Role::Operator { .. });
    match (acts_as_owner, rights.has(Mask::MODIFY)) {
        (true, true) => flags | YOU_OWNER | OWNER_MODIFY,
        (true, false) => flags | YOU_OWNER,
        (false, _) => flags,
    }
}

/// A deed upon a linkset, by the right that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Position, rotation.
    Move,
    /// Size, shape, textures, text, flags, names, contents: all else that others see of it.
    Modify,
    /// Masks, group, price.
    SetPermissions,
    /// Base mask, owner.
    SetOwner,
    /// Joining it with another one, or parting it.
    Link,
    /// A copy, in the world or in an inventory, that the acting user owns.
    Copy,
    /// Removal from the world into the acting user's inventory.
    Take,
    /// Removal.
    Delete,
    /// A file outside of the grid.
    Export,
    /// An item of its contents, in the acting user's inventory.
    TakeItem,
}

/// True if a user in this role may do this, by the rights of [`LinksetPermissions::rights`]. Rules of the land, such as the right of its owner to
/// return an object, are not in it.
#[must_use]
pub fn allows(edit: Edit, rights: Mask, role: Role) -> bool {
    let is_operator = matches!(role, Role::Operator { .. });
    let is_owner = role == Role::Owner || is_operator;
    match edit {
        Edit::Move => rights.has(Mask::MOVE),
        Edit::Modify => rights.has(Mask::MODIFY),
        Edit::SetPermissions | Edit::TakeItem => is_owner,
        Edit::SetOwner => is_operator,
        Edit::Link => (is_owner || role == Role::Friend) && rights.has(Mask::MODIFY),
        // A friend's copy changes hands. For members and others the copy right implies that.
        Edit::Copy => rights.has(Mask::COPY) && (role != Role::Friend || rights.has(Mask::TRANSFER)),
        // A locked linkset stays.
        Edit::Take | Edit::Delete if is_owner => rights.has(Mask::MOVE),
        Edit::Take => role == Role::Friend && rights.has(Mask::MOVE | Mask::TRANSFER),
        Edit::Delete => role == Role::Friend && rights.has(Mask::MOVE),
        Edit::Export => rights.has(Mask::EXPORT) && (is_owner || role == Role::Everyone),
    }
}

/// An item of a user on its way into a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemDrop {
    /// It is a script.
    pub is_script: bool,
    /// The user may give it away.
    pub is_transferable: bool,
    /// The root of the linkset has the flag by which it takes items of all users.
    pub is_open: bool,
}

/// True if a user in this role may put an item into a prim, by the rights of [`LinksetPermissions::rights`]. Nothing but an operator's comes into a locked
/// linkset, and no script of another user than its owner. An item that changes hands with that has to be the giver's to give.
#[must_use]
pub fn allows_drop(item: ItemDrop, rights: Mask, role: Role, is_locked: bool) -> bool {
    let ItemDrop { is_script, is_transferable, is_open } = item;
    let is_free = matches!(role, Role::Operator { .. });
    let may_give = role == Role::Owner || is_transferable && !is_script;
    is_free || !is_locked && may_give && (is_open || rights.has(Mask::MODIFY))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDITS: [Edit; 10] = [
        Edit::Move,
        Edit::Modify,
        Edit::SetPermissions,
        Edit::SetOwner,
        Edit::Link,
        Edit::Copy,
        Edit::Take,
        Edit::Delete,
        Edit::Export,
        Edit::TakeItem,
    ];

    const ROLES: [Role; 6] = [
        Role::Operator { is_owner: false },
        Role::Operator { is_owner: true },
        Role::Owner,
        Role::Friend,
        Role::Group,
        Role::Everyone,
    ];

    /// `vmcte`, with a dash for each right that is missing.
    fn mask(letters: &str) -> Mask {
        let rights = [Mask::MOVE, Mask::MODIFY, Mask::COPY, Mask::TRANSFER, Mask::EXPORT];
        let set = letters.chars().zip(rights).filter(|(letter, _)| *letter != '-');
        set.fold(Mask::NONE, |mask, (_, right)| mask | right)
    }

    /// Objects, and for each a row per role in the order of [`ROLES`]: an `x` for each of [`EDITS`] that is allowed.
    ///
    /// The columns: Move Modify SetPermissions SetOwner Link Copy Take Delete Export TakeItem.
    #[rustfmt::skip]
    const TABLE: &[(&str, [&str; 6], bool, [&str; 6])] = &[
        // A new prim: base, owner, group, everyone, next owner, contents; attached; rows.
        ("new", ["vmcte", "vmcte", "-----", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", "..........", ".........."]),
        ("worn", ["vmcte", "vmcte", "vmc--", "v-c--", "v--t-", "vmcte"], true,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "..........", "..........", ".........."]),
        ("locked", ["vmcte", "-mcte", "-----", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "..xx.x..xx", "..x..x..xx", ".....x....", "..........", ".........."]),
        ("locked for all but its group", ["vmcte", "-mcte", "vmc--", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "..xx.x..xx", "..x..x..xx", ".....x....", ".....x....", ".........."]),
        ("shared with its group", ["vmcte", "vmcte", "vmc--", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", "xx...x....", ".........."]),
        ("free to copy", ["vmcte", "vmcte", "-----", "--c--", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", ".....x....", ".....x...."]),
        ("free to move", ["vmcte", "vmcte", "-----", "v----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", "x.........", "x........."]),
        ("free to export", ["vmcte", "vmcte", "-----", "--c-e", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", ".....x....", ".....x..x."]),
        ("bought without copies", ["vm-t-", "vm-t-", "-----", "--c--", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.x.xx.x", "xx..x.xx..", "..........", ".........."]),
        ("bought without transfer", ["vmc--", "vmc--", "-----", "--c--", "vmc--", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxx.x", "xx..x..x..", "..........", ".........."]),
        ("bought without changes", ["v-ct-", "v-ct-", "vmc--", "v----", "v-ct-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "x.x..xxx.x", "x....xxx..", "x....x....", "x........."]),
        ("with an item that is not copied", ["vmcte", "vmcte", "-----", "--c--", "v--t-", "vm-te"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.x.xxxx", "xx..x.xx..", "..........", ".........."]),
        ("with an item that is not given away", ["vmcte", "vmcte", "-----", "--c--", "v--t-", "vmc-e"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..x..x..", "..........", ".........."]),
        ("with an item that is not changed", ["vmcte", "vmcte", "-----", "v-c--", "v--t-", "--ct-"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "xxx.xxxxxx", "xx..xxxx..", "x....x....", "x....x...."]),
        ("that its owner may not change", ["vmcte", "v-cte", "-----", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "x.x..xxxxx", "x....xxx..", "..........", ".........."]),
        ("with an owner mask above its base", ["v----", "vmcte", "-----", "-----", "v--t-", "vmcte"], false,
            ["xxxxxxxxxx", "xxxxxxxxxx", "x.x...xx.x", "x......x..", "..........", ".........."]),
    ];

    #[test]
    fn the_table_of_edits_holds() {
        let mut rows = 0;
        for (what, masks, is_attached, expected) in TABLE {
            let [base, owner, group, everyone, next_owner, contents] = masks.map(mask);
            let permissions = Permissions { base, owner, group, everyone, next_owner };
            let linkset = LinksetPermissions::of((&permissions, contents), std::iter::empty());
            for (role, expected) in ROLES.into_iter().zip(expected) {
                let rights = linkset.rights(role, *is_attached);
                let allowed = |edit| if allows(edit, rights, role) { 'x' } else { '.' };
                assert_eq!(
                    EDITS.map(allowed).iter().collect::<String>(),
                    *expected,
                    "{what}, {role:?}, {rights:?}"
                );
                rows += EDITS.len();
            }
        }
        assert!(rows >= 400, "{rows}");
    }

    /// Linksets, and for each a row per item: an `x` for each of [`ROLES`] that may put it in.
    #[rustfmt::skip]
    const DROPS: &[(&str, &str, &str, bool, [&str; 5])] = &[
        // Owner and everyone mask, whether it takes items of all users.
        // Items: a notecard, one that is not given away, a script, a script that is not, a notecard into a worn linkset.
        ("new", "vmcte", "-----", false, ["xxxx..", "xxx...", "xxx...", "xxx...", "xxx..."]),
        ("open to all", "vmcte", "-----", true, ["xxxxxx", "xxx...", "xxx...", "xxx...", "xxxxxx"]),
        ("open to all, not to be changed", "v-cte", "-----", true, ["xxxxxx", "xxx...", "xxx...", "xxx...", "xxxxxx"]),
        ("not to be changed", "v-cte", "-----", false, ["xx....", "xx....", "xx....", "xx....", "xx...."]),
        ("free to change", "vmcte", "-m---", false, ["xxxxxx", "xxx...", "xxx...", "xxx...", "xxx..."]),
        ("locked", "-mcte", "-----", false, ["xx....", "xx....", "xx....", "xx....", "xx...."]),
        ("locked and open", "-mcte", "-----", true, ["xx....", "xx....", "xx....", "xx....", "xx...."]),
    ];

    #[test]
    fn the_table_of_drops_holds() {
        for (what, owner, everyone, is_open, rows) in DROPS {
            let permissions =
                Permissions { owner: mask(owner), everyone: mask(everyone), ..Permissions::NEW };
            let linkset = LinksetPermissions::of((&permissions, Mask::ALL), std::iter::empty());
            let items = [
                (false, true, false),
                (false, false, false),
                (true, true, false),
                (true, false, false),
                (false, true, true),
            ];
            for ((is_script, is_transferable, is_attached), expected) in items.into_iter().zip(rows) {
                let item = ItemDrop { is_script, is_transferable, is_open: *is_open };
                let may = |role| {
                    let rights = linkset.rights(role, is_attached);
                    if allows_drop(item, rights, role, linkset.is_locked()) { 'x' } else { '.' }
                };
                let row: String = ROLES.map(may).iter().collect();
                assert_eq!(row, *expected, "{what}, {item:?}, {is_attached}");
            }
        }
    }

    #[test]
    fn parts_of_a_linkset_share_its_rights() {
        let whole = Permissions::NEW;
        let bare = Permissions { base: mask("vm-t-"), ..whole };
        let linkset = LinksetPermissions::of((&whole, Mask::ALL), [(bare, Mask::ALL)].into_iter());
        assert_eq!(linkset.rights(Role::Owner, false), mask("vm-t-"));
        // The lock is the root's.
        let locked = Permissions { owner: mask("-mcte"), ..whole };
        let of_part = LinksetPermissions::of((&whole, Mask::ALL), [(locked, Mask::ALL)].into_iter());
        assert_eq!(of_part.rights(Role::Owner, false), mask("-mcte"));
        let of_root = LinksetPermissions::of((&locked, Mask::ALL), [(whole, Mask::ALL)].into_iter());
        assert_eq!(of_root.rights(Role::Owner, false), mask("--cte"));
    }

    #[test]
    fn masks_stay_within_base_and_the_next_owner_can_do_something_with_it() {
        let bought = Permissions { base: mask("v--t-"), owner: mask("v--t-"), ..Permissions::NEW };
        let copied = bought.with(MaskField::Everyone, mask("vmcte"), true);
        assert_eq!(copied.everyone, mask("v----"));
        assert_eq!(bought.with(MaskField::Owner, mask("vmcte"), true).owner, mask("v--t-"));
        let stuck = Permissions::NEW.with(MaskField::NextOwner, mask("v--t-"), false);
        assert_eq!(stuck.next_owner, mask("v--t-"), "cannot be moved nor given away otherwise");
        let copyable = Permissions::NEW.with(MaskField::NextOwner, mask("--c--"), true);
        assert_eq!(copyable.with(MaskField::NextOwner, mask("---t-"), false).next_owner, mask("v-c--"));
    }

    #[test]
    fn everyone_can_export_only_with_the_owner() {
        let open = Permissions::NEW.with(MaskField::Everyone, mask("----e"), true);
        assert_eq!(open.everyone, mask("----e"));
        assert_eq!(open.with(MaskField::Owner, mask("----e"), false).everyone, mask("-----"));
    }

    #[test]
    fn a_prim_that_changes_hands_has_the_next_owners_masks() {
        let shared = Permissions { everyone: mask("v-c--"), group: mask("vmc--"), ..Permissions::NEW };
        let sold = shared.with(MaskField::NextOwner, mask("-mc--"), true).with(
            MaskField::NextOwner,
            mask("---t-"),
            false,
        );
        let sold = sold.for_next_owner();
        assert_eq!(
            (sold.base, sold.owner, sold.group, sold.everyone),
            (mask("vmc--"), mask("vmc--"), mask("-----"), mask("-----"))
        );
        assert_eq!(sold.for_next_owner().base, mask("vmc--"), "the masks of the next owner are not lost");
    }

    #[test]
    fn a_part_has_its_roots_masks_within_its_own_base() {
        let root = Permissions { everyone: mask("v-c--"), group: mask("vmc--"), ..Permissions::NEW };
        let part = Permissions { base: mask("vm-t-"), ..Permissions::NEW }.of_part(&root);
        assert_eq!((part.base, part.owner), (mask("vm-t-"), mask("vm-t-")));
        assert_eq!(
            (part.group, part.everyone, part.next_owner),
            (mask("vm---"), mask("v----"), mask("v--t-"))
        );
    }

    #[test]
    fn an_owner_gets_the_flags_of_an_owner_and_nobody_else_does() {
        use receiver_flags::*;
        let all = MODIFY | COPY | MOVE | TRANSFER | ANY_OWNER;
        assert_eq!(update_flags(Mask::ALL, Role::Owner), all | YOU_OWNER | OWNER_MODIFY);
        assert_eq!(update_flags(mask("v--t-"), Role::Friend), MOVE | TRANSFER | ANY_OWNER | YOU_OWNER);
        assert_eq!(update_flags(mask("v-c--"), Role::Everyone), MOVE | COPY | ANY_OWNER);
    }

    #[test]
    fn unknown_bits_are_dropped() {
        assert_eq!(Mask::of_bits(u32::MAX), Mask::ALL);
        assert_eq!(postcard::from_bytes(&postcard::to_stdvec(&u32::MAX).unwrap()), Ok(Mask::ALL));
        assert_eq!(format!("{:?}", mask("v-ct-")), "v-ct-");
    }
}
