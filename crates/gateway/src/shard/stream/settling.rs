//! Datagrams that a client has to ack although they are never resent unchanged: full updates of avatars and static objects, and the
//! last repetition of a rest. And kills, which may arrive after later datagrams.
//!
//! All but kills are perishable datagrams (`Circuit::begin_perishable`). Acked, they are settled; otherwise they are rebuilt from the
//! current state, since the old bytes would put a moving avatar back.

use super::Turn;
use super::avatars::KILLS_PER_TURN;
use crate::shard::client::Client;
use ids::{AgentId, LocalId};
use replicate::{Place, Replica};

impl Turn<'_> {
    /// Settles datagrams that were acked, or whose ack is overdue.
    ///
    /// Kills are resent unchanged until they are acked. Ids in them that are displayed again by then are sent in full again.
    ///
    /// Ids in full updates that have left the world or the visible set meanwhile are added to [`Turn::gone`]: the update may have
    /// arrived after the KillObject, so they are killed once more.
    pub(super) fn settle_sent(&mut self) {
        let client = &mut *self.client;
        while let Some(sequence) = client.circuit.poll_lost(self.now) {
            self.counters.perished += 1;
            client.scenery.lost(sequence);
            client.objects.lost(sequence, self.gone);
            for id in client.objects.lost_overrides(sequence) {
                client.lacks_overrides(id, self.replica);
            }
            let (shown, rested) = (&client.shown, &client.rested);
            for &(_, id, _) in shown.iter().filter(|(sent_as, ..)| *sent_as == sequence) {
                client.viewer.lost(id);
            }
            for &(_, id) in rested.iter().filter(|(sent_as, _)| *sent_as == sequence) {
                client.viewer.missed_rest(id);
            }
        }
        while let Some(sequence) = client.circuit.poll_late_ack() {
            self.counters.acked_late += 1;
            client.scenery.acked_late(sequence);
            client.objects.acked_late(sequence, self.gone);
        }
        let circuit = &client.circuit;
        client.scenery.settle_acked(|sequence| circuit.is_unacked(sequence));
        client.objects.settle_acked(|sequence| circuit.is_unacked(sequence), self.gone);
        client.rested.retain(|&(sequence, _)| circuit.is_unacked(sequence));
        // An avatar that came back into the visible set during its kill may have been displayed first and killed then. The same holds
        // for objects of a world that the client re-entered soon.
        let mut killed = std::mem::take(&mut client.killed);
        killed.retain(|&(sequence, id)| {
            let is_under_way = client.circuit.is_unacked(sequence);
            if !is_under_way {
                client.doubt(id, self.replica);
            }
            is_under_way
        });
        client.killed = killed;
        let (mut at, mut shown) = (0, std::mem::take(&mut client.shown));
        while let Some(&(sequence, id, agent)) = shown.get(at) {
            if self.client.circuit.is_unacked(sequence) {
                at += 1;
                continue;
            }
            if !self.client.shows(id, self.replica) {
                self.gone.push(id);
                self.show_again(agent);
            }
            // The list is unordered: it only maps members to datagrams.
            shown.swap_remove(at);
        }
        self.client.shown = shown;
    }

    /// Adds some of those to [`Turn::gone`] for whose kill the circuit had no room before, unless they are shown again by now.
    pub(super) fn take_unkilled(&mut self) {
        if self.client.unkilled.is_empty() {
            return;
        }
        let mut unkilled = std::mem::take(&mut self.client.unkilled);
        let n = unkilled.len().min(KILLS_PER_TURN);
        self.gone.extend(unkilled.drain(..n).filter(|&id| !self.client.shows(id, self.replica)));
        self.client.unkilled = unkilled;
        self.gone.sort_unstable();
        self.gone.dedup();
    }

    /// Sends an avatar in full again that is back under another local id, as after a new login: a late update of its former presence may
    /// have replaced the new one in the client, and the kill of the former then removes the avatar.
    fn show_again(&mut self, agent: AgentId) {
        // An object has no presence.
        if agent.0.is_nil() {
            return;
        }
        let back = self.replica.entities().filter(|(.., slot)| slot.agent == agent);
        back.for_each(|(_, hot, _)| self.client.viewer.lost(LocalId(hot.id)));
    }

    /// Moves last repetitions of rests to the front, and says how many there are. They have to be acked: clients extrapolate the last
    /// update without limit, and a burst of losses outlasts any number of repetitions.
    pub(super) fn last_rests_first(&self, chosen: &mut [Place]) -> usize {
        let mut n = 0;
        for at in 0..chosen.len() {
            let hot = &self.replica.hot()[self.slot(chosen[at]) as usize];
            if self.client.viewer.is_last_rest(chosen[at], hot) {
                chosen.swap(at, n);
                n += 1;
            }
        }
        n
    }
}

impl Client {
    /// True if an avatar or object of its world was sent to it, and not killed since.
    fn shows(&self, id: LocalId, replica: &Replica) -> bool {
        match replica.scenery().of_id(id) {
            Some(object) => self.scenery.sent().has(object),
            None => self.viewer.shows(id) || self.objects.sent.knows(id),
        }
    }

    /// The client may lack it: it is sent in full again.
    fn doubt(&mut self, id: LocalId, replica: &Replica) {
        match replica.scenery().of_id(id) {
            Some(object) if self.scenery.sent().has(object) => self.scenery.mark_lacking(object),
            Some(_) => {}
            None if self.objects.sent.knows(id) => self.objects.mark_doubtful(id),
            None => self.viewer.lost(id),
        }
    }

    /// The client may lack an object's overrides of materials: it is sent again, and its newest overrides with it.
    fn lacks_overrides(&mut self, id: LocalId, replica: &Replica) {
        match replica.scenery().of_id(id) {
            Some(object) if self.scenery.sent().has(object) => self.scenery.mark_lacking(object),
            None if self.objects.sent.knows(id) => self.objects.mark_lacking(id),
            Some(_) | None => {}
        }
    }
}
