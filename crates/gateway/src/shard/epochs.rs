//! Worlds that began again: their visitors stay, and what the new life does not know of them is said once more.
//!
//! A shard hears of a new life by the epoch of the replica, at each client's turn. It need not know what the world began
//! from: whose avatar is missing comes in again where it was last seen, under a local id that nobody was shown yet, and
//! everybody's newest wishes are repeated. Those who have left meanwhile are the hub's to dismiss ([`crate::hub::Hub::dismiss`]).

use super::{ClientIndex, Shard};
use replicate::Replica;
use std::sync::Arc;
use world::{Action, Enter};

impl Shard {
    /// Catches up with a replica of another epoch than the client's avatar was sent into or last seen in.
    pub(super) fn follow_epoch(&mut self, index: ClientIndex, replica: &Replica) {
        let client = self.client(index);
        if client.epoch == replica.epoch || !client.has_avatar() {
            return;
        }
        client.epoch = replica.epoch;
        let sits = client.wishes.sits();
        if replica.of_session(client.session()).is_none() {
            let enter = enter_again(client);
            self.counters.reentered += 1;
            self.command(index, Action::Enter(enter));
        }
        if let Some(teleport) = self.client(index).wishes.take_teleport() {
            self.command(index, teleport);
            self.client(index).wishes.forget_teleport();
        }
        for action in self.client(index).wishes.again(sits) {
            self.command(index, action);
        }
    }
}

/// Brings a client's avatar back to where it was last seen, as it was.
fn enter_again(client: &super::Client) -> Box<Enter> {
    let ticket = &client.ticket;
    let appearance = client.wishes.appearance.as_ref().or(ticket.appearance.as_ref());
    Box::new(Enter {
        agent: ticket.agent,
        first_name: ticket.first_name.to_string(),
        last_name: ticket.last_name.to_string(),
        position: client.viewer.eye,
        look_at: client.wishes.faces().unwrap_or(ticket.look_at),
        flying: client.wishes.flies(),
        appearance: appearance.map(Arc::clone),
    })
}
