//! Changes of inventories that clients ask for over UDP, and their uploads.
//!
//! The hub does not write to the store under its lock. [`Hub::order_inventory`] queues an [`InventoryOrder`], another thread carries it out with
//! [`InventoryOrder::carry_out`], and [`Hub::handle_inventory_reply`] sends the replies. Orders keep their order, so that a client can fill a folder that
//! it has just made. Orders for regions that come of one are handed on by that thread, and end with [`Hub::handle_world_end`].

use super::messages::{alert_message, encoded};
use super::{Address, Hub};
use crate::mail::ToShard;
use grid::inventory::{
    ChangeInventoryError, InventoryNotice, InventoryParts, InventoryReplies, InventoryTask, InventoryUser,
    Standing, WorldOrderEnd, carry_out_task,
};
use ids::{AgentId, SessionKey, Uuid};
use link::CircuitKey;

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
    /// Secret of the client's session: ids of its uploads follow from it.
    pub secure_session: Uuid,
    /// The change as the client has sent it.
    pub task: InventoryTask,
    /// The place of the client's avatar, if the order needs it and the place lasts.
    pub standing: Option<Standing>,
}

impl InventoryOrder {
    /// Changes the inventory. `unix_s` is the time in seconds since 1970.
    ///
    /// # Errors
    /// [`ChangeInventoryError`].
    pub fn carry_out(
        &self,
        parts: InventoryParts<'_>,
        unix_s: i64,
    ) -> Result<InventoryReplies, ChangeInventoryError> {
        let user = InventoryUser { agent: self.agent, secure_session: self.secure_session };
        carry_out_task(parts, user, self.standing, &self.task, unix_s)
    }
}

impl Hub {
    /// Queues a change of the client's inventory. Beyond [`INVENTORY_HELD_MAX`] it is refused.
    pub(super) fn order_inventory(&mut self, circuit: CircuitKey, task: InventoryTask) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let (agent, secure_session) = (session.agent, session.secure_session_id);
        let standing = if task.needs_standing() { self.standing(circuit.session) } else { None };
        let order = InventoryOrder { circuit, agent, secure_session, task, standing };
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
        self.end_upload(order, replies.refusal.is_none());
        self.end_announcement(order);
        self.end_dressing(order, true);
        if replies.refusal.is_some() {
            self.report_not_put(order.circuit, order.task.prim());
        }
        self.send_inventory_replies(order.circuit, replies);
    }

    /// Sends the replies to an order for a region that has ended. `circuit` is the circuit of the order: its user may have left the region since.
    pub fn handle_world_end(&mut self, circuit: CircuitKey, end: &WorldOrderEnd, replies: InventoryReplies) {
        let InventoryReplies { messages, refusal, .. } = replies;
        if refusal.is_some() {
            self.report_not_put(circuit, end.prim);
        }
        for message in messages {
            self.send(circuit.session, encoded(|out| message.encode(out)));
        }
        if let Some(text) = refusal {
            self.send(circuit.session, alert_message(&text));
        }
    }

    /// Sends the replies to a request about inventories: messages to its client, and notices to other users.
    pub fn send_inventory_replies(&mut self, circuit: CircuitKey, replies: InventoryReplies) {
        for message in replies.messages {
            self.send_on(circuit, encoded(|out| message.encode(out)));
        }
        if let Some(text) = replies.refusal {
            self.send_on(circuit, alert_message(&text));
        }
        for notice in replies.notices {
            self.deliver_notice(circuit, notice);
        }
    }

    /// Informs users of changes of their inventories that no order has made. A user without a session sees them at the next login.
    pub fn send_notices(&mut self, notices: Vec<InventoryNotice>) {
        for InventoryNotice { to, messages, .. } in notices {
            let Some(&key) = self.by_agent.get(&to) else { continue };
            for message in messages {
                self.send(key, encoded(|out| message.encode(out)));
            }
        }
    }

    /// Informs a client that its order is not carried out, with a negative reply where it waits for one.
    pub fn refuse_inventory(&mut self, order: &InventoryOrder) {
        self.end_announcement(order);
        self.end_dressing(order, false);
        if order.task.is_of_server() {
            return;
        }
        self.counters.inventory_refused += 1;
        for message in order.task.refusal_messages(order.agent) {
            self.send_on(order.circuit, encoded(|out| message.encode(out)));
        }
        self.end_upload(order, false);
        self.report_not_put(order.circuit, order.task.prim());
        self.send_on(order.circuit, alert_message(BUSY));
    }

    /// The place of a user's avatar, for a landmark. None in an instance, which may end.
    fn standing(&self, key: SessionKey) -> Option<Standing> {
        let session = self.sessions.get(&key)?;
        let place = &session.root_binding()?.place;
        let spot = self.shared_spot(session.agent).filter(|_| place.scene.is_shared)?;
        let position = spot.position.to_array();
        Some(Standing { region: place.region_id, handle: place.handle, position })
    }

    /// Informs the shard of a client about the end of its upload, if the order is one.
    fn end_upload(&mut self, order: &InventoryOrder, is_stored: bool) {
        let (circuit, InventoryTask::Upload(file)) = (order.circuit, &order.task) else { return };
        self.tell_shard(circuit, ToShard::Uploaded { circuit, asset: file.asset, is_stored });
    }

    /// Informs the shard of a client about an item that has not come into a prim, or whose object has not come out of it, if it was to.
    fn report_not_put(&mut self, circuit: CircuitKey, prim: Option<Uuid>) {
        if let Some(object) = prim {
            self.tell_shard(circuit, ToShard::NotPut { circuit, object });
        }
    }

    fn tell_shard(&mut self, circuit: CircuitKey, mail: ToShard) {
        if let Some(shard) = self.binding_mut(circuit).and_then(|binding| binding.shard) {
            self.output.push_back((Address::One(shard), mail));
        }
    }
}
