//! Restarted worlds: their visitors stay, and the state missing in the new life is sent to it again.
//!
//! A shard detects a new life by the epoch of the replica, at each client's turn. The world's checkpoint does not matter: a missing
//! avatar enters again at its last position, under a new local id, and the newest intents of all clients are repeated. The hub
//! dismisses avatars without a session ([`link::WorldCensus`]).

use super::switching::enter_action;
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
        let posture = client.intent.posture();
        if replica.of_session(client.session()).is_none() {
            let look_at = client.intent.faces().unwrap_or(client.arrival.1);
            let enter = enter_action(client, client.viewer.eye, look_at);
            self.counters.reentered += 1;
            self.command(index, Action::Enter(enter));
        }
        if let Some(teleport) = self.client(index).intent.take_teleport() {
            self.command(index, teleport);
            self.client(index).intent.forget_teleport();
        }
        for action in self.client(index).intent.again(posture) {
            self.command(index, action);
        }
    }
}
