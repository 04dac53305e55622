//! Active gestures: viewers play them, the inventory keeps them as the lowest flag of the item, and logins list them.

use super::{ChangeInventoryError, Planner, Step};
use crate::inventory::AssetType;
use store::{InventoryChange, Item, ItemUpdate};
use uuid::Uuid;

/// Flag of a gesture that is switched on.
pub(super) const ACTIVE: u32 = 1;

impl Planner<'_> {
    /// Switches gestures on or off. Viewers state all active ones after each login: gestures in the stated state need no change, and gestures of the library keep none.
    pub(super) fn switch_gestures(
        &self,
        items: impl Iterator<Item = Uuid>,
        is_active: bool,
    ) -> Result<Vec<Step>, ChangeInventoryError> {
        let mut steps = Vec::new();
        for id in items {
            let Some(stored) = self.store.item(self.agent, id)?.filter(is_gesture) else { continue };
            let flags = if is_active { stored.flags | ACTIVE } else { stored.flags & !ACTIVE };
            if flags != stored.flags {
                let update = ItemUpdate { item: id, flags: Some(flags), ..ItemUpdate::default() };
                steps.push(Step::silent(Ok(InventoryChange::UpdateItem(update))));
            }
        }
        Ok(steps)
    }
}

const fn is_gesture(item: &Item) -> bool {
    item.asset_type == AssetType::GESTURE
}

/// Flags that a client states for an item, with the stored state of a gesture: clients need not know it.
pub(super) const fn kept(stored: &Item, flags: u32) -> u32 {
    if is_gesture(stored) { flags & !ACTIVE | stored.flags & ACTIVE } else { flags }
}

/// Flags of a copy: a copied gesture is not switched on.
pub(super) const fn of_copy(original: &Item) -> u32 {
    if is_gesture(original) { original.flags & !ACTIVE } else { original.flags }
}
