//! Static objects that a client has been sent, and the datagrams of them that it has not acked.

use ids::LocalId;
use replicate::scenery::{ObjectIndex, SceneryReplica, SentObjects};

/// Objects that one datagram holds at most: a prim without textures takes 214 bytes.
pub(super) const PER_DATAGRAM: usize = 5;

/// Static objects sent to a client, and those under way.
#[derive(Debug, Default)]
pub(super) struct SceneryStream {
    pub(super) sent: SentObjects,
    under_way: Vec<UnderWay>,
    /// It has had everything near.
    was_filled: bool,
}

/// One datagram that was not acked yet.
#[derive(Debug)]
struct UnderWay {
    sequence: u32,
    n: u8,
    objects: [ObjectIndex; PER_DATAGRAM],
}

impl UnderWay {
    fn objects(&self) -> &[ObjectIndex] {
        &self.objects[..self.n.into()]
    }
}

impl SceneryStream {
    /// The ack of a datagram is overdue: its contents are sent again.
    pub(super) fn lost(&mut self, sequence: u32) {
        if let Some(lost) = self.under_way.iter().find(|datagram| datagram.sequence == sequence) {
            lost.objects().iter().for_each(|&object| self.sent.mark_lost(object));
        }
    }

    /// Objects in datagrams that were not acked yet, with the numbers of these.
    pub(super) fn under_way(&self, scenery: &SceneryReplica) -> impl Iterator<Item = (u32, LocalId)> {
        let of = |datagram: &UnderWay| {
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
    }

    /// Notes that all near objects were sent; true the first time.
    pub(super) const fn note_filled(&mut self) -> bool {
        !std::mem::replace(&mut self.was_filled, true)
    }

    /// Notes a datagram with the first `n` of `objects`.
    pub(super) fn record_datagram(&mut self, sequence: u32, n: usize, objects: [ObjectIndex; PER_DATAGRAM]) {
        let under_way = UnderWay { sequence, n: n as u8, objects };
        under_way.objects().iter().for_each(|&object| self.sent.mark_sent(object));
        self.under_way.push(under_way);
    }

    /// Drops datagrams that were acked or given up.
    pub(super) fn forget_acked(&mut self, is_unacked: impl Fn(u32) -> bool) {
        self.under_way.retain(|datagram| is_unacked(datagram.sequence));
    }
}
