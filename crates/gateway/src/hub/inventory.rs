//! Changes of inventories that clients ask for over UDP.
//!
//! The hub does not write to the store under its lock. [`Hub::order_inventory`] queues an [`InventoryOrder`], another thread carries it out with
//! [`InventoryOrder::carry_out`], and [`Hub::handle_inventory_reply`] sends the replies. Orders keep their order, so that a client can fill a folder that
//! it has just made.

use super::Hub;
use super::messages::{alert_message, encoded};
use grid::inventory::{ChangeInventoryError, InventoryReplies, InventoryRequest, change_inventory};
use ids::AgentId;
use link::CircuitKey;
use store::Store;

/// Orders held while the thread that carries them out has no room; more are refused. Each client has a budget of requests.
pub(crate) const INVENTORY_HELD_MAX: usize = 1_024;
/// Text of the alert when an order is not carried out.
const BUSY: &str = "The server cannot change your inventory just now. Please try again.";

/// A change of the inventory of a client's account.
#[derive(Clone, Debug, PartialEq)]
pub struct InventoryOrder {
    /// The client's circuit.
    pub circuit: CircuitKey,
    /// The client's account, which owns the inventory.
    pub agent: AgentId,
    /// As the client has sent it.
    pub request: InventoryRequest,
}

impl InventoryOrder {
    /// Changes the inventory. `unix_s` is the time in seconds since 1970.
    ///
    /// # Errors
    /// [`ChangeInventoryError`].
    pub fn carry_out(&self, store: &Store, unix_s: i64) -> Result<InventoryReplies, ChangeInventoryError> {
        change_inventory(store, self.agent, &self.request, unix_s)
    }
}

impl Hub {
    /// Queues a change of the client's inventory. Beyond [`INVENTORY_HELD_MAX`] it is refused.
    pub(super) fn order_inventory(&mut self, circuit: CircuitKey, request: InventoryRequest) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let order = InventoryOrder { circuit, agent: session.agent, request };
        if self.inventory.len() < INVENTORY_HELD_MAX {
            self.inventory.push_back(order);
        } else {
            self.refuse_inventory(&order);
        }
    }

    /// The next change of an inventory.
    pub fn poll_inventory(&mut self) -> Option<InventoryOrder> {
        self.inventory.pop_front()
    }

    /// Takes the order back that [`Self::poll_inventory`] gave: the thread that carries it out has no room. It is the next one again.
    pub fn return_inventory(&mut self, order: InventoryOrder) {
        self.inventory.push_front(order);
    }

    /// Sends the replies to an order that was carried out.
    pub fn handle_inventory_reply(&mut self, order: &InventoryOrder, replies: InventoryReplies) {
        for message in replies.messages {
            self.send_on(order.circuit, encoded(|out| message.encode(out)));
        }
        if let Some(text) = replies.refusal {
            self.send_on(order.circuit, alert_message(&text));
        }
    }

    /// Informs a client that its order is not carried out, and ends the wait of those that wait for a reply.
    pub fn refuse_inventory(&mut self, order: &InventoryOrder) {
        self.counters.inventory_refused += 1;
        for message in order.request.refusal_messages(order.agent) {
            self.send_on(order.circuit, encoded(|out| message.encode(out)));
        }
        self.send_on(order.circuit, alert_message(BUSY));
    }
}
