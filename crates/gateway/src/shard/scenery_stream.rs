//! Static objects that a client has been sent, and the datagrams of them that it has not acked.
//!
//! A datagram whose ack is overdue may have arrived: a client short of CPU time acks late. Its objects are sent again, until any of the datagrams that
//! they are in is acked. Without the late acks, a client that always acks late would be sent the nearest objects for ever, and the others never.

use ids::LocalId;
use replicate::scenery::{ObjectIndex, SceneryReplica, SentObjects};
use std::collections::VecDeque;

/// Objects that one datagram holds at most: a prim without textures takes 214 bytes.
pub(super) const PER_DATAGRAM: usize = 5;
/// Overdue datagrams that are remembered: as many as a client is sent within 4 s. Beyond that the oldest is forgotten, and its ack has no effect.
const OVERDUE_MAX: usize = 256;

/// Static objects sent to a client, and those under way.
#[derive(Debug, Default)]
pub(super) struct SceneryStream {
    sent: SentObjects,
    under_way: Vec<SentDatagram>,
    /// Datagrams whose ack is overdue, oldest first.
    overdue: VecDeque<SentDatagram>,
    /// It has had everything near.
    was_filled: bool,
}

/// Objects of one datagram.
#[derive(Debug)]
struct SentDatagram {
    sequence: u32,
    n: u8,
    objects: [ObjectIndex; PER_DATAGRAM],
}

impl SentDatagram {
    fn objects(&self) -> &[ObjectIndex] {
        &self.objects[..self.n.into()]
    }

    /// Its ack says nothing of the object any more, nor does its loss.
    fn remove(&mut self, object: ObjectIndex) {
        if let Some(at) = self.objects().iter().position(|&sent| sent == object) {
            self.n -= 1;
            self.objects.swap(at, self.n.into());
        }
    }
}

impl SceneryStream {
    /// Objects that the client was sent, and may have.
    pub(super) const fn sent(&self) -> &SentObjects {
        &self.sent
    }

    /// See [`SentObjects::choose`].
    pub(super) fn choose(
        &mut self,
        scenery: &SceneryReplica,
        eye: glam::Vec3,
        most: usize,
        found: &mut Vec<(f32, ObjectIndex)>,
    ) {
        self.sent.choose(scenery, eye, most, found);
    }

    /// The client asks for an object, or may lack it for another reason than a lost datagram: it is sent again, whatever is acked.
    pub(super) fn mark_lacking(&mut self, object: ObjectIndex) {
        self.remove(object);
        self.sent.mark_lost(object);
    }

    /// A chosen object did not fit: it stays due.
    pub(super) fn put_back(&mut self, object: ObjectIndex) {
        self.sent.mark_lost(object);
    }

    /// The ack of a datagram is overdue: its contents are sent again.
    pub(super) fn lost(&mut self, sequence: u32) {
        let Some(at) = self.under_way.iter().position(|datagram| datagram.sequence == sequence) else {
            return;
        };
        let lost = self.under_way.remove(at);
        lost.objects().iter().for_each(|&object| self.sent.mark_lost(object));
        if self.overdue.len() >= OVERDUE_MAX {
            self.overdue.pop_front();
        }
        self.overdue.push_back(lost);
    }

    /// The ack of an overdue datagram has come: the client has its contents.
    pub(super) fn acked_late(&mut self, sequence: u32) {
        let Some(at) = self.overdue.iter().position(|datagram| datagram.sequence == sequence) else { return };
        for &object in self.overdue.remove(at).iter().flat_map(SentDatagram::objects) {
            self.sent.mark_sent(object);
            self.remove(object);
        }
    }

    /// Takes an object out of all datagrams.
    fn remove(&mut self, object: ObjectIndex) {
        self.under_way.iter_mut().for_each(|datagram| datagram.remove(object));
        self.overdue.retain_mut(|datagram| {
            datagram.remove(object);
            datagram.n > 0
        });
    }

