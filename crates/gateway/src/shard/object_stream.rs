//! Objects that a client has been sent, and the datagrams of them that are neither acked nor lost.
//!
//! A datagram that is given up as lost may still arrive, behind the newer state of an object that was sent since then, and the client would
//! display the older one for ever. Hence an object whose state was sent anew after a loss is sent once more after the ack of the newer
//! one; the former datagram has arrived by then, or never will.

use ids::LocalId;
use prim::MaterialOverrides;
use replicate::objects::{ObjectReplica, SeenMovers, SentSet};
use state_hash::StateHasher;
use std::collections::BTreeMap;

/// Objects in lost datagrams that are remembered. Beyond that the oldest is forgotten: its datagram would have to arrive after all others.
const LATE_MAX: usize = 1_024;
/// Prims whose overrides of materials are remembered as sent. Beyond that all are forgotten, and sent again with the next update of each.
const OVERRIDES_MAX: usize = 4_096;

/// Objects sent to a client, and those under way.
#[derive(Debug, Default)]
pub(super) struct ObjectStream {
    pub(super) sent: SentSet,
    /// Those of them that move.
    pub(super) movers: SeenMovers,
    /// Last repetitions of rests in datagrams that are neither acked nor lost.
    pub(super) rests: Vec<(u32, LocalId)>,
    under_way: Vec<SentObject>,
    /// In datagrams that have got lost, and may come late.
    late: Vec<SentObject>,
    /// Overrides of materials that were sent, as hashes.
    overrides: BTreeMap<LocalId, u64>,
    /// Objects whose overrides are in datagrams that are neither acked nor lost.
    overrides_under_way: Vec<(u32, LocalId)>,
}

/// A state of an object in a datagram.
#[derive(Clone, Copy, Debug)]
struct SentObject {
    sequence: u32,
    id: LocalId,
    /// Equal for equal states.
    state: u32,
    /// Its ack shows that the client has that state. False once the client has asked for the object since then.
    is_proof: bool,
}

impl ObjectStream {
    /// Notes an object in a datagram, `plain` as ObjectUpdate. `state` is equal for equal states.
    pub(super) fn record(&mut self, sequence: u32, id: LocalId, state: u32, plain: bool) {
        self.sent.mark_sent(id, plain);
        self.under_way.push(SentObject { sequence, id, state, is_proof: true });
    }

    /// Notes the overrides of a prim as sent. False if they were already.
    pub(super) fn note_overrides(&mut self, id: LocalId, overrides: &MaterialOverrides) -> bool {
        let mut hasher = StateHasher::new();
        overrides.fold_into(&mut hasher);
        if self.overrides.len() >= OVERRIDES_MAX && !self.overrides.contains_key(&id) {
            self.overrides.clear();
        }
        let hash = hasher.finish();
        self.overrides.insert(id, hash) != Some(hash)
    }

    /// Notes the datagram with the overrides of an object.
    pub(super) fn record_overrides(&mut self, sequence: u32, id: LocalId) {
        self.overrides_under_way.push((sequence, id));
    }

    /// Objects whose overrides were in a lost datagram.
    pub(super) fn lost_overrides(&mut self, sequence: u32) -> Vec<LocalId> {
        let lost = self.overrides_under_way.extract_if(.., |(sent_as, _)| *sent_as == sequence);
        lost.map(|(_, id)| id).collect()
    }

    /// Takes account of changes, see [`SentSet::follow`].
    pub(super) fn follow(&mut self, objects: &ObjectReplica, kills: &mut Vec<LocalId>) {
        let n_before = kills.len();
        self.sent.follow(objects, kills);
        for id in &kills[n_before..] {
            // Another prim may get its local id.
            self.overrides.remove(id);
        }
    }

    /// The client lacks the overrides of a prim: they are sent again with it.
    pub(super) fn mark_lacking(&mut self, id: LocalId) {
        self.forget_proofs(id);
        self.sent.mark_lacking(id);
    }

