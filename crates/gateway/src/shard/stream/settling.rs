//! What a client has to ack although it is never sent again as it was: full updates, and the last repetition of a rest.
//!
//! Both are perishable datagrams (`Circuit::write_perishable`). Acked, they are settled; not acked in time, they are
//! made anew from what is true by then, since the old bytes would put a moving avatar back.

use super::{TERSE_PER_DATAGRAM, Turn, UNACKED_MAX};
use ids::{AgentId, LocalId};
use replicate::SlotIndex;
use wire::terse;

impl Turn<'_> {
    /// Settles what was acked, or whose ack is overdue.
    ///
    /// Returns those in full updates who have left meanwhile: the update may have arrived behind the KillObject, so they
    /// are killed once more.
    pub(super) fn settle_sent(&mut self) -> Vec<LocalId> {
        while let Some(sequence) = self.client.circuit.poll_lost(self.now) {
            let (viewer, replica) = (&mut self.client.viewer, self.replica);
            let is_lost = |sent_as: u32| sent_as == sequence;
            if let Some((_, shown)) = self.client.shown.iter().find(|(sent_as, _)| is_lost(*sent_as)) {
                shown.iter().for_each(|&(id, _)| viewer.lost(id, replica));
            }
            if let Some((_, rested)) = self.client.rested.iter().find(|(sent_as, _)| is_lost(*sent_as)) {
                rested.iter().for_each(|&id| viewer.missed_rest(id, replica));
            }
        }
        let circuit = &self.client.circuit;
        self.client.rested.retain(|(sequence, _)| circuit.is_unacked(*sequence));
        let settled = self.client.shown.extract_if(.., |(sequence, _)| !circuit.is_unacked(*sequence));
        let gone = |&(id, _): &(LocalId, AgentId)| self.replica.of_id(id).is_none();
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
        back.for_each(|(_, hot, _)| self.client.viewer.lost(LocalId(hot.id), self.replica));
    }

    /// Takes last repetitions of rests out of the selection and sends them so that they are acked. Clients extrapolate
    /// what they heard last without limit, and a burst of losses outlasts any number of repetitions.
    pub(super) fn write_last_rests(&mut self) {
        let (viewer, replica) = (&self.client.viewer, self.replica);
        let is_last = |&mut index: &mut SlotIndex| viewer.is_last_rest(index, &replica.hot()[index as usize]);
        let rests: Vec<SlotIndex> = self.selection.terse.extract_if(.., is_last).collect();
        for chunk in rests.chunks(TERSE_PER_DATAGRAM) {
            if self.client.circuit.unacked() >= UNACKED_MAX {
                // They stay due.
                return;
            }
            self.body.clear();
            terse::write_prefix(self.body, replica.handle, replica.dilation, chunk.len() as u8);
            for &index in chunk {
                self.body.extend_from_slice(&replica.slot(index).expect("selected from this replica").terse);
            }
            let sent = self.client.circuit.write_perishable(self.now, self.body, &mut self.out.bytes);
            let Ok(sequence) = sent else { return };
            self.out.seal(self.client.address);
            self.counters.terse_sent += chunk.len() as u64;
            let mut ids = Vec::with_capacity(chunk.len());
            for &index in chunk {
                let hot = &replica.hot()[index as usize];
                self.client.viewer.updated(index, hot);
                ids.push(LocalId(hot.id));
            }
            self.client.rested.push((sequence, ids));
        }
    }
}