    /// Objects in datagrams that were not acked yet, with the numbers of these.
    pub(super) fn under_way(&self, scenery: &SceneryReplica) -> impl Iterator<Item = (u32, LocalId)> {
        let of = |datagram: &SentDatagram| {
            datagram
                .objects()
                .iter()
                .map(|&object| (datagram.sequence, scenery.id(object)))
                .collect::<Vec<_>>()
        };
        self.under_way.iter().flat_map(of)
    }

    /// Gives back the memory of an arrival.
    pub(super) fn free_spare(&mut self) {
        self.under_way.shrink_to_fit();
        self.overdue.shrink_to_fit();
    }

    /// Notes that all near objects were sent; true the first time.
    pub(super) const fn note_filled(&mut self) -> bool {
        !std::mem::replace(&mut self.was_filled, true)
    }

    /// Notes a datagram with the first `n` of `objects`.
    pub(super) fn record_datagram(&mut self, sequence: u32, n: usize, objects: [ObjectIndex; PER_DATAGRAM]) {
        let datagram = SentDatagram { sequence, n: n as u8, objects };
        datagram.objects().iter().for_each(|&object| self.sent.mark_sent(object));
        self.under_way.push(datagram);
    }

    /// Drops datagrams that were acked. Their objects may be in overdue ones as well, or in others under way after those.
    pub(super) fn settle_acked(&mut self, is_unacked: impl Fn(u32) -> bool) {
        if self.overdue.is_empty() {
            self.under_way.retain(|datagram| is_unacked(datagram.sequence));
            return;
        }
        let acked: Vec<SentDatagram> =
            self.under_way.extract_if(.., |datagram| !is_unacked(datagram.sequence)).collect();
        acked.iter().flat_map(SentDatagram::objects).for_each(|&object| self.remove(object));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(stream: &mut SceneryStream, sequence: u32, objects: &[ObjectIndex]) {
        let mut filled = [0; PER_DATAGRAM];
        filled[..objects.len()].copy_from_slice(objects);
        stream.record_datagram(sequence, objects.len(), filled);
    }

    #[test]
    fn an_object_stays_sent_once_any_of_its_datagrams_is_acked() {
        for is_first_acked in [true, false] {
            let mut stream = SceneryStream::default();
            datagram(&mut stream, 1, &[7, 8]);
            stream.lost(1);
            assert!(!stream.sent().has(7));
            datagram(&mut stream, 2, &[7]);
            datagram(&mut stream, 3, &[9]);
            if is_first_acked {
                stream.acked_late(1);
                assert!(stream.sent().has(8), "it was not even sent again");
                stream.lost(2);
            } else {
                stream.lost(2);
                datagram(&mut stream, 4, &[7]);
                stream.settle_acked(|sequence| sequence == 3);
                stream.lost(4);
            }
            assert!(stream.sent().has(7) && stream.sent().has(9));
            assert_eq!(stream.under_way.len(), 1, "the one with object 9");
            assert!(stream.overdue.iter().all(|datagram| !datagram.objects().contains(&7)));
        }
    }

    #[test]
    fn an_ack_proves_nothing_once_the_client_asks() {
        let mut stream = SceneryStream::default();
        datagram(&mut stream, 1, &[7, 8]);
        stream.lost(1);
        stream.mark_lacking(7);
        stream.acked_late(1);
        assert!(!stream.sent().has(7) && stream.sent().has(8));
        datagram(&mut stream, 2, &[7]);
        stream.mark_lacking(7);
        datagram(&mut stream, 3, &[7]);
        stream.settle_acked(|sequence| sequence == 3);
        stream.lost(3);
        assert!(!stream.sent().has(7), "the answer got lost");
    }

    #[test]
    fn overdue_datagrams_are_remembered_up_to_a_bound() {
        let mut stream = SceneryStream::default();
        for sequence in 0..2 * OVERDUE_MAX as u32 {
            datagram(&mut stream, sequence, &[sequence]);
            stream.lost(sequence);
        }
        assert_eq!(stream.overdue.len(), OVERDUE_MAX);
        stream.acked_late(0);
        stream.acked_late(2 * OVERDUE_MAX as u32 - 1);
        assert_eq!(
            (stream.sent().has(0), stream.sent().has(2 * OVERDUE_MAX as ObjectIndex - 1)),
            (false, true)
        );
    }
}
