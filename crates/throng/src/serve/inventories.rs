//! The `inventory` thread: it changes inventories for clients, one order after the other, in the order in which they have come.
//!
//! Each order is a transaction, which is on the disk before its reply leaves. Their rules are in `grid::inventory`.

use gateway::hub::InventoryOrder;
use gateway::sessions::Sessions;
use std::sync::mpsc;
use store::Store;
use telemetry::recorder::{Arg, Scope, frame_end};

/// Orders that wait; more wait in the hub.
pub(super) const ORDERS_MAX: usize = 256;

/// Changes of inventories; the number is 1.
static CHANGE: Scope = Scope::new("hub.inventory").arg(Arg::Count).limit_us(1_000_000);

/// Writes to the store first, and takes the hub's lock with the reply.
pub(super) fn change_for_clients(
    store: &Store,
    sessions: &Sessions,
    orders: &mpsc::Receiver<Option<InventoryOrder>>,
    unix_s: impl Fn() -> i64,
) {
    while let Ok(Some(order)) = orders.recv() {
        let scope = CHANGE.enter(1);
        match order.carry_out(store, unix_s()) {
            Ok(replies) => sessions.with(|hub| hub.handle_inventory_reply(&order, replies)),
            Err(error) => {
                tracing::error!(%error, agent = %order.agent.0, "cannot change a client's inventory");
                sessions.with(|hub| hub.refuse_inventory(&order));
            }
        }
        drop(scope);
        frame_end();
    }
}
