//! Random changes.

use crate::inventory::tests::item;
use crate::{InventoryChange, Item, ItemUpdate, NewFolder};
use uuid::Uuid;

/// SplitMix64.
pub(super) struct Dice {
    pub(super) state: u64,
    /// The account with the lower id.
    pub(super) first: u128,
}

impl Dice {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A few ids for both owners, so that an id is often one's own, the other's or nobody's; the nil id; and the roots.
    fn folder(&mut self) -> Uuid {
        Uuid::from_u128(match self.below(4) {
            0 => 0x100 + self.first + u128::from(self.below(2)),
            _ => self.below(9).into(),
        })
    }

    /// The same for items.
    fn item(&mut self) -> Uuid {
        Uuid::from_u128(match self.below(8) {
            0 => 0x200 + self.first + u128::from(self.below(2)),
            _ => self.below(10).into(),
        })
    }

    fn name(&mut self) -> String {
        self.pick(&["hat", "shoe", "Hat", "ärmel", "a", "", "hat", "b", "c", "d\0"]).to_owned()
    }

    fn type_default(&mut self) -> i8 {
        self.pick(&[-1, -1, -1, -1, -1, 47, 47, 14, 46, 8])
    }

    fn optional<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    pub(super) fn change(&mut self) -> InventoryChange {
        match self.below(32) {
            0..8 => {
                let (id, parent) = (Uuid::from_u128(self.below(9).into()), self.folder());
                let (name, type_default) = (self.name(), self.type_default());
                InventoryChange::CreateFolder(NewFolder { id, parent, name, type_default })
            }
            8..10 => {
                let (folder, name) = (self.folder(), self.name());
                let type_default = self.optional(Self::type_default);
                InventoryChange::UpdateFolder { folder, name, type_default }
            }
            10..16 => InventoryChange::MoveFolder { folder: self.folder(), parent: self.folder() },
            16 => InventoryChange::RemoveFolder { folder: self.folder() },
            17 => InventoryChange::PurgeFolder { folder: self.folder() },
            18..24 => {
                let (id, folder, name) = (self.item(), self.folder(), self.name());
                InventoryChange::CreateItem(Item { id, name, ..item(0, folder) })
            }
            24..27 => InventoryChange::UpdateItem(ItemUpdate {
                item: self.item(),
                asset: self.optional(Self::item),
                name: self.optional(Self::name),
                description: self.optional(Self::name),
                flags: self.optional(|dice| dice.below(4) as u32),
                ..ItemUpdate::default()
            }),
            27..31 => InventoryChange::MoveItem {
                item: self.item(),
                folder: self.folder(),
                name: self.optional(Self::name),
            },
            _ => InventoryChange::RemoveItem { item: self.item() },
        }
    }
}
