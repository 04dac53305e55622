//! Static objects near a client: sent once in full, several per datagram, while its bytes allow.

use super::{Turn, UNACKED_MAX};
use ids::LocalId;
use link::Prim;
use replicate::scenery::{ObjectIndex, SentObjects};
use wire::header::DATAGRAM_MAX;
use wire::object_update;

/// Datagrams of one send. With 4 boxes in each a client has 500 of them after some two seconds.
const DATAGRAMS_PER_SEND: usize = 6;
/// Objects that one datagram holds at most: a prim without textures takes 214 bytes.
const PER_DATAGRAM: usize = 5;
/// Unacked reliable messages beyond which scenery waits: avatars come first.
const UNACKED_SHARE: usize = UNACKED_MAX / 2;

/// Static objects sent to a client, and those under way.
#[derive(Debug, Default)]
pub(in crate::shard) struct SceneryStream {
    pub(in crate::shard) sent: SentObjects,
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
    pub(in crate::shard) fn under_way(
        &self,
        scenery: &replicate::scenery::SceneryReplica,
    ) -> impl Iterator<Item = (u32, LocalId)> {
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
    pub(in crate::shard) fn free_spare(&mut self) {
        self.under_way.shrink_to_fit();
    }

    /// Drops datagrams that were acked or given up.
    pub(super) fn forget_acked(&mut self, is_unacked: impl Fn(u32) -> bool) {
        self.under_way.retain(|datagram| is_unacked(datagram.sequence));
    }
}

impl Turn<'_> {
    /// True if a near object was not sent yet, or may be lost.
    pub(super) fn is_scenery_due(&self) -> bool {
        self.client.scenery.sent.is_due(self.replica.scenery(), self.client.viewer.eye)
    }

    /// Sends the nearest of it, if any is due.
    pub(super) fn scenery(&mut self, is_due: bool) {
        if !is_due {
            if !std::mem::replace(&mut self.client.scenery.was_filled, true) {
                self.counters.sceneries_filled += 1;
            }
            return;
        }
        let scenery = self.replica.scenery();
        let eye = self.client.viewer.eye;
        let room = UNACKED_SHARE.saturating_sub(self.client.circuit.unacked());
        let bytes = self.client.circuit.budget_bytes(self.now);
        let datagrams = room.min(bytes / DATAGRAM_MAX).min(DATAGRAMS_PER_SEND);
        let mut found = std::mem::take(self.by_distance);
        self.client.scenery.sent.choose(scenery, eye, datagrams * PER_DATAGRAM, &mut found);
        let most = PER_DATAGRAM.min(self.packing.objects);
        let mut rest = found.as_slice();
        for _ in 0..datagrams {
            if rest.is_empty() {
                break;
            }
            let Some(sequence) = self.begin_full() else { break };
            let mut objects = [0; PER_DATAGRAM];
            let mut n = 0;
            while let Some(&(_, object)) = rest.get(n).filter(|_| n < most) {
                if n > 0 && self.out.open_len() + scenery.block_len(object) > self.packing.bytes {
                    break;
                }
                scenery.write_block(object, &mut self.out.bytes);
                objects[n] = object;
                n += 1;
            }
            self.end_full(n);
            self.counters.objects_sent += n as u64;
            let under_way = UnderWay { sequence, n: n as u8, objects };
            under_way.objects().iter().for_each(|&object| self.client.scenery.sent.mark_sent(object));
            self.client.scenery.under_way.push(under_way);
            rest = &rest[n..];
        }
        // Chosen objects that did not fit stay due.
        if let Some(&(_, object)) = rest.first() {
            self.client.scenery.sent.mark_lost(object);
        }
        *self.by_distance = found;
    }
}

/// The part of a prim's block that every prim has, with an empty set of textures.
const BARE_BLOCK: usize = 214;
const _: () = assert!(object_update::PREFIX_LEN + BARE_BLOCK + Prim::TEXTURE_ENTRY_MAX <= DATAGRAM_MAX - 6);
