//! Names of accounts: a client that enters a crowd requests all names, and later those of passing avatars.
//!
//! Names of avatars in the world are answered from the replica at once; the hub looks the others up.

use super::Shard;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use crate::coverage::MessageOutcome;
use crate::mail::{FromShard, NAMES_PER_REPLY, Request};
use circuit::Reliability;
use ids::{AgentId, Uuid};
use std::sync::Arc;
use wire::fanout;

impl Shard {
    /// Answers a UUIDNameRequest, from its body behind the number.
    pub(super) fn on_name_request(&mut self, at: &Incoming<'_>, body: &[u8]) -> Handled {
        let mut ids = fanout::read_ids(body)?;
        let slot = &mut self.clients[at.index as usize];
        let client = slot.as_deref_mut().expect("indexes in use point at clients");
        if !client.asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let place = Arc::clone(&client.place);
        let replica = place.scene.feed.current();
        let known = |id: Uuid| {
            let slot = replica.of_agent(AgentId(id))?;
            (!replica.hot()[slot as usize].private).then(|| replica.slot(slot)).flatten()
        };
        let mut unknown = Vec::new();
        while ids.len() > 0 {
            self.body.clear();
            fanout::write_names_prefix(0, &mut self.body);
            let rows_at = self.body.len() - 1;
            while usize::from(self.body[rows_at]) < NAMES_PER_REPLY
                && let Some(id) = ids.next()
            {
                match known(id) {
                    Some(slot) => {
                        fanout::write_name(id, &slot.first_name, &slot.last_name, &mut self.body);
                        self.body[rows_at] += 1;
                    }
                    None => unknown.push(id),
                }
            }
            if self.body[rows_at] > 0
                && client.circuit.send(Reliability::Reliable, &self.body, false).is_err()
            {
                self.counters.messages_refused += 1;
            }
        }
        if !unknown.is_empty() {
            self.mail.push(FromShard::Request(client.key(), Request::Names(unknown)));
        }
        Ok(MessageOutcome::Done)
    }
}
