//! What a client has to ack although it is never sent again as it was: full updates, of avatars and of what stands, and the last
//! repetition of a rest.
//!
//! All are perishable datagrams (`Circuit::write_perishable`). Acked, they are settled; not acked in time, they are
//! made anew from what is true by then, since the old bytes would put a moving avatar back.

use super::{Turn, UNACKED_MAX};
use ids::{AgentId, LocalId};
use replicate::Place;
use wire::terse;

impl Turn<'_> {
    /// Settles what was acked, or whose ack is overdue.
    ///
    /// Returns those in full updates who have left the world or the visible set meanwhile: the update may have arrived behind the
    /// KillObject, so they are killed once more.
    pub(super) fn settle_sent(&mut self) -> Vec<LocalId> {
        while let Some(sequence) = self.client.circuit.poll_lost(self.now) {
            self.client.scenery.lost(sequence);
            let viewer = &mut self.client.viewer;
            let is_lost = |sent_as: u32| sent_as == sequence;
            if let Some((_, shown)) = self.client.shown.iter().find(|(sent_as, _)| is_lost(*sent_as)) {
                shown.iter().for_each(|&(id, _)| viewer.lost(id));
            }
            if let Some((_, rested)) = self.client.rested.iter().find(|(sent_as, _)| is_lost(*sent_as)) {
                rested.iter().for_each(|&id| viewer.missed_rest(id));
            }
        }
        let circuit = &self.client.circuit;
        self.client.scenery.settle(|sequence| circuit.is_unacked(sequence));
        self.client.rested.retain(|(sequence, _)| circuit.is_unacked(*sequence));
        let settled = self.client.shown.extract_if(.., |(sequence, _)| !circuit.is_unacked(*sequence));
        let viewer = &self.client.viewer;
        let gone = |&(id, _): &(LocalId, AgentId)| !viewer.shows(id);
        let late: Vec<(LocalId, AgentId)> = settled.flat_map(|(_, shown)| shown).filter(gone).collect();
        for &(_, agent) in &late {
            self.show_again(agent);
        }
        late.into_iter().map(|(id, _)| id).collect()
    }

    /// Somebody left and is back under another local id, as after logging in anew: a late update of the former presence
    /// may have taken the new one's place in the client, and goes with it.
    fn show_again(&mut self, agent: AgentId) {
        let back = self.replica.entities().filter(|(.., slot)| slot.agent == agent);
        back.for_each(|(_, hot, _)| self.client.viewer.lost(LocalId(hot.id)));
    }

    /// Takes last repetitions of rests out of the selection and sends them so that they are acked, in datagrams that others fill.
    /// Clients extrapolate what they heard last without limit, and a burst of losses outlasts any number of repetitions.
    pub(super) fn write_last_rests(&mut self) {
        let (viewer, replica) = (&self.client.viewer, self.replica);
        let slot = |at: Place| viewer.shown()[at as usize].slot;
        let is_last = |at: &mut Place| viewer.is_last_rest(*at, &replica.hot()[slot(*at) as usize]);
        let rests: Vec<Place> = self.selection.terse.extract_if(.., is_last).collect();
        for rests in rests.chunks(self.packing.terse) {
            if self.client.circuit.unacked() >= UNACKED_MAX {
                // They stay due.
                return;
            }
            let others = self.selection.terse.len().min(self.packing.terse - rests.len());
            let others = self.selection.terse.split_off(self.selection.terse.len() - others);
            let chunk = || rests.iter().chain(&others).copied();
            let n = chunk().count();
            self.body.clear();
            terse::write_prefix(self.body, replica.handle, replica.dilation, n as u8);
            for at in chunk() {
                self.body.extend_from_slice(replica.terse(self.slot(at)));
            }
            let sent = self.client.circuit.write_perishable(self.now, self.body, &mut self.out.bytes);
            let Ok(sequence) = sent else { return };
            self.out.seal(self.client.address);
            self.counters.terse_sent += n as u64;
            self.counters.terse_datagrams += 1;
            let ids = rests.iter().map(|&at| LocalId(replica.hot()[self.slot(at) as usize].id)).collect();
            for at in chunk() {
                let hot = &replica.hot()[self.slot(at) as usize];
                self.client.viewer.updated(at, hot, replica.tick.0 as u32);
            }
            self.client.rested.push((sequence, ids));
        }
    }
}
