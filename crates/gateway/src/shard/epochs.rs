//! Worlds that began again: their visitors stay, and what the new life does not know of them is said once more.
//!
//! A shard hears of a new life by the epoch of the replica, at each client's turn. It need not know what the world began
//! from: whose avatar is missing comes in again where it was last seen, under a local id that nobody was shown yet, and
//! everybody's newest wishes are repeated. Those who have left meanwhile are the hub's to dismiss ([`link::WorldCensus`]).

use super::switching::enter;
use super::{ClientIndex, Shard};
use link::Action;
use replicate::Replica;

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
            let look_at = client.wishes.faces().unwrap_or(client.arrival.1);
            let enter = enter(client, client.viewer.eye, look_at);
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
