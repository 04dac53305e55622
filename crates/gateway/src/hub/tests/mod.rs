//! Sessions as HTTP handlers, shards and operators see them, on virtual time.

mod before_arrival;
mod displaced;
mod gifts;
mod landmarks;
mod lifetime;
mod messages;
mod operator;
mod passages;
mod teleport;
mod world_orders;

use super::circuits::UNASKED_PARCEL;
use super::{EventQueueAnswer, Poll};
use crate::testing::Node;
use wire::llsd::Llsd;
use wire::messages::Message;

/// Events in a client's queue by name, as a poll that acknowledges the last one gets them.
pub(crate) fn events(node: &mut Node, client: usize) -> Vec<(String, Llsd)> {
    let (seed, ack) = (node.clients[client].seed, node.clients[client].acked);
    match node.hub.poll_events(seed, ack) {
        EventQueueAnswer::Poll(Poll::Ready(events)) => {
            let reply = events.to_llsd();
            node.clients[client].acked = reply.get("id").as_i32();
            let named = |event: &Llsd| {
                (event.get("message").as_str().expect("a name").to_owned(), event.get("body").clone())
            };
            // The events of every arrival are left out.
            let is_arrival = |event: &&Llsd| {
                let parcel = event.get("body").get("ParcelData").at(0);
                parcel.get("SequenceID").as_i32() == Some(UNASKED_PARCEL)
            };
            reply.get("events").as_array().iter().filter(|event| !is_arrival(event)).map(named).collect()
        }
        EventQueueAnswer::Poll(Poll::Wait(_)) => Vec::new(),
        EventQueueAnswer::Farewell(_) | EventQueueAnswer::Unknown => panic!("the queue has ended"),
    }
}

/// The reason with which a client was put out.
pub(crate) fn kicked(node: &Node, client: usize) -> Option<String> {
    node.clients[client].inbox.iter().find_map(|message| match message {
        Message::KickUser(kick) => Some(wire::text::from_wire(&kick.user_info.reason)),
        _ => None,
    })
}

/// Follows the newest TeleportFinish of a client's event queue and waits until it is there; the client there.
pub(crate) fn follow(node: &mut Node, client: usize) -> usize {
    node.relay();
    let events = events(node, client);
    let (_, body) = events.iter().rfind(|(name, _)| name == "TeleportFinish").expect("a teleport");
    let there = node.follow_teleport(client, body);
    node.run_until(|node| node.clients[there].sees_itself());
    there
}
