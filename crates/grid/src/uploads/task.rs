//! Uploads for items in objects: the asset is stored first, then the world of the region gives it to the item, as far as the user may change both.

use ids::{SessionKey, Uuid, WorldId};
use keeper::Order;

/// An item of an object, as the user's world has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskItem {
    /// The region with the object.
    pub region: WorldId,
    /// The user's session there.
    pub session: SessionKey,
    /// Kind of the item's asset.
    pub asset_type: i8,
    /// The user may change the object, and its owner the item. The world has the last word.
    pub may_modify: bool,
}

/// An order for the keeper of a region, to be given when the asset that it names is on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentOrder {
    /// The region.
    pub region: WorldId,
    /// The order.
    pub order: Order,
}

/// Finds an item by the ids of its object and its own.
pub type FindTaskItem<'a> = &'a dyn Fn(Uuid, Uuid) -> Option<TaskItem>;
