//! Inventories from archives and into archives.

mod plan;
mod text;
mod write;

pub use plan::{InventoryPlan, InventoryPlanError, InventoryTarget, NODES_MAX, plan_inventory};
pub use write::{InventoryToWrite, InventoryWriteOptions, InventoryWritten, write_inventory};