    /// The client asks for a prim, and may lack all of it.
    pub(super) fn mark_asked(&mut self, id: LocalId) {
        self.forget_proofs(id);
        self.sent.mark_asked(id);
    }

    /// The client may display a prim in another state, or not at all.
    pub(super) fn mark_doubtful(&mut self, id: LocalId) {
        self.forget_proofs(id);
        self.sent.mark_doubtful(id);
    }

    /// The client may lack what it was sent of a prim: acks of lost datagrams prove nothing any more.
    fn forget_proofs(&mut self, id: LocalId) {
        self.overrides.remove(&id);
        self.late.iter_mut().filter(|former| former.id == id).for_each(|former| former.is_proof = false);
    }

    /// The ack of a datagram is overdue: its objects are sent again. `kills` gets those that are gone: the datagram may have arrived, after the
    /// kill.
    pub(super) fn lost(&mut self, sequence: u32, kills: &mut Vec<LocalId>) {
        let Self { sent, movers, rests, under_way, late, .. } = self;
        for &(_, id) in rests.iter().filter(|(sent_as, _)| *sent_as == sequence) {
            movers.settle_rest(id, true);
        }
        rests.retain(|(sent_as, _)| *sent_as != sequence);
        under_way.retain(|object| {
            if object.sequence != sequence {
                return true;
            }
            sent.settle(object.id, true);
            if !sent.knows(object.id) {
                kills.push(object.id);
            }
            if late.len() == LATE_MAX {
                late.remove(0);
            }
            late.push(*object);
            false
        });
    }

    /// The ack of a lost datagram has come. An object that was sent again since then in the same state is settled: otherwise a client that always
    /// acks late would be sent the largest objects for ever, and the others never. `kills` gets objects that are gone.
    pub(super) fn acked_late(&mut self, sequence: u32, kills: &mut Vec<LocalId>) {
        let Self { sent, under_way, late, .. } = self;
        let arrived: Vec<SentObject> = late.extract_if(.., |former| former.sequence == sequence).collect();
        for SentObject { id, state, is_proof, .. } in arrived {
            if !sent.knows(id) {
                kills.push(id);
            }
            let again = under_way.iter().position(|object| (object.id, object.state) == (id, state));
            if let Some(at) = again.filter(|_| is_proof) {
                under_way.remove(at);
                settle_arrived(sent, late, id, state);
            }
        }
    }

    /// Settles datagrams that were acked or given up. `kills` gets objects that are gone: their datagram may have come after the kill.
    pub(super) fn settle_acked(&mut self, is_unacked: impl Fn(u32) -> bool, kills: &mut Vec<LocalId>) {
        let Self { sent, movers, rests, under_way, late, overrides_under_way, .. } = self;
        rests.retain(|&(sequence, id)| {
            let is_under_way = is_unacked(sequence);
            if !is_under_way {
                movers.settle_rest(id, false);
            }
            is_under_way
        });
        overrides_under_way.retain(|(sequence, _)| is_unacked(*sequence));
        under_way.retain(|object| {
            if is_unacked(object.sequence) {
                return true;
            }
            settle_arrived(sent, late, object.id, object.state);
            if !sent.knows(object.id) {
                kills.push(object.id);
            }
            false
        });
    }

    /// Objects in datagrams that are neither acked nor lost, with the numbers of these.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (u32, LocalId)> {
        self.under_way.iter().map(|object| (object.sequence, object.id))
    }

    /// Gives back the memory of an arrival.
    pub(super) fn free_spare(&mut self) {
        self.under_way.shrink_to_fit();
        self.late.shrink_to_fit();
        self.rests.shrink_to_fit();
        self.movers.free_spare();
        self.overrides_under_way.shrink_to_fit();
    }
}

