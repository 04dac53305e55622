//! Ends of circuits: by the hub, by clients, and by silence.

use super::progress::Stage;
use super::{ClientIndex, Outbox, Shard};
use crate::mail::{Closed, Ending, FromShard};
use ids::Instant;
use link::Action;
use std::time::Duration;
use wire::messages::{DisableSimulator, KickUser, KickUserUserInfo};
use wire::text::to_wire;

/// Time for which a circuit without its avatar still delivers its last messages.
const LINGER: Duration = Duration::from_secs(3);
/// Sequence numbers reserved for a lingering circuit: acks and a few resends.
const LINGER_SEQUENCES: u32 = 1_000;

impl Shard {
    pub(super) fn is_leaving(&mut self, index: ClientIndex) -> bool {
        matches!(self.client(index).stage, Stage::Leaving(..))
    }

    /// Ends a circuit on behalf of the server.
    pub(super) fn end_circuit(
        &mut self,
        now: Instant,
        index: ClientIndex,
        ending: &Ending,
        out: &mut Outbox,
    ) {
        let client = self.client(index);
        if matches!(client.stage, Stage::Leaving(..)) {
            return;
        }
        let mut farewell = Vec::new();
        match ending {
            Ending::Kicked(why) => KickUser {
                user_info: KickUserUserInfo {
                    agent_id: client.ticket.agent.0,
                    session_id: client.ticket.session_id.0,
                    reason: to_wire(why, 1_000),
                },
                ..KickUser::default()
            }
            .encode(&mut farewell),
            Ending::Moved => DisableSimulator {}.encode(&mut farewell),
            Ending::Silent => {}
        }
        // The farewell is the last message: a client treats later ones as messages of an unknown peer, and hippolyzer warns of them.
        client.circuit.finish();
        if !farewell.is_empty() {
            self.send_reliable(now, index, &farewell, out);
        }
        self.begin_leaving(now, index, Closed::Asked);
    }

    /// Removes the client's avatar and sends a report to the hub; the circuit lingers to deliver its last messages.
    pub(super) fn begin_leaving(&mut self, now: Instant, index: ClientIndex, why: Closed) {
        let client = self.client(index);
        if matches!(client.stage, Stage::Leaving(..)) {
            return;
        }
        let had_avatar = client.has_avatar();
        let report = self.closed_report(index, why);
        let client = self.client(index);
        client.stage = Stage::Leaving(now + LINGER, why);
        // The client, and its host, may disconnect at any moment.
        client.circuit.wind_down();
        if had_avatar {
            self.command(index, Action::Leave);
        }
        if why == Closed::Asked {
            self.hand_on_held(index);
        }
        self.pass_on_all_held(index);
        self.mail.push(report);
    }

    fn closed_report(&mut self, index: ClientIndex, why: Closed) -> FromShard {
        let client = self.client(index);
        let agent = client.ticket.agent;
        // Messages of the lingering circuit also use sequence numbers.
        let next_sequence = client.circuit.next_sequence().wrapping_add(LINGER_SEQUENCES);
        FromShard::Closed { circuit: client.key(), why, agent, spot: client.spot(), next_sequence }
    }

    /// Removes circuits that have lingered for the whole period, or whose client no longer answers.
    pub(super) fn remove_ended(&mut self, now: Instant) {
        let mut ended = std::mem::take(&mut self.ended);
        for index in ended.drain(..) {
            if let Some(why) = self.lost(index) {
                self.counters.circuits_lost += 1;
                self.counters.circuits_unresponsive += u64::from(why == Closed::Unresponsive);
                self.begin_leaving(now, index, why);
            }
            self.remove(index);
        }
        self.ended = ended;
    }

    /// Reason for the loss of a circuit that neither side has ended; `None` for other circuits.
    fn lost(&mut self, index: ClientIndex) -> Option<Closed> {
        let client = self.client(index);
        match (client.stage, client.circuit.closed()) {
            (Stage::Leaving(..), _) | (_, None) => None,
            (_, Some(circuit::CloseReason::Idle)) => Some(Closed::TimedOut),
            (_, Some(_)) => Some(Closed::Unresponsive),
        }
    }

    pub(super) fn remove(&mut self, index: ClientIndex) {
        let Some(mut client) = self.clients[index as usize].take() else { return };
        self.drop_uploads(&mut client.uploads);
        self.by_address.remove(&(client.address.port, client.address.remote));
        self.by_circuit.remove(&client.key());
        self.by_world.remove(&(client.place.world(), client.key()));
        self.turns.remove(client.slot, index);
        if let Some(world) = client.near_movers_in {
            self.mover_visits.remove(world, index);
        }
        self.free.push(index);
        if self.by_circuit.is_empty() {
            self.egress.reset();
            self.counters.client_bytes_per_s = self.egress.share();
        }
    }
}
