//! The `inventory` thread: it changes inventories for clients, one order after the other, in the order in which they have come.
//!
//! Each order is a transaction, or an asset of an upload, which is on the disk before its reply leaves. Their rules are in `grid::inventory`. Things
//! that go into a region become orders for its keeper (`region_threads::world_orders`), and those that are worn for the wardrobe (`region_threads::keepers`).

use super::Clock;
use crossbeam_channel::{Receiver, select};
use gateway::hub::InventoryOrder;
use gateway::sessions::Sessions;
use grid::inventory::{Attempt, InventoryParts, Judged, WornWaits};
use keeper::WardrobeOrder;
use region_threads::keepers::WardrobeOrders;
use region_threads::world_orders::WorldOrders;
use std::time::Duration;
use telemetry::recorder::{Arg, Scope, frame_end};

/// Orders that wait; more wait in the hub.
pub(super) const ORDERS_MAX: usize = 256;

/// Without an order that waits, the thread waits for one.
const IDLE: Duration = Duration::from_secs(3_600);

/// Changes of inventories; the number is 1.
static CHANGE: Scope = Scope::new("hub.inventory").arg(Arg::Count).limit_us(1_000_000);

/// Writes to the store first, and takes the hub's lock with the reply. An order for an item whose take-off is not saved yet is carried out again behind the save
/// ([`WornWaits`]).
pub(super) fn change_for_clients(
    parts: InventoryParts<'_>,
    sessions: &Sessions,
    orders: &Receiver<Option<InventoryOrder>>,
    (world_orders, wardrobe): (&WorldOrders, &WardrobeOrders),
    clock: &Clock,
    unix_s: impl Fn() -> i64,
) {
    let mut waits = WornWaits::default();
    while let Some(attempt) = next_attempt(orders, wardrobe, &mut waits, clock) {
        let scope = CHANGE.enter(1);
        match attempt.order.carry_out(parts, unix_s()) {
            Ok(replies) => match waits.judge(clock(), attempt.order.agent, attempt, replies) {
                Judged::Waits(question) => wardrobe.order(WardrobeOrder::Ask(question)),
                Judged::Answer(order, mut replies) => {
                    let for_worlds = std::mem::take(&mut replies.orders);
                    std::mem::take(&mut replies.wardrobe).into_iter().for_each(|order| wardrobe.order(order));
                    sessions.with(|hub| hub.handle_inventory_reply(&order, replies));
                    for_worlds.into_iter().for_each(|of_world| world_orders.order(order.circuit, of_world));
                }
            },
            Err(error) => {
                let order = &attempt.order;
                tracing::error!(%error, agent = %order.agent.0, "cannot change a client's inventory");
                sessions.with(|hub| hub.refuse_inventory(order));
            }
        }
        drop(scope);
        frame_end();
    }
    waits.drain().for_each(|order| sessions.with(|hub| hub.refuse_inventory(&order)));
}

/// The next order that is due or comes in; none at the end of the server.
fn next_attempt(
    orders: &Receiver<Option<InventoryOrder>>,
    wardrobe: &WardrobeOrders,
    waits: &mut WornWaits<InventoryOrder>,
    clock: &Clock,
) -> Option<Attempt<InventoryOrder>> {
    loop {
        // Answers first: an order whose answer has come is not late.
        for (number, state) in wardrobe.answers().try_iter() {
            waits.handle_answer(number, state);
        }
        let now = clock();
        if let Some(attempt) = waits.poll_due(now) {
            return Some(attempt);
        }
        let until_due = waits.poll_timeout().map_or(IDLE, |due| due - now);
        select! {
            recv(orders) -> order => {
                return order.ok().flatten().map(|order| Attempt::first(clock(), order));
            }
            recv(wardrobe.answers()) -> answer => if let Ok((number, state)) = answer {
                waits.handle_answer(number, state);
            },
            default(until_due) => {}
        }
    }
}
