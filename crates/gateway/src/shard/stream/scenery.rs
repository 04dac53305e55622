//! Static objects near a client: sent once in full, several per datagram, while its bytes allow.

use super::{Turn, UNACKED_MAX};
use crate::shard::scenery_stream::PER_DATAGRAM;
use link::Prim;
use wire::header::DATAGRAM_MAX;
use wire::object_update;

/// Datagrams of one send. With 4 boxes in each a client has 500 of them after some two seconds.
const DATAGRAMS_PER_SEND: usize = 6;
/// Unacked reliable messages beyond which scenery waits: avatars come first.
const UNACKED_SHARE: usize = UNACKED_MAX / 2;

impl Turn<'_> {
    /// True if a near object was not sent yet, or may be lost.
    pub(super) fn is_scenery_due(&self) -> bool {
        self.client.scenery.sent().is_due(self.replica.scenery(), self.client.viewer.eye)
    }

    /// Sends the nearest of it, if any is due.
    pub(super) fn scenery(&mut self, is_due: bool) {
        if !is_due {
            if self.client.scenery.note_filled() {
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
        self.client.scenery.choose(scenery, eye, datagrams * PER_DATAGRAM, &mut found);
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
            self.counters.static_objects_sent += n as u64;
            self.client.scenery.record_datagram(sequence, n, objects);
            for &object in &objects[..n] {
                let overrides = scenery.overrides(object);
                if overrides.is_some_and(|overrides| !self.send_overrides(scenery.id(object), overrides)) {
                    // The object comes once more, and its overrides with it.
                    self.client.scenery.mark_lacking(object);
                }
            }
            rest = &rest[n..];
        }
        // Chosen objects that did not fit stay due.
        if let Some(&(_, object)) = rest.first() {
            self.client.scenery.put_back(object);
        }
        *self.by_distance = found;
    }
}

/// The part of a prim's block that every prim has, with an empty set of textures.
const BARE_BLOCK: usize = 214;
const _: () = assert!(object_update::PREFIX_LEN + BARE_BLOCK + Prim::TEXTURE_ENTRY_MAX <= DATAGRAM_MAX - 6);