/// The client has an object in this state. Another state in a lost datagram may come behind it: then the object is sent once more.
fn settle_arrived(sent: &mut SentSet, late: &mut Vec<SentObject>, id: LocalId, state: u32) {
    sent.settle(id, false);
    let has_older = late.iter().any(|former| former.id == id && former.state != state);
    late.retain(|former| former.id != id);
    if has_older {
        sent.mark_doubtful(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LocalId = LocalId(1 << 20);

    #[test]
    fn a_newer_state_is_sent_once_more_if_an_older_one_may_come_late() {
        let mut stream = ObjectStream::default();
        let mut kills = Vec::new();
        stream.record(1, ID, 10, true);
        stream.lost(1, &mut kills);
        assert!(!stream.sent.is_current(ID));
        stream.record(2, ID, 11, true);
        stream.settle_acked(|_| true, &mut kills);
        assert!(stream.sent.is_current(ID), "its ack has not come");
        stream.settle_acked(|_| false, &mut kills);
        assert!(!stream.sent.is_current(ID), "datagram 1 may have come after 2");
        stream.record(3, ID, 11, true);
        stream.settle_acked(|_| false, &mut kills);
        assert!(stream.sent.is_current(ID));
        assert_eq!(kills, []);
    }

    #[test]
    fn overrides_are_due_when_they_differ_and_when_the_client_asks() {
        let mut stream = ObjectStream::default();
        let none = MaterialOverrides::default();
        let mut red = none.clone();
        let color = prim::MaterialOverride { metallic: Some(0.5), ..prim::MaterialOverride::default() };
        red.set(0, color).unwrap();
        assert!(stream.note_overrides(ID, &red) && !stream.note_overrides(ID, &red));
        assert!(stream.note_overrides(ID, &none) && !stream.note_overrides(ID, &none));
        stream.mark_lacking(ID);
        assert!(stream.note_overrides(ID, &none));
        stream.record_overrides(7, ID);
        stream.record_overrides(8, ID);
        assert_eq!((stream.lost_overrides(7), stream.lost_overrides(7)), (vec![ID], Vec::new()));
        stream.settle_acked(|_| false, &mut Vec::new());
        assert_eq!(stream.lost_overrides(8), [], "it was acked");
        (0..2 * OVERRIDES_MAX as u32).for_each(|id| assert!(stream.note_overrides(LocalId(id), &red)));
        assert!(stream.overrides.len() <= OVERRIDES_MAX);
    }

    #[test]
    fn an_object_that_is_gone_is_killed_again_after_its_datagram_got_lost() {
        let (mut stream, mut kills) = (ObjectStream::default(), Vec::new());
        // It is under way, and the client has it no more.
        stream.under_way.push(SentObject { sequence: 1, id: ID, state: 10, is_proof: true });
        stream.lost(1, &mut kills);
        assert_eq!(kills, [ID], "it may have arrived after the kill, and its ack have got lost");
    }

    #[test]
    fn the_same_state_again_is_sent_once() {
        let mut stream = ObjectStream::default();
        stream.record(1, ID, 10, true);
        stream.lost(1, &mut Vec::new());
        stream.record(2, ID, 10, true);
        stream.settle_acked(|_| false, &mut Vec::new());
        assert!(stream.sent.is_current(ID));
    }

    #[test]
    fn a_late_ack_settles_the_same_state_sent_again() {
        for (state, asks, is_settled) in [(10, false, true), (11, false, false), (10, true, false)] {
            let mut stream = ObjectStream::default();
            stream.record(1, ID, 10, true);
            stream.lost(1, &mut Vec::new());
            if asks {
                stream.mark_asked(ID);
            }
            stream.record(2, ID, state, true);
            stream.acked_late(1, &mut Vec::new());
            stream.lost(2, &mut Vec::new());
            assert_eq!(stream.sent.is_current(ID), is_settled, "state {state}, asks: {asks}");
        }
    }

    #[test]
    fn lost_datagrams_are_remembered_up_to_a_bound() {
        let mut stream = ObjectStream::default();
        for n in 0..2 * LATE_MAX as u32 {
            stream.record(n, LocalId(n), 1, true);
            stream.lost(n, &mut Vec::new());
        }
        assert_eq!(stream.late.len(), LATE_MAX);
        assert_eq!(stream.late[0].sequence, LATE_MAX as u32, "the oldest are forgotten");
        assert_eq!(stream.under_way().count(), 0);
    }
}
