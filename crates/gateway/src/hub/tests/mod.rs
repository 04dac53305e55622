//! Sessions as HTTP handlers, shards and operators see them, on virtual time.

mod lifetime;
mod messages;
mod passages;
mod teleport;

use super::{EventQueueAnswer, Poll};
use crate::testing::Node;
use wire::llsd::Llsd;

/// What a client's event queue holds for it, by name, as a poll that acknowledges the last one gets it.
pub(crate) fn events(node: &mut Node, client: usize) -> Vec<(String, Llsd)> {
    let (seed, ack) = (node.clients[client].seed, node.clients[client].acked);
    match node.hub.poll_events(seed, ack) {
        EventQueueAnswer::Poll(Poll::Ready(reply)) => {
            node.clients[client].acked = reply.get("id").as_i32();
            let named = |event: &Llsd| {
                (event.get("message").as_str().expect("a name").to_owned(), event.get("body").clone())
            };
            reply.get("events").as_array().iter().map(named).collect()
        }
        EventQueueAnswer::Poll(Poll::Wait(_)) => Vec::new(),
        EventQueueAnswer::Farewell | EventQueueAnswer::Unknown => panic!("the queue has ended"),
    }
}
