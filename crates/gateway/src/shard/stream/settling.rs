//! What a client has to ack although it is never sent again as it was: full updates, of avatars and of what stands, and the last
//! repetition of a rest. And kills, which may arrive behind what was sent after them.
//!
//! All but kills are perishable datagrams (`Circuit::begin_perishable`). Acked, they are settled; not acked in time, they are
//! made anew from what is true by then, since the old bytes would put a moving avatar back.

use super::Turn;
use super::avatars::KILLS_PER_TURN;
use crate::shard::client::Client;
use ids::{AgentId, LocalId};
use replicate::{Place, Replica};

impl Turn<'_> {
    /// Settles what was acked, or whose ack is overdue.
    ///
    /// Kills are sent again as they were until they are acked. Those in them who are shown again by then are shown anew.
    ///
    /// Adds those in full updates to [`Turn::gone`] who have left the world or the visible set meanwhile: the update may have
    /// arrived behind the KillObject, so they are killed once more.
    pub(super) fn settle_sent(&mut self) {
        let client = &mut *self.client;
        while let Some(sequence) = client.circuit.poll_lost(self.now) {
            client.scenery.lost(sequence);
            let (shown, rested) = (&client.shown, &client.rested);
            for &(_, id, _) in shown.iter().filter(|(sent_as, ..)| *sent_as == sequence) {
                client.viewer.lost(id);
            }
            for &(_, id) in rested.iter().filter(|(sent_as, _)| *sent_as == sequence) {
                client.viewer.missed_rest(id);
            }
        }
        let circuit = &client.circuit;
        client.scenery.settle(|sequence| circuit.is_unacked(sequence));
        client.rested.retain(|&(sequence, _)| circuit.is_unacked(sequence));
        // Who left the visible set and came back while the kill was under way may have been shown first and killed then. So may things,
        // when somebody is back soon in a world that they had left.
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
            // In no order: all that is asked of the list is who is in which datagram.
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

    /// Somebody left and is back under another local id, as after logging in anew: a late update of the former presence
    /// may have taken the new one's place in the client, and goes with it.
    fn show_again(&mut self, agent: AgentId) {
        // A thing is nobody's presence.
        if agent.0.is_nil() {
            return;
        }
        let back = self.replica.entities().filter(|(.., slot)| slot.agent == agent);
        back.for_each(|(_, hot, _)| self.client.viewer.lost(LocalId(hot.id)));
    }

    /// Moves last repetitions of rests to the front, and says how many there are. They have to be acked: clients extrapolate
    /// what they heard last without limit, and a burst of losses outlasts any number of repetitions.
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
    /// Whether it was sent an avatar or a thing of its world, and not told since to forget it.
    fn shows(&self, id: LocalId, replica: &Replica) -> bool {
        match replica.scenery().of_id(id) {
            Some(thing) => self.scenery.sight.has(thing),
            None => self.viewer.shows(id),
        }
    }

    /// It may not show what it was sent: that is sent anew.
    fn doubt(&mut self, id: LocalId, replica: &Replica) {
        match replica.scenery().of_id(id) {
            Some(thing) if self.scenery.sight.has(thing) => self.scenery.sight.lost(thing),
            Some(_) => {}
            None => self.viewer.lost(id),
        }
    }
}
